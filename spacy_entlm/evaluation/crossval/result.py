"""The figures of a cross-validation, from what its trainings found."""

from collections import Counter
from dataclasses import dataclass
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy
from spacy.tokens import Doc

from .folds import N_PARTS, Training, entity_classes
from .scores import (
    PERCENT,
    Entity,
    Interval,
    count_sentence,
    f1_gain,
    f1_interval,
    gold_entities,
    judged_entities,
)
from .verdict import advice, judge

RIGHT, WRONG, MISSED = "right", "wrong", "missed"
# Entities by sentence, and by sentence and repeat.
Gold = List[List[Entity]]
Found = List[Gold]


class Outcome(NamedTuple):
    """What a training found in each test sentence, and the label words it used."""

    found: List[List[Entity]]
    label_words: Dict[str, List[str]]


class Piece(NamedTuple):
    """A part of a sentence. label (str): Its class, or "". mark (str): Of an entity,
    whether it is right, wrong or missed."""

    text: str
    label: str = ""
    mark: str = ""


class Confusion(NamedTuple):
    """gold, found (str): What was annotated and what was found, "" for no entity; with
    the same class for both the bounds are wrong. times (int): In all repeats."""

    gold: str
    found: str
    times: int


@dataclass(frozen=True)
class ClassFigures:
    """Precision and recall are from 0 to 100, of all repeats together. support,
    n_found (int): Annotated entities, and those found in all repeats."""

    label: str
    precision: float
    recall: float
    f1: Interval
    support: int
    n_found: int


@dataclass(frozen=True)
class WrongSentence:
    """number (int): From 1. n_wrong (int): Repeats in which it is not as annotated.
    found (List[Piece]): What most of these repeats found."""

    number: int
    n_wrong: int
    gold: List[Piece]
    found: List[Piece]


@dataclass(frozen=True)
class CurvePoint:
    """n_sentences, n_entities (float): Of a training, mean."""

    n_sentences: float
    n_entities: float
    f1: Interval


@dataclass(frozen=True)
class Result:
    """What a cross-validation says.

    usable (bool), verdict (str): From `judge`.
    io, bio (Interval): F1 with neighbours of one class as one entity, and as
        annotated. The classes and what is wrong are IO.
    confusions (List[Confusion]): Most frequent first.
    label_words (Dict[str, List[str]]): Those that most trainings used first.
    wrong (List[WrongSentence]): Those that are wrong most often first.
    curve (List[CurvePoint]): From few to all; empty without one.
    advice (str): Whether more examples would help; empty without a curve.
    """

    n_sentences: int
    n_repeats: int
    n_folds: int
    usable: bool
    verdict: str
    io: Interval
    bio: Interval
    classes: List[ClassFigures]
    confusions: List[Confusion]
    label_words: Dict[str, List[str]]
    wrong: List[WrongSentence]
    curve: List[CurvePoint]
    advice: str


