"""Which pieces of a batch are hidden, and what stands in their place (BERT's rule)."""

from typing import Any, NamedTuple

import numpy as np
import torch

from ..backbones.masked_lm import MaskedLM

# Of the hidden pieces, 80 % become the mask, 10 % another piece, 10 % stay.
AS_MASK, AS_OTHER = 0.8, 0.1


class MaskedBatch(NamedTuple):
    """A batch with hidden pieces.

    ids (ndarray): int64 (n, length), what the model reads.
    positions (ndarray): int64 (n_masked,), places in the flattened batch, ascending.
    targets (ndarray): int64 (n_masked,), the pieces that were there.
    """

    ids: np.ndarray
    positions: np.ndarray
    targets: np.ndarray


class Masker:
    """Hides pieces at random.

    tokenizer (PreTrainedTokenizerFast): Tells special pieces.
    share (float): Share of the pieces that is hidden.
    """

    def __init__(self, tokenizer: Any, share: float):
        self.share = share
        self.mask_id = tokenizer.mask_token_id
        self.ordinary = np.ones(len(tokenizer), dtype=bool)
        self.ordinary[tokenizer.all_special_ids] = False
        self.others = np.flatnonzero(self.ordinary)

    def mask(self, ids: np.ndarray, rng: np.random.Generator) -> MaskedBatch:
        """Hide pieces of a batch.

        ids (ndarray): int64 (n, length); it stays as it is.
        rng (Generator): The source of chance.
        """
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

    ids (Tensor): int64 (n, length), full sequences without padding.
    positions (Tensor): int64 (n_masked,), places in the flattened batch.
    RETURNS (Tensor): (n_masked, n_pieces).
    """
    features = masked_lm(ids, torch.ones_like(ids), positions=positions)
    return masked_lm.decoder(features)
