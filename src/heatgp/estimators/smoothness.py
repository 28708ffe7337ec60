"""The smoothness of the kernel of a model: given, or learned from some of the data by their evidence."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arguments import shown
from ..covariance import Array, Kernel
from ..errors import InvalidInput, NotConverged, NotPositiveDefinite, caught_warnings
from ..gp.objective import best_of
from ..gp.parameters import Given, LogNormal
from ..gp.search import Bounds, fit, maxima, objective_of, step_units
from ..heat.kernel import HeatKernel
from ..heat.matern import check_smoothness
from .kernels import simple_parts, smoothness_of

GRID = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, math.inf)
"""The smoothness tried, from `FIRST` on to where the evidence is largest; then between them."""
FIRST = 2
PRIOR = LogNormal(1.5, 1.0)
"""What is known of a smoothness before the data; of `inf` as of the largest number tried."""
GAIN = 1e-4
"""Relative change of the evidence per datum at which a search of the other parameters ends."""


def check_model_smoothness(smoothness: Any, kernel: Any) -> None:
    """Raise InvalidInput for a smoothness that no model has, or not one with this `kernel`, before any work."""
    if isinstance(smoothness, str):
        if smoothness not in ("auto", "learn"):
            raise InvalidInput(
                f"smoothness = {smoothness!r} is not known. Give a number, inf for the heat kernel, 'learn' or 'auto', "
                "which learns it where the heat kernel is exact."
            )
        if smoothness == "auto":
            return
    elif check_smoothness(smoothness) == math.inf:
        return
    if isinstance(kernel, str) and kernel == "precomputed":
        raise InvalidInput(f"smoothness = {smoothness!r}, but a precomputed kernel has its own. Leave it out.")
    for simple in own_smoothness(kernel):
        advice = "Leave one of them out, or give its heat kernel."
        if simple.smoothness_given_by:
            advice = f"Leave it out, and give it where the kernel is made: {simple.smoothness_given_by}."
        raise InvalidInput(f"smoothness = {shown(smoothness)}, but {simple!r} has its own. {advice}")


def own_smoothness(kernel: Any) -> list[Any]:
    """The parts of the argument `kernel` of a model that have a smoothness of their own."""
    parts = kernel if isinstance(kernel, (list, tuple)) else [kernel]
    simple = [each for part in parts if isinstance(part, HeatKernel) for each in simple_parts(part)]
    return [each for each in simple if each.smoothness_given_by or smoothness_of(each) < math.inf]


def is_learned(smoothness: Any, kernel: HeatKernel) -> bool:
    """Whether the argument `smoothness` of a model asks for the best one of this kernel."""
    if isinstance(smoothness, str) and smoothness == "auto":
        return kernel.is_exact and not own_smoothness(kernel)
    return isinstance(smoothness, str)


def learned_smoothness(
    kernel_of: Callable[[float], Kernel],
    bounds_of: Callable[[Kernel], Bounds],
    X: Array,
    y: Any,
    given: Given,
    **options: Any,
) -> float:
    """The smoothness with the largest posterior density, with the other parameters at their best for each.

    The other parameters are searched for with the heat kernel, which costs least. From there the search goes on from
    each smoothness to the next.

    Parameters
    ----------
    kernel_of : function from a smoothness to the kernel.
    bounds_of : function from a kernel to where its parameters are searched for.
    X, y, given, options : as in `gp.search.fit`.
    """
    place: Array | None = None

    def log_posterior(smoothness: float) -> float:
        nonlocal place
        kernel = kernel_of(smoothness)
        bounds = bounds_of(kernel)
        prior = float(PRIOR.log_density(np.log(min(smoothness, GRID[-2]))))
        with caught_warnings():
            try:
                objective = objective_of(kernel, X, y, bounds, given, **options)
                if place is None:
                    found = fit(kernel, X, y, bounds, given, **options)
                    place = objective.coordinates(found.params, found.likelihood)
                    return found.log_posterior + prior
                box, count = objective.box, objective.y.count
                start = np.clip(place, *box.T)
                value, place = best_of(
                    maxima(objective, [(start, step_units(objective, start, box, count))], box, GAIN)
                )
            except (NotPositiveDefinite, NotConverged):
                return -math.inf
        return value + prior

    return best_on_grid(log_posterior)


def best_on_grid(value: Callable[[float], float]) -> float:
    """The argument of the largest value, if there is one maximum: on `GRID`, or between its numbers by a parabola."""
    known = {len(GRID) - 1: value(GRID[-1])}

    def at(k: int) -> float:
        if not 0 <= k < len(GRID):
            return -math.inf
        if k not in known:
            known[k] = value(GRID[k])
        return known[k]

    k = FIRST
    step = 1 if at(k + 1) > at(k) else -1
    while at(k + step) > at(k):
        k += step
    below, here, above = at(k - 1), at(k), at(k + 1)
    bend = 2 * here - below - above
    if not 0 < k < len(GRID) - 2 or not 0 < bend < math.inf:
        return GRID[k]
    between = float(GRID[k] * 2.0 ** (0.5 * (above - below) / bend))
    return between if value(between) > here else GRID[k]
