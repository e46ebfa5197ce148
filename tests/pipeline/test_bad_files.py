"""A saved pipeline that is broken gives one clear error, never a random weight."""

import json
import shutil

import pytest
import spacy
import torch
from safetensors.torch import load_file, save_file
from spacy.util import load_model_from_config

NAME = "entlm_ner"
WEIGHTS = "compact.safetensors"
ROWS = "label_rows.safetensors"
VITERBI = {"@misc": "spacy-entlm.viterbi_decoder.v1"}


@pytest.fixture
def folder(trained_folder, tmp_path):
    """A copy of a saved pipeline."""
    return shutil.copytree(trained_folder, tmp_path / "pipeline")


@pytest.fixture
def model(folder):
    """The folder of its model."""
    return folder / NAME / "model"


def refused(folder, message):
    """Whether loading gives a ValueError of one line that names the place."""
    with pytest.raises(ValueError, match=message) as caught:
        spacy.load(folder)
    assert str(folder / NAME) in str(caught.value)
    return "\n" not in str(caught.value)


@pytest.mark.parametrize("file", [WEIGHTS, ROWS])
@pytest.mark.parametrize("size", [0, 7, 100])
def test_truncated_weights(folder, model, file, size):
    content = (model / file).read_bytes()
    (model / file).write_bytes(content[:size])
    assert refused(folder, "Cannot load|cannot be read")


@pytest.mark.parametrize("file", [WEIGHTS, ROWS])
def test_weights_that_are_noise(folder, model, file):
    (model / file).write_bytes(bytes(range(256)) * 10)
    assert refused(folder, "Cannot load|cannot be read")


@pytest.mark.parametrize(
    "file", [WEIGHTS, ROWS, "config.json", "label_words.json", "tokenizer.json"]
)
def test_missing_file(folder, model, file):
    (model / file).unlink()
    if file == "tokenizer.json":  # or else it is made anew from the list of pieces
        (model / "vocab.txt").unlink(missing_ok=True)
    assert refused(folder, "Cannot|cannot be read|no model folder|no such file")


@pytest.mark.parametrize("file", ["config.json", "label_words.json", "tokenizer.json"])
def test_file_that_is_no_json(folder, model, file):
    (model / file).write_text("{")
    assert refused(folder, "Cannot load|broken JSON")


def change_tensors(path, change):
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path, metadata={"format": "pt"})


def test_unexpected_weight(folder, model):
    change_tensors(model / WEIGHTS, lambda t: t.update(extra=torch.zeros(1)))
    assert refused(folder, "unexpected keys: extra")


def test_missing_weight(folder, model):
    change_tensors(model / WEIGHTS, lambda t: t.pop("cls.predictions.bias"))
    assert refused(folder, "missing keys")


def test_weight_of_another_shape(folder, model):
    key = "cls.predictions.transform.dense.weight"
    change_tensors(model / WEIGHTS, lambda t: t.update({key: torch.zeros(3, 3)}))
    with pytest.raises(ValueError, match=r"Cannot load|do not fit"):
        spacy.load(folder)


@pytest.mark.parametrize(
    "tensors",
    [
        {},
        {"rows": torch.zeros(2, 32), "biases": torch.zeros(2)},
        {"rows": torch.zeros(3, 16), "biases": torch.zeros(3)},
        {"rows": torch.zeros(3, 32)},
        {"rows": torch.zeros(3, 32), "biases": torch.zeros(2)},
    ],
)
def test_label_rows_that_do_not_fit(folder, model, tensors):
    save_file(tensors, model / ROWS)
    assert refused(folder, r"does not fit the model")


def test_label_words_that_do_not_fit_the_rows(folder, model):
    (model / "label_words.json").write_text(json.dumps({"PER": ["John"]}))
    assert refused(folder, r"does not fit the model")


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        '{"threshold": 0.5}',
        '{"threshold": [null]}',
        '{"threshold": [null, "high"]}',
        '{"threshold": [null, true]}',
        '{"threshold": [null, 5]}',
        '{"label_bias": [0.0, "much"]}',
        '{"overwrite": [true, 0]}',
        '{"spans_key": ["{name}", 3]}',
    ],
)
def test_settings_that_are_broken(folder, content):
    (folder / NAME / "cfg").write_text(content)
    assert refused(folder, "cfg")


def test_settings_that_nobody_has_are_passed_over(folder):
    """Of a later version, as it may be."""
    (folder / NAME / "cfg").write_text('{"mood": ["good", "bad"]}')
    assert "mood" not in spacy.load(folder).get_pipe(NAME).cfg


@pytest.mark.parametrize("data", [b"{", b"[]", b'{"version": 99}'])
def test_counts_of_a_decoder_that_are_broken(folder, data):
    config = {f"components.{NAME}.decoder": VITERBI}
    (folder / NAME / "decoder").write_bytes(data)
    with pytest.raises(ValueError):
        spacy.load(folder, config=config)


def test_bytes_that_are_broken(trained):
    data = trained.to_bytes()
    nlp = load_model_from_config(trained.config)
    with pytest.raises(ValueError):
        nlp.from_bytes(data[: len(data) // 2])


def test_pipeline_of_another_backbone_is_loaded_as_it_was_saved(
    trained_folder, bert, texts
):
    """The setting `name` says where training begins, not what was trained."""
    model = {"name": "nobody/has-this-model"}
    nlp = spacy.load(trained_folder, config={"components": {NAME: {"model": model}}})
    assert len(nlp(texts[0]).ents) == 2
