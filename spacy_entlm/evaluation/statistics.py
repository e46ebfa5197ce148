"""Intervals by a bootstrap, and paired differences."""

from collections import defaultdict
from statistics import fmean
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

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
    """
    values = numpy.asarray(values)
    drawn = numpy.random.default_rng(seed).integers(len(values), size=(n, len(values)))
    found = [statistic(values[sample]) for sample in drawn]
    low, high = numpy.quantile(found, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def paired_difference(
    ours: Scores, theirs: Scores, *, seed: int = SEED, n: int = N_RESAMPLES
) -> Optional[Difference]:
    """The difference of two methods on the same splits and seeds, with a bootstrap
    interval: splits are drawn with replacement, and in each drawn split its seeds.

    ours, theirs (Dict[Tuple[int, int], float]): Figures by split and seed.
    seed, n (int): As in `bootstrap_interval`.
    RETURNS (Optional[Difference]): None if no split has a seed of both.
    """
    pairs: Dict[int, List[float]] = defaultdict(list)
    for split, own in sorted(ours.keys() & theirs.keys()):
        pairs[split].append(ours[split, own] - theirs[split, own])
    if not pairs:
        return None
    by_split = {split: fmean(values) for split, values in pairs.items()}
    mean = fmean(by_split.values())
    if len(pairs) == 1:
        return Difference(mean, None, None, by_split)
    rng = numpy.random.default_rng(seed)
    # For each split, means over seeds that are drawn with replacement.
    drawn_seeds = [rng.choice(v, size=(n, len(v))) for v in pairs.values()]
    means = numpy.stack([values.mean(axis=1) for values in drawn_seeds])

    def statistic(drawn: numpy.ndarray) -> float:
        return means[drawn, rng.integers(n, size=len(drawn))].mean()

    ends = bootstrap_interval(range(len(pairs)), statistic, seed, n)
    return Difference(mean, *ends, by_split)
