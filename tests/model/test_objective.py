"""The losses (paper, Eq. 3) against autograd over one plain softmax."""

import numpy
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from spacy_entlm.label_words.rows import Rows
from spacy_entlm.model.objective import (
    BLOCK_ROWS,
    distillation_loss,
    label_cross_entropy,
    sample_vocabulary,
)

N_VOCAB = 11
N_LABELS = 3
DIM = 5
CLOSE = {"rtol": 1e-4, "atol": 1e-4}


def random_parts(seed, n_rows, *, n_labels=N_LABELS, with_bias=True):
    """Features, rows of the vocabulary and of the labels with random values."""
    random = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return 2 * torch.randn(*shape, generator=random)

    vocabulary = Rows(draw(N_VOCAB, DIM), draw(N_VOCAB) if with_bias else None)
    labels = Rows(draw(n_labels, DIM), draw(n_labels))
    return draw(n_rows, DIM), vocabulary, labels


def tensors_of(features, vocabulary, labels):
    """All of them in one order, without a bias that is not there."""
    found = [features, vocabulary.weight, vocabulary.bias, labels.weight, labels.bias]
    return [tensor for tensor in found if tensor is not None]


def as_leaves(parts):
    """Copies that autograd gives gradients."""

    def leaf(tensor):
        return None if tensor is None else tensor.clone().requires_grad_()

    features, vocabulary, labels = parts
    rows = (Rows(leaf(r.weight), leaf(r.bias)) for r in (vocabulary, labels))
    return leaf(features), *rows


def logits_of(features, vocabulary, labels):
    return torch.cat([vocabulary.scores(features), labels.scores(features)], 1)


def check_gradients(gradient, leaves, expected, **tolerance):
    """That a gradient is autograd's of an expected loss."""
    wanted = torch.autograd.grad(expected, tensors_of(*leaves))
    found = tensors_of(gradient.features, gradient.vocabulary, gradient.labels)
    assert len(found) == len(wanted)
    for ours, theirs in zip(found, wanted):
        torch.testing.assert_close(ours, theirs, **(tolerance or CLOSE))


def check_against_autograd(seed, targets, **settings):
    targets = torch.tensor(targets)
    parts = random_parts(seed, len(targets), **settings)
    leaves = as_leaves(parts)
    expected = torch.nn.functional.cross_entropy(
        logits_of(*leaves), targets, reduction="sum"
    )
    features, vocabulary, labels = parts
    loss, gradient = label_cross_entropy(features, targets, vocabulary, labels)
    torch.testing.assert_close(loss, expected.detach(), **CLOSE)
    check_gradients(gradient, leaves, expected)
    assert gradient.n_pieces == len(targets)


@given(
    seed=st.integers(0, 2**20),
    targets=st.lists(st.integers(0, N_VOCAB + N_LABELS - 1), min_size=1),
)
@settings(max_examples=40, deadline=None)
def test_loss_and_gradients_equal_autograd(seed, targets):
    check_against_autograd(seed, targets)


def test_loss_and_gradients_equal_autograd_without_decoder_bias():
    check_against_autograd(1, [0, N_VOCAB, 7, 4], with_bias=False)


def test_loss_and_gradients_equal_autograd_without_classes():
    check_against_autograd(2, [0, 3, 7, 4], n_labels=0)


def test_blocks_give_what_one_softmax_gives():
    targets = (torch.arange(2 * BLOCK_ROWS + 3) * 5) % (N_VOCAB + N_LABELS)
    check_against_autograd(3, targets.tolist())


def test_no_pieces_have_no_loss_and_no_gradient():
    features, vocabulary, labels = random_parts(4, 0)
    targets = torch.zeros(0, dtype=torch.int64)
    loss, gradient = label_cross_entropy(features, targets, vocabulary, labels)
    assert loss == 0
    assert gradient.n_pieces == 0
    assert gradient.features.shape == features.shape
    for rows, of in ((gradient.vocabulary, vocabulary), (gradient.labels, labels)):
        assert torch.equal(rows.weight, torch.zeros_like(of.weight))
        assert torch.equal(rows.bias, torch.zeros_like(of.bias))


def test_nothing_that_is_given_is_changed():
    parts = random_parts(5, 4)
    before = [tensor.clone() for tensor in tensors_of(*parts)]
    features, vocabulary, labels = parts
    parameter = Rows(torch.nn.Parameter(vocabulary.weight), vocabulary.bias)
    targets = torch.tensor([1, N_VOCAB, N_VOCAB + 2, 0])
    label_cross_entropy(features, targets, parameter, labels)
    distillation_loss(features, features, parameter, labels, parameter, labels)
    assert parameter.weight.grad is None
    for now, then in zip(tensors_of(*parts), before):
        assert torch.equal(now, then)


def test_scores_of_thousands_stay_finite():
    features, vocabulary, labels = random_parts(6, 2)
    targets = torch.tensor([0, N_VOCAB])
    loss, gradient = label_cross_entropy(1e4 * features, targets, vocabulary, labels)
    assert torch.isfinite(loss)
    assert torch.isfinite(gradient.features).all()


def test_products_in_half_precision_are_close():
    features, vocabulary, labels = random_parts(7, BLOCK_ROWS + 9)
    targets = torch.arange(len(features)) % (N_VOCAB + N_LABELS)
    parts = (features, targets, vocabulary, labels)
    full_loss, full = label_cross_entropy(*parts)
    half_loss, half = label_cross_entropy(*parts, dtype=torch.bfloat16)
    assert 0 < abs(half_loss - full_loss) < 0.02 * full_loss
    pairs = zip(*(tensors_of(g.features, g.vocabulary, g.labels) for g in (half, full)))
    for ours, theirs in pairs:
        assert ours.dtype == torch.float32
        assert 0 < (ours - theirs).norm() < 0.05 * theirs.norm()


