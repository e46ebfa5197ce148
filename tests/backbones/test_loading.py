"""Loading backbones: what is refused, and with which message."""

import json
import shutil

import pytest
import spacy
import torch
import transformers
from safetensors.torch import load_file, save_file

from spacy_entlm.backbones.errors import BackboneError
from spacy_entlm.backbones.loading import load_masked_lm

WEIGHTS = "model.safetensors"
CONFIG = "config.json"


def change_json(path, **values):
    data = json.loads(path.read_text())
    data.update(values)
    path.write_text(json.dumps(data))


def change_weights(folder, change):
    tensors = load_file(folder / WEIGHTS)
    change(tensors)
    save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})


@pytest.fixture
def broken(bert, tmp_path):
    """A copy of a backbone to be broken."""
    return shutil.copytree(bert, tmp_path / "broken")


def test_half_precision_weights_become_float32(bert, tmp_path):
    lm = transformers.AutoModelForMaskedLM.from_pretrained(bert).half()
    lm.save_pretrained(tmp_path)
    transformers.AutoTokenizer.from_pretrained(bert).save_pretrained(tmp_path)
    assert json.loads((tmp_path / CONFIG).read_text())["torch_dtype"] == "float16"
    masked_lm = load_masked_lm(tmp_path)
    assert {p.dtype for p in masked_lm.parameters()} == {torch.float32}


def test_keys_that_the_masked_lm_does_not_want_are_left_out(bert, broken):
    tensors = load_file(bert / WEIGHTS)
    tensors["bert.pooler.dense.weight"] = torch.zeros(2, 2)
    save_file(tensors, broken / WEIGHTS, metadata={"format": "pt"})
    assert load_masked_lm(broken).width == 32
    with pytest.raises(BackboneError, match=r"unexpected keys: bert\.pooler"):
        load_masked_lm(broken, strict=True)


def test_encoder_without_its_head_is_refused(bert, tmp_path):
    encoder = transformers.BertModel.from_pretrained(bert, add_pooling_layer=False)
    encoder.save_pretrained(tmp_path)
    transformers.AutoTokenizer.from_pretrained(bert).save_pretrained(tmp_path)
    with pytest.raises(BackboneError, match=r"missing keys: cls\.predictions"):
        load_masked_lm(tmp_path)


@pytest.mark.parametrize("key", ["cls.predictions.bias", "word_embeddings.weight"])
def test_missing_weight_is_never_made_up(broken, key):
    tensors = load_file(broken / WEIGHTS)
    (found,) = [name for name in tensors if name.endswith(key)]
    del tensors[found]
    save_file(tensors, broken / WEIGHTS, metadata={"format": "pt"})
    with pytest.raises(BackboneError, match="weights do not fit"):
        load_masked_lm(broken)


def test_weight_of_another_shape_is_refused(broken):
    change_json(broken / CONFIG, intermediate_size=48)
    with pytest.raises(BackboneError, match=str(broken)):
        load_masked_lm(broken)


@pytest.mark.parametrize("size", [0, 7, 2000])
def test_truncated_weights_are_refused(broken, size):
    content = (broken / WEIGHTS).read_bytes()
    (broken / WEIGHTS).write_bytes(content[:size])
    with pytest.raises(BackboneError, match=str(broken)):
        load_masked_lm(broken)


def test_pickled_weights_are_refused(bert, broken):
    (broken / WEIGHTS).unlink()
    torch.save(load_file(bert / WEIGHTS), broken / "pytorch_model.bin")
    with pytest.raises(BackboneError, match="safetensors"):
        load_masked_lm(broken)


@pytest.mark.parametrize("file", [WEIGHTS, CONFIG, "tokenizer.json"])
def test_missing_file_is_named(broken, file):
    (broken / file).unlink()
    if file == "tokenizer.json":
        (broken / "vocab.txt").unlink(missing_ok=True)
    with pytest.raises(BackboneError, match=str(broken)) as caught:
        load_masked_lm(broken)
    assert "\n" not in str(caught.value)


def test_folder_that_is_no_model_is_refused(tmp_path):
    with pytest.raises(BackboneError, match=r"no model folder: it has no config\.json"):
        load_masked_lm(tmp_path)


def test_file_instead_of_a_folder_is_refused(tmp_path):
    path = tmp_path / "model.txt"
    path.write_text("no model")
    with pytest.raises(BackboneError, match="no model folder"):
        load_masked_lm(path)


def test_config_that_is_no_json_is_refused(broken):
    (broken / CONFIG).write_text("{")
    with pytest.raises(BackboneError, match=str(broken)):
        load_masked_lm(broken)


