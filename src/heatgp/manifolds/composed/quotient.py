"""Quotients by a finite group of isometries, and manifolds with their distances scaled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from ...array import Array, namespace
from ...errors import NotConverged
from ..contract import Manifold, require


@final
@dataclass(frozen=True, repr=False)
class Quotient(Manifold):
    """M/G for a finite group G of isometries of M, given as all its elements: functions of points to points.

    A point is any of its representatives in M. The metric is M's, the distance the smallest over the group. Where
    G has fixed points the quotient is an orbifold: Brownian motion and the heat kernel are still M's, folded.

    >>> from heatgp import Sphere
    >>> RP2 = Quotient(Sphere(2), (lambda x: x, lambda x: -x))
    >>> RP2.distance(np.array([1.0, 0, 0]), np.array([-1.0, 0, 0]))
    np.float64(0.0)
    """

    cover: Manifold
    isometries: tuple[Callable[[Array], Array], ...]

    def __post_init__(self) -> None:
        require(
            isinstance(self.cover, Manifold),
            f"Quotient needs a manifold and a tuple of functions; got {self.cover!r}.",
        )
        elements = self.isometries
        require(
            isinstance(elements, (tuple, list)) and bool(elements) and all(callable(g) for g in elements),
            f"Quotient needs a non-empty tuple of functions of points to points, one an element; got {elements!r}.",
        )
        object.__setattr__(self, "isometries", tuple(elements))
        problem = group_problem(self.cover, self.isometries)
        require(not problem, f"Quotient of {self.cover!r}: {problem}")

    def __repr__(self) -> str:
        return f"Quotient({self.cover!r}, <{len(self.isometries)} isometries>)"

    @property
    def is_complex(self) -> bool:  # type: ignore[override]
        return self.cover.is_complex

    @property
    def violation(self) -> str:  # type: ignore[override]
        return self.cover.violation

    @property
    def remedy(self) -> str:  # type: ignore[override]
        return self.cover.remedy

    @property
    def shape(self) -> tuple[int, ...]:
        return self.cover.shape

    @property
    def dim(self) -> int:
        return self.cover.dim

    @property
    def volume(self) -> float:
        return self.cover.volume / len(self.isometries)

    @property
    def scalar_curvature(self) -> float:
        return self.cover.scalar_curvature

    def noise(self, x: Array, z: Array) -> Array:
        return self.cover.noise(x, z)

    def exp(self, x: Array, v: Array) -> Array:
        return self.cover.exp(x, v)

    @property
    def step_shape(self) -> tuple[int, ...]:
        return self.cover.step_shape

    def step(self, x: Array, z: Array, time: float) -> Array:
        return self.cover.step(x, z, time)

    def polish(self, x: Array) -> Array:
        return self.cover.polish(x)

    def random(self, rng: np.random.Generator, n: int) -> Array:
        return self.cover.random(rng, n)

    def defect(self, x: Array) -> Array:
        return self.cover.defect(x)

    def distance(self, x: Array, y: Array) -> Array:
        xp = namespace(x)
        return xp.min(xp.stack([self.cover.distance(x, g(y)) for g in self.isometries]), axis=0)

    def embed(self, x: Array) -> Array:
        """The cover's coordinates: they depend on the representative, which is what a quotient is for."""
        return self.cover.embed(x)


