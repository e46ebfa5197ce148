"""How far confidences can be trusted: of the entities that a pipeline is 0.8 sure of,
are 80 % right?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Iterable, List, Optional

import numpy
from markupsafe import Markup
from pydantic import BaseModel, ValidationError
from spacy.training import Example

from ..files.errors import DataError
from ..files.json_lines import read_json
from ..pipeline.confidence import confidence
from . import pages
from .scoring import entity_spans, judged_entities

# Bounds of the confidences that are taken together; most are near 1.
BOUNDS = (0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
# Square points.
LARGEST_POINT = 400
# Of the axes, so that points at the ends are whole.
LIMITS = (-0.06, 1.06)


@dataclass
class Bin:
    """Entities whose confidences lie between two bounds: how many, the mean of these,
    and the share of those that are right."""

    low: float
    high: float
    n: int
    confidence: float
    right: float


@dataclass
class CalibrationCurve:
    """error (Optional[float]): The expected calibration error: the mean over all
    entities of how far confidence and share lie apart in their bin, from 0 to 1; None
    without an entity that has a confidence."""

    bins: List[Bin]
    error: Optional[float]


class _Figures(BaseModel):
    confidence: CalibrationCurve


def calibration_curve(examples: Iterable[Example]) -> CalibrationCurve:
    """Confidences beside what is right, for entities as they are annotated.

    examples (Iterable[Example]): Predicted and gold entities, on the same words.
    RETURNS (CalibrationCurve): Of the bins that have an entity.
    """
    sure: List[float] = []
    right: List[bool] = []
    for eg in examples:
        gold, doc = eg.reference, eg.predicted
        true = set(judged_entities(gold, entity_spans(gold), merged=False))
        known = set(judged_entities(gold, entity_spans(doc), merged=False))
        for ent in doc.ents:
            span, score = (ent.start, ent.end, ent.label_), confidence(ent)
            if score is not None and span in known:
                sure.append(score)
                right.append(span in true)
    found = _bins(numpy.array(sure), numpy.array(right, dtype="float64"))
    apart = [each.n * abs(each.confidence - each.right) for each in found]
    return CalibrationCurve(found, sum(apart) / len(sure) if sure else None)


def _bins(confidences: numpy.ndarray, right: numpy.ndarray) -> List[Bin]:
    places = numpy.digitize(confidences, BOUNDS[1:-1])
    found = []
    for i, (low, high) in enumerate(zip(BOUNDS, BOUNDS[1:])):
        here = places == i
        if n := int(here.sum()):
            means = float(confidences[here].mean()), float(right[here].mean())
            found.append(Bin(low, high, n, *means))
    return found


def read_calibration_curve(path: Path) -> CalibrationCurve:
    """What `calibration_curve` found, from the figures that `evaluate` wrote.
    RAISES (DataError): If they are not there, or others."""
    figures = read_json(path)
    try:
        return _Figures.model_validate(figures).confidence
    except ValidationError as error:
        text = "holds no confidences: it is no file of `evaluate --out`"
        raise DataError(text, path=path) from error


def calibration_page(found: CalibrationCurve, title: str) -> str:
    """The reliability diagram as a page (str)."""
    drawn = found.bins and pages.has_matplotlib()
    picture = draw_bins(found.bins) if drawn else None
    values = {"title": title, "picture": picture, **vars(found)}
    return pages.render_page("calibration.html", **values)


def draw_bins(bins: List[Bin]) -> Markup:
    """What is right over the mean confidence of each bin, as an <svg>; the area of a
    point is its number of entities. bins: One or more."""
    figure, axes = pages.new_figure(4.5, 4.5)
    axes.plot([0, 1], [0, 1], color="#777777", linestyle="dashed")
    x, y = zip(*((each.confidence, each.right) for each in bins))
    most = max(each.n for each in bins)
    areas = [LARGEST_POINT * each.n / most for each in bins]
    axes.plot(x, y, color=pages.PALETTE[0])
    axes.scatter(x, y, s=areas, color=pages.PALETTE[0], edgecolors="#000000")
    axes.set(
        xlim=LIMITS, ylim=LIMITS, xlabel="confidence", ylabel="share that is right"
    )
    axes.set_aspect("equal")
    return pages.as_svg(figure)
