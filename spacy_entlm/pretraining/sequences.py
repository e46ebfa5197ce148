"""Full sequences of a stream of pieces, in another order on each pass."""

from typing import Sequence

import numpy as np

# Keep apart the random numbers of order and masks.
ORDER, MASKS = 1, 2
Ids = Sequence[int]


class PackedSequences:
    """Sequences that are cut from a stream of pieces, without padding.

    On each pass the cuts lie elsewhere and the order is another. What a number gives
    depends on the seed alone, so a run that goes on needs no state of it.

    stream (ndarray): Pieces, (n_pieces,). length (int): Of a sequence.
    prefix, suffix (Ids): Pieces that the model expects around a text.
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

        RETURNS (ndarray): int64 (size, length).
        """
        starts = np.array([self._start(first + i) for i in range(size)])
        # The stream is a ring: a cut may begin near its end.
        index = (starts[:, None] + np.arange(self.body)) % len(self.stream)
        around = [np.tile(ids, (size, 1)) for ids in (self.prefix, self.suffix)]
        parts = [around[0], self.stream[index], around[1]]
        return np.concatenate([part.astype(np.int64) for part in parts], axis=1)

    def _start(self, number: int) -> int:
        current, place = divmod(number, self.n_sequences)
        if current != self._pass:
            rng = np.random.default_rng([self.seed, ORDER, current])
            self._order = rng.permutation(self.n_sequences)
            self._shift = int(rng.integers(len(self.stream)))
            self._pass = current
        return self._shift + int(self._order[place]) * self.body
