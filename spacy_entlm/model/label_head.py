"""Label rows beside the vocabulary: initial values, objective, scores.

V is the vocabulary with decoder rows W (n_vocab, width) and biases b, Y the classes
with label rows L (n_labels, width) and biases c. The softmax goes over both.
"""

from dataclasses import dataclass
from typing import List, Optional, Tuple

import torch

# Rows that are scored against the whole vocabulary at once: bounds the memory.
BLOCK_ROWS = 256
# A word is settled by its own piece only if that wins by more than rounding.
SETTLED_MARGIN = 1e-3
# Target of a piece that carries no loss.
NO_LOSS = -1


@dataclass
class Rows:
    """Rows of an output matrix, with gradients where they are trained.

    weight: (n_rows, width); bias: (n_rows) or None.
    """

    weight: torch.Tensor
    bias: Optional[torch.Tensor]

    def scores(self, features: torch.Tensor) -> torch.Tensor:
        """(n, width) -> (n, n_rows)."""
        return torch.nn.functional.linear(features, self.weight, self.bias)


class LabelHead(torch.nn.Module):
    """One row and one bias a class, each a parameter of its own, so that an optimizer
    that has seen the others takes a new class in."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = torch.nn.ParameterList()
        self.biases = torch.nn.ParameterList()

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, row: torch.Tensor, bias: torch.Tensor) -> None:
        """Add a class. row: (width); bias: (1)."""
        self.rows.append(torch.nn.Parameter(row))
        self.biases.append(torch.nn.Parameter(bias))

    def stacked(self) -> Rows:
        """The rows of all classes."""
        return Rows(torch.stack(list(self.rows)), torch.cat(list(self.biases)))

    def accumulate(self, d_weight: torch.Tensor, d_bias: torch.Tensor) -> None:
        """Add gradients, (n_labels, width) and (n_labels), to those of the classes."""
        for row, bias, d_row, d_b in zip(self.rows, self.biases, d_weight, d_bias):
            add_gradient(row, d_row)
            add_gradient(bias, d_b.reshape(1))


def add_gradient(parameter: torch.Tensor, gradient: torch.Tensor) -> None:
    """Add to a parameter's gradient, which may not be there yet."""
    if parameter.grad is None:
        parameter.grad = gradient.clone()
    else:
        parameter.grad.add_(gradient)


def initial_row(
    decoder: Rows, words: List[List[int]], *, mean_bias: bool
) -> Tuple[torch.Tensor, torch.Tensor]:
    """The label row of a class: the mean of its label words' decoder rows, in new
    memory (paper, Section 3.3; a word of several pieces is the mean of theirs).

    words (List[List[int]]): Piece ids of each word.
    mean_bias (bool): Whether the bias is the mean of the words' biases, else 0.
    RETURNS: row (width), bias (1).
    """
    row = torch.stack([decoder.weight.detach()[ids].mean(0) for ids in words]).mean(0)
    bias = row.new_zeros(1)
    if mean_bias and decoder.bias is not None:
        per_word = [decoder.bias.detach()[ids].mean() for ids in words]
        bias = torch.stack(per_word).mean().reshape(1)
    return row, bias


@torch.no_grad()
def label_objective(
    features: torch.Tensor,
    targets: torch.Tensor,
    decoder: Rows,
    head: LabelHead,
    *,
    scale: torch.Tensor,
) -> Tuple[torch.Tensor, torch.Tensor]:
    """Sum of the cross-entropy over V and Y (paper, Eq. 3), with its gradients.

    Gradients of W, b, L and c are added to the parameters', in blocks of rows, so
    that no more than one block is ever scored against the vocabulary.

    features: float32 (n, width).
    targets: int64 (n), a piece id, n_vocab + class index, or NO_LOSS.
    scale: float32 (1), factor of all gradients (loss scaling of mixed precision).
    RETURNS: loss float32 (), gradient of the features (n, width).
    """
    labels = head.stacked()

    def gradient(block: slice, vocab: torch.Tensor, label: torch.Tensor):
        target = targets[block]
        rows = torch.arange(len(target), device=target.device)
        real = target != NO_LOSS
        is_label = target >= vocab.shape[1]
        loss = -_pick(vocab, label, rows, target, real)
        total = _softmax_(vocab, label)
        loss = (loss + total)[real].sum()
        in_vocab, in_label = real & ~is_label, real & is_label
        vocab[rows[in_vocab], target[in_vocab]] -= 1
        label[rows[in_label], target[in_label] - vocab.shape[1]] -= 1
        return loss, real

    return _backprop_blocks(features, decoder, head, labels, gradient, scale)


