"""brat: a text (.txt), and beside it a file of its marks (.ann)."""

import re
from pathlib import Path
from typing import Any, Iterable

from ...files.errors import DataError, located
from ...files.text import Line, read_bytes, read_lines
from ..records import Record
from .source import Place, Source
from .spans import make_record

MARKS = ".ann"
_MARK = re.compile(r"(\S+) (\d+) (\d+)((?:;\d+ \d+)*)")
# Relations, events, attributes, ids of other sources, notes.
_OTHERS = ("R", "E", "A", "M", "N", "*", "#")
ALONE = "Texts without an .ann file beside them, which are left out"
DISCONTINUOUS = "spans in several pieces"


def fits_brat(path: Path) -> bool:
    """Whether a file has such a partner."""
    return path.suffix.lower() == MARKS or path.with_suffix(MARKS).is_file()


def is_brat_folder(path: Path) -> bool:
    """Whether a folder holds such pairs."""
    return path.is_dir() and any(path.glob(f"*{MARKS}"))


def read_brat(lines: Iterable[Line], source: Source) -> list[Record]:
    """Read a text with its marks, or those of a whole folder. Marks in several pieces
    are counted, and their words count as not annotated.
    RAISES (DataError): If a partner is not there, or a mark is broken."""
    path = source.path
    paths = sorted(path.glob(f"*{MARKS}")) if path.is_dir() else [path]
    for text in sorted(path.glob("*.txt")) if path.is_dir() else []:
        if not text.with_suffix(MARKS).is_file():
            source.report.note(ALONE, text.name)
    source.report.understood = "brat's texts and marks"
    return [_read(one, source) for one in paths]


def _read(path: Path, source: Source) -> Record:
    marks_path = path.with_suffix(MARKS)
    text_path = path.with_suffix(".txt")
    if not text_path.is_file():
        raise DataError(f"its text {text_path.name} is not beside it", path=path)
    try:
        text = read_bytes(text_path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError("not UTF-8: save it as such", path=text_path) from error
    spans: list[dict[str, Any]] = []
    missing = []
    for number, line in read_lines(marks_path):
        if line[:1] in _OTHERS or not line.strip():
            continue
        with located(marks_path, number):
            cells = line.split("\t")
            is_mark = len(cells) > 1 and line.lstrip().startswith("T")
            found = _MARK.fullmatch(cells[1].strip()) if is_mark else None
            if found is None:
                raise ValueError(
                    f"no mark in {line!r:.100}: T1, its class and offsets, words"
                )
            start, end = int(found[2]), int(found[3])
            for piece in filter(None, found[4].split(";")):
                first, last = map(int, piece.split())
                # brat cuts a mark at a line break.
                is_whole = end <= first and not text[end:first].strip()
                start, end = start, last if is_whole else -1
                if not is_whole:
                    break
            if end < 0:
                source.report.skipped[DISCONTINUOUS] += 1
                last = int(found[4].split()[-1])
                missing.append((start, min(last, len(text))))
                continue
            span = {"start": start, "end": end, "label": found[1]}
            spans.append({**span, "text": cells[2] if len(cells) > 2 else None})
    with located(marks_path):
        place = Place(1, text_path.name)
        record = make_record(text, spans, place, source.report)
    return record._replace(missing=[*record.missing, *missing])
