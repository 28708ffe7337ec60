"""Hyperbolic spaces."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from scipy.spatial.distance import cdist

from ...arguments import EXTREME
from ...array import Array, cosh_sinhc_numbers, inner, namespace, norm, sinhc
from ..checks import points_to_project, refuse, require_integer
from ..contract import Symmetric, along_ways, forwarded
from ..roots import Roots, log_sphere_volume
from .all_pairs import refined


@final
@dataclass(frozen=True, repr=False)
class Hyperbolic(Symmetric):
    """Hyperbolic space H^n of curvature -1: the upper sheet -x0² + x1² + .. + xn² = -1, x0 > 0, of the hyperboloid.

    Points have shape (n + 1,), the time-like coordinate x0 first. A tangent vector v at x has -x0 v0 + x1 v1 + .. = 0,
    and its square is -v0² + v1² + .. + vn². The distance is arccosh(x0 y0 - x1 y1 - ..), the orbit coordinate of a
    pair, in [0, inf). Balls and half-spaces of other models are converted by `heatgp.points`.

    Parameters
    ----------
    n : int
        The dimension, at least 2.

    Examples
    --------
    >>> H = Hyperbolic(2)
    >>> y = [np.cosh(3.0), np.sinh(3.0), 0.0]
    >>> float(H.distance([1.0, 0.0, 0.0], y).round(12))
    3.0
    """

    n: int
    volume: ClassVar[float] = math.inf
    log_chamber_integral: ClassVar[float] = math.inf
    violation: ClassVar[str] = "|√(x0² - x1² - .. - xn²) - 1|"
    remedy: ClassVar[str] = (
        "The first coordinate is the time-like one, x0 = √(1 + x1² + .. + xn²). For points of a ball or a half-space "
        "see heatgp.points.ball_to_hyperboloid; M.project(x) is the nearest point, for data with few digits."
    )

    dim = forwarded("n")

    def __post_init__(self) -> None:
        require_integer("Hyperbolic", "n", self.n, 2)

    def converter(self, shape: tuple[int, ...]) -> str:
        if shape[-1:] != (self.n,):
            return ""
        models = "ball_to_hyperboloid or heatgp.points.half_space_to_hyperboloid"
        return f" Points of the Poincare ball or the half-space are converted by heatgp.points.{models}."

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.n + 1,)

    def noise(self, x: Array, z: Array) -> Array:
        """The last n entries of z, a tangent vector at the origin, carried to x by the boost from there."""
        return self._boosted(x, 0 * z[..., :1], z[..., 1:])

    def _boosted(self, x: Array, first: Array, rest: Array) -> Array:
        """The vector (first, rest) under the isometry that carries the origin to x along a geodesic."""
        time, place = self.polish(x)[..., :1], x[..., 1:]
        along = inner(place, rest)
        parts = x[..., :1] * first + along, rest + place * (first + along / (1 + time))
        return namespace(x).concat(parts, axis=-1)

    def exp(self, x: Array, v: Array) -> Array:
        """cosh|v| x + sinh|v| v/|v|."""
        # |v| at the origin, to which the boost from x carries v: no large squares are subtracted
        first, place, rest = self.polish(x)[..., :1], x[..., 1:], v[..., 1:]
        r = norm(rest - place * (inner(place, rest) / (first * (1 + first))))[..., None]
        xp = namespace(x)
        y = xp.cosh(r) * x + sinhc(r) * v
        return xp.where(xp.isfinite(y), self.polish(y), y)

    def to_tangent(self, x: Array, v: Array) -> Array:
        """The same v1, .., vn with the v0 that belongs to them."""
        xp, place, rest = namespace(x), x[..., 1:], v[..., 1:]
        return xp.concat([inner(place, rest) / self.polish(x)[..., :1], rest + 0 * place], axis=-1)

    def metric(self, x: Array, u: Array, v: Array) -> Array:
        """-u0 v0 + u1 v1 + .., computed at the origin, to which the boost from x carries both."""
        first, place = self.polish(x)[..., :1], x[..., 1:]
        u, v = (w[..., 1:] - place * (inner(place, w[..., 1:]) / (first * (1 + first))) for w in (u, v))
        return inner(u, v)[..., 0]

    def log(self, x: Array, y: Array) -> Array:
        """The direction of y, seen from the origin to which a boost carries x, as long as the distance."""
        xp, rest = namespace(x), self.to_origin(x, y)[..., 1:]
        size = norm(rest)[..., None]
        toward = rest * (self.orbit(x, y) / xp.where(size == 0, 1.0, size))
        return self._boosted(x, 0 * toward[..., :1], toward)

    @property
    def step_shape(self) -> tuple[int, ...]:
        return (self.n,)

    def step(self, x: Array, z: Array, time: float) -> Array:
        """A normal step at the origin, carried to x."""
        v = math.sqrt(time) * z
        radius = math.sqrt(time) * (math.sqrt(self.n) + 7)  # nothing is beyond seven deviations
        c, s = cosh_sinhc_numbers(inner(v, v), radius)
        return self._boosted(x, c, s * v)

    def polish(self, x: Array) -> Array:
        """The same x1, .., xn with the x0 that belongs to them."""
        xp, place = namespace(x), x[..., 1:]
        return xp.concat([xp.sqrt(1 + inner(place, place)), place], axis=-1)

    def project(self, x: Any) -> np.ndarray:
        """The nearest point: in the direction of x1, .., xn at a length q with 2q - x0 q / √(1 + q²) = |x1, .., xn|.

        The left side is convex, and Newton's method from above comes to the largest q.
        """
        points = points_to_project(self, x)
        first, rest = points[..., 0], points[..., 1:]
        refuse(self, first <= 0, "its first coordinate, the time-like one, is not positive")
        refuse(self, np.abs(points).max(axis=-1) > EXTREME, "its entries are too large")
        size = norm(rest)
        q = first + size
        for _ in range(60):
            root = np.sqrt(1 + q**2)
            q = np.maximum(q - (2 * q - first * q / root - size) / np.maximum(2 - first / root**3, 1e-9), 0.0)
        q = np.where(first == self.polish(points)[..., 0], size, q)
        axis = np.where(size[..., None] > 0, rest, np.eye(1, self.n)[0])  # any direction, where there is none
        scale = (q / np.where(size > 0, size, 1.0))[..., None]
        return np.asarray(self.polish(np.concatenate([scale, scale * axis], axis=-1)))

    def random(self, rng: np.random.Generator, n: int) -> Array:
        """n points, the ends of geodesics from the origin with normal velocities of mean square 2."""
        return np.asarray(self.step(self.origin, rng.standard_normal((n, self.n)), 2 / self.n))

    def defect(self, x: Array) -> Array:
        """|√(x0² - x1² - .. - xn²) - 1| beyond the rounding of x0²; at least one outside of the cone x0 > |x1, ..|."""
        xp, first, size = namespace(x), x[..., 0], norm(x[..., 1:])
        square = (first - size) * (first + size)
        off = xp.abs(square - 1) - 8 * xp.finfo(x.dtype).eps * first**2
        return xp.maximum(off, 0.0 * off) / (1 + xp.sqrt(xp.abs(square))) + xp.where(first < 0, 2.0, 0.0)

    @property
    def origin(self) -> np.ndarray:
        return np.eye(1, self.n + 1)[0]

    def to_origin(self, x: Array, y: Array) -> Array:
        """y under the boost that carries x to the origin."""
        back = namespace(x).concat([x[..., :1], -x[..., 1:]], axis=-1)
        return self.polish(self._boosted(back, y[..., :1], y[..., 1:]))

    def gradient(self, x: Array, slope: Array) -> Array:
        """The tangential part, in the metric of the hyperboloid, of (-slope0, slope1, .., slopen)."""
        xp = namespace(x)
        return xp.concat([-slope[..., :1], slope[..., 1:]], axis=-1) + x * inner(x, slope)

    def orbit(self, x: Array, y: Array) -> Array:
        """The distance, from 2 sinh²(r/2) = x0 y0 - x'y' - 1 without differences of large numbers.

        With x', y' = x1.., y1.. and d = x' - y' it is (|d|² + |x'|² |d beside x'|²) / (1 + x0 y0 + x'y') where x'y' is
        positive. Its errors are relative to the distance.
        """
        xp = namespace(x)
        (a, b), (p, q) = ((z[..., :1] for z in (x, y)), (z[..., 1:] for z in (x, y)))
        d, dot = p - q, inner(p, q)
        size, along = inner(p, p), inner(p, d)
        beside = d - p * (along / xp.where(size == 0, 1.0, size))
        near = (inner(d, d) + size * inner(beside, beside)) / (1 + a * b + xp.where(dot > 0, dot, 0.0))
        u, v = size / (1 + a), inner(q, q) / (1 + b)  # x0 - 1 and y0 - 1
        far = u + v + u * v - dot
        square = xp.where(xp.isfinite(a * b), xp.where(dot > 0, near, far), math.nan)
        return 2 * xp.asinh(xp.sqrt(square / 2))

    def orbits(self, X: Array, Y: Array) -> Array:
        """By the law of cosines.

        With the distances a, b to the origin, and c of the directions from there as unit vectors,
        sinh²(r/2) = sinh²((a - b)/2) + sinh(a) sinh(b) c²/4.
        """
        if not isinstance(X, np.ndarray):
            return super().orbits(X, Y)
        sizes = [np.sqrt(np.square(Z[:, 1:]).sum(axis=1)) for Z in (X, Y)]
        directions = [Z[:, 1:] / np.where(size > 0, size, 1.0)[:, None] for Z, size in zip((X, Y), sizes)]
        r = cdist(*directions)
        r *= r
        r *= np.multiply.outer(*sizes) / 4
        r += np.sinh(np.subtract.outer(*map(np.arcsinh, sizes)) / 2) ** 2
        return refined(2 * np.arcsinh(np.sqrt(r))[..., None], X, Y, self.orbit)

    def orbit_gradients(self, X: Array, Y: Array, theta: Array, slopes: Callable[[], Array]) -> Array:
        """As `log`, with the derivative for the length: from the origin y is seen at sinh(theta) times a direction."""
        x, rest = X[:, None], self.to_origin(X[:, None], Y)[..., 1:]
        toward = along_ways(rest, namespace(X).sinh(theta[..., 0]), slopes()[..., 0])
        return self._boosted(x, 0 * toward[..., :1], toward)

    @property
    def roots(self) -> Roots:
        return Roots.of([((1.0,), self.n - 1)], half_period=math.inf)

    @property
    def log_strip_factor(self) -> float:
        return log_sphere_volume(self.n - 1)
