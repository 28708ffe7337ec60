"""Exact heat kernels of flat spaces: Euclidean space and tori."""

from dataclasses import dataclass
from math import pi

import numpy as np

from ...array import wrap
from ..kernel import Profile, Slice
from .families import sphere


@dataclass(frozen=True)
class EuclideanProfile(Profile):
    """R^dim: p_t = (2 pi t)^(-dim/2) exp(-r² / 2t); theta is the distance r."""

    dim: int

    def prepare(self, time: float) -> Slice:
        def value(theta: np.ndarray) -> np.ndarray:
            square = np.asarray(theta, dtype=float)[..., 0] ** 2
            return (2 * pi * time) ** (-self.dim / 2) * np.exp(square * (-0.5 / time))

        def slope(theta: np.ndarray) -> np.ndarray:
            square = np.asarray(theta, dtype=float)[..., 0] ** 2
            return value(theta) * (square / time - self.dim) / (2 * time)

        return Slice(value, slope)


@dataclass(frozen=True)
class TorusProfile(Profile):
    """The product of `dim` unit circles; theta are the differences of the angles, modulo 2 pi."""

    dim: int

    def prepare(self, time: float) -> Slice:
        circle = sphere(1).at(time)

        def value(theta: np.ndarray) -> np.ndarray:
            return circle(angles(theta)).prod(axis=-1)

        def slope(theta: np.ndarray) -> np.ndarray:
            each, change = circle(angles(theta)), circle.slope(angles(theta))
            return sum(np.where(np.arange(self.dim) == i, change, each).prod(axis=-1) for i in range(self.dim))

        return Slice(value, slope)


def angles(theta: np.ndarray) -> np.ndarray:
    """Angles (..., dim) as orbit coordinates (..., dim, 1) of circles."""
    return wrap(np.asarray(theta, dtype=float))[..., None]
