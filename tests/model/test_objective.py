"""The objective (paper, Eq. 3) against autograd over one plain softmax."""

import numpy
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from thinc.api import SGD

from spacy_entlm.model.label_head import BLOCK_ROWS, LabelHead, Rows
from spacy_entlm.model.objective import (
    NO_LOSS,
    label_objective,
    rehearsal_objective,
)
from spacy_entlm.model.reading import get_shim
from spacy_entlm.model.types import NO_ENTITY, NO_TARGET

N_VOCAB = 11
N_LABELS = 3
DIM = 5


def random_parts(seed, n_rows, *, n_labels=N_LABELS, with_bias=True):
    """Features, decoder and label head with random values."""
    random = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return 2 * torch.randn(*shape, generator=random)

    decoder = Rows(torch.nn.Parameter(draw(N_VOCAB, DIM)), None)
    if with_bias:
        decoder.bias = torch.nn.Parameter(draw(N_VOCAB))
    head = LabelHead()
    for _ in range(n_labels):
        head.add(draw(DIM), draw(1))
    return draw(n_rows, DIM), decoder, head


def plain_loss(features, targets, decoder, head):
    """Sum of the cross-entropy over the concatenated rows, left to autograd."""
    weight = torch.cat([decoder.weight, torch.stack(list(head.rows))])
    logits = features @ weight.T
    bias = torch.zeros(N_VOCAB) if decoder.bias is None else decoder.bias
    logits = logits + torch.cat([bias, torch.cat(list(head.biases))])
    return torch.nn.functional.cross_entropy(
        logits, targets, ignore_index=NO_LOSS, reduction="sum"
    )


def parameters_of(decoder, head):
    found = [decoder.weight, *head.rows, *head.biases]
    return found if decoder.bias is None else [*found, decoder.bias]


def check_against_autograd(seed, targets, *, scale=1.0, with_bias=True):
    targets = torch.tensor(targets)
    features, decoder, head = random_parts(seed, len(targets), with_bias=with_bias)
    parameters = parameters_of(decoder, head)
    leaf = features.clone().requires_grad_()
    expected = plain_loss(leaf, targets, decoder, head)
    gradients = torch.autograd.grad(scale * expected, [leaf, *parameters])

    loss, d_features = label_objective(
        features, targets, decoder, head, scale=torch.tensor([scale])
    )
    close = {"rtol": 1e-4, "atol": 1e-4}
    torch.testing.assert_close(loss, expected.detach(), **close)
    torch.testing.assert_close(d_features, gradients[0], **close)
    for parameter, gradient in zip(parameters, gradients[1:]):
        torch.testing.assert_close(parameter.grad, gradient, **close)


@given(
    seed=st.integers(0, 2**20),
    targets=st.lists(st.integers(NO_LOSS, N_VOCAB + N_LABELS - 1), min_size=1),
)
@settings(max_examples=40, deadline=None)
def test_loss_and_gradients_equal_autograd(seed, targets):
    check_against_autograd(seed, targets)


def test_loss_and_gradients_equal_autograd_without_decoder_bias():
    check_against_autograd(1, [0, N_VOCAB, NO_LOSS, 4], with_bias=False)


def test_gradients_are_multiplied_with_the_scale():
    check_against_autograd(2, [0, N_VOCAB, NO_LOSS, 4], scale=128.0)


def test_blocks_give_what_one_softmax_gives():
    n_rows = 2 * BLOCK_ROWS + 3
    targets = (torch.arange(n_rows) * 5) % (N_VOCAB + N_LABELS + 1) + NO_LOSS
    check_against_autograd(3, targets.tolist())


def test_rows_without_loss_have_no_gradient():
    features, decoder, head = random_parts(4, 3)
    targets = torch.full((3,), NO_LOSS)
    loss, d_features = label_objective(
        features, targets, decoder, head, scale=torch.ones(1)
    )
    assert loss == 0
    assert not d_features.any()
    assert not any(parameter.grad.any() for parameter in parameters_of(decoder, head))


def test_gradients_add_up_over_calls():
    features, decoder, head = random_parts(5, 4)
    targets = torch.tensor([1, N_VOCAB, N_VOCAB + 2, 0])
    one = torch.ones(1)
    label_objective(features, targets, decoder, head, scale=one)
    once = [parameter.grad.clone() for parameter in parameters_of(decoder, head)]
    label_objective(features, targets, decoder, head, scale=one)
    for parameter, gradient in zip(parameters_of(decoder, head), once):
        torch.testing.assert_close(parameter.grad, 2 * gradient)


