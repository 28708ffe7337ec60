"""Matern kernels that are functions of one orbit coordinate, tabulated."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np
from scipy.linalg import solve_banded

from ...array import Array, namespace
from ...covariance import Evaluation, TimeFunction
from ...manifolds import Homogeneous
from ..kernel import Profile, Recent, Slice, no_error
from ..special.cubic_table import CubicTable, read_cubic
from .all_times import Gaussian, extended, shortest_time
from .gamma_times import FINE, GammaTimes, resolved_log

POINTS = 2048
"""Intervals of the table."""
ROWS = 1024
"""Times that a table keeps, 48 kB each."""
NEAR = 20
"""Times of a table that are interpolated between."""
STEP = 0.15
"""Step of the logarithm of time between them."""


def has_table(manifold: Homogeneous, profile: Profile) -> bool:
    """Whether a kernel is a function of one coordinate that is bounded, or beyond some bound zero."""
    return len(manifold.chamber) == 1 and math.isfinite(largest_coordinate(manifold, profile))


def largest_coordinate(manifold: Homogeneous, profile: Profile) -> float:
    """The end of the only coordinate, or where the kernel vanishes."""
    return min(max(map(abs, manifold.chamber[0])), profile.reach)


@dataclass(frozen=True)
class MaternProfile(Profile):
    """The Matern kernel as a function of one orbit coordinate theta, tabulated.

    Near theta = 0 it is a smooth function of theta² plus |theta|^(2 smoothness) times another one. The table is uniform
    in x, theta = end x^grade, in which both are smooth enough.
    """

    manifold: Homogeneous
    profile: Profile
    smoothness: float

    @property
    def times(self) -> tuple[float, float]:
        return self.profile.times

    @property
    def law(self) -> GammaTimes:
        return GammaTimes(self.smoothness, self.manifold.dim, FINE, self.manifold.decay)

    @property
    def grade(self) -> int:
        return max(4, math.ceil(2 / self.smoothness))

    @cached_property
    def heat(self) -> HeatTable:
        return heat_table(self.manifold, self.profile, self.law.step, self.grade)

    def _weighted(self, time: float) -> tuple[list[HeatRow], np.ndarray, np.ndarray, float]:
        """The heat kernels that are added up, their weights, the changes of these in log time, and log k(x, x)."""
        law, heat = self.law, self.heat
        places = law.places(time)
        logs, change = law.weights(time, places)
        rows = [heat.row(place) for place in places]
        logs = logs + np.array([row.log_scale for row in rows])
        diagonal = np.log(np.sum(np.exp(logs - logs.max()) * [row.values[0] for row in rows])) + logs.max()
        weights = np.exp(logs - diagonal)
        return rows, weights, weights * change, float(diagonal)

    def tabulated(self, time: float) -> tuple[Any, Any, float]:
        if type(self.profile).read_table is Profile.read_table:
            return super().tabulated(time)
        rows, weights, changes, diagonal = self._weighted(time)
        return self.heat.sum(rows, weights).numbers, self.heat.sum(rows, changes).slope_numbers(1.0), diagonal

    def read_table(self, numbers: Any, theta: Array) -> Array:
        return read_cubic(numbers, self.heat.place(theta))

    def prepare(self, time: float) -> Slice:
        heat = self.heat
        rows, weights, changes, diagonal = self._weighted(time)
        tables = [heat.sum(rows, w) for w in (weights, changes / time)]
        value, slope = map(heat.reader, tables)
        errors = np.stack([row.errors for row in rows])
        error = heat.reader(heat.table(weights @ errors)) if errors.any() else no_error

        def gradient(theta: np.ndarray) -> np.ndarray:
            """With theta = end x^grade; zero at zero, also where the kernel has a cusp there."""
            x, part = heat.place(theta)[..., None], np.abs(theta)
            some = part > 0
            rise = tables[0].derivative(x) * x / (self.grade * np.where(some, part, 1.0))
            return np.where(some & np.isfinite(part), np.sign(theta) * rise, 0.0)

        def log(theta: np.ndarray) -> np.ndarray:
            return resolved_log(value(theta), 1.0, FINE)

        smooth = not errors.any()  # counts have jumps, and need longer differences
        return Slice(value, slope, error, diagonal, log, gradient if smooth else None)


@dataclass(frozen=True)
class TabulatedHeat:
    """A heat kernel of one coordinate at any time, between the times of a table: prepared faster than by its series.

    Values, and the logarithm of the scale, are interpolated in the logarithm of the time by polynomials through `NEAR`
    times. At a time of the table they are its own. Times beyond those of the profile are the table's.
    """

    heat: HeatTable

    def prepare(self, time: float) -> Slice:
        """The kernel at one time, whose functions take places in the table, `HeatTable.place`, for coordinates."""
        heat, place = self.heat, math.log(time) / self.heat.step
        own = abs(place - round(place)) < 1e-9
        first, number = (round(place), 1) if own else (math.floor(place) - NEAR // 2 + 1, NEAR)
        rows = [heat.row(first + i) for i in range(number)]
        weights = np.ones(1) if own else _lagrange(place - first)
        errors = weights @ np.stack([row.errors for row in rows])
        error = heat.table(errors) if errors.any() else np.zeros_like
        slope = cache(lambda: self._slope(time, math.floor(place) - NEAR // 2 + 1, place))
        scale = float(weights @ np.array([row.log_scale for row in rows]))
        return Slice(heat.sum(rows, weights), lambda places: slope()(places), error, scale)

    def _slope(self, time: float, first: int, place: float) -> CubicTable:
        """The derivative in time."""
        rows = [self.heat.row(first + i) for i in range(NEAR)]
        weights, change = _lagrange(place - first), _lagrange_slopes(place - first)
        rate = change @ np.array([row.log_scale for row in rows])
        return self.heat.sum(rows, (change + weights * rate) / (self.heat.step * time))


@cache
def _lagrange_scales() -> np.ndarray:
    """One over the products of the distances of each of the places 0, 1, .. from the others."""
    gaps = np.subtract.outer(np.arange(NEAR), np.arange(NEAR)).astype(float)
    np.fill_diagonal(gaps, 1.0)
    return 1 / gaps.prod(axis=1)


def _lagrange(x: float) -> np.ndarray:
    """The polynomials that are one at one of the places 0, 1, .. and zero at the others."""
    rest = np.tile(x - np.arange(NEAR), (NEAR, 1))
    np.fill_diagonal(rest, 1.0)
    return _lagrange_scales() * rest.prod(axis=1)


def _lagrange_slopes(x: float) -> np.ndarray:
    """Their derivatives: sums over the factors that are left out."""
    places = np.arange(NEAR)
    rest = np.tile(x - places, (NEAR, NEAR, 1))
    rest[places, :, places] = rest[:, places, places] = 1.0
    products = rest.prod(axis=2)
    np.fill_diagonal(products, 0.0)
    return _lagrange_scales() * products.sum(axis=0)


@dataclass(frozen=True)
class HeatRow:
    """A heat kernel at the points of a table, and its errors, over exp(log_scale)."""

    values: np.ndarray
    rises: np.ndarray
    """Derivatives of the values in x."""
    errors: np.ndarray
    log_scale: float


@dataclass(frozen=True, eq=False)
class HeatTable:
    """The heat kernels at the times exp(j step), as functions of one coordinate, each computed when first asked for."""

    manifold: Homogeneous
    profile: Profile
    step: float
    grade: int

    def __reduce__(self) -> tuple[Any, ...]:
        return heat_table, (self.manifold, self.profile, self.step, self.grade)

    @cached_property
    def x(self) -> np.ndarray:
        return np.linspace(0.0, 1.0, POINTS + 1)

    @property
    def end(self) -> float:
        """The largest coordinate."""
        return largest_coordinate(self.manifold, self.profile)

    @cached_property
    def theta(self) -> np.ndarray:
        return self.end * self.x[:, None] ** self.grade

    @cached_property
    def squares(self) -> np.ndarray:
        return np.asarray(self.manifold.length(self.theta)) ** 2

    @property
    def shortest(self) -> float:
        """The time below which the leading term of the short-time expansion is enough."""
        return max(self.profile.times[0], shortest_time(self.manifold))

    @cached_property
    def first(self) -> float:
        """The last of the table's own times up to there."""
        return math.exp(self.step * math.floor(math.log(self.shortest) / self.step))

    def place(self, theta: Array) -> Array:
        """The x of orbit coordinates (..., 1); beyond the end where they are infinite: the other component of O(n)."""
        xp = namespace(theta)
        part = xp.abs(theta[..., 0]) / self.end
        x = xp.sqrt(xp.sqrt(part)) if self.grade == 4 else part ** (1 / self.grade)
        last = xp.nextafter(xp.ones((), dtype=x.dtype), xp.zeros((), dtype=x.dtype))
        return xp.where(xp.isfinite(x), xp.minimum(x, last), 2.0)

    def reader(self, table: CubicTable) -> Callable[[np.ndarray], np.ndarray]:
        """A function of x as one of the coordinate."""
        return lambda theta: table(self.place(theta))

    def table(self, values: np.ndarray) -> CubicTable:
        """The function of x that has these values at the points of the table."""
        return CubicTable(1.0, values, self._rises(values), 0.0)

    def sum(self, rows: list[HeatRow], weights: np.ndarray) -> CubicTable:
        """The weighted sum of rows as a function of x."""
        values, rises = (weights @ np.stack(part) for part in zip(*((row.values, row.rises) for row in rows)))
        return CubicTable(1.0, values, rises, 0.0)

    @cached_property
    def _bands(self) -> np.ndarray:
        """The diagonals of the equations of a cubic spline, flat at x = 0 and without a knot before the end."""
        bands = np.ones((3, POINTS + 1))
        bands[1, 1:-1], bands[0, 1], bands[2, -2] = 4.0, 0.0, 2.0
        return bands

    def _rises(self, values: np.ndarray) -> np.ndarray:
        """Derivatives of the cubic spline through these values."""
        right = np.zeros(POINTS + 1)
        right[1:-1] = 3 * (values[2:] - values[:-2])
        right[-1] = 2.5 * values[-1] - 2 * values[-2] - 0.5 * values[-3]
        return POINTS * solve_banded((1, 1), self._bands, right, overwrite_b=True, check_finite=False)

    def row(self, place: int) -> HeatRow:
        """The heat kernel at one of the times."""
        return self._rows(place)

    @cached_property
    def _rows(self) -> Recent:
        return Recent(self._row, ROWS)

    def _row(self, place: int) -> HeatRow:
        found = self._at_all_times.at(math.exp(place * self.step))
        values = found.relative_value
        return HeatRow(values, self._rises(values), found.relative_error, found.log_scale)

    @cached_property
    def _at_all_times(self) -> TimeFunction:
        limits = (self.shortest, self.profile.times[1])
        return extended(self._at, Gaussian(lambda: self.squares, self.shortest), self.manifold, limits)

    def _at(self, time: float) -> Evaluation:
        values, errors, scale = self.profile.few(time, self.theta)
        return Evaluation(lambda: values, None, lambda: errors, scale)


@lru_cache(maxsize=16)
def _shared_table(manifold: Homogeneous, profile: Profile, step: float, grade: int) -> HeatTable:
    return HeatTable(manifold, profile, step, grade)


def heat_table(manifold: Homogeneous, profile: Profile, step: float, grade: int = 4) -> HeatTable:
    """The table; kernels of the same profile share it."""
    try:
        return _shared_table(manifold, profile, step, grade)
    except TypeError:  # a manifold or a profile of the user's own that has no hash
        return HeatTable(manifold, profile, step, grade)
