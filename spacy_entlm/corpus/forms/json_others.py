"""JSON objects of other tools and services: spaCy's older forms, DataTurks, SageMaker
and Comprehend, Rasa."""

from typing import Any, Iterator, Optional

from ..reading_report import NOT_ACCEPTED
from ..records import Record, WordRecord
from ..tags import MISSING
from .json_values import objects, part, text_of_key
from .source import Place, Source
from .spans import make_record


def fits_pair(entry: Any) -> bool:
    """Whether a value is [text, {"entities": ...}]."""
    return (
        isinstance(entry, list)
        and len(entry) == 2
        and isinstance(entry[0], str)
        and isinstance(entry[1], dict)
    )


def parse_pair(entry: Any, place: Place, source: Source) -> list[Record]:
    """Read [text, {"entities": [[start, end, label]]}], as scripts for spaCy 2 have it.
    RAISES (ValueError): If a span is broken."""
    text, annotation = entry
    spans = part(annotation, "entities", list)
    if not isinstance(annotation.get("entities"), list):
        source.report.is_marked = False
        source.report.unread.update(key for key in annotation if annotation[key])
    return [make_record(text, spans, place, source.report)]


def fits_spacy(entry: Any) -> bool:
    """Whether an object is a document of spaCy's JSON form for training."""
    return isinstance(entry, dict) and isinstance(entry.get("paragraphs"), list)


def parse_spacy(entry: dict[str, Any], place: Place, source: Source) -> list[Record]:
    """Read a document of spaCy's JSON form: {"paragraphs": [{"raw", "sentences":
    [{"tokens": [{"orth", "ner"}]}]}]}, with BILUO tags, or with "entities".
    RAISES (ValueError): If a word or a tag is no string."""
    records: list[Record] = []
    for paragraph in objects(entry["paragraphs"]):
        if isinstance(paragraph.get("entities"), list):
            text, spans = text_of_key(paragraph, "raw"), paragraph["entities"]
            records.append(make_record(text, spans, place, source.report))
            continue
        for sentence in objects(part(paragraph, "sentences", list)):
            tokens = objects(part(sentence, "tokens", list))
            words = [text_of_key(token, "orth") for token in tokens]
            tags = [str(token.get("ner") or MISSING) for token in tokens]
            lines = [place.number] * len(words)
            records.append(WordRecord(words, tags, lines, place.unit))
    return records


def fits_dataturks(entry: Any) -> bool:
    """Whether an object is DataTurks'."""
    return isinstance(entry, dict) and {"content", "annotation"} <= entry.keys()


def parse_dataturks(
    entry: dict[str, Any], place: Place, source: Source
) -> list[Record]:
    """Read {"content", "annotation": [{"label": [...], "points": [...]}]}, whose ends
    are inclusive.
    RAISES (ValueError): If a span is broken."""
    spans = []
    for mark in objects(part(entry, "annotation", list)):
        for point in objects(part(mark, "points", list)):
            if type(point.get("end")) is not int:
                raise ValueError(
                    f'{point!r:.100} needs whole numbers "start" and "end"'
                )
            label = mark.get("label") or []
            if label or not isinstance(label, list):
                spans.append({**point, "end": point["end"] + 1, "label": label})
    text = text_of_key(entry, "content")
    return [make_record(text, spans, place, source.report)]


def fits_manifest(entry: Any) -> bool:
    """Whether an object is a line of a manifest of SageMaker Ground Truth."""
    return (
        isinstance(entry, dict)
        and "source" in entry
        and "text" not in entry
        and any(map(_is_job, entry.items()))
    )


def _is_job(item: tuple[str, Any]) -> bool:
    """Whether a key and its value are the answer to a job, or its metadata."""
    key, value = item
    is_metadata = isinstance(value, dict) and key.endswith("-metadata")
    return is_metadata or _annotations(value) is not None


def _annotations(value: Any) -> Optional[dict[str, Any]]:
    """The marks in a value, None if it is no answer to a job."""
    found = value.get("annotations") if isinstance(value, dict) else None
    return found if isinstance(found, dict) else None


def parse_manifest(entry: dict[str, Any], place: Place, source: Source) -> list[Record]:
    """Read {"source", JOB: {"annotations": {"entities": [{"startOffset", "endOffset",
    "label"}]}}}. A line without an answer is counted, and answers to further jobs.
    RAISES (ValueError): If a span is broken."""
    answer = _answer(entry)
    if answer is None:
        source.report.skipped[NOT_ACCEPTED] += 1
        return []
    others = (k for k, v in entry.items() if _annotations(v) not in (None, answer))
    source.report.unread.update(others)
    text, spans = text_of_key(entry, "source"), part(answer, "entities", list)
    return [make_record(text, spans, place, source.report)]


def _answer(entry: dict[str, Any]) -> Optional[dict[str, Any]]:
    for name, value in entry.items():
        if (found := _annotations(value)) is not None:
            meta = entry.get(f"{name}-metadata")
            failed = isinstance(meta, dict) and meta.get("failure-reason")
            return None if failed else found
    return None


def unpacked_lists(value: dict[str, Any]) -> Optional[list[Any]]:
    """The entries of an object that holds one list of them: of Rasa's older JSON, of
    tools that write {"classes": [...], "annotations": [[text, {...}]]}, or under any
    other one key; None if there is none."""
    rasa = value.get("rasa_nlu_data")
    if isinstance(rasa, dict) and isinstance(rasa.get("common_examples"), list):
        return rasa["common_examples"]
    found = list(_lists(value))
    return found[0] if len(found) == 1 else None


def _lists(value: dict[str, Any]) -> Iterator[list[Any]]:
    for inner in value.values():
        if isinstance(inner, list) and inner and isinstance(inner[0], dict | list):
            # {"row": {...}} is how Hugging Face's server gives rows.
            yield [x["row"] if _is_row(x) else x for x in inner if x is not None]
        elif isinstance(inner, dict):
            yield from _lists(inner)


def _is_row(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("row"), dict)
