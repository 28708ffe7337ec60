"""Polygons in the plane, with holes: points inside, distances to the boundary, and reflection of paths."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...arguments import as_array, refuse_masked
from ...array import Array, namespace
from ...errors import InvalidInput

RASTER = 256
"""Cells along each side of the table of distances; with it, most points need no comparison with every edge."""
PAIRS = 1 << 20
"""Pairs of edges compared at once, some 100 MB."""
BOUNCES = 32
"""The largest number of reflections in one step. A path that needs more, as in a corner, does not move."""

Ring = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Polygon:
    """The points of the plane that an odd number of rings surrounds: an outline with holes, islands in the holes."""

    rings: tuple[Ring, ...]

    @classmethod
    def of(cls, vertices: Any) -> Polygon:
        """From vertices (k, 2), or a list of such rings; InvalidInput for anything else."""
        refuse_masked(vertices, "vertices")
        for candidate in ((vertices,), vertices):
            with suppress(TypeError, ValueError):
                rings = [as_array(ring, "a ring").astype(float) for ring in candidate]
                if rings and all(r.shape[1:] == (2,) and len(r) > 2 and np.isfinite(r).all() for r in rings):
                    break
        else:
            raise InvalidInput(
                "A polygon needs finite vertices of shape (k, 2), k >= 3, or a list of such rings (outline and holes)."
            )
        rings = [ring[(ring != np.roll(ring, -1, axis=0)).any(axis=1)] for ring in rings]  # a vertex given twice is one
        if any(np.linalg.matrix_rank(ring - ring[:1]) < 2 for ring in rings):
            raise InvalidInput("A ring of the polygon has no area: it needs three vertices that are not on one line.")
        polygon = cls(tuple(tuple((float(a), float(b)) for a, b in ring) for ring in rings))
        if meeting := polygon.meeting_edges():
            one, other = (
                f"edge {edge}, ({', '.join(f'{value:g}' for value in start)}) to "
                f"({', '.join(f'{value:g}' for value in end)}),"
                for edge, start, end in meeting
            )
            raise InvalidInput(
                f"The polygon is not simple: {one} and {other} meet. Edges may only share the vertex between them; "
                "mend the order of the vertices, and give holes and islands as rings of their own that do not touch."
            )
        if not polygon.area > 1e-12 * float(np.prod(np.diff(polygon.box, axis=0))):
            raise InvalidInput(f"The polygon has no area ({polygon.area:.1e}): holes must lie within the outline.")
        return polygon

    def meeting_edges(self) -> list[tuple[int, np.ndarray, np.ndarray]]:
        """Two edges that share more than the vertex between neighbours, each as number, start and end; else none.

        Edges are sorted by their left ends. An edge can only meet those that begin before it ends: of a coastline these
        are few, so that the work is far below that of all pairs.
        """
        starts, vectors = self.edges
        ends, number = starts + vectors, len(starts)
        after = np.concatenate([np.roll(first + np.arange(len(ring)), -1) for first, ring in self._numbered])
        low, high = np.minimum(starts, ends), np.maximum(starts, ends)
        order = np.argsort(low[:, 0], kind="stable")
        reach = np.searchsorted(low[order, 0], high[order, 0], side="right")
        counts = np.maximum(reach - np.arange(number) - 1, 0)
        total = np.cumsum(counts)
        for part in np.split(np.arange(number), np.searchsorted(total, np.arange(PAIRS, total[-1], PAIRS))):
            one = np.repeat(part, counts[part])
            other = one + 1 + np.arange(len(one)) - np.repeat(np.cumsum(counts[part]) - counts[part], counts[part])
            i, j = order[one], order[other]
            beside = (low[i, 1] <= high[j, 1]) & (low[j, 1] <= high[i, 1])
            i, j = i[beside], j[beside]
            neighbours = (after[i] == j) | (after[j] == i)
            # Signs say on which side of one edge the ends of the other lie: 0 is on its line.
            sides = [
                np.sign(_cross(vectors[a], b - starts[a]))
                for a, b in ((i, starts[j]), (i, ends[j]), (j, starts[i]), (j, ends[i]))
            ]
            meet = (sides[0] * sides[1] <= 0) & (sides[2] * sides[3] <= 0)
            back = np.sum(vectors[i] * vectors[j], axis=1) < 0  # neighbours on one line that go back over themselves
            on_one_line = (sides[0] == 0) & (sides[1] == 0)
            for k in np.flatnonzero(meet & (~neighbours | (on_one_line & back)))[:1]:
                return [(int(edge), starts[edge], ends[edge]) for edge in sorted((i[k], j[k]))]
        return []

    @property
    def _numbered(self) -> list[tuple[int, Ring]]:
        """The rings, each with the number of its first edge."""
        lengths = [len(ring) for ring in self.rings]
        return list(zip(np.cumsum([0, *lengths[:-1]]).tolist(), self.rings))

    @cached_property
    def edges(self) -> tuple[np.ndarray, np.ndarray]:
        """The first vertex of each edge, and the vector to its second one, both (k, 2)."""
        rings = [np.array(ring) for ring in self.rings]
        return np.concatenate(rings), np.concatenate([np.roll(ring, -1, axis=0) - ring for ring in rings])

    @cached_property
    def box(self) -> np.ndarray:
        """Low and high corner, (2, 2)."""
        starts = self.edges[0]
        return np.stack((starts.min(axis=0), starts.max(axis=0)))

    @cached_property
    def area(self) -> float:
        """The area of outlines minus holes: a ring counts negative if an odd number of other rings surrounds it."""
        total = 0.0
        for ring in self.rings:
            x, y = np.array(ring).T
            around = sum(
                Polygon((other,)).crossings(np.array(ring[0])) % 2 for other in self.rings if other is not ring
            )
            total += (-1) ** int(around) * abs(float(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)))) / 2
        return total

    def crossings(self, x: Array) -> Array:
        """How many edges the horizontal ray from x (..., 2) to the right crosses: an odd number inside."""
        xp = namespace(x)
        starts, vectors = (xp.asarray(part, dtype=x.dtype) for part in self.edges)
        rise = x[..., 1, None] - starts[:, 1]
        spans = (rise >= 0) != (rise >= vectors[:, 1])
        slope = vectors[:, 0] / xp.where(vectors[:, 1] == 0, 1.0, vectors[:, 1])
        return xp.sum(xp.astype(spans & (x[..., 0, None] < starts[:, 0] + rise * slope), xp.int32), axis=-1)

    def distance(self, x: Array) -> Array:
        """Distance to the nearest edge."""
        gap = self._gaps(x)
        return namespace(x).sqrt(namespace(x).min(gap[..., 0] ** 2 + gap[..., 1] ** 2, axis=-1))

    def nearest(self, x: np.ndarray) -> np.ndarray:
        """The nearest point on an edge."""
        gap = self._gaps(x)
        edge = np.argmin(gap[..., 0] ** 2 + gap[..., 1] ** 2, axis=-1)
        return x - np.take_along_axis(gap, edge[..., None, None], axis=-2)[..., 0, :]

    def _gaps(self, x: Array) -> Array:
        """x less the nearest point on each edge, (..., k, 2)."""
        xp = namespace(x)
        starts, vectors = (xp.asarray(part, dtype=x.dtype) for part in self.edges)
        d = x[..., None, :] - starts
        share = (d[..., 0] * vectors[:, 0] + d[..., 1] * vectors[:, 1]) / xp.sum(vectors * vectors, axis=-1)
        return d - xp.clip(share, 0, 1)[..., None] * vectors

    @cached_property
    def _raster(self) -> np.ndarray:
        """For each cell of the bounding box, the smallest distance of its points to the edges, negative outside.

        Zero for cells that an edge may cross.
        """
        low, high = self.box
        size = (high - low) / RASTER
        centers = np.stack(np.meshgrid(*(np.arange(RASTER) + 0.5,) * 2, indexing="ij"), axis=-1) * size + low
        clearance = np.stack([self.distance(row) for row in centers]) - np.hypot(*size) / 2
        inside = np.stack([self.crossings(row) % 2 == 1 for row in centers])
        return np.where(inside, 1.0, -1.0) * np.maximum(clearance, 0.0)

    def _clearance(self, x: np.ndarray) -> np.ndarray:
        """A lower bound of the distance to the edges, negative outside; zero where the table has no information."""
        low, high = self.box
        cell = np.clip(((x - low) * (RASTER / (high - low))).astype(int), 0, RASTER - 1)
        within = ((x >= low) & (x <= high)).all(axis=-1)
        return np.where(within, self._raster[cell[..., 0], cell[..., 1]], 0.0)

    def contains(self, x: Array) -> Array:
        """Whether x (..., 2) is inside."""
        if not isinstance(x, np.ndarray) or x.size < 2 * RASTER:
            return self.crossings(x) % 2 == 1
        clearance = self._clearance(x)
        inside, near = clearance > 0, clearance == 0
        inside[near] = self.crossings(x[near]) % 2 == 1
        return inside

    def bounce(self, x: Array, v: Array) -> Array:
        """The end of a path that starts at x, inside, follows v straight, and is reflected at the edges."""
        x, v = x + 0 * v, v + 0 * x
        if not isinstance(x, np.ndarray):
            y = self._bounce(x, v, 8)
            return namespace(x).where(self.contains(y)[..., None], y, x)
        y = x + v
        # If the distances from x and from y to the edges add up to more than |v|, no edge lies between them.
        clearance = np.abs(self._clearance(x)) + np.abs(self._clearance(y))
        near = clearance <= np.sqrt(v[..., 0] ** 2 + v[..., 1] ** 2)
        part = self._bounce(x[near], v[near], BOUNCES)
        y[near] = np.where(self.contains(part)[..., None], part, x[near])
        return y

    def _bounce(self, x: Array, v: Array, bounces: int) -> Array:
        xp = namespace(x)
        starts, vectors = (xp.asarray(part, dtype=x.dtype) for part in self.edges)
        normals = xp.stack((-vectors[:, 1], vectors[:, 0]), axis=-1) / xp.sqrt(xp.sum(vectors**2, axis=-1))[:, None]
        last = xp.full(x.shape[:-1], -1)
        numbers = xp.arange(len(starts))
        for _ in range(bounces):
            d = starts - x[..., None, :]
            cross = v[..., 0, None] * vectors[:, 1] - v[..., 1, None] * vectors[:, 0]
            cross = xp.where((cross == 0) | (numbers == last[..., None]), xp.nan, cross)
            share = (d[..., 0] * vectors[:, 1] - d[..., 1] * vectors[:, 0]) / cross
            along = (d[..., 0] * v[..., 1, None] - d[..., 1] * v[..., 0, None]) / cross
            hit = (share >= 0) & (share <= 1) & (along >= 0) & (along <= 1)
            share = xp.where(hit, share, 2.0)
            edge = xp.argmin(share, axis=-1)
            first = xp.min(share, axis=-1)[..., None]
            if isinstance(x, np.ndarray) and (first > 1).all():
                break
            n = normals[edge]
            mirrored = v - 2 * xp.sum(v * n, axis=-1, keepdims=True) * n
            x = xp.where(first > 1, x, x + first * v)
            v = xp.where(first > 1, v, (1 - first) * mirrored)
            last = xp.where(first[..., 0] > 1, last, edge)
        return x + v


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The third component of the cross product of vectors of the plane."""
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
