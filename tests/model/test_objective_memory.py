"""What the objective needs beside features, weights and their gradients, where the
vocabulary does not learn."""

import gc
from pathlib import Path
from types import SimpleNamespace

import numpy
import pytest
import torch

from spacy_entlm.model.network import EntLMNetwork
from spacy_entlm.model.objective import label_cross_entropy
from spacy_entlm.model.types import NO_ENTITY, Pieces

# bert-base's vocabulary, and 16 sentences of 128 pieces. What is needed does not depend
# on the width, 768 there: less of it takes less time.
N_VOCAB, WIDTH, N_PIECES, N_LABELS = 30_522, 192, 16 * 128, 4
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
# What clear_refs takes to forget the highest memory so far.
FORGET_PEAK = "5"

pytestmark = pytest.mark.skipif(
    not CLEAR.exists(), reason="needs Linux's account of memory"
)


def memory(key):
    """Bytes. key: VmRSS, what is held now, or VmHWM, the most that was."""
    lines = STATUS.read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if key in line)


def peak_beyond(run):
    """Bytes that a function holds at most beyond what was held before it."""
    gc.collect()
    CLEAR.write_text(FORGET_PEAK)
    before = memory("VmRSS")
    run()
    return memory("VmHWM") - before


def zero_gradient(tensor):
    """Of a leaf, in memory that is there already."""
    tensor.requires_grad_().grad = torch.empty_like(tensor).fill_(0.0)
    return tensor


def draw(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.fixture
def features():
    return zero_gradient(draw(N_PIECES, WIDTH))


@pytest.fixture
def piece_ids():
    """No piece comes twice."""
    return 14 * numpy.arange(N_PIECES)


def objective_run(features, piece_ids):
    """The objective, with the gradient of the features."""
    decoder = torch.nn.Linear(WIDTH, N_VOCAB, bias=False).requires_grad_(False)
    network = EntLMNetwork(SimpleNamespace(decoder=decoder))
    for i in range(N_LABELS):
        network.add_row(f"K{i}", draw(WIDTH), torch.zeros(1))
    words = numpy.arange(N_PIECES)
    targets = numpy.where(words % 7, NO_ENTITY, words % N_LABELS)

    def run():
        scores = network.piece_scores(features, Pieces(piece_ids, words, words))
        _, gradient = label_cross_entropy(scores, targets)
        torch.autograd.backward(scores.scores, gradient.scores)

    return run


def plain_run(features, piece_ids):
    """Logits over vocabulary and labels in one matrix, left to autograd."""
    weight = zero_gradient(draw(N_VOCAB + N_LABELS, WIDTH))
    targets = torch.from_numpy(piece_ids)

    def run():
        logits = torch.nn.functional.linear(features, weight)
        loss = torch.nn.functional.cross_entropy(logits, targets, reduction="sum")
        loss.backward()

    return run


def test_objective_needs_less_than_a_third_of_what_full_logits_need(
    features, piece_ids
):
    plain = peak_beyond(plain_run(features, piece_ids))
    needed = peak_beyond(objective_run(features, piece_ids))
    assert plain > 4 * N_PIECES * N_VOCAB  # float32 logits
    assert needed < plain / 3
