"""What a Gaussian process needs of a kernel, and what a kernel gives at one time.

A `Kernel` prepares points once (`pairs`, `paired`, `features`); the result is a `TimeFunction`, whose `at(time)` is an
`Evaluation`: values, derivatives in the logarithm of the time and standard errors, each computed when first asked for.
The rules for scaling, sums, products, normalisation and Gram matrices are written once, here.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from typing import Any

import numpy as np

from .errors import InvalidInput, Unsupported

Array = np.ndarray
Compute = Callable[[], np.ndarray]

BLOCK = 32
"""Points whose Gram matrix is computed for its diagonal, by kernels that have no better way."""
LARGEST = 700.0
"""|log| of the sizes that values may have: exp(709) is the largest double, and derivatives are larger than values."""
DIFFERENCE = 1e-3
"""Steps of differences in the points, over the root of the time."""
RESOLVED = 1e-10
"""Ratios to the largest value from which logarithms may be taken: those of exact kernels are right to 1e-13."""


class Evaluation:
    """Values at one time, their derivatives in the log times and their standard errors, computed when asked for.

    All three are kept divided by exp(log_scale), as `relative_value`, `relative_slopes` and `relative_error`: densities
    of high dimension are beyond every floating point number, but their ratios are not. `value`, `slopes` and `error`
    have the scale in them, and raise InvalidInput where no number can hold it; `log` is the logarithm of the value.

    Where both are needed, ask for the slopes before the value: some kernels then compute both at once. An evaluation
    keeps the arrays that it was computed from, so keep the arrays that you need and let the evaluation go.

    Parameters
    ----------
    value : function of no arguments
        Returns the values over exp(log_scale), an array of any shape.
    slopes : function of no arguments, default None
        Returns the derivatives in the logarithm of each time over exp(log_scale), shape (parameters, *shape). None
        where there is no derivative.
    error : function of no arguments, default None
        Returns the standard errors over exp(log_scale), shape of the values. None where the values are exact.
    log_scale : float, default 0
        For densities, the logarithm of the largest: then ratios are at most one.
    log : function of no arguments, default None
        Returns the logarithms of the values over exp(log_scale), where these have digits below rounding. None: they are
        taken from the values, as far as these have digits.

    Examples
    --------
    >>> e = Evaluation(lambda: np.array([2.0]), lambda: np.array([[1.0]]))
    >>> e.scaled(3.0).value.round(12), e.scaled(3.0).slopes.round(12), e.error
    (array([6.]), array([[3.]]), array([0.]))
    >>> far = e.scaled(1e300).scaled(1e300)
    >>> far.log.round(3)
    array([1382.244])
    """

    def __init__(
        self,
        value: Compute,
        slopes: Compute | None = None,
        error: Compute | None = None,
        log_scale: float = 0.0,
        log: Compute | None = None,
    ) -> None:
        self._compute = value, slopes, error
        self._log = log
        self.log_scale = log_scale

    @cached_property
    def relative_value(self) -> Array:
        return self._compute[0]()

    @cached_property
    def relative_slopes(self) -> Array:
        if self._compute[1] is None:
            raise Unsupported("this kernel has no derivative in time.")
        return self._compute[1]()

    @cached_property
    def relative_error(self) -> Array:
        return np.zeros(self.relative_value.shape) if self._compute[2] is None else self._compute[2]()

    @cached_property
    def value(self) -> Array:
        return with_scale(self.relative_value, self.log_scale)

    @cached_property
    def slopes(self) -> Array:
        return with_scale(self.relative_slopes, self.log_scale)

    @cached_property
    def error(self) -> Array:
        return with_scale(self.relative_error, self.log_scale)

    @cached_property
    def log(self) -> Array:
        """The logarithm of the value; InvalidInput where the value has no digits."""
        if self._log is not None:
            return self.log_scale + self._log()
        largest = 1.0 if self.log_scale else float(np.max(self.relative_value, initial=0.0))
        return self.log_scale + resolved_log(self.relative_value, largest)

    def mapped(self, mean: Callable[[Array], Array]) -> Evaluation:
        """Values moved, or averaged with their equals, along trailing axes; errors are taken as fully dependent."""
        return combined(lambda arrays: mean(arrays[0]), [self])

    def scaled(self, factor: float) -> Evaluation:
        """The values times a positive number."""
        return self.shifted(math.log(factor))

    def shifted(self, log_factor: float) -> Evaluation:
        """The values times exp(log_factor)."""
        return Evaluation(
            lambda: self.relative_value,
            lambda: self.relative_slopes,
            lambda: self.relative_error,
            self.log_scale + log_factor,
            lambda: self.log - self.log_scale,
        )

    def symmetrized(self) -> Evaluation:
        """The mean of a square matrix and its transpose."""
        return self.mapped(lambda values: (values + values.swapaxes(-1, -2)) / 2)

    def diagonal(self) -> Evaluation:
        """The diagonal of a square matrix."""
        return self.mapped(lambda values: np.diagonal(values, axis1=-2, axis2=-1))

    def normalized(self, left: Evaluation, right: Evaluation) -> Evaluation:
        """Values (N, M) divided by the roots of left (N,) and right (M,): k(x, y) / sqrt(k(x, x) k(y, y)).

        With a the derivative of (log k(x, x) + log k(y, y)) / 2, that of the quotient is (k'(x, y) - a k(x, y)) divided
        by the same roots. The scales cancel.
        """
        scale = math.exp(self.log_scale - (left.log_scale + right.log_scale) / 2)

        def divide(values: Array) -> Array:  # in place: these are the largest arrays of a fit
            by_row, by_column = scale / np.sqrt(left.relative_value), 1 / np.sqrt(right.relative_value)
            if is_one_number(by_row) and is_one_number(
                by_column
            ):  # one variance, as on homogeneous manifolds: one pass, or none
                factor = by_row[0] * by_column[0]
                return values if factor == 1 else np.multiply(values, factor, out=values)
            values *= by_row[:, None]
            values *= by_column
            return values

        def slopes() -> Array:
            out = np.empty_like(self.relative_slopes)
            rows, columns = (e.relative_slopes / e.relative_value / 2 for e in (left, right))
            for k, slope in enumerate(self.relative_slopes):
                if is_one_number(rows[k]) and is_one_number(columns[k]):
                    np.multiply(self.relative_value, rows[k, 0] + columns[k, 0], out=out[k])
                else:
                    np.add.outer(rows[k], columns[k], out=out[k])
                    out[k] *= self.relative_value
                np.subtract(slope, out[k], out=out[k])
            return divide(out)

        return Evaluation(
            lambda: divide(self.relative_value.copy()), slopes, lambda: divide(self.relative_error.copy())
        )

    def correlation(self, left: Evaluation, right: Evaluation) -> Evaluation:
        """Values (N,) of paired points divided by the roots of left and right (N,), as `normalized`."""

        def divide(values: Array) -> Array:
            scale = math.exp(self.log_scale - (left.log_scale + right.log_scale) / 2)
            return values * (scale / np.sqrt(left.relative_value * right.relative_value))

        def slopes() -> Array:
            moved = sum(e.relative_slopes / e.relative_value / 2 for e in (left, right))
            return divide(self.relative_slopes - moved * self.relative_value)

        return Evaluation(lambda: divide(self.relative_value), slopes, lambda: divide(self.relative_error))

    def correlations(self) -> Evaluation:
        """A square matrix divided by the roots of its own diagonal."""
        return self.normalized(self.diagonal(), self.diagonal())

    def unit_rows(self) -> Evaluation:
        """Features (N, R) with rows of length one: those of the normalised kernel."""

        def lengths() -> Array:
            return np.linalg.norm(self.relative_value, axis=1, keepdims=True)

        def slopes() -> Array:
            moved, unit = self.relative_slopes / lengths(), self.relative_value / lengths()
            return moved - unit * (moved * unit).sum(axis=2, keepdims=True)

        return Evaluation(lambda: self.relative_value / lengths(), slopes)


def is_one_number(values: Array) -> bool:
    """Whether there are values, and all are the same."""
    return bool(values.size and (values == values[0]).all())


def with_scale(values: Array, log_scale: float) -> Array:
    """The values times exp(log_scale), or InvalidInput where floating point numbers do not reach so far."""
    if log_scale == 0:
        return values
    if abs(log_scale) > LARGEST:
        if not values.any():
            return values
        raise InvalidInput(
            f"densities of the size exp({log_scale:.6g}) are beyond floating point numbers. Ask the kernel for "
            "log=True (on the command line --log); models work with normalize=True."
        )
    return values * math.exp(log_scale)


def resolved_log(values: Array, largest: float = 1.0) -> Array:
    """The logarithm of values, or InvalidInput where rounding has left them no digits beside the largest."""
    if (values <= 0).any() or (values < RESOLVED * largest).any():
        raise InvalidInput(
            f"a density is {values.min() / (largest or 1.0):.1e} of the largest one; below {RESOLVED:g} of it this "
            "kernel has no digits. Ask for its logarithm at a longer time, or for points that are closer."
        )
    return np.log(values)


def combined(mean: Callable[[list[Array]], Array], parts: Sequence[Evaluation]) -> Evaluation:
    """Values moved into one array, or averaged with their equals; errors are taken as fully dependent."""
    return _linear(mean, parts, lambda scale: mean([p.log - scale for p in parts]))


def total(parts: Sequence[Evaluation]) -> Evaluation:
    """The sum of values that come from one simulation: at worst their errors add."""
    add = partial(reduce, np.add)
    return _linear(add, parts, lambda scale: reduce(np.logaddexp, [p.log - scale for p in parts]))


def _linear(
    function: Callable[[list[Array]], Array], parts: Sequence[Evaluation], log: Callable[[float], Array]
) -> Evaluation:
    """A linear function of a list of values, on their largest scale; `log` gives its logarithm over that scale."""
    scale = max(p.log_scale for p in parts)

    def of(arrays: Iterable[Array]) -> Array:
        factors = (math.exp(p.log_scale - scale) for p in parts)
        return function([a if factor == 1 else factor * a for a, factor in zip(arrays, factors)])

    return Evaluation(
        lambda: of(p.relative_value for p in parts),
        lambda: of(p.relative_slopes for p in parts),
        lambda: of(p.relative_error for p in parts),
        scale,
        lambda: log(scale),
    )


def product(factors: Sequence[Evaluation], own_times: bool = False) -> Evaluation:
    """The product of independently estimated values; their logarithms add.

    The variance of a product of independent a and b is a² var b + var a (b² + var b).
    With `own_times` each factor has its own times, and the derivatives of all of them are listed one after the other;
    else all factors share one time.
    """

    def replaced(i: int, factor: Array) -> Array:
        others = [f.relative_value for j, f in enumerate(factors) if j != i]
        return reduce(np.multiply, others, factor)

    def slopes() -> Array:
        parts = [replaced(i, f.relative_slopes) for i, f in enumerate(factors)]
        return np.concatenate(parts) if own_times else reduce(np.add, parts)

    def error() -> Array:
        square, variance = np.ones(()), np.zeros(())
        for f in factors:
            noise, signal = f.relative_error**2, f.relative_value**2
            variance = square * noise + variance * (signal + noise)
            square = square * signal
        return np.sqrt(variance)

    scale = math.fsum(f.log_scale for f in factors)
    return Evaluation(
        lambda: reduce(np.multiply, [f.relative_value for f in factors]),
        slopes,
        error,
        scale,
        lambda: reduce(np.add, [f.log - f.log_scale for f in factors]),
    )


def weighted_sum(parts: Sequence[Evaluation], weights: Sequence[float]) -> Evaluation:
    """The sum of values that have times of their own, each times a weight; at worst their errors add.

    Derivatives are in the log times of all parts, one after the other, and then in the logs of all weights but the
    first.
    """

    def weighted(arrays: Iterable[Array]) -> Iterator[Array]:
        return (weight * math.exp(p.log_scale) * a for weight, p, a in zip(weights, parts, arrays))

    def slopes() -> Array:
        in_times = weighted(p.relative_slopes for p in parts)
        in_weights = [a[None] for a in weighted(p.relative_value for p in parts)][1:]
        return np.concatenate([*in_times, *in_weights])

    return Evaluation(
        lambda: reduce(np.add, weighted(p.relative_value for p in parts)),
        slopes,
        lambda: reduce(np.add, weighted(p.relative_error for p in parts)),
    )


def gram(left: Evaluation, right: Evaluation, error: Compute | None = None) -> Evaluation:
    """The matrix of inner products of features (N, R) and (M, R)."""

    def slopes() -> Array:
        one = left.relative_slopes @ right.relative_value.T
        if left is right:
            return one + one.swapaxes(1, 2)
        return one + left.relative_value @ right.relative_slopes.swapaxes(1, 2)

    scale = left.log_scale + right.log_scale
    return Evaluation(lambda: left.relative_value @ right.relative_value.T, slopes, error, scale)


def inner_products(left: Evaluation, right: Evaluation, error: Compute | None = None) -> Evaluation:
    """The inner product of each row of features (N, R) with the same row of others."""

    def slopes() -> Array:
        return (left.relative_slopes * right.relative_value + left.relative_value * right.relative_slopes).sum(axis=-1)

    scale = left.log_scale + right.log_scale
    return Evaluation(lambda: (left.relative_value * right.relative_value).sum(axis=-1), slopes, error, scale)


@dataclass(frozen=True)
class Gradients:
    """k(x, y) of all pairs at one time, (N, M), and its gradients in x, (N, M, *shape), both over exp(log_scale)."""

    value: Array
    gradient: Array
    log_scale: float = 0.0


def scaled_vectors(numbers: Array, vectors: Array) -> Array:
    """Numbers (...) times vectors (..., *shape)."""
    return numbers.reshape(numbers.shape + (1,) * (vectors.ndim - numbers.ndim)) * vectors


def contracted(weights: Array, vectors: Array) -> Array:
    """The sums over M of weights (N, c, M) times vectors (N, M, *shape): (N, c, *shape)."""
    shape = vectors.shape[2:]
    return (weights @ vectors.reshape(*vectors.shape[:2], math.prod(shape))).reshape(*weights.shape[:2], *shape)


@dataclass(frozen=True)
class TimeFunction:
    """A quantity as a function of time; what does not depend on the time has been computed before."""

    at: Callable[[Any], Evaluation]


class Kernel(ABC):
    """A family of positive definite functions k(x, y; time), where time is one positive number or several.

    A kernel that is a sum has weights too. They are the last of its numbers: where there is more than one summand,
    `time` is the times of all of them and then the weights.

    `pairs` is required. A class that has more to offer overrides the other members.
    """

    @property
    def parameters(self) -> int:
        """How many positive numbers the kernel takes, times and then weights: 1 by default."""
        return 1

    @property
    def weight_parameters(self) -> int:
        """How many of these, the last ones, are weights: none by default."""
        return 0

    @property
    def names(self) -> tuple[str, ...]:
        """What these numbers are called: "time", or "time[0]", "time[1]" and so on; then the weights."""
        times = self.parameters - self.weight_parameters
        own = [f"time[{k}]" for k in range(times)] if self.parameters > 1 else ["time"] * times
        return (*own, *(f"weight[{k}]" for k in range(1, self.weight_parameters + 1)))

    @property
    def times(self) -> tuple[float, float]:
        """The shortest and the longest time that it can be asked for; all positive times by default."""
        return (0.0, math.inf)

    @property
    def remedy(self) -> str:
        """What to ask for where a time is out of range, for messages."""
        return "other `times`"

    @property
    def advice(self) -> str:
        """The same as a sentence."""
        return f"Ask for a kernel with {self.remedy}."

    @property
    def detail(self) -> float:
        """The length, over the root of the time, over which differences are those of a smooth function."""
        return DIFFERENCE

    def step_of_differences(self, time: Any) -> float:
        """That length at a time: the shortest one where there are several times."""
        return self.detail * math.sqrt(float(np.min(np.atleast_1d(time)[: self.parameters - self.weight_parameters])))

    @abstractmethod
    def pairs(self, X: Any, Y: Any = None) -> TimeFunction:
        """k(x_i, y_j) of all pairs, (N, M), as a function of time; without Y, of X with itself."""

    def paired(self, X: Any, Y: Any = None) -> TimeFunction:
        """k(x_i, y_i), (N,), as a function of time; without Y, k(x_i, x_i)."""
        starts = range(0, max(1, len(X)), BLOCK)
        parts = [self.pairs(X[i : i + BLOCK], None if Y is None else Y[i : i + BLOCK]) for i in starts]
        joined = partial(np.concatenate, axis=-1)
        return TimeFunction(lambda time: combined(joined, [part.at(time).diagonal() for part in parts]))

    def coordinates(self, X: Any, time: Any) -> Array:
        """Coordinates (N, q) whose Euclidean distances order the correlations of near points; by default the points."""
        return np.asarray(X, dtype=float).reshape(len(X), -1)

    def images(self, X: Any) -> list[Any]:
        """Arrays of points that the kernel takes as X, of which the nearest counts: X alone by default."""
        return [X]

    def features(self, X: Any) -> TimeFunction | None:
        """Features Phi (N, R) with k = Phi Phi', as a function of time; None (the default) where there are none.

        A Gaussian process is linear in the number of points where the kernel has fewer features than that.
        """
        return None

    @property
    def has_constant_variance(self) -> bool:
        """Whether k(x, x) is the same at all points; False, the default, where that is not known."""
        return False

    def with_gradients(self, X: Any, Y: Any, time: Any) -> Gradients:
        """k(x_i, y_j) of all pairs and its gradients in x; Unsupported (the default) where points are no arrays."""
        raise Unsupported("this kernel has no gradients in the points.")

    def log_variance_gradient(self, X: Any, time: Any) -> Array:
        """The gradients of log k(x, x), (N, *shape)."""
        if self.has_constant_variance:
            return np.zeros_like(X)
        raise Unsupported("this kernel has no gradients in the points.")

    def feature_gradients(self, X: Any, time: Any, weights: Array) -> Array:
        """The gradients (N, c, *shape) of sums of features (N, R) times weights (N, c, R) that do not move."""
        raise Unsupported("this kernel has no gradients in the points.")

    def left_out(self, X: Any, time: Any, features: Array) -> Any:
        """The prior variances (N,) at points that their features do not carry, where these are of an approximation."""
        return 0.0

    def left_out_gradient(self, X: Any, time: Any, features: Array) -> Any:
        """The gradients of these variances, (N, *shape)."""
        return 0.0

    def left_out_pairs(self, X: Any, time: Any, features: Array) -> Any:
        """The same as covariances, (N, N)."""
        return 0.0

    def diag(self, X: Any, time: Any, *, log: bool = False) -> Array:
        """k(x, x) of every x, (N,), or its logarithm."""
        found = self.paired(X).at(time)
        return found.log if log else found.value


def constant(values: Array, parameters: int = 0) -> TimeFunction:
    """Values that are the same at every time."""
    return TimeFunction(lambda time: Evaluation(lambda: values, lambda: np.zeros((parameters, *values.shape))))


@dataclass(frozen=True)
class DerivedKernel(Kernel):
    """A kernel made from the values of another, with the same times."""

    kernel: Kernel

    @property
    def parameters(self) -> int:
        return self.kernel.parameters

    @property
    def weight_parameters(self) -> int:
        return self.kernel.weight_parameters

    @property
    def times(self) -> tuple[float, float]:
        return self.kernel.times

    @property
    def detail(self) -> float:
        return self.kernel.detail

    @property
    def remedy(self) -> str:
        return self.kernel.remedy

    @property
    def advice(self) -> str:
        return self.kernel.advice


@dataclass(frozen=True)
class Normalized(DerivedKernel):
    """The kernel with prior variance 1: k(x, y) / sqrt(k(x, x) k(y, y)).

    The amplitude of a Gaussian process is then its prior variance, at every point and every time.

    Parameters
    ----------
    kernel : Kernel, the kernel that is divided by the roots of its diagonal.
    """

    def pairs(self, X: Any, Y: Any = None) -> TimeFunction:
        inner = self.kernel.pairs(X, Y)
        if Y is None:
            return TimeFunction(lambda time: inner.at(time).correlations())
        left, right = self.kernel.paired(X), self.kernel.paired(Y)
        return TimeFunction(lambda time: inner.at(time).normalized(left.at(time), right.at(time)))

    def paired(self, X: Any, Y: Any = None) -> TimeFunction:
        if Y is None:
            return constant(np.ones(len(X)), self.parameters)
        inner, left, right = (self.kernel.paired(*points) for points in ((X, Y), (X,), (Y,)))
        return TimeFunction(lambda time: inner.at(time).correlation(left.at(time), right.at(time)))

    def coordinates(self, X: Any, time: Any) -> Array:
        return self.kernel.coordinates(X, time)

    def images(self, X: Any) -> list[Any]:
        return self.kernel.images(X)

    def features(self, X: Any) -> TimeFunction | None:
        inner = self.kernel.features(X)
        return None if inner is None else TimeFunction(lambda time: inner.at(time).unit_rows())

    @property
    def has_constant_variance(self) -> bool:
        return True

    def with_gradients(self, X: Any, Y: Any, time: Any) -> Gradients:
        """With k(x, y) / √(k(x, x) k(y, y)) = c, the gradient is that of k over the roots, less c ∇log k(x, x) / 2."""
        found = self.kernel.with_gradients(X, Y, time)
        if self.kernel.has_constant_variance and found.value.size:
            log_variance = self.kernel.paired(Y[:1]).at(time).log
            return replace(found, log_scale=found.log_scale - float(log_variance[0]))
        left, right = (self.kernel.paired(Z).at(time) for Z in (X, Y))
        shift = math.exp(found.log_scale - (left.log_scale + right.log_scale) / 2)
        factor = np.multiply.outer(shift / np.sqrt(left.relative_value), 1 / np.sqrt(right.relative_value))
        half = self.kernel.log_variance_gradient(X, time)[:, None] / 2
        moved = found.gradient - scaled_vectors(found.value, half)
        return Gradients(factor * found.value, scaled_vectors(factor, moved))

    def feature_gradients(self, X: Any, time: Any, weights: Array) -> Array:
        """Unit rows u = phi / |phi| change by what is orthogonal to them: weights w count as (w - u u'w) / |phi|."""
        features = self.kernel.features(X)
        assert features is not None
        phi = features.at(time).value[:, None]
        size = np.linalg.norm(phi, axis=-1, keepdims=True)
        unit = phi / size
        along = (unit * weights).sum(axis=-1, keepdims=True)
        return self.kernel.feature_gradients(X, time, (weights - along * unit) / size)
