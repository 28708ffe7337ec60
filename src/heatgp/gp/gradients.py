"""The derivatives of a log evidence in the logarithms of all parameters."""

from typing import Any

import numpy as np

from ..covariance import Array
from .linalg import JITTER
from .prior import Pairs, Prior
from .regression import Posterior


def regression_gradient(posterior: Posterior, pairs: Pairs = None) -> Array:
    """The derivatives of log p(y) in the logs of all times, of the amplitude and of the noise, in this order.

    With a = C^-1 (y - mean) the derivative along dC is (a' dC a - tr(C^-1 dC)) / 2. An estimated mean maximises the
    evidence, so that its change has no part in it. Noise below 1e-10 of the prior variance counts as that much: there
    the evidence does not depend on it.

    Reference: Rasmussen & Williams (2006), eq. 5.9.
    """
    params, factor, a = posterior.params, posterior.factor, posterior.weights[:, 0]
    prior = Prior.of(posterior.kernel, posterior.X, params.time, pairs)
    times = range(posterior.kernel.parameters)
    values, slopes = prior.at(params.time, times)
    power, scale = prior.form.power, params.amplitude**prior.form.power
    in_times = np.array([factor.slope(scale * slope, a / 2, a) for slope in slopes])
    in_amplitude = factor.slope(power * scale * values, a / 2, a)
    in_noise = 0.5 * float((a**2 - factor.inverse_diagonal()) @ (1.0 / factor.precision))
    if params.noise < JITTER * params.amplitude * prior.height(values):
        in_times = in_times + in_noise * prior.height_slopes(values, slopes)
        in_amplitude, in_noise = in_amplitude + in_noise, 0.0
    return np.array([*in_times, in_amplitude, in_noise])


def classification_gradient(posterior: Any, pairs: Pairs = None) -> Array:
    """The derivatives of the approximate log evidence in the logs of all times and of the amplitude, in this order."""
    params, found = posterior.params, posterior.approximation
    prior = Prior.of(posterior.kernel, posterior.X, params.time, pairs)
    _, slopes = prior.at(params.time, range(posterior.kernel.parameters))
    scale = params.amplitude**prior.form.power
    return np.array([*(scale * found.in_times(slopes)), found.in_amplitude])
