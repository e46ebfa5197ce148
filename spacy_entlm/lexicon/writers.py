"""Lexicons to files."""

import json
from pathlib import Path
from typing import Any, Dict, Iterable

from ..corpus.errors import CorpusError
from .entries import Entry
from .files import open_to_write, unpacked_extension


def check_lexicon_extension(path: Path) -> None:
    """Check that a lexicon of this name can be written.

    path (Path): The output file.
    RAISES (CorpusError): If it does not end in .jsonl, .jsonl.xz or .jsonl.gz.
    """
    if unpacked_extension(path) != ".jsonl":
        raise CorpusError(
            "a lexicon is written as JSON lines: end its name in .jsonl, .jsonl.xz or "
            ".jsonl.gz",
            path=path,
        )


def write_lexicon(entries: Iterable[Entry], path: Path) -> None:
    """Write a lexicon as JSON lines {"name", "label", "weight"?, "source"?}.

    entries (Iterable[Entry]): The entries.
    path (Path): The file; packed if its name ends in .xz or .gz.
    """
    with open_to_write(path) as file_:
        for entry in entries:
            line = json.dumps(_as_object(entry), ensure_ascii=False)
            file_.write(line.encode("utf-8") + b"\n")


def _as_object(entry: Entry) -> Dict[str, Any]:
    made: Dict[str, Any] = {"name": entry.name, "label": entry.label}
    if entry.weight is not None:
        is_whole = float(entry.weight).is_integer()
        made["weight"] = int(entry.weight) if is_whole else entry.weight
    if entry.source:
        made["source"] = entry.source
    return made
