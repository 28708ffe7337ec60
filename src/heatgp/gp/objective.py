"""The evidence as a function of the logs of the parameters that are not given.

The kernel's scale is divided out. With c the mean prior variance of the data at amplitude 1, the coordinates after the
times are the logs of amplitude * c, or of noise / (amplitude * c). So the bounds of the search do not depend on the
size of the kernel's values, which changes with time.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..covariance import Array
from .columns import columns_evidence, normal_log_density
from .count import Count
from .economical import factored
from .kernels import constant
from .linalg import JITTER, Diagonal
from .params import Given, Params
from .prior import Prior
from .priors import Laws, log_density
from .regression import Evidence, evidence
from .spectrum import Spectrum
from .targets import Targets


@dataclass(frozen=True)
class RegressionObjective:
    """The log posterior density of the free log times and of at most two more coordinates: evidence plus log priors.

    These are the log of noise / prior variance, unless the noise is given, and the log of the prior variance where the
    noise is given and positive, or the coefficients of the mean have a prior that is not flat. Else the amplitude is
    given, or the best one, in closed form.
    """

    prior: Prior
    y: Targets
    given: Given
    variance: tuple[float, float]  # the interval of the prior variance
    laws: Laws = field(default_factory=dict)
    profiled: bool = True  # False: an amplitude that is learned is always a coordinate
    calls: Count = field(default_factory=Count)  # shared by what is made of this objective

    @property
    def names(self) -> list[str]:
        """The names of the coordinates."""
        noise = ["noise"] * (self.given.noise is None)
        closed = self.profiled and self.y.is_flat and not self.given.noise
        searched = self.given.amplitude is None and not closed
        return self.given.time_names + noise + ["amplitude"] * searched

    def __call__(self, z: Array) -> tuple[float, Array]:
        """The log posterior density and its gradient."""
        self.calls.add()
        given, names = self.given, self.names
        values, slopes = self.prior.at(given.times(z), given.free)
        found, floored, of_amplitude = self._evidence(values, z)
        in_ratios = found.in_ratios
        in_ratio = float(in_ratios[~floored].sum())  # of the noise that is not the jitter
        in_height = float(in_ratios[floored].sum())
        if given.amplitude is None:
            in_height -= found.in_amplitude
        if given.noise is None or given.amplitude is None:
            in_height += in_ratio
        gradient = dict(
            zip(given.time_names, found.in_times(slopes) + in_height * self.prior.height_slopes(values, slopes))
        )
        gradient["noise"] = in_ratio
        gradient["amplitude"] = found.in_amplitude - (0.0 if given.noise is None else in_ratio)
        of_priors, in_priors = log_density(self.laws, names, z)
        value = found.value + of_amplitude + of_priors
        return value, np.array([gradient[name] for name in names]) + in_priors

    def value(self, z: Array) -> float:
        """The log posterior density alone."""
        self.calls.add()
        values, _ = self.prior.at(self.given.times(z))
        found, _, of_amplitude = self._evidence(values, z)
        return found.value + of_amplitude + log_density(self.laws, self.names, z)[0]

    def values(self, points: Array) -> Array:
        """The same at points (M, coordinates) at once, of a diagonal covariance: see `spectral`.

        NotPositiveDefinite is raised where it is so at one of them.
        """
        self.calls.add(len(points))
        eigenvalues, _ = self.prior.at(self.given.times(points[0]))
        height = self.prior.height(eigenvalues)
        amplitude, ratio, law = self._scales(points.T, height)
        ratio = np.maximum(np.broadcast_to(ratio, len(points)), JITTER * height / self.y.noise[0])
        if not isinstance(amplitude, tuple):
            amplitude = np.broadcast_to(amplitude, len(points))
        data = replace(self.y, y=self.y.y[:, None])
        found = columns_evidence(eigenvalues, data, ratio, amplitude, law)
        of_priors = sum(self.laws[name].log_density(x) for name, x in zip(self.names, points.T) if name in self.laws)
        return found.value + _log_prior(law, found.amplitude) + of_priors

    def spectral(self, z: Array) -> RegressionObjective:
        """The same at the times of z, in the basis of K's eigenvectors: one decomposition for all other parameters.

        The times are then given, and their priors no longer counted. Where the noise differs between data, their rows
        are first scaled so that it does not.
        """
        time = self.given.times(z)
        values, _ = self.prior.at(time)
        spectrum = Spectrum.of(self.prior, values, self.y.noise)
        fixed = replace(self.given, time=tuple(np.atleast_1d(time).tolist()))
        prior = Prior(constant(spectrum.eigenvalues), Diagonal)
        return replace(self, prior=prior, y=spectrum.rotated(self.y), given=fixed)

    def params(self, z: Array) -> Params:
        """The parameters at these coordinates, the amplitude of the closed form included."""
        time, noise = self.given.times(z), self.given.noise
        values, _ = self.prior.at(time)
        found, _, _ = self._evidence(values, z)
        if noise is None:
            noise = float(np.exp(z[self.names.index("noise")])) * found.amplitude * self.prior.height(values)
        return Params(time, found.amplitude, noise)

    def log_prior(self, z: Array, params: Params) -> float:
        """The log density of the priors at these coordinates and their parameters."""
        height = self.prior.height(self.prior.at(params.time)[0])
        _, _, law = self._scales(z, height)
        return float(_log_prior(law, params.amplitude)) + log_density(self.laws, self.names, z)[0]

    def _evidence(self, values: Array, z: Array) -> tuple[Evidence, Array, float]:
        """The evidence, where the jitter stands in the place of the noise, and the log prior of the best amplitude."""
        height = self.prior.height(values)
        amplitude, ratio, law = self._scales(z, height)
        ratios = ratio * self.y.noise
        floored, ratios = ratios < JITTER * height, np.maximum(ratios, JITTER * height)
        found = evidence(factored(self.prior.form, values, 1.0 / ratios), ratios, self.y, amplitude, law)
        return found, floored, float(_log_prior(law, found.amplitude))

    def _scales(self, z: Array, height: float) -> tuple[Any, Any, tuple[float, float] | None]:
        """The amplitude, or its interval where the best is taken; noise / amplitude; and the prior of that best one.

        The prior is the log median and the spread, or None. z may be one array of numbers for each coordinate.
        """
        given, at = self.given, dict(zip(self.names, z))
        if given.amplitude is not None:
            amplitude: Any = given.amplitude
        elif "amplitude" in at:
            amplitude = np.exp(at["amplitude"]) / height
        else:
            amplitude = (self.variance[0] / height, self.variance[1] / height)
        if given.noise is None:
            ratio = np.exp(at["noise"]) * height
        else:  # an amplitude that is still an interval has no noise beside it
            ratio = 0.0 if isinstance(amplitude, tuple) else given.noise / amplitude
        law = self.laws.get("amplitude") if isinstance(amplitude, tuple) else None
        return amplitude, ratio, None if law is None else (np.log(law.median) - np.log(height), law.spread)


def _log_prior(law: tuple[float, float] | None, amplitude: Any) -> Any:
    """The log density of log amplitude by its log median and spread; 0 without a prior."""
    return 0.0 if law is None else normal_log_density(np.log(amplitude), *law)[0]
