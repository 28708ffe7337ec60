"""Where to search for the time of a Gaussian process: from the distances of the data."""

from typing import Any

import numpy as np

from ..errors import HeatGPError, InvalidInput
from ..heat.composed import ProductKernel
from ..heat.kernel import HeatKernel
from ..manifolds import Manifold

SUBSET = 200


def time_bounds(kernel: HeatKernel, X: np.ndarray) -> Any:
    """From (a fifth of the typical nearest distance)² to (three times the largest)², within the kernel's own times.

    The square root of the time is the length over which f varies: below the lower bound data points know nothing of
    each other, above the upper one f is a constant. All times of a kernel that knows none of these.
    """
    if isinstance(kernel, ProductKernel) and kernel.parameters > 1:
        parts = kernel.manifold.split(X)
        return tuple(_interval(f.manifold, part, f.times) for f, part in zip(kernel.factors, parts))
    return _interval(kernel.manifold, X, kernel.times)


def _interval(manifold: Manifold, X: np.ndarray, times: tuple[float, float]) -> tuple[float, float]:
    """`time_bounds` on one manifold, from geodesic distances, or from the rough ones where there are none.

    Rough distances are in the units of the metric, as times must be; coordinates need not be.
    """
    X = X[np.sort(np.random.default_rng(0).permutation(len(X))[:SUBSET])]
    try:
        distances = np.asarray(manifold.distance(X[:, None], X[None]))
    except HeatGPError:
        distances = np.sqrt(manifold.rough_separation(X[:, None], X[None]))
    distances = np.where(np.isfinite(distances), distances, 0.0)  # between components
    nearest = np.array([row[row > 1e-14 * np.abs(X).max()].min(initial=np.inf) for row in distances])
    nearest = nearest[np.isfinite(nearest)]
    largest = distances.max(initial=0.0)
    if not nearest.size:  # one point, or all the same: any length will do
        nearest, largest = np.array([1.0]), 1.0
    if not times[0] < times[1]:
        raise InvalidInput(f"the kernel knows the one time {times[0]:g}, and no other can be learned. Give time.")
    if (3 * largest) ** 2 <= times[0] and np.isinf(times[1]):
        raise InvalidInput(
            f"the points of {manifold!r} are within {largest:.2g} of each other; the kernel's shortest time, "
            f"{times[0]:.2g}, is that of lengths of {times[0] ** 0.5:.2g}, over which f would be a constant. Ask "
            "heat_kernel for shorter times, or take a manifold of the size of the data."
        )
    low, high = np.clip(((np.median(nearest) / 5) ** 2, (3 * largest) ** 2), *times)
    return (float(low), float(high)) if low < high else times