def group_problem(cover: Manifold, isometries: tuple[Callable[[Array], Array], ...]) -> str | None:
    """What keeps functions from being a group of isometries, tried on three random points; None if nothing."""
    rng = np.random.default_rng(0)
    x = cover.random(rng, 3)
    z = rng.standard_normal((2, *x.shape)) * 0.1 / cover.dim**0.5
    near = cover.exp(x, cover.noise(x, z[0] + 1j * z[1] if cover.is_complex else z[0]))
    images = [np.asarray(g(x)) for g in isometries]
    for number, (g, image) in enumerate(zip(isometries, images)):
        if image.shape != x.shape:
            return f"element {number} maps shape {x.shape} to {image.shape}; it must keep the batch and the point."
        if np.max(cover.defect(image)) > 1e-6:
            return f"element {number} leaves the manifold (defect {np.max(cover.defect(image)):.1e} > 1e-06)."
        change = np.max(np.abs(cover.distance(x, near) - cover.distance(image, g(near))))
        if change > 1e-6:
            return f"element {number} changes distances by {change:.1e} > 1e-06: no isometry."
    for number, g in enumerate(isometries):
        products = [_matches(cover, np.asarray(g(image)), images) for image in images]
        if not all(products):
            return "the product of two elements is not among them: pass the whole group, identity included."
        if sorted(index for match in products for index in match) != list(range(len(images))):
            return f"products with element {number} repeat: pass each element of the group once."
    return None


def _matches(cover: Manifold, x: np.ndarray, images: list[np.ndarray]) -> list[int]:
    """Which images are the points x; those to which no geodesic is found are not."""

    def apart(y: np.ndarray) -> float:
        try:
            return float(np.max(cover.distance(x, y)))
        except NotConverged:
            return float("inf")

    return [number for number, image in enumerate(images) if apart(image) < 1e-6]


@final
@dataclass(frozen=True, repr=False)
class Scaled(Manifold):
    """M with all distances multiplied by `scale`: p_t becomes scale^-dim p_(t/scale²).

    >>> from heatgp import SpecialOrthogonal
    >>> trace_metric = Scaled(SpecialOrthogonal(3), 2**0.5)  # tr(X'Y) instead of tr(X'Y)/2
    """

    base: Manifold
    scale: float

    def __post_init__(self) -> None:
        require(isinstance(self.base, Manifold), f"Scaled needs a manifold; got {self.base!r}.")
        require(
            isinstance(self.scale, (int, float)) and 0 < self.scale < float("inf"),
            f"Scaled needs a positive finite scale; got {self.scale!r}.",
        )

    @property
    def is_complex(self) -> bool:  # type: ignore[override]
        return self.base.is_complex

    @property
    def violation(self) -> str:  # type: ignore[override]
        return self.base.violation

    @property
    def remedy(self) -> str:  # type: ignore[override]
        return self.base.remedy

    @property
    def shape(self) -> tuple[int, ...]:
        return self.base.shape

    @property
    def dim(self) -> int:
        return self.base.dim

    @property
    def volume(self) -> float:
        return self.base.volume * self.scale**self.dim

    @property
    def scalar_curvature(self) -> float:
        return self.base.scalar_curvature / self.scale**2

    def noise(self, x: Array, z: Array) -> Array:
        return self.base.noise(x, z) / self.scale

    def exp(self, x: Array, v: Array) -> Array:
        return self.base.exp(x, v)

    @property
    def step_shape(self) -> tuple[int, ...]:
        return self.base.step_shape

    def step(self, x: Array, z: Array, time: float) -> Array:
        return self.base.step(x, z, time / self.scale**2)

    def polish(self, x: Array) -> Array:
        return self.base.polish(x)

    def random(self, rng: np.random.Generator, n: int) -> Array:
        return self.base.random(rng, n)

    def defect(self, x: Array) -> Array:
        return self.base.defect(x)

    def separation(self, x: Array, y: Array) -> Array:
        return self.scale**2 * self.base.separation(x, y)

    def rough_separation(self, x: Array, y: Array) -> Array:
        return self.scale**2 * getattr(self.base, "rough_separation", self.base.separation)(x, y)

    @property
    def step_limit(self) -> float:
        return self.scale**2 * self.base.step_limit

    @property
    def volume_error(self) -> float:
        return self.base.volume_error

    def distance(self, x: Array, y: Array) -> Array:
        return self.scale * self.base.distance(x, y)

    def embed(self, x: Array) -> Array:
        return self.scale * self.base.embed(x)
