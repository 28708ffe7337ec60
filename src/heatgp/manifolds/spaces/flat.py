"""The common members of Euclidean space and flat tori."""

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ...array import Array, inner, namespace, wrap
from ..checks import points_to_project, require_positive_integers
from ..contract import Homogeneous, Symmetric, along_ways
from ..roots import Roots, as_volume


class Flat(Homogeneous):
    """`dim` real coordinates with the metric of R^dim, where some may be identified (`canonical`).

    A tangent vector is `dim` numbers with the norm of R^dim, geodesics are straight lines.
    """

    draws_evenly: ClassVar[bool] = True
    straight: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_positive_integers(self)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.dim,)

    def noise(self, x: Array, z: Array) -> Array:
        return z + 0 * x

    def metric(self, x: Array, u: Array, v: Array) -> Array:
        return inner(u, v)[..., 0] + 0 * x[..., 0]

    def tangent_basis(self, x: Array) -> Array:
        return namespace(x).eye(self.dim, dtype=x.dtype) + 0 * x[..., None, :]

    def to_tangent(self, x: Array, v: Array) -> Array:
        return v + 0 * x

    def gradient(self, x: Array, slope: Array) -> Array:
        return slope + 0 * x

    def exp(self, x: Array, v: Array) -> Array:
        return self.canonical(x + v)

    def log(self, x: Array, y: Array) -> Array:
        return self.difference(x, y)

    def difference(self, x: Array, y: Array) -> Array:
        return self.canonical(y - x)

    def orbit_gradients(self, X: Array, Y: Array, theta: Array, slopes: Callable[[], Array]) -> Array:
        return along_ways(self.difference(X[:, None], Y[None]), theta[..., 0], slopes()[..., 0])

    def to_origin(self, x: Array, y: Array) -> Array:
        return self.canonical(y - x)

    def defect(self, x: Array) -> Array:
        """Zero: any real numbers are coordinates of a point."""
        return namespace(x).zeros(x.shape[:-1])

    def project(self, x: Any) -> np.ndarray:
        """x itself, with coordinates in their usual range."""
        return np.asarray(self.canonical(points_to_project(self, x)))

    @property
    def origin(self) -> np.ndarray:
        return np.zeros(self.dim)


class Angles(Flat, Symmetric):
    """`dim` angles, any real numbers modulo 2 pi, with the flat metric."""

    @property
    def volume(self) -> float:
        return as_volume(self, self.dim * math.log(2 * math.pi))

    @property
    def periodic(self) -> tuple[float | None, ...]:
        return (2 * math.pi,) * self.dim

    def canonical(self, x: Array) -> Array:
        """The same angles in [-pi, pi]."""
        return wrap(x)

    def random(self, rng: np.random.Generator, n: int) -> Array:
        return rng.uniform(-math.pi, math.pi, (n, self.dim))

    def orbit(self, x: Array, y: Array) -> Array:
        """Absolute angle differences, each in [0, pi]: reflections of a circle are isometries too."""
        return namespace(x).abs(_shortest_way(x, y))

    def orbits(self, X: Array, Y: Array) -> Array:
        if not isinstance(X, np.ndarray):
            return super().orbits(X, Y)
        x, y = np.ascontiguousarray(X.T)[:, :, None], np.ascontiguousarray(Y.T)[:, None]  # loops over pairs are long
        if max(np.max(np.abs(z), initial=0.0) for z in (x, y)) > math.pi:
            return super().orbits(X, Y)
        # The way between two angles in [-pi, pi] is direct or leads across the seam, from which both have a distance.
        out = np.abs(x - y)
        for right, left in ((x, y), (y, x)):
            np.minimum(out, (math.pi - right + TURN_REST / 2) + (math.pi + left + TURN_REST / 2), out=out)
        return np.moveaxis(out, 0, -1)

    def orbit_gradients(self, X: Array, Y: Array, theta: Array, slopes: Callable[[], Array]) -> Array:
        """Each coordinate is its own orbit coordinate, up to the sign."""
        return -slopes() * namespace(X).sign(self.difference(X[:, None], Y[None]))

    @property
    def roots(self) -> Roots:
        """No roots: the space is flat. Exchanging two circles is an isometry, as it is for all tables of roots."""
        return Roots((), (), coordinates=self.dim)

    @property
    def log_chamber_integral(self) -> float:
        return self.dim * math.log(math.pi)


TURN_REST = 2.4492935982947064e-16
"""2 pi minus its nearest double."""


def _shortest_way(x: Array, y: Array) -> Array:
    """x - y modulo 2 pi, in [-pi, pi], accurate relative to itself across the seam too.

    The rounding error of x - y is known (Knuth, The Art of Computer Programming 2, Theorem 4.2.2.B), and that of 2 pi.
    """
    way = x - y
    back = way - x
    rest = (x - (way - back)) - (y + back)
    turns = namespace(way).round(way / (2 * math.pi))
    return (way - 2 * math.pi * turns) + (rest - TURN_REST * turns)
