"""Counts of words per class."""

from collections import Counter
from typing import Callable, Iterable, Iterator, Tuple

from spacy.tokens import Doc

from .search import OUTSIDE, Counts, count_words


def count_docs(docs: Iterable[Doc]) -> Counts:
    """Count how often each word of annotated Docs stands inside each class.

    docs (Iterable[Doc]): Annotated. Words whose annotation is missing do not count.
    RETURNS (Dict[str, Counter]): Per class, "O" among them, word -> count.
    """

    def tagged(doc: Doc) -> Iterator[Tuple[str, str]]:
        for token in doc:
            if token.ent_iob and not token.is_space:
                yield token.text, token.ent_type_ or OUTSIDE

    return dict(count_words(tagged(doc) for doc in docs))


def fold_counts(counts: Counts, fold: Callable[[str], str]) -> Counts:
    """Count words by the form in which a backbone reads them.

    fold (Callable[[str], str]): Gives that form; empty: the word is left out.
    RETURNS (Dict[str, Counter]): Words of one form are added up.
    """
    folded: Counts = {}
    for label, counter in counts.items():
        folded[label] = Counter()
        for word, count in counter.items():
            form = fold(word)
            if form:
                folded[label][form] += count
    return folded
