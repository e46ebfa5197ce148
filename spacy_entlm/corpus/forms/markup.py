"""Entities in tags of XML: <PER>Ann</PER>, <ENAMEX TYPE="PERSON">Ann</ENAMEX>."""

import html
import re
from typing import AbstractSet, Iterable, Optional, Sequence

from ...files.errors import DataError, located
from ...files.text import Line
from ..records import CharSpan, TextRecord
from ..tags import check_label
from .source import Source

_TAG = re.compile(r"<(/?)([^\W\d][\w.:-]*)((?:\s[^<>]*?)?)(/?)>|<[?!][^>]*>")
# What is no text: remarks, and a declaration of the kind of document.
_REMARK = re.compile(r"<!--.*?-->|<!DOCTYPE[^\[>]*(?:\[.*?\])?\s*>", re.DOTALL)
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
# Elements of forms whose marks are offsets or numbers of words, beside the text: GATE,
# UIMA, BioC, FoLiA, TCF, CCL, NAF, TIGER.
_NAMES_BESIDE = """gatedocument textwithnodes xmi sofa infon folia textcorpus chunklist
naf kaf terminals wref"""
_BESIDE = frozenset(_NAMES_BESIDE.split())
_PAIR = re.compile(r"<([^\W\d][\w.:-]*)(?:\s[^<>]*)?>[^<>]*</\1>")
_ATTRIBUTE = re.compile(r"""([\w:-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
# Attributes that name the class, which the tag itself then does not.
_TYPES = ("type", "label", "class", "category", "cat", "subtype")
# These do so of elements that only say that there is an entity. Others are no class.
_OTHER_TYPES = ("cls", "kind", "tag", "ner", "entity_type", "ne_type", "netype")
_NO_CLASSES = """entity ne ent mark span annotation name rs enamex mention tag label e
chunk phrase"""
_GENERIC = frozenset(_NO_CLASSES.split())
_IDS = """id key ref n uri url href src lemma norm lang start end from to begin offset
length confidence score status rend style value text cert resp wiki wikidata xmlns"""
_NO_TYPES = frozenset(_IDS.split())
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
    RAISES (DataError): If a tag of an entity is not closed on its line, the marks stand
        beside the text, or there is no text without a mark."""
    records = []
    lines = _without_remarks(lines)
    _check_form(lines, source)
    structure = _STRUCTURE - _within_sentences(line for _, line in lines)
    for number, line in lines:
        with located(source.path, number):
            for text, spans in _sentences(line, structure):
                records.append(TextRecord(text, spans, number))
    source.report.understood = "tags in the text"
    source.report.is_marked = any(record.spans for record in records)
    with located(source.path):
        _check_covered(records)
    return records


def _without_remarks(lines: Iterable[Line]) -> list[Line]:
    """Lines without remarks; what is not to be read as tags is written so."""
    numbered = list(lines)
    text = "\n".join(line for _, line in numbered)
    text = _CDATA.sub(lambda found: html.escape(found[1], quote=False), text)
    text = _REMARK.sub(lambda found: "\n" * found[0].count("\n"), text)
    numbers = (number for number, _ in numbered)
    return list(zip(numbers, text.split("\n")))


def _check_form(lines: Iterable[Line], source: Source) -> None:
    for number, line in lines:
        for tag in _TAG.finditer(line):
            if tag[2] and _local(tag[2]).casefold() in _BESIDE:
                raise DataError(
                    f"<{tag[2]:.60}> is of a form whose marks stand beside the text "
                    "(GATE, UIMA, BioC, FoLiA and the like), which is not read: export "
                    "it in a form of docs/data.md",
                    path=source.path,
                    line=number,
                )


def _check_covered(records: Sequence[TextRecord]) -> None:
    """RAISES (ValueError): If several marks hold all that there is."""
    spans = [span for record in records for span in record.spans]
    for record in records:
        place = 0
        for span in sorted(record.spans):
            if record.text[place : max(span.start, place)].strip():
                return
            place = max(place, span.end)
        if record.text[place:].strip():
            return
    if len(spans) > 1:
        raise ValueError(
            f"there is nothing but marks (eg {spans[0].label!r:.60}): only entities "
            "have a tag in sentences; export other XML in a form of docs/data.md"
        )


def _local(name: str) -> str:
    """A name without that of its space."""
    return name.rpartition(":")[2] or name


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
        kind = _local(name).casefold()
        if kind in _SHAPES:
            continue
        if name and kind not in structure:
            if tag is not None and not tag[1] and not tag[4]:
                opened.append((name, _label(name, tag[3]), len(text)))
            elif tag is not None and tag[1]:
                spans += _closed(name, opened, text)
            continue
        if opened:
            before = f", or before {tag[0]!r:.60}" if tag else ""
            raise ValueError(
                f"<{opened[-1][0]:.60}> is not closed on its line{before}: here a "
                "sentence stands on one line, and only entities have tags in it; "
                "export other XML in a form of docs/data.md"
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
    is_generic = _local(name).casefold() in _GENERIC
    keys = (*_TYPES, *_OTHER_TYPES) if is_generic else _TYPES
    named: Optional[str] = next((found[key] for key in keys if found.get(key)), None)
    others = [key for key in found if _local(key) not in _NO_TYPES]
    if named is None and others and is_generic:
        raise ValueError(
            f"<{name:.60}> does not say its class, or does so in {others[0]!r:.60}: "
            'call the attribute "type"'
        )
    return _local(name) if named is None else html.unescape(named)
