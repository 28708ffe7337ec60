"""Signed functions of a region: positive inside, negative outside, with a gradient normal to the boundary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import distance_transform_edt, gaussian_filter, map_coordinates

from ...array import Array, namespace
from .differentiate import array_library, is_numpy
from .pointwise import depth_in_box

RASTER = {1: 4096, 2: 512, 3: 128}
"""Cells along each side of the box, by its dimension."""


@dataclass(frozen=True, eq=False)
class Cut:
    """The minimum of a function and of the distance to the sides of a box."""

    function: Callable[[Array], Array]
    box: np.ndarray

    def __call__(self, x: Array) -> Array:
        return namespace(x).minimum(self.function(x), depth_in_box(x, self.box))


@dataclass(frozen=True, eq=False)
class Raster:
    """Approximate distance to the boundary of a region given by truth values, in a box of at most three dimensions."""

    depth: np.ndarray
    low: np.ndarray
    size: np.ndarray

    @classmethod
    def of(cls, inside: Callable, low: np.ndarray, high: np.ndarray, periodic: tuple[bool, ...]) -> Raster:
        """The Euclidean distance transform, smoothed over one cell so that its gradient has no steps."""
        number = RASTER[len(low)]
        size = (high - low) / number
        centers = np.stack(np.meshgrid(*(np.arange(number) + 0.5,) * len(low), indexing="ij"), axis=-1) * size + low
        mask = np.stack([inside(part) for part in centers]) > 0
        margins = [(number // 4, number // 4) if p else (0, 0) for p in periodic]
        mask = np.pad(mask, margins, mode="wrap")
        depth = gaussian_filter(_depth(mask, size) - _depth(~mask, size), 1.0, mode="nearest")
        return cls(depth[tuple(slice(a, a + number) for a, _ in margins)], low, size)

    def __call__(self, x: Array) -> Array:
        """Linear interpolation between the cells; points outside the box have the value of its nearest point."""
        xp = namespace(x)
        place = xp.moveaxis((x - xp.asarray(self.low)) / xp.asarray(self.size) - 0.5, -1, 0)
        interpolate = map_coordinates if is_numpy(x) else array_library(x).scipy.ndimage.map_coordinates
        return interpolate(xp.asarray(self.depth), place, order=1, mode="nearest")


def _depth(mask: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Distance to the cells outside the mask, minus half a cell: the boundary is nearer than their centers."""
    return np.maximum(distance_transform_edt(mask, sampling=size) - size.mean() / 2, 0.0)
