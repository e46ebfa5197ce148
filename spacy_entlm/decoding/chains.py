"""Best paths and marginals of linear chains, many of unequal length at once.

Loops go over positions, never over chains: at each position all chains that reach it
are advanced together. A long chain would make a long loop, so it is cut into blocks:
what a block does to every possible state before it is a matrix, the product of these
matrices says where each block starts, and then blocks are chains like others. Nothing
is approximated by that.

All is computed with probabilities that are scaled at each position, so neither length
nor size can make them vanish.
"""

import math
from dataclasses import dataclass
from typing import Any, List, Tuple

import numpy
from thinc.types import Floats2d, Ints1d
from thinc.util import get_array_module

# A chain of more words is cut into blocks. Up to here its own loop costs less.
LONGEST_UNCUT = 512
SHORTEST_BLOCK = 64
# The state before a chain's first word.
START = 0


@dataclass
class Blocks:
    """Blocks of chains, in an order in which those that reach a position come first.

    order: int64 (n_words), words by position in their block, then by block.
    bounds: where in that order the words of each position begin and end.
    chains: for the k-th block of a chain: int64 arrays of those blocks, one a chain
        that has so many, chains in one order, those with most blocks first.
    words_of: int64 (n_words), block of each word, in `order`.
    """

    order: numpy.ndarray
    bounds: List[Tuple[int, int]]
    chains: List[numpy.ndarray]
    words_of: numpy.ndarray

    @property
    def n_blocks(self) -> int:
        return sum(len(blocks) for blocks in self.chains)


def decode_chains(
    emissions: Floats2d, lengths: numpy.ndarray, transitions: Floats2d
) -> Tuple[Ints1d, Floats2d]:
    """The best path of each chain (Viterbi) and the marginals of its states
    (forward-backward).

    emissions: float32 (n_words, n_states), positive, words of all chains concatenated.
    lengths: int64 (n_chains), words of each chain, on the host; 0 is allowed.
    transitions: float32 (1 + n_states, n_states), positive, from row to column; row 0
        is from the start. On the device of the emissions, as all results.
    RETURNS: best int64 (n_words), the state of each word on its chain's best path;
        marginals float32 (n_words, n_states), p(state of the word | chain).
    """
    xp = get_array_module(emissions)
    best = xp.zeros(len(emissions), dtype="int64")
    marginals = xp.zeros_like(emissions)
    # The start is a state of its own, in which no word can be.
    emissions, transitions = (
        xp.concatenate([xp.zeros((len(rows), 1), dtype=rows.dtype), rows], axis=1)
        for rows in (emissions, transitions)
    )
    ends = numpy.cumsum(lengths)
    is_long = lengths > LONGEST_UNCUT
    for chosen in (numpy.flatnonzero(~is_long), numpy.flatnonzero(is_long)):
        if not lengths[chosen].sum():
            continue
        starts, sizes = ends[chosen] - lengths[chosen], lengths[chosen]
        blocks = _cut(starts[sizes > 0], sizes[sizes > 0])
        words = xp.asarray(blocks.order)
        packed = emissions[words]
        best[words] = _best_paths(xp, packed, transitions, blocks) - 1
        marginals[words] = _marginals(xp, packed, transitions, blocks)[:, 1:]
    return best, marginals


