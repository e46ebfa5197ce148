"""The training recipe of the paper in one call, for a notebook."""

import math
import random
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple, Union

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import minibatch
from thinc.api import fix_random_seed
from tqdm import tqdm

from ..pipeline.requirements import add_requirement
from .check import (
    ENTLM_FACTORY,
    FACTORIES,
    annotating_names,
    entlm_names,
    warn_if_nothing_learned,
)
from .optimizer import build_adam
from .schedule import MIN_UPDATES, steps_to_zero, suitable_learn_rate

EPOCHS = 20

Annotated = Union[Example, Doc, Tuple[str, Dict[str, Any]]]
Callback = Callable[[int, Dict[str, float]], None]


def train(
    nlp: Language,
    examples: Iterable[Annotated],
    *,
    label_words: Optional[Dict[str, List[str]]] = None,
    epochs: Optional[int] = None,
    batch_size: int = 4,
    learn_rate: Optional[float] = None,
    seed: int = 0,
    callback: Optional[Callback] = None,
) -> Dict[str, List[float]]:
    """Train the `entlm_ner` components of a pipeline on a few examples, and its peers
    (`bert_tagger`, `nnshot`, `structshot`) in the same way.

    nlp (Language): The pipeline. Without any of these it gets an `entlm_ner`; those
        without weights are initialised, others go on. All else is left alone.
    examples (Iterable): Examples, annotated Docs, or pairs such as
        ("Ann lives in Rome.", {"entities": [(0, 3, "PER"), (13, 17, "LOC")]}).
    label_words (Optional[Dict[str, List[str]]]): Label words per class, which may be
        new to a trained component; None: they are searched in the examples.
    epochs (Optional[int]): Passes over the examples. None: 20, and more where these
        would make fewer than 60 updates.
    batch_size (int): Examples of a step.
    learn_rate (Optional[float]): Of the first step; it falls linearly to zero. None:
        what suits the backbone.
    seed (int): Of the order of the examples and of dropout.
    callback (Optional[Callable]): Called after each epoch with its number, from 1,
        and the mean loss of each component.
    RETURNS (Dict[str, List[float]]): The mean loss of each epoch, per component.
    RAISES (ValueError): If there is no example.
    """
    data = [_example(nlp, annotated) for annotated in examples]
    if not data:
        raise ValueError("There is nothing to train on: no examples were given")
    for setting, value in (("epochs", epochs), ("batch_size", batch_size)):
        if value is not None and value < 1:
            raise ValueError(f"{setting} must be at least 1, not {value}")
    steps_per_epoch = math.ceil(len(data) / batch_size)
    if epochs is None:
        epochs = max(EPOCHS, math.ceil(MIN_UPDATES / steps_per_epoch))
    fix_random_seed(seed)
    names = _prepare(nlp, data, label_words)
    if learn_rate is None:
        first: Any = nlp.get_pipe(names[0])
        learn_rate = suitable_learn_rate(first.label_model.config.name)
    n_steps = epochs * steps_per_epoch
    rates: Any = steps_to_zero(learn_rate, n_steps)
    optimizer = build_adam(rates)
    history: Dict[str, List[float]] = {name: [] for name in names}
    order = random.Random(seed)
    settings: Dict[str, Any] = {
        "sgd": optimizer,
        "exclude": [name for name in nlp.pipe_names if name not in names],
        "annotates": annotating_names(nlp, names[-1]),
    }
    with tqdm(total=n_steps, unit="step") as progress:
        for epoch in range(1, epochs + 1):
            order.shuffle(data)
            losses: Dict[str, float] = {}
            for batch in minibatch(data, batch_size):
                nlp.update(batch, losses=losses, **settings)
                optimizer.step_schedules()
                progress.update()
            means = {name: losses[name] / steps_per_epoch for name in names}
            for name, mean in means.items():
                history[name].append(mean)
            progress.set_postfix(epoch=epoch, loss=f"{means[names[0]]:.3f}")
            if callback is not None:
                callback(epoch, means)
    for name in names:
        warn_if_nothing_learned(nlp, name, data, learn_rate)
    return history


def _prepare(
    nlp: Language, data: List[Example], label_words: Optional[Dict[str, List[str]]]
) -> List[str]:
    """Names of the components to be trained, initialised where they were not."""
    if not entlm_names(nlp, FACTORIES):
        nlp.add_pipe(ENTLM_FACTORY)
    names = entlm_names(nlp, FACTORIES)
    # The peers have no label words.
    given = {} if label_words is None else {"label_words": label_words}
    for name in names:
        pipe: Any = nlp.get_pipe(name)
        add_requirement(nlp)  # one from another pipeline has not noted it yet
        if not pipe.is_initialized:
            pipe.initialize(lambda: data, nlp=nlp, **given)
        else:
            for label, words in (label_words or {}).items():
                pipe.add_label(label, words)
    return names


def _example(nlp: Language, annotated: Annotated) -> Example:
    if isinstance(annotated, Example):
        return annotated
    if isinstance(annotated, Doc):
        words = [token.text for token in annotated]
        spaces = [bool(token.whitespace_) for token in annotated]
        return Example(Doc(nlp.vocab, words=words, spaces=spaces), annotated)
    try:
        text, annotation = annotated
        return Example.from_dict(nlp.make_doc(text), annotation)
    except (TypeError, ValueError) as err:
        raise ValueError(
            f"An example is an Example, an annotated Doc, or a pair of a text and "
            f'{{"entities": [(start, end, label)]}}, not {annotated!r:.80}: {err}'
        ) from err
