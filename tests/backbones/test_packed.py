"""Word embeddings that stay in 4 bits in memory: they give the values that they have
unpacked, and a model with them is otherwise as it is without."""

import pickle
from copy import deepcopy

import numpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from spacy_entlm.backbones import compact
from spacy_entlm.backbones import packed as packed_module
from spacy_entlm.backbones.compact import COMPACT_FILE, unpack_q4
from spacy_entlm.backbones.errors import BackboneError
from spacy_entlm.backbones.loading import load_masked_lm
from spacy_entlm.backbones.packed import PackedRows

# Without ALBERT, whose rows are too short for a block.
FAMILIES = ["bert", "distilbert", "roberta", "xlm-roberta", "modernbert"]
EMBEDDINGS = "bert.embeddings.word_embeddings.weight"


def random_bytes(seed, n, width):
    """Packed rows with any scale that is a number."""
    rng = numpy.random.default_rng(seed)
    blocks = rng.integers(0, 256, (n * width // 32, 18), dtype="uint8")
    # The sign and the four lower bits of the exponent.
    blocks[:, 1] &= 0b10111111
    return blocks.reshape(n, -1)


def same_bits(one, other):
    assert one.dtype == other.dtype == torch.float32
    return torch.equal(one.view(torch.int32), other.view(torch.int32))


@given(
    st.integers(0, 2**20),
    st.integers(1, 9),
    st.sampled_from([32, 64, 384]),
    st.lists(st.integers(0, 3), max_size=3),
)
def test_rows_have_the_values_that_they_have_unpacked(seed, n, width, shape):
    array = random_bytes(seed, n, width)
    expected = torch.from_numpy(unpack_q4(array))
    rows = PackedRows(torch.from_numpy(array))
    assert (len(rows), rows.shape) == (n, (n, width))
    random = torch.Generator().manual_seed(seed)
    ids = torch.randint(0, n, shape, generator=random)
    assert rows(ids).shape == (*shape, width)
    assert same_bits(rows(ids), expected[ids])
    assert same_bits(rows[ids.flatten().tolist()], expected[ids.flatten()])
    assert same_bits(rows[1:4], expected[1:4])
    assert same_bits(rows.unpacked(), expected)


def test_all_rows_are_unpacked_part_by_part(monkeypatch):
    monkeypatch.setattr(packed_module, "CHUNK_ROWS", 4)
    array = random_bytes(1, 11, 64)
    rows = PackedRows(torch.from_numpy(array))
    assert same_bits(rows.unpacked(), torch.from_numpy(unpack_q4(array)))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_in_half_precision_rows_are_as_those_of_embeddings(dtype):
    array = random_bytes(2, 5, 64)
    rows = PackedRows(torch.from_numpy(array))
    embeddings = torch.nn.Embedding.from_pretrained(torch.from_numpy(unpack_q4(array)))
    ids = torch.tensor([[0, 4], [1, 1]])
    with torch.autocast("cpu", dtype):
        assert same_bits(rows(ids), embeddings(ids))


# Whole models.


@pytest.fixture(autouse=True)
def small_matrices_are_packed(monkeypatch):
    """Those of tiny models are too small to be looked at."""
    monkeypatch.setattr(compact, "MIN_VALUES", 1)


@pytest.fixture(params=FAMILIES)
def folder(request, packed_folder_of):
    return packed_folder_of(request.param)


def load_both(folder):
    """One that stays packed, and one that does not."""
    packed = load_masked_lm(folder, packed=True).eval()
    assert packed.is_packed and isinstance(packed.decoder.weight, PackedRows)
    plain = load_masked_lm(folder).eval()
    assert not plain.is_packed
    return packed, plain


def features_of(masked_lm):
    random = torch.Generator().manual_seed(1)
    n_rows = masked_lm.decoder.weight.shape[0]
    ids = torch.randint(0, n_rows, (3, 12), generator=random)
    with torch.no_grad():
        return masked_lm(ids, torch.ones_like(ids))


def bytes_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_it_computes_the_same(folder):
    packed, plain = load_both(folder)
    assert same_bits(features_of(packed), features_of(plain))
    assert packed.decoder.weight.shape == plain.decoder.weight.shape
    assert packed.width == plain.width and packed.max_pieces == plain.max_pieces
    assert same_bits(packed.decoder.weight.unpacked(), plain.decoder.weight.detach())
    n_values = plain.decoder.weight.numel()
    held = [sum(p.numel() for p in each.parameters()) for each in (packed, plain)]
    assert held[0] == held[1] - n_values


@pytest.mark.parametrize("compact", [True, False])
def test_it_writes_the_same_bytes(folder, tmp_path, compact):
    for name, masked_lm in zip(("packed", "plain"), load_both(folder)):
        (tmp_path / name).mkdir()
        masked_lm.save(tmp_path / name, compact=compact)
    written = bytes_of(tmp_path / "packed")
    assert written == bytes_of(tmp_path / "plain")
    if compact:
        assert written[COMPACT_FILE] == (folder / COMPACT_FILE).read_bytes()


def test_unpacked_it_is_the_other(folder):
    packed, plain = load_both(folder)
    packed.unpack()
    assert not packed.is_packed
    inputs = packed.body.get_input_embeddings()
    assert packed.decoder.weight is inputs.weight
    assert inputs.padding_idx == plain.body.get_input_embeddings().padding_idx
    assert not packed.decoder.weight.requires_grad
    expected = dict(plain.named_parameters())
    found = dict(packed.named_parameters())
    assert [*found] == [*expected]
    assert all(same_bits(found[name], expected[name]) for name in found)
    assert packed.state_dict().keys() == plain.state_dict().keys()
    features = features_of(packed)
    assert same_bits(features, features_of(plain))
    with torch.no_grad():
        assert same_bits(packed.decoder(features), plain.decoder(features))
    packed.unpack()  # nothing is left to do
    assert packed.decoder.weight is inputs.weight


@pytest.mark.parametrize("copied", [deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_shares_its_rows_too(packed_bert, copied):
    masked_lm = load_masked_lm(packed_bert, packed=True).eval()
    copy = copied(masked_lm)
    rows = copy.decoder.weight
    assert copy.body.get_input_embeddings() is rows
    assert rows.packed.data_ptr() != masked_lm.decoder.weight.packed.data_ptr()
    assert same_bits(features_of(copy), features_of(masked_lm))
    copy.unpack()
    assert masked_lm.is_packed


def test_it_stays_packed_on_another_device_and_in_another_precision(packed_bert):
    masked_lm = load_masked_lm(packed_bert, packed=True)
    rows = masked_lm.decoder.weight
    masked_lm.half().to("meta")
    assert rows.packed.dtype == torch.uint8 and rows.device.type == "meta"
    assert masked_lm.body.get_input_embeddings() is rows


def stored_of(folder):
    return load_file(folder / COMPACT_FILE)


def test_what_has_learned_is_not_packed(bert, packed_bert, tmp_path):
    load_masked_lm(bert).save(tmp_path, compact=True)
    assert EMBEDDINGS in stored_of(tmp_path)
    assert not load_masked_lm(tmp_path, packed=True).is_packed
    assert not load_masked_lm(bert, packed=True).is_packed


def test_two_matrices_are_not_packed(packed_bert, tmp_path):
    """Where the output matrix is not that of word embeddings."""
    masked_lm = load_masked_lm(packed_bert)
    masked_lm.body.config.tie_word_embeddings = False
    masked_lm.decoder.weight = torch.nn.Parameter(-masked_lm.decoder.weight.detach())
    masked_lm.save(tmp_path, compact=True)
    found = load_masked_lm(tmp_path, packed=True)
    assert not found.is_packed
    embeddings = found.body.get_input_embeddings().weight
    assert torch.equal(found.decoder.weight, -embeddings)


def test_with_fewer_layers_it_is_packed_too(packed_bert):
    packed = load_masked_lm(packed_bert, packed=True, layers=1).eval()
    plain = load_masked_lm(packed_bert, layers=1).eval()
    assert packed.is_packed and same_bits(features_of(packed), features_of(plain))


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda rows: rows[:-1], "for Embedding"),
        (lambda rows: numpy.concatenate([rows, rows], axis=1), "for Embedding"),
        (lambda rows: rows[:, :17].copy(), "no compact weights"),
        (lambda rows: rows | 255, "NaN or infinite"),
    ],
    ids=["fewer rows", "longer rows", "no blocks", "no numbers"],
)
def test_rows_that_do_not_fit_are_refused(packed_bert, tmp_path, change, message):
    load_masked_lm(packed_bert).save(tmp_path, compact=True)
    stored = stored_of(tmp_path)
    stored[EMBEDDINGS + ".q4"] = change(stored[EMBEDDINGS + ".q4"])
    save_file(stored, tmp_path / COMPACT_FILE)
    for packed in (True, False):
        with pytest.raises(BackboneError, match=message):
            load_masked_lm(tmp_path, packed=packed)
