"""Exact heat kernels of flat spaces: Euclidean space and tori."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...array import Array, namespace, wrap
from ..kernel import Profile, Slice, no_error
from ..special.cubic_table import read_cubic
from .families import sphere


@dataclass(frozen=True)
class EuclideanProfile(Profile):
    """R^dim: p_t = (2 pi t)^(-dim/2) exp(-r² / 2t); theta is the distance r."""

    dim: int

    def prepare(self, time: float) -> Slice:
        def log(theta: np.ndarray) -> np.ndarray:
            return np.asarray(theta, dtype=float)[..., 0] ** 2 * (-0.5 / time)

        def slope(theta: np.ndarray) -> np.ndarray:
            exponent = log(theta)
            return np.exp(exponent) * (-exponent - self.dim / 2) / time

        return Slice(
            lambda theta: np.exp(log(theta)),
            slope,
            no_error,
            -self.dim / 2 * math.log(2 * math.pi * time),
            log,
            lambda theta: theta * (np.exp(log(theta))[..., None] / -time),
        )

    def tabulated(self, time: float) -> tuple[Any, Any, float]:
        numbers, slope = (1.0, -0.5 / time), (-self.dim / 2, 0.5 / time)
        log_scale = -self.dim / 2 * math.log(2 * math.pi * time)
        return tuple(map(np.array, numbers)), tuple(map(np.array, slope)), log_scale

    def read_table(self, numbers: Any, theta: Array) -> Array:
        factor, rate = numbers
        return factor * namespace(theta).exp(theta[..., 0] ** 2 * rate)


@dataclass(frozen=True)
class TorusProfile(Profile):
    """The product of `dim` unit circles; theta are the differences of the angles, modulo 2 pi."""

    dim: int

    def prepare(self, time: float) -> Slice:
        circle = sphere(1).at(time)

        def value(theta: np.ndarray) -> np.ndarray:
            return circle.relative_value(angles(theta)).prod(axis=-1)

        def slope(theta: np.ndarray) -> np.ndarray:
            each, change = circle.relative_value(angles(theta)), circle.relative_slope(angles(theta))
            return sum(np.where(np.arange(self.dim) == i, change, each).prod(axis=-1) for i in range(self.dim))

        def log(theta: np.ndarray) -> np.ndarray:
            return circle.relative_log(angles(theta)).sum(axis=-1)

        def gradient(theta: np.ndarray) -> np.ndarray:
            """At theta in [0, pi]."""
            assert circle.relative_gradient is not None
            each, change = circle.relative_value(theta[..., None]), circle.relative_gradient(theta[..., None])[..., 0]
            others = [np.delete(each, i, axis=-1).prod(axis=-1) for i in range(self.dim)]
            return change * np.stack(others, axis=-1)

        return Slice(value, slope, no_error, self.dim * circle.log_scale, log, gradient)

    def tabulated(self, time: float) -> tuple[Any, Any, float]:
        numbers, slope, log_scale = sphere(1).tabulated(time)
        return numbers, slope, self.dim * log_scale

    def read_table(self, numbers: Any, theta: Array) -> Array:
        return namespace(theta).prod(read_cubic(numbers, wrap(theta)), axis=-1)

    def few(self, time: float, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        values, _, scale = sphere(1).few(time, np.abs(angles(theta)))
        return values.prod(axis=-1), no_error(theta), self.dim * scale


def angles(theta: np.ndarray) -> np.ndarray:
    """Angles (..., dim) as orbit coordinates (..., dim, 1) of circles."""
    return wrap(np.asarray(theta, dtype=float))[..., None]
