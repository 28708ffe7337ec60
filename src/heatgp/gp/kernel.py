"""What a Gaussian process needs of a kernel, and two kernels made of others' values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InvalidInput

Array = np.ndarray
Time = float | tuple[float, ...]


class Pairs(Protocol):
    """The kernel on fixed pairs of points, as a function of time alone."""

    def __call__(self, time: Any) -> Array:
        """K, (N, M)."""

    def slope(self, time: Any) -> tuple[Array, Array]:
        """K and its derivatives in log time, (parameters, N, M)."""


class Kernel(Protocol):
    """A family of positive definite functions k(x, y; time), time one positive number or a vector of them.

    A kernel of low rank may also offer features(X, time) -> Phi (N, R) with K = Phi Phi'; Gaussian processes
    are then linear in N. A kernel class that only sometimes has features says `features = None` when it has
    not.
    """

    @property
    def parameters(self) -> int:
        """How many times it has."""

    def pairs(self, X: Any, Y: Any = None) -> Pairs:
        """What the pairs (X_i, Y_j) need, computed once; Y None means X with itself."""

    def diag(self, X: Any, time: Any) -> Array:
        """k(x, x), (N,)."""


@dataclass(frozen=True)
class Params:
    """The covariance of observations: amplitude * k(x, y; time) + noise * [same observation].

    `noise` is a variance; `time` is a number, or a tuple for a kernel with several (or none).

    >>> Params(time=0.1, amplitude=2.0, noise=0.01).amplitude
    2.0
    """

    time: Time
    amplitude: float
    noise: float = 0.0

    def __post_init__(self) -> None:
        times = np.atleast_1d(np.asarray(self.time, dtype=float))
        if not (np.all(times > 0) and np.all(np.isfinite(times))):
            raise InvalidInput(f"time = {self.time} must be positive and finite. Give None to learn it.")
        if not 0 < self.amplitude < np.inf:
            raise InvalidInput(
                f"amplitude = {self.amplitude} is a variance and must be positive and finite. Give None to learn it."
            )
        if not 0 <= self.noise < np.inf:
            raise InvalidInput(
                f"noise = {self.noise} is a variance and must be 0 or positive and finite. Give None to learn it."
            )


@dataclass(frozen=True)
class Normalized:
    """The kernel with prior variance 1: k(x, y) / sqrt(k(x, x) k(y, y)).

    On a homogeneous space k(x, x) is one number, and the amplitude becomes the prior variance.
    """

    kernel: Any

    @property
    def parameters(self) -> int:
        return self.kernel.parameters

    @property
    def times(self) -> tuple[float, float]:
        return times_of(self.kernel)

    @property
    def remedy(self) -> str:
        return self.kernel.remedy

    def pairs(self, X: Any, Y: Any = None) -> NormalizedPairs:
        return NormalizedPairs(self.kernel, X, Y, self.kernel.pairs(X, Y))

    def diag(self, X: Any, time: Any) -> Array:
        return np.ones(len(X))

    @property
    def features(self) -> Any:
        inner = features_of(self.kernel)
        return None if inner is None else lambda X, time: _unit_rows(inner(X, time))

    def feature_rows(self, X: Any) -> NormalizedRows:
        return NormalizedRows(feature_rows(self.kernel, X))


@dataclass(frozen=True)
class NormalizedPairs:
    """Values and slopes of a normalised kernel, from those of the kernel itself."""

    kernel: Any
    X: Any
    Y: Any
    inner: Pairs

    def __call__(self, time: Any) -> Array:
        K = self.inner(time)
        if self.Y is None:
            left = right = np.diagonal(K)
        else:
            left, right = self.kernel.diag(self.X, time), self.kernel.diag(self.Y, time)
        return scale_both(K, 1 / np.sqrt(left), 1 / np.sqrt(right))

    def slope(self, time: Any) -> tuple[Array, Array]:
        """d log k~(x, y) = d log k(x, y) - (d log k(x, x) + d log k(y, y)) / 2."""
        K, slopes = self.inner.slope(time)
        if self.Y is None:
            left = right = np.diagonal(K)
            left_slope = right_slope = np.diagonal(slopes, axis1=1, axis2=2) / left
        else:
            left, right = self.kernel.diag(self.X, time), self.kernel.diag(self.Y, time)
            own = times_of(self.kernel)
            left_slope = log_time_difference(lambda t: np.log(self.kernel.diag(self.X, t)), time, own)
            right_slope = log_time_difference(lambda t: np.log(self.kernel.diag(self.Y, t)), time, own)
        row, column = 1 / np.sqrt(left), 1 / np.sqrt(right)
        K = scale_both(K, row, column)
        out = np.empty_like(slopes)
        for k, slope in enumerate(slopes):
            out[k] = scale_both(slope, row, column)
            if is_constant(left_slope[k]) and is_constant(right_slope[k]):
                out[k] -= K * ((left_slope[k][0] + right_slope[k][0]) / 2)
            else:
                out[k] -= K * ((left_slope[k][:, None] + right_slope[k]) / 2)
        return K, out


@dataclass(frozen=True)
class Precomputed:
    """A kernel given by its values; its points are row numbers and it has no time.

    `gram` (P, Q) holds k(x_i, x_j) for the first Q of P points: (P, P) knows everything; (P, Q) suffices to
    predict the mean at points Q.. from the first Q, and with `diagonal`, k(x_i, x_i) of all P points, the
    variance too.

    >>> kernel = Precomputed(np.array([[1.0, 0.5], [0.5, 1.0]]))
    >>> kernel.pairs(np.array([0]), np.array([1]))(())
    array([[0.5]])
    """

    gram: Array
    diagonal: Array | None = None
    parameters: int = 0

    def __post_init__(self) -> None:
        gram = np.asarray(self.gram)
        if gram.ndim != 2 or gram.shape[0] < gram.shape[1]:
            raise InvalidInput(
                f"gram has shape {gram.shape}; needed is (P, Q), P >= Q: one row for each point, one column for each "
                "training point, the training points first."
            )
        square = gram[: gram.shape[1]]
        asymmetry, limit = np.abs(square - square.T).max(initial=0.0), 1e-8 * np.abs(square).max(initial=0.0)
        if not asymmetry <= limit:
            raise InvalidInput(
                f"gram is not symmetric: |K - K'| = {asymmetry:.1e} > {limit:.1e}. Symmetrise with (K + K') / 2, and "
                "check for nan."
            )

    def pairs(self, X: ArrayLike, Y: ArrayLike | None = None) -> Constant:
        rows = np.asarray(X)
        columns = rows if Y is None else np.asarray(Y)
        self._known(columns)
        return Constant(self.gram[np.ix_(rows, columns)])

    def diag(self, X: ArrayLike, time: Any) -> Array:
        rows = np.asarray(X)
        if self.diagonal is not None:
            return np.asarray(self.diagonal)[rows]
        self._known(rows)
        return self.gram[rows, rows]

    def _known(self, columns: Array) -> None:
        known = self.gram.shape[1]
        if columns.max(initial=0) >= known:
            raise InvalidInput(
                f"the Gram matrix has {known} columns and says nothing of k(x, x_{columns.max()}). Give k(new, new) "
                "too (`prior` of an estimator), or, for variances alone, its diagonal."
            )


@dataclass(frozen=True)
class Constant:
    """Pairs whose values do not depend on time."""

    values: Array

    def __call__(self, time: Any) -> Array:
        return self.values

    def slope(self, time: Any) -> tuple[Array, Array]:
        return self.values, np.empty((0, *self.values.shape))


def features_of(kernel: Any) -> Any:
    """The kernel's feature map X, time -> Phi, or None."""
    return getattr(kernel, "features", None)


