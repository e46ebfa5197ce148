"""Windows that share a sequence, and heads that read chosen pieces only."""

import numpy
import pytest
import torch
from thinc.api import Adam, fix_random_seed

from spacy_entlm.model import probes, reading, shim
from spacy_entlm.model.masked_lm import load_masked_lm
from spacy_entlm.model.packing import pack
from spacy_entlm.model.reading import get_network, get_shim
from spacy_entlm.model.windows import Windows

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


def test_windows_lie_one_after_another_and_see_only_themselves():
    ids = numpy.array([1, 5, 2, 1, 6, 7, 2])
    none = numpy.zeros(0, dtype="int64")
    sizes = numpy.array([3, 4])
    windows = Windows(ids, none, none, none, numpy.array([0, 3]), sizes, none, [], 0)
    input_ids, mask, positions = pack(windows, 2)
    assert input_ids.tolist() == [ids.tolist()]
    assert positions.tolist() == [[2, 3, 4, 2, 3, 4, 5]]
    assert mask[0, :3, :3].all() and mask[0, 3:, 3:].all()
    assert mask.sum() == 9 + 16


def test_which_families_can_be_packed(backbone_folder):
    first = {
        family: load_masked_lm(backbone_folder(family)).packable_from
        for family in ("bert", "roberta", "xlm-roberta", "distilbert")
    }
    assert first["bert"] == 0
    assert first["roberta"] > 0 and first["xlm-roberta"] > 0
    assert first["distilbert"] is None


def test_backbone_that_mixes_windows_is_not_packed(bert, monkeypatch):
    masked_lm = load_masked_lm(bert)

    def forgets_the_mask(input_ids, attention_mask, position_ids=None):
        ones = torch.ones_like(input_ids)
        return masked_lm._features(input_ids, ones, position_ids)

    monkeypatch.setattr(masked_lm, "forward", forgets_the_mask)
    assert probes.packable_from(masked_lm) is None


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_packed_batch_has_the_gradients_of_a_padded_one(
    family, backbone_folder, start_nlp, make_examples, monkeypatch
):
    nlp = start_nlp(backbone_folder(family), model=NO_DROPOUT)
    examples = make_examples(nlp)[:3]
    packed = gradients_of(nlp, examples)
    calls = []
    padded_batch = reading.whole_batch
    monkeypatch.setattr(
        reading, "whole_batch", lambda windows: calls.append(1) or padded_batch(windows)
    )
    get_network(nlp.get_pipe(NAME).model).masked_lm.packable_from = None
    padded = gradients_of(nlp, examples)
    assert calls  # the second time only
    assert_same_gradients(packed, padded, rtol=1e-3, atol=1e-4)


def test_more_pieces_than_the_model_takes_are_not_packed(start_nlp, bert):
    nlp = start_nlp(bert)
    model = nlp.get_pipe(NAME).model
    docs = [nlp.make_doc("It rains a lot in Paris . " * 4) for _ in range(8)]
    inputs, _ = reading.training_inputs(model, reading.get_doc_windows(model, docs))
    assert inputs.args[0].shape[0] == 8
    inputs, _ = reading.training_inputs(model, reading.get_doc_windows(model, docs[:1]))
    assert inputs.args[0].shape[0] == 1


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
