"""The GPU's kernel against the array code, as C++ with threads of the host."""

import ctypes
import shutil
import subprocess
from types import SimpleNamespace

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_entlm.decoding.chains import decode_chains
from spacy_entlm.decoding.kernel import SOURCE, decode_on_gpu

COMPILE = ["g++", "-std=c++20", "-O1", "-ffp-contract=off", "-pthread"]

# What CUDA brings: a block is a group of threads that wait for each other.
BEFORE = """
#include <barrier>
#include <thread>
#include <vector>
struct Index { int x; };
static thread_local Index threadIdx;
static Index blockDim, blockIdx;
static float shared_memory[4096];
static std::barrier<> *together;
static void __syncthreads() { together->arrive_and_wait(); }
#define __global__
#define __device__
#define __shared__
#define shared shared_memory
"""
AFTER = """
extern "C" void launch(
    int n_blocks, int n_threads, const float *emissions, const float *transitions,
    const long long *starts, const long long *lengths, int n_states,
    int *back, long long *best, float *marginals)
{
    blockDim.x = n_threads;
    for (blockIdx.x = 0; blockIdx.x < n_blocks; ++blockIdx.x) {
        std::barrier<> barrier(n_threads);
        together = &barrier;
        std::vector<std::thread> threads;
        for (int i = 0; i < n_threads; ++i)
            threads.emplace_back([=] {
                threadIdx.x = i;
                decode_chains(emissions, transitions, starts, lengths, n_states,
                              back, best, marginals);
                together->arrive_and_drop();
            });
        for (auto &thread : threads) thread.join();
    }
}
"""


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    """As much of cupy as is called, on the host, with fewer threads than asked for."""
    folder = tmp_path_factory.mktemp("kernel")
    source = SOURCE.replace("extern __shared__ float shared[];", "")
    (folder / "cuda.hpp").write_text(BEFORE)
    (folder / "kernel.cpp").write_text('#include "cuda.hpp"\n' + source + AFTER)
    trial = [*COMPILE, "-fsyntax-only", "cuda.hpp"]
    if not shutil.which("g++") or subprocess.run(trial, cwd=folder).returncode:
        pytest.skip("needs a compiler of C++20")
    line = [*COMPILE, "-shared", "-fPIC", "kernel.cpp", "-o", "kernel.so"]
    subprocess.run(line, cwd=folder, check=True)
    launch = ctypes.CDLL(str(folder / "kernel.so")).launch

    class RawKernel:
        n_threads = 3

        def __init__(self, source, name):
            assert (source, name) == (SOURCE, "decode_chains")

        def __call__(self, grid, block, arguments, *, shared_mem):
            *arrays, n_states, back, best, marginals = arguments
            assert block[0] % 32 == 0 and shared_mem == 8 * n_states
            types = ["float32", "float32", "int64", "int64", "int32", "int64"]
            every = [*arrays, back, best, marginals]
            assert [a.dtype for a in every] == [*types, "float32"]
            assert all(a.flags.c_contiguous for a in every)
            pointers = [ctypes.c_void_p(a.ctypes.data) for a in every]
            pointers.insert(4, int(n_states))
            launch(grid[0], self.n_threads, *pointers)

    names = ("zeros", "empty", "asarray", "ascontiguousarray")
    functions = {name: getattr(numpy, name) for name in names}
    return SimpleNamespace(RawKernel=RawKernel, **functions)


def check(host, emissions, lengths, transitions):
    expected = decode_chains(emissions, lengths, transitions)
    best, marginals = decode_on_gpu(host, emissions, lengths, transitions)
    assert best.dtype == "int64" and marginals.dtype == "float32"
    assert (best == expected[0]).all()
    numpy.testing.assert_allclose(marginals, expected[1], atol=1e-5)


@settings(max_examples=50, deadline=None)
@given(
    n_states=st.integers(1, 8),
    lengths=st.lists(st.integers(0, 6), max_size=4),
    power=st.sampled_from([1, 8]),
    impossible=st.booleans(),
    seed=st.integers(0, 2**16),
)
def test_paths_and_marginals_are_those_of_the_array_code(
    host, n_states, lengths, power, impossible, seed
):
    rng = numpy.random.default_rng(seed)
    emissions = rng.random((sum(lengths), n_states)) ** power + 1e-7
    if impossible:  # chains of arrays are cut where words have one state each
        emissions *= emissions > emissions.max(axis=1, keepdims=True, initial=0) * 0.8
    transitions = rng.random((1 + n_states, n_states)) + 0.01
    lengths = numpy.array(lengths, dtype="int64")
    check(host, emissions.astype("f"), lengths, transitions.astype("f"))


def test_of_equal_paths_both_take_the_same(host):
    emissions, transitions = numpy.ones((12, 3), dtype="f"), numpy.ones((4, 3), "f")
    check(host, emissions, numpy.array([7, 5]), transitions)


def test_long_chains_of_many_states_do_not_vanish(host):
    rng = numpy.random.default_rng(3)
    emissions = (rng.random((900, 70)) ** 8 + 1e-7).astype("f")
    transitions = (rng.random((71, 70)) + 0.01).astype("f")
    check(host, emissions, numpy.array([800, 0, 100]), transitions)
