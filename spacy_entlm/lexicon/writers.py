"""Lexicons to files."""

from pathlib import Path
from typing import Any, Dict, Iterable

from ..files.errors import DataError
from ..files.json_lines import dump_line
from ..files.text import open_packed, unpacked_extension
from .entries import Entry


def check_lexicon_extension(path: Path) -> None:
    """Check that a lexicon of this name can be written.

    RAISES (DataError): If it does not end in .jsonl, .jsonl.xz or .jsonl.gz.
    """
    if unpacked_extension(path) != ".jsonl":
        raise DataError(
            "a lexicon is written as JSON lines: end its name in .jsonl, .jsonl.xz or "
            ".jsonl.gz",
            path=path,
        )


def write_lexicon(entries: Iterable[Entry], path: Path) -> None:
    """Write a lexicon as JSON lines {"name", "label", "weight"?, "source"?}, packed if
    the name of the file ends in .xz or .gz."""
    with open_packed(path) as file_:
        for name, label, weight, source in entries:
            made: Dict[str, Any] = {"name": name, "label": label}
            if weight is not None:
                made["weight"] = int(weight) if float(weight).is_integer() else weight
            if source:
                made["source"] = source
            file_.write(dump_line(made))
