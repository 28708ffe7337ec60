"""A manifold cut into small cells: even nodes, their volumes, and averages over what is near a point.

One average moves a function by a short time of heat flow; several of them make the last step of a Brownian motion.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack
from scipy.spatial import cKDTree

from ...errors import AccuracyWarning, Unsupported, warn
from ...manifolds import Manifold
from ...manifolds.roots import log_unit_ball_volume
from ...progress import tracked
from .quasi import Quasi

POOL = 8
"""Random points for each node, of which the farthest from the nodes so far becomes the next."""
SAMPLE = 200
"""Random points for each node that estimate the volumes of the cells."""
MEMBERS = 48
"""Points of a cell among which its middle is searched for."""
REACH = 3.0
"""Radius of an average, in units of the distance between nodes."""
COUNTED = (1 << 17, 512, 64)
"""Points, places and neighbours from which an unknown volume is estimated: an error of half a per cent."""
WHOLE = 0.97
"""Share of its mass in flat space from which on an average is not cut off by a boundary."""
NEIGHBOURS = 300
"""Nodes near a point that are kept at most."""
SEEN = 64
"""Nodes whose distances to all others are compared with chords; the first ones are spread evenly."""
CHUNK = 1 << 15


@dataclass(frozen=True, eq=False)
class Cells:
    """Nodes in farthest-point order and the volumes of their cells (the points nearer to it than to any other node)."""

    manifold: Manifold
    nodes: np.ndarray
    volumes: np.ndarray
    width: float
    """Variance, in each direction, of a uniform point of a cell about its node."""
    volume_error: float = 0.0
    """Relative standard error of the volumes' sum, where it is estimated."""

    @cached_property
    def volume(self) -> float:
        """That of the manifold."""
        return float(self.volumes.sum())

    @cached_property
    def spacing(self) -> float:
        """Side of a cube of the mean volume."""
        return float(np.mean(self.volumes)) ** (1 / self.manifold.dim)

    @property
    def reach(self) -> float:
        """Radius of an average."""
        return REACH * self.spacing

    @cached_property
    def _tree(self) -> cKDTree:
        return cKDTree(self.manifold.embed(self.nodes))

    @cached_property
    def _neighbours(self) -> tuple[np.ndarray, bool]:
        """The nodes nearest to each node, (nodes, k), and whether chords of the embedding tell what is nearest."""
        dim = self.manifold.dim
        ball = math.exp(log_unit_ball_volume(dim)) * (REACH + 0.5) ** dim
        k = min(len(self.nodes), math.ceil(1.5 * ball) + 4, NEIGHBOURS)
        chord, near = self._tree.query(self._tree.data, k)
        square = self.manifold.rough_separation(self.nodes[:, None], self.nodes[near])
        some = self.manifold.rough_separation(self.nodes[:SEEN, None], self.nodes)  # nearer ones beyond a seam too
        nearest = np.sort(some, axis=1)[:, :k]
        if all(np.allclose(a, b, rtol=1e-6) for a, b in ((square, chord**2), (nearest, chord[:SEEN] ** 2))):
            return near, True
        order = []
        for start in range(0, len(self.nodes), 64):
            square = self.manifold.rough_separation(self.nodes[start : start + 64, None], self.nodes)
            order.append(np.argsort(square, axis=1)[:, :k])
        return np.concatenate(order), False

    def nearest(self, x: np.ndarray) -> np.ndarray:
        """The index of the cell of each point (N, *shape)."""
        neighbours, isometric = self._neighbours
        points = self.manifold.embed(x)
        if isometric:
            return self._tree.query(points)[1]
        return self._best(x, neighbours[self._tree.query(points)[1], :10])

    def _best(self, x: np.ndarray, near: np.ndarray) -> np.ndarray:
        """The nearest of some nodes; of all nodes, where those belong to another component of the manifold."""
        square = self.manifold.rough_separation(x[:, None], self.nodes[near])
        best = np.take_along_axis(near, np.argmin(square, axis=1)[:, None], 1)[:, 0]
        lost = ~np.isfinite(square.min(axis=1))
        if lost.any():
            best[lost] = np.argmin(self.manifold.rough_separation(x[lost, None], self.nodes), axis=1)
        return best

    def near(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Nodes near each point and the squared distances to them, (N, k) both."""
        neighbours, isometric = self._neighbours
        if isometric:
            index = self._tree.query(self.manifold.embed(x), neighbours.shape[1])[1]
        else:
            index = neighbours[self.nearest(x)]
        return index, self.manifold.separation(x[:, None], self.nodes[index])

    def bump(self, x: np.ndarray) -> tuple[csr_array, csr_array]:
        """(1 - d²/r²)^4 of the distance d of x to the nodes, as sparse rows (N, nodes), and the same times d²."""
        index, square = self.near(x)
        values = np.maximum(1 - square / self.reach**2, 0.0) ** 4
        values[~np.isfinite(square)] = 0.0
        rows = np.repeat(np.arange(len(x)), index.shape[1])
        shape = (len(x), len(self.nodes))
        square = np.where(values > 0, square, 0.0)
        weights = csr_array((values.ravel(), (rows, index.ravel())), shape)
        return weights, csr_array(((values * square).ravel(), (rows, index.ravel())), shape)

    @cached_property
    def _smoothing(self) -> tuple[np.ndarray, csr_array, float]:
        weights, squares = self.bump(self.nodes)
        weights = (weights + weights.T) / 2
        scale = np.ones(len(self.nodes))
        for _ in range(100):
            scale = np.sqrt(scale / (weights @ (self.volumes * scale)))
        column = scale * self.volumes
        matrix = weights.multiply(scale[:, None]).multiply(column).tocsr()
        return column, matrix, self._variance(weights @ self.volumes, scale * (squares @ column))

    def _variance(self, mass: np.ndarray, second: np.ndarray) -> float:
        """Variance in each direction of the averages, whose second moments are given, that no boundary cuts off.

        Those have the mass that (1 - d²/r²)^4 has in flat space, a Beta integral; averages by a boundary spread less,
        and so does heat.
        """
        dim, reach = self.manifold.dim, self.reach
        full = (math.sqrt(math.pi) * reach) ** dim * math.gamma(5) / math.gamma(dim / 2 + 5)
        whole = mass > WHOLE * full
        if not whole.any():
            return reach**2 / (dim + 10)
        return float(np.average(second[whole], weights=self.volumes[whole])) / dim

    @property
    def time(self) -> float:
        """The time of heat flow that one average stands for: its variance in each direction."""
        return self._smoothing[2]

    @property
    def average(self) -> csr_array:
        """One average of a function on the nodes: symmetric against the volumes, rows that sum to one.

        Reference: Wormell and Reich (2021), SIAM J. Numer. Anal. 59, 1687-1734 (diffusion maps with Sinkhorn weights).
        """
        return self._smoothing[1]

    def flow(self, values: np.ndarray, number: int) -> np.ndarray:
        """`number` averages of functions (nodes, ...) on the nodes, less the one that is taken at new points.

        One average is exp(-u - a u²) of u = -time laplacian / 2, where exp(-u) is asked for: it has no tails. The bump
        (1 - d²/r²)^4 has a = 1 / (dim + 12), by its fourth moment, and 1 + a (1 - average)² makes up for it.
        """
        for _ in range(number - 1):
            values = self.average @ values
        change = self.average @ values - values
        change = self.average @ change - change
        return values + number / (self.manifold.dim + 12) * change

    def average_at(self, x: np.ndarray) -> csr_array:
        """The same average at new points: sparse rows (N, nodes) that sum to one."""
        column = self._smoothing[0]
        return self._rows(x, lambda part: self.bump(part)[0].multiply(column))

    def ball_at(self, x: np.ndarray, radius: float) -> csr_array:
        """The mean over the cells whose nodes lie in a ball: sparse rows (N, nodes) that sum to one."""

        def inside(part: np.ndarray) -> csr_array:
            return csr_array((self.manifold.separation(part[:, None], self.nodes) < radius**2) * self.volumes)

        return self._rows(x, inside, max(1, CHUNK // len(self.nodes)))

    def _rows(self, x: np.ndarray, weights: Callable[[np.ndarray], csr_array], chunk: int = CHUNK) -> csr_array:
        """Weights (N, nodes) of the points, a chunk at a time, divided by the sums of their rows.

        A point that no node can be seen from, in a corner of a channel, has the value of the nearest one.
        """
        parts = []
        for start in range(0, max(1, len(x)), chunk):
            here = x[start : start + chunk]
            part = csr_array(weights(here))
            alone = np.flatnonzero(part.sum(axis=1) <= 0)
            if alone.size:
                part = part + csr_array((np.ones(alone.size), (alone, self.nearest(here[alone]))), part.shape)
            parts.append(part.multiply(1 / part.sum(axis=1)[:, None]))
        return vstack(parts, format="csr")


def make_cells(manifold: Manifold, number: int, coarse: int, rng: np.random.Generator) -> tuple[Cells, Cells]:
    """`number` cells, and `coarse` larger ones about the first nodes, which farthest-point order spreads evenly too."""
    volume, error = known_volume(manifold)
    check_compact(manifold, volume)
    pool = np.asarray(manifold.random(rng, POOL * number))
    nodes = pool[farthest_order(manifold, pool, number)]
    even: Any = Quasi(rng) if manifold.draws_evenly else rng
    sample = np.asarray(manifold.random(even, SAMPLE * number))
    error = math.hypot(error, len(sample) ** -0.5)  # half of the volume is a share of the sample with this error
    fine, large = (_measure(manifold, some, sample, volume, error) for some in (nodes, nodes[:coarse]))
    return fine, large


def check_compact(manifold: Manifold, volume: float) -> None:
    """An error where the volume is infinite."""
    refuse_infinite(manifold, volume)


def refuse_infinite(manifold: Manifold, volume: float) -> None:
    """Raise Unsupported where there are no uniform points."""
    if not math.isfinite(volume):
        raise Unsupported(
            f"{manifold!r} is not compact: it has no uniform reference points. Cut it off with Domain or a "
            "Chart with bounds, or use 'exact', for spaces of geomstats by from_geomstats."
        )


def known_volume(manifold: Manifold) -> tuple[float, float]:
    """The volume of the manifold and its relative error; estimated where the manifold does not know it.

    Of n uniform points, the ball around a point up to its k-th nearest holds the share k / (n + 1) of the volume on
    average. The volume of such small balls is that of flat ones.
    """
    try:
        return manifold.volume, manifold.volume_error
    except Unsupported:
        rng, (n, places, k) = np.random.default_rng(0), COUNTED
        sample, probes = np.asarray(manifold.random(rng, n)), np.asarray(manifold.random(rng, places))
        near = cKDTree(manifold.embed(sample)).query(manifold.embed(probes), 4 * k)[1]
        square = np.sort(manifold.separation(probes[:, None], sample[near]), axis=1)[:, k - 1]
        balls = math.exp(log_unit_ball_volume(manifold.dim)) * square ** (manifold.dim / 2)
        volume, error = float(balls.mean()) * (n + 1) / k, float(balls.std() / balls.mean()) / math.sqrt(places)
        warn(
            f"{manifold!r} does not know its volume: {volume:.4g} is estimated from random points, with an error of "
            f"{error:.1%} if they are uniform. Define the property `volume`.",
            AccuracyWarning,
        )
        return volume, error


def _measure(manifold: Manifold, nodes: np.ndarray, sample: np.ndarray, volume: float, volume_error: float) -> Cells:
    """Cells with their volumes, the shares of a uniform sample, and the variance of its points about the nodes.

    A node that lies aside in its cell would shift what is counted there: twice it is moved to the middle.
    """
    for round in range(3):
        rough = Cells(manifold, nodes, np.full(len(nodes), volume / len(nodes)), 0.0)
        starts = range(0, len(sample), CHUNK)
        shown = tracked(starts, len(starts), f"{len(nodes)} cells of {manifold!r}")
        near = np.concatenate([rough.nearest(sample[i : i + CHUNK]) for i in shown])
        if round < 2:
            nodes = _middles(manifold, nodes, sample, near)
    shares = np.bincount(near, minlength=len(nodes)) / len(sample)
    square = manifold.separation(sample, nodes[near])
    width = float(square[np.isfinite(square)].mean()) / manifold.dim
    return Cells(manifold, nodes, volume * shares, width, volume_error)


def _middles(manifold: Manifold, nodes: np.ndarray, sample: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Of some members of each cell the one with the least mean square of distances to the others."""
    order = np.argsort(near, kind="stable")
    first = np.searchsorted(near[order], np.arange(len(nodes) + 1))
    place = first[:-1, None] + np.arange(MEMBERS)
    members = sample[order[np.minimum(place, len(order) - 1)]]
    missing = place >= first[1:, None]
    members[missing] = np.broadcast_to(nodes[:, None], members.shape)[missing]
    out = np.empty_like(nodes)
    for i in range(0, len(nodes), 64):
        part = members[i : i + 64]
        square = manifold.rough_separation(part[:, :, None], part[:, None])
        square = np.where(np.isfinite(square), square, np.max(square, initial=0.0, where=np.isfinite(square)))
        out[i : i + 64] = np.take_along_axis(
            part, np.argmin(square.mean(axis=2), axis=1).reshape(-1, *(1,) * (part.ndim - 1)), 1
        )[:, 0]
    return out


def farthest_order(manifold: Manifold, pool: np.ndarray, number: int) -> np.ndarray:
    """Indices of points each of which is the farthest from all before it.

    Reference: Gonzalez (1985), Theoret. Comput. Sci. 38, 293-306.
    """
    order = np.zeros(number, int)
    gap = np.full(len(pool), np.inf)
    for k in tracked(range(1, number), number - 1, f"Even points of {manifold!r}"):
        gap = np.minimum(gap, manifold.rough_separation(pool, pool[order[k - 1]]))
        gap[order[k - 1]] = -1.0
        order[k] = np.argmax(gap)
    return order
