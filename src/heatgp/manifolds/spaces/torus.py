"""The flat torus."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from ...array import Array, namespace, wrap
from ..contract import Symmetric, require_integer
from ..roots import Roots


def circle_points(angle: Array) -> Array:
    """(cos, sin) of each angle, side by side: the torus in R^(2 dim)."""
    xp = namespace(angle)
    return xp.concat((xp.cos(angle), xp.sin(angle)), axis=-1)


@final
@dataclass(frozen=True, repr=False)
class Torus(Symmetric):
    """The product of `dim` circles of length 2 pi, flat; a point is its angles, any real numbers modulo 2 pi.

    >>> Torus(1).distance(np.array([3.0]), np.array([3.0 + 2 * np.pi])) < 1e-15
    np.True_
    """

    dim: int

    def __post_init__(self) -> None:
        require_integer("Torus", "dim", self.dim, 1)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.dim,)

    @property
    def volume(self) -> float:
        return (2 * math.pi) ** self.dim

    def noise(self, x: Array, z: Array) -> Array:
        return z + 0 * x

    def exp(self, x: Array, v: Array) -> Array:
        return wrap(x + v)

    def canonical(self, x: Array) -> Array:
        """The same angles in [-pi, pi)."""
        return wrap(x)

    def difference(self, x: Array, y: Array) -> Array:
        """y - x, each angle the shorter way round."""
        return wrap(y - x)

    def random(self, rng: np.random.Generator, n: int) -> Array:
        return rng.uniform(-math.pi, math.pi, (n, self.dim))

    def defect(self, x: Array) -> Array:
        return namespace(x).zeros(x.shape[:-1])

    def embed(self, x: Array) -> Array:
        return circle_points(x)

    @property
    def origin(self) -> np.ndarray:
        return np.zeros(self.dim)

    def orbit(self, x: Array, y: Array) -> Array:
        """Absolute angle differences, each in [0, pi]: reflections of a circle are isometries too."""
        return namespace(x).abs(wrap(x - y))

    def to_origin(self, x: Array, y: Array) -> Array:
        return wrap(y - x)

    @property
    def roots(self) -> Roots:
        """There are none; the exchange of two circles is an isometry too."""
        return Roots((), (), coordinates=self.dim)

    @property
    def log_chamber_integral(self) -> float:
        return self.dim * math.log(math.pi)