def test_scores_of_thousands_stay_finite():
    features, decoder, head = random_parts(6, 2)
    loss, d_features = label_objective(
        1e4 * features, torch.tensor([0, N_VOCAB]), decoder, head, scale=torch.ones(1)
    )
    assert torch.isfinite(loss)
    assert torch.isfinite(d_features).all()


def test_rehearsal_equals_autograd_and_leaves_new_classes_alone():
    features, decoder, head = random_parts(7, BLOCK_ROWS + 9)
    earlier_features, earlier, earlier_head = random_parts(
        8, len(features), n_labels=N_LABELS - 1
    )
    known = list(head.rows)[:-1], list(head.biases)[:-1]
    leaf = features.clone().requires_grad_()
    weight = torch.cat([decoder.weight, torch.stack(known[0])])
    logits = leaf @ weight.T + torch.cat([decoder.bias, *known[1]])
    teacher = earlier_head.stacked()
    teacher_logits = torch.cat(
        [earlier.scores(earlier_features), teacher.scores(earlier_features)], 1
    ).detach()
    expected = torch.nn.functional.cross_entropy(
        logits, teacher_logits.softmax(1), reduction="sum"
    )
    wanted = torch.autograd.grad(expected, [leaf, decoder.weight, head.rows[0]])

    loss, d_features = rehearsal_objective(
        features,
        earlier_features,
        decoder,
        head,
        earlier,
        teacher,
        scale=torch.ones(1),
    )
    close = {"rtol": 1e-4, "atol": 1e-3}
    torch.testing.assert_close(loss, expected.detach(), **close)
    torch.testing.assert_close(d_features, wanted[0], **close)
    torch.testing.assert_close(decoder.weight.grad, wanted[1], **close)
    torch.testing.assert_close(head.rows[0].grad, wanted[2], **close)
    assert not head.rows[-1].grad.any()
    assert not head.biases[-1].grad.any()


def word_targets(model, docs, pieces):
    """A class, no entity and missing annotation in turn."""
    targets = numpy.arange(sum(pieces.lengths)) % (N_LABELS + 2)
    targets[targets == N_LABELS] = NO_ENTITY
    targets[targets == N_LABELS + 1] = NO_TARGET
    return targets


def test_gradients_of_a_whole_network_equal_autograd(
    backbone, start_nlp, texts, without_dropout
):
    nlp = start_nlp(backbone, model=without_dropout)
    model = nlp.get_pipe("entlm_ner").model
    shim = get_shim(model)
    network = shim.network
    docs = [nlp.make_doc(text) for text in texts[:4]]
    pieces, backprop = model.begin_update(docs)
    targets = word_targets(model, docs, pieces)
    loss, d_features = model.attrs["objective"](model, pieces, targets)
    backprop(d_features)
    gradients = {
        name: parameter.grad.clone()
        for name, parameter in network.named_parameters()
        if parameter.grad is not None
    }
    shim.drop_gradients()

    # Each text is one window: the pieces follow each other as they are tokenised.
    prefix, suffix = network.masked_lm.special_pieces()
    n_pieces = 0
    total = torch.zeros(())
    decoder, labels = network.decoder_rows, network.head.stacked()
    for doc, offset in zip(docs, numpy.cumsum([0, *pieces.lengths])):
        chosen = (pieces.first_words >= offset) & (
            pieces.first_words < offset + len(doc)
        )
        ids = pieces.piece_ids[chosen]
        own = network.tokenizer(doc.text, add_special_tokens=False)["input_ids"]
        assert ids.tolist() == own
        word_target = targets[pieces.first_words[chosen]]
        expected = numpy.where(word_target >= 0, network.n_vocab + word_target, ids)
        expected[word_target == NO_TARGET] = NO_LOSS
        inputs = torch.tensor([[*prefix, *own, *suffix]])
        features = network.masked_lm(inputs, torch.ones_like(inputs))
        features = features[0, len(prefix) : len(prefix) + len(own)]
        logits = torch.cat([decoder.scores(features), labels.scores(features)], 1)
        total = total + torch.nn.functional.cross_entropy(
            logits, torch.tensor(expected), ignore_index=NO_LOSS, reduction="sum"
        )
        n_pieces += int((expected != NO_LOSS).sum())
    total.backward()

    mean = float(total.detach()) / n_pieces
    assert loss == pytest.approx(mean, rel=1e-4)
    reference = {
        name: parameter.grad
        for name, parameter in network.named_parameters()
        if parameter.grad is not None
    }
    assert gradients.keys() == reference.keys()
    for name, gradient in reference.items():
        torch.testing.assert_close(
            gradients[name], gradient, rtol=1e-3, atol=1e-4, msg=name
        )


