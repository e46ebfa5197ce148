"""Records as F1 by split and seed."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from ..statistics import Scores
from .errors import BenchmarkError
from .methods import METHODS
from .records import Record, cell_name, read_records

DIGITS = re.compile(r"(\d+)")


class Group(NamedTuple):
    """What splits and seeds are taken together for. source: "" for our records."""

    dataset: str
    shots: int
    backbone: str
    method: str
    variant: str
    source: str = ""


@dataclass
class Results:
    """Figures of a group.

    scores (Dict[Tuple[int, int], float]): F1 (0 to 100) by split and seed.
    records (List[Record]): Of the cells; none for figures of others.
    published (Optional[Tuple[float, float]]): Mean and standard deviation, where no
        more is known.
    """

    scores: Scores = field(default_factory=dict)
    records: List[Record] = field(default_factory=list)
    published: Optional[Tuple[float, float]] = None


Groups = Dict[Group, Results]


def read_all(paths: Sequence[Path]) -> List[Record]:
    """Read the records of several runs.

    paths (Sequence[Path]): Files, or folders of runs.
    RETURNS (List[Record]): Each cell once.
    RAISES (BenchmarkError): If two records of one cell were made from different things.
    """
    found: Dict[Any, Record] = {}
    for path in paths:
        for record in read_records(path):
            name = cell_name(record)
            known = found.setdefault(name, record)
            if known["key"] != record["key"]:
                raise BenchmarkError(
                    f"{path}: the cell {' '.join(map(str, filter(None, name)))} has "
                    "another record, made with other data or settings: report them "
                    "apart"
                )
    if not found:
        raise BenchmarkError(f"no records in {', '.join(map(str, paths))}")
    return list(found.values())


def group_records(records: Iterable[Record], gold: str = "io") -> Groups:
    """Put the records of a setting together.

    records (Iterable[Record]): From `read_all`.
    gold (str): "io": neighbours of one class are one entity; "bio": as annotated.
    """
    groups: Groups = {}
    for record in records:
        group = Group(**{name: record[name] for name in Group._fields[:-1]})
        results = groups.setdefault(group, Results())
        results.scores[record["split"], record["seed"]] = 100 * record[gold]["f"]
        results.records.append(record)
    return dict(sorted(groups.items(), key=lambda item: order_key(item[0])))


def order_key(values: Sequence[Any]) -> Any:
    """Sorts names as people do: methods in their usual order, 5 before 10."""
    known = list(METHODS)
    keys = []
    for value in values:
        rank = known.index(value) if value in known else len(known)
        parts = [p for p in DIGITS.split(str(value)) if p]
        natural = [(0, int(p), "") if p.isdecimal() else (1, 0, p) for p in parts]
        keys.append((rank, natural))
    return keys
