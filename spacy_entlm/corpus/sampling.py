"""K-shot sampling: the greedy draw of Ma et al. 2022 (Appendix, Algorithm 1), and an
integer program where that finds no sample."""

import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import Iterable, NamedTuple, Optional, Sequence

import numpy
from spacy.tokens import Doc

from ..files.errors import DataError

# The greedy pass can fail for an unlucky order although K is possible.
MAX_SHUFFLES = 100
MAX_SECONDS = 30.0


class SamplingError(DataError):
    """The data do not allow the sample that was asked for: the message, and the reason
    alone, without what is to be done on the command line of `sample`."""

    def __init__(
        self, reason: str, advice: str = "", *, path: Optional[Path] = None
    ) -> None:
        super().__init__(f"{reason}{advice}", path=path)
        self.reason = str(self).removesuffix(advice)


class _Candidate(NamedTuple):
    doc: Doc
    counts: Counter[str]


_Pool = Sequence[_Candidate]


def sample_exact(
    docs: Iterable[Doc],
    shots: int,
    *,
    seed: int,
    keep_negatives: bool = False,
    min_words: int = 0,
) -> list[Doc]:
    """Draw sentences that hold exactly K entities of every class.

    The sentences are shuffled and taken in turn unless a class would go over K, until
    all classes have K: up to MAX_SHUFFLES times, and as often with the sentences of
    rare classes first. Else an integer program finds a sample, if there is one.

    docs: Annotated sentences, whose labels are the classes; those with missing
        annotation are left out. shots (int): K, at least 1.
    keep_negatives (bool): Take sentences without entities too, as they come.
    min_words (int): Leave out sentences of fewer words.
    RETURNS: The sample, in the order in which it was drawn; the same one for a seed.
    RAISES (ValueError): If shots or min_words are out of range.
    RAISES (SamplingError): If there are no entities, or no such sample.
    """
    if min_words < 0:
        raise ValueError(f"min_words must be 0 or more, not {min_words}")
    pool, classes = _read_pool(docs, shots)
    usable = [
        c
        for c in pool
        if (keep_negatives or c.counts)
        and max(c.counts.values(), default=0) <= shots
        and len(c.doc) >= min_words
        and _is_complete(c.doc)
    ]
    _check_enough(pool, usable, classes, shots, exact=True)
    rng = random.Random(seed)
    chosen = _try_shuffles(usable, classes, shots, rng)
    if chosen is None:
        chosen = _solve(usable, classes, (shots, shots), rng)
        if keep_negatives:
            negatives = [i for i, c in enumerate(usable) if not c.counts]
            share = len(negatives) / (len(usable) - len(negatives))
            n_negatives = min(len(negatives), round(share * len(chosen)))
            chosen += rng.sample(negatives, n_negatives)
            rng.shuffle(chosen)
    return [usable[i].doc for i in chosen]


def sample_at_least(docs: Iterable[Doc], shots: int, *, seed: int) -> list[Doc]:
    """Draw the fewest sentences that hold K entities of every class or more, and of
    these the ones with the fewest entities: for sentences so full of entities that
    none hold exactly K.

    docs, shots, seed: As in `sample_exact`. The order is drawn with the seed.
    RAISES (ValueError): If shots are out of range.
    RAISES (SamplingError): If there are fewer than K entities of a class.
    """
    pool, classes = _read_pool(docs, shots)
    usable = [c for c in pool if c.counts and _is_complete(c.doc)]
    _check_enough(pool, usable, classes, shots, exact=False)
    chosen = _solve(usable, classes, (shots, numpy.inf), random.Random(seed))
    return [usable[i].doc for i in chosen]


def _read_pool(docs: Iterable[Doc], shots: int) -> tuple[list[_Candidate], list[str]]:
    if shots < 1:
        raise ValueError(f"shots must be at least 1, not {shots}")
    pool = [_Candidate(doc, Counter(ent.label_ for ent in doc.ents)) for doc in docs]
    classes = sorted({label for candidate in pool for label in candidate.counts})
    if not classes:
        raise SamplingError(
            f"no entities in {len(pool)} sentences: sample from annotated data"
        )
    return pool, classes


