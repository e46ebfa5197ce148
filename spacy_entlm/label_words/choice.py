"""Who decides which words stand for a class."""

import logging
from collections import Counter
from typing import Callable, Iterable, List, Optional

from .class_names import is_of_names, last_part
from .words import LabelWords

logger = logging.getLogger("spacy.entlm")

# Other names of the classes that backbones bring words for.
SYNONYMS = {
    **{"person": "per", "people": "per", "location": "loc", "place": "loc"},
    **{"organization": "org", "organisation": "org", "miscellaneous": "misc"},
    "norp": "nationality",
    **dict.fromkeys(("petitioner", "claimant", "appellant"), "plaintiff"),
    **dict.fromkeys(("respondent", "appellee"), "defendant"),
    **dict.fromkeys(("attorney", "counsel", "advocate"), "lawyer"),
    **{"statute": "law", "legislation": "law", "precedent": "case"},
    **{"business": "company", "corporation": "company", "movie": "film"},
    **{"medication": "drug", "medicine": "drug", "theatre": "theater"},
}

# Gets classes, and the words of those that have the name of one of the backbone's, and
# of those whose names end with one.
Recognise = Callable[[List[str], LabelWords, LabelWords], LabelWords]


def choose_label_words(
    wanted: LabelWords,
    backbone_words: LabelWords,
    search: Callable[[List[str]], LabelWords],
    words_of_names: Callable[[List[str]], LabelWords],
    recognise: Optional[Recognise] = None,
) -> LabelWords:
    """Decide the label words of each class.

    | A class gets             | where                                               |
    | ------------------------ | --------------------------------------------------- |
    | the words that are given | there are some: in the component's `label_words`, to|
    |                          | `add_label`, or in the data's label_words.json      |
    | the backbone's own words | none are given, the backbone learned to say words at|
    |                          | names of such a class, or of one that ends the name |
    |                          | ("political_party" is a party), or means the same   |
    |                          | ("road": street), or wins at the entities of the    |
    |                          | examples, where there are some; and none of these   |
    |                          | words is given or found for another class           |
    | words that are searched  | else: by the project in text that a lexicon         |
    |                          | annotated, where there is some                      |
    | the words of its name    | else, as the component searches: "political_party"  |
    |                          | says political and party                            |
    | words of its examples    | else, where the name has no word ("GPE"), or the    |
    |                          | examples use it for something else, too; numbers and|
    |                          | frequent words only where there is no other         |

    The backbone's own come before searched ones since they measure better (wikigold
    and the project's own corpus, docs/label_words.md), so nothing is searched that is
    not needed.

    wanted (Dict[str, List[str]]): The classes with the words that are given, or none.
    backbone_words (Dict[str, List[str]]): Words that the backbone brings for classes.
    search (Callable[[List[str]], LabelWords]): Searches words of some classes; one that
        it finds none for may be missing.
    words_of_names (Callable[[List[str]], LabelWords]): The words that names of classes
        are made of; it is asked where a name as a whole says nothing.
    recognise (Optional[Recognise]): Finds by the examples which classes are like one of
        the backbone's, and gives the words of that.
    RETURNS (Dict[str, List[str]]): Words, or none, of all classes, in their order.
    """
    given = {label: words for label, words in wanted.items() if words}
    without = [label for label in wanted if label not in given]
    own = named = match_class_names(without, backbone_words)
    others = [label for label in without if label not in own]
    if backbone_words and without:
        alike = _match_last_words(others, words_of_names(others), backbone_words, own)
        named = own | alike
        own = named if recognise is None else recognise(without, own, alike)
    missing = [label for label in without if label not in own]
    found = search(missing) if missing else {}
    # A playlist may be called "Country Classics": a class's own name is no other one's.
    names = {word for x in named if x in own for word in own[x] if word in x.casefold()}
    found = {
        x: [w for w in some if w not in names] or some for x, some in found.items()
    }
    # Where GPE is a class, too, LOC means something else to the user.
    taken = {word for words in (*given.values(), *found.values()) for word in words}
    clashing, used_up = [], []
    for label in own:  # those that have the name of one first
        if taken.isdisjoint(own[label]) and own[label] not in used_up:
            used_up.append(own[label])
        else:
            clashing.append(label)
    if clashing:
        found = {**found, **search(clashing)}
    used = {label: own[label] for label in own if label not in clashing}
    for source, words in (("found", found), ("of the backbone", used)):
        if words:
            logger.info("Label words %s: %s", source, words)
    chosen = {**given, **found, **used}
    return {label: list(chosen.get(label, [])) for label in wanted}


def match_class_names(labels: Iterable[str], words: LabelWords) -> LabelWords:
    """The classes that a backbone has words for, with these words. Case and a plural's
    "s" do not count, and "person" is "PER", "location" is "LOC" and so on. Those that
    have the name of one come first."""
    with_words = {label: list(some) for label, some in words.items() if some}
    exact = {label.casefold(): some for label, some in with_words.items()}
    by_name = {_plain(label): some for label, some in with_words.items()} | exact
    labels = list(labels)
    found = {x: exact[x.casefold()] for x in labels if x.casefold() in exact}
    for label in labels:
        forms = [label, label[:-1]] if label[-1:].lower() == "s" else [label]
        names = [name for form in forms for name in (form.casefold(), _plain(form))]
        known = next((name for name in names if name in by_name), None)
        if known is not None:
            found.setdefault(label, by_name[known])
    return found


def _match_last_words(
    labels: Iterable[str], names: LabelWords, words: LabelWords, own: LabelWords
) -> LabelWords:
    """The classes whose names end with the name of one of the backbone's, if that is
    no other class's: of "movie_type" and "movie_name" that is the second. names: The
    words of their names. own: Classes known already, with the backbone's words."""
    matched: LabelWords = {}
    for label in labels:
        part = last_part(label)
        ends = [part, *(x for x in names.get(label, [])[-1:] if part.endswith(x))]
        found = match_class_names(ends, words)
        end = next(filter(found.get, ends), None)
        if end is not None:
            matched[label] = found[end]
    named = {label: x for label, x in matched.items() if is_of_names(label)}
    known = [*map(tuple, own.values())]
    counts, of_names = (
        Counter([*map(tuple, some.values()), *known]) for some in (matched, named)
    )
    return {
        label: words
        for label, words in matched.items()
        if counts[tuple(words)] == 1 or (label in named and of_names[tuple(words)] == 1)
    }


def _plain(label: str) -> str:
    folded = label.casefold()
    return SYNONYMS.get(folded, folded)
