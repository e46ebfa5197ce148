"""Tables (CSV, TSV, Excel): a row for each word, each text or each mark."""

import ast
import csv
import json
import re
from io import StringIO
from pathlib import Path
from typing import Any, Iterable, Sequence

from ...files.errors import DataError
from ...files.text import Line, unpacked_extension
from ..records import Record
from .columns import Row, choose_roles, divide_numbered, word_record
from .comprehend import COLUMNS, LINE, FileMark, read_marks
from .json_texts import parse_text
from .roles import TAG_NAMES, header_names
from .source import Place, Source
from .spans import make_record

ROW = "row"
# Names of columns, in lower case, with "_" for blanks.
_TEXTS = ("text", "content", "document", "sentence", "utterance", "tokens", "words")
_OF_MARKS = {
    "text": _TEXTS,
    "start": ("start", "begin", "start_offset", "begin_offset", "start_char", "offset"),
    "end": ("end", "stop", "end_offset", "end_char"),
    "label": ("label", "type", "entity_type", "class", "tag", "category", "entity"),
}
_OWN_TEXTS = ("surface", "span", "mention", "entity_text", "phrase", "value", "entity")
# A column that says to which sentence a word belongs.
_SENTENCE = re.compile(r"sent(?!i)|doc|para|text_?id")
_MAYBE_SENTENCE = re.compile(r"example|group|line")
_OF_WORDS = re.compile(r"tok|word|pos")
_TAGS = re.compile(r"(O|[BILUES]-\S+)( (O|[BILUES]-\S+))+")
# Numpy writes no commas: ['Ann' 'flew'], [1 0].
_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")
_NUMPY_WORDS = re.compile(
    rf"\[\s*(?:{_QUOTED.pattern})(?:\s+(?:{_QUOTED.pattern}))+\s*\]"
)
_CUT = re.compile(r"\[\s*(?:'[^']*'\s*|\"[^\"]*\"\s*|-?\d+\s+)+\.\.\.\s")
_NUMPY_NUMBERS = re.compile(r"\[\s*-?\d+(?:\s+-?\d+)+\s*\]")
_DELIMITERS = (",", ";", "\t", "|")


def fits_table(lines: Iterable[Line], path: Path) -> bool:
    """Whether a file is a table: a .csv, or one with a row of names that has texts with
    offsets, or tags with a sentence. Of other words and tags the columns tell more."""
    if unpacked_extension(path) == ".csv":
        return True
    names = header_names(next((line for _, line in lines), "").split("\t"))
    is_told = any(_SENTENCE.search(x) or _MAYBE_SENTENCE.search(x) for x in names)
    has_sentence = is_told and len(names) > 2
    has_texts = {"text", "start"} <= _places(names).keys()
    return has_texts or (has_sentence and bool(TAG_NAMES & {*names}))


def read_csv(lines: Iterable[Line], source: Source) -> list[Record]:
    """Read a table whose columns are divided by commas, semicolons, tabs or bars, and
    whose first row may name them.
    RAISES (DataError): If it is broken, or it is not clear what its columns are."""
    import pandas  # which takes half a second

    text = "\n".join(line for _, line in lines).lstrip("\n")
    first = text.partition("\n")[0]
    delimiter = max(_DELIMITERS, key=first.count)
    # Between tabs a quote is a word.
    has_quotes = delimiter != "\t" or '"' in first
    try:
        frame = pandas.read_csv(
            StringIO(text),
            sep=delimiter,
            header=None,
            dtype=str,
            keep_default_na=False,
            skip_blank_lines=False,
            quoting=csv.QUOTE_MINIMAL if has_quotes else csv.QUOTE_NONE,
        )
    except (pandas.errors.ParserError, ValueError) as error:
        told = " ".join(str(error).split())
        problem = f"no table ({told}): quote cells that hold the delimiter"
        raise DataError(problem, path=source.path) from error
    return read_rows(frame.fillna("").values.tolist(), source)


