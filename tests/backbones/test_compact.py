"""Weights in few bytes: each form gives back what was stored, and what is broken is
told."""

import shutil
from unittest import mock

import numpy
import pytest
import spacy
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from safetensors.numpy import load_file, save_file

from spacy_entlm.backbones import compact
from spacy_entlm.backbones.compact import (
    COMPACT_FILE,
    load_compact,
    pack_q4,
    save_compact,
    unpack_q4,
)
from spacy_entlm.backbones.errors import BackboneError
from spacy_entlm.backbones.loading import load_masked_lm
from spacy_entlm.files.errors import DataError

NAME = "entlm_ner"
# The least positive number of float16.
LEAST_HALF = 2.0**-24


def of_blocks(seed, n, width):
    """Values of 4 bits with a scale for each block of 32; each has the lowest one."""
    rng = numpy.random.default_rng(seed)
    values = rng.integers(-8, 8, size=(n * width // 32, 32))
    values[numpy.arange(len(values)), rng.integers(0, 32, len(values))] = -8
    scales = rng.normal(size=(len(values), 1)).astype("float16")
    return (values.astype("float32") * scales.astype("float32")).reshape(n, width)


def of_rows(seed, n, width):
    """Values of 8 bits with a scale for each row, whose largest one it has."""
    rng = numpy.random.default_rng(seed)
    values = rng.integers(-127, 128, size=(n, width))
    values[numpy.arange(n), rng.integers(0, width, n)] = rng.choice([-127, 127], n)
    scales = numpy.abs(rng.normal(size=(n, 1))).astype("float16")
    return values.astype("float32") * scales.astype("float32")


def of_float16(seed, n, width):
    rng = numpy.random.default_rng(seed)
    return rng.normal(size=(n, width)).astype("float16").astype("float32")


def of_float32(seed, n, width):
    rng = numpy.random.default_rng(seed)
    return rng.normal(size=(n, width)).astype("float32")


def stored_as(path, array):
    """The types by which an array is stored; it comes back exactly."""
    save_compact(path, {"a": array})
    found = load_compact(path)
    assert list(found) == ["a"]
    assert found["a"].dtype == "float32" and found["a"].shape == array.shape
    assert numpy.array_equal(found["a"], array)
    return {name: str(each.dtype) for name, each in load_file(path).items()}


Q4 = {"a.q4": "uint8"}
INT8 = {"a": "int8", "a.scale": "float16"}
HALF, WHOLE = {"a": "float16"}, {"a": "float32"}


@pytest.mark.parametrize(
    "make, form, bits",
    [
        (of_blocks, Q4, 4.5),
        (of_rows, INT8, 8.1),
        (of_float16, HALF, 16),
        (of_float32, WHOLE, 32),
    ],
)
def test_each_form_is_taken_where_it_loses_nothing(tmp_path, make, form, bits):
    path = tmp_path / "weights.safetensors"
    array = make(1, 400, 512)
    assert stored_as(path, array) == form
    assert path.stat().st_size == pytest.approx(array.size * bits / 8, rel=0.02)


@pytest.mark.parametrize("make", [of_blocks, of_rows, of_float16])
def test_one_value_that_does_not_fit_takes_another_form(tmp_path, make):
    """As after a training, which changes most of them."""
    array = make(1, 400, 512)
    array[399, 511] = 1 / 3
    assert stored_as(tmp_path / "weights.safetensors", array) == WHOLE


@pytest.mark.parametrize("make", [of_blocks, of_rows])
def test_rows_of_zeros_fit_all_forms(tmp_path, make):
    array = make(2, 400, 512)
    form = stored_as(tmp_path / "weights.safetensors", array)
    array[7] = 0
    assert stored_as(tmp_path / "weights.safetensors", array) == form
    assert stored_as(tmp_path / "weights.safetensors", 0 * array) == Q4


@pytest.mark.parametrize("shape", [(), (0,), (5,), (0, 32), (3, 4), (2, 3, 4)])
def test_small_arrays_and_others_than_matrices(tmp_path, shape):
    array = numpy.arange(numpy.prod(shape, dtype=int), dtype="f").reshape(shape)
    path = tmp_path / "weights.safetensors"
    assert stored_as(path, array) == HALF
    assert stored_as(path, array + numpy.float32(1e-7)) == (
        WHOLE if array.size else HALF
    )


def test_arrays_may_lie_in_memory_in_any_order(tmp_path):
    array = of_blocks(3, 512, 512)
    assert stored_as(tmp_path / "weights.safetensors", array[::2]) == Q4
    stored_as(tmp_path / "weights.safetensors", array.T)
    assert numpy.array_equal(array, of_blocks(3, 512, 512))


@pytest.mark.parametrize("largest", [127, 128, 178, 190, 191, 300])
def test_numbers_near_the_least_that_float16_has(tmp_path, largest):
    """Its scales are coarse there: 178 of them divided by 127 are one."""
    array = numpy.zeros((400, 33), dtype="float32")
    array[3, :4] = LEAST_HALF * numpy.array([largest, -100, 3, 1])
    stored_as(tmp_path / "weights.safetensors", array)
    array[3, :4] *= 2.0**-10
    stored_as(tmp_path / "weights.safetensors", array)


SIZES = st.tuples(st.integers(1, 5), st.sampled_from([1, 31, 32, 33, 64]))
FORMS = st.sampled_from([of_blocks, of_rows, of_float16, of_float32])
# Few multiples of a number, of which scales of float16 may be too coarse, or too small.
STEPS = st.builds(
    lambda values, step: (values * step).astype("float32"),
    arrays("float32", SIZES, elements=st.integers(-300, 300).map(float)),
    st.sampled_from([LEAST_HALF, 2.0**-20, 2.0**-10, 1.0, 512.0, 2.0**100]),
)


@given(
    st.one_of(
        arrays("float32", SIZES, elements=st.floats(width=32, allow_nan=False)),
        STEPS,
        st.builds(
            lambda form, seed, n: form(seed, n, 64),
            FORMS,
            st.integers(0, 2**20),
            st.integers(1, 5),
        ),
    )
)
def test_every_matrix_comes_back_exactly(tmp_path_factory, array):
    path = tmp_path_factory.getbasetemp() / "property.safetensors"
    with mock.patch.object(compact, "MIN_VALUES", 1):
        save_compact(path, {"a": array, "b": array[0]})
    if not numpy.isfinite(array).all():
        with pytest.raises(DataError, match="NaN or infinite"):
            load_compact(path)
        return
    found = load_compact(path)
    assert numpy.array_equal(found["a"], array)
    assert numpy.array_equal(found["b"], array[0])


@given(st.integers(0, 2**20), st.integers(1, 5), st.sampled_from([32, 96]))
def test_packed_values_are_those_that_were_packed(seed, n, width):
    array = of_blocks(seed, n, width)
    packed = pack_q4(array)
    assert packed.shape == (n, width // 32 * 18) and packed.dtype == "uint8"
    assert numpy.array_equal(unpack_q4(packed), array)


def test_values_of_4_bits_lie_where_others_expect_them():
    """A scale in float16, then the first half in the lower bits (Q4_0 of llama.cpp)."""
    values = numpy.arange(32) % 16 - 8
    block = (0.5 * values[None]).astype("float32")
    packed = pack_q4(block)[0]
    assert packed[:2].view("float16") == 0.5
    low, high = packed[2:] & 15, packed[2:] >> 4
    assert (numpy.concatenate([low, high]) - 8.0).tolist() == values.tolist()


def test_zeros_of_either_sign_are_packed_alike():
    """Else a model that is loaded and saved would have another file each time."""
    zeros = numpy.zeros((2, 32), dtype="float32")
    assert numpy.array_equal(pack_q4(zeros), pack_q4(-zeros))
    assert numpy.array_equal(pack_q4(unpack_q4(pack_q4(zeros))), pack_q4(zeros))


@pytest.mark.parametrize("shape", [(3, 31), (3, 33)])
def test_rows_that_are_no_blocks_have_no_values_of_4_bits(shape):
    assert pack_q4(numpy.zeros(shape, dtype="float32")) is None


BYTES, SCALES = numpy.ones((3, 32), "int8"), numpy.ones((3, 1), "float16")
PACKED = numpy.zeros((3, 18), "uint8")


@pytest.mark.parametrize(
    "stored, message",
    [
        ({"a": BYTES}, "holds no compact weights"),
        ({"a": BYTES, "a.scale": SCALES[:2]}, "holds no compact weights"),
        ({"a": BYTES, "a.scale": SCALES[:1]}, "holds no compact weights"),
        ({"a": BYTES[:1], "a.scale": SCALES}, "holds no compact weights"),
        ({"a": BYTES, "a.scale": SCALES[:, 0]}, "holds no compact weights"),
        ({"a": BYTES, "a.scale": SCALES[None]}, "holds no compact weights"),
        ({"a": BYTES[0], "a.scale": SCALES}, "holds no compact weights"),
        ({"a": BYTES, "a.scale": numpy.inf * SCALES}, "NaN or infinite numbers"),
        ({"a.q4": PACKED[:, :17].copy()}, "holds no compact weights"),
        ({"a.q4": PACKED[0]}, "holds no compact weights"),
        ({"a.q4": PACKED.astype("int8")}, "holds no compact weights"),
        ({"a.q4": PACKED + numpy.uint8(255)}, "NaN or infinite numbers"),
        ({"a": numpy.full(3, numpy.nan, "float16")}, "NaN or infinite numbers"),
        ({"a": numpy.full(3, -numpy.inf, "float32")}, "NaN or infinite numbers"),
        ({"a": numpy.full(3, 1e300)}, "NaN or infinite numbers"),
    ],
)
def test_what_is_no_such_file_is_told(tmp_path, stored, message):
    path = tmp_path / "weights.safetensors"
    save_file(stored, path)
    with pytest.raises(DataError, match=message) as caught:
        load_compact(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("size", [0, 7, 100])
def test_truncated_and_missing_files_are_told(tmp_path, size):
    path = tmp_path / "weights.safetensors"
    with pytest.raises(DataError, match="cannot be read"):
        load_compact(path)
    save_compact(path, {"a": of_blocks(1, 400, 512)})
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(DataError, match="cannot be read"):
        load_compact(path)


# Whole models.


@pytest.fixture
def compact_folder(backbone, tmp_path):
    load_masked_lm(backbone).save(tmp_path, compact=True)
    return tmp_path


def test_a_model_comes_back_from_its_compact_folder(backbone, compact_folder):
    """Of each family, with shared tensors once and shared again."""
    names = {path.name for path in compact_folder.iterdir()}
    assert COMPACT_FILE in names and "model.safetensors" not in names
    expected = load_masked_lm(backbone)
    found = load_masked_lm(compact_folder, strict=True)
    weights = expected.state_dict()
    assert found.state_dict().keys() == weights.keys()
    for name, tensor in found.state_dict().items():
        assert torch.equal(tensor, weights[name]), name
    for each in (expected, found):
        each.tied = each.decoder.weight is each.body.get_input_embeddings().weight
    assert found.tied == expected.tied
    n_bytes = (compact_folder / COMPACT_FILE).stat().st_size
    assert n_bytes < 1.1 * (backbone / "model.safetensors").stat().st_size


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda arrays: arrays.pop("bert.embeddings.LayerNorm.bias"), "missing keys"),
        (lambda arrays: arrays.update(more=numpy.ones(1, "f")), "unexpected keys"),
        (
            lambda arrays: arrays.update(
                {"bert.embeddings.LayerNorm.bias": numpy.ones(3, "f")}
            ),
            "state_dict for LayerNorm",
        ),
        (
            lambda arrays: arrays.update(
                {"bert.embeddings.LayerNorm.bias": numpy.full(32, numpy.nan, "f")}
            ),
            "NaN or infinite",
        ),
    ],
    ids=["missing", "not wanted", "wrong size", "no number"],
)
def test_weights_that_do_not_fit_are_refused(bert, tmp_path, change, message):
    load_masked_lm(bert).save(tmp_path, compact=True)
    stored = load_file(tmp_path / COMPACT_FILE)
    change(stored)
    save_file(stored, tmp_path / COMPACT_FILE)
    with pytest.raises(BackboneError, match=message) as caught:
        load_masked_lm(tmp_path, strict=True)
    assert str(tmp_path) in str(caught.value)


def test_a_configuration_that_asks_for_more_is_refused_before_it_takes_memory(
    bert, tmp_path
):
    load_masked_lm(bert).save(tmp_path, compact=True)
    path = tmp_path / "config.json"
    text = path.read_text()
    assert '"intermediate_size": 64' in text
    path.write_text(
        text.replace('"intermediate_size": 64', '"intermediate_size": 10000000')
    )
    with pytest.raises(BackboneError, match=r"asks for .* weights"):
        load_masked_lm(tmp_path)


def scores_of(nlp, texts):
    found = nlp.get_pipe(NAME).model.predict([nlp.make_doc(text) for text in texts])
    return found.probs, found.outside


def test_a_pipeline_gives_the_same_scores_bit_for_bit(
    family, trained_folder_of, texts, tmp_path
):
    """Saved and loaded, and from a folder as earlier versions wrote it."""
    nlp = spacy.load(trained_folder_of(family))
    expected = scores_of(nlp, texts)
    nlp.to_disk(tmp_path / "compact")
    folder = tmp_path / "ordinary" / NAME / "model"
    shutil.copytree(tmp_path / "compact", tmp_path / "ordinary")
    (folder / COMPACT_FILE).unlink()
    nlp.get_pipe(NAME).network.masked_lm.save(folder)
    assert (folder / "model.safetensors").is_file()
    for name in ("compact", "ordinary"):
        found = scores_of(spacy.load(tmp_path / name), texts)
        for one, other in zip(found, expected):
            assert one.tobytes() == other.tobytes()
