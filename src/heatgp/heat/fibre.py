"""Stiefel manifolds as quotients of groups: the group's kernel averaged over the fibre.

With H the rotations of the last n - k columns, p(x, y) = vol(H) times the mean over h in H of p_G(g_x^-1 g_y h), where
g_x is any group element whose first k columns are x. Reference: Ye et al. (2024), eq. (heat kernel of a quotient).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..array import Array
from ..errors import Unsupported
from ..manifolds import Stiefel
from ..manifolds.orthogonal import log_rotation_volume, random_orthogonal
from ..manifolds.unitary import log_unitary_volume, random_unitary
from .kernel import CHUNK, HeatKernel, OrbitKernel

Fibre = Callable[[Stiefel, float], np.ndarray]
"""Elements of H, (m, n-k, n-k), to average over at a time."""


def lift(M: Stiefel, x: Array) -> np.ndarray:
    """A group element (determinant one over the reals) whose first k columns are x; of a sphere, x itself."""
    x = np.asarray(x)
    if not M.is_complex and M.k == 1:
        return x[..., 0]
    q, _ = np.linalg.qr(x, mode="complete")
    g = np.concatenate((x, q[..., M.k :]), axis=-1)
    if not M.is_complex:
        g[..., -1] *= np.sign(np.linalg.det(g))[..., None]
    return g


def circle(M: Stiefel, time: float) -> np.ndarray:
    """A cyclic group in H = SO(2) or U(1), fine enough that the trapezoid rule is exact to rounding.

    The mode e^(ikφ) of the kernel decays like e^(-k² t/2) on SO(2) and e^(-k² t) on U(1), whose metric is half as long;
    m elements alias the mode m, and e^(-36) is below rounding.
    """
    m = max(8, math.ceil(math.sqrt(36 * (1 if M.is_complex else 2) / time)))
    angle = 2 * math.pi * np.arange(m) / m
    if M.is_complex:
        return np.exp(1j * angle)[:, None, None]
    c, s = np.cos(angle), np.sin(angle)
    return np.stack((np.stack((c, -s), axis=-1), np.stack((s, c), axis=-1)), axis=-2)


@dataclass(frozen=True)
class RandomFibre:
    """`number` elements of H drawn once from Haar measure: the double average over them is positive definite."""

    number: int
    seed: int = 0

    def __call__(self, M: Stiefel, time: float) -> np.ndarray:
        rng = np.random.default_rng(self.seed)
        if M.is_complex:
            return random_unitary(rng, self.number, M.n - M.k)
        h = random_orthogonal(rng, self.number, M.n - M.k)
        h[:, :, 0] *= np.linalg.det(h)[:, None]
        return h


@dataclass(frozen=True)
class FibreKernel(HeatKernel):
    """p(x, y) = vol(H) times the average of the group's kernel; with no fibre the group, or the sphere, itself."""

    manifold: Stiefel
    method: str
    group: OrbitKernel
    fibre: Fibre | None

    def __repr__(self) -> str:
        number = f", fibre={self.fibre.number}" if isinstance(self.fibre, RandomFibre) else ""
        return f"heat_kernel({self.manifold!r}, method={self.method!r}{number})"

    @property
    def double(self) -> bool:
        """Average over both sides, unless the elements are a group, where one side is the same."""
        return isinstance(self.fibre, RandomFibre)

    @property
    def fibre_volume(self) -> float:
        size = self.manifold.n - self.manifold.k
        if self.fibre is None:
            return 1.0
        return math.exp(log_unitary_volume(size) if self.manifold.is_complex else log_rotation_volume(size))

    def pairs(self, X: Array, Y: Array | None = None) -> Any:
        gx = lift(self.manifold, X)
        gy = None if Y is None else lift(self.manifold, Y)
        if self.fibre is None:
            return self.group.pairs(gx, gy)
        return FibrePairs(self, gx, gy)

    def diag(self, X: Array, time: Any) -> np.ndarray:
        """The same for every point of an exact average; of a random one, each point has its own."""
        if not self.double:
            return np.full(len(X), self.pairs(self.manifold.origin[None])(self.check_time(time))[0, 0])
        return super().diag(X, time)


@dataclass(frozen=True)
class FibrePairs:
    kernel: FibreKernel
    gx: np.ndarray
    gy: np.ndarray | None

    def __call__(self, time: float) -> np.ndarray:
        return self._average(time, [self.kernel.group.profile.at(time)])[0]

    def slope(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        at = self.kernel.group.profile.at(time)
        value, slope = self._average(time, [at, at.slope])
        return value, time * slope[None]

    def error(self, time: float) -> np.ndarray:
        """Zero for an exact average; else from the means over halves of the random elements."""
        if not self.kernel.double:
            return np.zeros((len(self.gx), len(self.gx if self.gy is None else self.gy)))
        raise Unsupported(f"{self.kernel!r} has no standard error: compare with a larger `fibre`.")

    def _average(self, time: float, functions: list[Callable[[np.ndarray], np.ndarray]]) -> list[np.ndarray]:
        kernel = self.kernel
        k, fibre = kernel.manifold.k, kernel.fibre
        assert fibre is not None
        h = fibre(kernel.manifold, time)
        left = h if kernel.double else h[:1] * 0 + np.eye(h.shape[-1])
        gy = self.gx if self.gy is None else self.gy
        out = [np.zeros((len(self.gx), len(gy))) for _ in functions]
        rows = max(1, CHUNK // (len(gy) * len(h)))
        one = np.eye(k, dtype=self.gx.dtype)
        right = np.array([_block(one, b) for b in h])
        turned_y = (gy[:, None] @ right).reshape(-1, *gy.shape[1:])
        for a in left:
            turned_x = self.gx @ _block(one, a)
            for i in range(0, len(turned_x), rows):
                theta = kernel.group.manifold.orbits(turned_x[i : i + rows], turned_y)
                for values, function in zip(out, functions):
                    values[i : i + rows] += function(theta).reshape(-1, len(gy), len(h)).sum(axis=-1)
        scale = kernel.fibre_volume / (len(left) * len(h))
        out = [scale * values for values in out]
        return [(values + values.T) / 2 for values in out] if self.gy is None else out


def _block(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The block diagonal matrix of a and b."""
    k, size = len(a), len(a) + len(b)
    out = np.zeros((size, size), np.result_type(a, b))
    out[:k, :k], out[k:, k:] = a, b
    return out
