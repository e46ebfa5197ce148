"""Updates: gradients that add up, are averaged, clipped and gone."""

import numpy
import pytest
import torch
from thinc.api import SGD, Adam, fix_random_seed

from spacy_entlm.model import shim as shim_module
from spacy_entlm.model.layer import shim_of
from spacy_entlm.model.objective import label_cross_entropy

NAME = "entlm_ner"


@pytest.fixture
def nlp(bert, start_nlp, without_dropout):
    """An initialised pipeline without dropout."""
    return start_nlp(bert, model=without_dropout)


def shim_of_nlp(nlp):
    return shim_of(nlp.get_pipe(NAME).layer)


def gradients_of(nlp, examples):
    """Loss and all gradients of one batch."""
    loss = nlp.update(examples, sgd=False)[NAME]
    shim = shim_of_nlp(nlp)
    found = {
        name: parameter.grad.clone()
        for name, parameter in shim.network.named_parameters()
        if parameter.grad is not None
    }
    shim.drop_gradients()
    return loss, found


class Recorder:
    """An optimizer that only notes what it is given."""

    def __init__(self):
        self.gradients = {}

    def __call__(self, key, weights, gradient, **_):
        self.gradients[key] = gradient.copy()
        return weights, gradient


@pytest.mark.parametrize("size", [1.0, 1e-4])
def test_global_gradient_norm_is_clipped_at_one(nlp, texts, size):
    shim = shim_of_nlp(nlp)
    docs = [nlp.make_doc(text) for text in texts]
    scores, backprop = nlp.get_pipe(NAME).model.begin_update(docs)
    targets = numpy.zeros(sum(map(len, docs)), dtype="int64")
    _, gradient = label_cross_entropy(scores, targets)
    backprop(gradient)
    n_pieces = len(scores.pieces.ids)
    assert gradient.n_lossy == n_pieces
    raw = {}
    for name, parameter in shim.network.named_parameters():
        if parameter.grad is not None:
            parameter.grad *= size
            raw[name] = parameter.grad.numpy() / n_pieces
    norm = numpy.sqrt(sum((gradient**2).sum() for gradient in raw.values()))
    assert (norm > 1) == (size == 1.0)
    recorder = Recorder()
    shim.finish_update(recorder)
    factor = 1 / norm if norm > 1 else 1.0
    assert recorder.gradients.keys() == {(shim.id, name) for name in raw}
    for name, gradient in raw.items():
        numpy.testing.assert_allclose(
            recorder.gradients[shim.id, name],
            factor * gradient,
            rtol=1e-3,
            atol=1e-7,
        )


def test_sub_batches_of_unequal_size_give_what_one_batch_gives(
    bert, start_nlp, make_examples, without_dropout
):
    weights = []
    for splits in ([0, 10], [0, 1, 4, 10]):
        nlp = start_nlp(bert, model=without_dropout)
        network = shim_of_nlp(nlp).network
        examples = make_examples(nlp)
        optimizer = SGD(0.5, L2=0.0, grad_clip=0.0)
        losses = {}
        for start, end in zip(splits, splits[1:]):
            nlp.update(examples[start:end], sgd=False, losses=losses)
        before = network.rows[0].detach().clone()
        nlp.get_pipe(NAME).finish_update(optimizer)
        assert not torch.equal(before, network.rows[0])
        weights.append({k: v.clone() for k, v in network.state_dict().items()})
    for name, value in weights[0].items():
        torch.testing.assert_close(weights[1][name], value, rtol=1e-4, atol=1e-6)


def test_gradients_are_gone_after_an_update(nlp, make_examples):
    nlp.update(make_examples(nlp)[:2], sgd=SGD(0.1))
    assert all(p.grad is None for p in shim_of_nlp(nlp).network.parameters())


def test_dropped_gradients_leave_nothing_behind(nlp, make_examples):
    examples = make_examples(nlp)[:4]
    first, second = gradients_of(nlp, examples), gradients_of(nlp, examples)
    assert first[0] == pytest.approx(second[0])
    assert first[1].keys() == second[1].keys()
    for name, gradient in first[1].items():
        torch.testing.assert_close(gradient, second[1][name])


def test_bfloat16_training_is_close_to_float32(
    start_nlp, bert, make_examples, without_dropout, monkeypatch
):
    nlp = start_nlp(bert, model={**without_dropout, "mixed_precision": True})
    examples = make_examples(nlp)
    assert shim_of_nlp(nlp).training_dtype == torch.bfloat16
    half = gradients_of(nlp, examples)
    with monkeypatch.context() as patch:
        patch.setattr(shim_module, "training_dtype", lambda *_: torch.float32)
        full = gradients_of(nlp, examples)
    assert half[0] == pytest.approx(full[0], rel=0.02)
    changed = 0
    for name, gradient in full[1].items():
        if gradient.norm() > 1e-2:
            change = (half[1][name] - gradient).norm() / gradient.norm()
            assert 0 < change < 0.1, name
            assert half[1][name].dtype == torch.float32
            changed += 1
    assert changed > 20
    optimizer = Adam(1e-2, L2=0.0, grad_clip=0.0)
    fix_random_seed(0)
    losses = [nlp.update(examples, sgd=optimizer)[NAME] for _ in range(20)]
    assert losses[-1] < losses[0] / 2
