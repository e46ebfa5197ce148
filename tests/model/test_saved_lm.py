"""Loading what this package saved, without transformers' search."""

import json

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from spacy_entlm.model.masked_lm import BackboneError, load_masked_lm
from spacy_entlm.model.saved_lm import WEIGHTS_FILE, load_saved_lm


def config_of(folder):
    config = transformers.AutoConfig.from_pretrained(folder)
    if hasattr(config, "reference_compile"):
        config.reference_compile = False
    return config


@pytest.fixture
def saved(backbone, tmp_path):
    """The folder of a backbone of each family as `MaskedLM.save` writes it."""
    load_masked_lm(backbone).save(tmp_path)
    return tmp_path


@pytest.fixture
def saved_bert(bert, tmp_path):
    load_masked_lm(bert).save(tmp_path)
    return tmp_path


def change_weights(folder, change):
    tensors = load_file(folder / WEIGHTS_FILE)
    change(tensors)
    save_file(tensors, folder / WEIGHTS_FILE, metadata={"format": "pt"})


def test_everything_is_what_transformers_loads(saved):
    lm = load_saved_lm(saved, config_of(saved))
    expected = transformers.AutoModelForMaskedLM.from_pretrained(
        saved, config=config_of(saved)
    )
    assert lm is not None and not lm.training
    for named in ("named_parameters", "named_buffers"):
        ours, theirs = (dict(getattr(x, named)()) for x in (lm, expected))
        assert ours.keys() == theirs.keys()
        for name, tensor in theirs.items():
            assert torch.equal(ours[name], tensor), name
    inputs = torch.tensor([[1, 7, 9, 2]])
    with torch.no_grad():
        assert torch.equal(lm(inputs).logits, expected(inputs).logits)


def test_tied_matrices_stay_one(saved_bert):
    lm = load_saved_lm(saved_bert, config_of(saved_bert))
    assert lm.get_output_embeddings().weight is lm.get_input_embeddings().weight


@pytest.mark.parametrize(
    "change",
    [
        lambda tensors: tensors.pop("bert.embeddings.LayerNorm.bias"),
        lambda tensors: tensors.update(more=torch.zeros(1)),
        lambda tensors: tensors.update(
            {"bert.embeddings.LayerNorm.bias": torch.zeros(3)}
        ),
    ],
    ids=["missing", "not wanted", "wrong size"],
)
def test_weights_that_do_not_fit_are_left_to_transformers(saved_bert, change):
    change_weights(saved_bert, change)
    assert load_saved_lm(saved_bert, config_of(saved_bert)) is None
    with pytest.raises(BackboneError):
        load_masked_lm(saved_bert, strict=True)


def test_weights_in_half_precision_are_left_to_transformers(saved_bert):
    change_weights(
        saved_bert,
        lambda tensors: tensors.update({k: t.half() for k, t in tensors.items()}),
    )
    assert load_saved_lm(saved_bert, config_of(saved_bert)) is None
    lm = load_masked_lm(saved_bert, strict=True).body
    assert {parameter.dtype for parameter in lm.parameters()} == {torch.float32}


def test_tokenizer_with_more_pieces_than_rows_is_refused(saved_bert):
    path = saved_bert / "tokenizer.json"
    data = json.loads(path.read_text(encoding="utf8"))
    n_pieces = len(data["model"]["vocab"])
    data["added_tokens"].append(
        {**data["added_tokens"][0], "id": n_pieces, "content": "new"}
    )
    path.write_text(json.dumps(data), encoding="utf8")
    with pytest.raises(BackboneError, match="do not belong together"):
        load_masked_lm(saved_bert, strict=True)