def _cut(starts: numpy.ndarray, lengths: numpy.ndarray) -> Blocks:
    """Cut chains that are too long into blocks of about the square root of their
    length, so that the loops over blocks and over positions are equally long."""
    longest = int(lengths.max())
    is_long = longest > LONGEST_UNCUT
    size = max(SHORTEST_BLOCK, math.isqrt(longest)) if is_long else longest
    n_blocks = -(-lengths // size)
    chain = numpy.repeat(numpy.arange(len(lengths)), n_blocks)
    index = _within(n_blocks)  # of a block in its chain
    block_starts = starts[chain] + index * size
    sizes = numpy.minimum(size, lengths[chain] - index * size)
    by_size = numpy.argsort(-sizes, kind="stable")
    rank = numpy.empty_like(by_size)
    rank[by_size] = numpy.arange(len(by_size))
    position = _within(sizes[by_size])
    block = numpy.repeat(numpy.arange(len(by_size)), sizes[by_size])
    order = numpy.lexsort((block, position))
    words = block_starts[by_size][block] + position
    steps = numpy.concatenate([[0], numpy.cumsum(numpy.bincount(position))]).tolist()
    by_blocks = numpy.argsort(-n_blocks, kind="stable")
    first = (numpy.cumsum(n_blocks) - n_blocks)[by_blocks]
    counts = n_blocks[by_blocks]
    return Blocks(
        order=words[order],
        bounds=list(zip(steps[:-1], steps[1:])),
        chains=[rank[first[counts > k] + k] for k in range(int(counts[0]))],
        words_of=block[order],
    )


def _within(counts: numpy.ndarray) -> numpy.ndarray:
    """[2, 3] -> [0, 1, 0, 1, 2]."""
    starts = numpy.cumsum(counts) - counts
    return numpy.arange(counts.sum()) - numpy.repeat(starts, counts)


def _best_paths(xp: Any, packed: Any, transitions: Any, blocks: Blocks) -> Any:
    """int64 (n_words), states of the best paths, in the blocks' order."""
    matrices = _block_matrices(xp, packed, transitions, blocks, _most)
    state = _before_blocks(xp, matrices, blocks, _most)
    back = xp.zeros(packed.shape, dtype="int64")
    for begin, end in blocks.bounds:
        n = end - begin
        through = state[:n, :, None] * transitions
        back[begin:end] = through.argmax(axis=1)
        state[:n] = _scaled(through.max(axis=1) * packed[begin:end])
    if len(blocks.chains) == 1:
        return _trace_back(xp, back, state.argmax(axis=1)[:, None], blocks)[0][:, 0]
    # What every block's path would be for each state at its end, and the state before.
    n_states = packed.shape[1]
    every = xp.tile(xp.arange(n_states), (blocks.n_blocks, 1))
    paths, before = _trace_back(xp, back, every, blocks)
    at_end = state.argmax(axis=1)  # right for the last block of each chain
    for earlier, later in reversed(_neighbours(xp, blocks)):
        at_end[earlier] = before[later, at_end[later]]
    words_of = xp.asarray(blocks.words_of)
    return paths[xp.arange(len(packed)), at_end[words_of]]


def _trace_back(xp: Any, back: Any, state: Any, blocks: Blocks) -> Tuple[Any, Any]:
    """Paths that end in given states.

    back: int64 (n_words, n_states), the best state before.
    state: int64 (n_blocks, n), states at the ends of the blocks.
    RETURNS: int64 (n_words, n), states; int64 (n_blocks, n), those before the blocks.
    """
    paths = xp.zeros((len(back), state.shape[1]), dtype="int64")
    state = state.copy()
    for begin, end in reversed(blocks.bounds):
        n = end - begin
        paths[begin:end] = state[:n]
        state[:n] = xp.take_along_axis(back[begin:end], state[:n], axis=1)
    return paths, state


def _marginals(xp: Any, packed: Any, transitions: Any, blocks: Blocks) -> Any:
    """float32 (n_words, n_states), in the blocks' order."""
    matrices = _block_matrices(xp, packed, transitions, blocks, _sum)
    forward = xp.zeros_like(packed)
    state = _before_blocks(xp, matrices, blocks, _sum)
    for begin, end in blocks.bounds:
        n = end - begin
        state[:n] = _scaled((state[:n] @ transitions) * packed[begin:end])
        forward[begin:end] = state[:n]
    message = _after_blocks(xp, matrices, blocks)
    for begin, end in reversed(blocks.bounds):
        n = end - begin
        forward[begin:end] *= message[:n]
        message[:n] = _scaled((message[:n] * packed[begin:end]) @ transitions.T)
    return forward / forward.sum(axis=1, keepdims=True)


def _before_blocks(xp: Any, matrices: Any, blocks: Blocks, product: Any) -> Any:
    """(n_blocks, n_states), scaled: weight of each state before a block.

    matrices: (n_blocks, n_states, n_states), what each block does."""
    state = xp.zeros(matrices.shape[:2], dtype=matrices.dtype)
    state[xp.asarray(blocks.chains[0]), START] = 1
    for earlier, later in _neighbours(xp, blocks):
        moved = product(state[earlier][:, None], matrices[earlier])[:, 0]
        state[later] = _scaled(moved)
    return state


def _after_blocks(xp: Any, matrices: Any, blocks: Blocks) -> Any:
    """(n_blocks, n_states), scaled: weight of all that follows a block, for each state
    at its end."""
    message = xp.ones(matrices.shape[:2], dtype=matrices.dtype)
    for earlier, later in reversed(_neighbours(xp, blocks)):
        moved = _sum(matrices[later], message[later][:, :, None])[:, :, 0]
        message[earlier] = _scaled(moved)
    return message


def _neighbours(xp: Any, blocks: Blocks) -> List[Tuple[Any, Any]]:
    """Blocks and those that follow them, first blocks of all chains first."""
    chains = [xp.asarray(each) for each in blocks.chains]
    pairs = zip(chains[:-1], chains[1:])
    return [(earlier[: len(later)], later) for earlier, later in pairs]


def _block_matrices(
    xp: Any, packed: Any, transitions: Any, blocks: Blocks, product: Any
) -> Any:
    """(n_blocks, n_states, n_states), scaled: from the state before a block to the
    one at its end."""
    n_states = packed.shape[1]
    matrices = xp.tile(xp.eye(n_states, dtype=packed.dtype), (blocks.n_blocks, 1, 1))
    if len(blocks.chains) == 1:
        return matrices  # no block follows another: nobody asks
    for begin, end in blocks.bounds:
        n = end - begin
        moved = product(matrices[:n], transitions) * packed[begin:end, None]
        matrices[:n] = moved / moved.max(axis=(1, 2), keepdims=True)
    return matrices


def _sum(left: Any, right: Any) -> Any:
    """The matrix product: weights of all paths add up."""
    return left @ right


def _most(left: Any, right: Any) -> Any:
    """The matrix product with the maximum for the sum: the best path counts.

    left: (..., n, m); right: (..., m, k). RETURNS: (..., n, k).
    """
    xp = get_array_module(left)
    # One term after the other: all at once would not fit a processor's caches.
    best = left[..., :, :1] * right[..., :1, :]
    for i in range(1, left.shape[-1]):
        xp.maximum(best, left[..., :, i : i + 1] * right[..., i : i + 1, :], out=best)
    return best


def _scaled(weights: Any) -> Any:
    """Each row so that its greatest weight is 1."""
    return weights / weights.max(axis=1, keepdims=True)
