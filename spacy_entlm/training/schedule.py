"""The decay of the learning rate over the training."""

import math
from itertools import count
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator, Optional, Union

import spacy
from spacy.tokens import DocBin

from ..backbones.suitable import PAPER_LEARN_RATE, suitable_learn_rate

# Passes over the examples.
EPOCHS = 20
# Fewer updates leave a model that finds next to nothing (docs/benchmarks.md).
MIN_UPDATES = 60
# More take time and hardly help (benchmarks/RESULTS.md), but for so many passes.
MAX_UPDATES, MIN_PASSES = 240, 5
# Of the rate that suits a training: what suits single updates after it.
GENTLE_RATE = 0.25
# A number, or the name of one: "${training.max_steps}".
Setting = Union[int, str]
# A reader of a corpus.
Reader = Callable[[Any], Iterable[Any]]


def decay_to_zero(
    initial_rate: Optional[float],
    epochs: Setting,
    batch_size: Setting,
    examples: Optional[Union[str, Reader]] = None,
    backbone: Optional[str] = None,
    max_steps: Setting = 0,
    min_updates: Setting = 0,
    max_updates: Setting = 0,
) -> "StepsToZero":
    """A rate that falls linearly to zero at the end of the training, without warm-up
    (`spacy-entlm.decay_to_zero.v1`).

    initial_rate (Optional[float]): Of the first step; None: what suits the backbone.
    epochs (int): As `training.max_epochs`: 0 or -1 leave the end to `max_steps`.
    batch_size (int): Sentences of a step.
    examples (Optional): What reads the training data, "${corpora.train}", so that as
        many steps are counted as it gives examples; or a file or folder (.spacy), of
        which all count. If the data are not there (but the trained pipeline is), the
        rate is constant.
    backbone (Optional[str]): The masked LM, wanted if `initial_rate` is None.
    max_steps (int): Most steps of the training; 0: as many as the passes need.
    min_updates, max_updates (int): As those of `spacy-entlm.Batcher.v1`.
    RAISES (ValueError): If the training has no end to which the rate could decay.

    Of a config whose variables are not filled in, as `nlp.resume_training` reads it,
    the rate is a constant and gentle one: that training is over.
    """
    numbers = (epochs, batch_size, max_steps, min_updates, max_updates)
    if any(str(number).startswith("${") for number in numbers):
        rate = PAPER_LEARN_RATE if initial_rate is None else initial_rate
        return StepsToZero(GENTLE_RATE * rate, 1)
    epochs, batch_size, max_steps, min_updates, max_updates = map(int, numbers)
    if epochs <= 0 and max_steps <= 0:
        end = f"max_epochs = {epochs} with training.max_steps = {max_steps}"
        raise ValueError(
            f"The learning rate decays to the end of the training, and training.{end} "
            "sets none: set max_steps, there and in [training.optimizer.learn_rate], "
            "or take another schedule"
        )
    if initial_rate is None:
        initial_rate = suitable_learn_rate(backbone)
    if epochs <= 0:
        return StepsToZero(initial_rate, max_steps)
    n_docs = _count_examples(examples)
    if n_docs is None:
        return StepsToZero(initial_rate, 1)
    repeats = n_repeats(n_docs, epochs, batch_size, min_updates)
    n_batches = math.ceil(n_docs * repeats / batch_size)
    n_steps = epochs * min(n_batches, most_batches(n_batches, epochs, max_updates))
    if max_steps > 0:
        n_steps = min(n_steps, max_steps)
    return StepsToZero(initial_rate, n_steps)


def _count_examples(examples: Optional[Union[str, Reader]]) -> Optional[int]:
    """How many there are; None if the data are not there."""
    if callable(examples):
        try:
            return sum(1 for _ in examples(spacy.blank("xx")))
        except FileNotFoundError:
            return None
    if not examples or not (path := Path(examples)).exists():
        return None
    files = [path] if path.is_file() else path.rglob("*.spacy")
    return sum(len(DocBin().from_disk(file)) for file in files)


def n_repeats(n_examples: int, epochs: int, batch_size: int, min_updates: int) -> int:
    """How often examples come in each pass so that there are enough updates.
    batch_size (int): Examples of an update. min_updates (int): In all passes."""
    if n_examples < 1 or epochs < 1:
        return 1
    wanted = math.ceil(min_updates / epochs)  # updates of a pass
    return max(1, math.ceil(((wanted - 1) * batch_size + 1) / n_examples))


def most_batches(n_batches: int, epochs: int, max_updates: int) -> int:
    """How many batches of a pass are taken so that there are not too many updates.

    n_batches (int): Of the whole pass. epochs (int): How many passes.
    max_updates (int): In all passes, if these batches come in five whole ones with
        fewer; 0: no limit.
    """
    if max_updates < 1:
        return n_batches
    return math.ceil(max(max_updates, MIN_PASSES * n_batches) / epochs)


class StepsToZero(Iterator[float]):
    """The rates of so many steps, as a schedule; after the last one its rate stays."""

    def __init__(self, initial_rate: float, n_steps: int) -> None:
        self.initial_rate, self.n_steps = initial_rate, n_steps
        self._steps = count()

    def __next__(self) -> float:
        done = min(next(self._steps), self.n_steps - 1)
        return self.initial_rate * (1.0 - done / max(self.n_steps, 1))
