"""The words of a vocabulary that are nearest to a row."""

import re

import numpy
import pytest
import torch
from transformers import AutoTokenizer

from spacy_entlm.label_words.nearest import nearest_words
from spacy_entlm.label_words.starts import Start
from spacy_entlm.model.search_reader import TextReader

WIDTH = 8


def random_vocabulary(seed, n):
    rng = numpy.random.default_rng(seed)
    return rng.normal(size=(n, WIDTH)).astype("float32")


@pytest.fixture
def tokenizer(bert):
    return AutoTokenizer.from_pretrained(bert)


def no_words(tokenizer):
    """Pieces that are special, or have no letter and no digit."""
    signs = [i for x, i in tokenizer.get_vocab().items() if not re.search(r"[^\W_]", x)]
    assert signs
    return [*tokenizer.all_special_ids, *signs]


def test_they_have_the_greatest_cosines(tokenizer):
    """Whatever their lengths; the nearest comes first."""
    vocabulary = random_vocabulary(1, len(tokenizer))
    vocabulary *= numpy.random.default_rng(2).uniform(0.1, 9, (len(vocabulary), 1))
    row = random_vocabulary(3, 1)[0]
    found = nearest_words(row, vocabulary, tokenizer, 10)
    lengths = numpy.linalg.norm(vocabulary, axis=1)
    cosines = vocabulary @ row / lengths / numpy.linalg.norm(row)
    cosines[no_words(tokenizer)] = -2
    expected = numpy.argsort(-cosines)[:10]
    assert [each.piece for each in found] == expected.tolist()
    numpy.testing.assert_allclose(
        [each.cosine for each in found], cosines[expected], rtol=1e-5
    )
    assert [each.word for each in found] == tokenizer.convert_ids_to_tokens(expected)


def test_a_word_is_nearest_to_its_own_row(tokenizer):
    vocabulary = random_vocabulary(4, len(tokenizer))
    piece = tokenizer.convert_tokens_to_ids("berlin")
    (found,) = nearest_words(3 * vocabulary[piece], vocabulary, tokenizer, 1)
    assert found.word == "berlin" and found.piece == piece
    assert found.cosine == pytest.approx(1)


def test_special_pieces_signs_and_rows_without_a_piece_are_no_words(tokenizer):
    """An output matrix may have more rows than the tokenizer has pieces."""
    n = len(tokenizer)
    vocabulary = random_vocabulary(5, n + 8)
    row = vocabulary[n + 3]
    vocabulary[no_words(tokenizer)] = row
    before = vocabulary.copy()
    found = nearest_words(row, vocabulary, tokenizer, n)
    pieces = {each.piece for each in found if each.cosine > -numpy.inf}
    assert pieces == {*range(n)} - {*no_words(tokenizer)}
    assert (vocabulary == before).all()


def test_pieces_are_shown_as_the_words_that_they_are(roberta):
    tokenizer = AutoTokenizer.from_pretrained(roberta)
    vocabulary = random_vocabulary(6, len(tokenizer))
    piece = tokenizer.convert_tokens_to_ids("ĠBerlin")
    (found,) = nearest_words(vocabulary[piece], vocabulary, tokenizer, 1)
    assert (found.word, found.piece) == ("Berlin", piece)


@pytest.mark.parametrize("n", [0, 3])
def test_a_row_of_zeros_is_near_to_nothing(tokenizer, n):
    vocabulary = random_vocabulary(7, len(tokenizer))
    vocabulary[9] = 0
    found = nearest_words(numpy.zeros(WIDTH, "float32"), vocabulary, tokenizer, n)
    assert [each.cosine for each in found] == [0.0] * n


def test_what_a_class_starts_as(bert):
    """As the row of a word, which is the nearest to it."""
    reader = TextReader(str(bert))
    reader.network.add_labels({"LOC": Start(words=["Berlin"])})
    vocabulary = reader.vocabulary.weight
    assert not vocabulary.requires_grad
    row = reader.network.rows[0].detach().numpy()
    found = nearest_words(row, vocabulary.numpy(), reader.tokenizer, 3)
    assert found[0].word == "berlin"
    assert torch.equal(reader.network.rows[0], vocabulary[found[0].piece])
