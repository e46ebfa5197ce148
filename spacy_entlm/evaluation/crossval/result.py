"""The figures of a cross-validation, from what its trainings found."""

from collections import Counter
from dataclasses import dataclass
from typing import Dict, List, NamedTuple, Sequence, Tuple

import numpy
from spacy.tokens import Doc

from .folds import N_PARTS, Training, entity_classes
from .scores import (
    Entity,
    Interval,
    count_sentence,
    f1_gain,
    f1_interval,
    gold_entities,
    judged_entities,
    rates,
)
from .store import Found

# A doubling of the examples that brings less, in points of F1, is not worth the work.
WORTH_POINTS = 1.0
HALF = N_PARTS // 2

# A sentence in pieces: texts with the class of each, or "".
Pieces = List[Tuple[str, str]]
# What each repeat found in each sentence.
Repeats = List[Found]


class ClassFigures(NamedTuple):
    """label (str): The class. precision, recall (float): From 0 to 100, of all repeats
    together. f1 (Interval): With its interval. support (int): Annotated entities."""

    label: str
    precision: float
    recall: float
    f1: Interval
    support: int


class WrongSentence(NamedTuple):
    """number (int): Of the sentence, from 1. n_wrong (int): Repeats in which it is not
    as annotated. gold (Pieces): As annotated. found (Pieces): What most of these
    repeats found."""

    number: int
    n_wrong: int
    gold: Pieces
    found: Pieces


class CurvePoint(NamedTuple):
    """n_sentences, n_entities (float): Of a training, mean. f1 (Interval): Of it."""

    n_sentences: float
    n_entities: float
    f1: Interval


@dataclass(frozen=True)
class Result:
    """What a cross-validation says.

    n_sentences (int): Sentences. n_repeats, n_folds (int): As run.
    io, bio (Interval): F1 with neighbours of one class as one entity, and as
        annotated.
    classes (List[ClassFigures]): By class, IO. wrong (List[WrongSentence]): Those that
        are wrong most often first. curve (List[CurvePoint]): From few to all; empty
        without one. advice (str): Whether more examples would help; empty without a
        curve.
    """

    n_sentences: int
    n_repeats: int
    n_folds: int
    io: Interval
    bio: Interval
    classes: List[ClassFigures]
    wrong: List[WrongSentence]
    curve: List[CurvePoint]
    advice: str


def summarise(docs: Sequence[Doc], found: Dict[Training, Found]) -> Result:
    """Figures of a cross-validation.

    docs (Sequence[Doc]): The sentences. found (Dict[Training, Found]): What each
        training found in its test sentences.
    """
    by_part = {
        part: _by_repeat(docs, {t: f for t, f in found.items() if t.part == part})
        for part in sorted({training.part for training in found})
    }
    repeats = by_part[N_PARTS]
    others = {e[2] for part in by_part.values() for r in part for s in r for e in s}
    labels = sorted({*entity_classes(docs), *others})
    counts = _count(docs, repeats, labels, merged=True)
    as_annotated = _count(docs, repeats, labels, merged=False)
    curve_counts = {
        part: _count(docs, of_part, labels, merged=True).sum(axis=2)
        for part, of_part in by_part.items()
    }
    return Result(
        n_sentences=len(docs),
        n_repeats=len(repeats),
        n_folds=len({training.fold for training in found}),
        io=f1_interval(counts.sum(axis=2)),
        bio=f1_interval(as_annotated.sum(axis=2)),
        classes=[_class_figures(i, x, counts) for i, x in enumerate(labels)],
        wrong=_wrong_sentences(docs, repeats, counts),
        curve=_curve(docs, found, curve_counts) if len(by_part) > 1 else [],
        advice=_advice(curve_counts) if len(by_part) > 1 else "",
    )


def _by_repeat(docs: Sequence[Doc], found: Dict[Training, Found]) -> Repeats:
    n_repeats = 1 + max(training.repeat for training in found)
    repeats: Repeats = [[[] for _ in docs] for _ in range(n_repeats)]
    for training, sentences in found.items():
        for i, entities in zip(training.test, sentences):
            repeats[training.repeat][i] = entities
    return repeats


def _count(
    docs: Sequence[Doc], repeats: Repeats, labels: List[str], *, merged: bool
) -> numpy.ndarray:
    """int64 (n_repeats, n_sentences, n_labels, 3), as `count_sentence` counts."""
    return numpy.array(
        [
            [
                count_sentence(doc, entities, labels, merged=merged)
                for doc, entities in zip(docs, sentences)
            ]
            for sentences in repeats
        ]
    )


def _class_figures(i: int, label: str, counts: numpy.ndarray) -> ClassFigures:
    own = counts[:, :, i]
    precision, recall = rates(own)
    # Every repeat sees every sentence once: right ones and missed ones of any.
    support = int(own[0, :, 0].sum() + own[0, :, 2].sum())
    return ClassFigures(label, precision, recall, f1_interval(own), support)


def _wrong_sentences(
    docs: Sequence[Doc], repeats: Repeats, counts: numpy.ndarray
) -> List[WrongSentence]:
    is_wrong = counts[..., 1:].sum(axis=(2, 3)) > 0
    wrong = []
    for i in numpy.flatnonzero(is_wrong.any(axis=0)).tolist():
        doc = docs[i]
        found = Counter(
            tuple(judged_entities(doc, repeats[repeat][i]))
            for repeat in numpy.flatnonzero(is_wrong[:, i])
        )
        ((most_often, _),) = found.most_common(1)
        wrong.append(
            WrongSentence(
                number=i + 1,
                n_wrong=int(is_wrong[:, i].sum()),
                gold=_pieces(doc, gold_entities(doc, merged=True)),
                found=_pieces(doc, most_often),
            )
        )
    return sorted(wrong, key=lambda sentence: (-sentence.n_wrong, sentence.number))


def _pieces(doc: Doc, entities: Sequence[Entity]) -> Pieces:
    pieces: Pieces = []
    end = 0
    for start, stop, label in sorted(entities):
        pieces.append((doc[end:start].text_with_ws, ""))
        pieces.append((doc[start:stop].text, label))
        pieces.append((doc[stop - 1].whitespace_, ""))
        end = stop
    pieces.append((doc[end:].text_with_ws, ""))
    return [piece for piece in pieces if piece[0]]


def _curve(
    docs: Sequence[Doc],
    found: Dict[Training, Found],
    counts: Dict[int, numpy.ndarray],
) -> List[CurvePoint]:
    points = []
    for part, of_part in counts.items():
        parts = [training.train for training in found if training.part == part]
        sizes = [len(train) for train in parts]
        entities = [sum(len(docs[i].ents) for i in train) for train in parts]
        points.append(
            CurvePoint(
                float(numpy.mean(sizes)),
                float(numpy.mean(entities)),
                f1_interval(of_part),
            )
        )
    return points


def _advice(counts: Dict[int, numpy.ndarray]) -> str:
    gain = f1_gain(counts[HALF], counts[N_PARTS])
    measured = (
        f"twice as many changed F1 by {gain.value:+.1f} points "
        f"({gain.low:+.1f} to {gain.high:+.1f})"
    )
    if gain.low > 0 and gain.value >= WORTH_POINTS:
        return f"More examples would most likely help: {measured}."
    if gain.high < WORTH_POINTS:
        return f"More examples of this kind would hardly help: {measured}."
    if gain.value >= WORTH_POINTS:
        return f"More examples may help, but this is not certain: {measured}."
    return f"Whether more examples would help cannot be told from these: {measured}."
