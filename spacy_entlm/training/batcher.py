"""`spacy-entlm.Batcher.v1`: batches, enough of them where examples are few, and not
too many where there are more."""

import math
from typing import Any, Callable, Iterable, Iterator, List

from spacy.util import minibatch

from .schedule import MIN_UPDATES, most_batches, n_repeats

Batcher = Callable[[Iterable[Any]], Iterator[List[Any]]]


def build_batcher(
    size: int, epochs: int, min_updates: int = MIN_UPDATES, max_updates: int = 0
) -> Batcher:
    """Batches of a number of examples (`spacy-entlm.Batcher.v1`).

    size (int): Examples of a batch.
    epochs (int): Passes over the data, as `training.max_epochs`.
    min_updates (int): Where the passes would make fewer batches together, examples
        come several times in each of them.
    max_updates (int): Where they would make more, each takes only a part of the
        examples and the next one goes on with the others, but all passes together are
        five whole ones at least; 0: no limit.
    """
    left: List[Any] = []  # of a pass that is taken in parts

    def batches(examples: Iterable[Any]) -> Iterator[List[Any]]:
        if epochs < 1 or max(min_updates, max_updates) < 1:  # a stream without end?
            return minibatch(examples, size)
        examples = list(examples)
        examples *= n_repeats(len(examples), epochs, size, min_updates)
        n_batches = math.ceil(len(examples) / size)
        most = most_batches(n_batches, epochs, max_updates)
        if n_batches <= most:
            return minibatch(examples, size)
        if len(left) < most * size:
            left.extend(examples)
        part = left[: most * size]
        del left[: most * size]
        return minibatch(part, size)

    return batches
