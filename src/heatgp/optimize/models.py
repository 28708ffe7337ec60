"""Gaussian processes of a search: of the values, also of those that are pending, and of where evaluations succeed.

An evaluation has the label 1 where it succeeded and -1 where it failed. A Gaussian process of the labels learns their
noise, too. Failures at random are noise, and then the probability of success is nearly the same at all points;
failures that gather in a region are a function of the point.

Reference: Gelbart, Snoek and Adams (2014), Bayesian Optimization with Unknown Constraints, section 2.4; Rasmussen and
Williams (2006), Gaussian Processes for Machine Learning, section 6.5.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from ..array import Array
from ..errors import HeatGPWarning, caught_warnings
from ..estimators import GPRegressor
from ..gp.parameters import Priors

LIKELY = 0.75
"""The least probability of success of a proposal, over the highest one among some points."""
LENGTHS_OF_SUCCESS = (1 / 16, 2.0)
"""Lengths over which success may vary, over the size of the part of the space where data are."""


class Data(NamedTuple):
    """What is known of a function.

    Parameters
    ----------
    X : array (n, *shape) of points.
    y : array (n,) of values, nan where evaluations failed.
    pending : array (p, *shape) of points whose values will be known later.
    noise : float, the variance of the noise of the values; None if it is not known.
    """

    X: Array
    y: Array
    pending: Array
    noise: float | None


def fitted(manifold: Any, X: Array, y: Array, **options: Any) -> GPRegressor:
    """A dense model, of the heat kernel by default. What it would warn of, few data and short times, is usual here."""
    with caught_warnings(HeatGPWarning):
        return GPRegressor(manifold, inference="dense", **{"smoothness": math.inf} | options).fit(X, y)


def parameters_of(model: GPRegressor) -> dict[str, Any]:
    """What a model has learned, as arguments of another one."""
    return {"time": model.time_, "amplitude": model.amplitude_, "noise": model.noise_}


def with_pending(model: GPRegressor, data: Data) -> GPRegressor:
    """The model of the data that takes its own mean at pending points for their values.

    Reference: Ginsbourger, Le Riche and Carraro (2010), Kriging is well-suited to parallelize optimization, 4.2.
    """
    if not len(data.pending):
        return model
    X, y = np.concatenate([data.X, data.pending]), np.concatenate([data.y, model.predict(data.pending)])
    return fitted(model.manifold, X, y, kernel=model.kernel, smoothness=model.smoothness, **parameters_of(model))


def nearly_normal(y: Array) -> tuple[Array, float]:
    """Values moved by the increasing function of Yeo and Johnson's family that makes them most like normal ones.

    A model of them is not governed by the few largest values, which do not matter for the minimum.

    Returns
    -------
    values : array (n,)
    factor : float, by which the variance of small noise of y is multiplied, on average over y.

    Reference: Yeo and Johnson (2000), Biometrika 87, 954-959.
    """
    from scipy.stats import yeojohnson

    spread = float(np.std(y))
    if not spread > 0:
        return y - y.mean(), 1.0
    unit = (y - y.mean()) / spread
    with np.errstate(all="ignore"):  # powers that it tries overflow
        found, power = yeojohnson(unit)
    if not (np.isfinite(found).all() and np.ptp(found) > 0):
        return unit, spread**-2
    slopes = (1 + np.abs(unit)) ** ((power - 1) * np.sign(unit))
    return found, float(np.mean(slopes**2)) / spread**2


def likely(
    manifold: Any, X: Array, y: Array, size: float, candidates: Array, times: tuple = (0.0, math.inf), **kernel: Any
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
    low, high = np.clip([(length * size) ** 2 for length in LENGTHS_OF_SUCCESS], *times).tolist()
    bounds = (low, high) if low < high else None  # else those of the kernel
    model = fitted(manifold, X, np.where(succeeded, 1.0, -1.0), priors=Priors(time_bounds=bounds), **kernel)

    def probability(x: Array) -> Array:
        mean, std = model.predict(x, return_std=True, noise=True)
        return ndtr(mean / std)

    least = LIKELY * float(probability(candidates).max())
    return lambda x: probability(x) >= least
