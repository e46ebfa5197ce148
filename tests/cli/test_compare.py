"""The command `compare`."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from spacy_entlm.cli import entlm_cli
from spacy_entlm.evaluation.compare.data import DatasetReader
from spacy_entlm.evaluation.compare.train import run_job
from spacy_entlm.evaluation.compare.workers import Outcome


@pytest.fixture
def compare(tmp_path, monkeypatch, annotated, bert, label_words):
    """Runs the command in a folder of its own that holds data and a config; trainings
    run in this process."""

    def run_inline(jobs, datasets, folder, **_):
        for job in jobs:
            reader = DatasetReader(datasets[job[0].name.dataset])
            yield Outcome(job, run_job(job, reader))

    monkeypatch.setattr("spacy_entlm.evaluation.compare.run.run_jobs", run_inline)
    monkeypatch.chdir(tmp_path)
    lines = [json.dumps({"text": text, **marks}) for text, marks in annotated]
    Path("data/5shot").mkdir(parents=True)
    for name in ("data/test.jsonl", "data/5shot/1.jsonl"):
        Path(name).write_text("\n".join(lines) + "\n")
    Path("data/5shot/2.jsonl").write_text("\n".join(lines[1:]) + "\n")
    Path("words.json").write_text(json.dumps(label_words))
    Path("c.yml").write_text(
        "title: Tiny\n"
        "datasets: {tiny: {data: data, label_words: words.json, lang: xx}}\n"
        f"backbones: {{bert: {{path: '{bert}', learn_rate: 0.01}}}}\n"
        "splits: [1, 2]\nmethods: [entlm, bert_tagger]\nsettings: {epochs: 2}\n"
    )

    def run(*arguments, code=0):
        result = CliRunner().invoke(entlm_cli, ["compare", *map(str, arguments)])
        output = result.output + (result.stderr or "")
        assert result.exit_code == code, output
        return output

    return run


def test_a_run_ends_in_a_report_and_goes_on(compare):
    output = compare("c.yml", "out")
    assert "4 results: 0 are there already" in output
    assert "F1, as mean (standard deviation):\nmethod | tiny, K = 5" in output
    assert "Wrote out/report.html" in output
    assert "<h1>Tiny</h1>" in Path("out/report.html").read_text()
    # To the tagger without being asked.
    assert "method=bert_tagger" in Path("out/differences.csv").read_text()
    assert Path("out/records.jsonl").read_text().count("\n") == 4
    assert "4 results: 4 are there already" in compare("c.yml", "out")


def test_numbers_of_examples_that_the_data_lack_are_left_out_and_told(compare):
    """Where examples are drawn, or given for some numbers only."""
    lines = Path("data/test.jsonl").read_text()
    Path("own").mkdir()
    for name in ("own/test.jsonl", "own/train.jsonl"):
        Path(name).write_text(lines)
    settings = ["--set", "shots=[2,50,100]", "--set", "splits=[1]"]
    output = compare("c.yml", "out", *settings, "--set", "datasets.tiny.data=own")
    told = "tiny: 50 examples of each class are left out: cannot draw 50 entities of"
    assert told in output and "100 examples of each class are left out" in output
    assert "--shots" not in output  # an option of another command
    assert "2 results: 0 are there already" in output and "tiny, K = 2" in output
    settings = ["--set", "shots=[5,20]", "--set", "splits=[1,2]"]
    output = compare("c.yml", "given", *settings)
    assert (
        output.count("20 examples of each class are left out: data: has neither") == 1
    )
    assert "4 results: 0 are there already" in output


def test_data_that_have_too_few_for_all_numbers_are_one_line(compare):
    Path("data/train.jsonl").write_text(Path("data/test.jsonl").read_text())
    output = compare("c.yml", "out", "--set", "shots=[50,100]", code=1)
    assert "cannot draw 50 entities of every class" in output
    assert "lower `shots` in the config" in output and "--shots" not in output
    assert "Traceback" not in output


def test_a_report_alone_trains_nothing(compare):
    compare("c.yml", "out", "--set", "splits=[1]")
    Path("out/report.html").unlink()
    records = Path("out/records.jsonl").read_bytes()
    output = compare(
        "c.yml", "out", "--report-only", "--baseline", "method=entlm", "--seed", 3
    )
    assert "2 of 4 results are not there yet" in output
    assert "method=entlm" in Path("out/report.html").read_text()
    assert Path("out/records.jsonl").read_bytes() == records


def test_values_may_be_set(compare):
    options = ["--set", "splits=[2]", "--set", 'methods=["entlm"]']
    compare(*options, "--set", "datasets.tiny.limit=3", "c.yml", "out")
    record = json.loads(Path("out/records.jsonl").read_text())
    assert (record["n_test"], record["split"]) == (3, 2)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["none.yml", "out"], "none.yml: no such file"),
        (["c.yml", "out", "--set", "epochs"], "--set takes NAME=VALUE"),
        (["c.yml", "out", "--gpus", "a"], "--gpus is a list"),
        (["c.yml", "words.json"], "words.json: is no folder"),
        (["c.yml", "out", "--set", "datasets.tiny.label_words=n.json"], "n.json"),
        (["c.yml", "out", "--baseline", "method=x"], "no method is 'x'"),
        (["c.yml", "out", "--baseline", "x"], "--baseline is FIELD=VALUE"),
        (
            ["c.yml", "out", "--report-only"],
            "as nothing was trained yet: leave out --rep",
        ),
    ],
)
def test_bad_input_is_one_line_before_anything_is_trained(compare, arguments, message):
    output = compare(*arguments, code=1)
    assert message in output
    assert "Traceback" not in output
    assert not Path("out/records.jsonl").exists()


def test_report_files_of_something_else_are_not_replaced(compare):
    Path("out").mkdir()
    Path("out/report.html").write_text("mine")
    output = compare("c.yml", "out", code=1)
    assert "report.html: exists, but no records beside it" in output
    assert Path("out/report.html").read_text() == "mine"


def test_failed_trainings_are_told(compare, monkeypatch):
    def fail(jobs, *_, **__):
        for job in jobs:
            yield Outcome(job, [], "RuntimeError: no memory", "Traceback ...")

    monkeypatch.setattr("spacy_entlm.evaluation.compare.run.run_jobs", fail)
    output = compare("c.yml", "out", code=1)
    assert "4 trainings failed (errors.txt has all" in output
    assert "tiny 5 1 1 bert entlm: RuntimeError: no memory" in output
