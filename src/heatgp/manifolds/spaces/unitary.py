"""Unitary and special unitary groups, with <X, Y> = Re tr(X*Y)/2 on the Lie algebra."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from ...array import (
    Array,
    adjoint,
    expm_series,
    expm_skew,
    identity_like,
    matmul,
    namespace,
    newton_schulz,
    skew,
    to_complex,
)
from ...array import orthonormality_defect as defect_of
from ..contract import Symmetric, require_integer
from ..roots import Roots, axis_pairs
from .all_pairs import special_unitary_orbits, unitary_orbits


def eigenangles(u: Array) -> Array:
    """Angles in (-pi, pi] of the eigenvalues of unitary matrices (..., n, n), increasing."""
    xp = namespace(u)
    if u.shape[-1] == 1:
        return xp.angle(u[..., 0])
    return xp.sort(xp.angle(xp.linalg.eigvals(u)), axis=-1)


def random_unitary(rng: np.random.Generator, n: int, size: int) -> np.ndarray:
    """Haar measure on U(size): QR of a Gaussian matrix with the phases of R's diagonal moved into Q.

    Reference: Mezzadri (2007), Notices of the AMS 54, 592-604.
    """
    z = rng.standard_normal((2, n, size, size))
    q, r = np.linalg.qr(z[0] + 1j * z[1])
    d = np.diagonal(r, axis1=-2, axis2=-1)
    return q * (d / np.abs(d))[:, None, :]


def traceless(x: Array) -> Array:
    """x minus the multiple of the identity that carries its trace."""
    n = x.shape[-1]
    trace = namespace(x).linalg.trace(x) if n > 3 else sum(x[..., i, i] for i in range(n))
    return x - (trace / n)[..., None, None] * identity_like(x)


def unitary_step(x: Array, algebra: Array, time: float) -> Array:
    """Ye et al. (2024), "Simulation of Brownian paths on SO(n)", with a step in u(n) or su(n): x exp(X)."""
    n = x.shape[-1]
    # The norm of a step of unit time concentrates at sqrt(8n); seven more standard deviations are never seen.
    radius = math.sqrt(time) * (math.sqrt(8 * n) + 7)
    return matmul(x, expm_series(math.sqrt(time) * algebra, radius))


def unitary_roots(n: int, sum_zero: bool) -> Roots:
    """The roots of U(n), of SU(n) where the eigenangles have sum zero."""
    table = [(form, 2) for form in axis_pairs(n, (-1,), 0.5)]
    return Roots.of(table, unit=1 / math.sqrt(2), coordinates=n, signed=True, sum_zero=sum_zero)


def log_dyson_integral(n: int) -> float:
    """log of the integral over (-pi, pi]^n of the product of sin²((a-b)/2): (2 pi)^n n! / 2^(n(n-1)).

    Reference: Mehta (2004), Random Matrices, eq. (11.1.9).
    """
    return n * math.log(2 * math.pi) + math.lgamma(n + 1) - n * (n - 1) * math.log(2)


def log_unitary_volume(n: int) -> float:
    factorials = sum(math.lgamma(j + 1) for j in range(1, n))
    return n * (n + 1) / 2 * math.log(2 * math.pi) - n * n / 2 * math.log(2) - factorials


@final
@dataclass(frozen=True, repr=False)
class Unitary(Symmetric):
    """U(n) with <X, Y> = Re tr(X*Y)/2; orbit coordinates are the eigenangles of x*y, increasing in (-pi, pi].

    The distance is their norm over √2: U(1) is a circle of length √2 pi.

    >>> float(Unitary(2).distance(np.eye(2) + 0j, 1j * np.eye(2)).round(4))
    1.5708
    """

    n: int
    is_complex: ClassVar[bool] = True
    violation: ClassVar[str] = "|x*x - I|"
    remedy: ClassVar[str] = "Orthonormalise with numpy.linalg.qr."

    def __post_init__(self) -> None:
        require_integer("Unitary", "n", self.n, 1)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.n, self.n)

    @property
    def dim(self) -> int:
        return self.n**2

    @property
    def volume(self) -> float:
        return math.exp(log_unitary_volume(self.n))

    def noise(self, x: Array, z: Array) -> Array:
        return matmul(x, skew(z))

    def exp(self, x: Array, v: Array) -> Array:
        return matmul(x, expm_skew(matmul(adjoint(x), v)))

    def step(self, x: Array, z: Array, time: float) -> Array:
        return unitary_step(x, skew(to_complex(z)), time)

    def polish(self, x: Array) -> Array:
        return newton_schulz(x)

    def random(self, rng: np.random.Generator, n: int) -> Array:
        return random_unitary(rng, n, self.n)

    def defect(self, x: Array) -> Array:
        return defect_of(x)

    @property
    def origin(self) -> np.ndarray:
        return np.eye(self.n, dtype=complex)

    def orbit(self, x: Array, y: Array) -> Array:
        return eigenangles(matmul(adjoint(x), y))

    def orbits(self, X: Array, Y: Array) -> Array:
        found = unitary_orbits(X, Y) if isinstance(X, np.ndarray) else None
        return super().orbits(X, Y) if found is None else found

    def to_origin(self, x: Array, y: Array) -> Array:
        return matmul(adjoint(x), y)

    @property
    def roots(self) -> Roots:
        return unitary_roots(self.n, sum_zero=False)

    @property
    def log_chamber_integral(self) -> float:
        return log_dyson_integral(self.n)


@final
@dataclass(frozen=True, repr=False)
class SpecialUnitary(Symmetric):
    """SU(n) with <X, Y> = Re tr(X*Y)/2: SU(2) is the unit sphere S^3.

    Orbit coordinates are all n eigenangles of x*y, increasing in (-pi, pi], with sum 0 modulo 2 pi: the
    first n - 1 determine the last, and omega is the density of those.

    >>> float(SpecialUnitary(2).distance(np.eye(2) + 0j, np.diag([1j, -1j])).round(4))
    1.5708
    """

    n: int
    is_complex: ClassVar[bool] = True
    violation: ClassVar[str] = "|x*x - I| or |det x - 1|"
    remedy: ClassVar[str] = "Orthonormalise with numpy.linalg.qr and divide a column by the determinant."

    def __post_init__(self) -> None:
        require_integer("SpecialUnitary", "n", self.n, 2)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.n, self.n)

    @property
    def dim(self) -> int:
        return self.n**2 - 1

    @property
    def volume(self) -> float:
        # U(n) is a bundle of SU(n) over the circle of determinants, of length 2 pi / sqrt(2n).
        return math.exp(log_unitary_volume(self.n)) * math.sqrt(2 * self.n) / (2 * math.pi)

    def noise(self, x: Array, z: Array) -> Array:
        return matmul(x, traceless(skew(z)))

    def exp(self, x: Array, v: Array) -> Array:
        return matmul(x, expm_skew(matmul(adjoint(x), v)))

    def step(self, x: Array, z: Array, time: float) -> Array:
        return unitary_step(x, traceless(skew(to_complex(z))), time)

    def polish(self, x: Array) -> Array:
        """Orthonormal columns, then determinant one: the phase of the determinant is shared by the columns."""
        xp = namespace(x)
        y = newton_schulz(x)
        phase = xp.angle(xp.linalg.det(y)) / self.n
        return y * xp.exp(-1j * phase)[..., None, None]

    def random(self, rng: np.random.Generator, n: int) -> Array:
        q = random_unitary(rng, n, self.n)
        q[:, :, 0] /= np.linalg.det(q)[:, None]
        return q

    def defect(self, x: Array) -> Array:
        xp = namespace(x)
        return xp.maximum(defect_of(x), xp.abs(xp.linalg.det(x) - 1))

    @property
    def origin(self) -> np.ndarray:
        return np.eye(self.n, dtype=complex)

    def orbit(self, x: Array, y: Array) -> Array:
        return eigenangles(matmul(adjoint(x), y))

    def orbits(self, X: Array, Y: Array) -> Array:
        found = special_unitary_orbits(X, Y) if isinstance(X, np.ndarray) else None
        return super().orbits(X, Y) if found is None else found

    def to_origin(self, x: Array, y: Array) -> Array:
        return matmul(adjoint(x), y)

    @property
    def roots(self) -> Roots:
        return unitary_roots(self.n, sum_zero=True)

    @property
    def log_chamber_integral(self) -> float:
        return log_dyson_integral(self.n) - math.log(2 * math.pi)
