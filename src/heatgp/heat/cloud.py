"""Kernels through reference points: Gram matrices of the densities of clouds of paths."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.sparse import csr_array

from ..array import Array
from ..manifolds import Manifold
from ..manifolds.base import check_points
from .cells import Cells
from .kernel import HeatKernel

DISCRETE = 0.03
"""Error of the sum over reference points and cells, as a share of the diagonal, at a time of one squared distance."""
BIAS = 0.004
"""Error of the finite steps and of the averages, as a share of the diagonal: the largest seen on spheres."""


@dataclass(frozen=True, eq=False)
class CloudKernel(HeatKernel):
    """Gram matrices of half-time densities: K = Phi Phi', Phi_ij = sqrt(w_j) p_(t/2)(x_i, z_j).

    The table holds the densities at the nodes at several times; between them t^(dim/2) p_(t/2) is a cubic spline in
    log t, the same for all features, so that K stays a Gram matrix and has two continuous derivatives in time. Beyond
    the last time T features are multiplied by a power of p_(T/2) between the reference points: the semigroup.
    """

    manifold: Manifold
    cells: Cells
    references: np.ndarray
    weights: np.ndarray
    """Volumes of the reference points' own cells."""
    grid: np.ndarray
    table: np.ndarray
    """Densities (groups, times, cells, references) of four parts of the paths."""
    radius: float | None
    recipe: tuple[tuple[str, Any], ...] = ()
    method: str = "reference"
    _recent: dict[tuple[float, int], np.ndarray] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        options = "".join(f", {name}={value:.6g}" for name, value in self.recipe)
        return f"heat_kernel({self.manifold!r}, method='reference'{options})"

    @property
    def times(self) -> tuple[float, float]:
        return float(self.grid[0]), math.inf

    def pairs(self, X: Array, Y: Array | None = None) -> CloudPairs:
        left = self.near(X)
        return CloudPairs(self, left, left if Y is None else self.near(Y))

    def near(self, X: Array) -> csr_array:
        """The averages at the points, (N, cells): all that the points are needed for."""
        X = np.asarray(check_points(self.manifold, X, "X"))
        return self.cells.average_at(X) if self.radius is None else self.cells.ball_at(X, self.radius)

    def features(self, X: Array, time: float) -> np.ndarray:
        """Phi (N, references) with K = Phi Phi'."""
        return self.near(X) @ self.columns(time)

    def features_slope(self, X: Array, time: float) -> np.ndarray:
        """The derivative of Phi in log time."""
        return self.near(X) @ self.columns(time, 1)

    def diag(self, X: Array, time: float) -> np.ndarray:
        return (self.features(X, time) ** 2).sum(axis=1)

    def columns(self, time: float, derivative: int = 0) -> np.ndarray:
        """Features at the nodes, (cells, references), or their derivative in log time."""
        key = (self.check_time(time), derivative)
        if key not in self._recent:
            if len(self._recent) > 3:
                self._recent.pop(next(iter(self._recent)))
            self._recent[key] = self._at(self._mean, *key)
        return self._recent[key]

    @cached_property
    def _mean(self) -> np.ndarray:
        """Densities of all paths together."""
        return self.table.mean(axis=0, dtype=float)

    def _at(self, table: np.ndarray, time: float, derivative: int = 0) -> np.ndarray:
        """Features from densities (times, cells, references) at the times of the table."""
        last = float(self.grid[-1])
        if time <= last:
            return np.tensordot(self._blend(time, derivative), table, 1) * np.sqrt(self.weights)
        return table[-1] * np.sqrt(self.weights) @ self._flow(time / last - 1, derivative)

    def _blend(self, time: float, derivative: int) -> np.ndarray:
        """Coefficients of the table's times in a feature at this time."""
        if len(self.grid) == 1:
            return np.ones(1)
        power = self.manifold.dim / 2
        spline = CubicSpline(np.log(self.grid), np.diag(self.grid**power))
        value = spline(math.log(time)) * time**-power
        return spline(math.log(time), 1) * time**-power - power * value if derivative else value

    def _flow(self, power: float, derivative: int) -> np.ndarray:
        """Heat flow between the reference points for `power` times the last half time, or its derivative in log t."""
        values, vectors = self._modes
        factor = values**power * ((1 + power) * np.log(values) if derivative else 1.0)
        return vectors * factor @ vectors.T

    @cached_property
    def _modes(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues, the largest of them 1, and eigenvectors of sqrt(w_i) p_(T/2)(z_i, z_j) sqrt(w_j)."""
        flow = self.near(self.references) @ (self._mean[-1] * np.sqrt(self.weights))
        flow = flow * np.sqrt(self.weights)[:, None]
        values, vectors = np.linalg.eigh((flow + flow.T) / 2)
        return np.clip(values / values[-1], 1e-9, 1.0), vectors

    def replicates(self, number: int) -> list[HeatKernel]:
        """Kernels of disjoint parts of the paths, at most four."""
        number = min(number, len(self.table))
        return [replace(self, table=self.table[k::number], _recent={}) for k in range(number)]


@dataclass(frozen=True, eq=False)
class CloudPairs:
    """The averages at two sets of points."""

    kernel: CloudKernel
    left: csr_array
    right: csr_array

    def __call__(self, time: float) -> np.ndarray:
        a, b = self._rows(time)
        return a @ b.T

    def slope(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        (a, b), (da, db) = self._rows(time), self._rows(time, 1)
        half = a @ db.T
        return a @ b.T, (half + (half.T if b is a else da @ b.T))[None]

    def _rows(self, time: float, derivative: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Features, or their derivative in log time, of both sets of points; one array where they are the same."""
        time = self.kernel.check_time(time)
        rows = [
            near @ self.kernel.columns(time, derivative) if table is None else self.kernel._at(table, time, derivative)
            for near, table in zip((self.left, self.right), self._tables)
        ]
        return rows[0], rows[-1]

    @cached_property
    def _tables(self) -> list[np.ndarray | None]:
        """Densities (times, N, references) at each set of points where these are fewer than the cells: one product
        with the table then serves every time that a search asks for.
        """
        sides = (self.left,) if self.right is self.left else (self.left, self.right)
        mean = self.kernel._mean
        return [np.stack([n @ part for part in mean]) if n.shape[0] < n.shape[1] else None for n in sides]

    def error(self, time: float) -> np.ndarray:
        """The spread of K over parts of the paths, the noise that the product of the features adds to it, and what
        finite steps, and sums over reference points and cells, err: the latter like their squared distance over time.
        """
        kernel = self.kernel
        parts = np.stack([kernel._at(part, kernel.check_time(time)) for part in kernel.table])
        parts = parts - parts.mean(axis=0)
        columns = kernel.columns(time)
        a, b = self.left @ columns, self.right @ columns
        spread, noise = np.zeros((len(a), len(b))), np.zeros((len(a), len(b)))
        for part in parts:
            da, db = self.left @ part, self.right @ part
            spread += (da @ b.T + a @ db.T) ** 2
            noise += da @ db.T
        pairs = len(parts) * (len(parts) - 1)
        size = np.sqrt((a * a).sum(axis=1)[:, None] * (b * b).sum(axis=1))
        # Few parts make a rough estimate: half of it is what pairs of this covariance have on average.
        usual = np.abs(a @ b.T) * size
        spread = (spread + usual * (spread.sum() / max(usual.sum(), 1e-300))) / 2
        coarse = float(np.mean(kernel.weights)) ** (2 / kernel.manifold.dim)
        rest = (DISCRETE * coarse / time + BIAS) * size
        return np.sqrt(spread / pairs + (noise / pairs) ** 2 + rest**2)
