"""Laplace's approximation for any log-concave likelihood of one latent function."""

import numpy as np

from ..covariance import Array
from ..errors import NotConverged
from .approximation import Approximation, Factorise
from .factors import Dense, LowRank
from .likelihood import Likelihood


def laplace(
    factorise: Factorise,
    likelihood: Likelihood,
    y: Array,
    start: Array | None = None,
    tolerance: float = 1e-9,
    iterations: int = 100,
) -> Approximation:
    """The normal law at the mode of p(f | y), with the curvature there.

    By Newton steps, each halved until it goes up. They have converged when a step changes no f_i by more than
    `tolerance` (1 + |f_i|).

    Reference: Rasmussen & Williams (2006), Alg. 3.1; Alg. 5.1 for the gradient.
    """

    def objective(f: Array, weights: Array) -> float:
        """log p(y | f) - f' K^-1 f / 2."""
        return float(likelihood.log_density(y, f).sum() - 0.5 * weights @ f)

    state = np.zeros((2, len(y)))  # f and K^-1 f
    if start is not None:
        state = at_sites(factorise(start[0]), *start)
    height, moved = objective(*state), np.inf
    for _ in range(iterations):
        f = state[0]
        gradient, curvature, third = likelihood.derivatives(y, f)
        factor = factorise(curvature)  # line 5
        shift = curvature * f + gradient  # line 6
        target = at_sites(factor, curvature, shift)  # lines 7 and 8
        moved = float(np.max(np.abs(target[0] - f) / (1.0 + np.abs(f))))
        if moved < tolerance:
            variance, log_evidence = factor.marginal_variance(), height - 0.5 * factor.log_det
            # the derivative of log |B| in the mode (Alg. 5.1, line 6), times d mode = (I - K R) dK gradient (line 10)
            implicit = 0.5 * variance * third
            implicit -= factor.solve(factor.times(implicit))
            return Approximation(factor, curvature, shift, f, variance, log_evidence, implicit)
        step, trial = 1.0, target
        while objective(*trial) < height - 1e-12 * abs(height) and step > 1e-6:
            step /= 2
            trial = state + step * (target - state)
        state, height = trial, objective(*trial)
    raise NotConverged(
        f"Newton's method of {len(y)} points did not reach the mode: after {iterations} steps the last one is "
        f"{moved:.1e} > {tolerance:.0e}. Use a smaller amplitude."
    )


def at_sites(factor: Dense | LowRank, precision: Array, shift: Array) -> Array:
    """The mean f of the normal law with these sites, and K^-1 f: (2, N)."""
    f = factor.posterior_mean(shift)
    return np.stack([f, shift - precision * f])
