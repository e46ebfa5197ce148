"""F1 from counts by sentence, and its interval by a bootstrap over sentences."""

from dataclasses import dataclass
from typing import Callable, List, Optional, Sequence, Tuple

import numpy
from spacy.tokens import Doc

from ..scoring import merge_spans
from ..statistics import bootstrap_interval

N_RESAMPLES = 2000
SEED = 1
PERCENT = 100.0
# Annotated sentences that an interval needs: those of fewer say nothing of others.
MIN_SENTENCES = 5
TOO_FEW = "too few examples for an interval"
_MISSING = 0  # token.ent_iob of a word without annotation

# Start, end (in words) and class of an entity.
Entity = Tuple[int, int, str]


@dataclass(frozen=True)
class Interval:
    """A figure from 0 to 100, and the ends of its 95 % interval; None where there are
    too few examples for one."""

    value: float
    low: Optional[float] = None
    high: Optional[float] = None

    def __str__(self) -> str:
        if self.low is None:
            return f"{self.value:.1f} ({TOO_FEW})"
        return f"{self.value:.1f} ({self.low:.1f} to {self.high:.1f})"


def gold_entities(doc: Doc, *, merged: bool) -> List[Entity]:
    """The annotated entities of a sentence.

    merged (bool): Whether neighbours of one class are one entity (IO gold).
    """
    entities = [(ent.start, ent.end, ent.label_) for ent in doc.ents]
    return merge_spans(entities) if merged else entities


def judged_entities(doc: Doc, found: Sequence[Entity], *, merged: bool) -> List[Entity]:
    """Found entities without those on words that are not annotated, which are neither
    right nor wrong. merged (bool): As in `gold_entities`."""
    known = [token.ent_iob != _MISSING for token in doc]
    judged = [entity for entity in found if all(known[entity[0] : entity[1]])]
    return merge_spans(judged) if merged else judged


def count_sentence(
    gold: Sequence[Entity], judged: Sequence[Entity], labels: Sequence[str]
) -> List[List[int]]:
    """Count right, wrong and missed entities of a sentence, as spaCy's scorer does.

    gold, judged (Sequence[Entity]): From the functions above.
    RETURNS (List[List[int]]): Per class, true positives, false positives, false
        negatives.
    """
    ours, theirs = set(judged), set(gold)
    kinds = (ours & theirs, ours - theirs, theirs - ours)
    return [[sum(e[2] == x for e in kind) for kind in kinds] for x in labels]


def f1(counts: numpy.ndarray) -> numpy.ndarray:
    """F1, from 0 to 100; 0 where there is nothing to find and nothing found.

    counts: (..., 3), true positives, false positives, false negatives.
    RETURNS: float64 (...).
    """
    right = 2.0 * counts[..., 0]
    total = right + counts[..., 1] + counts[..., 2]
    return PERCENT * right / numpy.maximum(total, 1.0)


def f1_interval(counts: numpy.ndarray, *, seed: int = SEED) -> Interval:
    """F1 of each repeat from the counts of all its sentences, their mean, and its
    interval.

    counts: int64 (n_sentences, n_repeats, 3). seed (int): Of the bootstrap.
    """
    return _interval(counts[:, None], lambda f1s: f1s[0], seed)


def f1_gain(
    before: numpy.ndarray, after: numpy.ndarray, *, seed: int = SEED
) -> Interval:
    """The difference of two F1, with its interval: both are resampled together.

    before, after: int64 (n_sentences, n_repeats, 3), of the same sentences.
    """
    parts = numpy.stack([before, after], axis=1)
    return _interval(parts, lambda f1s: f1s[1] - f1s[0], seed)


def _interval(
    parts: numpy.ndarray, figure: Callable[[numpy.ndarray], float], seed: int
) -> Interval:
    """Draw sentences with replacement, with all that the repeats predicted for them,
    and draw repeats with replacement.

    Predictions of several repeats for one sentence are not independent: to draw from
    folds x repeats would give an interval that is too narrow. Repeats are drawn since a
    training is a matter of chance too.

    parts: int64 (n_sentences, n_parts, n_repeats, 3); the same draws for all parts.
    figure (Callable): Of the mean F1 of each part.
    """
    value = float(figure(f1(parts.sum(axis=0)).mean(axis=1)))
    annotated = (parts[..., 0] + parts[..., 2]).any(axis=(1, 2))
    if annotated.sum() < MIN_SENTENCES:
        return Interval(value)
    n_repeats = parts.shape[2]
    rng = numpy.random.default_rng([seed, n_repeats])

    def statistic(drawn: numpy.ndarray) -> float:
        repeats = rng.integers(n_repeats, size=n_repeats)
        return figure(f1(drawn.sum(axis=0))[:, repeats].mean(axis=1))

    return Interval(value, *bootstrap_interval(parts, statistic, seed, N_RESAMPLES))
