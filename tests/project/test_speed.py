"""The benchmark of speed, its methods in threads of this process."""

import importlib
import json
import multiprocessing
import os
import threading
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
import spacy
import typer.testing

BENCHMARKS = Path(__file__).resolve().parents[2] / "project" / "benchmarks"


@pytest.fixture(scope="module")
def scripts():
    """The modules of the benchmark."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        names = ("speed", "speed_methods", "speed_table", "speed_texts", "gpu")
        yield {name: importlib.import_module(name) for name in names}


class Threads:
    """Stands for a context of multiprocessing: tiny models need no processes."""

    Pipe = staticmethod(multiprocessing.Pipe)

    @staticmethod
    def Process(target, args, daemon):
        # The caller closes its end, which in a process would be a copy.
        end = Connection(os.dup(args[0].fileno()))
        thread = threading.Thread(target=target, args=(end, *args[1:]), daemon=daemon)
        thread.exitcode = 0
        return thread


@pytest.fixture
def run(scripts, monkeypatch, tmp_path, trained_folder, texts):
    """Runs the command on a text file; gives its JSON and what it printed."""
    speed = scripts["speed"]
    monkeypatch.setattr(speed, "_context", lambda: Threads)
    monkeypatch.setattr(speed, "_random_backbone", lambda like, _: like)
    lines = [json.dumps({"text": text.split()}) for text in texts]
    (tmp_path / "test.jsonl").write_text("\n".join(lines), encoding="utf8")
    app = typer.Typer()
    app.command()(speed.main)
    out = tmp_path / "out" / "speed.json"

    def invoke(*options, data="test.jsonl"):
        line = [str(out), "--model", str(trained_folder), "--threads", "1"]
        line += ["--texts", f"short={tmp_path / data}", *options]
        result = typer.testing.CliRunner().invoke(app, line, catch_exceptions=False)
        written = json.loads(out.read_text()) if out.is_file() else None
        return result, written

    return invoke


@pytest.fixture
def gold_lines(make_examples):
    """The annotated sentences as JSON lines."""
    lines = []
    for example in make_examples(spacy.blank("xx")):
        doc = example.reference
        tags = [f"{t.ent_iob_}-{t.ent_type_}" if t.ent_type_ else "O" for t in doc]
        lines.append(json.dumps({"text": [t.text for t in doc], "label": tags}))
    return "\n".join(lines)


def test_all_methods_are_measured_and_shown(run, scripts):
    result, written = run("--rounds", "2", "--dense-words", "20", "--no-random")
    assert result.exit_code == 0
    part = written["parts"]["short, trained weights"]
    assert list(part["methods"]) == scripts["speed"].METHODS
    assert 0 < part["open_share"] < 1
    for method, figures in part["methods"].items():
        assert "error" not in figures, (method, figures.get("error"))
        assert len(figures["seconds"]) == 2
        assert figures["words_per_second"] > 0
        assert figures["peak_mib"] > 0
    assert part["methods"]["dense_8"]["words"] < part["methods"]["hf"]["words"]
    assert "EntLM / HF pipeline (at least 1.45)" in result.stdout


def test_random_weights_leave_as_many_words_open_as_trained_ones(run):
    result, written = run("--rounds", "1", "--methods", "entlm")
    assert result.exit_code == 0
    trained, other = (
        written["parts"][f"short, {kind} weights"] for kind in ("trained", "random")
    )
    assert other["open_share"] == pytest.approx(trained["open_share"], abs=0.05)


def test_what_was_measured_is_not_measured_again(run):
    options = ("--rounds", "1", "--methods", "encoder", "--no-random")
    _, first = run(*options)
    result, second = run(*options)
    assert second == first
    assert "short, trained weights: measured before" in result.stdout
    _, other = run(*options, "--words", "10")
    assert other["parts"]["short, trained weights"]["words"] < 20
    _, fresh = run(*options, "--fresh")
    assert fresh != first


def test_a_method_that_fails_is_said_and_the_others_go_on(run, scripts, monkeypatch):
    def fail(job):
        raise RuntimeError("no such thing")

    monkeypatch.setitem(scripts["speed_methods"].BUILDERS, "hf", fail)
    options = ("--rounds", "1", "--methods", "entlm,hf", "--no-random")
    result, written = run(*options)
    methods = written["parts"]["short, trained weights"]["methods"]
    assert "no such thing" in methods["hf"]["error"]
    assert "error" not in methods["entlm"], methods["entlm"]["error"]
    assert "| failed |" in result.stdout


@pytest.mark.parametrize(
    "options, message",
    [
        (("--methods", "entlm,magic"), "There is no method ['magic']"),
        (("--model", "nowhere"), "nowhere is no trained pipeline"),
        (("--texts", "nameless"), "A text is NAME=FILE"),
    ],
)
def test_wrong_settings_are_one_clear_line(run, options, message):
    result, written = run(*options)
    assert result.exit_code == 1
    assert message in result.output
    assert written is None


def test_parts_of_texts(scripts, tmp_path):
    module = scripts["speed_texts"]
    texts = [f"a{i} b{i}" for i in range(10)]
    assert module.some_of(texts, 0) == texts
    assert module.some_of(texts, 8) == ["a0 b0", "a2 b2", "a5 b5", "a7 b7"]
    assert module.some_of(["a b c d"], 3) == ["a b c"]
    path = tmp_path / "test.jsonl"
    lines = [json.dumps({"text": text.split()}) for text in texts]
    path.write_text("\n".join(lines), encoding="utf8")
    assert module.Source.parse(f"x={path}:2").read() == texts[:2]
    assert module.Source.parse(f"x={path}:5w").read() == ["a0 b0 a1 b1 a2"]


def test_ratio_below_what_is_wanted_is_marked(scripts):
    speeds = {"entlm": 140, "hf": 100, "encoder": 150}
    methods = {
        name: {"words": 9, "words_per_second": speed, "peak_mib": 1.0}
        for name, speed in speeds.items()
    }
    part = {"methods": methods, "backbone": "bert", "rounds": 5}
    part |= dict.fromkeys(("documents", "words", "all_documents", "all_words"), 9)
    machine = {"processor": "P", "flags": [], "threads": 2, "gpu": "", "versions": {}}
    table = scripts["speed_table"].markdown({"machine": machine, "parts": {"t": part}})
    assert "| t | **1.40** | 0.93 |" in table
    assert "| bare encoder, no padding | 9 | 150 | 1.50 | 1 |" in table


@pytest.mark.slow
def test_the_script_for_a_gpu_runs_without_one(
    scripts, monkeypatch, tmp_path, bert, gold_lines
):
    gpu = scripts["gpu"]
    monkeypatch.setattr(scripts["speed"], "_context", lambda: Threads)
    monkeypatch.setattr(scripts["speed"], "_random_backbone", lambda like, _: like)
    data, out = tmp_path / "gold.jsonl", tmp_path / "gpu.json"
    data.write_text(gold_lines, encoding="utf8")
    app = typer.Typer()
    app.command()(gpu.main)
    line = [str(out), "--test", str(data), "--train", str(data), "--device", "cpu"]
    line += ["--backbone", str(bert), "--quick", "--threads", "1"]

    def invoke(*options):
        result = typer.testing.CliRunner().invoke(app, [*line, *options])
        return result, json.loads(out.read_text())["steps"]

    result, steps = invoke()
    assert {name: step.get("error") for name, step in steps.items()} == dict.fromkeys(
        gpu.STEPS
    )
    assert result.exit_code == 0
    assert steps["tests"]["status"] == 0
    for engines in steps["labels"].values():
        assert engines["cpu float32"]["other"] == 0
    for step in ("speed", "base_speed"):
        (part,) = steps[step]["parts"].values()
        assert list(part["methods"]) == gpu.METHODS
        assert not any("error" in figures for figures in part["methods"].values())
    assert {each["n"] for each in steps["waits"].values()} == {0}
    assert all(each["rows"] for each in steps["profile"].values())
    page = out.with_suffix(".md").read_text(encoding="utf8")
    assert page.count("\n## ") == len(gpu.STEPS)
    assert "## Waits for the device" in result.stdout

    # One that fails is said, and what was measured before stays.
    monkeypatch.setitem(gpu.STEPS, "waits", lambda bench: 1 // 0)
    result, again = invoke("--steps", "waits")
    assert result.exit_code == 1
    assert "ZeroDivisionError" in again["waits"]["error"]
    assert again["labels"] == steps["labels"]


def test_without_a_gpu_the_script_says_so(scripts, tmp_path):
    if scripts["gpu"].torch.cuda.is_available():
        pytest.skip("there is one")
    app = typer.Typer()
    app.command()(scripts["gpu"].main)
    line = [str(tmp_path / "gpu.json"), "--test", "x.jsonl", "--train", "x.jsonl"]
    for options, message in (
        ((), "There is no GPU, or no cupy"),
        (("--device", "tpu"), "--device is cuda or cpu, not 'tpu'"),
        (("--steps", "magic"), "There is no step ['magic']"),
    ):
        done = typer.testing.CliRunner().invoke(app, [*line, *options])
        assert done.exit_code == 1
        assert message in done.output
