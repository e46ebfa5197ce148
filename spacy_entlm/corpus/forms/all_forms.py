"""All forms of annotated text that are read, and how each is told."""

from itertools import chain, islice
from pathlib import Path
from typing import Callable, Iterable, NamedTuple, Sequence

from ...files.text import Line
from ..records import Record
from .brat import fits_brat, read_brat
from .columns import fits_columns, read_columns
from .conllu_names import fits_conllu, read_conllu
from .inline import has_marks, read_inline
from .json_entries import read_entries
from .json_kinds import KINDS
from .markup import fits_markup, read_markup
from .rasa import fits_rasa_markdown, read_rasa_markdown, read_rasa_yaml
from .source import Source
from .tables import fits_table, read_csv, read_excel
from .webanno import fits_webanno, read_webanno

CONLL, JSONL, JSON, INLINE, SPACY = "conll", "jsonl", "json", "inline", "spacy"
BRAT = "brat"
# Enough to tell columns from prose; an odd line later on is an error with its number.
N_LINES_SEEN = 20
Fits = Callable[[Iterable[Line], Path], bool]


class Form(NamedTuple):
    """A form of files.

    name (str): As a user names it. title (str): For people.
    extensions (Sequence[str]): Of files that may have it, in lower case.
    fits (Callable): Whether the first lines that are not blank show it, or, where
        `looks_far`, any line. The path is for what lies beside the file.
    read (Callable): Gives the records of a file, from its lines and the rest that is
        known of it.
    example (str): A small whole file.
    is_text (bool): Whether it has lines of text.
    """

    name: str
    title: str
    extensions: Sequence[str]
    fits: Fits
    read: Callable[[Iterable[Line], Source], Sequence[Record]]
    example: str
    looks_far: bool = False
    is_text: bool = True


def _is_json(lines: Iterable[Line], path: Path) -> bool:
    return next((x.lstrip() for _, x in lines), "").startswith("{")


def _always(lines: Iterable[Line], path: Path) -> bool:
    return True


def _has_marks(lines: Iterable[Line], path: Path) -> bool:
    """Whether there is a mark in lines, which are none of a form whose words may look
    like one."""
    rest = iter(lines)
    head = list(islice(rest, N_LINES_SEEN))
    if fits_webanno(head) or fits_conllu(head):
        return False
    marked = sum(has_marks(line) for _, line in head)
    if 2 * marked < len(head) and fits_columns(head):
        return False
    return any(has_marks(line) for _, line in chain(head, rest))


def _by_lines(fits: Callable[[Iterable[Line]], bool]) -> Fits:
    return lambda lines, path: fits(lines)


# Of several forms that have an extension, the first one that fits; else the last one,
# which tells what is wrong.
FORMS = (
    Form(
        BRAT,
        "brat: a text, and its marks beside it (or a folder of such pairs)",
        (".ann", ".txt"),
        lambda lines, path: fits_brat(path),
        read_brat,
        "T1\tPER 0 3\tAnn",
    ),
    Form(
        JSONL,
        "JSON lines of any JSON form below",
        (".jsonl", ".ndjson", ".jsonlines", ".manifest", ".txt"),
        _is_json,
        read_entries,
        '{"text": "Ann flew.", "spans": [{"start": 0, "end": 3, "label": "PER"}]}',
    ),
    Form(
        JSON,
        "a JSON list of any JSON form below",
        (".json",),
        _always,
        read_entries,
        '[{"text": "Ann flew.", "entities": [[0, 3, "PER"]]}]',
    ),
    Form(
        "rasa",
        "Rasa, Markdown",
        (".md",),
        _by_lines(fits_rasa_markdown),
        read_rasa_markdown,
        "## intent:fly\n- to [Lisbon](city)",
    ),
    Form(
        "rasa-yaml",
        "Rasa, YAML",
        (".yml", ".yaml"),
        _always,
        read_rasa_yaml,
        "nlu:\n- intent: fly\n  examples: |\n    - to [Lisbon](city)",
    ),
    Form(
        INLINE,
        "marks in the text, one sentence on a line",
        (".txt", ".md"),
        _has_marks,
        read_inline,
        "[Ann Petrova](PER) flew to [Lisbon](LOC).",
        looks_far=True,
    ),
    Form(
        "webanno",
        "WebAnno and INCEpTION, TSV 3",
        (".tsv", ".txt"),
        _by_lines(fits_webanno),
        read_webanno,
        "#FORMAT=WebAnno TSV 3.3\n#T_SP=webanno.custom.NamedEntity|value\n\n"
        "#Text=Ann flew\n1-1\t0-3\tAnn\tPER\t\n1-2\t4-8\tflew\t_\t",
    ),
    Form(
        "conllu",
        "CoNLL-U with tags in the last column",
        (".conllu", ".conll", ".tsv", ".txt"),
        _by_lines(fits_conllu),
        read_conllu,
        "1\tAnn\t_\t_\t_\t_\t_\t_\t_\tname=B-PER\n2\tflew\t_\t_\t_\t_\t_\t_\t_\tname=O",
    ),
    Form(
        "csv",
        "a table: a row for a word and its tag, a text, or a mark with its text",
        (".csv", ".tsv"),
        fits_table,
        read_csv,
        "text,start,end,label\nAnn flew.,0,3,PER",
    ),
    Form(
        "excel",
        "such a table as an Excel file (extra `excel`)",
        (".xlsx",),
        _always,
        read_excel,
        "text | start | end | label",
        is_text=False,
    ),
    Form(
        CONLL,
        "columns: a word and its tag a line",
        (".conll", ".iob", ".iob2", ".bio", ".tsv", ".conllu", ".conllup", ".txt"),
        lambda lines, path: fits_columns([*lines]),
        read_columns,
        "Ann\tB-PER\nflew\tO",
    ),
    Form(
        "xml",
        "tags in the text, one sentence a line",
        (".xml", ".sgml", ".txt"),
        lambda lines, path: fits_markup(lines, path.suffix.lower() == ".txt"),
        read_markup,
        '<PER>Ann</PER> flew to <ENAMEX TYPE="LOC">Lisbon</ENAMEX>.',
        looks_far=True,
    ),
)
BY_NAME = {form.name: form for form in FORMS}
JSON_KINDS = {kind.name: kind for kind in KINDS}
