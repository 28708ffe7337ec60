"""The common members of spheres and projective spaces: their points are unit vectors."""

import math
from typing import Any, ClassVar

import numpy as np

from ...array import Array, cos_sinc_numbers, inner, is_complex, namespace, norm, sinc, white_noise
from ..checks import points_to_project, refuse, require_positive_integers
from ..contract import Symmetric


class UnitVectors(Symmetric):
    """Unit vectors of R^n or C^n: all of them, or up to a sign or a phase.

    A tangent vector at x is orthogonal to x (in C^n: x*v = 0), its norm is that of R^n or C^n, and geodesics are great
    circles. One step of Brownian motion is Ye et al. (2024), "Simulation of Brownian paths on S^(n-1)": a tangent
    normal vector along a great circle. Projecting white noise gives it without a basis of the tangent space.
    """

    violation: ClassVar[str] = "||x| - 1|"
    remedy: ClassVar[str] = "Divide each point by its norm."
    draws_evenly: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_positive_integers(self)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.dim // self._beta + 1,)

    def noise(self, x: Array, z: Array) -> Array:
        """The part of z orthogonal to x."""
        return z - x * inner(x, z)

    def to_tangent(self, x: Array, v: Array) -> Array:
        return v - x * inner(x, v)

    def metric(self, x: Array, u: Array, v: Array) -> Array:
        return namespace(x).real(inner(u, v))[..., 0]

    def tangent_basis(self, x: Array) -> Array:
        """The columns, but the first, of the reflection that carries x to the first axis; in C^n times i as well."""
        xp = namespace(x)
        first, axes = x[..., :1], xp.eye(x.shape[-1], dtype=x.dtype)
        size = xp.abs(first)
        v = x + xp.where(size == 0, 1.0, first / xp.where(size == 0, 1.0, size)) * axes[0]
        scale = xp.conj(v[..., 1:]) / (1 + size)
        basis = axes[1:] - scale[..., :, None] * v[..., None, :]
        return xp.concat((basis, 1j * basis), axis=-2) if is_complex(x) else basis

    def exp(self, x: Array, v: Array) -> Array:
        """cos|v| x + sin|v| v/|v|."""
        r = norm(v)[..., None]
        return namespace(x).cos(r) * x + sinc(r) * v

    def step(self, x: Array, z: Array, time: float) -> Array:
        v = self._random_tangent(x, z, time)
        square = namespace(v).real(inner(v, v))
        # The norm of z concentrates at the root of its number of real entries; nothing is beyond seven deviations.
        radius = math.sqrt(time) * (math.sqrt(x.shape[-1] * self._beta) + 7)
        c, s = cos_sinc_numbers(square, radius)
        return c * x + s * v

    def polish(self, x: Array) -> Array:
        """x / |x|."""
        return x / norm(x)[..., None]

    def project(self, x: Any) -> np.ndarray:
        """x / |x|."""
        points = points_to_project(self, x)
        largest = np.abs(points).max(axis=-1, keepdims=True)
        refuse(self, largest[..., 0] == 0, "it is zero")
        return self.polish(self.polish(points / largest))  # twice: to the last digit

    def random(self, rng: np.random.Generator, n: int) -> Array:
        return self.polish(white_noise(rng, (n, *self.shape), self.is_complex))

    def defect(self, x: Array) -> Array:
        """| |x| - 1 |."""
        return namespace(x).abs(norm(x) - 1)

    @property
    def origin(self) -> np.ndarray:
        return np.eye(1, self.shape[0], dtype=complex if self.is_complex else float)[0]

    def to_origin(self, x: Array, y: Array) -> Array:
        """y under the reflection that carries x, up to a phase, to the first axis."""
        xp = namespace(x)
        first = x[..., :1]
        size = xp.abs(first)
        if is_complex(x):
            phase = xp.where(size == 0, 1.0, xp.conj(first) / xp.where(size == 0, 1.0, size))
            x, y = phase * x, phase * y
        v = x - xp.asarray(np.eye(1, x.shape[-1])[0], dtype=x.dtype)
        square = xp.real(inner(v, v))
        return y - 2 * v * inner(v, y) / xp.where(square == 0, 1.0, square)


def angle(x: Array, y: Array) -> Array:
    """Angle between unit vectors, accurate at 0 and at pi, as an array (..., 1).

    Reference: Kahan (2006), "How futile are mindless assessments of roundoff", section 12.
    """
    xp, chord = namespace(x), norm(x - y)
    found = 2 * xp.atan2(chord, norm(x + y))
    return xp.where(xp.isfinite(chord), found, math.nan)[..., None]  # of two infinite norms it would be a number


def log_sine_integral(sines: float, cosines: float) -> float:
    """log of the integral of sin^a cos^b over [0, pi/2]."""
    a, b = (sines + 1) / 2, (cosines + 1) / 2
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b) - math.log(2)
