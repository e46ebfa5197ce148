"""The names of a lexicon in text: longest match with an Aho-Corasick automaton.

Names and texts are compared as sequences of runs of letters and digits, and single
other characters: "U.S." is U . S . whether a tokenizer splits it or not. A match
begins and ends where words of the text do. Typographic quotes and dashes equal plain
ones, and composed letters decomposed ones.
"""

import re
import unicodedata
from functools import lru_cache
from itertools import accumulate
from typing import Collection, Iterable, Iterator, NamedTuple, Optional, Sequence

from ahocorasick_rs import BytesAhoCorasick
from spacy.tokens import Doc, Span, Token

from ..files.errors import DataError
from ..files.text import LINE_BREAK
from .entries import Entry, choose_label

EXACT, LOWER, CAPITALISED = CASE_RULES = ("exact", "lower", "capitalised")

# Written small inside capitalised names of the languages whose names are written in
# Latin letters: "University of the Arts", "Sociedad de San Vicente y Santa Ana".
_CONNECTING = """a al and at bin by d da das de del della den der des di do dos du e el
en et for from ibn in l la las le les los of on s the to und van von y zu zum zur"""
CONNECTING_WORDS = frozenset(_CONNECTING.split())

_ATOM = re.compile(r"\w+|[^\w\s]")
_PLAIN = str.maketrans("‘’‛′“”‟″‐‑‒–—−", "''''\"\"\"\"------")
# Both are blanks for the pattern above, so no atom holds them.
_END = b"\x1f"
_LINE_BREAK = b"\x1e" + _END
# Distinct words of text whose encoding is kept: some 200 MB, in long runs only.
_MAX_CACHED_WORDS = 1_000_000

Words = Doc | Sequence[str]


class Match(NamedTuple):
    """A name in a text: its first word, the word after it, its class, the name."""

    start: int
    end: int
    label: str
    name: str


class Matches(NamedTuple):
    """What is found in a text: names with a class, and those left out as ambiguous."""

    labelled: list[Match]
    ambiguous: list[Match]


class _Name(NamedTuple):
    text: str
    label: Optional[str]
    # As the lexicon writes it, if it writes it with a capital.
    spelling: Optional[bytes]


