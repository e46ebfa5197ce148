"""A part of a lexicon, as in the paper's study of its size."""

import random
from collections import Counter
from typing import Iterable, Mapping, Optional, Sequence

from ..files.errors import DataError
from .entries import Entry
from .match import EXACT, LexiconMatcher, Words, encode

FREQUENCY, RANDOM = WAYS = ("frequency", "random")


def subsample(
    entries: Sequence[Entry],
    fraction: float,
    *,
    by: str = FREQUENCY,
    counts: Optional[Mapping[str, int]] = None,
    seed: int = 1,
) -> list[Entry]:
    """Keep a fraction of the names of every label, at least one of each.

    fraction (float): Above 0 and up to 1.
    by (str): "frequency": the names that come most often, equal ones in an order
        drawn with the seed; "random": any.
    counts: Name -> how often it comes, from count_names; None: its weight.
    RETURNS: The names kept, in the order of the lexicon; the same ones for a seed.
    RAISES (DataError): If fraction or by are out of range, or there is nothing to
        tell frequencies from.
    """
    if not 0 < fraction <= 1:
        raise DataError(f"the fraction must be above 0 and up to 1, not {fraction}")
    if by not in WAYS:
        raise DataError(f"cannot choose by {by!r}: choose {' or '.join(WAYS)}")
    if by == FREQUENCY and counts is None and all(e.weight is None for e in entries):
        raise DataError(
            "no name has a weight to choose the most frequent by: give a text to count "
            "in with --text, or choose --by random"
        )

    def frequency(i: int) -> float:
        name, _, weight, _ = entries[i]
        return (weight or 0.0) if counts is None else counts.get(name, 0)

    rng = random.Random(seed)
    kept: list[int] = []
    for label in sorted({entry.label for entry in entries}):
        numbers = [i for i, entry in enumerate(entries) if entry.label == label]
        rng.shuffle(numbers)
        if by == FREQUENCY:
            numbers.sort(key=frequency, reverse=True)
        kept += numbers[: max(1, round(fraction * len(numbers)))]
    return [entries[i] for i in sorted(kept)]


def count_names(
    entries: Sequence[Entry], texts: Iterable[Words], *, case: str = EXACT
) -> dict[str, int]:
    """Count how often the names of a lexicon are matched in texts.

    RETURNS: Name -> count; names that differ only in what the case rule disregards have
        the same count. Those that do not come are not in it.
    """
    matcher = LexiconMatcher(entries, case=case)
    fold = case != EXACT
    found: Counter[bytes] = Counter()
    for matches in map(matcher.match, texts):
        for match in [*matches.labelled, *matches.ambiguous]:
            found[encode(match.name, fold=fold)] += 1
    counts = {entry.name: found[encode(entry.name, fold=fold)] for entry in entries}
    return {name: count for name, count in counts.items() if count}
