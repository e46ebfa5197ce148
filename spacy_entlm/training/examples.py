"""What `train` takes as examples, and what it says of marks that it cannot use."""

import logging
import warnings
from typing import Any, Dict, Iterable, List, Sequence, Tuple, Union

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..corpus.docs import unannotated, unread_spans
from ..corpus.forms.source import Place
from ..corpus.forms.spans import check_classes, join_tags, make_record
from ..corpus.readers import text_doc
from ..corpus.reading_report import UNREAD_SPANS, CorpusReport
from ..corpus.records import TextRecord
from ..corpus.tags import MISSING, OUTSIDE, find_prefixed, tags_to_entities
from ..files.errors import shorten

logger = logging.getLogger("spacy.entlm")

Annotated = Union[Example, Doc, Tuple[str, Dict[str, Any]]]

FORM = '("Ann left Rome.", {"entities": [(0, 3, "PER"), (9, 13, "LOC")]})'
# Of what is no example, in a message.
MAX_SHOWN = 100
# Of what spaCy says of marks.
MAX_TOLD = 300
# Where what is given says which entities there are, as spaCy reads it.
ENTITIES, NESTED = "entities", "doc_annotation"


def to_examples(nlp: Language, annotated: Iterable[Annotated]) -> List[Example]:
    """What `train` takes, as examples. Marks of a pair are read as the command
    `convert` reads them: blanks at their ends do not count; those that do not begin and
    end at a token boundary are reported, and ignored in training; tags may be BIO or
    BILUO.

    RAISES (ValueError): If one is no example, a mark does not lie in its text, or each
        class is the mark's own words.
    """
    report = CorpusReport()
    made = [
        _to_example(nlp, each, number, report)
        for number, each in enumerate(annotated, 1)
    ]
    records = [one for one in made if isinstance(one, TextRecord)]
    check_classes(records)
    joined = (x for x in join_tags(records) if isinstance(x, TextRecord))
    examples = [
        one if isinstance(one, Example) else _of_record(nlp, next(joined), report)
        for one in made
    ]
    if problems := report.problems():
        logger.warning("Examples: %s", "; ".join(line.strip() for line in problems))
    return examples


def _to_example(
    nlp: Language, annotated: Any, number: int, report: CorpusReport
) -> Union[Example, TextRecord]:
    if isinstance(annotated, (Example, Doc)):
        doc = annotated if isinstance(annotated, Doc) else annotated.reference
        for told in unread_spans(doc)[:1]:
            report.note(UNREAD_SPANS, f"{told}, example {number}")
    if isinstance(annotated, Example):
        return annotated
    if isinstance(annotated, Doc):
        return Example(unannotated(annotated, nlp.vocab), annotated)
    is_pair = isinstance(annotated, (tuple, list)) and len(annotated) == 2
    if is_pair and isinstance(annotated[0], str) and isinstance(annotated[1], dict):
        try:
            return _of_pair(nlp, annotated[0], annotated[1], number, report)
        except (TypeError, ValueError, KeyError) as err:
            reason = shorten(" ".join(str(err).split()))
            raise ValueError(f"Example {number}: {reason}") from err
    raise ValueError(
        f"Example {number} is no Example, no annotated Doc, and no pair such as "
        f"{FORM}: {annotated!r:.{MAX_SHOWN}}"
    )


def _of_pair(
    nlp: Language, text: str, annotation: Any, number: int, report: CorpusReport
) -> Union[Example, TextRecord]:
    if ENTITIES not in annotation and NESTED not in annotation:
        keys = ", ".join(map(repr, annotation)) or "nothing"
        raise ValueError(f'{keys} instead of "{ENTITIES}": write {FORM}')
    marks = annotation.get(ENTITIES)
    is_list = isinstance(marks, (list, tuple))
    are_tags = is_list and _are_tags(marks)
    if is_list and not are_tags and set(annotation) == {ENTITIES}:
        return make_record(text, marks, Place(number, "example"), report)
    doc = nlp.make_doc(text)
    words = annotation.get("words", doc)
    if are_tags and len(marks) != len(words):
        raise ValueError(f"{len(marks)} tags for {len(words)} words: {marks!r:.100}")
    if are_tags:
        annotation = {**annotation, ENTITIES: _as_biluo(marks)}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        example = Example.from_dict(doc, annotation)
    for warning in caught:
        told = shorten(str(warning.message), MAX_TOLD)
        report.note("marks that spaCy cannot place", f"{told}, example {number}")
    return example


def _are_tags(marks: Sequence[Any]) -> bool:
    return any(isinstance(mark, str) or mark is None for mark in marks)


def _as_biluo(marks: Sequence[Any]) -> List[str]:
    """Tags of any scheme as BILUO, which is what spaCy reads.
    RAISES (ValueError): If one has no form of a tag."""
    tags = [str(mark or MISSING) for mark in marks]
    spans, missing = tags_to_entities(tags, find_prefixed(tags))
    biluo = [MISSING if i in missing else OUTSIDE for i in range(len(tags))]
    for start, end, label in spans:
        biluo[start:end] = [f"I-{label}"] * (end - start)
        biluo[start], biluo[end - 1] = f"B-{label}", f"L-{label}"
        if end - start == 1:
            biluo[start] = f"U-{label}"
    return biluo


def _of_record(nlp: Language, record: TextRecord, report: CorpusReport) -> Example:
    try:
        doc = text_doc(record, nlp, report)
    except ValueError as err:
        reason = shorten(" ".join(str(err).split()))
        raise ValueError(f"Example {record.number}: {reason}") from err
    return Example(unannotated(doc), doc)


def without_places(
    examples: Sequence[Example], places: Dict[int, List[Tuple[int, int]]]
) -> List[Example]:
    """Examples in which some words are ignored in training: whether they are names is
    not known.

    places (Dict[int, List[Tuple[int, int]]]): By the number of an example, from 0:
        first and last word (exclusive) of its predicted Doc. A place that touches an
        entity of the example does not count.
    """
    kept = list(examples)
    for number, some in places.items():
        example = examples[number]
        spans = [example.predicted[start:end] for start, end in some]
        aligned = example.get_aligned_spans_x2y(spans, allow_overlap=True)
        taken = {token.i for ent in example.reference.ents for token in ent}
        words = {
            token.i
            for span in aligned
            if taken.isdisjoint(range(span.start, span.end))
            for token in span
        }
        reference = example.reference.copy()
        missing = [reference[i : i + 1] for i in sorted(words)]
        reference.set_ents(list(reference.ents), missing=missing, default="unmodified")
        kept[number] = Example(example.predicted, reference)
    return kept