def encode(text: str, *, fold: bool) -> bytes:
    """A name or a word as the automaton reads it: its atoms, each with an end mark;
    empty for blanks. fold (bool): Whether case is disregarded."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text.translate(_PLAIN))
    atoms = _ATOM.findall(text.casefold() if fold else text)
    # Lone surrogates, which a Doc cannot hold but a list of words can, stay apart.
    return "".join(f"{atom}\x1f" for atom in atoms).encode("utf-8", "surrogatepass")


class LexiconMatcher:
    """Finds the names of a lexicon in texts.

    At each place the longest name that fits is taken, from left to right. A name that
    is under several labels gets the heaviest; if none is heavier than the others, its
    words stay without a label, those of a shorter name inside it too.

    case (str): "exact": the text spells the name as the lexicon does. "lower": case is
        disregarded. "capitalised": case is disregarded, but the words in the text must
        be capitalised: each has a capital or has no case, except connecting words
        ("of", "de") after the first, and except where the text has the very spelling
        of a lexicon that writes this name with a capital.
    min_length (int), stop_words (Collection[str]): Leave out names of fewer characters,
        and those that are one of these words, in any case.
    skip_initial (bool): Leave out single words at the start of a sentence, whose
        capital says nothing, unless a name of the same label comes right behind.
    RAISES (DataError): If the case rule is unknown, or no name is left.
    """

    def __init__(
        self,
        entries: Iterable[Entry],
        *,
        case: str = EXACT,
        min_length: int = 1,
        stop_words: Collection[str] = (),
        skip_initial: bool = False,
    ) -> None:
        if case not in CASE_RULES:
            rules = ", ".join(CASE_RULES)
            raise DataError(f"unknown case rule {case!r}: choose {rules}")
        self.case, self.skip_initial = case, skip_initial
        self.n_excluded = 0
        self._fold = fold = case != EXACT

        @lru_cache(_MAX_CACHED_WORDS)
        def encode_word(word: str) -> bytes:
            ends_line = LINE_BREAK.search(word) is not None
            return encode(word, fold=fold) or (_LINE_BREAK if ends_line else b"")

        self._encode = encode_word
        groups = self._group(entries, min_length, stop_words)
        if not groups:
            raise DataError(
                "no name is left to match (stop words or too short: "
                f"{self.n_excluded:,}): lower the minimum length or give fewer stop "
                "words"
            )
        self._names = [self._make_name(group) for group in groups.values()]
        self._automaton = BytesAhoCorasick(_END + key for key in groups)

    def __len__(self) -> int:
        """Names; spellings that case does not make different count once."""
        return len(self._names)

    @property
    def ambiguous_names(self) -> list[str]:
        """Names under several labels of which none is heavier (list[str])."""
        return [name.text for name in self._names if name.label is None]

    def match(self, words: Words) -> Matches:
        """Find the names in a Doc or in the words of a sentence, from left to right."""
        texts = [token.text for token in words] if isinstance(words, Doc) else words
        candidates = self._find(texts)
        candidates.sort(key=lambda c: (c[0], -c[1]))
        found = Matches([], [])
        last = 0
        for start, end, i in candidates:
            if start < last:
                continue
            last = end
            name, label, _ = self._names[i]
            kind = found.ambiguous if label is None else found.labelled
            kind.append(Match(start, end, label or "", name))
        if self.skip_initial and (found.labelled or found.ambiguous):
            starts = _sentence_starts(words)
            return Matches(*(_without_initial(kind, starts) for kind in found))
        return found

    def _group(
        self, entries: Iterable[Entry], min_length: int, stop_words: Collection[str]
    ) -> dict[bytes, tuple[Entry, ...]]:
        """Bring together the entries that no text can tell apart."""
        stops = {word.casefold() for word in stop_words}
        # Tuples, of which nearly all have one entry, take half the memory of lists.
        groups: dict[bytes, tuple[Entry, ...]] = {}
        for entry in entries:
            name = entry.name
            if len(name) < min_length or (stops and name.casefold() in stops):
                self.n_excluded += 1
                continue
            key = encode(name, fold=self._fold)
            if key:
                groups[key] = (*groups.get(key, ()), entry)
        return groups

    def _make_name(self, group: Sequence[Entry]) -> _Name:
        weights: dict[str, float] = {}
        for _, label, weight, _ in group:
            weights[label] = max(weight or 0.0, weights.get(label, 0.0))
        spelling = None
        if self.case == CAPITALISED:
            spelled = (e.name for e in group if e.name != e.name.lower())
            spelling = encode(next(spelled, ""), fold=False) or None
        return _Name(group[0].name, choose_label(weights), spelling)

    def _find(self, words: Sequence[str]) -> list[tuple[int, int, int]]:
        """Find all names that begin and end with words: first word, end, number."""
        encoded = list(map(self._encode, words))
        text = _END + b"".join(encoded)
        found = self._automaton.find_matches_as_indexes(text, overlapping=True)
        if not found:
            return []
        # Where the words begin, counted without the mark in front; a word that is
        # blank begins where the next one does, which takes its place.
        offsets = accumulate(map(len, encoded), initial=0)
        begins = {offset: i for i, offset in enumerate(offsets)}
        candidates = []
        for number, first, after in found:
            start, end = begins.get(first), begins.get(after - 1)
            if start is None or end is None:
                continue
            while not encoded[end - 1]:
                end -= 1
            if self.case != CAPITALISED or _is_capitalised(
                words[start:end], self._names[number].spelling
            ):
                candidates.append((start, end, number))
        return candidates


def _is_capitalised(words: Sequence[str], spelling: Optional[bytes]) -> bool:
    if not any(
        word.islower() and (i == 0 or word not in CONNECTING_WORDS)
        for i, word in enumerate(words)
    ):
        return True
    return spelling is not None and spelling == b"".join(
        encode(word, fold=False) for word in words
    )


def annotate(
    docs: Iterable[Doc],
    matcher: LexiconMatcher,
    *,
    join: bool = False,
    open_: bool = False,
) -> Iterator[tuple[Doc, Matches]]:
    """Set the entities of Docs to what a lexicon says, in place of those they have.

    docs (Iterable[Doc]): Changed in place.
    join (bool): Make one entity of neighbouring names of one label, as of a given name
        and a surname.
    open_ (bool): Leave other words that may be names without annotation: those with a
        capital, but for stop words, and those of ambiguous names. Without it they are
        no entities, of which a training learns that what a lexicon lacks is none.
    YIELDS (tuple[Doc, Matches]): Each Doc with what was found in it, not joined.
    """
    for doc in docs:
        matches = matcher.match(doc)
        found = join_neighbours(matches.labelled) if join else matches.labelled
        entities = [Span(doc, start, end, label) for start, end, label, _ in found]
        doc.set_ents(entities, missing=_unclear(doc, matches) if open_ else [])
        yield doc, matches


def _unclear(doc: Doc, matches: Matches) -> list[Span]:
    """Words that may be names, though no class is known of them."""
    known, unclear = (
        {i for match in kind for i in range(match.start, match.end)} for kind in matches
    )
    names = (t.i for t in doc if any(map(str.isupper, t.text)) and not t.is_stop)
    return [doc[i : i + 1] for i in sorted(unclear.union(names) - known)]


def join_neighbours(matches: Iterable[Match]) -> list[Match]:
    """Make one match of neighbouring ones of one label, from left to right."""
    joined: list[Match] = []
    for match in matches:
        if joined and joined[-1][1:3] == (match.start, match.label):
            start, _, label, name = joined.pop()
            match = Match(start, match.end, label, f"{name} {match.name}")
        joined.append(match)
    return joined


def _without_initial(matches: Sequence[Match], starts: set[int]) -> list[Match]:
    followed = {(b.start, b.label) for b in matches}
    return [
        m
        for m in matches
        if m.end - m.start > 1 or m.start not in starts or (m.end, m.label) in followed
    ]


def _sentence_starts(words: Words) -> set[int]:
    """Find the first word of each sentence that is more than a quote or a dash."""
    starts = set()
    waiting = True
    for i, word in enumerate(words):
        waiting = waiting or (isinstance(word, Token) and bool(word.is_sent_start))
        if waiting and any(map(str.isalnum, str(word))):
            starts.add(i)
            waiting = False
    return starts
