"""The command `export`."""

import json
import shutil
import sys

import pytest
import spacy
from typer.testing import CliRunner

import spacy_entlm
from spacy_entlm.cli import entlm_cli

NAME = "entlm_ner"


def test_command(trained_folder, tmp_path, texts):
    out = tmp_path / "out"
    line = ["export", str(trained_folder), str(out)]
    done = CliRunner().invoke(entlm_cli, line)
    assert done.exit_code == 0, done.output
    assert f"Components: {NAME}; " in done.output and f"Wrote {out}" in done.output
    assert len(spacy.load(out)(texts[0]).ents) == 2
    assert CliRunner().invoke(entlm_cli, line).exit_code == 1
    done = CliRunner().invoke(entlm_cli, [*line, "--format", "int8", "--overwrite"])
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
        paths = [str(tmp_path / name) for name in ("model", *names)]
        done = CliRunner().invoke(entlm_cli, [command, *paths])
        assert done.exit_code == 1
        (told,) = done.stderr.splitlines()
        assert told.endswith("model/model-last is one")


def test_other_commands_say_what_an_exported_pipeline_misses(
    trained, tmp_path, monkeypatch, texts
):
    spacy_entlm.export(trained, tmp_path / "exported")
    (tmp_path / "texts.txt").write_text(texts[0], encoding="utf8")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    paths = [str(tmp_path / name) for name in ("exported", "texts.txt", "out.jsonl")]
    done = CliRunner().invoke(entlm_cli, ["predict", *paths])
    assert done.exit_code == 1
    assert "pip install 'spacy-entlm[onnx]'" in done.output
    assert len(done.output.splitlines()) == 1
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize("name", ["onnx", "onnxruntime"])
def test_command_says_what_is_missing(trained_folder, tmp_path, monkeypatch, name):
    """And not that the pipeline was exported, which it was not."""
    monkeypatch.setitem(sys.modules, name, None)
    line = ["export", str(trained_folder), str(tmp_path / "out")]
    done = CliRunner().invoke(entlm_cli, line)
    assert done.exit_code == 1
    (told,) = done.output.splitlines()
    assert f"An export needs {name}, which is not installed" in told
    assert "pip install 'spacy-entlm[onnx]'" in told
    assert "was exported" not in told
