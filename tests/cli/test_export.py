"""The command `export`."""

import json
import sys

import spacy
from typer.testing import CliRunner

from spacy_entlm.cli import entlm_cli

NAME = "entlm_ner"


def test_command(trained_folder, tmp_path, texts):
    out = tmp_path / "out"
    line = ["export", str(trained_folder), str(out)]
    done = CliRunner().invoke(entlm_cli, line)
    assert done.exit_code == 0, done.output
    assert f"Wrote {out}" in done.output
    assert len(spacy.load(out)(texts[0]).ents) == 2
    assert CliRunner().invoke(entlm_cli, line).exit_code == 1
    done = CliRunner().invoke(entlm_cli, [*line, "--format", "int8", "--overwrite"])
    assert done.exit_code == 0, done.output
    facts = json.loads((out / NAME / "model" / "export.json").read_text())
    assert facts["format"] == "int8"


def test_command_says_what_is_missing(trained_folder, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    line = ["export", str(trained_folder), str(tmp_path / "out")]
    done = CliRunner().invoke(entlm_cli, line)
    assert done.exit_code == 1
    assert "pip install 'spacy-entlm[onnx]'" in done.output
