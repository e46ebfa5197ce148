"""How well a masked LM predicts text that it was not trained on."""

import math
from typing import Any, Callable, Dict, Iterator, NamedTuple, Tuple

import numpy as np
import torch

from ..backbones.masked_lm import MaskedLM
from .masking import MaskedBatch, Masker
from .pieces import PieceStore
from .scores import score_masked
from .sequences import in_order, wrap
from .settings import MASK_SHARE

# The masks of the held-out part, the same whatever a run's seed is.
SEED = 20220710
# Pieces of a batch.
BATCH_PIECES = 4096


class Prediction(NamedTuple):
    """float64 (n,): -log p of the piece that was there; bool (n,): whether it was the
    first choice; int64 (n,): its place in the stream."""

    losses: np.ndarray
    hits: np.ndarray
    places: np.ndarray


def evaluate(
    masked_lm: MaskedLM,
    store: PieceStore,
    length: int,
    *,
    count: Callable[[int], object] = lambda n: None,
) -> Dict[str, Any]:
    """Measure a masked LM on the held-out part of a text, in float32.

    masked_lm (MaskedLM): The model. store (PieceStore): The text.
    length (int): Pieces of a sequence. count (Callable): Told of pieces read.
    RETURNS (Dict[str, Any]): `loss`, mean over 15 % of the pieces, hidden as in
        training, in nats; `accuracy`, how many of them are the model's first choice;
        `perplexity`, of a piece. With whole words hidden, the same ones whatever the
        vocabulary is: `perplexity_per_character`, of their letters, and
        `word_accuracy`, of words that are right as a whole. And the sizes.
    """
    pieces, owners = store.array("held_out"), store.array("owners")
    sizes = {"lines": store.held_out_lines, "pieces": store.held_out}
    sizes["characters"] = store.held_out_characters
    if not len(pieces):
        return {**sizes, "loss": None}
    was_training = masked_lm.training
    masked_lm.eval()
    try:
        reader = _Reader(masked_lm, pieces, length, count)
        masker = Masker(masked_lm.tokenizer, MASK_SHARE, whole_word=False)
        by_piece = reader.predict(lambda ids, _: reader.hide(masker, ids))
        mask_id = masked_lm.tokenizer.mask_token_id
        by_word = reader.predict(lambda ids, at: _hide_words(ids, at, owners, mask_id))
    finally:
        masked_lm.train(was_training)
    return {
        **sizes,
        "masked_pieces": len(by_piece.losses),
        "loss": float(by_piece.losses.mean()),
        "accuracy": float(by_piece.hits.mean()),
        "perplexity": math.exp(by_piece.losses.mean()),
        **_by_character(by_word, owners, store.array("letters")),
    }


class _Reader:
    """Reads the held-out part in full sequences."""

    def __init__(
        self,
        masked_lm: MaskedLM,
        pieces: np.ndarray,
        length: int,
        count: Callable[[int], object],
    ):
        self.masked_lm, self.pieces, self.count = masked_lm, pieces, count
        self.device = masked_lm.decoder.weight.device
        self.prefix, self.suffix = masked_lm.special_pieces()
        self.body = length - len(self.prefix) - len(self.suffix)

    def predict(self, hide: Callable) -> Prediction:
        """hide: (ids, places) -> MaskedBatch; places are those in the stream, -1
        around it."""
        found = [self._score(hide(ids, at), at) for ids, at in self._batches()]
        return Prediction(*(np.concatenate(part) for part in zip(*found)))

    def hide(self, masker: Masker, ids: np.ndarray) -> MaskedBatch:
        """Pieces at random; what is hidden depends on the text before it alone."""
        return masker.mask(ids, np.random.default_rng([SEED, int(ids.sum())]))

    def _batches(self) -> Iterator[Tuple[np.ndarray, np.ndarray]]:
        n_sequences = max(1, BATCH_PIECES // self.body)
        for start, n, length in in_order(len(self.pieces), self.body, n_sequences):
            places = np.arange(start, start + n * length).reshape(n, length)
            around = [[-1] * len(part) for part in (self.prefix, self.suffix)]
            ids = wrap(self.pieces[places], self.prefix, self.suffix)
            yield ids, wrap(places, *around)
            self.count(n * length)

    @torch.inference_mode()
    def _score(self, batch: MaskedBatch, places: np.ndarray) -> Prediction:
        ids, positions, targets = (
            torch.from_numpy(part).to(self.device) for part in batch
        )
        logits = score_masked(self.masked_lm, ids, positions)
        log_probs = logits.float().log_softmax(-1)
        losses = -log_probs.gather(1, targets[:, None])[:, 0].double()
        hits = log_probs.argmax(-1) == targets
        at = places.reshape(-1)[batch.positions]
        return Prediction(losses.cpu().numpy(), hits.cpu().numpy(), at)


def _hide_words(
    ids: np.ndarray, places: np.ndarray, owners: np.ndarray, mask_id: int
) -> MaskedBatch:
    # The place before the first piece is one of the pieces around the text.
    hidden = (places >= 0) & (owners[places] >= 0)
    positions = np.flatnonzero(hidden)
    return MaskedBatch(
        np.where(hidden, mask_id, ids), positions, ids.reshape(-1)[positions]
    )


def _by_character(
    found: Prediction, owners: np.ndarray, letters: np.ndarray
) -> Dict[str, Any]:
    """Sums over the words that were hidden."""
    words = owners[found.places]
    read = np.unique(words)
    characters = int(letters[read].sum())
    if not characters:
        return {"masked_words": 0}
    misses = np.zeros(len(letters), dtype=np.int64)
    np.add.at(misses, words, ~found.hits)
    return {
        "masked_words": len(read),
        "masked_characters": characters,
        "perplexity_per_character": math.exp(found.losses.sum() / characters),
        "word_accuracy": float((misses[read] == 0).mean()),
    }
