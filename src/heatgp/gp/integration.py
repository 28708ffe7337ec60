"""Parameters beyond the best guess: their curvature-based spread, and a grid of points that stands for their
distribution.

An objective goes from the logs z of the parameters that are learned to their log posterior density and its gradient.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg
from scipy.special import expit, gamma, ndtr
from scipy.stats import chi2

from ..covariance import Array
from ..errors import InvalidInput, NotConverged, NotPositiveDefinite
from .objective import Objective, attempted
from .parameters import log_density

DIFFERENCE = 1e-2
"""Difference of a log parameter over which the gradient is compared: the curvature changes little over it."""
SPACING = 1.5
"""Distance of grid points in standard deviations."""
LONGEST = 1.8
"""The largest such distance in log parameters: a factor of 6."""
OUTSIDE = 0.01
"""Share of a normal distribution that may be beyond the points whose neighbours are explored."""
MOST = 1000
"""Grid points at most; those of the highest density come first."""
LIGHT = 2e-3
"""Points whose density is less than this part of the highest are left out."""
MOST_PARAMETERS = 4
"""Learned parameters up to which a grid is affordable."""
NO_SIGNAL = 0.2
"""The probability, before the data, that observations do not depend on the points."""
DECIDED = 30.0
"""How far the log evidence of no signal is below the best one where it does not count."""
FLATTEST = 0.01
"""Curvatures count as at least this: the spread of a log parameter is at most ten."""


@dataclass(frozen=True)
class Grid:
    """Points that stand for the distribution of the log parameters.

    Attributes
    ----------
    points : array (G, d), the best first.
    weights : array (G,), with the sum 1.
    """

    points: Array
    weights: Array


def curvature(objective: Objective, z: Array, box: Array) -> Array:
    """Minus the second derivatives of an objective (d, d), by differences of its gradients within the box."""
    moves = DIFFERENCE * np.eye(len(z))
    rows = []
    for k, move in enumerate(moves):
        high, low = (np.clip(z + side * move, *box.T) for side in (1, -1))
        rows.append((objective(low)[1] - objective(high)[1]) / (high[k] - low[k]))
    found = np.reshape(rows, (len(z), len(z)))
    return (found + found.T) / 2


def axes(minus_hessian: Array) -> Array:
    """Steps of the grid, the columns of a lower triangular matrix (d, d): a root of the covariance times `SPACING`.

    A triangular root, where the usual choice is the principal axes, gives the first coordinates, the times, few values:
    the kernel is evaluated once for each of them. No principal axis is longer than `LONGEST`: at the mode there may be
    no curvature at all.

    Reference: Rue, Martino & Chopin (2009), section 6.5.
    """
    values, vectors = np.linalg.eigh(minus_hessian)
    lengths = SPACING / np.sqrt(np.maximum(values, (SPACING / LONGEST) ** 2))
    return linalg.qr((vectors * lengths).T, mode="r")[0].T


def grid(value: Callable[[Array], float], starts: Sequence[Array], steps: Array, box: Array) -> Grid:
    """The points of a lattice around the first start where the density is not negligible, and their weights.

    From the starts the lattice is explored neighbour by neighbour, the highest density first, until the density is as
    low as at the border of all but `OUTSIDE` of a normal distribution. Points stand for equal volumes, so weights are
    proportional to densities; only where a cell is cut by the bounds it counts less.

    Parameters
    ----------
    value : function of z, the log density up to a constant; -inf, NotPositiveDefinite or NotConverged where there is
        none.
    starts : list of arrays (d,), the mode, and other local maxima.
    steps : array (d, d), the steps of the lattice as columns.
    box : array (d, 2), the bounds of z.

    Raises
    ------
    InvalidInput : if there are more than four parameters.
    """
    origin, d = np.asarray(starts[0], dtype=float), len(box)
    check_grid(d)
    inverse = np.linalg.inv(steps)
    seen: dict[tuple[int, ...], float] = {}
    queue: list[tuple[float, tuple[int, ...]]] = []

    def visit(place: tuple[int, ...]) -> None:
        if place in seen or len(seen) >= MOST:
            return
        z = origin + steps @ np.array(place, dtype=float)
        inside = np.all((z >= box[:, 0]) & (z <= box[:, 1]))
        seen[place] = attempted(value, z) if inside or not any(place) else -np.inf
        heapq.heappush(queue, (-seen[place], place))

    for start in starts:
        visit(tuple(np.rint(inverse @ (start - origin)).astype(int).tolist()))
    best, drop = max(seen.values()), float(chi2.isf(OUTSIDE, d)) / 2
    while queue and -queue[0][0] > best - drop:
        _, place = heapq.heappop(queue)
        best = max(best, seen[place])
        for k in range(d):
            for side in (-1, 1):
                visit((*place[:k], place[k] + side, *place[k + 1 :]))
    places = [place for place, value in seen.items() if value > best + np.log(LIGHT)]
    places.sort(key=lambda place: -seen[place])
    points = origin + np.array(places, dtype=float).reshape(-1, d) @ steps.T
    half = np.abs(np.diagonal(steps)) / 2
    inside = np.minimum(points + half, box[:, 1]) - np.maximum(points - half, box[:, 0])
    weights = np.exp(np.array([seen[place] for place in places]) - best) * np.prod(inside / (2 * half), axis=1)
    return Grid(points, weights / weights.sum())


def check_grid(parameters: int) -> None:
    """Raise InvalidInput where so many learned parameters are too many for a grid."""
    if parameters > MOST_PARAMETERS:
        raise InvalidInput(
            f"integrate='grid' with {parameters} learned parameters: a grid of more than {MOST_PARAMETERS} is too "
            'large. Give some of them, learn one time for all factors (time="shared"), or leave integrate None.'
        )


def usual_size(parameters: int) -> int:
    """How many points the grid of so many parameters has where their distribution is normal and no bound cuts it.

    This is the volume, in cells of the lattice, of the ball where the density is more than `LIGHT` of the highest.

    >>> [usual_size(d) for d in (1, 2, 3, 4)]
    [5, 17, 54, 151]
    """
    radius, half = np.sqrt(-2 * np.log(LIGHT)) / SPACING, parameters / 2
    return round(float(np.pi**half / gamma(half + 1) * radius**parameters))


def explored(objective: Any, starts: Sequence[Array], box: Array) -> Grid:
    """The grid of an objective, from its local maxima, the best first."""
    steps = axes(curvature(objective, starts[0], box))
    return grid(of_shared_times(objective), starts, steps, box)


def with_no_signal(objective: Objective, z: Array, box: Array) -> Grid:
    """The best parameters z, and those of no signal: the prior variance of f is at the end of its usual interval.

    Each is one hypothesis. The evidence of the first is averaged over the parameters, by Laplace's approximation
    within the bounds; priors are those of the objective, within the bounds. The second has the probability
    `NO_SIGNAL` before the data, and no parameters. It is left out where it does not count.

    Reference: Kass & Raftery (1995), Bayes factors, J. Am. Stat. Assoc. 90, section 4.1.
    """
    alone, names = Grid(z[None], np.ones(1)), objective.names
    null, likelihood = z.copy(), objective.inference.likelihood
    null[names.index("amplitude")] = np.log(likelihood.in_unit("amplitude", likelihood.variance_bounds[0]))
    best = attempted(objective.value, z)
    without = attempted(objective.value, null) - log_density(objective.priors, names, null)[0]
    if not (np.isfinite(best) and best - without < DECIDED):
        return alone
    try:
        values, vectors = np.linalg.eigh(curvature(objective, z, box))
    except (NotConverged, NotPositiveDefinite):
        return alone
    values = np.maximum(values, FLATTEST)
    spreads = np.sqrt(np.square(vectors) @ (1.0 / values))
    within = ndtr((box[:, 1] - z) / spreads) - ndtr((box[:, 0] - z) / spreads)
    masses = [
        objective.priors[name].mass(*np.exp(ends)) if name in objective.priors else ends[1] - ends[0]
        for name, ends in zip(names, box)
    ]
    evidence = best + 0.5 * np.log(2 * np.pi / values).sum() + np.log(within).sum() - np.log(masses).sum()
    weight = float(expit(without - evidence + np.log(NO_SIGNAL / (1 - NO_SIGNAL))))
    return Grid(np.stack([z, null]), np.array([1 - weight, weight])) if weight > LIGHT else alone


def of_shared_times(objective: Any) -> Callable[[Array], float]:
    """The values of an objective, for points that share times: the kernel is evaluated once for each of these."""
    free, names = len(objective.given.free), objective.given.time_names
    kept: dict[bytes, Any] = {}

    def value(z: Array) -> float:
        key = z[:free].tobytes()
        if key not in kept:
            kept[key] = objective.inference.at_times(objective, z[:free])
        return kept[key].value(z[free:]) + log_density(objective.priors, names, z[:free])[0]

    return value
