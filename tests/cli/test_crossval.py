"""The command `crossval`."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from spacy_entlm.cli import entlm_cli
from spacy_entlm.evaluation.crossval.result import Outcome
from spacy_entlm.evaluation.crossval.training import Trainer
from spacy_entlm.files.records import Records

CONFIG = Path(__file__).resolve().parents[2] / "configs" / "entlm.cfg"
STORE = Path("build/crossval/data.folds.jsonl")


@pytest.fixture
def crossval(tmp_path, monkeypatch, annotated, bert, label_words):
    """Runs the command in a folder of its own that holds data and label words."""
    monkeypatch.chdir(tmp_path)
    lines = [json.dumps({"text": text, **marks}) for text, marks in annotated]
    Path("data.jsonl").write_text("\n".join(lines) + "\n")
    Path("words.json").write_text(json.dumps(label_words))

    def run(*options, config=CONFIG, data="data.jsonl", folds=2, code=0):
        settings = {
            "paths.backbone": bert,
            "paths.label_words": "words.json",
            "nlp.lang": "xx",
            "training.max_epochs": 1,
            "training.optimizer.learn_rate.initial_rate": 0.01,
        }
        overrides = [part for k, v in settings.items() for part in (f"--{k}", v)]
        parts = ["--folds", folds] if folds else []
        arguments = ["crossval", config, data, *parts, *overrides, *options]
        result = CliRunner().invoke(entlm_cli, list(map(str, arguments)))
        assert result.exit_code == code, result.output
        if code == 1:
            assert len(result.stderr.splitlines()) == 1, result.stderr
            return result.stderr
        return result.output

    return run


@pytest.fixture
def guess(monkeypatch):
    """Replaces trainings: every one finds the first word. Counts them."""
    calls = []

    def train_and_predict(self, train, test, *, seed):
        calls.append((len(train), len(test), seed))
        return Outcome([[(0, 1, "PER")] for _ in test], {})

    monkeypatch.setattr(Trainer, "train_and_predict", train_and_predict)
    return calls


def test_from_data_to_report(crossval):
    output = crossval("--curve")
    assert "JSON of texts or words: 10 sentences, 21 entities" in output
    assert "8 trainings\n" in output
    # What a bar shows on a terminal.
    assert output.count("to go") == 7
    assert re.search(r"Training 7 of 8 is done: (a few|about \d+) \w+ to go", output)
    assert "\nVerdict: " in output
    assert "Wrote build/crossval/data.html" in output
    report = Path("build/crossval/data.html").read_text()
    assert "<td>training.max_epochs</td><td>1</td>" in report
    assert "John, Mary" in report  # label words
    assert STORE.read_text().count("\n") == 8


def test_without_options_few_trainings_are_enough(crossval, guess):
    """One for each of three parts."""
    output = crossval(folds=None)
    assert "3 trainings\n" in output
    assert sorted(n for n, _, _ in guess) == [6, 7, 7]
    page = Path("build/crossval/data.html").read_text()
    assert "Verdict" in output and "Learning curve" not in page
    assert "Would more examples help? --curve tells" in output
    assert "--curve tells" not in crossval("--curve", folds=None)


def test_a_run_that_was_stopped_goes_on(crossval, guess, monkeypatch):
    def stop(self, records):
        if len(guess) > 3:
            raise KeyboardInterrupt
        original(self, records)

    original = Records.append
    monkeypatch.setattr(Records, "append", stop)
    output = crossval("--repeats", 2, "--curve", code=130)
    assert "the same command goes on" in output
    assert not Path("build/crossval/data.html").exists()
    monkeypatch.setattr(Records, "append", original)
    again = crossval("--repeats", 2, "--curve")
    assert "16 trainings, 3 of them done before" in again
    assert len(guess) == 4 + 13
    # More repeats take what is there; other settings do not.
    more = crossval("--repeats", 3, "--curve")
    assert "24 trainings, 16 of them done before" in more
    less = crossval("--no-curve", "--repeats", 3)
    assert "6 trainings, 6 of them done before" in less
    assert "2 trainings, 2 of them done before" in crossval()
    other = ("--no-curve", "--training.dropout", 0.1)
    n_before = len(guess)
    assert "replace it with --overwrite" in crossval(*other, code=1)
    assert len(guess) == n_before
    assert "of them done before" not in crossval(*other, "--overwrite")


@pytest.mark.parametrize("extension", ["md", "html", "json"])
def test_reports_of_every_kind_are_the_same_twice(crossval, guess, extension):
    path = Path(f"r.{extension}")
    crossval("--out", path, "--seed", 4)
    first = path.read_bytes()
    assert {seed for _, _, seed in guess} == {4}
    crossval("--out", path, "--seed", 4)
    assert path.read_bytes() == first


def test_what_is_odd_about_the_data_is_told_once(crossval, guess):
    lines = ["[Ann](PER) saw [Rome](LOC) .", "[Bob](PER) left .", "[Bob](PER) left ."]
    Path("few.txt").write_text("\n".join(lines) + "\n")
    output = crossval("--format", "inline", data="few.txt")
    assert output.count("Fewer examples than folds: LOC (1).") == 1
    assert "1 sentence repeats another one" in output
    assert output.count("Warning") == 2


@pytest.mark.parametrize(
    "options, changed, message",
    [
        ([], {"config": "none.cfg"}, "none.cfg: no such file"),
        ([], {"data": "none.jsonl"}, "none.jsonl: no such file"),
        (["--folds", 11], {}, "10 annotated sentences cannot be divided into 11"),
        (["--out", "r.txt"], {}, "end its name in .html, .md or .json"),
        (["--out", "data.json"], {"data": "data.json"}, "is the input too"),
        (["--paths.label_words", "n.json"], {}, "n.json: no such file"),
        (["--training.epochz", 3], {}, "epochz"),
        (["--paths.backbone", "./none"], {}, "Cannot find the masked LM"),
        ([], {"data": "empty.txt"}, "no entity in 3 sentences"),
    ],
)
def test_bad_input_is_one_line(crossval, options, changed, message):
    Path("data.json").write_text(Path("data.jsonl").read_text())
    Path("empty.txt").write_text("a O\n\n" * 3)
    assert message in crossval(*options, **changed, code=1)
