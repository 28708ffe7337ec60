"""Kernels of shapes in space: heat kernels of the sphere of centred and scaled landmarks, averaged over rotations.

With x, y matrices (k - 1, 3) of norm one, and d the singular values of x'y, the last one with the sign of its
determinant,

    k(x, y) = mean over rotations R of p_t(arccos tr(D R)),   D = diag(d).

tr(D R) is even in each coordinate of the rotation vector v of R, and near v = 0 it is tr D less the sum of
(tr D - d_i) v_i² / 2. So sums over equal steps of v_i √(tr D - d_i) converge exponentially where only small rotations
count. Landmarks near a line may be turned around it: with the unit quaternion (r cos a, r sin a, w_2, w_3) of R, whose
uniform law has the density da dw_2 dw_3 / 2 pi²,

    tr(D R) = tr D - 2 (d_2 + d_3) sin² a - 2 (d_1 + d_3 - (d_2 + d_3) sin² a) w_2² - 2 (d_1 + d_2 - ..) w_3²,

and only the steps of w_2, w_3 are small. Elsewhere, which is at long times, Gauss's rule for all rotations is taken.

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
WIDE = 1.9
"""Rotation angles that count, beyond which other rules are taken: tr(D R) is nearly quadratic up to there."""
FLAT = 0.7
"""The same of w, which is less than one."""
AROUND = 24
"""Steps of a quarter of a turn around a line."""
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
        if Y is not None:
            return self._averages(signed_singular_values(x, y))
        above = np.triu_indices(len(x))
        found = self._averages(signed_singular_values(x, y)[above])

        def whole(values: np.ndarray) -> np.ndarray:
            out = np.empty((*values.shape[:-1], len(x), len(x)))
            out[..., above[0], above[1]] = values
            out[..., above[1], above[0]] = values
            return out

        return TimeFunction(lambda time: found.at(time).mapped(whole))

    def paired(self, X: Array, Y: Array | None = None) -> TimeFunction:
        x, y = matrices(X), matrices(X if Y is None else Y)
        return self._averages(signed_singular_values(x[:, None], y[:, None])[:, 0])

    def same_points(self, X: Array) -> list[np.ndarray]:
        """The landmarks in another order of the axes, and turned by a right angle: all right angles follow."""
        x = matrices(X)
        quarter = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
        return [turned.reshape(len(x), -1) for turned in (np.roll(x, 1, axis=-1), x @ quarter)]

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
    X = np.asarray(X)
    return X.reshape(len(X), X.shape[-1] // 3, 3)


def signed_singular_values(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Of x'y, decreasing, the last one with the sign of the determinant: (n, k, 3).

    For all pairs of x (n, m, 3) and y (k, m, 3); or with k = 1 of x (n, 1, m, 3) and y (n, 1, m, 3), one by one.
    """
    own = x.ndim > 3
    shape = (len(x), 1 if own else len(y))
    out = np.empty((*shape, 3))
    rows = max(1, CHUNK // max(1, 9 * shape[1]))
    for start in range(0, len(x), rows):
        part = slice(start, start + rows)
        a = np.swapaxes(x[part] if own else x[part, None], -1, -2) @ (y[part] if own else y)
        d = np.linalg.svdvals(a)
        d[..., -1] *= np.where(np.linalg.det(a) < 0, -1.0, 1.0)
        out[part] = d
    return out


def rotation_mean(function: Function, d: np.ndarray, time: float) -> np.ndarray:
    """The mean over rotations R of a function of the angle arccos tr(D R), for singular values d (..., 3).

    The function falls like a normal density of variance `time`.
    """
    flat = d.reshape(-1, 3)
    total = flat.sum(axis=1)
    reach = math.sqrt(2 * NEGLIGIBLE * time)
    part = 1.5 * math.log(1 + 10 / time)  # on the diagonal so few rotations count that the mean is exp(-part) or more
    matters = np.square(np.arccos(np.clip(total, -1.0, 1.0))) < 2 * time * (NEGLIGIBLE + part)
    near = reach < WIDE * np.sqrt(np.maximum(flat[:, 1] + flat[:, 2], 0.0))
    line = ~near & (reach < 2 * FLAT * np.sqrt(flat[:, 0] - flat[:, 1]))
    out = np.zeros(len(flat))
    for which, rule in ((near, small_rotations), (line, turns_of_a_line), (~(near | line), all_rotations)):
        rows = np.flatnonzero(which & matters)
        if not len(rows):
            continue
        size = rule(flat[rows[:1]], time)[0].size
        for own in np.array_split(rows, math.ceil(len(rows) * size / CHUNK)):
            off, weights = rule(flat[own], time)
            gap = np.maximum(1 - total[own], 0.0)[:, None] + off  # 1 - tr(D R)
            angle = 2 * np.arcsin(np.sqrt(np.clip(gap / 2, 0.0, 1.0)))
            out[own] = np.einsum("...m,...m->...", function(angle[..., None]), weights)
    return out.reshape(d.shape[:-1])


def small_rotations(d: np.ndarray, time: float) -> tuple[np.ndarray, np.ndarray]:
    """tr D - tr(D R) and weights, (n, m), for equal steps of rotation vectors."""
    y, weights = steps(3)
    width = np.sqrt(time / (d.sum(axis=1, keepdims=True) - d))
    v = np.square(y * width[:, None])
    angle = np.sqrt(v.sum(axis=-1))
    ratio = np.square(np.sinc(angle / (2 * math.pi)))  # (2 sin(angle/2) / angle)²
    # R_ii = 1 - (1 - cos angle) (1 - v_i² / angle²)
    off = ratio / 2 * (v.sum(axis=-1) * d.sum(axis=1)[:, None] - np.einsum("nmi,ni->nm", v, d))
    return off, ratio * (angle < math.pi) * weights * width.prod(axis=1)[:, None] / (8 * math.pi**2)


def turns_of_a_line(d: np.ndarray, time: float) -> tuple[np.ndarray, np.ndarray]:
    """The same for turns around the first axis, by any angle, and equal steps of the others."""
    y, weights = steps(2)
    sine = np.square(np.sin((np.arange(AROUND) + 0.5) * (math.pi / 2 / AROUND)))
    around = (d[:, 1:2] + d[:, 2:]) * sine  # (n, turns)
    others = d[:, :1, None] + d[:, None, [2, 1]] - around[..., None]  # (n, turns, 2)
    width = np.sqrt(time / (4 * others))
    w = np.square(y * width[:, :, None])  # (n, turns, m, 2)
    off = 2 * (around[..., None] + np.einsum("namk,nak->nam", w, others))
    density = weights * width.prod(axis=-1)[..., None] * (w.sum(axis=-1) < 1) / (math.pi * AROUND)
    return off.reshape(len(d), -1), density.reshape(len(d), -1)


def all_rotations(d: np.ndarray, time: float) -> tuple[np.ndarray, np.ndarray]:
    """The same by Gauss's rule for all rotations."""
    lost, weights = all_diagonals(time)
    return d @ lost.T, weights


@cache
def steps(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Steps (m, count), none negative, within reach of a normal density, and weights: sums over all signs."""
    axis = np.arange(0.0, math.sqrt(2 * NEGLIGIBLE) + STEP, STEP)
    y = np.stack(np.meshgrid(*[axis] * count), axis=-1).reshape(-1, count)
    y = y[np.square(y).sum(axis=1) < 2 * NEGLIGIBLE]
    return y, STEP**count * 2.0 ** np.count_nonzero(y, axis=1)


@lru_cache(maxsize=16)
def all_diagonals(time: float) -> tuple[np.ndarray, np.ndarray]:
    """1 - R_ii (m, 3) of the rotations of Gauss's rule, each once, and their weights."""
    elements, weights = everywhere(time)
    diagonals = np.diagonal(elements, axis1=1, axis2=2)
    _, first, place = np.unique(np.round(diagonals, 12), axis=0, return_index=True, return_inverse=True)
    return 1 - diagonals[first], np.bincount(place.ravel(), weights)
