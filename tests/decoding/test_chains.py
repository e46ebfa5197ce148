"""Best paths and marginals of chains against a search through all paths."""

import itertools

import numpy
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_entlm.decoding import chains


def all_paths(emissions, transitions):
    """float64, the weight of every path, by path."""
    n_words, n_states = emissions.shape
    weights = {}
    for path in itertools.product(range(n_states), repeat=n_words):
        before = [0, *(state + 1 for state in path[:-1])]
        steps = transitions[before, list(path)] * emissions[range(n_words), list(path)]
        weights[path] = float(numpy.prod(steps, dtype="float64"))
    return weights


def sums(weights, n_words, n_states):
    """float64 (n_words, n_states), the share of the paths through each state."""
    through = numpy.zeros((n_words, n_states))
    for path, weight in weights.items():
        through[range(n_words), list(path)] += weight
    return through / through.sum(axis=1, keepdims=True)


@st.composite
def problems(draw):
    n_states = draw(st.integers(1, 3))
    lengths = draw(st.lists(st.integers(0, 5), max_size=4))
    rng = numpy.random.default_rng(draw(st.integers(0, 2**16)))
    # Peaked, as probabilities of a model are; some far apart, some alike.
    power = draw(st.sampled_from([0, 1, 8]))
    emissions = rng.random((sum(lengths), n_states)) ** power + 1e-7
    if draw(st.booleans()):  # some states are impossible
        is_best = emissions == emissions.max(axis=1, keepdims=True)
        share = draw(st.sampled_from([0.0, 0.2, 0.7]))  # that stay possible
        emissions *= is_best | (rng.random(emissions.shape) < share)
    transitions = rng.random((1 + n_states, n_states)) ** power + 1e-6
    return emissions.astype("f"), numpy.array(lengths, dtype="int64"), transitions


@settings(max_examples=200, deadline=None)
@given(problems())
def test_all_paths_agree(problem):
    emissions, lengths, transitions = problem
    best, marginals = chains.decode_chains(emissions, lengths, transitions.astype("f"))
    assert best.shape == (len(emissions),)
    assert marginals.dtype == "float32"
    end = 0
    for length in lengths:
        words, end = slice(end, end + length), end + length
        if length == 0:
            continue
        weights = all_paths(emissions[words].astype("d"), transitions)
        # Several paths may be equally good.
        found = weights[tuple(best[words].tolist())]
        assert found == pytest.approx(max(weights.values()), rel=1e-4)
        expected = sums(weights, length, emissions.shape[1])
        numpy.testing.assert_allclose(marginals[words], expected, atol=1e-5)


def test_what_is_all_but_impossible_does_not_vanish():
    """Thousands of words that speak against both states."""
    lengths = numpy.array([3000])
    emissions = numpy.full((3000, 2), 1e-7, dtype="f")
    transitions = numpy.array([[0.5, 0.5], [1, 1e-6], [1e-6, 1]], dtype="f")
    emissions[0, 1] = 2e-7
    best, marginals = chains.decode_chains(emissions, lengths, transitions)
    assert (best == 1).all()
    assert numpy.isfinite(marginals).all()
    numpy.testing.assert_allclose(marginals.sum(axis=1), 1, rtol=1e-5)
    assert marginals[0, 1] == pytest.approx(2 / 3, rel=1e-3)


def test_a_chain_does_not_depend_on_its_neighbours():
    rng = numpy.random.default_rng(2)
    lengths = numpy.array([5, 9, 1, 600])
    emissions = (rng.random((lengths.sum(), 4)) + 1e-3).astype("f")
    transitions = (rng.random((5, 4)) + 0.01).astype("f")
    together, _ = chains.decode_chains(emissions, lengths, transitions)
    ends = numpy.cumsum(lengths)
    alone = [
        chains.decode_chains(emissions[end - n : end], numpy.array([n]), transitions)[0]
        for n, end in zip(lengths, ends)
    ]
    assert (numpy.concatenate(alone) == together).all()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_gpu_gives_what_a_cpu_gives():
    cupy = pytest.importorskip("cupy")
    rng = numpy.random.default_rng(3)
    lengths = numpy.array([700, 3, 0, 41, 513])
    emissions = (rng.random((lengths.sum(), 6)) ** 8 + 1e-7).astype("f")
    transitions = (rng.random((7, 6)) + 0.01).astype("f")
    expected, expected_marginals = chains.decode_chains(emissions, lengths, transitions)
    best, marginals = chains.decode_chains(
        cupy.asarray(emissions), lengths, cupy.asarray(transitions)
    )
    assert (cupy.asnumpy(best) == expected).all()
    numpy.testing.assert_allclose(
        cupy.asnumpy(marginals), expected_marginals, atol=1e-5
    )
