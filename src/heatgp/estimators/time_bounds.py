"""Where to search for the time of a Gaussian process: from the distances of the data."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.spatial import cKDTree

from ..arguments import EXTREME, shown
from ..covariance import TimeFunction
from ..errors import HeatGPError, InvalidInput
from ..gp.search import Bounds
from ..heat.averaged.euclidean import BESSEL, bessel_correlation
from ..heat.composed import has_units
from ..heat.kernel import HeatKernel
from ..manifolds import Manifold
from ..manifolds.checks import unchecked
from ..threads import of_data
from .kernels import smoothness_of

SUBSET = 200
"""Points whose nearest neighbors, among all data, and whose distances from each other are computed."""
FAR = 64
"""Pairs of these points, the farthest by a rough distance, of which the farthest is chosen."""
CANDIDATES = (8, 4096)
"""Neighbors whose distances are computed: at first, and at most where points are repeated."""
FEW = 1000
"""Data up to which neighbors are found by rough distances; of more, a k-d tree finds them in the embedding."""
MOST_COORDINATES = 64
"""Coordinates of the embedding from which on a k-d tree is of no use: inner products find the neighbors."""
MOST_NUMBERS = 1 << 26
"""Coordinates of all data in the embedding from which on some of the data are taken for all."""
PART = 8
"""The dimension of the data is found from their spacing and that of one in so many of them."""
NUMBERS = 1 << 22
"""Coordinates of pairs of points that are kept in memory at once."""
SEPARATE = 0.01
"""Correlation of neighbours below which a shorter time changes little."""
WEIGHTS = (1e-4, 1e4)
"""Weights of summands beside that of the first: a hundredth to a hundred times its standard deviation."""
ROUGH = 100.0
"""Upper bound of the length over which rough functions vary: then differences of f are those of the limit, to 1 %."""
CONSTANT = 1 - 1e-6
"""Correlation of the farthest points above which f is a constant: amplitudes are searched up to 1e6."""


@of_data
def time_bounds(kernel: HeatKernel, X: np.ndarray, given: Any = None, count: int | None = None) -> Any:
    """Where the numbers that a kernel takes are searched for: one interval, or one for each.

    A time: from (a fifth of the typical nearest distance)² to (three times the largest)², within the kernel's own
    times. The square root of the time is the length over which f varies: below the lower bound data points know nothing
    of each other, above the upper one f is a constant. All times of a kernel that knows none of these. Each of several
    times has the distances that it acts on. Its upper bound is longer, so that f may not depend on them at all.

    Parameters
    ----------
    kernel : HeatKernel
    X : array of points
    given : the intervals of the times that the user gives, default None; weights have theirs.
    count : int, default None. The number of all data where X is a random part of them: these are closer to each other.
    """
    parts = kernel.time_parts(X)
    if given is not None:
        intervals = Bounds(given).times(len(parts))
        if intervals.min() < 1 / EXTREME or intervals.max() > EXTREME:
            raise InvalidInput(
                f"time_bounds = {shown(given)} are not within {1 / EXTREME:g} and {EXTREME:g}. Change the unit."
            )
    if len(parts) == 1:
        return _interval(*parts[0], count) if given is None else given
    if given is None:
        times = [_without_effect(part, *_interval(part, x, count)) for part, x in parts]
    else:
        times = [tuple(interval) for interval in intervals.tolist()]
    return (*times, *(WEIGHTS,) * kernel.weight_parameters)


def _without_effect(kernel: HeatKernel, low: float, high: float) -> tuple[float, float]:
    """A longer upper bound, at which the farthest points have a correlation of `CONSTANT`: f does not depend on them.

    In flat space the correlation is exp(-d²/2t), at the bound for one time exp(-1/18). On compact manifolds it is one.
    """
    longer = high / (18 * (1 - CONSTANT)) if has_units(kernel.manifold) else high
    return low, min(longer, kernel.times[1])


def longest(smoothness: float) -> float:
    """The upper bound of the length over which f varies, in units of the largest distance: 3 for the heat kernel.

    For Matern kernels the length at which the correlation in flat space is the same, exp(-1/18); for rough ones no more
    than `ROUGH`.
    """
    if smoothness > BESSEL:
        return 3.0

    def excess(length: float) -> float:
        return float(bessel_correlation(smoothness, np.array(np.sqrt(2 * smoothness) / length))) - np.exp(-1 / 18)

    return ROUGH if excess(ROUGH) < 0 else float(brentq(excess, 1.0, ROUGH))


def _interval(kernel: HeatKernel, X: np.ndarray, count: int | None = None) -> tuple[float, float]:
    """`time_bounds` of one time, from geodesic distances, or from the rough ones where there are none.

    Rough distances are in the units of the metric, as times must be; coordinates need not be.
    """
    manifold, times = kernel.manifold, kernel.times
    order, few = np.random.default_rng(0).permutation(len(X)), np.arange(min(SUBSET, len(X)))
    most = max(FEW, MOST_NUMBERS // max(np.size(manifold.embed(X[:1])), 1))
    if len(X) > most:
        count, X, order = count or len(X), X[order[:most]], np.arange(most)
    some = order[: len(few)]
    rounding = 1e-14 * np.abs(X).max(initial=0.0)

    def distance(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Zero where points are the same but for rounding, and between components."""
        try:
            found = np.asarray(unchecked(manifold.distance)(x, y))
        except HeatGPError:
            found = np.sqrt(np.asarray(manifold.rough_separation(x, y)))
        return np.where(np.isfinite(found) & (found > rounding), found, 0.0)

    far, farthest = farthest_pair(manifold, X[some], distance)
    embedded = len(X) > FEW
    neighbors, nearest = nearest_neighbors(manifold, X, some, distance, embedded)
    largest = max(farthest, nearest.max(initial=0.0))
    apart = nearest > 0
    if not apart.any():  # one point, or all the same: any length will do
        nearest, apart, largest = np.ones(1), np.ones(1, dtype=bool), 1.0
    if not times[0] < times[1]:
        raise InvalidInput(f"the kernel knows the one time {times[0]:g}, and no other can be learned. Give time.")
    reach = longest(smoothness_of(kernel)) * largest
    if reach**2 <= times[0] and np.isinf(times[1]):
        raise InvalidInput(
            f"the points of {manifold!r} are within {largest:.2g} of each other; the kernel's shortest time, "
            f"{times[0]:.2g}, is that of lengths of {times[0] ** 0.5:.2g}, over which f would be a constant. Ask "
            "heat_kernel for shorter times, or take a manifold of the size of the data."
        )
    spacing = float(np.median(nearest[apart]))
    if embedded:
        # Near points may be far apart in the embedding, as on quotients. Some of the data say how much this matters.
        both = (nearest_neighbors(manifold, X[order[:FEW]], few, distance, way)[1] for way in (False, True))
        near, found = (np.median(each[each > 0]) if (each > 0).any() else 1.0 for each in both)
        spacing *= min(1.0, float(near / found))
    if count is not None:
        size = max(len(X) // PART, len(few))
        part = nearest_neighbors(manifold, X[order[:size]], few, distance, embedded)[1]
        spacing *= (len(X) / count) ** (1 / data_dimension(part, nearest, len(X) / size, manifold.dim))
    low, high = (float(time) for time in np.clip(((spacing / 5) ** 2, reach**2), *times))
    if not low < high:
        return times
    if not kernel.is_exact or farthest == 0:
        return low, high
    return shortened(kernel, (X[some[apart]], X[neighbors[apart]]), far, low, high)


def farthest_pair(
    manifold: Manifold, X: np.ndarray, distance: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> tuple[tuple[np.ndarray, np.ndarray], float]:
    """Two points, as arrays of one each, whose distance is the largest, and that distance.

    Of the `FAR` pairs with the largest rough separation, which costs less where a distance has no formula.
    """
    rows = max(1, NUMBERS // max(X.size, 1))  # broadcasting copies all points for each row
    parts = [manifold.rough_separation(X[i : i + rows, None], X) for i in range(0, len(X), rows)]
    rough = np.triu(np.concatenate(parts), 1).ravel()
    rough = np.where(np.isfinite(rough), rough, 0.0)  # between components
    pairs = np.argpartition(-rough, min(FAR, len(rough)) - 1)[:FAR]
    x, y = (X[index] for index in np.unravel_index(pairs, (len(X), len(X))))
    found = distance(x, y)
    best = [int(np.argmax(found))]
    return (x[best], y[best]), float(found[best[0]])


def nearest_neighbors(
    manifold: Manifold,
    X: np.ndarray,
    some: np.ndarray,
    distance: Callable[[np.ndarray, np.ndarray], np.ndarray],
    embedded: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """The nearest other points of some points, among all data, and their distances; zero where there is none.

    Parameters
    ----------
    manifold : Manifold
    X : array (N, *shape) of all data.
    some : array (n,) of indices.
    distance : function of two arrays of points that is zero where they are the same.
    embedded : bool, whether candidates are neighbors in the embedding. Else all rough separations are computed.

    Returns
    -------
    indices, distances : arrays (n,)
    """
    tree = None
    if embedded and np.size(manifold.embed(X[:1])) <= MOST_COORDINATES:
        flat = embedding(manifold, X)
        tree = cKDTree(flat)
    elif not embedded:
        rows = max(1, NUMBERS // max(X.size, 1))
        parts = [some[k : k + rows] for k in range(0, len(some), rows)]
        rough = np.concatenate([np.asarray(manifold.rough_separation(X[part, None], X)) for part in parts])

    def closest(count: int) -> tuple[np.ndarray, np.ndarray]:
        """Of so many candidates each."""
        if tree is not None:
            candidates = np.reshape(tree.query(flat[some], k=count)[1], (len(some), count))
        elif embedded:
            candidates = nearest_in_embedding(manifold, X, some, count)
        else:
            candidates = np.argpartition(rough, count - 1, axis=1)[:, :count]
        rows = max(1, NUMBERS // X[candidates[:1]].size)
        parts = [slice(k, k + rows) for k in range(0, len(some), rows)]
        found = np.concatenate([distance(X[some[part], None], X[candidates[part]]) for part in parts])
        found, each = np.where(found > 0, found, np.inf), np.arange(len(some))
        best = np.argmin(found, axis=1)
        return candidates[each, best], found[each, best]

    count, most = (min(number, len(X)) for number in CANDIDATES)
    indices, nearest = closest(count)
    while count < most and not np.isfinite(nearest).all():
        count = min(8 * count, most)
        indices, nearest = closest(count)
    return indices, np.where(np.isfinite(nearest), nearest, 0.0)


def embedding(manifold: Manifold, X: np.ndarray) -> np.ndarray:
    """The coordinates of points in the embedding, (N, coordinates)."""
    return np.asarray(manifold.embed(X), dtype=float).reshape(len(X), -1)


def nearest_in_embedding(manifold: Manifold, X: np.ndarray, some: np.ndarray, count: int) -> np.ndarray:
    """The indices (n, count) of the points nearest to some points in the embedding, by inner products."""
    places = embedding(manifold, X[some])
    center = places.mean(axis=0)  # differences of points that are near each other keep their digits
    places = places - center
    kept, away = np.empty((len(some), 0), dtype=int), np.empty((len(some), 0))
    rows = max(1, NUMBERS // max(places.shape))
    for start in range(0, len(X), rows):
        part = embedding(manifold, X[start : start + rows]) - center
        squares = np.square(part).sum(axis=1) - 2 * places @ part.T  # but for that of the point itself
        away = np.hstack([away, squares])
        kept = np.hstack([kept, np.broadcast_to(np.arange(start, start + len(part)), squares.shape)])
        if away.shape[1] > count:
            nearest = np.argpartition(away, count - 1, axis=1)[:, :count]
            kept, away = (np.take_along_axis(each, nearest, axis=1) for each in (kept, away))
    return kept


def data_dimension(part: np.ndarray, whole: np.ndarray, ratio: float, highest: int) -> float:
    """The dimension of the set that data fill, which may be a curve or a surface in the manifold.

    Parameters
    ----------
    part, whole : arrays of nearest distances of the same points, among some of the data and among all.
    ratio : float, the number of all data over that of some.
    highest : int, the dimension of the manifold, which is returned where nothing else is known.
    """
    if ratio <= 1 or not (part > 0).any():
        return highest
    longer = float(np.median(part[part > 0]) / np.median(whole[whole > 0]))
    return float(np.clip(np.log(ratio) / np.log(longer), 1, highest)) if longer > 1 else highest


def shortened(
    kernel: HeatKernel, near: tuple[np.ndarray, np.ndarray], far: tuple[np.ndarray, np.ndarray], low: float, high: float
) -> tuple[float, float]:
    """Shorter times where curvature asks for them: the kernel of S^n is constant from the time log(n)/n on.

    In flat space the correlation at the lower bound and the nearest distance is exp(-25/2).

    Parameters
    ----------
    kernel : HeatKernel
    near, far : pairs of arrays of points: nearest neighbors, and the two farthest points.
    low, high : floats, the bounds in flat space.
    """
    nearest, farthest, one = kernel.matched(*near), kernel.matched(*far), kernel.matched(near[0][:1])

    def correlation(function: TimeFunction, time: float) -> float:
        found, peak = function.at(time), one.at(time)
        return float(np.median(found.relative_value / peak.relative_value) * np.exp(found.log_scale - peak.log_scale))

    if correlation(nearest, low) < SEPARATE:
        return low, high
    shortest = max(low * 2.0**-40, kernel.times[0])
    while correlation(nearest, low) > SEPARATE and low / 2 > shortest:
        low /= 2
    while correlation(farthest, high) > CONSTANT and high > 2 * low:
        high /= 2
    return low, high
