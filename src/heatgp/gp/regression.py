"""Gaussian process regression: the posterior, the evidence and leave-one-out in closed form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg
from scipy.special import wrightomega

from ..covariance import Array, Kernel
from ..errors import InvalidInput
from .latent import Latent, log_normal
from .linalg import JITTER, cholesky
from .params import Params
from .prior import Pairs, Prior
from .targets import Mean, Targets, one_output, targets
from .threads import of_data, of_posterior


@dataclass(frozen=True)
class Evidence:
    """log p(y) and its derivatives, for the covariance amplitude * (K + diag(ratio)), coefficients integrated out.

    `factor` has K at precision 1 / ratio.

    Reference: Rasmussen & Williams (2006), eq. 2.43 to 2.45 and 5.9.
    """

    factor: Any  # Dense, LowRank or Diagonal
    ratio: Array  # (N,), noise / amplitude of each observation
    value: float
    amplitude: float
    coefficients: Array  # (q,), their posterior mean
    lower: Array  # (q, q), L with L L' = H' M^-1 H + amplitude / variances of the coefficients, M = K + diag(ratio)
    weights: Array  # (N, 1 + q), M^-1 [y - H c, H]
    in_amplitude: float  # derivative in log amplitude at a fixed ratio

    @property
    def in_ratios(self) -> Array:
        """The derivatives in the log of each ratio at a fixed amplitude, (N,)."""
        a, V = self.weights[:, 0], self._of_basis
        curvature = a**2 / self.amplitude + np.square(V).sum(axis=1) - self.factor.inverse_diagonal()
        return 0.5 * self.ratio * curvature

    def in_times(self, slopes: Sequence[Array]) -> Array:
        """The derivatives in the log times, 1/2 tr((a a' + V V' - C^-1) dC)."""
        left = np.column_stack([self.weights[:, 0] / np.sqrt(self.amplitude), self._of_basis])
        return np.array([self.factor.slope(slope, left / 2, left) for slope in slopes])

    @property
    def _of_basis(self) -> Array:
        """V = M^-1 H L'^-1, (N, q)."""
        return linalg.solve_triangular(self.lower, self.weights[:, 1:].T, lower=True, check_finite=False).T


def evidence(
    factor: Any,
    ratio: Array,
    data: Targets,
    amplitude: float | tuple[float, float],
    law: tuple[float, float] | None = None,
) -> Evidence:
    """The evidence of y ~ N(H c, amplitude * M), M = K + diag(ratio), c ~ N(0, B); `factor` has K at 1 / ratio.

    With A = H' M^-1 H + amplitude B^-1 and residuals r = y - H c at the posterior mean c = A^-1 H' M^-1 y,

        -2 log p(y) = r' M^-1 r / amplitude + c' B^-1 c + log |2 pi amplitude M| + log |A / amplitude| + log |B|,

    where a coefficient with a flat prior leaves log |B| and one log 2 pi out. For an interval of amplitudes and flat
    coefficients, the amplitude is the one in it that is best (see `best_amplitude`). At a maximum the derivatives in
    the other parameters are those at fixed amplitude (envelope theorem). `law` is the log median of the amplitude and
    its spread, where it has a prior.
    """
    n, q = data.count, data.basis.shape[1]
    weights = factor.solve(np.column_stack([data.y, data.basis]))
    inner = np.zeros(q) if isinstance(amplitude, tuple) else amplitude * data.precision
    A = data.basis.T @ weights[:, 1:] + np.diag(inner)
    lower = cholesky((A + A.T) / 2)
    # by LAPACK itself: with one coefficient, what SciPy does around it takes ten times as long
    coefficients = linalg.lapack.dpotrs(lower, data.basis.T @ weights[:, 0], lower=1)[0] if q else np.empty(0)
    weights[:, 0] -= weights[:, 1:] @ coefficients
    quadratic = max(float((data.y - data.basis @ coefficients) @ weights[:, 0]), 0.0)
    if isinstance(amplitude, tuple):
        amplitude = float(best_amplitude(quadratic, data.freedom, amplitude, law))
    root = np.diag(np.sqrt(inner))
    shrunk = float(np.square(linalg.solve_triangular(lower, root, lower=True)).sum()) if inner.any() else 0.0
    log_det = factor.log_det + float(np.log(ratio).sum()) + 2 * float(np.log(np.diagonal(lower)).sum())
    of_prior = float(coefficients**2 @ data.precision - np.log(data.precision[data.precision > 0]).sum())
    logs = data.freedom * np.log(2 * np.pi) + (n - q) * np.log(amplitude)
    value = data.log_volume - 0.5 * (quadratic / amplitude + of_prior + log_det + logs)
    in_amplitude = 0.5 * (quadratic / amplitude - n + q - shrunk)
    return Evidence(factor, ratio, float(value), amplitude, coefficients, lower, weights, in_amplitude)