def read_excel(lines: Iterable[Line], source: Source) -> list[Record]:
    """Read the first sheet of a workbook that is not empty; others are counted.
    RAISES (DataError): As `read_csv`. (ImportError): If openpyxl is not installed."""
    import pandas

    try:
        sheets = pandas.read_excel(
            source.path, sheet_name=None, header=None, dtype=str, keep_default_na=False
        )
    except ImportError as error:
        hint = "Excel files need openpyxl: pip install 'spacy-entlm[excel]'"
        raise ImportError(hint) from error
    except Exception as error:  # whatever is wrong in a packed folder of XML
        kind = type(error).__name__
        problem = f"no Excel file, or a damaged one ({kind}): save it anew as .xlsx"
        raise DataError(problem, path=source.path) from error
    filled = {name: sheet for name, sheet in sheets.items() if len(sheet)}
    if not filled:
        raise DataError("the file is empty: add annotated rows", path=source.path)
    first, *others = filled
    source.report.unread.update(f"the sheet {name}" for name in others)
    try:
        return read_rows(filled[first].fillna("").values.tolist(), source)
    except DataError as error:
        if not others:
            raise
        shown = f"the sheet {first!r:.60} is read, and of others none"
        problem = f"{error} ({shown}: {', '.join(others):.200})"
        raise DataError(f"{problem}: put the data first") from error


def read_rows(rows: Sequence[Sequence[Any]], source: Source) -> list[Record]:
    """Read the rows of a table, a header first if there is one.
    RAISES (DataError): If it is not clear what its columns are."""
    cells = [[str(cell).strip() for cell in row] for row in rows]
    numbered = [(n, row) for n, row in enumerate(cells, 1)]
    while numbered and not any(numbered[0][1]):
        del numbered[0]
    if not numbered:
        return []
    names = header_names(numbered[0][1])
    if {*COLUMNS} <= {*names}:
        source.report.understood = "a table of Comprehend's marks"
        return _comprehend(numbered[1:], names, source)
    at = _places(names)
    is_marks = len(at) == len(_OF_MARKS)
    if not is_marks and not ("text" in at and _has_lists(numbered[1:], at["text"])):
        return _words(numbered, names, source)
    for number, row in numbered[1:]:
        if not row[at["text"]].startswith("["):
            # Blanks around a text count in offsets.
            row[at["text"]] = str(rows[number - 1][at["text"]])
    source.report.understood = f"a table, {ROW} 1 a header: "
    if is_marks:
        _check_names(names, at.values(), source)
        source.report.understood += "text, start, end, label"
        return _marks(numbered[1:], names, at, source)
    source.report.understood += "a text a row"
    return _texts(numbered[1:], names, source)


def _places(names: Sequence[str]) -> dict[str, int]:
    """Where the columns of marks are, as far as there are such."""
    found = {
        key: [x for x in wanted if x in names] for key, wanted in _OF_MARKS.items()
    }
    return {key: names.index(some[0]) for key, some in found.items() if some}


def _has_lists(rows: Sequence[Row], text: int) -> bool:
    """Whether rows are texts: with lists in their cells, or tags for several words."""
    cells = [cell for _, row in rows for i, cell in enumerate(row) if i != text]
    has_blank = any(" " in row[text] for _, row in rows)
    has_lists = any(cell.startswith("[") for cell in cells)
    return has_lists or (has_blank and any(map(_TAGS.fullmatch, cells)))


def _marks(
    rows: Sequence[Row], names: list[str], at: dict[str, int], source: Source
) -> list[Record]:
    """Texts from rows of one mark each. A blank text is that of the row before."""
    own = [x for x in _OWN_TEXTS if x in names and x != names[at["label"]]]
    texts: dict[str, tuple[int, list[Any]]] = {}
    text = ""
    for number, row in rows:
        found = row[at["text"]]
        text = found if found.strip() else text
        spans = texts.setdefault(text, (number, []))[1]
        if row[at["start"]]:
            with source.located(Place(number, ROW)):
                span: dict[str, Any] = {"label": row[at["label"]]}
                span.update({key: _whole(row[at[key]]) for key in ("start", "end")})
            if own:
                span["text"] = row[names.index(own[0])]
            spans.append(span)
    records: list[Record] = []
    for text, (number, spans) in texts.items():
        if text or spans:
            place = Place(number, ROW)
            with source.located(place):
                records.append(make_record(text, spans, place, source.report))
    return records


def _whole(value: str) -> int:
    """A whole number; spreadsheets write 9.0 for 9.
    RAISES (ValueError): If it is none."""
    if not re.fullmatch(r"\d{1,9}(\.0*)?", value):
        raise ValueError(f"{value!r:.60} is no offset: write a whole number")
    return int(float(value))


