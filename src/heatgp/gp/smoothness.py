"""The smoothness of a kernel, learned by the evidence, and a second length over which f varies."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..covariance import Array, Kernel
from ..errors import NotConverged, NotPositiveDefinite, caught_warnings
from ..threads import of_data
from .objective import Objective, best_of
from .parameters import Given, LogNormal, Params
from .search import Bounds, fit, maxima, objective_of, step_units

GRID = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, math.inf)
"""The smoothness tried, up or down from a first one to where the evidence is largest; then between them."""
FIRST = 1.0
PRIOR = LogNormal(1.5, 1.0)
"""What is known of a smoothness before the data; of `inf` as of the largest number tried."""
GAIN = 1e-4
"""Relative change of the evidence per datum at which a search of the other parameters ends."""


Smoothness = float | tuple[float, ...]
"""That of a kernel, or those of each summand of a sum."""


@dataclass(frozen=True)
class Family:
    """Kernels that differ in their smoothness alone, and where the parameters of each are searched for.

    Parameters
    ----------
    kernel : function from a smoothness to the kernel; from several to the sum of their kernels.
    bounds : function from a kernel to the Bounds of its parameters.
    """

    kernel: Callable[[Smoothness], Kernel]
    bounds: Callable[[Kernel], Bounds]


@dataclass(frozen=True)
class Tried:
    """A smoothness, and the best other parameters with it."""

    log_posterior: float
    smoothness: Smoothness
    params: Params


def log_prior(smoothness: float) -> float:
    """The log density of the logarithm of a smoothness before the data."""
    return float(PRIOR.log_density(np.log(min(smoothness, GRID[-2]))))


@of_data
def learned_smoothness(family: Family, X: Array, y: Any, given: Given, **options: Any) -> Tried:
    """The smoothness with the largest posterior density, with the other parameters at their best for each.

    The other parameters are searched for with the heat kernel, which costs least. From there the search goes on from
    each smoothness to the next.

    Parameters
    ----------
    family : Family.
    X, y, given, options : as in `search.fit`.
    """
    heat, tried = family.kernel(math.inf), []
    with caught_warnings():
        found = fit(heat, X, y, family.bounds(heat), given, **options)
    tried.append(Tried(found.log_posterior + log_prior(math.inf), math.inf, found.params))
    place = objective_of(heat, X, y, family.bounds(heat), given, **options).coordinates(found.params, found.likelihood)

    def log_posterior(smoothness: float) -> float:
        nonlocal place
        if math.isinf(smoothness):
            return tried[0].log_posterior
        kernel = family.kernel(smoothness)
        with caught_warnings():
            try:
                objective = objective_of(kernel, X, y, family.bounds(kernel), given, **options)
                value, place = climbed(objective, place)
            except (NotPositiveDefinite, NotConverged):
                return -math.inf
        tried.append(Tried(value + log_prior(smoothness), smoothness, objective.params(place)))
        return tried[-1].log_posterior

    try_on_grid(log_posterior)
    return best_of_tried(tried)


def best_of_tried(tried: list[Tried]) -> Tried:
    """The one with the largest posterior density."""
    return max(tried, key=lambda each: each.log_posterior)


def climbed(objective: Objective, start: Array) -> tuple[float, Array]:
    """The maximum of an objective near a place, and the place."""
    box, count = objective.box, objective.y.count
    start = np.clip(start, *box.T)
    return best_of(maxima(objective, [(start, step_units(objective, start, box, count))], box, GAIN))


def try_on_grid(value: Callable[[float], float], first: float = FIRST) -> None:
    """Ask for values where the largest is, if there is one maximum: on `GRID`, and between its numbers by a parabola.

    Numbers are tried from the one nearest to the first on.
    """
    known: dict[int, float] = {}

    def at(k: int) -> float:
        if not 0 <= k < len(GRID):
            return -math.inf
        if k not in known:
            known[k] = value(GRID[k])
        return known[k]

    k = int(np.argmin(np.abs(np.log(GRID[:-1]) - math.log(min(first, GRID[-2])))))
    step = 1 if at(k + 1) > at(k) else -1
    while at(k + step) > at(k):
        k += step
    below, here, above = at(k - 1), at(k), at(k + 1)
    bend = 2 * here - below - above
    if 0 < k < len(GRID) - 2 and 0 < bend < math.inf:
        value(float(GRID[k] * 2.0 ** (0.5 * (above - below) / bend)))
