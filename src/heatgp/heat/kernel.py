"""The heat kernel as a user meets it: a function of point sets and a time.

`pairs` computes once what depends on the points (orbit coordinates); its value at a time is then an interpolation. That
is why learning the time of a Gaussian process is fast.
"""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..array import Array
from ..covariance import Evaluation, Kernel, TimeFunction
from ..errors import InvalidInput
from ..manifolds import Homogeneous, Manifold
from ..manifolds.checks import check_points

if TYPE_CHECKING:
    from ..paths.samples import Samples
    from .methods import Method

CHUNK = 1 << 18
"""Pairs whose orbit coordinates are computed at once."""

Function = Callable[[np.ndarray], np.ndarray]
"""From orbit coordinates (..., r) to numbers (...)."""


def no_error(theta: np.ndarray) -> np.ndarray:
    """Zeros: the standard error of what is exact to rounding."""
    return np.zeros(np.shape(theta)[:-1])


@dataclass(frozen=True)
class Slice:
    """p_t at one time: the density, its derivative in t and its standard error as functions of orbit coordinates."""

    value: Function
    slope: Function
    error: Function = no_error

    def __call__(self, theta: np.ndarray) -> np.ndarray:
        return self.value(theta)


class Recent:
    """The latest results of a function of the time, kept with the object that owns them; safe among threads."""

    def __init__(self, function: Callable[..., Any], most: int = 32) -> None:
        self.function, self.most = function, most
        self.known: dict[Any, Any] = {}
        self.lock = threading.Lock()

    def __call__(self, *key: Any) -> Any:
        with self.lock:
            if key in self.known:
                return self.known[key]
        made = self.function(*key)
        with self.lock:
            while len(self.known) >= self.most:
                del self.known[next(iter(self.known))]
            self.known[key] = made
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Recent, (self.function, self.most)


class Profile(ABC):
    """The heat kernel of a homogeneous manifold as a function of orbit coordinates."""

    @property
    def times(self) -> tuple[float, float]:
        """The shortest and the longest time that it can be asked for."""
        return (0.0, math.inf)

    @property
    def is_positive_definite(self) -> bool:
        """Whether Gram matrices are positive definite on every set of points."""
        return True

    @property
    def estimate(self) -> Profile:
        """What was estimated from paths, before it was made positive definite; by default itself."""
        return self

    def at(self, time: float) -> Slice:
        """The kernel at one time, prepared once: the latest times are kept."""
        return self._recent(time)

    @cached_property
    def _recent(self) -> Recent:
        return Recent(self.prepare)

    @abstractmethod
    def prepare(self, time: float) -> Slice:
        """The kernel at one time."""


@dataclass(frozen=True)
class Replicates:
    """Kernels that show one source of Monte Carlo error, each made from the same `fraction` of the paths.

    The variance of each is 1/fraction times that of the whole kernel; other sources of error are the same in all.
    """

    kernels: tuple[HeatKernel, ...]
    fraction: float


class HeatKernel(Kernel):
    """p_t(x, y), the density at y of Brownian motion from x after time t, against the Riemannian volume.

    Kernels are made by `heat_kernel`. A class of your own needs `manifold`, `method` (a name) and `pairs`.

    Examples
    --------
    >>> from heatgp import Sphere, heat_kernel
    >>> kernel = heat_kernel(Sphere(2))
    >>> kernel([[1.0, 0, 0]], [[1.0, 0, 0], [0, 0, 1.0]], time=[0.1, 0.2]).round(4)
    array([[[1.6183, 0.    ]],
    <BLANKLINE>
           [[0.8228, 0.0022]]])
    """

    manifold: Manifold

    if TYPE_CHECKING:  # at run time a class variable, a field or a property may provide it

        @property
        def method(self) -> str:
            """The name of the method that made it."""

    @property
    def is_exact(self) -> bool:
        """Whether values are exact to rounding, and so invariant under isometries to the last digit."""
        return False

    def __call__(self, X: Array, Y: Array | None = None, *, time: Any) -> np.ndarray:
        """p_t(x, y) of every x with every y.

        Parameters
        ----------
        X, Y : arrays of points, shape (..., *manifold.shape). Without Y, X with itself.
        time : positive number, or an array of them; a tuple for a kernel with several times.

        Returns
        -------
        Array whose axes are those of `time` (none for a number), then the batch axes of X, then those of Y.

        Raises
        ------
        InvalidInput : for points off the manifold and times out of range.
        """
        return self._over_times(lambda e, t: e.value, X, Y, time)

    def derivative(self, X: Array, Y: Array | None = None, *, time: Any) -> np.ndarray:
        """The derivative of p_t(x, y) in t; of a kernel with several times, in each, on a new axis after those of time.

        Parameters and shapes are those of a call of the kernel.
        """

        def slope(e: Evaluation, t: Any) -> np.ndarray:
            slopes = e.slopes / np.reshape(t, (-1, 1, 1))
            return slopes if self.parameters > 1 else slopes[0]

        return self._over_times(slope, X, Y, time)

    def standard_error(self, X: Array, Y: Array | None = None, *, time: Any) -> np.ndarray:
        """The standard error of p_t(x, y): that of the simulation, zero where the kernel is exact."""
        return self._over_times(lambda e, t: e.error, X, Y, time)

    def diag(self, X: Array, time: Any) -> np.ndarray:
        """p_t(x, x) of every x, (N,)."""
        return self.matched(self._points(X, "X")).at(self.check_time(time)).value

    def as_positive_definite(self) -> HeatKernel:
        """This kernel, or one close to it that is positive definite on every set of points."""
        return self

    def replicates(self, number: int) -> list[Replicates]:
        """Kernels from disjoint parts of the paths, for each independent source of Monte Carlo error.

        Empty where the kernel is exact.
        """
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

    def _over_times(self, read: Callable[[Evaluation, Any], np.ndarray], X: Any, Y: Any, time: Any) -> np.ndarray:
        many = self.parameters == 1 and np.ndim(time) > 0
        times = [self.check_time(t) for t in (np.ravel(time) if many else [time])]
        if not times:
            raise InvalidInput("time is an empty list; give one time or more.")

        def values_of(pairs: TimeFunction) -> np.ndarray:
            return np.stack([read(pairs.at(t), t) for t in times])

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
        """Checked points in double precision, moved onto the manifold.

        Without this, points off the manifold by a millionth cost the Gram matrix its positive eigenvalues.
        """
        points = np.asarray(check_points(self.manifold, X, name))
        return np.asarray(self.manifold.polish(points.astype(complex if self.manifold.is_complex else float)))


