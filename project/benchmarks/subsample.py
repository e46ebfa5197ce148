"""Keep a share of the names of each class, as in the paper's study of lexicon size.

python project/benchmarks/subsample.py lexicon.jsonl small.jsonl --text news.txt

Kept are the names that come most often in the text; without one, those of the largest
weights; with --by-chance any.
"""

import random
from collections import Counter
from pathlib import Path
from typing import Iterable, List, Mapping, Optional, Sequence

import spacy
import typer

from spacy_entlm.corpus.texts import make_docs
from spacy_entlm.files.errors import DataError
from spacy_entlm.files.file import write_file
from spacy_entlm.files.text import read_lines
from spacy_entlm.lexicon.entries import Entry, write_lexicon
from spacy_entlm.lexicon.match import LexiconMatcher, Words
from spacy_entlm.lexicon.readers import read_lexicon


def main(
    lexicon: Path,
    out: Path,
    fraction: float = 0.05,
    text: Optional[Path] = None,
    by_chance: bool = False,
    seed: int = 1,
) -> None:
    """Write the names that are kept, in the order of the lexicon.

    fraction (float): Of the names of each class, at least one of each is kept.
    seed (int): The same one keeps the same names; it orders equally frequent ones.
    """
    entries, _ = read_lexicon(lexicon)
    counts = None
    if text is not None:
        docs = make_docs(list(read_lines(text)), spacy.blank("en"), text)
        counts = count_names(entries, docs)
    kept = subsample(entries, fraction, counts, by_chance=by_chance, seed=seed)
    with write_file(out) as temporary:
        write_lexicon(kept, temporary)
    print(f"{len(kept):,} names of {len(entries):,}")


def subsample(
    entries: Sequence[Entry],
    fraction: float,
    counts: Optional[Mapping[str, int]] = None,
    *,
    by_chance: bool = False,
    seed: int = 1,
) -> List[Entry]:
    """The names that are kept. counts: Name -> how often it comes; None: its weight."""
    if not 0 < fraction <= 1:
        raise DataError(f"the fraction must be above 0 and up to 1, not {fraction}")
    if not by_chance and counts is None and all(e.weight is None for e in entries):
        raise DataError("no name has a weight: give --text, or choose --by-chance")

    def frequency(i: int) -> float:
        name, _, weight, _ = entries[i]
        return (weight or 0.0) if counts is None else counts.get(name, 0)

    rng = random.Random(seed)
    kept: List[int] = []
    for label in sorted({entry.label for entry in entries}):
        numbers = [i for i, entry in enumerate(entries) if entry.label == label]
        rng.shuffle(numbers)
        if not by_chance:
            numbers.sort(key=frequency, reverse=True)
        kept += numbers[: max(1, round(fraction * len(numbers)))]
    return [entries[i] for i in sorted(kept)]


def count_names(entries: Sequence[Entry], texts: Iterable[Words]) -> Counter[str]:
    """How often each name of a lexicon is matched in texts, as it is spelled."""
    found: Counter[str] = Counter()
    for matches in map(LexiconMatcher(entries).match, texts):
        found.update(m.name for m in [*matches.labelled, *matches.ambiguous])
    return found


if __name__ == "__main__":
    typer.run(main)
