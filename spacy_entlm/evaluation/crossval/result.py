"""The figures of a cross-validation, from what its trainings found."""

from collections import Counter
from dataclasses import dataclass
from itertools import product
from statistics import fmean
from typing import Dict, List, NamedTuple, Sequence, Tuple

import numpy
from spacy.tokens import Doc

from ..scoring import LabelledSpan, Spans, entity_spans, judged_entities
from . import scores
from .folds import N_PARTS, Training
from .scores import PERCENT, Interval

RIGHT, WRONG, MISSED = "right", "wrong", "missed"
# Entities by sentence, and by sentence and repeat.
Gold = List[List[LabelledSpan]]
Found = List[Gold]


class Outcome(NamedTuple):
    """What a training found in each test sentence, and the label words it used."""

    found: Gold
    label_words: Dict[str, List[str]]


class Piece(NamedTuple):
    """A part of a sentence; of an entity its class, and whether it is right, wrong or
    missed."""

    text: str
    label: str = ""
    mark: str = ""


class Confusion(NamedTuple):
    """The class annotated and that found ("" for no entity; where they are the same,
    the bounds are wrong), and how often in all repeats."""

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
    """number: From 1. n_wrong: Repeats in which it is not as annotated. found: What
    most of these repeats found."""

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
    """What a cross-validation says. io, bio: F1 with neighbours of one class as one
    entity, and as annotated; all else is IO, the most frequent first. curve: From few
    sentences to all. advice: Whether more would help. Both may be empty."""

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
    """Figures of a cross-validation, from the sentences and what each training found
    in them."""
    spans = [entity_spans(doc) for doc in docs]
    spans += [sentence for outcome in outcomes.values() for sentence in outcome.found]
    labels = sorted({label for sentence in spans for _, _, label in sentence})
    parts: Dict[int, Dict[Training, Outcome]] = {}
    for training in sorted(outcomes, key=lambda training: training.part):
        parts.setdefault(training.part, {})[training] = outcomes[training]
    whole = parts[N_PARTS]
    gold, found = _entities(docs, whole)
    counts = {part: _count(*_entities(docs, o), labels) for part, o in parts.items()}
    as_annotated = _count(*_entities(docs, whole, merged=False), labels)
    totals = {part: own.sum(axis=2) for part, own in counts.items()}
    f1s = {part: scores.f1_interval(total) for part, total in totals.items()}
    by_class = counts[N_PARTS]
    classes = [_class_figures(x, by_class[:, :, i]) for i, x in enumerate(labels)]
    half = totals.get(N_PARTS // 2)
    gain = None if half is None else scores.f1_gain(half, totals[N_PARTS])
    usable, verdict = scores.judge(f1s[N_PARTS], classes, gain, len(docs))
    return Result(
        n_sentences=len(docs),
        n_repeats=by_class.shape[1],
        n_folds=len({training.fold for training in whole}),
        usable=usable,
        verdict=verdict,
        io=f1s[N_PARTS],
        bio=scores.f1_interval(as_annotated.sum(axis=2)),
        classes=classes,
        confusions=_confusions(gold, found),
        label_words=_label_words(whole),
        wrong=_wrong_sentences(docs, gold, found),
        curve=[_point(docs, list(parts[part]), f1s[part]) for part in parts if gain],
        advice=scores.advice(gain) if gain else "",
    )


def _entities(
    docs: Sequence[Doc], outcomes: Dict[Training, Outcome], *, merged: bool = True
) -> Tuple[Gold, Found]:
    gold = [judged_entities(doc, entity_spans(doc), merged=merged) for doc in docs]
    n_repeats = 1 + max(training.repeat for training in outcomes)
    found: Found = [[[]] * n_repeats for _ in docs]
    for training, outcome in outcomes.items():
        for i, own in zip(training.test, outcome.found):
            found[i][training.repeat] = judged_entities(docs[i], own, merged=merged)
    return gold, found


def _count(gold: Gold, found: Found, labels: Sequence[str]) -> numpy.ndarray:
    """int64 (n_sentences, n_repeats, n_labels, 3), as `count_sentence` counts."""
    count = scores.count_sentence
    rows = zip(gold, found)
    return numpy.array([[count(g, f, labels) for f in own] for g, own in rows])


def _class_figures(label: str, counts: numpy.ndarray) -> ClassFigures:
    right, wrong, missed = counts.sum(axis=(0, 1)).tolist()
    return ClassFigures(
        label,
        precision=PERCENT * right / max(right + wrong, 1),
        recall=PERCENT * right / max(right + missed, 1),
        f1=scores.f1_interval(counts),
        support=(right + missed) // counts.shape[1],
        n_found=right + wrong,
    )


def _confusions(gold: Gold, found: Found) -> List[Confusion]:
    pairs: Counter[Tuple[str, str]] = Counter()
    for annotated, repeats in zip(gold, found):
        for own in repeats:
            missed, wrong = set(annotated) - set(own), set(own) - set(annotated)
            both = product(missed, wrong)
            overlaps = [(m, w) for m, w in both if m[0] < w[1] and w[0] < m[1]]
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
        if errors := [f for f in repeats if set(f) != set(own)]:
            usual = max(errors, key=errors.count)
            annotated = _pieces(docs[i], own, usual, MISSED)
            shown = _pieces(docs[i], usual, own, WRONG)
            wrong.append(WrongSentence(i + 1, len(errors), annotated, shown))
    return sorted(wrong, key=lambda sentence: (-sentence.n_wrong, sentence.number))


def _pieces(doc: Doc, entities: Spans, others: Spans, otherwise: str) -> List[Piece]:
    """A sentence in pieces; entities that are not among the others get that mark."""
    pieces, end = [], 0
    for start, stop, label in sorted(entities):
        mark = RIGHT if (start, stop, label) in others else otherwise
        pieces.append(Piece(doc[end:start].text_with_ws))
        pieces.append(Piece(doc[start:stop].text, label, mark))
        pieces.append(Piece(doc[stop - 1].whitespace_))
        end = stop
    pieces.append(Piece(doc[end:].text_with_ws))
    return [piece for piece in pieces if piece.text]


def _point(docs: Sequence[Doc], trainings: List[Training], f1: Interval) -> CurvePoint:
    n_entities = [sum(len(docs[i].ents) for i in t.train) for t in trainings]
    return CurvePoint(fmean(len(t.train) for t in trainings), fmean(n_entities), f1)
