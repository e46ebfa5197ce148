"""`spacy-entlm.Batcher.v1`: batches, and enough of them where examples are few."""

from typing import Any, Callable, Iterable, Iterator, List

from spacy.util import minibatch

from .schedule import MIN_UPDATES, n_repeats

Batcher = Callable[[Iterable[Any]], Iterator[List[Any]]]


def build_batcher(size: int, epochs: int, min_updates: int = MIN_UPDATES) -> Batcher:
    """Batches of a number of examples (`spacy-entlm.Batcher.v1`).

    size (int): Examples of a batch.
    epochs (int): Passes over the data, as `training.max_epochs`.
    min_updates (int): Where the passes would make fewer batches together, examples
        come several times in each of them.
    """

    def batches(examples: Iterable[Any]) -> Iterator[List[Any]]:
        if epochs > 0 and min_updates > 0:  # else they may be a stream without end
            examples = list(examples)
            examples *= n_repeats(len(examples), epochs, size, min_updates)
        return minibatch(examples, size)

    return batches
