"""The commands `benchmark`, `benchmark ablation` and `report benchmark`."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from spacy_entlm.cli import entlm_cli
from spacy_entlm.evaluation.compare.data import DatasetReader
from spacy_entlm.evaluation.compare.train import run_job
from spacy_entlm.evaluation.compare.workers import Outcome


@pytest.fixture
def entlm(tmp_path, monkeypatch, annotated, bert, label_words):
    """Runs a command in a folder of its own that holds data and a config; trainings
    run in this process."""

    def run_inline(jobs, datasets, **_):
        for job in jobs:
            name = job.cells[0].name.dataset
            yield Outcome(job, run_job(job, DatasetReader(name, datasets[name])), "")

    monkeypatch.setattr("spacy_entlm.evaluation.compare.run.run_jobs", run_inline)
    monkeypatch.chdir(tmp_path)
    lines = [
        json.dumps(
            {
                "text": text,
                "spans": [
                    {"start": start, "end": end, "label": label}
                    for start, end, label in annotation["entities"]
                ],
            }
        )
        for text, annotation in annotated
    ]
    Path("data/5shot").mkdir(parents=True)
    for name in ("data/test.jsonl", "data/5shot/1.jsonl", "data/5shot/2.jsonl"):
        Path(name).write_text("\n".join(lines) + "\n")
    Path("words.json").write_text(json.dumps(label_words))
    Path("c.yml").write_text(
        "datasets: {tiny: {data: data, label_words: words.json, lang: xx}}\n"
        f"backbones: {{bert: {{path: '{bert}', learn_rate: 0.01}}}}\n"
        "splits: [1, 2]\nmethods: [entlm]\nsettings: {epochs: 2}\n"
    )

    def run(*arguments, code=0):
        result = CliRunner().invoke(entlm_cli, list(map(str, arguments)))
        output = result.output + (result.stderr or "")
        assert result.exit_code == code, output
        return output

    return run


@pytest.mark.parametrize("spelling", [["c.yml"], ["run", "c.yml"]])
def test_config_without_a_command_means_run(entlm, spelling):
    output = entlm("benchmark", *spelling)
    assert "2 cells: 0 are there" in output
    assert "2 records in build/benchmark/c/records.jsonl" in output
    assert Path("build/benchmark/c/records.jsonl").read_text().count("\n") == 2
    assert "2 are there" in entlm("benchmark", *spelling)


def test_options_may_stand_first_and_help_is_help(entlm):
    output = entlm(
        "benchmark", "--limit", 3, "--set", "splits=[2]", "--set", "title=x", "c.yml"
    )
    assert "1 cells" in output
    record = json.loads(Path("build/benchmark/c/records.jsonl").read_text())
    assert (record["n_test"], record["split"]) == (3, 2)
    output = entlm("benchmark", "--help")
    assert "ablation" in output
    assert "run" in output


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["none.yml"], "cannot read the config none.yml"),
        (["run", "c.yml", "--set", "methods=[magic]"], "methods"),
        (["c.yml", "--set", 'methods=["magic"]'], "unknown method 'magic'"),
        (["c.yml", "--set", "epochs"], "--set takes NAME=VALUE"),
        (["c.yml", "--gpus", "a"], "--gpus is a list"),
        (["c.yml", "words.json"], "words.json is no folder"),
        (["c.yml", "--set", "datasets.tiny.label_words=n.json"], "n.json"),
    ],
)
def test_bad_input_is_one_line(entlm, arguments, message):
    output = entlm("benchmark", *arguments, code=1)
    assert message in output
    assert "Traceback" not in output


def test_records_of_another_version_are_refused(entlm):
    entlm("benchmark", "c.yml", "out", "--set", "splits=[1]")
    path = Path("out/records.jsonl")
    path.write_text(path.read_text().replace('"format": 1', '"format": 7'))
    for arguments in (["benchmark", "c.yml", "out"], ["report", "benchmark", "out"]):
        output = entlm(*arguments, code=1)
        assert "line 1: a record of format 7" in output


def ablation(name, *arguments):
    options = ["--text", "data/test.jsonl", "--data", "data", "--epochs", 1]
    options += ["--splits", "1", "--lang", "xx", "--search", "data"]
    return ["benchmark", "ablation", name, "out", *options, *arguments]


def test_ablation_writes_the_curve_and_trains_equal_points_once(entlm, bert):
    output = entlm(*ablation("threshold", "--backbone", bert))
    assert "6 cells: 0 are there" in output
    summary = json.loads(Path("out/threshold.json").read_text())
    points = summary["points"]
    assert [point["value"] for point in points] == [0.0, 0.5, 0.6, 0.7, 0.8, 0.9]
    assert all(point["results"][0]["n"] == 1 for point in points)
    copied = [p["results"][0]["cells"][0]["copied"] for p in points]
    assert copied.count(False) == len({str(p["label_words"]) for p in points}) < 6
    again = entlm(*ablation("threshold", "--backbone", bert))
    assert "6 are there" in again
    assert json.loads(Path("out/threshold.json").read_text()) == summary


def test_without_matplotlib_the_curve_is_written_all_the_same(entlm, bert, monkeypatch):
    monkeypatch.setattr(
        "spacy_entlm.evaluation.compare.plots.has_matplotlib", lambda: False
    )
    output = entlm(*ablation("top-k", "--backbone", bert, "--values", "1"))
    assert "pip install 'spacy-entlm[plot]'" in output
    assert Path("out/top-k.json").exists()
    assert not Path("out/top-k.png").exists()


@pytest.mark.parametrize("extension", [".png", ".svg"])
def test_ablation_draws_the_plot_that_is_asked_for(entlm, bert, extension):
    pytest.importorskip("matplotlib")
    options = ["--values", "1", "--plot", extension]
    entlm(*ablation("top-k", "--backbone", bert, *options))
    assert Path(f"out/top-k{extension}").stat().st_size > 1000


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["colour"], "unknown ablation 'colour': choose from threshold"),
        (["threshold", "--plot", ".gif"], "--plot is .png or .svg"),
        (["threshold", "--values", "a"], "--values of threshold"),
        (["top-k", "--values", "1,1"], "unknown or double"),
        (["domain", "--values", "mars"], "unknown or double"),
        (["domain"], "needs --general"),
        (["domain", "--general", "none.txt"], "none.txt: no such file"),
        (["top-k", "--shots", "five"], "--shots is a list"),
        (["top-k", "--methods", "magic"], "unknown method 'magic'"),
        (["top-k", "--threshold", "2"], "threshold is a share"),
    ],
)
def test_bad_options_of_ablations_are_one_line(entlm, bert, arguments, message):
    name, *options = arguments
    output = entlm(*ablation(name, "--backbone", bert, *options), code=1)
    assert message in output
    assert not Path("out/top-k/points.json").exists()


def test_report_is_markdown_or_a_page(entlm):
    entlm("benchmark", "c.yml", "out", "--set", 'methods=["entlm","bert_tagger"]')
    arguments = ["report", "benchmark", "out", "--baseline", "method=bert_tagger"]
    output = entlm(*arguments, "--classes")
    assert "| method | tiny, K = 5 |" in output
    assert "## Paired differences of F1" in output
    assert entlm(*arguments, "--classes") == output
    entlm(*arguments, "--out", "r.md")
    assert Path("r.md").read_text().startswith("# Benchmark\n\n## F1, IO gold")
    entlm(*arguments, "--out", "r.html", "--no-plots")
    assert "<h2>Paired differences of F1</h2>" in Path("r.html").read_text()
    assert "Decoding time" in entlm("report", "benchmark", "out", "--layout", "table4")


def test_report_holds_plots(entlm):
    pytest.importorskip("matplotlib")
    entlm("benchmark", "c.yml", "out")
    entlm("report", "benchmark", "out", "--out", "r.html")
    assert Path("r.html").read_text().count("<svg") == 1
    entlm("report", "benchmark", "out", "--out", "r.md")
    assert "![Reliability, tiny](r.1.svg)" in Path("r.md").read_text()
    assert Path("r.1.svg").read_text().startswith("<?xml")


TIMES = {
    **{"dataset": "tiny", "sentences": 2, "words": 9, "machine": "A chip", "notes": []},
    "methods": {"bert_tagger": {"paper_batch": {"batch_size": 8, "seconds": [2.0]}}},
    "lengths": [{"mean_words": 5.0, "milliseconds": {"bert_tagger": 1.0}}],
}
CELL = {"dataset": "tiny", "method": "entlm", "K": 5, "mean": 12.34, "sd": 5.67}
POINT = {"name": "1", "value": 1, "results": []}


def test_report_shows_times_curves_and_figures_of_others(entlm, monkeypatch):
    """One page with all of it; without records, what else is given."""
    TIMES["methods"]["bert_tagger"]["best"] = {"batch_size": 8, "seconds": [1.0]}
    Path("times.json").write_text(json.dumps(TIMES))
    paper = {"title": "paper", "backbone": "big", "cells": [CELL], "notes": ["Noted."]}
    paper["decoding_time"] = {"seconds": {"tiny": {"bert_tagger": 8.57}}}
    Path("paper.json").write_text(json.dumps(paper))
    result = {"method": "entlm", "shots": 5, "mean": 4.0, "sd": 1.0}
    points = [{**POINT, "results": [result]}]
    Path("curve.json").write_text(json.dumps({"ablation": "top-k", "points": points}))
    monkeypatch.setattr(
        "spacy_entlm.evaluation.compare.beside.PAPER", Path("paper.json")
    )
    entlm("benchmark", "c.yml", "out", "--set", 'methods=["entlm","bert_tagger"]')
    output = entlm("report", "benchmark", "out", "--paper", "--times", "times.json")
    assert "| entlm | big (paper) | 12.34 (5.67) |" in output
    assert "Noted." in output
    assert "| bert_tagger | 8 | 2.00 | 1.00 | 8 | 1.00 | 1.00 | 8.57 | 1.00 |" in output
    # Differences to the tagger without being asked.
    assert "| tiny | 5 | entlm" in output
    assert "--baseline" not in output
    output = entlm("report", "benchmark", "--times", "times.json", "--paper")
    assert output.startswith("## Decoding time, tiny")
    assert "| 8.57 | 1.00 |" in output
    pytest.importorskip("matplotlib")
    options = ["--times", "times.json", "--curve", "curve.json", "--out", "r.html"]
    entlm("report", "benchmark", "out", *options)
    page = Path("r.html").read_text()
    assert "<h2>Decoding time over length, tiny</h2>" in page
    assert "<h2>Ablation: top-k</h2>" in page
    assert page.count("<svg") == 3


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "name the folder of a run, --times or --curve"),
        (["out", "--times", "c.yml"], "cannot read decoding times"),
        (["out", "--curve", "words.json"], "words.json is no curve of `ablation`"),
        (["out", "--paper"], "has no figures of these datasets"),
        (["none"], "cannot read none"),
        (["out", "--layout", "x"], "--layout is one of auto"),
        (["out", "--gold", "x"], "--gold is one of io, bio"),
        (["out", "--out", "r.pdf"], "the extension of --out is one of .md"),
        (["out", "--baseline", "method=x"], "no method is 'x'"),
    ],
)
def test_bad_options_of_reports_are_one_line(entlm, arguments, message):
    options = ["--set", "splits=[1]", "--set", "settings.epochs=1"]
    entlm("benchmark", "c.yml", "out", *options)
    output = entlm("report", "benchmark", *arguments, code=1)
    assert message in output
