"""Writing a folder or a file so that a failure leaves the old one as it was."""

import contextlib
import shutil
import tempfile
import uuid
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


def replace_file(path: Path, content: bytes) -> None:
    """Write a file beside the old one, whose place it takes at the end.

    path (Path): The file; its folder exists. content (bytes): What it is to hold.
    """
    scratch = path.with_name(f".{path.name}-{uuid.uuid4().hex}")
    try:
        scratch.write_bytes(content)
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)
