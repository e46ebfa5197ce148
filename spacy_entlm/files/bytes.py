"""A folder's files as one message, and back."""

from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Callable, Dict, TypeVar

import srsly

T = TypeVar("T")


def pack_folder(write: Callable[[Path], None]) -> bytes:
    """The files, with their paths, that something writes to an empty folder; empty if
    there are none."""
    with TemporaryDirectory(prefix="entlm-") as name:
        folder = Path(name)
        write(folder)
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        files = {p.relative_to(folder).as_posix(): p.read_bytes() for p in paths}
    return srsly.msgpack_dumps(files) if files else b""


def unpack_folder(data: bytes, read: Callable[[Path], T]) -> T:
    """Undo `pack_folder`, and give what `read` makes of the folder.
    RAISES (ValueError): If the message is none of these, or the path of a file would
    leave the folder."""
    files: Dict[str, bytes] = srsly.msgpack_loads(data) if data else {}
    if not isinstance(files, dict):
        raise ValueError("These bytes hold no files of a component")
    with TemporaryDirectory(prefix="entlm-") as name:
        for key, content in files.items():
            path = PurePosixPath(key)
            if path.is_absolute() or ".." in path.parts or "\\" in key:
                raise ValueError(f"A component's file cannot be called {key!r}")
            target = Path(name, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        return read(Path(name))
