"""Expectation propagation for the probit likelihood, all sites at once."""

import numpy as np

from ..covariance import Array
from ..errors import NotConverged
from .probit import Approximation, Factorise, cavity, hazard, log_likelihood, posterior_mean

DAMPING = 0.7  # undamped parallel updates can oscillate; below 0.7 they only get slower
MEMORY = 5  # past iterations that a step extrapolates from


def expectation_propagation(
    factorise: Factorise, y: Array, start: Array | None = None, tolerance: float = 1e-8, iterations: int = 200
) -> Approximation:
    """The fixed point of expectation propagation: each site matches the moments of its tilted marginal.

    All sites are updated from the same marginals, with one factorisation for N sites, where the textbook's loop makes N
    rank-one updates; the fixed points are the same. Steps are damped and extrapolated (`next_sites`). It has converged
    when no site would change its marginal: |change of precision| * variance and |change of shift| * deviation are below
    `tolerance`.

    Reference: Rasmussen & Williams (2006), Alg. 3.5 and eq. 3.58, 3.59, 3.65.
    """
    sites = np.zeros((2, len(y))) if start is None else start
    history: list[tuple[Array, Array]] = []
    change = np.inf
    for _ in range(iterations):
        precision, shift = sites
        factor = factorise(precision)
        variance = factor.marginal_variance()
        mean = posterior_mean(factor, shift)
        step = np.stack(match_moments(y, *cavity(mean, variance, precision, shift))) - sites
        scale = np.stack([variance, np.sqrt(variance)])
        last, change = change, float(np.max(np.abs(step * scale)))
        if change < tolerance:
            log_evidence = evidence(y, mean, variance, precision, shift, factor.log_det)
            return Approximation(factor, precision, shift, mean, variance, log_evidence)
        history = [*(history if change < 2 * last else []), (sites, step)][-MEMORY - 1 :]
        sites = next_sites(history, scale)
    raise NotConverged(
        f"expectation propagation of {len(y)} points did not converge: after {iterations} iterations the "
        f"largest change of a site is {change:.1e} > {tolerance:.0e}. Use a smaller amplitude or inference='laplace'."
    )


def next_sites(history: list[tuple[Array, Array]], scale: Array) -> Array:
    """A damped step from the combination of past sites whose combined step is least (Anderson acceleration).

    The plain damped step where that would make a precision negative. Reference: Walker & Ni (2011), Alg. AA.
    """
    sites, step = history[-1]
    plain = sites + DAMPING * step
    if len(history) < 2:
        return plain
    moves = np.stack([sites - past for past, _ in history[:-1]])
    steps = np.stack([step - past for _, past in history[:-1]])
    flat = (steps * scale).reshape(len(steps), -1).T
    mix, *_ = np.linalg.lstsq(flat, (step * scale).ravel(), rcond=1e-10)
    mixed = plain - np.tensordot(mix, moves + DAMPING * steps, axes=1)
    return mixed if mixed[0].min() >= 0 else plain


def match_moments(y: Array, mean: Array, variance: Array) -> tuple[Array, Array]:
    """The sites that give the cavity the moments of the tilted law. Reference: Rasmussen & Williams, eq. 3.58, 3.59.

    With d = h (z + h) / (1 + variance), h the hazard at z, the tilted variance is variance (1 - variance d),
    so the site's precision is d / (1 - variance d), without a difference of large numbers.
    """
    scale = np.sqrt(1.0 + variance)
    z = y * mean / scale
    h = hazard(z)
    d = h * (z + h) / scale**2
    return d / (1.0 - variance * d), (y * h / scale + mean * d) / (1.0 - variance * d)


def evidence(y: Array, mean: Array, variance: Array, precision: Array, shift: Array, log_det: float) -> float:
    """log Z of expectation propagation. Reference: Rasmussen & Williams, eq. 3.65, 3.73, 3.74."""
    center, spread = cavity(mean, variance, precision, shift)
    z = center / np.sqrt(1.0 + spread)
    site = 0.5 * np.log1p(precision * spread) + log_likelihood(y, z)
    # the two quadratic terms of eq. 3.74; 1 / (cavity precision + site precision) is the marginal variance
    inner = 0.5 * shift * (mean - variance * shift)
    outer = 0.5 * center * variance / spread * (precision * center - 2 * shift)
    return float(np.sum(site + inner + outer) - 0.5 * log_det)
