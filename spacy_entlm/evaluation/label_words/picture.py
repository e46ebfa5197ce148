"""Label words and label rows in the plane, as an SVG picture."""

from dataclasses import dataclass
from typing import Iterable, List, Sequence, Tuple

import numpy

from ..html import html_text

WIDTH, MIN_HEIGHT, MAX_HEIGHT = 920.0, 320.0, 760.0
MARGIN = 60.0
DOT, DIAMOND = 4.0, 8.0
FONT, ROW_FONT, LINE = 12.0, 14.0, 14.0
# Widths of a letter, of which a place for a text is reckoned.
CHAR_WIDTH, BOLD_WIDTH = 6.8, 9.6
# Hues of neighbouring classes lie far apart: the golden angle, in degrees.
GOLDEN_ANGLE = 137.5
FIRST_HUE = 215.0

Box = Tuple[float, float, float, float]


@dataclass
class Point:
    """A label word, or the row of a class.

    text (str): What stands beside it.
    class_index (int): Which class it belongs to.
    is_row (bool): Whether it is the row of the class.
    """

    text: str
    class_index: int
    is_row: bool


def class_colour(index: int) -> str:
    """The colour of a class, dark enough to be read on white."""
    hue = (FIRST_HUE + index * GOLDEN_ANGLE) % 360
    return f"hsl({hue:.0f} 70% 36%)"


def draw(points: Sequence[Point], plane: numpy.ndarray) -> str:
    """Draw points; both axes have the same scale, so that distances can be compared.

    points (Sequence[Point]): What there is to draw.
    plane: float (n_points, 2), their coordinates.
    RETURNS (str): An <svg> element.
    """
    places, height = _on_canvas(plane)
    taken = [_mark_box(point, *place) for point, place in zip(points, places)]
    marks = []
    # Rows first: the circle of a word that lies on one stays visible.
    for point, (x, y) in sorted(zip(points, places), key=lambda pair: -pair[0].is_row):
        size = ROW_FONT if point.is_row else FONT
        text_x, text_y, anchor = _free_place(point, x, y, taken)
        text = html_text(point.text)
        marks.append(
            f'<g fill="{class_colour(point.class_index)}">{_mark(point, x, y)}'
            f'<text x="{text_x:.1f}" y="{text_y:.1f}" text-anchor="{anchor}" '
            f'font-size="{size:g}"{_bold(point)}>{text}</text></g>'
        )
    return (
        f'<svg viewBox="0 0 {WIDTH:g} {height:g}" role="img" '
        f'aria-label="Label words and label rows in the plane">'
        f"{''.join(marks)}</svg>"
    )


def _on_canvas(plane: numpy.ndarray) -> Tuple[List[Tuple[float, float]], float]:
    """Places of points on the canvas, and its height."""
    low, high = plane.min(axis=0), plane.max(axis=0)
    extent = numpy.maximum(high - low, 1e-9)
    inner = WIDTH - 2 * MARGIN
    scale = min(inner / extent[0], (MAX_HEIGHT - 2 * MARGIN) / extent[1])
    height = max(MIN_HEIGHT, extent[1] * scale + 2 * MARGIN)
    middle = (low + high) / 2
    x = WIDTH / 2 + (plane[:, 0] - middle[0]) * scale
    y = height / 2 - (plane[:, 1] - middle[1]) * scale
    return list(zip(x.tolist(), y.tolist())), float(height)


def _free_place(
    point: Point, x: float, y: float, taken: List[Box]
) -> Tuple[float, float, str]:
    """A place for the text of a point where it covers nothing, if there is one; it is
    noted in `taken`."""
    gap = DIAMOND + 2
    width = len(point.text) * (BOLD_WIDTH if point.is_row else CHAR_WIDTH)
    places = [
        (x + gap, y + 4, "start"),
        (x - gap, y + 4, "end"),
        (x, y - gap, "middle"),
        (x, y + gap + LINE - 4, "middle"),
        (x + gap, y - LINE + 2, "start"),
        (x + gap, y + LINE + 4, "start"),
        (x - gap, y - LINE + 2, "end"),
        (x - gap, y + LINE + 4, "end"),
    ]
    boxes = [_box(place, width) for place in places]
    free = (
        i
        for i, box in enumerate(boxes)
        if box[0] >= 0 and box[2] <= WIDTH and not _overlaps(box, taken)
    )
    chosen = next(free, 0)
    taken.append(boxes[chosen])
    return places[chosen]


def _mark_box(point: Point, x: float, y: float) -> Box:
    size = DIAMOND if point.is_row else DOT
    return x - size, y - size, x + size, y + size


def _box(place: Tuple[float, float, str], width: float) -> Box:
    x, y, anchor = place
    left = x - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
    return left, y - LINE + 3, left + width, y + 3


def _overlaps(box: Box, others: Iterable[Box]) -> bool:
    return any(
        box[0] < other[2]
        and other[0] < box[2]
        and box[1] < other[3]
        and other[1] < box[3]
        for other in others
    )


def _mark(point: Point, x: float, y: float) -> str:
    if not point.is_row:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{DOT:g}"/>'
    corners = [(x, y - DIAMOND), (x + DIAMOND, y), (x, y + DIAMOND), (x - DIAMOND, y)]
    shape = " ".join(f"{a:.1f},{b:.1f}" for a, b in corners)
    return f'<polygon points="{shape}" stroke="black"/>'


def _bold(point: Point) -> str:
    return ' font-weight="bold"' if point.is_row else ""
