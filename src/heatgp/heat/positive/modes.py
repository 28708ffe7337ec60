"""Positive definite kernels on symmetric spaces of rank two and three, as sums of spherical functions.

Reference: Godement (1957); Helgason (1984), ch. IV: an invariant function is positive definite if and only if its
coefficients in the spherical functions are not negative.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.stats import chi2

from ...manifolds.contract import Symmetric
from ..kernel import Profile, Slice
from ..special.spherical import MISSING, Modes, chamber_nodes, heat_modes

MOST_MODES = 400
"""Spherical functions summed for each pair at most."""
CHUNK = 1 << 13
"""Pairs whose spherical functions are computed at once."""


@dataclass(frozen=True, eq=False)
class ModeProfile:
    """An estimated profile with its negative coefficients in the spherical functions dropped.

    Every value is the sum itself, not an interpolation, so that nothing but rounding is left to spoil it.
    """

    manifold: Symmetric
    profile: Profile

    def __repr__(self) -> str:
        return f"<{self.profile!r}, negative coefficients dropped>"

    @property
    def times(self) -> tuple[float, float]:
        """The estimate's times, from when on the spherical functions are not too many."""
        low, high = getattr(self.profile, "times", (0.0, math.inf))
        return max(low, _shortest(self.manifold)), high

    def at(self, time: float) -> ModeSlice:
        """The kernel at one time, prepared once."""
        return _slice(self, float(time))


@lru_cache(maxsize=32)
def _slice(profile: ModeProfile, time: float) -> ModeSlice:
    manifold = profile.manifold
    # One set of modes serves all times from it to twice as long.
    modes = heat_modes(manifold, 2.0 ** math.floor(math.log2(time)))
    theta, volume = chamber_nodes(manifold, manifold.chamber[0][1], least=2 * int(modes.weights.max()) + 8)
    values = modes(theta) * volume[:, None] / modes.volume
    estimate = profile.profile.at(time)
    c, dc = estimate(theta) @ values, estimate.slope(theta) @ values
    kept = c > 0
    return ModeSlice(modes, np.column_stack((kept * c, kept * dc)), estimate)


@dataclass(frozen=True, eq=False)
class ModeSlice:
    """p_t as a sum of spherical functions with positive coefficients, for one t."""

    modes: Modes
    coefficients: np.ndarray
    estimate: Slice

    def __call__(self, theta: np.ndarray) -> np.ndarray:
        return self._sum(theta, 0)

    def slope(self, theta: np.ndarray) -> np.ndarray:
        """The derivative of p_t in t."""
        return self._sum(theta, 1)

    def error(self, theta: np.ndarray) -> np.ndarray:
        """The error of the estimate, and the change that made it positive definite."""
        return np.hypot(self.estimate.error(theta), self(theta) - self.estimate(theta))

    def _sum(self, theta: np.ndarray, column: int) -> np.ndarray:
        theta = np.asarray(theta, dtype=float)
        flat = theta.reshape(-1, theta.shape[-1])
        reachable = np.isfinite(flat).all(axis=-1)  # the other component of O(n) is not
        flat = np.where(reachable[:, None], flat, 0.0)
        weight = self.coefficients[:, column]
        parts = [self.modes(flat[i : i + CHUNK]) @ weight for i in range(0, len(flat), CHUNK)]
        return (reachable * np.concatenate([np.zeros(0), *parts])).reshape(theta.shape[:-1])


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
    turn = math.pi / manifold.chamber[0][1] / manifold.roots.unit
    radius = math.sqrt(float(chi2.isf(MISSING, manifold.dim)) / time) / turn
    rank = manifold.rank
    ball = math.pi ** (rank / 2) / math.gamma(rank / 2 + 1) * radius**rank
    return int(ball / (2**rank * math.factorial(rank)))
