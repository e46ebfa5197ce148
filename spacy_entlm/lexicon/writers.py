"""Lexicons to files."""

from pathlib import Path
from typing import Any, Dict, Iterable

from ..files.errors import DataError
from ..files.json_lines import dump_line
from ..files.text import open_packed, unpacked_extension
from .entries import Entry


def check_lexicon_extension(path: Path) -> None:
    """Check that a lexicon of this name can be written.

    path (Path): The output file.
    RAISES (DataError): If it does not end in .jsonl, .jsonl.xz or .jsonl.gz.
    """
    if unpacked_extension(path) != ".jsonl":
        raise DataError(
            "a lexicon is written as JSON lines: end its name in .jsonl, .jsonl.xz or "
            ".jsonl.gz",
            path=path,
        )


def write_lexicon(entries: Iterable[Entry], path: Path) -> None:
    """Write a lexicon as JSON lines {"name", "label", "weight"?, "source"?}.

    entries (Iterable[Entry]): The entries.
    path (Path): The file; packed if its name ends in .xz or .gz.
    """
    with open_packed(path) as file_:
        for entry in entries:
            file_.write(dump_line(_as_object(entry)))


def _as_object(entry: Entry) -> Dict[str, Any]:
    made: Dict[str, Any] = {"name": entry.name, "label": entry.label}
    if entry.weight is not None:
        is_whole = float(entry.weight).is_integer()
        made["weight"] = int(entry.weight) if is_whole else entry.weight
    if entry.source:
        made["source"] = entry.source
    return made
