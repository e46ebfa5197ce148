"""F1 from counts by sentence, its interval by a bootstrap over sentences, and what it
means: usable or not, and what to do next."""

from dataclasses import dataclass
from typing import Any, Callable, List, Optional, Sequence, Tuple

import numpy
from scipy.stats import binomtest

from ..scoring import Spans
from ..statistics import bootstrap_interval

N_RESAMPLES = 2000
SEED = 1
PERCENT = 100.0
# Annotated sentences that an interval needs: those of fewer say nothing of others.
MIN_SENTENCES = 5
TOO_FEW = "too few examples for an interval"
# Sentences that a verdict needs: intervals from fewer are too narrow.
MIN_FOR_VERDICT = 30
# F1 that is asked for with 97.5 % confidence, overall and of each class.
USABLE_F1 = 60.0
USABLE_CLASS_F1 = 40.0
RULE = (
    f"Usable: the 95 % interval of F1 (IO) begins at {USABLE_F1:g} or above, that of "
    f"each annotated class at {USABLE_CLASS_F1:g} or above. A class with too few "
    "examples for an interval does not meet this. "
    f"At least {MIN_FOR_VERDICT} sentences are needed to tell."
)
# A doubling of the examples that brings less, in points of F1, is not worth the work.
WORTH_POINTS = 1.0
NO_ENTITY_FOUND = (
    "not yet: nothing was found in any fold. Most often the learning rate is too small "
    "for the backbone, or there are too few epochs: see python -m spacy entlm debug "
    "CONFIG."
)


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


def count_sentence(
    gold: Spans, judged: Spans, labels: Sequence[str]
) -> List[List[int]]:
    """True positives, false positives and false negatives of a sentence by class, as
    spaCy's scorer counts them. gold, judged: From `judged_entities`."""
    ours, theirs = set(judged), set(gold)
    kinds = (ours & theirs, ours - theirs, theirs - ours)
    return [[sum(e[2] == x for e in kind) for kind in kinds] for x in labels]


def f1(counts: numpy.ndarray) -> numpy.ndarray:
    """F1, float64 (...), from 0 to 100, of true positives, false positives and false
    negatives, (..., 3); 0 where there is nothing to find and nothing found."""
    right = 2.0 * counts[..., 0]
    total = right + counts[..., 1] + counts[..., 2]
    return PERCENT * right / numpy.maximum(total, 1.0)


def f1_interval(counts: numpy.ndarray) -> Interval:
    """F1 of each repeat from the counts of all its sentences, int64 (n_sentences,
    n_repeats, 3); their mean, and its interval."""
    found = _interval(counts[:, None], lambda f1s: f1s[0])
    if found.low is None or found.low != found.high:
        return found
    # All alike: that of a proportion of so many sentences (Clopper and Pearson).
    n = int(_are_annotated(counts[:, None]).sum())
    exact = binomtest(round(n * found.value / PERCENT), n).proportion_ci()
    return Interval(found.value, PERCENT * exact.low, PERCENT * exact.high)


def f1_gain(before: numpy.ndarray, after: numpy.ndarray) -> Interval:
    """The difference of two F1, from counts of the same sentences as in `f1_interval`,
    with its interval: both are resampled together."""
    return _interval(numpy.stack([before, after], axis=1), lambda f1s: f1s[1] - f1s[0])


def _interval(
    parts: numpy.ndarray, figure: Callable[[numpy.ndarray], float]
) -> Interval:
    """Draw sentences with replacement, with all that the repeats predicted for them,
    and draw repeats, since a training is a matter of chance too. To draw from folds x
    repeats would give an interval that is too narrow: they are not independent.

    parts: int64 (n_sentences, n_parts, n_repeats, 3); the same draws for all parts.
    figure (Callable): Of the mean F1 of each part.
    """
    value = float(figure(f1(parts.sum(axis=0)).mean(axis=1)))
    if _are_annotated(parts).sum() < MIN_SENTENCES:
        return Interval(value)
    n_repeats = parts.shape[2]
    rng = numpy.random.default_rng([SEED, n_repeats])

    def statistic(drawn: numpy.ndarray) -> float:
        repeats = rng.integers(n_repeats, size=n_repeats)
        return figure(f1(drawn.sum(axis=0))[:, repeats].mean(axis=1))

    return Interval(value, *bootstrap_interval(parts, statistic, SEED, N_RESAMPLES))


def _are_annotated(parts: numpy.ndarray) -> numpy.ndarray:
    """bool (n_sentences). parts: As for `_interval`."""
    return (parts[..., 0] + parts[..., 2]).any(axis=(1, 2))


def judge(
    f1: Interval, classes: Sequence[Any], gain: Optional[Interval], n_sentences: int
) -> Tuple[bool, str]:
    """Whether the figures meet RULE, and the verdict in words.
    gain (Optional[Interval]): From twice as many examples, None without a curve."""
    # Neither right nor wrong ones; precision is 0 as well if all are wrong.
    if not any(c.n_found for c in classes):
        return False, NO_ENTITY_FOUND
    weak = [c for c in classes if c.support and (c.f1.low or 0) < USABLE_CLASS_F1]
    if not weak and (f1.low or 0) >= USABLE_F1:
        if n_sentences < MIN_FOR_VERDICT:
            what = f"{n_sentences} sentences look good, but are too few to tell"
            return False, f"not yet: {what}. Annotate {MIN_FOR_VERDICT} or more"
        return True, "usable"
    names = ", ".join(c.label for c in weak)
    if gain and _hardly_helps(gain) and all(c.f1.low is not None for c in weak):
        what = f" for {names}" if weak else ""
        return False, f"not yet: try other label words or another backbone{what}"
    return False, f"not yet: annotate more {names or 'sentences'}"


def advice(gain: Interval) -> str:
    """Whether more examples would help, from the gain in F1 from half of the examples
    to all of them."""
    if gain.low is None:
        return "Whether more examples would help cannot be told from so few."
    if gain.low > 0 and gain.value >= WORTH_POINTS:
        found = "More examples would most likely help"
    elif _hardly_helps(gain):
        found = "More examples of this kind would hardly help"
    elif gain.value >= WORTH_POINTS:
        found = "More examples may help, but this is not certain"
    else:
        found = "Whether more examples would help cannot be told from these"
    interval = f"({gain.low:+.1f} to {gain.high:+.1f})"
    return f"{found}: twice as many changed F1 by {gain.value:+.1f} points {interval}."


def _hardly_helps(gain: Interval) -> bool:
    return gain.high is not None and gain.high < WORTH_POINTS
