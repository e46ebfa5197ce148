"""Time of exact decoding against a loop that takes one sentence after the other.

Random emissions of peaked shape; best paths of both are compared. Blocks are what a
long chain is cut into; without them it is one loop over its words.

    python project/benchmarks/viterbi_speed.py [--rounds 3]
"""

import platform
import statistics
import time
from typing import Callable, Tuple

import numpy
import typer

from spacy_entlm.decoding import chains

# Classes, words of a chain, chains: sentences of CoNLL and OntoNotes, a long document.
CASES = ((4, 14, 3000), (18, 14, 3000), (4, 100_000, 1), (18, 100_000, 1))
NO_LIMIT = 10**9


def one_by_one(
    emissions: numpy.ndarray, lengths: numpy.ndarray, transitions: numpy.ndarray
) -> numpy.ndarray:
    """Viterbi's algorithm in log space, a chain and a word at a time."""
    # float32 would lose what tells paths apart in the sum over a long chain.
    score, moves = (numpy.log(x.astype("float64")) for x in (emissions, transitions))
    best = numpy.zeros(len(emissions), dtype="int64")
    end = 0
    for length in lengths:
        start, end = end, end + length
        state = moves[0] + score[start]
        back = []
        for word in range(start + 1, end):
            through = state[:, None] + moves[1:]
            back.append(through.argmax(axis=0))
            state = through.max(axis=0) + score[word]
        best[end - 1] = state.argmax()
        for word in range(end - 2, start - 1, -1):
            best[word] = back[word - start][best[word + 1]]
    return best


def main(rounds: int = 3) -> None:
    """Print a table of medians."""
    print(f"{platform.processor() or platform.machine()}, numpy {numpy.__version__}")
    print("| classes | chain | chains | paths and marginals | without blocks | loop |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    rng = numpy.random.default_rng(1)
    for n_classes, length, n_chains in CASES:
        lengths = numpy.full(n_chains, length)
        shape = (n_chains * length, 1 + n_classes)
        emissions = (rng.random(shape) ** 8 + 1e-6).astype("f")
        transitions = (rng.random((2 + n_classes, 1 + n_classes)) + 0.01).astype("f")
        problem = (emissions, lengths, transitions)
        ours, whole, loop = [], [], []
        for _ in range(rounds):
            seconds, (best, _) = _timed(chains.decode_chains, problem)
            ours.append(seconds)
            whole.append(_without_blocks(problem))
            seconds, expected = _timed(one_by_one, problem)
            loop.append(seconds)
            if (best != expected).any():
                raise ValueError("The paths differ")
        times = [statistics.median(each) for each in (ours, whole, loop)]
        cells = " | ".join(f"{each:.2f} s ({each / times[0]:.1f})" for each in times)
        print(f"| {n_classes} | {length:,} | {n_chains:,} | {cells} |", flush=True)


def _timed(function: Callable, problem: Tuple) -> Tuple[float, object]:
    start = time.perf_counter()
    result = function(*problem)
    return time.perf_counter() - start, result


def _without_blocks(problem: Tuple) -> float:
    limit, chains.LONGEST_UNCUT = chains.LONGEST_UNCUT, NO_LIMIT
    try:
        return _timed(chains.decode_chains, problem)[0]
    finally:
        chains.LONGEST_UNCUT = limit


if __name__ == "__main__":
    typer.run(main)
