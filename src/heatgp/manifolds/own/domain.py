"""Domains: parts of a manifold with a reflecting boundary."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np

from ...array import Array, namespace, norm
from ...errors import InvalidInput
from ..checks import TOLERANCE, check_bounds, refuse, require, require_shape, unchecked
from ..composed.wrapper import Wrapper
from ..contract import Manifold
from ..spaces.euclidean import Euclidean
from .differentiate import gradient, is_numpy
from .pointwise import depth_in_box, dot
from .polygon import Polygon
from .rejection import accepted, counted
from .signed import Cut, Raster

LARGEST_BATCH = 1 << 18
"""Points of a curved manifold that are drawn at once, if more than twice the number asked for are needed."""
MOST_STREAMS = 6
"""Batches of quasi-random points; later ones, in a small domain, are random: each batch needs dimensions of its own."""


@final
@dataclass(frozen=True, repr=False)
class Domain(Wrapper):
    """The part of a manifold that lies inside a polygon, or where a function is true; its boundary reflects.

    Points, tangent vectors and the metric are those of the manifold. Geodesics and Brownian motion are reflected at the
    boundary. The heat kernel is that of the Laplacian with Neumann boundary condition: correlation follows paths inside
    the domain and does not cross the outside. A domain has no symmetry and no orbit coordinates.

    How paths are reflected depends on `inside`:

    - Polygon: a path is mirrored at each edge that it meets. This is exact, and no path crosses an edge.
    - Function with numbers: a step that ends outside is mirrored along the gradient of the function. This is exact up
      to the curvature of the boundary.
    - Function with truth values, in at most three dimensions: the same, with the distance to the boundary on a raster.
    - Other functions (truth values of matrices, or in more dimensions): a step that ends outside is not taken. This
      keeps the uniform law, but slows motion along a channel of width w by the fraction 0.8 step^(1/2) / w.

    A function is also evaluated at three points between start and end of each step, so that few cross the outside.

    Parameters
    ----------
    base : Manifold
        The manifold that contains the domain.
    inside : array, list of arrays, or function
        A polygon of R^2: its vertices (k, 2), or a list of rings of vertices (outline, then holes). Or a function of
        points (..., *base.shape) to (...), true or positive inside.
    bounds : tuple of pairs of float, default None
        (low, high) for each coordinate: a box around the domain. Required for a function on R^n, not allowed elsewhere.

    Raises
    ------
    InvalidInput
        If a polygon is not in the plane or has no area, if a function has a wrong shape, or if bounds are missing.

    Examples
    --------
    >>> square = Domain(Euclidean(2), [(0, 0), (1, 0), (1, 1), (0, 1)])
    >>> square.exp(np.array([0.9, 0.5]), np.array([0.3, 0.0])).round(6)
    array([0.8, 0.5])
    """

    base: Manifold
    inside: Any
    bounds: tuple[tuple[float, float], ...] | None = None
    violation: ClassVar[str] = "the distance outside"
    remedy: ClassVar[str] = "Remove the points outside the domain, or move them to its nearest point by M.project(x)."
    covering: ClassVar[None] = None  # a path on a covering manifold would not see the boundary
    distance = Manifold.distance
    log = Manifold.log

    def __post_init__(self) -> None:
        require(isinstance(self.base, Manifold), f"Domain needs a manifold; got {self.base!r}.")
        if callable(self.inside):
            require(
                self.base.decay == 0,
                f"Domain of {self.base!r}, whose volume is infinite, has no uniform points. Use a Chart with bounds.",
            )
            given = self.bounds is not None or not self._flat
            require(given, f"Domain of {self.base!r} by a function needs bounds=((low, high), ...), a box around it.")
            if self.bounds is not None:
                require(self._flat, f"Domain takes bounds for a part of R^n only; {self.base!r} draws its own points.")
                object.__setattr__(self, "bounds", check_bounds("Domain", self.bounds, self.base.dim))
            some = self._draw(np.random.default_rng(0).random((64, self.base.dim))).reshape(2, 32, *self.shape)
            require_shape("`inside` of Domain", self.inside, some, [(2, 32)], "one truth value or number")
        else:
            plane = self.base == Euclidean(2)
            require(plane, f"A polygon is a Domain of Euclidean(2), not of {self.base!r}; pass a function.")
            if not isinstance(self.inside, Polygon):
                object.__setattr__(self, "inside", Polygon.of(self.inside))

    def __repr__(self) -> str:
        what = f"<{len(self.inside.edges[0])} edges>" if self._polygon else getattr(self.inside, "__name__", "inside")
        return f"Domain({self.base!r}, {what})"

    @property
    def _polygon(self) -> Polygon | None:
        return self.inside if isinstance(self.inside, Polygon) else None

    @property
    def _flat(self) -> bool:
        """Whether the base is R^n, which has no uniform law to draw points from."""
        return isinstance(self.base, Euclidean)

    def contains(self, x: Array) -> Array:
        """Whether x is inside."""
        if self._polygon:
            return self._polygon.contains(x)
        xp = namespace(x)
        value = self.inside(x)
        inside = value if xp.isdtype(value.dtype, "bool") else value > 0
        if self._box is not None:
            inside = inside & (depth_in_box(x, self._box) >= 0)
        if self.base.box is not None:  # where the coordinates end
            inside = inside & (self.base.defect(x) <= 1e-6)
        return inside

    def exp(self, x: Array, v: Array) -> Array:
        """The geodesic, reflected at the boundary."""
        if self._polygon:
            return self._polygon.bounce(x, v)
        return self._reflect(x, unchecked(self.base.exp)(x, v))

    def step(self, x: Array, z: Array, time: float) -> Array:
        if self._polygon:
            return self._polygon.bounce(x, math.sqrt(time) * z)
        return self._reflect(x, self.base.step(x, z, time))

    def _reflect(self, x: Array, y: Array) -> Array:
        """y where it is inside, else its mirror image; x where that, or a point on the way to it, is not inside."""
        x = x + 0 * y
        outside = ~self.contains(y)
        if is_numpy(y):
            y = y.copy()
            y[outside] = self._mirror(y[outside])
        else:
            y = self._where(outside, self._mirror(y), y)
        return self._where(self.contains(y) & self.open_way(x, y), y, x)

    def _where(self, condition: Array, one: Array, other: Array) -> Array:
        return namespace(one).where(condition[(..., *(None,) * len(self.shape))], one, other)

    def open_way(self, x: Array, y: Array, number: int = 3) -> Array:
        """Whether `number` evenly spaced points between x and y are all inside; true if the base is not `straight`."""
        base = self.base
        open_ = base.open_way(x, y, number)
        if base.straight:
            way = base.difference(x, y)
            for k in range(1, number + 1):
                open_ = open_ & self.contains(base.canonical(x + k / (number + 1) * way))
        return open_

    def _mirror(self, y: Array) -> Array:
        """The mirror images of points y outside; mirrored twice, as needed in a corner."""
        xp, signed = namespace(y), self._signed
        if signed is None:
            return y
        for _ in range(2):
            value, slope = signed(y), gradient(signed, y, self._extent)
            normal = unchecked(self.base.gradient)(y, slope)
            steep = dot(slope, normal)
            far = -2 * value / xp.where(steep > 0, steep, 1.0)
            usable = (value < 0) & (steep > 0) & (far * norm(normal) < self._extent / 2)
            y = unchecked(self.base.exp)(y, xp.where(usable, far, 0.0)[..., None] * normal)
        return y

    @cached_property
    def _sample(self) -> np.ndarray:
        """Points of the box or of the base manifold."""
        return self._draw(np.random.default_rng(0).random((4096, self.base.dim)))

    @property
    def _extent(self) -> float:
        """The shortest side of the box around those points: the scale of finite differences."""
        return float(np.ptp(self._sample, axis=0).min())

    @cached_property
    def _signed(self) -> Callable[[Array], Array] | None:
        """A function with a gradient that is positive inside and negative outside; None if there is none."""
        if not self.base.straight:
            return None
        sample, inside = self._sample, self.inside
        corners = self.base.box if self._box is None else self._box
        if len(np.unique(np.asarray(inside(sample)))) <= 2:  # truth values, as they are or as numbers
            if self.shape[0] > 3:
                return None
            low, high = (sample.min(axis=0), sample.max(axis=0)) if corners is None else corners
            periods = self.base.periodic or (None,) * len(low)
            inside = Raster.of(inside, low, high, tuple(period is not None for period in periods))
        return inside if corners is None else Cut(inside, corners)

    def defect(self, x: Array) -> Array:
        """How far outside: the distance for a polygon, minus the value of a function, 1 for truth values."""
        xp = namespace(x)
        if self._polygon:
            return xp.where(self.contains(x), 0.0, self._polygon.distance(x))
        value = self.inside(x)
        if xp.isdtype(value.dtype, "bool"):
            value = xp.where(value, 1.0, -1.0)
        outside = xp.maximum(self.base.defect(x), xp.maximum(-value, 0.0 * value))
        return outside if self._box is None else xp.maximum(outside, -depth_in_box(x, self._box))

    def project(self, x: Any) -> np.ndarray:
        """The nearest point of the domain; of points outside, one on its boundary.

        Raises OffManifold for points outside where the domain is given by truth values.
        """
        points = self.base.project(x)
        outside = np.asarray(~self.contains(points))
        if outside.any():
            points[outside] = (self._polygon.nearest if self._polygon else self._nearest)(points[outside])
        refuse(
            self,
            np.asarray(self.defect(points)) > TOLERANCE,
            "it is outside, and the way to the boundary is too far or not known",
        )
        return points

    def _nearest(self, x: np.ndarray) -> np.ndarray:
        """The nearest point with the value 0 of the function that is positive inside; x where none is found."""
        y = x
        if self._signed is None or namespace(x).isdtype(self.inside(x).dtype, "bool"):
            return y
        for _ in range(100):
            slope = gradient(self._signed, y, self._extent)
            normal = unchecked(self.base.gradient)(y, slope)
            excess = (self._signed(y) + dot(slope, x - y)) / dot(slope, normal)
            y, before = self.base.project(x - excess[..., None] * normal), y
            change = norm(y - before)
            if change.max() < 1e-14 * self._extent:
                break
        return np.where(change[..., None] < 1e-9 * self._extent, y, x)

    def separation(self, x: Array, y: Array) -> Array:
        """That of the base; infinite if a point at a quarter, half or three quarters of the way is outside."""
        return namespace(x).where(self.open_way(x, y), self.base.separation(x, y), math.inf)

    # The uniform law.

    @property
    def _box(self) -> np.ndarray | None:
        """The box that points are drawn from, (2, n); None if they are drawn from the base manifold."""
        if self._polygon:
            return self._polygon.box
        return np.array(self.bounds).T if self._flat else None

    def _draw(self, u: np.ndarray) -> np.ndarray:
        """Uniform points of the box or of the base manifold, one for each row of u in the unit cube."""
        box = self._box
        if box is not None:
            return box[0] + u * (box[1] - box[0])
        return np.asarray(self.base.random(np.random.default_rng(int(1e9 * u[0, 0])), len(u)))

    @cached_property
    def volume(self) -> float:
        """The area of a polygon; otherwise the volume of the box or base manifold times the fraction inside."""
        if self._polygon:
            return self._polygon.area
        box = self._box
        return float(self._fraction[0] * (self.base.volume if box is None else np.prod(box[1] - box[0])))

    @cached_property
    def _fraction(self) -> tuple[float, int]:
        """The fraction of points inside, and how many were drawn: until 60,000 are inside, at most 4 million."""
        kept, tried = counted(self.dim, lambda u: int(self.contains(self._draw(u)).sum()), 60_000, 1 << 22)
        return kept / tried, tried

    @property
    def volume_error(self) -> float:
        if self._polygon:
            return 0.0
        fraction, tried = self._fraction
        return math.hypot(math.sqrt((1 - fraction) / max(fraction * tried, 1.0)), self.base.volume_error)

    def random(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n uniform points of the domain: points of the box or base manifold are drawn, those inside are kept."""

        def keep(u: np.ndarray) -> np.ndarray:
            x = self._draw(u)
            return x[self.contains(x)]

        remedy = f"{self!r} is (almost) empty. Check the sign of `inside` (positive or true inside) or tighten bounds."
        if self._box is not None:
            return accepted(rng, n, self.dim, keep, 2 * n + 64, remedy)
        found: list[np.ndarray] = []
        kept, tried, batch = 0, 0, 2 * n + 64
        while kept < n or not found:
            x = np.asarray(self.base.random(rng, batch))
            found.append(x[self.contains(x)])
            kept, tried = kept + len(found[-1]), tried + batch
            batch = max(batch, min(2 * batch, LARGEST_BATCH))
            if len(found) == MOST_STREAMS:
                rng = getattr(rng, "rng", rng)
            if tried > 1e6 and kept < 1e-5 * tried:
                raise InvalidInput(f"Of {tried} points drawn at random {kept} are kept: {remedy}")
        return np.concatenate(found)[:n]

    # Channels, and how long steps inside them may be.

    @cached_property
    def channel_width(self) -> float:
        """About the width of the narrowest channels, up to a third too small; ignores parts below 1 % of the volume.

        In the middle of a channel of width w, two opposite steps of time (2 w)² are tried; in a fifth of the cases at
        least one of them stays inside. This function searches the shortest time for which this happens at 1 % of the
        points. Corners do not disturb it: in a right angle the fraction is one half for every time.
        """
        require(math.isfinite(self.volume), f"{self!r} has infinite volume; cut it off.")
        x, z = self._trials()
        time = self.volume ** (2 / self.dim) / (1 if self._flat else 16)
        for _ in range(40):
            ends = [self.base.step(x, way, time) for way in (z, -z)]
            ahead, back = (self.contains(y) & self.open_way(x, y) for y in ends)
            if ((ahead | back).mean(axis=0) < 0.2).mean() < 0.01:
                break
            time /= 2**0.5
        return min(math.sqrt(time) / 2, self.base.channel_width)

    @cached_property
    def step_limit(self) -> float:
        """Limited by the width of channels, and such that fewer than one step in 10,000 crosses the outside unseen."""
        parts = 5 if self._polygon else 10 if self._signed else 40
        limit = min(self.base.step_limit, (self.channel_width / parts) ** 2)
        if self._polygon:
            return limit
        x, z = self._trials()
        for _ in range(12):
            y = self.base.step(x, z, limit)
            if (self.contains(y) & self.open_way(x, y) & ~self.open_way(x, y, 15)).mean() < 1e-4:
                break
            limit /= 2
        return limit

    def _trials(self) -> tuple[np.ndarray, np.ndarray]:
        """Points of the domain, and white noise for steps from each: fewer where steps are expensive."""
        rng = np.random.default_rng(0)
        steps, points = (192, 500) if self._flat else (64, 200)
        x = np.broadcast_to(self.random(rng, points), (steps, points, *self.shape))
        return x, rng.standard_normal((steps, points, *self.step_shape))
