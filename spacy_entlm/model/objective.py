"""Losses of the scores of pieces, with their gradients."""

from dataclasses import replace
from typing import Optional, Tuple

import numpy
import torch

from .types import NO_TARGET, PieceScores


@torch.no_grad()
def label_cross_entropy(
    found: PieceScores,
    word_targets: numpy.ndarray,
    margin: float = 0.0,
    *,
    only: Optional[numpy.ndarray] = None,
) -> Tuple[float, PieceScores]:
    """The cross-entropy over rivals and labels (paper, Eq. 3): a piece of an entity is
    to say its label, any other one what it is itself.

    found (PieceScores): From `model.begin_update(docs)`.
    word_targets: int64 (n_words), class index, NO_ENTITY, or NO_TARGET where the
        annotation is missing.
    margin (float): By which a label has to win; taken off the scores of all labels.
    only: int64 (n_some), pieces that may carry a loss; None: all.
    RETURNS: mean loss per piece that carries one, and the gradient of its sum.
    """
    pieces = found.pieces
    targets = word_targets[pieces.first_words]
    # A piece that reaches into a word with another target says nothing certain.
    changes = numpy.cumsum(numpy.diff(word_targets, prepend=word_targets[:1]) != 0)
    is_one = changes[pieces.first_words] == changes[pieces.last_words]
    clear = is_one & (targets != NO_TARGET)
    if only is not None:
        clear[numpy.delete(numpy.arange(len(clear)), only)] = False
    device = found.scores.device
    rows = torch.from_numpy(numpy.flatnonzero(clear)).to(device)
    wanted = torch.from_numpy(targets).to(device)
    columns = torch.where(wanted >= 0, found.n_rivals + wanted, found.own)[rows, None]
    scores = found.scores[rows]
    if margin:
        scores[:, found.n_rivals :] -= margin
    log_probs = scores.log_softmax(1)
    loss = -log_probs.gather(1, columns).sum()
    gradient = torch.zeros_like(found.scores)
    gradient[rows] = log_probs.exp_().scatter_add_(
        1, columns, -torch.ones_like(log_probs[:, :1])
    )
    return _mean(loss, len(rows)), replace(found, scores=gradient, n_lossy=len(rows))


@torch.no_grad()
def distillation_loss(
    found: PieceScores, earlier: PieceScores
) -> Tuple[float, PieceScores]:
    """The cross-entropy against an earlier model's softmax over the same pieces and
    rivals. Classes that it did not know yet are left out of both.

    RETURNS: mean loss per piece, and the gradient of its sum.
    """
    n_known = earlier.scores.shape[1]
    target = earlier.scores.softmax(1)
    log_probs = found.scores[:, :n_known].log_softmax(1)
    loss = -(target * log_probs).sum()
    gradient = torch.zeros_like(found.scores)
    gradient[:, :n_known] = log_probs.exp() - target
    n = len(gradient)
    return _mean(loss, n), replace(found, scores=gradient, n_lossy=n)


def _mean(loss: torch.Tensor, n: int) -> float:
    return float(loss) / max(n, 1)
