"""Expectation propagation for any likelihood, all sites at once."""

from typing import Any

import numpy as np

from ..covariance import Array
from ..errors import NotConverged, NotPositiveDefinite
from .approximation import Approximation, Factorise, cavity
from .likelihood import Likelihood

DAMPING = 0.7  # undamped parallel updates can oscillate; below 0.7 they only get slower
MEMORY = 5  # past iterations that a step extrapolates from
QUARTERS = ((DAMPING, MEMORY), (DAMPING, 0), (DAMPING / 2, 0), (DAMPING / 2, MEMORY))
"""Both in each quarter of the iterations. The first is enough where likelihoods are log-concave. Elsewhere a site can
oscillate; the others begin again without sites and without extrapolation, which comes back near the fixed point."""
ENOUGH = 1e-4
"""The change of a site that is small enough in the end, where convergence is slow."""
PRECISE = 1e11
"""The precision of an observation, beside that of the prior of f, at which a search is told that rounding decides."""


def expectation_propagation(
    factorise: Factorise,
    likelihood: Likelihood,
    y: Array,
    start: Array | None = None,
    offset: Any = 0.0,
    tolerance: float = 1e-8,
    iterations: int = 200,
) -> Approximation:
    """The fixed point of expectation propagation: each site matches the moments of its tilted marginal.

    All sites are updated from the same marginals, with one factorisation for N sites, where the textbook's loop makes N
    rank-one updates; the fixed points are the same. Steps are damped and extrapolated (`next_sites`). It has converged
    when no site would change its marginal: |change of precision| * variance and |change of shift| * deviation are below
    `tolerance`, in the end below `ENOUGH`.

    Precisions are at least 0. A likelihood that is not log-concave can ask for less, at an observation that the others
    contradict: its site then has precision 0 and matches the mean alone. The evidence is stationary in the sites, so
    that its gradient needs no derivatives of them, only where no site is at this bound.

    Reference: Rasmussen & Williams (2006), Alg. 3.5 and eq. 3.58, 3.59, 3.65.
    """
    functions = () if likelihood.functions is None else (likelihood.functions,)
    nothing = np.zeros((2, *functions, len(y)))
    sites = nothing if start is None else start
    history: list[tuple[Array, Array]] = []
    change, near = np.inf, None
    for number in range(iterations):
        quarter, new = divmod(4 * number, iterations)
        damping, memory = QUARTERS[quarter]
        if quarter == 1 and new < 4:
            sites = nothing
        last_one = number == iterations - 1
        if last_one and near is not None:
            sites = near
        precision, shift = sites
        if not np.all(np.isfinite(sites)):
            break  # it has diverged
        factor = factorise(precision)
        variance = factor.marginal_variance()
        mean = factor.posterior_mean(shift)
        with np.errstate(all="ignore"):
            center, spread = cavity(mean, variance, precision, shift)
            # nan anywhere is in the sum
            check_digits(spread.min() > 0 and np.isfinite(np.vdot(center, center) + spread.sum()))
        log_z, *derivatives = likelihood.tilted(y, center + offset, spread)
        step = matching_sites(center, spread, *derivatives) - sites
        check_digits(not np.isinf(step).any())
        scale = np.stack([variance, np.sqrt(variance)])
        last, change = change, float(np.max(np.abs(step * scale)))
        if change < ENOUGH:
            near = sites
        if change < tolerance or (last_one and change < ENOUGH):
            log_evidence = evidence(log_z, mean, variance, precision, shift, factor.log_det)
            stationary = bool(np.min(derivatives[1]) >= 0)
            return Approximation(
                factor, precision, shift, mean, variance, log_evidence, stationary=stationary, offset=offset
            )
        history = [*(history if change < 2 * last else []), (sites, step)][-memory - 1 :]
        sites = next_sites(history, scale, damping)
    raise NotConverged(
        f"expectation propagation of {len(y)} points did not converge: after {number + 1} iterations the "
        f"largest change of a site is {change:.1e} > {tolerance:.0e}. Use a smaller amplitude, or with "
        "Student-t noise a larger noise."
    )


def check_digits(possible: bool) -> None:
    """Raise NotPositiveDefinite where an observation is so precise that a difference of variances has no digits."""
    if not possible:
        raise NotPositiveDefinite(
            "the covariance of f is not positive definite within rounding: observations are as precise as 1e-16 of its "
            "prior variance. Use a smaller amplitude, or with Student-t noise a larger noise."
        )


def check_precision(free: list[str], precision: Array, variance: float) -> None:
    """Raise NotPositiveDefinite where a search of these parameters has come to where rounding decides."""
    if free and np.max(precision) * variance > PRECISE:
        raise NotPositiveDefinite(
            f"an observation is {np.max(precision) * variance:.1e} times as precise as the prior of f: more than "
            f"{PRECISE:.0e} times leave no digits. Use a smaller amplitude, or with Student-t noise a larger noise."
        )


def next_sites(history: list[tuple[Array, Array]], scale: Array, damping: float) -> Array:
    """A damped step from the combination of past sites whose combined step is least (Anderson acceleration).

    The plain damped step where that would make a precision negative. Reference: Walker & Ni (2011), Alg. AA.
    """
    sites, step = history[-1]
    plain = sites + damping * step
    if len(history) < 2:
        return plain
    moves = np.stack([sites - past for past, _ in history[:-1]])
    steps = np.stack([step - past for _, past in history[:-1]])
    flat = (steps * scale).reshape(len(steps), -1).T
    mix, *_ = np.linalg.lstsq(flat, (step * scale).ravel(), rcond=1e-10)
    mixed = plain - np.tensordot(mix, moves + damping * steps, axes=1)
    return mixed if mixed[0].min() >= 0 else plain


def matching_sites(mean: Array, variance: Array, first: Array, curvature: Array) -> Array:
    """The sites, (2, N), that give the cavity the moments of the tilted distribution, from the derivatives of log Z.

    The tilted distribution has mean m + v g and variance v (1 - v d), g the first derivative and d the curvature. So
    the site's precision is d / (1 - v d), without a difference of large numbers; d < 0 counts as 0.

    Reference: Rasmussen & Williams, eq. 3.58, 3.59.
    """
    d = np.maximum(curvature, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):  # rounding may make the denominator 0
        return np.stack([d, first + mean * d]) / (1.0 - variance * d)


def evidence(log_z: Array, mean: Array, variance: Array, precision: Array, shift: Array, log_det: float) -> float:
    """log Z of expectation propagation, from those of the sites. Reference: Rasmussen & Williams, eq. 3.65, 3.74."""
    center, spread = cavity(mean, variance, precision, shift)
    site = 0.5 * np.log1p(precision * spread)
    # the two quadratic terms of eq. 3.74; 1 / (cavity precision + site precision) is the marginal variance
    inner = 0.5 * shift * (mean - variance * shift)
    outer = 0.5 * center * variance / spread * (precision * center - 2 * shift)
    return float(np.sum(log_z) + np.sum(site + inner + outer) - 0.5 * log_det)
