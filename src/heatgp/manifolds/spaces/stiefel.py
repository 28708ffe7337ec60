"""Stiefel manifolds: orthonormal k-frames with the metric of the quotient of the group."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from ...array import (
    LARGE,
    Array,
    adjoint,
    expm_series,
    expm_skew,
    hermitian,
    matmul,
    namespace,
    norm,
    real_inner,
    real_vector,
    skew,
)
from ...errors import Unsupported
from ..checks import unchecked
from ..roots import as_volume, log_sphere_volume
from .frames import Field, Frames
from .stiefel_log import log, log_norm


@final
@dataclass(frozen=True, repr=False)
class Stiefel(Frames):
    """V(k, n): orthonormal k-frames of R^n or C^n, 1 <= k <= n - 1, with the canonical metric tr D*(I - xx*/2)D.

    A point is a matrix (n, k) with x*x = I, a tangent vector at x a matrix D with skew-Hermitian x*D. It is O(n)/O(n-k)
    or U(n)/U(n-k) with the metric of the group (Edelman, Arias, Smith 1998, section 2.4.1), and its geodesics are
    exp(tW) x with skew-Hermitian W. V(1, n) over the reals is the sphere, over the complex numbers a sphere squashed
    along the phase. Orbit coordinates are the entries of x*y: a complete invariant, since x*x and y*y are the identity.
    It is not a symmetric space, and the distance is no known function of them.

    Parameters
    ----------
    n : int
        The dimension of the surrounding space.
    k : int
        The number of vectors in a frame.
    field : "real" or "complex", default "real"

    Examples
    --------
    >>> Stiefel(4, 2).dim, Stiefel(4, 2).shape
    (5, (4, 2))
    """

    n: int
    k: int
    field: Field = "real"

    @property
    def full(self) -> str:
        return f"Full frames are {'Unitary' if self.is_complex else 'Orthogonal'}(n)."

    @property
    def dim(self) -> int:
        return self.k * (2 * self._beta * self.n - self._beta * (self.k - 1) - 2) // 2

    @property
    def volume(self) -> float:
        """A bundle of spheres; over C each is squashed along the phase, to 1/√2 of its length."""
        spheres = sum(log_sphere_volume(self._beta * j - 1) for j in range(self.n - self.k + 1, self.n + 1))
        return as_volume(self, spheres - (self._beta - 1) * self.k * math.log(2) / 2)

    @property
    def scalar_curvature(self) -> float:
        """Sum over orthonormal pairs of |[X,Y]_m|²/4 + |[X,Y]_h|² (O'Neill; Besse 1987, Theorem 7.38).

        Counted over pairs of matrices with one or two entries, whose brackets have one or two entries as well.
        """
        k, d = self.k, self.n - self.k
        if self.is_complex:
            return float(k * (k - 1) * (k + 1 + 3 * d) + 3 * k * d + 4 * k * d * d)
        return k * (k - 1) * (k - 2 + 3 * d) / 4 + k * d * (d - 1)

    def noise(self, x: Array, z: Array) -> Array:
        xz = matmul(adjoint(x), z)
        return z + matmul(x, skew(xz) - xz)

    def exp(self, x: Array, v: Array) -> Array:
        """exp(W) x with the skew matrix W = vx* - xv* - x(x*v)x* of the group's horizontal lift."""
        vx = matmul(v, adjoint(x))
        return matmul(expm_skew(vx - adjoint(vx) - matmul(x, matmul(adjoint(x), vx))), x)

    def to_tangent(self, x: Array, v: Array) -> Array:
        """v without the Hermitian part of x*v."""
        return v - matmul(x, hermitian(matmul(adjoint(x), v)))

    def metric(self, x: Array, u: Array, v: Array) -> Array:
        """Re tr u*(I - xx*/2)v."""
        return real_inner(u, v) - real_inner(matmul(adjoint(x), u), matmul(adjoint(x), v)) / 2

    def log(self, x: Array, y: Array) -> Array:
        """By iteration, NotConverged where that finds none: the shortest one within the injectivity radius."""
        return log(x, y)

    def step(self, x: Array, z: Array, time: float) -> Array:
        """Ye et al. (2024), "Simulation of Brownian paths on V_R(k, n)", without a QR of each step.

        With W as in `exp`, Wx = v and Wv = va - x(v*v + aa), a = x*v: on the columns [x, v] W acts as the 2k x 2k
        matrix [[0, -(v*v + aa)], [I, a]], and the first k columns of its exponential give the geodesic.
        """
        xp = namespace(x)
        v = self._random_tangent(x, z, time)
        # In [x, v / radius] the matrix would have norm 2 radius; seven standard deviations are never passed.
        radius = math.sqrt(time * self._beta) * (math.sqrt(self.n) + math.sqrt(self.k) + 7)
        if 2 * radius > LARGE:
            return unchecked(self.exp)(x, v)
        a = matmul(adjoint(x), v)
        corner = -(matmul(adjoint(v), v) + matmul(a, a))
        zero = xp.zeros_like(a)
        one = xp.eye(self.k, dtype=a.dtype) + zero
        w = xp.concat((xp.concat((zero, corner), axis=-1), xp.concat((one, a), axis=-1)), axis=-2)
        scale = xp.asarray([1.0] * self.k + [radius] * self.k, dtype=xp.finfo(x.dtype).dtype)
        e = expm_series(w * scale[:, None] / scale, 2 * radius)[..., : self.k]
        return matmul(x, e[..., : self.k, :]) + matmul(v, e[..., self.k :, :] / radius)

    def distance(self, x: Array, y: Array) -> Array:
        """Length of the geodesic that the iterative logarithm finds, NotConverged where it finds none.

        Within the injectivity radius it is the distance; beyond it, an upper bound.
        """
        return log_norm(x, y)

    def separation(self, x: Array, y: Array) -> Array:
        """The first round of the logarithm: within a millionth at distance 1/2, and exact where n - k is one."""
        return log_norm(x, y, tolerance=math.inf) ** 2

    def rough_separation(self, x: Array, y: Array) -> Array:
        """The squared norm of y - x in the metric at x, which is that at y."""
        d = y - x
        return norm(d, axes=2) ** 2 - norm(matmul(adjoint(x), d), axes=2) ** 2 / 2

    def orbit(self, x: Array, y: Array) -> Array:
        return real_vector(matmul(adjoint(x), y), 2, self.is_complex)

    def within(self, x: Array, y: Array, radius: float) -> Array:
        """The chord is at most √2 times the distance, so that only close pairs need the logarithm."""
        x, y = np.broadcast_arrays(np.asarray(x), np.asarray(y))
        close = norm(x - y, axes=2) < math.sqrt(2) * radius
        inside = np.zeros(close.shape, dtype=bool)
        inside[close] = log_norm(x[close], y[close]) < radius
        return inside

    @property
    def chamber(self) -> tuple[tuple[float, float], ...]:
        return ((-1.0, 1.0),) * (self.k * self.k * self._beta)

    def log_strip(self, theta: Array) -> Array:
        """log of the density of A = x*y: det(I - A*A)^((n-2k-1)/2) real, ^(n-2k) complex, for n >= 2k.

        Reference: Chikuse (2003), Statistics on Special Manifolds, Theorem 2.5.1 (real case).
        """
        n, k, half = self.n, self.k, self._beta / 2
        if n < 2 * k:
            raise Unsupported(f"{self!r}: the entries of x*y have a density only for n >= 2k; n = {n}, 2k = {2 * k}.")
        xp = namespace(theta)
        a = theta[..., : k * k] + 1j * theta[..., k * k :] if self.is_complex else theta
        singular = xp.linalg.svdvals(xp.reshape(a, (*a.shape[:-1], k, k)))
        power = half * (n - 2 * k + 1) - 1
        gammas = sum(math.lgamma(half * (n - i)) - math.lgamma(half * (n - k - i)) for i in range(k))
        constant = gammas - half * k * k * math.log(math.pi)
        gap = (1 - singular) * (1 + singular)
        inside = xp.min(gap, axis=-1) > 0
        logs = xp.sum(xp.log(xp.where(gap > 0, gap, 1.0)), axis=-1)
        return math.log(self.volume) + constant + xp.where(inside, power * logs, -math.inf)
