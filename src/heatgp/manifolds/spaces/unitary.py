"""Unitary and special unitary groups, with <X, Y> = Re tr(X*Y)/2 on the Lie algebra."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from ...array import Array, adjoint, expm_series, identity_like, matmul, namespace, to_complex, wrap
from ..checks import refuse
from ..roots import Roots, as_volume, axis_pairs
from .all_pairs import special_unitary_orbits, unitary_orbits
from .matrix_group import MatrixGroup
from .orthonormal import full_rank_svd
from .spectral import with_eigenvalues


def eigenangles(a: Array) -> Array:
    """Angles in (-pi, pi] of the eigenvalues of unitary matrices I + a, (..., n, n), increasing.

    The eigenvalues of a normal matrix have errors relative to its norm, and 1 + z has the imaginary part of z. Up to
    n = 2 closed forms: I + a = exp(i centre) (cos(half) + i sin(half) m) with m of trace 0 and square I.
    """
    xp = namespace(a)
    if a.shape[-1] > 2:
        return xp.sort(xp.angle(1 + xp.linalg.eigvals(a)), axis=-1)
    first, last = a[..., 0, 0], a[..., -1, -1]
    if a.shape[-1] == 1:
        return xp.angle(1 + first)[..., None]
    b, c = a[..., 0, 1], a[..., 1, 0]
    centre = xp.angle(1 + (first + last + first * last - b * c)) / 2
    cosine = xp.real((1 + (first + last) / 2) * xp.exp(-1j * centre))
    sine = xp.sqrt((xp.abs(first - last) ** 2 / 2 + xp.abs(b) ** 2 + xp.abs(c) ** 2) / 2)
    half = xp.atan2(sine, cosine)
    return xp.sort(wrap(xp.stack((centre - half, centre + half), axis=-1)), axis=-1)


def log_unitary_volume(n: int) -> float:
    """log of the volume of U(n)."""
    factorials = sum(math.lgamma(j + 1) for j in range(1, n))
    return n * (n + 1) / 2 * math.log(2 * math.pi) - n * n / 2 * math.log(2) - factorials


class UnitaryGroup(MatrixGroup):
    """Complex matrices with orthonormal columns."""

    is_complex: ClassVar[bool] = True
    angles = staticmethod(eigenangles)

    @property
    def dim(self) -> int:
        return self.n**2 - self.special

    @property
    def volume(self) -> float:
        """U(n) is a bundle of SU(n) over the circle of determinants, of length 2 pi / sqrt(2n)."""
        volume = as_volume(self, log_unitary_volume(self.n))
        return volume * math.sqrt(2 * self.n) / (2 * math.pi) if self.special else volume

    def step(self, x: Array, z: Array, time: float) -> Array:
        """Ye et al. (2024), "Simulation of Brownian paths on SO(n)", with a step in u(n) or su(n): x exp(X)."""
        # The norm of a step of unit time concentrates at sqrt(8n); seven more standard deviations are never seen.
        radius = math.sqrt(time) * (math.sqrt(8 * self.n) + 7)
        return matmul(x, expm_series(math.sqrt(time) * self.algebra(to_complex(z)), radius))

    def orbit_gradients(self, X: Array, Y: Array, theta: Array, slopes: Callable[[], Array]) -> Array:
        """-2i x q(x*y), with q = slope at the eigenvalue exp(i theta)."""
        xp, x, derivatives = namespace(X), X[:, None], slopes()
        turned = matmul(adjoint(x), Y)
        nodes = xp.exp(1j * theta)
        if self.special:  # `orbits` may have changed all signs
            trace = xp.linalg.trace(turned)
            other = xp.imag(trace) * xp.imag(xp.sum(nodes, axis=-1)) < 0
            nodes = xp.where(other[..., None], xp.conj(nodes), nodes)
            derivatives = xp.where(other[..., None], -derivatives, derivatives)
        return -2j * matmul(x, with_eigenvalues(turned, nodes, derivatives + 0j))

    @property
    def roots(self) -> Roots:
        table = [(form, 2) for form in axis_pairs(self.n, (-1,), 0.5)]
        return Roots.of(table, unit=1 / math.sqrt(2), coordinates=self.n, signed=True, sum_zero=self.special)

    @property
    def log_chamber_integral(self) -> float:
        """The integral over (-pi, pi]^n of the product of sin²((a-b)/2) is (2 pi)^n n! / 2^(n(n-1)).

        On SU(n) one angle is not free. Reference: Mehta (2004), Random Matrices, eq. (11.1.9).
        """
        integral = self.n * math.log(2 * math.pi) + math.lgamma(self.n + 1) - self.n * (self.n - 1) * math.log(2)
        return integral - math.log(2 * math.pi) if self.special else integral


@final
@dataclass(frozen=True, repr=False)
class Unitary(UnitaryGroup):
    """U(n) with <X, Y> = Re tr(X*Y)/2.

    Points are complex matrices (n, n) with x*x = I, tangent vectors at x are xX with skew-Hermitian X, geodesics are
    x exp(tX). Orbit coordinates are the eigenangles of x*y, increasing in (-pi, pi]; the distance is their norm over
    √2: U(1) is a circle of length √2 pi.

    Parameters
    ----------
    n : int
        The size of the matrices, at least 1.

    Examples
    --------
    >>> import numpy as np
    >>> float(Unitary(2).distance(np.eye(2) + 0j, 1j * np.eye(2)).round(4))
    1.5708
    """

    n: int
    smallest: ClassVar[int] = 1
    all_angles = staticmethod(unitary_orbits)


@final
@dataclass(frozen=True, repr=False)
class SpecialUnitary(UnitaryGroup):
    """SU(n) with <X, Y> = Re tr(X*Y)/2: SU(2) is the unit sphere S^3.

    Points are complex matrices (n, n) with x*x = I and determinant one, tangent vectors at x are xX with skew-Hermitian
    X of trace zero, geodesics are x exp(tX). Orbit coordinates are all n eigenangles of x*y, increasing in (-pi, pi],
    with sum 0 modulo 2 pi: the first n - 1 determine the last, and omega is the density of those.

    Parameters
    ----------
    n : int
        The size of the matrices, at least 2.

    Examples
    --------
    >>> import numpy as np
    >>> float(SpecialUnitary(2).distance(np.eye(2) + 0j, np.diag([1j, -1j])).round(4))
    1.5708
    """

    n: int
    special: ClassVar[bool] = True
    violation: ClassVar[str] = "|x*x - I| or |det x - 1|"
    all_angles = staticmethod(special_unitary_orbits)

    @staticmethod
    def angles(a: Array) -> Array:
        """Eigenangles whose sum is a multiple of 2 pi: determinants that rounding errors moved off 1 do not enter."""
        theta = eigenangles(a)
        return theta - wrap(namespace(a).sum(theta, axis=-1, keepdims=True)) / a.shape[-1]

    def algebra(self, z: Array) -> Array:
        """White noise of su(n): without the multiple of the identity that carries the trace."""
        x, n = super().algebra(z), self.n
        trace = namespace(x).linalg.trace(x) if n > 3 else sum(x[..., i, i] for i in range(n))
        return x - (trace / n)[..., None, None] * identity_like(x)

    def polish(self, x: Array) -> Array:
        """Orthonormal columns, then determinant one: each column gets an equal part of the phase."""
        xp = namespace(x)
        y = super().polish(x)
        phase = xp.angle(xp.linalg.det(y)) / self.n
        return y * xp.exp(-1j * phase)[..., None, None]

    def project(self, x: Any) -> np.ndarray:
        """The nearest matrix of determinant one: the polar factor, its singular directions turned by small angles.

        With singular values s and the determinant's angle a, the angles phi that make the sum of s cos(phi) largest and
        add up to -a have s sin(phi) = c for one number c. Refused is what needs an angle beyond pi/2.
        """
        u, s, vh = full_rank_svd(self, x)
        total = -np.angle(np.linalg.det(u @ vh))[..., None]
        least = s[..., -1:]
        refuse(
            self,
            np.abs(total[..., 0]) > np.sum(np.arcsin(least / s), axis=-1) + 1e-9,
            "its determinant is too far from one",
        )
        low, high = -least, least
        for _ in range(60):  # the sum of the angles increases with c
            middle = (low + high) / 2
            below = np.sum(np.arcsin(middle / s), axis=-1, keepdims=True) < total
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        phi = np.arcsin((low + high) / 2 / s)
        phi += (total - np.sum(phi, axis=-1, keepdims=True)) / self.n
        return np.asarray(self.polish((u * np.exp(1j * phi)[..., None, :]) @ vh))
