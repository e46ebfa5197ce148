"""What saves time and memory in training, and changes nothing."""

import pytest
import torch
from thinc.api import Adam, fix_random_seed

from spacy_entlm.model import shim
from spacy_entlm.backbones.loading import load_masked_lm
from spacy_entlm.model.reading import get_network, get_shim

NAME = "entlm_ner"
NO_DROPOUT = {
    "transformer_config": {
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
    }
}


def gradients_of(nlp, examples):
    """Loss and all gradients of one batch."""
    pipe = nlp.get_pipe(NAME)
    loss = nlp.update(examples, sgd=False)[NAME]
    found = {
        name: parameter.grad.clone()
        for name, parameter in get_network(pipe.model).named_parameters()
        if parameter.grad is not None
    }
    get_shim(pipe.model).drop_gradients()
    return loss, found


def assert_same_gradients(left, right, **tolerance):
    assert left[0] == pytest.approx(right[0], rel=1e-3)
    assert left[1].keys() == right[1].keys()
    for name, gradient in left[1].items():
        torch.testing.assert_close(gradient, right[1][name], **tolerance)


def test_head_reads_chosen_pieces(backbone):
    masked_lm = load_masked_lm(backbone).eval()
    assert masked_lm.head_takes_rows
    ids = torch.tensor([[0, 7, 8, 9, 2], [0, 9, 11, 2, 1]])
    mask = torch.tensor([[1] * 5, [1] * 4 + [0]])
    chosen = torch.tensor([7, 1, 3])
    with torch.no_grad():
        every = masked_lm(ids, mask).flatten(0, 1)
        torch.testing.assert_close(
            masked_lm(ids, mask, positions=chosen), every[chosen]
        )
        masked_lm.head_takes_rows = False
        torch.testing.assert_close(
            masked_lm(ids, mask, positions=chosen), every[chosen]
        )


def test_head_that_looks_at_its_neighbours_gets_all_pieces(bert):
    masked_lm = load_masked_lm(bert).eval()
    transform = masked_lm.body.cls.predictions.transform
    transform.register_forward_hook(lambda _, __, output: output.cumsum(1))
    assert not masked_lm.head_takes_rows


def test_memory_of_the_large_gradient_is_used_again(start_nlp, bert, make_examples):
    nlp = start_nlp(bert, model=NO_DROPOUT)
    examples = make_examples(nlp)[:4]
    first = gradients_of(nlp, examples)
    decoder = get_network(nlp.get_pipe(NAME).model).masked_lm.decoder
    nlp.update(examples, sgd=False)
    place = decoder.weight.grad.data_ptr()
    get_shim(nlp.get_pipe(NAME).model).drop_gradients()
    nlp.update(examples, sgd=False)
    assert decoder.weight.grad.data_ptr() == place
    get_shim(nlp.get_pipe(NAME).model).drop_gradients()
    assert_same_gradients(first, gradients_of(nlp, examples))


def test_bfloat16_training_is_close_to_float32(
    start_nlp, bert, make_examples, monkeypatch
):
    nlp = start_nlp(bert, model={**NO_DROPOUT, "mixed_precision": True})
    examples = make_examples(nlp)
    monkeypatch.setattr(shim, "fastest_precision", lambda *_: "float32")
    full = gradients_of(nlp, examples)
    monkeypatch.setattr(shim, "fastest_precision", lambda *_: "bfloat16")
    half = gradients_of(nlp, examples)
    assert half[0] == pytest.approx(full[0], rel=0.02)
    changed = 0
    for name, gradient in full[1].items():
        if gradient.norm() > 1e-2:
            change = (half[1][name] - gradient).norm() / gradient.norm()
            assert 0 < change < 0.1, name
            assert half[1][name].dtype == torch.float32
            changed += 1
    assert changed > 20
    optimizer = Adam(1e-2, L2=0.0, grad_clip=0.0)
    fix_random_seed(0)
    losses = [nlp.update(examples, sgd=optimizer)[NAME] for _ in range(20)]
    assert losses[-1] < losses[0] / 2
