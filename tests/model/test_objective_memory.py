"""What the objective needs beside features, weights and their gradients."""

import gc
from pathlib import Path

import pytest
import torch

from spacy_entlm.label_words.rows import Rows
from spacy_entlm.model.objective import label_cross_entropy

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
def targets():
    # The first is a label, as they come after the vocabulary.
    return N_VOCAB + N_LABELS - 1 - 14 * torch.arange(N_PIECES)


def objective_run(features, targets):
    """The objective, with all gradients that it gives."""
    vocabulary = Rows(draw(N_VOCAB, WIDTH), None)
    labels = Rows(draw(N_LABELS, WIDTH), torch.zeros(N_LABELS))

    def run():
        label_cross_entropy(features.detach(), targets, vocabulary, labels)

    return run


def plain_run(features, targets):
    """Logits over vocabulary and labels in one matrix, left to autograd."""
    weight = zero_gradient(draw(N_VOCAB + N_LABELS, WIDTH))

    def run():
        logits = torch.nn.functional.linear(features, weight)
        loss = torch.nn.functional.cross_entropy(logits, targets, reduction="sum")
        loss.backward()

    return run


def test_objective_needs_less_than_a_third_of_what_full_logits_need(features, targets):
    plain = peak_beyond(plain_run(features, targets))
    needed = peak_beyond(objective_run(features, targets))
    assert plain > 4 * N_PIECES * N_VOCAB  # float32 logits
    assert needed < plain / 3
