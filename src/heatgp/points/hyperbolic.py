"""Points of the Poincare ball and of the upper half-space to the hyperboloid, and back."""

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import EXTREME
from ..errors import InvalidInput
from ..manifolds import Hyperbolic
from .checks import check, real_numbers, reject


def ball_to_hyperboloid(b: ArrayLike) -> np.ndarray:
    """Points of the Poincare ball to points of Hyperbolic(n).

    Parameters
    ----------
    b : array_like (..., n)
        Points inside the unit ball.

    Returns
    -------
    ndarray (..., n + 1)
        (1 + |b|², 2b) / (1 - |b|²).

    Raises
    ------
    InvalidInput
        If a point is not inside the unit ball.

    Examples
    --------
    >>> ball_to_hyperboloid([0.5, 0.0]).round(6).tolist()
    [1.666667, 1.333333, 0.0]
    """
    b = _coordinates(b, "b")
    size = np.linalg.norm(b, axis=-1)
    reject(size >= 1, size, "b", "is not inside the unit ball: |b| = {value:.6g} >= 1. Its sphere is infinitely far.")
    gap = ((1 - size) * (1 + size))[..., None]
    return np.concatenate([1 + 2 * (size**2)[..., None] / gap, 2 * b / gap], axis=-1)


def hyperboloid_to_ball(x: ArrayLike) -> np.ndarray:
    """Points of Hyperbolic(n) to the Poincare ball.

    Parameters
    ----------
    x : array_like (..., n + 1)

    Returns
    -------
    ndarray (..., n)
        (x1, .., xn) / (1 + x0).

    Raises
    ------
    OffManifold
        If a point is not on the hyperboloid.

    Examples
    --------
    >>> hyperboloid_to_ball([1.0, 0.0, 0.0]).tolist()
    [0.0, 0.0]
    """
    x = _on_hyperboloid(x)
    return x[..., 1:] / (1 + x[..., :1])


def half_space_to_hyperboloid(h: ArrayLike) -> np.ndarray:
    """Points of the upper half-space to points of Hyperbolic(n).

    Parameters
    ----------
    h : array_like (..., n)
        Points whose last coordinate, the height, is positive.

    Returns
    -------
    ndarray (..., n + 1)
        (|h|² + 1, 2 h1, .., 2 h(n-1), |h|² - 1) / (2 hn).

    Raises
    ------
    InvalidInput
        If a height is not positive.

    Examples
    --------
    >>> half_space_to_hyperboloid([0.0, 1.0]).tolist()
    [1.0, 0.0, 0.0]
    """
    h = _coordinates(h, "h")
    height = h[..., -1]
    reject(height <= 0, height, "h", "has the height {value:.3g} <= 0: the last coordinate must be positive.")
    tiny = "has the height {value:.1e}, so far from the other points that coordinates leave floating point. Remove it."
    reject(height < 1 / EXTREME, height, "h", tiny)
    reject(np.abs(h) > EXTREME, h, "h", "is {value:.1e}, whose square leaves floating point. Change the unit.")
    square, height = np.square(h).sum(axis=-1, keepdims=True), height[..., None]
    return np.concatenate([square + 1, 2 * h[..., :-1], square - 1], axis=-1) / (2 * height)


def hyperboloid_to_half_space(x: ArrayLike) -> np.ndarray:
    """Points of Hyperbolic(n) to the upper half-space.

    Parameters
    ----------
    x : array_like (..., n + 1)

    Returns
    -------
    ndarray (..., n)
        (x1, .., x(n-1), 1) / (x0 - xn).

    Raises
    ------
    OffManifold
        If a point is not on the hyperboloid.

    Examples
    --------
    >>> hyperboloid_to_half_space([1.0, 0.0, 0.0]).tolist()
    [0.0, 1.0]
    """
    x = _on_hyperboloid(x)
    first, middle, last = x[..., :1], x[..., 1:-1], x[..., -1:]
    # x0 - xn as a quotient where both are large
    gap = np.where(last > 0, (1 + np.square(middle).sum(axis=-1, keepdims=True)) / (first + np.abs(last)), first - last)
    return np.concatenate([middle, np.ones_like(gap)], axis=-1) / gap


def _coordinates(x: ArrayLike, name: str) -> np.ndarray:
    """Finite real numbers (..., n), n >= 2."""
    x = real_numbers(x, name)
    if x.ndim == 0 or x.shape[-1] < 2:
        raise InvalidInput(f"{name} has shape {x.shape}; needed are points (..., n) with n >= 2.")
    return x


def _on_hyperboloid(x: ArrayLike) -> np.ndarray:
    """Checked points of the hyperboloid of their own dimension."""
    x = real_numbers(x, "x")
    if x.ndim == 0 or x.shape[-1] < 3:
        raise InvalidInput(f"x has shape {x.shape}; needed are points (..., n + 1) of Hyperbolic(n), n >= 2.")
    manifold = Hyperbolic(x.shape[-1] - 1)
    return np.asarray(manifold.polish(check(manifold, x, "x")))
