"""Means, deviations, and intervals by a bootstrap."""

import statistics
from typing import Any, Callable, Dict, NamedTuple, Optional, Sequence, Tuple

import numpy

CONFIDENCE = 0.95
N_RESAMPLES = 5000
SEED = 1

# F1 by split and seed.
Scores = Dict[Tuple[int, int], float]


class Difference(NamedTuple):
    """A paired difference.

    mean (float): Of the means of the splits. low, high (Optional[float]): The ends of
        its interval; None for a single split, which says nothing of others.
    by_split (Dict[int, float]): The mean difference of each split.
    """

    mean: float
    low: Optional[float]
    high: Optional[float]
    by_split: Dict[int, float]


def mean_and_deviation(values: Sequence[float]) -> Tuple[float, float]:
    """Mean and standard deviation (of a sample) of values; the latter is 0 for one."""
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return statistics.fmean(values), deviation


def bootstrap_interval(
    values: Any,
    statistic: Callable[[numpy.ndarray], float],
    seed: int = SEED,
    n: int = N_RESAMPLES,
    confidence: float = CONFIDENCE,
) -> Tuple[float, float]:
    """The interval of a statistic: percentiles of it over samples of the values.

    values: What is drawn from with replacement, along its first axis.
    statistic (Callable[[numpy.ndarray], float]): Of as many values as there are.
    seed (int): Of the draws. n (int): How many samples are drawn.
    confidence (float): Share of the samples that the interval holds.
    RETURNS (Tuple[float, float]): Its ends.
    """
    values = numpy.asarray(values)
    rng = numpy.random.default_rng(seed)
    drawn = rng.integers(len(values), size=(n, len(values)))
    found = [statistic(values[sample]) for sample in drawn]
    low, high = numpy.quantile(found, [(1 - confidence) / 2, (1 + confidence) / 2])
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
    splits = sorted({s for s, _ in ours} & {s for s, _ in theirs})
    if not splits:
        return None
    rng = numpy.random.default_rng(seed)
    by_split: Dict[int, float] = {}
    # For each split, means over seeds that are drawn with replacement.
    means = numpy.zeros((len(splits), n))
    for i, split in enumerate(splits):
        mine = {s: f for (other, s), f in ours.items() if other == split}
        others = {s: f for (other, s), f in theirs.items() if other == split}
        common = sorted(set(mine) & set(others))
        sides = [[mine[s] - others[s] for s in common]]
        if not common:
            sides = [[*mine.values()], [-f1 for f1 in others.values()]]
        by_split[split] = sum(statistics.fmean(side) for side in sides)
        for side in sides:
            drawn = rng.integers(len(side), size=(n, len(side)))
            means[i] += numpy.array(side)[drawn].mean(axis=1)
    mean = statistics.fmean(by_split.values())
    if len(splits) == 1:
        return Difference(mean, None, None, by_split)
    low, high = bootstrap_interval(
        numpy.arange(len(splits)),
        lambda drawn: means[drawn, rng.integers(n, size=len(drawn))].mean(),
        seed=seed,
        n=n,
    )
    return Difference(mean, low, high, by_split)
