"""Runs that are killed, go on, are replaced, or find the disk full."""

import errno
import os
import shutil
import signal
import subprocess
import sys

import pytest

from spacy_entlm.backbones.errors import BackboneError
from spacy_entlm.backbones.masked_lm import MaskedLM
from spacy_entlm.files import folder
from spacy_entlm.files.errors import DataError
from spacy_entlm.files.file import lock_file
from spacy_entlm.pretraining import checkpoint

SAVE = MaskedLM.save
WEIGHTS = "model.safetensors"


def stop_at(monkeypatch, n_saves, error):
    """Fail when the model is saved for the n-th time, in the middle of it."""
    saves = iter(range(1, 1000))

    def save(self, folder):
        if next(saves) == n_saves:
            (folder / WEIGHTS).write_bytes(b"half of it")
            raise error
        SAVE(self, folder)

    monkeypatch.setattr(MaskedLM, "save", save)


@pytest.mark.parametrize("n_saves", [2, 4, 6])
def test_stopped_run_goes_on_to_the_same_weights(
    pretrain, weights, monkeypatch, tmp_path, n_saves, names
):
    """Stopped while the first, third and last checkpoint or model is written."""
    pretrain("whole")
    with monkeypatch.context() as patch:
        stop_at(patch, n_saves, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            pretrain("out")
    assert not (tmp_path / "out").exists()
    unfinished = names("out.unfinished")
    step = min(n_saves - 2, 4)
    assert unfinished == [".lock", f"checkpoint-00000000{step}", "run.json"]
    pretrain.lines.clear()
    report = pretrain("out", run={"resume": True})
    assert weights("out") == weights("whole")
    if step:
        assert f"Going on at step {step}" in pretrain.lines
    assert [step for step, _ in report["losses"]] == [1, 2, 3, 4]
    assert not (tmp_path / "out.unfinished").exists()


KILLED = """
import os, signal, sys
from pathlib import Path
import torch
from spacy_entlm.backbones.masked_lm import MaskedLM
from spacy_entlm.pretraining.run import Pretraining
from spacy_entlm.pretraining.settings import Settings

torch.set_num_threads(1)
save, saves = MaskedLM.save, []

def kill_in_the_middle(self, folder):
    saves.append(folder)
    if len(saves) == 4:
        (folder / "model.safetensors").write_bytes(b"half of it")
        os.kill(os.getpid(), signal.SIGKILL)
    save(self, folder)

MaskedLM.save = kill_in_the_middle
text, out, backbone = sys.argv[1:]
settings = Settings(
    steps=4, batch_size=4, length=16, held_out=0.2, precision="float32", device="cpu",
    checkpoint_minutes=0.0,
)
Pretraining([Path(text)], Path(out), backbone, settings=settings).run()
"""


def test_killed_run_loses_no_more_than_one_interval(
    pretrain, weights, text, bert, tmp_path, names
):
    pretrain("whole")
    command = [sys.executable, "-c", KILLED, text, tmp_path / "out", bert]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(list(map(str, command)), env=environment, timeout=120)
    assert done.returncode == -signal.SIGKILL
    assert "checkpoint-000000002" in names("out.unfinished")
    pretrain("out", run={"resume": True})
    assert "Going on at step 2" in pretrain.lines
    assert weights("out") == weights("whole")
    assert names() == ["out", "text.txt", "whole"]


def test_run_killed_before_its_first_step_begins_again(
    pretrain, weights, monkeypatch, tmp_path
):
    pretrain("whole")
    with monkeypatch.context() as patch:
        stop_at(patch, 1, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            pretrain("out")
    assert not (tmp_path / "out.unfinished").exists()
    # What a real kill leaves there.
    half_written = tmp_path / "out.unfinished" / ".checkpoint-000000000"
    half_written.mkdir(parents=True)
    (half_written / WEIGHTS).write_bytes(b"half of it")
    pretrain("out")
    assert not half_written.parent.exists()
    assert weights("out") == weights("whole")


FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("n_saves", [3, 6])
def test_full_disk_leaves_the_checkpoint_before(
    pretrain, weights, monkeypatch, n_saves, names
):
    pretrain("whole")
    with monkeypatch.context() as patch:
        stop_at(patch, n_saves, FULL)
        with pytest.raises(DataError, match=r"No space left on device.*--resume"):
            pretrain("out")
    assert names() == ["out.unfinished", "text.txt", "whole"]
    pretrain("out", run={"resume": True})
    assert weights("out") == weights("whole")


def test_full_disk_while_the_optimizer_is_written(pretrain, monkeypatch, names):
    def fail(tensors, path):
        raise checkpoint.SafetensorError("I/O error: No space left on device")

    monkeypatch.setattr(checkpoint, "save_file", fail)
    with pytest.raises(DataError, match=r"No space left on device.*begin again"):
        pretrain("out")
    assert names() == ["text.txt"]


def test_damaged_checkpoint_is_told(pretrain, monkeypatch, tmp_path):
    with monkeypatch.context() as patch:
        stop_at(patch, 4, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            pretrain("out")
    last = tmp_path / "out.unfinished" / "checkpoint-000000002"
    for name in ("optimizer.safetensors", "state.json", WEIGHTS):
        content = (last / name).read_bytes()
        (last / name).write_bytes(content[: len(content) // 2])
        with pytest.raises((DataError, BackboneError), match="checkpoint"):
            pretrain("out", run={"resume": True})
        (last / name).write_bytes(content)
    moved = last.rename(tmp_path / "moved")
    with pytest.raises(DataError, match="holds no checkpoint any more"):
        pretrain("out", run={"resume": True})
    moved.rename(last)
    pretrain("out", run={"resume": True})


@pytest.fixture
def unfinished(pretrain, monkeypatch):
    """A run that was stopped after its first step."""
    with monkeypatch.context() as patch:
        stop_at(patch, 3, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            pretrain("out")


def test_unfinished_run_is_not_lost_by_accident(pretrain, unfinished, names):
    with pytest.raises(DataError, match=r"unfinished run: go on with --resume"):
        pretrain("out")
    assert "checkpoint-000000001" in names("out.unfinished")
    pretrain("out", run={"overwrite": True})
    assert not any(line.startswith("Going on") for line in pretrain.lines)


def test_run_goes_on_with_its_own_settings_only(pretrain, unfinished, text):
    resume = {"resume": True}
    with pytest.raises(DataError, match=r"other settings: seed 0 -> 3"):
        pretrain("out", run=resume, seed=3)
    with pytest.raises(DataError, match=r"batch_size 4 -> 2; add_vocab 0 -> 1"):
        pretrain("out", run=resume, batch_size=2, add_vocab=1)
    content = text.read_text()
    text.write_text(content + "more\n")
    with pytest.raises(DataError, match=r"settings: text \[.*bytes"):
        pretrain("out", run=resume)
    text.write_text(content)
    report = pretrain("out", run=resume, steps=6)
    assert report["steps"] == 6


def test_resume_with_overwrite_begins_again_if_settings_changed(pretrain, unfinished):
    report = pretrain("out", run={"resume": True, "overwrite": True}, seed=3)
    assert report["settings"]["seed"] == 3
    assert not any(line.startswith("Going on") for line in pretrain.lines)


def test_finished_run_has_nothing_to_go_on_with(pretrain, weights, tmp_path, names):
    report = pretrain("out")
    before = weights("out")
    assert pretrain("out", run={"resume": True}) == report
    assert pretrain.lines[-1] == f"{tmp_path / 'out'} is finished"
    # Neither does one that may be replaced, if it is what is asked for.
    assert pretrain("out", run={"resume": True, "overwrite": True}) == report
    assert weights("out") == before
    assert names() == ["out", "text.txt"]


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"steps": 6}, "steps 4 -> 6"),
        ({"half": True}, "half False -> True"),
        ({"few_shot_learn_rate": 3e-4}, "few_shot_learn_rate None -> 0.0003"),
        ({"run": {"backbone": "gone"}}, "backbone 'bert0' -> 'gone'"),
    ],
)
def test_finished_run_tells_what_it_was_not_given(pretrain, weights, settings, message):
    pretrain("out")
    before = weights("out")
    run = {"resume": True, **settings.pop("run", {})}
    with pytest.raises(DataError, match=f"{message}.*--overwrite"):
        pretrain("out", run=run, **settings)
    assert weights("out") == before


def test_finished_run_of_another_text_or_backbone_is_told(
    pretrain, text, bert, tmp_path
):
    """Also where the names and sizes are the same."""
    own = tmp_path / "own"
    shutil.copytree(bert, own)
    run = {"resume": True, "backbone": str(own)}
    pretrain("out", run=run)
    content = text.read_text()
    text.write_text(content.replace("berlin", "munich"))
    with pytest.raises(DataError, match=r"text \[.* -> \[\{'name': 'text\.txt'"):
        pretrain("out", run=run)
    text.write_text(content)
    pretrain("out", run=run)
    weights = bytearray((own / WEIGHTS).read_bytes())
    weights[-1] ^= 1
    (own / WEIGHTS).write_bytes(weights)
    with pytest.raises(DataError, match=r"backbone_files \[.*hash"):
        pretrain("out", run=run)


def test_the_same_command_always_goes_on(pretrain, bert, monkeypatch, tmp_path):
    """Also with a backbone that recommends a learning rate, as entlm-mini does."""
    own = tmp_path / "own"
    shutil.copytree(bert, own)
    (own / "pretrain.json").write_text('{"learn_rate": 0.0002}')
    run = {"backbone": str(own), "resume": True}
    with monkeypatch.context() as patch:
        stop_at(patch, 3, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            pretrain("out", run=run)
    assert pretrain("out", run=run)["learn_rate"] == 0.0002


@pytest.mark.parametrize("content", ["{", "[1]", '{"settings": 3}'])
def test_damaged_notes_of_a_run_are_told_and_replaced(
    pretrain, unfinished, tmp_path, content
):
    (tmp_path / "out.unfinished" / "run.json").write_text(content)
    with pytest.raises(DataError, match=r"run\.json: is damaged: .*--overwrite"):
        pretrain("out", run={"resume": True})
    pretrain("out", run={"overwrite": True})


def test_rate_for_few_shots_may_be_given_to_a_run_that_goes_on(pretrain, unfinished):
    report = pretrain("out", run={"resume": True}, few_shot_learn_rate=3e-4)
    assert report["learn_rate"] == report["settings"]["few_shot_learn_rate"] == 3e-4


def test_leftovers_of_a_finished_run_are_removed(
    pretrain, unfinished, monkeypatch, names
):
    """Killed when the model was whole and the run's folder not yet removed."""
    end = "spacy_entlm.pretraining.folder.RunFolder.end"
    with monkeypatch.context() as patch:
        patch.setattr(end, lambda self: None)
        report = pretrain("out", run={"resume": True})
    assert names() == ["out", "out.unfinished", "text.txt"]
    assert pretrain("out", run={"resume": True}) == report
    assert names() == ["out", "text.txt"]


@pytest.mark.parametrize("left", [".writing", ".complete"])
def test_run_killed_as_it_wrote_the_model_goes_on(
    pretrain, weights, monkeypatch, tmp_path, names, left
):
    """Its model folder is not somebody else's, half-written as it is."""
    pretrain("whole")
    with monkeypatch.context() as patch:
        patch.setattr("spacy_entlm.pretraining.folder.RunFolder.end", lambda self: None)
        pretrain("out")
    (tmp_path / "out").rename(tmp_path / "moved")
    (tmp_path / "out").mkdir()
    (tmp_path / "moved").rename(tmp_path / "out" / left)
    if left == ".writing":
        (tmp_path / "out" / left / WEIGHTS).write_bytes(b"half of it")
    pretrain("out", run={"resume": True})
    assert weights("out") == weights("whole")
    assert names() == ["out", "text.txt", "whole"]
    assert names("out") == names("whole")


def test_model_is_replaced_only_if_asked_for(pretrain, weights):
    pretrain("out")
    before = weights("out")
    with pytest.raises(DataError, match=r"is not empty: choose another .*--overwrite"):
        pretrain("out", seed=2)
    assert weights("out") == before
    pretrain("out", seed=2, run={"overwrite": True})
    assert weights("out") != before


def test_model_stays_until_the_new_one_is_whole(pretrain, weights, monkeypatch):
    pretrain("out")
    before = weights("out")
    stop_at(monkeypatch, 6, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        pretrain("out", seed=2, run={"overwrite": True})
    assert weights("out") == before


def test_folders_of_others_are_never_removed(pretrain, tmp_path):
    for name in ("out", "new.unfinished"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "thesis.doc").write_text("ten years of work")
    with pytest.raises(DataError, match="was not written by this command"):
        pretrain("out", run={"overwrite": True})
    with pytest.raises(DataError, match=r"holds thesis\.doc"):
        pretrain("new", run={"overwrite": True})
    assert len(list(tmp_path.rglob("thesis.doc"))) == 2
    (tmp_path / "empty").mkdir()
    pretrain("empty")


@pytest.mark.parametrize(
    "name", ["pieces_of_thesis.txt", "checkpoint-of-1999", "run.json.bak", "a/run.json"]
)
def test_files_with_names_like_ours_stay(pretrain, unfinished, tmp_path, names, name):
    """What a user put beside a run's files is neither removed nor in its way."""
    path = tmp_path / "out.unfinished" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("ten years of work")
    with pytest.raises(DataError, match=f"holds {name.split('/')[0]}"):
        pretrain("out", run={"overwrite": True})
    pretrain("out", run={"resume": True})
    assert path.read_text() == "ten years of work"
    assert names("out.unfinished") == [name.split("/")[0]]


def test_a_folder_that_another_run_writes_to_is_left_alone(
    pretrain, unfinished, tmp_path, names
):
    path = tmp_path / "out.unfinished"
    before = names("out.unfinished")
    with lock_file(path / ".lock", path):
        for flag in ("resume", "overwrite"):
            with pytest.raises(DataError, match="another run writes to it"):
                pretrain("out", run={flag: True})
    assert names("out.unfinished") == before
    pretrain("out", run={"resume": True})


def test_checkpoints_are_on_disk_before_they_count(pretrain, monkeypatch):
    synced = []
    sync = folder.sync
    monkeypatch.setattr(folder, "sync", lambda p: synced.append(p.name) or sync(p))
    pretrain("out", steps=1)
    files = ["model.safetensors", "optimizer.safetensors", "state.json"]
    assert [synced.count(name) for name in files] == [3, 2, 2]


def test_out_that_is_a_file_is_refused(pretrain, text):
    with pytest.raises(DataError, match="is a file: name a folder"):
        pretrain("text.txt")
    assert text.stat().st_size
