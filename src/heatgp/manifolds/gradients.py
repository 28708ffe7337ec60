"""Gradients of functions of points: differences along geodesics, in an orthonormal basis of the tangent space."""

from collections.abc import Callable
from functools import reduce

import numpy as np

from .checks import unchecked
from .composed.product import flat_size, flatten, unflatten
from .contract import Manifold

WEIGHTS = {1: 2 / 3, 2: -1 / 12}
"""Of values at so many steps, minus those as far behind: the central difference whose error is of fourth order."""
DIFFERENCE = 1e-3
"""The step of differences of projections, over the size of the entries."""


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
    ends = unchecked(manifold.exp)(x[:, None], v)
    values = function(np.reshape(ends, (-1, *manifold.shape)))
    return values.reshape(*v.shape[:2], *values.shape[1:])


def partial_derivatives(manifold: Manifold, x: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """The inverse of `manifold.gradient`: partial derivatives that are zero in the directions normal to the manifold.

    Parameters
    ----------
    manifold : Manifold
    x : array (..., *shape) of points.
    gradient : array (..., *shape) of tangent vectors at x.

    Returns
    -------
    array (..., *shape), whose entries times those of a tangent vector v add up to the derivative along v.

    Examples
    --------
    >>> from heatgp import SpecialOrthogonal
    >>> partial_derivatives(SpecialOrthogonal(2), np.eye(2), np.array([[0.0, -1.0], [1.0, 0.0]]))
    array([[ 0. , -0.5],
           [ 0.5,  0. ]])
    """
    basis, rows = _basis(manifold, x)
    parts = _parts(manifold, x, basis, gradient)
    weights = np.linalg.solve(rows @ np.swapaxes(rows, -1, -2), parts[..., None])[..., 0]
    return _combined(manifold, basis, weights)


def through_projection(manifold: Manifold, x: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """Partial derivatives of f(project(x)) at any arrays x, by differences of `project`.

    Parameters
    ----------
    manifold : Manifold
    x : array (n, *shape), on the manifold or off it.
    slope : array (n, *shape), the partial derivatives of f at project(x).

    Returns
    -------
    array (n, *shape)

    Examples
    --------
    The height of x / |x| at x = (2, 0):

    >>> from heatgp import Sphere
    >>> through_projection(Sphere(1), np.array([[2.0, 0.0]]), np.array([[0.0, 1.0]])).round(9) + 0.0
    array([[0. , 0.5]])
    """
    size = flat_size(manifold)
    step = DIFFERENCE * max(1.0, float(np.abs(x).max(initial=0.0)))
    units = unflatten(manifold, step * np.eye(size))
    start, slope = manifold.project(x)[:, None], flatten(manifold, slope)
    parts = [
        sign
        * weight
        / step
        * flatten(manifold, manifold.difference(start, manifold.project(x[:, None] + sign * k * units)))
        for k, weight in WEIGHTS.items()
        for sign in (1, -1)
    ]
    return unflatten(manifold, np.einsum("nij,nj->ni", reduce(np.add, parts), slope))


def to_tangent_space(manifold: Manifold, x: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The tangent vectors at x (..., *shape) that are nearest to arrays v (..., *shape) in the metric."""
    basis = manifold.tangent_basis(x)
    return _combined(manifold, basis, _parts(manifold, x, basis, v))


def _basis(manifold: Manifold, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An orthonormal basis of the tangent space, (..., dim, *shape), and its real rows (..., dim, size)."""
    basis = np.asarray(manifold.tangent_basis(x))
    return basis, np.asarray(flatten(manifold, basis))


def _parts(manifold: Manifold, x: np.ndarray, basis: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The inner products (..., dim) of v with the vectors of a basis at x."""
    axis = -1 - len(manifold.shape)
    return np.asarray(manifold.metric(np.expand_dims(x, axis), np.expand_dims(v, axis), basis))


def _combined(manifold: Manifold, basis: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The sum of the vectors of a basis (..., dim, *shape) times weights (..., dim)."""
    axes = len(manifold.shape)
    return (weights[(..., *(None,) * axes)] * basis).sum(axis=-1 - axes)
