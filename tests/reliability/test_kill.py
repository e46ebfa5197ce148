"""Processes that are killed at any moment: what was there before is there, or all of
what was to come, and the next run leaves nothing else behind.

More kills, 100 of each command: --hypothesis-profile=thorough, as for test_fuzz.py.
"""

import json
import multiprocessing
import os
import random
import shutil
import signal
import time

import pytest
import spacy
import torch
from hypothesis import settings
from typer.testing import CliRunner

from spacy_entlm.cli import entlm_cli
from spacy_entlm.files.file import write_file
from spacy_entlm.files.folder import read_folder

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning"),
]
NAME = "entlm_ner"
N_KILLS = min(100, settings().max_examples // 20)
LONGEST = 60


def run(work, seconds=LONGEST):
    """Work in a process of its own, which is killed after some seconds.
    RETURNS: Whether it was killed, and how long it lived."""
    process = multiprocessing.get_context("fork").Process(target=work)
    start = time.perf_counter()
    process.start()
    process.join(seconds)
    lived = time.perf_counter() - start
    if process.exitcode is None:
        os.kill(process.pid, signal.SIGKILL)
        process.join()
    assert process.exitcode in (0, -signal.SIGKILL)
    return process.exitcode != 0, lived


def kill_often(work, reset, check):
    """Kill the work at random moments of its life, and check what there is then."""
    reset()
    was_killed, life = run(work)
    assert not was_killed
    moments = random.Random(0)
    n_killed = 0
    for _ in range(N_KILLS):
        reset()
        was_killed, lived = run(work, moments.uniform(0, life))
        if was_killed:
            n_killed += 1
        else:
            life = lived  # the first run had more to load
        check()
    assert n_killed


def names_in(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def contents(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_pipeline_is_saved_as_a_whole_or_not(trained, tmp_path):
    folder = tmp_path / "pipeline"
    component = folder / NAME
    trained.to_disk(tmp_path / "old")
    pipe = trained.get_pipe(NAME)
    with torch.no_grad():
        for parameter in pipe.label_model.network.parameters():
            parameter.mul_(0.5)
    trained.to_disk(tmp_path / "new")
    old, new = (contents(tmp_path / name / NAME) for name in ("old", "new"))
    assert old != new

    def reset():
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(tmp_path / "old", folder)

    def check():
        assert read_folder(component, contents) in (old, new)
        pipe.to_disk(component)
        assert contents(component) == new
        assert spacy.load(folder).get_pipe(NAME).is_initialized

    # Not the whole pipeline: spaCy writes its vocabulary in place.
    kill_often(lambda: pipe.to_disk(component), reset, check)


@pytest.fixture
def kill_command(tmp_path, monkeypatch):
    """Kills a command that replaces its outputs: each is then an old one or a new one,
    and after another run they are the new ones, with nothing beside them."""
    folder = tmp_path / "out"
    monkeypatch.chdir(tmp_path)

    def kill_command(outputs, *args):
        command = [*args, "--overwrite"]

        def work():
            assert CliRunner().invoke(entlm_cli, command).exit_code == 0

        def reset():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            for name in outputs:
                (folder / name).write_text("old")

        def check():
            for name in outputs:
                assert not (folder / name).exists() or (
                    (folder / name).read_bytes() in (b"old", new.get(name))
                )
            assert run(work)[0] is False
            assert contents(folder) == new
            assert names_in(folder) == sorted(new)

        reset()
        assert run(work)[0] is False
        new = contents(folder)
        assert new and b"old" not in new.values()
        kill_often(work, reset, check)

    return kill_command


def test_annotated_text_is_whole_or_not_there(kill_command, tmp_path):
    (tmp_path / "lexicon.tsv").write_text("Lima\tLOC\nAnn\tPER\n")
    (tmp_path / "text.txt").write_text("Ann left Lima .\n" * 500)
    kill_command(["a.jsonl"], "annotate", "lexicon.tsv", "text.txt", "out/a.jsonl")


def test_label_words_are_whole_or_not_there(kill_command, tmp_path, bert, annotated):
    lines = [
        json.dumps({"text": text, "spans": [[*span] for span in gold["entities"]]})
        for text, gold in annotated * 3
    ]
    (tmp_path / "text.jsonl").write_text("\n".join(lines))
    kill_command(
        ["words.json", "words.report.json"],
        *("search", "text.jsonl", "out/words.json", "--backbone", str(bert)),
    )


def test_file_that_another_process_writes_is_left_alone(tmp_path):
    path = tmp_path / "a.txt"
    (tmp_path / ".a.0123abcd.txt").write_text("of a killed one")
    (tmp_path / ".a.mine.txt").write_text("of somebody")
    with write_file(path) as first:
        first.write_text("first")
        with write_file(path) as second:
            second.write_text("second")
        assert path.read_text() == "second"
    assert path.read_text() == "first"
    assert names_in(tmp_path) == [".a.mine.txt", "a.txt"]
