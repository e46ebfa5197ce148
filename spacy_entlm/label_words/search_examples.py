"""Label words from a few annotated examples: of the names of classes, and of their
entities."""

from collections import Counter
from typing import Callable, Iterable, Iterator, List, Tuple

from spacy.tokens import Doc

from .class_names import words_of_names
from .search import (
    CONFLICT_THRESHOLD,
    DATA,
    OUTSIDE,
    TOP_K,
    Counts,
    SearchSettings,
    count_words,
    search_label_words,
)
from .words import LabelWordError, LabelWords


def search_in_examples(
    docs: List[Doc],
    labels: List[str],
    fold_word: Callable[[str], str],
    get_pieces: Callable[[str], List[str]],
    others: Iterable[str] = (),
) -> LabelWords:
    """Find label words of classes: the words of their names, and where these are none,
    or stand for something else in the examples, too, words of the entities: the most
    frequent ones that belong to one class (paper, Eq. 5 and 8).

    docs (List[Doc]): Annotated. labels (List[str]): The classes that need words.
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
