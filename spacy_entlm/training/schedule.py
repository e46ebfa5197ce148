"""Learning rates: what suits a backbone, and the decay over the training."""

import logging
import math
from pathlib import Path
from typing import Callable, Dict, Generator, Optional

from spacy.tokens import DocBin

from ..backbones.loading import backbone_width
from ..backbones.names import resolve_backbone
from ..backbones.recommended import read_recommended

logger = logging.getLogger("spacy.entlm")

# The paper's learning rate, and the width of the model it was chosen for.
PAPER_LEARN_RATE = 1e-4
PAPER_WIDTH = 768
# Half the width wants three times the rate: measured on wikigold at width 384.
WIDTH_EXPONENT = math.log2(3)
HIGHEST_LEARN_RATE = 1e-3

# Fewer updates leave a model that finds next to nothing (docs/benchmarks.md).
MIN_UPDATES = 60

DECAYS: Dict[str, Callable[[float], float]] = {
    "linear": lambda done: 1.0 - done,
    "cosine": lambda done: 0.5 * (1.0 + math.cos(math.pi * done)),
    "constant": lambda done: 1.0,
}


def decay_to_zero(
    initial_rate: Optional[float],
    epochs: int,
    batch_size: int,
    examples: Optional[str] = None,
    backbone: Optional[str] = None,
    shape: str = "linear",
    max_steps: int = 0,
    min_updates: int = 0,
) -> Generator[float, None, None]:
    """A schedule that decays to zero at the end of the training, without warm-up
    (`spacy-entlm.decay_to_zero.v1`).

    initial_rate (Optional[float]): Of the first step; None: what suits the backbone.
    epochs (int): Passes over the data, as `training.max_epochs`: 0 or -1 leave the end
        to `max_steps`.
    batch_size (int): Sentences of a step.
    examples (Optional[str]): The training data (.spacy), for the number of steps. If
        it is not there (a trained pipeline, somewhere else), the rate is constant.
    backbone (Optional[str]): The masked LM, wanted if `initial_rate` is None.
    shape (str): "linear", "cosine" or "constant".
    max_steps (int): Most steps of the training; 0: as many as the passes need.
    min_updates (int): As that of the batcher, `spacy-entlm.Batcher.v1`.
    RAISES (ValueError): If the training has no end to which the rate could decay.
    """
    if shape not in DECAYS:
        raise ValueError(f"shape is one of {list(DECAYS)}, not {shape!r}")
    if epochs <= 0 and max_steps <= 0:
        raise ValueError(
            f"The learning rate decays to the end of the training, and "
            f"training.max_epochs = {epochs} with training.max_steps = {max_steps} "
            f"sets none: set max_steps, there and in "
            f"[training.optimizer.learn_rate], or take another schedule"
        )
    if initial_rate is None:
        initial_rate = suitable_learn_rate(backbone)
    if epochs <= 0:
        return steps_to_zero(initial_rate, max_steps, shape)
    path = Path(examples) if examples else None
    if path is None or not path.exists():
        return steps_to_zero(initial_rate, 1, "constant")
    n_docs = _count_docs(path)
    n_docs *= n_repeats(n_docs, epochs, batch_size, min_updates)
    n_steps = epochs * math.ceil(n_docs / batch_size)
    if max_steps > 0:
        n_steps = min(n_steps, max_steps)
    return steps_to_zero(initial_rate, n_steps, shape)


def n_repeats(n_examples: int, epochs: int, batch_size: int, min_updates: int) -> int:
    """How often examples come in each pass so that there are enough updates.

    n_examples (int): Examples of a pass. epochs (int): Passes.
    batch_size (int): Examples of an update. min_updates (int): In the whole training.
    """
    if n_examples < 1 or epochs < 1:
        return 1
    wanted = math.ceil(min_updates / epochs)  # updates of a pass
    if math.ceil(n_examples / batch_size) >= wanted:
        return 1
    return math.ceil(((wanted - 1) * batch_size + 1) / n_examples)


def steps_to_zero(
    initial_rate: float, n_steps: int, shape: str = "linear"
) -> Generator[float, None, None]:
    """The rates of the steps; after the last one the rate stays.

    initial_rate (float): Of the first step. n_steps (int): Of the whole training.
    """
    step = 0
    while True:
        yield initial_rate * DECAYS[shape](min(step, n_steps - 1) / max(n_steps, 1))
        step += 1


def suitable_learn_rate(backbone: Optional[str]) -> float:
    """The initial learning rate that suits a backbone: what its folder's
    pretrain.json says, or else a rule by its width.

    backbone (Optional[str]): As the component's setting `name`.
    RETURNS (float): 1e-4 at width 768 (the paper), 3e-4 at 384.
    """
    if backbone is None:
        return PAPER_LEARN_RATE
    backbone = resolve_backbone(backbone)
    recommended = read_recommended(backbone).learn_rate
    if recommended is not None:
        return recommended
    try:
        width = backbone_width(backbone)
    except Exception as err:  # a trained pipeline may no longer have its backbone
        logger.warning(
            "Learning rate %g (the paper's): the width of %r is not known (%s)",
            PAPER_LEARN_RATE,
            backbone,
            type(err).__name__,
        )
        return PAPER_LEARN_RATE
    return learn_rate_for_width(width)


def learn_rate_for_width(width: int) -> float:
    """The rule: 1e-4 * (768 / width) ** log2(3), at most 1e-3.

    width (int): Width of the features.
    """
    rate = PAPER_LEARN_RATE * (PAPER_WIDTH / width) ** WIDTH_EXPONENT
    return min(rate, HIGHEST_LEARN_RATE)


def _count_docs(path: Path) -> int:
    files = [path] if path.is_file() else sorted(path.rglob("*.spacy"))
    return sum(len(DocBin().from_disk(file)) for file in files)
