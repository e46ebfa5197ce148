"""Packed weights make prediction faster, and change nothing but the last digits."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest
import spacy
import torch
from spacy.training import Example
from thinc.api import Adam

from spacy_entlm.model import masked_lm
from spacy_entlm.model.packed import PackedLinear, PackedWeight, can_pack
from spacy_entlm.model.reading import get_network, get_shim

NAME = "entlm_ner"
pytestmark = pytest.mark.skipif(
    not can_pack(torch.zeros(1, 1)), reason="this PyTorch packs no weights here"
)


def draw(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def packed_layers(nlp):
    modules = get_network(nlp.get_pipe(NAME).model).modules()
    return [module for module in modules if type(module) is PackedLinear]


def found(nlp, texts):
    """Entities and confidences."""
    return [
        [(span.start, span.end, span.label_, float(score)) for span, score in pairs]
        for pairs in (
            zip(doc.spans[NAME], doc.spans[NAME].attrs["scores"])
            for doc in nlp.pipe(texts)
        )
    ]


def assert_same(left, right, **tolerance):
    assert [[ent[:3] for ent in doc] for doc in left] == [
        [ent[:3] for ent in doc] for doc in right
    ]
    for ents, others in zip(left, right):
        scores = [ent[3] for ent in ents]
        assert scores == pytest.approx([ent[3] for ent in others], **tolerance)


@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize("shape", [(1, 16), (7, 16), (2, 3, 16), (0, 16)])
def test_product_is_that_of_a_linear_layer(shape, with_bias):
    weight, bias = draw(40, 16), draw(40) if with_bias else None
    product = PackedWeight(weight, bias).product(draw(*shape))
    expected = torch.nn.functional.linear(draw(*shape), weight, bias)
    torch.testing.assert_close(product, expected)


def test_product_in_bfloat16_is_that_of_autocast():
    weight, bias, inputs = draw(40, 16), draw(40), draw(7, 16)
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        expected = torch.nn.functional.linear(inputs, weight, bias)
        packed_weight = PackedWeight(weight, bias, torch.bfloat16)
        assert packed_weight.fits(weight, inputs)
        product = packed_weight.product(inputs)
    assert product.dtype == expected.dtype == torch.bfloat16
    torch.testing.assert_close(product, expected)


def test_formats_that_the_processor_does_not_multiply_are_not_packed():
    weight = draw(4, 3)
    assert not can_pack(weight, torch.float16)
    assert not can_pack(weight.double())
    assert not can_pack(weight.to("meta"))


def test_packed_weight_fits_only_while_it_is_true():
    weight, inputs = draw(4, 3), draw(2, 3)
    packed_weight = PackedWeight(weight, None)
    assert not packed_weight.fits(weight, inputs)  # gradients may be wanted
    with torch.no_grad():
        assert packed_weight.fits(weight, inputs)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert not packed_weight.fits(weight, inputs)
        assert not packed_weight.fits(weight.clone(), inputs)
        weight += 1
        assert not packed_weight.fits(weight, inputs)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_prediction_packs_and_finds_the_same(
    trained_folder, texts, monkeypatch, precision
):
    config = {"components": {NAME: {"model": {"precision": precision}}}}
    nlp = spacy.load(trained_folder, config=config)
    assert not packed_layers(nlp)
    with_packing = found(nlp, texts)
    assert len(packed_layers(nlp)) > 5
    assert sum(map(len, with_packing)) > 3
    monkeypatch.setattr(masked_lm, "can_pack", lambda *_: False)
    plain = spacy.load(trained_folder, config=config)
    tolerance = {"abs": 1e-5 if precision == "float32" else 0.02}
    assert_same(with_packing, found(plain, texts), **tolerance)
    assert not packed_layers(plain)


def test_nothing_is_packed_where_onednn_is_switched_off(trained, texts, monkeypatch):
    monkeypatch.setattr(torch.backends.mkldnn, "enabled", False)
    assert sum(map(len, found(trained, texts))) > 3
    assert not packed_layers(trained)


def test_prediction_in_inference_mode(trained, trained_folder, texts):
    expected = found(trained, texts)
    with torch.inference_mode():
        assert found(trained, texts) == expected
        loaded = spacy.load(trained_folder)
        assert found(loaded, texts) == expected
    assert found(loaded, texts) == expected
    assert packed_layers(loaded)


def test_threads_that_predict_first_at_the_same_time(trained_folder, texts):
    expected = found(spacy.load(trained_folder), texts)
    nlp = spacy.load(trained_folder)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: found(nlp, texts), range(8)))
    assert all(result == expected for result in results)


def test_every_family_of_backbones_finds_the_same(
    backbone, start_nlp, texts, monkeypatch
):
    # Untrained: a high bias makes entities of most words.
    nlp = start_nlp(backbone, label_bias=2.0)
    with_packing = found(nlp, texts)
    assert packed_layers(nlp)
    shim = get_shim(nlp.get_pipe(NAME).model)
    shim.network.masked_lm.unpack()
    monkeypatch.setattr(masked_lm, "can_pack", lambda *_: False)
    assert_same(with_packing, found(nlp, texts), abs=1e-5)
    assert not packed_layers(nlp)


def test_training_after_a_prediction_is_seen_by_the_next(trained, annotated, texts):
    before = found(trained, texts)
    examples = [
        Example.from_dict(trained.make_doc(text), {"entities": []})
        for text, _ in annotated
    ]
    optimizer = Adam(1e-2, L2=0.0, grad_clip=0.0)
    for _ in range(10):
        trained.update(examples, sgd=optimizer)
    assert not packed_layers(trained)
    after = found(trained, texts)
    assert sum(map(len, after)) < sum(map(len, before))
    again = copy.deepcopy(trained.get_pipe(NAME).model)
    fresh = spacy.blank("xx")
    pipe = fresh.add_pipe(NAME)
    pipe.from_bytes(trained.get_pipe(NAME).to_bytes())
    assert found(fresh, texts) == after
    pipe.model = again
    assert found(fresh, texts) == after


def test_gradients_flow_through_packed_layers(trained, texts):
    found(trained, texts)
    network = get_network(trained.get_pipe(NAME).model)
    layer = packed_layers(trained)[0]
    inputs = draw(3, layer.in_features).requires_grad_()
    layer(inputs).sum().backward()
    torch.testing.assert_close(inputs.grad[0], layer.weight.detach().sum(0))
    assert network.decoder_rows.packed
    scores = network.decoder_rows.scores(draw(3, network.masked_lm.width))
    assert scores.requires_grad


def test_pipeline_that_has_predicted_can_be_copied_pickled_and_saved(
    trained, trained_folder, texts, tmp_path
):
    expected = found(trained, texts)
    pipe = trained.get_pipe(NAME)
    for model in (
        copy.deepcopy(pipe.model),
        pipe.model.copy(),
        pickle.loads(pickle.dumps(pipe.model)),
    ):
        other = spacy.load(trained_folder)
        other.get_pipe(NAME).model = model
        assert found(other, texts) == expected
        assert packed_layers(other)
    trained.to_disk(tmp_path)
    assert found(spacy.load(tmp_path), texts) == expected
    assert_same_files(trained_folder, tmp_path)


def assert_same_files(left, right):
    name = next(left.rglob("model.safetensors")).relative_to(left)
    assert (left / name).read_bytes() == (right / name).read_bytes()


def test_changed_format_of_products_packs_anew(trained, texts):
    expected = found(trained, texts)
    shim = get_shim(trained.get_pipe(NAME).model)
    shim._precision = "bfloat16"
    assert_same(found(trained, texts), expected, abs=0.02)
    assert shim.network.masked_lm.packing.dtype == torch.bfloat16
    shim._precision = "float32"
    assert found(trained, texts) == expected
