"""The page on label words: the counts behind them, and where their rows lie."""

from typing import Any, Dict, List, Mapping, NamedTuple, Tuple

import numpy
from markupsafe import Markup

from ...label_words.words import LabelWords, word_pieces
from .. import pages

# Words of the vocabulary that are shown beside a class's row.
N_NEAREST = 10
WIDTH, MIN_HEIGHT, MAX_HEIGHT = 9.0, 3.0, 7.0
WORD_MARK, ROW_MARK = ("o", 30, 9), ("D", 110, 11)
# Where a text may stand beside its mark, in points, the best place first.
PLACES = [(8, -3), (-8, -3), (0, 9), (0, -16), (8, 9), (8, -14), (-8, 9), (-8, -14)]
SIDES = {8: "left", -8: "right", 0: "center"}


class ClassView(NamedTuple):
    """What the page shows of a class: its label words with their pieces, its part of
    the report of `search`, and of the vocabulary words nearest to its row the word, the
    cosine and the classes of which it is a label word."""

    label: str
    words: Dict[str, List[str]]
    report: Mapping[str, Any]
    nearest: List[Tuple[str, float, str]]


class Point(NamedTuple):
    """A label word, or the row of a class, in the output matrix."""

    text: str
    label: str
    is_row: bool
    row: numpy.ndarray


def label_words_page(
    words: LabelWords, report: Mapping[str, Any], backbone: str
) -> str:
    """The page on label words. report: Of `search`, or empty. backbone: The LM."""
    from ...backbones.loading import load_masked_lm

    settings = {**report.get("settings", {}), "backbone of this page": backbone}
    views, points = _views(words, report, load_masked_lm(backbone), {})
    return render_label_words(views, points, settings)


def pipeline_page(pipe: Any, name: str) -> str:
    """The page on the texts by which classes of a pipeline began, and on their rows as
    they are now. pipe (EntLMNER): Of a pipeline. name (str): Of the pipeline."""
    network = pipe.network
    rows = network.label_rows.weight.detach().cpu().numpy()
    own = dict(zip(network.labels, rows))
    views, points = _views(pipe.label_data, {}, network.masked_lm, own)
    settings = {"pipeline": name, "component": pipe.name, "backbone": pipe.backbone}
    return render_label_words(views, points, settings)


def _views(
    words: LabelWords,
    report: Mapping[str, Any],
    masked_lm: Any,
    own_rows: Mapping[str, numpy.ndarray],
) -> Tuple[List[ClassView], List[Point]]:
    """What is shown of classes. own_rows: Rows (width) of classes in place of the means
    of their words'."""
    from ...label_words.rows import Rows, initial_row

    tokenizer = masked_lm.tokenizer
    vocabulary = Rows(masked_lm.decoder.weight, None).weight.detach().cpu()
    rows = Rows(vocabulary, None)
    ids = {x: {w: word_pieces(w, tokenizer) for w in ws} for x, ws in words.items()}
    views: List[ClassView] = []
    points: List[Point] = []
    for label, own in ids.items():
        shown = {w: tokenizer.convert_ids_to_tokens(i) for w, i in own.items()}
        known = {word: pieces for word, pieces in own.items() if pieces}
        for word, pieces in known.items():
            row = initial_row(rows, [pieces])[0].numpy()
            points.append(Point(word, label, False, row))
        class_row = own_rows.get(label)
        if class_row is None and known:
            class_row = initial_row(rows, list(known.values()))[0].numpy()
        near = []
        if class_row is not None:
            points.append(Point(label, label, True, class_row))
            near = _nearest(class_row, vocabulary.numpy(), tokenizer, ids)
        counted = report.get("classes", {}).get(label, {})
        views.append(ClassView(label, shown, counted, near))
    return views, points


def render_label_words(
    views: List[ClassView], points: List[Point], settings: Mapping[str, Any]
) -> str:
    """The HTML of what is shown; without points or matplotlib there is no picture."""
    colors = pages.label_colors(view.label for view in views)
    values: Dict[str, Any] = {"views": views, "points": points, "picture": None}
    values.update(settings=settings, colors=colors)
    if points and pages.has_matplotlib():
        plane, values["shown"] = project(numpy.stack([point.row for point in points]))
        values["picture"] = draw_points(points, plane, colors)
    return pages.render_page("label_words.html", **values)


def project(points: numpy.ndarray) -> Tuple[numpy.ndarray, float]:
    """Principal component analysis of points, float (n, width), n at least 1: their
    coordinates in the plane that shows most of their spread, float (n, 2), with signs
    such that a run repeats; and the share of the variance that it shows."""
    left, spread, _ = numpy.linalg.svd(points - points.mean(axis=0), False)
    plane = numpy.zeros((len(points), 2))
    plane[:, : len(spread[:2])] = left[:, :2] * spread[:2]
    largest = numpy.abs(plane).argmax(axis=0)
    plane *= numpy.where(plane[largest, [0, 1]] < 0, -1, 1)
    total = float((spread**2).sum())
    return plane, float((spread[:2] ** 2).sum()) / total if total else 1.0


def draw_points(
    points: List[Point], plane: numpy.ndarray, colors: Mapping[str, str]
) -> Markup:
    """Draw points at their places in the plane, float (n_points, 2), as an <svg>; both
    axes have the same scale, so that distances can be compared."""
    width, height = numpy.ptp(plane, axis=0)
    ratio = height / width if width else 0.5
    own_height = min(max(WIDTH * ratio, MIN_HEIGHT), MAX_HEIGHT)
    figure, axes = pages.new_figure(WIDTH, own_height)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_axis_off()
    axes.margins(0.15)
    for point, place in zip(points, plane):
        marker, size, _ = ROW_MARK if point.is_row else WORD_MARK
        # The circle of a word that lies on a row stays visible.
        look: Any = {"s": size, "marker": marker, "zorder": 2 if point.is_row else 3}
        axes.scatter(*place, c=colors[point.label], edgecolors="#777777", **look)
    figure.draw_without_rendering()
    _write_texts(axes, points, plane)
    return pages.as_svg(figure)


def _write_texts(axes: Any, points: List[Point], plane: numpy.ndarray) -> None:
    """Write texts beside their marks, where they cover nothing if there is a place."""
    from matplotlib.transforms import Bbox

    marks = axes.transData.transform(plane)
    taken = [Bbox.from_extents(x - 6, y - 6, x + 6, y + 6) for x, y in marks]
    for point, place in zip(points, plane):
        text = axes.annotate(
            pages.printable(point.text),
            place,
            textcoords="offset points",
            xytext=PLACES[0],
            fontsize=(ROW_MARK if point.is_row else WORD_MARK)[2],
            fontweight="bold" if point.is_row else "normal",
            parse_math=False,
        )
        for offset in [*PLACES, PLACES[0]]:
            text.set(position=offset, ha=SIDES[offset[0]])
            box = text.get_window_extent()
            if not box.count_overlaps(taken):
                break
        taken.append(box)


def _nearest(
    row: numpy.ndarray, vocabulary: numpy.ndarray, tokenizer: Any, ids: Any
) -> List[Tuple[str, float, str]]:
    """The vocabulary words nearest to a row, their cosines, and whose label words they
    are."""
    from ...label_words.nearest import nearest_words

    return [
        (
            near.word,
            near.cosine,
            ", ".join(x for x, own in ids.items() if [near.piece] in own.values()),
        )
        for near in nearest_words(row, vocabulary, tokenizer, N_NEAREST)
    ]
