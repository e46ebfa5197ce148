"""Marks of Amazon Comprehend: a table or JSON lines, and the texts in files beside."""

from pathlib import Path
from typing import Any, NamedTuple, Optional, Sequence

from ...files.errors import DataError, located
from ...files.text import read_lines
from ..records import Record, TextRecord
from .json_values import objects, part
from .source import Place, Source
from .spans import make_record

# Columns of the table. Where a text is a whole file, no line is named.
COLUMNS = ("file", "begin_offset", "end_offset", "type")
LINE = "line"
_MARKS, _FILE, _LINE, _TEXT = "Entities", "File", "Line", "Text"


class FileMark(NamedTuple):
    """A mark of a text in a file. line (Optional[int]): The line that is the text, from
    0; None: the whole file. span (Any): As of `make_record`. place (Place): Where the
    mark stands."""

    file: str
    line: Optional[int]
    span: Any
    place: Place


def fits_comprehend(entry: Any) -> bool:
    """Whether an object is what Comprehend found in a text."""
    return isinstance(entry, dict) and isinstance(entry.get(_MARKS), list)


def parse_comprehend(
    entry: dict[str, Any], place: Place, source: Source
) -> list[Record]:
    """Read {"Entities": [{"BeginOffset", "EndOffset", "Type"}], "File", "Line"}. The
    text is a line of the file, which lies beside, or stands under "Text".
    RAISES (ValueError): If there is no text, or a span is broken."""
    spans = [_span(mark) for mark in objects(part(entry, _MARKS, list))]
    text = entry.get(_TEXT)
    if isinstance(text, str):
        return [make_record(text, spans, place, source.report)]
    name, line = entry.get(_FILE), entry.get(_LINE)
    if not isinstance(name, str):
        raise ValueError(
            'Comprehend\'s marks without the text: put it in as "Text", or name a file '
            'beside this one: "File": "texts.txt", "Line": 0'
        )
    if line is not None and type(line) is not int:
        raise ValueError(f'"{_LINE}" must be a whole number, not {line!r:.60}')
    texts = read_texts(name, source, whole=line is None)
    record = make_record(_text_of(texts, name, line), spans, place, source.report)
    return [record]


def read_marks(marks: Sequence[FileMark], source: Source) -> list[TextRecord]:
    """All texts of the files that marks name, with their marks.
    RAISES (DataError): If a file is not beside, or a mark lies in none of its texts."""
    records = []
    for name in dict.fromkeys(mark.file for mark in marks):
        own = [mark for mark in marks if mark.file == name]
        whole = any(mark.line is None for mark in own)
        with located(source.path):
            texts = read_texts(name, source, whole=whole)
        for mark in own:
            with source.located(mark.place):
                _text_of(texts, name, mark.line)
        for number, text in texts.items():
            spans = [mark.span for mark in own if mark.line == number]
            place = Place((number or 0) + 1, f"{name}, line")
            if text.strip():
                with source.located(place):
                    records.append(make_record(text, spans, place, source.report))
    return records


def read_texts(name: str, source: Source, *, whole: bool) -> dict[Optional[int], str]:
    """The lines of a file beside the marks, by their numbers from 0, or the whole of it
    by None.
    RAISES (DataError): If it is not there, or elsewhere."""
    if Path(name).name != name or "\\" in name:
        raise DataError(f"names the file {name!r:.100}: only files beside it are read")
    lines = [line for _, line in read_lines(source.path.parent / name)]
    if whole:
        return {None: "\n".join(lines)}
    return dict(enumerate(lines))


def _text_of(texts: dict[Optional[int], str], name: str, line: Optional[int]) -> str:
    text = texts.get(line, "")
    if not text.strip():
        raise ValueError(
            f"a mark is on line {line} of {name}, which has no text there: lines are "
            "counted from 0"
        )
    return text


def _span(mark: dict[str, Any]) -> dict[str, Any]:
    keys = {"BeginOffset": "start", "EndOffset": "end", "Type": "label", "Text": "text"}
    return {ours: mark.get(theirs) for theirs, ours in keys.items()}
