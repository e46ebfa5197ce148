"""JSON files: lines of objects or one list, each object of a form that it shows."""

import json
from contextlib import suppress
from typing import Any, Iterable, Optional, Sequence

from ...files.errors import DataError
from ...files.json_lines import load_json, load_object
from ...files.text import Line
from ..reading_report import CONTRADICTING, DIFFERING, JOINED, NOT_ACCEPTED
from ..records import Record, TextRecord
from .json_kinds import KINDS, TEXTS, Kind
from .json_others import fits_pair, unpacked_lists
from .source import Place, Source
from .spans import is_rejected, raw_spans

Entry = tuple[Place, Any]
_OBJECT = '{"text": ..., ...}'
_FORM = (
    'write {"text": [words], "label": [tags]} or {"text": "...", "spans": [...]}, or '
    "give what an annotation tool exports (docs/data.md)"
)


def read_entries(lines: Iterable[Line], source: Source) -> list[Record]:
    """Read JSON objects, one a line or in one list, of any form of `KINDS`. The report
    counts what the annotator did not accept.
    RAISES (DataError): If there is broken JSON, an object has no such form, or lacks
    what it must have."""
    accepted: list[tuple[Place, Any, Kind]] = []
    rejected: dict[str, set[tuple[int, int, str]]] = {}
    for place, entry in load_entries(lines, source):
        with source.located(place):
            if is_rejected(entry):
                source.report.skipped[NOT_ACCEPTED] += 1
                if entry.get("answer") == "reject":
                    rejected.setdefault(str(entry.get("text")), set()).update(
                        _spans_of(entry)
                    )
                continue
            accepted.append((place, entry, _kind_of(entry, source.kind)))
    parsers = {}
    for kind in {kind.name: kind for _, _, kind in accepted}.values():
        own = [entry for _, entry, one in accepted if one is kind]
        parsers[kind.name] = kind.begin(own, source)
    records: list[Record] = []
    for place, entry, kind in accepted:
        with source.located(place):
            records += parsers[kind.name](entry, place)
    used = dict.fromkeys(kind.title for _, _, kind in accepted)
    source.report.understood = ", ".join(used)
    if all(kind.name == TEXTS for _, _, kind in accepted):
        return join_texts(records, source, rejected)
    for group in filter(_differ, _by_text(records)):
        source.report.note(DIFFERING, _example(group[0]))
    return records


def _kind_of(entry: Any, asked: Optional[str]) -> Kind:
    for kind in KINDS:
        if kind.fits(entry) and asked in (None, kind.name):
            return kind
    if asked is not None:
        raise ValueError(f"not of the form {asked}, which was asked for: {entry!r:.60}")
    if isinstance(entry, dict):
        raise ValueError(
            'no "text" that is a string or a list of words (keys: '
            f"{list(entry)!s:.100}): {_FORM}"
        )
    raise ValueError(f"an object is needed, not {entry!r:.100}: {_FORM}")


def load_entries(lines: Iterable[Line], source: Source) -> list[Entry]:
    """The objects of a file, and where each stands.
    RAISES (DataError): If they are broken JSON, or there is no list of objects."""
    filled = [(number, line) for number, line in lines if line.strip()]
    if not filled:
        return []
    first = filled[0][1].lstrip("\ufeff \t")
    is_json = source.path.name.lower().endswith(".json")
    if first.startswith("[") or is_json:
        whole = "\n".join(line for _, line in filled)
        try:
            value = load_json(whole)
        # Thousands of open brackets end in a RecursionError.
        except (ValueError, RecursionError) as error:
            if not _is_value(first):
                line = None if is_json else filled[0][0]
                raise DataError(
                    f"broken JSON ({error}): {_FORM}", path=source.path, line=line
                ) from error
        else:
            return _of_list(value, source)
    return [_of_line(number, line, source) for number, line in filled]


def _is_value(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _of_line(number: int, line: str, source: Source) -> Entry:
    if line.lstrip().startswith("["):
        pair = json.loads(line) if _is_value(line) else None
        if fits_pair(pair):
            return Place(number), pair
    return Place(number), load_object(line, source.path, number, form=_OBJECT)


def _of_list(value: Any, source: Source) -> list[Entry]:
    if isinstance(value, dict):
        is_entry = any(kind.fits(value) for kind in KINDS)
        value = [value] if is_entry else unpacked_lists(value)
    if value is not None and fits_pair(value):
        value = [value]
    if not isinstance(value, list):
        kind = type(value).__name__ if value is not None else "dict"
        raise DataError(
            f"a JSON {kind} where a list is needed: {_FORM}", path=source.path
        )
    return [(Place(i, "entry"), entry) for i, entry in enumerate(value, 1)]


def _spans_of(entry: dict[str, Any]) -> set[tuple[int, int, str]]:
    """The spans of a text that the annotator rejected."""
    found = set()
    spans = entry.get("spans")
    for span in spans if isinstance(spans, list) else []:
        with suppress(ValueError):
            found |= {(raw.start, raw.end, raw.label) for raw in raw_spans(span)}
    return found


def join_texts(
    records: Sequence[Record],
    source: Source,
    rejected: dict[str, set[tuple[int, int, str]]],
) -> list[Record]:
    """Make one record of each text that has different marks in several places: tools
    that ask for one mark at a time write them on a line each. What contradicts another
    mark of the text counts as not annotated. The report counts both.

    rejected (dict): Spans of texts that were rejected.
    """
    firsts, joined = {}, {}
    for group in _by_text(records):
        refused = rejected.get(group[0].text, set())
        if _differ(group):
            source.report.note(JOINED, _example(group[0]))
        if _differ(group) or refused:
            text = group[0].text
            firsts[text], joined[text] = group[0], _join(group, source, refused)
    result: list[Record] = []
    for record in records:
        if not isinstance(record, TextRecord) or record.text not in joined:
            result.append(record)
        elif record is firsts[record.text]:
            result.append(joined[record.text])
    return result


def _by_text(records: Sequence[Record]) -> list[list[TextRecord]]:
    texts: dict[str, list[TextRecord]] = {}
    for record in records:
        if isinstance(record, TextRecord):
            texts.setdefault(record.text, []).append(record)
    return list(texts.values())


def _differ(group: Sequence[TextRecord]) -> bool:
    return len({frozenset(record.spans) for record in group}) > 1


def _example(record: TextRecord) -> str:
    return f"{record.text!r:.80}, {record.unit} {record.number}"


def _join(
    group: list[TextRecord], source: Source, rejected: set[tuple[int, int, str]]
) -> TextRecord:
    first, report = group[0], source.report
    spans = sorted({span for record in group for span in record.spans})
    missing = [place for record in group for place in record.missing]
    kept = []
    for span in spans:
        against: Optional[Any] = span if span in rejected else None
        for other in spans:
            overlaps = span.start < other.end and other.start < span.end
            apart = not any({span, other} <= {*record.spans} for record in group)
            if other != span and overlaps and apart:
                against = other
        if against is None:
            kept.append(span)
            continue
        words = first.text[span.start : span.end]
        report.note(
            CONTRADICTING, f"{words!r:.60} ({span.label}) in {first.text!r:.80}"
        )
        missing.append((span.start, span.end))
    return first._replace(spans=kept, missing=missing)
