"""Where to search for the time of a Gaussian process: from the distances of the data."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import brentq
from sklearn.neighbors import NearestNeighbors

from ..arguments import EXTREME, shown
from ..covariance import Array, TimeFunction
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
CANDIDATES = (8, 64, 512, 4096)
"""Neighbors whose distances are computed: more only where nearer ones are the same point."""
FEW = 1000
"""Data up to which neighbors are found by rough distances; of more they are found in the embedding."""
MOST_NUMBERS = 1 << 26
"""Coordinates of all data in the embedding from which on a random part of the data is used instead of all."""
PART = 8
"""The dimension of the data is found from their spacing and that of one in so many of them."""
NUMBERS = 1 << 22
"""Coordinates of pairs of points that are kept in memory at once."""
SEPARATE = 0.01
"""Correlation of neighbors below which a shorter time changes little."""
WEIGHTS = (1e-4, 1e4)
"""Weights of summands beside that of the first: a hundredth to a hundred times its standard deviation."""
ROUGH = 100.0
"""Upper bound of the length over which rough functions vary: then differences of f are those of the limit, to 1 %."""
CONSTANT = 1 - 1e-6
"""Correlation of the farthest points above which f is a constant: amplitudes are searched up to 1e6."""

Distance = Callable[[Array, Array], Array]
"""A function of two arrays of points, zero where they are the same."""


@of_data
def time_bounds(kernel: HeatKernel, X: Array, given: Any = None, count: int | None = None) -> Any:
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
            return given
        times = [tuple(interval) for interval in intervals.tolist()]
    elif len(parts) == 1:
        return _interval(*parts[0], count)
    else:
        times = [_without_effect(part, *_interval(part, x, count)) for part, x in parts]
    return (*times, *(WEIGHTS,) * kernel.weight_parameters)


def _without_effect(kernel: HeatKernel, low: float, high: float) -> tuple[float, float]:
    """A longer upper bound, at which the farthest points have a correlation of `CONSTANT`: f does not depend on them.

    In flat space the correlation is exp(-d²/2t), at the bound for one time exp(-1/18). On compact manifolds that of the
    heat kernel is one; Matern kernels come near one like a power of the time.
    """
    slow = has_units(kernel.manifold) or smoothness_of(kernel) < np.inf
    longer = high / (18 * (1 - CONSTANT)) if slow else high
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


def _interval(kernel: HeatKernel, X: Array, count: int | None = None) -> tuple[float, float]:
    """`time_bounds` of one time, from geodesic distances, or from the rough ones where there are none.

    Rough distances are in the units of the metric, as times must be; coordinates need not be.
    """
    manifold, times = kernel.manifold, kernel.times
    if not times[0] < times[1]:
        raise InvalidInput(f"the kernel knows the one time {times[0]:g}, and no other can be learned. Give time.")
    most = max(FEW, MOST_NUMBERS // max(np.size(manifold.embed(X[:1])), 1))
    if len(X) > most:
        count = count or len(X)
    X = X[np.random.default_rng(0).permutation(len(X))[:most]]
    number, embedded = min(SUBSET, len(X)), len(X) > FEW
    rounding = 1e-14 * np.abs(X).max(initial=0.0)

    def distance(x: Array, y: Array) -> Array:
        """Zero where points are the same but for rounding, and between components."""
        try:
            found = np.asarray(unchecked(manifold.distance)(x, y))
        except HeatGPError:
            found = np.sqrt(np.asarray(manifold.rough_separation(x, y)))
        return np.where(np.isfinite(found) & (found > rounding), found, 0.0)

    far, farthest = farthest_pair(manifold, X[:number], distance)
    neighbors, nearest = nearest_neighbors(manifold, X, number, distance, embedded)
    largest = max(farthest, float(nearest.max())) or 1.0  # one point, or all the same: any length will do
    reach = longest(smoothness_of(kernel)) * largest
    if reach**2 <= times[0] and np.isinf(times[1]):
        raise InvalidInput(
            f"the points of {manifold!r} are within {largest:.2g} of each other; the kernel's shortest time, "
            f"{times[0]:.2g}, is that of lengths of {times[0] ** 0.5:.2g}, over which f would be a constant. Ask "
            "heat_kernel for shorter times, or take a manifold of the size of the data."
        )
    spacing = typical = _median(nearest) or largest
    if embedded:
        # Near points may be far apart in the embedding, as on quotients. Some of the data say how much this matters.
        rough, found = (
            _median(nearest_neighbors(manifold, X[:FEW], number, distance, way)[1]) or 1.0 for way in (False, True)
        )
        spacing *= min(1.0, rough / found)
    if count is not None:
        # Nearest distances grow as N^(-1/d), where d is the dimension of the data, perhaps a curve in the manifold.
        size, dimension = max(len(X) // PART, number), float(manifold.dim)
        longer = _median(nearest_neighbors(manifold, X[:size], number, distance, embedded)[1]) / typical
        if longer > 1:
            dimension = float(np.clip(np.log(len(X) / size) / np.log(longer), 1, dimension))
        spacing *= (len(X) / count) ** (1 / dimension)
    low, high = (float(time) for time in np.clip(((spacing / 5) ** 2, reach**2), *times))
    if not low < high:
        return times
    apart = nearest > 0
    if not (kernel.is_exact and farthest and apart.any()):
        return low, high
    return shortened(kernel, (X[:number][apart], X[neighbors[apart]]), far, low, high)


def _median(distances: Array) -> float:
    """The median of the distances that are not zero; zero if all are."""
    return float(np.median(distances[distances > 0])) if distances.any() else 0.0


def farthest_pair(manifold: Manifold, X: Array, distance: Distance) -> tuple[tuple[Array, Array], float]:
    """Two points, as arrays of one each, whose distance is the largest, and that distance.

    Of the `FAR` pairs with the largest rough separation, which costs less where a distance has no formula.
    """
    rough = np.triu(_rough_separations(manifold, X, X), 1).ravel()
    rough = np.where(np.isfinite(rough), rough, 0.0)  # between components
    pairs = np.argpartition(-rough, min(FAR, len(rough)) - 1)[:FAR]
    x, y = (X[index] for index in np.unravel_index(pairs, (len(X), len(X))))
    found = distance(x, y)
    best = [int(np.argmax(found))]
    return (x[best], y[best]), float(found[best[0]])


def nearest_neighbors(
    manifold: Manifold, X: Array, number: int, distance: Distance, embedded: bool
) -> tuple[Array, Array]:
    """The nearest other points of the first points, among all, and their distances; zero where there is none.

    Parameters
    ----------
    manifold : Manifold
    X : array (N, *shape) of all points.
    number : int, how many of them have their neighbors found.
    distance : function of two arrays of points that is zero where they are the same.
    embedded : bool, whether candidates are neighbors in the embedding. Else all rough separations are computed.

    Returns
    -------
    indices, distances : arrays (number,)
    """
    each = np.arange(number)
    if embedded:
        places = np.asarray(manifold.embed(X), dtype=float).reshape(len(X), -1)
        places = places - places.mean(axis=0)  # inner products of points that are near each other keep their digits
        search = NearestNeighbors().fit(places)
    else:
        rough = _rough_separations(manifold, X[:number], X)
    for count in CANDIDATES:
        count = min(count, len(X))
        if embedded:
            candidates = search.kneighbors(places[:number], count, return_distance=False)
        else:
            candidates = np.argpartition(rough, count - 1, axis=1)[:, :count]
        found = _by_rows(lambda x, near: distance(x[:, None], X[near]), X[candidates[0]].size, X[:number], candidates)
        found = np.where(found > 0, found, np.inf)
        best = np.argmin(found, axis=1)
        if np.isfinite(found[each, best]).all() or count == len(X):
            break
    return candidates[each, best], np.where(np.isfinite(found), found, 0.0)[each, best]


def _rough_separations(manifold: Manifold, some: Array, X: Array) -> Array:
    """Those of all pairs of points."""
    return _by_rows(lambda x: manifold.rough_separation(x[:, None], X), X.size, some)


def _by_rows(function: Callable[..., Any], size: int, *arrays: Array) -> Array:
    """The values of a function of arrays, of some rows at once; each row takes the memory of `size` numbers."""
    rows = max(1, NUMBERS // size)
    parts = ([array[k : k + rows] for array in arrays] for k in range(0, len(arrays[0]), rows))
    return np.concatenate([np.asarray(function(*part)) for part in parts])


def shortened(
    kernel: HeatKernel, near: tuple[Array, Array], far: tuple[Array, Array], low: float, high: float
) -> tuple[float, float]:
    """Shorter times where curvature asks for them: the kernel of S^n is constant from the time log(n)/n on.

    In flat space the correlation at the lower bound and the nearest distance is exp(-25/2).

    Parameters
    ----------
    kernel : HeatKernel
    near, far : pairs of arrays of points: nearest neighbors, and the two farthest points.
    low, high : floats, the bounds in flat space.
    """
    nearest, farthest, one = kernel.paired(*near), kernel.paired(*far), kernel.paired(near[0][:1])

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
