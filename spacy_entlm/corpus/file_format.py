"""Which of the supported formats a file has."""

from itertools import chain, islice
from pathlib import Path
from typing import Iterable, Mapping, Optional, Sequence

from ..files.errors import DataError, located
from ..files.text import Line, unpacked_extension
from .forms.all_forms import BY_NAME, FORMS, JSON_KINDS, N_LINES_SEEN, SPACY
from .forms.brat import MARKS
from .forms.columns import check_joined
from .forms.inline import first_slip

FORMATS = (*BY_NAME, SPACY, *JSON_KINDS)
_DOCBIN = ".spacy"
_TXT = ".txt"
# The format of each extension of a file, None where only the content tells.
FILE_EXTENSIONS: dict[str, Optional[str]] = {_DOCBIN: SPACY}
for _form in FORMS:
    FILE_EXTENSIONS.update({x: _form.name for x in _form.extensions if x != _TXT})
FILE_EXTENSIONS[_TXT] = None
# Of a part of a folder of data: brat's marks lie beside a text, which is the part.
EXTENSIONS = {k: v for k, v in FILE_EXTENSIONS.items() if k != MARKS}


def format_from_name(
    path: Path,
    format: Optional[str],
    extensions: Mapping[str, Optional[str]] = FILE_EXTENSIONS,
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
    if extension not in extensions or (is_packed and extension == _DOCBIN):
        named = f", or name the format ({', '.join(formats)})" if formats else ""
        raise DataError(
            f"unknown extension {''.join(path.suffixes[-2:])!r}: rename the file to "
            f"one of {' '.join(extensions)} (text may be packed, .xz .gz){named}",
            path=path,
        )
    return extensions[extension]


def format_from_content(lines: Iterable[Line], path: Path) -> str:
    """Tell from its lines which format a text file has, of those that its extension
    may have.
    RAISES (DataError): If it has none of these."""
    extension = unpacked_extension(path)
    candidates = [form for form in FORMS if extension in form.extensions]
    filled = (pair for pair in lines if pair[1].strip())
    head = list(islice(filled, N_LINES_SEEN))
    rest = iter(filled)
    for form in candidates or FORMS:
        seen = chain(head, rest) if form.looks_far else head
        if head and form.fits(seen, path):
            return form.name
    if candidates and extension != _TXT:
        return candidates[-1].name
    with located(path):
        check_joined(head)
    slip = first_slip(head)
    meant = f" (is {slip!r:.60} meant as such?)" if slip else ""
    raise DataError(
        f"neither columns of words and tags nor [words](LABEL) marks found{meant}: "
        "mark entities, or name the form with --format (docs/data.md)",
        path=path,
    )
