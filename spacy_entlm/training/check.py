"""Did a training learn anything? What to say if not."""

import logging
from typing import Iterable, List, Optional

from spacy.language import Language
from spacy.training import Example

logger = logging.getLogger("spacy.entlm")

# Examples that are looked at: enough to find one entity, if any is found.
EXAMPLES_CHECKED = 100


def finds_no_entity(nlp: Language, name: str, examples: Iterable[Example]) -> bool:
    """Whether a trained component finds no entity in its own examples, though they
    have some.

    nlp (Language): The pipeline. name (str): The component's name.
    examples (Iterable[Example]): Training examples; no more than 100 are looked at.
    """
    pipe = nlp.get_pipe(name)
    with_entities: List[Example] = []
    for eg in examples:
        if eg.reference.ents:
            with_entities.append(eg)
        if len(with_entities) >= EXAMPLES_CHECKED:
            break
    found = pipe.predict([eg.predicted for eg in with_entities])  # type: ignore
    return bool(with_entities) and not any(len(doc.spans) for doc in found)


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
