"""How much of the variance of predictions each factor of a product, or each coordinate of R^n, explains."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ..covariance import Array
from ..gp.sparse.source import random_rows
from ..manifolds import Euclidean, Manifold, Product
from .kernels import without_scale

DATA = 200
"""Data at which predictions are compared."""
PREDICTIONS = 1000
"""Predictions for each factor: variances are then known to about 10 %."""


def explained_variances(
    manifold: Manifold, coordinates: bool, predict: Callable[[Array], Array], points: Array
) -> tuple[Array, dict[str, Array]]:
    """The variance of predictions at the data, and the part of it that each factor explains.

    The part of a factor is half the mean square of the change of a prediction when this factor alone is replaced by
    that of another datum. This is the total effect of Sobol's decomposition (Jansen 1999), whose parts add up to the
    variance where effects add up and factors are independent; effects of several factors together count for each.

    Parameters
    ----------
    manifold : Manifold.
    coordinates : bool, whether each coordinate of R^n is a part of its own.
    predict : function of points that returns predictions (N,) or (N, p).
    points : array of the data, or a random sample of them.

    Returns
    -------
    variance : array () or (p,).
    explained : dict of such arrays by the name of the factor; empty where there is one factor only, or one datum.
    """
    points = np.asarray(points)[random_rows(len(points), DATA)]
    number, predictions = len(points), predict(points)
    names = [name for name, _ in replaced_parts(manifold, coordinates, points, points)]
    if len(names) < 2 or number < 2:
        return predictions.var(axis=0), {}
    changes = []
    for shift in range(1, min(number, 1 + PREDICTIONS // number)):
        others = np.roll(points, shift, axis=0)
        moved = (part for _, part in replaced_parts(manifold, coordinates, points, others))
        changes.append([np.square(predict(part) - predictions).mean(axis=0) for part in moved])
    weight = (number - 1) / (2 * number)  # as if each datum were replaced by itself as often
    return predictions.var(axis=0), dict(zip(names, weight * np.mean(changes, axis=0)))


def replaced_parts(
    manifold: Manifold, coordinates: bool, points: Array, others: Array, about: str = ""
) -> Iterator[tuple[str, Array]]:
    """For each factor its name, and the points with this factor of `others`."""
    manifold = without_scale(manifold)
    if isinstance(manifold, Product):
        parts, new = manifold.split(points), manifold.split(others)
        for i, factor in enumerate(manifold.factors):
            split = coordinates and isinstance(without_scale(factor), Euclidean)
            name = f"factor {i}, {factor!r}"
            inner = replaced_parts(factor, coordinates, parts[i], new[i], f"{name}, ") if split else [(name, new[i])]
            for label, part in inner:
                yield label, np.asarray(manifold.join(*parts[:i], part, *parts[i + 1 :]))
    elif coordinates and isinstance(manifold, Euclidean) and manifold.n > 1:
        for j in range(manifold.n):
            yield f"{about}coordinate {j}", np.where(np.arange(manifold.n) == j, others, points)
    else:
        yield about.removesuffix(", "), others
