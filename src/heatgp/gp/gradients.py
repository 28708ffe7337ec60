"""The derivatives of a log evidence in the logarithms of all parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..covariance import Array
from .normal import Normal
from .parameters import Given


def evidence_gradient(posterior: Any) -> Array:
    """The derivatives of the log evidence in the logs of all times, the amplitude and the parameters of the likelihood.

    Of normal noise the last one is that in the log noise. A parameter that is 0 has the derivative 0. Noise below 1e-10
    of the prior variance counts as that much: there the evidence does not depend on it.

    Reference: Rasmussen & Williams (2006), eq. 5.9.
    """
    params, likelihood, kernel = posterior.params, posterior.likelihood, posterior.kernel_of_f
    normal = isinstance(likelihood, Normal)
    given = Given.of(kernel, None, None, None if normal and params.noise > 0 else 0.0)
    objective = posterior.objective_at(given)
    prior = objective.prior
    values, slopes = prior.at(params.time, range(kernel.parameters))
    found = dict(zip(objective.names, objective(objective.coordinates(params, likelihood))[1]))
    # coordinates are the prior variance, and of normal noise its ratio to the noise
    in_amplitude = found["amplitude"] - (found.get("noise", 0.0) if normal else 0.0)
    in_times = [found[name] for name in kernel.names] + in_amplitude * prior.mean_variance_slopes(values, slopes)
    names = ["noise"] if normal else list(likelihood.bounds)
    return np.array([*in_times, in_amplitude, *(found.get(name, 0.0) for name in names)])
