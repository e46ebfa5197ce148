"""Lines of a lexicon to rows, in each of the forms that are read."""

import csv
import math
from pathlib import Path
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
)

from ..files.errors import DataError
from ..files.json_lines import load_object
from ..files.text import Line, unpacked_extension
from .entries import ODD_PATTERNS, LexiconReport

JSONL = "jsonl"
TSV = "tsv"
CSV = "csv"
LIST = "list"
FORMATS = (JSONL, TSV, CSV, LIST)

_EXTENSIONS = {
    ".jsonl": JSONL,
    ".tsv": TSV,
    ".csv": CSV,
    ".txt": LIST,
    ".list": LIST,
    ".lst": LIST,
}
# Columns where no header names them; with three, a number is a weight.
_COLUMNS = ("name", "label", "weight", "source")
_THREE_COLUMNS = ("name", "label", "source")
_SYNONYMS = {"type": "label"}
# Keys of spaCy's token patterns that say nothing but the word.
_WORD_KEYS = frozenset({"ORTH", "TEXT", "LOWER"})


class Row(NamedTuple):
    """A line of a lexicon. label (Optional[str]): None if the line has none."""

    line: int
    name: str
    label: Optional[str]
    weight: Optional[float]
    source: str


# A line number and the values of the columns there.
Cells = Tuple[int, List[str]]
Parser = Callable[[Iterable[Line], Path, LexiconReport], Iterator[Row]]


def lexicon_format(path: Path, format: Optional[str]) -> str:
    """Tell the format of a lexicon from what is asked for, or else from its name.

    path (Path): The file.
    format (Optional[str]): One of FORMATS, "auto" or None.
    RETURNS (str): One of FORMATS.
    RAISES (DataError): If the format or the extension is unknown.
    """
    if format not in (None, "auto"):
        if format not in FORMATS:
            raise DataError(
                f"unknown format {format!r}: choose auto, {', '.join(FORMATS)}"
            )
        return format
    extension = unpacked_extension(path)
    if extension not in _EXTENSIONS:
        raise DataError(
            f"unknown extension {extension!r}: rename the lexicon to one of "
            f"{' '.join(_EXTENSIONS)} (packed with .xz or .gz or not)",
            path=path,
        )
    return _EXTENSIONS[extension]


def parse_list(
    lines: Iterable[Line], path: Path, report: LexiconReport
) -> Iterator[Row]:
    """Read one name a line.

    lines (Iterable[Line]): Lines of the file; blank ones are passed over.
    path (Path): Not used: every line is a name.
    report (LexiconReport): Not changed.
    YIELDS (Row): Names without labels.
    """
    for number, line in lines:
        if line and not line.isspace():
            yield Row(number, line, None, None, "")


def parse_tsv(
    lines: Iterable[Line], path: Path, report: LexiconReport
) -> Iterator[Row]:
    """Read columns separated by tabs, without quotes.

    lines (Iterable[Line]): Lines of the file; blank ones are passed over.
    path (Path): The file, for messages.
    report (LexiconReport): Not changed.
    RETURNS (Iterator[Row]): One per line.
    RAISES (DataError): If a line has too many columns, or a weight is no number.
    """
    filled = ((number, line) for number, line in lines if line and not line.isspace())
    return _parse_columns(((n, line.split("\t")) for n, line in filled), path)


def parse_csv(
    lines: Iterable[Line], path: Path, report: LexiconReport
) -> Iterator[Row]:
    """Read columns separated by commas, with quotes where needed.

    lines (Iterable[Line]): Lines of the file; blank ones are passed over.
    path (Path): The file, for messages.
    report (LexiconReport): Not changed.
    RETURNS (Iterator[Row]): One per line.
    RAISES (DataError): As parse_tsv, and if a quote is not closed.
    """
    return _parse_columns(_split_csv(lines, path), path)


def _split_csv(lines: Iterable[Line], path: Path) -> Iterator[Cells]:
    reader = csv.reader((line + "\n" for _, line in lines), strict=True)
    try:
        for cells in reader:
            if cells:
                yield reader.line_num, cells
    except csv.Error as error:
        raise DataError(
            f"broken CSV ({error}): close the quotes, and double those inside a name",
            path=path,
            line=reader.line_num,
        ) from error


