"""Spans of a text, as many tools write them."""

import re
from typing import Any, Iterable, NamedTuple, Optional, Sequence

from ..reading_report import LOST, MOVED, REJECTED, CorpusReport
from ..records import CharSpan, Record, TextRecord
from ..tags import OUTSIDE, check_label
from .source import Place

# How far from its offsets a span's own text is looked for: where offsets count bytes or
# halves of emoji, or blanks were taken away, they are off by a few characters.
NEAR = 50
# Names of the ends of a span and of its class: Prodigy's and ours, doccano's, the cloud
# services', and those of tables.
_STARTS = ("start", "start_offset", "startOffset", "BeginOffset", "begin")
_ENDS = ("end", "end_offset", "endOffset", "EndOffset")
_LABELS = ("label", "labels", "entity", "entity_type", "entity_group", "type", "tag")
_TEXTS = ("text", "Text")
# What says of a span or a text that somebody accepted it, or did not.
_ACCEPTED = ("correct", "accept", "accepted", "is_correct", "is_accepted")
_REFUSED = (
    *("rejected", "is_rejected", "deleted", "is_deleted", "ignored", "is_ignored"),
    *("discarded", "is_discarded"),
)
_REFUSALS = frozenset(("rejected", "discarded", "deleted", "ignored"))
# A tag of a word in the place of a class.
_TAG = re.compile(r"([BILUESMW])-(\S+)")
_CONTINUES = frozenset("ILEM")


class RawSpan(NamedTuple):
    """A span as it is written. text: Its own text, None if it has none."""

    start: int
    end: int
    label: str
    text: Optional[str] = None


def make_record(
    text: str, spans: Iterable[Any], place: Place, report: CorpusReport
) -> TextRecord:
    """A text with its spans, without those that are rejected. Where a span's own text
    is not that of its offsets, the text is followed if it stands once near by; else the
    place counts as not annotated. The report counts all of these.

    spans (Iterable): Objects with "start", "end" and "label", or lists of these three.
    RAISES (ValueError): If one is no span, or does not lie in the text.
    """
    raws: list[RawSpan] = []
    for span in spans:
        if is_rejected(span):
            report.skipped[REJECTED] += 1
        else:
            raws += raw_spans(span, text)
    found, missing = [], []
    has_tags = any(_TAG.fullmatch(raw.label) for raw in raws)
    for raw in raws:
        if has_tags and raw.label == OUTSIDE:
            continue
        placed = _follow(raw, text, place, report)
        if placed is None:
            end = min(raw.end, len(text))
            missing += [(raw.start, end)] * (0 <= raw.start < end)
        else:
            found.append(parse_span(placed, text))
    return TextRecord(text, found, place.number, place.unit, missing)


def is_rejected(value: Any) -> bool:
    """Whether somebody said that a span or a text is wrong, or took it away, as
    Prodigy, LightTag and others write it."""
    if not isinstance(value, dict):
        return False
    return (
        value.get("answer", "accept") != "accept"
        or any(value.get(key) is False for key in _ACCEPTED)
        or any(value.get(key) is True for key in _REFUSED)
        or str(value.get("status")).casefold() in _REFUSALS
    )


def join_tags(records: Sequence[Record]) -> list[Record]:
    """Records of a file with entities in the place of their words or pieces, where the
    classes of all spans are tags (B-PER, I-PER), as models of Hugging Face give them.
    Others stay as they are: a class may be called B-CELL."""
    texts = [record for record in records if isinstance(record, TextRecord)]
    labels = {span.label for record in texts for span in record.spans}
    if not _are_tags(labels):
        return list(records)
    return [
        record._replace(spans=_joined(record))
        if isinstance(record, TextRecord)
        else record
        for record in records
    ]


def _are_tags(labels: Iterable[str]) -> bool:
    """Whether some class begins and goes on, or all of several go on."""
    found = [_TAG.fullmatch(label) for label in labels]
    begun = {x[2] for x in found if x and x[1] not in _CONTINUES}
    inner = {x[2] for x in found if x and x[1] in _CONTINUES}
    are_clear = bool(begun & inner) or (len(inner) > 1 and not begun)
    return all(found) and are_clear


def _joined(record: TextRecord) -> list[CharSpan]:
    joined: list[CharSpan] = []
    for span in sorted(record.spans):
        prefix, _, label = span.label.partition("-")
        last = joined[-1] if joined else None
        continues = last is not None and prefix in _CONTINUES and label == last.label
        if last and continues and not record.text[last.end : span.start].strip():
            joined[-1] = last._replace(end=span.end)
        else:
            joined.append(CharSpan(span.start, span.end, label))
    return joined


