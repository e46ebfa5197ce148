"""Limits of time and memory for what is read, and the report. All of it, in less than
an hour on two cores:

    python -m pytest tests/reliability -m "" --hypothesis-profile=thorough -n 2 \\
        --dist worksteal --report reliability.json
"""

import json
import math
import platform
import shutil
import signal
import sys
import time
import tracemalloc
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import pytest
import spacy


@contextmanager
def limits(seconds, megabytes=None):
    """Stop what takes too long; check the most memory that Python and its libraries
    took in the meantime, in 2**20 bytes."""

    def stop(*args):
        raise TimeoutError(f"no end after {seconds} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    if megabytes is not None:
        tracemalloc.start()
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        if megabytes is not None:
            peak = tracemalloc.get_traced_memory()[1] / 2**20
            tracemalloc.stop()
    if megabytes is not None:
        assert peak < megabytes


@pytest.fixture
def at_most():
    """Gives limits: at_most(seconds, megabytes=None)."""
    return limits


@pytest.fixture(scope="session")
def thorough(pytestconfig):
    """Whether all is to be tried."""
    return pytestconfig.getoption("--hypothesis-profile") == "thorough"


@pytest.fixture(scope="session")
def tried(pytestconfig, thorough):
    """How often something is tried: tried(in the suite, in the thorough profile)."""
    scale = pytestconfig.getoption("scale", 1.0)
    return lambda few, many: math.ceil(many * scale) if thorough else few


# Of a name in a line for `teach`.
MARK = ("start", "end", "label")


@pytest.fixture(scope="session")
def inputs(annotated, label_words, bert, trained_folder, tmp_path_factory):
    """A folder of what commands read, with links to a backbone and a pipeline."""
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "lexicon.tsv").write_text("Lima\tLOC\nAnn\tPER\n")
    (folder / "text.txt").write_text("Ann left Lima .\n" * 500)
    lines = [
        json.dumps({"text": text, "spans": [[*span] for span in gold["entities"]]})
        for text, gold in annotated * 3
    ]
    (folder / "marked.jsonl").write_text("\n".join(lines))
    kinds = [
        {"text": text, "spans": [dict(zip(MARK, span)) for span in gold["entities"]]}
        for text, gold in annotated
    ]
    (folder / "kinds.jsonl").write_text("\n".join(map(json.dumps, kinds)))
    (folder / "words.json").write_text(json.dumps(label_words))
    (folder / "data").mkdir()
    for name in ("train", "test"):
        (folder / "data" / f"{name}.jsonl").write_text("\n".join(lines))
    plain = [text for text, _ in annotated] * 12
    (folder / "plain.txt").write_text("\n".join(plain) + "\n")
    (folder / "bert").symlink_to(bert)
    (folder / "pipeline").symlink_to(trained_folder)
    return Path(folder)


# The report: what tests count with `record_property`, added up for each module.


def pytest_addoption(parser):
    parser.addoption("--report", metavar="FILE", help="Write what was tried as JSON")
    parser.addoption(
        "--scale", type=float, default=1.0, help="Of the thorough profile's numbers"
    )
    parser.addoption(
        "--soak-minutes", type=float, help="Of each soak; thorough: 6, else seconds"
    )


class Report:
    """Counts of the tests of each module, also of those that workers ran."""

    def __init__(self, path):
        self.path, self.parts, self.start = Path(path), {}, time.time()

    def pytest_runtest_logreport(self, report):
        counts = self.parts.setdefault(Path(report.fspath).stem, Counter())
        counts["seconds"] += report.duration
        counts["failures"] += report.failed
        counts["skipped"] += report.skipped
        if report.when == "call":
            counts["tests"] += 1
            for name, value in report.user_properties:
                counts[name] += value

    def pytest_terminal_summary(self, terminalreporter, config):
        data = {
            "command": " ".join(["python -m pytest", *config.invocation_params.args]),
            "processor": processor(),
            "python": platform.python_version(),
            "seconds": round(time.time() - self.start),
            "failures": sum(part["failures"] for part in self.parts.values()),
            "parts": {
                name: {key: round(value, 3) for key, value in sorted(part.items())}
                for name, part in sorted(self.parts.items())
            },
        }
        self.path.write_text(json.dumps(data, indent=2) + "\n")
        lines = ["| part | tried | failures | seconds |", "| --- | --- | ---: | ---: |"]
        for name, part in data["parts"].items():
            rest = {**part}
            failures, seconds = rest.pop("failures"), rest.pop("seconds")
            tried = ", ".join(
                f"{value:,} {key}" for key, value in rest.items() if value
            )
            lines.append(f"| {name} | {tried} | {failures} | {seconds:,.0f} |")
        total = f"| all | | {data['failures']} | {data['seconds']:,} |"
        terminalreporter.write_line("\n".join(["", *lines, total, data["processor"]]))


def processor():
    """Its name, as the system tells it."""
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def pytest_configure(config):
    path = config.getoption("report", None)
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Report(path), "reliability-report")


@pytest.fixture
def folder(trained_folder, tmp_path):
    """A copy of a saved component's folder in a pipeline."""
    return shutil.copytree(trained_folder, tmp_path / "pipeline") / "entlm_ner"


@pytest.fixture
def model(folder):
    """The folder of its model."""
    return folder / "model"


@pytest.fixture
def refused(folder, at_most):
    """Checks that loading gives one line, not too long, that says where and what."""

    def check(message, **config):
        with pytest.raises(ValueError, match=message) as caught, at_most(30):
            spacy.load(folder.parent, **config)
        text = str(caught.value)
        assert str(folder) in text and "\n" not in text and len(text) < 1000

    return check
