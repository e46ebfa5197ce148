"""The loss over the pieces of texts (paper, Eq. 3), through the whole network."""

import numpy
import pytest
import torch

from spacy_entlm.model import layer as layer_module
from spacy_entlm.model.layer import read_pieces, shim_of
from spacy_entlm.model.objective import label_cross_entropy
from spacy_entlm.model.types import NO_ENTITY, NO_TARGET

N_LABELS = 3


@pytest.fixture
def bert_nlp(bert, start_nlp, without_dropout):
    """An initialised pipeline with a BERT without dropout."""
    return start_nlp(bert, model=without_dropout)


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
    label_weight = torch.stack(list(network.rows))
    label_bias = torch.cat(list(network.biases))
    n_pieces, total = 0, torch.zeros(())
    for doc, offset in zip(docs, numpy.cumsum([0, *map(len, docs)])):
        words = pieces.first_words
        chosen = (words >= offset) & (words < offset + len(doc))
        own = network.tokenizer(doc.text, add_special_tokens=False)["input_ids"]
        # Windows are sorted by length, their pieces follow as they are tokenised.
        assert pieces.ids[chosen].tolist() == own
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
    pipe, shim = pipe_of(nlp), shim_of(pipe_of(nlp).layer)
    batches = []
    begin_scores = shim.begin_scores
    monkeypatch.setattr(
        shim,
        "begin_scores",
        lambda inputs, pieces: (
            batches.append(len(inputs)) or begin_scores(inputs, pieces)
        ),
    )
    if n_batches > 1:
        monkeypatch.setattr(layer_module, "TRAINING_PIECES", 1)
    docs = [nlp.make_doc(text) for text in texts[:4]]
    scores, backprop = pipe.model.begin_update(docs)
    assert batches == [n_batches]
    targets = mixed_targets(sum(map(len, docs)))
    loss, gradient = label_cross_entropy(scores, targets)
    assert backprop(gradient) == []
    found = gradients_of(pipe.network)
    shim.drop_gradients()

    total, n_pieces = plain_loss(pipe.network, docs, targets, scores.pieces)
    total.backward()
    assert gradient.n_lossy == n_pieces
    assert loss == pytest.approx(float(total.detach()) / n_pieces, rel=1e-4)
    expected = gradients_of(pipe.network)
    assert found.keys() == expected.keys()
    for name, reference in expected.items():
        torch.testing.assert_close(
            found[name], reference, rtol=1e-3, atol=1e-4, msg=name
        )


def test_a_loss_that_is_looked_at_leaves_no_gradient(bert_nlp, make_examples):
    pipe = pipe_of(bert_nlp)
    examples = make_examples(bert_nlp)[:1]
    scores, _ = pipe.model.begin_update([examples[0].predicted])
    loss, _ = pipe.get_loss(examples, scores)
    assert loss > 0
    assert gradients_of(pipe.network) == {}


def test_the_loss_of_a_component_is_that_of_its_examples(bert_nlp, make_examples):
    """Classes by their order, and words of no entity."""
    pipe = pipe_of(bert_nlp)
    examples = make_examples(bert_nlp)[:1]
    scores, _ = pipe.model.begin_update([examples[0].predicted])
    per, loc = (pipe.labels.index(label) for label in ("PER", "LOC"))
    targets = [per, per, NO_ENTITY, NO_ENTITY, loc, NO_ENTITY]
    expected, wanted = label_cross_entropy(scores, numpy.array(targets))
    loss, gradient = pipe.get_loss(examples, scores)
    assert loss == expected
    assert torch.equal(gradient.scores, wanted.scores)


def test_output_matrix_is_tied_to_the_input_embeddings(bert_nlp):
    network = pipe_of(bert_nlp).network
    embeddings = network.masked_lm.body.get_input_embeddings().weight
    assert network.vocabulary.weight is embeddings


def test_tied_matrix_gets_the_gradients_of_both_its_uses(bert_nlp, texts):
    pipe = pipe_of(bert_nlp)
    docs, network = [bert_nlp.make_doc(texts[0])], pipe.network
    scores, backprop = pipe.model.begin_update(docs)
    _, gradient = label_cross_entropy(scores, numpy.full(len(docs[0]), NO_ENTITY))
    (inputs,), pieces = read_pieces(pipe.layer, docs)
    with torch.no_grad():
        features = network(*map(torch.from_numpy, inputs))
    from_output = gradient.scores[:, : scores.n_rivals].T @ features
    backprop(gradient)
    both = network.vocabulary.weight.grad
    unused = numpy.setdiff1d(numpy.arange(len(network.vocabulary)), pieces.ids)
    cls = network.tokenizer.cls_token_id
    assert not torch.allclose(both[cls], from_output[cls])
    unused = unused[~numpy.isin(unused, network.tokenizer.all_special_ids)]
    torch.testing.assert_close(both[unused], from_output[unused])
    assert from_output[unused].any()


def test_piece_between_two_targets_carries_no_loss(bert_nlp):
    """One piece of two words, of which one is an entity and the other is not."""
    nlp = bert_nlp
    doc = nlp.make_doc("Berlin")
    with doc.retokenize() as retokenizer:
        retokenizer.split(doc[0], ["Ber", "lin"], heads=[(doc[0], 1), doc[0]])
    scores, _ = pipe_of(nlp).model.begin_update([doc])
    pieces = scores.pieces
    assert (pieces.first_words.tolist(), pieces.last_words.tolist()) == ([0], [1])
    for targets, n_pieces in (([0, 0], 1), ([0, NO_ENTITY], 0), ([0, 1], 0)):
        loss, gradient = label_cross_entropy(scores, numpy.array(targets))
        assert gradient.n_lossy == n_pieces
        assert (loss > 0) == bool(n_pieces)
        assert gradient.scores.any() == bool(n_pieces)
