"""Heat kernels that are known between two times, continued to all times."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

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
    if manifold.scalar_curvature == 0 and not np.isfinite(ends).all():
        return 0.0
    ends = np.minimum(ends, math.pi)  # in negative curvature the size of the sphere of the same curvature
    square = float(np.asarray(manifold.length(ends * (np.arange(len(ends)) == 0)))) ** 2
    return square / IMAGES if manifold.scalar_curvature == 0 else SHORT * square / manifold.dim**2


@dataclass(frozen=True)
class Gaussian:
    """exp(-c d²) by the squared distances d² of pairs; `power` is c, in units of 1 / (2 low)."""

    squares: Callable[[], np.ndarray]
    low: float

    def at(self, power: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The factor, its derivative in the power and its error."""
        exponent = self.squares() * (-0.5 / self.low)
        factor = np.exp(power * exponent)
        return factor, exponent * factor, np.zeros(factor.shape)


@dataclass(frozen=True)
class Powers:
    """The same by powers of the correlations q = p_low(x, y) / sqrt(p_low(x, x) p_low(y, y)), which are exp(-d²/2 low).

    Powers of a positive definite matrix by whole numbers, entry by entry, are positive definite (Schur); those between
    are interpolated linearly.
    """

    correlations: Callable[[], np.ndarray]

    def at(self, power: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The factor, its derivative in the power and its error."""
        q, before = self.correlations(), math.floor(power)
        lower = q**before
        change = lower * q - lower
        factor = lower + (power - before) * change
        return factor, change, np.abs(factor - np.abs(q) ** power)


def extended(
    at: Callable[[float], Evaluation], fading: Gaussian | Powers, manifold: Manifold, times: tuple[float, float]
) -> TimeFunction:
    """Heat kernels known between two times, low and high, at all times.

    Before, by the leading term of the short-time expansion: p_t = p_low (low / t)^(dim/2) exp(-d²/2 (1/t - 1/low)). Its
    error is taken to be what the same formula leaves between low and twice low. It is positive definite where p_low and
    `fading`, the last factor, are. After, the kernel is taken as it was last; its error is then its distance from the
    uniform density. Where the volume is infinite it falls on like t^(-dim/2) exp(-decay t), with an error of its size.
    """
    low, high = times
    half = manifold.dim / 2
    ends = Recent(at, 3)

    def before(time: float) -> Evaluation:
        first = ends(low)
        fade = cache(partial(fading.at, low / time - 1))

        def slopes() -> np.ndarray:
            factor, change, _ = fade()
            return (first.relative_value * (-low / time * change - half * factor))[None]

        def error() -> np.ndarray:
            if isinstance(fading, Gaussian) and not first.relative_error.any():  # low is so short that this is exact
                return first.relative_error
            twice = min(2 * low, high)
            later = ends(twice)
            back = math.exp(later.log_scale - first.log_scale) * (twice / low) ** half * later.relative_value
            gap = np.abs(first.relative_value - back * fading.at(1 - low / twice)[0])
            factor, _, rough = fade()
            return factor * (first.relative_error + gap) + rough * np.abs(first.relative_value)

        return Evaluation(
            lambda: first.relative_value * fade()[0], slopes, error, first.log_scale + half * math.log(low / time)
        )

    volume = volume_of(manifold)

    def after(time: float) -> Evaluation:
        last = ends(high)
        uniform = math.exp(-last.log_scale) / volume
        power, decay = (0.0, 0.0) if math.isfinite(volume) else (half, manifold.decay)
        return Evaluation(
            lambda: last.relative_value,
            lambda: -(power + decay * time) * last.relative_value[None],
            lambda: last.relative_error + np.abs(last.relative_value - uniform),
            last.log_scale + power * math.log(high / time) - decay * (time - high),
        )

    return TimeFunction(lambda time: before(time) if time < low else after(time) if time > high else at(time))


def volume_of(manifold: Manifold) -> float:
    """The volume, infinite where the manifold does not know it."""
    try:
        return manifold.volume
    except Unsupported:
        return math.inf
