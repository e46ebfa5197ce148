"""Folds with as even a share of every class as can be had, and nested parts of them."""

from typing import List, NamedTuple, Sequence, Tuple

import numpy
from spacy.tokens import Doc

# Exchanging pairs of sentences takes time that grows with their square; folds of more
# sentences than this are even enough without it.
MAX_EXCHANGED = 1000
# Of a training part, for the learning curve: 1/4, 1/2, 3/4 and all of it.
N_PARTS = 4
# What an exchange must gain, so that rounding does not keep it going.
LEAST_GAIN = 1e-9


class Training(NamedTuple):
    """A training of the cross-validation.

    repeat, fold (int): From 0. part (int): Quarters of the training sentences, 1 to 4.
    seed (int): Of the training. train, test (Tuple[int, ...]): Numbers of sentences.
    """

    repeat: int
    fold: int
    part: int
    seed: int
    train: Tuple[int, ...]
    test: Tuple[int, ...]


def entity_classes(docs: Sequence[Doc]) -> List[str]:
    """The classes of the entities, in the order of the alphabet."""
    return sorted({ent.label_ for doc in docs for ent in doc.ents})


def entity_matrix(docs: Sequence[Doc]) -> numpy.ndarray:
    """Entities by sentence and class.

    docs (Sequence[Doc]): Annotated sentences.
    RETURNS: int64 (n_sentences, n_classes + 1); the last column is 1 for a sentence
        without entities, so that these are spread too.
    """
    column = {label: i for i, label in enumerate(entity_classes(docs))}
    counts = numpy.zeros((len(docs), len(column) + 1), dtype="int64")
    for row, doc in enumerate(docs):
        for ent in doc.ents:
            counts[row, column[ent.label_]] += 1
        counts[row, -1] = not doc.ents
    return counts


def make_folds(counts: numpy.ndarray, n_folds: int, *, seed: int) -> List[List[int]]:
    """Divide sentences into folds whose sizes differ by one at most, and whose entities
    of each class are as even as can be found.

    Sentences with rare classes are placed first, each where it makes classes most even
    (as in Sechidis et al. 2011, "On the stratification of multi-label data"); then
    sentences of two folds are exchanged as long as that makes them more even.

    counts: int64 (n_sentences, n_classes), entities. n_folds (int): At most as many as
        sentences.
    seed (int): Of the order in which equals are taken.
    RETURNS (List[List[int]]): Sentences of each fold, sorted.
    """
    rng = numpy.random.default_rng(seed)
    used = counts[:, counts.sum(axis=0) > 0]
    # A rare class weighs as much as a frequent one.
    weights = 1.0 / numpy.maximum(used.sum(axis=0), 1)
    folds = _place(used, weights, n_folds, rng)
    if len(counts) <= MAX_EXCHANGED:
        _exchange(folds, used, weights)
    return [sorted(fold) for fold in folds]


def plan_trainings(
    counts: numpy.ndarray, *, n_folds: int, n_repeats: int, seed: int, curve: bool
) -> List[Training]:
    """List the trainings of a cross-validation.

    counts: int64 (n_sentences, n_columns), from `entity_matrix`.
    n_folds (int): Parts, each of which is held out once. n_repeats (int): Divisions
        into folds, each with a seed of its own. seed (int): Of the first division.
    curve (bool): Whether to train on 1/4, 1/2 and 3/4 of each training part too, each
        of which holds the one before.
    RETURNS (List[Training]): Those on whole training parts before the others.
    """
    whole: List[Training] = []
    partial: List[Training] = []
    for repeat in range(n_repeats):
        folds = make_folds(counts, n_folds, seed=seed + repeat)
        for number, test in enumerate(folds):
            train = sorted(set(range(len(counts))) - set(test))
            name = (repeat, number)
            whole.append(
                Training(*name, N_PARTS, seed + repeat, tuple(train), tuple(test))
            )
            if not curve or len(train) < N_PARTS:
                continue
            quarters = make_folds(counts[train], N_PARTS, seed=seed + repeat)
            for part in range(1, N_PARTS):
                rows = sorted(row for quarter in quarters[:part] for row in quarter)
                some = tuple(train[row] for row in rows)
                partial.append(Training(*name, part, seed + repeat, some, tuple(test)))
    return whole + partial


def _place(
    counts: numpy.ndarray,
    weights: numpy.ndarray,
    n_folds: int,
    rng: numpy.random.Generator,
) -> List[List[int]]:
    n_sentences = len(counts)
    smallest, n_larger = divmod(n_sentences, n_folds)
    rarest = (counts * weights).max(axis=1, initial=0.0)
    order = sorted(rng.permutation(n_sentences).tolist(), key=lambda i: -rarest[i])
    folds: List[List[int]] = [[] for _ in range(n_folds)]
    sums = numpy.zeros((n_folds, counts.shape[1]))
    for i in order:
        n_full = sum(len(fold) > smallest for fold in folds)
        room = [
            len(fold) < smallest or (len(fold) == smallest and n_full < n_larger)
            for fold in folds
        ]
        # How much the sum of squares grows where the sentence is added.
        growth = ((2 * sums + counts[i]) * counts[i] * weights).sum(axis=1)
        best = min(
            (fold for fold in range(n_folds) if room[fold]),
            key=lambda fold: (growth[fold], len(folds[fold])),
        )
        folds[best].append(i)
        sums[best] += counts[i]
    return folds


def _exchange(
    folds: List[List[int]], counts: numpy.ndarray, weights: numpy.ndarray
) -> None:
    """Exchange sentences, the best pair of two folds at a time; every exchange lowers
    the sum of squares, so it comes to an end."""
    changed = True
    while changed:
        changed = False
        for a in range(len(folds)):
            for b in range(a + 1, len(folds)):
                while _exchange_best(folds[a], folds[b], counts, weights):
                    changed = True


def _exchange_best(
    ours: List[int], theirs: List[int], counts: numpy.ndarray, weights: numpy.ndarray
) -> bool:
    # With x the move from ours to theirs: |s - x|^2 + |t + x|^2 - |s|^2 - |t|^2.
    apart = counts[theirs].sum(axis=0) - counts[ours].sum(axis=0)
    moved = counts[ours][:, None, :] - counts[theirs][None, :, :]
    growth = (2 * moved * (moved + apart) * weights).sum(axis=2)
    if not growth.size or growth.min() > -LEAST_GAIN:
        return False
    i, j = numpy.unravel_index(growth.argmin(), growth.shape)
    ours[i], theirs[j] = theirs[j], ours[i]
    return True
