"""Plain text as a stream of lines, from .txt, JSON lines and .spacy files."""

import gzip
import hashlib
import lzma
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Dict, Iterable, Iterator, List, Optional, Tuple

from ..corpus.errors import CorpusError
from ..corpus.json_lines import load_object
from ..lexicon.files import unpacked_extension

# A longer line is cut at white space: a text may be one line of a gigabyte.
MAX_LINE_BYTES = 1 << 13
MAX_LINE_CHARS = MAX_LINE_BYTES
# Damaged packed files end in one of these.
UNPACK_ERRORS = (lzma.LZMAError, zlib.error, gzip.BadGzipFile, EOFError)
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
BLANKS = (b" ", b"\t")
TEXT_KEYS = ("text", "tokens", "words")
HELD_OUT_SALT = b"spacy-entlm held-out"
# So that the share is exact as a float.
HASH_BYTES = 6


def read_text(paths: Iterable[Path]) -> Iterator[str]:
    """Go through the lines of text files, none of which is held in memory as a whole
    (but .spacy files are).

    paths (Iterable[Path]): .txt and .jsonl files, packed (.xz, .gz) or not, and .spacy
        files. A JSON line is {"text": str}, or {"text": [words]}.
    YIELDS (str): Lines that are not blank, without blanks around them. Lines of more
        than MAX_LINE_BYTES come in parts, cut at white space where there is some.
    RAISES (CorpusError): If a file cannot be read, is damaged, or is not UTF-8; the
        message names the file and the line.
    """
    for path in paths:
        for text in _READERS[_kind(path)](path):
            for part in cut_text(text):
                if part := part.strip():
                    yield part


def is_held_out(text: str, share: float) -> bool:
    """Whether a line belongs to the part that is kept for measuring.

    text (str): The line; equal lines are always in the same part.
    share (float): Size of that part, from 0 to 1.
    """
    return hash_share(text) < share


def hash_share(text: str) -> float:
    """A number from 0 to below 1 that depends on the text and on nothing else: not on
    the order of lines, a seed, or the model."""
    data = text.encode("utf8", "surrogatepass")
    digest = hashlib.blake2b(data, digest_size=HASH_BYTES, key=HELD_OUT_SALT).digest()
    return int.from_bytes(digest, "big") / 256**HASH_BYTES


def check_text_files(paths: List[Path]) -> None:
    """Check names of text files before anything is read.

    RAISES (CorpusError): If there is no such file, or its form is not known.
    """
    for path in paths:
        if path.is_dir():
            raise CorpusError("is a folder: name a file in it", path=path)
        if not path.exists():
            raise CorpusError("no such file: check the path", path=path)
        _kind(path)


def cut_text(text: str) -> Iterator[str]:
    """Cut a long text at white space, or anywhere if it has none.

    YIELDS (str): Parts of at most MAX_LINE_CHARS characters, which make up the text.
    """
    start = 0
    while len(text) - start > MAX_LINE_CHARS:
        end = start + MAX_LINE_CHARS
        blank = max(text.rfind(" ", start, end), text.rfind("\n", start, end))
        end = blank if blank > start else end
        yield text[start:end]
        start = end
    yield text[start:]


def is_text_file(path: Path) -> bool:
    """Whether `read_text` reads files with this name's extension."""
    kind = unpacked_extension(path)
    # .spacy files are packed already.
    return kind in _READERS and (kind != ".spacy" or path.suffix.lower() == kind)


def _kind(path: Path) -> str:
    if not is_text_file(path):
        raise CorpusError(
            f"unknown extension {''.join(path.suffixes[-2:])!r}: text is .txt or "
            f".jsonl, packed (.xz, .gz) or not, or .spacy",
            path=path,
        )
    return unpacked_extension(path)


def _plain(path: Path) -> Iterator[str]:
    with _opened(path) as (file, place):
        for line in _bounded_lines(file, place):
            yield line.decode("utf-8")


def _json_texts(path: Path) -> Iterator[str]:
    with _opened(path) as (file, place):
        for line in file:
            place["line"] += 1
            place["bytes"] = line
            text = line.decode("utf-8-sig").strip()
            if text:
                yield _text_of(text, path, place["line"])


def _text_of(line: str, path: Path, number: int) -> str:
    entry = load_object(line, path, number, form='{"text": "..."}')
    value = next((entry[key] for key in TEXT_KEYS if key in entry), None)
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        value = " ".join(value)
    if not isinstance(value, str):
        raise CorpusError(
            f"no text in {line:.60}: write one {{'text': '...'}} per line",
            path=path,
            line=number,
        )
    # JSON may hold halves of characters, which no tokenizer takes.
    return value.encode("utf8", "replace").decode("utf8")


def _docs(path: Path) -> Iterator[str]:
    import spacy

    from ..corpus.readers import read_docbin

    with _opened(path) as (file, _):
        data = file.read()
    for doc in read_docbin(data, spacy.blank("xx"), path):
        yield doc.text


_READERS: Dict[str, Any] = {".txt": _plain, ".jsonl": _json_texts, ".spacy": _docs}


@contextmanager
def _opened(path: Path) -> Iterator[Tuple[IO[bytes], Dict[str, Any]]]:
    """The file, and where the reader is: "line", from 1, and "bytes" of that line."""
    opener: Any = {".xz": lzma.open, ".gz": gzip.open}.get(path.suffix.lower(), open)
    place: Dict[str, Any] = {"line": 0, "bytes": b""}
    try:
        with opener(path, "rb") as file:
            yield file, place
    except UnicodeDecodeError as error:
        raise CorpusError(
            f"not UTF-8: byte {error.object[error.start]:#04x}. Save the file as UTF-8",
            path=path,
            line=place["line"],
        ) from error
    except UNPACK_ERRORS as error:
        raise CorpusError(
            f"cannot be unpacked after line {place['line']} ({error}): fetch or pack "
            f"the file again",
            path=path,
        ) from error
    except OSError as error:
        raise CorpusError(f"cannot be read ({error.strerror})", path=path) from error


def _bounded_lines(file: IO[bytes], place: Dict[str, Any]) -> Iterator[bytes]:
    """Lines, long ones in parts that are cut at blanks, or else between characters."""
    rest: Optional[bytes] = None
    while True:
        if rest is None:
            place["line"] += 1
        block = file.readline(MAX_LINE_BYTES - len(rest or b""))
        if place["line"] == 1 and rest is None:
            block = block.removeprefix(BYTE_ORDER_MARK)
        line = (rest or b"") + block
        if not block or line.endswith(b"\n"):
            if line:
                yield line
            elif not block:
                return
            rest = None
        elif len(line) < MAX_LINE_BYTES:
            rest = line  # the end of the file, or a byte order mark, is near
        else:
            cut = max(line.rfind(blank) for blank in BLANKS)
            cut = cut if cut > 0 else _character_start(line)
            yield line[:cut]
            rest = line[cut:]


def _character_start(line: bytes) -> int:
    """Where the last character of a block begins that may not be whole."""
    for back in range(1, 5):
        if line[-back] & 0xC0 != 0x80:
            return len(line) - back
    return len(line)