def _texts(rows: Sequence[Row], names: list[str], source: Source) -> list[Record]:
    records: list[Record] = []
    for number, row in rows:
        with source.located(Place(number, ROW)):
            cells = {name: cell for name, cell in zip(names, row) if name and cell}
            entry = {name: _value(cell) for name, cell in cells.items()}
            key = next((key for key in _TEXTS if key in entry), None)
            if key is None:
                continue
            if isinstance(entry[key], str):
                entry["text"] = entry.pop(key)
            records += parse_text(entry, Place(number, ROW), source)
    return records


def _value(cell: str) -> Any:
    """A cell, which may hold a list as JSON, Python or numpy writes it.
    RAISES (ValueError): If numpy left out the middle of the list."""
    if _CUT.match(cell):
        raise ValueError(f"a list that was cut, {cell!r:.60}: write it anew as JSON")
    if _NUMPY_WORDS.fullmatch(cell):
        return [ast.literal_eval(word) for word in _QUOTED.findall(cell)]
    if _NUMPY_NUMBERS.fullmatch(cell):
        return [int(number) for number in cell[1:-1].split()]
    if cell.startswith("["):
        for load in (json.loads, ast.literal_eval):
            try:
                return load(cell)
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
    return cell


def _words(rows: Sequence[Row], names: list[str], source: Source) -> list[Record]:
    """Sentences from rows of one word each; columns tell the sentence, or a blank row
    divides two."""
    sentences = _sentences(rows, _sentence_columns(rows, names))
    sentences, roles = choose_roles(sentences, source)
    source.report.understood = f"a table, {source.report.understood}"
    _check_quotes(rows, source)
    sentences = divide_numbered(sentences, roles, source)
    return [word_record(sentence, roles, ROW) for sentence in sentences]


def _sentence_columns(rows: Sequence[Row], names: list[str]) -> list[int]:
    """Columns whose values change where another sentence begins, by their names."""
    if not TAG_NAMES & {*names}:
        return []
    found = [
        i
        for i, name in enumerate(names)
        if _SENTENCE.search(name) and not _OF_WORDS.search(name)
    ]
    for i in (i for i, name in enumerate(names) if _MAYBE_SENTENCE.search(name)):
        values = [row[i] for _, row in rows[1:] if any(row)]
        # Where each row has another value, these are numbers of rows.
        if not found and any(a == b or not b for a, b in zip(values, values[1:])):
            found.append(i)
    return found


def _sentences(rows: Sequence[Row], at: Sequence[int]) -> list[list[Row]]:
    """Rows with a header, divided where a value changes; none is that of the row
    before."""
    sentences: list[list[Row]] = [[]]
    before: dict[int, str] = {}
    for number, row in rows:
        is_header = number == rows[0][0]
        values = {i: row[i] for i in at if row[i] and not is_header}
        if not any(row) or any(before.get(i) != value for i, value in values.items()):
            sentences.append([])
        before.update(values)
        if any(row):
            sentences[-1].append((number, row))
    return [sentence for sentence in sentences if sentence]


def _check_quotes(rows: Sequence[Row], source: Source) -> None:
    """RAISES (DataError): If a word goes over lines."""
    for number, row in rows:
        cell = next((cell for cell in row if "\n" in cell), None)
        if cell is not None:
            raise DataError(
                f"{ROW} {number}: {cell!r:.60} goes over lines: a quote is not closed. "
                'Write the word \'"\' as """" between commas',
                path=source.path,
            )


def _check_names(names: Sequence[str], used: Iterable[int], source: Source) -> None:
    """RAISES (DataError): If several columns have a name that is needed."""
    for i in used:
        if names.count(names[i]) > 1:
            raise DataError(
                f"two columns are called {names[i]!r:.60}: name one of them otherwise",
                path=source.path,
            )


def _comprehend(rows: Sequence[Row], names: list[str], source: Source) -> list[Record]:
    """Texts from the files that the rows name: a line is one, counted from 0, or the
    whole file where no line is named."""
    at = [names.index(name) for name in COLUMNS]
    at_line = names.index(LINE) if LINE in names else None
    marks = []
    for number, row in rows:
        if not any(row):
            continue
        name, start, end, label = (row[i] for i in at)
        line = row[at_line] if at_line is not None else ""
        place = Place(number, ROW)
        with source.located(place):
            span = {"start": _whole(start), "end": _whole(end), "label": label}
            marks.append(FileMark(name, _whole(line) if line else None, span, place))
    return [*read_marks(marks, source)]
