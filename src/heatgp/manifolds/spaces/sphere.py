"""Spheres."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from ...array import Array, namespace, norm
from ..contract import along_ways
from ..roots import Roots, as_volume, log_sphere_volume
from .all_pairs import sphere_orbits
from .differences import beside_line
from .unit_vectors import UnitVectors, angle, log_sine_integral


@final
@dataclass(frozen=True, repr=False)
class Sphere(UnitVectors):
    """The unit sphere S^dim of R^(dim+1), with the metric of R^(dim+1): distances are angles.

    Points are unit vectors of shape (dim + 1,), tangent vectors at x are orthogonal to x, geodesics are great circles.
    The orbit coordinate of a pair is its angle, in [0, pi].

    Parameters
    ----------
    dim : int
        The dimension, at least 1.

    Examples
    --------
    >>> import numpy as np
    >>> Sphere(2).distance(np.array([1.0, 0, 0]), np.array([0.0, 1, 0])) / np.pi
    np.float64(0.5)
    """

    dim: int
    straight: ClassVar[bool] = True

    def converter(self, shape: tuple[int, ...]) -> str:
        k = (self.dim + 4) // 3
        if self.dim == 2 and shape[-1:] == (2,):
            found = "heatgp.points.latlon_to_sphere(latitude, longitude)"
            return f" Latitudes and longitudes in degrees are converted by {found}."
        found = "heatgp.points.landmarks_to_preshape"
        if self.dim != 3 * k - 4 or k < 3:
            return ""
        if shape[:2] == (k, 3) and len(shape) == 3:
            return f" Landmarks in space in the order of R are converted by {found}(numpy.moveaxis(X, -1, 0))."
        if shape[-2:] == (3, k) and len(shape) == 3:
            return f" Landmarks in space (N, 3, {k}) are converted by {found}(numpy.swapaxes(X, -1, -2))."
        if shape[-2:] == (k, 3):
            return f" Landmarks in space are converted by {found}."
        if shape[-1:] == (3 * k,):
            return f" Rows of landmarks x1, y1, z1, x2, .. are converted by {found}(X.reshape(-1, {k}, 3))."
        return ""

    @property
    def volume(self) -> float:
        return as_volume(self, log_sphere_volume(self.dim))

    def log(self, x: Array, y: Array) -> Array:
        """The part of y beside x, as long as the angle; of -x, one half of any great circle."""
        xp, part, turn = namespace(x), beside_line(x, y), angle(x, y)
        size = norm(part)[..., None]
        half_circle = math.pi * self.tangent_basis(x)[..., 0, :]
        return xp.where((size == 0) & (turn > 1), half_circle, part * (turn / xp.where(size == 0, 1.0, size)))

    def orbit(self, x: Array, y: Array) -> Array:
        return angle(x, y)

    def orbits(self, X: Array, Y: Array) -> Array:
        return sphere_orbits(X, Y, self.orbit) if isinstance(X, np.ndarray) else super().orbits(X, Y)

    def orbit_gradients(self, X: Array, Y: Array, theta: Array, slopes: Callable[[], Array]) -> Array:
        """-(y - x cos theta) / sin theta times the derivative."""
        cosine = namespace(theta).cos(theta)
        return along_ways(Y - X[:, None] * cosine, namespace(theta).sin(theta[..., 0]), slopes()[..., 0])

    @property
    def roots(self) -> Roots:
        return Roots.of([((1.0,), self.dim - 1)])

    @property
    def log_chamber_integral(self) -> float:
        return math.log(2) + log_sine_integral(self.dim - 1, 0)
