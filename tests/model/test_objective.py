"""The losses (paper, Eq. 3) against autograd over one plain softmax."""

import numpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from spacy_entlm.model.objective import distillation_loss, label_cross_entropy
from spacy_entlm.model.types import NO_ENTITY, NO_TARGET, Pieces, PieceScores

N_RIVALS = 11
N_LABELS = 3
CLOSE = {"rtol": 1e-4, "atol": 1e-4}
TARGETS = st.integers(NO_TARGET, N_LABELS - 1)


def random_scores(seed, n, *, n_labels=N_LABELS, size=4.0):
    """Scores of pieces that are a word each, with random rivals of their own."""
    random = torch.Generator().manual_seed(seed)
    scores = size * torch.randn(n, N_RIVALS + n_labels, generator=random)
    own = torch.randint(0, N_RIVALS, (n,), generator=random)
    words = numpy.arange(n)
    pieces = Pieces(own.numpy(), words, words)
    return PieceScores(scores, own, N_RIVALS, None, pieces)


def expected_loss(found, targets, margin=0.0):
    """Sum of the cross-entropy with its gradient, left to autograd."""
    targets = torch.from_numpy(targets)
    leaf = found.scores.clone().requires_grad_()
    scores = torch.cat([leaf[:, :N_RIVALS], leaf[:, N_RIVALS:] - margin], 1)
    columns = torch.where(targets >= 0, N_RIVALS + targets, found.own)
    carries = targets != NO_TARGET
    loss = torch.nn.functional.cross_entropy(
        scores[carries], columns[carries], reduction="sum"
    )
    loss.backward()
    return float(loss.detach()) / max(int(carries.sum()), 1), leaf.grad


def check_against_autograd(found, targets, margin=0.0):
    targets = numpy.array(targets, dtype="int64")
    loss, gradient = label_cross_entropy(found, targets, margin)
    expected, expected_gradient = expected_loss(found, targets, margin)
    assert loss == pytest.approx(expected, rel=1e-4, abs=1e-4)
    torch.testing.assert_close(gradient.scores, expected_gradient, **CLOSE)
    assert gradient.n_lossy == (targets != NO_TARGET).sum()
    assert (gradient.n_rivals, gradient.pieces) == (found.n_rivals, found.pieces)


@given(
    seed=st.integers(0, 2**20),
    targets=st.lists(TARGETS, min_size=1),
    margin=st.sampled_from([0.0, 1.5]),
)
def test_loss_and_gradient_equal_autograd(seed, targets, margin):
    check_against_autograd(random_scores(seed, len(targets)), targets, margin)


def test_loss_and_gradient_equal_autograd_without_classes():
    targets = [NO_ENTITY, NO_TARGET, NO_ENTITY]
    check_against_autograd(random_scores(2, 3, n_labels=0), targets, margin=1.5)


def test_no_pieces_have_no_loss_and_no_gradient():
    found = random_scores(4, 0)
    loss, gradient = label_cross_entropy(found, numpy.zeros(0, dtype="int64"))
    assert (loss, gradient.n_lossy) == (0, 0)
    assert gradient.scores.shape == found.scores.shape
    loss, gradient = distillation_loss(found, random_scores(5, 0))
    assert (loss, gradient.n_lossy) == (0, 0)


def test_pieces_of_several_words_that_differ_carry_no_loss():
    found = random_scores(5, 3)
    found.pieces.last_words = numpy.array([0, 2, 2])
    targets = numpy.array([0, 1, 2])
    _, gradient = label_cross_entropy(found, targets)
    assert gradient.scores.any(1).tolist() == [True, False, True]
    assert gradient.n_lossy == 2
    _, gradient = label_cross_entropy(found, numpy.array([0, 1, 1]))
    assert gradient.n_lossy == 3


