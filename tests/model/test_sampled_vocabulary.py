"""Rivals of labels in training: of a vocabulary that does not learn a sample stands for
all (sampled softmax: Jean et al., 2015)."""

from types import SimpleNamespace

import numpy
import pytest
import torch

from spacy_entlm.model import network as network_module
from spacy_entlm.model.network import EntLMNetwork
from spacy_entlm.model.types import Pieces

N_VOCAB, DIM = 11, 5
OWN = numpy.array([7, 2, 7, 4])


def make_network(seed, *, with_bias=True):
    """Random rows of a vocabulary that does not learn, without a masked LM."""
    random = torch.Generator().manual_seed(seed)
    decoder = torch.nn.Linear(DIM, N_VOCAB, bias=with_bias).requires_grad_(False)
    for parameter in decoder.parameters():
        parameter.normal_(generator=random)
    network = EntLMNetwork(SimpleNamespace(decoder=decoder))
    network.add_row("K", torch.randn(DIM, generator=random), torch.zeros(1))
    return network, torch.randn(len(OWN), DIM, generator=random)


@pytest.fixture
def sampled(monkeypatch):
    """Makes the sample a small one."""

    def of(n):
        monkeypatch.setattr(network_module, "N_SAMPLED", n)

    return of


@pytest.mark.parametrize("with_bias", [True, False])
def test_a_sample_of_all_is_the_vocabulary(with_bias, sampled):
    sampled(N_VOCAB)
    network, features = make_network(9, with_bias=with_bias)
    rows, own, rival_ids = network.rivals(OWN)
    assert sorted(rival_ids) == list(range(N_VOCAB))
    assert rival_ids[own].tolist() == OWN.tolist()
    every = network.vocabulary.scores(features)
    torch.testing.assert_close(rows.scores(features), every[:, rival_ids])


@pytest.mark.parametrize("with_bias", [True, False])
def test_a_sample_stands_for_the_others_in_the_mean(with_bias, sampled):
    sampled(4)
    network, features = make_network(10, with_bias=with_bias)
    features = 0.3 * features
    own_scores = network.vocabulary.scores(features)[numpy.arange(len(OWN)), OWN]
    numpy.random.seed(0)
    totals = []
    for _ in range(4000):
        rows, own, rival_ids = network.rivals(OWN)
        assert len(rows) == len({*rival_ids}) == 3 + 4
        scores = rows.scores(features)
        torch.testing.assert_close(scores[torch.arange(len(OWN)), own], own_scores)
        totals.append(scores.exp().sum(1))
    expected = network.vocabulary.scores(features).exp().sum(1)
    torch.testing.assert_close(
        torch.stack(totals).mean(0), expected, rtol=0.05, atol=0.0
    )


def test_a_sample_repeats_with_the_seed_and_shares_no_memory(sampled):
    sampled(4)
    network, _ = make_network(11)
    weights = []
    for seed in (1, 1, 2):
        numpy.random.seed(seed)
        rows, _, _ = network.rivals(OWN)
        weights.append(rows.weight.clone())
        rows.weight.zero_()
        rows.bias.zero_()
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
    assert network.vocabulary.weight.all() and network.vocabulary.bias.all()


def test_the_same_sample_is_given_again(sampled):
    """As an earlier model gets it, whose scores are compared with."""
    sampled(4)
    network, features = make_network(12)
    pieces = Pieces(OWN, numpy.arange(len(OWN)), numpy.arange(len(OWN)))
    one = network.piece_scores(features, pieces)
    other = network.piece_scores(features, pieces, rival_ids=one.rival_ids)
    assert torch.equal(one.scores, other.scores)
    assert torch.equal(one.own, other.own)
    assert one.n_rivals == 3 + 4 and one.scores.shape == (len(OWN), 3 + 4 + 1)


def test_a_sample_of_a_batch_without_pieces(sampled):
    sampled(4)
    network, _ = make_network(12)
    rows, own, rival_ids = network.rivals(OWN[:0])
    assert len(rows) == len(rival_ids) == 4 and not len(own)


def test_a_vocabulary_that_learns_is_all_there():
    network, features = make_network(13)
    network.masked_lm.decoder.requires_grad_(True)
    rows, own, rival_ids = network.rivals(OWN)
    assert len(rows) == N_VOCAB and rival_ids is None
    assert own.tolist() == OWN.tolist()
    assert rows.scores(features).requires_grad
