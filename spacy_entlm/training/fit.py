"""The training loop of the recipe."""

import math
import random
from typing import Any, Callable, Dict, List, NamedTuple, Optional

from spacy.language import Language
from spacy.training import Example
from spacy.util import minibatch
from tqdm import tqdm

from .adam import build_adam
from .schedule import EPOCHS, MAX_UPDATES, MIN_PASSES, MIN_UPDATES, StepsToZero
from .seeds import seeded

Callback = Callable[[int, Dict[str, float]], None]


class FitSettings(NamedTuple):
    """epochs (int): Passes over the examples. batch_size (int): Examples of a step.
    learn_rate (float): Of the first step; it falls linearly to zero. seed (int): Of the
    order of the examples and of dropout. start_pull (float): Of `spacy-entlm.Adam.v1`.
    callback (Optional[Callable]): Called after each epoch with its number, from 1, and
    the mean loss of each component."""

    epochs: int
    batch_size: int
    learn_rate: float
    seed: int
    start_pull: float
    callback: Optional[Callback] = None


def few_shot_settings(
    n_examples: int,
    pipe: Any,
    *,
    epochs: Optional[int] = None,
    batch_size: int = 4,
    learn_rate: Optional[float] = None,
    seed: int = 0,
    callback: Optional[Callback] = None,
    going_on: bool = False,
) -> FitSettings:
    """The recipe's settings where they are not given.

    n_examples (int): For the epochs: 20, more where these make fewer than 60 updates,
        fewer, but at least 5, where they make more than 240.
    pipe (MaskedLMNER): The component, for the learning rate and `start_pull` that
        suit it.
    going_on (bool): Whether a trained component goes on: then epochs are at most 20,
        and the learning rate is half of that.
    """
    if epochs is None:
        n_batches = math.ceil(n_examples / batch_size)
        enough = 0 if going_on else math.ceil(MIN_UPDATES / n_batches)
        epochs = min(EPOCHS, max(MIN_PASSES, round(MAX_UPDATES / n_batches)))
        epochs = max(epochs, enough)
    if learn_rate is None:
        learn_rate = pipe.learn_rate * (0.5 if going_on else 1.0)
    return FitSettings(epochs, batch_size, learn_rate, seed, pipe.start_pull, callback)


def fit(
    nlp: Language, names: List[str], examples: List[Example], settings: FitSettings
) -> Dict[str, List[float]]:
    """Train some components of a pipeline, which have weights; all else is left alone,
    the caller's random numbers, too.
    RETURNS (Dict[str, List[float]]): The mean loss of each epoch, per component."""
    with seeded(settings.seed):
        return _fit(nlp, names, examples, settings)


def _fit(
    nlp: Language, names: List[str], examples: List[Example], settings: FitSettings
) -> Dict[str, List[float]]:
    pipes: Dict[str, Any] = {name: nlp.get_pipe(name) for name in names}
    data = list(examples)
    order = random.Random(settings.seed)
    n_batches = math.ceil(len(data) / settings.batch_size)
    n_steps = settings.epochs * n_batches
    rates: Any = StepsToZero(settings.learn_rate, n_steps)
    optimizer = build_adam(rates, start_pull=settings.start_pull)
    update: Dict[str, Any] = {
        "sgd": optimizer,
        "exclude": [name for name in nlp.pipe_names if name not in names],
    }
    history: Dict[str, List[float]] = {name: [] for name in names}
    with tqdm(total=n_steps, unit="step") as progress:
        for epoch in range(1, settings.epochs + 1):
            order.shuffle(data)
            losses: Dict[str, float] = {}
            for batch in minibatch(data, settings.batch_size):
                nlp.update(batch, losses=losses, **update)
                optimizer.step_schedules()
                progress.update()
            # A component that another pipeline has, too, may be called otherwise.
            means = {x: losses[pipe.name] / n_batches for x, pipe in pipes.items()}
            for name, mean in means.items():
                history[name].append(mean)
            progress.set_postfix(epoch=epoch, loss=f"{means[names[0]]:.3f}")
            if settings.callback is not None:
                settings.callback(epoch, means)
    return history
