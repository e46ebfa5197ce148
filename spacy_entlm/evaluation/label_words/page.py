"""The report on label words as one HTML page, which needs nothing beside it."""

from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Sequence, Tuple

from ..html import html_page, html_table, html_text
from .picture import class_colour

NOTHING = "–"


@dataclass
class ClassView:
    """What the page shows of a class.

    label (str): The class.
    words (List[Tuple[str, List[str]]]): Its label words with their pieces.
    nearest (List[Tuple[str, float, str]]): Words of the vocabulary nearest to its
        row, their cosines, and the class of which each is a label word, if any.
    report (Mapping[str, Any]): Its part of the report of `search`, or empty.
    """

    label: str
    words: List[Tuple[str, List[str]]]
    nearest: List[Tuple[str, float, str]] = field(default_factory=list)
    report: Mapping[str, Any] = field(default_factory=dict)


def render_page(
    classes: Sequence[ClassView],
    *,
    settings: Mapping[str, Any],
    picture: str,
    shown: float,
) -> str:
    """Write the page.

    classes (Sequence[ClassView]): The classes.
    settings (Mapping[str, Any]): Those of the search and the backbone, by name.
    picture (str): The <svg> element; empty: there is no label word to show.
    shown (float): Share of the variance that the picture shows.
    RETURNS (str): The HTML.
    """
    parts = [_settings_table(settings)]
    if picture:
        parts += [
            "<h2>Label words and label rows</h2>",
            f'<p class="note">Rows of the output matrix in the plane of their two '
            f"principal components, which show {shown:.0%} of the variance. A circle "
            f"is a label word, a diamond the mean of a class's words: the row that "
            f"the class starts from.</p>",
            picture,
        ]
    parts += [_class_section(i, view) for i, view in enumerate(classes)]
    return html_page("Label words", parts)


def _settings_table(settings: Mapping[str, Any]) -> str:
    rows = [[name.replace("_", " "), _setting(v)] for name, v in settings.items()]
    return html_table(["setting", "value"], rows)


def _setting(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or NOTHING
    return NOTHING if value is None else str(value)


def _class_section(index: int, view: ClassView) -> str:
    report = view.report
    parts = [
        f'<h2><span style="background:{class_colour(index)}"></span>'
        f"{html_text(view.label)}</h2>"
    ]
    if report.get("advice"):
        lacking = f"{len(view.words)} words; {report['advice']}"
        parts.append(f'<p class="advice">{html_text(lacking)}</p>')
    if view.words:
        parts.append(_word_table(view))
    elif not report.get("advice"):
        parts.append('<p class="advice">No label word.</p>')
    if view.nearest:
        rows = [[word, f"{cosine:.3f}", owner] for word, cosine, owner in view.nearest]
        parts.append("<h3>Nearest to the row</h3>")
        head = ["vocabulary word", "cosine", "label word of"]
        parts.append(html_table(head, rows, numbers=(1,)))
    parts += [
        _left_out(report, "conflicts", "too often stand elsewhere"),
        _left_out(report, "multi_piece", "are no single piece of the vocabulary"),
        _left_out(report, "unseen", "are not in the annotated text"),
    ]
    return "\n".join(filter(None, parts))


def _word_table(view: ClassView) -> str:
    counted = {entry["word"]: entry for entry in view.report.get("words", [])}
    rows = []
    for word, pieces in view.words:
        entry: Dict[str, Any] = counted.get(word, {})
        counts = [_number(entry.get(name)) for name in ("data", "lm", "ratio", "score")]
        rows.append([word, " ".join(pieces) or NOTHING, *counts])
    head = ["label word", "pieces", "data", "LM", "conflict ratio", "score"]
    return html_table(head, rows, numbers=(2, 3, 4, 5))


def _left_out(report: Mapping[str, Any], name: str, why: str) -> str:
    entries = report.get(name, [])
    if not entries:
        return ""
    total = report.get(f"n_{name}", len(entries))
    rows = []
    for entry in entries:
        counts = [_number(entry.get(key)) for key in ("data", "lm", "ratio")]
        reason = entry.get("why") or " ".join(map(str, entry.get("pieces") or []))
        rows.append([entry["word"], *counts, reason])
    head = ["word", "data", "LM", "conflict ratio", ""]
    table = html_table(head, rows, numbers=(1, 2, 3))
    return (
        f"<details><summary>Words that would have been chosen, but {why}: "
        f"{_number(total)}</summary>{table}</details>"
    )


def _number(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return NOTHING
    return f"{value:,}" if isinstance(value, int) else f"{value:.2f}"
