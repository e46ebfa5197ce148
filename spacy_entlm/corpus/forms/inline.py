"""Marks in the text: one sentence a line, its entities [like this](LABEL)."""

import json
import re
from typing import Any, Iterable, Sequence

from ...files.errors import located
from ...files.text import Line
from ..records import CharSpan, TextRecord
from ..tags import check_label
from .source import Source

# Also vowel signs and the like, which are no letters, but no address of a link.
LABEL = r"[^\W\d_](?:[\w-]|[^\x00-\x7f\s\w])*"
# A class, a class with a value (Rasa's (city:New York), no address), or an object.
_BEHIND = rf'\(({LABEL})\)|\(({LABEL}):(?!//)[^()]*\)|(\{{\s*"entity"[^{{}}]*\}})'
# Several of these objects.
_OBJECTS = r'\[\s*(\{\s*"entity"[^\[\]]*\})\s*\]'
MARK = re.compile(rf"\[([^\[\]]+)\](?:{_BEHIND}|{_OBJECTS})")
# What may be meant as a mark: the bracket is not closed, a space stands before "(", or
# the brackets are others.
SLIP = re.compile(
    rf"\[[^\[\]()]*[^\[\]()\s]\]?\s*\(\s*({LABEL})\s*\)"
    rf"|\[[^\[\](){{}}]*[^\[\](){{}}\s]\]\s*[\[{{]\s*({LABEL})\s*[\]}}]"
    rf"|[\[{{][^\[\]{{}}|]*[^\[\]{{}}|\s]\s*\|\s*({LABEL})\s*[\]}}]"
    rf"|\([^\[\]()]*[^\[\]()\s]\)\s*\[\s*({LABEL})\s*\]"
    rf"|<({LABEL})>[^<>]*</[^<>]*>"
)
# "museum_object", "MuseumObject" or "place2", which is no word of a text.
CODE = re.compile(r"[^\W_][_\d]|[a-z][A-Z]")


def read_inline(lines: Iterable[Line], source: Source) -> list[TextRecord]:
    """Read one sentence a line with its entities marked [like this](LABEL), or
    [this]{"entity": "label"}.
    RAISES (DataError): If a bracket is closed but no label follows."""
    records = []
    for number, line in lines:
        if line.strip():
            with located(source.path, number):
                records.append(TextRecord(*strip_marks(line.strip()), number))
    source.report.understood = "marks in the text"
    source.report.is_marked = any(record.spans for record in records)
    source.report.slips += find_slips(records)
    return records


def strip_marks(line: str, values: bool = False) -> tuple[str, list[CharSpan]]:
    """A text without the marks, and the spans that they say.
    values (bool): Whether a value may stand behind a class, as Rasa has it.
    RAISES (ValueError): If a mark is broken."""
    text, position = "", 0
    spans = []
    for match in MARK.finditer(line):
        text += _unmarked(line[position : match.start()])
        entity = match[1]
        # Blanks inside the brackets belong to the text, not to the entity.
        start = len(text) + len(entity) - len(entity.lstrip())
        end = len(text) + len(entity.rstrip())
        if start >= end:
            raise ValueError(f"nothing is marked in {match.group()!r:.100}")
        if match[3] and not values:
            _unmarked(match.group())
        named = match[2] or match[3]
        labels = [named] if named else _labels_of(match[4] or match[5])
        spans += [CharSpan(start, end, check_label(label)) for label in labels]
        text += entity
        position = match.end()
    return text + _unmarked(line[position:]), spans


def find_slips(records: Sequence[TextRecord]) -> list[str]:
    """Places of texts that look as if they were meant as marks of classes that occur,
    or that are written as only classes are."""
    labels = {span.label.casefold() for record in records for span in record.spans}
    return [
        f"{record.unit} {record.number}: {slip[0]:.100}"
        for record in records
        for slip in SLIP.finditer(record.text)
        if _is_class(str(slip[slip.lastindex or 0]), labels)
    ]


def _is_class(word: str, labels: set[str]) -> bool:
    is_code = CODE.search(word) or (len(word) > 1 and word.isupper())
    return bool(is_code) or word.casefold() in labels


def _labels_of(written: str) -> list[str]:
    """The classes that one or several objects name."""
    try:
        values: list[Any] = [x.get("entity") for x in json.loads(f"[{written}]")]
    except (ValueError, AttributeError):
        values = [None]
    if not all(isinstance(value, str) for value in values):
        raise ValueError(
            f'mark not understood: {written!r:.100}: write {{"entity": "LABEL"}}'
        )
    return values


def _unmarked(text: str) -> str:
    # A slip in the markup would otherwise turn into words of the text.
    if "](" in text or ']{"' in text or '][{"' in text:
        raise ValueError(
            f"markup not understood in {text.strip()!r:.100}: write [words](LABEL), the"
            " label without a space, in letters, digits, '-' and '_', with no bracket"
            " inside a bracket"
        )
    return text


def has_marks(text: str) -> bool:
    """Whether there is a mark in a text."""
    return MARK.search(text) is not None


def first_slip(lines: Iterable[Line]) -> str:
    """What in lines may be meant as a mark, "" if there is nothing."""
    for _, line in lines:
        for slip in SLIP.finditer(line):
            if len(word := str(slip[slip.lastindex or 0])) > 1 and word.isupper():
                return slip[0]
    return ""
