"""Lines of a text file, packed with xz or gzip or not, and such files to write."""

import gzip
import lzma
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Iterator, Tuple, cast

from ..corpus.errors import CorpusError

PACKED = (".xz", ".gz")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

# A line of a file with its number, counted from 1.
Line = Tuple[int, str]


def unpacked_extension(path: Path) -> str:
    """Tell what a file holds from its name.

    path (Path): The file.
    RETURNS (str): Its extension in lower case, without that of the packing.
    """
    if path.suffix.lower() in PACKED:
        path = path.with_suffix("")
    return path.suffix.lower()


def read_lines(path: Path) -> Iterator[Line]:
    """Go through the lines of a UTF-8 file.

    path (Path): The file; .xz and .gz are unpacked.
    YIELDS (Line): Line numbers and lines, without their ends.
    RAISES (CorpusError): If the file cannot be read, is damaged, or is not UTF-8; the
        message names the line.
    """
    if path.is_dir():
        raise CorpusError("is a folder: name a file in it", path=path)
    number = 0
    try:
        with _open_binary(path, "rb") as file_:
            for number, line in enumerate(file_, 1):
                if number == 1:
                    line = line.removeprefix(_BYTE_ORDER_MARK)
                yield number, line.rstrip(b"\r\n").decode("utf-8")
    except FileNotFoundError as error:
        raise CorpusError("no such file: check the path", path=path) from error
    except UnicodeDecodeError as error:
        raise CorpusError(
            f"not UTF-8: byte {error.object[error.start]:#04x} at offset "
            f"{error.start} of the line. Save the file as UTF-8",
            path=path,
            line=number,
        ) from error
    except (lzma.LZMAError, zlib.error, gzip.BadGzipFile, EOFError) as error:
        raise CorpusError(
            f"cannot be unpacked after line {number} ({error}): fetch or pack the "
            "file again",
            path=path,
        ) from error
    except OSError as error:
        raise CorpusError(f"cannot be read ({error.strerror})", path=path) from error


@contextmanager
def open_to_write(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for writing, packed if its name ends in .xz or .gz.

    path (Path): The file.
    YIELDS (IO[bytes]): To write to.
    """
    with _open_binary(path, "wb") as file_:
        yield file_


def _open_binary(path: Path, mode: str) -> IO[bytes]:
    suffix = path.suffix.lower()
    if suffix == ".xz":
        return cast(IO[bytes], lzma.open(path, mode))
    if suffix == ".gz":
        return cast(IO[bytes], gzip.open(path, mode))
    return cast(IO[bytes], path.open(mode))
