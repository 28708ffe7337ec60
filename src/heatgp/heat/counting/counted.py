"""Kernels that were counted: tables over a grid of coordinates and the sample's times, interpolated to times between.

Between times, log p is interpolated after the Gaussian (2 pi t)^(-m/2) exp(-d²/2t) has been taken out: at short times
hardly anything is left to interpolate, at long times a multiple of log t.
"""

import math
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
from scipy.interpolate import PchipInterpolator, RegularGridInterpolator

from ...errors import InvalidInput
from ..kernel import Function, Profile, Slice
from .coordinates import Coordinates

ENOUGH = 30
"""Counted paths that make a value: a standard error of 18 %."""


@dataclass(frozen=True, eq=False)
class CountedTable:
    """p, its error and the number of paths counted on a grid of coordinates, at one time."""

    time: float
    axes: tuple[np.ndarray, ...]
    p: np.ndarray
    error: np.ndarray
    count: np.ndarray


@dataclass(frozen=True, eq=False)
class CountedProfile(Profile):
    """A kernel from tables at several times; at other times by interpolation, never beyond them."""

    coordinates: Coordinates
    tables: tuple[CountedTable, ...]
    first: float
    """The first nominal time; that of the first table is a little later, as coarse steps run fast."""

    def __repr__(self) -> str:
        averaged = self.coordinates.by_distance and self.coordinates.manifold.rank > 1
        name = "average over distance strips" if averaged else "counts"
        return f"<{name} on {self.coordinates.manifold!r}, times {self.times[0]:g} to {self.times[1]:g}>"

    @property
    def times(self) -> tuple[float, float]:
        return self.first, self.tables[-1].time

    @property
    def is_positive_definite(self) -> bool:
        return False

    def prepare(self, time: float) -> Slice:
        time = checked_time(time, *self.times)
        after = int(np.searchsorted([table.time for table in self.tables], time))
        p, slope, error = self.between(slice(max(after - 2, 0), after + 2), time)

        def reader(values: np.ndarray, beyond: bool = False) -> Function:
            """Values on the grid as a function of orbit coordinates; beyond the grid 0, or the value of its edge."""

            def read(theta: np.ndarray) -> np.ndarray:
                c = self.coordinates.read(theta)
                known = np.isfinite(c).all(axis=-1) if beyond else _inside(self.axes, c)
                return known * on_grid(self.axes, values, np.where(known[..., None], c, 0.0))

            if self.coordinates.circular:  # the inverse has the angles of the other sign: (x, y) is as (y, x)
                return lambda theta: (read(theta) + read(-np.asarray(theta)[..., ::-1])) / 2
            return read

        return Slice(reader(p), reader(slope), reader(error, beyond=True))

    @cached_property
    def axes(self) -> tuple[np.ndarray, ...]:
        """The nodes of all times: as close as those of the shortest time where its paths are."""
        return reduce(_join, (table.axes for table in self.tables))

    @cached_property
    def _nodes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Squared distances (nodes), p and its error (times, nodes).

        No path has gone beyond a table's own grid: p = 0 there, and the error of its edge.
        """
        nodes = np.stack(np.meshgrid(*self.axes, indexing="ij"), axis=-1)
        p = np.stack([_inside(t.axes, nodes) * on_grid(t.axes, t.p, nodes) for t in self.tables])
        return self.coordinates.length(nodes) ** 2, p, np.stack([on_grid(t.axes, t.error, nodes) for t in self.tables])

    def between(self, window: slice, time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """p, its slope in time and its error on the grid, from the tables of the window."""
        dim, (square, p, error) = self.coordinates.manifold.dim, self._nodes
        p, error = p[window], error[window]
        times, now = np.log([table.time for table in self.tables[window]]), math.log(time)
        tail = (slice(None), *(None,) * square.ndim)
        gauss = -square / (2 * np.exp(times)[tail]) - dim / 2 * times[tail]  # log, up to a constant
        with np.errstate(divide="ignore"):
            rest, rest_error = np.log(p) - gauss, np.log(error) - gauss
        counted = p > 0
        rest = _filled(rest, counted)
        gauss_now = -square / (2 * time) - dim / 2 * now
        if len(times) == 1:
            value = counted[0] * np.exp(rest[0] + gauss_now)
            return value, value * (square / time - dim) / (2 * time), np.exp(rest_error[0] + gauss_now)
        curve, line = PchipInterpolator(times, rest), _Line(times, now)
        here = np.clip(now, times[0], times[-1])  # a time just below the first effective one takes its rest
        share = line(counted)  # 1 where counted at both times around
        log_p = curve(here) + gauss_now
        value = share * np.exp(log_p)
        slope = value * (curve(here, 1) + square / (2 * time) - dim / 2) / time
        slope += np.exp(log_p) * line.slope(counted) / time
        bend = share * abs(np.exp(log_p) - np.exp(line(rest) + gauss_now))
        return value, slope, np.hypot(np.exp(line(rest_error) + gauss_now), bend)


class _Line:
    """Linear interpolation between the two times around one."""

    def __init__(self, times: np.ndarray, now: float) -> None:
        self.i = min(max(int(np.searchsorted(times, now)) - 1, 0), len(times) - 2)
        self.gap = times[self.i + 1] - times[self.i]
        self.w = min(max((now - times[self.i]) / self.gap, 0.0), 1.0)

    def __call__(self, values: np.ndarray) -> np.ndarray:
        return (1 - self.w) * values[self.i] + self.w * values[self.i + 1]

    def slope(self, values: np.ndarray) -> np.ndarray:
        return (values[self.i + 1].astype(float) - values[self.i]) / self.gap


def checked_time(time: float, first: float, last: float) -> float:
    """A time as a float within the table, or an error that names the range."""
    try:
        value = float(time)
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value) or value <= 0:
        raise InvalidInput(f"time must be a positive number; got {time!r}.")
    if not first * (1 - 1e-12) <= value <= last * (1 + 1e-12):
        raise InvalidInput(
            f"time = {value:g} is outside the simulated times, {first:g} to {last:g}: counts are not extrapolated. "
            "Simulate with times that enclose it."
        )
    return value


def on_grid(axes: tuple[np.ndarray, ...], values: np.ndarray, c: np.ndarray) -> np.ndarray:
    """values on a grid, linear between its nodes, at c (..., r); constant beyond.

    Nodes are half a strip apart, so this error, h²p''/8, is a fifth of the strip's own, epsilon² p''/6.
    """
    if len(axes) == 1:
        return np.interp(c[..., 0], axes[0], values)
    lower, upper = (np.array([axis[end] for axis in axes]) for end in (0, -1))
    return RegularGridInterpolator(axes, values)(np.clip(c, lower, upper))


def _inside(axes: tuple[np.ndarray, ...], c: np.ndarray) -> np.ndarray:
    """Where c lies on the grid, up to rounding."""
    slack = 1e-9
    checks = [(c[..., i] >= x[0] - slack) & (c[..., i] <= x[-1] + slack) for i, x in enumerate(axes)]
    return np.logical_and.reduce(checks)


def _join(fine: tuple[np.ndarray, ...], wide: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """The nodes of the fine axes, and those of the wide ones around them."""
    return tuple(np.concatenate((b[b < a[0]], a, b[b > a[-1]])) for a, b in zip(fine, wide))


def _filled(rest: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """Values where nothing was counted taken from the nearest time at which something was, else 0."""
    out = np.where(counted, rest, 0.0)
    known = counted.copy()
    for _ in range(len(rest) - 1):
        for i, j in ((slice(1, None), slice(None, -1)), (slice(None, -1), slice(1, None))):
            take = ~known[i] & known[j]
            out[i] = np.where(take, out[j], out[i])
            known[i] |= take
    return out