def raw_spans(span: Any, whole: str = "") -> list[RawSpan]:
    """A span as it is written, once for each of its classes.
    whole (str): The text that it is in, if that is known.
    RAISES (ValueError): If it is none."""
    start = end = text = None
    labels: Any = None
    if isinstance(span, list | tuple) and len(span) == 3:
        start, end, labels = span
    elif isinstance(span, dict):
        start, end, labels, text = (
            next((span[key] for key in keys if key in span), None)
            for keys in (_STARTS, _ENDS, _LABELS, _TEXTS)
        )
        labels = _other_than_words(span, labels, whole, start, end)
    labels = labels if isinstance(labels, list) and labels else [labels]
    # type() and not isinstance(): true and false are no offsets.
    if (
        type(start) is not int
        or type(end) is not int
        or not all(isinstance(label, str) for label in labels)
    ):
        raise ValueError(
            f'span {span!r:.100} needs whole numbers "start" and "end" and a "label" '
            "that is a string: write an object of these, or a list"
        )
    text = text if isinstance(text, str) and text.strip() else None
    return [RawSpan(start, end, label, text) for label in labels]


def _other_than_words(span: dict[str, Any], label: Any, *place: Any) -> Any:
    """The class of a span, where "entity" may hold its words, and another key the
    class. place: The text, and start and end in it, as they are written."""
    text, start, end = place
    classes = [span[key] for key in _LABELS if key in span and key != "entity"]
    is_entity = label is span.get("entity") and isinstance(label, str)
    if not classes or not is_entity or not type(start) is type(end) is int:
        return label
    return classes[0] if _same(text[max(start, 0) : max(end, 0)], label) else label


def differ(answers: Iterable[Iterable[dict[str, Any]]], label: str) -> bool:
    """Whether answers, which are spans each, have other marks than the first one.
    label (str): The key of the class."""
    keys = ("start", "end", label)
    marks = [
        sorted(str([span.get(key) for key in keys]) for span in spans)
        for spans in answers
    ]
    return any(other != marks[0] for other in marks)


def check_classes(records: Sequence[Record]) -> None:
    """RAISES (ValueError): If there are several spans, and the class of each one is
    its own words: the key of the class is another one."""
    spans = [
        (record.text[span.start : span.end], span.label)
        for record in records
        if isinstance(record, TextRecord)
        for span in record.spans
    ]
    if len({*spans}) > 1 and all(words == label for words, label in spans):
        raise ValueError(
            f"each class is the entity's own words (eg {spans[0][1]!r:.60}): give the "
            'class under "label", and the words under "text"'
        )


def parse_span(raw: RawSpan, text: str) -> CharSpan:
    """A span of a text, without blanks at its ends.
    RAISES (ValueError): If it does not lie in the text."""
    start, end, label = raw.start, raw.end, raw.label
    if not 0 <= start < end <= len(text):
        raise ValueError(
            f"span {[start, end, label]!r:.100} does not lie in its text of "
            f"{len(text)} characters: offsets count characters from 0, the end is "
            "exclusive"
        )
    # Blanks around an entity do not belong to it; a span of blanks is none (readers).
    part = text[start:end].rstrip() or text[start:end]
    start, end = start + len(part) - len(part.lstrip() or part), start + len(part)
    return CharSpan(start, end, check_label(label))


def _follow(
    raw: RawSpan, text: str, place: Place, report: CorpusReport
) -> Optional[RawSpan]:
    """A span where its own text stands; None if that is not known."""
    there = text[max(raw.start, 0) : raw.end]
    if raw.text is None or _same(there, raw.text):
        return raw
    wanted = raw.text.strip()
    lowest, highest = max(raw.start - NEAR, 0), max(raw.end, 0) + NEAR
    near = text[lowest:highest]
    example = f"{wanted!r:.60} ({raw.label}) where {there!r:.60} stands, {place}"
    if near.find(wanted) < 0 or near.find(wanted) != near.rfind(wanted):
        report.note(LOST, example)
        return None
    report.note(MOVED, example)
    start = lowest + near.find(wanted)
    return raw._replace(start=start, end=start + len(wanted))


def _same(there: str, wanted: str) -> bool:
    """Whether words are the same, but for the kind of blanks between them."""
    return there.split() == wanted.split()
