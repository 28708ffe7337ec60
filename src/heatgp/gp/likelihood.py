"""What a Gaussian process needs of p(y | f), the distribution of one observation given the value of the latent
function.

A likelihood is a frozen dataclass whose fields are its parameters, positive numbers; a parameter that is None is
learned. Expectation propagation asks for `tilted`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from ..covariance import Array
from .parameters import EDGE, ParameterPriors

STEP = 1e-4
"""Difference of the logarithm of a parameter from which the derivative in it is taken."""


@dataclass(frozen=True)
class Likelihood(ABC):
    """The distribution of one observation y given f; observations are independent given the latent function.

    Arrays have the shape (N,), one number for each observation. A likelihood of several latent functions has means and
    variances of shape (functions, N).
    """

    bounds: ClassVar[Mapping[str, tuple[float, float]]] = {}
    """The interval in which each parameter is searched for."""

    starts: ClassVar[tuple[Mapping[str, float], ...]] = ({},)
    """Values of parameters, and of the prior variance, "amplitude", with which the search looks for times.

    From the best times of each the search goes uphill; by default from the best two at the middle of the intervals.
    """

    limits: ClassVar[frozenset[str]] = frozenset()
    """Parameters whose bounds are special cases: sitting on one is an answer, and needs no warning."""

    weak_priors: ClassVar[ParameterPriors] = {}
    """The weak prior of each parameter, and of the prior variance of f, "amplitude"; what is not there has none."""
    time_edge: ClassVar[float] = EDGE
    """How many standard deviations from the middle of its weak prior the bounds of a time are."""

    variance_bounds: ClassVar[tuple[float, float]] = (1e-2, 1e4)
    """The interval in which the prior variance of f is searched for, in squares of the unit."""
    squares: ClassVar[frozenset[str]] = frozenset()
    """Parameters whose bounds, starts and weak priors are in squares of the unit, as those of the prior variance."""
    flat_mean: ClassVar[bool] = False
    """Whether the coefficients of the mean of f have a flat prior by default, as where y is f plus noise.

    Elsewhere, as where all labels are of one class, a flat prior may have no posterior.
    """
    predicts_f: ClassVar[bool] = True
    """Whether predictions are of the latent function itself."""

    @property
    def functions(self) -> int | None:
        """How many latent functions an observation depends on; None for one."""
        return None

    @property
    def unit(self) -> float:
        """A typical size of f."""
        return 1.0

    def in_unit(self, name: str, value: float) -> float:
        """A bound, a start or a typical value of a parameter, in the unit of f."""
        return value * self.unit**2 if name == "amplitude" or name in self.squares else value

    @property
    def free(self) -> list[str]:
        """The names of the parameters that are learned."""
        return [f.name for f in fields(self) if f.name in self.bounds and vars(self)[f.name] is None]

    def with_values(self, values: Array) -> Self:
        """The same likelihood, with values in the place of the parameters that are learned."""
        return replace(self, **{name: float(value) for name, value in zip(self.free, values)})

    def start(self, y: Array, basis: Array, offset: Any) -> Array:
        """Coefficients (q,) of the orthonormal columns of a basis (N, q) near those of the mean of f; by default zeros.

        Inference starts from there, and coefficients whose prior is not flat have this as their prior mean.
        """
        return np.zeros(basis.shape[1])

    def of_predictions(self) -> Self:
        """The same likelihood for the f that predictions are of, without what it has from the data."""
        return self

    def expected(self, f: Array) -> Array:
        """What predictions are of, given values of f."""
        return f

    def mean(self, mean: Array, variance: Array) -> Array:
        """The mean of that where f ~ N(mean, variance)."""
        return mean

    def signal_variance(self, mean: Array, variance: Array) -> Array:
        """Its variance: the uncertainty of predictions."""
        return variance

    def covariance(self, mean: Array, covariance: Array) -> Array:
        """Its covariance (M, M) at M points, where f ~ N(mean, covariance)."""
        return covariance

    @abstractmethod
    def tilted(self, y: Array, mean: Array, variance: Array) -> tuple[Array, Array, Array]:
        """log Z and two derivatives, where Z is p(y | f) averaged over f ~ N(mean, variance).

        Returns
        -------
        log_z : array (N,).
        first : d log Z / d mean, shape of the mean.
        curvature : - d² log Z / d mean², shape of the mean.
        """

    def in_parameters(self, y: Array, mean: Array, variance: Array, names: list[str]) -> Array:
        """The sum of d log Z / d log parameter, for each name; by differences where a class has no better way."""

        def total(name: str, step: float) -> float:
            moved: Any = replace(self, **{name: vars(self)[name] * np.exp(step)})
            return float(moved.tilted(y, mean, variance)[0].sum())

        return np.array([(total(name, STEP) - total(name, -STEP)) / (2 * STEP) for name in names])


class NormalMixture(ABC):
    """A mixture of normal distributions N(y; f, noise / lambda): it has a `variational` approximation."""

    @abstractmethod
    def normal_sites(self, y: Array, mean: Array, variance: Array) -> Array:
        """Precision and shift (2, N) of the normal factors in f, averaged over lambda given f ~ N(mean, variance)."""

    @abstractmethod
    def bound(self, y: Array, sites: Array) -> float:
        """The bound of the log evidence, less log ∫ N(f; 0, K) Π exp(shift f - precision f² / 2) df, at these sites."""

    @abstractmethod
    def bound_slopes(self, y: Array, mean: Array, variance: Array) -> dict[str, float]:
        """The derivatives of the bound in the logarithms of all parameters, where f ~ N(mean, variance)."""
