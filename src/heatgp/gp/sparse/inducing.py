"""Points that carry the covariance of all data, and what the data look like from there.

f at any point is approximated from its values at a few points Z: by the interpolant with the kernel at a short time s,

    f(x) = psi(x)' w,    psi(x) = L^-1 k_s(Z, x),    w = L^-1 f(Z),    L L' = k_s(Z, Z).

psi depends on the data and on s alone. The distribution of w at any time t >= s is N(0, A_t), A_t = L^-1 k_t(Z, Z)
L'^-1. So all times are learned from one pass over the data. At t = s this is the projection of Titsias (2009) on f(Z);
at longer times functions are smoother, and the interpolant is nearer to them. At new points the projection is made at t
itself.

References: Titsias (2009); Burt, Rasmussen & van der Wilk (2020) for the choice of Z.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg

from ...covariance import Array, Evaluation, Kernel, TimeFunction, contracted, gram, scaled_vectors, with_scale
from ..parameters import Time
from ..pivoted import pivoted_cholesky

SAFE = 1e-13
"""The share of a variance below which a pivot or an eigenvalue is rounding."""
JITTER = 1e-13
"""Added to the diagonal of the covariance of points, for each of them: it stays positive definite with rounding."""
SAMPLE = 1000
"""Points on which the variance that is left unexplained is measured."""


@dataclass(frozen=True)
class Inducing:
    """The points Z, the shortest time s, and a sample of the data on which what is left unexplained is measured."""

    kernel: Kernel
    points: Array
    time: Time
    lower: Array  # L, (m, m)
    sample: Array
    noise: Array  # (n,), relative variances of the noise of the sample
    left: float  # the largest share of a prior variance of the candidates that is left at s
    seen_with: Kernel | None = None  # the kernel of psi, where it is not `kernel`

    @classmethod
    def of(
        cls,
        kernel: Kernel,
        candidates: Array,
        time: Time,
        tolerance: float,
        limit: int,
        noise: Array | None = None,
        points: Array | None = None,
    ) -> Inducing:
        """Points among the candidates, the worst explained first, until what they leave is below the tolerance.

        Parameters
        ----------
        kernel : Kernel of prior variance 1.
        candidates : array of points, a random sample of the data.
        time : the shortest time, or times, of the kernel.
        tolerance : number. The share of a prior variance that m points may leave is tolerance * m.
        limit : int, how many points at most.
        noise : array, default None: ones. The relative variances of the noise of the candidates.
        points : array, default None. Where points are chosen, if not among the candidates.
        """
        points = candidates if points is None else points

        def columns(numbers: Array) -> Array:
            return kernel.pairs(points, points[numbers]).at(time).value

        F, chosen, left = pivoted_cholesky(
            columns, np.ones(len(points)), lambda rank: max(tolerance * rank, SAFE), limit
        )
        noise = np.ones(len(candidates)) if noise is None else noise
        some = slice(SAMPLE)
        return cls(kernel, points[chosen], time, F[chosen], candidates[some], noise[some], float(left.max(initial=0.0)))

    def __len__(self) -> int:
        return len(self.points)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, each.name) for each in fields(self))  # without what was computed

    def features(self, X: Any) -> Array:
        """psi at the points X, (N, m)."""
        values = (self.seen_with or self.kernel).pairs(X, self.points).at(self.time).value
        return linalg.blas.dtrsm(1.0, self.lower, values.T, lower=1, overwrite_b=1).T

    @cached_property
    def covariances(self) -> TimeFunction:
        """k_t(Z, Z), (m, m)."""
        return self.kernel.pairs(self.points)

    @cached_property
    def cross(self) -> TimeFunction:
        """k_t of the sample and Z, (n, m)."""
        return self.kernel.pairs(self.sample, self.points)

    @cached_property
    def own(self) -> TimeFunction:
        """k_t of the sample with itself, (n, n)."""
        return self.kernel.pairs(self.sample)

    def factor(self, covariance: Array) -> Array:
        """L_t with L_t L_t' = k_t(Z, Z), but for rounding."""
        added = covariance + JITTER * len(self) * np.eye(len(self))
        return linalg.cholesky(added, lower=True, overwrite_a=True, check_finite=False)

    @cached_property
    def interpolation(self) -> Array:
        """k_s(Z, Z)^-1 k_s(Z, sample), (m, n): what the interpolant multiplies f(Z) by."""
        values = self.features(self.sample).T
        return linalg.solve_triangular(self.lower, values, lower=True, trans=1, check_finite=False)

    @cached_property
    def weighted(self) -> Array:
        """The same for means over the sample, (m, n): data count with their precision, one over the noise."""
        return self.interpolation / (self.noise * np.sum(1.0 / self.noise))

    def unexplained(self, time: Time) -> float:
        """The mean share of the prior variance that is not in the interpolant.

        With A = k_s(Z, Z)^-1 k_s(Z, x) it is the variance of f(x) - A' f(Z),
        k_t(x, x) - 2 A' k_t(Z, x) + A' k_t(Z, Z) A.
        """
        return self.unexplained_of(self.covariances.at(time).value, self.cross.at(time).value)

    def unexplained_of(self, covariance: Array, cross: Array) -> float:
        """The same, for k_t(Z, Z) and k_t(sample, Z)."""
        return max(1.0 + self.beside_prior(covariance, cross), 0.0)

    def beside_prior(self, covariance: Array, cross: Array) -> float:
        """The mean of A' k_t(Z, Z) A - 2 A' k_t(Z, x), or its derivative, for those of both covariances."""
        return float(np.vdot(self.weighted, covariance @ self.interpolation) - 2 * np.vdot(cross.T, self.weighted))

    def missed_as_noise(self, time: Time, count: int) -> float:
        """The variance, over the prior variance, of a noise that hides f from `count` data as what Z miss of f does.

        Noise averages out over many data. What Z miss, f(x) - A' f(Z), is a function: neighbours miss the same. With E
        its covariance at the data, divided by the roots of their relative noise, this is tr(E^2) / tr(E): the mean of
        the eigenvalues of E, weighted by themselves.
        """
        A, c = self.interpolation, self.cross.at(time).value @ self.interpolation
        E = self.own.at(time).value - c - c.T + A.T @ self.covariances.at(time).value @ A
        if np.diagonal(E).mean() <= SAFE:  # rounding
            return 0.0
        E = E / np.sqrt(np.outer(self.noise, self.noise))
        squares = np.square(np.diagonal(E)).sum()
        others = (np.square(E).sum() - squares) * (count - 1) / max(len(E) - 1, 1)
        return float((squares + others) / np.trace(E))


