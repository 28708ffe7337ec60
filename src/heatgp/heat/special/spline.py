"""Fast evaluation of a symmetric function of several orbit coordinates: a cubic spline on a uniform grid."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement, permutations

import numpy as np
from scipy.ndimage import map_coordinates, spline_filter

INTERVALS = {1: 4096, 2: 128, 3: 48}
"""Of the grid in each coordinate, by the number of coordinates."""


@dataclass(frozen=True)
class SymmetricGrid:
    """A grid for symmetric functions of `rank` coordinates in [0, reach], even at both ends.

    With signs the coordinates are in [-reach, reach] and the functions have that period, or are negligible at the ends.
    """

    rank: int
    reach: float
    signed: bool

    @cached_property
    def index(self) -> np.ndarray:
        """Places of the points with ordered coordinates, which say all."""
        count = INTERVALS[self.rank]
        return np.array(list(combinations_with_replacement(range(count + (not self.signed)), self.rank)))

    @property
    def low(self) -> float:
        return -self.reach if self.signed else 0.0

    @property
    def step(self) -> float:
        return (self.reach - self.low) / INTERVALS[self.rank]

    @property
    def points(self) -> np.ndarray:
        """Coordinates (n, rank) at which `table` wants the function."""
        return self.low + self.step * self.index

    def table(self, values: np.ndarray) -> SplineTable:
        """The function whose values at the points are these."""
        whole = np.empty((INTERVALS[self.rank] + (not self.signed),) * self.rank)
        for order in permutations(range(self.rank)):
            whole[tuple(self.index[:, order].T)] = values
        mode = "grid-wrap" if self.signed else "mirror"
        return SplineTable(self, mode, spline_filter(whole, mode=mode))


@dataclass(frozen=True, eq=False)
class SplineTable:
    """The spline; beyond the reach, and at infinity, it is 0."""

    grid: SymmetricGrid
    mode: str
    coefficients: np.ndarray

    def __call__(self, theta: np.ndarray) -> np.ndarray:
        """(..., rank or more) -> (...)."""
        x = theta[..., : self.grid.rank].reshape(-1, self.grid.rank)
        inside = (np.abs(x) <= self.grid.reach * (1 + 1e-12)).all(axis=1)
        place = (np.where(inside[:, None], x, self.grid.reach).T - self.grid.low) / self.grid.step
        values = map_coordinates(self.coefficients, place, mode=self.mode, prefilter=False)
        return np.where(inside, values, 0.0).reshape(theta.shape[:-1])
