"""Where to evaluate next: the largest expected improvement, on the whole manifold or near its best point."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..array import Array
from ..errors import NotPositiveDefinite
from ..estimators import GPRegressor
from ..gp.parameters import Priors
from ..manifolds import Euclidean
from .descent import descend
from .improvement import improvement_of
from .models import Data, fitted, likely, nearly_normal, parameters_of, with_pending
from .space import Space

RANDOM = 512
"""Random points among which the starts of descents are chosen."""
STARTS = 4
STEPS = 15
PRECISION = 1e-3
"""The slope of the log expected improvement at which a descent ends, and the gain of a step after which it does."""
START_DISTANCES = (1e-3, 0.3)
"""Distances from the best point, over the size of the space, at which starts are looked for, too."""
WIDTH = 3.0
"""Data within so many radii of the best point are in the local model."""
LEAST, MOST = 4, 100
"""How many data are in the local model: at least this number for each dimension, and at most that number."""
LENGTHS = (0.125, 30.0)
"""Lengths over which the local model may vary, in radii."""
EXACT = 1e-8
"""The noise of functions without noise, over the variance of their local values."""


def explore(
    space: Space, data: Data, rng: np.random.Generator, kernel: dict[str, Any], parameters: dict[str, Any]
) -> tuple[Array, dict[str, Any]]:
    """The point of the largest expected improvement on the whole manifold, by a model of all data.

    The model does not see evaluations that failed; they keep the search away from where others are likely to fail.

    Parameters
    ----------
    space : Space
    data : Data, points of the search.
    rng : Generator
    kernel : kernel and smoothness, as options of GPRegressor.
    parameters : time, amplitude and noise of the model, as options of GPRegressor; learned where empty.

    Returns
    -------
    x : array of the shape of a point.
    parameters : those of the model.
    """
    X, y, pending, noise = data
    some = np.isfinite(y)
    values, factor = nearly_normal(y[some])
    options = {**kernel, **parameters, **({"noise": noise * factor} if noise else {})}
    model = fitted(space.manifold, X[some], values, **options)
    asked = np.concatenate([X[some], pending])
    low, high = np.log(START_DISTANCES)
    lengths = space.size * np.exp(rng.uniform(low, high, RANDOM // 4))
    starts = np.concatenate([space.random(rng, RANDOM), space.near(rng, X[np.nanargmin(y)], lengths)])
    starts = starts[space.in_reach(starts, asked)]
    succeeds = likely(space.manifold, X, y, space.size, starts, model.kernel_.times, **kernel)

    finite = Data(X[some], values, pending, noise)
    x = largest_improvement(model, finite, starts, lambda x: space.in_reach(x, asked) & succeeds(x), space.box)
    return x, parameters_of(model)


def refine(space: Space, data: Data, rng: np.random.Generator, best: Array, radius: float) -> Array:
    """The point of the largest expected improvement in a ball about the best point, by a model of the data near it.

    The model is one of normal coordinates about the best point, in which the heat kernel of short times is normal.

    Parameters
    ----------
    space, data, rng : as in `explore`.
    best : array, the centre of the ball.
    radius : float, that of the ball.
    """
    ball, far = Euclidean(space.manifold.dim), space.distances(data.X, best)

    def near(which: Array) -> tuple[Array, Array]:
        """The coordinates, in radii, and the values of the nearest of some data."""
        count = int(np.clip((far[which] < WIDTH * radius).sum(), LEAST * ball.dim, MOST))
        nearest = which[np.argsort(far[which])[:count]]
        z = space.coordinates(best, data.X[nearest]) / radius
        usable = np.isfinite(z).all(axis=1)  # those of another component have no coordinates
        return z[usable], data.y[nearest][usable]

    z, values = near(np.flatnonzero(np.isfinite(data.y)))
    options: dict[str, Any] = {"priors": Priors(time_bounds=tuple(length**2 for length in LENGTHS))}
    if data.noise is not None:
        options["noise"] = max(data.noise, EXACT * float(values.std()) ** 2) or None
    try:
        model = fitted(ball, z, values, **options)
    except NotPositiveDefinite:  # nearly the same points
        model = fitted(ball, z, values)
    pending = space.coordinates(best, data.pending) / radius
    pending = pending[np.linalg.norm(pending, axis=1) < WIDTH]

    directions = rng.standard_normal((RANDOM, ball.dim))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    lengths = rng.random(RANDOM) ** (1 / ball.dim) * 10.0 ** -np.repeat([0, 1, 2, 0], RANDOM // 4)
    starts = directions * lengths[:, None]
    succeeds = likely(ball, *near(np.arange(len(data.y))), 2 * WIDTH, starts)

    local = Data(z, values, pending, data.noise)
    found = largest_improvement(model, local, starts, lambda z: (np.linalg.norm(z, axis=1) <= 1) & succeeds(z))
    return space.at(best, radius * found[None])[0]


def largest_improvement(
    model: GPRegressor, data: Data, starts: Array, possible: Callable[[Array], Array], box: Array | None = None
) -> Array:
    """The point of the largest expected improvement, by descents from the best of some points.

    With noise the lowest mean of the model is to be improved on, not the lowest value.

    Parameters
    ----------
    model : GPRegressor, of the data.
    data : Data, without evaluations that failed.
    starts : array (m, *shape) of points.
    possible : function from points to an array of bool: where a point may be; the model is asked nowhere else.
    box : array (2, *shape), bounds of the coordinates as in `descend`.
    """
    least = float((data.y if data.noise == 0 else model.predict(data.X)).min())
    value, with_gradient = improvement_of(with_pending(model, data), least)
    starts = starts[possible(starts)]
    starts = starts[np.argsort(value(starts))[:STARTS]]

    def limited(x: Array) -> tuple[Array, Array]:
        which = possible(x)
        values, gradients = np.full(len(x), np.inf), np.zeros_like(x)
        if which.any():
            values[which], gradients[which] = with_gradient(x[which])
        return values, gradients

    found = descend(
        model.manifold, limited, starts, steps=STEPS, tolerance=PRECISION, value_tolerance=PRECISION, bounds=box
    )
    return found.x[np.argmin(found.values)]
