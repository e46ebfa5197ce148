"""A full disk, a folder that cannot be written, and two that write the same at once:
one clear line, and what was there stays."""

import io
import multiprocessing
import os
import signal
import subprocess
from contextlib import redirect_stderr, redirect_stdout, suppress

import pytest
from typer.testing import CliRunner

from spacy_entlm.cli import entlm_cli

try:
    import resource
except ImportError:  # Windows
    resource = None

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning"),
]
LONGEST = 300
PRETRAIN = ["--steps", "2", "--batch-size", "4", "--length", "16", "--held-out", "0.2"]
# Names of outputs, and the arguments before and after them.
COMMANDS = {
    "annotate": ("a.jsonl", ["annotate", "lexicon.tsv", "text.txt"], []),
    "search": ("w.json", ["search", "marked.jsonl"], ["--backbone", "bert"]),
    "convert": ("a.spacy", ["convert", "marked.jsonl"], []),
    "convert folder": ("out", ["convert", "data"], []),
    "sample": ("a.spacy", ["sample", "marked.jsonl"], ["--shots", "1"]),
    "merge": ("a.jsonl", ["lexicon", "merge", "lexicon.tsv", "--out"], []),
    "predict": ("a.jsonl", ["predict", "pipeline", "plain.txt"], []),
    "predict spacy": ("a.spacy", ["predict", "pipeline", "plain.txt"], []),
    "predict page": ("a.html", ["predict", "pipeline", "plain.txt"], []),
    "rank": ("a.jsonl", ["rank", "pipeline", "plain.txt"], []),
    "evaluate": ("a.json", ["evaluate", "pipeline", "marked.jsonl", "--out"], []),
    "report": (
        "a.html",
        ["report", "label-words"],
        ["--words", "words.json", "--backbone", "bert"],
    ),
    "export": ("out", ["export", "pipeline"], []),
    "adapt": (
        "out",
        ["adapt", "pipeline", "text.txt"],
        ["--examples", "few.spacy", "--recipe", "mean"],
    ),
    "pretrain": ("out", ["pretrain", "plain.txt"], ["--backbone", "bert", *PRETRAIN]),
    "compare": ("out", ["compare", "compare.yml"], []),
    "workbench": ("out", ["workbench", "plain.txt"], ["--port", "0"]),
    "package": ("out", ["package", "pipeline"], ["--name", "a"]),
}
# These take long, or wait for a browser.
NOT_TWICE = ("compare", "workbench", "package")
# What they write may be so little; or they wait for a browser.
NOT_TINY = [name for name in COMMANDS if name not in ("merge", "workbench")]
IN_SUITE = ("annotate", "convert folder", "predict")


def call(arguments, pipe, limit):
    """Run a command. Sends its exit status and what it says on stderr."""
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        result = CliRunner().invoke(entlm_cli, arguments)
    error = result.exception
    is_clear = error is None or isinstance(error, SystemExit)
    pipe.send((result.exit_code, result.stderr if is_clear else repr(error)))


@pytest.fixture
def start(inputs, monkeypatch):
    """Starts a command in a process of its own. RETURNS: What waits for its end, and
    gives its exit status and what it said."""
    monkeypatch.chdir(inputs)
    (inputs / "compare.yml").write_text(
        "datasets: {tiny: {train: marked.jsonl, test: marked.jsonl, lang: xx}}\n"
        "backbones: {bert: {path: bert, learn_rate: 0.01}}\nmethods: [entlm]\n"
        "settings: {epochs: 1}\nshots: [5]\nsplits: [1]\nseeds: [1]\n"
    )
    if not (inputs / "few.spacy").exists():
        (inputs / "few.txt").write_text("[Anna](PER) left [Rome](LOC) .\n")
        arguments = ["convert", "few.txt", "few.spacy"]
        assert CliRunner().invoke(entlm_cli, arguments).exit_code == 0
    processes = []

    def start(name, folder, *more, limit=None):
        out, before, after = COMMANDS[name]
        arguments = [*before, str(folder / out), *after, *more]
        ours, theirs = multiprocessing.Pipe()
        process = multiprocessing.get_context("fork").Process(
            target=call, args=(arguments, theirs, limit)
        )
        process.start()
        processes.append(process)
        theirs.close()

        def end():
            assert ours.poll(LONGEST), "it does not end"
            result = ours.recv()
            process.join(LONGEST)
            return result

        return end

    yield start
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)


def is_one_line(said):
    """But for the bar of a training."""
    lines = [x for x in said.splitlines() if x.strip() and "step/s" not in x]
    return len(lines) == 1 and lines[0].startswith("✘ ") and len(lines[0]) < 1500


