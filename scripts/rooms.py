"""Draws which room of the package uses which, from the imports, as SVG.

    python scripts/rooms.py docs/images/rooms.svg

The order of rooms is that of pyproject.toml. A dot says that the room of its line
imports from the room of its column.
"""

import re
from pathlib import Path
from typing import List, Set, Tuple

import grimp
import typer

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "spacy_entlm"
LAYERS = re.compile(r"^containers = .*?^layers = \[(.*?)^\]", re.DOTALL | re.MULTILINE)
LEFT, TOP, STEP = 110, 96, 26


def rooms(pyproject: str) -> List[str]:
    """The rooms in their order, from the command line down to the files."""
    found = LAYERS.search(pyproject)
    if found is None:
        raise ValueError("pyproject.toml has no order of rooms")
    return re.findall(r"\w+", found.group(1))


def uses(names: List[str]) -> Set[Tuple[str, str]]:
    """Pairs of rooms of which the first imports from the second."""
    graph = grimp.build_graph(PACKAGE, cache_dir=None)
    pairs = set()
    for module in graph.modules:
        for other in graph.find_modules_directly_imported_by(module):
            pair = (_room(module), _room(other))
            if pair[0] != pair[1] and set(pair) <= set(names):
                pairs.add(pair)
    return pairs


def _room(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def draw(names: List[str], pairs: Set[Tuple[str, str]]) -> str:
    """The picture: a line and a column for each room."""
    size = len(names) * STEP
    shapes = []
    for i, name in enumerate(names):
        y, x = TOP + i * STEP, LEFT + i * STEP + STEP / 2
        shapes.append(
            f'<text x="{LEFT - 8}" y="{y + 17}" text-anchor="end">{name}</text>'
        )
        shapes.append(
            f'<text transform="translate({x + 4} {TOP - 8}) rotate(-60)">{name}</text>'
        )
        shapes.append(
            f'<rect x="{LEFT + i * STEP}" y="{y}" width="{STEP}" height="{STEP}" '
            f'fill="#dddddd"/>'
        )
        shapes.append(
            f'<path d="M{LEFT} {y}h{size}M{LEFT + i * STEP} {TOP}v{size}" '
            f'stroke="#e4e4e4"/>'
        )
    for one, other in sorted(pairs):
        column = LEFT + names.index(other) * STEP + STEP / 2
        line = TOP + names.index(one) * STEP + STEP / 2
        shapes.append(f'<circle cx="{column}" cy="{line}" r="5.5" fill="#2563a8"/>')
    width, height = LEFT + size + 70, TOP + size + 12
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="system-ui, sans-serif" '
        f'font-size="13" fill="#111111" role="img">\n'
        f"<title>Which room of the package imports from which</title>\n"
        f'<rect width="100%" height="100%" rx="8" fill="#ffffff"/>\n'
        + "\n".join(shapes)
        + "\n</svg>\n"
    )


def main(out: Path) -> None:
    """Draw the picture."""
    names = rooms((ROOT / "pyproject.toml").read_text(encoding="utf8"))
    out.write_text(draw(names, uses(names)), encoding="utf8")


if __name__ == "__main__":
    typer.run(main)
