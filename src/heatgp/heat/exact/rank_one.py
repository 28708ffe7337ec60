"""Exact heat kernels that are functions of distances: flat spaces, spheres and projective spaces.

Each of the curved ones is a line in a table: the Jacobi parameters of its zonal functions and its volume.
"""

from dataclasses import dataclass
from math import exp, lgamma, log, pi

import numpy as np

from .jacobi import JacobiProfile


def _rank_one(alpha: float, beta: float, speed: int) -> JacobiProfile:
    """The space with volume element const * sin(speed r / 2)^(2 alpha + 1) cos(speed r / 2)^(2 beta + 1) dr."""
    volume = exp((alpha + 1) * log(4 * pi / speed**2) + lgamma(beta + 1) - lgamma(alpha + beta + 2))
    return JacobiProfile(1, alpha, beta, speed, volume)


def sphere(dim: int) -> JacobiProfile:
    """The unit sphere S^dim; theta the distance in [0, pi].

    >>> float(sphere(2).at(50.0)([0.3]) * 4 * pi)
    1.0
    """
    return _rank_one(dim / 2 - 1, dim / 2 - 1, 1)


def real_projective(dim: int) -> JacobiProfile:
    """RP^dim, the unit sphere modulo sign; theta the distance in [0, pi/2]."""
    return _rank_one(dim / 2 - 1, -0.5, 2)


def complex_projective(dim: int) -> JacobiProfile:
    """CP^dim (complex dimension) with the Fubini-Study metric; theta the distance in [0, pi/2]."""
    return _rank_one(dim - 1, 0, 2)


@dataclass(frozen=True)
class EuclideanProfile:
    """R^dim: p_t = (2 pi t)^(-dim/2) exp(-r^2 / 2t); theta the distance r."""

    dim: int

    def at(self, time: float) -> "EuclideanSlice":
        """The kernel at one time."""
        return EuclideanSlice(self.dim, float(time))


@dataclass(frozen=True)
class EuclideanSlice:
    """The Gaussian density at one time."""

    dim: int
    time: float

    def __call__(self, theta) -> np.ndarray:
        square = np.asarray(theta, dtype=float)[..., 0] ** 2
        return (2 * pi * self.time) ** (-self.dim / 2) * np.exp(square * (-0.5 / self.time))

    def slope(self, theta) -> np.ndarray:
        """The derivative of p_t in t."""
        square = np.asarray(theta, dtype=float)[..., 0] ** 2
        return self(theta) * (square / self.time - self.dim) / (2 * self.time)

    def error(self, theta) -> np.ndarray:
        """Zeros: the kernel is exact."""
        return np.zeros(np.shape(theta)[:-1])


@dataclass(frozen=True)
class TorusProfile:
    """The product of dim unit circles; theta the differences of the angles, modulo 2 pi."""

    dim: int

    def at(self, time: float) -> "TorusSlice":
        """The kernel at one time, prepared once."""
        return TorusSlice(self.dim, float(time))


@dataclass(frozen=True)
class TorusSlice:
    """The product of wrapped Gaussians at one time."""

    dim: int
    time: float

    def __call__(self, theta) -> np.ndarray:
        return sphere(1).at(self.time)(self._angles(theta)).prod(axis=-1)

    def slope(self, theta) -> np.ndarray:
        """The derivative of p_t in t, by the product rule."""
        circle, angles = sphere(1).at(self.time), self._angles(theta)
        value, slope = circle(angles), circle.slope(angles)
        return sum(np.where(np.arange(self.dim) == i, slope, value).prod(axis=-1) for i in range(self.dim))

    def error(self, theta) -> np.ndarray:
        """Zeros: the kernel is exact to rounding."""
        return np.zeros(np.shape(theta)[:-1])

    @staticmethod
    def _angles(theta) -> np.ndarray:
        angle = np.asarray(theta, dtype=float)
        return (angle - 2 * pi * np.round(angle / (2 * pi)))[..., None]
