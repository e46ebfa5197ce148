"""Entities in tags of XML: <PER>Ann</PER>, <ENAMEX TYPE="PERSON">Ann</ENAMEX>."""

import html
import re
from typing import AbstractSet, Iterable, Optional

from ...files.errors import located
from ...files.text import Line
from ..records import CharSpan, TextRecord
from ..tags import check_label
from .source import Source

_TAG = re.compile(r"<(/?)([^\W\d][\w.:-]*)((?:\s[^<>]*)?)(/?)>|<[?!][^>]*>")
_PAIR = re.compile(r"<([^\W\d][\w.:-]*)(?:\s[^<>]*)?>[^<>]*</\1>")
_ATTRIBUTE = re.compile(r"""([\w:-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
# Attributes that name the class, which the tag itself then does not.
_TYPES = ("type", "label", "class", "category", "cat", "subtype")
# What divides a text, or shapes it, and is no entity.
_PARTS = """xml doc document docs text s sent sentence p para paragraph body root corpus
dataset data div tei html tokens br ul li table tr td dateline docno docid hl txt sp
trailer slug"""
# These, too, unless words stand beside them: <title>Dunes</title> by <PER>Ann</PER>.
_MAYBE_PARTS = frozenset(
    ("article", "head", "title", "line", "item", "section", "story")
)
_STRUCTURE = frozenset(_PARTS.split()) | _MAYBE_PARTS
# These shape words within a sentence.
_SHAPES = frozenset(["b", "i", "em", "strong", "u", "a", "w", "token"])


def fits_markup(lines: Iterable[Line], in_capitals: bool = False) -> bool:
    """Whether words stand between two tags that may be a class.
    in_capitals (bool): Whether its name has to be: plain text may hold others."""
    return any(
        found[1].casefold() not in _STRUCTURE | _SHAPES
        and (found[1].isupper() or not in_capitals)
        for _, line in lines
        for found in _PAIR.finditer(line)
    )


def read_markup(lines: Iterable[Line], source: Source) -> list[TextRecord]:
    """Read a sentence a line, or one in each element that holds text, with entities in
    tags, which may lie in one another.
    RAISES (DataError): If a tag of an entity is not closed on its line."""
    records = []
    lines = list(lines)
    structure = _STRUCTURE - _within_sentences(line for _, line in lines)
    for number, line in lines:
        with located(source.path, number):
            for text, spans in _sentences(line, structure):
                records.append(TextRecord(text, spans, number))
    source.report.understood = "tags in the text"
    source.report.is_marked = any(record.spans for record in records)
    return records


def _within_sentences(lines: Iterable[str]) -> set[str]:
    """Names of tags that may divide a text, and have words beside them in a line."""
    found = set()
    for line in lines:
        for pair in _PAIR.finditer(line):
            before = re.split(r"[<>]", line[: pair.start()])[-1]
            behind = re.split(r"[<>]", line[pair.end() :])[0]
            if pair[1].casefold() in _MAYBE_PARTS and (before + behind).strip():
                found.add(pair[1].casefold())
    return found


def _sentences(
    line: str, structure: AbstractSet[str]
) -> Iterable[tuple[str, list[CharSpan]]]:
    text, position = "", 0
    spans: list[CharSpan] = []
    opened: list[tuple[str, str, int]] = []
    for tag in [*_TAG.finditer(line), None]:
        text += html.unescape(line[position : tag.start() if tag else len(line)])
        position = tag.end() if tag else len(line)
        name = (tag[2] or "") if tag else ""
        if name.casefold() in _SHAPES:
            continue
        if name and name.casefold() not in structure:
            if tag is not None and not tag[1] and not tag[4]:
                opened.append((name, _label(name, tag[3]), len(text)))
            elif tag is not None and tag[1]:
                spans += _closed(name, opened, text)
            continue
        if opened:
            raise ValueError(
                f"<{opened[-1][0]:.60}> is not closed on its line, or before "
                f"{tag[0] if tag else 'its end'!r:.60}"
            )
        if text.strip():
            yield _stripped(text, spans)
        text, spans = "", []


def _closed(name: str, opened: list[tuple[str, str, int]], text: str) -> list[CharSpan]:
    if not opened or opened[-1][0] != name:
        raise ValueError(f"</{name:.60}> closes nothing: write <{name:.60}> before")
    _, label, start = opened.pop()
    words = text[start:]
    if not words.strip():
        return []
    start += len(words) - len(words.lstrip())
    return [CharSpan(start, start + len(words.strip()), check_label(label))]


def _stripped(text: str, spans: list[CharSpan]) -> tuple[str, list[CharSpan]]:
    before = len(text) - len(text.lstrip())
    moved = [CharSpan(x.start - before, x.end - before, x.label) for x in spans]
    return text.strip(), moved


def _label(name: str, attributes: str) -> str:
    found = {key.casefold(): a or b for key, a, b in _ATTRIBUTE.findall(attributes)}
    named: Optional[str] = next((found[key] for key in _TYPES if found.get(key)), None)
    return name if named is None else html.unescape(named)
