"""Likelihoods p(y | f): how an observation depends on the value of the latent function at its point."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import EXTREME, as_array, is_number
from ..covariance import Array
from ..errors import InvalidInput, Unsupported
from .quadrature import average, differences, quantile, tilted_moments


@dataclass(frozen=True)
class Likelihood(ABC):
    """How observations depend on a function f. Derive from it to fit a likelihood of your own.

    A likelihood is a frozen dataclass. Its fields are its parameters, positive numbers; one that is None is learned. A
    fit needs `log_density` alone: everything else has a default by numerical integration. Formulas are faster.
    Predictions of observations need `expected`, and their intervals `distribution`.
    """

    is_discrete: ClassVar[bool] = False
    """Whether observations are whole numbers, 0 or more."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not (value is None or (is_number(value) and value > 0)):
                raise InvalidInput(
                    f"{name} = {value!r} of {type(self).__name__} must be a positive number, or None to learn it."
                )

    @abstractmethod
    def log_density(self, y: Array, f: Array) -> Array:
        """log p(y | f), the probability of a discrete y. Arrays of shapes that broadcast; concave in f."""

    def expected(self, f: Array) -> Array:
        """The mean of y given f: what `predict` is about."""
        raise self._missing("expected(f), the mean of y given f")

    def dispersion(self, f: Array) -> Array:
        """The variance of y given f."""
        raise self._missing("dispersion(f), the variance of y given f")

    def distribution(self, y: Array, f: Array) -> Array:
        """The probability, given f, that an observation is at most y."""
        raise self._missing("distribution(y, f), the probability that an observation is at most y")

    def check(self, y: ArrayLike) -> Array:
        """Observations as an array (N,) of finite numbers, or InvalidInput."""
        values = as_array(y, "y", "real numbers")
        if values.dtype.kind not in "fiub" or values.ndim != 1:
            raise InvalidInput(
                f"y must be one real number for each point; it has shape {values.shape} and dtype {values.dtype}. "
                f"With {type(self).__name__} fit one model for each column, y[:, 0]."
            )
        values = values.astype(float)
        for where in np.flatnonzero(~np.isfinite(values)):
            raise InvalidInput(f"y[{where}] = {values[where]} is not finite. Remove such observations.")
        return values

    def start(self, y: Array) -> Array:
        """Precision and shift of normal observations of f, (2, N), from which the inference starts."""
        return np.zeros((2, len(y)))

    def tilted(self, y: Array, mean: Array, variance: Array) -> tuple[Array, Array, Array]:
        """log Z, d log Z / d mean, -d^2 log Z / d mean^2 of Z = the integral of p(y | f) N(f; mean, variance) df.

        By numerical integration. It is right where p(y | f) is log-concave in f, as most likelihoods are; one that is
        not, such as Student's t, needs a formula of its own.
        """
        return tilted_moments(lambda f: self.log_density(y, f), mean, variance)

    def derivatives(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """First, minus second, and third derivative of log p(y | f) in f, by differences."""
        return differences(lambda f: self.log_density(y, f), f)

    @property
    def names(self) -> list[str]:
        """The names of the parameters that are learned."""
        return [field.name for field in fields(self) if vars(self)[field.name] is None]

    def slopes(self, y: Array, mean: Array, variance: Array, names: list[str]) -> Array:
        """The derivatives of log Z in the logarithms of these parameters, (names, N), by central differences."""
        step = 1e-4

        def at(name: str, moved: float) -> Array:
            return self.having({name: vars(self)[name] * np.exp(moved)}).tilted(y, mean, variance)[0]

        return np.array([(at(name, step) - at(name, -step)) / (2 * step) for name in names]).reshape(-1, len(y))

    def having(self, values: dict[str, float]) -> Self:
        """The same with these parameters."""
        return replace(self, **values)

    def mean(self, mean: Array, variance: Array) -> Array:
        """The mean of new observations where f ~ N(mean, variance)."""
        return average(self.expected, mean, variance)

    def signal_variance(self, mean: Array, variance: Array) -> Array:
        """The variance of the mean of y given f, where f ~ N(mean, variance): the uncertainty of `predict`."""
        center = self.mean(mean, variance)
        return average(lambda f: (self.expected(f) - center) ** 2, mean, variance)

    def variance(self, mean: Array, variance: Array) -> Array:
        """The variance of new observations where f ~ N(mean, variance)."""
        return self.signal_variance(mean, variance) + average(self.dispersion, mean, variance)

    def log_predictive(self, y: Array, mean: Array, variance: Array) -> Array:
        """The log density of new observations y where f ~ N(mean, variance)."""
        return self.tilted(y, mean, variance)[0]

    def probability(self, y: Array, mean: Array, variance: Array) -> Array:
        """The probability that a new observation is at most y, where f ~ N(mean, variance)."""

        def log_probability(f: Array) -> Array:
            return np.log(self.distribution(y, f))

        return np.exp(tilted_moments(log_probability, mean, variance)[0])

    def quantile(self, p: float, mean: Array, variance: Array) -> Array:
        """The least number that a new observation exceeds with probability at most 1 - p."""
        center = np.minimum(self.mean(mean, variance), EXTREME)
        scale = np.minimum(np.abs(center) + np.sqrt(self.signal_variance(mean, variance)), EXTREME)
        scale = np.where(scale > 0, scale, 1.0)
        return quantile(lambda y: self.probability(y, mean, variance), p, center, scale, self.is_discrete)

    def _missing(self, member: str) -> Unsupported:
        name = type(self).__name__
        return Unsupported(f"{name} does not say this of new observations. Define {name}.{member}.")
