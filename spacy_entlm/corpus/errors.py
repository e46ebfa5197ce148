"""Errors about annotated data: what is wrong, where, and what to do."""

from pathlib import Path
from typing import Optional


class CorpusError(ValueError):
    """Bad annotated data, or a file that cannot be read as such.

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


class SamplingError(CorpusError):
    """The data do not allow the sample that was asked for."""