def summarise(docs: Sequence[Doc], outcomes: Dict[Training, Outcome]) -> Result:
    """Figures of a cross-validation.

    docs (Sequence[Doc]): The sentences.
    outcomes (Dict[Training, Outcome]): What each training found.
    """
    every = {e[2] for o in outcomes.values() for s in o.found for e in s}
    labels = sorted({*entity_classes(docs), *every})
    parts: Dict[int, Dict[Training, Outcome]] = {}
    for training, outcome in sorted(outcomes.items(), key=lambda item: item[0].part):
        parts.setdefault(training.part, {})[training] = outcome
    counts = {part: _count(*_entities(docs, o), labels) for part, o in parts.items()}
    whole, by_class = parts[N_PARTS], counts[N_PARTS]
    gold, found = _entities(docs, whole)
    as_annotated = _count(*_entities(docs, whole, merged=False), labels)
    f1s = {part: f1_interval(own.sum(axis=2)) for part, own in counts.items()}
    classes = [_class_figures(x, by_class[:, :, i]) for i, x in enumerate(labels)]
    gain: Optional[Interval] = None
    if N_PARTS // 2 in counts:
        gain = f1_gain(counts[N_PARTS // 2].sum(axis=2), by_class.sum(axis=2))
    usable, verdict = judge(f1s[N_PARTS], classes, gain)
    return Result(
        n_sentences=len(docs),
        n_repeats=by_class.shape[1],
        n_folds=len({training.fold for training in whole}),
        usable=usable,
        verdict=verdict,
        io=f1s[N_PARTS],
        bio=f1_interval(as_annotated.sum(axis=2)),
        classes=classes,
        confusions=_confusions(gold, found),
        label_words=_label_words(whole),
        wrong=_wrong_sentences(docs, gold, found),
        curve=[_point(docs, parts[part], f1s[part]) for part in parts if gain],
        advice=advice(gain) if gain else "",
    )


def _entities(
    docs: Sequence[Doc], outcomes: Dict[Training, Outcome], *, merged: bool = True
) -> Tuple[Gold, Found]:
    gold = [gold_entities(doc, merged=merged) for doc in docs]
    n_repeats = 1 + max(training.repeat for training in outcomes)
    found: Found = [[[]] * n_repeats for _ in docs]
    for training, outcome in outcomes.items():
        for i, own in zip(training.test, outcome.found):
            found[i][training.repeat] = judged_entities(docs[i], own, merged=merged)
    return gold, found


def _count(gold: Gold, found: Found, labels: Sequence[str]) -> numpy.ndarray:
    """int64 (n_sentences, n_repeats, n_labels, 3), as `count_sentence` counts."""
    return numpy.array(
        [[count_sentence(g, f, labels) for f in own] for g, own in zip(gold, found)]
    )


def _class_figures(label: str, counts: numpy.ndarray) -> ClassFigures:
    right, wrong, missed = counts.sum(axis=(0, 1)).tolist()
    return ClassFigures(
        label,
        precision=PERCENT * right / max(right + wrong, 1),
        recall=PERCENT * right / max(right + missed, 1),
        f1=f1_interval(counts),
        support=(right + missed) // counts.shape[1],
        n_found=right + wrong,
    )


def _confusions(gold: Gold, found: Found) -> List[Confusion]:
    pairs: Counter[Tuple[str, str]] = Counter()
    for annotated, repeats in zip(gold, found):
        for own in repeats:
            missed, wrong = set(annotated) - set(own), set(own) - set(annotated)
            overlaps = [(m, w) for m in missed for w in wrong if m[0] < w[1]]
            overlaps = [(m, w) for m, w in overlaps if w[0] < m[1]]
            pairs.update((m[2], w[2]) for m, w in overlaps)
            pairs.update((m[2], "") for m in missed - {m for m, _ in overlaps})
            pairs.update(("", w[2]) for w in wrong - {w for _, w in overlaps})
    ordered = sorted(pairs.items(), key=lambda item: (-item[1], item[0]))
    return [Confusion(*pair, times) for pair, times in ordered]


def _label_words(outcomes: Dict[Training, Outcome]) -> Dict[str, List[str]]:
    used: Dict[str, Counter[str]] = {}
    for outcome in outcomes.values():
        for label, words in outcome.label_words.items():
            used.setdefault(label, Counter()).update(words)
    return {x: [word for word, _ in used[x].most_common()] for x in sorted(used)}


def _wrong_sentences(
    docs: Sequence[Doc], gold: Gold, found: Found
) -> List[WrongSentence]:
    wrong = []
    for i, (own, repeats) in enumerate(zip(gold, found)):
        errors = Counter(tuple(f) for f in repeats if set(f) != set(own))
        if errors:
            ((usual, _),) = errors.most_common(1)
            shown = (
                _pieces(docs[i], own, usual, MISSED),
                _pieces(docs[i], usual, own, WRONG),
            )
            wrong.append(WrongSentence(i + 1, errors.total(), *shown))
    return sorted(wrong, key=lambda sentence: (-sentence.n_wrong, sentence.number))


def _pieces(
    doc: Doc, entities: Sequence[Entity], others: Sequence[Entity], otherwise: str
) -> List[Piece]:
    """A sentence in pieces; entities that are not among the others get that mark."""
    pieces: List[Piece] = []
    end = 0
    for start, stop, label in sorted(entities):
        mark = RIGHT if (start, stop, label) in others else otherwise
        pieces.append(Piece(doc[end:start].text_with_ws))
        pieces.append(Piece(doc[start:stop].text, label, mark))
        pieces.append(Piece(doc[stop - 1].whitespace_))
        end = stop
    pieces.append(Piece(doc[end:].text_with_ws))
    return [piece for piece in pieces if piece.text]


def _point(docs: Sequence[Doc], trainings: Any, f1: Interval) -> CurvePoint:
    n_sentences = numpy.mean([len(t.train) for t in trainings])
    entities = [sum(len(docs[i].ents) for i in t.train) for t in trainings]
    return CurvePoint(float(n_sentences), float(numpy.mean(entities)), f1)
