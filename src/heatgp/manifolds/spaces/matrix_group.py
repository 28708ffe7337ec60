"""What the compact matrix groups share: their points are square matrices with orthonormal columns."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from ...array import Array, adjoint, expm_skew, matmul, namespace, newton_schulz, orthonormality_defect, skew
from ..checks import require_integer
from ..contract import Symmetric


class MatrixGroup(Symmetric):
    """A group of real or complex n x n matrices with orthonormal columns, with <X, Y> = Re tr(X*Y)/2.

    Tangent vectors at x are xX with X in the Lie algebra (skew-Hermitian matrices), geodesics are x exp(tX). Orbit
    coordinates are the angles of the eigenvalues of x*y.
    """

    violation: ClassVar[str] = "|x*x - I|"
    remedy: ClassVar[str] = "Orthonormalise with numpy.linalg.qr."
    draws_evenly: ClassVar[bool] = True
    special: ClassVar[bool] = False
    """Whether determinants are one."""
    smallest: ClassVar[int] = 2
    """The smallest n."""
    n: int

    def __post_init__(self) -> None:
        require_integer(type(self).__name__, "n", self.n, self.smallest)

    @abstractmethod
    def angles(self, r: Array) -> Array:
        """Orbit coordinates (..., coordinates) of group elements r = x*y."""

    @abstractmethod
    def all_angles(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray | None:
        """Orbit coordinates of all pairs by a faster way; None where there is none for this n."""

    def algebra(self, z: Array) -> Array:
        """White noise z (..., n, n) to white noise of the Lie algebra."""
        return skew(z)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.n, self.n)

    def noise(self, x: Array, z: Array) -> Array:
        return matmul(x, self.algebra(z))

    def exp(self, x: Array, v: Array) -> Array:
        return matmul(x, expm_skew(matmul(adjoint(x), v)))

    def polish(self, x: Array) -> Array:
        return newton_schulz(x)

    def random(self, rng: np.random.Generator, n: int) -> Array:
        q = random_matrices(rng, n, self.n, self.is_complex)
        if self.special:
            q[:, :, 0] /= np.linalg.det(q)[:, None]
        return q

    def defect(self, x: Array) -> Array:
        xp = namespace(x)
        columns = orthonormality_defect(x)
        return xp.maximum(columns, xp.abs(xp.linalg.det(x) - 1)) if self.special else columns

    @property
    def origin(self) -> np.ndarray:
        return np.eye(self.n, dtype=complex if self.is_complex else float)

    def to_origin(self, x: Array, y: Array) -> Array:
        return matmul(adjoint(x), y)

    def orbit(self, x: Array, y: Array) -> Array:
        return self.angles(matmul(adjoint(x), y))

    def orbits(self, X: Array, Y: Array) -> Array:
        found = self.all_angles(X, Y) if isinstance(X, np.ndarray) else None
        return super().orbits(X, Y) if found is None else found


def random_matrices(rng: np.random.Generator, number: int, n: int, is_complex: bool) -> np.ndarray:
    """Haar measure on O(n) or U(n): QR of a Gaussian matrix with the phases of R's diagonal moved into Q.

    Reference: Mezzadri (2007), Notices of the AMS 54, 592-604.
    """
    z = rng.standard_normal((2, number, n, n) if is_complex else (number, n, n))
    q, r = np.linalg.qr(z[0] + 1j * z[1] if is_complex else z)
    return q * np.sign(np.diagonal(r, axis1=-2, axis2=-1))[:, None, :]
