"""What a Gaussian process needs of a kernel, and what a kernel gives at one time.

A `Kernel` prepares points once (`pairs`, `matched`, `features`); the result is a `TimeFunction`, whose `at(time)` is an
`Evaluation`: values, derivatives in the logarithm of the time and standard errors, each computed when first asked for.
The rules for scaling, sums, products, normalisation and Gram matrices are written once, here.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from typing import Any

import numpy as np

from .errors import Unsupported

Array = np.ndarray
Compute = Callable[[], np.ndarray]

BLOCK = 32
"""Points whose Gram matrix is computed for its diagonal, by kernels that have no better way."""


class Evaluation:
    """Values at one time, their derivatives in the log times and their standard errors, computed when asked for.

    Where both are needed, ask for the slopes before the value: some kernels then compute both at once. An evaluation
    keeps the arrays that it was computed from, so keep the arrays that you need and let the evaluation go.

    Parameters
    ----------
    value : function of no arguments
        Returns the values, an array of any shape.
    slopes : function of no arguments, default None
        Returns the derivatives in the logarithm of each time, shape (parameters, *shape). None where there is no
        derivative.
    error : function of no arguments, default None
        Returns the standard errors, shape of the values. None where the values are exact.

    Examples
    --------
    >>> e = Evaluation(lambda: np.array([2.0]), lambda: np.array([[1.0]]))
    >>> e.scaled(3.0).value, e.scaled(3.0).slopes, e.error
    (array([6.]), array([[3.]]), array([0.]))
    """

    def __init__(self, value: Compute, slopes: Compute | None = None, error: Compute | None = None) -> None:
        self._compute = value, slopes, error

    @cached_property
    def value(self) -> Array:
        return self._compute[0]()

    @cached_property
    def slopes(self) -> Array:
        if self._compute[1] is None:
            raise Unsupported("this kernel has no derivative in time.")
        return self._compute[1]()

    @cached_property
    def error(self) -> Array:
        return np.zeros(self.value.shape) if self._compute[2] is None else self._compute[2]()

    def mapped(self, linear: Callable[[Array], Array]) -> Evaluation:
        """A linear function of the values that acts on trailing axes; errors are taken as fully dependent."""
        return combined(lambda arrays: linear(arrays[0]), [self])

    def scaled(self, factor: float) -> Evaluation:
        """The values times a positive number."""
        return self.mapped(lambda values: factor * values)

    def symmetrized(self) -> Evaluation:
        """The mean of a square matrix and its transpose."""
        return self.mapped(lambda values: (values + values.swapaxes(-1, -2)) / 2)

    def diagonal(self) -> Evaluation:
        """The diagonal of a square matrix."""
        return self.mapped(lambda values: np.diagonal(values, axis1=-2, axis2=-1))

    def normalized(self, left: Evaluation, right: Evaluation) -> Evaluation:
        """Values (N, M) divided by the roots of left (N,) and right (M,): k(x, y) / sqrt(k(x, x) k(y, y)).

        With a the derivative of (log k(x, x) + log k(y, y)) / 2, that of the quotient is (k'(x, y) - a k(x, y)) divided
        by the same roots.
        """

        def divide(values: Array) -> Array:  # in place: these are the largest arrays of a fit
            values *= 1 / np.sqrt(left.value)[:, None]
            values *= 1 / np.sqrt(right.value)
            return values

        def slopes() -> Array:
            out = np.empty_like(self.slopes)
            rows, columns = left.slopes / left.value / 2, right.slopes / right.value / 2
            for k, slope in enumerate(self.slopes):
                np.add.outer(rows[k], columns[k], out=out[k])
                out[k] *= self.value
                np.subtract(slope, out[k], out=out[k])
            return divide(out)

        return Evaluation(lambda: divide(self.value.copy()), slopes, lambda: divide(self.error.copy()))

    def correlations(self) -> Evaluation:
        """A square matrix divided by the roots of its own diagonal."""
        return self.normalized(self.diagonal(), self.diagonal())

    def unit_rows(self) -> Evaluation:
        """Features (N, R) with rows of length one: those of the normalised kernel."""

        def lengths() -> Array:
            return np.linalg.norm(self.value, axis=1, keepdims=True)

        def slopes() -> Array:
            moved, unit = self.slopes / lengths(), self.value / lengths()
            return moved - unit * (moved * unit).sum(axis=2, keepdims=True)

        return Evaluation(lambda: self.value / lengths(), slopes)


def combined(linear: Callable[[list[Array]], Array], parts: Sequence[Evaluation]) -> Evaluation:
    """A linear function of a list of values; errors are taken as fully dependent."""
    return Evaluation(
        lambda: linear([p.value for p in parts]),
        lambda: linear([p.slopes for p in parts]),
        lambda: linear([p.error for p in parts]),
    )


def total(parts: Sequence[Evaluation]) -> Evaluation:
    """The sum of values that come from one simulation: at worst their errors add."""
    return combined(partial(reduce, np.add), parts)


def product(factors: Sequence[Evaluation], own_times: bool = False) -> Evaluation:
    """The product of independently estimated values.

    The variance of a product of independent a and b is a² var b + var a (b² + var b).
    With `own_times` each factor has its own times, and the derivatives of all of them are listed one after the other;
    else all factors share one time.
    """

    def replaced(i: int, factor: Array) -> Array:
        others = [f.value for j, f in enumerate(factors) if j != i]
        return reduce(np.multiply, others, factor)

    def slopes() -> Array:
        parts = [replaced(i, f.slopes) for i, f in enumerate(factors)]
        return np.concatenate(parts) if own_times else reduce(np.add, parts)

    def error() -> Array:
        square, variance = np.ones(()), np.zeros(())
        for f in factors:
            variance = square * f.error**2 + variance * (f.value**2 + f.error**2)
            square = square * f.value**2
        return np.sqrt(variance)

    return Evaluation(lambda: reduce(np.multiply, [f.value for f in factors]), slopes, error)


def gram(left: Evaluation, right: Evaluation, error: Compute | None = None) -> Evaluation:
    """The matrix of inner products of features (N, R) and (M, R)."""

    def slopes() -> Array:
        one = left.slopes @ right.value.T
        return one + (one.swapaxes(1, 2) if left is right else left.value @ right.slopes.swapaxes(1, 2))

    return Evaluation(lambda: left.value @ right.value.T, slopes, error)


def inner_products(left: Evaluation, right: Evaluation, error: Compute | None = None) -> Evaluation:
    """The inner product of each row of features (N, R) with the same row of others."""
    return Evaluation(
        lambda: (left.value * right.value).sum(axis=-1),
        lambda: (left.slopes * right.value + left.value * right.slopes).sum(axis=-1),
        error,
    )


@dataclass(frozen=True)
class TimeFunction:
    """A quantity as a function of time; what does not depend on the time has been computed before."""

    at: Callable[[Any], Evaluation]


class Kernel(ABC):
    """A family of positive definite functions k(x, y; time), where time is one positive number or several.

    `pairs` is required. A class that has more to offer overrides the other members.
    """

    @property
    def parameters(self) -> int:
        """How many times the kernel takes: 1 by default."""
        return 1

    @property
    def times(self) -> tuple[float, float]:
        """The shortest and the longest time that it can be asked for; all positive times by default."""
        return (0.0, math.inf)

    @property
    def remedy(self) -> str:
        """What to ask for where a time is out of range, for messages."""
        return "other `times`"

    @abstractmethod
    def pairs(self, X: Any, Y: Any = None) -> TimeFunction:
        """k(x_i, y_j) of all pairs, (N, M), as a function of time; without Y, of X with itself."""

    def matched(self, X: Any, Y: Any = None) -> TimeFunction:
        """k(x_i, y_i), (N,), as a function of time; without Y, k(x_i, x_i)."""
        starts = range(0, max(1, len(X)), BLOCK)
        parts = [self.pairs(X[i : i + BLOCK], None if Y is None else Y[i : i + BLOCK]) for i in starts]
        joined = partial(np.concatenate, axis=-1)
        return TimeFunction(lambda time: combined(joined, [part.at(time).diagonal() for part in parts]))

    def features(self, X: Any) -> TimeFunction | None:
        """Features Phi (N, R) with k = Phi Phi', as a function of time; None (the default) where there are none.

        A Gaussian process is linear in the number of points where the kernel has fewer features than that.
        """
        return None

    def diag(self, X: Any, time: Any) -> Array:
        """k(x, x) of every x, (N,)."""
        return self.matched(X).at(time).value
