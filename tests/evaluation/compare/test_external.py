"""A command as a method: what it gets, what is taken from it, what may go wrong."""

import multiprocessing
import sys
import threading
import time

import pytest

from spacy_entlm.evaluation.compare.cells import make_jobs, plan_cells
from spacy_entlm.evaluation.compare.run import run_comparison
from spacy_entlm.evaluation.compare.workers import run_jobs
from spacy_entlm.files.errors import DataError

# Learns words by heart.
SCRIPT = """
import json, sys
train, test, predictions, report, seed, *labels = sys.argv[1:]
read = lambda name: [json.loads(line) for line in open(name, encoding="utf8")]
known = {w: t for s in read(train) for w, t in zip(s["text"], s["label"])}
lines = read(test)
assert {t for s in lines for t in s["label"]} == {"O"}
assert labels == ["LOC", "ORG", "PER"], labels
print("seed", seed)
with open(predictions, "w", encoding="utf8") as out:
    for s in lines:
        tags = [known.get(word, "O") for word in s["text"]]
        out.write(json.dumps({"text": s["text"], "label": tags}) + "\\n")
told = {"seconds_train": 0.002, "seconds_test": 0.001, "versions": {"heart": "1"}}
json.dump(told, open(report, "w"))
"""
ARGUMENTS = ["{train}", "{test}", "{predictions}"]


@pytest.fixture
def command(tmp_path):
    """Writes a script and gives the method that runs it."""

    def make(source=SCRIPT, arguments=("{report}", "{seed}", "{labels}"), **fields):
        path = tmp_path / "script.py"
        path.write_text(source)
        external = {"command": ["{python}", str(path), *ARGUMENTS, *arguments]}
        return {"mine": {"external": {**external, **fields}}}

    return make


@pytest.fixture
def run(make, inline, tmp_path):
    """Runs a method; gives its record."""

    def run_it(methods):
        (record,) = run_comparison(make(methods=methods), tmp_path / "out").records
        return record

    return run_it


def test_a_command_is_scored_like_any_method(run, command):
    record = run(command())
    assert (record["io"]["p"], record["io"]["r"]) == (1.0, 1.0)
    assert (record["seconds_train"], record["seconds_test"]) == (0.002, 0.001)
    assert record["external_versions"] == {"heart": "1"}
    assert record["entities"] == {"LOC": 8, "ORG": 5, "PER": 8}
    assert record["component"]["external"]["command"][0] == "{python}"


def test_a_command_need_not_tell_times(run, command):
    record = run(command(SCRIPT.replace('json.dump(told, open(report, "w"))', "")))
    assert record["seconds_train"] > 0
    assert record["seconds_test"] is None
    assert record["external_versions"] == {}


def test_arguments_are_filled_and_no_shell_reads_them(run, command):
    source = SCRIPT.replace(
        "*labels = sys.argv[1:]", "odd, rate, *labels = sys.argv[1:]"
    )
    source = source.replace("print(", "assert odd == '{$HOME}; true', odd\nprint(")
    source = source.replace("print(", "assert rate == 'x0.01', rate\nprint(")
    arguments = ("{report}", "{seed}", "{{$HOME}}; true", "x{learn_rate}", "{labels}")
    assert run(command(source, arguments))["io"]["f"] == 1


