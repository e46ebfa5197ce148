"""Lines of text files, packed or not, and which file of a folder is meant."""

import glob
import gzip
import lzma
import re
import zlib
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Any, Dict, Iterable, Iterator, List, Optional, Tuple

from .errors import DataError

PACKED: Dict[str, Any] = {".xz": lzma.open, ".gz": gzip.open}
UNPACK_ERRORS = (lzma.LZMAError, zlib.error, gzip.BadGzipFile, EOFError)
# A text of more than a million characters is refused by spaCy, whose longest form in
# JSON has 12 characters for each.
MAX_LINE_CHARS = 2**24
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
# How files begin that are no text, and what is to be done with them.
_NO_TEXT = {
    b"\x1f\x8b": "is packed: end its name in .gz",
    b"\xfd7zXZ\0": "is packed: end its name in .xz",
    **{
        b"BZh%d1A" % level: "is packed as bz2: unpack it, or pack it as .gz or .xz"
        for level in range(1, 10)
    },
    b"PK\3\4": "is an archive: unpack it, and name a file in it",
}
_N_HEAD_BYTES = 6
# Where a line ends within a text, as for str.splitlines: also at a vertical tab, a form
# feed and Unicode's separators.
LINE_BREAK = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
# What bytes that are no UTF-8 become with "surrogateescape".
_NO_UTF8 = re.compile("[\udc80-\udcff]")

# A line of a file with its number, counted from 1.
Line = Tuple[int, str]


def unpacked_extension(path: Path) -> str:
    """The extension of a file in lower case, without that of the packing."""
    if path.suffix.lower() in PACKED:
        path = path.with_suffix("")
    return path.suffix.lower()


def find_part(folder: Path, stem: str, extensions: Iterable[str]) -> Optional[Path]:
    """Find the file of a folder that has a name, whatever its form.

    extensions (Iterable[str]): Those that are read; each may be packed, too.
    RAISES (DataError): If there are several.
    """
    found = find_forms(folder, stem, extensions)
    if len(found) > 1:
        listed = ", ".join(path.name for path in found)
        problem = f"has several files for one part ({listed}): keep one of them"
        raise DataError(problem, path=folder)
    return found[0] if found else None


def find_forms(folder: Path, stem: str, extensions: Iterable[str]) -> List[Path]:
    """Find all files of a folder that have a name, in the order of their extensions.
    extensions (Iterable[str]): As of `find_part`."""
    endings = [f"{ext}{pack}" for ext in extensions for pack in ("", *PACKED)]
    stem_length = len(Path(stem).name)
    found = [
        path
        for path in sorted(folder.glob(f"{glob.escape(stem)}.*"))
        if path.name[stem_length:].lower() in endings and path.is_file()
    ]
    # "train.txt" beside "train.TXT" is the one that is written as we do.
    found = [x for x in found if x.name[stem_length:] in endings] or found
    return sorted(found, key=lambda x: endings.index(x.name[stem_length:].lower()))


def check_file(path: Path) -> None:
    """RAISES (DataError): If there is no file, or a folder or a device in its place."""
    if path.is_dir():
        raise DataError("is a folder: name a file in it", path=path)
    if not path.exists():
        raise DataError("no such file: check the path", path=path)
    if not path.is_file():
        raise DataError("is no regular file", path=path)


def read_bytes(path: Path) -> bytes:
    """The content of a file as it lies there. RAISES (DataError): If it cannot be
    read."""
    check_file(path)
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", path=path) from error


def read_lines(path: Path, *, longest: Optional[int] = None) -> Iterator[Line]:
    """Go through the lines of a text file, which is never held as a whole.

    path (Path): The file, in UTF-8, or UTF-16 if it begins with a byte order mark;
        .xz and .gz are unpacked. Lines end in a line feed, a carriage return or both.
    longest (Optional[int]): Characters of a line; longer ones come in parts with one
        number, cut after white space where there is some. None: a line of more than
        MAX_LINE_CHARS is an error, since a small packed file may hold a huge one.
    YIELDS (Line): Line numbers and lines, without their ends.
    RAISES (DataError): If the file cannot be read, is damaged, or is no text; the
        message names the line.
    """
    check_file(path)
    number = 0
    try:
        with open_packed(path, "rb") as file_:
            head = file_.read(_N_HEAD_BYTES)
        _check_head(head, path)
        marked = head[:2] in UTF16_MARKS
        form = ("utf-16", "strict") if marked else ("utf-8-sig", "surrogateescape")
        with TextIOWrapper(open_packed(path, "rb"), *form) as text:
            for number, line in _split(text, longest, path):
                if found := _NO_UTF8.search(line):
                    offset = len(line[: found.start()].encode())
                    byte = f"byte {ord(found[0]) - 0xDC00:#04x} at offset {offset}"
                    problem = f"not UTF-8: {byte} of the line. Save the file as UTF-8"
                    raise DataError(problem, path=path, line=number)
                yield number, line
    except UnicodeDecodeError as error:
        raise DataError("no UTF-16 text. Save the file as UTF-8", path=path) from error
    except UNPACK_ERRORS as error:
        problem = f"cannot be unpacked after line {number} ({error}): "
        raise DataError(f"{problem}fetch or pack the file again", path=path) from error
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", path=path) from error


def _check_head(head: bytes, path: Path) -> None:
    """RAISES (DataError): If a file that begins with these bytes is no text."""
    for mark, problem in _NO_TEXT.items():
        if head.startswith(mark):
            raise DataError(problem, path=path)
    # Every second byte of UTF-16 is zero in most languages of Latin letters.
    if len(head) > 3 and any(not any(head[i:4:2]) and any(head[:4]) for i in (0, 1)):
        problem = "no UTF-8, but perhaps UTF-16 without its mark"
        raise DataError(f"{problem}. Save the file as UTF-8", path=path)


def open_packed(path: Path, mode: str = "wb") -> IO[bytes]:
    """Open a file of bytes, which are packed if its name ends in .xz or .gz."""
    return PACKED.get(path.suffix.lower(), open)(path, mode)


def unpack(packed: IO[bytes], path: Path) -> IO[bytes]:
    """The content of a packed file that is open. path: Its name tells the packing."""
    return PACKED[path.suffix.lower()](packed)


def _split(text: TextIOWrapper, longest: Optional[int], path: Path) -> Iterator[Line]:
    number, rest = 1, ""
    # One more than is allowed tells that a line is too long.
    limit = MAX_LINE_CHARS + 1 if longest is None else longest
    while part := text.readline(limit - len(rest)):
        line, rest = rest + part, ""
        if line.endswith("\n"):
            yield number, line[:-1]
            number += 1
        elif len(line) < limit:
            rest = line
        elif longest is None:
            problem = f"has more than {MAX_LINE_CHARS:,} characters: divide it"
            raise DataError(problem, path=path, line=number)
        else:
            cut = max(line.rfind(" "), line.rfind("\t")) + 1 or longest
            yield number, line[:cut]
            rest = line[cut:]
    if rest:
        yield number, rest
