"""The derivatives of a log evidence in the logarithms of all parameters."""

from dataclasses import replace
from typing import Any

import numpy as np

from ..covariance import Array, Kernel
from .inference import chosen
from .latent_objective import LatentObjective
from .linalg import JITTER
from .params import Given
from .prior import Prior
from .regression import Posterior


def regression_gradient(posterior: Posterior) -> Array:
    """The derivatives of log p(y) in the logs of all times, of the amplitude and of the noise, in this order.

    Noise below 1e-10 of the prior variance counts as that much: there the evidence does not depend on it.

    Reference: Rasmussen & Williams (2006), eq. 5.9.
    """
    params, factor, D = posterior.params, posterior.factor, posterior.directions
    prior = Prior.of(posterior.kernel, posterior.X, params.time)
    values, slopes = prior.at(params.time, range(posterior.kernel.parameters))
    power, scale = prior.form.power, params.amplitude**prior.form.power
    in_times = np.array([factor.slope(scale * slope, D / 2, D) for slope in slopes])
    in_amplitude = factor.slope(power * scale * values, D / 2, D)
    variances = 1.0 / factor.precision
    in_noises = 0.5 * variances * (np.square(D).sum(axis=1) - factor.inverse_diagonal())
    floored = variances <= JITTER * params.amplitude * prior.height(values)
    in_floor = float(in_noises[floored].sum())
    in_times = in_times + in_floor * prior.height_slopes(values, slopes)
    return np.array([*in_times, in_amplitude + in_floor, float(in_noises[~floored].sum())])


def latent_gradient(kernel: Kernel, posterior: Any, inference: str, constant: bool) -> Array:
    """The derivatives of the approximate log evidence of any likelihood in the logs of its parameters.

    These are all times, the amplitude and the parameters of the likelihood, in this order. A parameter of the
    likelihood that is 0 has the derivative 0.
    """
    params, likelihood = posterior.params, posterior.likelihood
    prior = Prior.of(kernel, posterior.X, params.time, dense=likelihood.functions is not None)
    values, slopes = prior.at(params.time, range(kernel.parameters))
    names = [name for name in likelihood.bounds if vars(likelihood)[name] > 0]
    given = Given.of(kernel, None, None, 0.0)
    free: Any = replace(likelihood, **dict.fromkeys(names))
    objective = LatentObjective(prior, posterior.y, given, free, chosen(inference), constant)
    variance = params.amplitude * prior.height(values)
    own = [vars(likelihood)[name] for name in names]
    _, gradient = objective(np.log([*np.atleast_1d(params.time), variance, *own]))
    times = kernel.parameters
    # the coordinate is amplitude * height: at a fixed amplitude the variance moves with the time
    in_times = gradient[:times] + gradient[times] * prior.height_slopes(values, slopes)
    found = dict(zip(names, gradient[times + 1 :]))
    return np.array([*in_times, gradient[times], *(found.get(name, 0.0) for name in likelihood.bounds)])
