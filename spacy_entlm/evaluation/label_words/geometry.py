"""Where rows of an output matrix lie: the nearest ones, and a picture in the plane."""

from typing import Tuple

import numpy


def nearest_rows(
    row: numpy.ndarray, matrix: numpy.ndarray, n: int
) -> Tuple[numpy.ndarray, numpy.ndarray]:
    """The rows of a matrix that have the greatest cosine with a row.

    row: float (width). matrix: float (n_rows, width).
    n (int): How many; fewer if the matrix has fewer.
    RETURNS: int64 (n), indices, nearest first; float (n), their cosines.
    """
    norms = numpy.linalg.norm(matrix, axis=1) * numpy.linalg.norm(row)
    cosines = matrix @ row / numpy.maximum(norms, numpy.finfo(matrix.dtype).tiny)
    nearest = numpy.argsort(-cosines, kind="stable")[:n]
    return nearest, cosines[nearest]


def project(points: numpy.ndarray) -> Tuple[numpy.ndarray, float]:
    """Principal component analysis: the plane that shows most of the points' spread.

    points: float (n, width), n at least 1.
    RETURNS: float (n, 2), coordinates in that plane; the share of the variance that
        it shows, 1 where there is none. Signs are such that a run repeats: of each
        axis the largest coordinate is positive.
    """
    centred = points - points.mean(axis=0)
    left, spread, _ = numpy.linalg.svd(centred, full_matrices=False)
    plane = numpy.zeros((len(points), 2))
    n_axes = min(2, len(spread))
    plane[:, :n_axes] = left[:, :n_axes] * spread[:n_axes]
    largest = numpy.abs(plane).argmax(axis=0)
    plane *= numpy.where(plane[largest, [0, 1]] < 0, -1, 1)
    total = float((spread**2).sum())
    return plane, float((spread[:n_axes] ** 2).sum()) / total if total else 1.0
