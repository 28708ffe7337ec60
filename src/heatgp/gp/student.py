"""Student-t noise: observations of which some are far off."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import digamma, gammaln, lambertw, ndtr, stdtr

from ..covariance import Array
from ..errors import InvalidInput
from .likelihood import NormalMixture
from .parameters import WEAK_NOISE, LogNormal
from .prior import with_squares
from .quadrature import DROP
from .regression_likelihood import RegressionLikelihood

ROUNDING = 1e-12  # of bounds, where the logarithm of a number is taken and undone
ROUNDS = 30
"""Steps towards the coefficients of least absolute residuals: some digits, for a start."""
SMALLEST = 1e-6
"""Residuals count as at least this part of their mean."""
STEP = 0.2  # of the trapezoid rule in log lambda; the error is below e^(-pi^2 / step), 4e-22


@dataclass(frozen=True)
class StudentT(RegressionLikelihood, NormalMixture):
    """y = f + √noise times a number of Student's t distribution: most observations are close to f, some are far off.

    The distribution is one of normal distributions of different variances: N(y; f, noise / lambda), where lambda has
    the gamma distribution of shape and rate degrees / 2. So log Z and its derivatives are integrals in log lambda of
    closed forms; the integrand is analytic and ends faster than exponentially, and the trapezoid rule converges
    exponentially.

    Parameters
    ----------
    noise : positive number, default None (learned). The square of the scale. The variance is
        noise * degrees / (degrees - 2); with at most 2 degrees of freedom it is infinite.
    degrees : positive number, default 4. The degrees of freedom: 1 is the Cauchy distribution, 30 is close to the
        normal distribution. None learns them.
    unit : number, default 1. A typical size of f, the scale of bounds, starts and weak priors. GPRegressor sets it from
        the data.

    Raises
    ------
    InvalidInput : if a value is not positive, or degrees are not between 0.1 and 10,000.

    Reference: Jylänki, Vanhatalo & Vehtari (2011), Robust Gaussian process regression with a Student-t likelihood.

    Examples
    --------
    >>> far, near = StudentT(noise=1.0).tilted(np.array([20.0, 1.0]), np.zeros(2), np.ones(2))[1]
    >>> bool(far < near)
    True
    """

    noise: float | None = None
    degrees: float | None = 4.0
    unit: float = 1.0

    flat_mean: ClassVar[bool] = True
    expected_increases: ClassVar[bool] = True
    from_data: ClassVar = frozenset({"unit"})
    bounds: ClassVar = {"noise": (1e-6, 1e2), "degrees": (1.0, 100.0)}
    limits: ClassVar = frozenset({"degrees"})  # the Cauchy distribution, and in effect the normal distribution
    squares: ClassVar = frozenset({"noise"})
    starts: ClassVar = (  # many degrees would follow the outliers
        {"noise": 0.01, "degrees": 2.0},
        {"noise": 0.3, "degrees": 2.0},
    )
    weak_priors: ClassVar = {
        **RegressionLikelihood.weak_priors,
        "noise": LogNormal(0.1, WEAK_NOISE),
        "degrees": LogNormal.between(*bounds["degrees"]),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.degrees is not None and not 0.1 * (1 - ROUNDING) <= self.degrees <= 1e4 * (1 + ROUNDING):
            raise InvalidInput(
                f"degrees = {self.degrees} of StudentT must be between 0.1 and 10,000. More are normal: use "
                'likelihood="normal".'
            )

    def check(self, y: Any) -> Array:
        return with_squares(super().check(y))

    def start(self, y: Array, basis: Array, offset: Any) -> Array:
        return least_absolute(basis, y - offset)

    def adapted(self, y: Array, f: Any) -> Self:
        """The unit is the standard deviation of a normal distribution with the quartiles of y - f."""
        rest = y - f
        unit = 1.4826 * float(np.median(np.abs(rest))) or float(np.std(rest)) or float(np.abs(y).max()) or 1.0
        return replace(self, unit=unit)

    def of_predictions(self) -> Self:
        return replace(self, unit=1.0)

    def log_density(self, y: Array, f: Array) -> Array:
        noise, a = self._known
        constant = gammaln(a + 0.5) - gammaln(a) - 0.5 * np.log(2 * np.pi * a * noise)
        return constant - (a + 0.5) * np.log1p((y - f) ** 2 / (2 * a * noise))

    def expected(self, f: Array) -> Array:
        """The median, which is also the mean where degrees > 1."""
        return np.asarray(f)

    def dispersion(self, f: Array) -> Array:
        noise, a = self._known
        return np.full(np.shape(f), noise * a / (a - 1) if a > 1 else np.inf)

    def distribution(self, y: Array, f: Array) -> Array:
        noise, a = self._known
        return stdtr(2 * a, (y - f) / np.sqrt(noise))

    def tilted(self, y: Array, mean: Array, variance: Array) -> tuple[Array, Array, Array]:
        _, spread, log_mass = self._mixture(y, mean, variance)
        log_z, mass = normalised(log_mass)
        pull = (y - mean) / spread
        first = (mass * pull).sum(axis=0)
        return log_z, first, (mass / spread - mass * (pull - first) ** 2).sum(axis=0)

    def in_parameters(self, y: Array, mean: Array, variance: Array, names: list[str]) -> Array:
        noise, a = self._known
        s, spread, log_mass = self._mixture(y, mean, variance)
        _, mass = normalised(log_mass)
        found = {
            "noise": 0.5 * ((y - mean) ** 2 / spread - 1.0) * noise * np.exp(-s) / spread,
            "degrees": a * (np.log(a) + 1.0 - digamma(a) + s - np.exp(s)),
        }
        return np.array([np.vdot(mass, found[name]) for name in names])

    def normal_sites(self, y: Array, mean: Array, variance: Array) -> Array:
        """Given f, lambda has the gamma distribution of shape a + 1/2 and rate a + E(y - f)² / 2 noise."""
        noise, a = self._known
        precision = (a + 0.5) / (a * noise + self._square(y, mean, variance) / 2)
        return np.stack([precision, precision * y])

    def bound(self, y: Array, sites: Array) -> float:
        """The mean of log p(y | f, lambda), and minus the divergence of the distribution of lambda from its prior."""
        noise, a = self._known
        precision, shift = sites
        share = noise * precision  # the mean of lambda
        log_rate = np.log((a + 0.5) / share)
        lambdas = gammaln(a + 0.5) - gammaln(a) + a * np.log(a) + (a + 0.5) * (1 - log_rate) - a * share
        constant = 0.5 * np.log(2 * np.pi * noise)
        return float(np.sum(lambdas - 0.5 * shift * y - constant))

    def bound_slopes(self, y: Array, mean: Array, variance: Array) -> dict[str, float]:
        noise, a = self._known
        precision, _ = self.normal_sites(y, mean, variance)
        share = noise * precision
        log_lambda = digamma(a + 0.5) - np.log((a + 0.5) / share)
        return {
            "noise": float(np.sum(0.5 * precision * self._square(y, mean, variance) - 0.5)),
            "degrees": float(np.sum(a * (np.log(a) + 1 - digamma(a) + log_lambda - share))),
        }

    def _square(self, y: Array, mean: Array, variance: Array) -> Array:
        """The mean of (y - f)²."""
        return (y - mean) ** 2 + variance

    def mean(self, mean: Array, variance: Array) -> Array:
        return self.expected(mean)

    def signal_variance(self, mean: Array, variance: Array) -> Array:
        return np.asarray(variance)

    def covariance(self, mean: Array, covariance: Array) -> Array:
        return covariance

    def cumulative(self, y: Array, mean: Array, variance: Array) -> Array:
        noise, a = self._known
        left, right = reach(a)
        s = nodes(-left, right, a)
        weight = normalised(a * (s - np.exp(s)))[1].reshape(-1, *(1,) * np.ndim(mean))
        spread = variance + noise * np.exp(-s).reshape(weight.shape)
        return (weight * ndtr((y - mean) / np.sqrt(spread))).sum(axis=0)

    @property
    def _known(self) -> tuple[float, float]:
        """The noise, and half the degrees of freedom."""
        assert self.noise is not None
        assert self.degrees is not None
        return self.noise, self.degrees / 2

    def _mixture(self, y: Array, mean: Array, variance: Array) -> tuple[Array, Array, Array]:
        """Nodes s of log lambda, the variance of y at each, and the log of its density times the weight of the node.

        The distribution of log lambda given y is between the prior and the distribution where f = mean is known, which
        is the prior's with a + 1/2 and shifted to the left.
        """
        noise, a = self._known
        squared = (y - mean) ** 2
        left = -np.log1p(squared / (2 * a * noise)) - reach(a + 0.5)[0]
        s = nodes(left, np.full(np.shape(left), reach(a)[1]), a)
        spread = variance + noise * np.exp(-s)
        log_weight = a * (np.log(a) + s - np.exp(s)) - gammaln(a) + np.log(s[1] - s[0])
        return s, spread, log_weight - 0.5 * (np.log(2 * np.pi * spread) + squared / spread)


def least_absolute(H: Array, y: Array) -> Array:
    """The coefficients (q,) that almost minimise the sum of |y - H c|: outliers hardly move them.

    By iteratively reweighted least squares.

    >>> least_absolute(np.ones((5, 1)), np.array([1.0, 2.0, 3.0, 4.0, 1e6])).round(3)
    array([3.])
    """
    weight = np.ones(len(y))
    coefficients = np.zeros(H.shape[1])
    for _ in range(ROUNDS if H.shape[1] else 0):
        coefficients, *_ = np.linalg.lstsq(weight[:, None] * H, weight * y, rcond=None)
        rest = np.abs(y - H @ coefficients)
        if not rest.any():
            break
        weight = 1.0 / np.sqrt(np.maximum(rest, SMALLEST * np.mean(rest)))
    return coefficients


def nodes(left: Any, right: Any, a: float) -> Array:
    """Equally spaced nodes from left to right, so close that the trapezoid rule integrates exp(a (s - e^s))."""
    number = int(np.ceil(np.max(right - left) / min(STEP, 0.5 / np.sqrt(a)))) + 1
    return np.linspace(left, right, number)


def normalised(log_mass: Array) -> tuple[Array, Array]:
    """The log of the sum of exp(log_mass) over the first axis, and its terms divided by the sum."""
    top = log_mass.max(axis=0)
    mass = np.exp(log_mass - top)
    total = mass.sum(axis=0)
    return top + np.log(total), mass / total


def reach(a: float) -> tuple[float, float]:
    """How far to the left and right of 0, its maximum, exp(a (s - e^s)) has fallen by DROP: s - e^s = -1 - DROP / a."""
    level = 1.0 + DROP / a  # s = -level - W(-e^-level), on both branches of Lambert's function
    left = level + float(lambertw(-np.exp(-level)).real)
    right = -level - float(lambertw(-np.exp(-level), -1).real) if level < 700 else np.log(level + np.log(level))
    return left, right
