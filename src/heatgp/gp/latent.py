"""The latent function at new points, given a factored covariance: what regression and classification share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..covariance import Array, Kernel
from .linalg import Dense, LowRank
from .params import Params

CHUNK = 2**22
"""Entries of k(Xnew, X) in memory at one time, 32 MB, however many new points there are."""


@dataclass(frozen=True)
class Latent:
    """f | data ~ GP with mean k(x, X) weights and covariance k(x, y) - k(x, X) R k(X, y).

    Reference: Rasmussen & Williams (2006), eq. 2.25, 2.26 and 3.60, 3.61.
    """

    kernel: Kernel
    X: Any
    params: Params
    factor: Dense | LowRank

    def project(self, Xnew: Any, weights: Array) -> Array:
        """k(Xnew, X) weights, for weights (N,) or (N, columns)."""
        inner = self.factor.reduced(weights)
        parts = [self._cross(points) @ inner for points in self._chunks(Xnew)]
        return np.concatenate([np.empty((0, *weights.shape[1:])), *parts])

    def moments(self, Xnew: Any, weights: Array) -> tuple[Array, Array]:
        """The projection of weights and the variance of f together, in the time of the variance alone."""
        inner = self.factor.reduced(weights)
        projections, variances = [np.empty((0, *weights.shape[1:]))], [np.empty(0)]
        for points in self._chunks(Xnew):
            cross = self._cross(points)
            projections.append(cross @ inner)
            variance = np.square(self.factor.whiten(cross)).sum(axis=0)
            if isinstance(self.factor, Dense):
                prior = self.params.amplitude * self.kernel.diag(points, self.params.time)
                variance = np.maximum(prior - variance, 0.0)
            variances.append(variance)
        return np.concatenate(projections), np.concatenate(variances)

    def covariance(self, Xnew: Any) -> Array:
        """The covariance of f at all pairs of new points."""
        white = self.factor.whiten(self._cross(Xnew))
        if isinstance(self.factor, LowRank):
            return white.T @ white
        return self.params.amplitude * self.kernel.pairs(Xnew).at(self.params.time).value - white.T @ white

    def _cross(self, Xnew: Any) -> Array:
        """k(Xnew, X), or the features of the new points where the covariance is of low rank."""
        dense = isinstance(self.factor, Dense)
        function = self.kernel.pairs(Xnew, self.X) if dense else self.kernel.features(Xnew)
        assert function is not None
        return self.params.amplitude**self.factor.power * function.at(self.params.time).value

    def _chunks(self, Xnew: Any) -> Iterator[Any]:
        size = max(1, CHUNK // max(1, len(self.X)))
        return (Xnew[start : start + size] for start in range(0, len(Xnew), size))
