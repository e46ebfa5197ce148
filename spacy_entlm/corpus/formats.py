"""Which of the supported formats a file has."""

from pathlib import Path
from typing import Optional, Sequence

from ..files.errors import DataError
from ..files.text import unpacked_extension
from .records import INLINE_MARKUP, split_columns
from .tags import is_certain_tag

CONLL = "conll"
JSONL = "jsonl"
INLINE = "inline"
SPACY = "spacy"
FORMATS = (CONLL, JSONL, INLINE, SPACY)

# None: the content tells.
EXTENSIONS = {
    ".spacy": SPACY,
    ".jsonl": JSONL,
    ".conll": CONLL,
    ".iob": CONLL,
    ".bio": CONLL,
    ".tsv": CONLL,
    ".md": INLINE,
    ".txt": None,
}
# Enough to tell columns from prose; an odd line later on is an error with its number.
_N_LINES_SEEN = 20


def format_from_name(path: Path, format: Optional[str]) -> Optional[str]:
    """Tell the format from what is asked for, or else from the file's extension.

    path (Path): The file. format (Optional[str]): One of FORMATS, "auto" or None.
    RETURNS (Optional[str]): One of FORMATS, None if only the content can tell.
    RAISES (DataError): If the format or the extension is unknown.
    """
    if format not in (None, "auto"):
        if format not in FORMATS:
            raise DataError(
                f"unknown format {format!r}: choose auto, {', '.join(FORMATS)}"
            )
        return format
    extension = unpacked_extension(path)
    is_packed = extension != path.suffix.lower()
    if extension not in EXTENSIONS or (is_packed and extension == ".spacy"):
        raise DataError(
            f"unknown extension {''.join(path.suffixes[-2:])!r}: rename the file to "
            f"one of {' '.join(EXTENSIONS)} (text may be packed, .xz .gz), or name the "
            f"format ({', '.join(FORMATS)})",
            path=path,
        )
    return EXTENSIONS[extension]


def format_from_content(lines: Sequence[str], path: Path) -> str:
    """Tell from its lines whether a text file is JSONL, INLINE or CONLL.

    RAISES (DataError): If it is none of these.
    """
    first = next((line for line in lines if line.strip()), "")
    if first.lstrip().startswith("{"):
        return JSONL
    if any(INLINE_MARKUP.search(line) for line in lines):
        return INLINE
    if _has_columns(lines):
        return CONLL
    raise DataError(
        "neither columns of words and tags nor [words](LABEL) markup found: add the "
        f"annotation, or name the format ({', '.join(FORMATS)})",
        path=path,
    )


def _has_columns(lines: Sequence[str]) -> bool:
    head = [line for line in lines if line.strip()][:_N_LINES_SEEN]
    rows = [columns for sentence in split_columns(head) for _, columns in sentence]
    if not rows or len(rows[0]) < 2:
        return False
    # Lines of prose may have as many words each, so a tag must be among them.
    return len({len(columns) for columns in rows}) == 1 and any(
        is_certain_tag(columns[0]) or is_certain_tag(columns[-1]) for columns in rows
    )
