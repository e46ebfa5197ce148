"""Names found in plain text by the words that they begin or end with: "University of
Ghana", "Harbour Bridge", "Dr. Osei"."""

import calendar
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import groupby, product
from pathlib import Path
from typing import Any, Collection, Iterable, Iterator, Optional, Sequence

from spacy.tokens import Doc

from ..files.errors import DataError
from ..files.json_lines import read_json
from .entries import Entry
from .labels import check_label

SOURCE = "mined"
LAST, FIRST, BEFORE, FIRST_FROM = KEYS = ("last", "first", "before", "first_from")
# Words in lower case that a name may hold, and which of them stand in a person's.
PARTICLES = frozenset(("de", "la", "da", "di", "del", "van", "von", "bin", "al", "ibn"))
CONNECTORS = (PARTICLES - {"ibn"}) | {"of", "the", "and", "&", "for", "le", "du"}
TWO_CONNECTORS = (("of", "the"), ("for", "the"))
AND = "and"
# Capitalised wherever they stand, and never a name of their own.
CALENDAR = frozenset((*calendar.month_name[1:], *calendar.day_name))
# Words of a name: before one that it ends with, after one that it begins with, and of
# a person's.
MAX_BEFORE, MAX_AFTER, MAX_OF_PERSON = 6, 4, 4
# A name found under two labels needs this many times as many places with the one.
CLEARLY = 2


@dataclass
class NamePatterns:
    """How names of each label look: words that they end with, one or two that they
    begin with, words before them and no part of them, words that begin a name of a
    few words, as given names do; and the labels of words that are names already."""

    last: dict[str, str] = field(default_factory=dict)
    first: dict[tuple[str, ...], str] = field(default_factory=dict)
    before: dict[str, str] = field(default_factory=dict)
    given: dict[str, str] = field(default_factory=dict)
    known: dict[str, set[str]] = field(default_factory=dict)


def read_patterns(path: Path, lexicon: Sequence[Entry] = ()) -> NamePatterns:
    """Read how names look.

    path (Path): JSON, {label: {"last": [words], "first": [words], "before": [words],
        "first_from": source}}: `first_from` takes the lexicon's names of a source.
    lexicon: Names that are known.
    RAISES (DataError): If the file cannot be read, or says something else.
    """
    data = read_json(path)
    if not isinstance(data, dict) or not data:
        raise DataError('holds no {label: {"last": [words], ...}}', path=path)
    patterns = NamePatterns()
    for entry in lexicon:
        patterns.known.setdefault(entry.name, set()).add(entry.label)
    for label, given in data.items():
        check_label(label)
        if problem := _find_problem(given):
            raise DataError(f"{label}: {problem}", path=path)
        patterns.last.update(dict.fromkeys(given.get(LAST, []), label))
        patterns.before.update(dict.fromkeys(given.get(BEFORE, []), label))
        for phrase in given.get(FIRST, []):
            patterns.first[tuple(phrase.split())] = label
        if (source := given.get(FIRST_FROM)) is not None:
            names = [entry.name for entry in lexicon if entry.source == source]
            if not names:
                problem = f"the lexicon has no name with the source {source!r}"
                raise DataError(f"{label}: {problem}", path=path)
            for name in names:
                patterns.given[name] = label
    return patterns


def _find_problem(given: Any) -> Optional[str]:
    if not isinstance(given, dict) or not set(given) <= set(KEYS):
        return f"may have {', '.join(KEYS)}"
    for key in (LAST, FIRST, BEFORE):
        words = given.get(key, [])
        if not isinstance(words, list) or not all(
            word and isinstance(word, str) for word in words
        ):
            return f"{key} must be a list of words"
    if not isinstance(given.get(FIRST_FROM, ""), str):
        return f"{FIRST_FROM} must be a source"
    return None


def mine_names(
    docs: Iterable[Doc], patterns: NamePatterns, stop_words: Collection[str] = ()
) -> list[Entry]:
    """Find names in plain text, but not those that are known.

    stop_words (Collection[str]): In lower case; a name does not begin with one.
    RETURNS: In the order in which they first come, with the number of places as weight.
        A name that is found under several labels has the one that is clearly more
        frequent, else none.
    """
    counts: dict[str, Counter] = defaultdict(Counter)
    for doc in docs:
        words = [token.text for token in doc]
        for run in _capitalised_runs(words):
            for part in _parts(run, stop_words):
                name, label = _match(part, patterns, stop_words)
                if label is not None:
                    counts[" ".join(name)][label] += 1
    entries = []
    for text, labels in counts.items():
        (label, count), *others = labels.most_common(2)
        unclear = any(other * CLEARLY > count for _, other in others)
        if not unclear and text not in patterns.known:
            entries.append(Entry(text, label, float(count), SOURCE))
    return entries


def _is_capitalised(word: str) -> bool:
    return word[:1].isupper() and word not in CALENDAR


def _capitalised_runs(words: Sequence[str]) -> Iterator[list[str]]:
    """Capitalised words beside each other, and connectors between them."""
    start, n = 0, len(words)
    while start < n:
        end = start
        while end < n:
            # "of the" connects as "of" does; nothing stands before the first word.
            gap = 0
            if end > start and words[end] in CONNECTORS:
                gap = 2 if tuple(words[end : end + 2]) in TWO_CONNECTORS else 1
            if end + gap >= n or not _is_capitalised(words[end + gap]):
                break
            end += gap + 1
        if end > start:
            yield list(words[start:end])
        start = max(end, start + 1)


def _parts(run: list[str], stop_words: Collection[str]) -> Iterator[list[str]]:
    """A run cut at each "and", without stop words and connectors around it."""
    parts = [list(words) for is_and, words in groupby(run, AND.__eq__) if not is_and]
    for part in parts:
        while part and (part[0] in CONNECTORS or part[0].lower() in stop_words):
            part.pop(0)
        while part and part[-1] in CONNECTORS:
            part.pop()
        if len(part) > 1:
            yield part


def _match(
    part: list[str], patterns: NamePatterns, stop_words: Collection[str]
) -> tuple[list[str], Optional[str]]:
    """The name in a part and its label, None if it looks like none."""
    for i in range(min(len(part) - 1, MAX_BEFORE), 0, -1):
        label = patterns.last.get(part[i])
        if label is not None:
            return part[: i + 1], label
    for i, n in product(range(len(part)), (2, 1)):
        label = patterns.first.get(tuple(part[i : i + n]))
        if label is not None and 0 < len(part) - i - n <= MAX_AFTER:
            return part[i:], label
    return _match_person(part, patterns, stop_words)


def _match_person(
    part: list[str], patterns: NamePatterns, stop_words: Collection[str]
) -> tuple[list[str], Optional[str]]:
    label, name = patterns.given.get(part[0]), part
    if label is None:
        label, name = patterns.before.get(part[0]), part[1:]
    if label is None:
        return [], None
    end = 1
    while end < min(len(name), MAX_OF_PERSON) and (
        _is_capitalised(name[end]) or (name[end] in PARTICLES and end + 1 < len(name))
    ):
        end += 1
    name = name[:end]
    others = any(label not in patterns.known.get(word, {label}) for word in name)
    is_title = any(word in patterns.before for word in name)
    is_name = not (others or is_title or name[0].lower() in stop_words)
    return name, label if is_name else None
