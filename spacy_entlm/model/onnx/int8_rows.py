"""Rows of an output matrix whose scores are summed up in int8."""

from dataclasses import dataclass
from pathlib import Path
from typing import Tuple

import numpy

from .graph import Graph
from .scores import ArrayRows

# What the graph reads; what it gives for each part of the rows.
FEATURES, TOP, TOTAL = "features", "top", "total"
# Rows of a part: what lies between them fits the caches.
PART_ROWS = 2048
# Scores in int8 that are nearer to each other are computed again: ten times the
# standard deviation of what int8 changes on processors that have no products for it
# (benchmarks/RESULTS.md).
CLOSE = 0.5


@dataclass
class Int8Rows(ArrayRows):
    """graph: Of features, float32 (n, width), it gives for each part of the rows the
    highest score and the sum of exp(score - highest), both float32 (n, n_parts)."""

    graph: Graph

    def summarise(
        self, features: numpy.ndarray, rivals: numpy.ndarray
    ) -> Tuple[numpy.ndarray, numpy.ndarray]:
        """As of `ArrayRows`. Where the highest score is close to its rival, both are
        computed again in float32."""
        tops, totals = self.graph(**{FEATURES: features})
        top = tops.max(axis=1)
        total = (totals * numpy.exp(tops - top[:, None])).sum(axis=1)
        total = top + numpy.log(total)
        close = numpy.flatnonzero(numpy.abs(rivals - top) < CLOSE)
        if len(close):
            exact = super().summarise(features[close], rivals[close])
            top[close], total[close] = exact
        return top, total

    def check(self, path: Path) -> None:
        """RAISES (DataError): If the graph, whose file this is, is of other rows."""
        n_parts = -(-len(self) // PART_ROWS)
        gives = {TOP: n_parts, TOTAL: n_parts}
        self.graph.check(path, (FEATURES,), self.weight.shape[1], gives)
