"""JSON objects of a text with spans or tags."""

from typing import Any, Optional

from ..records import Record, TextRecord, WordRecord
from .json_words import (
    TAG_KEYS,
    parse_tag_string,
    parse_words,
    read_label_names,
    tags_key,
    words_key,
)
from .source import Place, Source
from .spans import make_record

# The spans of a text: Prodigy's and ours, spaCy's, doccano's, those of displaCy.
SPAN_KEYS = (
    *("spans", "entities", "label", "labels", "ents", "annotations"),
    *("annotation", "mentions"),
)
# Where there is no "text": doccano's first form, LightTag's, UBIAI's.
_TEXT_KEYS = ("data", "sentence", "content", "document")
# What says nothing about entities.
_OTHERS = """text tokens words meta id Comments comments cats tokenized_text pos_tags
pos chunk_tags lemmas deps metadata options accept vectors relations sents"""
OTHER_KEYS = frozenset(_OTHERS.split())


def fits_text(entry: Any) -> bool:
    """Whether an object has a text, or words."""
    return isinstance(entry, dict) and bool(
        "text" in entry or words_key(entry) or _text_key(entry)
    )


def parse_text(entry: dict[str, Any], place: Place, source: Source) -> list[Record]:
    """Read an object of a text or of words, and their spans or tags. The report counts
    keys that may hold marks, and are not read.
    RAISES (ValueError): If a span or a tag is broken."""
    if (key := _text_key(entry)) is not None:
        entry = {"text": entry[key], **{k: v for k, v in entry.items() if k != key}}
    entry = {k: _as_list(v) if k in SPAN_KEYS else v for k, v in entry.items()}
    record, read = _parse(entry, place, source)
    for key, value in entry.items():
        if key not in {read, *OTHER_KEYS} and not key.startswith("_"):
            source.report.unread[key] += _may_be_marks(key, value)
    source.report.unread = +source.report.unread
    return [record]


def _text_key(entry: dict[str, Any]) -> Optional[str]:
    """The key of the text where there are spans and neither a "text" nor words."""
    has_spans = any(isinstance(entry.get(key), list | dict) for key in SPAN_KEYS)
    if "text" in entry or words_key(entry) or not has_spans:
        return None
    return next((key for key in _TEXT_KEYS if isinstance(entry.get(key), str)), None)


def _as_list(spans: Any) -> Any:
    """A list of spans from lists of their starts, ends and classes, as Hugging Face
    writes it; anything else as it is."""
    if not isinstance(spans, dict) or not {"start", "end"} <= spans.keys():
        return spans
    values = [*spans.values()]
    if not all(isinstance(x, list) and len(x) == len(values[0]) for x in values):
        return spans
    return [dict(zip(spans, row)) for row in zip(*values)]


def _parse(
    entry: dict[str, Any], place: Place, source: Source
) -> tuple[TextRecord | WordRecord, str]:
    """A record, and the key of its marks, "" if there is none."""
    text = entry.get("text")
    has_words = words_key(entry) is not None
    if isinstance(text, list) or (has_words and not isinstance(text, str)):
        return parse_words(entry, place, source), tags_key(entry) or ""
    if not isinstance(text, str):
        raise ValueError(
            'no "text" that is a string or a list of words (keys: '
            f'{list(entry)!s:.100}): write {{"text": [words], "label": [tags]}} or '
            '{"text": "...", "spans": [...]}'
        )
    key = "spans"  # an empty list says that there is none, whatever else is there
    if not isinstance(entry.get(key), list):
        key = next((key for key in SPAN_KEYS if _holds_spans(entry, key)), "")
    if not key and has_words and tags_key(entry):
        return parse_words(entry, place, source), tags_key(entry) or ""
    if not key and (found := parse_tag_string(entry, place)):
        return found
    if not any(isinstance(entry.get(key), list) for key in SPAN_KEYS):
        source.report.is_marked = False
        source.report.untold += 1
    spans = [_with_name(span, source) for span in entry.get(key) or []]
    return make_record(text, spans, place, source.report), key


def _may_be_marks(key: str, value: Any) -> bool:
    if isinstance(value, str):  # a string of tags
        return key in (*TAG_KEYS, *SPAN_KEYS) and ("B-" in value or "I-" in value)
    return bool(value) and isinstance(value, list | dict)


def _holds_spans(entry: dict[str, Any], key: str) -> bool:
    value = entry.get(key)
    first = value[0] if isinstance(value, list) and value else value
    if "label" in key and isinstance(first, str):
        return False  # classes of the text
    if isinstance(value, dict) and all(isinstance(x, list) for x in value.values()):
        # Groups of spans, as spaCy writes them, where the marks have another key.
        others = (entry.get(other) for other in SPAN_KEYS if other != key)
        if any(isinstance(other, list) for other in others):
            return False
    if value and not isinstance(value, list):
        if key in ("spans", "entities") or "label" in key:
            raise ValueError(f'"{key}" must be a list of spans, not {value!r:.100}')
        return False
    return bool(value)


def _with_name(span: Any, source: Source) -> Any:
    """A span whose class may be a number, as in doccano's older form."""
    if not isinstance(span, dict) or type(span.get("label")) is not int:
        return span
    if not source.labels:
        source.labels = read_label_names(source.path.parent)
    number = span["label"]
    if not 0 <= number < len(source.labels):
        raise ValueError(
            f"the class of {span!r:.100} is a number: put doccano's label_config.json "
            "beside the file, or name the classes from 0, eg --labels PER,LOC (of "
            "`workbench`: --tags)"
        )
    return {**span, "label": source.labels[number]}
