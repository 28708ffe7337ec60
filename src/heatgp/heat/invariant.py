"""Kernels of shapes in space: heat kernels of the sphere of centred and scaled landmarks, averaged over rotations.

With x, y matrices (k - 1, 3) of norm one, and d the singular values of x'y, the last one with the sign of its
determinant,

    k(x, y) = mean over rotations R of p_t(arccos tr(D R)),   D = diag(d).

tr(D R) is even in each coordinate of the rotation vector v of R, and near v = 0 it is tr D less the sum of
(tr D - d_i) v_i² / 2: the average is a sum over equal steps of v_i √(tr D - d_i), which converges exponentially, or
Gauss's rule for all rotations where it is wider than they are.

Reference: Kendall (1984), Bull. London Math. Soc. 16, 81-121; Trefethen and Weideman (2014), SIAM Review 56, 385-458.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from ..array import Array
from ..covariance import Evaluation, TimeFunction
from ..manifolds import Sphere
from .composed import WrappedKernel
from .exact.fibre_rotations import STEP, everywhere
from .kernel import Function, OrbitKernel

NEGLIGIBLE = 30.0
"""exp(-30) = 1e-13: smaller terms, as parts of the largest, are left out."""
VOLUME = 8.0
"""exp(-8): the part of rotations that count on the diagonal is not smaller, down to times of 1e-3."""
WIDE = 1.9
"""Rotation angles that count, beyond which Gauss's rule is taken: tr(D R) is nearly quadratic up to there."""
CHUNK = 1 << 18
"""Pairs times rotations at once."""


@dataclass(frozen=True, repr=False)
class InvariantKernel(WrappedKernel):
    """The kernel of a sphere, whose points are matrices (m, 3) row by row, averaged over rotations of the columns."""

    manifold: Sphere
    base: OrbitKernel

    def __repr__(self) -> str:
        return f"shape_kernel({(self.manifold.dim + 4) // 3})"

    def pairs(self, X: Array, Y: Array | None = None) -> TimeFunction:
        x, y = matrices(X), matrices(X if Y is None else Y)
        self.check_pairs(len(x), len(y), 6)
        products = np.einsum("nmi,kmj->nkij", x, y)
        d = signed_singular_values(products.reshape(-1, 3, 3)).reshape(len(x), len(y), 3)
        found = self._averages(d)
        return TimeFunction(lambda time: found.at(time).symmetrized()) if Y is None else found

    def matched(self, X: Array, Y: Array | None = None) -> TimeFunction:
        products = np.einsum("nmi,nmj->nij", matrices(X), matrices(X if Y is None else Y))
        return self._averages(signed_singular_values(products))

    def _averages(self, d: np.ndarray) -> TimeFunction:
        """The averages at pairs with these singular values (..., 3)."""

        def at(time: float) -> Evaluation:
            p = self.base.profile.at(time)
            averaged = cache(lambda function: rotation_mean(function, d, time))
            return Evaluation(
                lambda: averaged(p.relative_value),
                lambda: time * averaged(p.relative_slope)[None],
                lambda: averaged(p.relative_error),
                p.log_scale,
            )

        return TimeFunction(at)


def matrices(X: Array) -> np.ndarray:
    return np.asarray(X).reshape(len(X), -1, 3)


def signed_singular_values(a: np.ndarray) -> np.ndarray:
    """Of matrices (n, 3, 3), decreasing, the last one with the sign of the determinant."""
    d = np.linalg.svdvals(a)
    d[:, -1] *= np.where(np.linalg.det(a) < 0, -1.0, 1.0)
    return d


def rotation_mean(function: Function, d: np.ndarray, time: float) -> np.ndarray:
    """The mean over rotations R of a function of the angle arccos tr(D R), for singular values d (..., 3)."""
    flat = d.reshape(-1, 3)
    spread = flat.sum(axis=1, keepdims=True) - flat  # tr D - d_i
    reach = math.sqrt(2 * NEGLIGIBLE * time)
    near = reach < WIDE * np.sqrt(np.maximum(spread.min(axis=1), 0.0))
    far = np.square(np.arccos(np.clip(flat.sum(axis=1), -1.0, 1.0))) > 2 * time * (NEGLIGIBLE + VOLUME)
    out = np.zeros(len(flat))
    y, weights = octant_steps()
    for rows in blocks(np.flatnonzero(near & ~far), len(y)):
        width = np.sqrt(time / spread[rows])
        v = np.square(y * width[:, None])
        angle = np.sqrt(v.sum(axis=-1))
        lost = 2 * np.square(np.sin(angle / 2))  # 1 - cos
        off = lost * flat[rows].sum(axis=1)[:, None] - np.square(np.sinc(angle / (2 * math.pi))) / 2 * np.einsum(
            "nmi,ni->nm", v, flat[rows]
        )
        density = np.square(np.sinc(angle / (2 * math.pi))) * (angle < math.pi) * weights
        volume = width.prod(axis=1) / (8 * math.pi**2)
        out[rows] = volume * np.einsum("nm,nm->n", density, function(angles_of(flat[rows], off)))
    wide = np.flatnonzero(~near & ~far)
    if len(wide):
        diagonals, weights = all_diagonals(time)
        for rows in blocks(wide, len(diagonals)):
            out[rows] = function(angles_of(flat[rows], flat[rows] @ (1 - diagonals).T)) @ weights
    return out.reshape(d.shape[:-1])


def angles_of(d: np.ndarray, off: np.ndarray) -> np.ndarray:
    """The angles (n, m, 1) whose cosines are tr D less `off` (n, m)."""
    gap = np.maximum(1 - d.sum(axis=1), 0.0)[:, None] + off
    return 2 * np.arcsin(np.sqrt(np.clip(gap / 2, 0.0, 1.0)))[..., None]


def blocks(rows: np.ndarray, size: int) -> list[np.ndarray]:
    """The rows, in pieces that leave room for as many numbers each."""
    return np.array_split(rows, max(1, math.ceil(len(rows) * size / CHUNK))) if len(rows) else []


@cache
def octant_steps() -> tuple[np.ndarray, np.ndarray]:
    """Steps (m, 3) of the octant y >= 0 within reach of a normal density, and weights: sums over all eight octants."""
    axis = np.arange(0.0, math.sqrt(2 * NEGLIGIBLE) + STEP, STEP)
    y = np.stack(np.meshgrid(axis, axis, axis), axis=-1).reshape(-1, 3)
    y = y[np.square(y).sum(axis=1) < 2 * NEGLIGIBLE]
    return y, STEP**3 * 2.0 ** np.count_nonzero(y, axis=1)


@lru_cache(maxsize=16)
def all_diagonals(time: float) -> tuple[np.ndarray, np.ndarray]:
    """Diagonals (m, 3) of the rotations of Gauss's rule, each once, and their weights."""
    elements, weights = everywhere(time)
    diagonals = np.diagonal(elements, axis1=1, axis2=2)
    _, first, place = np.unique(np.round(diagonals, 12), axis=0, return_index=True, return_inverse=True)
    return diagonals[first], np.bincount(place.ravel(), weights)
