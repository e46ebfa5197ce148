"""How good a pipeline is: figures with intervals, and where it was wrong."""

from dataclasses import asdict
from pathlib import Path
from typing import Any, Callable, Dict, List, Sequence, Tuple

from spacy.tokens import Doc

from ..evaluation.crossval.folds import N_PARTS, Training, entity_matrix, plan_trainings
from ..evaluation.crossval.report import render
from ..evaluation.crossval.result import Outcome, Result, summarise
from ..evaluation.scoring import entity_spans, judged_entities
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
    if not n + n_entities(found):
        return {**known, "mistakes": []}
    whole = Training(0, 0, N_PARTS, 0, (), tuple(range(len(gold))))
    scores = _figures(texts, summarise(gold, {whole: _outcome(found)}), numbers)
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
    find: Callable[[Training], List[Doc]],
) -> Tuple[Dict[str, Any], str, List[Doc]]:
    """Figures from texts that are left out in turn.

    find (Callable): Trains on some of the texts and gives what it finds in others.
    RETURNS: "how", "n_texts", "f1", "classes", "mistakes"; the page of `crossval`; and
        what was found in each text when it was left out.
    """
    found: List[Any] = [None] * len(gold)
    outcomes: Dict[Training, Outcome] = {}
    for training in plan_trainings(
        entity_matrix(gold), n_folds=N_FOLDS, n_repeats=1, seed=0, curve=False
    ):
        docs = find(training)
        for i, doc in zip(training.test, docs):
            found[i] = doc
        outcomes[training] = _outcome(docs)
    result = summarise(gold, outcomes)
    settings = {"texts": len(gold), "folds": N_FOLDS}
    page = render(result, settings, Path("page.html"))
    scores = _figures(texts, result, numbers)
    return {"how": CROSSVAL, "n_texts": len(gold), **scores}, page, found


def _outcome(docs: Sequence[Doc]) -> Outcome:
    return Outcome([entity_spans(doc) for doc in docs], {})


def _figures(texts: Texts, result: Result, numbers: Dict[str, int]) -> Dict[str, Any]:
    """F1 in all ("f1") and by number of the class ("classes"), with intervals, and
    "mistakes": texts with what is marked and what was found."""
    return {
        "f1": asdict(result.io),
        "classes": {
            numbers[x.label]: asdict(x.f1)
            for x in result.classes
            if x.label in numbers  # it may have got another name in the meantime
        },
        "mistakes": [
            {"text": texts[x.number - 1]["id"], "marked": x.gold, "found": x.found}
            for x in result.wrong[:N_MISTAKES]
        ],
    }


def differ(gold: Doc, found: Doc) -> bool:
    """Whether model and person disagree on a text."""
    right = judged_entities(gold, entity_spans(gold), merged=True)
    return right != judged_entities(gold, entity_spans(found), merged=True)
