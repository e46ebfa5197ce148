"""The error about a file: what is wrong, where, and what to do."""

from pathlib import Path
from typing import Optional


class DataError(ValueError):
    """Bad data, or a file that cannot be read or written.

    message (str): What is wrong, the value, and what to do.
    path (Optional[Path]), line (Optional[int]): The file and the number of its line,
        counted from 1, which are put before the message.
    """

    def __init__(
        self, message: str, *, path: Optional[Path] = None, line: Optional[int] = None
    ) -> None:
        places = [] if path is None else [str(path)]
        places += [] if line is None else [f"line {line}"]
        super().__init__(": ".join([*filter(None, [", ".join(places)]), message]))
        self.path = path
        self.line = line
