"""Argmax and probabilities over vocabulary and labels (paper, Eq. 4)."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_entlm.label_words.rows import Rows
from spacy_entlm.model import label_scores
from spacy_entlm.model.label_scores import (
    BLOCK_WORDS,
    CPU_CHUNK_ROWS,
    score_words,
    summarise,
)

DIM = 6
# Scores closer than this may fall either way: rounding.
TIE = 1e-4


def random_rows(seed, n_rows, *, n_vocab=9, n_labels=3, with_bias=True):
    random = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(*shape, generator=random)

    features = 2 * draw(n_rows, DIM)
    piece_ids = torch.randint(0, n_vocab, (n_rows,), generator=random)
    vocabulary = Rows(draw(n_vocab, DIM), draw(n_vocab) if with_bias else None)
    return features, piece_ids, vocabulary, Rows(draw(n_labels, DIM), draw(n_labels))


def dense(features, vocabulary, labels, label_bias):
    """The same with every score of every word written out."""
    vocab = vocabulary.scores(features)
    label = labels.scores(features) + label_bias
    both = torch.cat([vocab, label], 1)
    winner = both.argmax(1) - vocab.shape[1]
    margin = label.amax(1) - vocab.amax(1)
    return winner.clamp(min=-1), both.softmax(1), margin


def scores_of(features, piece_ids, vocabulary, labels, **settings):
    """Scores of all words, whose features come from the last word on."""
    words = torch.arange(len(features)).flip(0)
    return score_words(
        features[words],
        piece_ids[words],
        words,
        len(words),
        vocabulary,
        labels,
        **settings,
    )


def check_against_dense(parts, *, label_bias=0.0, need_probs=False):
    features, _, vocabulary, labels = parts
    expected, both, margin = dense(features, vocabulary, labels, label_bias)
    n_vocab = len(vocabulary.weight)
    expected_probs = both[:, n_vocab:]
    best, confidence, probs, word_prob = scores_of(
        *parts, label_bias=label_bias, need_probs=need_probs
    )
    clear = margin.abs() > TIE
    assert torch.equal(best[clear], expected[clear])
    chosen = best >= 0
    torch.testing.assert_close(
        confidence[chosen],
        expected_probs[chosen].gather(1, best[chosen, None]).squeeze(1),
    )
    assert not confidence[~chosen].any()
    if need_probs:
        torch.testing.assert_close(probs, expected_probs)
        torch.testing.assert_close(word_prob, both[:, :n_vocab].amax(1))
    else:
        assert probs is None and word_prob is None


@given(
    seed=st.integers(0, 2**20),
    n_rows=st.integers(0, 12),
    n_vocab=st.integers(1, 12),
    n_labels=st.integers(1, 4),
    label_bias=st.sampled_from([0.0, 2.0, -2.0]),
    need_probs=st.booleans(),
    with_bias=st.booleans(),
)
@settings(max_examples=80, deadline=None)
def test_scores_equal_a_dense_softmax(
    seed, n_rows, n_vocab, n_labels, label_bias, need_probs, with_bias
):
    parts = random_rows(
        seed, n_rows, n_vocab=n_vocab, n_labels=n_labels, with_bias=with_bias
    )
    check_against_dense(parts, label_bias=label_bias, need_probs=need_probs)


@given(seed=st.integers(0, 2**20), floor=st.sampled_from([1e-4, 0.01, 0.5, 0.9]))
def test_classes_below_the_floor_are_left_out_and_nothing_else(seed, floor):
    """Ratios to the best word, cut off at the floor, are those of the dense softmax."""
    parts = random_rows(seed, 40)
    features, piece_ids, vocabulary, labels = parts
    # Its own piece is what most words say.
    for row, piece in enumerate(piece_ids):
        features[row] += vocabulary.weight[piece] * (row % 4)
    _, both, _ = dense(features, vocabulary, labels, 0.0)
    n_vocab = len(vocabulary.weight)
    expected = both[:, n_vocab:] / both[:, :n_vocab].amax(1, keepdim=True)
    found = scores_of(*parts, need_probs=True, probability_floor=floor)
    ratios = found.probs / found.word_prob[:, None]
    pair = (ratios.clamp(min=floor), expected.clamp(min=floor))
    torch.testing.assert_close(*pair, rtol=1e-4, atol=0)
    whole = scores_of(*parts, need_probs=True)
    settled = found.word_prob == 1
    assert torch.equal(found.best, whole.best)
    torch.testing.assert_close(found.probs[~settled], whole.probs[~settled])


@pytest.mark.parametrize("need_probs", [True, False])
def test_more_rows_than_a_block_holds(need_probs):
    parts = random_rows(1, 2 * BLOCK_WORDS + 5)
    check_against_dense(parts, label_bias=3.0, need_probs=need_probs)


@pytest.mark.parametrize("need_probs", [True, False])
def test_more_words_than_are_compared_at_once(need_probs, monkeypatch):
    parts = random_rows(4, 57)
    check_against_dense(parts, label_bias=1.0, need_probs=need_probs)


def test_vocabulary_of_more_than_one_chunk():
    parts = random_rows(5, 20, n_vocab=2 * CPU_CHUNK_ROWS + 3)
    check_against_dense(parts, label_bias=20.0)
    features, _, vocabulary, _ = parts
    scores = torch.nn.functional.linear(features, vocabulary.weight, vocabulary.bias)
    top, total = summarise(features, vocabulary)
    torch.testing.assert_close(top, scores.amax(1))
    torch.testing.assert_close(total, scores.logsumexp(1))


def test_words_that_their_own_pieces_win_are_not_scored(monkeypatch):
    """Neither with nor without probabilities that may be left out."""
    features, piece_ids, vocabulary, labels = random_rows(8, 30)
    features[:20] = 10 * vocabulary.weight[piece_ids[:20]]
    scored = []

    def note(features, vocabulary):
        scored.append(len(features))
        return summarise(features, vocabulary)

    monkeypatch.setattr(label_scores, "summarise", note)
    parts = (features, piece_ids, vocabulary, labels)
    for wanted in ({}, {"need_probs": True, "probability_floor": 0.5}):
        scores_of(*parts, **wanted)
    without, with_probs = scored
    assert 0 < without <= with_probs < 30
    scores_of(*parts, need_probs=True)
    assert scored[-1] == 30


def test_word_that_no_piece_stands_for_is_no_entity():
    features, piece_ids, vocabulary, labels = random_rows(6, 3)
    words = torch.tensor([0, 1, 3])
    best, confidence, probs, word_prob = score_words(
        features,
        piece_ids,
        words,
        4,
        vocabulary,
        labels,
        label_bias=100.0,
        need_probs=True,
    )
    assert best[2] == -1 and confidence[2] == 0
    assert not probs[2].any() and word_prob[2] == 1
    assert (best[[0, 1, 3]] >= 0).all()


def test_label_bias_decides_how_much_is_found():
    parts = random_rows(2, 200)
    found = [
        int((scores_of(*parts, label_bias=bias)[0] >= 0).sum())
        for bias in (-100.0, 0.0, 100.0)
    ]
    assert found[0] == 0 < found[1] < found[2] == 200


def test_tie_with_a_vocabulary_word_is_no_entity():
    features = torch.ones(1, DIM)
    rows = Rows(torch.ones(1, DIM), torch.zeros(1))
    best, confidence, *_ = scores_of(features, torch.tensor([0]), rows, rows)
    assert best.tolist() == [-1]
    assert confidence.tolist() == [0.0]


def test_word_that_its_own_piece_loses_can_still_be_no_entity():
    # Piece 0 stands in the text; the label outscores it, piece 1 outscores both.
    features = torch.eye(3)[:1]
    vocabulary = Rows(torch.tensor([[0.0, 0, 0], [2.0, 0, 0]]), None)
    labels = Rows(torch.tensor([[1.0, 0, 0]]), torch.zeros(1))
    best, *_ = scores_of(features, torch.tensor([0]), vocabulary, labels)
    assert best.tolist() == [-1]


def test_without_classes_there_is_no_entity():
    features, piece_ids, vocabulary, _ = random_rows(3, 4)
    labels = Rows(torch.zeros(0, DIM), torch.zeros(0))
    best, confidence, probs, _ = scores_of(
        features, piece_ids, vocabulary, labels, need_probs=True
    )
    assert best.tolist() == [-1] * 4
    assert confidence.tolist() == [0.0] * 4
    assert probs.shape == (4, 0)
