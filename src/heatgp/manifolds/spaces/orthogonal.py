"""Rotation groups and orthogonal groups, with <X, Y> = tr(X'Y)/2 on the Lie algebra."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from scipy.spatial.transform import Rotation

from ...array import Array, adjoint, expm_series, identity_like, matmul, namespace, newton_schulz, sinc, stack_last
from ..checks import refuse, unchecked
from ..contract import Cover
from ..roots import Roots, as_volume, axes, axis_pairs, log_selberg, log_sphere_volume
from .all_pairs import orthogonal_orbits, rotation_orbits
from .differences import angles_of_sines, singular_values
from .matrix_group import MatrixGroup
from .orthonormal import full_rank_svd
from .spectral import with_eigenvalues
from .sphere import Sphere


def rotation_angles(a: Array) -> Array:
    """Angles in [0, pi] of rotations r = I + a, decreasing: (..., n // 2).

    The singular values of a/2 are sin(angle/2) and those of I + a/2 are cos(angle/2), each twice. Up to n = 3 closed
    forms.
    """
    xp = namespace(a)
    n = a.shape[-1]
    if n == 2:
        return xp.atan2(xp.abs(a[..., 1, 0] - a[..., 0, 1]), 2 + a[..., 0, 0] + a[..., 1, 1])[..., None]
    if n == 3:
        x, y, z = (a[..., i, j] - a[..., j, i] for i, j in ((2, 1), (0, 2), (1, 0)))
        sine = xp.sqrt(x * x + y * y + z * z)
        return xp.atan2(sine, 2 + a[..., 0, 0] + a[..., 1, 1] + a[..., 2, 2])[..., None]
    half = angles_of_sines(
        singular_values(a / 2), identity_like(a) + a / 2
    )  # in pairs, and for odd n a zero at the end
    return 2 * half[..., : 2 * (n // 2) : 2]


def orthogonal_angles(a: Array) -> Array:
    """The same for orthogonal matrices I + a; infinite for those of determinant -1."""
    xp = namespace(a)
    return xp.where(xp.linalg.det(identity_like(a) + a)[..., None] > 0, rotation_angles(a), math.inf)


def skew_from_entries(z: Array, n: int) -> Array:
    """The skew matrix whose entries above the diagonal, row by row, are z (..., n(n-1)/2)."""
    xp = namespace(z)
    rows, columns = np.triu_indices(n, 1)
    if n > 4:  # one product with the basis of so(n)
        basis = np.zeros((len(rows), n, n))
        basis[np.arange(len(rows)), rows, columns] = 1
        basis[np.arange(len(rows)), columns, rows] = -1
        return xp.reshape(z @ xp.asarray(basis.reshape(-1, n * n), dtype=z.dtype), (*z.shape[:-1], n, n))
    entry = {(i, j): z[..., k] for k, (i, j) in enumerate(zip(rows.tolist(), columns.tolist()))}
    zero = 0 * z[..., 0]
    entries = [entry[i, j] if i < j else -entry[j, i] if i > j else zero for i in range(n) for j in range(n)]
    return xp.reshape(stack_last(entries), (*z.shape[:-1], n, n))


def rodrigues(w: Array) -> Array:
    """exp of the skew matrix of so(3) with entries w = (w12, w13, w23) above the diagonal."""
    xp = namespace(w)
    c, b, a = -w[..., 0], w[..., 1], -w[..., 2]  # the rotation vector (a, b, c)
    half = xp.sqrt(a * a + b * b + c * c) / 2
    s = sinc(half) / 2
    return quaternion_matrix(xp.cos(half), s * a, s * b, s * c)


def quaternion_matrix(q: Array, x: Array, y: Array, z: Array) -> Array:
    """The rotation v -> p v p* of the unit quaternion p = q + xi + yj + zk."""
    xx, yy, zz, xy, xz, yz = 2 * x * x, 2 * y * y, 2 * z * z, 2 * x * y, 2 * x * z, 2 * y * z
    qx, qy, qz = 2 * q * x, 2 * q * y, 2 * q * z
    entries = (1 - yy - zz, xy - qz, xz + qy, xy + qz, 1 - xx - zz, yz - qx, xz - qy, yz + qx, 1 - xx - yy)
    return namespace(q).reshape(stack_last(entries), (*q.shape, 3, 3))


def to_quaternions(x: np.ndarray) -> np.ndarray:
    """Rotation matrices (..., 3, 3) to unit quaternions (..., 4), scalar first, in their precision."""
    flat = Rotation.from_matrix(np.reshape(x, (-1, 3, 3))).as_quat(scalar_first=True)
    return flat.reshape(*x.shape[:-2], 4).astype(x.dtype)


def from_quaternions(p: Array) -> Array:
    """Unit quaternions (..., 4), scalar first, to rotation matrices (..., 3, 3)."""
    return quaternion_matrix(*(p[..., i] for i in range(4)))


def log_rotation_volume(n: int) -> float:
    """log of the volume of SO(n), a bundle of spheres."""
    return sum(log_sphere_volume(d) for d in range(1, n))


class OrthogonalGroup(MatrixGroup):
    """Real matrices with orthonormal columns; white noise of a step is the entries above the diagonal."""

    @property
    def dim(self) -> int:
        return self.n * (self.n - 1) // 2

    @property
    def volume(self) -> float:
        return (1 if self.special else 2) * as_volume(self, log_rotation_volume(self.n))

    @property
    def step_shape(self) -> tuple[int, ...]:
        return (self.dim,)

    def step(self, x: Array, z: Array, time: float) -> Array:
        """Ye et al. (2024), "Simulation of Brownian paths on SO(n)": x exp(X), X skew with entries N(0, time).

        The exponential has a closed form for n = 2, 3. For larger n it is a short series, where the paper takes an SVD.
        """
        n, w = self.n, math.sqrt(time) * z
        if n == 2:
            xp = namespace(x)
            c, s = xp.cos(w[..., 0]), xp.sin(w[..., 0])
            return matmul(x, xp.reshape(stack_last((c, s, -s, c)), (*w.shape[:-1], 2, 2)))
        if n == 3:
            return matmul(x, rodrigues(w))
        # The norm of X/sqrt(time) concentrates at 2 sqrt(n); seven more standard deviations are never seen.
        return matmul(x, expm_series(skew_from_entries(w, n), math.sqrt(time) * (2 * math.sqrt(n) + 7)))

    def orbit_gradients(self, X: Array, Y: Array, theta: Array, slopes: Callable[[], Array]) -> Array:
        """-x S q(C), with S and C the skew and the symmetric part of x'y, q = slope / sin theta at cos theta.

        x S is (y - x y'x) / 2.
        """
        xp, x = namespace(X), X[:, None]
        near = xp.isfinite(theta)  # points of O(n) with determinants of one sign
        theta = xp.where(near, theta, 0.0)
        sine = xp.sin(theta)
        ratio = xp.where(near & (sine > 0), slopes() / xp.where(sine > 0, sine, 1.0), 0.0)
        back = matmul(adjoint(Y), x)
        half = (matmul(x, back) - Y) / 2
        if ratio.shape[-1] == 1:
            return half * ratio[..., None]
        return matmul(half, with_eigenvalues((back + adjoint(back)) / 2, xp.cos(theta), ratio))

    @property
    def roots(self) -> Roots:
        r = self.n // 2
        forms = axis_pairs(r, (1, -1), 0.5) + (axes(r, 0.5) if self.n % 2 else [])
        return Roots.of([(form, 2) for form in forms], coordinates=r)

    @property
    def log_chamber_integral(self) -> float:
        """In u = sin²(theta/2) the sines make a Selberg integral, once for each component of the group."""
        integral = log_selberg(self.n // 2, 1.5 if self.n % 2 else 0.5, 0.5, 1.0)
        return integral if self.special else integral + math.log(2)


@final
@dataclass(frozen=True, repr=False)
class SpecialOrthogonal(OrthogonalGroup):
    """SO(n), the rotation matrices, with <X, Y> = tr(X'Y)/2: on SO(3) the distance is the rotation angle.

    Points are matrices (n, n) with x'x = I and determinant one, tangent vectors at x are xX with skew X, geodesics are
    x exp(tX). Orbit coordinates are the n // 2 rotation angles of x'y, decreasing in [0, pi].

    Parameters
    ----------
    n : int
        The size of the matrices, at least 2.

    Examples
    --------
    >>> SpecialOrthogonal(3).distance(np.eye(3), np.diag([1.0, -1, -1])) / np.pi
    np.float64(1.0)
    """

    n: int
    special: ClassVar[bool] = True

    def converter(self, shape: tuple[int, ...]) -> str:
        if self.n != 3 or shape[-1:] not in ((3,), (4,)) or shape[-2:] == (3, 3):
            return ""
        if shape[-1] == 4:
            return " Quaternions are converted by heatgp.points.quaternion_to_matrix."
        return " Rotation vectors are converted by heatgp.points.rotation_vector_to_matrix."

    violation: ClassVar[str] = "|x'x - I| or |det x - 1|"
    angles = staticmethod(rotation_angles)
    all_angles = staticmethod(rotation_orbits)

    def project(self, x: Any) -> np.ndarray:
        """The nearest rotation: the polar factor, with the direction of the smallest singular value turned if needed.

        A reflection is refused: it is equally far from many rotations. Reference: Kabsch (1976), Acta Cryst. A32, 922.
        """
        u, s, vh = full_rank_svd(self, x)
        sign = np.sign(np.linalg.det(u @ vh))
        refuse(self, (sign < 0) & (s[..., -1] > s[..., -2] / 2), "it is a reflection, its determinant is negative")
        u[..., -1] *= sign[..., None]
        return newton_schulz(u @ vh)

    @property
    def covering(self) -> Cover | None:
        """SO(3) is the sphere S^3 of unit quaternions up to sign, of twice the size: great circles are cheaper."""
        return Cover(Sphere(3), 2.0, to_quaternions, from_quaternions) if self.n == 3 else None


@final
@dataclass(frozen=True, repr=False)
class Orthogonal(OrthogonalGroup):
    """O(n) with <X, Y> = tr(X'Y)/2: two copies of SO(n), infinitely far from each other.

    Points are matrices (n, n) with x'x = I, tangent vectors at x are xX with skew X, geodesics are x exp(tX). Orbit
    coordinates are the n // 2 rotation angles of x'y, infinite where x and y differ in the sign of the determinant.

    Parameters
    ----------
    n : int
        The size of the matrices, at least 2.

    Examples
    --------
    >>> Orthogonal(3).distance(np.eye(3), -np.eye(3))
    np.float64(inf)
    """

    n: int
    angles = staticmethod(orthogonal_angles)
    all_angles = staticmethod(orthogonal_orbits)

    def log(self, x: Array, y: Array) -> Array:
        """As on SO(n); infinite where x and y differ in the sign of the determinant."""
        xp = namespace(x)
        one_piece = xp.linalg.det(x) * xp.linalg.det(y) > 0
        return xp.where(one_piece[..., None, None], unchecked(super().log)(x, y), math.inf)
