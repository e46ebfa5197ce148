"""Learning rates: what suits a backbone, and the decay over the training."""

import logging
import math
from itertools import count
from pathlib import Path
from typing import Generator, Optional

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


def decay_to_zero(
    initial_rate: Optional[float],
    epochs: int,
    batch_size: int,
    examples: Optional[str] = None,
    backbone: Optional[str] = None,
    max_steps: int = 0,
    min_updates: int = 0,
) -> Generator[float, None, None]:
    """A rate that falls linearly to zero at the end of the training, without warm-up
    (`spacy-entlm.decay_to_zero.v1`).

    initial_rate (Optional[float]): Of the first step; None: what suits the backbone.
    epochs (int): As `training.max_epochs`: 0 or -1 leave the end to `max_steps`.
    batch_size (int): Sentences of a step.
    examples (Optional[str]): The training data (.spacy), for the number of steps. If
        it is not there (but the trained pipeline is), the rate is constant.
    backbone (Optional[str]): The masked LM, wanted if `initial_rate` is None.
    max_steps (int): Most steps of the training; 0: as many as the passes need.
    min_updates (int): As that of the batcher, `spacy-entlm.Batcher.v1`.
    RAISES (ValueError): If the training has no end to which the rate could decay.
    """
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
        return steps_to_zero(initial_rate, max_steps)
    if not examples or not (path := Path(examples)).exists():
        return steps_to_zero(initial_rate, 1)
    files = [path] if path.is_file() else path.rglob("*.spacy")
    n_docs = sum(len(DocBin().from_disk(file)) for file in files)
    n_docs *= n_repeats(n_docs, epochs, batch_size, min_updates)
    n_steps = epochs * math.ceil(n_docs / batch_size)
    if max_steps > 0:
        n_steps = min(n_steps, max_steps)
    return steps_to_zero(initial_rate, n_steps)


def n_repeats(n_examples: int, epochs: int, batch_size: int, min_updates: int) -> int:
    """How often examples come in each pass so that there are enough updates.
    batch_size (int): Examples of an update. min_updates (int): In all passes."""
    if n_examples < 1 or epochs < 1:
        return 1
    wanted = math.ceil(min_updates / epochs)  # updates of a pass
    return max(1, math.ceil(((wanted - 1) * batch_size + 1) / n_examples))


def steps_to_zero(initial_rate: float, n_steps: int) -> Generator[float, None, None]:
    """The rates of so many steps; after the last one its rate stays."""
    for step in count():
        yield initial_rate * (1.0 - min(step, n_steps - 1) / max(n_steps, 1))


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
        return learn_rate_for_width(backbone_width(backbone))
    except Exception as err:  # a trained pipeline may no longer have its backbone
        problem = "Learning rate %g (the paper's): the width of %r is not known (%s)"
        logger.warning(problem, PAPER_LEARN_RATE, backbone, type(err).__name__)
        return PAPER_LEARN_RATE


def learn_rate_for_width(width: int) -> float:
    """The rule: 1e-4 * (768 / width) ** log2(3), at most 1e-3."""
    rate = PAPER_LEARN_RATE * (PAPER_WIDTH / width) ** WIDTH_EXPONENT
    return min(rate, HIGHEST_LEARN_RATE)
