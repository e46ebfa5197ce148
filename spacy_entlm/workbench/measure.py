"""How good a pipeline is: figures with intervals, and where it was wrong."""

from pathlib import Path
from typing import Any, Callable, Dict, List, Sequence, Tuple

import numpy
from spacy.tokens import Doc

from ..evaluation.crossval.folds import (
    N_PARTS,
    Training,
    entity_matrix,
    make_folds,
)
from ..evaluation.crossval.report import render
from ..evaluation.crossval.result import Outcome, summarise
from ..evaluation.crossval.scores import Interval, count_sentence, f1_interval
from ..evaluation.scoring import LabelledSpan, entity_spans, judged_entities
from ..files.counts import count_of

# Entities of the test part from which on it is measured on that, and those of the
# answered texts, and the texts, from which on a cross-validation says something.
MIN_ENTITIES, MIN_TEXTS = 20, 10
N_FOLDS = 4
# Wrong sentences that are kept.
N_MISTAKES = 50
TEST, CROSSVAL = "test", "crossval"

# A text of the store, and as a Doc with its marks.
Texts = Sequence[Dict[str, Any]]


def n_entities(docs: Sequence[Doc]) -> int:
    """How many entities Docs have."""
    return sum(len(doc.ents) for doc in docs)


def measure_test(
    texts: Texts, gold: Sequence[Doc], found: Sequence[Doc], numbers: Dict[str, int]
) -> Dict[str, Any]:
    """What is known from the test part: figures only if it is large enough.

    texts (Texts): Those of the test part that have an answer. gold, found: Docs of
        these. numbers (Dict[str, int]): Of the classes, by name.
    RETURNS (Dict): "n_test" (texts), "n_entities" and, if there are enough, "how",
        "f1", "classes"; "mistakes" in any case.
    """
    n = n_entities(gold)
    known = {"n_test": len(texts), "n_entities": n}
    scores = figures(texts, gold, found, numbers)
    if n < MIN_ENTITIES:
        return {**known, "mistakes": scores["mistakes"]}
    return {**known, "how": TEST, **scores}


def what_is_missing(gold: Sequence[Doc]) -> str:
    """What the texts lack of which a cross-validation would be made, in a sentence;
    empty if they lack nothing. gold (Sequence[Doc]): The accepted ones."""
    texts, entities = MIN_TEXTS - len(gold), MIN_ENTITIES - n_entities(gold)
    lacking = []
    if texts > 0:
        lacking.append(count_of(texts, "more texts"))
    if entities > 0:
        lacking.append(count_of(entities, "more marked entities"))
    return f"For a figure it takes {' and '.join(lacking)}." if lacking else ""


def cross_validate(
    texts: Texts,
    gold: Sequence[Doc],
    numbers: Dict[str, int],
    find: Callable[[int, Sequence[int], Sequence[int]], List[Doc]],
) -> Tuple[Dict[str, Any], str, List[Doc]]:
    """Figures from texts that are left out in turn.

    find (Callable): Trains on some of the texts and gives what it finds in others; it
        gets the number of the fold, and the places of both.
    RETURNS: "how", "n_texts", "f1", "classes", "mistakes"; the page of `crossval`; and
        what was found in each text when it was left out.
    """
    folds = make_folds(entity_matrix(gold), N_FOLDS, seed=0)
    found: List[Any] = [None] * len(gold)
    outcomes: Dict[Training, Outcome] = {}
    for fold, places in enumerate(folds):
        left_out = set(places)
        rest = [i for i in range(len(gold)) if i not in left_out]
        docs = find(fold, rest, places)
        for i, doc in zip(places, docs):
            found[i] = doc
        training = Training(0, fold, N_PARTS, 0, tuple(rest), tuple(places))
        outcomes[training] = Outcome([entity_spans(doc) for doc in docs], {})
    scores = figures(texts, gold, found, numbers)
    settings = {"texts": len(gold), "folds": N_FOLDS}
    page = render(summarise(gold, outcomes), settings, Path("page.html"))
    return {"how": CROSSVAL, "n_texts": len(gold), **scores}, page, found


def figures(
    texts: Texts, gold: Sequence[Doc], found: Sequence[Doc], numbers: Dict[str, int]
) -> Dict[str, Any]:
    """F1 in all ("f1") and by number of the class ("classes"), with intervals, and
    "mistakes": texts with what is marked and what was found."""
    labels = list(numbers)
    rows, mistakes = [], []
    for text, right_doc, our_doc in zip(texts, gold, found):
        right = judged_entities(right_doc, entity_spans(right_doc), merged=True)
        ours = judged_entities(right_doc, entity_spans(our_doc), merged=True)
        rows.append(count_sentence(right, ours, labels))
        if set(right) != set(ours):
            mistakes.append(
                {
                    "text": text["id"],
                    "marked": _pieces(right_doc, right, ours, "missed"),
                    "found": _pieces(right_doc, ours, right, "wrong"),
                }
            )
    scores: Dict[str, Any] = {"mistakes": mistakes[:N_MISTAKES]}
    if rows:
        counts = numpy.array(rows)[:, :, None]
        scores["f1"] = _interval(f1_interval(counts.sum(axis=1)))
        scores["classes"] = {
            numbers[label]: _interval(f1_interval(counts[:, i]))
            for i, label in enumerate(labels)
            if counts[:, i].any()
        }
    return scores


def _pieces(
    doc: Doc,
    spans: Sequence[LabelledSpan],
    others: Sequence[LabelledSpan],
    otherwise: str,
) -> List[List[str]]:
    """A text in parts: the words, the class, and whether it is "right" or otherwise."""
    pieces, place, known = [], 0, set(others)
    for start, end, label in sorted(spans):
        pieces.append([doc[place:start].text_with_ws, "", ""])
        kind = "right" if (start, end, label) in known else otherwise
        pieces.append([doc[start:end].text, label, kind])
        place = end
        if doc[end - 1].whitespace_:
            pieces.append([" ", "", ""])
    pieces.append([doc[place:].text, "", ""])
    return [piece for piece in pieces if piece[0]]


def differ(gold: Doc, found: Doc) -> bool:
    """Whether model and person disagree on a text."""
    right = judged_entities(gold, entity_spans(gold), merged=True)
    return right != judged_entities(gold, entity_spans(found), merged=True)


def _interval(figure: Interval) -> Dict[str, Any]:
    return {"value": figure.value, "low": figure.low, "high": figure.high}
