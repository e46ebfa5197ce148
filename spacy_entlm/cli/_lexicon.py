"""Options of the commands that read a lexicon, and the writing of one."""

from collections import Counter
from pathlib import Path
from typing import Annotated, Dict, List, Optional, Sequence

from typer import Option

from ..corpus.report import format_counts
from ..files.file import check_output, write_file
from ..lexicon.entries import Entry, check_lexicon_extension, write_lexicon
from ..lexicon.labels import read_label_map
from ..lexicon.match import CASE_RULES
from ..lexicon.readers import FORMATS
from ._util import echo_lines

_MAP = (
    "Label map, repeatable: TYPE=LABEL (or several of them in one string), or a JSON "
    "file of them; types that it does not name are left out"
)
_LABEL = "Label of names that have none, as in a plain list"
_FORMAT = f"Format of the lexicon: auto (from its name), {', '.join(FORMATS)}"
_CASE = (
    f"{CASE_RULES[0]}: as the lexicon spells a name; {CASE_RULES[1]}: in any case; "
    f"{CASE_RULES[2]}: in any case, but only capitalised words of the text"
)
_OVERWRITE = "Replace the output if it exists"

MapOption = Annotated[Optional[List[str]], Option("--map", help=_MAP)]
LabelOption = Annotated[Optional[str], Option("--label", help=_LABEL)]
LexiconFormatOption = Annotated[str, Option("--lexicon-format", help=_FORMAT)]
CaseOption = Annotated[str, Option("--case", help=_CASE)]
OverwriteOption = Annotated[bool, Option("--overwrite", help=_OVERWRITE)]


def label_map(values: Optional[List[str]]) -> Optional[Dict[str, str]]:
    """Read the values of --map: type -> label, None if the option is not given."""
    return read_label_map(values) if values else None


def check_lexicon_output(
    path: Path, sources: Sequence[Optional[Path]], overwrite: bool
) -> None:
    """Check before long work that a lexicon may be written, and is none of its sources.

    RAISES (DataError): If it may not.
    """
    check_lexicon_extension(path)
    for source in (*sources, None):
        check_output(path, source=source, overwrite=source is not None or overwrite)


def summarise(entries: Sequence[Entry]) -> List[str]:
    """Count the entries of a lexicon, in lines for people."""
    weighted = sum(entry.weight is not None for entry in entries)
    return [
        f"{len(entries):,} entries, {weighted:,} with a weight",
        *format_counts(Counter(entry.label for entry in entries)),
    ]


def write_and_report(
    entries: Sequence[Entry], path: Path, problems: Sequence[str]
) -> None:
    """Write a lexicon, and print what was left out and what it holds."""
    with write_file(path) as temporary:
        write_lexicon(entries, temporary)
    echo_lines([*problems, *summarise(entries), f"Wrote {path}"])
