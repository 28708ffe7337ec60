"""The heat kernel as a user meets it: a function of point sets and a time.

`pairs` does what depends on the points (orbit coordinates) once; its value at a time is then an interpolation. That
is why tuning the time of a Gaussian process is fast.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from ..array import Array
from ..errors import InvalidInput
from ..manifolds import Homogeneous, Manifold
from ..manifolds.checks import check_points

Method = Literal["auto", "exact", "ball", "strip", "smooth", "reference"]

CHUNK = 1 << 18
"""Pairs whose orbit coordinates are computed at once."""


class Slice(Protocol):
    """p_t at one time, as a function of orbit coordinates (..., r)."""

    def __call__(self, theta: np.ndarray) -> np.ndarray: ...
    def slope(self, theta: np.ndarray) -> np.ndarray: ...
    def error(self, theta: np.ndarray) -> np.ndarray: ...


class Profile(Protocol):
    """The heat kernel of a homogeneous manifold as a function of orbit coordinates."""

    def at(self, time: float) -> Slice: ...


class HeatPairs(Protocol):
    """The heat kernel on fixed pairs of points, as a function of time."""

    def __call__(self, time: Any) -> np.ndarray:
        """p_t of all pairs, (N, M)."""
        ...

    def slope(self, time: Any) -> tuple[np.ndarray, np.ndarray]:
        """p_t and its derivatives in the logarithm of each time, (N, M) and (parameters, N, M)."""
        ...

    def error(self, time: Any) -> np.ndarray:
        """Standard errors of p_t, (N, M)."""
        ...


class HeatKernel(ABC):
    """p_t(x, y), the density at y of Brownian motion from x after time t, against the Riemannian volume."""

    manifold: Manifold
    method: str

    @property
    def remedy(self) -> str:
        """What to ask for where a time is out of range."""
        return "other `times`"

    @property
    def parameters(self) -> int:
        """How many times the kernel takes: one, or one a factor of a product."""
        return 1

    @property
    def times(self) -> tuple[float, float]:
        """The times that it can be asked for."""
        return (0.0, math.inf)

    @abstractmethod
    def pairs(self, X: Array, Y: Array | None = None) -> HeatPairs:
        """What the pairs of points (N, *shape) and (M, *shape) need, computed once; Y None is X with itself."""

    def __call__(self, X: Array, Y: Array | None = None, *, time: Any) -> np.ndarray:
        """p_t(x, y) of every x with every y.

        The result's axes are those of `time` (none for a number), then the batch axes of X, then those of Y; without
        Y, those of X again.
        """
        return self._over_times(lambda pairs, t: pairs(t), X, Y, time)

    def derivative(self, X: Array, Y: Array | None = None, *, time: Any) -> np.ndarray:
        """The derivative of p_t(x, y) in t (for several times, of each; the kernel's first axis)."""

        def slope(pairs: HeatPairs, t: Any) -> np.ndarray:
            slopes = pairs.slope(t)[1] / np.reshape(t, (-1, 1, 1))
            return slopes if self.parameters > 1 else slopes[0]

        return self._over_times(slope, X, Y, time)

    def standard_error(self, X: Array, Y: Array | None = None, *, time: Any) -> np.ndarray:
        """The standard error of p_t(x, y): that of the simulation, zero where the kernel is exact."""
        return self._over_times(lambda pairs, t: pairs.error(t), X, Y, time)

    def diag(self, X: Array, time: Any) -> np.ndarray:
        """p_t(x, x) of every x."""
        X = self._points(X, "X")
        t = self.check_time(time)
        return np.array([self.pairs(x[None])(t)[0, 0] for x in X])

    def positive_definite(self) -> HeatKernel:
        """This kernel, or one close to it that is positive definite on every set of points."""
        return self

    def replicates(self, number: int) -> list[HeatKernel]:
        """Kernels of disjoint parts of the paths, to see the Monte Carlo error through a model; none where exact."""
        return []

    def save(self, path: Any) -> None:
        """Write the kernel to a file that `heatgp.load_kernel` reads."""
        from .files import save_kernel

        save_kernel(self, path)

    def check_time(self, time: Any) -> Any:
        """The time as a float (a tuple where there are several), or an error that names the range."""
        try:
            values = np.atleast_1d(np.asarray(time, dtype=float))
        except (TypeError, ValueError):
            raise InvalidInput(f"time must be a positive number; got {time!r}.") from None
        if values.shape != (self.parameters,):
            raise InvalidInput(f"{self!r} takes {self.parameters} time(s); got {time!r}.")
        low, high = self.times
        if not (np.isfinite(values).all() and (values > 0).all()):
            raise InvalidInput(
                f"time must be positive and finite; got {time!r}. At time 0 the heat kernel is a point mass."
            )
        if (values < low * (1 - 1e-9)).any() or (values > high * (1 + 1e-9)).any():
            raise InvalidInput(
                f"time = {time!r} is beyond the times of {self!r}, {low:.3g} to {high:.3g}. "
                f"Ask heat_kernel for {self.remedy}."
            )
        return float(values[0]) if self.parameters == 1 else tuple(values.tolist())

    def _over_times(self, function: Callable[[HeatPairs, Any], np.ndarray], X: Any, Y: Any, time: Any) -> np.ndarray:
        many = self.parameters == 1 and np.ndim(time) > 0
        times = [self.check_time(t) for t in (np.ravel(time) if many else [time])]
        if not times:
            raise InvalidInput("time is an empty list; give one time or more.")

        def values_of(pairs: HeatPairs) -> np.ndarray:
            return np.stack([function(pairs, t) for t in times])

        point_axes = len(self.manifold.shape)
        X = self._points(X, "X")
        batch_x = X.shape[: X.ndim - point_axes]
        flat_x = X.reshape(-1, *self.manifold.shape)
        if Y is None:
            values, batch_y = values_of(self.pairs(flat_x)), batch_x
        else:
            Y = self._points(Y, "Y")
            batch_y = Y.shape[: Y.ndim - point_axes]
            flat_y = Y.reshape(-1, *self.manifold.shape)
            rows = max(1, CHUNK // max(1, len(flat_y)))
            parts = [values_of(self.pairs(flat_x[i : i + rows], flat_y)) for i in range(0, max(1, len(flat_x)), rows)]
            values = np.concatenate(parts, axis=-2)
        return values.reshape((*np.shape(time)[: many * np.ndim(time)], *values.shape[1:-2], *batch_x, *batch_y))

    def _points(self, X: Any, name: str) -> np.ndarray:
        """Checked points in double precision, without the rounding of where they came from.

        Without this, points off the manifold by a millionth cost the Gram matrix its positive eigenvalues.
        """
        points = np.asarray(check_points(self.manifold, X, name))
        return np.asarray(self.manifold.polish(points.astype(complex if self.manifold.is_complex else float)))


@dataclass(frozen=True)
class OrbitKernel(HeatKernel):
    """The kernel of a homogeneous manifold: a profile of the orbit coordinates."""

    manifold: Homogeneous
    method: str
    profile: Any
    recipe: tuple[tuple[str, Any], ...] = ()
    """How the profile was made: paths, step, ... for the repr and the file."""

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self.recipe)
        return f"heat_kernel({self.manifold!r}, method={self.method!r}{options})"

    @property
    def times(self) -> tuple[float, float]:
        return getattr(self.profile, "times", (0.0, math.inf))

    def pairs(self, X: Array, Y: Array | None = None) -> OrbitPairs:
        shape = (len(X), len(X) if Y is None else len(Y))
        return OrbitPairs(self.profile, shape, Y is None, tuple(self._orbit_blocks(np.asarray(X), Y)))

    def _orbit_blocks(self, X: np.ndarray, Y: np.ndarray | None) -> Iterator[tuple[slice, slice, np.ndarray]]:
        """Orbit coordinates of blocks of rows; of a symmetric set only the columns from the block on."""
        columns = len(X) if Y is None else len(Y)
        at_most = max(1, CHUNK // max(1, columns))
        rows = at_most if Y is not None else max(1, min(at_most, math.ceil(len(X) / 16)))
        for i in range(0, len(X), rows):
            own = slice(i, min(i + rows, len(X)))
            if Y is not None:
                yield own, slice(0, columns), self.manifold.orbits(X[own], Y)
                continue
            theta = np.array(self.manifold.orbits(X[own], X[i:]))
            square = theta[:, : own.stop - i]
            below = np.tril_indices(len(square), -1)
            square[below] = square.swapaxes(0, 1)[below]  # one value a pair, whichever of the two comes first
            here = np.arange(len(square))
            square[here, here] = self.manifold.orbit(self.manifold.origin, self.manifold.origin)
            yield own, slice(i, columns), theta

    def diag(self, X: Array, time: Any) -> np.ndarray:
        origin = self.manifold.origin
        value = self.profile.at(self.check_time(time))(self.manifold.orbit(origin, origin))
        return np.full(len(X), float(value))


@dataclass(frozen=True)
class OrbitPairs:
    """Orbit coordinates of pairs, in blocks of rows; of a symmetric set the upper part."""

    profile: Any
    shape: tuple[int, int]
    symmetric: bool
    blocks: tuple[tuple[slice, slice, np.ndarray], ...]

    def __call__(self, time: float) -> np.ndarray:
        return self._assemble(self.profile.at(time))

    def slope(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        at = self.profile.at(time)
        slope = self._assemble(at.slope)
        slope *= time
        return self._assemble(at), slope[None]

    def error(self, time: float) -> np.ndarray:
        return self._assemble(self.profile.at(time).error)

    def _assemble(self, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        out = np.empty(self.shape)
        for rows, columns, theta in self.blocks:
            values = function(theta)
            out[rows, columns] = values
            if self.symmetric:
                out[columns, rows] = values.T
        return out
