"""Where to search for the time of a Gaussian process: from the distances of the data."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import brentq

from ..covariance import TimeFunction
from ..errors import HeatGPError, InvalidInput
from ..gp.fit import Bounds
from ..heat.averaged.euclidean import BESSEL, bessel_correlation
from ..heat.composed import has_units
from ..heat.kernel import HeatKernel
from .smoothness import smoothness_of

SUBSET = 200
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


def time_bounds(kernel: HeatKernel, X: np.ndarray, given: Any = None) -> Any:
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
    """
    parts = kernel.time_parts(X)
    if len(parts) == 1:
        return _interval(*parts[0]) if given is None else given
    if given is None:
        times = [_without_effect(part, *_interval(part, x)) for part, x in parts]
    else:
        times = [tuple(interval) for interval in Bounds(given).times(len(parts)).tolist()]
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


def _interval(kernel: HeatKernel, X: np.ndarray) -> tuple[float, float]:
    """`time_bounds` of one time, from geodesic distances, or from the rough ones where there are none.

    Rough distances are in the units of the metric, as times must be; coordinates need not be.
    """
    manifold, times = kernel.manifold, kernel.times
    X = X[np.sort(np.random.default_rng(0).permutation(len(X))[:SUBSET])]
    rows = max(1, NUMBERS // X.size)  # broadcasting copies all points for each row

    def of_all(separation: Callable[..., Any]) -> np.ndarray:
        return np.concatenate([np.asarray(separation(X[i : i + rows, None], X[None])) for i in range(0, len(X), rows)])

    try:
        distances = of_all(manifold.distance)
    except HeatGPError:
        distances = np.sqrt(of_all(manifold.rough_separation))
    rounding = 1e-14 * np.abs(X).max(initial=0.0)
    distances = np.where(np.isfinite(distances) & (distances > rounding), distances, 0.0)  # infinite between components
    nearest = np.array([row[row > 0].min(initial=np.inf) for row in distances])
    nearest = nearest[np.isfinite(nearest)]
    largest = distances.max(initial=0.0)
    if not nearest.size:  # one point, or all the same: any length will do
        nearest, largest = np.array([1.0]), 1.0
    if not times[0] < times[1]:
        raise InvalidInput(f"the kernel knows the one time {times[0]:g}, and no other can be learned. Give time.")
    reach = longest(smoothness_of(kernel)) * largest
    if reach**2 <= times[0] and np.isinf(times[1]):
        raise InvalidInput(
            f"the points of {manifold!r} are within {largest:.2g} of each other; the kernel's shortest time, "
            f"{times[0]:.2g}, is that of lengths of {times[0] ** 0.5:.2g}, over which f would be a constant. Ask "
            "heat_kernel for shorter times, or take a manifold of the size of the data."
        )
    low, high = np.clip(((np.median(nearest) / 5) ** 2, reach**2), *times)
    if not low < high:
        return times
    return shortened(kernel, X, distances, float(low), float(high)) if kernel.is_exact else (float(low), float(high))


def shortened(kernel: HeatKernel, X: np.ndarray, distances: np.ndarray, low: float, high: float) -> tuple[float, float]:
    """Shorter times where curvature asks for them: the kernel of S^n is constant from the time log(n)/n on.

    In flat space the correlation at the lower bound and the nearest distance is exp(-25/2).
    """
    near = np.argmin(np.where(distances > 0, distances, np.inf), axis=1)
    far, other = np.unravel_index(np.argmax(distances), distances.shape)
    nearest, farthest = kernel.matched(X, X[near]), kernel.matched(X[[far]], X[[other]])
    one = kernel.matched(X[:1])

    def correlation(function: TimeFunction, time: float) -> float:
        found, peak = function.at(time), one.at(time)
        return float(np.median(found.relative_value / peak.relative_value) * np.exp(found.log_scale - peak.log_scale))

    if correlation(nearest, low) < SEPARATE or distances.max() == 0:
        return low, high
    shortest = max(low * 2.0**-40, kernel.times[0])
    while correlation(nearest, low) > SEPARATE and low / 2 > shortest:
        low /= 2
    while correlation(farthest, high) > CONSTANT and high > 2 * low:
        high /= 2
    return low, high
