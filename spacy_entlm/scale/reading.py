"""The texts of a shard, and what in it is none."""

import re
from pathlib import Path
from typing import IO, Any, Dict, Iterator, NamedTuple, Tuple, Union

import spacy

from ..corpus.readers import parse_docbin
from ..corpus.texts import ENTRY_KEY, cut_text, text_of
from ..files.errors import DataError, shorten
from ..files.json_lines import load_object
from ..files.text import MAX_LINE_CHARS, UNPACK_ERRORS, UTF16_MARKS, unpack
from . import parquet
from .places import Place
from .shards import Shard, count_ends, form_of, is_packed, seek_of

_UTF8_MARK = b"\xef\xbb\xbf"
_LINE_END = re.compile(r"\r\n?|\n")
_LAST_END = re.compile(r"(?:\r\n?|\n)\Z")
# A line, and its number in the file, from 1.
Line = Tuple[int, str]


class Text(NamedTuple):
    """A text, and the object of the input that it comes from; of a line of text its
    number."""

    text: str
    entry: Dict[str, Any]


class Failure(NamedTuple):
    """What is set aside, and why. entry: As it was read, or {"line": str}."""

    entry: Dict[str, Any]
    problem: str


def read_shard(shard: Shard) -> Iterator[Union[Text, Failure]]:
    """Go through the texts of a shard, blank ones too.
    RAISES (DataError, OSError): If the file cannot be read, or is damaged."""
    place, form = Place(shard.uri), form_of(shard.uri)
    path = Path(shard.uri)
    if form == ".spacy":
        docs = parse_docbin(place.read(), spacy.blank("xx"), path)
        yield from (Text(doc.text, doc.user_data.get(ENTRY_KEY, {})) for doc in docs)
        return
    if form == parquet.EXTENSION:
        for row in parquet.read_rows(place, shard.start, shard.end):
            yield from _of_entry(row, path)
        return
    for line in _lines(place, shard):
        if isinstance(line, Failure):
            yield line
        elif form == ".jsonl":
            yield from _of_json(line[1], path)
        else:
            yield from _of_text(*line)


def _of_text(number: int, line: str) -> Iterator[Text]:
    """number (int): Of the line in the file, from 1."""
    # What ends the line is none of its own, and a carriage return may end others in it.
    for piece in _LINE_END.split(_LAST_END.sub("", line)):
        for part in cut_text(piece) if piece.strip() else [""]:
            if part.strip() or not piece.strip():
                yield Text(part.strip(), {"line": number})
        number += 1


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
    yield Text(text, entry)


def _lines(place: Place, shard: Shard) -> Iterator[Union[Line, Failure]]:
    """The lines that begin in a shard."""
    try:
        with place.open() as file_:
            if is_packed(shard.uri):
                with unpack(file_, Path(shard.uri)) as unpacked:
                    yield from _decoded(unpacked, shard)
            else:
                yield from _decoded(file_, shard)
    except UNPACK_ERRORS as error:
        problem = f"{shard.uri}: cannot be unpacked ({error}): fetch or pack it again"
        raise DataError(problem) from error


def _decoded(file_: IO[bytes], shard: Shard) -> Iterator[Union[Line, Failure]]:
    # A line belongs to the shard in which it begins: after the end of one before it.
    at, number = seek_of(shard.start), shard.line + 1
    file_.seek(at)
    if shard.start:
        n_bytes, n_ends = _skip_line(file_)
        at, number = at + n_bytes, number + n_ends
    while shard.end < 0 or at < shard.end:
        line = file_.readline(MAX_LINE_CHARS)
        if not line:
            return
        begin, at = at, at + len(line)
        first, number = number, number + count_ends(line)
        if begin == 0 and line.startswith(UTF16_MARKS):
            raise DataError("is UTF-16: save the files as UTF-8")
        if len(line) == MAX_LINE_CHARS and not line.endswith(b"\n"):
            n_bytes, n_ends = _skip_line(file_)
            at, number = at + n_bytes, number + n_ends
            problem = f"has more than {MAX_LINE_CHARS:,} bytes: divide it"
            yield _bad_line(line[:1000], first, problem)
            continue
        try:
            yield first, line.removeprefix(b"" if begin else _UTF8_MARK).decode("utf8")
        except UnicodeDecodeError as error:
            yield _bad_line(line, first, f"is not UTF-8 ({error})")


def _skip_line(file_: IO[bytes]) -> Tuple[int, int]:
    """Go behind the end of a line. RETURNS (Tuple[int, int]): Bytes and ends of lines
    that were passed."""
    n_bytes = n_ends = 0
    while part := file_.readline(MAX_LINE_CHARS):
        n_bytes, n_ends = n_bytes + len(part), n_ends + count_ends(part)
        if part.endswith(b"\n"):
            break
    return n_bytes, n_ends


def _bad_line(line: bytes, number: int, problem: str) -> Failure:
    text = line.decode("utf8", "replace")
    return Failure({"line": text}, shorten(f"line {number:,} {problem}"))