def test_some_pieces_alone_carry_a_loss():
    found, targets = random_scores(6, 4), numpy.array([0, NO_ENTITY, 1, NO_TARGET])
    some = numpy.array([1, 3])
    loss, gradient = label_cross_entropy(found, targets, only=some)
    assert gradient.n_lossy == 1
    assert gradient.scores.any(1).tolist() == [False, True, False, False]
    alone = numpy.full(4, NO_TARGET)
    alone[1] = NO_ENTITY
    expected, expected_gradient = label_cross_entropy(found, alone)
    assert loss == expected
    assert torch.equal(gradient.scores, expected_gradient.scores)


def test_nothing_that_is_given_is_changed():
    found, earlier = random_scores(5, 4), random_scores(6, 4)
    before = found.scores.clone(), earlier.scores.clone()
    targets = numpy.array([1, NO_ENTITY, NO_TARGET, 0])
    label_cross_entropy(found, targets, margin=1.0, only=numpy.arange(3))
    distillation_loss(found, earlier)
    assert torch.equal(found.scores, before[0])
    assert torch.equal(earlier.scores, before[1])
    assert targets.tolist() == [1, NO_ENTITY, NO_TARGET, 0]


def test_scores_of_thousands_stay_finite():
    found = random_scores(6, 2, size=1e5)
    loss, gradient = label_cross_entropy(found, numpy.array([0, NO_ENTITY]))
    assert numpy.isfinite(loss)
    assert torch.isfinite(gradient.scores).all()


def test_distillation_equals_autograd_and_leaves_new_classes_alone():
    found = random_scores(7, 9)
    n_known = N_LABELS - 1
    earlier = random_scores(8, 9, n_labels=n_known)
    leaf = found.scores.clone().requires_grad_()
    expected = torch.nn.functional.cross_entropy(
        leaf[:, : N_RIVALS + n_known], earlier.scores.softmax(1), reduction="sum"
    )
    expected.backward()
    loss, gradient = distillation_loss(found, earlier)
    assert loss == pytest.approx(float(expected.detach()) / 9, rel=1e-4)
    torch.testing.assert_close(gradient.scores, leaf.grad, **CLOSE)
    assert not gradient.scores[:, N_RIVALS + n_known :].any()
    assert gradient.n_lossy == 9


class Questions(TorchDispatchMode):
    """Counts operations whose result the host has to wait for on a device."""

    WAITING = ("_local_scalar_dense", "nonzero", "masked_select", "unique", "equal")

    def __init__(self):
        super().__init__()
        self.asked = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.overloadpacket.__name__
        at = args[1] if name in ("index", "index_put_") else []
        masks = [index.dtype == torch.bool for index in at if index is not None]
        if name.startswith(self.WAITING) or any(masks):
            self.asked.append(name)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("loss", [label_cross_entropy, distillation_loss])
def test_a_loss_asks_the_device_nothing_but_the_loss(loss):
    found = random_scores(1, 50)
    if loss is label_cross_entropy:
        targets = numpy.arange(50) % (N_LABELS + 2) - 2
        arguments = (found, targets, 1.5)
    else:
        arguments = (found, random_scores(2, 50))
    for question in (torch.nonzero, lambda x: x[x > 0], lambda x: float(x.sum())):
        with Questions() as questions:
            question(found.scores)
        assert len(questions.asked) == 1
    with Questions() as questions:
        loss(*arguments)
    assert questions.asked == ["_local_scalar_dense"]


@pytest.mark.parametrize(
    "targets, n_lossy",
    [([NO_ENTITY, 0, NO_ENTITY], 0), ([0, NO_TARGET, 0], 0), ([0, 0, 0], 1)],
)
def test_a_piece_of_several_words_is_clear_if_all_say_the_same(targets, n_lossy):
    found = random_scores(1, 1)
    found.pieces.last_words = numpy.array([2])
    _, gradient = label_cross_entropy(found, numpy.array(targets))
    assert gradient.n_lossy == n_lossy