@pytest.fixture
def mounted(tmp_path):
    """A disk of 2 MiB, for those who may mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    line = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    done = None
    with suppress(OSError):
        done = subprocess.run(line, capture_output=True, text=True)
    if done is None or done.returncode:
        pytest.skip("only root may mount a small disk")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def put_old(folder, name):
    """What an earlier run wrote. RETURNS: The names in the folder, with sizes."""
    out, _, _ = COMMANDS[name]
    if out != "out":
        (folder / out).write_text("old")
    return sizes(folder)


def sizes(folder):
    return {
        path.relative_to(folder).as_posix(): path.is_file() and path.stat().st_size
        for path in folder.rglob("*")
    }


def options(name):
    """Those that let it replace what is there."""
    return [] if name in ("compare", "workbench") else ["--overwrite"]


def skip_unless(is_tried):
    if not is_tried:
        pytest.skip("one of the thorough profile")


@pytest.mark.parametrize("room", [0, 64, 172])
@pytest.mark.parametrize("name", COMMANDS)
def test_full_disk(mounted, start, name, room, thorough, record_property):
    """room: kibibytes that are left."""
    skip_unless(thorough or (name in IN_SUITE and not room))
    before = put_old(mounted, name)
    with (mounted / "filler").open("wb", buffering=0) as file_:
        with suppress(OSError):
            while True:
                file_.write(b"x" * 4096)
        file_.truncate(file_.tell() - room * 1024)
    before["filler"] = (mounted / "filler").stat().st_size
    if name == "workbench" and room:
        pytest.skip("it would wait for a browser")
    status, said = start(name, mounted, *options(name))()
    if status == 0 and room:
        return  # it was enough
    assert status == 1 and is_one_line(said), said
    assert "No space left on device" in said or "disk is full" in said, said
    left = {key: x for key, x in sizes(mounted).items() if key not in before}
    assert {**before, **left} == sizes(mounted)
    if "--resume" not in said and name != "compare":  # what goes on, and the errors
        assert not any(left.values()), left  # locks, and a folder that is empty
    record_property("full disks", 1)


@pytest.mark.skipif(resource is None, reason="this system has no such limit")
@pytest.mark.parametrize("name", NOT_TINY)
def test_no_room_for_a_file(tmp_path, start, name, thorough, record_property):
    """As a full disk, for those who may not mount one: files have at most 100 bytes."""
    skip_unless(thorough or name in IN_SUITE)
    before = put_old(tmp_path, name)
    status, said = start(name, tmp_path, *options(name), limit=100)()
    assert status == 1 and is_one_line(said), said
    assert "File too large" in said, said
    assert {key: sizes(tmp_path).get(key) for key in before} == before
    record_property("full disks", 1)


@pytest.mark.parametrize("name", COMMANDS)
def test_read_only_folder(mounted, start, name, thorough, record_property):
    skip_unless(thorough or name in IN_SUITE)
    before = put_old(mounted, name)
    line = ["mount", "-o", "remount,ro", str(mounted)]
    subprocess.run(line, check=True)
    status, said = start(name, mounted, *options(name))()
    assert status == 1 and is_one_line(said), said
    reasons = ("may not be written to", "Read-only", "readonly", "unable to open")
    assert any(reason in said for reason in reasons), said
    assert sizes(mounted) == before
    record_property("read-only folders", 1)


@pytest.mark.parametrize("name", [x for x in COMMANDS if x not in NOT_TWICE])
def test_two_at_once(tmp_path, start, name, thorough, record_property):
    """One of them is told, and the output is whole."""
    skip_unless(thorough or name in IN_SUITE)
    out, _, _ = COMMANDS[name]
    (tmp_path / "alone").mkdir()
    assert start(name, tmp_path / "alone")()[0] == 0
    for i in range(3 if thorough else 1):
        folder = tmp_path / str(i)
        folder.mkdir()
        both = [start(name, folder), start(name, folder)]
        told = sorted(end() for end in both)
        assert [status for status, _ in told] == [0, 1], told
        assert is_one_line(told[1][1]), told
        assert (
            "another run writes to it" in told[1][1] or "choose another" in told[1][1]
        )
        names = {x for x in sizes(folder) if not x.startswith(".")}
        assert names == {x for x in sizes(tmp_path / "alone") if not x.startswith(".")}
        if out != "out" and name != "evaluate":
            alone = (tmp_path / "alone" / out).read_bytes()
            assert (folder / out).read_bytes() == alone
        record_property("pairs of writers", 1)
