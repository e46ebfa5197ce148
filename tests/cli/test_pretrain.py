"""The command `pretrain`."""

import json
import lzma
from pathlib import Path

import pytest
import transformers

from spacy_entlm.backbones.names import resolve_backbone
from spacy_entlm.pretraining import run

from ..commands import entlm, error_of

LINES = ["Anna lives in Berlin .", "John works for Acme Bank in Paris ."] * 20
SMALL = ["--steps", 2, "--batch-size", 2, "--length", 16, "--device", "cpu"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder that holds texts."""
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text("\n".join(LINES))
    with lzma.open("more.jsonl.xz", "wt") as file:
        file.write('{"text": "Mary left Globex for London ."}\n' * 10)
    Path("names.tsv").write_text("Globex\tORG\n")


@pytest.fixture
def pretrain(bert):
    """Runs the command with a tiny backbone: (*arguments) -> result."""

    def run(*args, backbone=bert):
        options = [] if backbone is None else ["--backbone", backbone]
        return entlm("pretrain", *args, *options)

    return run


def report(folder="out"):
    return json.loads((Path(folder) / "pretrain.json").read_text(encoding="utf8"))


def test_two_texts_and_every_option(pretrain):
    result = pretrain(
        *["text.txt", "more.jsonl.xz", "out", *SMALL, "--epochs", 9],
        *["--learn-rate", 0.001, "--mask-share", 0.2, "--seed", 3],
        *["--add-vocab", 1, "--lexicon", "names.tsv", "--held-out", 0.5],
        *["--precision", "float32", "--half", "--few-shot-learn-rate", 0.0003],
        *["--minutes", 60],
    )
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[-1] == "Wrote out"
    found = report()
    assert [text["name"] for text in found["text"]] == ["text.txt", "more.jsonl.xz"]
    assert found["corpus"]["lines"] + found["corpus"]["held_out_lines"] == 50
    assert found["settings"] == {
        **{"steps": 2, "epochs": 9.0, "minutes": 60.0, "batch_size": 2, "length": 16},
        **{"learn_rate": 0.001, "mask_share": 0.2, "seed": 3, "add_vocab": 1},
        **{"held_out": 0.5, "precision": "float32"},
        **{"device": "cpu", "checkpoint_minutes": 5.0, "half": True},
        "few_shot_learn_rate": 0.0003,
    }
    assert [file["name"] for file in found["lexicon"]] == ["names.tsv"]
    assert found["learn_rate"] == 0.0003
    tokenizer = transformers.AutoTokenizer.from_pretrained("out")
    assert tokenizer.tokenize("a Globex") == ["a", "globex"]


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
    assert "is not empty: choose another folder" in refused.stderr
    assert "is finished" in pretrain("text.txt", "out", *SMALL, "--resume").stdout
    more = pretrain("text.txt", "out", *SMALL, "--steps", 3, "--resume")
    assert (more.exit_code, "steps 2 -> 3" in more.stderr) == (1, True)
    assert pretrain("text.txt", "out", *SMALL, "--overwrite").exit_code == 0


def test_shipped_backbone_is_the_default(pretrain, bert, monkeypatch):
    backbones, shipped = [], resolve_backbone("entlm-base")
    load = run.load_masked_lm

    def load_small(name, **settings):
        backbones.append(name)
        return load(bert if name == shipped else name, **settings)

    monkeypatch.setattr(run, "load_masked_lm", load_small)
    # Its map of names does not fit the small one that stands in for it.
    monkeypatch.setattr(run.NameMap, "of_backbone", lambda name, width: None)
    result = pretrain("text.txt", "out", *SMALL, backbone=None)
    assert result.exit_code == 0, result.stderr
    assert backbones[0] == shipped
    assert report()["backbone"] == "entlm-base"


@pytest.mark.parametrize(
    "args, message",
    [
        (["none.txt", "out"], "none.txt: no such file"),
        (["text.txt", "out", "--length", "65"], "takes at most 64"),
        (["text.txt", "text.txt"], "is a file: name a folder"),
        (["text.txt", "out", "--precision", "half"], "--precision half: "),
        (["text.txt", "out", "--batch-size", "0"], "--batch-size 0: "),
        (["bad.txt", "out"], "bad.txt, line 2: not UTF-8: byte 0xe9"),
    ],
)
def test_bad_input_is_one_line(pretrain, args, message):
    Path("bad.txt").write_bytes(b"good\ncaf\xe9\n")
    assert message in error_of(pretrain(*args))
    assert not list(Path().glob("out*"))
