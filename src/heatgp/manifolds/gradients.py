"""Gradients of functions of points: differences along geodesics, in an orthonormal basis of the tangent space."""

from collections.abc import Callable
from functools import reduce

import numpy as np

from .contract import Manifold

WEIGHTS = {1: 2 / 3, 2: -1 / 12}
"""Of values at so many steps, minus those as far behind: the central difference whose error is of fourth order."""


def gradients(
    manifold: Manifold, function: Callable[[np.ndarray], np.ndarray], x: np.ndarray, step: float
) -> np.ndarray:
    """The gradients of a function at points, tangent vectors.

    Parameters
    ----------
    manifold : Manifold
    function : from points (N, *shape) to values (N, ...).
    x : array (n, *shape) of points.
    step : float, the length of a step: the error is step⁴/30 times the fifth derivative, and rounding over the step.

    Returns
    -------
    array (n, ..., *shape)

    Examples
    --------
    >>> from heatgp import Sphere
    >>> gradients(Sphere(2), lambda x: x[:, 2], np.array([[1.0, 0, 0]]), 1e-3).round(9)
    array([[0., 0., 1.]])
    """
    basis = manifold.tangent_basis(x)
    parts = [
        sign * weight / step * _moved(manifold, function, x, sign * number * step * basis)
        for number, weight in WEIGHTS.items()
        for sign in (1, -1)
    ]
    slopes = reduce(np.add, parts)
    found = np.einsum("nd...,ndp->n...p", slopes, basis.reshape(*basis.shape[:2], -1))
    return found.reshape(len(x), *slopes.shape[2:], *manifold.shape)


def _moved(
    manifold: Manifold, function: Callable[[np.ndarray], np.ndarray], x: np.ndarray, v: np.ndarray
) -> np.ndarray:
    """Values (n, dim, ...) at the ends of geodesics from x with velocities v (n, dim, *shape)."""
    ends = manifold.exp(x[:, None], v)
    values = function(np.reshape(ends, (-1, *manifold.shape)))
    return values.reshape(*v.shape[:2], *values.shape[1:])
