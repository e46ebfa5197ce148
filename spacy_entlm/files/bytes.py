"""A folder's files as one message, and back."""

import tempfile
from pathlib import Path, PurePosixPath
from typing import Callable, Dict, TypeVar

import srsly

T = TypeVar("T")


def pack_folder(write: Callable[[Path], None]) -> bytes:
    """Let something write a folder, and take its files.

    write (Callable[[Path], None]): Called with an empty folder.
    RETURNS (bytes): The files and their paths; empty if there are none.
    """
    with tempfile.TemporaryDirectory(prefix="entlm-") as name:
        folder = Path(name)
        write(folder)
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        files = {p.relative_to(folder).as_posix(): p.read_bytes() for p in paths}
    return srsly.msgpack_dumps(files) if files else b""


def unpack_folder(data: bytes, read: Callable[[Path], T]) -> T:
    """Undo `pack_folder`.

    data (bytes): The message.
    read (Callable[[Path], T]): Called with a folder that holds the files.
    RETURNS (T): What it returns.
    RAISES (ValueError): If the message is none of these, or the path of a file would
        leave the folder.
    """
    files: Dict[str, bytes] = srsly.msgpack_loads(data) if data else {}
    if not isinstance(files, dict):
        raise ValueError("These bytes hold no files of a component")
    with tempfile.TemporaryDirectory(prefix="entlm-") as name:
        for key, content in files.items():
            path = PurePosixPath(key)
            if path.is_absolute() or ".." in path.parts or "\\" in key:
                raise ValueError(f"A component's file cannot be called {key!r}")
            target = Path(name).joinpath(*path.parts)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        return read(Path(name))
