"""The evidence as a function of the logs of the parameters that are not given.

The kernel's scale is divided out. With c the mean prior variance of the data at amplitude 1, the coordinates after the
times are the logs of amplitude * c, or of noise / (amplitude * c). So the bounds of the search do not depend on the
size of the kernel's values, which changes with time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from ..covariance import Array
from .kernels import constant
from .linalg import JITTER, Diagonal, LowRank
from .params import Given, Params
from .prior import Prior
from .regression import Evidence, evidence


@dataclass(frozen=True)
class RegressionObjective:
    """The evidence of y as a function of the free log times and of one more coordinate.

    That is the log of noise / prior variance, or, where the noise is given and positive, of the prior variance. The
    amplitude is the best one, in closed form, unless it is given or is that coordinate.
    """

    prior: Prior
    y: Array  # the columns of `targets`
    given: Given
    variance: tuple[float, float]  # the interval of the prior variance

    @property
    def names(self) -> list[str]:
        """The names of the coordinates."""
        if self.given.noise is None:
            return [*self.given.time_names, "noise"]
        learned = self.given.amplitude is None and self.given.noise > 0
        return self.given.time_names + ["amplitude"] * learned

    def __call__(self, z: Array) -> tuple[float, Array]:
        """The evidence and its gradient."""
        given = self.given
        values, slopes = self.prior.at(given.times(z), given.free)
        found, floored = self._evidence(values, z)
        in_height = -found.in_amplitude if given.amplitude is None else 0.0
        if given.noise is None or given.amplitude is None or floored:
            in_height += found.in_ratio
        in_times = found.in_times(slopes) + in_height * self.prior.height_slopes(values, slopes)
        if "noise" in self.names:
            return found.value, np.append(in_times, found.in_ratio)
        if "amplitude" in self.names:
            return found.value, np.append(in_times, found.in_amplitude - (0.0 if floored else found.in_ratio))
        return found.value, in_times

    def spectral(self, z: Array) -> RegressionObjective:
        """The same at the times of z, in the basis of K's eigenvectors: one decomposition for all other parameters."""
        time = self.given.times(z)
        values, _ = self.prior.at(time)
        K = values @ values.T if self.prior.form is LowRank else values
        eigenvalues, vectors = linalg.eigh(K, driver="evd", check_finite=False)
        fixed = replace(self.given, time=tuple(np.atleast_1d(time).tolist()))
        return replace(self, prior=Prior(constant(eigenvalues), Diagonal), y=vectors.T @ self.y, given=fixed)

    def params(self, z: Array) -> Params:
        """The parameters at these coordinates, the amplitude of the closed form included."""
        time, noise = self.given.times(z), self.given.noise
        found, _ = self._evidence(self.prior.at(time)[0], z)
        return Params(time, found.amplitude, found.amplitude * found.ratio if noise is None else noise)

    def _evidence(self, values: Array, z: Array) -> tuple[Evidence, bool]:
        """The evidence, and whether the jitter stands in the place of the noise."""
        given, height = self.given, self.prior.height(values)
        amplitude: float | tuple[float, float] = (self.variance[0] / height, self.variance[1] / height)
        if given.amplitude is not None:
            amplitude = given.amplitude
        elif "amplitude" in self.names:
            amplitude = float(np.exp(z[-1])) / height
        if given.noise is None:
            ratio = float(np.exp(z[-1])) * height
        else:  # an amplitude that is still an interval has no noise beside it
            ratio = 0.0 if isinstance(amplitude, tuple) else given.noise / amplitude
        floored, ratio = ratio < JITTER * height, max(ratio, JITTER * height)
        return evidence(self.prior.form.of(values, 1.0 / ratio), ratio, self.y, amplitude), floored