@torch.no_grad()
def rehearsal_objective(
    features: torch.Tensor,
    teacher_features: torch.Tensor,
    decoder: Rows,
    head: LabelHead,
    teacher_decoder: Rows,
    teacher_labels: Rows,
    *,
    scale: torch.Tensor,
) -> Tuple[torch.Tensor, torch.Tensor]:
    """Sum of the cross-entropy against an earlier model's softmax, with gradients.

    Classes that the earlier model did not know yet are left out of both softmaxes.

    features, teacher_features: float32 (n, width).
    RETURNS: loss float32 (), gradient of the features (n, width).
    """
    labels = head.stacked()
    n_known = len(teacher_labels.weight)

    def gradient(block: slice, vocab: torch.Tensor, label: torch.Tensor):
        teacher = teacher_features[block]
        target_vocab = teacher_decoder.scores(teacher)
        target_label = teacher_labels.scores(teacher)
        _softmax_(target_vocab, target_label)
        label[:, n_known:] = -torch.inf
        expected = (target_vocab * vocab).sum(1)
        expected += (target_label * label[:, :n_known]).sum(1)
        total = _softmax_(vocab, label)
        vocab -= target_vocab
        label[:, :n_known] -= target_label
        real = torch.ones(len(vocab), dtype=torch.bool, device=vocab.device)
        return (total - expected).sum(), real

    return _backprop_blocks(features, decoder, head, labels, gradient, scale)


def _backprop_blocks(features, decoder, head, labels, gradient, scale):
    loss = features.new_zeros(())
    d_features = torch.zeros_like(features)
    d_weight, d_bias = _gradient_of(decoder.weight), _gradient_of(decoder.bias)
    d_label_weight = torch.zeros_like(labels.weight)
    d_label_bias = torch.zeros_like(labels.bias)
    for start in range(0, len(features), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        x = features[block]
        vocab, label = decoder.scores(x), labels.scores(x)
        block_loss, real = gradient(block, vocab, label)
        loss += block_loss
        factor = real[:, None] * scale
        vocab *= factor
        label *= factor
        d_features[block] = vocab @ decoder.weight + label @ labels.weight
        d_weight.addmm_(vocab.T, x)
        d_label_weight.addmm_(label.T, x)
        d_label_bias += label.sum(0)
        if d_bias is not None:
            d_bias += vocab.sum(0)
    head.accumulate(d_label_weight, d_label_bias)
    return loss, d_features


def _gradient_of(parameter):
    if parameter is None:
        return None
    if parameter.grad is None:
        parameter.grad = torch.zeros_like(parameter)
    return parameter.grad


def _pick(vocab, label, rows, target, real):
    """Scores of the targets; anything where there is none."""
    n_vocab = vocab.shape[1]
    target = torch.where(real, target, 0)
    from_vocab = vocab[rows, target.clamp(max=n_vocab - 1)]
    if label.shape[1] == 0:
        return from_vocab
    from_label = label[rows, (target - n_vocab).clamp(min=0)]
    return torch.where(target >= n_vocab, from_label, from_vocab)


def _softmax_(vocab: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
    """Softmax over both, in place. RETURNS: log of the normaliser, (n)."""
    top = vocab.amax(1, keepdim=True)
    if label.shape[1]:
        top = torch.maximum(top, label.amax(1, keepdim=True))
    vocab.sub_(top).exp_()
    label.sub_(top).exp_()
    total = vocab.sum(1, keepdim=True) + label.sum(1, keepdim=True)
    vocab.div_(total)
    label.div_(total)
    return (total.log() + top).squeeze(1)


@torch.no_grad()
def label_scores(
    features: torch.Tensor,
    piece_ids: torch.Tensor,
    decoder: Rows,
    labels: Rows,
    *,
    label_bias: float = 0.0,
    need_probs: bool = False,
) -> Tuple[torch.Tensor, torch.Tensor, Optional[torch.Tensor]]:
    """Argmax over V and Y (paper, Eq. 4), one row a word.

    A word is no entity as soon as any vocabulary word outscores every label. Its own
    piece mostly does, so only the words left over are scored against the vocabulary
    (all of them where the decoder needs every probability).

    features: float32 (n, width), of the words' first pieces.
    piece_ids: int64 (n), the ids of those pieces.
    label_bias (float): Added to the score of every label.
    need_probs (bool): Whether p(class) is wanted for all words.
    RETURNS: best int64 (n), class or -1; confidence float32 (n), p(best), 0 without;
        probs float32 (n, n_labels) or None.
    """
    n_words, n_labels = len(features), len(labels.weight)
    best = torch.full((n_words,), -1, dtype=torch.int64, device=features.device)
    confidence = features.new_zeros(n_words)
    probs = features.new_zeros(n_words, n_labels) if need_probs else None
    if n_labels == 0 or n_words == 0:
        return best, confidence, probs
    label = labels.scores(features) + label_bias
    top, top_class = label.max(1)
    if need_probs:
        open_rows = torch.arange(n_words, device=features.device)
    else:
        own = (features * decoder.weight[piece_ids]).sum(1)
        if decoder.bias is not None:
            own += decoder.bias[piece_ids]
        open_rows = torch.nonzero(top > own - SETTLED_MARGIN).squeeze(1)
    for rows in open_rows.split(BLOCK_ROWS):
        vocab = decoder.scores(features[rows])
        wins = top[rows] > vocab.amax(1)
        if probs is None:  # the normaliser is wanted for entities only
            rows, vocab = rows[wins], vocab[wins]
        total = torch.logaddexp(vocab.logsumexp(1), label[rows].logsumexp(1))
        if probs is not None:
            probs[rows] = (label[rows] - total[:, None]).exp()
            rows, total = rows[wins], total[wins]
        best[rows] = top_class[rows]
        confidence[rows] = (top[rows] - total).exp()
    return best, confidence, probs
