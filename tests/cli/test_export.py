"""The command `export`."""

import json
import shutil
import sys

import pytest
import spacy

import spacy_entlm

from ..commands import entlm, error_of

NAME = "entlm_ner"


def test_command(trained_folder, tmp_path, texts):
    out = tmp_path / "out"
    line = ("export", trained_folder, out)
    done = entlm(*line)
    assert done.exit_code == 0, done.output
    assert f"Components: {NAME}; " in done.output and f"Wrote {out}" in done.output
    assert len(spacy.load(out)(texts[0]).ents) == 2
    assert entlm(*line).exit_code == 1
    done = entlm(*line, "--format", "int8", "--overwrite")
    assert done.exit_code == 0, done.output
    facts = json.loads((out / NAME / "model" / "export.json").read_text())
    assert facts["format"] == "int8"


def test_the_folder_of_a_training_is_told_from_the_pipeline_in_it(
    trained_folder, tmp_path
):
    (tmp_path / "model").mkdir()
    shutil.copytree(trained_folder, tmp_path / "model" / "model-last")
    (tmp_path / "texts.txt").write_text("Ann")
    for command, *names in (["export", "out"], ["predict", "texts.txt", "out.jsonl"]):
        done = entlm(command, *(tmp_path / name for name in ("model", *names)))
        assert error_of(done).endswith("model/model-last is one")


def test_other_commands_say_what_an_exported_pipeline_misses(
    trained, tmp_path, monkeypatch, texts
):
    spacy_entlm.export(trained, tmp_path / "exported")
    (tmp_path / "texts.txt").write_text(texts[0], encoding="utf8")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    paths = (tmp_path / name for name in ("exported", "texts.txt", "out.jsonl"))
    done = entlm("predict", *paths)
    assert done.exit_code == 1
    assert "pip install 'spacy-entlm[onnx]'" in done.output
    assert len(done.output.splitlines()) == 1
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize("name", ["onnx", "onnxruntime"])
def test_command_says_what_is_missing(trained_folder, tmp_path, monkeypatch, name):
    """And not that the pipeline was exported, which it was not."""
    monkeypatch.setitem(sys.modules, name, None)
    told = error_of(entlm("export", trained_folder, tmp_path / "out"))
    assert f"An export needs {name}, which is not installed" in told
    assert "pip install 'spacy-entlm[onnx]'" in told
    assert "was exported" not in told
