"""The common members of compact matrix groups: their points are square matrices with orthonormal columns."""

import math
from typing import Any, ClassVar

import numpy as np

from ...array import Array, adjoint, expm_skew, matmul, namespace, real_inner, skew
from ..checks import require_integer
from ..contract import Symmetric
from .differences import group_difference
from .log_unitary import log_unitary
from .orthonormal import OrthonormalColumns


class MatrixGroup(OrthonormalColumns, Symmetric):
    """A group of real or complex n x n matrices with orthonormal columns, with <X, Y> = Re tr(X*Y)/2.

    Tangent vectors at x are xX with X in the Lie algebra (skew-Hermitian matrices), geodesics are x exp(tX). Orbit
    coordinates are the angles of the eigenvalues of x*y.
    """

    special: ClassVar[bool] = False
    """Whether determinants are one."""
    smallest: ClassVar[int] = 2
    """The smallest n."""
    angles: ClassVar[Any]
    """A function: orbit coordinates (..., coordinates) of group elements x*y, from x*y - I."""
    all_angles: ClassVar[Any]
    """A function of X, Y and `orbit`: orbit coordinates of all pairs, or None if there is no faster formula for n."""
    n: int

    def __post_init__(self) -> None:
        require_integer(type(self).__name__, "n", self.n, self.smallest)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.n, self.n)

    def algebra(self, z: Array) -> Array:
        """White noise z (..., n, n) to white noise of the Lie algebra."""
        return skew(z)

    def noise(self, x: Array, z: Array) -> Array:
        return matmul(x, self.algebra(z))

    def to_tangent(self, x: Array, v: Array) -> Array:
        """x times the part of x*v in the Lie algebra; `algebra` is √2 times the projection onto it."""
        return matmul(x, self.algebra(matmul(adjoint(x), v)) / math.sqrt(2))

    def metric(self, x: Array, u: Array, v: Array) -> Array:
        return real_inner(u, v) / 2

    def log(self, x: Array, y: Array) -> Array:
        log = log_unitary(group_difference(x, y), self.roots.lift)
        return matmul(x, self.algebra(log) / math.sqrt(2))  # `algebra` is √2 times a projection: rounding is removed

    def exp(self, x: Array, v: Array) -> Array:
        return matmul(x, expm_skew(matmul(adjoint(x), v)))

    def random(self, rng: np.random.Generator, n: int) -> Array:
        q = super().random(rng, n)
        if self.special:
            q[:, :, 0] /= np.linalg.det(q)[:, None]
        return q

    def defect(self, x: Array) -> Array:
        xp, columns = namespace(x), super().defect(x)
        return xp.maximum(columns, xp.abs(xp.linalg.det(x) - 1)) if self.special else columns

    def to_origin(self, x: Array, y: Array) -> Array:
        return matmul(adjoint(x), y)

    def orbit(self, x: Array, y: Array) -> Array:
        return self.angles(group_difference(x, y))

    def orbits(self, X: Array, Y: Array) -> Array:
        found = self.all_angles(X, Y, self.orbit) if isinstance(X, np.ndarray) else None
        return super().orbits(X, Y) if found is None else found
