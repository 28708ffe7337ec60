"""Exact heat kernels of the real Grassmannians, as functions of the principal angles.

Up to LONGEST the short-time expansion is right to rounding; from there on the spherical functions are few enough to be
summed. Both are sums of products of functions of one angle.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...manifolds import Grassmann
from ...manifolds.roots import log_sphere_volume
from ..kernel import Function, Profile, Slice, no_error
from ..special.cosines import CosineModes, contract, cosine_modes
from ..special.determinant import NEGLIGIBLE
from .short_time_roots import RootExpansion

NUMBERS = 1 << 21
"""Numbers at once."""


@dataclass(frozen=True)
class GrassmannProfile(Profile):
    """The k-planes of R^n, 2 <= k <= n - k; theta are the principal angles in [0, pi/2]^k, their norm the distance."""

    n: int
    rank: int

    def prepare(self, time: float) -> Slice:
        expansion = root_expansion(self.rank, self.n - 2 * self.rank)
        if time < expansion.longest:
            return self._expanded(expansion, time)
        octave = math.floor(math.log2(time / expansion.longest))
        return self._summed(modes_from(self.n, self.rank, expansion.longest * 2.0**octave), time)

    def _expanded(self, expansion: RootExpansion, time: float) -> Slice:
        roots, half = Grassmann(self.n, self.rank).roots, self.rank * (self.n - self.rank) / 2
        height = expansion.height(time)

        def leading(theta: np.ndarray) -> np.ndarray:
            return roots.log_short_time(theta) - np.square(theta).sum(axis=-1) / (2 * time)

        def near(theta: np.ndarray) -> np.ndarray:
            return leading(np.minimum(theta, math.pi / 2 - 1e-3)) > -NEGLIGIBLE

        def value(theta: np.ndarray) -> np.ndarray:
            return np.exp(leading(theta) + expansion.log(theta, time)[0] - height)

        def slope(theta: np.ndarray) -> np.ndarray:
            log, rate = expansion.log(theta, time)
            change = rate + np.square(theta).sum(axis=-1) / (2 * time**2) - half / time
            return np.exp(leading(theta) + log - height) * change

        scale = height - half * math.log(2 * math.pi * time)
        return Slice(
            in_blocks(value, self.rank, matters=near), in_blocks(slope, self.rank, matters=near), no_error, scale
        )

    def _summed(self, modes: CosineModes, time: float) -> Slice:
        logs = modes.log_dimension - modes.eigenvalue * (time / 2)
        largest = float(logs.max())
        parts = np.exp(logs - largest)
        total = float(parts.sum())

        def tensor(parts: np.ndarray) -> np.ndarray:
            return modes.tensor(parts / total)

        def turns(theta: np.ndarray, terms: int) -> list[np.ndarray]:
            return [np.multiply.outer(angle, 2.0 * np.arange(terms)) for angle in theta.T]

        def reader(own: np.ndarray) -> Function:
            def read(theta: np.ndarray) -> np.ndarray:
                return contract(own, [np.cos(turn) for turn in turns(theta, len(own))])

            return in_blocks(read, self.rank, len(own))

        def gradient(theta: np.ndarray) -> np.ndarray:
            angles = turns(theta, len(values))
            cosines, sines = ([f(turn) for turn in angles] for f in (np.cos, np.sin))
            waves = -2.0 * np.arange(len(values))
            each = [[*cosines[:i], waves * sines[i], *cosines[i + 1 :]] for i in range(self.rank)]
            return np.stack([contract(values, factors) for factors in each], axis=-1)

        values = tensor(parts)
        scale = largest + math.log(total) - self.log_volume
        return Slice(
            reader(values),
            reader(tensor(-modes.eigenvalue / 2 * parts)),
            no_error,
            scale,
            relative_gradient=in_blocks(gradient, self.rank, len(values), trailing=(self.rank,)),
        )

    @property
    def log_volume(self) -> float:
        return sum(log_sphere_volume(self.n - i) - log_sphere_volume(i - 1) for i in range(1, self.rank + 1))


@lru_cache(maxsize=16)
def root_expansion(rank: int, short: int) -> RootExpansion:
    """The expansion, whose coefficients are kept."""
    return RootExpansion(rank, short)


@lru_cache(maxsize=12)
def modes_from(n: int, rank: int, time: float) -> CosineModes:
    """The modes of Gr(n, rank) for times from this one on."""
    return cosine_modes(Grassmann(n, rank).roots, rank * (n - rank), time)


def in_blocks(
    function: Function,
    rank: int,
    terms: int = 16,
    matters: Callable[[np.ndarray], np.ndarray] | None = None,
    trailing: tuple[int, ...] = (),
) -> Function:
    """A function (n, rank) -> (n, *trailing) for coordinates of any shape; zero where it does not matter.

    It is called with as many rows as its tensors, of `terms` in each coordinate, leave room for.
    """
    rows = max(1, NUMBERS // terms ** (rank - 1))

    def read(theta: np.ndarray) -> np.ndarray:
        theta = np.asarray(theta, dtype=float)
        flat = theta.reshape(-1, rank)
        out = np.zeros((len(flat), *trailing))
        inside = np.arange(len(flat)) if matters is None else np.flatnonzero(matters(flat))
        for start in range(0, len(inside), rows):
            own = inside[start : start + rows]
            out[own] = function(flat[own])
        return out.reshape((*theta.shape[:-1], *trailing))

    return read
