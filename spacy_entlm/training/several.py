"""Several trainings on the same examples: the mean of their weights errs less than one
of them does in the mean (model soups: Wortsman et al., 2022)."""

from copy import deepcopy
from pathlib import Path
from typing import Any, Dict, List, Optional

import torch
from spacy.language import Language
from spacy.training import Example

from ..model.layer import shim_of
from ..pipeline.examples import annotated_copies, annotating_pipes
from .adaptation import adapt_network
from .check import only_entlm
from .fit import FitSettings, few_shot_settings, fit
from .seeds import seeded
from .weights import mix, round_weights


def average_trained(
    nlp: Language,
    examples: List[Example],
    *,
    trainings: int,
    texts: Optional[List[str]] = None,
    label_rows: Optional[Path] = None,
    learn_rate: Optional[float] = None,
    seed: int = 0,
) -> None:
    """Train a pipeline that was trained on examples several times in all, and let its
    weights be the mean. If that fails, or is interrupted, it is what it was.

    examples (List[Example]): The examples, which stay as they are.
    trainings (int): How many, with the one that it had; with texts all are new.
    texts (Optional[List[str]]): Plain text that the backbone reads before.
    label_rows (Optional[Path]): File of rows from which classes started in it.
    learn_rate (Optional[float]): Of the trainings; None: what suits the backbone.
    seed (int): Of the first training, and of what is done with the texts.
    RAISES (BackboneError): If its backbone cannot be loaded. (DataError): If the rows
        cannot.
    """
    name, pipe = only_entlm(nlp)
    examples = annotated_copies(examples, annotating_pipes(nlp, name))
    settings = few_shot_settings(len(examples), pipe, learn_rate=learn_rate, seed=seed)
    start = untrained_network(pipe, label_rows)
    network = pipe.network
    before = deepcopy(network)
    try:
        if texts is not None:
            with seeded(seed):
                adapt_network(start, texts, seed)
            mix(network, start, 0.0)
            fit(nlp, [name], examples, settings)
        train_again(nlp, examples, settings, {name: start}, trainings)
        round_weights(network)
    except BaseException:
        mix(network, before, 0.0)
        raise


def train_again(
    nlp: Language,
    examples: List[Example],
    settings: FitSettings,
    starts: Dict[str, Any],
    trainings: int,
) -> None:
    """Train components that are trained again, from where they began, and let their
    weights be the mean. If that fails, or is interrupted, they are what they were.

    settings (FitSettings): Of the training that they had: each other one has the next
        seed, and none calls back.
    starts (Dict[str, Module]): Their networks as they were before it.
    trainings (int): How many, with the one that they had.
    """
    networks = {name: _pipe(nlp, name).network for name in starts}
    first = {name: deepcopy(network) for name, network in networks.items()}
    means = {name: deepcopy(network) for name, network in networks.items()}
    try:
        for n in range(1, trainings):
            for name, network in networks.items():
                mix(network, starts[name], 0.0)
            again = settings._replace(seed=settings.seed + n, callback=None)
            fit(nlp, list(starts), examples, again)
            for name, network in networks.items():
                mix(means[name], network, n / (n + 1))
    except BaseException:
        means = first
        raise
    finally:
        for name, network in networks.items():
            mix(network, means[name], 0.0)


def untrained_network(pipe: Any, label_rows: Optional[Path] = None) -> torch.nn.Module:
    """The network of a trained `entlm_ner` as it was before: that of the backbone, with
    the rows of its label words, or those of a file.
    RAISES (BackboneError): If the backbone cannot be loaded. (DataError): If the rows
        cannot."""
    shim, trained = shim_of(pipe.layer), pipe.network
    try:
        pipe.begin_again(label_rows)
        return pipe.network
    finally:
        shim.set_network(trained)


def _pipe(nlp: Language, name: str) -> Any:
    return nlp.get_pipe(name)
