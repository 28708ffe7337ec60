"""Likelihoods of numbers and counts: what a fit needs of p(y | f), and what predictions of new observations need."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import EXTREME, as_array, check_flag, is_number
from ..covariance import Array
from ..errors import InvalidInput, OfRow, Unsupported
from .likelihood import Likelihood
from .parameters import WEAK_AMPLITUDE, LogNormal, ParameterPriors
from .prior import finite
from .quadrature import average, quantile, tilted_moments

NO_EXPOSURE = 'exposure needs likelihood="poisson"; {likelihood} has none. Leave it None.'


@dataclass(frozen=True)
class RegressionLikelihood(Likelihood):
    """How numbers or counts y depend on a function f. Derive from it to fit a likelihood of your own.

    It is a frozen dataclass. Fields that are named in `bounds` are its parameters, positive numbers; one that is None
    is learned. A fit needs `log_density` alone. Predictions need `expected`, their intervals `distribution`, the
    variance of new observations `dispersion`. All else has defaults by numerical integration; formulas are faster.
    """

    weak_priors: ClassVar[ParameterPriors] = {"amplitude": LogNormal(1.0, WEAK_AMPLITUDE)}

    variance_bounds: ClassVar[tuple[float, float]] = (1e-4, 1e4)
    predicts_f: ClassVar[bool] = False

    is_discrete: ClassVar[bool] = False
    """Whether observations are whole numbers, 0 or more."""
    expected_increases: ClassVar[bool] = False
    """Whether `expected` increases with f and depends on no learned parameter: its quantiles are those of f, mapped."""
    from_data: ClassVar[frozenset[str]] = frozenset()
    """Fields that `adapted` sets from the data; a model refuses them as arguments, which it would ignore."""

    def __post_init__(self) -> None:
        for name in self.bounds:
            if name not in vars(self):
                raise InvalidInput(
                    f"{type(self).__name__}.bounds names {name!r}, which is no field of it. Declare it in the class, "
                    f"such as {name}: float | None = None, and make the class a dataclass(frozen=True)."
                )
            value = vars(self)[name]
            if not (value is None or (is_number(value) and value > 0)):
                raise InvalidInput(
                    f"{name} = {value!r} of {type(self).__name__} must be a positive number, or None to learn it."
                )

    @abstractmethod
    def log_density(self, y: Array, f: Array) -> Array:
        """log p(y | f), of a discrete y the log probability; for arrays of any shapes that broadcast."""

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
        return finite(values)

    def offset(self, exposure: ArrayLike, number: int) -> Array:
        """What the time or the area in which each of `number` observations was made adds to f, (N,)."""
        raise InvalidInput(NO_EXPOSURE.format(likelihood=type(self).__name__))

    def with_noise(self, noise: Any, number: int) -> RegressionLikelihood:
        """The same likelihood for `number` new observations whose noise is `noise`, an argument of predictions."""
        check_flag("noise", noise)  # variances of single observations are those of normal noise
        return self

    def adapted(self, y: Array, f: Any) -> Self:
        """The same likelihood with the `unit` of f, where it has one; f are values of its mean near y."""
        return self

    def tilted(self, y: Array, mean: Array, variance: Array) -> tuple[Array, Array, Array]:
        """By numerical integration. It is right where p(y | f) is log-concave in f, as most likelihoods are.

        One that is not, such as Student's t, needs a formula of its own.
        """
        return tilted_moments(lambda f: self.log_density(y, f), mean, variance)

    def mean(self, mean: Array, variance: Array) -> Array:
        """The mean of new observations where f ~ N(mean, variance)."""
        return average(self.expected, mean, variance)

    def signal_variance(self, mean: Array, variance: Array) -> Array:
        """The variance of `expected(f)`, where f ~ N(mean, variance): the uncertainty of `predict`."""
        center = self.mean(mean, variance)
        return average(lambda f: (self.expected(f) - center) ** 2, mean, variance)

    def covariance(self, mean: Array, covariance: Array) -> Array:
        """The covariance (M, M) of `expected(f)` at M points, where f ~ N(mean, covariance)."""
        raise self._missing("covariance(mean, covariance), that of expected(f) at several points; or use sample_y")

    def variance(self, mean: Array, variance: Array) -> Array:
        """The variance of new observations where f ~ N(mean, variance)."""
        return self.signal_variance(mean, variance) + average(self.dispersion, mean, variance)

    def cumulative(self, y: Array, mean: Array, variance: Array) -> Array:
        """The probability that a new observation is at most y, where f ~ N(mean, variance)."""
        return np.exp(tilted_moments(lambda f: np.log(self.distribution(y, f)), mean, variance)[0])

    def quantile(self, p: float, mean: Array, variance: Array) -> Array:
        """The least number that a new observation exceeds with a probability of at most 1 - p."""
        center = np.clip(self.mean(mean, variance), -EXTREME, EXTREME)
        scale = np.minimum(np.abs(center) + np.sqrt(self.signal_variance(mean, variance)), EXTREME)
        scale = np.where(scale > 0, scale, 1.0)
        return quantile(lambda y: self.cumulative(y, mean, variance), p, center, scale, self.is_discrete)

    def _missing(self, member: str) -> Unsupported:
        name = type(self).__name__
        return Unsupported(f"{name} does not say this of new observations. Define {name}.{member}.")


def check_log_density(likelihood: RegressionLikelihood, y: Array) -> None:
    """Raise InvalidInput where the log density of a likelihood is not possible for these observations (N,).

    It is computed once: at values of f from -1000 to 1000 and at f = y, with learned parameters in the middle of their
    bounds. It may be minus infinity, or not a number, where f is not possible, but not at all f.
    """
    what = f"{type(likelihood).__name__}.log_density"
    powers = 10.0 ** np.arange(-3, 4)
    f = np.vstack([np.outer(np.concatenate([[0.0], powers, -powers]), np.ones(len(y))), y])
    middle = np.array([np.sqrt(np.prod(likelihood.bounds[name])) for name in likelihood.free])
    try:
        with np.errstate(all="ignore"):
            values = np.asarray(likelihood.with_values(middle).log_density(y, f), dtype=float)
    except Exception as error:  # whatever the code of a user raises
        unknown = [
            field.name
            for field in fields(likelihood)
            if vars(likelihood)[field.name] is None and field.name not in likelihood.bounds
        ]
        remedy = "It is called with arrays y, (N,), and f, (K, N)."
        if unknown:
            remedy = f"{unknown[0]} is None and not in `bounds`: give it a value, or name it there to learn it."
        raise InvalidInput(f"{what}(y, f) raised {type(error).__name__}: {error}. {remedy}") from error
    if values.shape != f.shape:
        raise InvalidInput(
            f"{what}(y, f) has shape {values.shape} for y of shape {np.shape(y)} and f of shape {f.shape}; needed is "
            f"{f.shape}. Return one number for each y and f, by functions of NumPy that broadcast, without a sum."
        )
    for where in np.flatnonzero(~np.isfinite(values).any(axis=0) | (values == np.inf).any(axis=0)).tolist():
        k = int(np.argmax(values[:, where] == np.inf))  # 0 where none is infinite, as f is there
        text = (
            f"] = {y[where]:g} at f = {f[k, where]:g}"
            + (". " if values[k, where] == np.inf else ", and at no f a finite number. ")
            + "It must be finite wherever the observation is possible: correct it, or refuse such y in `check`."
        )
        raise InvalidInput(OfRow(f"{what}(y, f) is {values[k, where]} for y[", where, text))
