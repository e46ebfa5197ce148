"""What annotated examples say about classes and their words."""

from typing import Callable, Dict, Iterable, Iterator, List, Tuple

from spacy.tokens import Doc
from spacy.training import Example

from ..label_words.search import OUTSIDE, count_words, search_data
from ..label_words.words import LabelWords


def entity_labels(examples: Iterable[Example]) -> List[str]:
    """The labels of the entities, in order of first appearance."""
    seen: Dict[str, None] = {}
    for eg in examples:
        for ent in eg.reference.ents:
            seen.setdefault(ent.label_)
    return list(seen)


def search_in_examples(
    examples: Iterable[Example],
    labels: List[str],
    fold_word: Callable[[str], Tuple[str, bool]],
) -> LabelWords:
    """Search label words in the entities of annotated examples: the most frequent
    ones that belong to one class (paper, Eq. 5 and 8).

    examples (Iterable[Example]): The examples.
    labels (List[str]): The classes that need words.
    fold_word (Callable): Gives the form in which the backbone reads a word, and
        whether that is one piece of its vocabulary.
    RETURNS (Dict[str, List[str]]): Words per class.
    RAISES (LabelWordError): If a class has no word.
    """
    single: Dict[str, bool] = {}

    def tagged(doc: Doc) -> Iterator[Tuple[str, str]]:
        for token in doc:
            if token.is_space or token.is_punct or token.is_stop or not token.ent_iob:
                continue
            word, is_single = fold_word(token.text)
            single[word] = is_single
            yield word, token.ent_type_ or OUTSIDE

    counts = count_words(tagged(eg.reference) for eg in examples)
    return search_data(
        counts, labels=labels, is_usable=lambda word: single.get(word, False)
    )
