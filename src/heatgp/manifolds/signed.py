"""A signed function of a region that is known by truth values only: how far inside, or outside, a point is."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.ndimage import distance_transform_edt, gaussian_filter

from ..array import Array, namespace
from .differentiate import array_library, is_numpy

RASTER = {1: 4096, 2: 512, 3: 128}
"""Cells along each side of the box, by its dimension."""


def signed_distance(inside: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray) -> Callable:
    """About the distance to the boundary, positive inside, of points (..., n) of a box, n at most 3.

    The Euclidean distance transform of a raster, smoothed over a cell so that its gradient has no stairs, and
    interpolated linearly; points outside the box have the value of its nearest point.
    """
    number = RASTER[len(low)]
    size = (high - low) / number
    centers = np.stack(np.meshgrid(*(np.arange(number) + 0.5,) * len(low), indexing="ij"), axis=-1) * size + low
    mask = np.stack([inside(part) for part in centers])
    depth = gaussian_filter(_depth(mask, size) - _depth(~mask, size), 1.0, mode="nearest")

    def function(x: Array) -> Array:
        xp = namespace(x)
        place = xp.moveaxis((x - xp.asarray(low)) / xp.asarray(size) - 0.5, -1, 0)
        return _interpolate(x)(xp.asarray(depth), place, order=1, mode="nearest")

    return function


def _depth(mask: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Distance to the cells outside the mask, less the half cell that the boundary is nearer than their centers."""
    return np.maximum(distance_transform_edt(mask, sampling=size) - size.mean() / 2, 0.0)


def _interpolate(x: Array) -> Callable:
    if is_numpy(x):
        from scipy.ndimage import map_coordinates

        return map_coordinates
    return array_library(x).scipy.ndimage.map_coordinates
