"""The error about a file: what is wrong, where, and what to do."""

from pathlib import Path
from typing import Optional


class DataError(ValueError):
    """Bad data, or a file that cannot be read or written.

    message (str): What is wrong, the value, and what to do.
    path (Optional[Path]): The file, put before the message.
    line (Optional[int]): Line number in that file, counted from 1.
    """

    def __init__(
        self,
        message: str,
        *,
        path: Optional[Path] = None,
        line: Optional[int] = None,
    ) -> None:
        place = "" if path is None else str(path)
        if line is not None:
            place = f"{place}, line {line}" if place else f"line {line}"
        super().__init__(f"{place}: {message}" if place else message)
        self.path = path
        self.line = line
