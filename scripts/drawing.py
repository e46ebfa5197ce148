"""Draws how EntLM labels words, for the page "How it works": as SVG.

    python scripts/drawing.py docs/images/entlm.svg

The figures are an illustration: nothing was measured.
"""

from html import escape
from pathlib import Path
from typing import List, NamedTuple

import typer


class Column(NamedTuple):
    """A word of the text. scores: Of the word itself and of two classes, 0 to 1."""

    word: str
    scores: List[float]
    result: str


COLUMNS = [
    Column("Ann", [0.35, 0.9, 0.2], "person"),
    Column("flew", [0.95, 0.1, 0.05], "no name"),
    Column("to", [0.95, 0.05, 0.1], "no name"),
    Column("Lisbon", [0.4, 0.15, 0.9], "city"),
]
ROWS = ["the word itself", "person", "city"]
COLOURS = ["#9e9e9e", "#7c6fd6", "#d98e04"]
LEFT, WIDTH, BAR, LINE = 150, 140, 96, 30


def text(x: float, y: float, words: str, anchor: str = "middle", more: str = "") -> str:
    """A line of text. x, y: Of its middle, or of its end."""
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" {more}>{escape(words)}</text>'


def column(number: int, drawn: Column) -> List[str]:
    """The shapes of a word: itself, a bar for each score, and what wins."""
    x = LEFT + number * WIDTH
    best = drawn.scores.index(max(drawn.scores))
    shapes = [text(x + WIDTH / 2, 40, drawn.word, more='font-size="20"')]
    for i, score in enumerate(drawn.scores):
        y = 64 + i * LINE
        opacity = 1.0 if i == best else 0.35
        shapes.append(
            f'<rect x="{x + 22}" y="{y}" width="{score * BAR:.0f}" height="18" rx="3" '
            f'fill="{COLOURS[i]}" opacity="{opacity}"/>'
        )
    weight = 'font-weight="700"' if best else 'fill="#666666"'
    shapes.append(text(x + WIDTH / 2, 190, drawn.result, more=weight))
    return shapes


def picture() -> str:
    """The words with their bars."""
    width = LEFT + len(COLUMNS) * WIDTH + 10
    shapes = [text(LEFT - 10, 40, "text", "end", 'fill="#666666"')]
    shapes += [
        text(LEFT - 10, 78 + i * LINE, name, "end") for i, name in enumerate(ROWS)
    ]
    shapes.append(text(LEFT - 10, 190, "the highest wins", "end", 'fill="#666666"'))
    for number, drawn in enumerate(COLUMNS):
        shapes += column(number, drawn)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} 210" '
        f'width="{width}" height="210" font-family="system-ui, sans-serif" '
        f'font-size="14" fill="#111111" role="img">\n'
        f"<title>Scores of the word itself and of two classes at each word</title>\n"
        f'<rect width="100%" height="100%" rx="8" fill="#ffffff"/>\n'
        + "\n".join(shapes)
        + "\n</svg>\n"
    )


def main(out: Path) -> None:
    """Draw the picture."""
    out.write_text(picture(), encoding="utf8")


if __name__ == "__main__":
    typer.run(main)
