"""No tensor of the host meets one of a device: checked without a device."""

import sys

import numpy
import pytest
import spacy
import torch
from spacy.tokens import Span
from spacy.training import Example
from thinc.api import PyTorchGradScaler

from spacy_entlm.decoding import chains, io, viterbi
from spacy_entlm.files import tensors
from spacy_entlm.model import layer, network, objective, shim
from spacy_entlm.model.layer import read_pieces, shim_of
from spacy_entlm.model.network import EntLMNetwork
from spacy_entlm.model.objective import distillation_loss
from spacy_entlm.pipeline.decoders import build_io_decoder, build_viterbi_decoder

from . import devices
from .devices import DEVICE, DeviceArray, DeviceModule, fake_mode, move


@pytest.fixture
def on_device(saved, factory, monkeypatch):
    """A pipeline whose network is on the device, as long as the test runs."""
    # transformers asks whether there is padding, unless attention is the plain one.
    plain = {"attn_implementation": "eager"}
    key = f"components.{factory}.model.transformer_config"
    nlp = spacy.load(saved, config={key: plain})
    pipe = nlp.get_pipe(factory)
    monkeypatch.setitem(sys.modules, "cupy", DeviceModule())
    for module in (layer, shim):
        monkeypatch.setattr(module, "torch2xp", devices.to_array)
    for module in (layer, io, chains, viterbi):
        monkeypatch.setattr(module, "get_array_module", devices.get_array_module)
    # What depends on numbers: the loss as a float.
    monkeypatch.setattr(objective, "_mean", lambda loss, n: 1.0)
    with fake_mode():
        move(pipe.network)
        yield nlp


def test_the_stand_ins_refuse_what_is_mixed():
    array = DeviceArray(numpy.ones(3))
    for mix in (
        lambda: array + numpy.ones(3),
        lambda: numpy.maximum(array, numpy.ones(3)),
        lambda: DeviceModule().concatenate([array, numpy.ones(3)]),
        lambda: array[numpy.arange(2)],
        lambda: float(array.max()),
    ):
        with pytest.raises(TypeError):
            mix()
    with fake_mode(), pytest.raises(RuntimeError, match="devices, lazy and cpu"):
        torch.ones(3, device=DEVICE) + torch.ones(3)


def test_training_stays_on_the_device(on_device, factory, annotated):
    nlp, pipe = on_device, on_device.get_pipe(factory)
    examples = [Example.from_dict(nlp.make_doc(t), gold) for t, gold in annotated]
    nlp.update(examples, sgd=False)
    parameters = dict(pipe.network.named_parameters())
    trained = {name for name, p in parameters.items() if p.grad is not None}
    assert trained
    assert {parameters[name].grad.device for name in trained} == {DEVICE}
    updated = set()

    def optimizer(key, weights, gradient):
        assert isinstance(weights, DeviceArray) and isinstance(gradient, DeviceArray)
        assert weights.shape == gradient.shape
        updated.add(key[1])
        return weights, gradient

    with pytest.MonkeyPatch.context() as patch:
        # Only whether memory is shared is asked here, and fake tensors have none.
        patch.setattr(shim, "_take_weights", lambda parameter, weights: None)
        pipe.finish_update(optimizer)
    assert updated == trained


@pytest.mark.parametrize("factory", ["entlm_ner"], indirect=True)
def test_a_vocabulary_is_sampled_on_the_device(
    on_device, factory, annotated, monkeypatch
):
    nlp, ours = on_device, on_device.get_pipe(factory).network
    ours.train_vocabulary(False)
    monkeypatch.setattr(network, "N_SAMPLED", 5)
    rivals, seen = EntLMNetwork.rivals, []

    def note(self, *args):
        rows, own, ids = rivals(self, *args)
        seen.append((rows.weight.device, own.device, len(ids) < len(self.vocabulary)))
        return rows, own, ids

    monkeypatch.setattr(EntLMNetwork, "rivals", note)
    examples = [Example.from_dict(nlp.make_doc(t), gold) for t, gold in annotated]
    nlp.update(examples, sgd=False)
    assert seen == [(DEVICE, DEVICE, True)]
    assert ours.vocabulary.weight.grad is None
    assert {row.grad.device for row in ours.rows} == {DEVICE}


