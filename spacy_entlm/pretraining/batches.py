"""What a step of the training reads: full sequences of a stream of pieces, and which of
them are hidden (BERT's rule)."""

from typing import Any, NamedTuple, Sequence

import numpy as np
import torch

from ..backbones.masked_lm import MaskedLM

# Keep apart the random numbers of order and masks.
ORDER, MASKS = 1, 2
# Of the hidden pieces, 80 % become the mask, 10 % another piece, 10 % stay.
AS_MASK, AS_OTHER = 0.8, 0.1
Ids = Sequence[int]


class PackedSequences:
    """Sequences that are cut from a stream of pieces, without padding.

    On each pass the cuts lie elsewhere and the order is another. What a number gives
    depends on the seed alone, so a run that goes on needs no state of it.

    stream (ndarray): Pieces, (n_pieces,). length (int): Pieces of a sequence, with the
        prefix and suffix that the model expects around a text.
    """

    def __init__(
        self, stream: np.ndarray, length: int, prefix: Ids, suffix: Ids, seed: int
    ):
        self.stream, self.seed = stream, seed
        self.prefix, self.suffix = list(prefix), list(suffix)
        around = len(self.prefix) + len(self.suffix)
        # A text that is shorter than one sequence is one shorter sequence.
        self.body = min(length - around, len(stream))
        self.length = self.body + around
        # Of one pass.
        self.n_sequences = max(1, len(stream) // self.body)
        self._pass, self._shift, self._order = -1, 0, np.zeros(0, dtype=np.int64)

    def batch(self, first: int, size: int) -> np.ndarray:
        """Some sequences of an endless row of passes, from the number of the first.
        RETURNS (ndarray): int64 (size, length)."""
        starts = np.array([self._start(first + i) for i in range(size)])
        # The stream is a ring: a cut may begin near its end.
        index = (starts[:, None] + np.arange(self.body)) % len(self.stream)
        around = [np.tile(ids, (size, 1)) for ids in (self.prefix, self.suffix)]
        parts = [around[0], self.stream[index], around[1]]
        return np.concatenate(parts, axis=1, dtype=np.int64)

    def _start(self, number: int) -> int:
        current, place = divmod(number, self.n_sequences)
        if current != self._pass:
            rng = np.random.default_rng([self.seed, ORDER, current])
            self._order = rng.permutation(self.n_sequences)
            self._shift = int(rng.integers(len(self.stream)))
            self._pass = current
        return self._shift + int(self._order[place]) * self.body


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