def feature_rows(kernel: Any, X: Any) -> Any:
    """The features of fixed points as a function of time, with a `slope`; the kernel's own, or by differences."""
    return kernel.feature_rows(X) if hasattr(kernel, "feature_rows") else FeatureRows(kernel, X)


@dataclass(frozen=True)
class FeatureRows:
    """Features of a kernel that tells no slopes of them."""

    kernel: Any
    X: Any

    def __call__(self, time: Any) -> Array:
        return self.kernel.features(self.X, time)

    def slope(self, time: Any) -> tuple[Array, Array]:
        """The values and their derivatives in the log times: (N, R) and (parameters, N, R)."""
        return self(time), log_time_difference(self, time, times_of(self.kernel))


@dataclass(frozen=True)
class NormalizedRows:
    """Features of length one."""

    inner: Any

    def __call__(self, time: Any) -> Array:
        return _unit_rows(self.inner(time))

    def slope(self, time: Any) -> tuple[Array, Array]:
        Phi, slopes = self.inner.slope(time)
        length = np.linalg.norm(Phi, axis=1, keepdims=True)
        unit, slopes = Phi / length, slopes / length
        return unit, slopes - unit * (slopes * unit).sum(axis=2, keepdims=True)


def times_of(kernel: Any) -> tuple[float, float]:
    """The times that a kernel can be asked for."""
    return getattr(kernel, "times", (0.0, np.inf))


def log_time_difference(
    function: Any, time: Any, within: tuple[float, float] = (0.0, np.inf), step: float = 1e-4
) -> Array:
    """Derivatives of an array in each log time by central differences, one-sided at the ends: (parameters, ...).

    The step balances its own error, step^2 / 6 of the third derivative, against rounding, 1e-16 / step.
    """
    times = np.atleast_1d(np.asarray(time, dtype=float))

    def difference(k: int) -> Array:
        ends = np.clip(times[k] * np.exp([-step, step]), *within)
        low, high = (
            function(float(end) if np.ndim(time) == 0 else (*times[:k], float(end), *times[k + 1 :])) for end in ends
        )
        return (high - low) / np.log(ends[1] / ends[0])

    return np.stack([difference(k) for k in range(times.size)])


def _unit_rows(Phi: Array) -> Array:
    return Phi / np.linalg.norm(Phi, axis=1, keepdims=True)


def is_constant(values: Array) -> bool:
    return bool(values.size) and not np.ptp(values)


def scale_both(K: Array, row: Array, column: Array) -> Array:
    """diag(row) K diag(column), in one pass where both are constant."""
    if is_constant(row) and is_constant(column):
        return K * (row[0] * column[0])
    scaled = K * row[:, None]
    scaled *= column
    return scaled
