"""What a training holds in memory: over many steps, and for a long text."""

import gc
import resource

import pytest
import torch
from spacy.training import Example
from thinc.api import Adam

from spacy_entlm.model import layer
from spacy_entlm.model.layer import shim_of
from spacy_entlm.training.adam import build_adam

MIB = 2**20


def peak_memory():
    """In bytes, of this process so far."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@pytest.mark.parametrize("make", [lambda: Adam(1e-6), lambda: build_adam(1e-6)])
def test_steps_leave_nothing_behind(start_nlp, bert, make):
    shim = shim_of(start_nlp(bert).get_pipe("entlm_ner").layer)
    optimizer = make()
    parameters = list(shim.network.parameters())

    def steps(n):
        for _ in range(n):
            for parameter in parameters:
                parameter.grad = torch.ones_like(parameter)
            shim._n_pieces = 1
            shim.finish_update(optimizer)
        gc.collect()

    steps(50)
    before = peak_memory()
    steps(500)
    # Wrapping the weights anew in each step left 0.7 kB a parameter: 17 MiB.
    assert peak_memory() - before < 4 * MIB


@pytest.fixture
def long_example():
    def make(nlp):
        text = "Anna left Rome . " * 60
        spans = [(17 * i, 17 * i + 4, "PER") for i in range(60)]
        return Example.from_dict(nlp.make_doc(text), {"entities": spans})

    return make


def gradients_of(nlp, example):
    nlp.update([example], sgd=False)
    network = nlp.get_pipe("entlm_ner").network
    return {name: p.grad.clone() for name, p in network.named_parameters()}


def test_batches_of_a_long_text_add_up(
    start_nlp, backbone, without_dropout, long_example, monkeypatch
):
    gradients = []
    for limit in (10**6, 130):
        monkeypatch.setattr(layer, "TRAINING_PIECES", limit)
        nlp = start_nlp(backbone, model=without_dropout)
        gradients.append(gradients_of(nlp, long_example(nlp)))
    for name, expected in gradients[0].items():
        assert torch.allclose(gradients[1][name], expected, rtol=1e-3, atol=1e-4), name


def test_no_more_than_a_batch_is_kept_for_the_backward_pass(
    start_nlp, bert, long_example, monkeypatch
):
    """Values that autograd saves, in the forward pass of a text of many windows."""
    saved = []
    for limit in (10**6, 130):
        monkeypatch.setattr(layer, "TRAINING_PIECES", limit)
        nlp = start_nlp(bert)
        docs = [long_example(nlp).predicted]
        sizes = []

        def count(tensor, sizes=sizes):
            sizes.append(tensor.numel())
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(count, lambda tensor: tensor):
            nlp.get_pipe("entlm_ner").model.begin_update(docs)
        saved.append(sum(sizes))
    assert saved[1] < saved[0] / 10
