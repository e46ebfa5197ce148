"""Label words that a backbone brings along: those that it learned to say at names."""

from typing import Iterable

from .words import LabelWords

# Other names of the classes that such backbones know.
SYNONYMS = {
    **{"person": "per", "people": "per", "location": "loc", "place": "loc"},
    **{"organization": "org", "organisation": "org", "miscellaneous": "misc"},
}


def match_own(labels: Iterable[str], own: LabelWords) -> LabelWords:
    """The classes that a backbone has words for.

    labels (Iterable[str]): The classes. Their case does not count, and "person" is
        "PER", "location" is "LOC" and so on.
    own (Dict[str, List[str]]): The backbone's words.
    RETURNS (Dict[str, List[str]]): Its words, by the names of the classes.
    """
    by_name = {_plain(label): list(words) for label, words in own.items() if words}
    known = [label for label in labels if _plain(label) in by_name]
    return {label: by_name[_plain(label)] for label in known}


def prefer_own(words: LabelWords, own: LabelWords) -> LabelWords:
    """Take a backbone's own words in place of those that were found.

    words (Dict[str, List[str]]): What was found, by class.
    own (Dict[str, List[str]]): The backbone's words.
    RETURNS (Dict[str, List[str]]): All classes of `words`. A class keeps what was found
        if one of its own words stands for another class that has none: where GPE is a
        class too, LOC means something else.
    """
    known = match_own(words, own)
    others = {w for label in words if label not in known for w in words[label]}
    usable = {label: own for label, own in known.items() if others.isdisjoint(own)}
    return {**words, **usable}


def _plain(label: str) -> str:
    folded = label.casefold()
    return SYNONYMS.get(folded, folded)
