"""How an input is divided: into shards, each of which is read and written by itself."""

from itertools import repeat
from pathlib import Path
from typing import Iterable, Iterator, List, NamedTuple, Sequence, Tuple

from ..corpus.texts import TEXT_EXTENSIONS
from ..files.errors import DataError
from ..files.text import PACKED, unpacked_extension
from .parquet import EXTENSION as PARQUET
from .parquet import row_groups
from .places import Found, Place

EXTENSIONS = (*TEXT_EXTENSIONS, PARQUET)
# Files of which a part can be read alone.
_TEXT = ".txt"
_DIVIDED = (_TEXT, ".jsonl")
_CHUNK = 2**20


class Shard(NamedTuple):
    """A part of an input.

    number (int): From 0 on. uri (str): The file.
    start, end (int): Bytes of it: lines that begin there belong to the shard; or, of a
        Parquet file, its row groups. end -1: all of it, as of packed files and .spacy.
    line (int): Of lines of text, how many ends of lines are before `seek_of(start)`.
    """

    number: int
    uri: str
    start: int
    end: int
    line: int = 0


def plan(files: List[Found], size: int) -> List[Shard]:
    """Divide files in the order in which they come, always in the same way.

    size (int): Bytes of a shard, as the file lies there.
    RAISES (DataError): If the form of a file is not known, or there is no text.
    """
    forms = [form_of(file.uri) for file in files]
    parts = [
        (file.uri, part)
        for file, form in zip(files, forms)
        for part in _divide(file, form, size)
    ]
    if not parts:
        raise DataError(f"{files[0].uri}: the file is empty: add text")
    return [Shard(number, uri, *part) for number, (uri, part) in enumerate(parts)]


def form_of(uri: str) -> str:
    """The extension of a file of texts, without that of the packing.
    RAISES (DataError): If no such file is read."""
    name = Path(uri.rsplit("/", 1)[-1])
    extension = unpacked_extension(name)
    if extension in (_DIVIDED if is_packed(uri) else EXTENSIONS):
        return extension
    known = ", ".join(EXTENSIONS)
    raise DataError(
        f"{uri}: unknown extension {''.join(name.suffixes[-2:])!r}: one of {known} is "
        "read (text may be packed, .xz .gz)"
    )


def is_packed(uri: str) -> bool:
    """Whether the name of a file ends in that of a packing."""
    return uri.lower().endswith(tuple(PACKED))


def seek_of(start: int) -> int:
    """The byte from which a shard is read: the end of a line there tells that a line
    begins at `start`."""
    return max(start - 1, 0)


def count_ends(data: bytes) -> int:
    """How many lines end in bytes: with a line feed, a carriage return or both."""
    return data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")


def _divide(file: Found, form: str, size: int) -> Iterator[Tuple[int, ...]]:
    """Starts and ends of the shards of a file, and of text the lines before each."""
    if not file.size:
        return
    if form == PARQUET:
        yield from _bundle(row_groups(Place(file.uri)), size)
    elif form in _DIVIDED and not is_packed(file.uri):
        starts = range(0, file.size, size)
        lines: Iterable[int] = repeat(0)
        if form == _TEXT:
            lines = _lines_before(file, starts)
        for start, line in zip(starts, lines):
            yield start, min(start + size, file.size), line
    else:
        yield 0, -1


def _lines_before(file: Found, starts: Sequence[int]) -> Iterator[int]:
    """The ends of lines before the bytes from which shards are read. The file is read
    once."""
    count = at = 0
    last = b""
    with Place(file.uri).open() as content:
        for start in starts:
            while at < seek_of(start):
                part = content.read(min(_CHUNK, seek_of(start) - at))
                # A carriage return and a line feed are one end.
                count += count_ends(last + part) - count_ends(last)
                at, last = at + len(part), part[-1:]
                if not part:  # it was cut since
                    break
            next_byte = content.read(1) if last == b"\r" else b""
            content.seek(at)
            yield count - (next_byte == b"\n")


def _bundle(sizes: List[int], size: int) -> Iterator[Tuple[int, int]]:
    """Put neighbouring row groups together until they have so many bytes."""
    start = total = 0
    for i, each in enumerate(sizes):
        total += each
        if total >= size or i + 1 == len(sizes):
            yield start, i + 1
            start, total = i + 1, 0
