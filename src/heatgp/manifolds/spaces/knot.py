"""Torus knots: one circle, tied into R^3 in many ways."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from ...array import Array, namespace, wrap
from ..contract import Symmetric, require, require_integer
from ..roots import Roots


@final
@dataclass(frozen=True, repr=False)
class TorusKnot(Symmetric):
    """The circle of length 2 pi with its embedding in R^3 as the (p, q) torus knot; a point is its angle, shape (1,).

    Intrinsically all knots are the same circle; `embed` ties it around the torus of radii 2 and 1:
    s -> ((2 + cos qs) cos ps, (2 + cos qs) sin ps, sin qs). Reference: Rolfsen (2003), Knots and Links, 3.C.

    >>> TorusKnot(2, 3).embed(np.array([0.0]))
    array([3., 0., 0.])
    """

    p: int
    q: int
    dim: ClassVar[int] = 1

    def __post_init__(self) -> None:
        require_integer("TorusKnot", "p", self.p, 1)
        require_integer("TorusKnot", "q", self.q, 1)
        require(
            math.gcd(self.p, self.q) == 1,
            f"TorusKnot needs coprime p and q, else the curve closes early; got p = {self.p}, q = {self.q}.",
        )

    @property
    def shape(self) -> tuple[int, ...]:
        return (1,)

    @property
    def volume(self) -> float:
        return 2 * math.pi

    def noise(self, x: Array, z: Array) -> Array:
        return z + 0 * x

    def exp(self, x: Array, v: Array) -> Array:
        return wrap(x + v)

    def random(self, rng: np.random.Generator, n: int) -> Array:
        return rng.uniform(-math.pi, math.pi, (n, 1))

    def defect(self, x: Array) -> Array:
        return namespace(x).zeros(x.shape[:-1])

    def embed(self, x: Array) -> Array:
        xp = namespace(x)
        s = x[..., 0]
        radius = 2 + xp.cos(self.q * s)
        return xp.stack((radius * xp.cos(self.p * s), radius * xp.sin(self.p * s), xp.sin(self.q * s)), axis=-1)

    @property
    def origin(self) -> np.ndarray:
        return np.zeros(1)

    def orbit(self, x: Array, y: Array) -> Array:
        return namespace(x).abs(wrap(x - y))

    def to_origin(self, x: Array, y: Array) -> Array:
        return wrap(y - x)

    @property
    def roots(self) -> Roots:
        return Roots((), ())

    @property
    def log_chamber_integral(self) -> float:
        return math.log(math.pi)
