"""The figures of a cross-validation, from what its trainings found."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

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
    precision_recall,
)
from .verdict import advice, judge

RIGHT, WRONG, MISSED = "right", "wrong", "missed"


class Outcome(NamedTuple):
    """What a training found in each of its test sentences, and the label words that it
    used."""

    found: List[List[Entity]]
    label_words: Dict[str, List[str]] = {}


class Piece(NamedTuple):
    """A part of a sentence. label (str): Its class, or "". mark (str): Of an entity,
    whether it is right, wrong or missed."""

    text: str
    label: str = ""
    mark: str = ""


@dataclass(frozen=True)
class ClassFigures:
    """label (str): The class. precision, recall (float): From 0 to 100, of all repeats
    together. f1 (Interval): With its interval. support (int): Annotated entities."""

    label: str
    precision: float
    recall: float
    f1: Interval
    support: int


class Confusion(NamedTuple):
    """gold, found (str): What was annotated and what was found, "" for no entity; with
    the same class for both the bounds are wrong. times (int): In all repeats."""

    gold: str
    found: str
    times: int


@dataclass(frozen=True)
class WrongSentence:
    """number (int): Of the sentence, from 1. n_wrong (int): Repeats in which it is not
    as annotated. gold (List[Piece]): As annotated. found (List[Piece]): What most of
    these repeats found."""

    number: int
    n_wrong: int
    gold: List[Piece]
    found: List[Piece]


@dataclass(frozen=True)
class CurvePoint:
    """n_sentences, n_entities (float): Of a training, mean. f1 (Interval): Of it."""

    n_sentences: float
    n_entities: float
    f1: Interval


@dataclass(frozen=True)
class Result:
    """What a cross-validation says.

    n_sentences (int): Sentences. n_repeats, n_folds (int): As run.
    usable (bool), verdict (str): From `judge`.
    io, bio (Interval): F1 with neighbours of one class as one entity, and as
        annotated.
    classes (List[ClassFigures]): By class, IO. confusions (List[Confusion]): Most
        frequent first. label_words (Dict[str, List[str]]): Of the trainings on whole
        training parts, those that most of them used first.
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
    curve: List[CurvePoint] = field(default_factory=list)
    advice: str = ""


class _Judged:
    """Gold and found entities of one part of the curve, by sentence and repeat."""

    def __init__(
        self, docs: Sequence[Doc], outcomes: Dict[Training, Outcome], *, merged: bool
    ) -> None:
        self.gold = [gold_entities(doc, merged=merged) for doc in docs]
        n_repeats = 1 + max(training.repeat for training in outcomes)
        self.found: List[List[List[Entity]]] = [[[]] * n_repeats for _ in docs]
        for training, outcome in outcomes.items():
            for i, found in zip(training.test, outcome.found):
                judged = judged_entities(docs[i], found, merged=merged)
                self.found[i][training.repeat] = judged

    def count(self, labels: Sequence[str]) -> numpy.ndarray:
        """int64 (n_sentences, n_repeats, n_labels, 3), as `count_sentence` counts."""
        pairs = zip(self.gold, self.found)
        counts = [[count_sentence(g, f, labels) for f in found] for g, found in pairs]
        return numpy.array(counts)


def summarise(docs: Sequence[Doc], outcomes: Dict[Training, Outcome]) -> Result:
    """Figures of a cross-validation.

    docs (Sequence[Doc]): The sentences.
    outcomes (Dict[Training, Outcome]): What each training found.
    """
    found = {e[2] for o in outcomes.values() for s in o.found for e in s}
    labels = sorted({*entity_classes(docs), *found})
    by_part: Dict[int, Dict[Training, Outcome]] = {}
    for training, outcome in sorted(outcomes.items(), key=lambda item: item[0].part):
        by_part.setdefault(training.part, {})[training] = outcome
    whole = by_part[N_PARTS]
    merged = {part: _Judged(docs, own, merged=True) for part, own in by_part.items()}
    by_class = {part: judged.count(labels) for part, judged in merged.items()}
    counts = {part: own.sum(axis=2) for part, own in by_class.items()}
    as_annotated = _Judged(docs, whole, merged=False).count(labels)
    f1 = f1_interval(counts[N_PARTS])
    classes = [
        _class_figures(label, by_class[N_PARTS][:, :, i])
        for i, label in enumerate(labels)
    ]
    half = counts.get(N_PARTS // 2)
    gain = None if half is None else f1_gain(half, counts[N_PARTS])
    anything = any(entities for o in whole.values() for entities in o.found)
    usable, verdict = judge(f1, classes, gain, found_any=anything)
    return Result(
        n_sentences=len(docs),
        n_repeats=1 + max(training.repeat for training in whole),
        n_folds=len({training.fold for training in whole}),
        usable=usable,
        verdict=verdict,
        io=f1,
        bio=f1_interval(as_annotated.sum(axis=2)),
        classes=classes,
        confusions=_confusions(merged[N_PARTS]),
        label_words=_label_words(whole),
        wrong=_wrong_sentences(docs, merged[N_PARTS]),
        curve=[_point(docs, list(by_part[part]), own) for part, own in counts.items()]
        if gain
        else [],
        advice=advice(gain) if gain else "",
    )


def _class_figures(label: str, counts: numpy.ndarray) -> ClassFigures:
    # Every repeat sees every sentence once: right ones and missed ones of any.
    support = int(counts[:, 0, 0].sum() + counts[:, 0, 2].sum())
    precision, recall = precision_recall(counts)
    return ClassFigures(label, precision, recall, f1_interval(counts), support)


def _confusions(judged: _Judged) -> List[Confusion]:
    pairs: Counter[Tuple[str, str]] = Counter()
    for gold, repeats in zip(judged.gold, judged.found):
        for found in repeats:
            missed, wrong = set(gold) - set(found), set(found) - set(gold)
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


def _wrong_sentences(docs: Sequence[Doc], judged: _Judged) -> List[WrongSentence]:
    wrong = []
    for i, (gold, repeats) in enumerate(zip(judged.gold, judged.found)):
        errors = Counter(tuple(found) for found in repeats if set(found) != set(gold))
        if errors:
            ((most_often, _),) = errors.most_common(1)
            as_annotated = _pieces(docs[i], gold, most_often, MISSED)
            as_found = _pieces(docs[i], most_often, gold, WRONG)
            wrong.append(WrongSentence(i + 1, errors.total(), as_annotated, as_found))
    return sorted(wrong, key=lambda sentence: (-sentence.n_wrong, sentence.number))


def _pieces(
    doc: Doc, entities: Sequence[Entity], others: Sequence[Entity], otherwise: str
) -> List[Piece]:
    """A sentence in pieces. Entities that are not among the others get the mark
    `otherwise`."""
    pieces: List[Piece] = []
    end = 0
    for entity in sorted(entities):
        start, stop, label = entity
        mark = RIGHT if entity in others else otherwise
        pieces.append(Piece(doc[end:start].text_with_ws))
        pieces.append(Piece(doc[start:stop].text, label, mark))
        pieces.append(Piece(doc[stop - 1].whitespace_))
        end = stop
    pieces.append(Piece(doc[end:].text_with_ws))
    return [piece for piece in pieces if piece.text]


def _point(docs: Sequence[Doc], trainings: Any, counts: numpy.ndarray) -> CurvePoint:
    sizes = [len(training.train) for training in trainings]
    n_entities = [sum(len(docs[i].ents) for i in t.train) for t in trainings]
    mean_size, mean_entities = float(numpy.mean(sizes)), float(numpy.mean(n_entities))
    return CurvePoint(mean_size, mean_entities, f1_interval(counts))
