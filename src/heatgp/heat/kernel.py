"""The heat kernel as a user meets it: a function of point sets and a time.

`pairs` computes once what depends on the points (orbit coordinates); its value at a time is then an interpolation. That
is why learning the time of a Gaussian process is fast.
"""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..arguments import EXTREME, as_array, check_flag, is_integer
from ..array import Array, is_jax, wrap
from ..cost import check_memory
from ..covariance import Evaluation, Gradients, Kernel, TimeFunction, resolved_log, with_scale
from ..errors import HeatGPError, InvalidInput, Unsupported
from ..html_table import html_table
from ..manifolds import Euclidean, Homogeneous, Manifold, Product
from ..manifolds.checks import check_points, unchecked
from ..manifolds.gradients import WEIGHTS, gradients
from ..progress import tracked

if TYPE_CHECKING:
    from ..paths.samples import Samples
    from .methods import Method

CHUNK = 1 << 18
"""Pairs whose orbit coordinates are computed at once."""
CACHED = 1 << 13
"""Pairs whose gradients are computed at once: they fit a core's cache."""
SAME = 4
"""Random points from which other arrays of a point are searched for: the other of two is missed once in 16 times."""
FEW = 4096
"""Pairs of a set with itself below which smaller blocks take longer."""
MANY = 32
"""Chunks from which on progress is shown."""

EXACT = "exact to rounding" + (
    " (1e-10 of p_t(x, x) for SO(10): numpy.longdouble is a double here)" if np.finfo(np.longdouble).eps > 1e-16 else ""
)
"""What exact kernels state as their accuracy."""
NUMPY_REMEDY = "Pass numpy.asarray(X): every kernel takes NumPy arrays."

Function = Callable[[np.ndarray], np.ndarray]
"""From orbit coordinates (..., r) to numbers (...)."""


def no_error(theta: np.ndarray) -> np.ndarray:
    """Zeros: the standard error of what is exact to rounding."""
    return np.zeros(np.shape(theta)[:-1])


@dataclass(frozen=True)
class Slice:
    """p_t at one time: the density, its derivative in t and its standard error as functions of orbit coordinates.

    They are given divided by exp(log_scale), which for densities of high dimension is beyond every floating point
    number. `log_relative` is the logarithm of the first where that has digits below rounding, None where it has not.
    """

    relative_value: Function
    relative_slope: Function
    relative_error: Function = no_error
    log_scale: float = 0.0
    log_relative: Function | None = None
    relative_gradient: Function | None = None
    """The derivatives of the first in the orbit coordinates, (..., r), where there is a formula."""

    def __call__(self, theta: np.ndarray) -> np.ndarray:
        return self.value(theta)

    def value(self, theta: np.ndarray) -> np.ndarray:
        return with_scale(self.relative_value(theta), self.log_scale)

    def slope(self, theta: np.ndarray) -> np.ndarray:
        return with_scale(self.relative_slope(theta), self.log_scale)

    def error(self, theta: np.ndarray) -> np.ndarray:
        return with_scale(self.relative_error(theta), self.log_scale)

    def log(self, theta: np.ndarray) -> np.ndarray:
        return self.log_scale + self.relative_log(theta)

    def gradient(self, theta: np.ndarray, manifold: Homogeneous, length: float) -> np.ndarray:
        """The derivatives of the relative value in the orbit coordinates; without a formula by differences."""
        if self.relative_gradient is not None:
            return self.relative_gradient(theta)
        return coordinate_slopes(self.relative_value, theta, manifold, length)

    def relative_log(self, theta: np.ndarray) -> np.ndarray:
        """The logarithm of the relative value, or InvalidInput where that has no digits."""
        if self.log_relative is not None:
            return self.log_relative(theta)
        return resolved_log(self.relative_value(theta))


class Recent:
    """The latest results of a function of the time, kept with the object that owns them; safe among threads."""

    def __init__(self, function: Callable[..., Any], most: int = 48) -> None:
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


