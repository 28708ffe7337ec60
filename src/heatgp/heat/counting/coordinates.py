"""The coordinates in which paths are counted: the distance alone, or all orbit coordinates."""

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.special import ndtri

from ...array import wrap
from ...errors import Unsupported
from ...manifolds.checks import unchecked
from ...manifolds.contract import Homogeneous, Symmetric
from ...manifolds.roots import log_sphere_volume

DIRECTIONS = 4096
"""Directions of a flat over which the area of distance spheres is averaged: errors of 1e-3 at rank 2, 1e-2 at 4."""
MOST = 3
"""Boxes in more coordinates than these hold too few paths."""


@dataclass(frozen=True)
class Coordinates:
    """Coordinates c (..., r) of a pair, their bounds, and the density of the volume in them.

    With `by_distance`, or at rank one, the only coordinate is the distance. Otherwise they are the orbit coordinates,
    of which SU(n) needs the first n - 1; `images` then adds the images of a point under permutations, since an orbit is
    sorted while omega is a density over all orders. Eigenangles also have images of the other sign: taking inverses
    is an isometry.
    """

    manifold: Homogeneous
    by_distance: bool = False

    def __post_init__(self) -> None:
        m = self.manifold
        m.length(np.zeros(len(m.chamber)))  # or it says that there is no such function
        if self.number > MOST:
            raise Unsupported(
                f"{m!r} has rank {m.rank}: boxes in more than {MOST} orbit coordinates hold too few paths. "
                "Use method='exact' or 'smooth', or the average over distance strips (distance=True)."
            )

    @property
    def number(self) -> int:
        return 1 if self.by_distance else self.manifold.rank

    @property
    def radial(self) -> bool:
        return self.number == 1

    @property
    def circular(self) -> bool:
        """Whether coordinates are angles modulo 2 pi."""
        return not self.radial and self.manifold.chamber[0][0] < 0

    @cached_property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        chamber = np.array(self.manifold.chamber)
        if not self.radial:
            return chamber[: self.number, 0], chamber[: self.number, 1]
        if self.manifold.rank == 1:
            return np.zeros(1), np.min(chamber[:, 1] / abs(self.direction), keepdims=True)
        return np.zeros(1), self._length(chamber[:, 1])[None]

    def read(self, theta: np.ndarray) -> np.ndarray:
        """Orbit coordinates of a pair to these."""
        theta = np.asarray(theta, dtype=float)
        return self._length(theta)[..., None] if self.radial else theta[..., : self.number]

    def images(self, theta: np.ndarray) -> np.ndarray:
        """Orbits (N, n) to coordinates (s, N, r) of their s images, all as likely as the first."""
        if self.radial or not isinstance(self.manifold, Symmetric) or not self.manifold.roots.alpha:
            return self.read(theta)[None]
        orders = list(permutations(range(theta.shape[-1])))
        images = [theta[..., list(order)][..., : self.number] for order in orders]
        return np.stack([*images, *(-image for image in images)] if self.circular else images)

    def length(self, c: np.ndarray) -> np.ndarray:
        """Distance of a pair with coordinates c."""
        return c[..., 0] if self.radial else self._length(self.completed(c))

    def log_density(self, c: np.ndarray) -> np.ndarray:
        """log of the volume density over c."""
        if not self.radial:
            return np.asarray(self.manifold.log_strip(self.completed(c)))
        if self.manifold.rank > 1:
            with np.errstate(divide="ignore"):
                return (self.manifold.dim - 1) * np.log(c[..., 0]) + self._log_area(c[..., 0])
        sides = 2 if self.manifold.chamber[0][0] < 0 else 1
        stretch = math.log(sides * abs(self.direction[0]))
        return np.asarray(self.manifold.log_strip(c * self.direction)) + stretch

    @cached_property
    def direction(self) -> np.ndarray:
        """At rank one: orbit coordinates of a pair at unit distance, those at another distance being a multiple."""
        m = self.manifold
        z = np.random.default_rng(0).standard_normal((2, *m.shape)) * 0.01
        near = unchecked(m.exp)(m.origin, m.noise(m.origin, z[0] + 1j * z[1] if m.is_complex else z[0]))
        theta = np.asarray(m.orbit(m.origin, near))
        return theta / self._length(theta)

    def _length(self, theta: np.ndarray) -> np.ndarray:
        return np.asarray(self.manifold.length(theta))

    def completed(self, c: np.ndarray) -> np.ndarray:
        """All orbit coordinates: where they sum to zero there is one more."""
        c = self.manifold.roots.complete(c) if isinstance(self.manifold, Symmetric) else c
        return wrap(c) if self.circular else c

    @cached_property
    def _log_area(self) -> PchipInterpolator:
        """Rank > 1: log of the area of the distance sphere over distance^(dim - 1), by quasi-random directions.

        The area is r^(rank-1) times the integral of omega over the directions of a flat that stay in the chamber.
        """
        from scipy.stats import qmc  # slow to import

        m = self.manifold
        assert isinstance(m, Symmetric)
        roots, rank = m.roots, m.rank
        u = ndtri(qmc.Sobol(rank, seed=0).random(DIRECTIONS))
        u = u if roots.signed else abs(u)
        u /= np.linalg.norm(u, axis=-1, keepdims=True)
        log_scale = log_sphere_volume(rank - 1) - rank * math.log(roots.unit)
        log_scale -= 0 if roots.signed else rank * math.log(2)
        if roots.sum_zero:  # the flat is the hyperplane of sum zero, omega a density over all coordinates but one
            u = u @ np.linalg.svd(np.ones((1, roots.coordinates)))[2][1:]
            log_scale -= 0.5 * math.log(roots.coordinates)
        lower, upper = np.array(m.chamber).T
        radii = np.linspace(0, min(float(self.bounds[1][0]), m.farthest), 129)[1:]
        values = []
        for r in radii:
            theta = (r / roots.unit) * u
            if roots.sum_zero:
                theta = wrap(theta)
                inside = self._length(theta) > r * (1 - 1e-9)
            else:
                inside = (theta <= upper).all(axis=-1) & (theta >= lower).all(axis=-1)
            omega = np.where(inside, np.exp(np.asarray(m.log_strip(theta))), 0.0)
            with np.errstate(divide="ignore"):
                values.append(log_scale + np.log(omega.mean()) - (m.dim - rank) * math.log(r))
        logs = np.array(values)
        floor = logs[np.isfinite(logs)].min() - 50  # beyond the farthest point
        return PchipInterpolator(np.append(0.0, radii), np.maximum(np.append(logs[0], logs), floor))
