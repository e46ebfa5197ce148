"""Draws F1 by the number of examples of each class, as SVG.

    python scripts/curve.py figures.json docs/images/few_shot.svg

figures.json has a line for each method, with F1 by the number of examples:
    {"spacy-entlm": {"0": 55.1, "5": 70.2}, "a classifier of words": {"5": 51.4}}
"""

from html import escape
from pathlib import Path
from typing import Dict, List

import srsly
import typer

Figures = Dict[str, Dict[str, float]]

WIDTH, HEIGHT, LEFT, TOP, BOTTOM, RIGHT = 620, 320, 50, 24, 46, 190
COLOURS = ["#2563a8", "#6b6b6b", "#b26a00", "#2e8b57"]
# Pixels between the names of lines that end near to one another.
LEADING = 18
STEP_OF_F1 = 20


def draw(figures: Figures) -> str:
    """The picture. Numbers of examples stand at equal distances."""
    numbers = sorted({int(n) for line in figures.values() for n in line})
    span = max(len(numbers) - 1, 1)
    places = {
        n: LEFT + i * (WIDTH - LEFT - RIGHT) / span for i, n in enumerate(numbers)
    }
    shapes = _axes(places)
    heights = _apart(
        [_height(max(line.items(), key=_n)[1]) for line in figures.values()]
    )
    for (name, line), colour, at in zip(figures.items(), COLOURS, heights):
        points = [
            (places[int(n)], _height(f1)) for n, f1 in sorted(line.items(), key=_n)
        ]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        shapes.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" '
            f'stroke-width="3"/>'
        )
        shapes += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>'
            for x, y in points
        ]
        shapes.append(
            f'<text x="{points[-1][0] + 12:.1f}" y="{at + 5:.1f}" fill="{colour}" '
            f'font-weight="600">{escape(name)}</text>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" font-family="system-ui, sans-serif" '
        f'font-size="13" fill="#333333" role="img">\n'
        f"<title>F1 by the number of examples of each class</title>\n"
        f'<rect width="100%" height="100%" rx="8" fill="#ffffff"/>\n'
        + "\n".join(shapes)
        + "\n</svg>\n"
    )


def _n(entry: tuple) -> int:
    return int(entry[0])


def _height(f1: float) -> float:
    return TOP + (100 - f1) / 100 * (HEIGHT - TOP - BOTTOM)


def _apart(heights: List[float]) -> List[float]:
    """Heights of names, the upper ones moved up until none touches another."""
    order = sorted(range(len(heights)), key=lambda i: -heights[i])
    found = list(heights)
    for lower, upper in zip(order, order[1:]):
        found[upper] = min(found[upper], found[lower] - LEADING)
    return found


def _axes(places: Dict[int, float]) -> List[str]:
    end = WIDTH - RIGHT
    shapes = []
    for f1 in range(0, 101, STEP_OF_F1):
        y = _height(f1)
        shapes.append(f'<path d="M{LEFT} {y:.1f}H{end}" stroke="#e4e4e4"/>')
        shapes.append(
            f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{f1}</text>'
        )
    for n, x in places.items():
        shapes.append(
            f'<text x="{x:.1f}" y="{HEIGHT - 26}" text-anchor="middle">{n}</text>'
        )
    shapes.append(
        f'<text x="{(LEFT + end) / 2}" y="{HEIGHT - 8}" text-anchor="middle">'
        f"examples of each class (F1 from 0 to 100)</text>"
    )
    return shapes


def main(figures: Path, out: Path) -> None:
    """Draw the picture."""
    out.write_text(draw(srsly.read_json(figures)), encoding="utf8")


if __name__ == "__main__":
    typer.run(main)
