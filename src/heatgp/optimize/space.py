"""Where a minimum is searched for: a manifold, with bounds for the coordinates of its Euclidean factors."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from ..arguments import as_array
from ..array import Array, white_noise
from ..covariance import scaled_vectors
from ..errors import InvalidInput, NotConverged, Unsupported
from ..manifolds import Euclidean, Manifold, Product
from ..manifolds.checks import unchecked
from .descent import euclidean_coordinates

SIDE = 2.0
"""The length of each side of the box, in the units of the search: about that of the other factors of a product."""


class Space:
    """A manifold and a box. Points of the search have bounded coordinates from 0 to `SIDE`, whatever their units are.

    Parameters
    ----------
    manifold : Manifold
    bounds : list of pairs (low, high), one for each coordinate of a Euclidean factor, in their order; default None.

    Attributes
    ----------
    bounded : array of bool of the shape of a point.
    low, high : arrays of the shape of a point: the box in the units of the user; 0 and `SIDE` elsewhere.
    box : array (2, *shape), the least and the largest coordinates of points of the search, infinite without bounds.

    Raises
    ------
    InvalidInput : if a Euclidean coordinate has no bounds, or bounds are not pairs (low, high), low < high.
    """

    def __init__(self, manifold: Manifold, bounds: Any = None) -> None:
        self.manifold = manifold
        self.bounded = euclidean_coordinates(manifold)[: math.prod(manifold.shape)].reshape(manifold.shape)
        pairs = self._checked_pairs(bounds)
        self.low, self.high = np.zeros(manifold.shape), np.full(manifold.shape, SIDE)
        self.low[self.bounded], self.high[self.bounded] = pairs.T
        self.box = np.stack([np.where(self.bounded, 0.0, -np.inf), np.where(self.bounded, SIDE, np.inf)])

    def _checked_pairs(self, bounds: Any) -> Array:
        """Pairs (low, high), one for each bounded coordinate, or InvalidInput."""
        number = int(self.bounded.sum())
        if bounds is not None and not number:
            raise InvalidInput(
                f"bounds are for Euclidean coordinates, and {self.manifold!r} has none. Leave them out; a part of it "
                "is a Domain."
            )
        pairs = np.empty((0, 2)) if bounds is None else as_array(bounds, "bounds")
        if pairs.shape == (2,) and number == 1:
            pairs = pairs[None]
        if pairs.shape != (number, 2) or pairs.dtype.kind not in "iuf":
            raise InvalidInput(
                f"{self.manifold!r} has {number} Euclidean coordinate(s), and each needs bounds, one pair (low, high) "
                f"of finite numbers; got {'none' if bounds is None else f'an array of shape {pairs.shape}'}."
            )
        good = np.isfinite(pairs).all(axis=1) & (pairs[:, 0] < pairs[:, 1])
        if not good.all():
            where = int(np.argmin(good))
            raise InvalidInput(
                f"bounds[{where}] = {tuple(pairs[where].tolist())} must be two finite numbers, the first the smaller."
            )
        return pairs

    def inner(self, x: Array) -> Array:
        """Points of the user as points of the search."""
        return (x - self.low) * (SIDE / (self.high - self.low))

    def outer(self, x: Array) -> Array:
        """Points of the search as points of the user, inside the bounds to the last digit."""
        stretched = self.low + x * ((self.high - self.low) / SIDE)
        return np.where(self.bounded, np.clip(stretched, self.low, self.high), x)

    def clipped(self, x: Array) -> Array:
        """The nearest points of the search."""
        return np.clip(x, *self.box)

    def random(self, rng: np.random.Generator, number: int) -> Array:
        """Points as from `manifold.random`, those of bounded coordinates uniform."""
        x = np.asarray(self.manifold.random(rng, number))
        return np.where(self.bounded, SIDE * rng.random(x.shape), x) if self.bounded.any() else x

    def near(self, rng: np.random.Generator, x: Array, lengths: Array) -> Array:
        """One point for each length: the end of a geodesic from x with a normal velocity of this root mean square."""
        M = self.manifold
        start = np.broadcast_to(x, (len(lengths), *M.shape))
        v = M.noise(start, white_noise(rng, start.shape, M.is_complex)) / np.sqrt(M.dim)
        return self._ends(start, scaled_vectors(lengths, v))

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

    def coordinates(self, x: Array, X: Array) -> Array:
        """Normal coordinates (n, dim) of points X about x; nearly so, for close points, where there is no logarithm."""
        start = np.broadcast_to(x, X.shape)
        try:
            ways = np.asarray(unchecked(self.manifold.log)(start, X))
        except (Unsupported, NotConverged):
            ways = np.asarray(self.manifold.difference(start, X))  # products with the frame project it
        return np.asarray(self.manifold.metric(x, ways[:, None], self._frame(x)))

    def at(self, x: Array, v: Array) -> Array:
        """The points (n, *shape) whose normal coordinates about x are v (n, dim), clipped."""
        return self._ends(np.broadcast_to(x, (len(v), *x.shape)), np.tensordot(v, self._frame(x), axes=1))

    def _frame(self, x: Array) -> Array:
        """An orthonormal basis (dim, *shape) of the tangent space at x."""
        return np.asarray(self.manifold.tangent_basis(x[None]))[0]

    def _ends(self, x: Array, v: Array) -> Array:
        """The ends of geodesics from points x (n, *shape) with velocities v (n, *shape), clipped."""
        return self.clipped(np.asarray(self.manifold.polish(unchecked(self.manifold.exp)(x, v))))


def _is_endless(manifold: Manifold) -> bool:
    """Whether a manifold without its Euclidean factors, which have bounds, is of infinite volume."""
    if isinstance(manifold, Product):
        return any(map(_is_endless, manifold.factors))
    try:
        return not isinstance(manifold, Euclidean) and manifold.volume == math.inf
    except Unsupported:
        return False
