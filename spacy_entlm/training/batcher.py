"""`spacy-entlm.Batcher.v1`: batches, enough of them where examples are few, and not
too many where there are more."""

import math
from itertools import islice
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
    max_updates (int): Where they would make more, each takes only some of the examples,
        which spaCy shuffles, but all together as many as five whole ones; 0: no limit.
    """

    def batches(examples: Iterable[Any]) -> Iterator[List[Any]]:
        if epochs < 1 or max(min_updates, max_updates) < 1:  # a stream without end?
            return minibatch(examples, size)
        examples = list(examples)
        examples *= n_repeats(len(examples), epochs, size, min_updates)
        n_batches = math.ceil(len(examples) / size)
        most = most_batches(n_batches, epochs, max_updates)
        return islice(minibatch(examples, size), most)

    return batches
