"""Paired differences and their bootstrap intervals."""

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_entlm.evaluation.statistics import bootstrap_interval, paired_difference

f1s = st.floats(0, 100)


def scores(n_splits, n_seeds, value):
    return {
        (i, j): value(i, j)
        for i in range(1, n_splits + 1)
        for j in range(1, n_seeds + 1)
    }


def test_a_constant_difference_has_no_width():
    theirs = scores(3, 4, lambda i, j: 10.0 * i + j)
    ours = {key: value + 2 for key, value in theirs.items()}
    found = paired_difference(ours, theirs)
    assert found.mean == pytest.approx(2)
    assert (found.low, found.high) == (pytest.approx(2), pytest.approx(2))


def test_splits_weigh_the_same_however_many_seeds_they_have():
    theirs = scores(2, 3, lambda i, j: 0.0)
    ours = {(1, 1): 6.0, (2, 1): 0.0, (2, 2): 0.0, (2, 3): 0.0}
    found = paired_difference(ours, theirs)
    assert found.mean == 3
    assert found.by_split == {1: 6.0, 2: 0.0}


def test_only_what_both_have_is_compared():
    ours = {(1, 1): 4.0, (1, 2): 6.0, (2, 1): 1.0}
    theirs = {(1, 2): 5.0, (1, 3): 0.0, (2, 3): 0.0}
    assert paired_difference(ours, theirs).by_split == {1: 1.0}


def test_one_split_has_no_interval_and_none_no_difference():
    found = paired_difference({(1, 1): 5.0}, {(1, 1): 3.0})
    assert (found.mean, found.low, found.high) == (2.0, None, None)
    assert paired_difference({(1, 1): 5.0}, {(2, 1): 3.0}) is None


def test_interval_covers_as_it_says():
    """About 95 of 100 intervals of 95 % hold the true mean."""
    rng = numpy.random.default_rng(0)
    hits = 0
    for seed in range(100):
        values = rng.normal(1.0, 3.0, size=30)
        low, high = bootstrap_interval(values, numpy.mean, seed, 300)
        hits += low <= 1.0 <= high
    assert 88 <= hits <= 99


def test_rows_are_drawn_as_a_whole():
    rows = numpy.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    low, high = bootstrap_interval(rows, lambda drawn: drawn[:, 1].sum())
    assert (low, high) == (30.0, 90.0)
    ratio = bootstrap_interval(rows, lambda drawn: (drawn[:, 1] / drawn[:, 0]).mean())
    assert ratio == (10.0, 10.0)


def test_the_same_seed_gives_the_same_interval():
    ours = scores(5, 2, lambda i, j: float(i**2 * j))
    theirs = scores(5, 2, lambda i, j: float(j))
    assert paired_difference(ours, theirs) == paired_difference(ours, theirs)
    assert paired_difference(ours, theirs) != paired_difference(ours, theirs, seed=2)


@settings(max_examples=30, deadline=None)
@given(st.lists(f1s, min_size=6, max_size=6), st.lists(f1s, min_size=6, max_size=6))
def test_interval_lies_inside_of_the_differences_and_turns_with_them(ours, theirs):
    keys = [(i, j) for i in (1, 2, 3) for j in (1, 2)]
    mine, others = dict(zip(keys, ours)), dict(zip(keys, theirs))
    found = paired_difference(mine, others, n=200)
    differences = [a - b for a, b in zip(ours, theirs)]
    assert min(differences) - 1e-9 <= found.low <= found.high
    assert found.high <= max(differences) + 1e-9
    turned = paired_difference(others, mine, n=200)
    assert turned.mean == pytest.approx(-found.mean)
    assert turned.low == pytest.approx(-found.high)
