"""Annotated text for the search of label words: as it is given, by a lexicon, or by the
names that are annotated in it."""

import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple

from spacy.language import Language
from spacy.tokens import Doc

from ...corpus.readers import read_docs
from ...corpus.texts import make_docs
from ...files.errors import DataError
from ...files.text import read_lines, unpacked_extension
from ...lexicon.entries import Entry
from ...lexicon.match import LexiconMatcher, annotate
from ...lexicon.readers import read_lexicon
from ...lexicon.subsample import count_names, subsample
from .config import Lexicon

TEXT_EXTENSION = ".txt"


@dataclass(frozen=True)
class Names:
    """A lexicon, ready to annotate with.

    entries (List[Entry]): Its names. settings (Lexicon): How they are matched.
    counts (Optional[Mapping[str, int]]): How often each name comes in the text; None:
        that is what the weights of the entries are.
    """

    entries: List[Entry]
    settings: Lexicon
    counts: Optional[Mapping[str, int]] = None

    def fraction(self, share: float, seed: int) -> "Names":
        """The most frequent names of each class.

        share (float): Of the names of a class, above 0 and up to 1.
        seed (int): Of the order of equally frequent ones.
        """
        kept = subsample(self.entries, share, counts=self.counts, seed=seed)
        return Names(kept, self.settings, self.counts)

    def annotate(self, docs: Iterable[Doc], nlp: Language) -> List[Doc]:
        """Set the entities of Docs to the names in them, in place of what they have."""
        settings = self.settings
        matcher = LexiconMatcher(
            self.entries,
            case=settings.case,
            min_length=settings.min_length,
            stop_words=nlp.Defaults.stop_words if settings.stop_words else (),
        )
        return [doc for doc, _ in annotate(docs, matcher, join=settings.join)]


def read_names(settings: Lexicon, docs: Sequence[Doc]) -> Names:
    """Read a lexicon.

    settings (Lexicon): The file, and how it is matched.
    docs (Sequence[Doc]): The text in which its names are counted.
    """
    entries, _ = read_lexicon(
        settings.path, label=settings.label, label_map=settings.map
    )
    return Names(entries, settings, count_names(entries, docs, case=settings.case))


def annotated_names(docs: Iterable[Doc]) -> Names:
    """The names that are annotated in a text as a lexicon, where the lexicon that
    annotated it is not at hand. A name under several labels has that which it has most
    often."""
    counts = Counter((ent.text, ent.label_) for doc in docs for ent in doc.ents)
    entries = [
        Entry(name, label, float(count), "annotated")
        for (name, label), count in counts.items()
    ]
    return Names(entries, Lexicon(path=Path()))


def read_text(path: Path, nlp: Language) -> List[Doc]:
    """Read text, annotated or not.

    path (Path): Any file that `convert` reads, or plain text, one sentence a line.
    RAISES (DataError): If it cannot be read, or is empty.
    """
    if is_plain_text(path):
        docs = list(make_docs(read_lines(path), nlp, path))
        if not docs:
            raise DataError("the file is empty: add sentences", path=path)
        return docs
    return read_docs(path, nlp)[0]


def is_plain_text(path: Path) -> bool:
    """Whether a file has nothing but text, by its name."""
    return unpacked_extension(path) == TEXT_EXTENSION


def sample_text(path: Path, nlp: Language, n_words: int, seed: int) -> List[Doc]:
    """Draw lines from a plain text until they have as many words as another text.

    path (Path): One sentence or paragraph a line, packed or not.
    n_words (int): Tokens wanted. seed (int): Of the order of the lines.
    RAISES (DataError): If the file has fewer.
    """
    lines = list(read_lines(path))
    random.Random(seed).shuffle(lines)
    docs, total = [], 0
    for doc in _make_lazily(lines, nlp, path):
        docs.append(doc)
        total += len(doc)
        if total >= n_words:
            return docs
    raise DataError(
        f"has {total:,} words, where {n_words:,} are wanted: name a larger text",
        path=path,
    )


def _make_lazily(
    lines: List[Tuple[int, str]], nlp: Language, path: Path
) -> Iterator[Doc]:
    return make_docs(iter(lines), nlp, path)
