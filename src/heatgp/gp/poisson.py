"""Counts with the Poisson law."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, pdtr, wrightomega, xlogy

from ..covariance import Array
from ..errors import InvalidInput
from .likelihood import Likelihood
from .quadrature import tilted_moments

MOST = 1e6
"""Counts up to this: beyond, the noise is below 0.1 % of the count, and the precision of the sites costs digits."""


@dataclass(frozen=True)
class Poisson(Likelihood):
    """Counts y = 0, 1, 2, ... of the Poisson law with rate exp(f).

    `predict` is about the rate. Its logarithm is normal, so that its mean is exp(mean + variance / 2).

    Examples
    --------
    >>> Poisson().quantile(0.9, np.log([3.0, 30.0]), np.zeros(2))
    array([ 5., 37.])
    """

    is_discrete: ClassVar[bool] = True

    def check(self, y: ArrayLike) -> Array:
        """Whole numbers from 0 to a million, or InvalidInput."""
        counts = super().check(y)
        for where in np.flatnonzero((counts < 0) | (counts != np.floor(counts))):
            raise InvalidInput(
                f"y[{where}] = {counts[where]:g} is not a count: Poisson needs whole numbers, 0 or more. For amounts "
                'use likelihood="normal" or "student-t", perhaps of log(y).'
            )
        for where in np.flatnonzero(counts > MOST):
            raise InvalidInput(
                f"y[{where}] = {counts[where]:g} is above {MOST:,.0f}. The Poisson noise of such counts is below 0.1 % "
                'of them and rarely the only one. Use likelihood="normal" for log(y).'
            )
        return counts

    def log_density(self, y: Array, f: Array) -> Array:
        """y f - exp(f) - log y!, by u = f - log y: without a difference of large numbers."""
        u = f - np.log(np.maximum(y, 1.0))
        constant = xlogy(y, y) - y - gammaln(y + 1.0)
        with np.errstate(over="ignore", invalid="ignore"):  # the density is 0 where exp(f) overflows
            return np.where(y > 0, constant - y * (np.expm1(u) - u), -np.exp(f))

    def derivatives(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        with np.errstate(over="ignore"):
            rate = np.exp(f)
        return y - rate, rate, -rate

    def tilted(self, y: Array, mean: Array, variance: Array) -> tuple[Array, Array, Array]:
        """By integration around the mode: the solution of y - exp(f) = (f - mean) / variance."""
        end = mean + variance * y  # the mode is end - W(variance exp(end)), by Lambert's function
        mode = end - wrightomega(end + np.log(variance))
        return tilted_moments(lambda f: self.log_density(y, f), mean, variance, mode)

    def start(self, y: Array) -> Array:
        """The normal laws of log y, with half an event more."""
        return np.stack([y + 0.5, (y + 0.5) * np.log(y + 0.5)])

    def expected(self, f: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.exp(f)

    def dispersion(self, f: Array) -> Array:
        return self.expected(f)

    def distribution(self, y: Array, f: Array) -> Array:
        return np.where(y < 0, 0.0, pdtr(np.maximum(y, 0.0), self.expected(f)))

    def mean(self, mean: Array, variance: Array) -> Array:
        return self.expected(mean + variance / 2)

    def signal_variance(self, mean: Array, variance: Array) -> Array:
        with np.errstate(over="ignore"):
            return self.mean(mean, variance) ** 2 * np.expm1(variance)

    def variance(self, mean: Array, variance: Array) -> Array:
        return self.signal_variance(mean, variance) + self.mean(mean, variance)
