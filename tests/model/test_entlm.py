"""The loss over the pieces of texts (paper, Eq. 3), through the whole network."""

import numpy
import pytest
import torch

from spacy_entlm.model import pytorch
from spacy_entlm.model.types import NO_ENTITY, NO_TARGET

N_LABELS = 3


@pytest.fixture
def bert_nlp(bert, start_nlp):
    """An initialised pipeline with a BERT."""
    return start_nlp(bert)


def pipe_of(nlp):
    return nlp.get_pipe("entlm_ner")


def mixed_targets(n_words):
    """A class, no entity and missing annotation in turn."""
    targets = numpy.arange(n_words) % (N_LABELS + 2)
    targets[targets == N_LABELS] = NO_ENTITY
    targets[targets == N_LABELS + 1] = NO_TARGET
    return targets


def gradients_of(network):
    return {
        name: parameter.grad.clone()
        for name, parameter in network.named_parameters()
        if parameter.grad is not None
    }


def plain_loss(network, docs, targets, pieces):
    """Sum of the cross-entropy, text by text, left to autograd, and how many pieces
    carry one. Each text is one window."""
    prefix, suffix = network.masked_lm.special_pieces()
    head = network.head
    label_weight = torch.stack(list(head.rows))
    label_bias = torch.cat(list(head.biases))
    n_pieces, total = 0, torch.zeros(())
    for doc, offset in zip(docs, numpy.cumsum([0, *pieces.lengths])):
        words = pieces.first_words
        chosen = (words >= offset) & (words < offset + len(doc))
        own = network.tokenizer(doc.text, add_special_tokens=False)["input_ids"]
        # Windows are sorted by length, their pieces follow as they are tokenised.
        assert pieces.piece_ids[chosen].tolist() == own
        word_targets = targets[words[chosen]]
        expected = numpy.where(
            word_targets >= 0, len(network.vocabulary) + word_targets, numpy.array(own)
        )
        carries = word_targets != NO_TARGET
        inputs = torch.tensor([[*prefix, *own, *suffix]])
        features = network.masked_lm(inputs, torch.ones_like(inputs))
        features = features[0, len(prefix) : len(prefix) + len(own)][carries]
        label = torch.nn.functional.linear(features, label_weight, label_bias)
        logits = torch.cat([network.vocabulary.scores(features), label], 1)
        total = total + torch.nn.functional.cross_entropy(
            logits, torch.tensor(expected[carries]), reduction="sum"
        )
        n_pieces += int(carries.sum())
    return total, n_pieces


@pytest.mark.parametrize("n_batches", [1, 4])
def test_loss_and_gradients_of_a_whole_network_equal_autograd(
    backbone, start_nlp, texts, without_dropout, n_batches, monkeypatch
):
    """With all windows in one batch, and with each in one of its own."""
    nlp = start_nlp(backbone, model=without_dropout)
    pipe, view = pipe_of(nlp), pipe_of(nlp).label_model
    batches = []
    begin_features = view.shim.begin_features
    monkeypatch.setattr(
        view.shim,
        "begin_features",
        lambda inputs: batches.append(len(inputs)) or begin_features(inputs),
    )
    if n_batches > 1:
        monkeypatch.setattr(pytorch, "TRAINING_PIECES", 1)
    docs = [nlp.make_doc(text) for text in texts[:4]]
    pieces, backprop = pipe.model.begin_update(docs)
    assert batches == [n_batches]
    targets = mixed_targets(sum(pieces.lengths))
    loss, gradient = view.loss(pieces, targets)
    backprop(gradient)
    found = gradients_of(view.network)
    view.shim.drop_gradients()

    total, n_pieces = plain_loss(view.network, docs, targets, pieces)
    total.backward()
    assert gradient.n_pieces == n_pieces
    assert loss == pytest.approx(float(total.detach()) / n_pieces, rel=1e-4)
    expected = gradients_of(view.network)
    assert found.keys() == expected.keys()
    for name, reference in expected.items():
        torch.testing.assert_close(
            found[name], reference, rtol=1e-3, atol=1e-4, msg=name
        )


def test_a_loss_that_is_looked_at_leaves_no_gradient(bert_nlp, texts):
    pipe = pipe_of(bert_nlp)
    pieces, _ = pipe.model.begin_update([bert_nlp.make_doc(texts[0])])
    loss, _ = pipe.label_model.loss(pieces, mixed_targets(pieces.lengths[0]))
    assert loss > 0
    assert gradients_of(pipe.label_model.network) == {}


def test_output_matrix_is_tied_to_the_input_embeddings(bert_nlp):
    network = pipe_of(bert_nlp).label_model.network
    embeddings = network.masked_lm.body.get_input_embeddings().weight
    assert network.vocabulary.weight is embeddings


def test_tied_matrix_gets_the_gradients_of_both_its_uses(bert_nlp, texts):
    pipe = pipe_of(bert_nlp)
    view, network = pipe.label_model, pipe.label_model.network
    pieces, backprop = pipe.model.begin_update([bert_nlp.make_doc(texts[0])])
    targets = numpy.full(pieces.lengths[0], NO_ENTITY)
    _, gradient = view.loss(pieces, targets)
    from_output = gradient.vocabulary.weight.clone()
    backprop(gradient)
    both = network.vocabulary.weight.grad
    unused = numpy.setdiff1d(numpy.arange(len(network.vocabulary)), pieces.piece_ids)
    cls = network.tokenizer.cls_token_id
    assert not torch.equal(both[cls], from_output[cls])
    unused = unused[~numpy.isin(unused, network.tokenizer.all_special_ids)]
    assert torch.equal(both[unused], from_output[unused])
    assert from_output[unused].any()


def test_piece_between_two_targets_carries_no_loss(bert_nlp):
    """One piece of two words, of which one is an entity and the other is not."""
    nlp = bert_nlp
    doc = nlp.make_doc("Berlin")
    with doc.retokenize() as retokenizer:
        retokenizer.split(doc[0], ["Ber", "lin"], heads=[(doc[0], 1), doc[0]])
    pipe = pipe_of(nlp)
    pieces, _ = pipe.model.begin_update([doc])
    assert (pieces.first_words.tolist(), pieces.last_words.tolist()) == ([0], [1])
    for targets, n_pieces in (([0, 0], 1), ([0, NO_ENTITY], 0), ([0, 1], 0)):
        loss, gradient = pipe.label_model.loss(pieces, numpy.array(targets))
        assert gradient.n_pieces == n_pieces
        assert (loss > 0) == bool(n_pieces)
        assert gradient.features.any() == bool(n_pieces)
