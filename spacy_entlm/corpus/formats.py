"""Which of the supported formats a file has."""

from itertools import chain, islice
from pathlib import Path
from typing import Callable, Iterable, Mapping, Optional, Sequence

from ..files.errors import DataError
from ..files.text import Line, unpacked_extension
from .records import (
    CONLL,
    INLINE,
    INLINE_MARKUP,
    INLINE_SLIP,
    JSONL,
    Record,
    parse_conll,
    parse_inline,
    parse_jsonl,
    split_columns,
)
from .report import CorpusReport
from .tags import is_certain_tag
from .tools import parse_json

JSON, SPACY = "json", "spacy"
PARSERS: dict[str, Callable[[Iterable[Line], Path, CorpusReport], Sequence[Record]]]
PARSERS = {
    CONLL: parse_conll,
    JSONL: parse_jsonl,
    INLINE: parse_inline,
    JSON: parse_json,
}
FORMATS = (*PARSERS, SPACY)
# None: the content tells.
EXTENSIONS = {
    ".spacy": SPACY,
    ".jsonl": JSONL,
    ".json": JSON,
    **dict.fromkeys((".conll", ".iob", ".bio", ".tsv"), CONLL),
    ".md": INLINE,
    ".txt": None,
}
# Enough to tell columns from prose; an odd line later on is an error with its number.
_N_LINES_SEEN = 20


def format_from_name(
    path: Path,
    format: Optional[str],
    extensions: Mapping[str, Optional[str]] = EXTENSIONS,
    formats: Sequence[str] = FORMATS,
) -> Optional[str]:
    """Tell the format from what is asked for, or else from the file's extension.

    extensions (Mapping[str, Optional[str]]): The format of each, None if only the
        content can tell. formats (Sequence[str]): What may be asked for, or "auto".
    RAISES (DataError): If the format or the extension is unknown.
    """
    if format not in (None, "auto"):
        if format not in formats:
            raise DataError(
                f"unknown format {format!r:.100}: choose auto, {', '.join(formats)}"
            )
        return format
    extension = unpacked_extension(path)
    is_packed = extension != path.suffix.lower()
    if extension not in extensions or (is_packed and extension == ".spacy"):
        named = f", or name the format ({', '.join(formats)})" if formats else ""
        raise DataError(
            f"unknown extension {''.join(path.suffixes[-2:])!r}: rename the file to "
            f"one of {' '.join(extensions)} (text may be packed, .xz .gz){named}",
            path=path,
        )
    return extensions[extension]


def format_from_content(lines: Iterable[Line], path: Path) -> str:
    """Tell from its lines whether a text file is JSONL, INLINE or CONLL.
    RAISES (DataError): If it is none of these."""
    filled = (pair for pair in lines if pair[1].strip())
    head = list(islice(filled, _N_LINES_SEEN))
    if head and head[0][1].lstrip().startswith("{"):
        return JSONL
    if any(INLINE_MARKUP.search(line) for _, line in chain(head, filled)):
        return INLINE
    rows = [columns for sentence in split_columns(head) for _, columns in sentence]
    widths = {len(columns) for columns in rows}
    # Lines of prose may have as many words each, so a tag must be among them.
    if len(widths - {1}) == len(widths) == 1 and any(
        is_certain_tag(value) for columns in rows for value in (columns[0], columns[-1])
    ):
        return CONLL
    slip = next((found[0] for _, x in head if (found := INLINE_SLIP.search(x))), None)
    meant = f" (is {slip!r:.60} meant as such?)" if slip else ""
    raise DataError(
        f"neither columns of words and tags nor [words](LABEL) markup found{meant}: "
        f"add the annotation, or name the format ({', '.join(FORMATS)})",
        path=path,
    )
