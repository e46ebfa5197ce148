"""Temporary folders."""

import os
import signal
import tempfile

import pytest

from spacy_entlm.files.temporary import temporary_folder

needs_fork = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="this system cannot fork"
)
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")


@pytest.fixture(autouse=True)
def parent(tmp_path, monkeypatch):
    """The system's temporary folder."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_folder_is_gone_at_the_end_also_of_a_failure(parent):
    with temporary_folder() as folder:
        (folder / "a").write_text("1")
        assert folder.parent == parent
    with pytest.raises(KeyboardInterrupt), temporary_folder():
        raise KeyboardInterrupt
    assert not os.listdir(parent)


@needs_fork
def test_folder_of_a_killed_process_is_removed_by_the_next(parent):
    child = os.fork()
    if not child:
        with temporary_folder() as folder:
            (folder / "a").write_text("1")
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert len(os.listdir(parent)) == 1
    with temporary_folder() as folder:
        assert os.listdir(parent) == [folder.name]


@needs_fork
def test_folders_of_others_and_of_the_living_stay(parent, tmp_path):
    for name in ("entlm-mymodels", ".entlm-of-a-user.tmp", ".entlm-a.tmp"):
        (parent / name).mkdir()
    (parent / ".entlm-abcdefgh.tmp").symlink_to(parent / "entlm-mymodels")
    (parent / ".entlm-abcdefgi.tmp").write_text("a file")
    before = set(os.listdir(parent))
    with temporary_folder() as first, temporary_folder() as second:
        assert set(os.listdir(parent)) == {*before, first.name, second.name}
    assert set(os.listdir(parent)) == before
