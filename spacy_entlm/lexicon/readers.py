"""Lexicon files of any supported form to entries."""

import csv
import re
import sys
from itertools import chain, islice
from pathlib import Path
from typing import Any, Iterable, Iterator, Mapping, Optional

from ..corpus.file_format import format_from_name
from ..files.errors import DataError, located
from ..files.json_lines import load_object
from ..files.text import Line, read_lines
from .entries import (
    ODD_PATTERNS,
    UNLABELLED,
    Entry,
    LexiconReport,
    clean_name,
    merge_entries,
)
from .labels import check_label

JSONL, TSV, CSV, LIST = FORMATS = ("jsonl", "tsv", "csv", "list")
_EXTENSIONS = {".jsonl": JSONL, ".tsv": TSV, ".csv": CSV}
_EXTENSIONS.update(dict.fromkeys((".txt", ".list", ".lst"), LIST))
LEXICON_EXTENSIONS = tuple(_EXTENSIONS)
# In TSV, quotes are part of a name.
_DIALECTS: dict[str, dict[str, Any]]
_DIALECTS = {CSV: {}, TSV: {"delimiter": "\t", "quoting": csv.QUOTE_NONE}}
# Columns where no header names them; with three, a number is a weight.
_COLUMNS = ["name", "label", "weight", "source"]
_THREE_COLUMNS = ["name", "label", "source"]
_SYNONYMS = {"type": "label"}
_DECIMAL_COMMA = re.compile(r"^\s*(\d+),(\d+)\s*$")
# As many lines tell what divides columns.
_N_LINES_SEEN = 20
# Keys of spaCy's token patterns that say nothing but the word.
_WORD_KEYS = frozenset({"ORTH", "TEXT", "LOWER"})
# As many of the file's types as an error about the label map lists.
_N_TYPES_SHOWN = 10

# A line number, and what the line says of "name", "label", "weight" and "source".
Row = tuple[int, dict[str, Any]]
# Type of a file -> label.
LabelMap = Optional[Mapping[str, str]]


def read_lexicon(
    path: str | Path,
    *,
    format: Optional[str] = None,
    label: Optional[str] = None,
    label_map: LabelMap = None,
) -> tuple[list[Entry], LexiconReport]:
    """Read a lexicon of JSON lines {"name", "label", "weight"?, "source"?}, patterns of
    spaCy's entity ruler, TSV, CSV or a plain list, packed (.xz, .gz) or not.

    format: "jsonl", "tsv", "csv" or "list"; "auto" or None: the extension tells.
    label: The label of names that have none, as in a plain list.
    label_map: Type in the file -> label; entries of other types are left out and
        counted. None: the types are the labels.
    RETURNS: Entries without duplicates, in the order of the file, and the counts.
    RAISES (DataError): If the file cannot be read or holds no name that can be used.
    """
    path = Path(path)
    form = str(format_from_name(path, format, _EXTENSIONS, FORMATS))
    if label is not None:
        check_label(label)
    report = LexiconReport()

    def made() -> Iterator[Entry]:
        for number, values in _parse(read_lines(path), path, form):
            with located(path, number):
                entry = _make_entry(values, number, label, label_map, report)
            if entry is not None:
                yield entry

    entries = merge_entries(made(), report)
    if not entries:
        raise DataError(_explain_nothing(report, label_map), path=path)
    return entries, report


def _parse(lines: Iterable[Line], path: Path, form: str) -> Iterator[Row]:
    if form in _DIALECTS:
        yield from _parse_columns(lines, path, _DIALECTS[form])
    like = '{"name": ..., "label": ...}'
    for number, line in lines:
        if line.strip() and form == LIST:
            yield number, {"name": line}
        elif line.strip():
            yield number, load_object(line, path, number, form=like)


def _parse_columns(
    lines: Iterable[Line], path: Path, dialect: dict[str, Any]
) -> Iterator[Row]:
    lines = iter(lines)
    head = list(islice(lines, _N_LINES_SEEN))
    # Where a comma is the decimal sign, tables are written with semicolons.
    has_semicolons = dialect == _DIALECTS[CSV] and _is_table(";", head)
    if has_semicolons:
        dialect = {"delimiter": ";"}
    whole = (line + "\n" for _, line in chain(head, lines))
    reader = csv.reader(whole, strict=True, **dialect)
    rows = (cells for cells in reader if any(map(str.strip, cells)))
    header: list[str] = []
    try:
        for i, cells in enumerate(rows):
            names = [cell.strip().lower() for cell in cells] if i == 0 else []
            names = [_SYNONYMS.get(name, name) for name in names]
            # A lexicon may hold the word "name" as a name, but no other one beside it.
            if "name" in names and len({*names} & {*_COLUMNS}) > 1:
                header = names
            else:
                if has_semicolons:
                    cells = [_DECIMAL_COMMA.sub(r"\1.\2", cell) for cell in cells]
                with located(path, reader.line_num):
                    values = _name_cells(cells, header)
                yield reader.line_num, values
    except csv.Error as error:
        raise DataError(
            f"broken CSV ({error}): close the quotes, and double those inside a name",
            path=path,
            line=reader.line_num,
        ) from error