@dataclass(frozen=True)
class InducedKernel(Kernel):
    """The covariance of f projected on f(Z), by features k_t(x, Z) L_t'^-1; those of the data are psi L^-1 L_t."""

    inducing: Inducing

    @property
    def parameters(self) -> int:
        return self.inducing.kernel.parameters

    @property
    def weight_parameters(self) -> int:
        return self.inducing.kernel.weight_parameters

    def pairs(self, X: Any, Y: Any = None) -> TimeFunction:
        left = self.features(X)
        right = left if Y is None else self.features(Y)
        return TimeFunction(lambda time: gram(left.at(time), right.at(time)))

    def features(self, X: Any) -> TimeFunction:
        cross = self.inducing.kernel.pairs(X, self.inducing.points)

        def at(time: Time) -> Evaluation:
            found, lower = cross.at(time), self.factor(time)
            return Evaluation(lambda: linalg.blas.dtrsm(1.0, lower, found.value.T, lower=1).T)

        return TimeFunction(at)

    def left_out(self, X: Any, time: Time, features: Array) -> Array:
        return np.maximum(self.inducing.kernel.diag(X, time) - np.square(features).sum(axis=1), 0.0)

    def feature_gradients(self, X: Any, time: Time, weights: Array) -> Array:
        found = self.inducing.kernel.with_gradients(X, self.inducing.points, time)
        shape = weights.shape
        own = linalg.blas.dtrsm(1.0, self.factor(time), weights.reshape(-1, shape[-1]).T, lower=1, trans_a=1).T
        return with_scale(contracted(own.reshape(shape), found.gradient), found.log_scale)

    def left_out_gradient(self, X: Any, time: Time, features: Array) -> Array:
        kernel = self.inducing.kernel
        own = scaled_vectors(kernel.diag(X, time), kernel.log_variance_gradient(X, time))
        left = own - 2 * self.feature_gradients(X, time, features[:, None])[:, 0]
        return scaled_vectors((self.left_out(X, time, features) > 0).astype(float), left)

    def left_out_pairs(self, X: Any, time: Time, features: Array) -> Array:
        return self.inducing.kernel.pairs(X).at(time).value - features @ features.T

    def root(self, time: Time) -> Array:
        """L^-1 L_t, (m, m)."""
        return linalg.solve_triangular(self.inducing.lower, self.factor(time), lower=True, check_finite=False)

    def factor(self, time: Time) -> Array:
        """L_t, kept from call to call."""
        if time not in self._factors:
            self._factors[time] = self.inducing.factor(self.inducing.covariances.at(time).value)
        return self._factors[time]

    @cached_property
    def _factors(self) -> dict[Time, Array]:
        return {}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.inducing,)
