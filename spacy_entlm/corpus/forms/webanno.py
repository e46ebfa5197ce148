"""WebAnno's and INCEpTION's TSV, version 3."""

import re
from typing import Iterable, Iterator, Optional

from ...files.errors import DataError, located
from ...files.text import Line
from ..reading_report import UNNAMED
from ..records import WordRecord
from ..tags import MISSING, OUTSIDE
from .json_words import spans_to_tags
from .source import Source

_HEAD = "#FORMAT=WebAnno TSV 3"
_LAYER = re.compile(r"#T_(SP|CH|RL)=(.*)")
# Before the columns of the layers: the number of the token, its offsets, and the word.
_N_BEFORE = 3
_TOKEN = re.compile(r"\d+-\d+")
_PART = re.compile(r"\d+-\d+\.\d+")
_VALUE = re.compile(r"(.*?)(?:\[(\d+)\])?")
INSIDE_WORDS = "spans inside a word"


def fits_webanno(lines: Iterable[Line]) -> bool:
    """Whether the first line says that this is it."""
    return next((line for _, line in lines), "").startswith(_HEAD)


def read_webanno(lines: Iterable[Line], source: Source) -> list[WordRecord]:
    """Read the named entities, or the only layer of spans. Spans inside a word, or
    without a class, are counted; of those that overlap the longest is kept. A word with
    a span inside it counts as not annotated.
    RAISES (DataError): If no layer is one of entities, or a row is broken."""
    names: list[tuple[str, str]] = []
    inner: set[int] = set()
    sentences: list[list[tuple[int, list[str]]]] = [[]]
    for number, line in lines:
        if found := _LAYER.match(line):
            layer, *features = found[2].rstrip("|").split("|")
            kind = layer if found[1] == "SP" else ""
            names += [(kind, feature) for feature in features or [""]]
        elif not line.strip():
            sentences.append([])
        elif _PART.match(line):
            has_span = any(cell.strip("_*") for cell in line.split("\t")[_N_BEFORE:])
            source.report.skipped[INSIDE_WORDS] += has_span
            if has_span and sentences[-1]:
                inner.add(sentences[-1][-1][0])
        elif _TOKEN.match(line):
            sentences[-1].append((number, line.split("\t")))
    source.report.skipped = +source.report.skipped
    column = _column(names, source)
    layer, feature = names[column - _N_BEFORE]
    told = f"{layer.rpartition('.')[2]} {feature}".strip()
    source.report.understood = f"WebAnno TSV 3, layer {told}"
    return [_record(rows, column, inner, source) for rows in sentences if rows]


def _column(names: list[tuple[str, str]], source: Source) -> int:
    if source.columns is not None:
        asked = source.columns.split(",")[-1].strip()
        if asked.isdecimal() and _N_BEFORE < int(asked) <= _N_BEFORE + len(names):
            return int(asked) - 1
    layers = list(dict.fromkeys(layer for layer, _ in names if layer))
    named = [x for x in layers if "namedentity" in x.casefold().replace("_", "")]
    chosen = named or layers
    if len(chosen) != 1:
        listed = ", ".join(
            f"{i} {layer.rpartition('.')[2]} {feature}"
            for i, (layer, feature) in enumerate(names, _N_BEFORE + 1)
            if layer
        )
        raise DataError(
            f"no layer of named entities (columns: {listed or 'no spans'}): say which "
            "column holds the classes, eg `convert --columns 3,4` (word,tag)",
            path=source.path,
        )
    own = [i for i, (layer, _) in enumerate(names) if layer == chosen[0]]
    values = [i for i in own if names[i][1] in ("value", "label", "type")]
    return _N_BEFORE + (values or own)[0]


def _record(
    rows: list[tuple[int, list[str]]], column: int, inner: set[int], source: Source
) -> WordRecord:
    """inner (set[int]): Lines of words that have spans inside."""
    number = rows[0][0]
    with located(source.path, number):
        short = next((cells for _, cells in rows if len(cells) <= column), None)
        if short is not None:
            raise ValueError(f"{len(short)} columns in {' '.join(short)!r:.100}")
        spans = list(_spans([cells[column] for _, cells in rows], source))
        tags = spans_to_tags(len(rows), spans, source.report)
    for i, (line, _) in enumerate(rows):
        if line in inner and tags[i] == OUTSIDE:
            tags[i] = MISSING
    words = [cells[_N_BEFORE - 1] for _, cells in rows]
    return WordRecord(words, tags, [number for number, _ in rows])


def _spans(cells: list[str], source: Source) -> Iterator[tuple[int, int, str]]:
    """The first word, the end and the class of each. Those with a number go over all
    words that have it, others over one."""
    numbered: dict[tuple[str, str], list[int]] = {}
    for i, cell in enumerate(cells):
        for value in re.split(r"(?<!\\)\|", cell):
            label, number = _parse(value)
            if label is None:
                continue
            if label == "*":
                source.report.skipped[UNNAMED] += 1
            elif number:
                numbered.setdefault((label, number), []).append(i)
            else:
                yield i, i + 1, label
    for (label, _), words in numbered.items():
        yield words[0], words[-1] + 1, label


def _parse(value: str) -> tuple[Optional[str], str]:
    if value.strip() in ("_", ""):
        return None, ""
    found = _VALUE.fullmatch(value.strip())
    label = re.sub(r"\\(.)", r"\1", found[1]) if found else value
    return label, (found[2] or "") if found else ""
