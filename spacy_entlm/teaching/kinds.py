"""The kinds of a corpus: which belong together, what else they are called, and sets of
labels that people use."""

import math
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, Iterable, List, Optional, Set, Tuple

import numpy as np
from scipy.sparse import csr_matrix

from ..files.errors import DataError
from ..files.json_lines import read_json
from ..files.text import read_lines
from .lines import MarkedLine, clean_kind

# Share of the marks of a kind that begin with a capital, from which on it is a kind of
# proper names.
NAME_SHARE = 0.6

# Of a language and a kind: what else it is called there.
Wordings = Dict[Tuple[str, str], List[str]]


@dataclass(frozen=True)
class LabelSet:
    """Labels that people use together, such as person, organization, location.

    kinds: Of each label the kinds that fall under it.
    named: Those of them that are named, not only meant by their type. A mark has the
        label that names its finest kind, else the next coarser one, and so on; else the
        label that its coarsest kind falls under, else the next finer one.
    of_names: Labels that only proper names have, as in most corpora of news.
    weight: How often it is drawn, beside other sets.
    """

    kinds: Dict[str, frozenset]
    named: Dict[str, frozenset]
    of_names: frozenset
    weight: float


@dataclass
class KindTable:
    """All kinds of a corpus by number, and which occur together.

    names: The kinds. near: bool (n, n), whether two kinds were marked at one name, or
        are labels of one line: then a line that has the one may well have the other.
    weights: How often each is drawn as one that a line has not.
    """

    names: List[str]
    index: Dict[str, int] = field(repr=False)
    near: csr_matrix = field(repr=False)
    weights: np.ndarray = field(repr=False)
    of_names: np.ndarray = field(repr=False)

    @classmethod
    def of(cls, lines: Iterable[MarkedLine]) -> "KindTable":
        """Collect the kinds of some lines.
        RAISES (DataError): If there is none."""
        counts: Counter[str] = Counter()
        capitals: Counter[str] = Counter()
        pairs: set = set()
        for line in lines:
            counts.update(dict.fromkeys(line.labels, 1))
            pairs.update((a, b) for a in line.labels for b in line.labels)
            for mark in line.marks:
                counts.update(mark.kinds)
                # German writes all nouns with a capital.
                if line.lang != "de":
                    is_capital = line.text[mark.start].isupper()
                    capitals.update(mark.kinds if is_capital else ())
                    capitals.update(f"\0{kind}" for kind in mark.kinds)
                pairs.update((a, b) for a in mark.kinds for b in mark.kinds)
        if not counts:
            raise DataError("The lines have no marks: there is nothing to learn")
        names = list(counts)
        index = {name: i for i, name in enumerate(names)}
        rows = np.array([(index[a], index[b]) for a, b in pairs], dtype="int64")
        shape = (len(names), len(names))
        near = csr_matrix((np.ones(len(rows), bool), rows.T), shape=shape)
        weights = np.sqrt([counts[name] for name in names])
        seen = np.array([max(capitals[f"\0{name}"], 1) for name in names])
        of_names = np.array([capitals[name] for name in names]) / seen >= NAME_SHARE
        return cls(names, index, near, weights / weights.sum(), of_names)


def read_label_sets(path: Path, types: Optional[Path] = None) -> List[LabelSet]:
    """Read sets of labels: a JSON list of {"labels": {"person": ["person", ...], ...},
    "names": true, "weight": float}, where "names" may be a list of labels.

    types (Optional[Path]): Lines of a kind and its type, with a tab between: "@TYPE" in
        the sets stands for all kinds of a type.
    RAISES (DataError): If a file holds something else.
    """
    of_type: Dict[str, Set[str]] = {}
    for number, line in read_lines(types) if types else ():
        kind, tab, name = line.rstrip("\n").partition("\t")
        if not tab:
            problem = "write KIND<tab>TYPE in each line"
            raise DataError(problem, path=types, line=number)
        of_type.setdefault(f"@{name}", set()).add(clean_kind(kind))
    try:
        return [_label_set(entry, of_type) for entry in read_json(path)]
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        problem = f"holds no sets of labels ({type(error).__name__}: {error})"
        raise DataError(problem, path=path) from error


def _label_set(entry: Dict[str, Any], of_type: Dict[str, Set[str]]) -> LabelSet:
    kinds, named = {}, {}
    for label, some in entry["labels"].items():
        by_name = frozenset(clean_kind(x) for x in some if x[:1] != "@")
        types = [x for x in some if x[:1] == "@"]
        if unknown := [x for x in types if x not in of_type]:
            raise ValueError(f"no kind has the type {unknown[0]!r}: give --types")
        by_type = (of_type[x] for x in types)
        named[clean_kind(label)] = by_name
        kinds[clean_kind(label)] = by_name.union(*by_type)
    names = entry.get("names", False)
    some_names = list(kinds) if names is True else map(clean_kind, names or [])
    weight = float(entry.get("weight", 1.0))
    if not 0 < weight < math.inf:
        raise ValueError(f"the weight {weight:g} is not above 0")
    return LabelSet(kinds, named, frozenset(some_names), weight)


def read_wordings(path: Path) -> Wordings:
    """Read what kinds are called in other words and languages: lines of a kind, a
    language, and wordings with semicolons between, with tabs.
    RAISES (DataError): If a line has no three fields, or no wording."""
    found: Wordings = {}
    for number, line in read_lines(path):
        if not line.strip():
            continue
        fields = line.rstrip("\n").split("\t")
        some = list(filter(None, map(clean_kind, fields[-1].split(";"))))
        if len(fields) != 3 or not some:
            problem = "write KIND<tab>LANGUAGE<tab>WORDING;WORDING in each line"
            raise DataError(problem, path=path, line=number)
        kind, lang, _ = fields
        found.setdefault((lang, clean_kind(kind)), []).extend(some)
    return found
