"""The tables of forms for the documentation, made from those that the code uses."""

from typing import Iterable, Sequence

from .all_forms import FORMS
from .json_kinds import KINDS
from .out import WRITERS


def markdown_tables() -> list[str]:
    """Tables of what is read, of the objects that JSON files may hold, and of what is
    written, in Markdown."""
    files = [
        (form.name, form.title, " ".join(form.extensions), _code(form.example))
        for form in FORMS
    ]
    files.append(("spacy", "spaCy's binary form", ".spacy", ""))
    objects = [(kind.name, kind.title, _code(kind.example)) for kind in KINDS]
    out = [(x.name, x.title, " ".join(x.extensions)) for x in WRITERS]
    return [
        _table(("`--format`", "form", "files", "example"), files),
        _table(("`--format`", "JSON objects", "example"), objects),
        _table(("`--to`", "form", "files"), out),
    ]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _code(example: str) -> str:
    """An example in a cell; its lines are divided by a return sign."""
    shown = example.replace("\t", " ⇥ ").replace("\n", " ⏎ ").replace("|", "\\|")
    return f"`{shown}`"
