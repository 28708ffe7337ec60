"""The evidence as a function of the logs of the parameters that are not given.

The kernel's scale is taken out: with c the mean prior variance of the data at amplitude 1, the coordinates
after the times are amplitude * c, or noise / (amplitude * c), so that a kernel whose height moves with time
needs no other bounds.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import linalg

from .kernel import Params
from .latent import Prior, positive_height
from .linalg import JITTER, Diagonal
from .probit import Approximation
from .regression import Evidence, evidence, in_times
from .search import Given

Array = np.ndarray


@dataclass(frozen=True)
class Spectrum:
    """A prior at a fixed time, in the basis of its eigenvectors."""

    eigenvalues: Array

    def values(self, time: Any) -> Array:
        return self.eigenvalues

    def height(self, values: Array) -> float:
        return positive_height(values)  # their mean is the mean of the diagonal

    def factor(self, values: Array, precision: float) -> Diagonal:
        return Diagonal.of(values, precision)


@dataclass(frozen=True)
class RegressionObjective:
    """The evidence of y as a function of the free log times and of one more coordinate.

    That is the log of noise / prior variance, or, where the noise is given and positive, of the prior
    variance; the amplitude has its maximum in closed form unless it is given or tied to the noise.
    """

    prior: Any  # Prior or Spectrum
    y: Array
    basis: Array | None
    given: Given
    variance: tuple[float, float]  # the interval of the prior variance

    @property
    def second(self) -> str | None:
        """The last coordinate's name."""
        if self.given.noise is None:
            return "noise"
        return "amplitude" if self.given.amplitude is None and self.given.noise > 0 else None

    def __call__(self, z: Array) -> tuple[float, Array]:
        free = self.given.free
        time = self.given.times(z)
        if not free:
            factor, found, floored = self._at(self.prior.values(time), z)
            return found.value, self._last(found, floored)
        values, slopes = self.prior.slopes(time)
        factor, found, floored = self._at(values, z)
        height = self.prior.height_slope(values, slopes[free])
        in_time = in_times(factor, found, slopes[free])
        if self.given.noise is None or self.given.amplitude is None or floored:
            in_time += found.in_ratio * height
        if self.given.amplitude is None:
            in_time -= found.in_amplitude * height
        return found.value, np.concatenate([in_time, self._last(found, floored)])

    def spectral(self, z: Array) -> RegressionObjective:
        """The same at the times of z, in the basis of K's eigenvectors: one decomposition for all the rest."""
        time = self.given.times(z)
        values = self.prior.values(time)
        K = values @ values.T if self.prior.pairs is None else values
        eigenvalues, vectors = linalg.eigh(K, driver="evd", check_finite=False)
        basis = None if self.basis is None else vectors.T @ self.basis
        fixed = replace(self.given, time=tuple(np.atleast_1d(time).tolist()))
        return replace(self, prior=Spectrum(eigenvalues), y=vectors.T @ self.y, basis=basis, given=fixed)

    def params(self, z: Array) -> Params:
        time = self.given.times(z)
        values = self.prior.values(time)
        _, found, _ = self._at(values, z)
        noise = self.given.noise
        if noise is None:
            noise = found.amplitude * float(np.exp(z[-1])) * self.prior.height(values)
        return Params(time, found.amplitude, noise)

    def prior_variance(self, z: Array) -> float:
        """amplitude * c."""
        values = self.prior.values(self.given.times(z))
        return self._at(values, z)[1].amplitude * self.prior.height(values)

    def _at(self, values: Array, z: Array) -> tuple[Any, Evidence, bool]:
        height = self.prior.height(values)
        ratio, amplitude, floored = self._ratio(height, z)
        factor = self.prior.factor(values, 1.0 / ratio)
        return factor, evidence(factor, ratio, self.y, self.basis, amplitude), floored

    def _ratio(self, height: float, z: Array) -> tuple[float, float | tuple[float, float], bool]:
        """noise / amplitude, the amplitude or its interval, and whether the ratio is the jitter's."""
        amplitude: float | tuple[float, float]
        given = self.given
        if given.amplitude is not None:
            amplitude = given.amplitude
        elif self.second == "amplitude":
            amplitude = float(np.exp(z[-1])) / height
        else:
            amplitude = (self.variance[0] / height, self.variance[1] / height)
        if given.noise is None:
            ratio = float(np.exp(z[-1])) * height
        elif given.noise == 0 or isinstance(amplitude, tuple):
            ratio = 0.0
        else:
            ratio = given.noise / amplitude
        floored = ratio < JITTER * height
        return max(ratio, JITTER * height), amplitude, floored

    def _last(self, found: Evidence, floored: bool) -> Array:
        if self.second is None:
            return np.empty(0)
        if self.second == "noise":
            return np.array([found.in_ratio])
        return np.array([found.in_amplitude - (0.0 if floored else found.in_ratio)])


@dataclass(frozen=True)
class ClassObjective:
    """The approximate evidence of labels as a function of the free log times and of the log of the prior variance."""

    prior: Prior
    y: Array
    given: Given
    approximate: Any
    last: list[Approximation] = field(default_factory=list)  # where the next inference starts

    def __call__(self, z: Array) -> tuple[float, Array]:
        free = self.given.free
        time = self.given.times(z)
        if free:
            values, slopes = self.prior.slopes(time)
        else:
            values, slopes = self.prior.values(time), np.empty(0)
        amplitude = self._amplitude(self.prior.height(values), z)
        found = self.approximate(
            lambda precision: self.prior.factor(values, precision, amplitude),
            self.y,
            start=self.last[-1] if self.last else None,
        )
        self.last[:] = [found]
        in_time = np.empty(0)
        if free:
            scale = amplitude**0.5 if self.prior.pairs is None else amplitude
            in_time = scale * found.in_times(slopes[free])
            if self.given.amplitude is None:
                in_time -= found.in_amplitude() * self.prior.height_slope(values, slopes[free])
        last = [found.in_amplitude()] if self.given.amplitude is None else []
        return found.log_evidence, np.concatenate([in_time, last])

    def params(self, z: Array) -> Params:
        time = self.given.times(z)
        height = self.prior.height(self.prior.values(time))
        return Params(time, self._amplitude(height, z))

    def _amplitude(self, height: float, z: Array) -> float:
        return float(np.exp(z[-1])) / height if self.given.amplitude is None else self.given.amplitude
