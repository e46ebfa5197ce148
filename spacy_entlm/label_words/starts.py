"""How a class begins, and the one function that decides.

| a class gets                  | where                                                |
| ----------------------------- | ---------------------------------------------------- |
| the texts that are given      | there are some: label words, or a description, in the|
|                               | component's `label_words`, to `add_label`, or in the |
|                               | data's label_words.json; a description counts beside |
|                               | its name, if that says something                     |
| its name                      | the backbone makes rows from names (`name_map`), and |
|                               | `start` is not "words"                               |
| words that are searched       | `start` is "words" or "both", or the backbone makes  |
|                               | no rows from names: by the project, in text that a   |
|                               | lexicon annotated, where there is some               |
| the words of its name         | else, where there is none: "political_party" says    |
|                               | political and party                                  |
| words of its examples         | else, where the name has no word ("GPE"), or the     |
|                               | examples use it for something else, too              |
"""

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import Callable, Dict, FrozenSet, List, Optional

from .names import ReadName, is_description, read_names, read_text
from .words import LabelWords

# What `start` may be; None: by names where the backbone makes rows from them.
NAME, WORDS, BOTH = START_MODES = ("name", "words", "both")

# Of the row of a class that has a name and a description, what the description gives: a
# name alone has an F1 of 61.7 where a description has 46.6 and their mean 56.6; with a
# tenth it is 61.6 (four data sets of docs/label_words.md).
DESCRIPTION_SHARE = 0.1

Search = Callable[[List[str]], LabelWords]


@dataclass(frozen=True)
class Start:
    """How a class begins: its row is the mean of those that its names and its words
    have, where it has both.

    names: Texts that the backbone reads, such as "chemical compound".
    words: Label words, whose rows in the output matrix count.
    descriptions: Longer texts that the backbone reads beside names, and that count less
        than these (DESCRIPTION_SHARE).
    """

    names: List[str] = field(default_factory=list)
    words: List[str] = field(default_factory=list)
    descriptions: List[str] = field(default_factory=list)

    @property
    def texts(self) -> List[str]:
        """All of them."""
        return [*self.names, *self.descriptions, *self.words]


def check_start(start: Optional[str]) -> None:
    """RAISES (ValueError): If there is no such mode."""
    if start is not None and start not in START_MODES:
        known = ", ".join(map(repr, START_MODES))
        raise ValueError(f"start is one of {known}, or null, not {start!r}")


def choose_starts(
    wanted: LabelWords,
    *,
    reads_names: bool,
    start: Optional[str] = None,
    searched: Optional[LabelWords] = None,
    search: Optional[Search] = None,
) -> Dict[str, Start]:
    """Decide how each class begins (see the table above).

    wanted (Dict[str, List[str]]): The classes with the texts that are given, or none.
    reads_names (bool): Whether the backbone makes rows from names.
    start (Optional[str]): "name", "words" or "both".
    searched (Optional[Dict[str, List[str]]]): Words that were searched.
    search (Optional[Callable]): Finds words of some classes, where it is needed.
    RETURNS (Dict[str, Start]): Of all classes, in their order.
    """
    searched = {k: words for k, words in (searched or {}).items() if words}
    by_name = reads_names and start != WORDS
    by_words = not reads_names or start in (WORDS, BOTH)
    words: LabelWords = {}
    if by_words:
        given = {} if by_name else {k: some for k, some in wanted.items() if some}
        words = {**searched, **given}
        # By names alone a class has a row already.
        missing = [] if by_name else [k for k in wanted if not words.get(k)]
        if missing and search is not None:
            words.update(search(missing))
    starts = {}
    read = read_names(wanted) if by_name else {}
    for label, given_texts in wanted.items():
        named = _by_name(read[label], given_texts) if by_name else Start()
        starts[label] = replace(named, words=list(words.get(label, [])))
    return starts


def _by_name(read: ReadName, given: List[str]) -> Start:
    """How a class begins by its name, or by the texts that are given for it."""
    texts = list(dict.fromkeys(map(read_text, given))) or [read.text]
    names = [text for text in texts if not is_description(text)]
    descriptions = [text for text in texts if is_description(text)]
    if not names and read.says and not is_description(read.text):
        names = [read.text]
    if not names:
        return Start(descriptions)
    return Start(names, descriptions=descriptions)


def starts_again(
    texts: LabelWords, *, reads_names: bool, start: Optional[str] = None
) -> Dict[str, Start]:
    """How classes began, from the texts by which they did (`Start.texts`).
    reads_names, start: As of `choose_starts`, then."""
    if not reads_names or start != BOTH:
        return choose_starts(
            texts, reads_names=reads_names, start=start, searched=texts
        )
    starts = {}
    read = read_names(texts)
    for label, some in texts.items():
        # What was searched stands after the name and its descriptions; given texts are
        # all read as names.
        searched = [text for text in some[1:] if not is_description(text)]
        is_name = some[:1] == [read[label].text]
        n_names = len(some) - len(searched) if is_name else len(some)
        named = _by_name(read[label], some[:n_names])
        starts[label] = replace(named, words=some[n_names:])
    return starts


def alike_starts(starts: Dict[str, Start]) -> List[List[str]]:
    """Classes that begin with the same texts, so that nothing but examples tells them
    apart."""
    by_texts: Dict[FrozenSet[str], List[str]] = defaultdict(list)
    for label, start in starts.items():
        by_texts[frozenset(start.texts)].append(label)
    return [some for some in by_texts.values() if len(some) > 1]
