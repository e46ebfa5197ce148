"""One run at a time."""

from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

from filelock import FileLock, Timeout

from .errors import DataError


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
        raise DataError(
            "another run writes to it: wait for its end, or choose another output",
            path=output,
        ) from error
    with held:
        yield