def test_output_matrix_is_tied_to_the_input_embeddings(bert, start_nlp, network_of):
    network = network_of(start_nlp(bert))
    embeddings = network.masked_lm.body.get_input_embeddings().weight
    assert network.decoder_rows.weight is embeddings


def test_tied_matrix_gets_the_gradients_of_both_its_uses(
    bert, start_nlp, texts, network_of
):
    nlp = start_nlp(bert)
    model, network = nlp.get_pipe("entlm_ner").model, network_of(nlp)
    pieces, backprop = model.begin_update([nlp.make_doc(texts[0])])
    targets = numpy.full(pieces.lengths[0], NO_ENTITY)
    _, d_features = model.attrs["objective"](model, pieces, targets)
    from_output = network.decoder_rows.weight.grad.clone()
    backprop(d_features)
    both = network.decoder_rows.weight.grad
    unused = numpy.setdiff1d(numpy.arange(network.n_vocab), pieces.piece_ids)
    cls = network.tokenizer.cls_token_id
    assert not torch.equal(both[cls], from_output[cls])
    unused = unused[~numpy.isin(unused, network.tokenizer.all_special_ids)]
    assert torch.equal(both[unused], from_output[unused])
    assert from_output[unused].any()


class Recorder:
    """An optimizer that only notes what it is given."""

    def __init__(self):
        self.gradients = {}

    def __call__(self, key, weights, gradient, **_):
        self.gradients[key] = gradient.copy()
        return weights, gradient


@pytest.mark.parametrize("size", [1.0, 1e-4])
def test_global_gradient_norm_is_clipped_at_one(
    bert, start_nlp, texts, size, network_of
):
    nlp = start_nlp(bert)
    model, shim = (
        nlp.get_pipe("entlm_ner").model,
        nlp.get_pipe("entlm_ner").model.shims[0],
    )
    pieces, backprop = model.begin_update([nlp.make_doc(text) for text in texts])
    targets = numpy.zeros(sum(pieces.lengths), dtype="int64")
    _, d_features = model.attrs["objective"](model, pieces, targets)
    backprop(d_features)
    network = network_of(nlp)
    n_pieces = len(pieces.piece_ids)
    raw = {}
    for name, parameter in network.named_parameters():
        if parameter.grad is not None:
            parameter.grad *= size
            raw[name] = parameter.grad.numpy() / n_pieces
    norm = numpy.sqrt(sum((gradient**2).sum() for gradient in raw.values()))
    assert (norm > 1) == (size == 1.0)
    recorder = Recorder()
    shim.finish_update(recorder)
    factor = 1 / norm if norm > 1 else 1.0
    assert recorder.gradients.keys() == {(shim.id, name) for name in raw}
    for name, gradient in raw.items():
        numpy.testing.assert_allclose(
            recorder.gradients[shim.id, name], factor * gradient, rtol=1e-3, atol=1e-7
        )


def test_sub_batches_of_unequal_size_give_what_one_batch_gives(
    bert, start_nlp, make_examples, without_dropout, network_of
):
    weights = []
    for splits in ([0, 10], [0, 1, 4, 10]):
        nlp = start_nlp(bert, model=without_dropout)
        examples = make_examples(nlp)
        optimizer = SGD(0.5, L2=0.0, grad_clip=0.0)
        losses = {}
        for start, end in zip(splits, splits[1:]):
            nlp.update(examples[start:end], sgd=False, losses=losses)
        before = network_of(nlp).head.rows[0].detach().clone()
        nlp.get_pipe("entlm_ner").finish_update(optimizer)
        assert not torch.equal(before, network_of(nlp).head.rows[0])
        weights.append({k: v.clone() for k, v in network_of(nlp).state_dict().items()})
    for name, value in weights[0].items():
        torch.testing.assert_close(weights[1][name], value, rtol=1e-4, atol=1e-6)


def test_gradients_are_gone_after_an_update(bert, start_nlp, make_examples, network_of):
    nlp = start_nlp(bert)
    examples = make_examples(nlp)
    nlp.update(examples[:2], sgd=SGD(0.1))
    assert all(p.grad is None for p in network_of(nlp).parameters())
