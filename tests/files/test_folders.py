"""Replacing a folder or a file: all or nothing."""

from pathlib import Path

import pytest

from spacy_entlm.files.folders import replace_file, replace_folder


def contents(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "saved"
    folder.mkdir()
    (folder / "old.txt").write_text("old")
    return folder


def write_new(folder):
    with replace_folder(folder) as new:
        (new / "new.txt").write_text("new")


def test_new_folder_takes_the_place_of_the_old_one(folder):
    write_new(folder)
    assert contents(folder) == {"new.txt": "new"}
    assert list(folder.parent.iterdir()) == [folder]


def test_folder_need_not_exist_nor_its_parents(tmp_path):
    write_new(tmp_path / "a" / "b")
    assert contents(tmp_path / "a" / "b") == {"new.txt": "new"}


def test_old_folder_is_whole_until_the_new_one_is_complete(folder):
    with replace_folder(folder) as new:
        (new / "new.txt").write_text("new")
        assert contents(folder) == {"old.txt": "old"}


def test_failure_while_writing_leaves_the_old_folder(folder):
    with pytest.raises(KeyboardInterrupt), replace_folder(folder) as new:
        (new / "new.txt").write_text("new")
        raise KeyboardInterrupt
    assert contents(folder) == {"old.txt": "old"}
    assert list(folder.parent.iterdir()) == [folder]


def test_failure_while_replacing_brings_the_old_folder_back(folder, monkeypatch):
    rename = Path.rename

    def fail_for_new(self, target):
        if self.name == "new":
            raise OSError("No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail_for_new)
    with pytest.raises(OSError, match="No space left"):
        write_new(folder)
    assert contents(folder) == {"old.txt": "old"}
    assert list(folder.parent.iterdir()) == [folder]


def test_new_file_takes_the_place_of_the_old_one(folder):
    replace_file(folder / "old.txt", b"newer")
    replace_file(folder / "new.txt", b"new")
    assert contents(folder) == {"old.txt": "newer", "new.txt": "new"}


@pytest.mark.parametrize("method", ["write_bytes", "replace"])
def test_failure_leaves_the_old_file(folder, monkeypatch, method):
    def fail(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr(Path, method, fail)
    with pytest.raises(OSError, match="No space left"):
        replace_file(folder / "old.txt", b"newer")
    assert contents(folder) == {"old.txt": "old"}
