"""The error about a file: what is wrong, where, and what to do."""

from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, Optional


class DataError(ValueError):
    """Bad data, or a file that cannot be read or written: what is wrong, the value, and
    what to do. The path and the line's number, from 1, are put before the message."""

    def __init__(
        self, message: str, *, path: Optional[Path] = None, line: Optional[int] = None
    ) -> None:
        places = [] if path is None else [str(path)]
        places += [] if line is None else [f"line {line}"]
        super().__init__(": ".join([*filter(None, [", ".join(places)]), message]))
        self.path = path
        self.line = line


@contextmanager
def located(path: Path, line: Optional[int] = None, what: str = "") -> Iterator[None]:
    """Say of a ValueError in which file and line it is, and before it what it means.
    RAISES (DataError): In its place."""
    try:
        yield
    except ValueError as error:
        raise DataError(f"{what}{error}", path=path, line=line) from error
