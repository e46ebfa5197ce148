"""What a label row is made of, and what it leaves alone."""

import logging

import pytest
import spacy
import torch

from spacy_entlm.label_words.rows import Rows, initial_row
from spacy_entlm.label_words.starts import Start
from spacy_entlm.label_words.words import LabelWordError

INPUTS = ("input_ids", "attention_mask")


def piece_rows(network, *pieces):
    """Decoder rows of pieces by their spelling in the vocabulary."""
    ids = network.tokenizer.convert_tokens_to_ids(list(pieces))
    assert network.tokenizer.unk_token_id not in ids
    return network.vocabulary.weight[ids], network.vocabulary.bias[ids]


def add(network, words=(), *, label="PER", names=(), rows=None):
    network.add_labels({label: Start([*names], [*words])}, rows)
    return network.rows[-1], network.biases[-1]


@pytest.fixture
def bert_network(bert, load_network):
    return load_network(bert)


@pytest.fixture
def naming_network(naming, load_network):
    return load_network(naming)


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
    starts = {"PER": Start(words=["John"]), "CITY": Start(words=["漢漢漢"])}
    with pytest.raises(LabelWordError, match=r"'CITY'.*漢漢漢"):
        bert_network.add_labels(starts)
    assert len(bert_network.label_rows) == 0
    assert bert_network.labels == []
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


def test_each_class_remembers_the_texts_it_began_with(naming_network):
    add(naming_network, ["John", " John ", "Mary"], names=["person"])
    add(naming_network, label="LOC", names=["place name"])
    assert naming_network.labels == ["PER", "LOC"]
    assert naming_network.label_words == {
        "PER": ["person", "John", "Mary"],
        "LOC": ["place name"],
    }


def test_classes_that_start_alike_share_no_memory(naming_network):
    """Neither with each other nor with what they start from."""
    vocabulary = naming_network.vocabulary.weight.detach().clone()
    given = torch.ones(naming_network.masked_lm.width)
    for starts in (
        {label: Start(words=["John"]) for label in ("A", "B")},
        {label: Start(names=["person"]) for label in ("C", "D")},
    ):
        naming_network.add_labels(starts)
    naming_network.add_labels(
        {label: Start(words=["John"]) for label in ("E", "F")},
        dict.fromkeys("EF", given),
    )
    for first in (0, 2, 4):
        row, bias = naming_network.rows[first], naming_network.biases[first]
        other = naming_network.rows[first + 1], naming_network.biases[first + 1]
        assert torch.equal(row, other[0]) and torch.equal(bias, other[1])
        before = [each.detach().clone() for each in other]
        with torch.no_grad():
            row += 1.0
            bias += 1.0
        assert torch.equal(other[0], before[0]) and torch.equal(other[1], before[1])
    assert torch.equal(naming_network.vocabulary.weight, vocabulary)
    assert (given == 1).all()


def test_a_row_of_its_name_is_what_the_map_makes(naming_network):
    """Of the mean of its pieces' rows, and of their hidden states."""
    network = naming_network
    row, bias = add(network, names=["john mary"])
    tokenizer, name_map = network.tokenizer, network.name_map
    encoded = tokenizer("john mary", return_tensors="pt")
    hidden = network.masked_lm.eval().hidden(**{k: encoded[k] for k in INPUTS})[0, 1:-1]
    added = name_map(hidden.mean(0))
    rows, biases = piece_rows(network, "john", "mary")
    torch.testing.assert_close(row, rows.mean(0) + added[:-1])
    torch.testing.assert_close(bias, biases.mean() + added[-1:])
    plain = add(network, ["john", "mary"], label="WORDS")[0]
    assert not torch.allclose(row, plain, atol=1e-3)


def test_names_count_as_one_and_words_as_one(naming_network):
    network = naming_network
    one, two = (network.row_of_name(name) for name in ("person", "people"))
    words = add(network, ["John", "Mary"], label="WORDS")
    names = add(network, names=["person", "people"], label="NAMES")
    both = add(network, ["John", "Mary"], names=["person", "people"], label="BOTH")
    for i in range(2):
        torch.testing.assert_close(names[i], (one[i] + two[i]) / 2)
        torch.testing.assert_close(both[i], (names[i] + words[i]) / 2)


def test_a_name_is_read_without_dropout_and_the_mode_stays(naming_network):
    network = naming_network.train()
    rows = [network.row_of_name("person")[0] for _ in range(2)]
    assert torch.equal(*rows)
    assert network.training and network.masked_lm.body.training
    assert torch.equal(network.eval().row_of_name("person")[0], rows[0])
    assert not network.training


def test_names_are_refused_where_there_is_no_map(bert_network):
    with pytest.raises(ValueError, match="makes no rows from names"):
        add(bert_network, names=["person"])
    assert bert_network.labels == []


def test_a_row_that_is_given_takes_the_place_of_the_start_s(bert_network):
    """Its bias does not, and other classes start as they would."""
    _, expected = piece_rows(bert_network, "john")
    given = torch.arange(32.0)
    rows = {"PER": given, "OTHER": torch.ones(32)}
    row, bias = add(bert_network, ["John"], rows=rows)
    assert torch.equal(row, given)
    assert torch.equal(bias, expected)
    row, _ = add(bert_network, ["Paris"], label="LOC", rows=rows)
    assert torch.equal(row, piece_rows(bert_network, "paris")[0][0])


def test_names_are_read_alike_after_saving(naming, start_nlp, make_examples, tmp_path):
    """Also where the masked LM has learned; the map is saved with it."""
    nlp = start_nlp(naming)
    nlp.update(make_examples(nlp), sgd=nlp.resume_training())
    nlp.to_disk(tmp_path)
    copies = [nlp, spacy.load(tmp_path), start_nlp(naming).from_bytes(nlp.to_bytes())]
    rows = []
    for each in copies:
        each.get_pipe("entlm_ner").add_label("DISEASE")
        rows.append(each.get_pipe("entlm_ner").network.label_rows)
    assert all(torch.equal(row.weight, rows[0].weight) for row in rows)
    assert all(torch.equal(row.bias, rows[0].bias) for row in rows)
    words = copies[1].get_pipe("entlm_ner").label_data
    assert words["DISEASE"] == ["disease"]
