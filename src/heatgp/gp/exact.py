"""Normal noise: the log evidence in closed form, at given parameters and as a function of those that are learned.

Reference: Rasmussen & Williams (2006), eq. 2.43 to 2.45 and 5.9.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg
from scipy.special import wrightomega

from ..covariance import Array, constant
from .factors import JITTER, Dense, Diagonal, Spectrum, cholesky, factored, not_positive_definite
from .objective import (
    Found,
    Inference,
    Objective,
    Place,
    Search,
    attempt,
    best_of,
    scan_points,
    values_at,
    worth_a_start,
)
from .parameters import Given, log_density
from .prior import Prior, Targets


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
    data: Targets

    def slopes(self, changes: Sequence[Array]) -> tuple[Array, Array]:
        """The derivatives in the log times, and in the log of each ratio at a fixed amplitude, (N,)."""
        in_times, in_noise = self.factor.density_slopes(changes, *self._columns)
        return in_times, self.ratio * in_noise

    @property
    def _columns(self) -> tuple[Array, Array]:
        """W = [(y - H c) / root amplitude, H L'^-1], and M^-1 W: (N, 1 + q)."""
        inverse = linalg.solve_triangular(self.lower, np.eye(len(self.lower)), lower=True, check_finite=False)
        rest, root = self.data.y - self.data.basis @ self.coefficients, np.sqrt(self.amplitude)
        columns = np.column_stack([rest / root, self.data.basis @ inverse.T])
        return columns, np.column_stack([self.weights[:, 0] / root, self.weights[:, 1:] @ inverse.T])


def evidence(
    factor: Any,
    ratio: Array,
    data: Targets,
    amplitude: float | tuple[float, float],
    prior: tuple[float, float] | None = None,
) -> Evidence:
    """The evidence of y ~ N(H c, amplitude * M), M = K + diag(ratio), c ~ N(0, B); `factor` has K at 1 / ratio.

    With A = H' M^-1 H + amplitude B^-1 and residuals r = y - H c at the posterior mean c = A^-1 H' M^-1 y,

        -2 log p(y) = r' M^-1 r / amplitude + c' B^-1 c + log |2 pi amplitude M| + log |A / amplitude| + log |B|,

    where a coefficient with a flat prior leaves log |B| and one log 2 pi out. For an interval of amplitudes and flat
    coefficients, the amplitude is the one in it that is best (see `best_amplitude`). At a maximum the derivatives in
    the other parameters are those at fixed amplitude (envelope theorem). `prior` is the log median of the amplitude
    and its spread, where it has a prior.
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
        amplitude = float(best_amplitude(quadratic, data.freedom, amplitude, prior))
    root = np.diag(np.sqrt(inner))
    shrunk = float(np.square(linalg.solve_triangular(lower, root, lower=True)).sum()) if inner.any() else 0.0
    log_det = factor.log_det + float(np.log(ratio).sum()) + 2 * float(np.log(np.diagonal(lower)).sum())
    of_prior = float(coefficients**2 @ data.precision - np.log(data.precision[data.precision > 0]).sum())
    logs = data.freedom * np.log(2 * np.pi) + (n - q) * np.log(amplitude)
    value = data.log_volume - 0.5 * (quadratic / amplitude + of_prior + log_det + logs)
    in_amplitude = 0.5 * (quadratic / amplitude - n + q - shrunk)
    return Evidence(factor, ratio, float(value), amplitude, coefficients, lower, weights, in_amplitude, data)


def best_amplitude(
    quadratic: Any, freedom: int, interval: tuple[Any, Any], prior: tuple[Any, float] | None = None
) -> Any:
    """The amplitude a in an interval that maximises -(freedom log a + quadratic / a) / 2 + log density of log a.

    Without a prior that is quadratic / freedom. With a log-normal one, of log median m and spread s, the derivative in
    z = log a is zero where s^2 u = omega(log(s^2 quadratic / 2) + s^2 freedom / 2 - m), u = quadratic / (2 a); omega is
    Wright's function, omega + log omega = x. What is maximised is concave in z: the best of an interval is the nearest.

    Reference: Corless & Jeffrey (2002), The Wright omega function.
    """
    if prior is None:
        return np.clip(quadratic / max(freedom, 1), *interval)
    m, square = prior[0], prior[1] ** 2
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
    prior: tuple[Array | float, float] | None = None,
) -> Columns:
    """As `evidence` of each column, with covariance amplitude_j * (diag(eigenvalues) + ratio_j I).

    `amplitude` is given, (p,), or an interval of which the best is taken; `prior` has its log medians (p,) and spread.
    A `ratio` (1,) is that of all columns.
    """
    (n, q), H, freedom = data.basis.shape, data.basis, data.freedom
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
    best = best_amplitude(quadratic, freedom, amplitude, prior) if isinstance(amplitude, tuple) else amplitude
    log_det = 2 * np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1) - np.log(inverse).sum(axis=0)
    of_prior = data.precision @ coefficients**2 - np.log(data.precision[data.precision > 0]).sum()
    logs = freedom * np.log(2 * np.pi) + (n - q) * np.log(best)
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


def normal_log_density(z: Any, center: Any, spread: float) -> Any:
    """The log density of normal distributions."""
    return -0.5 * ((z - center) / spread) ** 2 - np.log(spread * np.sqrt(2 * np.pi))


SUBSET = 250
"""Data on which starts are looked for: an eigendecomposition of this size takes some 4 ms."""
TIMES = 12
"""Times scanned, for each free one."""
OTHERS = 17
"""Values of the other parameters scanned at each time."""
STARTS = 3
"""Scanned places that are followed."""


@dataclass(frozen=True)
class Exact(Inference):
    """Inference with normal noise.

    The log of the noise over the prior variance is a coordinate, unless the noise is given. The log of the prior
    variance is one where the noise is given and positive, coefficients of the mean have a prior that is not flat, or
    the accuracy asks for it. Else the amplitude is given, or the best one, in closed form.
    """

    def names(self, given: Given, data: Targets) -> list[str]:
        """The names of the coordinates after the times."""
        closed = self.accuracy not in ("curvature", "exact") and data.is_flat and not given.noise
        searched = given.amplitude is None and not closed
        return ["amplitude"] * searched + ["noise"] * (given.noise is None)

    def evidence(self, objective: Objective, values: Array, mean_variance: float, at: dict[str, float]) -> Found:
        """The evidence at these coordinates."""
        data, given = objective.y, objective.given
        amplitude, ratio, prior = scales(objective, mean_variance, at)
        least = JITTER * mean_variance
        floored, ratios = ratio * data.noise < least, np.maximum(ratio * data.noise, least)
        factor = factored(objective.prior.form, values, 1.0 / ratios)
        found = evidence(factor, ratios, data, amplitude, prior)

        def derivatives(slopes: Sequence[Array]) -> tuple[Array, float, dict[str, float]]:
            in_times, in_ratios = found.slopes(slopes)
            in_ratio = float(in_ratios[~floored].sum())  # of the noise that is not the jitter
            in_mean_variance = in_log_mean_variance(given, found.in_amplitude, in_ratios, floored)
            in_variance = found.in_amplitude - (0.0 if given.noise is None else in_ratio)
            return in_times, in_mean_variance, {"noise": in_ratio, "amplitude": in_variance}

        noise = float(ratio * found.amplitude) if given.noise is None else given.noise
        return Found(found.value, found.amplitude, noise, derivatives, float(_log_prior(prior, found.amplitude)))

    def search(self, objective: Objective, best: Array | None = None) -> Search:
        return search_of(objective, STARTS)

    def scan(self, objective: Objective, box: Array, known: Mapping[str, float] | None = None) -> list[Place]:
        """The best other coordinates at each scanned time, and their values: one eigendecomposition for each time."""
        free, found = len(objective.given.free), []
        for times in scan_points(box[:free], TIMES if known is None else TIMES // 2):
            at_times = spectral(objective, times) if free else objective
            value, others = _best_of(at_times, scan_points(box[free:], OTHERS))
            of_times, _ = log_density(objective.priors, objective.given.time_names, times)
            found.append((value + of_times, np.concatenate([times, others])))
        return worth_a_start(found) if free == 1 else found

    def at_times(self, objective: Objective, z: Array) -> Objective:
        """Of a matrix one eigendecomposition serves all amplitudes and noises."""
        return spectral(objective, z) if objective.prior.form is Dense else objective.at_times(z)


def search_of(objective: Objective, starts: int) -> Search:
    """A search with normal noise; InvalidInput where the data say nothing of a variance that is learned."""
    objective.y.check_freedom(objective.given.amplitude)
    number = len(objective.y)
    few = SUBSET if objective.given.free else number
    return Search(few, few, starts, number)


def scales(objective: Objective, mean_variance: float, at: Mapping[str, Any], size: Any = 1.0) -> tuple[Any, Any, Any]:
    """The amplitude, noise / amplitude, and the prior of the amplitude, its log median and spread, where it is chosen.

    Where the best amplitude is taken, it is an interval; else there is no prior, or None. Coordinates may be arrays,
    one for each column of y, and priors of the amplitude are relative to the `size` of each.
    """
    given, prior = objective.given, None
    if given.amplitude is not None:
        amplitude: Any = given.amplitude
    elif "amplitude" in at:
        amplitude = np.exp(at["amplitude"]) / mean_variance
    else:
        amplitude = tuple(side / mean_variance for side in objective.intervals["amplitude"])
        if own := objective.priors.get("amplitude"):
            prior = np.log(own.median * size / mean_variance), own.spread
    if given.noise is None:
        ratio = np.exp(at["noise"]) * mean_variance
    else:  # an amplitude that is still an interval has no noise beside it
        ratio = 0.0 if isinstance(amplitude, tuple) else given.noise / amplitude
    return amplitude, ratio, prior


def _log_prior(prior: tuple[Any, float] | None, amplitude: Any) -> Any:
    """The log density of log amplitude; 0 without a prior."""
    return 0.0 if prior is None else normal_log_density(np.log(amplitude), *prior)


def in_log_mean_variance(given: Given, in_amplitude: Any, in_ratio: Array, floored: Array) -> float:
    """The derivative in the log mean prior variance at fixed coordinates; `floored` ratios are the jitter."""
    learned = given.amplitude is None
    moved = in_ratio if learned or given.noise is None else in_ratio[floored]
    return float(np.sum(moved)) - (float(np.sum(in_amplitude)) if learned else 0.0)


def spectral(objective: Objective, z: Array) -> Objective:
    """The same at the times of z, in the basis of K's eigenvectors: one decomposition for all other parameters.

    The times are then given, and their priors no longer counted. Where the noise differs between data, their rows are
    first scaled so that it does not.
    """
    fixed = objective.at_times(z)
    values, _ = fixed.prior.at(fixed.given.times(z))
    spectrum = Spectrum.of(fixed.prior.form, values, fixed.prior.mean_variance(values), objective.y.noise)
    return replace(fixed, prior=Prior(constant(spectrum.eigenvalues), Diagonal), y=spectrum.rotated(objective.y))


def columns_at(
    objective: Objective, eigenvalues: Array, mean_variance: float, at: Mapping[str, Array], size: Any = 1.0
) -> tuple[Columns, Array]:
    """The evidences of the columns of y in the basis of K's eigenvectors, and these with the log prior densities.

    Coordinates are arrays with one value for each column, or one for all; `size` is as in `scales`.
    """
    priors, data = objective.priors, objective.y
    amplitude, ratio, prior = scales(objective, mean_variance, at, size)
    of_each = np.ones(max([1, *map(len, at.values())]))
    ratio = np.maximum(ratio, JITTER * mean_variance / data.noise[0]) * of_each
    amplitude = amplitude if isinstance(amplitude, tuple) else amplitude * of_each
    found = columns_evidence(eigenvalues, data, ratio, amplitude, prior)
    posterior = found.value + _log_prior(prior, found.amplitude)
    for name, x in at.items():
        if name in priors:
            posterior = posterior + priors[name].log_density(x - np.log(size) if name == "amplitude" else x)
    return found, posterior


def values_of_spectrum(objective: Objective, points: Array) -> Array:
    """The values of a `spectral` objective at points (M, coordinates), all at once.

    NotPositiveDefinite is raised where the covariance is not positive definite at one of them.
    """
    objective.calls.add(len(points))
    eigenvalues, _ = objective.prior.at(objective.given.times(points[0]))
    column = replace(objective, y=replace(objective.y, y=objective.y.y[:, None]))
    at, mean_variance = dict(zip(objective.names, points.T)), objective.prior.mean_variance(eigenvalues)
    return np.broadcast_to(columns_at(column, eigenvalues, mean_variance, at)[1], len(points))


def _best_of(objective: Objective, points: Array) -> Place:
    """The best of some points, and its value; those of a diagonal covariance at once, where none fails."""

    def at_once(points: Array) -> Place:
        values = values_of_spectrum(objective, points)
        return float(values.max()), points[np.argmax(values)]

    found = attempt(at_once, points) if objective.prior.form is Diagonal else (-np.inf, points)
    return found if np.isfinite(found[0]) else best_of(values_at(objective, points))
