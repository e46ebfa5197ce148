"""Label maps: from the types of a lexicon to the classes that are wanted."""

import re
from pathlib import Path
from typing import Dict, Iterable, Tuple

from ..files.errors import DataError
from ..files.json_lines import read_json

# Several pairs may stand in one option.
_GAP = re.compile(r"[,\s]+")
# What files of tags mean by these is no class.
_NO_LABELS = frozenset({"O", "-"})


def read_label_map(values: Iterable[str]) -> Dict[str, str]:
    """Read a label map, type -> label, from pairs and files.

    values (Iterable[str]): Each is a JSON file {"PERSON": "PER", ...}, or a pair
        "PERSON=PER", or several pairs with blanks or commas between them.
    RAISES (DataError): If a value is neither, or a type has two labels.
    """
    label_map: Dict[str, str] = {}
    for value in values:
        if value.lower().endswith(".json"):
            pairs = _read_pairs(Path(value))
        else:
            pairs = dict(_parse_pair(pair) for pair in _GAP.split(value) if pair)
        for type_, label in pairs.items():
            if label_map.setdefault(type_, label) != label:
                raise DataError(
                    f"the label map gives {type_!r} two labels, {label_map[type_]!r} "
                    f"and {label!r}: keep one"
                )
    return label_map


def _parse_pair(pair: str) -> Tuple[str, str]:
    type_, equals, label = pair.partition("=")
    if not equals or not type_:
        raise DataError(
            f"{pair!r} is no pair of a label map: write TYPE=LABEL, eg PERSON=PER, or "
            "name a .json file"
        )
    return type_, check_label(label)


def _read_pairs(path: Path) -> Dict[str, str]:
    pairs = read_json(path)
    if not isinstance(pairs, dict) or not all(
        isinstance(label, str) for label in pairs.values()
    ):
        raise DataError(
            'no label map: write {"PERSON": "PER", "GPE": "LOC", ...}', path=path
        )
    return {type_: check_label(label) for type_, label in pairs.items()}


def check_label(label: str) -> str:
    """Give a label back if it can be the class of an entity.

    RAISES (DataError): If it is empty, holds blanks or means "no entity".
    """
    if not label or label in _NO_LABELS or _GAP.search(label):
        raise DataError(
            f"{label!r} is no label: use a class name without blanks, eg PER"
        )
    return label