def _parse_columns(rows: Iterable[Cells], path: Path) -> Iterator[Row]:
    header: Optional[List[str]] = None
    for i, (number, cells) in enumerate(rows):
        if i == 0:
            header = _find_header(cells)
            if header is not None:
                continue
        columns = header or _name_columns(cells)
        if len(cells) > len(columns):
            raise DataError(
                f"{len(cells)} columns: a line holds {', '.join(_COLUMNS)}, or what a "
                "first line with these names says",
                path=path,
                line=number,
            )
        values = dict(zip(columns, cells))
        yield Row(
            number,
            values.get("name", ""),
            values.get("label"),
            _parse_weight(values.get("weight"), path, number),
            values.get("source", ""),
        )


def _find_header(cells: Sequence[str]) -> Optional[List[str]]:
    names = [cell.strip().lower() for cell in cells]
    names = [_SYNONYMS.get(name, name) for name in names]
    # A lexicon may hold the word "name" as a name, but not "label" beside it.
    return names if {"name", "label"} <= set(names) else None


def _name_columns(cells: Sequence[str]) -> Sequence[str]:
    if len(cells) == len(_THREE_COLUMNS) and not _is_number(cells[-1]):
        return _THREE_COLUMNS
    return _COLUMNS


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _parse_weight(value: Optional[str], path: Path, number: int) -> Optional[float]:
    if value is None or not value.strip():
        return None
    if not _is_number(value):
        raise DataError(
            f"weight {value!r} is no number: write one, or nothing",
            path=path,
            line=number,
        )
    return _check_weight(float(value), path, number)


def _check_weight(weight: float, path: Path, number: int) -> float:
    if not math.isfinite(weight) or weight < 0:
        raise DataError(
            f"weight {weight} must be 0 or more, and finite", path=path, line=number
        )
    return weight


def parse_jsonl(
    lines: Iterable[Line], path: Path, report: LexiconReport
) -> Iterator[Row]:
    """Read JSON lines: our own, or patterns of spaCy's entity ruler.

    lines (Iterable[Line]): Lines of the file; blank ones are passed over.
    path (Path): The file, for messages.
    report (LexiconReport): Gets the count of patterns that are more than words.
    YIELDS (Row): One per line.
    RAISES (DataError): If a line is no JSON object, or its values are no strings.
    """
    for number, line in lines:
        if not line or line.isspace():
            continue
        entry = load_object(line, path, number, form='{"name": ..., "label": ...}')
        if "name" not in entry and "pattern" in entry:
            name = _pattern_to_name(entry["pattern"])
            if name is None:
                report.leave_out(ODD_PATTERNS, str(entry["pattern"]), number)
                continue
            entry["name"] = name
        yield _parse_entry(entry, path, number)


def _parse_entry(entry: Dict[str, Any], path: Path, number: int) -> Row:
    name, label = entry.get("name"), entry.get("label")
    weight, source = entry.get("weight"), entry.get("source") or ""
    problem = None
    if not isinstance(name, str):
        problem = f'no "name" that is a string (keys: {list(entry)})'
    elif not isinstance(label, (str, type(None))):
        problem = f'"label" is {label!r}, which is no string'
    elif not isinstance(source, str):
        problem = f'"source" is {source!r}, which is no string'
    # bool is a kind of int, but true is no weight.
    elif isinstance(weight, bool) or not isinstance(weight, (int, float, type(None))):
        problem = f'"weight" is {weight!r}, which is no number'
    if problem is not None:
        raise DataError(
            f'{problem}: write {{"name": "Lima", "label": "LOC"}}, if you like with '
            '"weight" and "source"',
            path=path,
            line=number,
        )
    if weight is not None:
        weight = _check_weight(float(weight), path, number)
    return Row(number, str(name), label, weight, source)


def _pattern_to_name(pattern: Any) -> Optional[str]:
    if isinstance(pattern, str):
        return pattern
    if not isinstance(pattern, list) or not pattern:
        return None
    words = []
    for token in pattern:
        if not isinstance(token, dict) or len(token) != 1:
            return None
        ((key, word),) = token.items()
        if str(key).upper() not in _WORD_KEYS or not isinstance(word, str):
            return None
        words.append(word)
    return " ".join(words)


PARSERS: Dict[str, Parser] = {
    JSONL: parse_jsonl,
    TSV: parse_tsv,
    CSV: parse_csv,
    LIST: parse_list,
}
