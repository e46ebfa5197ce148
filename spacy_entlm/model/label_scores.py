"""Which words a label wins, and how surely, scoring no more than that needs.

A word is no entity as soon as any vocabulary word outscores every label. Its own piece
mostly does (the model was trained to repeat it), so only the other words are scored
against the vocabulary. Where the decoder wants probabilities of classes, a word's own
piece has to win by so much that they are below the decoder's floor.
"""

import math
from typing import List, NamedTuple, Optional, Tuple, Union

import torch

from ..decoding.types import NO_LABEL
from ..label_words.rows import Rows
from .types import BLOCK_WORDS, CPU_CHUNK_ROWS, MARGIN


class WordScores(NamedTuple):
    """best: int64 (n_words), class or NO_LABEL. confidence: float32 (n_words), p(best
    class), 0 without. probs: float32 (n_words, n_labels), word_prob: float32 (n_words),
    p of each class and of the vocabulary's best word; None where not wanted."""

    best: torch.Tensor
    confidence: torch.Tensor
    probs: Optional[torch.Tensor]
    word_prob: Optional[torch.Tensor]


@torch.no_grad()
def score_words(
    features: torch.Tensor,
    piece_ids: torch.Tensor,
    words: torch.Tensor,
    n_words: int,
    vocabulary: Rows,
    labels: Rows,
    *,
    label_bias: Union[float, torch.Tensor] = 0.0,
    need_probs: bool = False,
    probability_floor: float = 0.0,
) -> WordScores:
    """Score words by the features of their first pieces (paper, Eq. 4).

    features: float32 (n, width). piece_ids: int64 (n), of the first pieces.
    words: int64 (n), which words these are; a word that is not among them is none.
    n_words (int): Of all Docs.
    label_bias (float, or float32 (n, n_labels)): Added to the scores of labels.
    need_probs (bool): Whether p(class) is wanted for all words.
    probability_floor (float): With need_probs: where each class is less probable than
        this share of the vocabulary's best word, p(class) is 0 and that word's p is 1.
    """
    device = features.device
    scores = WordScores(
        torch.full((n_words,), NO_LABEL, dtype=torch.int64, device=device),
        torch.zeros(n_words, device=device),
        torch.zeros(n_words, len(labels), device=device) if need_probs else None,
        torch.ones(n_words, device=device) if need_probs else None,
    )
    if not len(labels):
        return scores
    margin = MARGIN
    if need_probs:
        margin -= math.log(probability_floor) if probability_floor else -math.inf
    label = labels.scores(features) + label_bias
    if margin < math.inf:
        own = _own_scores(features, piece_ids, vocabulary)
        left = rows_where(label.amax(1) > own - margin)
        features, label, words = features[left], label[left], words[left]
    parts = (part.split(BLOCK_WORDS) for part in (features, label, words))
    for x, label_block, index in zip(*parts):
        _score_block(scores, x, label_block, index, vocabulary)
    return scores


def _own_scores(
    features: torch.Tensor, piece_ids: torch.Tensor, vocabulary: Rows
) -> torch.Tensor:
    """(n), the score of each word's own piece."""
    own = (features * vocabulary.weight[piece_ids]).sum(1)
    return own if vocabulary.bias is None else own + vocabulary.bias[piece_ids]


def rows_where(mask: torch.Tensor) -> torch.Tensor:
    """int64 (n), the rows of a mask that are true; asks the device how many."""
    return torch.nonzero(mask).squeeze(1)


def _score_block(
    scores: WordScores,
    features: torch.Tensor,
    label: torch.Tensor,
    words: torch.Tensor,
    vocabulary: Rows,
) -> None:
    top, top_class = label.max(1)
    vocab_top, vocab_total = summarise(features, vocabulary)
    total = torch.logaddexp(vocab_total, label.logsumexp(1))
    wins = top > vocab_top
    scores.best[words] = torch.where(wins, top_class, NO_LABEL)
    scores.confidence[words] = torch.where(wins, (top - total).exp(), 0.0)
    if scores.probs is not None and scores.word_prob is not None:
        scores.probs[words] = (label - total[:, None]).exp()
        scores.word_prob[words] = (vocab_top - total).exp()


def summarise(
    features: torch.Tensor, vocabulary: Rows
) -> Tuple[torch.Tensor, torch.Tensor]:
    """Scores of the vocabulary without ever holding them all.

    features: float32 (n, width).
    RETURNS: float32 (n), the highest score; float32 (n), log of the sum of exp(score).
    """
    top = features.new_full((len(features),), -torch.inf)
    total = torch.zeros_like(top)
    for rows in _chunks(vocabulary):
        scores = rows.scores(features)
        higher = torch.maximum(top, scores.amax(1))
        part = scores.sub_(higher[:, None]).exp_().sum(1)
        total = total * (top - higher).exp() + part
        top = higher
    return top, top + total.log()


def _chunks(rows: Rows) -> List[Rows]:
    n_rows = len(rows)
    size = CPU_CHUNK_ROWS if rows.weight.device.type == "cpu" else n_rows
    return [rows[start : start + size] for start in range(0, n_rows, max(size, 1))]
