"""Files and folders where they lie: here, or wherever fsspec reads and writes."""

from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, Dict, Iterator, List, NamedTuple

import fsspec
from fsspec.core import url_to_fs
from fsspec.implementations.local import LocalFileSystem

from ..files.errors import DataError
from ..files.file import write_file
from ..files.temporary import temporary_folder

# In the last part of a path: it is a pattern of names.
_PATTERN = "*?["


class Found(NamedTuple):
    """A file: where it lies, its size in bytes, and what differs after a change."""

    uri: str
    size: int
    changed: str


class Place:
    """A file or a folder, named by a path of this machine or an address as of fsspec,
    eg "s3://bucket/folder".

    RAISES (ValueError, ImportError): If nothing is known of such addresses, or what
        reads them is not installed; the message names that.
    """

    def __init__(self, uri: str) -> None:
        fs, self.path = url_to_fs(uri)
        self.fs: fsspec.AbstractFileSystem = fs
        self.is_local = isinstance(self.fs, LocalFileSystem)

    @property
    def uri(self) -> str:
        """As it is named to other processes: a path of this machine is absolute."""
        return self.path if self.is_local else str(self.fs.unstrip_protocol(self.path))

    def within(self, name: str) -> "Place":
        """A file or folder in this folder. name: Its relative path."""
        inner = object.__new__(Place)
        inner.fs, inner.is_local = self.fs, self.is_local
        inner.path = f"{self.path.rstrip('/')}/{name}"
        return inner

    def open(self) -> IO[bytes]:
        """Open the file to read bytes."""
        # Files that lie far away read lines without a limit to their length.
        return BufferedReader(self.fs.open(self.path, "rb"))

    def read(self) -> bytes:
        return bytes(self.fs.cat_file(self.path))

    def read_all(self, names: List[str]) -> Dict[str, bytes]:
        """The content of files in this folder, by their names; fetched at once where
        the files lie far away."""
        if not names:
            return {}
        places = {name: self.within(name).path for name in names}
        contents = self.fs.cat(list(places.values()), on_error="raise")
        return {name: contents[path] for name, path in places.items()}

    def names(self) -> List[str]:
        """The names of what lies in this folder, in order; none if there is none."""
        self.fs.invalidate_cache(self.path)
        if not self.fs.isdir(self.path):
            return []
        paths = self.fs.ls(self.path, detail=False)
        return sorted(path.rstrip("/").rsplit("/", 1)[-1] for path in paths)

    def files(self) -> List[Found]:
        """This file; or the files in this folder, or those that a pattern names, in the
        order of their names, but for hidden ones.
        RAISES (DataError): If there is none."""
        exists = self.fs.exists(self.path)
        if any(sign in self.path for sign in _PATTERN) and not exists:
            found = self.fs.glob(self.path, detail=True)
        elif self.fs.isdir(self.path):
            found = self.fs.find(self.path, maxdepth=1, detail=True)
        else:
            found = {self.path: self.fs.info(self.path)} if exists else {}
        files = [
            self._found(path, found[path])
            for path in sorted(found)
            if found[path]["type"] == "file"
            and (path == self.path or path.rsplit("/", 1)[-1][0] not in "._")
        ]
        if not files:
            raise DataError(f"{self.uri}: no such file: check the path")
        return files

    def _found(self, path: str, info: Dict[str, Any]) -> Found:
        marks = (info.get(key) for key in ("ETag", "etag", "mtime", "LastModified"))
        changed = next((str(mark) for mark in marks if mark is not None), "")
        uri = path if self.is_local else str(self.fs.unstrip_protocol(path))
        return Found(uri, int(info["size"]), changed)

    @contextmanager
    def writing(self) -> Iterator[Path]:
        """Give a path to write to. At the end the file is there, whole, also after a
        kill; a store of objects shows none before it has all of it."""
        if self.is_local:
            with write_file(Path(self.path)) as temporary:
                yield temporary
            return
        with temporary_folder() as folder:
            temporary = folder / Path(self.path).name
            yield temporary
            self.fs.put_file(str(temporary), self.path)

    def write(self, content: bytes) -> None:
        """Write the file at once, as `writing`."""
        with self.writing() as temporary:
            temporary.write_bytes(content)

    def remove(self) -> None:
        """Remove the file, if there is one."""
        if self.fs.exists(self.path):
            self.fs.rm_file(self.path)
