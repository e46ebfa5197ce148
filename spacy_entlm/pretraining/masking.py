"""Which pieces of a batch are hidden, and what stands in their place (BERT's rule)."""

import json
from typing import Any, NamedTuple

import numpy as np

# Of the hidden pieces, 80 % become the mask, 10 % another piece, 10 % stay.
AS_MASK, AS_OTHER = 0.8, 0.1
# How pieces that begin a word do so in byte-level BPE and in SentencePiece.
WORD_MARKS = ("Ġ", "▁")


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

    tokenizer (PreTrainedTokenizerFast): Tells special pieces and beginnings of words.
    share (float): Share of the pieces that is hidden.
    whole_word (bool): Whether all pieces of a word are hidden together.
    """

    def __init__(self, tokenizer: Any, share: float, *, whole_word: bool):
        self.share, self.whole_word = share, whole_word
        self.mask_id = tokenizer.mask_token_id
        pieces = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
        self.ordinary = np.ones(len(pieces), dtype=bool)
        self.ordinary[tokenizer.all_special_ids] = False
        self.others = np.flatnonzero(self.ordinary)
        model = json.loads(tokenizer.backend_tokenizer.to_str())["model"]
        prefix = model.get("continuing_subword_prefix")
        self.begins = np.array([_begins_word(piece, prefix) for piece in pieces])

    def mask(self, ids: np.ndarray, rng: np.random.Generator) -> MaskedBatch:
        """Hide pieces of a batch.

        ids (ndarray): int64 (n, length); it stays as it is.
        rng (Generator): The source of chance.
        """
        flat = ids.reshape(-1)
        free = np.flatnonzero(self.ordinary[flat])
        wanted = min(len(free), max(1, round(self.share * len(free))))
        if self.whole_word:
            positions = self._words(ids, free, wanted, rng)
        else:
            positions = rng.choice(free, wanted, replace=False)
        masked = flat.copy()
        n_mask = round(AS_MASK * len(positions))
        n_other = round(AS_OTHER * len(positions))
        masked[positions[:n_mask]] = self.mask_id
        replaced = positions[n_mask : n_mask + n_other]
        masked[replaced] = rng.choice(self.others, len(replaced))
        positions = np.sort(positions)
        return MaskedBatch(masked.reshape(ids.shape), positions, flat[positions])

    def _words(
        self, ids: np.ndarray, free: np.ndarray, wanted: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Places of the pieces of random words, in random order."""
        ordinary = self.ordinary[ids]
        begins = self.begins[ids] | ~ordinary
        begins[:, 0] = True  # of a row, whatever stood before it in the text
        words = begins.reshape(-1).cumsum()[free]
        _, words, sizes = np.unique(words, return_inverse=True, return_counts=True)
        order = rng.permutation(len(sizes))
        n_words = max(1, int((sizes[order].cumsum() <= wanted).sum()))
        chosen = np.zeros(len(sizes), dtype=bool)
        chosen[order[:n_words]] = True
        return rng.permutation(free[chosen[words]])


def _begins_word(piece: str, prefix: Any) -> bool:
    if prefix is not None and prefix != "":
        return not piece.startswith(prefix)
    # Without a mark a piece begins a word if it begins with no letter or digit.
    return piece.startswith(WORD_MARKS) or not piece[:1].isalnum()
