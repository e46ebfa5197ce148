"""Rasa's training data, in Markdown and in YAML."""

import re
from typing import Any, Iterable

import srsly

from ...files.errors import DataError, located
from ...files.text import Line
from ..records import TextRecord
from .inline import find_slips, has_marks, strip_marks
from .source import Place, Source

_SECTION = re.compile(r"##\s*(\w+)\s*:")
_ITEM = re.compile(r"\s*[-*+]\s+(.*)")
INTENT = "intent"
NO_EXAMPLE = 'Lines with marks that are no examples, since they do not begin with "- "'


def fits_rasa_markdown(lines: Iterable[Line]) -> bool:
    """Whether there is a section of an intent."""
    return any((x := _SECTION.match(line)) and x[1] == INTENT for _, line in lines)


def read_rasa_markdown(lines: Iterable[Line], source: Source) -> list[TextRecord]:
    """Read the examples of all intents; lists of synonyms and the like are none.
    RAISES (DataError): If a mark is broken."""
    records, section = [], ""
    for number, line in lines:
        if found := _SECTION.match(line):
            section = found[1]
        elif section == INTENT and (item := _ITEM.match(line)):
            with located(source.path, number):
                text, spans = strip_marks(item[1].strip(), values=True)
            records.append(TextRecord(text, spans, number))
        elif section == INTENT:
            _note_mark(line, source)
    return _told(records, "Markdown", source)


def read_rasa_yaml(lines: Iterable[Line], source: Source) -> list[TextRecord]:
    """Read {"nlu": [{"intent", "examples"}]}, as `read_rasa_markdown`.
    RAISES (DataError): If that is no YAML or something else, or a mark is broken."""
    try:
        value = srsly.yaml_loads("\n".join(line for _, line in lines))
    except Exception as error:  # the parser's own kinds, which are not public
        problem = f"broken YAML ({type(error).__name__})"
        raise DataError(
            f"{problem}: check its indentation", path=source.path
        ) from error
    nlu = value.get("nlu") if isinstance(value, dict) else None
    if not isinstance(nlu, list):
        raise DataError(
            'no "nlu" with a list of intents: Rasa\'s has one', path=source.path
        )
    records: list[TextRecord] = []
    for entry in nlu:
        for example in _examples(entry, source):
            place = Place(len(records) + 1, "example")
            with source.located(place):
                text, spans = strip_marks(example, values=True)
            records.append(TextRecord(text, spans, *place))
    return _told(records, "YAML", source)


def _examples(entry: Any, source: Source) -> list[str]:
    if not isinstance(entry, dict) or INTENT not in entry:
        return []
    examples = entry.get("examples")
    if isinstance(examples, str):
        items = []
        for line in examples.splitlines():
            if item := _ITEM.match(line):
                items.append(item[1].strip())
            else:
                _note_mark(line, source)
        return items
    listed = examples if isinstance(examples, list) else []
    texts = (x.get("text", "") if isinstance(x, dict) else x for x in listed)
    return [str(text).strip() for text in texts]


def _note_mark(line: str, source: Source) -> None:
    """Note a line that is no example, if there is a mark in it."""
    if has_marks(line):
        source.report.note(NO_EXAMPLE, f"{line.strip()!r:.80}")


def _told(records: list[TextRecord], form: str, source: Source) -> list[Any]:
    source.report.understood = f"Rasa's {form}"
    source.report.is_marked = any(record.spans for record in records)
    source.report.slips += find_slips(records)
    return [record for record in records if record.text]
