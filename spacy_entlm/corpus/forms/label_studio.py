"""Label Studio: tasks with answers, the flat form JSON_MIN, and tasks to import."""

from contextlib import suppress
from itertools import chain
from typing import Any, Optional, Sequence

from ..reading_report import ANSWERS, CONTROLS, NOT_ACCEPTED, UNNAMED
from ..records import Record
from .json_values import objects, part
from .source import Parser, Place, Source
from .spans import differ, make_record

# How Label Studio's template for named entities calls its labels and its text.
LABELS, TEXT = "label", "text"


def fits_task(entry: Any) -> bool:
    """Whether an object is a task: its data, beside answers if there are any."""
    return isinstance(entry, dict) and isinstance(entry.get("data"), dict)


def begin_tasks(entries: Sequence[dict[str, Any]], source: Source) -> Parser:
    """A parser of tasks. Of several answers to a text the first is taken, or that which
    is the ground truth; what a model proposed is no answer. `to_name` says of which
    field of the data a mark is. The report counts tasks without an answer, and results
    that are no spans.
    RAISES (ValueError): From the parser, if a text or a span is broken."""
    marked: list[str] = []
    for entry in entries:
        with suppress(ValueError):  # which the reading tells later
            for result in chain.from_iterable(map(_marks, _answers(entry)[:1])):
                if (field := _field(entry["data"], result)) and field not in marked:
                    marked.append(field)

    def parse(entry: dict[str, Any], place: Place) -> list[Record]:
        data, answers = entry["data"], _answers(entry)
        if not answers:
            if not marked:
                main_field(data)  # an error where there is no text
            source.report.skipped[NOT_ACCEPTED] += 1
            return []
        if _differ(answers):
            source.report.note(ANSWERS, str(place))
        spans: dict[str, list[Any]] = {}
        for result in objects(part(answers[0], "result", list)):
            if result.get("type") != "labels":
                source.report.unread[str(result.get("type"))[:100]] += 1
                continue
            name = _field(data, result)
            if name is None:
                raise ValueError(
                    f"a mark is on {result.get('to_name')!r:.60}, and it is not told "
                    f"which of the texts that is (keys: {list(data)!s:.100}): call "
                    "the object of the labeling config like its key"
                )
            value = part(result, "value", dict)
            if value.get("labels"):
                spans.setdefault(name, []).append(_span(value))
            else:
                source.report.skipped[UNNAMED] += 1
        if several := _labelings(data, answers[0]):
            source.report.note(CONTROLS, f"{place}: {several}")
        fields = [name for name in marked if isinstance(data.get(name), str)]
        return [
            make_record(data[field], spans.get(field, []), place, source.report)
            for field in fields or [main_field(data)]
        ]

    return parse


def _span(value: dict[str, Any]) -> dict[str, Any]:
    keys = ("start", "end", "labels", "text")
    return {key: value[key] for key in keys if value.get(key) is not None}


def main_field(data: dict[str, Any]) -> str:
    """The key of the text that is to be annotated.
    RAISES (ValueError): If there are none or several."""
    texts = [key for key, value in data.items() if isinstance(value, str)]
    if TEXT in texts:
        return TEXT
    if len(texts) != 1:
        raise ValueError(f'no "text" that is a string (keys: {list(data)!s:.100})')
    return texts[0]


def _field(data: dict[str, Any], result: dict[str, Any]) -> Optional[str]:
    """The key of the text that a mark is on. `to_name` names an object of the labeling
    config, most often as its key; else the mark's own text tells, or the only text."""
    name = result.get("to_name")
    if isinstance(name, str) and isinstance(data.get(name), str):
        return name
    texts = [key for key, value in data.items() if isinstance(value, str)]
    value = result.get("value")
    if len(texts) > 1 and isinstance(value, dict):
        start, end, own = (value.get(key) for key in ("start", "end", "text"))
        if type(start) is type(end) is int and isinstance(own, str):
            texts = [key for key in texts if data[key][start:end] == own] or texts
    if len(texts) > 1 and TEXT in texts and name in (None, TEXT):
        return TEXT
    return texts[0] if len(texts) == 1 else None


def _answers(entry: dict[str, Any]) -> list[dict[str, Any]]:
    """Those that were given, the ground truth first."""
    # Older versions say "completions".
    key = "completions" if "completions" in entry else "annotations"
    answers = objects(part(entry, key, list))
    answers = [answer for answer in answers if not answer.get("was_cancelled")]
    return sorted(answers, key=lambda answer: not answer.get("ground_truth"))


