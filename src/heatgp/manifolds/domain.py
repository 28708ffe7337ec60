"""Open subsets with a reflecting boundary."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np
from scipy.stats import qmc

from ..array import Array, namespace
from ..errors import InvalidInput, Unsupported
from .base import Manifold, require
from .euclidean import Euclidean
from .level_set import check_bounds
from .polygon import Polygon
from .rejection import accepted


@final
@dataclass(frozen=True, repr=False)
class Domain(Manifold):
    """The part of a manifold where `inside` holds; Brownian motion is reflected at its boundary.

    `inside` is a polygon of R^2 (vertices (k, 2), or a list of rings: outline, holes), or a function of points that is
    true, or positive, inside. Functions on R^n also need `bounds`, a box (low, high) for each coordinate around the
    domain. The heat kernel is that of the Laplacian with Neumann boundary condition: it follows the water.

    At a straight edge of a polygon paths are mirrored, which is exact; at the boundary of a function a step that
    leads out is not taken. Both keep the uniform law exactly. In a channel of width w the second scheme lowers the
    first eigenvalue by the share 14 (step / w²)^(3/2).

    >>> square = Domain(Euclidean(2), [(0, 0), (1, 0), (1, 1), (0, 1)])
    >>> square.exp(np.array([0.9, 0.5]), np.array([0.3, 0.0])).round(6)
    array([0.8, 0.5])
    """

    base: Manifold
    inside: Any
    bounds: tuple[tuple[float, float], ...] | None = None
    violation: ClassVar[str] = "the distance outside"
    remedy: ClassVar[str] = "Remove the points outside the domain, or move them to its nearest point."

    def __post_init__(self) -> None:
        require(isinstance(self.base, Manifold), f"Domain needs a manifold; got {self.base!r}.")
        flat = isinstance(self.base, Euclidean)
        if callable(self.inside):
            if flat and self.bounds is None:
                raise InvalidInput(
                    f"Domain of {self.base!r} by a function needs bounds=((low, high), ...), a box around the domain."
                )
            if self.bounds is not None:
                require(flat, f"Domain takes bounds for a part of R^n only; {self.base!r} draws its own points.")
                object.__setattr__(self, "bounds", check_bounds("Domain", self.bounds, self.base.dim))
            some = self._draw(np.random.default_rng(0).random((64, self.base.dim)))
            shape = np.shape(self.inside(some))
            require(
                shape == (len(some),),
                f"`inside` of Domain maps {len(some)} points to shape {shape}; needed is ({len(some)},), "
                "one truth value or number for each point.",
            )
        else:
            if self.base != Euclidean(2):
                raise InvalidInput(f"A polygon is a Domain of Euclidean(2), not of {self.base!r}; pass a function.")
            if not isinstance(self.inside, Polygon):
                object.__setattr__(self, "inside", Polygon.of(self.inside))

    def __repr__(self) -> str:
        what = f"<{len(self.inside.edges[0])} edges>" if self._polygon else getattr(self.inside, "__name__", "inside")
        return f"Domain({self.base!r}, {what})"

    @property
    def _polygon(self) -> Polygon | None:
        return self.inside if isinstance(self.inside, Polygon) else None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.base.shape

    @property
    def dim(self) -> int:
        return self.base.dim

    @property
    def is_complex(self) -> bool:  # type: ignore[override]
        return self.base.is_complex

    def contains(self, x: Array) -> Array:
        """Whether x is inside."""
        if self._polygon:
            return self._polygon.contains(x)
        xp = namespace(x)
        value = self.inside(x)
        value = value if xp.isdtype(value.dtype, "bool") else value > 0
        if isinstance(self.base, Euclidean) and self.bounds is not None:
            low, high = (xp.asarray(side, dtype=x.dtype) for side in np.array(self.bounds).T)
            value = value & xp.all((x >= low) & (x <= high), axis=-1)
        elif hasattr(self.base, "bounds"):  # a patch that ends
            value = value & (self.base.defect(x) <= 1e-6)
        return value

    def noise(self, x: Array, z: Array) -> Array:
        return self.base.noise(x, z)

    def exp(self, x: Array, v: Array) -> Array:
        """The geodesic, reflected by the edges of a polygon; x itself where it would leave the domain of a function."""
        if self._polygon:
            return self._polygon.bounce(x, v)
        return self._stay(x, self.base.exp(x, v))

    @property
    def step_shape(self) -> tuple[int, ...]:
        return self.base.step_shape

    def step(self, x: Array, z: Array, time: float) -> Array:
        if self._polygon:
            return self._polygon.bounce(x, math.sqrt(time) * z)
        return self._stay(x, self.base.step(x, z, time))

    def _stay(self, x: Array, y: Array) -> Array:
        """y where it is inside, else x: a symmetric move, so that the uniform law stays as it is."""
        kept = self.contains(y)
        return namespace(x).where(kept[(..., *(None,) * len(self.shape))], y, x)

    def polish(self, x: Array) -> Array:
        return self.base.polish(x)

    def defect(self, x: Array) -> Array:
        """How far outside: the distance (polygon), minus the value of a signed function, 1 for one of truth values."""
        xp = namespace(x)
        if self._polygon:
            return xp.where(self.contains(x), 0.0, self._polygon.distance(x))
        value = self.inside(x)
        if xp.isdtype(value.dtype, "bool"):
            value = xp.where(value, 1.0, -1.0)
        return xp.maximum(self.base.defect(x), xp.maximum(-value, 0.0 * value))

    def separation(self, x: Array, y: Array) -> Array:
        """The manifold's, infinite where land lies half way."""
        square = self.base.separation(x, y)
        half = x + self.base.difference(x, y) / 2 if hasattr(self.base, "difference") else (x + y) / 2
        return namespace(x).where(self.contains(half), square, math.inf)

    def rough_separation(self, x: Array, y: Array) -> Array:
        """The manifold's, whatever lies in between."""
        return getattr(self.base, "rough_separation", self.base.separation)(x, y)

    def embed(self, x: Array) -> Array:
        return self.base.embed(x)

    # The uniform law.

    @property
    def _box(self) -> np.ndarray | None:
        """The box that points are drawn from, (2, n); None where the base manifold draws them."""
        if self._polygon:
            return self._polygon.box
        return np.array(self.bounds).T if isinstance(self.base, Euclidean) else None

    def _draw(self, u: np.ndarray) -> np.ndarray:
        """Uniform points of the box or of the base manifold, as many as rows of u in the unit cube."""
        box = self._box
        if box is not None:
            return box[0] + u * (box[1] - box[0])
        return np.asarray(self.base.random(np.random.default_rng(int(1e9 * u[0, 0])), len(u)))

    @cached_property
    def volume(self) -> float:  # type: ignore[override]
        """The area of a polygon; else the share of 2^17 points that are inside, good to a part in a thousand or two."""
        if self._polygon:
            return self._polygon.area
        kept = self.contains(self._draw(qmc.Sobol(self.dim, rng=0).random(1 << 17))).mean()
        box = self._box
        return float(kept * (self.base.volume if box is None else np.prod(box[1] - box[0])))

    def random(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n uniform points of the domain: those of the box or the base manifold that are inside."""

        def keep(u: np.ndarray) -> np.ndarray:
            x = self._draw(u)
            return x[self.contains(x)]

        remedy = f"check the sign of `inside` of {self!r} (positive or true inside), or pass tighter bounds."
        return accepted(rng, n, self.dim, keep, 2 * n + 64, remedy)

    @cached_property
    def width(self) -> float:
        """The width of the channels, parts of less than a per cent of the volume aside.

        Twice the root of the shortest time after which, from more than a per cent of the points, opposite steps both
        lead out in a third of the cases: in the middle of a channel of width w that is (w/2)².
        """
        volume = self.volume
        require(math.isfinite(volume), f"{self!r} has infinite volume; cut it off.")
        rng = np.random.default_rng(0)
        x = np.broadcast_to(self.random(rng, 1000), (48, 1000, *self.shape))
        z = rng.standard_normal((48, 1000, *self.step_shape))
        time = volume ** (2 / self.dim) / 4
        for _ in range(40):
            ahead, back = (self.contains(self.base.step(x, way, time)) for way in (z, -z))
            if ((~ahead & ~back).mean(axis=0) > 0.35).mean() < 0.01:
                break
            time /= 2**0.5
        return 2 * math.sqrt(time)

    @property
    def step_limit(self) -> float:
        width = self.width
        return min(self.base.step_limit, (width / 5) ** 2 if self._polygon else (width / 12) ** 2)

    def distance(self, x: Array, y: Array) -> Array:
        raise Unsupported(f"{self!r} has no distance in closed form. Use method='reference', which needs none.")
