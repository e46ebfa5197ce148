"""A packaged pipeline works where nothing but the packages is."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import requires
from pathlib import Path

import pytest
import spacy
from packaging.requirements import Requirement
from spacy.tokens import DocBin, Span
from typer.testing import CliRunner

from spacy_entlm.cli import entlm_cli
from spacy_entlm.cli import package as command
from spacy_entlm.cli.package import _build_own, _describe, _labels, _module_name
from spacy_entlm.pipeline.requirements import REQUIREMENT

ROOT = Path(__file__).resolve().parents[2]
PREDICT = """
import json, socket, sys

def blocked(*args, **kwargs):
    raise OSError("no network in this test")

socket.socket.connect = blocked
socket.getaddrinfo = blocked
sys.path.insert(0, sys.argv[1])
import en_entlm_packed

nlp = en_entlm_packed.load()
found = []
for doc in nlp.pipe(json.loads(sys.argv[2])):
    scores = doc.spans["entlm_ner"].attrs["scores"]
    ents = [(ent.start, ent.end, ent.label_) for ent in doc.ents]
    found.append([ents, [float(score) for score in scores]])
print(json.dumps(found))
"""


PRF = {"p": 0.5, "r": 0.25, "f": 0.3333}
METRICS = {
    **{way: {**PRF, "per_type": {"PER": PRF}} for way in ("io", "bio")},
    **{"n_entities": 8, "sentences": 9, "date": "2020-01-02"},
}


def invoke(*args):
    name = ["--name", "entlm_packed"]
    return CliRunner().invoke(entlm_cli, ["package", *map(str, args), *name])


def package(*args):
    line = [sys.executable, "-m", "spacy", "entlm", "package", *args]
    return run([*line, "--name", "entlm_packed"])


def check_figures(wheel):
    """The figures of the test part, in the README and in every meta.json."""
    with zipfile.ZipFile(wheel) as packed:
        files = {
            name: packed.read(name).decode()
            for name in packed.namelist()
            if name.endswith(("meta.json", "METADATA"))
        }
    metas = [json.loads(text) for name, text in files.items() if "meta" in name]
    assert metas
    for meta in metas:
        assert meta["performance"] == {
            **{"ents_f": 0.3333, "ents_p": 0.5, "ents_r": 0.25},
            "ents_per_type": {"PER": PRF},
        }
    (readme,) = (text for name, text in files.items() if "METADATA" in name)
    for part in (
        "F1 33.33, precision 50.00, recall 25.00",
        "2020-01-02",
        "9 test sentences with 8 entities",
        "Trained on 10 sentences",
        "entities: LOC 8, ORG 5, PER 8",
    ):
        assert part in readme


@pytest.mark.slow
def test_packaged_pipeline_gives_the_same_without_network_or_backbone(
    bert, blank_nlp, fit, make_examples, texts, tmp_path
):
    backbone = tmp_path / "backbone"
    shutil.copytree(bert, backbone)
    nlp = blank_nlp(backbone, lang="en")
    fit(nlp)
    expected = []
    for doc in nlp.pipe(texts):
        scores = doc.spans["entlm_ner"].attrs["scores"]
        ents = [[ent.start, ent.end, ent.label_] for ent in doc.ents]
        expected.append([ents, [float(score) for score in scores]])
    assert any(ents for ents, _ in expected)
    nlp.to_disk(tmp_path / "model")
    backbone.rename(tmp_path / "moved")

    (tmp_path / "metrics.json").write_text(json.dumps(METRICS))
    DocBin(docs=[eg.reference for eg in make_examples(nlp)]).to_disk(tmp_path / "t")
    options = ["--metrics", tmp_path / "metrics.json", "--train", tmp_path / "t"]
    output = package(tmp_path / "model", tmp_path / "out", *options)
    own, wheel = sorted((tmp_path / "out").glob("*.whl"), reverse=True)
    # One command installs both.
    assert output.splitlines()[-1] == f"pip install {wheel} {own}"
    assert own.name.startswith("spacy_entlm-")
    assert "'build' package" not in output
    with zipfile.ZipFile(own) as packed:
        names = packed.namelist()
    assert "spacy_entlm/cli/package.py" in names
    assert any(name.endswith("share/spacy-entlm/project.yml") for name in names)
    check_figures(wheel)
    site = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "-q"]
    run([*pip, "--target", site, wheel])
    output = run([sys.executable, "-c", PREDICT, site, json.dumps(texts)])
    assert json.loads(output.splitlines()[-1]) == expected
    told = run([sys.executable, "-m", "spacy", "info"], PYTHONPATH=str(site))
    assert "en_entlm_packed" in told


def run(command, **variables):
    result = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, **variables},
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_package_asks_for_this_distribution_within_1x(bert, start_nlp, tmp_path):
    nlp = start_nlp(bert)
    nlp.to_disk(tmp_path)
    meta = json.loads((tmp_path / "meta.json").read_text())
    assert meta["requirements"] == [REQUIREMENT]


def test_installed_version_satisfies_the_requirement():
    assert spacy.util.is_compatible_version(
        spacy.util.get_package_version("spacy-entlm"),
        REQUIREMENT.removeprefix("spacy-entlm"),
    )


def test_package_of_no_pipeline_is_one_clear_line(tmp_path):
    result = invoke(tmp_path / "none", tmp_path / "out")
    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert "is no trained pipeline" in line


@pytest.mark.parametrize(
    "name, module",
    [
        ("entlm_news_5shot", "entlm_news_5shot"),
        ("entlm_see-unfälle 2_5shot", "entlm_see_unfalle_2_5shot"),
        ("Marine Reports!", "Marine_Reports"),
        ("entlm_海事_5shot", "entlm_5shot"),
    ],
)
def test_any_name_becomes_that_of_a_module(name, module):
    assert _module_name(name) == module


@pytest.mark.parametrize(
    "option, message",
    [
        (["--name", "海事"], "--name wants a letter from A to Z, not '海事'"),
        (["--version", "first"], "--version is a version such as 1.0.0, not 'first'"),
    ],
)
def test_a_name_or_version_of_no_package_is_one_line(
    option, message, trained_folder, tmp_path
):
    line = ["package", str(trained_folder), str(tmp_path / "out"), *option]
    result = CliRunner().invoke(entlm_cli, line)
    assert result.exit_code == 1
    assert message in result.stderr and len(result.stderr.splitlines()) == 1


def test_a_folder_that_is_there_stays_unless_it_is_told(trained_folder, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    result = invoke(trained_folder, tmp_path)
    assert result.exit_code == 1 and "--overwrite" in result.stderr


def test_figures_of_something_else_are_one_line(trained_folder, tmp_path):
    (tmp_path / "metrics.json").write_text("[1]")
    metrics = ("--metrics", tmp_path / "metrics.json")
    result = invoke(trained_folder, tmp_path / "out", *metrics)
    assert "metrics.json: holds no figures of `evaluate`" in result.stderr


def test_without_a_test_part_no_figure_is_told(tmp_path):
    (tmp_path / "metrics.json").write_text("null")
    trained = {"lang": "en", "performance": {"ents_f": 1.0}}
    assert _describe(trained, tmp_path / "metrics.json", None)["performance"] == {}


def test_what_was_not_measured_and_had_no_example_is_told(trained_folder, tmp_path):
    doc = spacy.blank("en").make_doc("Ann left")
    doc.set_ents([Span(doc, 0, 1, label="PER")])
    DocBin(docs=[doc]).to_disk(tmp_path / "t")
    trained = json.loads((trained_folder / "meta.json").read_text())
    labels = _labels(trained_folder, trained)
    assert labels == ["LOC", "ORG", "PER"]
    notes = _describe(trained, None, tmp_path / "t", labels)["notes"]
    assert "Without any example: LOC, ORG." in notes
    assert "How accurate it is was not measured." in notes


def test_figures_of_a_cross_validation_are_told_as_such(tmp_path):
    metrics = {**METRICS, "how": "crossval"}
    (tmp_path / "metrics.json").write_text(json.dumps(metrics))
    said = _describe({"lang": "en"}, tmp_path / "metrics.json", None)
    assert said["performance"]["ents_f"] == 0.3333
    assert "in a cross-validation of 9 sentences with 8 entities" in said["notes"]
    assert "test sentences" not in said["notes"]


def test_what_the_build_needs_is_installed_along():
    names = {Requirement(text).name for text in requires("spacy-entlm") or []}
    project = (ROOT / "pyproject.toml").read_text(encoding="utf8")
    assert "wheel" in names
    assert '\n    "build",\n' in project


@pytest.mark.parametrize(
    "url", ["file:///nowhere/checkout", "https://example.org/spacy_entlm.whl", None]
)
def test_without_its_source_no_own_wheel_is_built(url, tmp_path, monkeypatch):
    noted = None if url is None else json.dumps({"url": url})

    class Installed:
        def read_text(self, name):
            return noted

    monkeypatch.setattr(command, "__file__", str(tmp_path / "a" / "b" / "c.py"))
    monkeypatch.setattr(command, "distribution", lambda name: Installed())
    assert not _build_own(tmp_path / "own", tmp_path)


def test_a_wheel_that_was_installed_is_taken_again(tmp_path, monkeypatch):
    (tmp_path / "w").mkdir()
    wheel = tmp_path / "w" / "spacy_entlm-1-py3-none-any.whl"
    wheel.write_text("wheel")

    class Installed:
        def read_text(self, name):
            return json.dumps({"url": wheel.as_uri()})

    monkeypatch.setattr(command, "__file__", str(tmp_path / "a" / "b" / "c.py"))
    monkeypatch.setattr(command, "distribution", lambda name: Installed())
    assert _build_own(tmp_path / "own", tmp_path)
    assert (tmp_path / wheel.name).read_text() == "wheel"
