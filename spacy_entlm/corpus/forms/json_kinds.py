"""The forms of JSON objects, and how each is told."""

from typing import Any, Callable, NamedTuple, Sequence

from ..records import Record
from .argilla import begin_argilla, fits_argilla, fits_argilla1, parse_argilla1
from .comprehend import fits_comprehend, parse_comprehend
from .json_others import (
    fits_dataturks,
    fits_manifest,
    fits_pair,
    fits_spacy,
    parse_dataturks,
    parse_manifest,
    parse_pair,
    parse_spacy,
)
from .json_texts import fits_text, parse_text
from .json_words import fits_gliner, parse_gliner
from .label_studio import begin_min, begin_tasks, fits_min, fits_task
from .source import Parser, Place, Source

TEXTS = "texts"


class Kind(NamedTuple):
    """A form of JSON objects.

    name (str): As a user names it. title (str): As the summary says it.
    fits (Callable): Whether an object has the form.
    begin (Callable): Makes a parser, from all objects of the file that have it.
    example (str): An object as JSON.
    """

    name: str
    title: str
    fits: Callable[[Any], bool]
    begin: Callable[[Sequence[Any], Source], Parser]
    example: str


def _simple(parse: Callable[[Any, Place, Source], list[Record]]) -> Any:
    """What begins a parser that looks at one object at a time."""
    return lambda entries, source: lambda entry, place: parse(entry, place, source)


# The first that an object fits.
KINDS = (
    Kind(
        "label-studio",
        "Label Studio's tasks",
        fits_task,
        begin_tasks,
        '{"data": {"text": "Ann flew."}, "annotations": [{"result": [{"to_name": '
        '"text", "type": "labels", "value": {"start": 0, "end": 3, '
        '"labels": ["PER"]}}]}]}',
    ),
    Kind(
        "argilla",
        "Argilla's records",
        fits_argilla,
        begin_argilla,
        '{"fields": {"text": "Ann flew."}, "responses": {"spans": [{"value": '
        '[{"start": 0, "end": 3, "label": "PER"}]}]}}',
    ),
    Kind(
        "argilla1",
        "Argilla 1's records",
        fits_argilla1,
        _simple(parse_argilla1),
        '{"text": "Ann flew.", "annotation": [["PER", 0, 3]], "status": "Validated"}',
    ),
    Kind(
        "spacy-json",
        "spaCy's JSON",
        fits_spacy,
        _simple(parse_spacy),
        '{"paragraphs": [{"sentences": [{"tokens": [{"orth": "Ann", "ner": "U-PER"}, '
        '{"orth": "flew", "ner": "O"}]}]}]}',
    ),
    Kind(
        "spacy-pairs",
        "texts with entities, as for spaCy 2",
        fits_pair,
        _simple(parse_pair),
        '["Ann flew.", {"entities": [[0, 3, "PER"]]}]',
    ),
    Kind(
        "gliner",
        "GLiNER's JSON",
        fits_gliner,
        _simple(parse_gliner),
        '{"tokenized_text": ["Ann", "flew"], "ner": [[0, 0, "PER"]]}',
    ),
    Kind(
        "dataturks",
        "DataTurks' JSON",
        fits_dataturks,
        _simple(parse_dataturks),
        '{"content": "Ann flew.", "annotation": [{"label": ["PER"], "points": '
        '[{"start": 0, "end": 2, "text": "Ann"}]}]}',
    ),
    Kind(
        "manifest",
        "a manifest of SageMaker or Comprehend",
        fits_manifest,
        _simple(parse_manifest),
        '{"source": "Ann flew.", "job": {"annotations": {"entities": '
        '[{"startOffset": 0, "endOffset": 3, "label": "PER"}]}}}',
    ),
    Kind(
        "comprehend",
        "Comprehend's marks",
        fits_comprehend,
        _simple(parse_comprehend),
        '{"Entities": [{"BeginOffset": 0, "EndOffset": 3, "Type": "PER"}], "Text": '
        '"Ann flew."}',
    ),
    Kind(
        "label-studio-min",
        "Label Studio's JSON_MIN",
        fits_min,
        begin_min,
        '{"text": "Ann flew.", "label": [{"start": 0, "end": 3, "text": "Ann", '
        '"labels": ["PER"]}], "annotator": 1, "annotation_id": 2}',
    ),
    Kind(
        TEXTS,
        "JSON of texts or words",
        fits_text,
        _simple(parse_text),
        '{"tokens": ["Ann", "flew"], "ner_tags": ["B-PER", "O"]}',
    ),
)
