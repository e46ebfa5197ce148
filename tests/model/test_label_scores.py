"""What is probable at a word: the labels against the best that they have to outscore
(paper, Eq. 4)."""

from types import SimpleNamespace

import numpy
import pytest
import spacy
import torch
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc

from spacy_entlm.decoding.io import IODecoder
from spacy_entlm.model import network as network_module
from spacy_entlm.model.bias import ScoreBias
from spacy_entlm.model.layer import build_layer, score_words
from spacy_entlm.model.network import OWN, RIVALS, VOCABULARY, EntLMNetwork
from spacy_entlm.model.types import WordFeatures

NLP = spacy.blank("xx")
DIM = 6
# Scores closer than this may fall either way: rounding.
TIE = 1e-4


def make_network(
    seed=0, *, n_vocab=9, n_labels=3, with_bias=True, rivals=OWN, vocabulary=None
):
    """A network of random rows, without a masked LM."""
    random = torch.Generator().manual_seed(seed)
    if vocabulary is not None:
        n_vocab = len(vocabulary)
    decoder = torch.nn.Linear(DIM, n_vocab, bias=with_bias)
    for parameter in decoder.parameters():
        parameter.data.normal_(generator=random)
    if vocabulary is not None:
        decoder.weight.data = vocabulary
    network = EntLMNetwork(SimpleNamespace(decoder=decoder))
    network.rival_kind = rivals
    for i in range(n_labels):
        row = torch.randn(DIM + 1, generator=random)
        network.add_row(f"K{i}", row[:DIM], row[DIM:])
    return network


def random_words(seed, n_words, n_vocab=9):
    random = torch.Generator().manual_seed(seed)
    features = 2 * torch.randn(n_words, DIM, generator=random)
    return features, torch.randint(0, n_vocab, (n_words,), generator=random)


def scores_of(network, features, piece_ids, *, bias=0.0, words=None, n_words=None):
    """Scores of all words, whose features come from the last word on."""
    if words is None:
        order = torch.arange(len(features)).flip(0)
        features, piece_ids, words = features[order], piece_ids[order], order.numpy()
    n_words = len(features) if n_words is None else n_words
    docs = [Doc(NLP.vocab, words=["a"] * n_words)]
    layer = build_layer("layer", SimpleNamespace(network=network), None, None)
    layer.attrs["bias"] = ScoreBias(bias)
    found = WordFeatures(features, piece_ids.numpy(), words, [n_words])
    return score_words(layer, docs, found)


def dense(network, features, piece_ids, bias):
    """The same with every score of every word written out."""
    vocabulary = network.vocabulary.scores(features)
    labels = network.label_rows.scores(features) + bias
    if network.rival_kind == OWN:
        rivals = vocabulary.gather(1, piece_ids[:, None])
    else:
        rivals = vocabulary.amax(1, keepdim=True)
    return torch.cat([rivals, labels], 1).softmax(1).detach().numpy()


@given(
    seed=st.integers(0, 2**20),
    n_words=st.integers(0, 12),
    n_vocab=st.integers(1, 12),
    n_labels=st.integers(1, 4),
    bias=st.sampled_from([0.0, 2.0, -2.0]),
    rivals=st.sampled_from(RIVALS),
    with_bias=st.booleans(),
)
def test_scores_equal_a_dense_softmax(
    seed, n_words, n_vocab, n_labels, bias, rivals, with_bias
):
    network = make_network(
        seed, n_vocab=n_vocab, n_labels=n_labels, with_bias=with_bias, rivals=rivals
    )
    words = random_words(seed, n_words, n_vocab)
    found = scores_of(network, *words, bias=bias)
    expected = dense(network, *words, bias)
    numpy.testing.assert_allclose(found.outside, expected[:, 0], atol=1e-5)
    numpy.testing.assert_allclose(found.probs, expected[:, 1:], atol=1e-5)
    assert found.lengths == [n_words]


def entities(found):
    """The class of each word, -1 for none."""
    (n_words,) = found.lengths
    (decoded,) = IODecoder()(found, [Doc(NLP.vocab, words=["a"] * n_words)])
    classes = numpy.full(n_words, -1)
    for start, end, label in decoded.spans:
        classes[start:end] = label
    return classes


@given(seed=st.integers(0, 2**20), bias=st.sampled_from([0.0, 2.0]))
def test_with_the_vocabulary_as_rivals_the_best_of_all_words_wins(seed, bias):
    """The paper's Eq. 4: what a word is, is the best of vocabulary and label words."""
    network = make_network(seed, rivals=VOCABULARY)
    features, piece_ids = random_words(seed, 30)
    rows = [network.vocabulary, network.label_rows]
    scores = [each.scores(features).detach() for each in rows]
    scores[1] += bias
    winner = torch.cat(scores, 1).argmax(1) - len(network.vocabulary)
    clear = ((scores[1].amax(1) - scores[0].amax(1)).abs() > TIE).numpy()
    found = entities(scores_of(network, features, piece_ids, bias=bias))
    assert (found[clear] == winner.clamp(min=-1).numpy()[clear]).all()


