"""Folders of which a reader sees all old files or all new ones."""

import multiprocessing
import os
import signal
import threading
from pathlib import Path

import pytest

from spacy_entlm.files import folder as module
from spacy_entlm.files.errors import DataError
from spacy_entlm.files.folder import (
    LIST_FILE,
    check_output_folder,
    new_folder,
    read_folder,
    write_folder,
)


def contents(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in folder.rglob("*")
        if path.is_file() and path.name != LIST_FILE
        if not path.relative_to(folder).parts[0].startswith(".")  # a killed save's
    }


def write(folder, files, keep=()):
    with write_folder(folder, keep=keep) as new:
        for name, text in files.items():
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            (new / name).write_text(text)


def test_new_files_take_the_place_of_those_written_before(tmp_path):
    write(tmp_path / "a", {"x": "1", "sub/y": "1"})
    write(tmp_path / "a", {"x": "2"})
    assert contents(tmp_path / "a") == {"x": "2"}


def test_what_others_wrote_stays(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    write(tmp_path, {"sub/x": "1"})
    (tmp_path / "sub" / "notes.txt").write_text("mine")
    write(tmp_path, {"y": "2"})
    assert contents(tmp_path) == {
        "thesis.txt": "mine",
        "sub/notes.txt": "mine",
        "y": "2",
    }


def test_kept_parts_stay_and_are_still_known(tmp_path):
    write(tmp_path, {"model/w": "1", "x": "1"})
    write(tmp_path, {"x": "2"}, keep=["model"])
    assert contents(tmp_path) == {"model/w": "1", "x": "2"}
    write(tmp_path, {"x": "3"})
    assert contents(tmp_path) == {"x": "3"}


def test_failure_leaves_the_old_files(tmp_path):
    write(tmp_path, {"x": "1"})
    with pytest.raises(KeyboardInterrupt), write_folder(tmp_path) as new:
        (new / "x").write_text("2")
        raise KeyboardInterrupt
    assert contents(tmp_path) == {"x": "1"}
    assert sorted(os.listdir(tmp_path)) == [LIST_FILE, "x"]


def test_failure_leaves_no_folder_where_there_was_none(tmp_path):
    with pytest.raises(KeyboardInterrupt), write_folder(tmp_path / "a"):
        raise KeyboardInterrupt
    assert not (tmp_path / "a").exists()


def test_folder_that_another_filled_in_the_meantime_is_not_replaced_unasked(tmp_path):
    """A second process waits for the first one, and then is told."""
    write(tmp_path / "a", {"x": "early"})
    refused = pytest.raises(DataError, match=r"is not empty: .* --overwrite")
    with refused, write_folder(tmp_path / "a", overwrite=False):
        pass
    assert contents(tmp_path / "a") == {"x": "early"}
    with write_folder(tmp_path / "b", overwrite=False) as new:
        (new / "x").write_text("1")
    assert contents(tmp_path / "b") == {"x": "1"}


def test_a_file_is_no_folder_and_the_other_way_round(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(FileExistsError):
        write(tmp_path / "file", {"x": "1"})
    (tmp_path / "a" / "x").mkdir(parents=True)
    with pytest.raises(DataError, match="is a folder where a file is needed"):
        write(tmp_path / "a", {"x": "1"})
    (tmp_path / "a" / "sub").write_text("mine")
    with pytest.raises(DataError, match="is a file where a folder is needed"):
        write(tmp_path / "a", {"sub/x": "1"})
    assert (tmp_path / "file").read_text() == "mine"


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write(tmp_path / "link", {"x": "1"})
    assert (tmp_path / "link").is_symlink()
    assert contents(tmp_path / "real") == {"x": "1"}


def test_list_of_another_cannot_remove_files_outside(tmp_path):
    (tmp_path / "mine").write_text("mine")
    folder = tmp_path / "a"
    folder.mkdir()
    (folder / LIST_FILE).write_text(f'["../mine", "{tmp_path / "mine"}", 3]')
    write(folder, {"x": "1"})
    assert (tmp_path / "mine").exists()


def _die_at(calls, folder):
    """Write, and kill the process at its n-th file-system call of the save."""
    names = ["replace", "rename", "fsync", "unlink"]
    left = [calls]

    def killing(function):
        def call(*args, **kwargs):
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*args, **kwargs)

        return call

    for name in names:
        setattr(os, name, killing(getattr(os, name)))
    write(folder, {"x": "new", "sub/y": "new", "z": "new"})


@pytest.mark.parametrize("calls", range(1, 16))
def test_killed_save_is_all_old_or_all_new(tmp_path, calls):
    old = {"x": "old", "sub/y": "old", "gone": "old"}
    new = {"x": "new", "sub/y": "new", "z": "new"}
    folder = tmp_path / "a"
    write(folder, old)
    process = multiprocessing.get_context("fork").Process(
        target=_die_at, args=(calls, folder)
    )
    process.start()
    process.join()
    assert read_folder(folder, contents) in (old, new)
    assert not any(path.name.startswith(".") for path in folder.iterdir())
    write(folder, {"x": "next"})
    assert contents(folder) == {"x": "next"}
    assert sorted(p.name for p in folder.iterdir()) == sorted(
        [LIST_FILE, "x", *(["sub"] if (folder / "sub").exists() else [])]
    )


def test_what_a_killed_process_left_is_no_output(tmp_path):
    folder = tmp_path / "a"
    (folder / ".writing").mkdir(parents=True)
    (folder / ".writing" / "x").write_text("half")
    check_output_folder(folder, overwrite=False)
    assert not any(folder.iterdir())
    (folder / ".complete").mkdir()
    (folder / ".complete" / "x").write_text("whole")
    with pytest.raises(DataError, match="is not empty"):
        check_output_folder(folder, overwrite=False)
    assert contents(folder) == {"x": "whole"}


def test_reader_sees_one_save_while_another_goes_on(tmp_path):
    write(tmp_path, dict.fromkeys("abcdef", "0"))
    stop = threading.Event()

    def save():
        for i in range(200):
            if stop.is_set():
                return
            write(tmp_path, {name: str(i) for name in "abcdef"})

    thread = threading.Thread(target=save)
    thread.start()
    try:
        for _ in range(50):
            seen = read_folder(
                tmp_path, lambda f: {(f / name).read_text() for name in "abcdef"}
            )
            assert len(seen) == 1
    finally:
        stop.set()
        thread.join()


def test_what_goes_while_links_are_looked_at_is_no_error(tmp_path, monkeypatch):
    write(tmp_path, {"x": "1"})
    (tmp_path / ".writing").mkdir()
    scandir = os.scandir

    def gone(path):
        if Path(path).name == ".writing":
            raise FileNotFoundError(path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", gone)
    module.check_links(tmp_path)


def test_without_locks_a_reader_leaves_what_is_being_written(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "fcntl", None)
    write(tmp_path, {"x": "1"})
    with write_folder(tmp_path) as new:
        (new / "x").write_text("2")
        assert read_folder(tmp_path, contents) == {"x": "1"}
    assert contents(tmp_path) == {"x": "2"}


def test_error_of_the_reader_is_its_own(tmp_path):
    write(tmp_path, {"x": "1"})
    with pytest.raises(FileNotFoundError):
        read_folder(tmp_path, lambda folder: (folder / "none").read_text())


def test_folder_under_a_free_name_is_whole_or_not_there(tmp_path):
    with pytest.raises(KeyboardInterrupt), new_folder(tmp_path / "a") as new:
        (new / "x").write_text("1")
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())
    with new_folder(tmp_path / "a") as new:
        (new / "x").write_text("1")
        assert not (tmp_path / "a").exists()
    assert contents(tmp_path / "a") == {"x": "1"}
    assert module.LIST_FILE not in os.listdir(tmp_path / "a")


def test_save_is_on_disk_before_it_counts(tmp_path, monkeypatch):
    synced, renamed = [], []
    fsync, rename = os.fsync, Path.rename
    monkeypatch.setattr(os, "fsync", lambda f: (synced.append(f), fsync(f)))
    monkeypatch.setattr(
        Path, "rename", lambda a, b: (renamed.append(len(synced)), rename(a, b))
    )
    write(tmp_path, {"x": "1", "y": "1"})
    assert renamed[0] >= 3  # both files and their folder
