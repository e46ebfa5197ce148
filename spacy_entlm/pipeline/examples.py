"""What annotated examples say about classes and their words."""

import logging
from collections import Counter
from difflib import get_close_matches
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

from ..label_words.class_names import words_of_names
from ..label_words.search import (
    CONFLICT_THRESHOLD,
    DATA,
    OUTSIDE,
    TOP_K,
    Counts,
    SearchSettings,
    count_words,
    search_label_words,
)
from ..label_words.words import LabelWordError, LabelWords, check_label_words
from ..model.types import NO_ENTITY, NO_TARGET

logger = logging.getLogger("spacy.entlm")

# What spaCy gives for a word whose annotation is missing or misaligned.
UNKNOWN_TAGS = (None, "-")


def untrained_before(nlp: Language, name: str) -> List[str]:
    """Components before one that annotate Docs and are not trained themselves, such as
    a sentencizer; all of them if it is not in the pipeline."""
    names = nlp.pipe_names
    before = names[: names.index(name)] if name in names else names
    return [other for other in before if not hasattr(nlp.get_pipe(other), "update")]


def annotated_before(
    examples: Iterable[Example], nlp: Optional[Language], name: str
) -> List[Example]:
    """Examples whose predicted Docs are new ones, as the components before one that
    need no training leave them."""
    examples = list(examples)
    docs = [eg.predicted.copy() for eg in examples]
    for other in [] if nlp is None else untrained_before(nlp, name):
        assert nlp is not None
        docs = [nlp.get_pipe(other)(doc) for doc in docs]
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


def warn_of_same_words(name: str, label_words: LabelWords) -> None:
    """Warn of classes that start alike: what tells them apart is in the examples alone.
    name (str): The component's."""
    by_words: Dict[Tuple[str, ...], List[str]] = {}
    for label, words in label_words.items():
        by_words.setdefault(tuple(sorted(words)), []).append(label)
    for same, labels in by_words.items():
        if len(labels) > 1:
            what = f"{', '.join(labels)} have the same label words ({', '.join(same)})"
            logger.warning("[%s] %s: give each class words of its own", name, what)


def search_in_examples(
    examples: Iterable[Example],
    labels: List[str],
    fold_word: Callable[[str], str],
    get_pieces: Callable[[str], List[str]],
    others: Iterable[str] = (),
) -> LabelWords:
    """Find label words of classes: the words of their names, and where these are none,
    or stand for something else in the examples, too, words of the entities: the most
    frequent ones that belong to one class (paper, Eq. 5 and 8).

    labels (List[str]): The classes that need words.
    fold_word (Callable): Gives the form in which the backbone reads a word.
    get_pieces (Callable): Gives a word's pieces in the backbone's vocabulary. Words of
        several are taken only where none of one is left.
    others (Iterable[str]): Other classes: what two are called says nothing of either.
    RAISES (LabelWordError): If a class has no word.
    """

    def tagged(doc: Doc) -> Iterator[Tuple[str, str]]:
        for token in doc:
            if token.is_space or token.is_punct or token.is_stop or not token.ent_iob:
                continue
            yield fold_word(token.text), token.ent_type_ or OUTSIDE

    docs = [eg.reference for eg in examples]
    counts = count_words(map(tagged, docs))
    names = words_of_names(dict.fromkeys([*labels, *others]), get_pieces)
    words: LabelWords = {
        label: [word for word in names[label] if not _is_ambiguous(word, label, counts)]
        for label in labels
        if label in names
    }
    # Few examples can be so short of words that all are ambiguous: a word that is also
    # used otherwise still says more than none.
    for threshold in (CONFLICT_THRESHOLD, 0.0):
        missing = [label for label in labels if not words.get(label)]
        found = search_label_words(
            counts,
            settings=SearchSettings(method=DATA, threshold=threshold),
            labels=missing,
            get_pieces=get_pieces,
        )
        for label, search in found.items():
            single = [c.word for c in search.chosen if len(c.pieces or []) == 1]
            words[label] = single or search.words
    for label in labels:
        if not words[label]:  # its entities are numbers, or such as "before"
            words[label] = _any_words(docs, label, fold_word, get_pieces)
    if without := [label for label in labels if not words[label]]:
        raise LabelWordError(
            f"Found no label word for {', '.join(map(repr, without))}: no entity of "
            f"this class in the examples holds a word. Give some in "
            f"[initialize.components] label_words, or annotate an example.",
            without,
        )
    return words


def _any_words(
    docs: Iterable[Doc],
    label: str,
    fold_word: Callable[[str], str],
    get_pieces: Callable[[str], List[str]],
) -> List[str]:
    """The most frequent tokens of a class's entities, of one piece where there are."""
    tokens = (token for doc in docs for token in doc)
    counts = Counter(fold_word(t.text) for t in tokens if t.ent_type_ == label)
    words = {word: get_pieces(word) for word, _ in counts.most_common() if word.strip()}
    single = [word for word, pieces in words.items() if len(pieces) == 1]
    return (single or [word for word, pieces in words.items() if pieces])[:TOP_K]


def _is_ambiguous(word: str, label: str, counts: Counts) -> bool:
    total = sum(of_class[word] for of_class in counts.values())
    return total > 0 and counts[label][word] <= CONFLICT_THRESHOLD * total


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
