"""Confidences that mean what they say: of the entities that a component is 0.8 sure of,
80 % are to be right (Platt scaling: Platt, 1999; Guo et al., 2017)."""

import math
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy

from ..files.errors import DataError
from ..files.json_lines import dump_json, read_json

# Log-odds beyond these are no more than rounding of probabilities.
MAX_LOG_ODDS = 12.0
# The inverse variance of scale and shift before an entity was seen, around those that
# a fit begins at: few entities change them little.
PRIOR = 4.0
LEAST_SCALE = 0.01


class Calibration(NamedTuple):
    """What log-odds of a confidence are multiplied with (scale, above 0), and what is
    then added (shift); and the calibrated confidence that an entity has at least, where
    the component's `threshold` says nothing (least, 0 to 1)."""

    scale: float = 1.0
    shift: float = 0.0
    least: float = 0.0

    def __call__(self, confidences: numpy.ndarray) -> numpy.ndarray:
        """float32 (n), confidences of a decoder, from 0 to 1, as calibrated ones."""
        if self[:2] == UNCHANGED[:2]:
            return confidences
        odds = self.scale * log_odds(confidences) + self.shift
        return (0.5 + 0.5 * numpy.tanh(odds / 2.0)).astype("float32")

    def to_bytes(self) -> bytes:
        """As JSON."""
        return dump_json(self._asdict())


UNCHANGED = Calibration()


def log_odds(confidences: numpy.ndarray) -> numpy.ndarray:
    """float64 (n), of confidences (n) from 0 to 1; neither end is infinite."""
    sure = numpy.asarray(confidences, dtype="float64")
    with numpy.errstate(divide="ignore"):
        odds = numpy.log(sure) - numpy.log1p(-sure)
    return numpy.clip(odds, -MAX_LOG_ODDS, MAX_LOG_ODDS)


def fit_calibration(
    confidences: numpy.ndarray, right: numpy.ndarray, before: Calibration
) -> Calibration:
    """The calibration under which what was found right is most likely (logistic
    regression), near to `before` where that says little. The least stays.

    confidences (n): Of a decoder, of entities of texts that were not trained on.
    right: bool (n), whether they are annotated.
    """
    from scipy.optimize import minimize  # they take time to import
    from scipy.special import log_expit

    begun = before[:2]
    odds = log_odds(confidences)
    signs = numpy.where(right, 1.0, -1.0)

    def surprise(weights: numpy.ndarray) -> float:
        told = log_expit(signs * (weights[0] * odds + weights[1]))
        return float(PRIOR / 2 * ((weights - begun) ** 2).sum() - told.sum())

    scale, shift = minimize(surprise, begun).x
    return Calibration(max(float(scale), LEAST_SCALE), float(shift), before.least)


def read_calibration(path: Path) -> Calibration:
    """Read what `Calibration.to_bytes` gave.
    RAISES (DataError): If the file holds something else."""
    with suppress(TypeError, OverflowError):  # other keys, or no such numbers
        found = Calibration(**read_json(path))
        finite = math.isfinite(found.shift) and 0.0 < found.scale < math.inf
        if finite and 0.0 <= found.least <= 1.0:
            return found
    raise DataError('holds no calibration: {"scale": 1.0, "shift": 0.0}', path=path)
