"""Folders of which a reader sees all old files or all new ones.

New files are written to a hidden folder within, which is renamed when they are complete
and on disk: from then on the new content counts. Then they are moved into place. What
a killed process left is completed, or removed, by the next one that reads or writes.
"""

import logging
import os
import shutil
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Callable, Collection, Dict, Iterator, List, Optional, Tuple, TypeVar

import srsly

from .errors import DataError
from .file import check_place, sync, told_if_full
from .json_lines import dump_json, read_json
from .temporary import temporary_folder

try:
    import fcntl
except ImportError:  # Windows: there, two that write one folder at once are not told
    fcntl = None  # type: ignore[assignment]

logger = logging.getLogger("spacy.entlm")

T = TypeVar("T")

# The names of what was written, so that nothing else is ever removed.
LIST_FILE = "files.json"
_WRITING, _COMPLETE = ".writing", ".complete"
_N_READS = 100


def check_folder(folder: Path) -> None:
    """RAISES (DataError): If there is no such folder."""
    if not folder.is_dir():
        raise DataError("is no folder: check the path", path=folder)


def check_output_folder(
    folder: Path, *, source: Optional[Path] = None, overwrite: bool
) -> None:
    """Check before long work that an output folder may be written. What a killed
    process left in it is completed, or removed, before.

    source (Optional[Path]): The input, which must not be the same folder.
    overwrite (bool): Whether files that an earlier run wrote may be replaced.
    RAISES (DataError): If it may not.
    """
    check_place(folder / LIST_FILE if folder.is_dir() else folder)
    if not folder.exists():
        return
    if not folder.is_dir():
        raise DataError("is a file: name a folder for the output", path=folder)
    if source is not None and source.exists() and folder.samefile(source):
        raise DataError("is the input too: choose another output", path=folder)
    recover_folder(folder)
    if any(folder.iterdir()) and not overwrite:
        problem = "is not empty: choose another folder, or replace what an earlier run "
        raise DataError(f"{problem}wrote there with --overwrite", path=folder)


@contextmanager
def write_folder(
    folder: Path, *, keep: Collection[str] = (), overwrite: bool = True
) -> Iterator[Path]:
    """Give an empty folder, whose files take the place of those that an earlier call
    wrote. Other files in the folder stay.

    keep (Collection[str]): Names in it that stay as they are, if they are there.
    overwrite (bool): Whether a folder may be written that is not empty, which another
        process may have filled while this one waited for it.
    YIELDS (Path): The folder to write to, on the same file system.
    RAISES (DataError): If it may not be written, or a new file would replace a folder,
        or the other way round.
    """
    is_new = not folder.exists()
    check_place(folder)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with told_if_full(folder), _locked(folder):
            _recover(folder)
            check_output_folder(folder, overwrite=overwrite)
            with _writing(folder / _WRITING, folder / _COMPLETE) as writing:
                yield writing
                names = _files(writing)
                for name in names:
                    _check_place(folder, name)
                kept = [n for n in _listed(folder) if n.split("/")[0] in keep]
                (writing / LIST_FILE).write_bytes(dump_json(sorted({*names, *kept})))
            _recover(folder)
    except BaseException:
        if is_new:
            with suppress(OSError):  # not empty: another process wrote to it
                folder.rmdir()
        raise


def read_folder(folder: Path, read: Callable[[Path], T]) -> T:
    """Read a folder that `write_folder` wrote, or writes at the same time.
    RETURNS (T): What `read` makes of the folder; it is called again if the folder was
    changed in the meantime. Files may be links, also out of the folder, as in the
    cache of a hub: nothing is written to them."""
    for _ in range(_N_READS):
        recover_folder(folder)
        state = _state(folder)
        try:
            result = read(folder)
        except Exception:
            if _state(folder) == state:
                raise
            continue
        if _state(folder) == state and not (folder / _COMPLETE).exists():
            return result
    raise DataError("is being written to again and again", path=folder)


def recover_folder(folder: Path) -> None:
    """Complete what a killed process left in a folder, or remove it; wait for one that
    lives. What is completed is told."""
    # What is being written may only be touched under a lock: it may be alive.
    is_left = fcntl is not None and (folder / _WRITING).exists()
    is_complete = (folder / _COMPLETE).exists()
    if is_left or is_complete:
        with _locked(folder):
            _recover(folder)
    if is_complete:
        logger.info("%s: completed a save that was interrupted", folder)


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Give an empty folder beside one whose name is free, which it gets when it is
    complete."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    writing = folder.with_name(f".{folder.name}")
    shutil.rmtree(writing, ignore_errors=True)
    with _writing(writing, folder):
        yield writing
    sync(folder.parent)


