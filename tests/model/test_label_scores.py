"""Argmax and probabilities over vocabulary and labels (paper, Eq. 4)."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_entlm.model.label_head import BLOCK_ROWS, Rows, label_scores

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
    return winner.clamp(min=-1), both.softmax(1)[:, vocab.shape[1] :], margin


def check_against_dense(parts, *, label_bias=0.0, need_probs=False):
    features, piece_ids, decoder, labels = parts
    expected, expected_probs, margin = dense(features, decoder, labels, label_bias)
    best, confidence, probs = label_scores(
        features,
        piece_ids,
        decoder,
        labels,
        label_bias=label_bias,
        need_probs=need_probs,
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
    else:
        assert probs is None


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


@pytest.mark.parametrize("need_probs", [True, False])
def test_more_rows_than_a_block_holds(need_probs):
    parts = random_rows(1, 2 * BLOCK_ROWS + 5)
    check_against_dense(parts, label_bias=3.0, need_probs=need_probs)


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
    best, confidence, _ = label_scores(features, torch.tensor([0]), rows, rows)
    assert best.tolist() == [-1]
    assert confidence.tolist() == [0.0]


def test_word_that_its_own_piece_loses_can_still_be_no_entity():
    # Piece 0 stands in the text; the label outscores it, piece 1 outscores both.
    features = torch.eye(3)[:1]
    decoder = Rows(torch.tensor([[0.0, 0, 0], [2.0, 0, 0]]), None)
    labels = Rows(torch.tensor([[1.0, 0, 0]]), torch.zeros(1))
    best, _, _ = label_scores(features, torch.tensor([0]), decoder, labels)
    assert best.tolist() == [-1]


def test_without_classes_there_is_no_entity():
    features, piece_ids, decoder, _ = random_rows(3, 4)
    labels = Rows(torch.zeros(0, DIM), torch.zeros(0))
    best, confidence, probs = label_scores(
        features, piece_ids, decoder, labels, need_probs=True
    )
    assert best.tolist() == [-1] * 4
    assert confidence.tolist() == [0.0] * 4
    assert probs.shape == (4, 0)
