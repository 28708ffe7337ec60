"""Points from arrays in several layouts: batches, flattened rows, real and imaginary parts side by side."""

import math
from typing import Any

import numpy as np

from ..arguments import as_array
from ..errors import InvalidInput
from .checks import check_points
from .composed.product import flat_size, unflatten
from .contract import Manifold


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
    array = as_array(X, name, f"a numeric array of points of {manifold!r}")
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