def test_name_that_nobody_knows_is_told_how_to_point_to_a_folder():
    with pytest.raises(BackboneError, match=r"name = .*--vars\.backbone"):
        load_masked_lm("nobody/has-this-model")


def test_slow_tokenizer_is_refused(broken):
    change_json(broken / "tokenizer_config.json", tokenizer_class="CanineTokenizer")
    with pytest.raises(BackboneError, match="CanineTokenizer is a slow tokenizer"):
        load_masked_lm(broken)


def test_sequence_to_sequence_model_is_refused(broken):
    transformers.T5Config(d_model=8, num_layers=1).save_pretrained(broken)
    with pytest.raises(BackboneError, match="sequence-to-sequence"):
        load_masked_lm(broken)


def test_model_that_is_no_masked_lm_is_refused(broken):
    transformers.GPT2Config(n_embd=8, n_layer=1, n_head=1).save_pretrained(broken)
    with pytest.raises(BackboneError, match=str(broken)):
        load_masked_lm(broken)


def test_settings_of_model_and_tokenizer_can_be_replaced(bert):
    masked_lm = load_masked_lm(
        bert,
        transformer_config={"hidden_dropout_prob": 0.5},
        tokenizer_config={"model_max_length": 16},
    )
    assert masked_lm.body.config.hidden_dropout_prob == 0.5
    assert masked_lm.max_pieces == 16


@pytest.fixture
def saved_bert(bert, tmp_path):
    """A folder as a component writes it."""
    load_masked_lm(bert).save(tmp_path)
    return tmp_path


def test_what_was_saved_is_loaded_as_transformers_loads_it(backbone, tmp_path):
    load_masked_lm(backbone).save(tmp_path)
    expected = transformers.AutoModelForMaskedLM.from_pretrained(tmp_path)
    masked_lm = load_masked_lm(tmp_path, strict=True)
    body, decoder = masked_lm.body, masked_lm.decoder
    assert not body.training
    # The decoder is not a part of the body.
    head = expected.get_output_embeddings()
    in_head = {tensor.data_ptr() for tensor in head.state_dict().values()}
    for named in ("named_parameters", "named_buffers"):
        ours, theirs = (dict(getattr(x, named)()) for x in (body, expected))
        for name, tensor in theirs.items():
            if name in ours or tensor.data_ptr() not in in_head:
                assert torch.equal(ours[name], tensor), name
        assert ours.keys() <= theirs.keys()
    for name, tensor in head.state_dict().items():
        assert torch.equal(decoder.state_dict()[name], tensor), name
    ids = torch.tensor([[1, 7, 9, 2]])
    with torch.no_grad():
        features = masked_lm(ids, torch.ones_like(ids))
        torch.testing.assert_close(decoder(features), expected(ids).logits)


def test_the_model_of_a_trained_component_is_a_backbone(trained_folder, start_nlp):
    folder = trained_folder / "entlm_ner" / "model"
    nlp = spacy.load(trained_folder)
    trained = nlp.get_pipe("entlm_ner").network.masked_lm.state_dict()
    masked_lm = start_nlp(folder).get_pipe("entlm_ner").network.masked_lm
    for name, tensor in masked_lm.state_dict().items():
        assert torch.equal(tensor, trained[name]), name


def test_tied_matrices_stay_one(saved_bert):
    masked_lm = load_masked_lm(saved_bert, strict=True)
    inputs = masked_lm.body.get_input_embeddings()
    assert masked_lm.decoder.weight is inputs.weight


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
def test_saved_weights_that_do_not_fit_are_refused(saved_bert, change):
    change_weights(saved_bert, change)
    with pytest.raises(BackboneError, match=str(saved_bert)):
        load_masked_lm(saved_bert, strict=True)


def test_saved_weights_in_half_precision_become_float32(saved_bert):
    change_weights(
        saved_bert,
        lambda tensors: tensors.update({k: t.half() for k, t in tensors.items()}),
    )
    lm = load_masked_lm(saved_bert, strict=True)
    assert {parameter.dtype for parameter in lm.parameters()} == {torch.float32}


def test_saved_tokenizer_with_more_pieces_than_rows_is_refused(saved_bert):
    path = saved_bert / "tokenizer.json"
    data = json.loads(path.read_text(encoding="utf8"))
    n_pieces = len(data["model"]["vocab"])
    data["added_tokens"].append(
        {**data["added_tokens"][0], "id": n_pieces, "content": "new"}
    )
    path.write_text(json.dumps(data), encoding="utf8")
    with pytest.raises(BackboneError, match="do not belong together"):
        load_masked_lm(saved_bert, strict=True)
