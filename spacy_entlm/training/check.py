"""The components of a pipeline that are trained here, and whether they learned."""

import logging
from itertools import islice
from typing import Any, Dict, Iterable, List, Optional, Tuple

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import registry, resolve_dot_names

from ..pipeline.base import MaskedLMNER
from ..pipeline.entlm_ner import EntLMNER

logger = logging.getLogger("spacy.entlm")

ENTLM_FACTORY = "entlm_ner"
# Examples that are looked at: enough to find one entity, if any is found.
EXAMPLES_CHECKED = 100


def masked_lm_pipes(nlp: Language) -> Dict[str, Any]:
    """The `entlm_ner` components of a pipeline and their peers, by their names in it,
    without those that are disabled."""
    pipes = nlp.pipeline
    return {name: pipe for name, pipe in pipes if isinstance(pipe, MaskedLMNER)}


def entlm_pipes(nlp: Language) -> Dict[str, Any]:
    """The `entlm_ner` components of a pipeline, as `masked_lm_pipes`."""
    pipes = masked_lm_pipes(nlp).items()
    return {name: pipe for name, pipe in pipes if isinstance(pipe, EntLMNER)}


def only_entlm(nlp: Language) -> Tuple[str, Any]:
    """The `entlm_ner` of a pipeline and its name there.
    RAISES (ValueError): If there is none or another, or one of its peers."""
    pipes = masked_lm_pipes(nlp)
    if len(pipes) != 1 or not entlm_pipes(nlp):
        check_enabled(nlp)
        found = ", ".join(pipes) or "none"
        raise ValueError(f"This wants one entlm_ner, and no peer; found {found}")
    return next(iter(pipes.items()))


def check_enabled(nlp: Language) -> None:
    """RAISES (ValueError): If the only components that could be trained are
    disabled."""
    disabled = [name for name, pipe in nlp.components if isinstance(pipe, MaskedLMNER)]
    if disabled and not masked_lm_pipes(nlp):
        name = disabled[0]
        raise ValueError(
            f"{', '.join(disabled)} of the pipeline is disabled: call "
            f"nlp.enable_pipe({name!r}) before"
        )


def docs_before(nlp: Language, name: str, docs: Iterable[Doc]) -> List[Doc]:
    """Docs as a component gets them in prediction: as those before it leave them."""
    names = nlp.pipe_names
    return list(nlp.pipe(docs, disable=names[names.index(name) :]))


def training_examples(nlp: Language) -> Iterable[Example]:
    """The examples of the training corpus that the pipeline's config names."""
    config = nlp.config.interpolate()
    corpora: Any = registry.resolve({"corpora": config["corpora"]})
    (corpus,) = resolve_dot_names(corpora, [config["training"]["train_corpus"]])
    return corpus(nlp)


def warn_if_nothing_learned(
    name: str,
    pipe: Any,
    examples: Iterable[Example],
    learn_rate: Optional[float] = None,
) -> None:
    """Warn if a trained component finds no entity in its own examples, though they
    have some.

    name (str): Of the component in its pipeline. pipe: The component.
    examples (Iterable[Example]): Training examples, with the annotation that they had
        in the training; no more than 100 are looked at.
    learn_rate (Optional[float]): That of the first step, for the message.
    """
    with_entities = (eg.predicted for eg in examples if eg.reference.ents)
    docs = list(islice(with_entities, EXAMPLES_CHECKED))
    if not docs or any(len(entities.spans) for entities in pipe.predict(docs)):
        return
    used = "" if learn_rate is None else f" (it was {learn_rate:g})"
    logger.warning(
        "[%s] After training no entity is found in the training examples themselves. "
        "Most often the learning rate%s is too small for the backbone: try three "
        "times as much, or more epochs. See also that the label words are words that "
        "the backbone knows: python -m spacy entlm debug CONFIG.",
        name,
        used,
    )
