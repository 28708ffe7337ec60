"""Spheres."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from ...array import Array, cos_sinc_numbers, inner, is_complex, namespace, norm, sinc
from ..contract import Symmetric, angle, normalized, require_integer
from ..roots import Roots, log_sphere_volume


def project_out(x: Array, z: Array) -> Array:
    """The part of z orthogonal to the unit vector x: the tangent vector of spheres and projective spaces."""
    return z - x * inner(x, z)


def great_circle(x: Array, v: Array) -> Array:
    """cos|v| x + sin|v| v/|v|."""
    r = norm(v)[..., None]
    return namespace(x).cos(r) * x + sinc(r) * v


def great_circle_step(x: Array, z: Array, time: float) -> Array:
    """A step of Brownian motion along a great circle, driven by white noise z of the surrounding space."""
    v = project_out(x, math.sqrt(time) * z)
    square = namespace(v).real(inner(v, v))
    # The norm of z concentrates at the root of its number of real entries; seven standard deviations are never passed.
    radius = math.sqrt(time) * (math.sqrt(x.shape[-1] * (2 if is_complex(x) else 1)) + 7)
    c, s = cos_sinc_numbers(square, radius)
    return c * x + s * v


def unit_defect(x: Array) -> Array:
    """| |x| - 1 |."""
    return namespace(x).abs(norm(x) - 1)


def first_axis(n: int, dtype: type = float) -> np.ndarray:
    x: np.ndarray = np.zeros(n, dtype)
    x[0] = 1
    return x


def reflected(x: Array, y: Array) -> Array:
    """y under the reflection that carries the unit vector x, up to a phase, to the first axis."""
    xp = namespace(x)
    first = x[..., :1]
    size = xp.abs(first)
    if is_complex(x):
        phase = xp.where(size == 0, 1.0, xp.conj(first) / xp.where(size == 0, 1.0, size))
        x, y = phase * x, phase * y
    v = x - xp.asarray(first_axis(x.shape[-1]), dtype=x.dtype)
    square = xp.real(inner(v, v))
    return y - 2 * v * inner(v, y) / xp.where(square == 0, 1.0, square)


def log_sine_integral(sines: float, cosines: float) -> float:
    """log of the integral of sin^a cos^b over [0, pi/2]."""
    a, b = (sines + 1) / 2, (cosines + 1) / 2
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b) - math.log(2)


@final
@dataclass(frozen=True, repr=False)
class Sphere(Symmetric):
    """The unit sphere S^dim of R^(dim+1), with the metric of R^(dim+1): distances are angles.

    One step of Brownian motion is Ye et al. (2024), "Simulation of Brownian paths on S^(n-1)": a tangent normal
    vector along a great circle. Projecting white noise of R^(dim+1) gives it without a basis of the tangent space.

    >>> Sphere(2).distance(np.array([1.0, 0, 0]), np.array([0.0, 1, 0])) / np.pi
    np.float64(0.5)
    """

    dim: int
    violation: ClassVar[str] = "||x| - 1|"
    remedy: ClassVar[str] = "Divide each point by its norm."

    def __post_init__(self) -> None:
        require_integer("Sphere", "dim", self.dim, 1)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.dim + 1,)

    @property
    def volume(self) -> float:
        return math.exp(log_sphere_volume(self.dim))

    def noise(self, x: Array, z: Array) -> Array:
        return project_out(x, z)

    def exp(self, x: Array, v: Array) -> Array:
        return great_circle(x, v)

    def step(self, x: Array, z: Array, time: float) -> Array:
        return great_circle_step(x, z, time)

    def polish(self, x: Array) -> Array:
        return normalized(x)

    def random(self, rng: np.random.Generator, n: int) -> Array:
        return normalized(rng.standard_normal((n, *self.shape)))

    def defect(self, x: Array) -> Array:
        return unit_defect(x)

    @property
    def origin(self) -> np.ndarray:
        return first_axis(self.dim + 1)

    def orbit(self, x: Array, y: Array) -> Array:
        return angle(x, y)

    def orbits(self, X: Array, Y: Array) -> Array:
        xp = namespace(X)
        return xp.acos(xp.clip(X @ Y.T, -1, 1))[..., None]

    def to_origin(self, x: Array, y: Array) -> Array:
        return reflected(x, y)

    @property
    def roots(self) -> Roots:
        return Roots.of([((1.0,), self.dim - 1)])

    @property
    def log_chamber_integral(self) -> float:
        return math.log(2) + log_sine_integral(self.dim - 1, 0)