def best_amplitude(
    quadratic: Any, freedom: int, interval: tuple[Any, Any], law: tuple[Any, float] | None = None
) -> Any:
    """The amplitude a in an interval that maximises -(freedom log a + quadratic / a) / 2 + log density of log a.

    Without a prior that is quadratic / freedom. With a log-normal one, of log median m and spread s, the derivative in
    z = log a is zero where s^2 u = omega(log(s^2 quadratic / 2) + s^2 freedom / 2 - m), u = quadratic / (2 a); omega is
    Wright's function, omega + log omega = x. What is maximised is concave in z: the best of an interval is the nearest.

    Reference: Corless & Jeffrey (2002), The Wright omega function.
    """
    if law is None:
        return np.clip(quadratic / max(freedom, 1), *interval)
    m, square = law[0], law[1] ** 2
    with np.errstate(divide="ignore"):  # of targets without residuals: omega(-inf) = 0
        solved = wrightomega(np.log(square * quadratic / 2) + square * freedom / 2 - m)
    return np.clip(np.exp(m + solved - square * freedom / 2), *interval)


@dataclass(frozen=True)
class Posterior(Latent):
    """A Gaussian process that has seen real observations. Reference: Rasmussen & Williams (2006), Alg. 2.1."""

    options: Mapping[str, Any] = field(default_factory=dict)  # those of `condition`: mean, noise, coefficients

    def again(self, kernel: Kernel, params: Params, pairs: Pairs = None) -> Posterior:
        """The posterior of the same data with another kernel, or other parameters."""
        return condition(kernel, self.X, self.y, params, pairs=pairs, **self.options)

    @property
    def directions(self) -> Array:
        """D, (N, 1 + q), with (tr(D' dC D) - tr(C^-1 dC)) / 2 the derivative of the log evidence along dC."""
        return np.column_stack([self.weights[:, 0], self._whitened_basis(self.weights[:, 1:]).T])

    @of_posterior
    def loo(self) -> tuple[Array, Array]:
        """Mean and variance of each observation given all others, at the same parameters.

        mu_i = y_i - [Q y]_i / Q_ii and sigma_i^2 = 1 / Q_ii with Q = C^-1 - C^-1 H A^-1 H' C^-1, the inverse covariance
        of observations whose mean has coefficients that are estimated anew without i.

        Reference: Rasmussen & Williams (2006), eq. 5.12; Dubrule (1983).
        """
        R = self.factor.inverse_diagonal()
        Q = R - np.square(self._whitened_basis(self.weights[:, 1:])).sum(axis=0)
        for where in np.flatnonzero(~(Q > 1e-12 * R)):
            raise InvalidInput(
                f"leave-one-out of N = {len(Q)} point{'s' * (len(Q) > 1)} has no data to predict from: without point "
                f"{where} the {self.weights.shape[1] - 1} coefficients of the mean have no estimate. Give at least 2 "
                "points, or more than there are coefficients."
            )
        return self.y - self.weights[:, 0] / Q, 1.0 / Q

    def loo_log_density(self) -> Array:
        """The log density of each observation given all others."""
        return log_normal(self.y, *self.loo())


@of_data
def condition(
    kernel: Kernel,
    X: Any,
    y: ArrayLike,
    params: Params,
    mean: Mean = "constant",
    pairs: Pairs = None,
    *,
    noise_scale: ArrayLike | None = None,
    noise_is_known: bool = False,
    coefficient_scale: ArrayLike | None = None,
) -> Posterior:
    """The posterior of f given y = f(X) + noise.

    Parameters
    ----------
    kernel : Kernel, the covariance. Its features are used, in time linear in N, where it has fewer than N.
    X : array of N points, the first axis.
    y : array (N,) of real targets.
    params : Params. A noise below 1e-10 of the prior variance counts as that much.
    mean : "constant" (default), "zero", a number, a function of points that returns basis functions (N, q), or an array
        of their values at X. The coefficients of basis functions (the constant is one) are integrated out: predictive
        variances include their uncertainty.
    pairs : `kernel.pairs(X)` where the caller has it already, default None.
    noise_scale : array (N,) of numbers of at least 0, default None: ones. Observation i has the noise
        params.noise * noise_scale[i].
    noise_is_known : bool, default False. Whether `noise_scale` are known variances, beside a params.noise of 1. Then
        that of new observations must be told.
    coefficient_scale : number or array (q,), default None: flat. The prior standard deviation of each coefficient.

    Returns
    -------
    Posterior.

    Raises
    ------
    InvalidInput : if y is not N finite numbers, or another argument is not possible.
    NotPositiveDefinite : if the covariance cannot be factored.
    """
    data, basis = targets(X, one_output(y), mean, noise_scale, coefficient_scale)
    options = {
        "mean": mean,
        "noise_scale": noise_scale,
        "noise_is_known": noise_is_known,
        "coefficient_scale": coefficient_scale,
    }
    prior = Prior.of(kernel, X, params.time, pairs)
    values, _ = prior.at(params.time)
    noise = np.maximum(params.noise * data.noise, JITTER * params.amplitude * prior.height(values))
    factor = prior.form.of(params.amplitude**prior.form.power * values, 1.0 / noise)  # Alg. 2.1, line 2
    found = evidence(factor, noise, data, 1.0)  # lines 3 and 7: covariance 1 * (amplitude K + noise)
    return Posterior(
        kernel,
        X,
        np.asarray(y, dtype=float),
        params,
        factor,
        found.weights,
        found.value,
        data.known,
        basis,
        data.start + found.coefficients,
        found.lower,
        noise_is_known,
        options,
    )
