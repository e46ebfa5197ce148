"""What `model/label_scores.py` computes, in arrays."""

import math
from typing import NamedTuple, Optional

import numpy

from ...decoding.types import NO_LABEL, Bias
from ..types import BLOCK_WORDS, MARGIN
from .rows import ArrayRows, Vocabulary


class ArrayScores(NamedTuple):
    """As `WordScores` in model/label_scores.py, in arrays."""

    best: numpy.ndarray
    confidence: numpy.ndarray
    probs: Optional[numpy.ndarray]
    word_prob: Optional[numpy.ndarray]


def score_words(
    features: numpy.ndarray,
    piece_ids: numpy.ndarray,
    words: numpy.ndarray,
    n_words: int,
    vocabulary: Vocabulary,
    labels: ArrayRows,
    *,
    label_bias: Bias = 0.0,
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
    label = labels.scores(features) + numpy.asarray(label_bias, dtype="float32")
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
    vocabulary: Vocabulary,
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
