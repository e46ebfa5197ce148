"""Lexicon files of any supported form to entries."""

import sys
from pathlib import Path
from typing import Dict, List, Mapping, Optional, Tuple, Union

from ..files.errors import DataError
from ..files.text import read_lines
from .entries import UNLABELLED, Entry, LexiconReport, add_entry, clean_name
from .formats import PARSERS, Row, lexicon_format
from .labels import check_label

# As many of the file's types as an error about the label map lists.
_N_TYPES_SHOWN = 10


def read_lexicon(
    path: Union[str, Path],
    *,
    format: Optional[str] = None,
    label: Optional[str] = None,
    label_map: Optional[Mapping[str, str]] = None,
) -> Tuple[List[Entry], LexiconReport]:
    """Read a lexicon.

    Its form is JSON lines {"name", "label", "weight"?, "source"?}; patterns of spaCy's
    entity ruler, TSV, CSV and plain lists are read too, each packed with .xz or .gz
    or not.

    path (Union[str, Path]): The file.
    format (Optional[str]): "jsonl", "tsv", "csv" or "list"; "auto" or None tells it
        from the extension.
    label (Optional[str]): The label of names that have none, as in a plain list.
    label_map (Optional[Mapping[str, str]]): Type in the file -> label; entries of
        other types are left out and counted. None: the types are the labels.
    RETURNS (Tuple[List[Entry], LexiconReport]): Entries without duplicates, in the
        order of the file, and the counts.
    RAISES (DataError): If the file cannot be read, holds no name that can be used,
        or holds none of the types of the label map.
    """
    path = Path(path)
    parse = PARSERS[lexicon_format(path, format)]
    if label is not None:
        check_label(label)
    report = LexiconReport()
    entries: Dict[Tuple[str, str], Entry] = {}
    for row in parse(read_lines(path), path, report):
        entry = _make_entry(row, label, label_map, path, report)
        if entry is not None:
            add_entry(entries, entry, report)
    if not entries:
        raise DataError(_explain_nothing(report, label_map), path=path)
    report.labels.update(entry.label for entry in entries.values())
    return list(entries.values()), report


def _make_entry(
    row: Row,
    label: Optional[str],
    label_map: Optional[Mapping[str, str]],
    path: Path,
    report: LexiconReport,
) -> Optional[Entry]:
    name, problem = clean_name(row.name)
    own = (row.label or "").strip()
    if problem is None and not own and label is None:
        problem = UNLABELLED
    if problem is not None:
        report.leave_out(problem, row.name, row.line)
        return None
    if not own:
        chosen = str(label)
    elif label_map is None:
        chosen = _checked(own, path, row.line)
    elif own in label_map:
        chosen = label_map[own]
    else:
        report.unmapped[own] += 1
        return None
    # Few different ones, each in hundreds of thousands of entries.
    return Entry(name, sys.intern(chosen), row.weight, sys.intern(row.source))


def _checked(label: str, path: Path, line: int) -> str:
    try:
        return check_label(label)
    except DataError as error:
        raise DataError(str(error), path=path, line=line) from error


def _explain_nothing(
    report: LexiconReport, label_map: Optional[Mapping[str, str]]
) -> str:
    if report.unmapped and label_map is not None:
        types = ", ".join(t for t, _ in report.unmapped.most_common(_N_TYPES_SHOWN))
        return (
            f"the label map ({', '.join(label_map)}) maps none of the types in the "
            f"file: {types}. Name some of these"
        )
    if UNLABELLED in report.left_out:
        return "no name has a label: give one with --label"
    reasons = ", ".join(f"{n:,} {reason}" for reason, n in report.left_out.items())
    return "no name that can be used" + (
        f" ({reasons})" if reasons else ": it is empty"
    )
