"""Losses over the vocabulary and the label rows, with their gradients.

V is the vocabulary with decoder rows W (n_vocab, width) and biases b, Y the classes
with label rows L (n_labels, width) and biases c. The softmax goes over both. Pieces are
scored against the vocabulary in blocks, so that no more than one block's scores are
ever held. Nothing here touches a parameter: gradients are new tensors.
"""

import math
from typing import Callable, Tuple

import numpy
import torch

from ..label_words.rows import Rows
from .types import PieceGradient

# Pieces that are scored against the whole vocabulary at once: bounds the memory.
BLOCK_ROWS = 256
# Words of the vocabulary that stand for all that are not in a batch: with four times as
# many F1 is the same (benchmarks/RESULTS.md).
N_SAMPLED = 1024

# Scores of a block against V and Y, (n, n_vocab) and (n, n_labels), which it turns into
# their gradients; gives the block's loss.
BlockLoss = Callable[[slice, torch.Tensor, torch.Tensor], torch.Tensor]


@torch.no_grad()
def label_cross_entropy(
    features: torch.Tensor,
    targets: torch.Tensor,
    vocabulary: Rows,
    labels: Rows,
    *,
    dtype: torch.dtype = torch.float32,
    fixed_vocabulary: bool = False,
) -> Tuple[torch.Tensor, PieceGradient]:
    """Sum of the cross-entropy over V and Y (paper, Eq. 3), with its gradients.

    features: float32 (n, width).
    targets: int64 (n), a piece id, or n_vocab + class index.
    vocabulary, labels (Rows): W and b, L and c.
    dtype (torch.dtype): Of the products with the vocabulary; the rest is float32.
    fixed_vocabulary (bool): Whether W and b get no gradient.
    RETURNS: loss float32 (), and its gradient.
    """
    n_vocab = len(vocabulary)

    def block_loss(block: slice, vocab: torch.Tensor, label: torch.Tensor):
        target = targets[block][:, None]
        # Without a question to the device: each row points into both, and one counts.
        in_label = (target >= n_vocab).float()
        places = [(vocab, target.clamp(max=n_vocab - 1), 1 - in_label)]
        if label.shape[1]:
            places.append((label, (target - n_vocab).clamp(min=0), in_label))
        of_target = sum(scores.gather(1, at) * here for scores, at, here in places)
        total = _softmax_(vocab, label)
        for scores, at, here in places:
            scores.scatter_add_(1, at, -here)
        return (total - of_target.squeeze(1)).sum()  # type: ignore[union-attr]

    rows = (vocabulary, labels)
    return _in_blocks(features, *rows, block_loss, dtype, fixed_vocabulary)


@torch.no_grad()
def distillation_loss(
    features: torch.Tensor,
    teacher_features: torch.Tensor,
    vocabulary: Rows,
    labels: Rows,
    teacher_vocabulary: Rows,
    teacher_labels: Rows,
    *,
    dtype: torch.dtype = torch.float32,
    fixed_vocabulary: bool = False,
) -> Tuple[torch.Tensor, PieceGradient]:
    """Sum of the cross-entropy against an earlier model's softmax, with gradients.

    Classes that the earlier model did not know yet are left out of both softmaxes.

    features, teacher_features: float32 (n, width).
    teacher_vocabulary, teacher_labels (Rows): Of the earlier model. The others, and
    what is returned: as of `label_cross_entropy`.
    """
    n_known = len(teacher_labels)

    def block_loss(block: slice, vocab: torch.Tensor, label: torch.Tensor):
        teacher = teacher_features[block]
        target_vocab = teacher_vocabulary.scores(teacher)
        target_label = teacher_labels.scores(teacher)
        _softmax_(target_vocab, target_label)
        label[:, n_known:] = -torch.inf
        expected = (target_vocab * vocab).sum(1)
        expected += (target_label * label[:, :n_known]).sum(1)
        total = _softmax_(vocab, label)
        vocab -= target_vocab
        label[:, :n_known] -= target_label
        return (total - expected).sum()

    rows = (vocabulary, labels)
    return _in_blocks(features, *rows, block_loss, dtype, fixed_vocabulary)


def sample_vocabulary(
    vocabulary: Rows, own: numpy.ndarray, n_sampled: int = N_SAMPLED
) -> Tuple[Rows, numpy.ndarray]:
    """The rows of a batch's own pieces, and a sample that stands for all the others:
    its biases grow by the log of how many each stands for (sampled softmax: Jean et
    al., 2015). Draws from `numpy.random`.

    own: int64 (n), piece ids.
    n_sampled (int): How many others; all of them if there are no more.
    RETURNS: the rows, in new memory, without gradients; own as indices of them.
    """
    chosen, own = numpy.unique(own, return_inverse=True)
    others = numpy.setdiff1d(numpy.arange(len(vocabulary)), chosen, assume_unique=True)
    sampled = others
    if len(others) > n_sampled:
        sampled = numpy.random.choice(others, n_sampled, replace=False)
    weight = vocabulary.weight.detach()
    index = torch.from_numpy(numpy.concatenate([chosen, sampled]))
    index = index.to(weight.device, non_blocking=True)
    rows = weight[index]
    if vocabulary.bias is None:
        bias = rows.new_zeros(len(rows))
    else:
        bias = vocabulary.bias.detach()[index]
    bias[len(chosen) :] += math.log(max(len(others), 1) / max(len(sampled), 1))
    return Rows(rows, bias), own


def _in_blocks(
    features: torch.Tensor,
    vocabulary: Rows,
    labels: Rows,
    block_loss: BlockLoss,
    dtype: torch.dtype,
    fixed_vocabulary: bool,
) -> Tuple[torch.Tensor, PieceGradient]:
    weight = vocabulary.weight.detach().to(dtype)
    bias = None if vocabulary.bias is None else vocabulary.bias.detach()
    d_features = torch.empty_like(features)
    d_labels = _zeros(labels)
    d_vocabulary = None if fixed_vocabulary else _zeros(vocabulary)
    loss = features.new_zeros(())
    for start in range(0, len(features), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        x = features[block]
        vocab = (x.to(dtype) @ weight.T).float()
        if bias is not None:
            vocab += bias
        label = labels.scores(x)
        loss += block_loss(block, vocab, label)
        d_features[block] = (vocab.to(dtype) @ weight).float() + label @ labels.weight
        for d_rows, d_scores in ((d_vocabulary, vocab), (d_labels, label)):
            if d_rows is not None:
                _add(d_rows, d_scores, x)
    return loss, PieceGradient(d_features, d_vocabulary, d_labels, len(features))


def _zeros(rows: Rows) -> Rows:
    bias = None if rows.bias is None else torch.zeros_like(rows.bias)
    return Rows(torch.zeros_like(rows.weight), bias)


def _add(d_rows: Rows, d_scores: torch.Tensor, x: torch.Tensor) -> None:
    d_rows.weight.addmm_(d_scores.T, x)
    if d_rows.bias is not None:
        d_rows.bias += d_scores.sum(0)


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
