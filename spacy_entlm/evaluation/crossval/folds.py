"""Folds with as even a share of every class as can be had, and nested parts of them."""

from typing import List, NamedTuple, Sequence, Tuple

import numpy
from spacy.tokens import Doc

# Of a training part, for the learning curve: 1/4, 1/2, 3/4 and all of it.
N_PARTS = 4


class Training(NamedTuple):
    """A training of the cross-validation: repeat and fold (from 0), quarters of the
    training sentences (1 to 4), its seed, and the numbers of sentences."""

    repeat: int
    fold: int
    part: int
    seed: int
    train: Tuple[int, ...]
    test: Tuple[int, ...]


def entity_matrix(docs: Sequence[Doc]) -> numpy.ndarray:
    """Entities by sentence and class, int64 (n_sentences, n_classes + 1); the last
    column is 1 for a sentence without entities, so that these are spread too."""
    by_doc = [[ent.label_ for ent in doc.ents] for doc in docs]
    classes = sorted(set().union(*by_doc))
    counts = [[labels.count(x) for x in classes] + [not labels] for labels in by_doc]
    return numpy.array(counts, dtype="int64")


def make_folds(counts: numpy.ndarray, n_folds: int, *, seed: int) -> List[List[int]]:
    """Divide sentences into folds whose sizes differ by one at most, and whose entities
    of each class are about even: sentences with rare classes are placed first, each
    where classes become most even (as in Sechidis et al. 2011, "On the stratification
    of multi-label data", but for counts of entities).

    counts: int64 (n_sentences, n_classes), entities; no fewer sentences than folds.
    seed (int): Of the order in which equals are taken.
    RETURNS (List[List[int]]): Sentences of each fold, sorted.
    """
    # A rare class weighs as much as a frequent one.
    weights = 1.0 / numpy.maximum(counts.sum(axis=0), 1)
    shares = counts * weights
    rarest = shares.max(axis=1, initial=0.0)
    # Class by class, so that one class is even before the next begins.
    classes = shares.argmax(axis=1) if counts.shape[1] else rarest
    order = numpy.random.default_rng(seed).permutation(len(counts))
    folds: List[List[int]] = [[] for _ in range(n_folds)]
    sums = numpy.zeros((n_folds, counts.shape[1]))
    smallest, n_larger = divmod(len(counts), n_folds)
    for i in sorted(order.tolist(), key=lambda i: (-rarest[i], classes[i])):
        # How much the sum of squares grows where the sentence is added.
        growth = ((2 * sums + counts[i]) * counts[i] * weights).sum(axis=1)
        n_full = sum(len(fold) > smallest for fold in folds)
        largest = smallest + (n_full < n_larger)
        open_ = [k for k in range(n_folds) if len(folds[k]) < largest]
        best = min(open_, key=lambda k: (growth[k], len(folds[k])))
        folds[best].append(i)
        sums[best] += counts[i]
    return [sorted(fold) for fold in folds]


def plan_trainings(
    counts: numpy.ndarray,
    *,
    n_folds: int,
    n_repeats: int,
    seed: int,
    curve: bool,
) -> List[Training]:
    """List the trainings of a cross-validation, on whole training parts before others.

    counts: int64 (n_sentences, n_columns), from `entity_matrix`.
    n_repeats (int): Divisions into folds. seed (int): Of the first, then one more each.
    curve (bool): Whether to train on 1/4, 1/2 and 3/4 of each training part too, each
        of which holds the one before.
    """
    trainings: List[Training] = []
    # All or none, else what one fold lacks would count as not found.
    smallest = len(counts) - -(-len(counts) // n_folds)
    n_parts = N_PARTS if curve and smallest >= N_PARTS else 1
    for repeat in range(n_repeats):
        own = seed + repeat
        for fold, test in enumerate(make_folds(counts, n_folds, seed=own)):
            train = numpy.setdiff1d(numpy.arange(len(counts)), test)
            quarters = make_folds(counts[train], n_parts, seed=own)
            for missing in range(len(quarters)):
                rows = sorted(sum(quarters[: len(quarters) - missing], []))
                some = tuple(train[rows].tolist())
                place = (repeat, fold, N_PARTS - missing, own)
                trainings.append(Training(*place, some, tuple(test)))
    # The order within equals stays.
    return sorted(trainings, key=lambda training: training.part < N_PARTS)
