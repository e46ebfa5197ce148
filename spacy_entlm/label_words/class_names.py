"""The words of a class's own name: "political_party" says political and party."""

import re
from collections import Counter
from functools import cache
from typing import Callable, Iterable, List, Optional

from .words import LabelWords

# Shorter ones are mostly abbreviations: PER, FAC, GENR.
MIN_LETTERS = 4
# What says nothing of a class's words.
VAGUE = {
    *("entity", "entities", "item", "misc", "miscellaneous", "name", "names", "other"),
    *("others", "tag", "thing", "type"),
}
# "politicalParty", "HTMLParser"
CAPITAL_WITHIN = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def words_of_names(
    labels: Iterable[str], get_pieces: Callable[[str], List[str]]
) -> LabelWords:
    """Find the words that the names of classes are made of.

    A name is taken apart where a sign, a digit or a capital divides it, and else into
    the fewest words of the vocabulary ("politicalparty"). Words of fewer than four
    letters, vague ones such as "name", and those of two classes do not count.

    labels (Iterable[str]): The classes.
    get_pieces (Callable): Gives a word's pieces in the backbone's vocabulary.
    RETURNS (Dict[str, List[str]]): Words of each class whose name has some.
    """

    @cache
    def is_word(text: str) -> bool:
        return len(get_pieces(text)) == 1

    found = {}
    for label in labels:
        words = [word for part in _parts(label) for word in _split(part, is_word)]
        found[label] = [word for word in dict.fromkeys(words) if word not in VAGUE]
    shared = Counter(word for words in found.values() for word in words)
    for label, words in found.items():
        found[label] = [word for word in words if shared[word] == 1]
    return {label: words for label, words in found.items() if words}


def _parts(label: str) -> List[str]:
    parts = re.findall(r"[^\W\d_]+", CAPITAL_WITHIN.sub(" ", label))
    return [part.lower() for part in parts]


def _split(text: str, is_word: Callable[[str], bool]) -> List[str]:
    """The fewest words that a text without spaces is made of, and of these the longest
    first; none if it cannot be."""
    # Of each beginning of the text, by its length.
    best: List[Optional[List[str]]] = [[]]
    for end in range(1, len(text) + 1):
        ways = [
            [*before, text[start:end]]
            for start, before in enumerate(best[: max(end - MIN_LETTERS + 1, 0)])
            if before is not None and is_word(text[start:end])
        ]
        best.append(min(ways, key=_fewest_longest) if ways else None)
    return best[-1] or []


def _fewest_longest(words: List[str]) -> List[int]:
    return [len(words), *(-len(word) for word in words)]
