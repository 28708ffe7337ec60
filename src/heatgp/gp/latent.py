"""The latent function at new points, given a factored covariance: what regression and classification share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import NotPositiveDefinite
from .kernel import Params, feature_rows, features_of
from .linalg import Dense, LowRank

Array = np.ndarray

# Entries of k(Xnew, X) held at once: 32 MB, so that many new points do not need memory N times their number.
CHUNK = 2**22


@dataclass(frozen=True)
class Latent:
    """f | data ~ GP with mean k(x, X) weights and covariance k(x, y) - k(x, X) R k(X, y).

    Reference: Rasmussen & Williams (2006), eq. 2.25, 2.26 and 3.60, 3.61.
    """

    kernel: Any
    X: Any
    params: Params
    factor: Dense | LowRank

    def project(self, Xnew: Any, weights: Array) -> Array:
        """k(Xnew, X) weights, for weights (N,) or (N, columns)."""
        inner = self.factor.Phi.T @ weights if isinstance(self.factor, LowRank) else weights
        parts = [self.view(Xnew[rows]) @ inner for rows in self.chunks(Xnew)]
        return np.concatenate([np.empty((0, *weights.shape[1:])), *parts])

    def moments(self, Xnew: Any, weights: Array) -> tuple[Array, Array]:
        """The projection of weights, and the variance of f, at the same price as the variance alone."""
        inner = self.factor.Phi.T @ weights if isinstance(self.factor, LowRank) else weights
        projections, variances = [np.empty((0, *weights.shape[1:]))], [np.empty(0)]
        for rows in self.chunks(Xnew):
            view = self.view(Xnew[rows])
            projections.append(view @ inner)
            variance = np.square(self.factor.whiten(view)).sum(axis=0)
            if isinstance(self.factor, Dense):
                prior = self.params.amplitude * self.kernel.diag(Xnew[rows], self.params.time)
                variance = np.maximum(prior - variance, 0.0)
            variances.append(variance)
        return np.concatenate(projections), np.concatenate(variances)

    def covariance(self, Xnew: Any) -> Array:
        white = self.factor.whiten(self.view(Xnew))
        if isinstance(self.factor, LowRank):
            return white.T @ white
        return self.params.amplitude * self.kernel.pairs(Xnew)(self.params.time) - white.T @ white

    def view(self, Xnew: Any) -> Array:
        """What the new points are to the factor: k(Xnew, X), or their features."""
        if isinstance(self.factor, LowRank):
            return np.sqrt(self.params.amplitude) * self.kernel.features(Xnew, self.params.time)
        return self.params.amplitude * self.kernel.pairs(Xnew, self.X)(self.params.time)

    def chunks(self, Xnew: Any) -> Iterator[slice]:
        size = max(1, CHUNK // max(1, len(self.X)))
        return (slice(start, start + size) for start in range(0, len(Xnew), size))


@dataclass(frozen=True)
class Prior:
    """The covariance of the data at amplitude 1, as a function of time: the matrix K, or its features Phi.

    What the points need is computed once, here.
    """

    pairs: Any  # None: low rank
    rows: Any

    @classmethod
    def of(cls, kernel: Any, X: Any, time: Any, pairs: Any = None) -> Prior:
        """Features are used where the kernel has fewer of them (at any time alike) than there are points."""
        features = features_of(kernel)
        if features is not None and features(X[:1], time).shape[1] < len(X):
            return cls(None, feature_rows(kernel, X))
        return cls(kernel.pairs(X) if pairs is None else pairs, None)

    def values(self, time: Any) -> Array:
        return self.rows(time) if self.pairs is None else self.pairs(time)

    def slopes(self, time: Any) -> tuple[Array, Array]:
        """The values and their derivatives in log time."""
        return self.rows.slope(time) if self.pairs is None else self.pairs.slope(time)

    def diag(self, values: Array) -> Array:
        return np.square(values).sum(axis=1) if self.pairs is None else np.diagonal(values)

    def height(self, values: Array) -> float:
        """The mean prior variance of the data."""
        return positive_height(self.diag(values))

    def height_slope(self, values: Array, slopes: Array) -> Array:
        """The derivatives of log height in the log times: (parameters,)."""
        if self.pairs is None:
            moved = 2 * (slopes * values).sum(axis=2)
        else:
            moved = np.diagonal(slopes, axis1=1, axis2=2)
        return moved.mean(axis=1) / self.height(values)

    def factor(self, values: Array, precision: Array | float, amplitude: float = 1.0) -> Dense | LowRank:
        if self.pairs is None:
            return LowRank.of(np.sqrt(amplitude) * values, precision)
        return Dense.of(values if amplitude == 1.0 else amplitude * values, precision)


def positive_height(diag: Array) -> float:
    height = float(np.mean(diag))
    if not 0 < height < np.inf:
        raise NotPositiveDefinite(
            f"the mean prior variance of {len(diag)} points is {height:.2e} and must be positive and finite. Check the "
            "kernel's values."
        )
    return height