def coordinate_slopes(function: Function, theta: np.ndarray, manifold: Homogeneous, length: float) -> np.ndarray:
    """The partial derivatives (..., r) of a kernel in its orbit coordinates, by differences over a length.

    The kernel is even at the walls of the chamber, or periodic. Where coordinates add up to zero, so do derivatives.
    """
    count, (low, high) = theta.shape[-1], manifold.chamber[0]
    step = min(length, high / 10)

    def value(moved: np.ndarray) -> np.ndarray:
        if low < 0:
            return function(wrap(moved) if math.isfinite(high) else moved)
        inside = np.abs(moved)
        return function(np.where(inside > high, np.abs(2 * high - inside), inside) if math.isfinite(high) else inside)

    ways = step * np.eye(count)
    if manifold.rank < count:
        ways = ways - step / count
    parts = [
        sum(weight * (value(theta + k * way) - value(theta - k * way)) for k, weight in WEIGHTS.items()) for way in ways
    ]
    return np.stack(parts, axis=-1) / step


class Profile(ABC):
    """The heat kernel of a homogeneous manifold as a function of orbit coordinates."""

    @property
    def times(self) -> tuple[float, float]:
        """The shortest and the longest time that it can be asked for."""
        return (0.0, math.inf)

    @property
    def averaged_times(self) -> tuple[float, float]:
        """The same where it is one of many in an average over times, and a larger error may be borne."""
        return self.times

    limit: ClassVar[str] = ""
    """What to do where a time is out of range: a sentence, empty where another kernel of the method goes further."""

    @property
    def reach(self) -> float:
        """The largest coordinate at which it is above rounding at some time; inf where there is none."""
        return math.inf

    @property
    def is_positive_definite(self) -> bool:
        """Whether Gram matrices are positive definite on every set of points."""
        return True

    @property
    def expands_short_times(self) -> bool:
        """Whether it is its short-time expansion at short times, which is positive definite there but for rounding."""
        return False

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

    def few(self, time: float, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Values and errors over exp(log_scale), and log_scale, at a few orbit coordinates; nothing is kept."""
        found = self.prepare(time)
        return found.relative_value(theta), found.relative_error(theta), found.log_scale

    def tabulated(self, time: float) -> tuple[Any, Any, float]:
        """Numbers from which `read_table` computes the kernel at a time over exp(log_scale), and log_scale.

        Between them the derivatives of these numbers in the log time, where the scale stays the same.
        """
        raise Unsupported("it is no exact kernel of one angle or distance.")

    def read_table(self, numbers: Any, theta: Array) -> Array:
        """The kernel over exp(log_scale) for the arrays of any library; `numbers` are those of `tabulated`."""
        raise NotImplementedError


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
    smoothness_given_by: ClassVar[str] = ""
    """How to make it with another smoothness, where averages over its times are no Matern kernels."""

    if TYPE_CHECKING:  # at run time a class variable, a field or a property may provide it

        @property
        def method(self) -> str:
            """The name of the method that made it."""

    @property
    def is_exact(self) -> bool:
        """Whether values are exact to rounding, and so invariant under isometries to the last digit."""
        return False

    def __call__(self, X: Array, Y: Array | None = None, *, time: Any, log: bool = False) -> Array:
        """p_t(x, y) of every x with every y.

        Parameters
        ----------
        X, Y : arrays of points, shape (..., *manifold.shape). Without Y, X with itself. With JAX arrays, exact kernels
            of one angle or distance, their products and quotients are computed by JAX, on the device and in the
            precision of the arrays.
        time : positive number, or an array of them; a tuple for a kernel with several times.
        log : bool, default False
            Whether to return log p_t(x, y), which stays finite where densities of high dimension do not, and far from
            the diagonal.

        Returns
        -------
        Array whose axes are those of `time` (none for a number), then the batch axes of X, then those of Y; an array of
        JAX if X or Y is one.

        Raises
        ------
        Unsupported : for JAX arrays, where the kernel has no form for them.
        InvalidInput : for points off the manifold and times out of range; for densities that floating point numbers
            cannot hold, without `log`; with `log`, for those that the kernel's formula does not resolve.

        Examples
        --------
        >>> from heatgp import Euclidean, heat_kernel
        >>> heat_kernel(Euclidean(5000))(np.zeros((1, 5000)), time=0.01, log=True).round(3)
        array([[6918.233]])
        """
        log = check_flag("log", log)
        if is_jax(X) or is_jax(Y):
            from .jax_arrays import jax_values

            return jax_values(self, X, Y, time, log)
        return self._over_times(lambda e, t: e.log if log else e.value, X, Y, time)

    def _repr_html_(self) -> str:
        """What notebooks show: the manifold, how the kernel was made, and which times it knows."""
        accuracy = EXACT if self.is_exact else "estimated: see standard_error"
        rows = [
            ("manifold", repr(self.manifold)),
            ("method", self.method),
            ("values", accuracy),
            ("times", " to ".join(f"{time:.3g}" for time in self.times)),
            ("parameters", ", ".join(self.names)),
        ]
        return html_table(repr(self), rows)

    def tabulated(self, time: Any) -> tuple[Any, list[Any]]:
        """Numbers, as nested tuples of NumPy arrays, from which `read_table` computes the kernel at a checked time.

        With them their derivatives in each log time. Unsupported for kernels without such a form, which is the default.
        """
        raise Unsupported(f"{self!r} has no form for JAX arrays. {NUMPY_REMEDY}")

    def read_table(self, numbers: Any, X: Array, Y: Array) -> Array:
        """p_t of every x (N, *shape) with every y (M, *shape), for the arrays of any library; see `tabulated`."""
        raise NotImplementedError

    def derivative(self, X: Array, Y: Array | None = None, *, time: Any) -> np.ndarray:
        """The derivative of p_t(x, y) in t; of a kernel with several times, in each, on a new axis after those of time.

        Parameters and shapes are those of a call of the kernel.
        """

        def slope(e: Evaluation, t: Any) -> np.ndarray:
            with np.errstate(over="ignore"):
                slopes = e.slopes / np.reshape(t, (-1, 1, 1))
            if not np.isfinite(slopes).all():
                raise InvalidInput(
                    f"the derivative at time = {t!r} is beyond floating point numbers. Take a longer time."
                )
            return slopes if self.parameters > 1 else slopes[0]

        return self._over_times(slope, X, Y, time)

    def gradient(self, X: Array, Y: Array | None = None, *, time: Any) -> np.ndarray:
        """The gradient of p_t(x, y) in x, a tangent vector at x.

        Parameters
        ----------
        X, Y, time : as in a call of the kernel. Without Y, X with itself.

        Returns
        -------
        Array whose axes are those of a call of the kernel, and then those of a point. The derivative along a tangent
        vector v is `manifold.metric(x, gradient, v)`.

        Notes
        -----
        Kernels of symmetric spaces are functions of orbit coordinates, and their gradients are those of the coordinates
        times the partial derivatives of the function. Products, quotients, scaled manifolds and sums use the gradients
        of their parts. Other kernels are differentiated along geodesics in an orthonormal basis of the tangent space:
        one kernel of 4 dim N x M pairs.

        At x = y, where a Matern kernel of smoothness 1/2 or less has a cusp, the gradient is zero, the mean of those
        around.

        Examples
        --------
        >>> from heatgp import Euclidean, heat_kernel
        >>> heat_kernel(Euclidean(1)).gradient([[0.0]], [[1.0]], time=1.0).round(6)  # p_1(0, 1) (y - x)
        array([[[0.241971]]])
        """
        times, axes = self._times(time)
        X = self._points(X, "X")
        Y = X if Y is None else self._points(Y, "Y")
        shape = self.manifold.shape
        batches = [Z.shape[: Z.ndim - len(shape)] for Z in (X, Y)]
        x, y = (Z.reshape(-1, *shape) for Z in (X, Y))
        self.check_pairs(len(x), len(y), len(times) * (1 + math.prod(shape)))
        rows = max(1, CHUNK // max(1, len(y) * self.manifold.dim))
        starts = range(0, max(1, len(x)), rows)

        def vectors(start: int, time: Any) -> np.ndarray:
            found = self.with_gradients(x[start : start + rows], y, time)
            return with_scale(found.gradient, found.log_scale)

        found = [np.concatenate([vectors(start, time) for start in starts]) for time in times]
        return np.stack(found).reshape(*axes, *batches[0], *batches[1], *shape)

    def with_gradients(self, X: Array, Y: Array, time: Any) -> Gradients:
        """By default differences along geodesics."""
        here = self.pairs(X, Y).at(time)

        def relative(moved: np.ndarray) -> np.ndarray:
            found = self.pairs(moved, Y).at(time)
            return with_scale(found.relative_value, found.log_scale - here.log_scale)

        found = gradients(self.manifold, relative, np.asarray(X), self.step_of_differences(time))
        return Gradients(here.relative_value, found, here.log_scale)

    def log_variance_gradient(self, X: Array, time: Any) -> np.ndarray:
        if self.has_constant_variance:
            return super().log_variance_gradient(X, time)
        here = self.paired(X[:1]).at(time).log_scale

        def log_variance(moved: np.ndarray) -> np.ndarray:
            found = self.paired(moved).at(time)
            return np.log(found.relative_value) + (found.log_scale - here)

        return gradients(self.manifold, log_variance, np.asarray(X), self.step_of_differences(time))

    def feature_gradients(self, X: Array, time: Any, weights: np.ndarray) -> np.ndarray:
        """By differences along geodesics."""
        count = self.manifold.dim

        def sums(moved: np.ndarray) -> np.ndarray:
            features = self.features(moved)
            assert features is not None
            return (np.repeat(weights, count, axis=0) @ features.at(time).value[..., None])[..., 0]

        return gradients(self.manifold, sums, np.asarray(X), self.step_of_differences(time))

    def standard_error(self, X: Array, Y: Array | None = None, *, time: Any) -> np.ndarray:
        """The standard error of p_t(x, y): that of the simulation, zero where the kernel is exact."""
        return self._over_times(lambda e, t: e.error, X, Y, time)

    def diag(self, X: Array, time: Any, *, log: bool = False) -> np.ndarray:
        """p_t(x, x) of every x, or its logarithm: the batch axes of X, none for one point."""
        log, X = check_flag("log", log), self._points(X, "X")
        batch = X.shape[: X.ndim - len(self.manifold.shape)]
        return super().diag(X.reshape(-1, *self.manifold.shape), self.check_time(time), log=log).reshape(batch)

    def as_positive_definite(self) -> HeatKernel:
        """This kernel, or one close to it that is positive definite on every set of points."""
        return self

    def replicates(self, number: int) -> list[Replicates]:
        """Kernels from disjoint parts of the paths, for each independent source of Monte Carlo error.

        Empty where the kernel is exact.
        """
        return []

    def on(self, product: Product, *factors: int) -> HeatKernel:
        """This kernel as one of points of a product, of which it sees these factors only: an effect of them alone.

        Parameters
        ----------
        product : Product, one of whose factors this kernel's manifold is; or of several, in their order, a Product.
        factors : int, the numbers of the factors, from 0.

        Returns
        -------
        HeatKernel of the product. Add several (`+`) for additive effects.

        Raises
        ------
        InvalidInput : if the manifold of the kernel is not that of the factors.

        Examples
        --------
        >>> from heatgp import Euclidean, Product, Sphere, heat_kernel
        >>> P = Product(Sphere(2), Euclidean(1))
        >>> place, height = heat_kernel(Sphere(2)).on(P, 0), heat_kernel(Euclidean(1)).on(P, 1)
        >>> (place + height).parameters  # two times and one weight
        3
        """
        from .sums import on_factors

        return on_factors(self, product, factors)

    def __add__(self, other: Any) -> HeatKernel:
        """The sum of correlations with weights, see `heat.sums.SumKernel`."""
        from .sums import added

        return added(self, other) if isinstance(other, HeatKernel) else NotImplemented

    def __radd__(self, other: Any) -> HeatKernel:
        """0 + kernel, which `sum` of a list of kernels begins with."""
        return self if is_integer(other) and other == 0 else NotImplemented

    def with_times(self, which: str | None) -> HeatKernel:
        """The same kernel with another number of times: "shared", "each" (factor) or "coordinates"; None, the usual.

        By default a kernel has one time; that of R^n can have one for each coordinate.
        """
        if which == "coordinates" and isinstance(self.manifold, Euclidean) and self.manifold.n > 1 and self.is_exact:
            from .stretched import StretchedKernel

            return StretchedKernel(self.manifold, self)
        return self

    def time_parts(self, X: np.ndarray) -> list[tuple[HeatKernel, np.ndarray]]:
        """For each time, a kernel of one time and points whose distances are those that the time acts on."""
        return [(self, X)]

    def coordinates(self, X: Array, time: Any) -> np.ndarray:
        """Those of the embedding of the points that each time acts on, over its root."""
        times = np.atleast_1d(time)
        parts = [
            np.asarray(part.manifold.embed(x), dtype=float).reshape(len(X), -1) / np.sqrt(t)
            for (part, x), t in zip(self.time_parts(X), times)
        ]
        return np.hstack(parts)

    def same_points(self, X: Array) -> list[np.ndarray]:
        """Other arrays for the points X that the kernel takes as the same points, such as those of a quotient.

        Functions of a point, such as the mean of a model, must have the same values at all of them. By default angles
        are moved by their period, and x is found again by exp(y, log(y, x)) from random y: where arrays of a point
        differ, such as the two unit vectors of a line, it depends on y which of them is found.
        """
        M, found = self.manifold, []
        x = np.asarray(X, dtype=complex if M.is_complex else float)
        for k, period in enumerate(M.periodic or ()):
            found.append(x + (period or 0.0) * (np.arange(x.shape[-1]) == k))
        axes, rng = tuple(range(1, x.ndim)), np.random.default_rng(0)
        for _ in range(SAME):
            try:
                y = M.random(rng, len(x))
                with np.errstate(all="ignore"):  # between components logarithms are not finite
                    again = np.asarray(unchecked(M.exp)(y, unchecked(M.log)(y, x)))
            except (HeatGPError, np.linalg.LinAlgError):  # no logarithm: no other arrays are known
                break
            near = np.abs(again - x).max(axis=axes, keepdims=True) <= 1e-6 * np.abs(x).max(axis=axes, keepdims=True)
            found.append(np.where(near | ~np.isfinite(again), x, again))
        return found

    def save(self, path: Any) -> None:
        """Write the kernel to a file that `heatgp.load_kernel` reads."""
        from .files import save_kernel

        save_kernel(self, path)

    def check_time(self, time: Any) -> Any:
        """The time as a float (a tuple where there are several), or an error that names the range."""
        values = np.atleast_1d(as_array(time, "time", f"a positive number; got {time!r}"))
        if values.dtype.kind not in "iuf":
            raise InvalidInput(f"time must be a positive number; got {time!r}.")
        values = values.astype(float)
        if values.shape != (self.parameters,):
            also = f", then {self.weight_parameters} weight(s)" if self.weight_parameters else ""
            raise InvalidInput(
                f"{self!r} takes {self.parameters - self.weight_parameters} time(s){also}; got {time!r}."
            )
        low, high = self.times
        if (np.isfinite(values) & ((values > EXTREME) | ((values > 0) & (values < 1 / EXTREME)))).any():
            raise InvalidInput(
                f"time = {time!r} is not from {1 / EXTREME:g} to {EXTREME:g}: squared distances over it leave floating "
                "point. Change the unit of length."
            )
        if not (np.isfinite(values).all() and (values > 0).all()):
            raise InvalidInput(
                f"time must be positive and finite; got {time!r}. At time 0 the heat kernel is a point mass."
            )
        times = values[: self.parameters - self.weight_parameters]
        if (times < low * (1 - 1e-9)).any() or (times > high * (1 + 1e-9)).any():
            raise InvalidInput(
                f"time = {time!r} is beyond the times of {self!r}, {low:.3g} to {high:.3g}. {self.advice}"
            )
        return float(values[0]) if self.parameters == 1 else tuple(values.tolist())

    @property
    def advice(self) -> str:
        return f"Ask heat_kernel for {self.remedy}."

    def check_pairs(self, rows: int, columns: int, arrays: float) -> None:
        """An error where so many arrays of all pairs do not fit into memory."""
        check_memory(
            8.0 * rows * columns * arrays,
            f"{self!r} of {rows:,} x {columns:,} points",
            "Ask for fewer points at once. A model of so many needs a part of them, or method='reference', whose cost "
            "is linear in the points.",
        )

    def _tracked(self, blocks: Sequence[Any]) -> Iterable[Any]:
        """The blocks of pairs, with progress where they are many."""
        return tracked(blocks, len(blocks), f"Pairs of {self!r}") if len(blocks) > MANY else blocks

    def _times(self, time: Any) -> tuple[list[Any], tuple[int, ...]]:
        """A list of checked times, and their shape: none for one time."""
        time = as_array(time, "time", f"a positive number, or an array of them; got {time!r}")
        many = self.parameters == 1 and time.ndim > 0
        times = [self.check_time(t) for t in (time.ravel().tolist() if many else [time.tolist()])]
        if not times:
            raise InvalidInput("time is an empty list; give one time or more.")
        return times, time.shape if many else ()

    def _over_times(self, read: Callable[[Evaluation, Any], np.ndarray], X: Any, Y: Any, time: Any) -> np.ndarray:
        times, axes = self._times(time)

        def values_of(pairs: TimeFunction) -> np.ndarray:
            found = [read(pairs.at(t), t) for t in times]
            return found[0][None] if len(found) == 1 else np.stack(found)  # large arrays are not copied again

        point_axes = len(self.manifold.shape)
        X = self._points(X, "X")
        batch_x = X.shape[: X.ndim - point_axes]
        flat_x = X.reshape(-1, *self.manifold.shape)
        if Y is None:
            self.check_pairs(len(flat_x), len(flat_x), 2 * len(times))
            values, batch_y = values_of(self.pairs(flat_x)), batch_x
        else:
            Y = self._points(Y, "Y")
            batch_y = Y.shape[: Y.ndim - point_axes]
            flat_y = Y.reshape(-1, *self.manifold.shape)
            self.check_pairs(len(flat_x), len(flat_y), 2 * len(times))
            rows = max(1, CHUNK // max(1, len(flat_y)))
            starts = self._tracked(range(0, max(1, len(flat_x)), rows))
            parts = [values_of(self.pairs(flat_x[i : i + rows], flat_y)) for i in starts]
            values = np.concatenate(parts, axis=-2)
        return values.reshape((*axes, *values.shape[1:-2], *batch_x, *batch_y))

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

    @property
    def detail(self) -> float:
        return self.made_by.detail

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

    @property
    def advice(self) -> str:
        return self.profile.limit or super().advice

    def pairs(self, X: Array, Y: Array | None = None) -> TimeFunction:
        shape = (len(X), len(X) if Y is None else len(Y))
        coordinates = len(self.manifold.chamber)
        self.check_pairs(*shape, 1 + (coordinates / 2 if Y is None else coordinates))
        blocks = tuple(self.orbit_blocks(np.asarray(X), Y))

        def at(time: float) -> Evaluation:
            def matrix(function: Function, factor: float = 1.0) -> np.ndarray:
                out = np.empty(shape)
                for rows, columns, theta in self._tracked(blocks):
                    values = function(theta)
                    if factor != 1.0:
                        values *= factor
                    out[rows, columns] = values
                    if Y is None:
                        out[columns, rows] = values.T
                return out

            p = self.profile.at(time)
            return Evaluation(
                lambda: matrix(p.relative_value),
                lambda: matrix(p.relative_slope, float(time))[None],
                lambda: matrix(p.relative_error),
                p.log_scale,
                None if p.log_relative is None else lambda: matrix(p.relative_log),
            )

        return TimeFunction(at)

    @property
    def has_constant_variance(self) -> bool:
        return True

    def with_gradients(self, X: Array, Y: Array, time: float) -> Gradients:
        X, Y, M, p = np.asarray(X), np.asarray(Y), self.manifold, self.profile.at(time)
        length = self.step_of_differences(time)
        value, gradient = np.empty((len(X), len(Y))), np.empty((len(X), len(Y), *M.shape), dtype=X.dtype)
        rows = max(1, CACHED // max(1, len(Y)))
        for start in range(0, len(X), rows):
            own = slice(start, start + rows)
            theta = np.asarray(M.orbits(X[own], Y))
            try:
                gradient[own] = M.orbit_gradients(X[own], Y, theta, partial(p.gradient, theta, M, length))
            except Unsupported:
                return super().with_gradients(X, Y, time)
            value[own] = p.relative_value(theta)
        return Gradients(value, gradient, p.log_scale)

    def orbit_blocks(
        self, X: np.ndarray, Y: np.ndarray | None, most: int = CHUNK
    ) -> Iterator[tuple[slice, slice, np.ndarray]]:
        """Orbit coordinates of blocks of at most so many rows; of a set with itself only the columns from there on."""
        columns = len(X) if Y is None else len(Y)
        size = math.ceil(math.prod(self.manifold.shape) / 16)  # large points, fewer pairs: many copy both
        at_most = max(1, CHUNK // max(1, columns * size))
        rows = at_most if Y is not None else min(at_most, max(math.ceil(columns / 16), FEW // max(1, columns), 1))
        rows = min(rows, most)
        same_point = self._same_point
        for i in self._tracked(range(0, len(X), rows)):
            own = slice(i, min(i + rows, len(X)))
            if Y is not None:
                yield own, slice(0, columns), self.manifold.orbits(X[own], Y)
                continue
            theta = np.array(self.manifold.orbits(X[own], X[i:]))
            square = theta[:, : own.stop - i]
            below = np.tril_indices(len(square), -1)
            square[below] = square.swapaxes(0, 1)[below]  # the same value for (x, y) and (y, x)
            here = np.arange(len(square))
            square[here, here] = same_point
            yield own, slice(i, columns), theta

    @property
    def _same_point(self) -> np.ndarray:
        """Orbit coordinates of a point with itself."""
        return np.asarray(self.manifold.orbit(self.manifold.origin, self.manifold.origin))

    def paired(self, X: Array, Y: Array | None = None) -> TimeFunction:
        theta = self._same_point if Y is None else np.asarray(self.manifold.orbit(np.asarray(X), np.asarray(Y)))

        def at(time: float) -> Evaluation:
            def column(function: Function) -> np.ndarray:
                return np.full(len(X), function(theta)) if Y is None else function(theta)

            p = self.profile.at(time)
            return Evaluation(
                lambda: column(p.relative_value),
                lambda: (time * column(p.relative_slope))[None],
                lambda: column(p.relative_error),
                p.log_scale,
                None if p.log_relative is None else lambda: column(p.relative_log),
            )

        return TimeFunction(at)

    def tabulated(self, time: float) -> tuple[Any, list[Any]]:
        try:
            numbers, slope, log_scale = self.profile.tabulated(time)
        except Unsupported as error:
            raise Unsupported(f"{self!r} has no form for JAX arrays: {error} {NUMPY_REMEDY}") from None
        return (numbers, with_scale(np.ones(()), log_scale)), [(slope, np.zeros(()))]

    def read_table(self, numbers: Any, X: Array, Y: Array) -> Array:
        table, scale = numbers
        return scale * self.profile.read_table(table, self.manifold.orbits(X, Y))

    def as_positive_definite(self) -> HeatKernel:
        if self.profile.is_positive_definite:
            return self
        return replace(self, profile=self.made_by.positive_profile(self))

    def replicates(self, number: int) -> list[Replicates]:
        parts = super().replicates(number)
        if not self.profile.is_positive_definite:
            return parts
        return [replace(p, kernels=tuple(k.as_positive_definite() for k in p.kernels)) for p in parts]
