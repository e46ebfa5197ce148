"""Folders in the system's temporary one, of which none stays for good."""

import os
import re
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, Optional

try:
    import fcntl
except ImportError:  # Windows: there, what a killed process left stays
    fcntl = None  # type: ignore[assignment]

_PREFIX, _SUFFIX = ".entlm-", ".tmp"
_OURS = re.compile(r"\.entlm-\w{8}\.tmp")


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Give an empty folder, which is removed at the end. Those that killed processes
    of the same user left are removed, too."""
    parent = Path(tempfile.gettempdir())
    for path in parent.glob(f"{_PREFIX}*{_SUFFIX}"):
        if _OURS.fullmatch(path.name):
            _remove_left(path)
    while True:
        folder = Path(tempfile.mkdtemp(_SUFFIX, _PREFIX, parent))
        descriptor = _locked(folder)
        if folder.is_dir():  # else another process took it for one that was left
            break
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if descriptor is not None:
            os.close(descriptor)


def _locked(folder: Path, *, waits: bool = True) -> Optional[int]:
    """A lock on a folder, which the system takes away with the process; None if there
    is none to be had."""
    if fcntl is None:
        return None
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:  # gone, a link, or somebody else's
        return None
    try:
        is_ours = os.fstat(descriptor).st_uid == os.getuid()
        if waits or is_ours:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
            return descriptor
    except OSError:  # held by a process that lives
        pass
    os.close(descriptor)
    return None


def _remove_left(folder: Path) -> None:
    descriptor = _locked(folder, waits=False)
    if descriptor is not None:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)
