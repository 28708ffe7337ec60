"""The latent function at new points, given a factored covariance: what regression and classification share."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..cost import check_memory
from ..covariance import Array, Kernel
from .linalg import Dense, LowRank, draw
from .params import Params
from .threads import of_posterior

CHUNK = 2**22
"""Entries of k(Xnew, X) in memory at one time, 32 MB, however many new points there are."""


@dataclass(frozen=True)
class Latent:
    """A Gaussian process f that has seen data; with `noise=True`, new observations of it.

    f has mean offset + k(x, X) weights and covariance k(x, y) - k(x, X) R k(X, y). Where a constant mean was estimated
    the weights have a second column, and the uncertainty of the constant is included.

    Reference: Rasmussen & Williams (2006), eq. 2.25, 2.26, 3.60, 3.61; eq. 2.42 for the constant mean.
    """

    kernel: Kernel
    X: Any
    y: Array
    params: Params
    factor: Dense | LowRank
    weights: Array  # (N, 1): R (y - offset) in regression; (N, 2) with R 1 where a constant was estimated
    log_marginal_likelihood: float
    offset: float = 0.0

    @of_posterior
    def mean(self, Xnew: Any) -> Array:
        """The mean of f."""
        inner = self.factor.reduced(self.weights[:, 0])
        return self.offset + np.concatenate([np.empty(0), *(self._cross(new) @ inner for new in self._chunks(Xnew))])

    def variance(self, Xnew: Any, noise: bool = False) -> Array:
        """The variance, never negative."""
        return self.moments(Xnew, noise)[1]

    @of_posterior
    def moments(self, Xnew: Any, noise: bool = False) -> tuple[Array, Array]:
        """Mean and variance, in the time of the variance alone."""
        inner = self.factor.reduced(self.weights)
        projections, variances = [np.empty((0, inner.shape[1]))], [np.empty(0)]
        for points in self._chunks(Xnew):
            cross = self._cross(points)
            projections.append(cross @ inner)
            variance = np.square(self.factor.whiten(cross)).sum(axis=0)
            if isinstance(self.factor, Dense):
                prior = self.params.amplitude * self.kernel.diag(points, self.params.time)
                variance = np.maximum(prior - variance, 0.0)
            variances.append(variance)
        projected = np.concatenate(projections)
        of_constant = ((1.0 - projected[:, 1:]) ** 2 / self._constant_precision).sum(axis=1)
        return self.offset + projected[:, 0], np.concatenate(variances) + of_constant + self.params.noise * noise

    @of_posterior
    def covariance(self, Xnew: Any, noise: bool = False) -> Array:
        """The covariance of all pairs, (M, M)."""
        number = len(Xnew)
        check_memory(24.0 * number**2, f"The covariance of {number:,} points", "Ask for fewer points at once.")
        cross = self._cross(Xnew)
        white = self.factor.whiten(cross)
        covariance = white.T @ white
        if isinstance(self.factor, Dense):
            covariance = self.params.amplitude * self.kernel.pairs(Xnew).at(self.params.time).value - covariance
        unseen = 1.0 - cross @ self.factor.reduced(self.weights[:, 1:])
        covariance = covariance + unseen / self._constant_precision @ unseen.T
        covariance = (covariance + covariance.T) / 2
        diagonal = np.maximum(np.diagonal(covariance), 0.0) + self.params.noise * noise
        covariance.flat[:: len(covariance) + 1] = diagonal
        return covariance

    @of_posterior
    def sample(self, Xnew: Any, rng: Any, size: int = 1, noise: bool = False) -> Array:
        """`size` functions drawn from the posterior, at Xnew: (size, M)."""
        return draw(self.mean(Xnew), self.covariance(Xnew, noise), rng, size)

    @property
    def _constant_precision(self) -> Array:
        """1' R 1 where a constant was estimated, (1,); else empty."""
        return self.weights[:, 1:].sum(axis=0)

    def _cross(self, Xnew: Any) -> Array:
        """k(Xnew, X), or the features of the new points where the covariance is of low rank."""
        dense = isinstance(self.factor, Dense)
        function = self.kernel.pairs(Xnew, self.X) if dense else self.kernel.features(Xnew)
        assert function is not None
        return self.params.amplitude**self.factor.power * function.at(self.params.time).value

    def _chunks(self, Xnew: Any) -> Iterator[Any]:
        size = max(1, CHUNK // max(1, len(self.X)))
        return (Xnew[start : start + size] for start in range(0, len(Xnew), size))
