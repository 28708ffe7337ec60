"""Real and complex projective spaces: lines through the origin, held as unit vectors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from ...array import Array, namespace, to_complex
from ..contract import Symmetric, line_angle, normalized, require_integer
from ..roots import Roots, log_sphere_volume
from .sphere import first_axis, great_circle, great_circle_step, log_sine_integral, project_out, reflected, unit_defect


def line_orbits(X: Array, Y: Array) -> Array:
    """Angles between all lines through the rows of X and of Y."""
    xp = namespace(X)
    return xp.acos(xp.clip(xp.abs(xp.conj(X) @ Y.T), 0, 1))[..., None]


def projector(x: Array) -> Array:
    """x x* flattened to real coordinates: the same for every unit vector of the line."""
    xp = namespace(x)
    p = x[..., :, None] * xp.conj(x[..., None, :])
    p = xp.reshape(p, (*p.shape[:-2], x.shape[-1] ** 2))
    return xp.concat((xp.real(p), xp.imag(p)), axis=-1) if p.dtype.kind == "c" else p


@final
@dataclass(frozen=True, repr=False)
class RealProjective(Symmetric):
    """RP^dim, the lines of R^(dim+1) as unit vectors up to sign, with the metric of the sphere: distances are angles.

    Brownian motion is the sphere's: Ye et al. (2024), "Simulation of Brownian paths on S^(n-1)".

    >>> x = np.array([1.0, 0, 0])
    >>> RealProjective(2).distance(x, -x)
    np.float64(0.0)
    """

    dim: int
    violation: ClassVar[str] = "||x| - 1|"
    remedy: ClassVar[str] = "Divide each point by its norm."

    def __post_init__(self) -> None:
        require_integer("RealProjective", "dim", self.dim, 1)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.dim + 1,)

    @property
    def volume(self) -> float:
        return math.exp(log_sphere_volume(self.dim)) / 2

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

    def embed(self, x: Array) -> Array:
        return projector(x)

    @property
    def origin(self) -> np.ndarray:
        return first_axis(self.dim + 1)

    def orbit(self, x: Array, y: Array) -> Array:
        return line_angle(x, y)

    def orbits(self, X: Array, Y: Array) -> Array:
        return line_orbits(X, Y)

    def to_origin(self, x: Array, y: Array) -> Array:
        return reflected(x, y)

    @property
    def roots(self) -> Roots:
        return Roots.of([((1.0,), self.dim - 1)], half_period=math.pi / 2)

    @property
    def log_chamber_integral(self) -> float:
        return log_sine_integral(self.dim - 1, 0)


@final
@dataclass(frozen=True, repr=False)
class ComplexProjective(Symmetric):
    """CP^n, n = `complex_dim`: the lines of C^(n+1) as unit vectors up to a phase, Fubini-Study metric.

    The distance is arccos |<x, y>|, so that S^(2n+1) -> CP^n is a Riemannian submersion and CP^1 is a sphere of
    radius 1/2. One step of Brownian motion is Ye et al. (2024), "Simulation of Brownian paths on P_C^(n-1)".

    >>> x = np.array([1.0, 0, 0])
    >>> ComplexProjective(2).distance(x, 1j * x)
    np.float64(0.0)
    """

    complex_dim: int
    is_complex: ClassVar[bool] = True
    violation: ClassVar[str] = "||x| - 1|"
    remedy: ClassVar[str] = "Divide each point by its norm."

    def __post_init__(self) -> None:
        require_integer("ComplexProjective", "complex_dim", self.complex_dim, 1)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.complex_dim + 1,)

    @property
    def dim(self) -> int:
        return 2 * self.complex_dim

    @property
    def volume(self) -> float:
        n = self.complex_dim
        return math.exp(n * math.log(math.pi) - math.lgamma(n + 1))

    def noise(self, x: Array, z: Array) -> Array:
        return project_out(x, z)

    def exp(self, x: Array, v: Array) -> Array:
        return great_circle(x, v)

    def step(self, x: Array, z: Array, time: float) -> Array:
        return great_circle_step(x, to_complex(z), time)

    def polish(self, x: Array) -> Array:
        return normalized(x)

    def random(self, rng: np.random.Generator, n: int) -> Array:
        z = rng.standard_normal((2, n, *self.shape))
        return normalized(z[0] + 1j * z[1])

    def defect(self, x: Array) -> Array:
        return unit_defect(x)

    def embed(self, x: Array) -> Array:
        return projector(x)

    @property
    def origin(self) -> np.ndarray:
        return first_axis(self.complex_dim + 1, complex)

    def orbit(self, x: Array, y: Array) -> Array:
        return line_angle(x, y)

    def orbits(self, X: Array, Y: Array) -> Array:
        return line_orbits(X, Y)

    def to_origin(self, x: Array, y: Array) -> Array:
        return reflected(x, y)

    @property
    def roots(self) -> Roots:
        return Roots.of([((1.0,), 2 * self.complex_dim - 2), ((2.0,), 1)], half_period=math.pi / 2)

    @property
    def log_chamber_integral(self) -> float:
        return math.log(2) + log_sine_integral(2 * self.complex_dim - 1, 1)