def pack_folder(write: Callable[[Path], None]) -> bytes:
    """The files, with their paths, that something writes to an empty folder; empty if
    there are none."""
    with temporary_folder() as folder:
        write(folder)
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        files = {p.relative_to(folder).as_posix(): p.read_bytes() for p in paths}
    return srsly.msgpack_dumps(files) if files else b""


def unpack_folder(data: bytes, read: Callable[[Path], T]) -> T:
    """Undo `pack_folder`, and give what `read` makes of the folder.
    RAISES (ValueError): If the message is none of these, or the path of a file would
    leave the folder."""
    files: Dict[str, bytes] = srsly.msgpack_loads(data) if data else {}
    if not isinstance(files, dict) or not all(
        isinstance(key, str) and isinstance(files[key], bytes) for key in files
    ):
        raise ValueError("These bytes hold no files of a component")
    with temporary_folder() as folder:
        for key, content in files.items():
            path = PurePosixPath(key)
            refusal = f"A component's file cannot be called {key!r:.100}"
            if path.is_absolute() or ".." in path.parts or "\\" in key:
                raise ValueError(refusal)
            target = folder / path
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
            except OSError as error:  # eg a name that is too long, or a folder
                raise ValueError(refusal) from error
        return read(folder)


@contextmanager
def _writing(folder: Path, name: Path) -> Iterator[Path]:
    """Make a folder that gets another name once it is complete and on disk."""
    try:
        folder.mkdir()
        yield folder
        for path in [*folder.rglob("*"), folder]:
            sync(path)
        folder.rename(name)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Wait until no other process writes to the folder. The system takes the lock away
    with the process."""
    if fcntl is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def check_links(folder: Path) -> None:
    """RAISES (DataError): If a link in the folder leads out of it: a folder may come
    from anybody, and nothing outside is to be written or removed."""
    inside = folder.resolve()
    # What another process removes meanwhile is left out.
    walk = ((root, [*folders, *files]) for root, folders, files in os.walk(folder))
    for path in (Path(root, name) for root, names in walk for name in names):
        # Not resolve(), which raises an error for a link to itself.
        target = Path(os.path.realpath(path)) if path.is_symlink() else inside
        if not target.is_relative_to(inside):
            problem = "is a link out of the folder: put the file itself there"
            raise DataError(problem, path=path)


def _recover(folder: Path) -> None:
    """Complete what is complete but not in its place, and remove what is not."""
    shutil.rmtree(folder / _WRITING, ignore_errors=True)
    complete = folder / _COMPLETE
    if not complete.exists():
        return
    check_links(folder)
    for name in set(_files(complete)) - {LIST_FILE}:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(complete / name, target)
    # The new list comes last: until then the old one tells what is to be removed.
    if (complete / LIST_FILE).exists():
        for name in set(_listed(folder)) - set(_listed(complete)):
            (folder / name).unlink(missing_ok=True)
        os.replace(complete / LIST_FILE, folder / LIST_FILE)
    shutil.rmtree(complete)
    sync(folder)


def _state(folder: Path) -> Optional[Tuple[int, int]]:
    """What changes whenever the files have changed."""
    try:
        found = (folder / LIST_FILE).stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def _files(folder: Path) -> List[str]:
    paths = (path for path in folder.rglob("*") if not path.is_dir())
    return sorted(path.relative_to(folder).as_posix() for path in paths)


def _listed(folder: Path) -> List[str]:
    """What an earlier call wrote; nothing that lies outside the folder."""
    try:
        names = read_json(folder / LIST_FILE)
    except DataError:  # there is none, or it is damaged
        return []
    names = [n for n in names if isinstance(n, str)] if isinstance(names, list) else []
    parts = {name: Path(name).parts for name in names if not Path(name).is_absolute()}
    return [name for name, part in parts.items() if part and ".." not in part]


def _check_place(folder: Path, name: str) -> None:
    target = folder / name
    if target.is_dir():
        raise DataError("is a folder where a file is needed", path=target)
    for parent in list(target.relative_to(folder).parents)[:-1]:
        place = folder / parent
        if place.exists() and not place.is_dir():
            raise DataError("is a file where a folder is needed", path=place)
