"""Scores of the vocabulary at masked positions only."""

import torch

from ..backbones.masked_lm import MaskedLM


def score_masked(
    masked_lm: MaskedLM, ids: torch.Tensor, positions: torch.Tensor
) -> torch.Tensor:
    """Score the vocabulary where a batch is masked: six in seven positions are not,
    and neither the head nor the vocabulary, half of a small model, sees them.

    ids (Tensor): int64 (n, length), full sequences without padding.
    positions (Tensor): int64 (n_masked,), places in the flattened batch.
    RETURNS (Tensor): (n_masked, n_pieces).
    """
    features = masked_lm(ids, torch.ones_like(ids), positions=positions)
    return masked_lm.decoder(features)
