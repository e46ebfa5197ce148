"""Tags of a tagging scheme: from classes, from annotation, and back to entities."""

from dataclasses import replace
from typing import Any, Dict, Iterable, List, Sequence

import numpy
from spacy.tokens import Doc
from spacy.training import Example

from ...decoding.io import IODecoder, find_entities, to_host
from ...decoding.types import DocEntities, LabelScores
from ..examples import word_targets

IO, BIO = "io", "bio"
SCHEMES = (IO, BIO)
# Of the two tags of a class in the BIO scheme: that of an entity's first word is even.
TAGS_OF_CLASS = 2
# What spaCy gives for the first word of an entity.
FIRST_WORD = ("B", "U")


def tag_names(labels: Iterable[str], scheme: str) -> List[str]:
    """The tags of classes, "no entity" left out."""
    if scheme == IO:
        return list(labels)
    return [f"{part}-{label}" for label in labels for part in ("B", "I")]


def tagged_classes(tags: Sequence[str], scheme: str) -> List[str]:
    """Undo `tag_names`.

    RAISES (ValueError): If the tags are none of that scheme.
    """
    classes = [tag[2:] for tag in tags[::TAGS_OF_CLASS]]
    paired = bool(tags) and tag_names(classes, BIO) == list(tags)
    if paired != (scheme == BIO) and tags:
        other = BIO if paired else IO
        raise ValueError(
            f"The model's tags, {list(tags)}, are those of the scheme {other!r}, and "
            f"the setting says {scheme!r}"
        )
    return classes if paired else list(tags)


def tag_targets(
    examples: Iterable[Example], labels: Sequence[str], name: str, scheme: str
) -> numpy.ndarray:
    """The tag of each word, as `word_targets` gives its class.

    RETURNS: int64 (n_words), tag index, NO_ENTITY or NO_TARGET.
    RAISES (ValueError): If an entity's label is none of the classes.
    """
    examples = list(examples)
    targets = word_targets(examples, labels, name)
    if scheme == IO:
        return targets
    begins = [
        bool(tag) and tag[0] in FIRST_WORD
        for eg in examples
        for tag in eg.get_aligned_ner()
    ]
    inner = ~numpy.array(begins, dtype=bool)
    return numpy.where(targets >= 0, TAGS_OF_CLASS * targets + inner, targets)


class BioDecoder(IODecoder):
    """Reads entities from BIO tags: one begins with a B, or with an I of another class
    than the word before. Its confidence is the mean over its words of p(tag)."""

    def __call__(self, scores: LabelScores, docs: List[Doc]) -> List[DocEntities]:
        """Decode the words of some Docs.

        scores (LabelScores): Of tags. docs (List[Doc]): The Docs.
        """
        tags, confidence = to_host(scores)
        begins = tags % TAGS_OF_CLASS == 0
        classes = numpy.where(tags >= 0, tags // TAGS_OF_CLASS, tags)
        by_class: Dict[str, Any] = {"best": classes, "confidence": confidence}
        return find_entities(replace(scores, **by_class), docs, begins)
