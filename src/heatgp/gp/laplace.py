"""Laplace's approximation for the probit likelihood."""

from __future__ import annotations

import numpy as np

from ..covariance import Array
from ..errors import NotConverged
from .linalg import Dense, LowRank
from .probit import Approximation, Factorise, hazard, log_likelihood, posterior_mean


def laplace(
    factorise: Factorise, y: Array, start: Array | None = None, tolerance: float = 1e-9, iterations: int = 100
) -> Approximation:
    """The normal law at the mode of p(f | y), with the curvature there.

    By Newton steps, each halved until it goes up. They have converged when a step changes no f_i by more than
    `tolerance` (1 + |f_i|).

    Reference: Rasmussen & Williams (2006), Alg. 3.1; Alg. 5.1 for the gradient.
    """
    f, weights = np.zeros((2, len(y)))
    if start is not None:
        precision, shift = start
        f = posterior_mean(factorise(precision), shift)
        weights = shift - precision * f
    height = objective(y, f, weights)
    moved = np.inf
    for _ in range(iterations):
        gradient, curvature, _ = derivatives(y, f)
        factor = factorise(curvature)  # line 5
        shift = curvature * f + gradient  # line 6
        target = posterior_mean(factor, shift)  # lines 7 and 8
        target_weights = shift - curvature * target
        moved = float(np.max(np.abs(target - f) / (1.0 + np.abs(f))))
        if moved < tolerance:
            return at_mode(factor, y, f, weights)
        step, trial = 1.0, objective(y, target, target_weights)
        while trial < height - 1e-12 * abs(height) and step > 1e-6:
            step /= 2
            trial = objective(y, f + step * (target - f), weights + step * (target_weights - weights))
        f, weights, height = f + step * (target - f), weights + step * (target_weights - weights), trial
    raise NotConverged(
        f"Newton's method of {len(y)} points did not reach the mode: after {iterations} steps the last one is "
        f"{moved:.1e} > {tolerance:.0e}. Use a smaller amplitude."
    )


def at_mode(factor: Dense | LowRank, y: Array, f: Array, weights: Array) -> Approximation:
    """The approximation, once the mode f is found."""
    gradient, curvature, third = derivatives(y, f)
    variance = factor.marginal_variance()
    # the derivative of log |B| in the mode (Alg. 5.1, line 6), times d mode = (I - K R) dK gradient (line 10)
    moved = 0.5 * variance * third
    return Approximation(
        factor=factor,
        precision=curvature,
        shift=curvature * f + gradient,
        mean=f,
        variance=variance,
        log_evidence=objective(y, f, weights) - 0.5 * factor.log_det,
        implicit=moved - factor.solve(factor.times(moved)),
    )


def objective(y: Array, f: Array, weights: Array) -> float:
    """log p(y | f) - f' K^-1 f / 2."""
    return float(log_likelihood(y, f).sum() - 0.5 * weights @ f)


def derivatives(y: Array, f: Array) -> tuple[Array, Array, Array]:
    """First, minus second, and third derivative of log Phi(y f) in f. Reference: Rasmussen & Williams, eq. 3.16."""
    z = y * f
    h = hazard(z)
    return y * h, h * (z + h), y * h * ((z + 2 * h) * (z + h) - 1.0)