def _is_complete(doc: Doc) -> bool:
    return len(doc) > 0 and all(token.ent_iob_ for token in doc)


def _total(parts: _Pool) -> Counter[str]:
    return Counter(label for part in parts for label in part.counts.elements())


def _check_enough(
    pool: _Pool, usable: _Pool, classes: Sequence[str], shots: int, *, exact: bool
) -> None:
    counts = _total(usable)
    lacking = [f"{c}: {counts[c]} of {shots}" for c in classes if counts[c] < shots]
    if not lacking:
        return
    n_left_out = sum(bool(c.counts) for c in pool) - sum(bool(c.counts) for c in usable)
    left_out = or_more = ""
    if n_left_out:
        or_more = "take a few more with --at-least, " if exact else ""
        left_out = (
            f" ({n_left_out} sentences with entities left out: too short, not fully "
            f"annotated, or more than {shots} of a class)"
        )
    raise SamplingError(
        f"cannot draw {shots} entities of every class: there are {', '.join(lacking)}"
        f"{left_out}",
        f". Lower --shots, add examples of these classes, {or_more}or use all with "
        "--shots all",
    )


def _try_shuffles(
    usable: _Pool, classes: Sequence[str], shots: int, rng: random.Random
) -> Optional[list[int]]:
    """Return the first sample that is complete, None if there is none."""
    available = _total(usable)
    order = list(range(len(usable)))
    for attempt in range(2 * MAX_SHUFFLES):
        rng.shuffle(order)
        is_late = attempt >= MAX_SHUFFLES
        turns = _rare_first(usable, order, available) if is_late else order
        chosen = _take_greedily(usable, turns, classes, shots)
        if chosen is not None:
            return chosen
    return None


def _rare_first(
    usable: _Pool, order: Sequence[int], available: Counter[str]
) -> list[int]:
    """The order in which sentences with entities change places, those with the rarest
    class to the front: frequent classes are full before a rare one is, and then keep
    out the sentences that have both."""

    def rarest(i: int) -> int:
        return min(available[label] for label in usable[i].counts)

    ranked = iter(sorted((i for i in order if usable[i].counts), key=rarest))
    return [next(ranked) if usable[i].counts else i for i in order]


def _take_greedily(
    usable: _Pool, order: Sequence[int], classes: Sequence[str], shots: int
) -> Optional[list[int]]:
    chosen: list[int] = []
    counts: Counter[str] = Counter()
    n_lacking = shots * len(classes)
    for i in order:
        added = usable[i].counts
        if any(counts[label] + n > shots for label, n in added.items()):
            continue
        chosen.append(i)
        counts.update(added)
        n_lacking -= added.total()
        if n_lacking == 0:
            return chosen
    return None


def _solve(
    usable: _Pool,
    classes: Sequence[str],
    bounds: tuple[float, float],
    rng: random.Random,
) -> list[int]:
    """Find sentences whose entities of every class lie within bounds. Those with the
    same counts are one variable: how many of them are taken."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    groups: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for i, candidate in enumerate(usable):
        if candidate.counts:
            groups[tuple(candidate.counts[label] for label in classes)].append(i)
    held = numpy.array(list(groups)).T
    costs = numpy.array([rng.random() for _ in groups])
    if bounds[1] == numpy.inf:
        # A sentence costs more than all entities that a sample may have beyond K.
        n_most = int(held.sum()) + 1
        costs = n_most + held.sum(axis=0) + costs / n_most
    found = milp(
        costs,
        integrality=numpy.ones(len(groups)),
        bounds=Bounds(0, [len(members) for members in groups.values()]),
        constraints=LinearConstraint(held, *bounds),
        options={"time_limit": MAX_SECONDS},
    )
    if found.x is None:
        why = "there is no such sample" if found.status == 2 else "none was found"
        raise SamplingError(
            f"cannot draw exactly {bounds[0]} entities of every class: sentences hold "
            f"too many at once, {why}",
            ". Take a few more with --at-least, or another number of --shots",
        )
    chosen = []
    for members, n_taken in zip(groups.values(), found.x):
        chosen += rng.sample(members, round(n_taken))
    rng.shuffle(chosen)
    return chosen
