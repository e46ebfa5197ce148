"""The command `pretrain`."""

import json
import lzma
from pathlib import Path

import pytest
import transformers
from typer.testing import CliRunner

from spacy_entlm.cli import entlm_cli

LINES = ["Anna lives in Berlin .", "John works for Acme Bank in Paris ."] * 20
SMALL = ["--steps", 2, "--batch-size", 2, "--length", 16, "--device", "cpu"]


@pytest.fixture
def pretrain(tmp_path, monkeypatch, bert):
    """Run the command with a tiny backbone in a folder of its own, that holds texts."""
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text("\n".join(LINES))
    with lzma.open("more.jsonl.xz", "wt") as file:
        file.write('{"text": "Mary left Rome for London ."}\n' * 10)
    Path("names.tsv").write_text("Petropolis\tLOC\n")

    def run(*args, backbone=bert):
        options = [] if backbone is None else ["--backbone", backbone]
        line = ["pretrain", *args, *options]
        return CliRunner().invoke(entlm_cli, list(map(str, line)))

    return run


def report(folder="out"):
    return json.loads((Path(folder) / "pretrain.json").read_text(encoding="utf8"))


def test_two_texts_and_every_option(pretrain):
    result = pretrain(
        *["text.txt", "more.jsonl.xz", "out", *SMALL, "--accumulate", 2],
        *["--learn-rate", 0.001, "--whole-word", "--dropout", 0, "--seed", 3],
        *["--add-vocab", 1, "--lexicon", "names.tsv", "--lexicon-weight", 50],
        *["--held-out", 0.5, "--precision", "float32", "--checkpoint-minutes", 0],
        *["--half", "--few-shot-learn-rate", 0.0003, "--minutes", 60],
    )
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[-1] == "Wrote out"
    found = report()
    assert [text["name"] for text in found["text"]] == ["text.txt", "more.jsonl.xz"]
    assert found["corpus"]["lines"] + found["corpus"]["held_out_lines"] == 50
    assert found["settings"] == {
        **{"steps": 2, "minutes": 60.0, "batch_size": 2, "accumulate": 2},
        **{"length": 16, "learn_rate": 0.001, "warmup": 0.06, "weight_decay": 0.01},
        **{"dropout": 0.0, "mask_share": 0.15, "whole_word": True, "seed": 3},
        **{"keep_vocab": None, "add_vocab": 1, "new_vocab": None, "cased": None},
        **{"lexicon": ["names.tsv"], "lexicon_weight": 50, "held_out": 0.5},
        **{"precision": "float32", "device": "cpu", "checkpoint_minutes": 0.0},
        "half": True,
    }
    assert found["learn_rate"] == 0.0003
    tokenizer = transformers.AutoTokenizer.from_pretrained("out")
    assert tokenizer.tokenize("Petropolis") == ["petropolis"]


def test_new_model_with_capitals(pretrain, config_file):
    options = ["--new", config_file, "--new-vocab", 90, "--cased"]
    result = pretrain("text.txt", "out", *SMALL, *options, backbone=None)
    assert result.exit_code == 0, result.stderr
    assert transformers.AutoTokenizer.from_pretrained("out").tokenize("in") == ["in"]
    assert report()["backbone"] is None


@pytest.fixture
def config_file():
    path = Path("small.json")
    sizes = dict.fromkeys(["hidden_size", "intermediate_size"], 8)
    layers = dict.fromkeys(["num_hidden_layers", "num_attention_heads"], 1)
    path.write_text(json.dumps({"model_type": "bert", **sizes, **layers}))
    return path


def test_measuring_prints_the_figures(pretrain):
    result = pretrain("text.txt", "out", "--steps", 0, "--held-out", 1)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    n_characters = sum(map(len, LINES))
    assert lines[0] == f"On {n_characters:,} characters of held-out text:"
    assert [line.split("  ")[1] for line in lines[1:6]] == [
        "loss",
        "masked pieces right, %",
        "masked words right, %",
        "perplexity of a piece",
        "perplexity of a character",
    ]
    assert "before" not in result.stdout


def test_second_run_is_refused_replaced_or_has_nothing_to_do(pretrain):
    assert pretrain("text.txt", "out", *SMALL).exit_code == 0
    refused = pretrain("text.txt", "out", *SMALL)
    assert refused.exit_code == 1
    assert "exists: choose another folder" in refused.stderr
    assert "is finished" in pretrain("text.txt", "out", *SMALL, "--resume").stdout
    assert pretrain("text.txt", "out", *SMALL, "--overwrite").exit_code == 0


@pytest.mark.parametrize(
    "args, message",
    [
        (["none.txt", "out"], "none.txt: no such file"),
        (["text.txt", "out", "--keep-vocab", "5"], "--keep-vocab 5 is too small"),
        (["text.txt", "out", "--length", "65"], "takes at most 64 pieces"),
        (["text.txt", "out", "--new", "none.json"], "either --backbone or --new"),
        (["text.txt", "text.txt"], "is a file: name a folder"),
        (["text.txt", "out", "--precision", "half"], "--precision is one of"),
        (["bad.txt", "out"], "bad.txt, line 2: not UTF-8: byte 0xe9"),
    ],
)
def test_bad_input_is_one_line(pretrain, args, message):
    Path("bad.txt").write_bytes(b"good\ncaf\xe9\n")
    result = pretrain(*args)
    assert result.exit_code == 1
    (line,) = result.stderr.strip().splitlines()
    assert message in line
    assert not list(Path().glob("out*"))


def test_help_has_an_example():
    result = CliRunner().invoke(entlm_cli, ["pretrain", "--help"])
    assert "python -m spacy entlm pretrain chemistry.txt" in result.stdout
