"""Points from the arrays that people have: batches, flattened rows, complex numbers split in two."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import InvalidInput
from .checks import check_points
from .composed.product import flat_size, unflatten
from .contract import Manifold


def as_points(manifold: Manifold, X: Any, name: str = "X") -> np.ndarray:
    """X as checked points (N, *shape) in double precision, without the rounding of the file they came from.

    Taken are (N, *shape), rows (N, size) of flattened points, and for complex manifolds rows (N, 2 size) of real parts
    followed by imaginary parts.
    """
    array = np.asarray(X)
    if array.dtype == object or array.dtype.kind not in "fciu":
        raise InvalidInput(f"{name} must be a numeric array of points of {manifold!r}; its dtype is {array.dtype}.")
    size = math.prod(manifold.shape)
    if array.ndim == 2 and len(manifold.shape) != 1 and array.shape[1] == size:
        array = array.reshape(-1, *manifold.shape)
    elif array.ndim == 2 and manifold.is_complex and array.dtype.kind != "c" and array.shape[1] == flat_size(manifold):
        array = unflatten(manifold, array)
    if array.ndim != 1 + len(manifold.shape):
        rows = f" or rows of {flat_size(manifold)} numbers" if manifold.is_complex or len(manifold.shape) > 1 else ""
        raise InvalidInput(
            f"{name} has shape {array.shape}; needed are points (N, {', '.join(map(str, manifold.shape))}){rows} "
            f"of {manifold!r}. One point alone is {name}[None]."
        )
    points = np.asarray(check_points(manifold, array, name))
    return np.asarray(manifold.polish(points.astype(complex if manifold.is_complex else float)))
