"""The latent function at new points, given a factored covariance: what regression and classification share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from scipy import linalg

from ..arguments import as_array
from ..cost import check_memory
from ..covariance import Array, Kernel, contracted, scaled_vectors, with_scale
from ..errors import InvalidInput
from .linalg import Dense, LowRank, draw
from .params import Params
from .targets import NO_BASIS, MeanBasis
from .threads import of_posterior, on_all_threads

PAIRS = 2**18
"""Pairs whose gradients are in memory at one time."""
CHUNK = 2**22
"""Entries of k(Xnew, X) in memory at one time, 32 MB, however many new points there are."""


@dataclass(frozen=True)
class Latent:
    """A Gaussian process f that has seen data; with `noise`, new observations of it.

    f has mean offset + h(x) c + k(x, X) weights and covariance k(x, y) - k(x, X) R k(X, y). h are the basis functions
    of the mean, one constant, several or none, and c their coefficients, whose uncertainty is included.

    Reference: Rasmussen & Williams (2006), eq. 2.25, 2.26, 3.60, 3.61; eq. 2.41 and 2.42 for the mean.
    """

    kernel: Kernel
    X: Any
    y: Array
    params: Params
    factor: Dense | LowRank
    weights: Array  # (N, 1 + q): R (y - mean) in regression, then R H, H the columns of the basis
    log_marginal_likelihood: float
    offset: Any = 0.0  # the known part of the mean: a number, or one for each new point
    basis: MeanBasis = NO_BASIS
    inner: Array = field(default_factory=lambda: np.empty(0))  # (q,), the coefficients of the columns of `basis`
    lower: Array = field(default_factory=lambda: np.empty((0, 0)))  # (q, q), L L' is their posterior precision
    noise_is_known: bool = False  # each observation has a noise of its own, so that of others is not known

    @property
    def coefficients(self) -> Array:
        """The posterior means of the coefficients of the basis functions, (q,)."""
        return self.basis.transform @ self.inner

    @property
    def coefficient_covariance(self) -> Array:
        """The posterior covariance of the coefficients, (q, q)."""
        root = self._whitened_basis(self.basis.transform)
        return root.T @ root

    @property
    def coefficient_errors(self) -> Array:
        """The posterior standard deviations of the coefficients, (q,)."""
        return np.sqrt(np.diagonal(self.coefficient_covariance))

    @property
    def count(self) -> int:
        """How many data it has seen."""
        return len(self.X)

    @property
    def process(self) -> Latent:
        """f itself, where predictions are of something else."""
        return self

    def expected(self, f: Array) -> Array:
        """What predictions are of, given values of f."""
        return f

    def with_basis(self, values: Array) -> Self:
        """The same, for new points at which the basis functions of the mean have these values, (M, q)."""
        return replace(self, basis=replace(self.basis, values=values))

    @of_posterior
    def mean(self, Xnew: Any) -> Array:
        """The mean of f."""
        columns = self.basis.at(Xnew)
        inner = self.factor.reduced(self.weights[:, 0])
        moved = np.concatenate([np.empty(0), *(self._cross(new) @ inner for new in self._chunks(Xnew))])
        return self.offset + columns @ self.inner + moved

    def variance(self, Xnew: Any, noise: Any = False) -> Array:
        """The variance, never negative."""
        return self.moments(Xnew, noise)[1]

    @of_posterior
    def moments(self, Xnew: Any, noise: Any = False) -> tuple[Array, Array]:
        """Mean and variance, in the time of the variance alone.

        `noise` is True for that of the model, or the variances of the noise at the new points: one, or an array (M,).
        """
        columns, added = self.basis.at(Xnew), self._noise(Xnew, noise)
        inner = self.factor.reduced(self.weights)

        def of_f(points: Any) -> tuple[Array, Array]:
            """What the weights add to the mean, and the variance of f less that of the mean."""
            cross = self._cross(points)
            variance = np.square(self.factor.whiten(cross)).sum(axis=0)
            if isinstance(self.factor, Dense):
                prior = self.params.amplitude * self.kernel.diag(points, self.params.time)
                return cross @ inner, np.maximum(prior - variance, 0.0)
            a = self.params.amplitude
            return cross @ inner, variance + a * self.kernel.left_out(points, self.params.time, cross / np.sqrt(a))

        found = [(np.empty((0, inner.shape[1])), np.empty(0))]
        found += on_all_threads(of_f, self._chunks(Xnew), float(len(Xnew)) * len(self.X) ** 2)
        projections, variances = zip(*found)
        projected = np.concatenate(projections)
        of_basis = np.square(self._whitened_basis(columns - projected[:, 1:])).sum(axis=0)
        mean = self.offset + columns @ self.inner + projected[:, 0]
        return mean, np.concatenate(variances) + of_basis + added

    @of_posterior
    def gradients(self, Xnew: Any, of_basis: Array) -> tuple[Array, Array, Array, Array]:
        """Mean and variance of f, (M,), and their gradients in the points, (M, *shape).

        `of_basis` (M, q, *shape) are the gradients of the basis functions of the mean. With u = A^-1 (h - k RH)', A the
        precision of the coefficients, the gradient of the variance is that of k(x, x) less 2 (Rk + RH u)' ∇k, plus
        2 u' ∇h.
        """
        columns = self.basis.at(Xnew)
        of_columns = np.einsum("mq...,qr->mr...", of_basis, self.basis.transform)
        rows = max(1, PAIRS // max(1, len(self.X)))
        starts = range(0, max(1, len(Xnew)), rows)
        parts = [self._gradients(Xnew[i : i + rows], columns[i : i + rows], of_columns[i : i + rows]) for i in starts]
        mean, variance, of_mean, of_variance = map(np.concatenate, zip(*parts))
        return self.offset + mean, variance, of_mean, of_variance

    def _gradients(self, points: Any, columns: Array, of_columns: Array) -> tuple[Array, Array, Array, Array]:
        """The same, without the offset, for columns of `Targets` and their gradients."""
        a, time, kernel, factor = self.params.amplitude, self.params.time, self.kernel, self.factor
        if isinstance(factor, Dense):
            found = kernel.with_gradients(points, self.X, time)
            cross = a * with_scale(found.value, found.log_scale)
            prior = a * kernel.diag(points, time)
            of_prior = scaled_vectors(prior, kernel.log_variance_gradient(points, time))
        else:
            cross = self._cross(points)
            prior = a * kernel.left_out(points, time, cross / np.sqrt(a))
            of_prior = a * kernel.left_out_gradient(points, time, cross / np.sqrt(a))

        def moved(weights: Array) -> Array:
            """The gradients (M, c, *shape) of cross times weights (M, c, N) that do not move."""
            if not isinstance(factor, Dense):
                return np.sqrt(a) * kernel.feature_gradients(points, time, weights)
            return a * with_scale(contracted(weights, found.gradient), found.log_scale)

        inner, white = factor.reduced(self.weights), factor.whiten(cross)
        unseen = self._whitened_basis(columns - cross @ inner[:, 1:])
        u = linalg.solve_triangular(self.lower, unseen, lower=True, trans=1, check_finite=False)
        explained = np.square(white).sum(axis=0)
        sign = -1.0 if isinstance(factor, Dense) else 1.0  # what data explain, or what they leave
        weights = 2 * (sign * factor.unwhiten(white) - inner[:, 1:] @ u)
        both = moved(np.stack((np.broadcast_to(inner[:, 0], cross.shape), weights.T), axis=1))
        return (
            cross @ inner[:, 0] + columns @ self.inner,
            np.maximum(prior + sign * explained, 0.0) + np.square(unseen).sum(axis=0),
            both[:, 0] + np.einsum("mq...,q->m...", of_columns, self.inner),
            both[:, 1] + of_prior + 2 * np.einsum("mq...,qm->m...", of_columns, u),
        )

    @of_posterior
    def covariance(self, Xnew: Any, noise: Any = False) -> Array:
        """The covariance of all pairs, (M, M); `noise` as in `moments`."""
        number = len(Xnew)
        columns, added = self.basis.at(Xnew), self._noise(Xnew, noise)
        check_memory(24.0 * number**2, f"The covariance of {number:,} points", "Ask for fewer points at once.")
        cross = self._cross(Xnew)
        white = self.factor.whiten(cross)
        covariance = white.T @ white
        if isinstance(self.factor, Dense):
            covariance = self.params.amplitude * self.kernel.pairs(Xnew).at(self.params.time).value - covariance
        else:
            a = self.params.amplitude
            covariance = covariance + a * self.kernel.left_out_pairs(Xnew, self.params.time, cross / np.sqrt(a))
        unseen = self._whitened_basis(columns - cross @ self.factor.reduced(self.weights[:, 1:]))
        covariance = covariance + unseen.T @ unseen
        covariance = (covariance + covariance.T) / 2
        covariance.flat[:: len(covariance) + 1] = np.maximum(np.diagonal(covariance), 0.0) + added
        return covariance

    @of_posterior
    def sample(self, Xnew: Any, rng: Any, size: int = 1, noise: Any = False) -> Array:
        """`size` functions drawn from the posterior, at Xnew: (size, M)."""
        return draw(self.mean(Xnew), self.covariance(Xnew, noise), rng, size)

    def _noise(self, Xnew: Any, noise: Any) -> Any:
        """The variances of the noise at new points: one number, or (M,)."""
        return checked_noise(len(Xnew), noise, self.params.noise, self.noise_is_known)

    def _whitened_basis(self, columns: Array) -> Array:
        """L^-1 columns', (q, M): the squares of a column add up to the variance that comes from the coefficients."""
        return linalg.solve_triangular(self.lower, columns.T, lower=True, check_finite=False)

    def _cross(self, Xnew: Any) -> Array:
        """k(Xnew, X), or the features of the new points where the covariance is of low rank."""
        dense = isinstance(self.factor, Dense)
        function = self.kernel.pairs(Xnew, self.X) if dense else self.kernel.features(Xnew)
        assert function is not None
        return self.params.amplitude**self.factor.power * function.at(self.params.time).value

    def _chunks(self, Xnew: Any) -> Iterator[Any]:
        size = max(1, CHUNK // max(1, len(self.X)))
        return (Xnew[start : start + size] for start in range(0, len(Xnew), size))


def checked_noise(number: int, noise: Any, own: Any, is_known: bool) -> Any:
    """The variances of the noise at new points: one number, or (M,); the model's `own` where `noise` is True."""
    if isinstance(noise, (bool, np.bool_)):
        if noise and is_known:
            raise InvalidInput(
                "each observation has a known noise of its own, so that of new ones is not known. Give `noise` the "
                "variances at the new points."
            )
        return own * bool(noise)
    variances = as_array(noise, "noise")
    possible = variances.dtype.kind in "fiu" and variances.shape in ((), (number,))
    if not possible or not np.all((variances >= 0) & np.isfinite(variances)):
        raise InvalidInput(
            f"noise must be True, False or the variances at {number} new points: one number, or as many, that are "
            f"finite and not negative; got {noise!r}."
        )
    return variances.astype(float)


def log_normal(y: Array, mean: Array, variance: Array) -> Array:
    """The log density of a normal law."""
    return -0.5 * (np.log(2 * np.pi * variance) + (y - mean) ** 2 / variance)
