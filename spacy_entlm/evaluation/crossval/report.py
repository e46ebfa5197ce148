"""The report of a cross-validation: lines for the screen, Markdown, HTML, JSON."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Sequence

from ..html import html_page, html_table, html_text
from .errors import CrossvalError
from .result import Pieces, Result

TITLE = "Cross-validation"
FORMAT = 1
# Sentences on the screen; the report has all.
N_SHOWN = 5
INTERVAL = "F1 (95 %)"
NO_ENTITY_FOUND = (
    "Nothing was found in any fold. Most often the learning rate is too small for the "
    "backbone, or there are too few epochs: see python -m spacy entlm debug CONFIG."
)


@dataclass
class Table:
    """A table of texts.

    title (str): Its heading. head (List[str]): Of the columns.
    rows (List[List[str]]): The cells. n_names (int): Columns that are no numbers.
    notes (List[str]): Lines under it.
    """

    title: str
    head: List[str]
    rows: List[List[str]]
    n_names: int
    notes: List[str] = field(default_factory=list)

    def to_markdown(self) -> str:
        """The table in Markdown."""
        marks = ["---"] * self.n_names + ["---:"] * (len(self.head) - self.n_names)
        lines = [self.head, marks, *self.rows]
        escaped = [[cell.replace("|", "\\|") for cell in line] for line in lines]
        body = [f"| {' | '.join(line)} |" for line in escaped]
        notes = [line for note in self.notes for line in ("", note)]
        return "\n".join([f"## {self.title}", "", *body, *notes]) + "\n"

    def to_html(self) -> str:
        """The table as HTML elements."""
        numbers = range(self.n_names, len(self.head))
        notes = [f'<p class="note">{html_text(note)}</p>' for note in self.notes]
        heading = f"<h2>{html_text(self.title)}</h2>"
        return "\n".join([heading, html_table(self.head, self.rows, numbers), *notes])


def screen_lines(result: Result) -> List[str]:
    """The report for the screen, with the first wrong sentences only."""
    lines = [*_headline(result), ""]
    lines += _columns(_class_table(result))
    if result.wrong:
        lines += ["", _wrong_title(result)]
        for sentence in result.wrong[:N_SHOWN]:
            lines += _sentence_lines(sentence, result.n_repeats)
        left = len(result.wrong) - N_SHOWN
        if left > 0:
            lines.append(f"  ... and {left} more in the report")
    if result.curve:
        lines += ["", "Learning curve", *_columns(_curve_table(result))]
        lines += ["", result.advice]
    return lines


def to_markdown(result: Result, settings: Mapping[str, Any]) -> str:
    """The whole report in Markdown.

    settings (Mapping[str, Any]): What was run, by name.
    """
    parts = [f"# {TITLE}\n", *(f"{line}\n" for line in _headline(result))]
    parts += [_settings_table(settings).to_markdown()]
    parts += [_class_table(result).to_markdown()]
    if result.curve:
        parts += [_curve_table(result).to_markdown(), f"{result.advice}\n"]
    if result.wrong:
        parts.append(f"## {_wrong_title(result)}\n")
        # A code block: brackets in it are no links.
        for sentence in result.wrong:
            lines = _sentence_lines(sentence, result.n_repeats)
            parts.append("\n".join(f"    {line}" for line in lines) + "\n")
    return "\n".join(parts)


def to_html(result: Result, settings: Mapping[str, Any]) -> str:
    """The whole report as a page; the curve is drawn where matplotlib is installed."""
    from ..figures import has_matplotlib

    parts = [f"<p>{html_text(line)}</p>" for line in _headline(result)]
    parts += [_settings_table(settings).to_html(), _class_table(result).to_html()]
    if result.curve:
        parts += [_curve_table(result).to_html(), f"<p>{html_text(result.advice)}</p>"]
        if has_matplotlib():
            parts.append(_curve_picture(result))
    if result.wrong:
        parts.append(f"<h2>{html_text(_wrong_title(result))}</h2>")
        for sentence in result.wrong:
            times = f"{sentence.number}, wrong in {sentence.n_wrong}"
            parts.append(
                f'<p><span class="note">Sentence {times} of {result.n_repeats}</span>'
                f"<br>gold: {_marked(sentence.gold)}"
                f"<br>found: {_marked(sentence.found)}</p>"
            )
    return html_page(TITLE, parts)


def to_json(result: Result, settings: Mapping[str, Any]) -> str:
    """The whole report as JSON."""
    data = {
        "format": FORMAT,
        "settings": dict(settings),
        "n_sentences": result.n_sentences,
        "f1": {"io": result.io._asdict(), "bio": result.bio._asdict()},
        "classes": [{**c._asdict(), "f1": c.f1._asdict()} for c in result.classes],
        "curve": [{**p._asdict(), "f1": p.f1._asdict()} for p in result.curve],
        "advice": result.advice,
        "wrong": [
            {**s._asdict(), "gold": inline(s.gold), "found": inline(s.found)}
            for s in result.wrong
        ],
    }
    return json.dumps(data, ensure_ascii=False, indent=1) + "\n"


_RENDERERS: Dict[str, Callable[[Result, Mapping[str, Any]], str]] = {
    ".md": to_markdown,
    ".html": to_html,
    ".json": to_json,
}


def check_extension(path: Path) -> None:
    """Check that a report of this name can be written.

    RAISES (CrossvalError): If its extension is none of .md, .html and .json.
    """
    if path.suffix.lower() not in _RENDERERS:
        raise CrossvalError(
            f"{path}: the extension of --out is one of {', '.join(_RENDERERS)}, not "
            f"{path.suffix!r}"
        )


def render(result: Result, settings: Mapping[str, Any], path: Path) -> str:
    """The report in the form that the extension of a file asks for."""
    return _RENDERERS[path.suffix.lower()](result, settings)


def inline(pieces: Pieces) -> str:
    """A sentence on one line, entities as `[Rome](LOC)`."""
    text = "".join(f"[{text}]({label})" if label else text for text, label in pieces)
    return " ".join(text.split())


def _headline(result: Result) -> List[str]:
    lines = [
        f"F1 {result.io} with neighbours of one class as one entity (IO), "
        f"{result.bio} as annotated (BIO)",
        f"Each of {result.n_sentences} sentences was held out once a repeat (repeats: "
        f"{result.n_repeats}, folds: {result.n_folds}). In brackets: 95 % intervals.",
    ]
    # Neither right nor wrong entities: precision is 0 as well if all are wrong.
    if not any(c.precision or c.recall for c in result.classes) and not any(
        label for sentence in result.wrong for _, label in sentence.found
    ):
        lines.append(NO_ENTITY_FOUND)
    return lines


def _class_table(result: Result) -> Table:
    rows = [
        [c.label, f"{c.precision:.1f}", f"{c.recall:.1f}", str(c.f1), str(c.support)]
        for c in result.classes
    ]
    head = ["class", "precision", "recall", INTERVAL, "entities"]
    return Table("By class (IO)", head, rows, n_names=1)


def _curve_table(result: Result) -> Table:
    rows = [
        [f"{p.n_sentences:.1f}", f"{p.n_entities:.1f}", str(p.f1)] for p in result.curve
    ]
    head = ["sentences", "entities", INTERVAL]
    return Table("Learning curve", head, rows, n_names=0)


def _settings_table(settings: Mapping[str, Any]) -> Table:
    rows = [[name, str(value)] for name, value in settings.items()]
    return Table("Settings", ["setting", "value"], rows, n_names=2)


def _wrong_title(result: Result) -> str:
    return f"Sentences with errors: {len(result.wrong)} of {result.n_sentences}"


def _sentence_lines(sentence: Any, n_repeats: int) -> List[str]:
    times = f"wrong in {sentence.n_wrong} of {n_repeats}"
    return [
        f"Sentence {sentence.number}, {times}",
        f"  gold:  {inline(sentence.gold)}",
        f"  found: {inline(sentence.found)}",
    ]


def _columns(table: Table) -> List[str]:
    """A table for the screen."""
    lines: Sequence[Sequence[str]] = [table.head, *table.rows]
    widths = [max(map(len, column)) for column in zip(*lines)]
    return [
        "  "
        + "  ".join(
            cell.ljust(width) if i < table.n_names else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths))
        ).rstrip()
        for line in lines
    ]


def _marked(pieces: Pieces) -> str:
    return "".join(
        f"<mark>{html_text(text)} <small>{html_text(label)}</small></mark>"
        if label
        else html_text(text)
        for text, label in pieces
    )


def _curve_picture(result: Result) -> str:
    from ..figures import as_svg, new_figure

    figure, axes = new_figure()
    places = [point.n_sentences for point in result.curve]
    means = [point.f1.value for point in result.curve]
    (line,) = axes.plot(places, means, marker="o")
    lows = [point.f1.low for point in result.curve]
    highs = [point.f1.high for point in result.curve]
    axes.fill_between(places, lows, highs, color=line.get_color(), alpha=0.15)
    axes.set_xlabel("training sentences")
    axes.set_ylabel("F1")
    return as_svg(figure)
