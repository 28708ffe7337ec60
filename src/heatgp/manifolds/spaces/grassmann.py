"""Grassmannians: k-dimensional subspaces, given by orthonormal bases."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from ...array import (
    Array,
    adjoint,
    cos_sinc,
    cos_sinc_series,
    from_eigen,
    matmul,
    namespace,
    real_inner,
    real_vector,
    sinc,
)
from ..contract import Symmetric
from ..roots import Roots, as_volume, axes, axis_pairs, log_selberg, log_sphere_volume
from .all_pairs import subspace_orbits
from .differences import angles_of_sines, beside_subspace, singular_values
from .frames import Field, Frames
from .spectral import with_eigenvalues


@final
@dataclass(frozen=True, repr=False)
class Grassmann(Frames, Symmetric):
    """Gr(n, k): the k-dimensional subspaces of R^n or C^n, 1 <= k <= n - 1, with the metric tr(D*D).

    A point is any orthonormal basis (n, k) of the subspace, a tangent vector at x a matrix D with x*D = 0. Geodesics
    turn each principal direction at its own speed; the distance is the norm of the principal angles. Orbit coordinates
    are the min(k, n-k) principal angles that need not vanish, increasing in [0, pi/2].

    Parameters
    ----------
    n : int
        The dimension of the surrounding space.
    k : int
        The dimension of the subspaces.
    field : "real" or "complex", default "real"

    Examples
    --------
    >>> float(Grassmann(4, 2).distance(np.eye(4)[:, :2], np.eye(4)[:, 2:]).round(4))  # pi / √2
    2.2214
    """

    n: int
    k: int
    field: Field = "real"
    full: ClassVar[str] = "The whole space is one point."

    def converter(self, shape: tuple[int, ...]) -> str:
        if shape[-2:-1] != (self.n,) or shape[-1] <= self.k:
            return ""
        return f" Other matrices, such as projectors, are converted by heatgp.points.matrix_to_subspace(A, {self.k})."

    @property
    def dim(self) -> int:
        return self._beta * self.k * (self.n - self.k)

    @property
    def volume(self) -> float:
        """That of the frames over that of the bases of one subspace, both bundles of spheres of R^n or C^n."""
        frames, bases = range(self.n - self.k + 1, self.n + 1), range(1, self.k + 1)
        logs = (
            log_sphere_volume(self._beta * i - 1) - log_sphere_volume(self._beta * j - 1) for i, j in zip(frames, bases)
        )
        return as_volume(self, sum(logs))

    def noise(self, x: Array, z: Array) -> Array:
        return z - matmul(x, matmul(adjoint(x), z))

    def exp(self, x: Array, v: Array) -> Array:
        """x cos(√S) + v sin(√S)/√S with S = v*v: the SVD formula without singular vectors.

        Reference: Edelman, Arias, Smith (1998), Theorem 2.3.
        """
        c, s = cos_sinc(matmul(adjoint(v), v))
        return matmul(x, c) + matmul(v, s)

    def to_tangent(self, x: Array, v: Array) -> Array:
        return v - matmul(x, matmul(adjoint(x), v))

    def metric(self, x: Array, u: Array, v: Array) -> Array:
        return real_inner(u, v)

    def log(self, x: Array, y: Array) -> Array:
        """D theta/sin(theta), with D the part beside x of that basis of y for which x*y is positive semidefinite."""
        xp = namespace(x)
        left, cosines, right = xp.linalg.svd(matmul(adjoint(x), y))
        part = beside_subspace(x, matmul(y, adjoint(matmul(left, right))))
        theta = xp.acos(xp.minimum(cosines, xp.ones_like(cosines)))  # at 0 its error of 1e-8 is not seen
        return matmul(part, from_eigen(1 / sinc(theta), left))

    def step(self, x: Array, z: Array, time: float) -> Array:
        """Ye et al. (2024), "Simulation of Brownian paths on Gr_F(k, n)", cosine and sine by their series."""
        v = self._random_tangent(x, z, time)
        # Largest singular value of a Gaussian matrix: √n + √k, and seven standard deviations.
        radius = math.sqrt(self._beta * time) * (math.sqrt(self.n) + math.sqrt(self.k) + 7)
        c, s = cos_sinc_series(matmul(adjoint(v), v), radius)
        return matmul(x, c) + matmul(v, s)

    def embed(self, x: Array) -> Array:
        """The orthogonal projector xx* onto the subspace, flattened: the same for every basis."""
        return real_vector(matmul(x, adjoint(x)), 2, self.is_complex)

    def orbit(self, x: Array, y: Array) -> Array:
        """Angles in [0, pi/2] between the subspaces spanned by x and y, increasing.

        Cosines are the singular values of x*y, sines those of the part of y orthogonal to x: atan2 of both is accurate
        at both ends. Reference: Björck and Golub (1973), Math. Comp. 27, 579-594.
        """
        xp = namespace(x)
        angles = angles_of_sines(singular_values(beside_subspace(x, y)), matmul(adjoint(x), y))
        return xp.flip(angles, axis=-1)[..., self.k - self.rank :]

    def orbits(self, X: Array, Y: Array) -> Array:
        if not isinstance(X, np.ndarray):
            return super().orbits(X, Y)
        return subspace_orbits(X, Y, self.orbit)

    def orbit_gradients(self, X: Array, Y: Array, theta: Array, slopes: Callable[[], Array]) -> Array:
        """-(I - xx*) y q(y*xx*y) y*x, with q = 2 slope / sin 2 theta at the eigenvalue cos² theta."""
        xp, x = namespace(X), X[:, None]
        cosines = matmul(adjoint(Y), x)  # y*x
        double = xp.sin(2 * theta)
        ratio = xp.where(double > 0, 2 * slopes() / xp.where(double > 0, double, 1.0), 0.0)
        squares = matmul(cosines, adjoint(cosines))
        turned = matmul(with_eigenvalues(squares, xp.cos(theta) ** 2, ratio), cosines)
        return matmul(x, matmul(adjoint(cosines), turned)) - matmul(Y, turned)

    @property
    def roots(self) -> Roots:
        r = min(self.k, self.n - self.k)
        short = self._beta * (self.n - 2 * r)
        table = [(form, self._beta) for form in axis_pairs(r, (1, -1))]
        table += [(form, short) for form in axes(r)] + [(form, self._beta - 1) for form in axes(r, 2.0)]
        return Roots.of(table, coordinates=r, half_period=math.pi / 2)

    @property
    def log_chamber_integral(self) -> float:
        """In u = sin² theta the sines make a Selberg integral."""
        r, short, beta = self.rank, self._beta * (self.n - 2 * self.rank), self._beta
        return log_selberg(r, (short + beta) / 2, beta / 2, beta / 2) + r * (beta - 2) * math.log(2)
