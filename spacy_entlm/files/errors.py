"""The error about a file: what is wrong, where, and what to do."""

from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, Optional

# Of a message: a value in it may be a line of a gigabyte.
MAX_CHARACTERS = 1000


class DataError(ValueError):
    """Bad data, or a file that cannot be read or written: what is wrong, the value, and
    what to do. The path and the line's number, from 1, are put before the message, and
    the middle of a long one is left out."""

    def __init__(
        self, message: str, *, path: Optional[Path] = None, line: Optional[int] = None
    ) -> None:
        places = [] if path is None else [str(path)]
        places += [] if line is None else [f"line {line}"]
        message = shorten(message)
        super().__init__(": ".join([*filter(None, [", ".join(places)]), message]))
        self.path = path
        self.line = line


class DiskFullError(DataError):
    """There is no room for an output.

    strerror (str): What the system said. path: The output.
    """

    def __init__(self, strerror: str, path: Path) -> None:
        problem = f"cannot be written ({strerror})"
        text = f"{problem}: make room, or choose another output"
        super().__init__(text, path=path)
        self.strerror = strerror


def shorten(message: str, most: int = MAX_CHARACTERS) -> str:
    """A message, of which the middle is left out if it is long: it begins with what is
    wrong, and ends with what to do."""
    half = most // 2
    is_long = len(message) > most
    return f"{message[:half]} ... {message[-half:]}" if is_long else message


@contextmanager
def located(path: Path, line: Optional[int] = None, what: str = "") -> Iterator[None]:
    """Say of a ValueError in which file and line it is, and before it what it means.
    RAISES (DataError): In its place."""
    try:
        yield
    except ValueError as error:
        raise DataError(f"{what}{error}", path=path, line=line) from error
