"""A masked LM that reads texts, for the search of label words."""

import numpy
import pytest
import spacy
import torch

from spacy_entlm.backbones.errors import BackboneError
from spacy_entlm.model.search_reader import TextReader

NLP = spacy.blank("xx")


@pytest.fixture(scope="module")
def reader(bert):
    return TextReader(str(bert))


def in_order(found):
    order = numpy.argsort(found.words)
    return found.words[order], found.features[torch.from_numpy(order)]


def test_features_are_those_of_first_pieces(reader):
    """As the masked LM gives them for the text alone."""
    docs = [NLP.make_doc("Anna met Peters in Rome ."), NLP.make_doc("It rains .")]
    words, features = in_order(reader.read_words(docs))
    assert words.tolist() == list(range(9))
    expected = []
    for doc in docs:
        encoded = reader.tokenizer(doc.text, return_tensors="pt")
        with torch.no_grad():
            every = reader.network.masked_lm(
                encoded["input_ids"], encoded["attention_mask"]
            )[0]
        pieces = encoded.word_ids()
        expected += [every[pieces.index(word)] for word in range(len(doc))]
    torch.testing.assert_close(features, torch.stack(expected), rtol=1e-4, atol=1e-5)
    assert not features.requires_grad


def test_some_words_may_be_wanted(reader):
    docs = [NLP.make_doc("Anna met Mary in Rome .")]
    wanted = numpy.array([True, False, False, False, True, False])
    words, features = in_order(reader.read_words(docs, wanted=wanted))
    assert words.tolist() == [0, 4]
    every = in_order(reader.read_words(docs))[1]
    torch.testing.assert_close(features, every[[0, 4]])
    assert len(reader.read_words([]).words) == 0


def test_words_are_folded_and_split_as_the_backbone_does(reader):
    assert reader.fold_word("BERLIN") == "berlin"
    assert reader.word_pieces("Berlin") == ["berlin"]
    assert len(reader.word_pieces("Berliners")) > 1
    assert reader.word_pieces("\u6f22\u6f22") == []


def test_the_vocabulary_has_no_gradients(reader):
    rows = reader.vocabulary
    assert not rows.weight.requires_grad and not rows.bias.requires_grad
    assert len(rows) == len(reader.tokenizer)
    assert reader.device.type == "cpu"


def test_what_is_no_masked_lm_is_refused(tmp_path):
    with pytest.raises(BackboneError, match="no model folder"):
        TextReader(str(tmp_path))
