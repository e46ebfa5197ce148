"""The report of a cross-validation: lines for the screen, a page, Markdown, JSON."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, List, Mapping, Sequence

from markupsafe import Markup

from .. import pages
from .result import CurvePoint, Piece, Result
from .scores import RULE

EXTENSIONS = (".html", ".md", ".json")
# The version of the JSON.
FORMAT = 1
CURVE_COLOR = "#4477aa"


def screen_lines(result: Result) -> List[str]:
    """The report for the screen, in short."""
    values = {"result": result, "has_picture": pages.has_matplotlib()}
    return pages.render_page("crossval.txt", **values).splitlines()


def render(result: Result, settings: Mapping[str, Any], path: Path) -> str:
    """The whole report (str) in the form that the extension of a path asks for.
    settings (Mapping[str, Any]): What was run, by name."""
    extension = path.suffix.lower()
    if extension == ".json":
        data = {"format": FORMAT, "settings": dict(settings), **asdict(result)}
        return json.dumps(data, ensure_ascii=False, indent=1) + "\n"
    drawn = result.curve and extension == ".html" and pages.has_matplotlib()
    return pages.render_page(
        f"crossval{extension}",
        result=result,
        settings=settings,
        rule=RULE,
        colors=pages.label_colors(c.label for c in result.classes),
        picture=draw_curve(result.curve) if drawn else None,
        inline=inline,
    )


def inline(pieces: Sequence[Piece]) -> str:
    """A sentence on one line, entities as `[Rome](LOC)`."""
    parts = [f"[{p.text}]({p.label})" if p.label else p.text for p in pieces]
    return " ".join("".join(parts).split())


def draw_curve(curve: Sequence[CurvePoint]) -> Markup:
    """The learning curve with its intervals, as an <svg> element."""
    figure, axes = pages.new_figure()
    places = [point.n_sentences for point in curve]
    f1s = [point.f1 for point in curve]
    axes.plot(places, [f1.value for f1 in f1s], marker="o", color=CURVE_COLOR)
    # A point without an interval has a band of no width.
    lows = [f1.value if f1.low is None else f1.low for f1 in f1s]
    highs = [f1.value if f1.high is None else f1.high for f1 in f1s]
    axes.fill_between(places, lows, highs, color=CURVE_COLOR, alpha=0.25)
    axes.set(xlabel="training sentences", ylabel="F1", ylim=(0, 100))
    return pages.as_svg(figure)
