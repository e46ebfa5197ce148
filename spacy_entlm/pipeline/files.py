"""Writing a folder so that a failure leaves the old one as it was."""

import contextlib
import shutil
import tempfile
from pathlib import Path
from typing import Iterator


@contextlib.contextmanager
def replace_folder(folder: Path) -> Iterator[Path]:
    """Give an empty folder to write to, which takes the place of `folder` at the end.

    folder (Path): The folder to be replaced; it need not exist.
    YIELDS (Path): The folder to write to, on the same file system.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    new, old = scratch / "new", scratch / "old"
    try:
        new.mkdir()
        yield new
        if folder.exists():
            folder.rename(old)
        try:
            new.rename(folder)
        except OSError:
            if old.exists():
                old.rename(folder)
            raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
