"""Log expected improvement: how much lower than the best value so far a new value is expected to be, as a logarithm.

The logarithm has gradients where the improvement itself is below every floating point number.

Reference: Jones, Schonlau and Welch (1998), Journal of Global Optimization 13, 455-492, eq. 15; Ament, Daulton,
Eriksson, Balandat and Bakshy (2023), Unexpected Improvements to Expected Improvement for Bayesian Optimization.
"""

import math
from typing import Any

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

from ..covariance import Array, scaled_vectors

LOG_ROOT = 0.5 * math.log(2 * math.pi)
FAR = -1e4
"""Standard deviations below which h(u) is phi(u) / u² to rounding."""
LEAST = 1e-10
"""Standard deviations over the prior's that count as none: below the square root of the rounding of a variance."""


def log_improvement(u: Array) -> Array:
    """log h(u), h(u) = phi(u) + u Phi(u): the expected improvement in standard deviations, u of them below the best.

    Examples
    --------
    >>> log_improvement(np.array([0.0, -10.0, -1e5])).round(4)
    array([-9.18900000e-01, -5.55531000e+01, -5.00000002e+09])
    """
    near, far = np.maximum(u, -1.0), np.minimum(u, -1.0)
    # Phi(u) / phi(u) = √(pi / 2) erfcx(-u / √2); 1 + u times it loses digits like u²
    share = np.where(far > FAR, 1 + far * math.sqrt(math.pi / 2) * erfcx(-far / math.sqrt(2)), 1 / (far * far))
    log_near = np.log(np.exp(-near * near / 2 - LOG_ROOT) + near * ndtr(near))
    return np.where(u > -1.0, log_near, -far * far / 2 - LOG_ROOT + np.log(share))


def expected_improvement(mean: Array, std: Array, best: float) -> tuple[Array, Array, Array]:
    """The log expected improvement of normal variables on a value, and its derivatives in their means and deviations.

    Examples
    --------
    >>> value, in_mean, in_std = expected_improvement(np.array([1.0]), np.array([2.0]), 1.0)
    >>> np.exp(value).round(4), in_mean.round(4), in_std.round(4)  # 2 phi(0)
    (array([0.7979]), array([-0.6267]), array([0.5]))
    """
    u = (best - mean) / std
    log_h = log_improvement(u)
    in_mean = -np.exp(log_ndtr(u) - log_h) / std
    in_std = np.exp(-u * u / 2 - LOG_ROOT - log_h) / std
    return np.log(std) + log_h, in_mean, in_std


def improvement_of(model: Any, best: float) -> tuple[Any, Any]:
    """Minus the log expected improvement of a fitted GPRegressor: a function of points, and one with its gradient.

    Parameters
    ----------
    model : GPRegressor, fitted.
    best : float, the value to improve on.

    Returns
    -------
    value : function from points (n, *shape) to (n,).
    with_gradient : function from points to values and tangent vectors (n, *shape), as `descend` takes it.
    """
    least = LEAST * math.sqrt(model.amplitude_)

    def value(x: Array) -> Array:
        mean, std = model.predict(x, return_std=True)
        return -expected_improvement(mean, np.maximum(std, least), best)[0]

    def with_gradient(x: Array) -> tuple[Array, Array]:
        mean, std, of_mean, of_std = model.gradient(x, return_prediction=True)
        found, in_mean, in_std = expected_improvement(mean, np.maximum(std, least), best)
        return -found, -(scaled_vectors(in_mean, of_mean) + scaled_vectors(in_std, of_std))

    return value, with_gradient
