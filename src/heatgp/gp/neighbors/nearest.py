"""Nearest neighbors in correlation: among the points that come before in an order, and among all points."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.spatial import cKDTree

from ...covariance import Array, Kernel

NONE = -1
"""In the place of a neighbor where there are fewer."""
RANKED = 2
"""How many times more candidates are ranked by their correlation than are kept."""


class Places:
    """Points with coordinates whose Euclidean distances order the correlations of near points.

    Parameters
    ----------
    kernel : Kernel, with `coordinates`.
    X : array of N points.
    time : the time of the kernel.
    """

    def __init__(self, kernel: Kernel, X: Array, time: object) -> None:
        self.kernel, self.X, self.time = kernel, X, time
        self.images = np.stack([kernel.coordinates(image, time) for image in kernel.images(X)])

    def among(self, points: Array, size: int, without: Array | None = None) -> Array:
        """The numbers of the nearest points to new ones, (M, size); for each some may be left out, (M, count)."""
        size = min(size, len(self.X))
        count = 0 if without is None else without.shape[1]
        near = _query(self._tree, len(self.X), self.kernel.coordinates(points, self.time), RANKED * size + count)
        if without is not None:
            near = _first(_without_repeats(np.hstack([without, near]))[:, count:], RANKED * size)
        return self._best(points, near, size)

    def before(self, order: Array, rows: Array, size: int) -> Array:
        """The nearest of the points that come earlier in an order, (rows, size); `NONE` where there are fewer.

        Of every half of the order as many points are searched as are needed for enough to be earlier ones.

        Parameters
        ----------
        order : array (N,), the numbers of all points.
        rows : array of the numbers of the points whose neighbors are found.
        size : int, how many.
        """
        rank = np.argsort(order)[rows]
        found = np.full((len(rows), size), NONE)
        end = 0
        while end < len(order):
            start, end = end, min(len(order), max(4 * size, 2 * end))
            todo = np.flatnonzero((rank >= start) & (rank < end))
            if not len(todo):
                continue
            tree, count = self._tree_of(order[:end]), 2 * RANKED * size
            todo = todo[np.argsort(_places_in(tree, end)[rank[todo]])]  # twice as fast
            while len(todo):
                near = _query(tree, end, self.images[0][rows[todo]], count)
                best, enough = self._earlier(rows[todo], near, order, rank[todo], size, count >= tree.n)
                found[todo[enough]] = best
                todo, count = todo[~enough], 2 * count
        return found

    def _earlier(
        self, rows: Array, near: Array, order: Array, rank: Array, size: int, are_all: bool
    ) -> tuple[Array, Array]:
        """The best of candidates, places in the order, before those of the rows; and which rows have enough of them."""
        near[near >= rank[:, None]] = NONE
        enough = ((near != NONE).sum(axis=1) >= RANKED * size) | are_all
        first = _first(near[enough], RANKED * size)
        return self._best(self.X[rows[enough]], np.where(first == NONE, NONE, order[first]), size), enough

    @cached_property
    def _tree(self) -> cKDTree:
        return self._tree_of(slice(None))

    def _tree_of(self, which: Array | slice) -> cKDTree:
        part = self.images[:, which]
        return cKDTree(part.reshape(-1, part.shape[-1]))

    def _best(self, points: Array, near: Array, size: int) -> Array:
        """Of candidates (M, count) those with the largest correlations, (M, size); `NONE` last."""
        own = np.repeat(np.arange(len(points)), near.shape[1])
        values = self.kernel.paired(points[own], self.X[near.ravel()]).at(self.time).value.reshape(near.shape)
        by_correlation = np.argsort(np.where(near == NONE, np.inf, -values), axis=1, kind="stable")
        best = np.take_along_axis(near, by_correlation[:, :size], axis=1)
        return np.pad(best, ((0, 0), (0, size - best.shape[1])), constant_values=NONE)


def _query(tree: cKDTree, number: int, points: Array, count: int) -> Array:
    """The nearest of some points, each of which may be in the tree several times; `NONE` in the place of repeats."""
    near = tree.query(points, min(count, tree.n), workers=-1)[1].reshape(len(points), -1)
    return near if tree.n == number else _without_repeats(near % number)


def _without_repeats(near: Array) -> Array:
    """`NONE` in the place of numbers that are in the same row before."""
    order = np.argsort(near, axis=1, kind="stable")
    ordered = np.take_along_axis(near, order, axis=1)
    repeats = np.zeros(near.shape, bool)
    np.put_along_axis(repeats, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
    return np.where(repeats, NONE, near)


def _places_in(tree: cKDTree, number: int) -> Array:
    """The places of the points in the order of the leaves of a tree."""
    places = np.empty(number, int)
    places[tree.indices % number] = np.arange(tree.n)
    return places


def _first(near: Array, count: int) -> Array:
    """The first candidates of each row that are not `NONE`."""
    order = np.argsort(near == NONE, axis=1, kind="stable")[:, :count]
    return np.take_along_axis(near, order, axis=1)
