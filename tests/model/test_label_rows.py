"""Design section 4.1: what a label row is made of, and what it leaves alone."""

import logging

import pytest
import torch

from spacy_entlm.label_words.rows import Rows, initial_row
from spacy_entlm.label_words.words import LabelWordError


def piece_rows(network, *pieces):
    """Decoder rows of pieces by their spelling in the vocabulary."""
    ids = network.tokenizer.convert_tokens_to_ids(list(pieces))
    assert network.tokenizer.unk_token_id not in ids
    return network.vocabulary.weight[ids], network.vocabulary.bias[ids]


def add(network, words, *, label="PER"):
    network.add_labels({label: words})
    return network.head.rows[-1], network.head.biases[-1]


@pytest.fixture
def bert_network(bert, load_network):
    return load_network(bert)


@pytest.fixture
def roberta_network(roberta, load_network):
    return load_network(roberta)


def test_label_row_is_mean_of_vocabulary(bert_network):
    row, bias = add(bert_network, ["John", "Mary", "Peter"])
    rows, biases = piece_rows(bert_network, "john", "mary", "peter")
    torch.testing.assert_close(row, rows.mean(0))
    torch.testing.assert_close(bias, biases.mean().reshape(1))


def test_single_word_gives_its_own_row(bert_network):
    row, bias = add(bert_network, ["John"])
    rows, biases = piece_rows(bert_network, "john")
    assert torch.equal(row, rows[0])
    assert torch.equal(bias, biases)


def test_label_row_of_a_decoder_without_bias_has_bias_zero():
    rows = Rows(torch.randn(5, 3), None)
    row, bias = initial_row(rows, [[1], [2]])
    torch.testing.assert_close(row, rows.weight[[1, 2]].mean(0))
    assert bias.tolist() == [0.0]


def test_label_rows_do_not_change_output_matrix_or_input_embeddings(network):
    before = {
        name: value.clone() for name, value in network.masked_lm.state_dict().items()
    }
    row, bias = add(network, ["John", "Mary"])
    with torch.no_grad():
        row += 1.0
        bias += 1.0
    after = network.masked_lm.state_dict()
    assert after.keys() == before.keys()
    assert all(torch.equal(after[name], before[name]) for name in before)


def test_label_row_does_not_change_first_label_word(network):
    ids = network.tokenizer(" John", add_special_tokens=False)["input_ids"]
    before = network.vocabulary.weight[ids].clone()
    row, _ = add(network, ["John", "Mary"])
    with torch.no_grad():
        row.zero_()
    assert torch.equal(network.vocabulary.weight[ids], before)


def test_tokenizer_never_learns_of_labels(network):
    vocab = dict(network.tokenizer.get_vocab())
    n_inputs = network.masked_lm.body.get_input_embeddings().num_embeddings
    add(network, ["John"], label="I-PER")
    assert network.tokenizer.get_vocab() == vocab
    assert network.masked_lm.body.get_input_embeddings().num_embeddings == n_inputs


def test_word_of_several_pieces_stands_for_the_mean_of_its_pieces(bert_network):
    pieces = bert_network.tokenizer.tokenize("johns")
    assert len(pieces) > 1
    row, bias = add(bert_network, ["Mary", "johns"])
    mary, mary_bias = piece_rows(bert_network, "mary")
    johns, johns_bias = piece_rows(bert_network, *pieces)
    torch.testing.assert_close(row, (mary[0] + johns.mean(0)) / 2)
    torch.testing.assert_close(bias, (mary_bias + johns_bias.mean()) / 2)


def test_words_of_several_pieces_are_named_in_one_notice(bert_network, caplog):
    with caplog.at_level(logging.INFO, logger="spacy.entlm"):
        add(bert_network, ["johns", "Mary", "marys"])
    (record,) = caplog.records
    assert "johns, marys" in record.getMessage()
    assert "Mary" not in record.getMessage()


def test_unknown_label_word_is_left_out_with_a_warning(bert_network, caplog):
    row, _ = add(bert_network, ["漢漢漢", "Mary"])
    rows, _ = piece_rows(bert_network, "mary")
    assert torch.equal(row, rows[0])
    assert "漢漢漢" in caplog.text


def test_class_without_a_word_the_vocabulary_can_say_is_named(bert_network):
    words = {"PER": ["John"], "CITY": ["漢漢漢"]}
    with pytest.raises(LabelWordError, match=r"'CITY'.*漢漢漢"):
        bert_network.add_labels(words)
    assert len(bert_network.head) == 0
    assert bert_network.label_words == {}


def test_byte_level_bpe_looks_words_up_with_their_leading_space(roberta_network):
    assert roberta_network.tokenizer.tokenize(" John") == ["ĠJohn"]
    assert roberta_network.tokenizer.tokenize("John") != ["ĠJohn"]
    row, _ = add(roberta_network, ["John"])
    rows, _ = piece_rows(roberta_network, "ĠJohn")
    assert torch.equal(row, rows[0])


def test_words_that_fold_to_the_same_pieces_count_once(bert_network):
    row, _ = add(bert_network, ["John", "JOHN", "john", "Mary"])
    rows, _ = piece_rows(bert_network, "john", "mary")
    torch.testing.assert_close(row, rows.mean(0))


def test_cased_byte_level_words_that_differ_in_case_count_apart(roberta_network):
    row, _ = add(roberta_network, ["MASK", "mask"])
    tokenizer = roberta_network.tokenizer
    upper, lower = tokenizer.tokenize(" MASK"), tokenizer.tokenize(" mask")
    assert upper != lower
    means = [
        piece_rows(roberta_network, *pieces)[0].mean(0) for pieces in (upper, lower)
    ]
    torch.testing.assert_close(row, torch.stack(means).mean(0))


def test_each_class_has_a_parameter_of_its_own(bert_network):
    add(bert_network, ["John"])
    before = {name for name, _ in bert_network.named_parameters()}
    add(bert_network, ["Paris"], label="LOC")
    new = {name for name, _ in bert_network.named_parameters()} - before
    shapes = {tuple(dict(bert_network.named_parameters())[name].shape) for name in new}
    assert shapes == {(bert_network.masked_lm.width,), (1,)}
