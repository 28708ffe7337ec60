"""Points from arrays in several layouts: batches, flattened rows, real and imaginary parts side by side."""

import logging
import math
from typing import Any

import numpy as np

from ..arguments import as_array
from ..array import Array, norm
from ..errors import InvalidInput, OffManifold, OfRow
from .checks import check_points
from .composed.product import Product, flat_size, unflatten
from .contract import Manifold
from .own.chart import Chart
from .own.domain import Domain
from .spaces.flat import Flat

log = logging.getLogger("heatgp")
ROUNDING = 5e-3
"""How far `projected_points` moves each entry of a point at most, as part of the largest: rounding to two decimals."""


def as_points(manifold: Manifold, X: Any, name: str = "X") -> np.ndarray:
    """Check points, bring them to shape (N, *shape) in double precision, and remove rounding errors of files.

    Parameters
    ----------
    manifold : Manifold
    X : array or nested list
        Points (N, *shape), or rows (N, size) of flattened points. For complex manifolds rows (N, 2 size) of real parts
        followed by imaginary parts are accepted too.
    name : str, default "X"
        The name of X in messages.

    Returns
    -------
    array of shape (N, *manifold.shape)

    Raises
    ------
    InvalidInput
        If X is not numeric or has another shape.
    OffManifold
        If a point is not finite or not on the manifold.

    Examples
    --------
    >>> from heatgp import SpecialOrthogonal
    >>> as_points(SpecialOrthogonal(2), [[1, 0, 0, 1]])
    array([[[1., 0.],
            [0., 1.]]])
    """
    return polished(manifold, shaped(manifold, X, name), name)


def polished(manifold: Manifold, points: np.ndarray, name: str) -> np.ndarray:
    """Points (..., *shape) in double precision without rounding errors of files; OffManifold if one is none."""
    checked = np.asarray(check_points(manifold, points, name))
    return np.asarray(manifold.polish(checked.astype(complex if manifold.is_complex else float)))


def projected_points(manifold: Manifold, X: Any, name: str = "X") -> tuple[np.ndarray, float]:
    """Points moved to the nearest points of the manifold, and how far the one moved that moved most.

    For data that were written with few digits. Rounding to two decimals moves each entry by 0.005 at most, so a point
    of m entries by 0.005 √m; whatever is further away, relative to the largest entry, is no rounding and is refused.
    Each factor of a product is held to this on its own.

    Parameters
    ----------
    manifold : Manifold
    X, name
        As in `as_points`.

    Returns
    -------
    points : array (N, *manifold.shape)
    moved : float
        The largest Euclidean distance, in the entries of the arrays; 0 where there is no point.

    Raises
    ------
    InvalidInput
        If X is not numeric or has another shape.
    OffManifold
        If a point is not finite, has no nearest point, or is too far from it.

    Examples
    --------
    >>> from heatgp import Sphere
    >>> points, moved = projected_points(Sphere(2), [[0.577, 0.577, 0.577]])
    >>> points, round(moved, 6)
    (array([[0.57735027, 0.57735027, 0.57735027]]), 0.000607)
    """
    array = np.asarray(check_points(manifold, shaped(manifold, X, name), name, tolerance=math.inf))
    points = manifold.project(array)
    moved = _moved(manifold, array, points, name)
    if moved > 8 * np.finfo(float).eps * np.abs(array).max(initial=1.0):  # more than rounding
        number = int((array != points).reshape(len(points), -1).any(axis=1).sum())
        log.info("%d points of %s were moved onto %r, by at most %.2g", number, name, manifold, moved)
    return points, moved


def _moved(manifold: Manifold, array: np.ndarray, points: np.ndarray, name: str) -> float:
    """The largest distance between points and their nearest points, or OffManifold where one is no rounding."""
    if isinstance(manifold, Product):
        parts = zip(manifold.factors, manifold.split(array), manifold.split(points))
        return max(_moved(factor, one, other, name) for factor, one, other in parts)
    distance = np.asarray(norm(np.asarray(manifold.difference(array, points)), len(manifold.shape)))
    entries = points - points.mean(axis=0) if isinstance(manifold, (Flat, Chart, Domain)) and len(points) else points
    limit = ROUNDING * math.sqrt(math.prod(manifold.shape)) * float(np.abs(entries).max(initial=0.0))
    if (distance > limit).any():
        where = int(np.argmax(distance > limit))
        text = (
            f"] is {distance[where]:.1e} > {limit:.1e} away from the nearest point of {manifold!r}: more than the "
            "rounding of data with two decimals. Check the data, the units and the order of the columns."
        )
        raise OffManifold(OfRow(f"{name}[", where, text))
    return float(distance.max(initial=0.0))


def shaped(manifold: Manifold, X: Any, name: str) -> np.ndarray:
    """X as an array of shape (N, *manifold.shape), from points or rows of flattened points."""
    array = as_array(X, name, f"a numeric array of points of {manifold!r}")
    array = from_rows(manifold, array)
    if array.ndim != 1 + len(manifold.shape):
        rows = f" or rows of {flat_size(manifold)} numbers" if manifold.is_complex or len(manifold.shape) > 1 else ""
        is_one = array.shape in (manifold.shape, (flat_size(manifold),))
        alone = f" One point alone is {name}[None]." if is_one else ""
        alone = f" A column is {name}[:, None]." if manifold.shape == (1,) and array.ndim == 1 else alone
        raise InvalidInput(
            f"{name} has shape {array.shape}; needed are points (N, {', '.join(map(str, manifold.shape))}){rows} "
            f"of {manifold!r}.{manifold.converter(array.shape) or alone}"
        )
    return array


def from_rows(manifold: Manifold, array: Array) -> Array:
    """The points of rows of flattened points; an array of any library that is none of these stays as it is."""
    if array.ndim == 2 and len(manifold.shape) != 1 and array.shape[1] == math.prod(manifold.shape):
        return array.reshape(-1, *manifold.shape)
    if array.ndim == 2 and manifold.is_complex and array.dtype.kind != "c" and array.shape[1] == flat_size(manifold):
        return unflatten(manifold, array)
    return array
