"""Argilla: records of version 2 with their answers, those of version 1, and records to
import."""

from contextlib import suppress
from typing import Any, Optional, Sequence

from ..reading_report import ANSWERS, NOT_ACCEPTED
from ..records import Record
from .json_values import objects, part, text_of_key
from .label_studio import TEXT, main_field, other_keys
from .source import Parser, Place, Source
from .spans import differ, make_record

# The question for spans in the records that we write.
QUESTION = "spans"
# What version 1 calls a record that was answered.
_ANSWERED = "Validated"


def fits_argilla(entry: Any) -> bool:
    """Whether an object is a record of version 2: its fields, beside answers."""
    return isinstance(entry, dict) and isinstance(entry.get("fields"), dict)


def begin_argilla(entries: Sequence[dict[str, Any]], source: Source) -> Parser:
    """A parser of records. Of several answers the first is taken; what a model proposed
    is none. One question is taken for all records. The report counts records without an
    answer.
    RAISES (ValueError): From the parser, if a text or a span is broken."""
    question = _span_question(entries)

    def parse(entry: dict[str, Any], place: Place) -> list[Record]:
        spans = _record_spans(entry, question)
        if spans is None:
            source.report.skipped[NOT_ACCEPTED] += 1
            return []
        if differ(_all_spans(entry["responses"].get(question)), "label"):
            source.report.note(ANSWERS, str(place))
        text = entry["fields"][main_field(entry["fields"])]
        return [make_record(text, spans, place, source.report)]

    return parse


def _span_question(records: Sequence[Any]) -> Optional[str]:
    """The first question that has spans for an answer. Others have some, too, and an
    empty list says nothing of its kind."""
    for record in records:
        with suppress(ValueError, AttributeError):  # which the reading tells later
            for name, answers in part(record, "responses", dict).items():
                if _first_spans(answers):
                    return str(name)
    return None


def _record_spans(
    record: dict[str, Any], question: Optional[str]
) -> Optional[list[Any]]:
    """question: The one that asks for spans; None: the first that may do so."""
    responses = part(record, "responses", dict)
    asked = responses if question is None else {question: responses.get(question)}
    found = (_first_spans(answers) for answers in asked.values())
    return next((spans for spans in found if spans is not None), None)


def _first_spans(answers: Any) -> Optional[list[Any]]:
    """Of a question's answers; None if it asks for something else."""
    return next(iter(_all_spans(answers)), None)


def _all_spans(answers: Any) -> list[list[Any]]:
    """The spans of each answer that was sent, if the question asks for spans."""
    found = []
    for answer in objects(answers if isinstance(answers, list) else []):
        spans = answer.get("value")
        is_sent = answer.get("status", "submitted") == "submitted"
        if is_sent and isinstance(spans, list) and all(map(_is_span, spans)):
            found.append(spans)
    return found


def _is_span(value: Any) -> bool:
    return isinstance(value, dict) and "start" in value


def fits_argilla1(entry: Any) -> bool:
    """Whether an object is a record of version 1."""
    if not isinstance(entry, dict) or not {"text", "annotation"} <= entry.keys():
        return False
    return isinstance(entry["annotation"], list | None)


def parse_argilla1(entry: dict[str, Any], place: Place, source: Source) -> list[Record]:
    """Read Argilla 1's {"text", "annotation": [[label, start, end]]}.
    RAISES (ValueError): If a span is broken."""
    if entry["annotation"] is None or entry.get("status", _ANSWERED) != _ANSWERED:
        source.report.skipped[NOT_ACCEPTED] += 1
        return []
    spans = []
    for span in part(entry, "annotation", list):
        if isinstance(span, list) and len(span) >= 3 and isinstance(span[0], str):
            span = {"label": span[0], "start": span[1], "end": span[2]}
        spans.append(span)
    return [make_record(text_of_key(entry, "text"), spans, place, source.report)]


def argilla_record(entry: dict[str, Any]) -> dict[str, Any]:
    """What Argilla reads (`Dataset.records.from_json`): a text with suggestions for a
    question of spans. entry (dict): As for `label_studio_task`; other keys become
    metadata."""
    spans = entry["spans"]
    values = [{key: span[key] for key in ("start", "end", "label")} for span in spans]
    scores = [span["score"] for span in spans]
    found = {"value": values, "score": scores, "agent": "spacy-entlm"}
    # Lists and objects have no place in it.
    said = {**other_keys(entry), **entry["meta"]}
    return {
        "fields": {TEXT: entry["text"]},
        "metadata": {k: v for k, v in said.items() if isinstance(v, int | float | str)},
        "suggestions": {QUESTION: found} if spans else {},
        "responses": {},
    }
