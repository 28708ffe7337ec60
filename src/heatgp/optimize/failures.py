"""Where evaluations fail: the probability of success at a point, from a regression of success on the points.

An evaluation has the label 1 where it succeeded and -1 where it failed. A Gaussian process of the labels learns their
noise, too. Failures at random are noise, and then the probability of success is nearly the same at all points;
failures that gather in a region are a function of the point.

Reference: Gelbart, Snoek and Adams (2014), Bayesian Optimization with Unknown Constraints, section 2.4; Rasmussen and
Williams (2006), Gaussian Processes for Machine Learning, section 6.5.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ndtr

from ..array import Array
from ..errors import HeatGPWarning, caught_warnings
from ..estimators import GPRegressor
from ..gp.parameters import Priors

LIKELY = 0.75
"""The least probability of success of a proposal, over the highest one among some points."""
LENGTHS = (1 / 16, 2.0)
"""Lengths over which success may vary, over the size of the part of the space where data are."""


def likely(
    manifold: Any,
    X: Array,
    y: Array,
    size: float,
    candidates: Array,
    times: tuple[float, float] = (0.0, math.inf),
    **kernel: Any,
) -> Callable[[Array], Array]:
    """Where an evaluation is likely to succeed: a function from points (n, *shape) to an array of bool.

    Parameters
    ----------
    manifold : Manifold
    X : array (n, *shape) of points.
    y : array (n,) of their values, nan where evaluations failed.
    size : float, the size of the part of the space where these points are.
    candidates : array (m, *shape) of points to compare with; the best of them is likely to succeed.
    times : tuple, the shortest and the longest time that the kernel can be asked for, default all.
    kernel : kernel and smoothness, as options of GPRegressor.

    Examples
    --------
    >>> from heatgp import Euclidean
    >>> x = np.linspace(0, 1, 11)[:, None]
    >>> likely(Euclidean(1), x, np.where(x[:, 0] > 0.5, np.nan, 1.0), 1.0, x)(np.array([[0.2], [0.8]]))
    array([ True, False])
    """
    succeeded = np.isfinite(y)
    if succeeded.all():
        return lambda x: np.full(len(x), True)
    low, high = np.clip([(length * size) ** 2 for length in LENGTHS], *times).tolist()
    bounds = (low, high) if low < high else None  # else those of the kernel
    with caught_warnings(HeatGPWarning):  # few data are usual here
        model = GPRegressor(manifold, inference="dense", priors=Priors(time_bounds=bounds), **kernel)
        model.fit(X, np.where(succeeded, 1.0, -1.0))

    def probability(x: Array) -> Array:
        mean, std = model.predict(x, return_std=True, noise=True)
        return ndtr(mean / std)

    least = LIKELY * float(probability(candidates).max())
    return lambda x: probability(x) >= least
