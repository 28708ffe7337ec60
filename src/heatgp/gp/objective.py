"""The evidence as a function of the logs of the parameters that are not given.

The kernel's scale is divided out. With c the mean prior variance of the data at amplitude 1, the coordinates after the
times are the logs of amplitude * c, or of noise / (amplitude * c). So the bounds of the search do not depend on the
size of the kernel's values, which changes with time.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ..covariance import Array
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

    def log_prior(self, z: Array) -> float:
        """The log density of the priors at these coordinates, that of the amplitude of the closed form included."""
        values, _ = self.prior.at(self.given.times(z))
        return self._evidence(values, z)[2] + log_density(self.laws, self.names, z)[0]

    def _evidence(self, values: Array, z: Array) -> tuple[Evidence, Array, float]:
        """The evidence, where the jitter stands in the place of the noise, and the log prior of the best amplitude."""
        given, names, height = self.given, self.names, self.prior.height(values)
        amplitude: float | tuple[float, float] = (self.variance[0] / height, self.variance[1] / height)
        law = self.laws.get("amplitude") if given.amplitude is None and "amplitude" not in names else None
        if given.amplitude is not None:
            amplitude = given.amplitude
        elif "amplitude" in names:
            amplitude = float(np.exp(z[names.index("amplitude")])) / height
        if given.noise is None:
            ratio = float(np.exp(z[names.index("noise")])) * height
        else:  # an amplitude that is still an interval has no noise beside it
            ratio = 0.0 if isinstance(amplitude, tuple) else given.noise / amplitude
        ratios = ratio * self.y.noise
        floored, ratios = ratios < JITTER * height, np.maximum(ratios, JITTER * height)
        scaled = None if law is None else (np.log(law.median) - np.log(height), law.spread)
        found = evidence(factored(self.prior.form, values, 1.0 / ratios), ratios, self.y, amplitude, scaled)
        of_amplitude = 0.0 if law is None else float(law.log_density(np.log(found.amplitude * height)))
        return found, floored, of_amplitude