def test_another_python_sees_no_packages_of_this_one(run, command, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    monkeypatch.setenv("OMP_NUM_THREADS", "77")
    check = "import os\nassert 'PYTHONPATH' not in os.environ\n"
    check += "assert os.environ['OMP_NUM_THREADS'] != '77'\n"
    check += "assert os.environ['CUDA_VISIBLE_DEVICES'] == ''\n"
    assert run(command(check + SCRIPT, python=sys.executable))["io"]["f"] == 1


def key_of(config):
    (cell,) = plan_cells(config)
    return cell.key


def test_key_changes_with_the_script_and_not_with_its_place(make, command, tmp_path):
    key = key_of(make(methods=command()))
    methods = command()
    (tmp_path / "moved.py").write_text(SCRIPT)
    methods["mine"]["external"]["command"][1] = str(tmp_path / "moved.py")
    assert key_of(make(methods=methods)) == key
    assert key_of(make(methods=command(timeout=5, python=sys.executable))) == key
    assert key_of(make(methods=command(SCRIPT + "#"))) != key
    assert key_of(make(methods=command(arguments=()))) != key
    assert key_of(make(methods=command(), seeds=[2])) != key
    assert key_of(make(methods=command(), settings={"epochs": 3})) != key


WRITE = "import sys\nopen(sys.argv[3], 'w').write({!r})\n"


@pytest.mark.parametrize(
    "source, message",
    [
        (
            "raise ValueError('no such thing')",
            "script.py ended with status 1. It printed: ValueError: no such thing",
        ),
        ("import sys; sys.exit(3)", "ended with status 3. It printed: nothing"),
        ("", "the command wrote no {predictions}"),
        (WRITE.format(""), "have 0 lines of words and tags, the test part"),
        (WRITE.format("{\n" * 10), "predictions.jsonl, line 1: broken JSON"),
        (WRITE.format('{"text": [], "label": 3}\n'), 'line 1: "label" must be a list'),
        (WRITE.format('{"text": [], "label": ["O"]}\n'), "0 words in"),
    ],
)
def test_what_a_command_does_wrong_is_told(run, command, source, message):
    with pytest.raises(DataError) as error:
        run(command(source))
    assert message in str(error.value)


@pytest.mark.parametrize(
    "old, new, message",
    [
        (
            "known.get(word, ",
            "('B-CITY' or ",
            "line 1: 'CITY' has no example; there are",
        ),
        ("known.get(word, ", "('Q:PER' or ", "line 1: unknown tag 'Q:PER'"),
        ('s["text"], "label"', 's["text"][::-1], "label"', "line 1: other words than"),
        ('"seconds_test": 0.001', '"seconds": 1', "report: seconds_test: Field requ"),
        ('"seconds_test": 0.001', '"seconds_test": -1', "greater than or equal to 0"),
        ('json.dump(told, open(report, "w"))', 'open(report, "w")', "broken JSON"),
    ],
)
def test_wrong_predictions_and_reports_are_told(run, command, old, new, message):
    assert old in SCRIPT
    with pytest.raises(DataError) as error:
        run(command(SCRIPT.replace(old, new)))
    assert message in str(error.value)


def test_a_command_that_takes_too_long_is_ended_with_what_it_started(
    run, command, tmp_path
):
    beat = f"while 1: open({str(tmp_path / 'beat')!r}, 'a').write('x'); time.sleep(.02)"
    source = (
        "import subprocess, sys, time\nprint('begun', flush=True)\n"
        f"subprocess.run([sys.executable, '-c', {'import time' + chr(10) + beat!r}])"
    )
    with pytest.raises(DataError, match="after 1 s: raise `timeout`"):
        run(command(source, timeout=1))
    assert stands_still(tmp_path / "beat")


def stands_still(path, seconds=0.3):
    assert path.exists()
    size = path.stat().st_size
    time.sleep(seconds)
    return path.stat().st_size == size


@pytest.mark.parametrize(
    "external, message",
    [
        ({"command": []}, "external.command: List should have at least 1 item"),
        ({"command": ["a", "{train}"]}, "the command has no {test}"),
        ({"command": ["a", "{text}"]}, "'text' is no field (there are python"),
        ({"command": ["a", "{"]}, "a brace of its own is written twice"),
        ({"command": ["a", *ARGUMENTS], "timeout": 0}, "external.timeout"),
        ({"command": ["a", *ARGUMENTS], "shell": True}, "there is no such setting"),
    ],
)
def test_wrong_commands_are_told_before_anything_runs(make, external, message):
    with pytest.raises(DataError) as error:
        make(methods={"mine": {"external": external}})
    assert message in str(error.value)


def test_a_program_that_is_not_there_is_told_before_anything_runs(make):
    for fields in ({"command": ["no-such"]}, {"command": ["{python}"], "python": "no"}):
        external = {**fields, "command": [*fields["command"], *ARGUMENTS]}
        with pytest.raises(DataError, match="there is no program 'no"):
            plan_cells(make(methods={"mine": {"external": external}}))


def test_a_setting_that_is_not_set_is_told(make, raw_config, inline, tmp_path, command):
    del raw_config["backbones"]["bert"]["learn_rate"]
    with pytest.raises(DataError, match="the config sets no learn_rate"):
        config = make(methods=command(arguments=("{learn_rate}",)))
        run_comparison(config, tmp_path / "out")


@pytest.mark.parametrize(
    "method, message",
    [
        ({}, "either a `factory` or an `external`"),
        ({"training": "x", "external": {"command": ["a", *ARGUMENTS]}}, "no settings"),
    ],
)
def test_a_method_is_a_factory_or_a_command(make, method, message):
    with pytest.raises(DataError, match=message):
        make(methods={"mine": method})


@pytest.mark.slow
def test_a_command_ends_with_the_run(make, command, tmp_path):
    """Also when its process is stopped from outside."""
    beat = tmp_path / "beat"
    loop = f"while 1: open({str(beat)!r}, 'a').write('x'); time.sleep(.02)"
    config = make(methods=command("import time\n" + loop))
    jobs = make_jobs(plan_cells(config))
    found = []
    outcomes = run_jobs(jobs, config.datasets, tmp_path)
    thread = threading.Thread(target=lambda: found.extend(outcomes))
    thread.start()
    try:
        end = time.monotonic() + 60
        while not beat.exists():
            assert time.monotonic() < end
            time.sleep(0.1)
    finally:
        for child in multiprocessing.active_children():
            child.terminate()
        thread.join()
    assert found[0].error.startswith("its process ended with status 1")
    assert stands_still(beat)