def _differ(answers: Sequence[dict[str, Any]]) -> bool:
    """Whether answers have other marks than the first one, which nobody called the
    ground truth."""
    if answers[0].get("ground_truth"):
        return False
    marks = [
        [part(result, "value", dict) for result in _marks(answer)] for answer in answers
    ]
    return differ(marks, "labels")


def _marks(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """The results of an answer that are spans."""
    results = objects(part(answer, "result", list))
    return [result for result in results if result.get("type") == "labels"]


def _labelings(data: dict[str, Any], answer: dict[str, Any]) -> str:
    """The names of the labelings that marked one text, if there are several of them."""
    names: dict[Optional[str], set[str]] = {}
    for result in _marks(answer):
        some = names.setdefault(_field(data, result), set())
        some.add(str(result.get("from_name")))
    several = (sorted(some) for some in names.values() if len(some) > 1)
    return ", ".join(next(several, []))


def _marks_min(entry: dict[str, Any]) -> list[Any]:
    """The marks of a task in JSON_MIN, whatever their keys."""
    return [
        mark
        for value in entry.values()
        if isinstance(value, list)
        and all(isinstance(x, dict) and "labels" in x and "start" in x for x in value)
        for mark in value
    ]


def fits_min(entry: Any) -> bool:
    """Whether an object is a task in JSON_MIN: marks with "labels" beside its data."""
    if not isinstance(entry, dict):
        return False
    # A task without marks has these beside its data, and none of another form.
    own = {"annotation_id", "annotator", "lead_time"}
    has_others = any(map(_may_be_marks, entry.values()))
    return bool(_marks_min(entry) or (len(own & entry.keys()) > 1 and not has_others))


def _may_be_marks(value: Any) -> bool:
    """Whether a value is a list of words, tags or spans, and not one of the answers to
    another question, which are objects without a "start"."""
    if not isinstance(value, list) or not value:
        return False
    return not all(isinstance(x, dict) and "start" not in x for x in value)


def begin_min(entries: Sequence[dict[str, Any]], source: Source) -> Parser:
    """A parser of JSON_MIN. Which field a mark is on is not said there: that whose
    words are the mark's.
    RAISES (ValueError): From the parser, if a text or a span is broken."""

    marked: list[str] = []
    for entry in entries:
        for mark in _marks_min(entry):
            if (name := _field(_data_min(entry), {"value": mark})) is not None:
                marked += [name] * (name not in marked)

    def parse(entry: dict[str, Any], place: Place) -> list[Record]:
        data = _data_min(entry)
        spans: dict[str, list[Any]] = {}
        for mark in _marks_min(entry):
            name = _field(data, {"value": mark}) or main_field(data)
            spans.setdefault(name, []).append(_span(mark))
        fields = [name for name in marked if name in data] or [main_field(data)]
        return [
            make_record(data[field], spans.get(field, []), place, source.report)
            for field in dict.fromkeys([*spans, *fields])
        ]

    return parse


def _data_min(entry: dict[str, Any]) -> dict[str, str]:
    """The strings of a task in JSON_MIN, of which some are its texts."""
    own = ("created_at", "updated_at", "annotator")
    return {k: v for k, v in entry.items() if isinstance(v, str) and k not in own}


def label_studio_task(entry: dict[str, Any]) -> dict[str, Any]:
    """What Label Studio imports: a text with predictions.

    entry (dict): As of `annotated_entry`, with a "score" for each span, and "meta".
        Other keys, ids and the like, become data beside the text.
    """
    result = [
        {**_result(i, entry["text"], span), "score": span["score"]}
        for i, span in enumerate(entry["spans"])
    ]
    # The tool sorts by it, the most doubtful text first.
    score = min((span["score"] for span in entry["spans"]), default=0.0)
    found = {"model_version": "spacy-entlm", "score": score, "result": result}
    return {
        "data": {**other_keys(entry), TEXT: entry["text"]},
        "meta": entry["meta"],
        "predictions": [found],
    }


def other_keys(entry: dict[str, Any]) -> dict[str, Any]:
    """What an entry says beside its text, words, spans and "meta"."""
    own = ("text", "tokens", "spans", "meta")
    return {key: value for key, value in entry.items() if key not in own}


def answered_task(entry: dict[str, Any]) -> dict[str, Any]:
    """A task with its answer. entry (dict): As of `annotated_entry`."""
    spans = enumerate(entry["spans"])
    result = [_result(i, entry["text"], span) for i, span in spans]
    return {"data": {TEXT: entry["text"]}, "annotations": [{"result": result}]}


def _result(number: int, text: str, span: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": str(number),
        "from_name": LABELS,
        "to_name": TEXT,
        "type": "labels",
        "value": {
            "start": span["start"],
            "end": span["end"],
            "text": text[span["start"] : span["end"]],
            "labels": [span["label"]],
        },
    }
