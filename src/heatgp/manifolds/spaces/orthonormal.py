"""The common members of matrix groups, Stiefel manifolds and Grassmannians: matrices with orthonormal columns."""

from typing import Any, ClassVar

import numpy as np

from ...array import Array, newton_schulz, orthonormality_defect, white_noise
from ..checks import points_to_project, refuse
from ..contract import Homogeneous


class OrthonormalColumns(Homogeneous):
    """Matrices (n, k), k <= n, with orthonormal columns in R^n or C^n."""

    violation: ClassVar[str] = "|x*x - I|"
    draws_evenly: ClassVar[bool] = True

    def polish(self, x: Array) -> Array:
        """One step towards the nearest matrix with orthonormal columns."""
        return newton_schulz(x)

    def project(self, x: Any) -> np.ndarray:
        """The polar factor: of all matrices with orthonormal columns the nearest to x.

        Reference: Higham (2008), Functions of Matrices, Theorem 8.4.
        """
        u, _, vh = full_rank_svd(self, x)
        return newton_schulz(u @ vh)

    def random(self, rng: np.random.Generator, n: int) -> Array:
        """n points of the uniform law: the first columns of Haar matrices."""
        matrices = random_matrices(rng, n, self.shape[0], self.is_complex)
        return np.ascontiguousarray(matrices[:, :, : self.shape[1]])

    def defect(self, x: Array) -> Array:
        """The largest entry of x*x - I."""
        return orthonormality_defect(x)

    @property
    def origin(self) -> np.ndarray:
        return np.eye(self.shape[0], self.shape[1], dtype=complex if self.is_complex else float)


def full_rank_svd(manifold: Homogeneous, x: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Singular vectors and values of matrices x, or an error where the columns are not independent."""
    u, s, vh = np.linalg.svd(points_to_project(manifold, x), full_matrices=False)
    refuse(manifold, s[..., -1] <= 1e-12 * s[..., 0], "its columns are linearly dependent")
    return u, s, vh


def random_matrices(rng: np.random.Generator, number: int, n: int, is_complex: bool) -> np.ndarray:
    """Haar measure on O(n) or U(n): QR of a Gaussian matrix with the phases of R's diagonal moved into Q.

    Reference: Mezzadri (2007), Notices of the AMS 54, 592-604.
    """
    q, r = np.linalg.qr(white_noise(rng, (number, n, n), is_complex))
    return q * np.sign(np.diagonal(r, axis1=-2, axis2=-1))[:, None, :]
