"""Folds are a division, of even size, with even shares of the classes."""

import numpy
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spacy_entlm.evaluation.crossval.folds import (
    N_PARTS,
    entity_matrix,
    make_folds,
    plan_trainings,
)

counts_of_sentences = st.integers(1, 4).flatmap(
    lambda n_classes: st.lists(
        st.lists(st.integers(0, 3), min_size=n_classes, max_size=n_classes),
        min_size=6,
        max_size=40,
    )
)


@settings(max_examples=50, deadline=None)
@given(counts_of_sentences, st.integers(2, 6), st.integers(0, 5))
def test_folds_divide_the_sentences_evenly(rows, n_folds, seed):
    counts = numpy.array(rows)
    folds = make_folds(counts, n_folds, seed=seed)
    assert sorted(i for fold in folds for i in fold) == list(range(len(rows)))
    sizes = [len(fold) for fold in folds]
    assert max(sizes) - min(sizes) <= 1
    assert folds == make_folds(counts, n_folds, seed=seed)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 2), min_size=5, max_size=40), st.integers(2, 5))
@example([0, 1, 1, 0, 0, 0, 1, 1, 2, 2], 5)
def test_classes_are_even_where_sentences_have_one_each(classes, n_folds):
    counts = numpy.eye(3, dtype="int64")[classes]
    folds = make_folds(counts, n_folds, seed=1)
    shares = numpy.array([counts[fold].sum(axis=0) for fold in folds])
    assert (shares.max(axis=0) - shares.min(axis=0)).max() <= 1


def test_folds_are_more_even_than_chance():
    rng = numpy.random.default_rng(0)
    counts = rng.poisson([0.2, 0.5, 1.0], size=(60, 3))

    def unevenness(folds):
        return numpy.array([counts[fold].sum(axis=0) for fold in folds]).std(axis=0)

    ours = unevenness(make_folds(counts, 5, seed=1))
    by_chance = [unevenness(rng.permutation(60).reshape(5, 12)) for _ in range(20)]
    assert (ours < numpy.min(by_chance, axis=0)).all()
    assert ours.max() <= 1


def test_another_seed_gives_other_folds():
    counts = numpy.ones((20, 1), dtype="int64")
    assert make_folds(counts, 4, seed=1) != make_folds(counts, 4, seed=2)


def test_sentences_without_entities_are_spread(make_doc):
    docs = [make_doc("a b", [(0, 1, "X")] if i < 6 else []) for i in range(12)]
    matrix = entity_matrix(docs)
    assert matrix.sum(axis=0).tolist() == [6, 6]
    for fold in make_folds(matrix, 3, seed=1):
        assert matrix[fold].sum(axis=0).tolist() == [2, 2]


@pytest.mark.parametrize("curve, per_fold", [(True, N_PARTS), (False, 1)])
def test_what_is_held_out_is_never_trained_on(curve, per_fold):
    counts = numpy.ones((13, 2), dtype="int64")
    trainings = plan_trainings(counts, n_folds=3, n_repeats=2, seed=7, curve=curve)
    assert len(trainings) == 3 * 2 * per_fold
    whole = {(t.repeat, t.fold): t for t in trainings if t.part == N_PARTS}
    assert trainings[: len(whole)] == list(whole.values())
    for training in trainings:
        assert not set(training.train) & set(training.test)
        assert training.test == whole[training.repeat, training.fold].test
    for repeat in range(2):
        tested = [i for (r, _), t in whole.items() if r == repeat for i in t.test]
        assert sorted(tested) == list(range(13))
    assert {t.seed for t in trainings} == {7, 8}


def test_each_part_of_the_curve_holds_the_one_before():
    counts = numpy.ones((21, 2), dtype="int64")
    trainings = plan_trainings(counts, n_folds=3, n_repeats=1, seed=1, curve=True)
    parts = sorted((t.part, t.train) for t in trainings if t.fold == 0)
    for (_, few), (_, more) in zip(parts, parts[1:]):
        assert set(few) < set(more)
    # Folds of 7 leave 14 sentences; quarters of 4, 4, 3 and 3.
    assert [len(train) for _, train in parts] == [4, 8, 11, 14]


def test_too_few_sentences_for_a_curve_have_none():
    counts = numpy.ones((4, 1), dtype="int64")
    trainings = plan_trainings(counts, n_folds=4, n_repeats=1, seed=1, curve=True)
    assert [t.part for t in trainings] == [N_PARTS] * 4


def test_all_folds_have_a_curve_or_none():
    counts = numpy.ones((7, 1), dtype="int64")  # training parts of 3 and 4
    trainings = plan_trainings(counts, n_folds=2, n_repeats=1, seed=1, curve=True)
    assert [t.part for t in trainings] == [N_PARTS] * 2
