"""A variational approximation, for likelihoods that are mixtures of normal distributions: it always converges."""

from typing import Any

import numpy as np

from ..covariance import Array
from ..errors import NotConverged
from .approximation import Approximation, Factorise
from .likelihood import NormalMixture


def variational(
    factorise: Factorise,
    likelihood: NormalMixture,
    y: Array,
    offset: Any = 0.0,
    tolerance: float = 1e-6,
    iterations: int = 2000,
) -> Approximation:
    """The normal distribution of f that, with a distribution of the precisions of the noise, gives the largest bound of
    the evidence.

    f and the precisions are taken as independent. Each is given its best distribution in turn, which never lowers the
    bound, so that this converges where expectation propagation does not. Spreads of f come out somewhat too small. It
    has converged when no site would change its marginal by more than `tolerance`, as in `expectation_propagation`.

    Reference: Tipping & Lawrence (2005), Variational inference for Student-t models.
    """
    mean, variance = np.zeros(len(y)), np.zeros(len(y))
    sites, change = likelihood.normal_sites(y, mean + offset, variance), np.inf
    for _ in range(iterations):
        precision, seen = sites  # of f plus its offset
        factor, shift = factorise(precision), seen - precision * offset
        mean, variance = factor.posterior_mean(shift), factor.marginal_variance()
        new = likelihood.normal_sites(y, mean + offset, variance)
        change = float(np.max(np.abs((new - sites) * np.stack([variance, np.sqrt(variance)]))))
        if change < tolerance:
            of_offset = float(np.sum(offset * (seen + shift)))
            bound = likelihood.bound(y, sites) + 0.5 * (of_offset + float(shift @ mean) - factor.log_det)
            slopes = likelihood.bound_slopes(y, mean + offset, variance)
            return Approximation(factor, precision, shift, mean, variance, bound, in_parameters=slopes, offset=offset)
        sites = new
    raise NotConverged(
        f"the variational approximation of {len(y)} points did not converge: after {iterations} iterations the largest "
        f"change of a site is {change:.1e} > {tolerance:.0e}. Use a smaller amplitude, or a larger noise."
    )
