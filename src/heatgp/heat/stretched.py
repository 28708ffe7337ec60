"""A time for each coordinate of R^n: the kernel learns which coordinates matter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from ..array import Array
from ..covariance import Evaluation, Gradients, TimeFunction
from ..manifolds import Euclidean
from .composed import WrappedKernel
from .kernel import HeatKernel


@dataclass(frozen=True, repr=False)
class StretchedKernel(WrappedKernel):
    """A kernel k of R^n at time 1, of coordinates that are divided by the roots of their own times t_1, ..., t_n.

    k(x / √t, y / √t; 1) / √(t_1 ... t_n), which is the density of the normal law with variances t_1, ..., t_n where k
    is the heat kernel. With all times equal it is k itself. `base` is any kernel whose correlation is a function g of
    r²/t, r the distance, so that the derivative of g in log t_i at time 1 is that in log t times the share of
    coordinate i in r².

    Reference: Neal (1996), Bayesian Learning for Neural Networks, section 1.2 (automatic relevance determination).
    """

    manifold: Euclidean

    @property
    def parameters(self) -> int:
        return self.manifold.n

    def with_times(self, which: str | None) -> HeatKernel:
        return self.base if which == "shared" else self

    def time_parts(self, X: np.ndarray) -> list[tuple[HeatKernel, np.ndarray]]:
        return [(self.base, X * one) for one in np.eye(self.manifold.n)]  # points that differ in one coordinate only

    def pairs(self, X: Array, Y: Array | None = None) -> TimeFunction:
        X = np.asarray(X)
        other = X if Y is None else np.asarray(Y)
        self.check_pairs(len(X), len(other), 2)

        def at(times: Any) -> Evaluation:
            root = np.sqrt(times)
            x, y = X / root, other / root

            def squares() -> Iterator[np.ndarray]:
                self.check_pairs(len(x), len(y), 2 * self.parameters)
                for left, right in zip(x.T, np.ascontiguousarray(y.T)):
                    difference = left[:, None] - right
                    yield np.square(difference, out=difference)

            inner = self.base.pairs(x, None if Y is None else y).at(1.0)
            return self._of_base(inner, x, root, lambda: cdist(x, y, "sqeuclidean"), squares)

        return TimeFunction(at)

    def paired(self, X: Array, Y: Array | None = None) -> TimeFunction:
        X = np.asarray(X)
        other = X if Y is None else np.asarray(Y)

        def at(times: Any) -> Evaluation:
            root = np.sqrt(times)
            x, y = X / root, other / root
            squares = np.square(x - y).T
            inner = self.base.paired(x, None if Y is None else y).at(1.0)
            return self._of_base(inner, x, root, lambda: squares.sum(axis=0), lambda: iter(squares))

        return TimeFunction(at)

    @property
    def has_constant_variance(self) -> bool:
        return self.base.has_constant_variance

    def with_gradients(self, X: Array, Y: Array, time: Any) -> Gradients:
        root = np.sqrt(time)
        found = self.base.with_gradients(np.asarray(X) / root, np.asarray(Y) / root, 1.0)
        return Gradients(found.value, found.gradient / root, found.log_scale - float(np.log(root).sum()))

    def _of_base(
        self,
        inner: Evaluation,
        x: np.ndarray,
        root: np.ndarray,
        squared_distance: Callable[[], np.ndarray],
        squares: Callable[[], Iterator[np.ndarray]],
    ) -> Evaluation:
        """The values of the base at time 1, and their derivatives; `squares` of coordinates add up to the distance²."""

        def slopes() -> np.ndarray:
            peak = self.base.paired(x[:1]).at(1.0)
            in_time = inner.relative_slopes[0] - peak.relative_slopes[0] / peak.relative_value * inner.relative_value
            whole = squared_distance()
            np.divide(in_time, whole, out=in_time, where=whole > 0)  # at distance 0 both are 0
            half, out = 0.5 * inner.relative_value, np.empty((self.parameters, *in_time.shape))
            for slope, square in zip(out, squares()):
                np.multiply(square, in_time, out=slope)
                slope -= half
            return out

        return Evaluation(
            lambda: inner.relative_value,
            slopes,
            lambda: inner.relative_error,
            inner.log_scale - float(np.log(root).sum()),
            lambda: inner.log - inner.log_scale,
        )
