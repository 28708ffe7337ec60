"""Counts with the Poisson distribution."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, pdtr, wrightomega, xlogy

from ..arguments import EXTREME, is_list, is_number, shown
from ..covariance import Array
from ..errors import InvalidInput, OfRow
from .prior import one_each
from .quadrature import tilted_moments
from .regression_likelihood import RegressionLikelihood

MOST = 1e6
"""Counts up to this: beyond, the noise is below 0.1 % of the count, and the precision of the sites costs digits."""


@dataclass(frozen=True)
class Poisson(RegressionLikelihood):
    """Counts y = 0, 1, 2, ... of the Poisson distribution with the mean exp(f).

    The log of an exposure, the time or the area in which a count was observed, is added to f as its offset: the mean is
    exposure * exp(f). `predict` is about the rate exp(f), the mean count of exposure 1. Where f ~ N(mean, variance) the
    rate has the mean exp(mean + variance / 2).

    Examples
    --------
    >>> Poisson().quantile(0.9, np.log([3.0, 30.0]), np.full(2, 1e-9))
    array([ 5., 37.])
    """

    is_discrete: ClassVar[bool] = True
    expected_increases: ClassVar[bool] = True

    def check(self, y: ArrayLike) -> Array:
        """Whole numbers from 0 to a million, or InvalidInput."""
        counts = super().check(y)
        for where in np.flatnonzero((counts < 0) | (counts != np.floor(counts))).tolist():
            text = (
                f"] = {counts[where]:g} is not a count: Poisson needs whole numbers, 0 or more. For amounts use "
                'likelihood="normal" or "student-t", perhaps of log(y).'
            )
            raise InvalidInput(OfRow("y[", where, text))
        for where in np.flatnonzero(counts > MOST).tolist():
            text = (
                f"] = {counts[where]:g} is above {MOST:,.0f}. The Poisson noise of such counts is below 0.1 % of them "
                'and rarely the only one. Use likelihood="normal" for log(y).'
            )
            raise InvalidInput(OfRow("y[", where, text))
        return counts

    def offset(self, exposure: Any, number: int) -> Array:
        """The logs of checked exposures."""
        if not is_list(exposure):
            if not (is_number(exposure) and exposure > 0):
                raise InvalidInput(
                    f"exposure = {shown(exposure)} must be a positive, finite number, or an array with one for each "
                    "count: the time or the area in which it was observed."
                )
            exposure = np.full(number, float(exposure))
        exposures = one_each(exposure, number, "exposure")
        for where in np.flatnonzero(exposures == 0).tolist():
            text = "] = 0: nothing was observed there, so that it says nothing. Leave such points out."
            raise InvalidInput(OfRow("exposure[", where, text))
        for where in np.flatnonzero((exposures > EXTREME) | (exposures < 1 / EXTREME)).tolist():
            text = f"] = {exposures[where]:g} must be between {1 / EXTREME:g} and {EXTREME:g}. Give it in another unit."
            raise InvalidInput(OfRow("exposure[", where, text))
        return np.log(exposures)

    def start(self, y: Array, basis: Array, offset: Any) -> Array:
        """Where the mean may be a constant, the log of the mean rate: that of half a count where every count is 0."""
        expected = float(np.sum(np.broadcast_to(np.exp(offset), len(y))))
        constant = np.log(max(float(np.sum(y)), 0.5) / expected) * basis.sum(axis=0)  # the columns are orthonormal
        return constant if np.ptp(basis @ constant) < 1e-9 * np.abs(basis @ constant).max(initial=1.0) else 0 * constant

    def log_density(self, y: Array, f: Array) -> Array:
        """y f - exp(f) - log y!, by u = f - log y: without a difference of large numbers."""
        u = f - np.log(np.maximum(y, 1.0))
        constant = xlogy(y, y) - y - gammaln(y + 1.0)
        with np.errstate(over="ignore", invalid="ignore"):  # the density is 0 where the rate overflows
            return np.where(y > 0, constant - y * (np.expm1(u) - u), -np.exp(f))

    def tilted(self, y: Array, mean: Array, variance: Array) -> tuple[Array, Array, Array]:
        """By integration around the mode: the solution of y - exp(f) = (f - mean) / variance."""
        end = mean + variance * y  # the mode is end - W(variance exp(end)), by Lambert's function
        mode = end - wrightomega(end + np.log(variance))
        return tilted_moments(lambda f: self.log_density(y, f), mean, variance, mode)

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

    def covariance(self, mean: Array, covariance: Array) -> Array:
        """Of log-normal rates."""
        means = self.mean(mean, np.diagonal(covariance))
        with np.errstate(over="ignore"):
            return np.outer(means, means) * np.expm1(covariance)

    def variance(self, mean: Array, variance: Array) -> Array:
        return self.signal_variance(mean, variance) + self.mean(mean, variance)
