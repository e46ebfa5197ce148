"""How an input is divided: into shards, each of which is read and written by itself."""

from pathlib import Path
from typing import Iterator, List, NamedTuple, Tuple

from ..corpus.texts import TEXT_EXTENSIONS
from ..files.errors import DataError
from ..files.text import PACKED, unpacked_extension
from .parquet import EXTENSION as PARQUET
from .parquet import row_groups
from .places import Found, Place

EXTENSIONS = (*TEXT_EXTENSIONS, PARQUET)
# Files of which a part can be read alone.
_DIVIDED = (".txt", ".jsonl")


class Shard(NamedTuple):
    """A part of an input.

    number (int): From 0 on. uri (str): The file.
    start, end (int): Bytes of it: lines that begin there belong to the shard; or, of a
        Parquet file, its row groups. end -1: all of it, as of packed files and .spacy.
    """

    number: int
    uri: str
    start: int
    end: int


def plan(files: List[Found], size: int) -> List[Shard]:
    """Divide files in the order in which they come, always in the same way.

    size (int): Bytes of a shard, as the file lies there.
    RAISES (DataError): If the form of a file is not known, or there is no text.
    """
    forms = [form_of(file.uri) for file in files]
    parts = [
        (file.uri, *part)
        for file, form in zip(files, forms)
        for part in _divide(file, form, size)
    ]
    if not parts:
        raise DataError(f"{files[0].uri}: the file is empty: add text")
    return [Shard(number, *part) for number, part in enumerate(parts)]


def form_of(uri: str) -> str:
    """The extension of a file of texts, without that of the packing.
    RAISES (DataError): If no such file is read."""
    name = Path(uri.rsplit("/", 1)[-1])
    extension = unpacked_extension(name)
    is_packed = name.suffix.lower() in PACKED
    if extension in EXTENSIONS and not (is_packed and extension not in _DIVIDED):
        return extension
    known = ", ".join(EXTENSIONS)
    raise DataError(
        f"{uri}: unknown extension {''.join(name.suffixes[-2:])!r}: one of {known} is "
        "read (text may be packed, .xz .gz)"
    )


def is_packed(uri: str) -> bool:
    """Whether the name of a file ends in that of a packing."""
    return uri.lower().endswith(tuple(PACKED))


def _divide(file: Found, form: str, size: int) -> Iterator[Tuple[int, int]]:
    """Starts and ends of the shards of a file."""
    if not file.size:
        return
    if form == PARQUET:
        yield from _bundle(row_groups(Place(file.uri)), size)
    elif form in _DIVIDED and not is_packed(file.uri):
        for start in range(0, file.size, size):
            yield start, min(start + size, file.size)
    else:
        yield 0, -1


def _bundle(sizes: List[int], size: int) -> Iterator[Tuple[int, int]]:
    """Put neighbouring row groups together until they have so many bytes."""
    start = total = 0
    for i, each in enumerate(sizes):
        total += each
        if total >= size or i + 1 == len(sizes):
            yield start, i + 1
            start, total = i + 1, 0
