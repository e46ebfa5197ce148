"""Best paths and marginals of linear chains, many of unequal length at once.

Loops go over positions, never over chains: at each position all chains that reach it
are advanced together. On a GPU, where a call takes longer than its work, all is one
kernel (`kernel.py`).

All is computed with probabilities that are scaled at each position, so neither length
nor size can make them vanish.
"""

from typing import Any, List, Tuple

import numpy
from thinc.types import Floats2d, Ints1d
from thinc.util import get_array_module

from .kernel import decode_on_gpu

# The state before a chain's first word.
START = 0
# Where the words of each position begin and end.
Bounds = List[Tuple[int, int]]


def decode_chains(
    emissions: Floats2d, lengths: numpy.ndarray, transitions: Floats2d
) -> Tuple[Ints1d, Floats2d]:
    """The best path of each chain (Viterbi) and the marginals of its states
    (forward-backward).

    emissions: float32 (n_words, n_states), words of all chains concatenated; one state
        of each word is positive, at least.
    lengths: int64 (n_chains), words of each chain, on the host; 0 is allowed.
    transitions: float32 (1 + n_states, n_states), positive, from row to column; row 0
        is from the start. On the device of the emissions, as all results.
    RETURNS: best int64 (n_words), the state of each word on its chain's best path;
        marginals float32 (n_words, n_states), p(state of the word | chain).
    """
    xp = get_array_module(emissions)
    if xp is not numpy:
        return decode_on_gpu(xp, emissions, lengths, transitions)
    return _decode(emissions, lengths, transitions)


def _decode(
    emissions: Any, lengths: numpy.ndarray, transitions: Any
) -> Tuple[Any, Any]:
    lengths = _parts(emissions, lengths)
    words, bounds = _by_position(lengths)
    # The start is a state of its own, in which no word can be.
    packed = numpy.pad(emissions[words], ((0, 0), (1, 0)))
    transitions = numpy.pad(transitions, ((0, 0), (1, 0)))
    state = numpy.zeros((len(lengths), packed.shape[1]), dtype=packed.dtype)
    state[:, START] = 1
    best = numpy.zeros(len(emissions), dtype="int64")
    marginals = numpy.zeros_like(emissions)
    best[words] = _best_paths(packed, transitions, bounds, state.copy()) - 1
    marginals[words] = _marginals(packed, transitions, bounds, state)[:, 1:]
    return best, marginals


def _parts(emissions: Any, lengths: numpy.ndarray) -> numpy.ndarray:
    """int64 (n_parts), lengths of chains that are cut between two words of one possible
    state each, where nothing behind depends on what is before. Most words are of no
    entity beyond doubt."""
    is_open = numpy.count_nonzero(emissions, axis=1) > 1
    begins = numpy.zeros(len(emissions), dtype="bool")
    begins[(numpy.cumsum(lengths) - lengths)[lengths > 0]] = True
    begins[1:] |= ~(is_open[1:] | is_open[:-1])
    return numpy.diff(numpy.append(numpy.flatnonzero(begins), len(emissions)))


def _by_position(lengths: numpy.ndarray) -> Tuple[numpy.ndarray, Bounds]:
    """int64 (n_words), words by position in their chain, those of longer chains first;
    and their bounds in that order."""
    chains = numpy.argsort(-lengths, kind="stable")
    sizes = lengths[chains]
    chain = numpy.repeat(numpy.arange(len(sizes)), sizes)
    position = numpy.arange(len(chain)) - (numpy.cumsum(sizes) - sizes)[chain]
    words = (numpy.cumsum(lengths) - lengths)[chains][chain] + position
    ends = numpy.cumsum(numpy.bincount(position)).tolist()
    return words[numpy.lexsort((chain, position))], list(zip([0, *ends], ends))


def _best_paths(packed: Any, transitions: Any, bounds: Bounds, state: Any) -> Any:
    """int64 (n_words), states of the best paths, by position."""
    back = numpy.zeros(packed.shape, dtype="int64")
    for begin, end in bounds:
        n = end - begin
        through = state[:n, :, None] * transitions
        back[begin:end] = through.argmax(axis=1)
        state[:n] = _scaled(through.max(axis=1) * packed[begin:end])
    paths = numpy.zeros(len(packed), dtype="int64")
    last = state.argmax(axis=1)
    for begin, end in reversed(bounds):
        n = end - begin
        paths[begin:end] = last[:n]
        last[:n] = back[numpy.arange(begin, end), last[:n]]
    return paths


def _marginals(packed: Any, transitions: Any, bounds: Bounds, state: Any) -> Any:
    """float32 (n_words, n_states), by position."""
    forward = numpy.zeros_like(packed)
    message = numpy.ones_like(state)
    for begin, end in bounds:
        n = end - begin
        state[:n] = _scaled((state[:n] @ transitions) * packed[begin:end])
        forward[begin:end] = state[:n]
    for begin, end in reversed(bounds):
        n = end - begin
        forward[begin:end] *= message[:n]
        message[:n] = _scaled((message[:n] * packed[begin:end]) @ transitions.T)
    return forward / forward.sum(axis=1, keepdims=True)


def _scaled(weights: Any) -> Any:
    """Each row so that its greatest weight is 1."""
    return weights / weights.max(axis=1, keepdims=True)
