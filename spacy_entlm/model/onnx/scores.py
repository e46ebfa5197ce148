"""What `model/label_scores.py` computes, in numpy."""

import math
from dataclasses import dataclass
from typing import NamedTuple, Optional, Tuple

import numpy

from ...decoding.types import NO_LABEL
from ..types import BLOCK_WORDS, CPU_CHUNK_ROWS, MARGIN


class ArrayScores(NamedTuple):
    """As `WordScores` in model/label_scores.py, in arrays."""

    best: numpy.ndarray
    confidence: numpy.ndarray
    probs: Optional[numpy.ndarray]
    word_prob: Optional[numpy.ndarray]


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

    def summarise(
        self, features: numpy.ndarray, rivals: numpy.ndarray
    ) -> Tuple[numpy.ndarray, numpy.ndarray]:
        """The scores of all rows, without ever holding them.

        features: float32 (n, width).
        rivals: float32 (n), scores that the highest is compared with.
        RETURNS: float32 (n), the highest score; float32 (n), log of the sum of
            exp(score).
        """
        top = numpy.full(len(features), -numpy.inf, dtype="float32")
        total = numpy.zeros_like(top)
        for start in range(0, len(self), CPU_CHUNK_ROWS):
            scores = self[start : start + CPU_CHUNK_ROWS].scores(features)
            higher = numpy.maximum(top, scores.max(axis=1))
            scores -= higher[:, None]
            part = numpy.exp(scores, out=scores).sum(axis=1)
            total = total * numpy.exp(top - higher) + part
            top = higher
        return top, top + numpy.log(total)


def score_words(
    features: numpy.ndarray,
    piece_ids: numpy.ndarray,
    words: numpy.ndarray,
    n_words: int,
    vocabulary: ArrayRows,
    labels: ArrayRows,
    *,
    label_bias: float = 0.0,
    need_probs: bool = False,
    probability_floor: float = 0.0,
) -> ArrayScores:
    """Score words by the features of their first pieces (paper, Eq. 4).

    features: float32 (n, width). piece_ids: int64 (n), of the first pieces.
    words: int64 (n), which words these are; a word that is not among them is none.
    n_words (int): Of all Docs. The others: as in model/label_scores.py.
    """
    scores = ArrayScores(
        numpy.full(n_words, NO_LABEL, dtype="int64"),
        numpy.zeros(n_words, dtype="float32"),
        numpy.zeros((n_words, len(labels)), dtype="float32") if need_probs else None,
        numpy.ones(n_words, dtype="float32") if need_probs else None,
    )
    if not len(labels):
        return scores
    margin = MARGIN
    if need_probs:
        margin -= math.log(probability_floor) if probability_floor else -math.inf
    label = labels.scores(features) + numpy.float32(label_bias)
    if margin < math.inf:
        own = vocabulary.scores_of(features, piece_ids)
        left = numpy.flatnonzero(label.max(axis=1) > own - margin)
        features, label, words = features[left], label[left], words[left]
    for start in range(0, len(words), BLOCK_WORDS):
        block = slice(start, start + BLOCK_WORDS)
        _score_block(scores, features[block], label[block], words[block], vocabulary)
    return scores


def _score_block(
    scores: ArrayScores,
    features: numpy.ndarray,
    label: numpy.ndarray,
    words: numpy.ndarray,
    vocabulary: ArrayRows,
) -> None:
    top_class = label.argmax(axis=1)
    top = label.max(axis=1)
    vocab_top, vocab_total = vocabulary.summarise(features, top)
    label_total = top + numpy.log(numpy.exp(label - top[:, None]).sum(axis=1))
    total = numpy.logaddexp(vocab_total, label_total)
    wins = top > vocab_top
    scores.best[words] = numpy.where(wins, top_class, NO_LABEL)
    scores.confidence[words] = numpy.where(wins, numpy.exp(top - total), 0)
    if scores.probs is not None and scores.word_prob is not None:
        scores.probs[words] = numpy.exp(label - total[:, None])
        scores.word_prob[words] = numpy.exp(vocab_top - total)
