"""Maximising an evidence over the logs of the parameters that are not given."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.stats import qmc

from ..covariance import Array
from ..errors import NotConverged, NotPositiveDefinite

Function = Callable[[Array], tuple[float, Array]]  # log parameters -> the evidence and its gradient
Place = tuple[float, Array]  # an evidence, and the log parameters that have it

ROUGH = 1e-4
"""Relative change of the evidence per datum at which the search on few data ends."""
SAME = 0.5
"""Log parameters within which maxima on few data are one, or one standard deviation: the search there ends early."""
HOPELESS = 5.0
"""How far, in the log evidence of few data, a maximum is below the best one where it is not followed on all data.

This is times the root of their share of all data: a difference grows with the data, and its error like their root.
"""
FAR_BELOW = 25.0
"""How far, in log evidence, a scanned place is below the best one where its neighbour stands for it."""
BEND = 0.1
"""Step of a log parameter for differences of the gradient."""
FLAT = 0.5
"""Slope of the log evidence in a log parameter that is called zero: at most about as much is left to gain."""
AWAY = 0.5
"""How far from the maximum a search may end, in standard deviations of a log parameter: 1/8 is left to gain there."""
ROUNDING = 1e-9
"""Distance within which a coordinate is on a bound."""
RESTARTS = 10
"""How often L-BFGS-B is started again, at most, where it ended although the slope is not zero."""
TOUCHING = 1e-3
"""Relative distance below which a parameter sits on its bound."""
FLATTEST = 0.1
"""Curvatures of the log evidence of few data count as at least this: the spread of a log parameter is at most three."""


@dataclass(frozen=True)
class Search:
    """How a search for parameters goes.

    Attributes
    ----------
    scan : function of an objective and a box of coordinates that returns values at places where a search may start.
    scan_near : the same for data near each other, where times are shorter; `known` are coordinates found before, by
        name.
    few, near : int, the numbers of random data, and of data near each other, on which starts are looked for.
    starts : int, how many of them are followed.
    data : int, the number of data on which the search ends.
    gain : float, the relative change of the evidence per datum at which it ends.
    """

    scan: Callable[[Any, Array], list[Place]]
    scan_near: Callable[[Any, Array, dict[str, float]], list[Place]]
    few: int
    near: int
    starts: int
    data: int
    gain: float = 1e-10


def scan_points(box: Array, count: int) -> Array:
    """Points (count, d) that fill a box (d, 2): equally spaced on an interval, a Sobol sequence in more dimensions."""
    if len(box) == 0:
        return np.empty((1, 0))
    if len(box) == 1:
        return np.linspace(box[0, 0], box[0, 1], count)[:, None]
    unit = qmc.Sobol(len(box), scramble=False).random(1 << (count * len(box) - 1).bit_length())
    return box[:, 0] + unit * (box[:, 1] - box[:, 0])


def diagonal_points(box: Array, count: int) -> Array:
    """Points on the diagonal of a box (d, 2); where d > 1, also those with all coordinates but one at their upper end.

    For times: the same part of each interval, and each time alone where f does not depend on the others.
    """
    points = np.linspace(box[:, 0], box[:, 1], count if len(box) else 1)
    if len(box) < 2:
        return points
    alone = np.where(np.eye(len(box), dtype=bool), box.mean(axis=1), box[:, 1])
    return np.concatenate([points, alone])


def apart(found: Iterable[Place], reach: Array | float) -> list[Place]:
    """The best first, without those that are within `reach`, in every coordinate, of a better one."""
    kept: list[Place] = []
    for value, z in sorted(found, key=lambda pair: -pair[0]):
        if not any(np.all(np.abs(z - other) < reach) for _, other in kept):
            kept.append((value, z))
    return kept


def attempt(objective: Function, z: Array) -> tuple[float, Array]:
    """The objective, or -inf where the covariance cannot be factored or the inference did not converge."""
    try:
        return objective(z)
    except (NotPositiveDefinite, NotConverged):
        return -np.inf, np.zeros(len(z))


def values_at(objective: Any, points: Iterable[Array]) -> list[Place]:
    """The values of an objective at points, without gradients."""
    return [(attempt(lambda z: (objective.value(z), z), z)[0], z) for z in points]


def worth_a_start(scanned: Sequence[Place]) -> list[Place]:
    """Of places along a line the peaks, and all that are not far below the best.

    From a place below a neighbour the way up mostly leads past that one. Not always: a maximum may lie between the two.
    """
    values = np.array([value for value, _ in scanned])
    higher = np.maximum(np.append(values[1:], -np.inf), np.append(-np.inf, values[:-1]))
    kept = (values >= higher) | (values > values.max() - FAR_BELOW)
    return [place for place, is_kept in zip(scanned, kept) if is_kept]


def ascend(
    objective: Function, start: Array, box: Array, scale: float, tolerance: float = 1e-10, unit: Array | float = 1.0
) -> Place:
    """The local maximum reached from `start` by L-BFGS-B.

    `scale`, the number of data, makes tolerances relative. Steps are measured in the `unit` of each coordinate. In a
    curved valley, or beside places where the inference does not converge, L-BFGS-B makes one short step and ends though
    the slope is not zero. It then starts again from there, without what it has learned of curvatures.
    """
    if len(box) == 0:
        return objective(start)[0], start
    worst = 1e10  # finite, so that the line search steps back

    def downhill(steps: Array) -> tuple[float, Array]:
        value, gradient = attempt(objective, steps * unit)
        return (-value / scale, -gradient * unit / scale) if np.isfinite(value) else (worst, gradient)

    options = {"ftol": tolerance, "gtol": 1e-6, "maxiter": 100}
    sides = (box.T / unit).T
    steps, before = np.clip(start / unit, *sides.T), np.inf
    for _ in range(1 + RESTARTS):
        found = minimize(downhill, steps, jac=True, method="L-BFGS-B", bounds=sides, options=options)
        steps, slopes = found.x, inward(-found.jac * scale / unit, found.x, sides)
        if np.abs(slopes).max() < FLAT or before - found.fun < tolerance * max(abs(found.fun), 1.0):
            break
        before = found.fun
    best = np.clip(found.x * unit, *box.T)
    if found.fun >= worst:
        objective(best)  # raises what went wrong
    return -float(found.fun) * scale, best


def inward(gradient: Array, z: Array, box: Array) -> Array:
    """A gradient without the coordinates that point out of the box at z."""
    low, high = box.T + ROUNDING * np.array([[1.0], [-1.0]])
    outward = ((z <= low) & (gradient < 0)) | ((z >= high) & (gradient > 0))
    return np.where(outward, 0.0, gradient)


def steepest(objective: Any, z: Array, box: Array) -> tuple[str, float]:
    """The name of a coordinate that is far from the maximum, in standard deviations, and its slope at z; else 0.0.

    The distance is the slope over the root of the curvature. Coordinates whose slope is less than `FLAT` are not far.
    """
    if len(z) == 0:
        return "", 0.0
    slopes = inward(attempt(objective, z)[1], z, box)  # zero where inference without a start fails
    found, farthest = ("", 0.0), AWAY
    for k in np.flatnonzero(np.abs(slopes) >= FLAT):
        step = np.zeros(len(z))
        step[k] = np.clip(z[k] + np.sign(slopes[k]) * BEND, *box[k]) - z[k]
        value, there = attempt(objective, z + step)
        curvature = (slopes[k] - there[k]) / step[k] if np.isfinite(value) else 0.0
        away = abs(slopes[k]) / np.sqrt(max(curvature, FLATTEST))
        if away > farthest:
            found, farthest = (objective.names[k], float(slopes[k])), away
    return found


def step_units(objective: Function, z: Array, box: Array, scale: float) -> Array:
    """For each coordinate the length over which the objective bends by one for each datum.

    Times bend it a hundred times more than label noise does, and L-BFGS-B needs some steps to find that out.
    """
    steps = np.minimum(BEND, np.ptp(box, axis=1) / 2) * np.where(z < box.mean(axis=1), 1, -1)
    _, here = objective(z)
    there = [attempt(objective, z + step)[1][k] for k, step in enumerate(np.diag(steps))]
    bends = (here - np.array(there)) / np.where(steps == 0, np.inf, steps)
    return np.sqrt(scale / np.maximum(bends, FLATTEST))


def climb(
    coarse: Any, full: Any, scanned: list[Place], box: Array, count: int, tolerance: float = 1e-10
) -> list[Place]:
    """Local maxima, the best first, none within 5 % of a better one.

    On few data from the best `count` scanned places, none within an eighth of the box of a better one: each may lead to
    a maximum of its own. On all data from the best two maxima of those, or from one that the others do not come near.
    """
    usable = [pair for pair in scanned if np.isfinite(pair[0])] or scanned[:1]  # none: the ascent will raise the error
    starts = apart(usable, np.ptp(box, axis=1) / 8)[:count]
    if coarse is full:
        return apart(maxima(full, [z for _, z in starts], box, tolerance), 0.05)
    found = maxima(coarse, [z for _, z in starts], box, ROUGH)
    best, z = max(found, key=lambda pair: pair[0])
    unit = step_units(coarse, z, box, len(coarse.y))
    found = apart(found, np.maximum(SAME, unit / np.sqrt(len(coarse.y))))
    hopeless = best - HOPELESS * np.sqrt(len(coarse.y) / len(full.y))
    near = [z for value, z in found[:2] if value > hopeless]
    units = [unit, *(step_units(coarse, z, box, len(coarse.y)) for z in near[1:])]
    return apart(maxima(full, near, box, tolerance, units), 0.05)


def maxima(
    objective: Any, starts: Sequence[Array], box: Array, tolerance: float, units: Iterable[Array | float] = repeat(1.0)
) -> list[Place]:
    """Those reached from starts by `ascend`. Starts that fail are left out, but not all of them."""
    found, failed = [], None
    for z, unit in zip(starts, units):
        try:
            found.append(ascend(objective, z, box, len(objective.y), tolerance, unit))
        except (NotPositiveDefinite, NotConverged) as error:
            failed = error
    if failed is not None and not found:
        raise failed
    return found
