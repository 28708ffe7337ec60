"""Euclidean space."""

import math
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from scipy.spatial.distance import cdist

from ...array import Array, namespace, norm
from ..contract import forwarded
from ..roots import log_sphere_volume
from .flat import Flat


@final
@dataclass(frozen=True, repr=False)
class Euclidean(Flat):
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
    volume: ClassVar[float] = math.inf
    scalar_curvature: ClassVar[float] = 0.0
    chamber: ClassVar[tuple[tuple[float, float], ...]] = ((0.0, math.inf),)

    dim = forwarded("n")

    def random(self, rng: np.random.Generator, n: int) -> Array:
        """n standard normal points: there is no uniform law."""
        return rng.standard_normal((n, self.n))

    def distance(self, x: Array, y: Array) -> Array:
        return norm(x - y)

    def orbit(self, x: Array, y: Array) -> Array:
        return norm(x - y)[..., None]

    def orbits(self, X: Array, Y: Array) -> Array:
        return cdist(X, Y)[..., None] if isinstance(X, np.ndarray) else super().orbits(X, Y)

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
