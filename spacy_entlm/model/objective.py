"""The objective over the vocabulary and the label rows, with its gradients.

Rows are scored against the vocabulary in blocks, and the gradients go straight into
the features and the rows: no copy of the logits but one block's is ever made.
"""

from typing import Tuple

import torch

from .label_head import BLOCK_ROWS, LabelHead, Rows

# Target of a piece that carries no loss.
NO_LOSS = -1


@torch.no_grad()
def label_objective(
    features: torch.Tensor,
    targets: torch.Tensor,
    decoder: Rows,
    head: LabelHead,
    *,
    scale: torch.Tensor,
    dtype: torch.dtype = torch.float32,
) -> Tuple[torch.Tensor, torch.Tensor]:
    """Sum of the cross-entropy over V and Y (paper, Eq. 3), with its gradients.

    Gradients of W, b, L and c are added to the parameters', in blocks of rows, so
    that no more than one block is ever scored against the vocabulary.

    features: float32 (n, width).
    targets: int64 (n), a piece id, n_vocab + class index, or NO_LOSS.
    scale: float32 (1), factor of all gradients (loss scaling of mixed precision).
    dtype (torch.dtype): Of the products with the vocabulary; the rest is float32.
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

    product = _Products(decoder, dtype)
    return _backprop_blocks(features, product, head, labels, gradient, scale)


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
    dtype: torch.dtype = torch.float32,
) -> Tuple[torch.Tensor, torch.Tensor]:
    """Sum of the cross-entropy against an earlier model's softmax, with gradients.

    Classes that the earlier model did not know yet are left out of both softmaxes.

    features, teacher_features: float32 (n, width).
    scale, dtype: as `label_objective` takes them.
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

    product = _Products(decoder, dtype)
    return _backprop_blocks(features, product, head, labels, gradient, scale)


class _Products:
    """The products with the output matrix, its gradients added as they come."""

    def __init__(self, decoder: Rows, dtype: torch.dtype):
        self._decoder = decoder
        self._half = dtype != torch.float32
        weight = decoder.weight.detach()
        self._weight = weight.to(dtype) if self._half else weight
        self._d_weight = _gradient_of(decoder.weight)
        self._d_bias = _gradient_of(decoder.bias)

    def scores(self, x: torch.Tensor) -> torch.Tensor:
        """float32 (n, n_vocab), in new memory."""
        if not self._half:
            return self._decoder.scores(x)
        scores = (x.to(self._weight.dtype) @ self._weight.T).float()
        return scores if self._decoder.bias is None else scores.add_(self._decoder.bias)

    def backprop(self, d_scores: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """Add to the gradients of the matrix; return that of x."""
        if self._d_bias is not None:
            self._d_bias += d_scores.sum(0)
        self._d_weight.addmm_(d_scores.T, x)  # a sum over steps: float32
        return (d_scores.to(self._weight.dtype) @ self._weight).float()


def _backprop_blocks(features, products, head, labels, gradient, scale):
    loss = features.new_zeros(())
    d_features = torch.zeros_like(features)
    d_label_weight = torch.zeros_like(labels.weight)
    d_label_bias = torch.zeros_like(labels.bias)
    for start in range(0, len(features), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        x = features[block]
        vocab, label = products.scores(x), labels.scores(x)
        block_loss, real = gradient(block, vocab, label)
        loss += block_loss
        factor = real[:, None] * scale
        vocab *= factor
        label *= factor
        d_features[block] = products.backprop(vocab, x) + label @ labels.weight
        d_label_weight.addmm_(label.T, x)
        d_label_bias += label.sum(0)
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
