"""Rows of classes from their names: the map, its file, and what it is applied to."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from spacy_entlm.backbones.loading import load_masked_lm
from spacy_entlm.backbones.name_map import (
    MAX_NAME_PIECES,
    NameMap,
    name_pieces,
    rows_of_names,
)
from spacy_entlm.backbones.recommended import NAME_MAP_FILE, reads_names
from spacy_entlm.files.errors import DataError
from spacy_entlm.files.tensors import save_tensors
from spacy_entlm.model.network import EntLMNetwork

WIDTH = 6


def draw(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.fixture
def name_map():
    torch.manual_seed(1)
    return NameMap(WIDTH)


def test_a_map_comes_back_from_its_file(name_map, tmp_path):
    name_map.save(tmp_path)
    found = NameMap.load(tmp_path, WIDTH)
    assert torch.equal(found.weight, name_map.weight)
    assert torch.equal(found.bias, name_map.bias)
    assert found.weight.shape == (WIDTH + 1, WIDTH)
    of_backbone = NameMap.of_backbone(str(tmp_path), WIDTH)
    assert torch.equal(of_backbone.weight, name_map.weight)


def test_maps_in_half_precision_become_float32(name_map, tmp_path):
    half = {k: x.half() for k, x in name_map.state_dict().items()}
    save_tensors(tmp_path / NAME_MAP_FILE, half)
    found = NameMap.load(tmp_path, WIDTH)
    assert {p.dtype for p in found.parameters()} == {torch.float32}
    assert torch.equal(found.weight, half["weight"].float())


def test_most_backbones_have_none(bert, tmp_path):
    assert NameMap.load(tmp_path, WIDTH) is None
    for name in (str(bert), "nobody/has-this-model"):
        assert NameMap.of_backbone(name, 32) is None
        assert not reads_names(name)


def test_a_backbone_that_has_one_reads_names(naming):
    assert reads_names(str(naming))
    assert EntLMNetwork.of_backbone(str(naming)).name_map is not None


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda x: {**x, "bias": x["bias"][:-1]}, "does not fit the model"),
        (lambda x: {**x, "weight": x["weight"].T}, "does not fit the model"),
        (lambda x: {"weight": x["weight"]}, "does not fit the model"),
        (lambda x: {**x, "more": torch.ones(1)}, "does not fit the model"),
        (lambda x: {**x, "bias": torch.nan * x["bias"]}, "NaN or infinite numbers"),
        (None, "cannot be read"),
    ],
)
def test_a_broken_map_and_one_of_another_backbone_are_told(
    name_map, tmp_path, change, message
):
    path = tmp_path / NAME_MAP_FILE
    if change is None:
        path.write_bytes(b"nothing of the kind")
    else:
        save_tensors(path, change(dict(name_map.state_dict())))
    with pytest.raises(DataError, match=message) as caught:
        NameMap.load(tmp_path, WIDTH)
    assert str(path) in str(caught.value)


@given(
    seed=st.integers(0, 2**20),
    lengths=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    with_biases=st.booleans(),
)
def test_rows_are_those_of_a_loop_over_names(seed, lengths, with_biases):
    """Padding and special pieces count for nothing."""
    torch.manual_seed(seed)
    name_map = NameMap(WIDTH)
    n, longest = len(lengths), max(lengths) + 2
    is_piece = torch.zeros(n, longest, dtype=torch.bool)
    for i, length in enumerate(lengths):
        is_piece[i, 1 : 1 + length] = True
    hidden, rows = draw(seed, n, longest, WIDTH), draw(seed + 1, n, longest, WIDTH)
    biases = draw(seed + 2, n, longest) if with_biases else None
    found = rows_of_names(name_map, is_piece, hidden, rows, biases)
    for i, own in enumerate(is_piece):
        added = name_map(hidden[i, own].mean(0))
        torch.testing.assert_close(found[0][i], rows[i, own].mean(0) + added[:-1])
        bias = added[-1] if biases is None else added[-1] + biases[i, own].mean()
        torch.testing.assert_close(found[1][i], bias)


def test_a_map_that_adds_nothing_leaves_the_mean_of_the_pieces(name_map):
    for parameter in name_map.parameters():
        parameter.data.zero_()
    is_piece = torch.tensor([[False, True, True]])
    rows = draw(1, 1, 3, WIDTH)
    found = rows_of_names(name_map, is_piece, draw(2, 1, 3, WIDTH), rows, None)
    torch.testing.assert_close(found[0], rows[:, 1:].mean(1))
    assert found[1].tolist() == [0.0]


def test_a_name_without_a_piece_is_no_error(name_map):
    """Its row is what the map adds to anything."""
    is_piece = torch.zeros(1, 2, dtype=torch.bool)
    parts = draw(1, 1, 2, WIDTH), draw(2, 1, 2, WIDTH), draw(3, 1, 2)
    rows, biases = rows_of_names(name_map, is_piece, *parts)
    torch.testing.assert_close(rows[0], name_map.bias[:-1])
    torch.testing.assert_close(biases, name_map.bias[-1:])


def test_names_are_read_without_special_pieces(backbone):
    tokenizer = load_masked_lm(backbone).tokenizer
    expected = tokenizer("Anna Smith", add_special_tokens=False)["input_ids"]
    assert name_pieces(tokenizer, "Anna Smith") == expected
    assert not {*tokenizer.all_special_ids} & {*expected}


def test_of_a_long_name_the_beginning_is_read(backbone):
    masked_lm = load_masked_lm(backbone)
    pieces = name_pieces(masked_lm.tokenizer, "a street in Rome " * 60)
    assert len(pieces) == MAX_NAME_PIECES
    short = name_pieces(masked_lm.tokenizer, "a street in Rome")
    assert pieces[: len(short)] == short


def test_every_family_has_a_last_hidden_state(backbone):
    """It does not depend on padding."""
    masked_lm = load_masked_lm(backbone).eval()
    ids = torch.tensor([[0, 7, 8, 2, 1]])
    mask = torch.tensor([[1, 1, 1, 1, 0]])
    with torch.no_grad():
        padded = masked_lm.hidden(ids, mask)
        alone = masked_lm.hidden(ids[:, :4], mask[:, :4])
    assert alone.shape == (1, 4, 32)
    torch.testing.assert_close(padded[:, :4], alone, rtol=1e-4, atol=1e-5)