def _is_table(delimiter: str, lines: list[Line]) -> bool:
    """Whether each line has as many delimiters, two columns at least, and more of them
    than commas: "Jones; Smith" is a name."""
    filled = [line for _, line in lines if line.strip()]
    counts = {line.count(delimiter) for line in filled}
    commas = {line.count(",") for line in filled}
    return len(filled) > 1 and len(counts) == 1 and min(counts) > max(commas)


def _name_cells(cells: list[str], header: list[str]) -> dict[str, Any]:
    columns = header or _COLUMNS
    if not header and len(cells) == 3 and _number(cells[2]) is None:
        columns = _THREE_COLUMNS
    if len(cells) > len(columns):
        raise ValueError(
            f"{len(cells)} columns: a line holds {', '.join(_COLUMNS)}, or what a "
            "first line with these names says"
        )
    values: dict[str, Any] = dict(zip(columns, cells))
    weight = values.pop("weight", "")
    if weight.strip():
        values["weight"] = weight if _number(weight) is None else _number(weight)
    return values


def _number(value: str) -> Optional[float]:
    try:
        return float(value)
    except ValueError:
        return None


def _make_entry(
    values: dict[str, Any],
    line: int,
    label: Optional[str],
    label_map: LabelMap,
    report: LexiconReport,
) -> Optional[Entry]:
    """The entry of a line, None if it is left out."""
    if "name" not in values and "pattern" in values:
        values["name"] = _pattern_to_name(values["pattern"])
        if values["name"] is None:
            report.leave_out(ODD_PATTERNS, str(values["pattern"]), line)
            return None
    _check_types(values)
    name, problem = clean_name(values["name"])
    own = (values.get("label") or "").strip()
    if problem is None and not own and label is None:
        problem = UNLABELLED
    if problem is not None:
        report.leave_out(problem, values["name"], line)
        return None
    if not own:
        chosen = str(label)
    elif label_map is None:
        chosen = check_label(own)
    elif own in label_map:
        chosen = label_map[own]
    else:
        report.unmapped[own] += 1
        return None
    weight, source = values.get("weight"), values.get("source") or ""
    # Few different labels and sources, each in hundreds of thousands of entries.
    chosen, source = map(sys.intern, (chosen, source))
    return Entry(name, chosen, None if weight is None else float(weight), source)


def _check_types(values: dict[str, Any]) -> None:
    weight = values.get("weight")
    problem = None
    if not isinstance(values.get("name"), str):
        problem = f'no "name" that is a string (keys: {list(values)!s:.100})'
    for key in ("label", "source"):
        if not isinstance(values.get(key) or "", str):
            problem = f'"{key}" is {values[key]!r:.100}, which is no string'
    # Not isinstance(): true is no weight.
    if weight is not None and type(weight) not in (int, float):
        problem = f"weight {weight!r:.100} is no number"
    elif weight is not None and not 0 <= weight <= sys.float_info.max:
        problem = f"weight {str(weight)[:20]} must be 0 or more, and finite"
    if problem is not None:
        raise ValueError(
            f'{problem}: write {{"name": "Lima", "label": "LOC"}}, if you like with '
            '"weight" and "source"'
        )


def _pattern_to_name(pattern: Any) -> Optional[str]:
    tokens = [{"ORTH": pattern}] if isinstance(pattern, str) else pattern
    words = []
    for token in tokens if isinstance(tokens, list) else ():
        if not isinstance(token, dict) or len(token) != 1:
            return None
        ((key, word),) = token.items()
        if str(key).upper() not in _WORD_KEYS or not isinstance(word, str):
            return None
        words.append(word)
    return " ".join(words) if words else None


def _explain_nothing(report: LexiconReport, label_map: LabelMap) -> str:
    if report.unmapped and label_map is not None:
        types = ", ".join(t for t, _ in report.unmapped.most_common(_N_TYPES_SHOWN))
        return (
            f"the label map ({', '.join(label_map)}) maps none of the types in the "
            f"file: {types:.1000}. Name some of these"
        )
    if UNLABELLED in report.left_out:
        return (
            "no name has a label: give one with --label, or write a .tsv file of lines "
            "with a name, a tab and its label"
        )
    reasons = ", ".join(f"{n:,} {reason}" for reason, n in report.left_out.items())
    return f"no name that can be used{f' ({reasons})' if reasons else ': it is empty'}"