@given(seed=st.integers(0, 2**20))
def test_with_its_own_piece_as_rival_more_is_found(seed):
    """A word that another piece wins can still be an entity."""
    words = random_words(seed, 30)
    with_own, with_all = (
        entities(scores_of(make_network(seed, rivals=rivals), *words))
        for rivals in (OWN, VOCABULARY)
    )
    found = with_all >= 0
    assert (with_own[found] == with_all[found]).all()


@pytest.mark.parametrize("rivals, expected", [(OWN, [0]), (VOCABULARY, [-1])])
def test_a_word_that_another_piece_wins(rivals, expected):
    # Piece 0 stands in the text; the label outscores it, piece 1 outscores both.
    first = torch.eye(DIM)[:1]
    vocabulary = torch.cat([0 * first, 2 * first])
    network = make_network(
        n_labels=0, with_bias=False, rivals=rivals, vocabulary=vocabulary
    )
    network.add_row("K", first[0], torch.zeros(1))
    found = scores_of(network, first, torch.tensor([0]))
    assert entities(found).tolist() == expected


@pytest.mark.parametrize("n_vocab", [1, 4, 5, 11])
def test_vocabulary_of_more_than_one_chunk(n_vocab, monkeypatch):
    monkeypatch.setattr(network_module, "CHUNK_ROWS", 4)
    network = make_network(3, n_vocab=n_vocab, rivals=VOCABULARY)
    features, piece_ids = random_words(5, 20, n_vocab)
    expected = network.vocabulary.scores(features).amax(1)
    torch.testing.assert_close(network.rival_scores(features, piece_ids), expected)


def test_word_that_no_piece_stands_for_is_no_entity():
    network = make_network(6)
    features, piece_ids = random_words(6, 3)
    words = numpy.array([0, 1, 3])
    found = scores_of(network, features, piece_ids, words=words, n_words=4, bias=100.0)
    assert not found.probs[2].any() and found.outside[2] == 1
    assert (entities(found) >= 0).tolist() == [True, True, False, True]


def test_label_bias_decides_how_much_is_found():
    network, words = make_network(2), random_words(2, 200)
    found = [
        int((entities(scores_of(network, *words, bias=bias)) >= 0).sum())
        for bias in (-100.0, 0.0, 100.0)
    ]
    assert found[0] == 0 < found[1] < found[2] == 200


def test_scores_of_thousands_are_no_problem():
    network = make_network(4)
    features, piece_ids = random_words(4, 30)
    found = scores_of(network, 1e4 * features, piece_ids, bias=1e6)
    assert numpy.isfinite(found.probs).all() and numpy.isfinite(found.outside).all()
    numpy.testing.assert_allclose(found.probs.sum(1) + found.outside, 1, rtol=1e-6)


@pytest.mark.parametrize("rivals", RIVALS)
def test_tie_with_a_word_is_no_entity(rivals):
    row = torch.ones(1, DIM)
    network = make_network(n_labels=0, with_bias=False, rivals=rivals, vocabulary=row)
    network.add_row("K", row[0], torch.zeros(1))
    found = scores_of(network, torch.ones(1, DIM), torch.tensor([0]))
    assert (found.probs.tolist(), found.outside.tolist()) == ([[0.5]], [0.5])
    assert entities(found).tolist() == [-1]


def test_without_classes_there_is_no_entity():
    found = scores_of(make_network(3, n_labels=0), *random_words(3, 4))
    assert found.probs.shape == (4, 0)
    assert found.outside.tolist() == [1.0] * 4
    assert entities(found).tolist() == [-1] * 4


def test_the_setting_decides_what_a_label_has_to_outscore(bert, start_nlp, texts):
    """Of a pipeline, and of one that is saved and loaded."""
    networks, scores = {}, {}
    for rivals in RIVALS:
        nlp = start_nlp(bert, model={"rivals": rivals})
        pipe = nlp.get_pipe("entlm_ner").from_bytes(
            nlp.get_pipe("entlm_ner").to_bytes()
        )
        networks[rivals] = pipe.network.rival_kind
        scores[rivals] = pipe.model.predict([nlp.make_doc(text) for text in texts])
    assert networks == {rivals: rivals for rivals in RIVALS}
    # A label wins at most against as much.
    assert (scores[VOCABULARY].outside >= scores[OWN].outside - 1e-6).all()
    assert (scores[VOCABULARY].outside > scores[OWN].outside + 1e-3).any()
    with pytest.raises(ValueError, match="rivals is one of own, vocabulary, not 'all'"):
        start_nlp(bert, model={"rivals": "all"})
