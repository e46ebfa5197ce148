"""What annotated examples say about classes and their words."""

import logging
from collections import Counter
from difflib import get_close_matches
from typing import Any, Callable, Iterable, List, Optional, Sequence, Union

import numpy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..label_words.search import OUTSIDE
from ..label_words.words import LabelWords, check_label_words
from ..model.types import NO_ENTITY, NO_TARGET

logger = logging.getLogger("spacy.entlm")

# What spaCy gives for a word whose annotation is missing or misaligned.
UNKNOWN_TAGS = (None, "-")


def annotating_pipes(
    nlp: Language, name: str, annotates: Sequence[str] = ()
) -> List[Any]:
    """Components before one that annotate Docs while it is trained: those that are
    named, and those of the config's `training.annotating_components`.

    name (str): Of the component; all of them count if it is not in the pipeline.
    RAISES (ValueError): If a named one does not stand there.
    """
    names = nlp.pipe_names
    before = names[: names.index(name)] if name in names else names
    for other in annotates:
        if other not in before:
            raise ValueError(
                f"annotates names {other!r}, which is no component before {name!r}; "
                f"these are: {', '.join(before) or 'none'}"
            )
    wanted = nlp.config.interpolate()["training"]["annotating_components"]
    return [nlp.get_pipe(x) for x in before if x in {*wanted, *annotates}]


def annotated_copies(
    examples: Iterable[Example], pipes: Iterable[Callable[[Doc], Doc]]
) -> List[Example]:
    """Examples whose predicted Docs are copies, as components leave them."""
    examples = list(examples)
    docs = [eg.predicted.copy() for eg in examples]
    for pipe in pipes:
        docs = [pipe(doc) for doc in docs]
    return [Example(doc, eg.reference) for doc, eg in zip(docs, examples)]


def count_entities(examples: Iterable[Example]) -> Counter[str]:
    """Entities by label, in order of first appearance."""
    return Counter(ent.label_ for eg in examples for ent in eg.reference.ents)


def entity_labels(examples: Iterable[Example]) -> List[str]:
    """The labels of the entities, in order of first appearance."""
    return list(count_entities(examples))


def plain_label_words(
    label_words: Optional[LabelWords], labels: Iterable[str]
) -> LabelWords:
    """A label-word map whose keys are classes and no tags ("I-PER").

    labels (Iterable[str]): The classes, of which one may be called "B-CELL".
    RAISES (LabelWordError): If this is no label-word map.
    """
    words = label_words or {}
    return check_label_words(words, tags=not {*words} & {*labels})


def wanted_labels(
    found: Iterable[str],
    labels: Optional[Union[LabelWords, Sequence[str]]],
    words: LabelWords,
    added: LabelWords,
) -> LabelWords:
    """The classes of a component, with their label words or none yet.

    labels (Optional): All classes, or their label-word map. Without it the classes are
        those `added` with `add_label`, those of `words`, and those `found` in the
        examples.
    RAISES (LabelWordError): If a map is no label-word map.
    """
    if isinstance(labels, dict):
        words = {**check_label_words(labels, tags=False), **words}
    if labels:
        return {label: words.get(label, []) for label in labels}
    seen = dict.fromkeys([*added, *words, *found])
    return {label: words.get(label) or added.get(label, []) for label in seen}


def warn_of_unknown_labels(
    name: str, label_words: Iterable[str], labels: Iterable[str], known: Iterable[str]
) -> None:
    """Warn of label words for classes that no example has: often a name is misspelled.

    name (str): The component's. labels (Iterable[str]): Classes of the examples.
    known (Iterable[str]): Classes that are named otherwise, and so are meant.
    """
    labels = list(labels)
    folded = {label.casefold(): label for label in labels}
    for label in label_words:
        if label in labels or label in known:
            continue
        near = get_close_matches(label.casefold(), folded, n=1)
        hint = f": is {folded[near[0]]} meant?" if near else ""
        what = f"No example has the class {label}, for which there are label words"
        logger.warning("[%s] %s%s", name, what, hint)


def aligned_tags(example: Example) -> Sequence[Optional[str]]:
    """BILUO tags of the predicted Doc's words; None where annotation is missing. The
    gold Doc may be of another vocabulary."""
    for ent in example.reference.ents:
        example.predicted.vocab.strings.add(ent.label_)
    return example.get_aligned_ner()


def word_targets(
    examples: Iterable[Example], labels: Sequence[str], name: str
) -> numpy.ndarray:
    """The class of each word, aligned with the predicted Docs' words.

    name (str): The component's, for the message.
    RETURNS: int64 (n_words), class index, NO_ENTITY, or NO_TARGET where annotation is
        missing or misaligned.
    RAISES (ValueError): If an entity's label is none of the classes.
    """
    index = {label: i for i, label in enumerate(labels)}
    targets: List[int] = []
    for eg in examples:
        for tag in aligned_tags(eg):
            if tag in UNKNOWN_TAGS:
                targets.append(NO_TARGET)
            elif tag == OUTSIDE:
                targets.append(NO_ENTITY)
            elif tag[2:] in index:
                targets.append(index[tag[2:]])
            else:
                raise ValueError(
                    f"[{name}] An example has the label {tag[2:]!r}, which is none of "
                    f"{list(index)}. Add it with add_label({tag[2:]!r}, [label words]) "
                    f"or initialize with examples that have it."
                )
    return numpy.array(targets, dtype="int64")
