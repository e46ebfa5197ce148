"""Files that are complete or not there."""

import errno
import os
import stat
from pathlib import Path

import pytest

from spacy_entlm.files.errors import DataError
from spacy_entlm.files.file import (
    check_extension,
    check_output,
    replace_file,
    write_file,
)
from spacy_entlm.files.folder import check_output_folder, write_folder
from spacy_entlm.files.records import Records


def test_new_file_takes_the_place_of_the_old_one(tmp_path):
    replace_file(tmp_path / "sub" / "a", b"1")
    replace_file(tmp_path / "sub" / "a", b"2")
    assert (tmp_path / "sub" / "a").read_bytes() == b"2"
    assert os.listdir(tmp_path / "sub") == ["a"]


def test_what_may_not_be_replaced_is_told_before(tmp_path):
    path = tmp_path / "a"
    check_output(path, overwrite=False)
    path.write_text("1")
    check_output(path)
    with pytest.raises(DataError, match=r"exists: .* --overwrite"):
        check_output(path, overwrite=False)
    with pytest.raises(DataError, match="is the input too"):
        check_output(path, source=path)
    with pytest.raises(DataError, match="is a folder"):
        check_output(tmp_path)


def test_file_that_another_wrote_in_the_meantime_is_not_replaced_unasked(tmp_path):
    path = tmp_path / "a"
    refused = pytest.raises(DataError, match=r"exists: .* --overwrite")
    with refused, write_file(path, overwrite=False) as temporary:
        temporary.write_text("late")
        path.write_text("early")
    assert path.read_text() == "early" and os.listdir(tmp_path) == ["a"]
    with write_file(path) as temporary:
        temporary.write_text("late")
    assert path.read_text() == "late"


def test_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), write_file(path) as temporary:
        temporary.write_text("half")
        assert temporary.parent == tmp_path
        assert temporary.suffix == ".txt"
        raise KeyboardInterrupt
    assert os.listdir(tmp_path) == ["out.txt"]
    assert path.read_text() == "old"


def test_a_link_stays_a_link_and_permissions_are_the_usual_ones(tmp_path):
    link, target, plain = (tmp_path / name for name in ("link", "target", "plain"))
    target.write_text("old")
    link.symlink_to(target)
    plain.write_text("")
    with write_file(link) as temporary:
        temporary.write_text("new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_write_file_refuses_what_is_no_regular_file(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(DataError, match="no regular file"), write_file(pipe):
        pass


def test_an_output_below_a_file_is_told_before(tmp_path):
    (tmp_path / "a").write_text("a file")
    below = tmp_path / "a" / "b" / "c"
    told = f"c: cannot be written, as {tmp_path.resolve() / 'a'} is a file: choose"
    for check in (
        lambda: check_output(below),
        lambda: check_output_folder(below, overwrite=True),
        lambda: replace_file(below, b"1"),
        lambda: write_folder(below).__enter__(),
    ):
        with pytest.raises(DataError) as caught:
            check()
        assert told in str(caught.value)


def test_a_folder_that_may_not_be_written_to_is_told_before(tmp_path, monkeypatch):
    """Also to root, who may write to all but what is mounted read-only."""
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path)
    for check in (
        lambda: check_output(tmp_path / "a"),
        lambda: check_output_folder(tmp_path, overwrite=True),
        lambda: check_output_folder(tmp_path / "new", overwrite=True),
    ):
        with pytest.raises(DataError, match="may not be written to: choose another"):
            check()


def test_a_full_disk_is_told_with_the_output(tmp_path, monkeypatch):
    def fill(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    told = r"cannot be written \(No space left on device\): make room"
    with (
        pytest.raises(DataError, match=f"out: {told}"),
        write_file(tmp_path / "out"),
    ):
        fill()
    with (
        pytest.raises(DataError, match=f"folder: {told}"),
        write_folder(tmp_path / "folder"),
    ):
        fill()
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr(os, "fsync", fill)
    with (
        Records(tmp_path / "records", "form") as run,
        pytest.raises(DataError, match=f"records: {told}"),
    ):
        run.append([{"text": "Ann"}])


def test_a_folder_in_place_of_a_file_with_an_ending_is_told(tmp_path):
    with pytest.raises(DataError, match="is a folder: name a file for the output"):
        check_extension(tmp_path, [".html", ".md"])
