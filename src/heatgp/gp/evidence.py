"""The log evidence of normal noise at given parameters, with its derivatives: of one output, and of several.

Reference: Rasmussen & Williams (2006), eq. 2.43 to 2.45 and 5.9.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg
from scipy.special import wrightomega

from ..covariance import Array
from .linalg import cholesky, not_positive_definite
from .targets import Targets


@dataclass(frozen=True)
class Evidence:
    """log p(y) and its derivatives, for the covariance amplitude * (K + diag(ratio)), coefficients integrated out.

    `factor` has K at precision 1 / ratio.
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
class Columns:
    """The evidences of p columns in the coordinates of a `Spectrum` and their derivatives; as `Evidence`."""

    value: Array  # (p,)
    amplitude: Array  # (p,)
    ratio: Array  # (p,)
    inverse: Array  # (N, p), the eigenvalues of M_j^-1
    weights: Array  # (N, p), M_j^-1 (y_j - H c_j)
    coefficients: Array  # (q, p)
    lower: Array  # (p, q, q)
    in_amplitude: Array  # (p,)
    in_ratio: Array  # (p,)

    def of_basis(self, basis: Array) -> Array:
        """V_j = M_j^-1 H L_j'^-1, (p, q, N)."""
        return np.linalg.solve(self.lower, (self.inverse.T[:, None, :] * basis.T))


def columns_evidence(
    eigenvalues: Array,
    data: Targets,
    ratio: Array,
    amplitude: Array | tuple[Array, Array],
    law: tuple[Array | float, float] | None = None,
) -> Columns:
    """As `evidence` of each column, with covariance amplitude_j * (diag(eigenvalues) + ratio_j I).

    `amplitude` is given, (p,), or an interval of which the best is taken; `law` has the log medians (p,) and the spread
    of its prior. A `ratio` (1,) is that of all columns.
    """
    (n, q), H = data.basis.shape, data.basis
    shifted = eigenvalues[:, None] + ratio * data.noise[0]
    if not shifted.min() > 0:
        raise not_positive_definite(n, float((shifted / ratio).min()))
    inverse = 1.0 / shifted
    inner = np.zeros((1, q)) if isinstance(amplitude, tuple) else amplitude[:, None] * data.precision
    A = _products(H, inverse) + inner[:, :, None] * np.eye(q)
    try:
        lower = np.linalg.cholesky(A)
    except np.linalg.LinAlgError:
        raise not_positive_definite(n, float(np.linalg.eigvalsh(A).min())) from None
    coefficients = np.linalg.solve(A, (H.T @ (inverse * data.y)).T[:, :, None])[:, :, 0].T
    rest = data.y - H @ coefficients
    weights = inverse * rest
    quadratic = np.einsum("ij,ij->j", rest, weights)
    best = best_amplitude(quadratic, data.freedom, amplitude, law) if isinstance(amplitude, tuple) else amplitude
    log_det = 2 * np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1) - np.log(inverse).sum(axis=0)
    of_prior = data.precision @ coefficients**2 - np.log(data.precision[data.precision > 0]).sum()
    logs = data.freedom * np.log(2 * np.pi) + (n - q) * np.log(best)
    value = data.log_volume - 0.5 * (quadratic / best + of_prior + log_det + logs)
    of_basis = np.trace(np.linalg.solve(A, _products(H, inverse**2)), axis1=1, axis2=2)
    shrunk = np.trace(np.linalg.solve(A, inner[:, :, None] * np.eye(q)), axis1=1, axis2=2) if inner.any() else 0.0
    in_amplitude = 0.5 * (quadratic / best - n + q - shrunk)
    curvature = np.einsum("ij,ij->j", weights, weights) / best + of_basis - inverse.sum(axis=0)
    in_ratio = 0.5 * ratio * data.noise[0] * curvature
    return Columns(value, best, ratio, inverse, weights, coefficients, lower, in_amplitude, in_ratio)


def _products(H: Array, weights: Array) -> Array:
    """H' diag(w) H for each column w of the weights, (p, q, q)."""
    (n, q), p = H.shape, weights.shape[1]
    if q > p:
        return (weights.T[:, None, :] * H.T) @ H
    squares = (H[:, :, None] * H[:, None, :]).reshape(n, q * q)
    return (squares.T @ weights).T.reshape(p, q, q)


def normal_log_density(z: Array, center: Array | float, spread: float) -> tuple[Array, Array]:
    """The log density of normal laws and its derivative."""
    units = (z - center) / spread
    return -0.5 * units**2 - np.log(spread * np.sqrt(2 * np.pi)), -units / spread
