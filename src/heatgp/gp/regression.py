"""Gaussian process regression: the posterior, the evidence and leave-one-out in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..covariance import Array, Kernel
from ..errors import InvalidInput
from .latent import Latent
from .linalg import JITTER, Dense, Diagonal, LowRank, draw
from .params import Params
from .prior import Pairs, Prior

Mean = str | float


@dataclass(frozen=True)
class Evidence:
    """log p(y) and its derivatives, for the covariance amplitude * (K + ratio I).

    Reference: Rasmussen & Williams (2006), eq. 2.30 and 5.9.
    """

    value: float
    amplitude: float
    offset: float  # the constant mean, 0 when there is none
    weights: Array  # (K + ratio I)^-1 (y - offset)
    in_amplitude: float  # derivative in log amplitude at a fixed ratio
    in_ratio: float  # derivative in log ratio at a fixed amplitude


def evidence(
    factor: Dense | LowRank | Diagonal,
    ratio: float,
    y: Array,
    basis: Array | None,
    amplitude: float | tuple[float, float],
) -> Evidence:
    """The evidence of y ~ N(offset * basis, amplitude * (K + ratio I)); `factor` has K at precision 1 / ratio.

    The offset is the generalised least-squares estimate, basis' C^-1 y / basis' C^-1 basis, which maximises the
    evidence; without a basis there is no offset. For an interval of amplitudes, the amplitude is the one in it that
    maximises the evidence: y' (K + ratio I)^-1 y / N, clipped. At a maximum the derivatives in the other parameters
    are those at fixed offset and amplitude (envelope theorem).
    """
    n = len(y)
    weights, offset = factor.solve(y), 0.0
    if basis is not None:
        basis_weights = factor.solve(basis)
        offset = float(basis @ weights) / float(basis @ basis_weights)
        y, weights = y - offset * basis, weights - offset * basis_weights
    quadratic = max(float(y @ weights), 0.0)
    if isinstance(amplitude, tuple):
        amplitude = float(np.clip(quadratic / n, *amplitude))
    log_det = factor.log_det + n * np.log(ratio)
    return Evidence(
        value=float(-0.5 * (quadratic / amplitude + log_det + n * np.log(2 * np.pi * amplitude))),
        amplitude=amplitude,
        offset=offset,
        weights=weights,
        in_amplitude=0.5 * (quadratic / amplitude - n),
        in_ratio=0.5 * ratio * float(weights @ weights / amplitude - factor.inverse_diagonal().sum()),
    )


def in_times(factor: Dense | LowRank, found: Evidence, slopes: Array) -> Array:
    """Derivatives of the evidence in the log times, 1/2 tr((a a' - C^-1) dC)."""
    quadratic = factor.slope_times(slopes, found.weights) @ found.weights
    return 0.5 * (quadratic / found.amplitude - factor.slope_trace(slopes))


@dataclass(frozen=True)
class Posterior:
    """A Gaussian process that has seen data; of the latent function f, or with `noise=True` of new observations.

    Reference: Rasmussen & Williams (2006), Alg. 2.1; eq. 2.42 for the uncertainty of a constant mean.
    """

    latent: Latent
    y: Array
    offset: float
    weights: Array  # C^-1 (y - offset), Alg. 2.1's alpha
    basis_weights: Array | None  # C^-1 1 where the constant was estimated
    log_marginal_likelihood: float

    @property
    def params(self) -> Params:
        """The parameters used."""
        return self.latent.params

    def mean(self, Xnew: Any) -> Array:
        """The mean of f."""
        return self.offset + self.latent.project(Xnew, self.weights)  # Alg. 2.1, line 4

    def variance(self, Xnew: Any, noise: bool = False) -> Array:
        """The variance, never negative."""
        return self.moments(Xnew, noise)[1]

    def moments(self, Xnew: Any, noise: bool = False) -> tuple[Array, Array]:
        """Mean and variance, in the time of the variance alone."""
        columns = [self.weights] if self.basis_weights is None else [self.weights, self.basis_weights]
        projected, variance = self.latent.moments(Xnew, np.stack(columns, axis=1))
        if self.basis_weights is not None:
            variance = variance + (1.0 - projected[:, 1]) ** 2 / self.basis_weights.sum()
        return self.offset + projected[:, 0], variance + self.params.noise * noise

    def covariance(self, Xnew: Any, noise: bool = False) -> Array:
        """The covariance of all pairs, (M, M)."""
        covariance = self.latent.covariance(Xnew)
        if self.basis_weights is not None:
            unseen = 1.0 - self.latent.project(Xnew, self.basis_weights)
            covariance = covariance + np.outer(unseen, unseen) / self.basis_weights.sum()
        covariance = (covariance + covariance.T) / 2
        diagonal = np.maximum(np.diagonal(covariance), 0.0) + self.params.noise * noise
        covariance.flat[:: len(covariance) + 1] = diagonal
        return covariance

    def sample(self, Xnew: Any, rng: Any, size: int = 1, noise: bool = False) -> Array:
        """`size` functions drawn from the posterior, at Xnew: (size, M)."""
        return draw(self.mean(Xnew), self.covariance(Xnew, noise), rng, size)

    def loo(self) -> tuple[Array, Array]:
        """Mean and variance of each observation given all others, at the same parameters.

        mu_i = y_i - [Q y]_i / Q_ii and sigma_i^2 = 1 / Q_ii with Q = C^-1, where an estimated constant is
        estimated anew without i: Q = C^-1 - C^-1 1 1' C^-1 / 1' C^-1 1.

        Reference: Rasmussen & Williams (2006), eq. 5.12; Dubrule (1983).
        """
        Q = self.latent.factor.inverse_diagonal()
        if self.basis_weights is not None:
            Q = Q - self.basis_weights**2 / self.basis_weights.sum()
            if len(self.y) < 2:
                raise InvalidInput("leave-one-out of N = 1 point has no data to predict from. Give at least 2 points.")
        return self.y - self.weights / Q, 1.0 / Q


def condition(
    kernel: Kernel, X: Any, y: ArrayLike, params: Params, mean: Mean = "constant", pairs: Pairs = None
) -> Posterior:
    """The posterior of f given y = f(X) + noise.

    Parameters
    ----------
    kernel : Kernel, the covariance. Its features are used, in time linear in N, where it has fewer than N.
    X : array of N points, the first axis.
    y : array (N,) of real targets.
    params : Params. A noise below 1e-10 of the prior variance counts as that much.
    mean : "constant" (default), estimated by generalised least squares, where the predictive variance includes its
        uncertainty; "zero" or a number.
    pairs : `kernel.pairs(X)` where the caller has it already, default None.

    Returns
    -------
    Posterior.

    Raises
    ------
    InvalidInput : if y is not N finite numbers.
    NotPositiveDefinite : if the covariance cannot be factored.
    """
    y, given, basis = targets(X, y, mean)
    prior = Prior.of(kernel, X, params.time, pairs)
    at = prior.at(params.time)
    noise = max(params.noise, JITTER * params.amplitude * prior.height(at))
    factor = prior.factor(at, 1.0 / noise, params.amplitude)  # Alg. 2.1, line 2
    found = evidence(factor, noise, y, basis, 1.0)  # lines 3 and 7: covariance 1 * (amplitude K + noise I)
    return Posterior(
        latent=Latent(kernel, X, params, factor),
        y=y + given,
        offset=given + found.offset,
        weights=found.weights,
        basis_weights=None if basis is None else factor.solve(basis),
        log_marginal_likelihood=found.value,
    )


def targets(X: Any, y: ArrayLike, mean: Mean) -> tuple[Array, float, Array | None]:
    """Checked targets minus a mean, that mean, and the basis (a column of ones) of a constant that is estimated.

    Where the mean is estimated the average is subtracted first: large constants would cost digits.
    """
    y = np.asarray(y, dtype=float)
    if y.ndim != 1 or len(y) != len(X) or len(y) == 0:
        raise InvalidInput(f"y has shape {y.shape} and X {len(X)} points: one real target for each of N >= 1 points.")
    if not np.all(np.isfinite(y)):
        where = int(np.flatnonzero(~np.isfinite(y))[0])
        raise InvalidInput(f"y[{where}] = {y[where]} is not finite. Remove such observations.")
    largest = float(np.abs(y).max())
    if largest and not 1e-140 < largest < 1e140:
        raise InvalidInput(f"y has the size {largest:.1e}, whose square is beyond floating point. Change its unit.")
    if mean == "constant":
        average = float(np.mean(y))
        return y - average, average, np.ones(len(y))
    if mean != "zero" and not isinstance(mean, Real):
        raise InvalidInput(f'mean = {mean!r} is not known. Use "zero", "constant" or a number.')
    given = 0.0 if mean == "zero" else float(mean)
    return y - given, given, None
