"""Which words a label wins, and how surely, scoring no more than that needs.

A word is no entity as soon as any vocabulary word outscores every label. Its own piece
mostly does (the model was trained to repeat it), so only the words left over are scored
against the vocabulary. Where the decoder wants probabilities of classes, a word is
settled if its own piece wins by so much that they are negligible to the decoder.
"""

import math
from typing import List, NamedTuple, Optional, Tuple

import torch

from .label_head import BLOCK_ROWS, Rows

# A word is settled by its own piece only if that wins by more than rounding.
SETTLED_MARGIN = 1e-3
# Words whose features are kept until they are settled together: enough that those left
# over fill whole blocks, and that a GPU is asked but once in a while.
SETTLED_TOGETHER = {"cpu": 4096, "cuda": 16384}


class WordScores(NamedTuple):
    """best: int64 (n), class or -1. confidence: float32 (n), p(best class), 0 without.
    probs: float32 (n, n_labels), word_prob: float32 (n), p of each class and of the
    vocabulary's best word; None where only the best is wanted."""

    best: torch.Tensor
    confidence: torch.Tensor
    probs: Optional[torch.Tensor]
    word_prob: Optional[torch.Tensor]


class WordScorer:
    """Takes features batch by batch and settles many words at once."""

    def __init__(
        self,
        n_words: int,
        decoder: Rows,
        labels: Rows,
        *,
        label_bias: float = 0.0,
        need_probs: bool = False,
        negligible: float = 0.0,
    ):
        """n_words (int): Of all batches together; a word that is never added is no
        entity. decoder, labels (Rows): Rows of the vocabulary and of the classes.
        label_bias (float): Added to the score of every label.
        need_probs (bool): Whether p(class) is wanted for all words.
        negligible (float): With need_probs: where each class is less probable than this
            share of the vocabulary's best word, p(class) is 0 and that word's p is 1.
        """
        device = decoder.weight.device
        n_labels = len(labels.weight)
        self._decoder, self._labels = decoder, labels
        self._label_bias = label_bias
        # By how much its own piece must win for a word to be settled.
        self._margin = SETTLED_MARGIN
        if need_probs:
            self._margin -= math.log(negligible) if negligible else -math.inf
        self._pending: List[Tuple[torch.Tensor, ...]] = []
        self._n_pending = 0
        self._limit = SETTLED_TOGETHER[device.type]
        self._scores = WordScores(
            torch.full((n_words,), -1, dtype=torch.int64, device=device),
            torch.zeros(n_words, device=device),
            torch.zeros(n_words, n_labels, device=device) if need_probs else None,
            torch.ones(n_words, device=device) if need_probs else None,
        )

    def add(
        self, words: torch.Tensor, features: torch.Tensor, piece_ids: torch.Tensor
    ) -> None:
        """Score some words. words: int64 (n), their indices; features: float32 (n,
        width), of their first pieces; piece_ids: int64 (n), ids of those."""
        self._pending.append((words, features, piece_ids))
        self._n_pending += len(words)
        if self._n_pending >= self._limit:
            self._settle()

    def finish(self) -> WordScores:
        """Scores of all words."""
        self._settle()
        return self._scores

    @torch.no_grad()
    def _settle(self) -> None:
        if not self._pending or not len(self._labels.weight):
            return
        words, features, piece_ids = (torch.cat(part) for part in zip(*self._pending))
        self._pending, self._n_pending = [], 0
        label = self._labels.scores(features) + self._label_bias
        top, top_class = label.max(1)
        open_rows = torch.arange(len(words), device=words.device)
        if self._margin < math.inf:
            own = (features * self._decoder.weight[piece_ids]).sum(1)
            if self._decoder.bias is not None:
                own += self._decoder.bias[piece_ids]
            open_rows = torch.nonzero(top > own - self._margin).squeeze(1)
        for rows in open_rows.split(BLOCK_ROWS):
            self._settle_block(
                words[rows], features[rows], label[rows], top[rows], top_class[rows]
            )

    def _settle_block(self, words, features, label, top, top_class) -> None:
        best, confidence, probs, word_prob = self._scores
        vocab_top, vocab_total = summarise(features, self._decoder)
        total = torch.logaddexp(vocab_total, label.logsumexp(1))
        wins = top > vocab_top
        best[words] = torch.where(wins, top_class, -1)
        confidence[words] = torch.where(wins, (top - total).exp(), 0.0)
        if probs is not None and word_prob is not None:
            probs[words] = (label - total[:, None]).exp()
            word_prob[words] = (vocab_top - total).exp()


def summarise(
    features: torch.Tensor, decoder: Rows
) -> Tuple[torch.Tensor, torch.Tensor]:
    """Scores of the vocabulary without ever holding them all.

    features: float32 (n, width).
    RETURNS: float32 (n), the highest score; float32 (n), log of the sum of exp(score).
    """
    top = features.new_full((len(features),), -torch.inf)
    total = torch.zeros_like(top)
    for _, scores in decoder.parts(features):
        higher = torch.maximum(top, scores.amax(1))
        part = scores.sub_(higher[:, None]).exp_().sum(1)
        total = total * (top - higher).exp() + part
        top = higher
    return top, top + total.log()
