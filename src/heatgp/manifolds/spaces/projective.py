"""Real and complex projective spaces: lines through the origin, given by unit vectors."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from ...array import Array, inner, namespace, norm, real_vector, sinc
from ..contract import along_ways
from ..roots import Roots, as_volume, log_sphere_volume
from .all_pairs import line_orbits
from .differences import beside_line
from .unit_vectors import UnitVectors, log_sine_integral


class Lines(UnitVectors):
    """Lines through the origin of R^n or C^n, each given by any of its unit vectors."""

    def embed(self, x: Array) -> Array:
        """The orthogonal projector xx* onto the line, flattened: the same for every unit vector of the line."""
        return real_vector(x[..., :, None] * namespace(x).conj(x[..., None, :]), 2, self.is_complex)

    def log(self, x: Array, y: Array) -> Array:
        """The part beside x of that unit vector of the line of y which is closest to x, as long as the angle."""
        xp, along = namespace(x), inner(x, y)
        size = xp.abs(along)
        near = y * xp.where(size == 0, 1.0, xp.conj(along) / xp.where(size == 0, 1.0, size))
        part = beside_line(x, near)
        return part / sinc(xp.atan2(norm(part)[..., None], size))

    def orbit(self, x: Array, y: Array) -> Array:
        """Angle between the lines, in [0, pi/2], accurate at both ends."""
        xp = namespace(x)
        return xp.atan2(norm(beside_line(x, y)), xp.abs(inner(x, y)[..., 0]))[..., None]

    def orbits(self, X: Array, Y: Array) -> Array:
        return line_orbits(X, Y, self.orbit) if isinstance(X, np.ndarray) else super().orbits(X, Y)

    def orbit_gradients(self, X: Array, Y: Array, theta: Array, slopes: Callable[[], Array]) -> Array:
        """As on the sphere, with y <y, x> / cos theta, the unit vector of its line that is closest to x."""
        xp, x, angle = namespace(X), X[:, None], theta[..., 0]
        along = inner(x, Y)
        part = xp.conj(along) * Y - x * (along * xp.conj(along))
        return along_ways(part, xp.sin(angle) * xp.cos(angle), slopes()[..., 0])

    @property
    def volume(self) -> float:
        """That of the sphere of all unit vectors over that of the unit vectors of one line."""
        return as_volume(self, log_sphere_volume(self.dim + self._beta - 1) - log_sphere_volume(self._beta - 1))

    @property
    def roots(self) -> Roots:
        return Roots.of([((1.0,), self.dim - self._beta), ((2.0,), self._beta - 1)], half_period=math.pi / 2)

    @property
    def log_chamber_integral(self) -> float:
        """In the complex case the root 2 has the sine sin 2a = 2 sin a cos a."""
        return (self._beta - 1) * math.log(2) + log_sine_integral(self.dim - 1, self._beta - 1)


@final
@dataclass(frozen=True, repr=False)
class RealProjective(Lines):
    """RP^dim, the lines of R^(dim+1), with the metric of the sphere: distances are angles.

    Points are unit vectors of shape (dim + 1,) up to sign, tangent vectors at x are orthogonal to x, geodesics are
    great circles. The orbit coordinate of a pair is the angle between the lines, in [0, pi/2].

    Parameters
    ----------
    dim : int
        The dimension, at least 1.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([1.0, 0, 0])
    >>> RealProjective(2).distance(x, -x)
    np.float64(0.0)
    """

    dim: int


@final
@dataclass(frozen=True, repr=False)
class ComplexProjective(Lines):
    """CP^n, n = `complex_dim`: the lines of C^(n+1), with the Fubini-Study metric of distance arccos |<x, y>|.

    Points are complex unit vectors of shape (n + 1,) up to a phase, tangent vectors v at x have x*v = 0 and the norm of
    C^(n+1), geodesics are great circles: S^(2n+1) -> CP^n is a Riemannian submersion, and CP^1 is a sphere of radius
    1/2. The orbit coordinate of a pair is the distance, in [0, pi/2].

    Parameters
    ----------
    complex_dim : int
        The complex dimension n, at least 1; `dim` is 2n.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([1.0, 0, 0])
    >>> ComplexProjective(2).distance(x, 1j * x)
    np.float64(0.0)
    """

    complex_dim: int
    is_complex: ClassVar[bool] = True

    def converter(self, shape: tuple[int, ...]) -> str:
        k = self.complex_dim + 2
        found = "heatgp.points.landmarks_to_shape"
        if shape[:2] == (k, 2) and len(shape) == 3:
            return f" Planar landmarks in the order of R are converted by {found}(numpy.moveaxis(X, -1, 0))."
        if shape[-2:] == (2, k) and len(shape) == 3:
            return f" Planar landmarks (N, 2, {k}) are converted by {found}(numpy.swapaxes(X, -1, -2))."
        if shape[-2:] == (k, 2) or shape[-1:] == (k,):
            return f" Planar landmarks are converted by {found}."
        if shape[-1:] == (2 * k,):
            return f" Rows of planar landmarks x1, y1, x2, .. are converted by {found}(X.reshape(-1, {k}, 2))."
        if len(shape) > 1 and 2 in (shape[-1], shape[1]):
            return f" Planar landmarks, k of them in each shape, are converted by {found} to ComplexProjective(k - 2)."
        return ""

    @property
    def dim(self) -> int:
        return 2 * self.complex_dim
