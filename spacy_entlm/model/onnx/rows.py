"""Rows of an output matrix, and those of the vocabulary, whose scores graphs sum up.

The graph of float32 gets a part of the rows with each call, so that they lie in memory
once; that of int8 holds its own.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Dict, Optional, Tuple

import numpy

from .graph import Graph

# Names of files.
EXACT_FILE, INT8_FILE = "vocabulary.onnx", "vocabulary_int8.onnx"
# What the graphs read, in int8 the features alone; what they give for each part.
FEATURES, ROWS, BIASES = "features", "rows", "biases"
TOP, TOTAL = "top", "total"
# Rows of a part: what lies between them fits the caches.
PART_ROWS = 2048
# Scores in int8 that are nearer to each other are computed again: ten times the
# standard deviation of what int8 changes on processors that have no products for it
# (benchmarks/RESULTS.md).
CLOSE = 0.5


@dataclass
class ArrayRows:
    """Rows of an output matrix.
    weight: float32 (n_rows, width); bias: float32 (n_rows) or None."""

    weight: numpy.ndarray
    bias: Optional[numpy.ndarray]

    def __len__(self) -> int:
        return len(self.weight)

    def __getitem__(self, some: slice) -> "ArrayRows":
        bias = None if self.bias is None else self.bias[some]
        return ArrayRows(self.weight[some], bias)

    def scores(self, features: numpy.ndarray) -> numpy.ndarray:
        """(n, width) -> (n, n_rows)."""
        scores = features @ self.weight.T
        if self.bias is not None:
            scores += self.bias
        return scores

    def scores_of(self, features: numpy.ndarray, ids: numpy.ndarray) -> numpy.ndarray:
        """(n), the score of one row each. features: (n, width); ids: int64 (n)."""
        own = numpy.einsum("ij,ij->i", features, self.weight[ids])
        return own if self.bias is None else own + self.bias[ids]


@dataclass
class Vocabulary(ArrayRows):
    """exact: Of features, float32 (n, width), rows, float32 (n_rows, width), and their
    biases, float32 (n_rows), it gives the highest score and the sum of exp(score -
    highest), both float32 (n, 1). int8: The same for each part of all rows, float32 (n,
    n_parts), from the features alone; None: all is exact."""

    exact: Graph
    int8: Optional[Graph] = None

    @property
    def graphs(self) -> Dict[str, Graph]:
        """By the names of their files."""
        graphs = {EXACT_FILE: self.exact}
        if self.int8 is not None:
            graphs[INT8_FILE] = self.int8
        return graphs

    def summarise(
        self, features: numpy.ndarray, rivals: numpy.ndarray
    ) -> Tuple[numpy.ndarray, numpy.ndarray]:
        """The scores of all rows, without ever holding them.

        features: float32 (n, width).
        rivals: float32 (n), scores that the highest is compared with: where they are
            close to each other in int8, both numbers are computed in float32.
        RETURNS: float32 (n), the highest score; float32 (n), log of the sum of
            exp(score).
        """
        if self.int8 is None:
            return self._exactly(features)
        top, total = _joined(*self.int8(**{FEATURES: features}))
        close = numpy.flatnonzero(numpy.abs(rivals - top) < CLOSE)
        if len(close):
            top[close], total[close] = self._exactly(features[close])
        return top, total

    def _exactly(self, features: numpy.ndarray) -> Tuple[numpy.ndarray, numpy.ndarray]:
        parts = []
        for start in range(0, len(self), PART_ROWS):
            part = self[start : start + PART_ROWS]
            bias = numpy.zeros(len(part), "float32") if part.bias is None else part.bias
            inputs = {FEATURES: features, ROWS: part.weight, BIASES: bias}
            parts.append(self.exact(**inputs))
        tops, totals = (numpy.concatenate(each, axis=1) for each in zip(*parts))
        return _joined(tops, totals)

    def check(self, folder: Path) -> None:
        """RAISES (DataError): If a graph, whose file lies there, is of other rows."""
        width = self.weight.shape[1]
        reads = (FEATURES, ROWS, BIASES)
        self.exact.check(folder / EXACT_FILE, reads, width, {TOP: 1, TOTAL: 1})
        if self.int8 is not None:
            n_parts = -(-len(self) // PART_ROWS)
            gives = {TOP: n_parts, TOTAL: n_parts}
            self.int8.check(folder / INT8_FILE, (FEATURES,), width, gives)


def _joined(
    tops: numpy.ndarray, totals: numpy.ndarray
) -> Tuple[numpy.ndarray, numpy.ndarray]:
    """(n, n_parts) each, of the parts -> (n) each, of all rows."""
    top = tops.max(axis=1)
    total = (totals * numpy.exp(tops - top[:, None])).sum(axis=1)
    return top, top + numpy.log(total)
