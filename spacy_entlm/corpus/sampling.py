"""Exact K-shot sampling (Ma et al. 2022, Appendix, Algorithm 1)."""

import random
from collections import Counter
from dataclasses import dataclass
from typing import Iterable, List, Sequence

from spacy.attrs import ENT_IOB
from spacy.tokens import Doc

from ..files.errors import DataError

# The greedy pass can fail for an unlucky order although K is possible.
MAX_SHUFFLES = 100
_ENT_IOB_MISSING = 0


class SamplingError(DataError):
    """The data do not allow the sample that was asked for."""


@dataclass(frozen=True)
class _Candidate:
    doc: Doc
    counts: Counter[str]


@dataclass(frozen=True)
class _Sample:
    chosen: List[int]
    counts: Counter[str]


def sample_exact(
    docs: Iterable[Doc],
    shots: int,
    *,
    seed: int,
    keep_negatives: bool = False,
    min_words: int = 0,
) -> List[Doc]:
    """Draw sentences that hold exactly K entities of every class.

    The sentences are shuffled and taken in turn unless a class would go over K, until
    all classes have K. If that fails, up to MAX_SHUFFLES shuffles are tried, and then
    as many in which the sentences of rare classes come first. The classes are all
    labels in docs. Docs with missing annotation are left out.

    docs (Iterable[Doc]): Annotated sentences.
    shots (int): K, entities per class, at least 1.
    seed (int): Seed of the shuffles; the same seed gives the same sample.
    keep_negatives (bool): Take sentences without entities too, as they come.
    min_words (int): Leave out sentences of fewer words.
    RETURNS (List[Doc]): The sample, in the order in which it was drawn.
    RAISES (ValueError): If shots or min_words are out of range.
    RAISES (SamplingError): If there are no entities, or K was not reached.
    """
    if shots < 1:
        raise ValueError(f"shots must be at least 1, not {shots}")
    if min_words < 0:
        raise ValueError(f"min_words must be 0 or more, not {min_words}")
    pool = [_Candidate(doc, Counter(ent.label_ for ent in doc.ents)) for doc in docs]
    usable = [
        candidate
        for candidate in pool
        if (keep_negatives or candidate.counts)
        and max(candidate.counts.values(), default=0) <= shots
        and len(candidate.doc) >= min_words
        and _is_complete(candidate.doc)
    ]
    sample = _draw(pool, usable, shots, random.Random(seed))
    return [usable[i].doc for i in sample.chosen]


def _is_complete(doc: Doc) -> bool:
    return len(doc) > 0 and _ENT_IOB_MISSING not in doc.to_array(ENT_IOB)


def _draw(
    pool: Sequence[_Candidate],
    usable: Sequence[_Candidate],
    shots: int,
    rng: random.Random,
) -> _Sample:
    classes = sorted({label for candidate in pool for label in candidate.counts})
    if not classes:
        raise SamplingError(
            f"no entities in {len(pool)} sentences: sample from annotated data"
        )
    n_left_out = sum(bool(c.counts) for c in pool)
    n_left_out -= sum(bool(c.counts) for c in usable)
    available = _total(candidate.counts for candidate in usable)
    # Where a class has too few in all, no order can help.
    if _lacking(available, classes, shots):
        text = _describe("there are", available, classes, shots, n_left_out)
        raise SamplingError(text)
    sample = _try_shuffles(usable, classes, shots, rng)
    if _lacking(sample.counts, classes, shots):
        found = f"the best of {2 * MAX_SHUFFLES} shuffles has"
        text = _describe(found, sample.counts, classes, shots, n_left_out)
        raise SamplingError(text)
    return sample


def _total(parts: Iterable[Counter[str]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    return total


def _try_shuffles(
    usable: Sequence[_Candidate],
    classes: Sequence[str],
    shots: int,
    rng: random.Random,
) -> _Sample:
    """Return the first sample that is complete, or else the fullest one."""
    best = _Sample([], Counter())
    available = _total(candidate.counts for candidate in usable)
    order = list(range(len(usable)))
    for attempt in range(2 * MAX_SHUFFLES):
        rng.shuffle(order)
        turns = (
            order if attempt < MAX_SHUFFLES else _rare_first(usable, order, available)
        )
        sample = _take_greedily(usable, turns, classes, shots)
        if sample.counts.total() > best.counts.total():
            best = sample
        if not _lacking(best.counts, classes, shots):
            break
    return best


def _rare_first(
    usable: Sequence[_Candidate], order: Sequence[int], available: Counter[str]
) -> List[int]:
    """The order in which sentences with entities change places, those with the rarest
    class to the front: frequent classes are full before a rare one is, and then keep
    out the sentences that have both."""
    ranked = iter(
        sorted(
            (i for i in order if usable[i].counts),
            key=lambda i: min(available[label] for label in usable[i].counts),
        )
    )
    return [next(ranked) if usable[i].counts else i for i in order]


def _take_greedily(
    usable: Sequence[_Candidate],
    order: Iterable[int],
    classes: Sequence[str],
    shots: int,
) -> _Sample:
    chosen: List[int] = []
    counts: Counter[str] = Counter()
    n_wanted = shots * len(classes)
    n_taken = 0
    for i in order:
        added = usable[i].counts
        if any(counts[label] + n > shots for label, n in added.items()):
            continue
        chosen.append(i)
        counts.update(added)
        n_taken += added.total()
        if n_taken == n_wanted:
            break
    return _Sample(chosen, counts)


def _lacking(counts: Counter[str], classes: Iterable[str], shots: int) -> List[str]:
    return [label for label in classes if counts[label] < shots]


def _describe(
    found: str,
    counts: Counter[str],
    classes: Sequence[str],
    shots: int,
    n_left_out: int,
) -> str:
    lacking = ", ".join(
        f"{label}: {counts[label]} of {shots}"
        for label in _lacking(counts, classes, shots)
    )
    left_out = (
        f" ({n_left_out} sentences with entities left out: too short, not fully "
        f"annotated, or more than {shots} of a class)"
        if n_left_out
        else ""
    )
    return (
        f"cannot draw exactly {shots} entities of every class: {found} "
        f"{lacking}{left_out}. Lower --shots, add examples of these classes, or use "
        "every example with the project's `train-all` workflow"
    )