class MadeKernel(HeatKernel):
    """A kernel that remembers the method that made it, options included."""

    made_by: Method

    def __repr__(self) -> str:
        return f"heat_kernel({self.manifold!r}, {self.made_by.described()})"

    @property
    def method(self) -> str:
        return self.made_by.name

    @property
    def remedy(self) -> str:
        return self.made_by.remedy

    @property
    def is_exact(self) -> bool:
        return self.method == "exact"

    def replicates(self, number: int) -> list[Replicates]:
        return self.made_by.replicates(self, number)


@dataclass(frozen=True, repr=False)
class OrbitKernel(MadeKernel):
    """The kernel of a homogeneous manifold: a function of the orbit coordinates of a pair."""

    manifold: Homogeneous
    made_by: Method
    profile: Profile
    samples: Samples | None = None
    """The simulated orbit coordinates, where the kernel was estimated from them."""

    @property
    def times(self) -> tuple[float, float]:
        return self.profile.times

    def pairs(self, X: Array, Y: Array | None = None) -> TimeFunction:
        shape = (len(X), len(X) if Y is None else len(Y))
        blocks = tuple(self._orbit_blocks(np.asarray(X), Y))

        def at(time: float) -> Evaluation:
            def matrix(function: Function, factor: float = 1.0) -> np.ndarray:
                out = np.empty(shape)
                for rows, columns, theta in blocks:
                    values = function(theta)
                    if factor != 1.0:
                        values *= factor
                    out[rows, columns] = values
                    if Y is None:
                        out[columns, rows] = values.T
                return out

            p = self.profile.at(time)
            return Evaluation(
                lambda: matrix(p.value), lambda: matrix(p.slope, float(time))[None], lambda: matrix(p.error)
            )

        return TimeFunction(at)

    def _orbit_blocks(self, X: np.ndarray, Y: np.ndarray | None) -> Iterator[tuple[slice, slice, np.ndarray]]:
        """Orbit coordinates of blocks of rows; of a set with itself only the columns from the block on."""
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
            square[below] = square.swapaxes(0, 1)[below]  # the same value for (x, y) and (y, x)
            here = np.arange(len(square))
            square[here, here] = self._same_point
            yield own, slice(i, columns), theta

    @property
    def _same_point(self) -> np.ndarray:
        """Orbit coordinates of a point with itself."""
        return np.asarray(self.manifold.orbit(self.manifold.origin, self.manifold.origin))

    def matched(self, X: Array, Y: Array | None = None) -> TimeFunction:
        theta = self._same_point if Y is None else np.asarray(self.manifold.orbit(np.asarray(X), np.asarray(Y)))

        def at(time: float) -> Evaluation:
            def column(function: Function) -> np.ndarray:
                return np.full(len(X), function(theta)) if Y is None else function(theta)

            p = self.profile.at(time)
            return Evaluation(lambda: column(p.value), lambda: (time * column(p.slope))[None], lambda: column(p.error))

        return TimeFunction(at)

    def as_positive_definite(self) -> HeatKernel:
        if self.profile.is_positive_definite:
            return self
        return replace(self, profile=self.made_by.positive_profile(self))

    def replicates(self, number: int) -> list[Replicates]:
        parts = super().replicates(number)
        if not self.profile.is_positive_definite:
            return parts
        return [replace(p, kernels=tuple(k.as_positive_definite() for k in p.kernels)) for p in parts]
