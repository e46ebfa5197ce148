"""Argmax and probabilities over vocabulary and labels (paper, Eq. 4)."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_entlm.model import word_scores
from spacy_entlm.model.label_head import BLOCK_ROWS, Rows
from spacy_entlm.model.packed import CHUNK_ROWS
from spacy_entlm.model.word_scores import WordScorer, summarise

DIM = 6
# Scores closer than this may fall either way: rounding.
TIE = 1e-4


def random_rows(seed, n_rows, *, n_vocab=9, n_labels=3, with_bias=True):
    random = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(*shape, generator=random)

    features = 2 * draw(n_rows, DIM)
    piece_ids = torch.randint(0, n_vocab, (n_rows,), generator=random)
    decoder = Rows(draw(n_vocab, DIM), draw(n_vocab) if with_bias else None)
    return features, piece_ids, decoder, Rows(draw(n_labels, DIM), draw(n_labels))


def dense(features, decoder, labels, label_bias):
    """The same with every score of every word written out."""
    vocab = decoder.scores(features)
    label = labels.scores(features) + label_bias
    both = torch.cat([vocab, label], 1)
    winner = both.argmax(1) - vocab.shape[1]
    margin = label.amax(1) - vocab.amax(1)
    return winner.clamp(min=-1), both.softmax(1), margin


def label_scores(features, piece_ids, decoder, labels, *, n_batches=1, **settings):
    """All words through a scorer, in some batches, from the last word on."""
    scorer = WordScorer(len(features), decoder, labels, **settings)
    words = torch.arange(len(features)).flip(0)
    for chosen in words.tensor_split(n_batches):
        scorer.add(chosen, features[chosen], piece_ids[chosen])
    return scorer.finish()


def check_against_dense(parts, *, label_bias=0.0, need_probs=False, n_batches=1):
    features, piece_ids, decoder, labels = parts
    expected, both, margin = dense(features, decoder, labels, label_bias)
    n_vocab = len(decoder.weight)
    expected_probs = both[:, n_vocab:]
    best, confidence, probs, word_prob = label_scores(
        features,
        piece_ids,
        decoder,
        labels,
        label_bias=label_bias,
        need_probs=need_probs,
        n_batches=n_batches,
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
    n_batches=st.integers(1, 4),
)
@settings(max_examples=80, deadline=None)
def test_scores_equal_a_dense_softmax(
    seed, n_rows, n_vocab, n_labels, label_bias, need_probs, with_bias, n_batches
):
    parts = random_rows(
        seed, n_rows, n_vocab=n_vocab, n_labels=n_labels, with_bias=with_bias
    )
    check_against_dense(
        parts, label_bias=label_bias, need_probs=need_probs, n_batches=n_batches
    )


@given(seed=st.integers(0, 2**20), negligible=st.sampled_from([1e-4, 0.01, 0.5, 0.9]))
def test_negligible_classes_are_left_out_and_nothing_else(seed, negligible):
    """Ratios to the best word, cut off where they are negligible, are those of the
    dense softmax."""
    parts = random_rows(seed, 40)
    features, piece_ids, decoder, labels = parts
    # Its own piece is what most words say.
    for row, piece in enumerate(piece_ids):
        features[row] += decoder.weight[piece] * (row % 4)
    _, both, _ = dense(features, decoder, labels, 0.0)
    n_vocab = len(decoder.weight)
    expected = both[:, n_vocab:] / both[:, :n_vocab].amax(1, keepdim=True)
    found = label_scores(*parts, need_probs=True, negligible=negligible)
    ratios = found.probs / found.word_prob[:, None]
    pair = (ratios.clamp(min=negligible), expected.clamp(min=negligible))
    torch.testing.assert_close(*pair, rtol=1e-4, atol=0)
    whole = label_scores(*parts, need_probs=True)
    settled = found.word_prob == 1
    assert torch.equal(found.best, whole.best)
    torch.testing.assert_close(found.probs[~settled], whole.probs[~settled])


@pytest.mark.parametrize("need_probs", [True, False])
def test_more_rows_than_a_block_holds(need_probs):
    parts = random_rows(1, 2 * BLOCK_ROWS + 5)
    check_against_dense(parts, label_bias=3.0, need_probs=need_probs)


def test_words_are_settled_while_others_are_still_to_come(monkeypatch):
    monkeypatch.setitem(word_scores.SETTLED_TOGETHER, "cpu", 10)
    check_against_dense(random_rows(4, 57), label_bias=1.0, n_batches=9)


def test_vocabulary_of_more_than_one_chunk():
    parts = random_rows(5, 20, n_vocab=2 * CHUNK_ROWS + 3)
    check_against_dense(parts, label_bias=20.0)
    features, _, decoder, _ = parts
    scores = torch.nn.functional.linear(features, decoder.weight, decoder.bias)
    top, total = summarise(features, decoder)
    torch.testing.assert_close(top, scores.amax(1))
    torch.testing.assert_close(total, scores.logsumexp(1))
    with torch.no_grad():
        torch.testing.assert_close(decoder.scores(features), scores)


def test_word_that_no_piece_stands_for_is_no_entity():
    features, piece_ids, decoder, labels = random_rows(6, 3)
    scorer = WordScorer(4, decoder, labels, label_bias=100.0, need_probs=True)
    scorer.add(torch.tensor([0, 1, 3]), features, piece_ids)
    best, confidence, probs, word_prob = scorer.finish()
    assert best[2] == -1 and confidence[2] == 0
    assert not probs[2].any() and word_prob[2] == 1
    assert (best[[0, 1, 3]] >= 0).all()


def test_label_bias_decides_how_much_is_found():
    parts = random_rows(2, 200)
    found = [
        int((label_scores(*parts, label_bias=bias)[0] >= 0).sum())
        for bias in (-100.0, 0.0, 100.0)
    ]
    assert found[0] == 0 < found[1] < found[2] == 200


def test_tie_with_a_vocabulary_word_is_no_entity():
    features = torch.ones(1, DIM)
    rows = Rows(torch.ones(1, DIM), torch.zeros(1))
    best, confidence, *_ = label_scores(features, torch.tensor([0]), rows, rows)
    assert best.tolist() == [-1]
    assert confidence.tolist() == [0.0]


def test_word_that_its_own_piece_loses_can_still_be_no_entity():
    # Piece 0 stands in the text; the label outscores it, piece 1 outscores both.
    features = torch.eye(3)[:1]
    decoder = Rows(torch.tensor([[0.0, 0, 0], [2.0, 0, 0]]), None)
    labels = Rows(torch.tensor([[1.0, 0, 0]]), torch.zeros(1))
    best, *_ = label_scores(features, torch.tensor([0]), decoder, labels)
    assert best.tolist() == [-1]


def test_without_classes_there_is_no_entity():
    features, piece_ids, decoder, _ = random_rows(3, 4)
    labels = Rows(torch.zeros(0, DIM), torch.zeros(0))
    best, confidence, probs, _ = label_scores(
        features, piece_ids, decoder, labels, need_probs=True
    )
    assert best.tolist() == [-1] * 4
    assert confidence.tolist() == [0.0] * 4
    assert probs.shape == (4, 0)
