"""`spacy project run` in a copy of the repository's project, with a tiny backbone."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import spacy
from weasel.cli.run import check_rerun, update_lockfile
from weasel.util import load_project_config

from spacy_entlm.cli.init_project import project_files
from spacy_entlm.evaluation.compare.config import read_config

ROOT = Path(__file__).resolve().parents[2]
STEPS = [
    "convert",
    "sample",
    "annotate",
    "search",
    "fit",
    "adapt",
    "evaluate",
    "package",
]
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
        timeout=900,
        # The terminal width decides where wasabi breaks its lines.
        env={**os.environ, "COLUMNS": "200", "OMP_NUM_THREADS": "1"},
    )


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project folder"
    for name, source in project_files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, folder / name)
    return folder


@pytest.mark.slow
def test_train_5shot_ends_in_scores_and_a_wheel_and_skips_a_second_time(project, bert):
    variables = ["--vars.backbone", str(bert), "--vars.learn_rate", "0.001"]
    first = run(project, "train-5shot", *variables)
    assert first.returncode == 0, first.stdout + first.stderr
    results = project / "build" / "news" / "5shot" / "1" / "examples"
    metrics = json.loads((results / "metrics.json").read_text())
    assert set(metrics["io"]["per_type"]) == {"LOC", "MISC", "ORG", "PER"}
    assert 0 <= metrics["bio"]["f"] <= 1
    assert f"F1 {100 * metrics['bio']['f']:.2f} on " in first.stdout
    assert len(list((results / "package").glob("en_entlm_news_5shot-*.whl"))) == 1
    nlp = spacy.load(results / "model-last")
    assert nlp.pipe_names == ["entlm_lexicon", "entlm_ner"]
    assert any(
        p["pattern"] == "Afghanistan" for p in nlp.get_pipe("entlm_lexicon").patterns
    )

    second = run(project, "train-5shot", *variables)
    assert second.returncode == 0
    assert second.stdout.count("nothing changed") == 7

    full = run(project, "train-5shot", *variables, "--vars.recipe", "full")
    assert full.returncode == 0, full.stdout + full.stderr
    assert "The backbone reads 522 texts" in full.stdout
    assert full.stdout.count("nothing changed") == 4
    assert (results.parent / "full" / "metrics.json").is_file()
    assert len(list((results.parent / "full" / "package").glob("*.whl"))) == 2


@pytest.mark.slow
def test_train_takes_few_sentences_without_a_test_part(project, bert):
    data = project / "my data"
    data.mkdir()
    (data / "train.txt").write_text("\n".join(DEV_MARKS) + "\n", encoding="utf8")
    words = {"PER": ["John"], "LOC": ["Paris"], "ORG": ["Corp"]}
    (data / "label_words.json").write_text(json.dumps(words))
    variables = ["--vars.data", "my data", "--vars.dataset", "Unfälle 2"]
    variables += ["--vars.shots", "all", "--vars.backbone", str(bert)]
    result = run(project, "train", *variables)
    assert result.returncode == 0, result.stdout + result.stderr
    results = project / "build" / "Unfälle 2" / "allshot" / "1" / "examples"
    assert json.loads((results / "metrics.json").read_text()) is None
    (wheel,) = (results / "package").glob("en_*.whl")
    assert wheel.name.startswith("en_entlm_unfalle_2_allshot-")
    nlp = spacy.load(results / "model-last")
    assert nlp.get_pipe("entlm_ner").label_data == words
    assert nlp.pipe_names == ["entlm_ner"]  # there is no list of names


def test_a_wrong_folder_of_data_is_one_clear_line(project):
    result = run(project, "train-5shot", "--vars.data", "nowhere")
    assert result.returncode == 1
    assert "nowhere: is no folder: check the path" in (result.stderr + result.stdout)
    assert "assets" not in result.stdout + result.stderr


def test_a_misspelled_variable_is_one_clear_line_and_nothing_is_run(project):
    result = run(project, "train-5shot", "--vars.dta", "my_data")
    assert result.returncode == 1
    (line,) = (result.stdout + result.stderr).splitlines()
    assert "no variable 'dta'" in line and "do you mean --vars.data?" in line
    assert not (project / "build").exists()


def test_results_lie_under_the_name_of_the_datas_folder(project):
    """Where no other name is given."""
    for name, options in {"my data": [], "mine": ["--vars.dataset", "mine"]}.items():
        data = ["--vars.data", "somewhere/my data", *options]
        shown = run(project, "package", *data, "--dry").stdout
        assert f"build/{name}/5shot/1/examples/package" in shown
    assert "build/news/5shot" in run(project, "package", "--dry").stdout


# Steps run again when something that they read has changed


def commands(folder):
    config = load_project_config(folder)
    workflows = config["workflows"]
    assert workflows["train"] == workflows["train-5shot"]
    return {command["name"]: command for command in config["commands"]}


def inside(path, folder):
    return path == folder or path.startswith(f"{folder}/")


@pytest.mark.parametrize("name", STEPS)
def test_what_a_step_reads_and_writes_is_known(project, name):
    command = commands(project)[name]
    known = [*command.get("deps", []), *command["outputs"]]
    words = [word for line in command["script"] for word in shlex.split(line)]
    paths = [word for word in words if word.startswith(("build/", "configs/"))]
    assert paths
    for path in paths:
        assert any(inside(path, place) or inside(place, path) for place in known), path


@pytest.mark.parametrize("name", [name for name in STEPS if name != "convert"])
def test_a_step_runs_again_when_a_file_that_it_reads_has_changed(project, name):
    command = commands(project)[name]
    for place in [*command["deps"], *command["outputs"]]:
        path = project / place
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() and path.suffix not in (".json", ".spacy", ".cfg"):
            path.mkdir()
            path = path / "file"
        if not path.is_dir():
            path.write_text(place)
    update_lockfile(project, command)
    assert not check_rerun(project, command)
    read = [path for dep in command["deps"] for path in files_in(project / dep)]
    assert read
    for path in read:
        before = path.read_bytes()
        path.write_bytes(before + b"changed")
        assert check_rerun(project, command), path
        path.write_bytes(before)
    assert not check_rerun(project, command)


def files_in(path):
    return [path] if path.is_file() else [p for p in path.rglob("*") if p.is_file()]


def test_steps_see_text_words_and_backbone(project):
    """A folder's checksum knows no names of files, and a backbone may be a name."""
    deps = {
        name: command.get("deps", []) for name, command in commands(project).items()
    }
    assert "build/news/annotated.spacy" in deps["search"]
    assert "build/news/annotated.spacy" in deps["fit"]
    for name in ("search", "fit"):
        assert "build/news/corpus/backbone.json" in deps[name]
    assert "build/news/corpus/data.json" in deps["search"]
    assert commands(project)["convert"]["no_skip"]


def test_the_comparison_is_one_that_is_read():
    config = read_config(ROOT / "configs" / "compare.yml")
    assert set(config.backbones) == {"lm"} and "data" in config.datasets


def test_the_project_calls_commands_only():
    text = (ROOT / "project.yml").read_text(encoding="utf8")
    assert "python -m spacy train" in text and "scripts" not in text
