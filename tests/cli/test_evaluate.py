"""The command `evaluate`."""

import json
from datetime import date
from functools import partial
from pathlib import Path

import pytest

from ..commands import entlm, error_of

GOLD = "[Anna Smith](PER) lives in [Berlin](LOC) .\n[Mary](PER) [John](PER) left .\n"


@pytest.fixture
def evaluate(tmp_path, monkeypatch):
    """Run the command in a folder of its own, that holds a test part."""
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    Path("data/test.txt").write_text(GOLD)
    return partial(entlm, "evaluate")


def test_figures_are_shown_and_written(evaluate, trained_folder):
    result = evaluate(trained_folder, "data/test.txt", "--out", "out.json")
    assert result.exit_code == 0, result.stderr
    figures = json.loads(Path("out.json").read_text())
    assert (figures["n_entities"], figures["sentences"]) == (4, 2)
    assert figures["date"] == date.today().isoformat()
    assert set(figures["io"]["per_type"]) == {"LOC", "PER"}
    # Neighbours of one class are one entity by the one way of counting.
    assert figures["io"]["f"] != figures["bio"]["f"]
    lines = result.stdout.splitlines()
    assert [sum(line.startswith(x) for line in lines) for x in ("all", "PER")] == [1, 1]
    assert f"F1 {100 * figures['bio']['f']:.2f} on 2 sentences" in lines[-3]
    assert f"F1 {100 * figures['io']['f']:.2f} where neighbouring" in lines[-2]
    assert lines[-1] == "Wrote out.json"


def test_a_folder_is_its_test_part_or_no_figure(evaluate, trained_folder):
    args = (trained_folder, "data", "--out", "out.json")
    assert evaluate(*args).exit_code == 0
    assert json.loads(Path("out.json").read_text())["sentences"] == 2
    Path("data/test.txt").unlink()
    assert "--overwrite" in evaluate(*args).stderr
    result = evaluate(*args, "--overwrite")
    assert result.exit_code == 0
    assert "data has no test part: F1 is not measured" in result.stdout
    assert json.loads(Path("out.json").read_text()) is None


def test_what_was_read_is_told(evaluate, trained_folder):
    """As `convert` tells it, so that nothing is measured on what was misread."""
    entry = '{"text": "Anna Smith lives in Berlin", "spans": [[0, 10, "PER"], SPAN]}\n'
    Path("data/test.txt").unlink()
    Path("data/test.jsonl").write_text(entry.replace("SPAN", '[20, 23, "LOC"]'))
    result = evaluate(trained_folder, "data")
    assert result.exit_code == 0, result.stderr
    assert "JSON of texts or words; 1 text of 5 words; PER 1" in result.stdout
    assert "'Ber' (LOC) in 'Berlin', line 1" in result.stdout


def test_a_text_without_marks_is_no_test_part(evaluate, trained_folder):
    Path("data/test.txt").unlink()
    Path("data/test.jsonl").write_text('{"text": "Anna left", "marks": [1]}\n')
    result = evaluate(trained_folder, "data")
    assert result.exit_code == 1 and "F1" not in result.stdout
    (line,) = result.stderr.splitlines()
    assert "no marks are read" in line and "'marks'" in line


def test_what_is_the_same_both_ways_is_told_once(evaluate, trained_folder):
    Path("data/test.txt").write_text(GOLD.splitlines()[0] + "\n")
    result = evaluate(trained_folder, "data")
    assert result.stdout.count("F1 100.00") == 1 and "IO gold" not in result.stdout
    assert "F1 100.00 on 1 sentence, " in result.stdout
    assert "no class" not in result.stdout


def test_classes_that_the_pipeline_lacks_are_told(evaluate, trained_folder):
    """As it calls them otherwise."""
    Path("data/test.txt").write_text(GOLD.replace("PER", "person"))
    result = evaluate(trained_folder, "data")
    assert result.exit_code == 0
    told = result.stdout.splitlines()[-1]
    assert "has no class person, so that it finds none" in told
    assert "It has: LOC, ORG, PER." in told


@pytest.mark.parametrize(
    "args, text",
    [
        (["none", "data"], "none: is no trained pipeline: it has no config.cfg"),
        (["out", "data"], "has no config.cfg, but out/model-last is one"),
        (["PIPELINE", "none.txt"], "none.txt: no such file"),
        (["PIPELINE", "data/test.txt", "--out", "data/test.txt"], "is the input too"),
    ],
)
def test_bad_arguments_are_one_line(evaluate, trained_folder, args, text):
    Path("out/model-last").mkdir(parents=True)
    Path("out/model-last/config.cfg").touch()
    given = [trained_folder if arg == "PIPELINE" else arg for arg in args]
    assert text in error_of(evaluate(*given))


def test_the_test_part_is_not_written_over(evaluate, trained_folder):
    result = evaluate(trained_folder, "data", "--out", "data/test.txt", "--overwrite")
    assert result.exit_code == 1 and "is the input too" in result.stderr
    assert Path("data/test.txt").read_text() == GOLD
