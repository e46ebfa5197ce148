"""The texts of a shard, and what in it is none."""

import re
from pathlib import Path
from typing import IO, Any, Dict, Iterator, NamedTuple, Union

import spacy

from ..corpus.readers import parse_docbin
from ..corpus.texts import cut_text, text_of
from ..files.errors import DataError, shorten
from ..files.json_lines import load_object
from ..files.text import MAX_LINE_CHARS, UNPACK_ERRORS, UTF16_MARKS, unpack
from . import parquet
from .places import Place
from .shards import Shard, form_of, is_packed

_UTF8_MARK = b"\xef\xbb\xbf"
_LINE_END = re.compile(r"\r\n?|\n")


class Text(NamedTuple):
    """A text, and the object of the input that it comes from; {} of a line of text."""

    text: str
    entry: Dict[str, Any]


class Failure(NamedTuple):
    """What is set aside, and why. entry: As it was read, or {"line": str}."""

    entry: Dict[str, Any]
    problem: str


def read_shard(shard: Shard) -> Iterator[Union[Text, Failure]]:
    """Go through the texts of a shard that are not blank.
    RAISES (DataError, OSError): If the file cannot be read, or is damaged."""
    place, form = Place(shard.uri), form_of(shard.uri)
    path = Path(shard.uri)
    if form == ".spacy":
        docs = parse_docbin(place.read(), spacy.blank("xx"), path)
        yield from (Text(doc.text, {}) for doc in docs if doc.text.strip())
        return
    if form == parquet.EXTENSION:
        for row in parquet.read_rows(place, shard.start, shard.end):
            yield from _of_entry(row, path)
        return
    for line in _lines(place, shard):
        if isinstance(line, Failure):
            yield line
        elif form == ".jsonl":
            yield from _of_json(line, path)
        else:
            yield from _of_text(line)


def _of_text(line: str) -> Iterator[Text]:
    for piece in _LINE_END.split(line):
        for part in cut_text(piece):
            if part := part.strip():
                yield Text(part, {})


def _of_json(line: str, path: Path) -> Iterator[Union[Text, Failure]]:
    if not line.strip():
        return
    try:
        entry = load_object(line, path, form='{"text": "..."}')
    except DataError as error:
        yield Failure({"line": line}, str(error))
        return
    yield from _of_entry(entry, path)


def _of_entry(entry: Dict[str, Any], path: Path) -> Iterator[Union[Text, Failure]]:
    try:
        text = text_of(entry, path)
    except DataError as error:
        yield Failure(entry, str(error))
        return
    if text.strip():
        yield Text(text, entry)


def _lines(place: Place, shard: Shard) -> Iterator[Union[str, Failure]]:
    """The lines that begin in a shard."""
    try:
        with place.open() as file_:
            if is_packed(shard.uri):
                with unpack(file_, Path(shard.uri)) as unpacked:
                    yield from _decoded(unpacked, 0, -1)
            else:
                yield from _decoded(file_, shard.start, shard.end)
    except UNPACK_ERRORS as error:
        problem = f"{shard.uri}: cannot be unpacked ({error}): fetch or pack it again"
        raise DataError(problem) from error


def _decoded(file_: IO[bytes], start: int, end: int) -> Iterator[Union[str, Failure]]:
    # A line belongs to the shard in which it begins: after the end of one before it.
    at = max(start - 1, 0)
    file_.seek(at)
    if start:
        at += _skip_line(file_)
    while end < 0 or at < end:
        line = file_.readline(MAX_LINE_CHARS)
        if not line:
            return
        begin, at = at, at + len(line)
        if begin == 0 and line.startswith(UTF16_MARKS):
            raise DataError("is UTF-16: save the files as UTF-8")
        if len(line) == MAX_LINE_CHARS and not line.endswith(b"\n"):
            at += _skip_line(file_)
            problem = f"has more than {MAX_LINE_CHARS:,} bytes: divide it"
            yield _bad_line(line[:1000], begin, problem)
            continue
        try:
            yield line.removeprefix(b"" if begin else _UTF8_MARK).decode("utf8")
        except UnicodeDecodeError as error:
            yield _bad_line(line, begin, f"is not UTF-8 ({error})")


def _skip_line(file_: IO[bytes]) -> int:
    """Go behind the end of a line. RETURNS (int): Bytes that were passed."""
    n_bytes = 0
    while part := file_.readline(MAX_LINE_CHARS):
        n_bytes += len(part)
        if part.endswith(b"\n"):
            break
    return n_bytes


def _bad_line(line: bytes, begin: int, problem: str) -> Failure:
    text = line.decode("utf8", "replace")
    return Failure({"line": text}, shorten(f"the line at byte {begin:,} {problem}"))
