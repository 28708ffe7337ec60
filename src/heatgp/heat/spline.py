"""Fast evaluation of a function of several orbit coordinates: a cubic spline on a uniform grid."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations_with_replacement, permutations

import numpy as np
from scipy.ndimage import map_coordinates, spline_filter

INTERVALS = {1: 4096, 2: 192, 3: 64}
"""Of the grid in each coordinate, by the number of coordinates: a bell ten widths long to about 1e-5 or better."""


class SplineTable:
    """A symmetric function of r coordinates in [0, reach], even at both ends, or in [-reach, reach] with signs.

    With signs it has the period 2 reach, or is negligible at the ends. Beyond the reach, and at infinity, it is 0.
    """

    def __init__(self, function: Callable[[np.ndarray], np.ndarray], r: int, reach: float, signed: bool):
        count = INTERVALS[r]
        self.r, self.reach, self.low = r, reach, -reach if signed else 0.0
        self.step = (reach - self.low) / count
        self.mode = "grid-wrap" if signed else "mirror"
        index = np.array(list(combinations_with_replacement(range(count if signed else count + 1), r)))
        values = function(self.low + self.step * index)
        grid = np.empty((count if signed else count + 1,) * r)
        for order in permutations(range(r)):
            grid[tuple(index[:, order].T)] = values
        self.coefficients = spline_filter(grid, mode=self.mode)

    def __call__(self, theta: np.ndarray) -> np.ndarray:
        x = theta[..., : self.r].reshape(-1, self.r)
        inside = (np.abs(x) <= self.reach * (1 + 1e-12)).all(axis=1)
        place = (np.where(inside[:, None], x, self.reach).T - self.low) / self.step
        values = map_coordinates(self.coefficients, place, mode=self.mode, prefilter=False)
        return np.where(inside, values, 0.0).reshape(theta.shape[:-1])
