"""The training recipe in one call, for a notebook."""

from copy import deepcopy
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple, Union

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..pipeline.config_optimizer import suit_optimizer
from ..pipeline.examples import annotated_copies, annotating_pipes, count_entities
from ..pipeline.requirements import add_requirement
from .adaptation import adapt_network, draw_texts
from .check import (
    ENTLM_FACTORY,
    check_enabled,
    entlm_pipes,
    masked_lm_pipes,
    only_entlm,
    warn_if_nothing_learned,
)
from .examples import Annotated, to_examples, without_places
from .fit import Callback, few_shot_settings, fit
from .schedule import GENTLE_RATE
from .seeds import seeded
from .several import train_again
from .weights import mix, round_weights

# Of which the mean is taken where minutes go by anyway, since plain text is read.
TRAININGS = 3
# What a trained component knows counts as much as so many new examples.
EXAMPLES_OF_BEFORE = 2


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
    annotates: Sequence[str] = (),
) -> Dict[str, List[float]]:
    """Train the `entlm_ner` components of a pipeline on a few examples, and its peers
    (`bert_tagger`, `nnshot`, `structshot`) in the same way.

    A component that has classes already goes on from there. Classes that no example
    has are not unlearned: where the component finds one of them in an example, it
    learns nothing there. If no example has any entity, it learns that there is none.

    nlp (Language): The pipeline. Without any of these it gets an `entlm_ner`; those
        without weights are initialised, others go on. All else is left alone.
    examples (Iterable): Examples, annotated Docs, or pairs such as
        ("Ann lives in Rome.", {"entities": [(0, 3, "PER"), (13, 17, "LOC")]}). They
        stay as they are.
    label_words (Optional[Dict[str, List[str]]]): Label words or a description of each
        class, which may be new to a trained component; an empty list stands for its
        name, where the backbone makes rows from names. None: a class begins by its
        name, or by words that are searched in the examples.
    epochs (Optional[int]): Passes over the examples. None: 20. If these would make
        more than 240 updates, there are fewer, but at least 5. If they would make fewer
        than 60, there are more, unless a trained component goes on without a new class.
    batch_size (int): Examples of a step.
    learn_rate (Optional[float]): Of the first step; it falls linearly to zero. None:
        what suits the backbone, and where a trained component goes on half of it.
    seed (int): Of the order of the examples and of dropout. The caller's own random
        numbers are not touched.
    trainings (Optional[int]): How many, of which the weights become the mean, each with
        the next seed; None: one, with plain text three. Losses are those of the first.
    callback (Optional[Callable]): Called after each epoch with its number, from 1,
        and the mean loss of each component.
    unlabeled (Optional[Iterable]): Plain text of the field. The backbone reads it
        before the examples, and its new weights are averaged, half and half, with the
        original ones. This takes minutes. Of more than 4,000 texts, 4,000 are drawn by
        chance. It works with one `entlm_ner` in the pipeline, and none of its peers.
    share (Optional[float]): The share of the new weights where a trained component goes
        on. They are averaged with the old ones, so that it forgets less. None: n / (n +
        2) for n examples. 1: nothing of the old weights is kept, and the training is as
        long as a first one.
    annotates (Sequence[str]): Components that run on each example before the training,
        such as a sentencizer where the model reads sentences. Those that the config's
        `training.annotating_components` names run, too.
    RETURNS (Dict[str, List[float]]): The mean loss of each epoch, per component.
    RAISES (ValueError): If there is no example, one cannot be read, a setting has no
        such value, or an example has a class that a trained component does not know;
        before anything is learned.
    EXAMPLE:
        examples = [
            ("Ann lives in Rome.", {"entities": [(0, 3, "PER"), (13, 17, "LOC")]}),
            ("Bo moved to Oslo.", {"entities": [(0, 2, "PER"), (12, 16, "LOC")]}),
        ]
        losses = spacy_entlm.train(nlp, examples)
    """
    _check_settings(epochs, batch_size, trainings, share)
    check_enabled(nlp)
    data = to_examples(nlp, examples)
    if not data:
        raise ValueError("There is nothing to train on: no examples were given")
    if trainings is None:
        trainings = 1 if unlabeled is None else TRAININGS
    texts = None if unlabeled is None else draw_texts(unlabeled, seed)
    with seeded(seed):
        pipes, data = _prepare(nlp, data, label_words or {}, annotates)
        trained = {name: pipe for name, pipe in pipes.items() if pipe.is_trained}
        grown = any(pipe.new_labels for pipe in trained.values())
        if share == 1:  # all anew: nothing is kept
            trained = {}
        before = {name: deepcopy(pipe.network) for name, pipe in trained.items()}
        if texts is not None:
            adapt_network(only_entlm(nlp)[1].network, texts, seed)
        first = next(iter(pipes.values()))
        settings = few_shot_settings(
            len(data),
            first,
            epochs=epochs,
            batch_size=batch_size,
            learn_rate=learn_rate,
            seed=seed,
            callback=callback,
            going_on=bool(trained) and not grown,
        )
        pull = min(pipe.start_pull for pipe in pipes.values())
        settings = settings._replace(start_pull=pull)
        starts = {}
        if trainings > 1:
            starts = {name: deepcopy(pipe.network) for name, pipe in pipes.items()}
        history = fit(nlp, list(pipes), data, settings)
        train_again(nlp, data, settings, starts, trainings)
    if share is None:
        share = len(data) / (len(data) + EXAMPLES_OF_BEFORE)
    for name, network in before.items():
        mix(pipes[name].network, network, share)
    for pipe in pipes.values():
        round_weights(pipe.network)
    for name, pipe in pipes.items():
        warn_if_nothing_learned(name, pipe, data, settings.learn_rate)
    suit_optimizer(nlp, GENTLE_RATE * first.learn_rate, is_trained=True)
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