@pytest.mark.parametrize("build", [build_io_decoder, build_viterbi_decoder])
def test_prediction_stays_on_the_device(on_device, factory, annotated, build):
    nlp, pipe = on_device, on_device.get_pipe(factory)
    pipe.decoder = build()
    examples = [Example.from_dict(nlp.make_doc(t), gold) for t, gold in annotated]
    pipe.decoder.initialize(lambda: examples, pipe.labels)
    long = "Anna left Rome . " * 300  # more than a window
    docs = [nlp.make_doc(text) for text, _ in annotated] + [nlp.make_doc(long)]
    docs[0].spans["lexicon"] = [Span(docs[0], 0, 1, pipe.labels[0])]
    scores = pipe.model.predict(docs)
    assert isinstance(scores.probs, DeviceArray)
    assert isinstance(scores.outside, DeviceArray)
    found = pipe.predict(docs)
    assert len(found) == len(docs)


@pytest.mark.parametrize("build", [build_io_decoder, build_viterbi_decoder])
def test_texts_without_words_need_no_memory_of_the_device(
    on_device, factory, annotated, build
):
    nlp, pipe = on_device, on_device.get_pipe(factory)
    pipe.decoder = build()
    examples = [Example.from_dict(nlp.make_doc(t), gold) for t, gold in annotated]
    pipe.decoder.initialize(lambda: examples, pipe.labels)
    assert not nlp("").ents
    found = pipe.predict([nlp.make_doc("")] * 2)
    assert [len(entities.spans) for entities in found] == [0, 0]


@pytest.mark.parametrize("factory", ["entlm_ner"], indirect=True)
def test_a_class_is_added_on_the_device(on_device, factory, label_words):
    pipe = on_device.get_pipe(factory)
    pipe.add_label("CITY", label_words["LOC"])
    rows = (*pipe.network.rows, *pipe.network.biases)
    assert {row.device for row in rows} == {DEVICE}


@pytest.mark.parametrize("factory", ["entlm_ner"], indirect=True)
def test_what_is_saved_was_brought_to_the_host(on_device, factory, tmp_path):
    # Fake tensors have no numbers to write: only where they are is asked here.
    seen = []

    def write(arrays, **settings):
        seen.extend(array.device.type for array in arrays.values())
        return b""

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tensors, "save", write)
        on_device.get_pipe(factory).network.save_rows(tmp_path)
    assert seen == ["cpu", "cpu"]


@pytest.mark.parametrize("factory", ["entlm_ner"], indirect=True)
def test_a_loaded_network_and_its_scaler_are_put_on_the_device(
    saved, factory, monkeypatch
):
    own = shim_of(spacy.load(saved).get_pipe(factory).layer)
    moved = []
    monkeypatch.setattr(shim, "get_torch_default_device", lambda: DEVICE)
    monkeypatch.setattr(
        torch.nn.Module, "to", lambda self, to: moved.append(to) or self
    )
    monkeypatch.setattr(PyTorchGradScaler, "to_", lambda self, to: moved.append(to))
    own.from_bytes(own.to_bytes())
    assert moved[-2:] == [DEVICE, DEVICE]


@pytest.mark.parametrize("factory", ["entlm_ner"], indirect=True)
def test_rehearsal_stays_on_the_device(on_device, factory, texts):
    pipe = on_device.get_pipe(factory)
    docs = [on_device.make_doc(text) for text in texts]
    scores, backprop = pipe.model.begin_update(docs)
    inputs = read_pieces(pipe.layer, docs)
    earlier = shim_of(pipe.layer).scores(*inputs, rival_ids=scores.rival_ids)
    _, gradient = distillation_loss(scores, earlier)
    backprop(gradient)
    assert gradient.scores.device == DEVICE
