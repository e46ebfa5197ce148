"""What annotated examples say about classes and their words."""

from typing import (
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    Optional,
    Sequence,
    Tuple,
    Union,
)

import numpy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..label_words.search import OUTSIDE, count_words, search_data
from ..label_words.words import LabelWords, check_label_words
from ..model.types import NO_ENTITY, NO_TARGET

# What spaCy gives for a word whose annotation is missing or misaligned.
UNKNOWN_TAGS = (None, "-")


def untrained_before(nlp: Language, name: str) -> List[str]:
    """Components before one that annotate Docs and are not trained themselves, such as
    a sentencizer; all of them if it is not in the pipeline."""
    names = nlp.pipe_names
    before = names[: names.index(name)] if name in names else names
    return [other for other in before if not hasattr(nlp.get_pipe(other), "update")]


def entity_labels(examples: Iterable[Example]) -> List[str]:
    """The labels of the entities, in order of first appearance."""
    seen: Dict[str, None] = {}
    for eg in examples:
        for ent in eg.reference.ents:
            seen.setdefault(ent.label_)
    return list(seen)


def wanted_labels(
    get_examples: Callable[[], Iterable[Example]],
    labels: Optional[Union[LabelWords, Sequence[str]]],
    label_words: Optional[LabelWords],
    added: LabelWords,
) -> LabelWords:
    """The classes of a component, with their label words or none yet.

    labels (Optional): All classes, or their label-word map. Without it the classes are
        those added before, those of `label_words` and those of the examples.
    label_words (Optional[Dict[str, List[str]]]): Label words that are given.
    added (Dict[str, List[str]]): What `add_label` was called with.
    RAISES (LabelWordError): If a map is no label-word map.
    """
    found = labels or entity_labels(get_examples())
    # A class may be called "B-CELL": keys that are classes are not taken for tags.
    tags = not any(key in found for key in label_words or {})
    words = check_label_words(label_words or {}, tags=tags)
    if isinstance(labels, dict):
        words = {**check_label_words(labels, tags=False), **words}
    if labels:
        return {label: words.get(label, []) for label in labels}
    seen = dict.fromkeys([*added, *words, *found])
    return {label: words.get(label) or added.get(label, []) for label in seen}


def search_in_examples(
    examples: Iterable[Example],
    labels: List[str],
    fold_word: Callable[[str], str],
    get_pieces: Callable[[str], List[str]],
) -> LabelWords:
    """Search label words in the entities of annotated examples: the most frequent
    ones that belong to one class (paper, Eq. 5 and 8).

    examples (Iterable[Example]): The examples.
    labels (List[str]): The classes that need words.
    fold_word (Callable): Gives the form in which the backbone reads a word.
    get_pieces (Callable): Gives a word's pieces in the backbone's vocabulary.
    RETURNS (Dict[str, List[str]]): Words per class.
    RAISES (LabelWordError): If a class has no word.
    """

    def tagged(doc: Doc) -> Iterator[Tuple[str, str]]:
        for token in doc:
            if token.is_space or token.is_punct or token.is_stop or not token.ent_iob:
                continue
            yield fold_word(token.text), token.ent_type_ or OUTSIDE

    counts = count_words(tagged(eg.reference) for eg in examples)
    return search_data(
        counts, labels=labels, is_usable=lambda word: len(get_pieces(word)) == 1
    )


def word_targets(
    examples: Iterable[Example], labels: Sequence[str], name: str
) -> numpy.ndarray:
    """The class of each word, aligned with the predicted Docs' words.

    examples (Iterable[Example]): The batch.
    labels (Sequence[str]): The classes. name (str): The component's, for the message.
    RETURNS: int64 (n_words), class index, NO_ENTITY, or NO_TARGET where annotation is
        missing or misaligned.
    RAISES (ValueError): If an entity's label is none of the classes.
    """
    index = {label: i for i, label in enumerate(labels)}
    targets: List[int] = []
    for eg in examples:
        for tag in eg.get_aligned_ner():
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
