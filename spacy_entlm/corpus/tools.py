"""Tasks of Label Studio and records of Argilla: JSON lists of texts with spans."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any, Dict, Iterable, List, Optional

from ..files.errors import DataError, located
from ..files.text import Line
from .records import TextRecord, parse_span
from .report import NOT_ACCEPTED, CorpusReport

PRODIGY, LABEL_STUDIO, ARGILLA = TOOLS = ("prodigy", "label-studio", "argilla")
# How Label Studio's template for named entities calls its labels and its text, and we
# Argilla's question.
LABELS, TEXT, QUESTION = "label", "text", "spans"
_FORM = "give the JSON list that Label Studio or Argilla exports"


def parse_json(
    lines: Iterable[Line], path: Path, report: CorpusReport
) -> List[TextRecord]:
    """Read the list that Label Studio or Argilla exports. Of several answers to a text
    the first is taken, in Label Studio the ground truth; what a model proposed is no
    answer. The report counts texts without one, and results that are no spans.
    RAISES (DataError): If there is no list, or a text or a span is broken."""
    try:
        entries = json.loads("\n".join(line for _, line in lines))
    except (ValueError, RecursionError) as error:
        raise DataError(f"broken JSON ({error}): {_FORM}", path=path) from error
    if not isinstance(entries, list):
        kind = type(entries).__name__
        raise DataError(f"a JSON {kind} where a list is needed: {_FORM}", path=path)
    records = []
    question = _span_question(entries)
    for number, entry in enumerate(entries, 1):
        with located(path, what=f"entry {number}: "):
            if not isinstance(entry, dict) or not {"data", "fields"} & entry.keys():
                raise ValueError(f'no "data" and no "fields" in {entry!r:.60}: {_FORM}')
            is_task = "data" in entry
            text = _text(_part(entry, "data" if is_task else "fields", dict))
            if is_task:
                spans = _task_spans(entry, report)
            else:
                spans = _record_spans(entry, question)
            if spans is None:
                report.skipped[NOT_ACCEPTED] += 1
                continue
            found = [parse_span(span, text) for span in spans]
            records.append(TextRecord(text, found, number, "entry"))
    return records


def _text(fields: Dict[str, Any]) -> str:
    texts = [value for value in fields.values() if isinstance(value, str)]
    text = fields.get(TEXT, texts[0] if len(texts) == 1 else None)
    if not isinstance(text, str):
        raise ValueError(f'no "text" that is a string (keys: {list(fields)!s:.100})')
    return text


def _task_spans(task: Dict[str, Any], report: CorpusReport) -> Optional[List[Any]]:
    answers = [_object(x) for x in _part(task, "annotations", list)]
    answers = [answer for answer in answers if not answer.get("was_cancelled")]
    answers.sort(key=lambda answer: not answer.get("ground_truth"))
    if not answers:
        return None
    spans = []
    for result in map(_object, _part(answers[0], "result", list)):
        value = _part(result, "value", dict)
        if result.get("type") == "labels":
            place = {key: value.get(key) for key in ("start", "end")}
            labels = _part(value, "labels", list)
            spans += [{**place, "label": label} for label in labels]
        else:
            report.unread[str(result.get("type"))[:100]] += 1
    return spans


def _span_question(records: List[Any]) -> Optional[str]:
    """The first question of Argilla's that has spans for an answer. Others have some,
    too, and an empty list says nothing of its kind."""
    for record in records:
        with suppress(ValueError, AttributeError):  # which the reading tells later
            for name, answers in _part(record, "responses", dict).items():
                if _first_spans(answers):
                    return str(name)
    return None


def _record_spans(
    record: Dict[str, Any], question: Optional[str]
) -> Optional[List[Any]]:
    """question: The one that asks for spans; None: the first that may do so."""
    responses = _part(record, "responses", dict)
    asked = responses if question is None else {question: responses.get(question)}
    found = (_first_spans(answers) for answers in asked.values())
    return next((spans for spans in found if spans is not None), None)


def _first_spans(answers: Any) -> Optional[List[Any]]:
    """Of a question's answers; None if it asks for something else."""
    for answer in map(_object, answers if isinstance(answers, list) else []):
        spans = answer.get("value")
        is_sent = answer.get("status", "submitted") == "submitted"
        if is_sent and isinstance(spans, list) and all(map(_is_span, spans)):
            return spans
    return None


def _is_span(value: Any) -> bool:
    return isinstance(value, dict) and "start" in value


def _part(entry: Dict[str, Any], key: str, kind: type) -> Any:
    """What lies under a key, empty if there is nothing."""
    value = entry.get(key)
    if value is not None and not isinstance(value, kind):
        needed = "a list" if kind is list else "an object"
        raise ValueError(f'"{key}" must be {needed}, not {value!r:.100}')
    return value or kind()


def _object(value: Any) -> Dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"an object is needed, not {value!r:.100}")
    return value


def label_studio_task(entry: Dict[str, Any]) -> Dict[str, Any]:
    """What Label Studio imports: a text with predictions.

    entry (Dict): As of `annotated_entry`, with a "score" for each span, and "meta".
    """
    result = [
        {
            "id": str(i),
            "from_name": LABELS,
            "to_name": TEXT,
            "type": "labels",
            "score": span["score"],
            "value": {
                "start": span["start"],
                "end": span["end"],
                "text": entry["text"][span["start"] : span["end"]],
                "labels": [span["label"]],
            },
        }
        for i, span in enumerate(entry["spans"])
    ]
    # The tool sorts by it, the most doubtful text first.
    score = min((span["score"] for span in entry["spans"]), default=0.0)
    found = {"model_version": "spacy-entlm", "score": score, "result": result}
    data = {TEXT: entry["text"]}
    return {"data": data, "meta": entry["meta"], "predictions": [found]}


def argilla_record(entry: Dict[str, Any]) -> Dict[str, Any]:
    """What Argilla reads (`Dataset.records.from_json`): a text with suggestions for a
    question of spans. entry (Dict): As for `label_studio_task`."""
    spans = entry["spans"]
    values = [{key: span[key] for key in ("start", "end", "label")} for span in spans]
    scores = [span["score"] for span in spans]
    found = {"value": values, "score": scores, "agent": "spacy-entlm"}
    return {
        "fields": {TEXT: entry["text"]},
        "metadata": {k: v for k, v in entry["meta"].items() if v is not None},
        "suggestions": {QUESTION: found} if spans else {},
        "responses": {},
    }
