"""Teachings that are killed, go on, are replaced, or find the disk full."""

import errno
import os
import signal
import subprocess
import sys

import pytest

from spacy_entlm.files.errors import DataError
from spacy_entlm.teaching.objective import Student

SAVE = Student.save
MAP = "name_map.safetensors"
FULL = OSError(errno.ENOSPC, "No space left on device")


def stop_at(monkeypatch, n_saves, error):
    """Fail when the student is saved for the n-th time, in the middle of it."""
    saves = iter(range(1, 1000))

    def save(self, folder):
        if next(saves) == n_saves:
            (folder / MAP).write_bytes(b"half of it")
            raise error
        SAVE(self, folder)

    monkeypatch.setattr(Student, "save", save)


@pytest.fixture
def stopped(teach, monkeypatch):
    """A run that was stopped after its second step."""
    with monkeypatch.context() as patch:
        stop_at(patch, 4, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            teach("out")


@pytest.mark.parametrize("n_saves", [2, 4, 6])
def test_a_stopped_run_goes_on_to_the_same_weights(
    teach, weights, monkeypatch, tmp_path, n_saves, names
):
    """Stopped while the first, third and last checkpoint or model is written."""
    whole = teach("whole")
    with monkeypatch.context() as patch:
        stop_at(patch, n_saves, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            teach("out")
    assert not (tmp_path / "out").exists()
    step = min(n_saves - 2, 4)
    unfinished = names("out.unfinished")
    assert unfinished == [".lock", f"checkpoint-00000000{step}", "run.json"]
    report = teach("out", run={"resume": True})
    assert weights("out") == weights("whole")
    assert (f"Going on at step {step}" in teach.lines) == (step > 0)
    assert [step for step, _ in report["losses"]] == [1, 2, 3, 4]
    # What was measured before is that of the beginning.
    for part in ("before", "after"):
        assert report[part] == whole[part]
    assert not (tmp_path / "out.unfinished").exists()


KILLED = """
import os, signal, sys
from pathlib import Path
import torch
from spacy_entlm.teaching.objective import Student
from spacy_entlm.teaching.run import Teaching
from spacy_entlm.teaching.settings import Settings

torch.set_num_threads(1)
save, saves = Student.save, []

def kill_in_the_middle(self, folder):
    saves.append(folder)
    if len(saves) == 4:
        (folder / "model.safetensors").write_bytes(b"half of it")
        os.kill(os.getpid(), signal.SIGKILL)
    save(self, folder)

Student.save = kill_in_the_middle
lines, text, out, backbone, workers = sys.argv[1:]
settings = Settings(
    steps=4, lines=4, texts=2, length=16, held_out=0.2, device="cpu",
    checkpoint_minutes=0.0, workers=int(workers),
)
Teaching([Path(lines)], Path(out), backbone, [Path(text)], settings).run()
"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("workers", [0, 2])
def test_a_killed_run_loses_no_more_than_one_interval(
    teach, weights, lines, text, bert, tmp_path, names, workers
):
    """And may go on with more or fewer processes that prepare lines."""
    teach("whole")
    given = [lines, text, tmp_path / "out", bert, workers]
    command = [sys.executable, "-c", KILLED, *map(str, given)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, timeout=120)
    assert done.returncode == -signal.SIGKILL
    assert "checkpoint-000000002" in names("out.unfinished")
    teach("out", run={"resume": True}, workers=1 - workers // 2)
    assert "Going on at step 2" in teach.lines
    assert weights("out") == weights("whole")
    assert names() == ["marked.jsonl", "out", "text.txt", "whole"]


def test_a_run_that_is_stopped_before_its_first_step_begins_again(
    teach, weights, monkeypatch, tmp_path
):
    with monkeypatch.context() as patch:
        stop_at(patch, 1, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            teach("out")
    assert not (tmp_path / "out.unfinished").exists()
    teach("out")
    teach("whole")
    assert weights("out") == weights("whole")


@pytest.mark.parametrize("n_saves, then", [(1, "begin again"), (3, "--resume")])
def test_a_full_disk_is_told(teach, monkeypatch, n_saves, then):
    with monkeypatch.context() as patch:
        stop_at(patch, n_saves, FULL)
        with pytest.raises(DataError, match=rf"No space left on device.*{then}"):
            teach("out")
    assert teach("out", run={"resume": True})["steps"] == 4


def test_an_unfinished_run_is_not_lost_by_accident(teach, stopped, names):
    with pytest.raises(DataError, match="unfinished run: go on with --resume"):
        teach("out")
    assert "checkpoint-000000002" in names("out.unfinished")
    teach("out", run={"overwrite": True})
    assert not any(line.startswith("Going on") for line in teach.lines)


def test_a_run_goes_on_with_its_own_settings_only(
    teach, stopped, lines, text, write_lines, tmp_path
):
    resume = {"resume": True}
    with pytest.raises(DataError, match=r"other settings: lines 4 -> 2; seed 0 -> 3"):
        teach("out", run=resume, seed=3, lines=2)
    (tmp_path / "words.tsv").write_text("city\ten\thouse\n")
    with pytest.raises(DataError, match=r"other settings: files \[\] -> "):
        teach("out", run=resume, wordings=tmp_path / "words.tsv")
    with pytest.raises(DataError, match=r"other settings: text "):
        teach("out", run={**resume, "text": []})
    content = lines.read_text()
    lines.write_text(content + content)
    with pytest.raises(DataError, match=r"other settings: line_files "):
        teach("out", run=resume)
    lines.write_text(content)
    assert teach("out", run=resume, steps=6)["steps"] == 6


@pytest.mark.parametrize("name", [MAP, "model.safetensors", "state.json"])
def test_a_damaged_checkpoint_is_told(teach, stopped, tmp_path, name):
    path = tmp_path / "out.unfinished" / "checkpoint-000000002" / name
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(ValueError, match="checkpoint-000000002"):
        teach("out", run={"resume": True})
    path.unlink()
    with pytest.raises(ValueError, match="checkpoint"):
        teach("out", run={"resume": True})


def test_a_finished_run_has_nothing_to_go_on_with(teach, weights, tmp_path):
    report = teach("out")
    before = weights("out")
    assert teach("out", run={"resume": True}) == report
    assert teach.lines[-1] == f"{tmp_path / 'out'} is finished"
    assert teach("out", run={"resume": True}, workers=3) == report
    with pytest.raises(DataError, match="steps 4 -> 5"):
        teach("out", run={"resume": True}, steps=5)
    with pytest.raises(DataError, match=r"is not empty: choose another .*--overwrite"):
        teach("out")
    assert weights("out") == before
    teach("out", run={"overwrite": True}, seed=1)
    assert weights("out") != before


def test_the_model_before_stays_until_the_new_one_is_whole(teach, weights, monkeypatch):
    teach("out")
    before = weights("out")
    stop_at(monkeypatch, 6, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        teach("out", run={"overwrite": True}, seed=2)
    assert weights("out") == before


def test_folders_and_files_of_others_are_left_alone(teach, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.doc").write_text("ten years of work")
    with pytest.raises(DataError, match="was not written by this command"):
        teach("mine", run={"overwrite": True})
    with pytest.raises(DataError, match="is a file: name a folder"):
        teach("text.txt")
    assert (tmp_path / "mine" / "thesis.doc").read_text() == "ten years of work"


def test_a_backbone_is_not_changed(teach, bert):
    before = {path: path.read_bytes() for path in bert.iterdir()}
    teach("out")
    assert {path: path.read_bytes() for path in bert.iterdir()} == before
