"""Means, deviations, and intervals of paired differences over splits and seeds."""

import statistics
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy

CONFIDENCE = 0.95
N_RESAMPLES = 10_000
SEED = 1

# F1 by split and seed.
Scores = Dict[Tuple[int, int], float]


class Difference(NamedTuple):
    """A paired difference.

    mean (float): Of the means of the splits. low, high (float): Of its interval; None
        for a single split, which says nothing of others.
    by_split (Dict[int, float]): The mean difference of each split.
    n_pairs (int): Pairs of trainings; 0 where seeds are not the same on both sides.
    """

    mean: float
    low: Optional[float]
    high: Optional[float]
    by_split: Dict[int, float]
    n_pairs: int


def mean_and_deviation(values: Sequence[float]) -> Tuple[float, float]:
    """Mean and standard deviation (of a sample) of values; the latter is 0 for one."""
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return statistics.fmean(values), deviation


def paired_difference(
    ours: Scores,
    theirs: Scores,
    *,
    confidence: float = CONFIDENCE,
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
) -> Optional[Difference]:
    """The difference of two methods on the same splits, with a bootstrap interval.

    Splits are drawn with replacement, and in each drawn split its seeds: pairs of the
    same seed where both sides have it, else those of each side by themselves.

    ours, theirs (Dict[Tuple[int, int], float]): Figures by split and seed.
    confidence (float): Of the interval (percentiles of the resampled means).
    n_resamples (int): Samples that are drawn. seed (int): Of the draw.
    RETURNS (Optional[Difference]): None if there is no common split.
    """
    splits = sorted({s for s, _ in ours} & {s for s, _ in theirs})
    if not splits:
        return None
    rng = numpy.random.default_rng(seed)
    means: Dict[int, float] = {}
    resampled: List[numpy.ndarray] = []
    n_pairs = 0
    for split in splits:
        mine = {s: f for (other, s), f in ours.items() if other == split}
        others = {s: f for (other, s), f in theirs.items() if other == split}
        common = sorted(set(mine) & set(others))
        if common:
            n_pairs += len(common)
            sides = [numpy.array([mine[s] - others[s] for s in common])]
        else:
            sides = [numpy.array(list(mine.values())), -numpy.array([*others.values()])]
        means[split] = float(sum(side.mean() for side in sides))
        # For each place that a drawn split may take, seeds of its own.
        shape = (n_resamples, len(splits))
        drawn_means = [_resampled_means(side, shape, rng) for side in sides]
        resampled.append(numpy.sum(drawn_means, axis=0))
    mean = statistics.fmean(means.values())
    if len(splits) == 1:
        return Difference(mean, None, None, means, n_pairs)
    drawn = rng.integers(len(splits), size=(n_resamples, len(splits)))
    stacked = numpy.stack(resampled)
    places = numpy.arange(len(splits))
    totals = stacked[drawn, numpy.arange(n_resamples)[:, None], places].mean(axis=1)
    tail = 100 * (1 - confidence) / 2
    low, high = numpy.percentile(totals, [tail, 100 - tail])
    return Difference(mean, float(low), float(high), means, n_pairs)


def _resampled_means(
    values: numpy.ndarray, shape: Tuple[int, int], rng: numpy.random.Generator
) -> numpy.ndarray:
    """Means of values drawn with replacement, as many as there are: float64 (shape)."""
    drawn = rng.integers(len(values), size=(*shape, len(values)))
    return values[drawn].mean(axis=2)
