"""The training recipe of the paper in one call, for a notebook."""

from copy import deepcopy
from typing import Any, Dict, Iterable, List, Optional, Tuple, Union

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import fix_random_seed

from ..corpus.docs import unannotated
from ..pipeline.optimizer import suit_optimizer
from ..pipeline.requirements import add_requirement
from .adaptation import adapt_network, draw_texts
from .check import (
    ENTLM_FACTORY,
    FACTORIES,
    entlm_names,
    only_entlm,
    trained_names,
    warn_if_nothing_learned,
)
from .fit import Callback, few_shot_settings, fit
from .schedule import GENTLE_RATE
from .several import train_again
from .weights import mix

# Of which the mean is taken where minutes go by anyway, since plain text is read.
TRAININGS = 3
# What a trained component knows counts as much as so many new examples.
EXAMPLES_OF_BEFORE = 2

Annotated = Union[Example, Doc, Tuple[str, Dict[str, Any]]]


def train(
    nlp: Language,
    examples: Iterable[Annotated],
    *,
    label_words: Optional[Dict[str, List[str]]] = None,
    epochs: Optional[int] = None,
    batch_size: int = 4,
    learn_rate: Optional[float] = None,
    seed: int = 0,
    trainings: Optional[int] = None,
    callback: Optional[Callback] = None,
    unlabeled: Optional[Iterable[Union[str, Doc]]] = None,
    share: Optional[float] = None,
) -> Dict[str, List[float]]:
    """Train the `entlm_ner` components of a pipeline on a few examples, and its peers
    (`bert_tagger`, `nnshot`, `structshot`) in the same way.

    nlp (Language): The pipeline. Without any of these it gets an `entlm_ner`; those
        without weights are initialised, others go on. All else is left alone.
    examples (Iterable): Examples, annotated Docs, or pairs such as
        ("Ann lives in Rome.", {"entities": [(0, 3, "PER"), (13, 17, "LOC")]}).
    label_words (Optional[Dict[str, List[str]]]): Label words per class, which may be
        new to a trained component; None: they are searched in the examples.
    epochs (Optional[int]): Passes over the examples. None: 20; fewer, but at least 5,
        where these would make more than 240 updates; more where they would make fewer
        than 60, unless a component goes on without a new class.
    batch_size (int): Examples of a step.
    learn_rate (Optional[float]): Of the first step; it falls linearly to zero. None:
        what suits the backbone, and where a component so goes on half of it.
    seed (int): Of the order of the examples and of dropout.
    trainings (Optional[int]): How many, of which the weights become the mean, each with
        the next seed; None: one, with plain text three. Losses are those of the first.
    callback (Optional[Callable]): Called after each epoch with its number, from 1,
        and the mean loss of each component.
    unlabeled (Optional[Iterable]): Plain text of the field, which the backbone of an
        `entlm_ner`, then the only component that is trained, reads before: half of its
        weights become those that guess hidden pieces of it. Of more than 4,000 texts as
        many are drawn. This takes minutes.
    share (Optional[float]): Where a component goes on: its weights become the mean of
        those that it gets and those that it had, so that it forgets less. The share of
        the new ones; None: n / (n + 2) for n examples; 1: all, and a whole training.
    RETURNS (Dict[str, List[float]]): The mean loss of each epoch, per component.
    RAISES (ValueError): If there is no example, or a setting has no such value.
    """
    data = [to_example(nlp, annotated) for annotated in examples]
    if not data:
        raise ValueError("There is nothing to train on: no examples were given")
    _check_settings(epochs, batch_size, trainings, share)
    if trainings is None:
        trainings = 1 if unlabeled is None else TRAININGS
    texts = None if unlabeled is None else draw_texts(unlabeled, seed)
    fix_random_seed(seed)
    known = trained_names(nlp)
    names = _prepare(nlp, data, label_words)
    pipes: Any = [nlp.get_pipe(name) for name in known]
    grown = any(pipe.new_labels for pipe in pipes)
    if share == 1:  # all anew: nothing is kept
        known = []
    before = {name: deepcopy(_network(nlp, name)) for name in known}
    first: Any = nlp.get_pipe(names[0])
    backbone = first.backbone
    if texts is not None:
        adapt_network(only_entlm(nlp).network, texts, seed)
        fix_random_seed(seed)
    settings = few_shot_settings(
        len(data),
        backbone,
        epochs=epochs,
        batch_size=batch_size,
        learn_rate=learn_rate,
        seed=seed,
        callback=callback,
        going_on=bool(known) and not grown,
    )
    if names != entlm_names(nlp):  # a peer has no label that began from a name
        settings = settings._replace(start_pull=0.0)
    starts = {}
    if trainings > 1:
        starts = {name: deepcopy(_network(nlp, name)) for name in names}
    history = fit(nlp, names, data, settings)
    train_again(nlp, data, settings, starts, trainings)
    if share is None:
        share = len(data) / (len(data) + EXAMPLES_OF_BEFORE)
    for name, network in before.items():
        mix(_network(nlp, name), network, share)
    for name in names:
        warn_if_nothing_learned(nlp, name, data, settings.learn_rate)
    suit_optimizer(nlp, backbone, GENTLE_RATE, is_trained=True)
    return history


def _check_settings(
    epochs: Optional[int],
    batch_size: int,
    trainings: Optional[int],
    share: Optional[float],
) -> None:
    for setting, value in (
        ("epochs", epochs),
        ("batch_size", batch_size),
        ("trainings", trainings),
    ):
        if value is not None and value < 1:
            raise ValueError(f"{setting} must be at least 1, not {value}")
    if share is not None and not 0.0 < share <= 1.0:
        raise ValueError(f"share must be above 0 and at most 1, not {share}")


def _network(nlp: Language, name: str) -> Any:
    pipe: Any = nlp.get_pipe(name)
    return pipe.network


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


def to_example(nlp: Language, annotated: Annotated) -> Example:
    """What `train` takes, as an example.
    RAISES (ValueError): If it is none of that."""
    if isinstance(annotated, Example):
        return annotated
    if isinstance(annotated, Doc):
        return Example(unannotated(annotated, nlp.vocab), annotated)
    try:
        text, annotation = annotated
        return Example.from_dict(nlp.make_doc(text), annotation)
    except (TypeError, ValueError) as err:
        raise ValueError(
            f"An example is an Example, an annotated Doc, or a pair of a text and "
            f'{{"entities": [(start, end, label)]}}, not {annotated!r:.80}: {err}'
        ) from err