def _prepare(
    nlp: Language,
    data: List[Example],
    label_words: Dict[str, List[str]],
    annotates: Sequence[str],
) -> Tuple[Dict[str, Any], List[Example]]:
    """The components to be trained by their names, with weights and all classes; and
    the examples as they learn from them."""
    pipes = masked_lm_pipes(nlp)
    last = [ENTLM_FACTORY, *pipes][-1]
    data = annotated_copies(data, annotating_pipes(nlp, last, annotates))
    for name, pipe in pipes.items():
        _check_classes(name, pipe, count_entities(data), label_words)
        _check_reading(name, pipe, data)
    if not pipes:
        nlp.add_pipe(ENTLM_FACTORY)
    add_requirement(nlp)  # one from another pipeline has not noted it yet
    pipes, with_words = masked_lm_pipes(nlp), entlm_pipes(nlp)
    for name, pipe in pipes.items():
        if not pipe.is_initialized:
            given = {"label_words": label_words} if name in with_words else {}
            pipe.initialize(lambda: data, nlp=nlp, **given)
        elif name in with_words:
            pipe.add_labels(label_words)
            if not pipe.is_trained:
                pipe.prepare_training(data)
        else:  # the peers have no label words
            for label in label_words:
                pipe.add_label(label)
    return pipes, _without_absent_classes(with_words, data)


def _check_classes(
    name: str, pipe: Any, labels: Iterable[str], label_words: Dict[str, List[str]]
) -> None:
    """RAISES (ValueError): If the examples have a class that a component with weights
    lacks, for which there are no label words, and which it cannot begin by itself."""
    begins_itself = pipe.reads_names and not pipe.is_trained
    if not pipe.is_initialized or begins_itself:
        return
    known = {*pipe.labels, *label_words}
    lacking = [label for label in labels if label not in known]
    if lacking:
        start = f"{{{lacking[0]!r}: []}}, which starts it from its name"
        if not pipe.reads_names:
            start = f"{{{lacking[0]!r}: [words that stand for it]}}"
        raise ValueError(
            f"[{name}] Examples have the class {lacking[0]!r}, which the component "
            f"does not know (it knows {', '.join(pipe.labels)}): add it with "
            f"label_words={start}, or correct its name"
        )


def _check_reading(name: str, pipe: Any, data: List[Example]) -> None:
    """RAISES (ValueError): If what a component reads together is not annotated."""
    try:
        pipe.layer.attrs["reading"].get_spans([data[0].predicted])
    except ValueError as err:
        raise ValueError(
            f"[{name}] The examples cannot be read as its get_spans says. If another "
            f'component is to annotate them first, name it: annotates=["sentencizer"] '
            f"({str(err).partition('. ')[0]})"
        ) from err


def _without_absent_classes(
    pipes: Dict[str, Any], data: List[Example]
) -> List[Example]:
    """The examples, which say nothing where a component finds one of its classes that
    no example has: it is not to be unlearned."""
    counts = count_entities(data)
    places: Dict[int, List[Tuple[int, int]]] = {}
    for pipe in pipes.values():
        absent = {i for i, label in enumerate(pipe.labels) if label not in counts}
        knows_them = pipe.is_trained or pipe.reads_names
        if not counts or not absent or not knows_them:
            continue
        for number, found in enumerate(pipe.predict([eg.predicted for eg in data])):
            sure = pipe.calibration(found.confidences) >= pipe.threshold
            for start, end, label in found.spans[sure].tolist():
                if label in absent:
                    places.setdefault(number, []).append((start, end))
    return without_places(data, places)
