"""The evidence as a function of the logs of the parameters that are not given.

The kernel's scale is divided out. With c the mean prior variance of the data at amplitude 1, the coordinates after the
times are the logs of amplitude * c, or of noise / (amplitude * c). So the bounds of the search do not depend on the
size of the kernel's values, which changes with time.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import linalg

from ..covariance import Array, Evaluation
from .kernels import constant
from .linalg import JITTER, Diagonal, LowRank
from .params import Given, Params
from .prior import Prior
from .probit import Approximation
from .regression import Evidence, evidence, in_times


@dataclass(frozen=True)
class RegressionObjective:
    """The evidence of y as a function of the free log times and of one more coordinate.

    That is the log of noise / prior variance, or, where the noise is given and positive, of the prior variance. The
    amplitude is the best one, in closed form, unless it is given or is that coordinate.
    """

    prior: Prior
    y: Array
    basis: Array | None
    given: Given
    variance: tuple[float, float]  # the interval of the prior variance

    @property
    def second(self) -> str | None:
        """The name of the coordinate after the times."""
        if self.given.noise is None:
            return "noise"
        return "amplitude" if self.given.amplitude is None and self.given.noise > 0 else None

    def __call__(self, z: Array) -> tuple[float, Array]:
        """The evidence and its gradient."""
        given, at = self.given, self.prior.at(self.given.times(z))
        slopes = at.slopes[given.free] if given.free else None  # asked before the values: some kernels compute both
        factor, found, floored = self._evidence(at, z)
        gradient: list[Any] = []
        if slopes is not None:
            in_height = -found.in_amplitude if given.amplitude is None else 0.0
            if given.noise is None or given.amplitude is None or floored:
                in_height += found.in_ratio
            gradient = [in_times(factor, found, slopes) + in_height * self.prior.height_slopes(at)[given.free]]
        if self.second == "noise":
            gradient.append([found.in_ratio])
        elif self.second == "amplitude":
            gradient.append([found.in_amplitude - (0.0 if floored else found.in_ratio)])
        return found.value, np.concatenate([np.empty(0), *gradient])

    def spectral(self, z: Array) -> RegressionObjective:
        """The same at the times of z, in the basis of K's eigenvectors: one decomposition for all other parameters."""
        time = self.given.times(z)
        values = self.prior.at(time).value
        K = values @ values.T if self.prior.form is LowRank else values
        eigenvalues, vectors = linalg.eigh(K, driver="evd", check_finite=False)
        basis = None if self.basis is None else vectors.T @ self.basis
        fixed = replace(self.given, time=tuple(np.atleast_1d(time).tolist()))
        prior = Prior(constant(eigenvalues), Diagonal)
        return replace(self, prior=prior, y=vectors.T @ self.y, basis=basis, given=fixed)

    def params(self, z: Array) -> Params:
        """The parameters at these coordinates, the amplitude of the closed form included."""
        time = self.given.times(z)
        at = self.prior.at(time)
        amplitude, noise = self._evidence(at, z)[1].amplitude, self.given.noise
        if noise is None:
            noise = amplitude * float(np.exp(z[-1])) * self.prior.height(at)
        return Params(time, amplitude, noise)

    def prior_variance(self, z: Array) -> float:
        """amplitude * c."""
        at = self.prior.at(self.given.times(z))
        return self._evidence(at, z)[1].amplitude * self.prior.height(at)

    def _evidence(self, at: Evaluation, z: Array) -> tuple[Any, Evidence, bool]:
        """The factored prior, the evidence, and whether the jitter stands in the place of the noise."""
        given, height = self.given, self.prior.height(at)
        amplitude: float | tuple[float, float] = (self.variance[0] / height, self.variance[1] / height)
        if given.amplitude is not None:
            amplitude = given.amplitude
        elif self.second == "amplitude":
            amplitude = float(np.exp(z[-1])) / height
        if given.noise is None:
            ratio = float(np.exp(z[-1])) * height
        else:  # an amplitude that is still an interval has no noise beside it
            ratio = 0.0 if isinstance(amplitude, tuple) else given.noise / amplitude
        floored, ratio = ratio < JITTER * height, max(ratio, JITTER * height)
        factor = self.prior.factor(at, 1.0 / ratio)
        return factor, evidence(factor, ratio, self.y, self.basis, amplitude), floored


@dataclass(frozen=True)
class ClassObjective:
    """The approximate evidence of labels as a function of the free log times and of the log of the prior variance."""

    prior: Prior
    y: Array
    given: Given
    approximate: Any
    last: list[Approximation] = field(default_factory=list)  # where the next inference starts

    def __call__(self, z: Array) -> tuple[float, Array]:
        """The evidence and its gradient."""
        given, at = self.given, self.prior.at(self.given.times(z))
        slopes = at.slopes[given.free] if given.free else None
        amplitude = self._amplitude(at, z)
        start = self.last[-1] if self.last else None
        found = self.approximate(lambda precision: self.prior.factor(at, precision, amplitude), self.y, start=start)
        self.last[:] = [found]
        gradient: list[Any] = []
        if slopes is not None:
            gradient = [amplitude**self.prior.form.power * found.in_times(slopes)]
            if given.amplitude is None:
                gradient[0] -= found.in_amplitude() * self.prior.height_slopes(at)[given.free]
        if given.amplitude is None:
            gradient.append([found.in_amplitude()])
        return found.log_evidence, np.concatenate([np.empty(0), *gradient])

    def params(self, z: Array) -> Params:
        """The parameters at these coordinates."""
        time = self.given.times(z)
        return Params(time, self._amplitude(self.prior.at(time), z))

    def _amplitude(self, at: Evaluation, z: Array) -> float:
        given = self.given.amplitude
        return float(np.exp(z[-1])) / self.prior.height(at) if given is None else given
