"""`spacy project run` in a copy of the repository's project, with a tiny backbone."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import spacy

ROOT = Path(__file__).resolve().parents[2]
DEV_MARKS = [
    "[Anna Smith](PER) lives in [Berlin](LOC) .",
    "[John](PER) works for [Acme Corp](ORG) in [Paris](LOC) .",
    "[Mary](PER) left [Rome](LOC) for [Berlin](LOC) .",
]


def run(folder, workflow, *variables):
    command = [sys.executable, "-m", "spacy", "project", "run", workflow, "."]
    return subprocess.run(
        [*command, *variables],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        # The terminal width decides where wasabi breaks its lines.
        env={**os.environ, "COLUMNS": "200", "OMP_NUM_THREADS": "1"},
    )


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project folder"
    folder.mkdir()
    shutil.copy(ROOT / "project.yml", folder)
    for part in ("configs", "project"):
        shutil.copytree(ROOT / part, folder / part)
    return folder


@pytest.mark.slow
def test_train_5shot_ends_in_scores_and_a_wheel_and_skips_a_second_time(project, bert):
    variables = ["--vars.backbone", str(bert), "--vars.learn_rate", "0.001"]
    first = run(project, "train-5shot", *variables)
    assert first.returncode == 0, first.stdout + first.stderr
    results = project / "build" / "news" / "5shot" / "1"
    metrics = json.loads((results / "metrics.json").read_text())
    assert set(metrics["io"]["per_type"]) == {"LOC", "MISC", "ORG", "PER"}
    assert 0 <= metrics["bio"]["f"] <= 1
    assert f"F1 {100 * metrics['io']['f']:.2f} (IO gold)" in first.stdout
    assert len(list((results / "package").glob("*/dist/*.whl"))) == 1
    nlp = spacy.load(results / "model" / "model-last")
    assert nlp.pipe_names == ["entlm_ner"]

    second = run(project, "train-5shot", *variables)
    assert second.returncode == 0
    assert second.stdout.count("nothing changed") == 9


@pytest.mark.slow
def test_train_all_takes_few_sentences_without_a_test_part(project, bert):
    data = project / "mine"
    data.mkdir()
    (data / "train.txt").write_text("\n".join(DEV_MARKS) + "\n", encoding="utf8")
    words = {"PER": ["John"], "LOC": ["Paris"], "ORG": ["Corp"]}
    (data / "label_words.json").write_text(json.dumps(words))
    variables = ["--vars.data", "mine", "--vars.dataset", "mine"]
    result = run(project, "train-all", *variables, "--vars.backbone", str(bert))
    assert result.returncode == 0, result.stdout + result.stderr
    results = project / "build" / "mine" / "all" / "1"
    assert json.loads((results / "metrics.json").read_text()) is None
    nlp = spacy.load(results / "model" / "model-last")
    assert nlp.get_pipe("entlm_ner").label_data == words


def split(data, corpus, out, *options):
    script = ROOT / "project" / "scripts" / "data.py"
    command = [sys.executable, str(script), "split", data, corpus, out, *options]
    return subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=120
    )


def test_given_shots_are_taken_as_they_are(tmp_path):
    given = tmp_path / "5shot"
    given.mkdir()
    (given / "2.txt").write_text(DEV_MARKS[0] + "\n", encoding="utf8")
    result = split(tmp_path, tmp_path / "none", tmp_path / "out", "--split", "2")
    assert result.returncode == 0, result.stderr
    assert "1 sentences, 2 entities" in result.stdout
    assert (tmp_path / "out" / "dev.spacy").is_file()


def test_a_missing_part_is_one_clear_line(tmp_path):
    result = split(tmp_path, tmp_path / "none", tmp_path / "out")
    assert result.returncode == 1
    assert "has neither a train part" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def words(command, *arguments):
    script = ROOT / "project" / "scripts" / "words.py"
    line = [sys.executable, str(script), command, *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, timeout=120)


def test_broken_label_words_stop_before_training(tmp_path):
    (tmp_path / "label_words.json").write_text("{")
    arguments = (tmp_path, tmp_path / "none", tmp_path / "out", "--backbone", "none")
    result = words("search", *arguments)
    assert result.returncode == 1
    assert "label_words.json is not valid JSON" in result.stderr


def test_what_the_data_lacks_is_said_and_no_older_file_is_left(tmp_path):
    data, out = tmp_path / "data", tmp_path / "out"
    data.mkdir()
    out.mkdir()
    for name in ("lexicon.jsonl", "annotated.spacy", "label_words.json"):
        (out / name).write_text("old")
    results = [
        words("lexicon", data, out),
        words("annotate", data, out, out, out),
        words("search", data, out, out, "--backbone", "none"),
    ]
    assert [result.returncode for result in results] == [0, 0, 0], results
    # Label rows are named in the config, so there is a file of none.
    assert [path.name for path in out.iterdir()] == ["label_words.rows.safetensors"]
    assert "will be taken from the examples" in results[2].stdout
