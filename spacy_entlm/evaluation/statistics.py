"""Intervals by a bootstrap, and paired differences."""

from statistics import fmean
from typing import Any, Callable, Dict, NamedTuple, Optional, Tuple

import numpy

CONFIDENCE = 0.95
N_RESAMPLES = 5000
SEED = 1

# F1 by split and seed.
Scores = Dict[Tuple[int, int], float]


class Difference(NamedTuple):
    """A paired difference: the mean over splits, the ends of its interval (None for a
    single split, which says nothing of others), and the mean of each split."""

    mean: float
    low: Optional[float]
    high: Optional[float]
    by_split: Dict[int, float]


def bootstrap_interval(
    values: Any,
    statistic: Callable[[numpy.ndarray], float],
    seed: int = SEED,
    n: int = N_RESAMPLES,
) -> Tuple[float, float]:
    """The 95 % interval of a statistic: percentiles of it over samples of the values.

    values: What is drawn from with replacement, along its first axis.
    statistic (Callable[[numpy.ndarray], float]): Of as many values as there are.
    seed (int): Of the draws. n (int): How many samples are drawn.
    """
    values = numpy.asarray(values)
    drawn = numpy.random.default_rng(seed).integers(len(values), size=(n, len(values)))
    found = [statistic(values[sample]) for sample in drawn]
    low, high = numpy.quantile(found, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def paired_difference(
    ours: Scores, theirs: Scores, *, seed: int = SEED, n: int = N_RESAMPLES
) -> Optional[Difference]:
    """The difference of two methods on the same splits, with a bootstrap interval.

    Splits are drawn with replacement, and in each drawn split its seeds: pairs of the
    same seed where both sides have it, else those of each side by themselves.

    ours, theirs (Dict[Tuple[int, int], float]): Figures by split and seed.
    seed, n (int): As in `bootstrap_interval`.
    RETURNS (Optional[Difference]): None if there is no common split.
    """
    splits = sorted({split for split, _ in ours} & {split for split, _ in theirs})
    if not splits:
        return None
    rng = numpy.random.default_rng(seed)
    by_split: Dict[int, float] = {}
    # For each split, means over seeds that are drawn with replacement.
    means = numpy.zeros((len(splits), n))
    for i, split in enumerate(splits):
        mine, others = (
            {seed: f1 for (other, seed), f1 in side.items() if other == split}
            for side in (ours, theirs)
        )
        common = sorted(mine.keys() & others.keys())
        sides = [[mine[s] - others[s] for s in common]]
        if not common:
            sides = [[*mine.values()], [-f1 for f1 in others.values()]]
        by_split[split] = sum(map(fmean, sides))
        for side in sides:
            means[i] += rng.choice(side, size=(n, len(side))).mean(axis=1)
    ends: Tuple[Optional[float], Optional[float]] = (None, None)
    if len(splits) > 1:

        def statistic(drawn: numpy.ndarray) -> float:
            return means[drawn, rng.integers(n, size=len(drawn))].mean()

        ends = bootstrap_interval(range(len(splits)), statistic, seed, n)
    return Difference(fmean(by_split.values()), *ends, by_split)
