"""F1 from counts by sentence, and its interval by a bootstrap over sentences."""

from typing import List, NamedTuple, Sequence, Tuple

import numpy
from spacy.tokens import Doc

from ..scoring import merge_neighbours, merge_spans

CONFIDENCE = 0.95
N_RESAMPLES = 2000
# Resamples that are drawn together: what they need of memory stays small.
CHUNK = 500
SEED = 1
PERCENT = 100.0
# True positives, false positives, false negatives.
N_COUNTS = 3
_MISSING = 0  # token.ent_iob of a word without annotation

# Start, end (in words) and class of an entity.
Entity = Tuple[int, int, str]


class Interval(NamedTuple):
    """A figure from 0 to 100, and the ends of its interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.1f} ({self.low:.1f} to {self.high:.1f})"


class Rates(NamedTuple):
    """Precision and recall, from 0 to 100."""

    precision: float
    recall: float


def gold_entities(doc: Doc, *, merged: bool) -> List[Entity]:
    """The annotated entities of a sentence.

    merged (bool): Whether neighbours of one class are one entity (IO gold).
    """
    ents = merge_neighbours(doc).ents if merged else doc.ents
    return [(ent.start, ent.end, ent.label_) for ent in ents]


def judged_entities(doc: Doc, found: Sequence[Entity]) -> List[Entity]:
    """Found entities without those on words that are not annotated, which are neither
    right nor wrong."""
    return [
        entity
        for entity in found
        if all(token.ent_iob != _MISSING for token in doc[entity[0] : entity[1]])
    ]


def count_sentence(
    doc: Doc, found: Sequence[Entity], labels: Sequence[str], *, merged: bool
) -> numpy.ndarray:
    """Count right, wrong and missed entities of a sentence, as spaCy's scorer does.

    doc (Doc): As annotated. found (Sequence[Entity]): As predicted.
    labels (Sequence[str]): The classes. merged (bool): As in `gold_entities`.
    RETURNS: int64 (n_labels, 3), true positives, false positives, false negatives.
    """
    column = {label: i for i, label in enumerate(labels)}
    counts = numpy.zeros((len(labels), N_COUNTS), dtype="int64")
    gold = set(gold_entities(doc, merged=merged))
    judged = judged_entities(doc, found)
    predicted = set(merge_spans(judged) if merged else judged)
    for kind, entities in enumerate(
        (predicted & gold, predicted - gold, gold - predicted)
    ):
        for _, _, label in entities:
            counts[column[label], kind] += 1
    return counts


def f1(counts: numpy.ndarray) -> numpy.ndarray:
    """F1, from 0 to 100; 0 where there is nothing to find and nothing found.

    counts: (..., 3), true positives, false positives, false negatives.
    RETURNS: float64 (...).
    """
    right = 2.0 * counts[..., 0]
    total = right + counts[..., 1] + counts[..., 2]
    return PERCENT * right / numpy.maximum(total, 1.0)


def rates(counts: numpy.ndarray) -> Rates:
    """Precision and recall of counts that are added up.

    counts: (..., 3), as in `f1`.
    """
    right, wrong, missed = counts.reshape(-1, N_COUNTS).sum(axis=0).tolist()
    return Rates(
        PERCENT * right / max(right + wrong, 1),
        PERCENT * right / max(right + missed, 1),
    )


def mean_f1(counts: numpy.ndarray) -> float:
    """F1 of each repeat from the counts of all its sentences, and their mean.

    counts: int64 (n_repeats, n_sentences, 3).
    """
    return float(f1(counts.sum(axis=1)).mean())


def f1_interval(counts: numpy.ndarray, *, seed: int = SEED) -> Interval:
    """F1 as in `mean_f1`, with its interval.

    counts: int64 (n_repeats, n_sentences, 3). seed (int): Of the bootstrap.
    """
    return _interval(mean_f1(counts), resampled_f1([counts], seed=seed)[0])


def f1_gain(
    before: numpy.ndarray, after: numpy.ndarray, *, seed: int = SEED
) -> Interval:
    """The difference of two F1, with its interval: both are resampled together.

    before, after: int64 (n_repeats, n_sentences, 3), of the same sentences.
    """
    drawn = resampled_f1([before, after], seed=seed)
    return _interval(mean_f1(after) - mean_f1(before), drawn[1] - drawn[0])


def resampled_f1(
    parts: Sequence[numpy.ndarray], *, n_resamples: int = N_RESAMPLES, seed: int = SEED
) -> numpy.ndarray:
    """Draw sentences with replacement, with all that the repeats predicted for them,
    and draw repeats with replacement; F1 of each draw.

    Predictions of several repeats for one sentence are not independent: to draw from
    folds x repeats would count the same sentences over and over, and give an interval
    that is too narrow. Sentences are what is drawn from a larger whole; repeats (other
    folds, other seeds) are drawn since a training is a matter of chance too.

    parts (Sequence): int64 (n_repeats, n_sentences, 3) each; the same draws for all.
    n_resamples (int): Draws. seed (int): Of the draws.
    RETURNS: float64 (n_parts, n_resamples).
    """
    rng = numpy.random.default_rng(seed)
    n_repeats, n_sentences, _ = parts[0].shape
    share = numpy.full(n_sentences, 1.0 / n_sentences)
    columns = [
        part.transpose(1, 0, 2).reshape(n_sentences, -1).astype("float64")
        for part in parts
    ]
    drawn: List[numpy.ndarray] = []
    for start in range(0, n_resamples, CHUNK):
        size = min(CHUNK, n_resamples - start)
        times = rng.multinomial(n_sentences, share, size=size).astype("float64")
        repeats = rng.integers(n_repeats, size=(size, n_repeats))
        by_repeat = [
            f1((times @ column).reshape(size, n_repeats, N_COUNTS))
            for column in columns
        ]
        means = [numpy.take_along_axis(f, repeats, axis=1).mean(1) for f in by_repeat]
        drawn.append(numpy.stack(means))
    return numpy.concatenate(drawn, axis=1)


def _interval(value: float, drawn: numpy.ndarray) -> Interval:
    tail = PERCENT * (1 - CONFIDENCE) / 2
    low, high = numpy.percentile(drawn, [tail, PERCENT - tail])
    return Interval(value, float(low), float(high))
