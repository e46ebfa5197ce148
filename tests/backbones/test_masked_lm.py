"""A masked LM cut below its output matrix: features, limits, heads, files."""

import json
import shutil

import pytest
import torch
import transformers

from spacy_entlm.backbones.errors import BackboneError
from spacy_entlm.backbones.loading import load_masked_lm


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


def test_chosen_pieces_have_the_features_that_they_have_among_all(backbone):
    masked_lm = load_masked_lm(backbone).eval()
    ids = torch.tensor([[0, 7, 8, 9, 2], [0, 9, 11, 2, 1]])
    mask = torch.tensor([[1] * 5, [1] * 4 + [0]])
    chosen = torch.tensor([7, 1, 3])
    with torch.no_grad():
        every = masked_lm(ids, mask).flatten(0, 1)
        features = masked_lm(ids, mask, positions=chosen)
    torch.testing.assert_close(features, every[chosen])


def test_special_pieces_surround_the_text(backbone):
    masked_lm = load_masked_lm(backbone)
    tokenizer = masked_lm.tokenizer
    expected = tokenizer("John")["input_ids"]
    prefix, suffix = masked_lm.special_pieces()
    middle = tokenizer("John", add_special_tokens=False)["input_ids"]
    assert prefix + middle + suffix == expected
    assert len(prefix) == len(suffix) == 1


def test_limit_of_pieces_is_found(backbone):
    assert load_masked_lm(backbone).max_pieces == 64


def test_limit_of_pieces_without_the_tokenizers_word_for_it(backbone, tmp_path):
    folder = shutil.copytree(backbone, tmp_path / "unlimited")
    path = folder / "tokenizer_config.json"
    settings = json.loads(path.read_text())
    path.write_text(json.dumps({**settings, "model_max_length": 10**30}))
    assert load_masked_lm(folder).max_pieces == 64


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
