"""Label maps: from the types of a lexicon to the classes that are wanted."""

import re
from pathlib import Path
from typing import Iterable

from pydantic import TypeAdapter, ValidationError

from ..corpus.tags import MAX_LABEL_CHARS
from ..files.errors import DataError
from ..files.json_lines import read_json

# Several pairs may stand in one option.
_GAP = re.compile(r"[,\s]+")
# What files of tags mean by these is no class.
_NO_LABELS = frozenset({"O", "-"})


def read_label_map(values: Iterable[str]) -> dict[str, str]:
    """Read a label map, type -> label, from pairs and files.

    values (Iterable[str]): Each is a JSON file {"PERSON": "PER", ...}, or a pair
        "PERSON=PER", or several pairs with blanks or commas between them.
    RAISES (DataError): If a value is neither, or a type has two labels.
    """
    label_map: dict[str, str] = {}
    for value in values:
        is_file = value.lower().endswith(".json")
        pairs = _read_pairs(Path(value)) if is_file else _parse_pairs(value)
        for type_, label in pairs.items():
            if label_map.setdefault(type_, check_label(label)) != label:
                raise DataError(
                    f"the label map gives {type_!r:.100} two labels, "
                    f"{label_map[type_]!r} and {label!r}: keep one"
                )
    return label_map


def _parse_pairs(value: str) -> dict[str, str]:
    pairs = {}
    for pair in filter(None, _GAP.split(value)):
        type_, equals, label = pair.partition("=")
        if not equals or not type_:
            raise DataError(
                f"{pair!r:.100} is no pair of a label map: write TYPE=LABEL, eg "
                "PERSON=PER, or name a .json file"
            )
        pairs[type_] = label
    return pairs


def _read_pairs(path: Path) -> dict[str, str]:
    try:
        return TypeAdapter(dict[str, str]).validate_python(read_json(path))
    except ValidationError as error:
        raise DataError(
            'no label map: write {"PERSON": "PER", "GPE": "LOC", ...}', path=path
        ) from error


def check_label(label: str) -> str:
    """Give a label back if it can be the class of an entity.
    RAISES (DataError): If it is empty or long, holds blanks or means "no entity"."""
    if (
        not label
        or label in _NO_LABELS
        or len(label) > MAX_LABEL_CHARS
        or _GAP.search(label)
    ):
        raise DataError(
            f"{label!r:.100} is no label: use a class name without blanks, eg PER"
        )
    return label