def test_a_fixed_vocabulary_gets_no_gradient_and_changes_no_other():
    features, *rows = random_parts(8, 3)
    targets = torch.tensor([0, N_VOCAB + 1, 4])
    loss, gradient = label_cross_entropy(features, targets, *rows)
    fixed = label_cross_entropy(features, targets, *rows, fixed_vocabulary=True)
    assert fixed[0] == loss
    assert gradient.vocabulary is not None and fixed[1].vocabulary is None
    assert torch.equal(fixed[1].features, gradient.features)
    assert torch.equal(fixed[1].labels.weight, gradient.labels.weight)


OWN = numpy.array([7, 2, 7, 4])


@pytest.mark.parametrize("with_bias", [True, False])
def test_a_sample_of_all_is_the_vocabulary(with_bias):
    features, vocabulary, labels = random_parts(9, len(OWN), with_bias=with_bias)
    sample, own = sample_vocabulary(vocabulary, OWN, N_VOCAB)
    assert len(sample) == N_VOCAB
    assert torch.equal(sample.weight[own], vocabulary.weight[OWN])
    expected, whole = label_cross_entropy(
        features, torch.tensor(OWN), vocabulary, labels, fixed_vocabulary=True
    )
    loss, part = label_cross_entropy(
        features, torch.tensor(own), sample, labels, fixed_vocabulary=True
    )
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(part.features, whole.features, **CLOSE)
    torch.testing.assert_close(part.labels.weight, whole.labels.weight, **CLOSE)


@pytest.mark.parametrize("with_bias", [True, False])
def test_a_sample_stands_for_the_others_in_the_mean(with_bias):
    """The normaliser of each softmax, over many draws; a batch's own pieces are always
    in it, as they are."""
    features, vocabulary, _ = random_parts(10, len(OWN), with_bias=with_bias)
    features = 0.1 * features
    numpy.random.seed(0)
    totals = []
    for _ in range(2000):
        sample, own = sample_vocabulary(vocabulary, OWN, 3)
        assert len(sample) == 3 + len({*OWN})
        scores = sample.scores(features)
        theirs = vocabulary.scores(features)[:, OWN]
        torch.testing.assert_close(scores[:, own], theirs)
        totals.append(scores.exp().sum(1))
    expected = vocabulary.scores(features).exp().sum(1)
    torch.testing.assert_close(
        torch.stack(totals).mean(0), expected, rtol=0.05, atol=0.0
    )


def test_a_sample_repeats_with_the_seed_and_shares_no_memory():
    vocabulary = random_parts(11, 1)[1]
    weights = []
    for seed in (1, 1, 2):
        numpy.random.seed(seed)
        sample, _ = sample_vocabulary(vocabulary, OWN, 4)
        weights.append(sample.weight.clone())
        sample.weight.zero_()
        sample.bias.zero_()
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
    assert vocabulary.weight.all() and vocabulary.bias.all()


def test_a_sample_of_a_batch_without_pieces():
    vocabulary = random_parts(12, 1)[1]
    sample, own = sample_vocabulary(vocabulary, OWN[:0], 4)
    assert len(sample) == 4 and not len(own)


def test_distillation_equals_autograd_and_leaves_new_classes_alone():
    parts = random_parts(7, BLOCK_ROWS + 9)
    features, vocabulary, labels = parts
    n_known = N_LABELS - 1
    earlier = random_parts(8, len(features), n_labels=n_known)
    earlier_features, earlier_vocabulary, earlier_labels = earlier
    leaves = as_leaves(parts)
    logits = logits_of(*leaves)[:, : N_VOCAB + n_known]
    expected = torch.nn.functional.cross_entropy(
        logits, logits_of(*earlier).softmax(1), reduction="sum"
    )
    loss, gradient = distillation_loss(
        features,
        earlier_features,
        vocabulary,
        labels,
        earlier_vocabulary,
        earlier_labels,
    )
    torch.testing.assert_close(loss, expected.detach(), rtol=1e-4, atol=1e-3)
    check_gradients(gradient, leaves, expected, rtol=1e-4, atol=1e-3)
    assert not gradient.labels.weight[n_known:].any()
    assert not gradient.labels.bias[n_known:].any()
    assert gradient.labels.weight[:n_known].any()
    assert gradient.n_pieces == len(features)


class NoQuestions(TorchDispatchMode):
    """Refuses operations whose result the host has to wait for on a device."""

    WAITING = ("_local_scalar_dense", "nonzero", "masked_select", "unique", "equal")

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.overloadpacket.__name__
        assert not name.startswith(self.WAITING), name
        if name in ("index", "index_put_"):
            at = [index for index in args[1] if index is not None]
            assert all(index.dtype != torch.bool for index in at), name
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("loss", [label_cross_entropy, distillation_loss])
def test_a_loss_asks_the_device_nothing(loss):
    features, *rows = random_parts(1, 2 * BLOCK_ROWS)
    if loss is label_cross_entropy:
        targets = torch.arange(len(features)) % (N_VOCAB + N_LABELS)
        arguments = (features, targets, *rows)
    else:
        earlier, *earlier_rows = random_parts(2, 2 * BLOCK_ROWS)
        arguments = (features, earlier, *rows, *earlier_rows)
    for question in (torch.nonzero, lambda x: x[x > 0], lambda x: float(x.sum())):
        with pytest.raises(AssertionError), NoQuestions():
            question(features)
    with NoQuestions():
        loss(*arguments)
