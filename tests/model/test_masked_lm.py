"""Backbones: what is loaded, what is refused, and with which message."""

import json
import shutil

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from spacy_entlm.model.masked_lm import BackboneError, load_masked_lm
from spacy_entlm.model.precision import check_precision, fastest_precision

WEIGHTS = "model.safetensors"
CONFIG = "config.json"


@pytest.fixture
def broken(bert, tmp_path):
    """A copy of a backbone to be broken."""
    return shutil.copytree(bert, tmp_path / "broken")


def change_json(path, **values):
    data = json.loads(path.read_text())
    data.update(values)
    path.write_text(json.dumps(data))


def test_features_are_taken_where_they_enter_the_output_matrix(backbone):
    whole = transformers.AutoModelForMaskedLM.from_pretrained(backbone).eval()
    masked_lm = load_masked_lm(backbone).eval()
    ids = torch.tensor([[0, 7, 8, 9, 2]])
    mask = torch.ones_like(ids)
    with torch.no_grad():
        expected = whole(input_ids=ids, attention_mask=mask).logits
        features = masked_lm(ids, mask)
    assert features.shape == (1, 5, masked_lm.width)
    torch.testing.assert_close(masked_lm.decoder(features), expected)


def test_limit_of_pieces_is_found(backbone):
    assert load_masked_lm(backbone).max_pieces == 64


def test_limit_of_pieces_without_the_tokenizers_word_for_it(backbone, tmp_path):
    folder = shutil.copytree(backbone, tmp_path / "unlimited")
    change_json(folder / "tokenizer_config.json", model_max_length=10**30)
    assert load_masked_lm(folder).max_pieces == 64


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


def test_head_that_does_more_after_the_output_matrix_is_refused(bert, tmp_path):
    """MobileBERT multiplies with two matrices, of which only one is the decoder."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(bert)
    config = transformers.MobileBertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        embedding_size=16,
        intra_bottleneck_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
    )
    transformers.MobileBertForMaskedLM(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(
        BackboneError, match="MobileBertForMaskedLM: the head does more"
    ):
        load_masked_lm(tmp_path)


def test_scores_changed_after_the_output_matrix_are_refused(bert, monkeypatch):
    forward = transformers.BertForMaskedLM.forward

    def capped(self, *args, **kwargs):
        output = forward(self, *args, **kwargs)
        output.logits = 0.01 * torch.tanh(output.logits)
        return output

    monkeypatch.setattr(transformers.BertForMaskedLM, "forward", capped)
    with pytest.raises(BackboneError, match="BertForMaskedLM: the head does more"):
        load_masked_lm(bert)


def test_tokenizer_of_another_model_is_refused(bert, roberta, tmp_path):
    """More pieces than the model has rows."""
    shutil.copytree(bert, tmp_path, dirs_exist_ok=True)
    for path in tmp_path.glob("*token*"):
        path.unlink()
    transformers.AutoTokenizer.from_pretrained(roberta).save_pretrained(tmp_path)
    with pytest.raises(BackboneError, match="do not belong together"):
        load_masked_lm(tmp_path)


def test_settings_of_model_and_tokenizer_can_be_replaced(bert):
    masked_lm = load_masked_lm(
        bert,
        transformer_config={"hidden_dropout_prob": 0.5},
        tokenizer_config={"model_max_length": 16},
    )
    assert masked_lm.body.config.hidden_dropout_prob == 0.5
    assert masked_lm.max_pieces == 16


def test_saved_masked_lm_is_read_by_transformers(backbone, tmp_path):
    load_masked_lm(backbone).save(tmp_path)
    lm, info = transformers.AutoModelForMaskedLM.from_pretrained(
        tmp_path, output_loading_info=True
    )
    assert not any(info.values())
    before = transformers.AutoModelForMaskedLM.from_pretrained(backbone).state_dict()
    assert all(
        torch.equal(value, before[key]) for key, value in lm.state_dict().items()
    )


def test_saved_masked_lm_does_not_tell_where_it_came_from(backbone, tmp_path):
    load_masked_lm(backbone).save(tmp_path)
    for path in tmp_path.glob("*.json"):
        assert str(backbone) not in path.read_text()


def test_saving_leaves_a_model_that_still_works(bert, tmp_path):
    masked_lm = load_masked_lm(bert).eval()
    ids = torch.tensor([[2, 9, 3]])
    with torch.no_grad():
        before = masked_lm(ids, torch.ones_like(ids))
        masked_lm.save(tmp_path)
        assert torch.equal(masked_lm(ids, torch.ones_like(ids)), before)


def test_unknown_precision_is_refused():
    with pytest.raises(ValueError, match=r"precision is one of .* not 'float8'"):
        check_precision("float8")


def test_fastest_precision_is_one_that_exists():
    check_precision(fastest_precision("cpu", 32))
