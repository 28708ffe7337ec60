"""Where a minimum is searched for: a manifold, with bounds for the coordinates of its Euclidean factors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..arguments import as_array
from ..array import Array, white_noise
from ..errors import InvalidInput, NotConverged, Unsupported
from ..manifolds import Euclidean, Manifold, Product
from ..manifolds.checks import unchecked
from .descent import euclidean_coordinates

SIDE = 2.0
"""The length of each side of the box, in the units of the search: about that of the other factors of a product."""


@dataclass(frozen=True)
class Space:
    """A manifold and a box. Points of the search have bounded coordinates from 0 to `SIDE`, whatever their units are.

    Parameters
    ----------
    manifold : Manifold
    low, high : arrays of the shape of a point: the box in the units of the user; 0 and `SIDE` elsewhere.
    bounded : array of bool of the shape of a point.
    """

    manifold: Manifold
    low: Array
    high: Array
    bounded: Array

    @classmethod
    def of(cls, manifold: Manifold, bounds: Any = None) -> Space:
        """The space of a manifold with bounds (low, high) for each coordinate of a Euclidean factor, in their order.

        Raises
        ------
        InvalidInput : if a Euclidean coordinate has no bounds, or bounds are not pairs (low, high), low < high.
        """
        bounded = euclidean_coordinates(manifold)[: math.prod(manifold.shape)].reshape(manifold.shape)
        number = int(bounded.sum())
        pairs = np.empty((0, 2)) if bounds is None else as_array(bounds, "bounds")
        if pairs.ndim == 1 and pairs.size == 2 == 2 * number:
            pairs = pairs[None]
        if bounds is not None and not number:
            raise InvalidInput(
                f"bounds are for Euclidean coordinates, and {manifold!r} has none. Leave them out; a part of it is a "
                "Domain."
            )
        if pairs.shape != (number, 2) or pairs.dtype.kind not in "iuf":
            raise InvalidInput(
                f"{manifold!r} has {number} Euclidean coordinate(s), and each needs bounds, one pair (low, high) of "
                f"finite numbers; got {'none' if bounds is None else f'an array of shape {pairs.shape}'}."
            )
        good = np.isfinite(pairs).all(axis=1) & (pairs[:, 0] < pairs[:, 1])
        if not good.all():
            where = int(np.argmin(good))
            raise InvalidInput(
                f"bounds[{where}] = {tuple(pairs[where].tolist())} must be two finite numbers, the first the smaller."
            )
        low, high = np.zeros(bounded.shape), np.full(bounded.shape, SIDE)
        low[bounded], high[bounded] = pairs.T
        return cls(manifold, low, high, bounded)

    def inner(self, x: Array) -> Array:
        """Points of the user as points of the search."""
        return (x - self.low) * (SIDE / (self.high - self.low)) if self.bounded.any() else x

    def outer(self, x: Array) -> Array:
        """Points of the search as points of the user, inside the bounds to the last digit."""
        if not self.bounded.any():
            return x
        stretched = self.low + x * ((self.high - self.low) / SIDE)
        return np.where(self.bounded, np.clip(stretched, self.low, self.high), x)

    @cached_property
    def box(self) -> Array | None:
        """The least and the largest coordinates of points of the search, (2, *shape); None where none has bounds."""
        if not self.bounded.any():
            return None
        return np.where(self.bounded, [[0.0], [SIDE]], [[-np.inf], [np.inf]])

    def clipped(self, x: Array) -> Array:
        """The nearest points of the search."""
        return x if self.box is None else np.clip(x, *self.box)

    def random(self, rng: np.random.Generator, number: int) -> Array:
        """Points of the law of `manifold.random`, those of bounded coordinates uniform."""
        x = np.asarray(self.manifold.random(rng, number))
        return np.where(self.bounded, SIDE * rng.random(x.shape), x) if self.bounded.any() else x

    def near(self, rng: np.random.Generator, x: Array, lengths: Array) -> Array:
        """One point for each length: the end of a geodesic from x with a normal velocity of this root mean square."""
        M = self.manifold
        start = np.broadcast_to(x, (len(lengths), *M.shape))
        v = M.noise(start, white_noise(rng, start.shape, M.is_complex)) / np.sqrt(M.dim)
        return self.clipped(
            np.asarray(M.polish(unchecked(M.exp)(start, v * np.reshape(lengths, (-1, *(1,) * len(M.shape))))))
        )

    def distances(self, X: Array, x: Array) -> Array:
        """Of X and x, which may be one point or several; rough ones where there is no distance, or it is not found."""
        try:
            return np.asarray(unchecked(self.manifold.distance)(X, x))
        except (Unsupported, NotConverged):
            return np.sqrt(np.asarray(self.manifold.rough_separation(X, x)))

    @cached_property
    def size(self) -> float:
        """The largest distance among some random points."""
        some = self.random(np.random.default_rng(0), 50)
        found = np.concatenate([self.distances(some, x) for x in some])
        return float(found[np.isfinite(found)].max())

    def in_reach(self, x: Array, known: Array) -> Array:
        """Whether points (n, *shape) are worth a look: in a space without end, not too far from what is known.

        An expected improvement is the same at all far points, and a search would never come back.
        """
        if not _is_endless(self.manifold):
            return np.ones(len(x), dtype=bool)
        return self.distances(x[:, None], known).min(axis=1) < self.size / 2

    def frame(self, x: Array) -> Array:
        """An orthonormal basis (dim, *shape) of the tangent space at x."""
        return np.asarray(self.manifold.tangent_basis(x[None]))[0]

    def coordinates(self, x: Array, frame: Array, X: Array) -> Array:
        """Normal coordinates (n, dim) of points X about x; nearly so, for close points, where there is no logarithm."""
        start = np.broadcast_to(x, X.shape)
        try:
            ways = np.asarray(unchecked(self.manifold.log)(start, X))
        except (Unsupported, NotConverged):
            ways = np.asarray(self.manifold.difference(start, X))  # products with the frame project it
        return np.asarray(self.manifold.metric(x, ways[:, None], frame[None]))

    def at(self, x: Array, frame: Array, v: Array) -> Array:
        """The points (n, *shape) whose normal coordinates about x are v (n, dim), clipped."""
        start = np.broadcast_to(x, (len(v), *x.shape))
        ways = np.tensordot(v, frame, axes=1)
        return self.clipped(np.asarray(self.manifold.polish(unchecked(self.manifold.exp)(start, ways))))


def _is_endless(manifold: Manifold) -> bool:
    """Whether a manifold without its Euclidean factors, which have bounds, is of infinite volume."""
    if isinstance(manifold, Product):
        return any(map(_is_endless, manifold.factors))
    try:
        return not isinstance(manifold, Euclidean) and manifold.volume == math.inf
    except Unsupported:
        return False
