"""Positive definite kernels at ranks two and three, as sums of spherical functions with positive coefficients."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import chdtri

from ...manifolds.contract import Symmetric
from ...manifolds.roots import log_unit_ball_volume
from ..kernel import Function, Profile, Slice
from ..special.spherical import MISSING, heat_modes, heat_weights, nodes, whole_chamber
from .zonal import made_positive, smooth_step

MOST_MODES = 400
"""Spherical functions summed for each pair at most."""
NEGLIGIBLE = 1e-6
"""Functions fade out between the eigenvalue beyond which MISSING of p_t(x, x) lies, and that beyond which this lies."""
CHUNK = 1 << 13
"""Pairs whose spherical functions are computed at once."""


@dataclass(frozen=True, eq=False)
class ModeProfile(Profile):
    """An estimated profile with its negative coefficients in the spherical functions dropped.

    Every value is the sum itself, not an interpolation, so that only rounding can make an eigenvalue negative.
    """

    manifold: Symmetric
    profile: Profile

    @property
    def times(self) -> tuple[float, float]:
        """From when on the functions are not too many; before, where a short-time expansion continues their sum."""
        low, high = self.profile.times
        shortest = _shortest(self.manifold)
        return low if self.profile.expands_short_times and shortest <= high else max(low, shortest), high

    @property
    def estimate(self) -> Profile:
        return self.profile

    def prepare(self, time: float) -> Slice:
        shortest = _shortest(self.manifold) if self.profile.expands_short_times else 0.0
        if time <= shortest:
            return self.profile.at(time)
        full, end = (float(chdtri(self.manifold.dim, part)) for part in (MISSING, NEGLIGIBLE))
        # One set of modes serves all times from a power of two to the next. It has all modes that are not faded out,
        # so the kernel is continuous where the set changes.
        start = 2.0 ** math.floor(math.log2(time))
        modes = heat_modes(self.manifold, start * full / end)
        after, _ = heat_weights(self.manifold, 2 * start * full / end)
        estimate = self.profile.at(time)

        def integrals(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            theta, volume = whole_chamber(self.manifold, weights)
            values = modes(theta) * volume[:, None] / modes.volume
            return estimate(theta) @ values, estimate.slope(theta) @ values

        c, dc = integrals(modes.weights)
        if nodes(self.manifold, after) != nodes(self.manifold, modes.weights):
            # An estimate is rough, so that other nodes give integrals that differ by 1e-5: they are changed gradually.
            part, rise = smooth_step(time / start - 1)
            c_after, dc_after = integrals(after)
            dc = (1 - part) * dc + part * dc_after + rise / start * (c_after - c)
            c = (1 - part) * c + part * c_after
        fade, rise = smooth_step((end - modes.eigenvalue * time) / (end - full))
        c, dc = fade * c, fade * dc - rise * modes.eigenvalue / (end - full) * c

        def sum_of(coefficients: np.ndarray) -> Function:
            def read(theta: np.ndarray) -> np.ndarray:
                theta = np.asarray(theta, dtype=float)
                flat = theta.reshape(-1, theta.shape[-1])
                reachable = np.isfinite(flat).all(axis=-1)  # the other component of O(n) is not
                flat = np.where(reachable[:, None], flat, 0.0)
                parts = [modes(flat[i : i + CHUNK]) @ coefficients for i in range(0, len(flat), CHUNK)]
                return (reachable * np.concatenate([np.zeros(0), *parts])).reshape(theta.shape[:-1])

            return read

        return made_positive(sum_of((c > 0) * c), sum_of((c > 0) * dc), estimate, time, shortest)


@lru_cache(maxsize=32)
def _shortest(manifold: Symmetric) -> float:
    """A time from which on about MOST_MODES are enough: their number grows like t^(-rank/2)."""
    time = 1.0
    number = len(heat_modes(manifold, time).weights)
    while number < MOST_MODES and time > 1e-3:
        time /= 2
        number = _number(manifold, time)
    return 2 * time


def _number(manifold: Symmetric, time: float) -> int:
    """About how many modes `heat_modes` takes at a time: weights in a ball of the radius of its largest eigenvalue."""
    roots, rank = manifold.roots, manifold.rank
    radius = math.sqrt(float(chdtri(manifold.dim, MISSING)) / time) * roots.half_period / math.pi * roots.unit
    return int(math.exp(log_unit_ball_volume(rank)) * radius**rank / (2**rank * math.factorial(rank)))
