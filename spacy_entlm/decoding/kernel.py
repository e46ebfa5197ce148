"""`decode_chains` as one kernel, for arrays on a GPU.

The array code of `chains.py` makes some twenty calls at each position of the longest
chain, and on a GPU each is a launch that takes longer than its work. Here a chain is a
block of threads and a state a thread. What is computed is the same, in the same order.
"""

from typing import Any, Tuple

import numpy
from thinc.types import Floats2d, Ints1d

# Threads of a block, in whole warps; of more states, each thread takes several.
WARP, MAX_THREADS = 32, 256

# All threads of a block go through the same positions. A thread writes its own states
# alone, and waits before it reads those of others.
SOURCE = r"""
#define EACH(state) int state = threadIdx.x; state < n_states; state += blockDim.x

// Into weights what next holds, so that its greatest is 1.
static __device__ void scale(const float *next, float *weights, int n_states)
{
    __syncthreads();
    float most = next[0];
    for (int i = 1; i < n_states; ++i) most = next[i] > most ? next[i] : most;
    for (EACH(j)) weights[j] = next[j] / most;
    __syncthreads();
}

extern "C" __global__ void decode_chains(
    const float *emissions, const float *transitions,
    const long long *starts, const long long *lengths, int n_states,
    int *back, long long *best, float *marginals)
{
    extern __shared__ float shared[];
    float *weights = shared, *next = shared + n_states;
    const float *between = transitions + n_states;  // after the row of the start
    const long long begin = starts[blockIdx.x] * n_states;
    const long long end = begin + lengths[blockIdx.x] * n_states;
    if (begin == end) return;

    for (long long at = begin; at < end; at += n_states) {
        for (EACH(j)) {
            float most = at == begin ? transitions[j] : weights[0] * between[j];
            int from = 0;
            for (int i = 1; i < n_states && at > begin; ++i) {
                float through = weights[i] * between[i * n_states + j];
                if (through > most) { most = through; from = i; }
            }
            back[at + j] = from;
            next[j] = most * emissions[at + j];
        }
        scale(next, weights, n_states);
    }
    if (threadIdx.x == 0) {
        int state = 0;
        for (int i = 1; i < n_states; ++i) if (weights[i] > weights[state]) state = i;
        for (long long at = end - n_states; at >= begin; at -= n_states) {
            best[at / n_states] = state;
            state = back[at + state];
        }
    }
    __syncthreads();

    for (long long at = begin; at < end; at += n_states) {
        for (EACH(j)) {
            float sum = at == begin ? transitions[j] : 0.0f;
            for (int i = 0; i < n_states && at > begin; ++i)
                sum += weights[i] * between[i * n_states + j];
            next[j] = sum * emissions[at + j];
        }
        scale(next, weights, n_states);
        for (EACH(j)) marginals[at + j] = weights[j];
    }
    __syncthreads();
    for (EACH(j)) weights[j] = 1.0f;  // the message from behind
    for (long long at = end - n_states; at >= begin; at -= n_states) {
        for (EACH(j)) next[j] = marginals[at + j] * weights[j];
        __syncthreads();
        float sum = 0.0f;
        for (int i = 0; i < n_states; ++i) sum += next[i];
        for (EACH(j)) marginals[at + j] = next[j] / sum;
        __syncthreads();
        for (EACH(j)) weights[j] *= emissions[at + j];
        __syncthreads();
        for (EACH(i)) {
            float message = 0.0f;
            for (int j = 0; j < n_states; ++j)
                message += between[i * n_states + j] * weights[j];
            next[i] = message;
        }
        scale(next, weights, n_states);
    }
}
"""


def decode_on_gpu(
    xp: Any, emissions: Floats2d, lengths: numpy.ndarray, transitions: Floats2d
) -> Tuple[Ints1d, Floats2d]:
    """What `chains.decode_chains` gives. xp: cupy."""
    n_words, n_states = emissions.shape
    best = xp.zeros(n_words, dtype="int64")
    marginals = xp.zeros((n_words, n_states), dtype="float32")
    if not n_words:
        return best, marginals
    inputs = (
        xp.ascontiguousarray(emissions, dtype="float32"),
        xp.ascontiguousarray(transitions, dtype="float32"),
        xp.asarray(numpy.cumsum(lengths) - lengths),
        xp.asarray(lengths),
    )
    back = xp.empty((n_words, n_states), dtype="int32")
    warps = -(-min(n_states, MAX_THREADS) // WARP)
    kernel = xp.RawKernel(SOURCE, "decode_chains")
    kernel(
        (len(lengths),),
        (warps * WARP,),
        (*inputs, numpy.int32(n_states), back, best, marginals),
        shared_mem=2 * n_states * numpy.dtype("float32").itemsize,
    )
    return best, marginals
