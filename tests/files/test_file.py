"""Files that are complete or not there."""

import os
import stat

import pytest

from spacy_entlm.files.errors import DataError
from spacy_entlm.files.file import check_output, replace_file, write_file


def test_new_file_takes_the_place_of_the_old_one(tmp_path):
    replace_file(tmp_path / "sub" / "a", b"1")
    replace_file(tmp_path / "sub" / "a", b"2")
    assert (tmp_path / "sub" / "a").read_bytes() == b"2"
    assert os.listdir(tmp_path / "sub") == ["a"]


def test_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    replace_file(tmp_path / "a", b"1")
    with pytest.raises(KeyboardInterrupt), write_file(tmp_path / "a") as temporary:
        temporary.write_bytes(b"2")
        raise KeyboardInterrupt
    assert (tmp_path / "a").read_bytes() == b"1"
    assert os.listdir(tmp_path) == ["a"]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").write_text("1")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    replace_file(tmp_path / "link", b"2")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "2"


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


def test_write_file_removes_the_temporary_file_on_failure(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), write_file(path) as temporary:
        temporary.write_text("half")
        assert temporary.parent == tmp_path
        assert temporary.suffix == ".txt"
        raise KeyboardInterrupt
    assert os.listdir(tmp_path) == ["out.txt"]
    assert path.read_text() == "old"


def test_write_file_keeps_a_link_and_usual_permissions(tmp_path):
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
