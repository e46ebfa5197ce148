"""Which pieces of a batch are hidden, and what stands in their place (BERT's rule)."""

from typing import Any, NamedTuple

import numpy as np
import torch

from ..backbones.masked_lm import MaskedLM

# Of the hidden pieces, 80 % become the mask, 10 % another piece, 10 % stay.
AS_MASK, AS_OTHER = 0.8, 0.1


class MaskedBatch(NamedTuple):
    """ids (ndarray): int64 (n, length), what the model reads. positions, targets
    (ndarray): int64 (n_masked,), places in the flattened batch, ascending, and the
    pieces that were there."""

    ids: np.ndarray
    positions: np.ndarray
    targets: np.ndarray


class Masker:
    """Hides a share of the pieces at random, but no special ones of a tokenizer."""

    def __init__(self, tokenizer: Any, share: float):
        self.share = share
        self.mask_id = tokenizer.mask_token_id
        self.ordinary = np.ones(len(tokenizer), dtype=bool)
        self.ordinary[tokenizer.all_special_ids] = False
        self.others = np.flatnonzero(self.ordinary)

    def mask(self, ids: np.ndarray, rng: np.random.Generator) -> MaskedBatch:
        """Hide pieces of a batch, int64 (n, length), which stays as it is."""
        flat = ids.reshape(-1)
        free = np.flatnonzero(self.ordinary[flat])
        wanted = min(len(free), max(1, round(self.share * len(free))))
        positions = rng.choice(free, wanted, replace=False)
        masked = flat.copy()
        n_mask = round(AS_MASK * wanted)
        masked[positions[:n_mask]] = self.mask_id
        replaced = positions[n_mask : n_mask + round(AS_OTHER * wanted)]
        masked[replaced] = rng.choice(self.others, len(replaced))
        positions = np.sort(positions)
        return MaskedBatch(masked.reshape(ids.shape), positions, flat[positions])


def score_masked(
    masked_lm: MaskedLM, ids: torch.Tensor, positions: torch.Tensor
) -> torch.Tensor:
    """Score the vocabulary where a batch is masked: six in seven positions are not,
    and neither the head nor the vocabulary, half of a small model, sees them.

    ids, positions (Tensor): As in `MaskedBatch`, full sequences without padding.
    RETURNS (Tensor): (n_masked, n_pieces).
    """
    features = masked_lm(ids, torch.ones_like(ids), positions=positions)
    return masked_lm.decoder(features)
