"""Derivatives of vectorised functions that users write: by JAX for its arrays, else by finite differences."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ...array import Array, namespace


def derivative(
    function: Callable[[Array], Array], x: Array, v: Array, scale: float = 1.0, value: Array | None = None
) -> Array:
    """Derivative of a function of points (..., n) along v (..., n), pointwise over the leading axes.

    JAX differentiates its own arrays (forward mode). For other arrays central differences of length h = scale ε^(1/3)
    balance their error h²/6 |f'''| against rounding ε |f|/h: about 1e-10 in double precision. If the `value` at x is
    given, forward differences of length scale ε^(1/2) are used: accurate to 1e-8 at half the cost.
    """
    xp = namespace(x)
    library = array_library(x)
    if hasattr(library, "jvp"):
        return library.jvp(function, (x,), (xp.broadcast_to(v, x.shape),))[1]
    if value is not None:
        h = scale * float(np.sqrt(xp.finfo(x.dtype).eps))
        return (function(x + h * v) - value) / h
    h = scale * float(np.cbrt(xp.finfo(x.dtype).eps))
    return (function(x + h * v) - function(x - h * v)) / (2 * h)


def gradient(function: Callable[[Array], Array], x: Array, scale: float = 1.0) -> Array:
    """Derivatives in every coordinate of x, on a new last axis."""
    xp = namespace(x)
    axes = xp.eye(x.shape[-1], dtype=x.dtype)
    return xp.stack([derivative(function, x, axes[i], scale) for i in range(x.shape[-1])], axis=-1)


def array_library(x: Array) -> Any:
    """The package that x comes from, such as NumPy or JAX; it has been imported, since x exists."""
    return sys.modules[namespace(x).__name__.partition(".")[0]]


def is_numpy(x: Array) -> bool:
    """Whether code may branch on the values of x: NumPy only, since JAX compiles one path for all values."""
    return isinstance(x, np.ndarray)


def largest(values: Array, otherwise: float) -> float:
    """The largest of some positive values; `otherwise` while JAX compiles and the values are not known."""
    try:
        return float(namespace(values).max(values)) if values.size else 0.0
    except TypeError:
        return otherwise


def repeat(count: int, body: Callable[[int, Any], Any], state: Any) -> Any:
    """body(i, state) `count` times; JAX compiles it once."""
    library = array_library(state[0])
    if hasattr(library, "lax"):
        return library.lax.fori_loop(0, count, body, state)
    for i in range(count):
        state = body(i, state)
    return state
