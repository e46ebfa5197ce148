"""Did a training learn anything? What to say if not."""

import logging
from typing import Any, Iterable, List, Optional

from spacy.language import Language
from spacy.training import Example
from spacy.util import registry, resolve_dot_names

from ..pipeline.examples import untrained_before

logger = logging.getLogger("spacy.entlm")

ENTLM_FACTORY = "entlm_ner"
# Components on a masked LM that the recipe trains.
FACTORIES = (ENTLM_FACTORY, "bert_tagger", "nnshot", "structshot")
# Examples that are looked at: enough to find one entity, if any is found.
EXAMPLES_CHECKED = 100


def entlm_names(nlp: Language) -> List[str]:
    """Names of the `entlm_ner` components of a pipeline that are not disabled."""
    return [
        name
        for name in nlp.pipe_names
        if nlp.get_pipe_meta(name).factory == ENTLM_FACTORY
    ]


def recipe_names(nlp: Language) -> List[str]:
    """Names of the components that the recipe trains and that are not disabled."""
    return [
        name for name in nlp.pipe_names if nlp.get_pipe_meta(name).factory in FACTORIES
    ]


def annotating_names(nlp: Language, name: str) -> List[str]:
    """Components before one that annotate Docs while it is trained: those that the
    config names, and those that cannot be trained, such as a sentencizer."""
    before = nlp.pipe_names[: nlp.pipe_names.index(name)]
    named = nlp.config["training"]["annotating_components"]
    untrained = untrained_before(nlp, name)
    return [other for other in before if other in named or other in untrained]


def training_examples(nlp: Language) -> Iterable[Example]:
    """The examples of the training corpus that the pipeline's config names."""
    config = nlp.config.interpolate()
    corpora: Any = registry.resolve({"corpora": config["corpora"]})
    dot_name = config["training"]["train_corpus"]
    (corpus,) = resolve_dot_names(corpora, [dot_name])
    return corpus(nlp)


def finds_no_entity(nlp: Language, name: str, examples: Iterable[Example]) -> bool:
    """Whether a trained component finds no entity in its own examples, though they
    have some.

    nlp (Language): The pipeline. name (str): The component's name.
    examples (Iterable[Example]): Training examples; no more than 100 are looked at.
    """
    pipe: Any = nlp.get_pipe(name)
    with_entities: List[Example] = []
    for eg in examples:
        if eg.reference.ents:
            with_entities.append(eg)
        if len(with_entities) >= EXAMPLES_CHECKED:
            break
    docs = [eg.predicted for eg in with_entities]
    # What annotated them in training (sentences, for a span getter) does so here.
    for other in annotating_names(nlp, name):
        docs = [nlp.get_pipe(other)(doc) for doc in docs]
    found = pipe.predict(docs)
    return bool(docs) and not any(len(entities.spans) for entities in found)


def warn_if_nothing_learned(
    nlp: Language,
    name: str,
    examples: Iterable[Example],
    learn_rate: Optional[float] = None,
) -> bool:
    """Warn if a training ended without finding an entity in its own examples.

    learn_rate (Optional[float]): That of its first step, for the message.
    RETURNS (bool): Whether it warned.
    """
    if not finds_no_entity(nlp, name, examples):
        return False
    used = "" if learn_rate is None else f" (it was {learn_rate:g})"
    logger.warning(
        "[%s] After training no entity is found in the training examples themselves. "
        "Most often the learning rate%s is too small for the backbone: try three "
        "times as much, or more epochs. See also that the label words are words that "
        "the backbone knows: python -m spacy entlm debug CONFIG.",
        name,
        used,
    )
    return True
