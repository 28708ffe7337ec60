"""Quotients by a finite group of isometries."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from ...array import Array, namespace, white_noise
from ...errors import NotConverged
from ..checks import require, unchecked
from ..contract import Manifold, forwarded
from .wrapper import Wrapper


@final
@dataclass(frozen=True, repr=False)
class Quotient(Wrapper):
    """The quotient M/G of a manifold M by a finite group G of isometries, given as a list of all its elements.

    A point is any of its representatives in M; `embed` gives the coordinates of that representative. Tangent vectors,
    metric and geodesics are those of M; the distance of two points is the smallest distance of their representatives.
    Where G has fixed points the quotient is an orbifold. The heat kernel is that of M, summed over the group; it uses
    the orbit coordinates of M.

    Parameters
    ----------
    cover : Manifold
        The manifold M.
    isometries : tuple of functions
        All elements of G, including the identity. Each maps points (..., *shape) to points (..., *shape). That they are
        a group of isometries is checked on three random points.

    Examples
    --------
    >>> from heatgp import Sphere
    >>> RP2 = Quotient(Sphere(2), (lambda x: x, lambda x: -x))
    >>> RP2.distance(np.array([1.0, 0, 0]), np.array([-1.0, 0, 0]))
    np.float64(0.0)
    """

    cover: Manifold
    isometries: tuple[Callable[[Array], Array], ...]
    straight: ClassVar[bool] = False

    def __post_init__(self) -> None:
        cover, elements = self.cover, self.isometries
        require(isinstance(cover, Manifold), f"Quotient needs a manifold and a tuple of functions; got {cover!r}.")
        valid = isinstance(elements, (tuple, list)) and bool(elements) and all(map(callable, elements))
        require(valid, f"Quotient needs a non-empty tuple of functions of points to points; got {elements!r}.")
        object.__setattr__(self, "isometries", tuple(elements))
        problem = group_problem(self.cover, self.isometries)
        require(not problem, f"Quotient of {self.cover!r}: {problem}")

    def __repr__(self) -> str:
        return f"Quotient({self.cover!r}, <{len(self.isometries)} isometries>)"

    base = forwarded("cover")

    @property
    def volume(self) -> float:
        return self.cover.volume / len(self.isometries)

    def distance(self, x: Array, y: Array) -> Array:
        return self._over_group(namespace(x).min, unchecked(self.cover.distance), x, y)

    def log(self, x: Array, y: Array) -> Array:
        """The shortest one to a representative of y."""
        xp = namespace(x)
        ways = xp.stack([unchecked(self.cover.log)(x, g(y)) for g in self.isometries])
        shortest = xp.argmin(self.cover.metric(x, ways, ways), axis=0)
        return xp.take_along_axis(ways, xp.reshape(shortest, (1, *shortest.shape, *(1,) * len(self.shape))), axis=0)[0]

    def separation(self, x: Array, y: Array) -> Array:
        return self._over_group(namespace(x).min, self.cover.separation, x, y)

    def rough_separation(self, x: Array, y: Array) -> Array:
        return self._over_group(namespace(x).min, self.cover.rough_separation, x, y)

    def open_way(self, x: Array, y: Array, number: int = 3) -> Array:
        return self._over_group(namespace(x).any, lambda a, b: self.cover.open_way(a, b, number), x, y)

    def _over_group(self, reduce: Callable, function: Callable[[Array, Array], Array], x: Array, y: Array) -> Array:
        """The values of a function of x and of each image of y, reduced to one."""
        return reduce(namespace(x).stack([function(x, g(y)) for g in self.isometries]), axis=0)


def group_problem(cover: Manifold, isometries: tuple[Callable[[Array], Array], ...]) -> str | None:
    """Why the functions are not a group of isometries, found by trying three random points; None if they are."""
    distance = unchecked(cover.distance)

    def apart(y: Array, other: Array) -> float:
        """The largest distance; infinite if no geodesic is found."""
        try:
            return float(np.max(distance(np.asarray(y), other)))
        except NotConverged:
            return math.inf

    rng = np.random.default_rng(0)
    x = cover.random(rng, 3)
    near = unchecked(cover.exp)(x, cover.noise(x, white_noise(rng, x.shape, cover.is_complex) * 0.1 / cover.dim**0.5))
    images = [np.asarray(g(x)) for g in isometries]
    for number, (g, image) in enumerate(zip(isometries, images)):
        if image.shape != x.shape:
            return f"element {number} maps shape {x.shape} to {image.shape}; it must keep the batch and the point."
        if np.max(cover.defect(image)) > 1e-6:
            return f"element {number} leaves the manifold (defect {np.max(cover.defect(image)):.1e} > 1e-06)."
        change = np.max(np.abs(distance(x, near) - distance(image, g(near))))
        if change > 1e-6:
            return f"element {number} changes distances by {change:.1e} > 1e-06: no isometry."
    for number, g in enumerate(isometries):
        products = [[k for k, other in enumerate(images) if apart(g(image), other) < 1e-6] for image in images]
        if not all(products):
            return "the product of two elements is not among them: pass the whole group, identity included."
        if sorted(index for match in products for index in match) != list(range(len(images))):
            return f"products with element {number} repeat: pass each element of the group once."
    return None
