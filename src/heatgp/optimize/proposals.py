"""Where to evaluate next: the largest expected improvement, on the whole manifold or near its best point."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..array import Array
from ..errors import HeatGPWarning, NotPositiveDefinite, caught_warnings
from ..estimators import GPRegressor
from ..gp.parameters import Priors
from ..manifolds import Euclidean
from .descent import Function, descend
from .failures import likely
from .improvement import improvement_of
from .space import Space

RANDOM = 512
"""Random points among which the starts of descents are chosen."""
STARTS = 4
STEPS = 15
PRECISION = 1e-3
"""The slope of the log expected improvement at which a descent ends, and the gain of a step after which it does."""
NEAR = (1e-3, 0.3)
"""Distances from the best point, over the size of the space, at which starts are looked for, too."""
WIDTH = 3.0
"""Data within so many radii of the best point are in the local model."""
LEAST, MOST = 4, 100
"""How many data are in the local model: at least this number for each dimension, and at most that number."""
LENGTHS = (0.125, 30.0)
"""Lengths over which the local model may vary, in radii."""
EXACT = 1e-8
"""The noise of functions without noise, over the variance of their local values."""


def fitted(manifold: Any, X: Array, y: Array, **options: Any) -> GPRegressor:
    """A dense model. What it would warn of, few data and short times, is usual here."""
    with caught_warnings(HeatGPWarning):
        return GPRegressor(manifold, inference="dense", **options).fit(X, y)


def parameters_of(model: GPRegressor) -> dict[str, Any]:
    """What a model has learned, as arguments of another one."""
    return {"time": model.time_, "amplitude": model.amplitude_, "noise": model.noise_}


def believing(model: GPRegressor, X: Array, y: Array, pending: Array) -> GPRegressor:
    """The model that takes its own mean at points whose values are not known yet for their values.

    Reference: Ginsbourger, Le Riche and Carraro (2010), Kriging is well-suited to parallelize optimization, 4.2.
    """
    if not len(pending):
        return model
    X, y = np.concatenate([X, pending]), np.concatenate([y, model.predict(pending)])
    return fitted(model.manifold, X, y, kernel=model.kernel, smoothness=model.smoothness, **parameters_of(model))


def gaussian(y: Array) -> tuple[Array, float]:
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


def only(inside: Callable[[Array], Array], function: Function) -> Function:
    """The function where points are inside; elsewhere its value is infinite, and it is not asked."""

    def limited(x: Array) -> tuple[Array, Array]:
        which = inside(x)
        values, gradients = np.full(len(x), np.inf), np.zeros_like(x)
        if which.any():
            values[which], gradients[which] = function(x[which])
        return values, gradients

    return limited


def explore(
    space: Space,
    X: Array,
    y: Array,
    pending: Array,
    rng: np.random.Generator,
    value_noise: float | None,
    kernel: dict[str, Any],
    **options: Any,
) -> tuple[Array, GPRegressor]:
    """The point of the largest expected improvement on the whole manifold, by a model of all data, and the model.

    Parameters
    ----------
    space : Space
    X : array (n, *shape) of points of the search.
    y : array (n,) of their values, nan where evaluations failed. The models do not see these; they keep the search
        away from where evaluations are likely to fail.
    pending : array (p, *shape) of points whose values will be known later.
    rng : Generator
    value_noise : float, the variance of the noise of y; None to learn it. With noise the lowest mean of the model is
        to be improved on, not the lowest value.
    kernel : kernel and smoothness, as options of GPRegressor.
    options : the parameters of the model, as options of GPRegressor; those not given are learned.
    """
    all_X, all_y, some = X, y, np.isfinite(y)
    X, y = X[some], y[some]
    unit, factor = gaussian(y)
    if value_noise:
        options["noise"] = value_noise * factor
    model = fitted(space.manifold, X, unit, **kernel, **options)
    known = np.concatenate([X, pending])
    least = unit if value_noise == 0 else model.predict(X)
    value, with_gradient = improvement_of(believing(model, X, unit, pending), float(least.min()))
    lengths = space.size * np.exp(rng.uniform(math.log(NEAR[0]), math.log(NEAR[1]), RANDOM // 4))
    starts = np.concatenate([space.random(rng, RANDOM), space.near(rng, X[np.argmin(y)], lengths)])
    starts = starts[space.in_reach(starts, known)]
    succeeds = likely(space.manifold, all_X, all_y, space.size, starts, model.kernel_.times, **kernel)
    starts = starts[succeeds(starts)]
    starts = starts[np.argsort(value(starts))[:STARTS]]
    limited = only(lambda x: space.in_reach(x, known) & succeeds(x), with_gradient)
    found = descend(
        space.manifold, limited, starts, steps=STEPS, tolerance=PRECISION, value_tolerance=PRECISION, bounds=space.box
    )
    return found.x[np.argmin(found.values)], model


def refine(
    space: Space,
    X: Array,
    y: Array,
    pending: Array,
    best: Array,
    radius: float,
    rng: np.random.Generator,
    noise: float | None,
) -> Array:
    """The point of the largest expected improvement in a ball about the best point, by a model of the data near it.

    The model is one of normal coordinates about the best point, in which the heat kernel of short times is normal.

    Parameters
    ----------
    space, X, y, pending, rng : as in `explore`.
    best : array, the centre of the ball.
    radius : float, that of the ball.
    noise : float, the variance of the noise; None to learn it.
    """
    dim = space.manifold.dim
    frame = space.frame(best)
    far = space.distances(X, best)

    def near(which: Array) -> tuple[Array, Array]:
        """The coordinates, in radii, and the values of the nearest of some data."""
        count = int(np.clip((far[which] < WIDTH * radius).sum(), LEAST * dim, MOST))
        nearest = which[np.argsort(far[which])[:count]]
        v = space.coordinates(best, frame, X[nearest]) / radius
        usable = np.isfinite(v).all(axis=1)  # those of another component have no coordinates
        return v[usable], y[nearest][usable]

    v, values = near(np.flatnonzero(np.isfinite(y)))
    spread = float(values.std())
    options: dict[str, Any] = {"priors": Priors(time_bounds=tuple(length**2 for length in LENGTHS))}
    if noise is not None:
        options["noise"] = max(noise, EXACT * spread**2) or None
    try:
        model = fitted(Euclidean(dim), v, values, **options)
    except NotPositiveDefinite:  # nearly the same points
        model = fitted(Euclidean(dim), v, values)
    if len(pending):
        waiting = space.coordinates(best, frame, pending) / radius
        waiting = waiting[(waiting * waiting).sum(axis=1) < WIDTH**2]
        model = believing(model, v, values, waiting)
    least = float(values.min()) if noise == 0 else float(model.predict(v).min())
    value, with_gradient = improvement_of(model, least)

    directions = rng.standard_normal((RANDOM, dim))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    lengths = rng.random(RANDOM) ** (1 / dim) * 10.0 ** -np.repeat([0, 1, 2, 0], math.ceil(RANDOM / 4))[:RANDOM]
    starts = directions * lengths[:, None]
    succeeds = likely(Euclidean(dim), *near(np.arange(len(y))), 2 * WIDTH, starts)
    limited = only(lambda z: ((z * z).sum(axis=1) <= 1) & succeeds(z), with_gradient)
    starts = starts[succeeds(starts)]
    starts = starts[np.argsort(value(starts))[:STARTS]]
    found = descend(Euclidean(dim), limited, starts, steps=STEPS, tolerance=PRECISION, value_tolerance=PRECISION)
    z = found.x[np.argmin(found.values)]
    return space.at(best, frame, radius * z[None])[0]
