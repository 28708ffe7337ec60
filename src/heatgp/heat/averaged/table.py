"""Matern kernels that are functions of one orbit coordinate, tabulated."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.interpolate import CubicSpline

from ...covariance import Evaluation, TimeFunction
from ...manifolds import Homogeneous
from ..kernel import Profile, Slice, no_error
from ..special.cubic_table import CubicTable
from .all_times import Gaussian, extended, shortest_time
from .gamma_times import FINE, GammaTimes, resolved_log

POINTS = 2048
"""Intervals of the table."""


def has_table(manifold: Homogeneous) -> bool:
    """Whether kernels on the manifold are functions of one bounded coordinate."""
    return len(manifold.chamber) == 1 and all(map(math.isfinite, manifold.chamber[0]))


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
        return GammaTimes(self.smoothness, self.manifold.dim, FINE)

    @property
    def grade(self) -> int:
        return max(4, math.ceil(2 / self.smoothness))

    @property
    def heat(self) -> HeatTable:
        return _heat_table(self.manifold, self.profile, self.law.step, self.grade)

    def prepare(self, time: float) -> Slice:
        law, heat = self.law, self.heat
        places = law.places(time)
        logs, change = law.weights(time, places)
        rows = [heat.row(place) for place in places]
        logs = logs + np.array([row.log_scale for row in rows])
        diagonal = np.log(np.sum(np.exp(logs - logs.max()) * [row.values[0] for row in rows])) + logs.max()
        weights = np.exp(logs - diagonal)
        values = np.stack([row.values for row in rows])
        value, slope = (self._reader(w @ values) for w in (weights, weights * change / time))
        errors = np.stack([row.errors for row in rows])
        error = self._reader(weights @ errors) if errors.any() else no_error
        return Slice(value, slope, error, float(diagonal), lambda theta: resolved_log(value(theta), 1.0, FINE))

    def _reader(self, values: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        spline = CubicSpline(self.heat.x, values, bc_type=((1, 0.0), "not-a-knot"))
        table, end, grade = CubicTable(1.0, values, spline(self.heat.x, 1), values[-1]), self.heat.end, self.grade

        def read(theta: np.ndarray) -> np.ndarray:
            theta = np.abs(np.asarray(theta, dtype=float)[..., 0]) / end
            finite = np.isfinite(theta)  # the other component of O(n) is not
            theta = np.where(finite, theta, 0.0)
            return finite * table(np.sqrt(np.sqrt(theta)) if grade == 4 else theta ** (1 / grade))

        return read


@dataclass(frozen=True)
class HeatRow:
    """A heat kernel at the points of a table, and its errors, over exp(log_scale)."""

    values: np.ndarray
    errors: np.ndarray
    log_scale: float


@dataclass(frozen=True, eq=False)
class HeatTable:
    """The heat kernels at the times exp(j step), as functions of one coordinate, each computed when first asked for."""

    manifold: Homogeneous
    profile: Profile
    step: float
    grade: int

    @cached_property
    def known(self) -> dict[int, HeatRow]:
        return {}

    @cached_property
    def x(self) -> np.ndarray:
        return np.linspace(0.0, 1.0, POINTS + 1)

    @property
    def end(self) -> float:
        """The largest coordinate."""
        return max(map(abs, self.manifold.chamber[0]))

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

    def row(self, place: int) -> HeatRow:
        if place not in self.known:
            found = self._at_all_times.at(math.exp(place * self.step))
            self.known[place] = HeatRow(found.relative_value, found.relative_error, found.log_scale)
        return self.known[place]

    @cached_property
    def _at_all_times(self) -> TimeFunction:
        limits = (self.shortest, self.profile.times[1])
        return extended(self._at, Gaussian(lambda: self.squares, self.shortest), self.manifold, limits)

    def _at(self, time: float) -> Evaluation:
        values, errors, scale = self.profile.few(time, self.theta)
        return Evaluation(lambda: values, None, lambda: errors, scale)


@lru_cache(maxsize=16)
def _heat_table(manifold: Homogeneous, profile: Profile, step: float, grade: int) -> HeatTable:
    return HeatTable(manifold, profile, step, grade)
