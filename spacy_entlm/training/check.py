"""Did a training learn anything? What to say if not."""

import logging
from itertools import islice
from typing import Any, Collection, Iterable, List, Optional

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


def entlm_names(
    nlp: Language, factories: Collection[str] = (ENTLM_FACTORY,)
) -> List[str]:
    """Names of the components of some factories that are not disabled."""
    return [n for n in nlp.pipe_names if nlp.get_pipe_meta(n).factory in factories]


def trained_names(nlp: Language) -> List[str]:
    """Names of the components that the recipe trains and that have weights already."""
    pipes: List[Any] = [
        (name, nlp.get_pipe(name)) for name in entlm_names(nlp, FACTORIES)
    ]
    return [name for name, pipe in pipes if pipe.is_initialized]


def annotating_names(nlp: Language, name: str) -> List[str]:
    """Components before one that annotate Docs while it is trained: those that the
    config names, and those that cannot be trained, such as a sentencizer."""
    before = nlp.pipe_names[: nlp.pipe_names.index(name)]
    wanted = nlp.config.interpolate()["training"]["annotating_components"]
    wanted = {*wanted, *untrained_before(nlp, name)}
    return [other for other in before if other in wanted]


def training_examples(nlp: Language) -> Iterable[Example]:
    """The examples of the training corpus that the pipeline's config names."""
    config = nlp.config.interpolate()
    corpora: Any = registry.resolve({"corpora": config["corpora"]})
    (corpus,) = resolve_dot_names(corpora, [config["training"]["train_corpus"]])
    return corpus(nlp)


def warn_if_nothing_learned(
    nlp: Language,
    name: str,
    examples: Iterable[Example],
    learn_rate: Optional[float] = None,
) -> None:
    """Warn if a trained component finds no entity in its own examples, though they
    have some.

    examples (Iterable[Example]): Training examples; no more than 100 are looked at.
    learn_rate (Optional[float]): That of the first step, for the message.
    """
    with_entities = (eg.predicted for eg in examples if eg.reference.ents)
    docs = list(islice(with_entities, EXAMPLES_CHECKED))
    # What annotated them in training (sentences, for a span getter) does so here.
    for other in annotating_names(nlp, name):
        docs = [nlp.get_pipe(other)(doc) for doc in docs]
    pipe: Any = nlp.get_pipe(name)
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


def only_entlm(nlp: Language) -> Any:
    """The `entlm_ner` of a pipeline.
    RAISES (ValueError): If there is none or another, or one of its peers."""
    names = entlm_names(nlp, FACTORIES)
    if len(names) != 1 or names != entlm_names(nlp):
        found = ", ".join(names) or "none"
        raise ValueError(f"This wants one entlm_ner, and no peer; found {found}")
    return nlp.get_pipe(names[0])
