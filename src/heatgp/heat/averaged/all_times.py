"""Heat kernels that are known between two times, continued to all times."""

import math
from collections.abc import Callable

import numpy as np

from ...covariance import Evaluation, TimeFunction
from ...errors import Unsupported
from ...manifolds import Homogeneous, Manifold
from ..kernel import Recent

SHORT = 1e-7
"""Part of the squared size of a manifold, over its squared dimension, below which the leading term is p_t."""
IMAGES = 90.0
"""exp(-90/2): on flat manifolds other geodesics count for nothing below this part of the squared size."""


def shortest_time(manifold: Homogeneous) -> float:
    """The time below which the leading term of the short-time expansion can be taken from there; 0 where it is all."""
    ends = np.array([max(map(abs, bounds)) for bounds in manifold.chamber])
    if not np.isfinite(ends).all():
        return 0.0
    square = float(np.asarray(manifold.length(ends * (np.arange(len(ends)) == 0)))) ** 2
    return square / IMAGES if manifold.scalar_curvature == 0 else SHORT * square / manifold.dim**2


def extended(
    at: Callable[[float], Evaluation], squares: Callable[[], np.ndarray], manifold: Manifold, times: tuple[float, float]
) -> TimeFunction:
    """Heat kernels known between two times, at all times; `squares` gives the squared distances.

    Before, by the leading term of the short-time expansion: p_t = p_low (low / t)^(dim/2) exp(-d²/2 (1/t - 1/low)). Its
    error is taken to be what the same formula leaves between low and twice low. It is positive definite where p_low is
    and the distance is that of an embedding. After, the kernel is taken as it was last; its error is then its distance
    from the uniform density.
    """
    low, high = times
    ends = Recent(at, 3)

    def before(time: float) -> Evaluation:
        first = ends(low)

        def faded(start: float, end: float) -> np.ndarray:
            return np.exp(squares() * (-0.5 * (1 / start - 1 / end)))

        def value() -> np.ndarray:
            return first.relative_value * faded(time, low)

        def error() -> np.ndarray:
            if not first.relative_error.any():
                return first.relative_error
            twice = min(2 * low, high)
            later = ends(twice)
            back = math.exp(later.log_scale - first.log_scale) * (twice / low) ** (manifold.dim / 2)
            gap = np.abs(first.relative_value - back * later.relative_value * faded(low, twice))
            return faded(time, low) * (first.relative_error + gap)

        return Evaluation(
            value,
            lambda: (value() * (squares() / (2 * time) - manifold.dim / 2))[None],
            error,
            first.log_scale + manifold.dim / 2 * math.log(low / time),
        )

    def after() -> Evaluation:
        last = ends(high)
        uniform = math.exp(-last.log_scale) / volume_of(manifold)
        return Evaluation(
            lambda: last.relative_value,
            lambda: np.zeros((1, *last.relative_value.shape)),
            lambda: last.relative_error + np.abs(last.relative_value - uniform),
            last.log_scale,
        )

    return TimeFunction(lambda time: before(time) if time < low else after() if time > high else at(time))


def volume_of(manifold: Manifold) -> float:
    """The volume, infinite where the manifold does not know it."""
    try:
        return manifold.volume
    except Unsupported:
        return math.inf
