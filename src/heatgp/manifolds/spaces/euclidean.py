"""Euclidean space."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from ...array import Array, namespace, norm
from ..checks import require_positive_integers
from ..contract import Homogeneous, forwarded
from ..roots import log_sphere_volume


@final
@dataclass(frozen=True, repr=False)
class Euclidean(Homogeneous):
    """R^n with the usual metric: the heat kernel is the Gaussian of variance t.

    Points and tangent vectors have shape (n,), geodesics are straight lines. The orbit coordinate of a pair is its
    distance, in [0, inf).

    Parameters
    ----------
    n : int
        The dimension, at least 1.

    Examples
    --------
    >>> Euclidean(2).distance(np.zeros(2), np.array([3.0, 4.0]))
    np.float64(5.0)
    """

    n: int
    draws_evenly: ClassVar[bool] = True
    straight: ClassVar[bool] = True
    volume: ClassVar[float] = math.inf  # type: ignore[misc]
    scalar_curvature: ClassVar[float] = 0.0  # type: ignore[misc]

    def __post_init__(self) -> None:
        require_positive_integers(self)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.n,)

    dim = forwarded("n")

    def noise(self, x: Array, z: Array) -> Array:
        return z + 0 * x

    def exp(self, x: Array, v: Array) -> Array:
        return x + v

    def random(self, rng: np.random.Generator, n: int) -> Array:
        """n standard normal points: there is no uniform law."""
        return rng.standard_normal((n, self.n))

    def defect(self, x: Array) -> Array:
        return namespace(x).zeros(x.shape[:-1])

    def distance(self, x: Array, y: Array) -> Array:
        return norm(x - y)

    @property
    def origin(self) -> np.ndarray:
        return np.zeros(self.n)

    def orbit(self, x: Array, y: Array) -> Array:
        return norm(x - y)[..., None]

    def to_origin(self, x: Array, y: Array) -> Array:
        return y - x

    @property
    def chamber(self) -> tuple[tuple[float, float], ...]:
        return ((0.0, math.inf),)

    def log_strip(self, theta: Array) -> Array:
        """log of the area of the sphere of radius theta."""
        xp = namespace(theta)
        r = theta[..., 0]
        if self.n == 1:
            return math.log(2) + xp.zeros_like(r)
        logs = xp.where(r > 0, xp.log(xp.where(r > 0, r, 1.0)), -math.inf)
        return log_sphere_volume(self.n - 1) + (self.n - 1) * logs

    def length(self, theta: Array) -> Array:
        return theta[..., 0]
