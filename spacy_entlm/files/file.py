"""Files that are complete or not there, and locks: one run at a time.

A link stays a link, here and for folders: what it points to gets the new content.
"""

import errno
import glob
import os
import secrets
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Iterator, Optional, Sequence

from filelock import FileLock, Timeout

from .errors import DataError, DiskFullError

try:
    import fcntl
except ImportError:  # Windows: there, what a killed process left stays
    fcntl = None  # type: ignore[assignment]

_N_TOKEN_BYTES = 4
# No room on the disk, and none that is left to the user or to one file.
_FULL = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))


def check_output(
    path: Path, *, source: Optional[Path] = None, overwrite: bool = True
) -> None:
    """Check before long work that an output file may be written.

    source (Optional[Path]): The input, which must not be overwritten.
    overwrite (bool): Whether a file that is there may be replaced.
    RAISES (DataError): If it may not.
    """
    if path.is_dir():
        raise DataError("is a folder: name a file for the output", path=path)
    check_place(path)
    if not path.exists():
        return
    if not path.is_file():
        raise DataError("is no regular file: choose another output", path=path)
    if source is not None and source.exists() and path.samefile(source):
        raise DataError("is the input too: choose another output", path=path)
    if not overwrite:
        problem = "exists: choose another output, or replace it with --overwrite"
        raise DataError(problem, path=path)


def check_place(path: Path) -> None:
    """RAISES (DataError): If nothing can be written at a path, since what is above it
    is a file, or a folder that may not be written to."""
    above = next(x for x in path.resolve().parents if x.exists())
    if not above.is_dir():
        problem = f"cannot be written, as {above} is a file"
        raise DataError(f"{problem}: choose another output", path=path)
    if not os.access(above, os.W_OK):
        problem = f"cannot be written, as the folder {above} may not be written to"
        raise DataError(f"{problem}: choose another output", path=path)


@contextmanager
def told_if_full(path: Path) -> Iterator[None]:
    """RAISES (DiskFullError): Which output it is that the disk has no room for."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise DiskFullError(error.strerror or str(error), path) from error


def check_extension(path: Path, known: Sequence[str]) -> None:
    """RAISES (DataError): If an output is a folder, or its name ends in none of some
    extensions."""
    if path.is_dir():
        raise DataError("is a folder: name a file for the output", path=path)
    if not path.name.lower().endswith(tuple(known)):
        some = " or ".join([", ".join(known[:-1]), known[-1]] if known[1:] else known)
        raise DataError(f"cannot be written: end its name in {some}", path=path)


@contextmanager
def write_file(path: Path, *, overwrite: bool = True) -> Iterator[Path]:
    """Give a temporary path to write to, which takes the file's place at the end.

    Missing parent folders are made. What killed processes left of the same file is
    removed.
    overwrite (bool): Whether it may take the place of a file that another process
        wrote in the meantime.
    YIELDS (Path): A path in the same folder with the same extension.
    RAISES (DataError): If it is a folder, no regular file, or may not be replaced.
    """
    check_output(path, overwrite=overwrite)
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    _remove_left(target)
    # tempfile would make a file that only its owner may read.
    name = f".{target.stem}.{secrets.token_hex(_N_TOKEN_BYTES)}{target.suffix}"
    temporary = target.with_name(name)
    try:
        with told_if_full(path), _held(temporary):
            yield temporary
            sync(temporary)
            check_output(path, overwrite=overwrite)
            os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def _held(path: Path) -> Iterator[None]:
    """Make a file, and hold a lock on it."""
    if fcntl is None:
        yield
        return
    with path.open("xb") as file_:
        fcntl.flock(file_, fcntl.LOCK_EX)
        yield


def _remove_left(target: Path) -> None:
    """Remove the temporary files of a file that nobody writes: the system takes the
    lock away with the process."""
    if fcntl is None:
        return
    token = "[0-9a-f]" * 2 * _N_TOKEN_BYTES
    stem, suffix = map(glob.escape, (target.stem, target.suffix))
    for path in target.parent.glob(f".{stem}.{token}{suffix}"):
        if path.is_file():
            with suppress(OSError), path.open("rb") as file_:  # locked, or gone by now
                fcntl.flock(file_, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()


def replace_file(path: Path, content: bytes, *, overwrite: bool = True) -> None:
    """Write a file at once, as `write_file`."""
    with write_file(path, overwrite=overwrite) as temporary:
        temporary.write_bytes(content)


def sync(path: Path) -> None:
    """See that a file, or the names in a folder, are on disk."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except PermissionError:
        return  # a folder, on Windows
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def lock_file(lock: Path, output: Path) -> Iterator[None]:
    """Hold a lock, which the system takes away with the process, however that ends.

    lock (Path): File of the lock; missing parent folders are made.
    output (Path): What it protects, for messages.
    RAISES (DataError): If another run holds it.
    """
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        held = FileLock(lock, timeout=0).acquire()
    except (FileExistsError, NotADirectoryError) as error:
        raise DataError("is no folder: choose another", path=lock.parent) from error
    except Timeout as error:
        problem = "another run writes to it: wait for its end, or choose another output"
        raise DataError(problem, path=output) from error
    with held:
        yield
