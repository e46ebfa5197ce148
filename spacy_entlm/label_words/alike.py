"""Classes whose rows are so near to each other that one is taken for the other."""

from itertools import combinations
from typing import List, NamedTuple, Sequence

import numpy


class NearClasses(NamedTuple):
    """Two classes, and the cosine of their rows."""

    one: str
    other: str
    cosine: float


def near_classes(
    labels: Sequence[str], rows: numpy.ndarray, least: float
) -> List[NearClasses]:
    """Pairs of classes whose rows have a cosine of `least` or more, the nearest first.
    rows: float32 (n_labels, width)."""
    lengths = numpy.linalg.norm(rows, axis=1, keepdims=True)
    units = rows / numpy.maximum(lengths, numpy.finfo(rows.dtype).tiny)
    cosines = units @ units.T
    pairs = [
        NearClasses(labels[i], labels[j], float(cosines[i, j]))
        for i, j in combinations(range(len(labels)), 2)
        if cosines[i, j] >= least
    ]
    return sorted(pairs, key=lambda pair: -pair.cosine)
