"""Kernels through reference points: Gram matrices of the densities of clouds of paths."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.sparse import csr_array

from ...array import Array
from ...errors import Unsupported
from ...manifolds import Domain, Manifold
from ...manifolds.checks import check_points
from ..kernel import HeatKernel
from .cells import Cells

STEP = 1 / 400
"""Longest step of Brownian motion, for a volume of one: on the unit sphere it errs by half a per cent of the rate."""
CHECKED = 256
"""Points at which the semigroup is checked."""


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
    def remedy(self) -> str:
        return "more `references`"

    @property
    def times(self) -> tuple[float, float]:
        return float(self.grid[0]), math.inf

    def pairs(self, X: Array, Y: Array | None = None) -> CloudPairs:
        left = self.feature_rows(X)
        return CloudPairs(self, left, left if Y is None else self.feature_rows(Y))

    def feature_rows(self, X: Array) -> CloudRows:
        """The features of these points as a function of time."""
        return CloudRows(self, self.near(X))

    def near(self, X: Array) -> csr_array:
        """The averages at the points, (N, cells): all that the points are needed for."""
        X = np.asarray(check_points(self.manifold, X, "X"))
        return self.cells.average_at(X) if self.radius is None else self.cells.ball_at(X, self.radius)

    def features(self, X: Array, time: float) -> np.ndarray:
        """Phi (N, references) with K = Phi Phi'."""
        return self.near(X) @ self.columns(time)

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

    @cached_property
    def _rate(self) -> float:
        """The error of the rate of finite steps, of the walk or by averages, as a share: 1 % at the step limit."""
        step, average = dict(self.recipe)["step"], self.cells.time
        usual = 2 * STEP * self.manifold.volume ** (2 / self.manifold.dim)
        curved = (self.manifold.base if isinstance(self.manifold, Domain) else self.manifold).step_limit
        return 0.01 * max(step / min(self.manifold.step_limit, usual), average / min(curved, usual))

    @cached_property
    def _coarseness(self) -> float:
        """Error of the sums over reference points and cells at time one, as a share of `_scale`; it falls like 1/t.

        Measured at the shortest times: p_t(x, z_j) follows from the table at time 2t directly, and from that at time t
        through reference points. What the two differ by, beyond their noise, is the error.
        """
        x, z, root = self.near(self.cells.nodes[-CHECKED:]), self.near(self.references), np.sqrt(self.weights)
        shares = []
        for time in self.grid[:2][2 * self.grid[:2] <= self.grid[-1] * (1 + 1e-9)]:
            columns = [self._at(part, time) for part in self.table]
            a, b = (np.stack([near @ c for c in columns]) for near in (x, z))
            direct = np.stack([x @ self._at(part, 2 * time) / root for part in self.table])
            A, B, D = a.mean(axis=0), b.mean(axis=0), direct.mean(axis=0)
            noise = sum(((f - A) @ B.T + A @ (g - B).T - (d - D)) ** 2 for f, g, d in zip(a, b, direct))
            excess = (A @ B.T - D) ** 2 - noise / (len(a) * (len(a) - 1))
            shares.append(excess.sum() / (_scale(A, B) ** 2).sum() * time**2)
        return math.sqrt(max(float(np.mean(shares)), 0.0))

    def replicates(self, number: int) -> list[HeatKernel]:
        """Kernels of disjoint parts of the paths, at most four."""
        number = min(number, len(self.table))
        return [replace(self, table=self.table[k::number], _recent={}) for k in range(number)]


@dataclass(frozen=True, eq=False)
class CloudRows:
    """Features of fixed points, as a function of time: what the points are needed for is done once."""

    kernel: CloudKernel
    near: csr_array

    def __call__(self, time: float, derivative: int = 0) -> np.ndarray:
        time = self.kernel.check_time(time)
        if self._table is None:
            return self.near @ self.kernel.columns(time, derivative)
        return self.kernel._at(self._table, time, derivative)

    def slope(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Features (N, references) and their derivative in log time (1, N, references)."""
        return self(time), self(time, 1)[None]

    @cached_property
    def _table(self) -> np.ndarray | None:
        """Densities (times, N, references) at the points where these are fewer than the cells: one product with the
        table then serves every time that a search asks for.
        """
        if self.near.shape[0] >= self.near.shape[1]:
            return None
        return np.stack([self.near @ part for part in self.kernel._mean])


@dataclass(frozen=True, eq=False)
class CloudPairs:
    """The features of two sets of points."""

    kernel: CloudKernel
    left: CloudRows
    right: CloudRows

    def __call__(self, time: float) -> np.ndarray:
        a = self.left(time)
        return a @ (a if self.right is self.left else self.right(time)).T

    def slope(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        a, da = self.left(time), self.left(time, 1)
        if self.right is self.left:
            half = a @ da.T
            return a @ a.T, (half + half.T)[None]
        b, db = self.right(time), self.right(time, 1)
        return a @ b.T, (a @ db.T + da @ b.T)[None]

    def error(self, time: float) -> np.ndarray:
        """Of five things the root of the sum of squares: the spread of K over parts of the paths; the noise that the
        product of the features adds; the sums over reference points and cells; the rate of finite steps; the volume.
        """
        kernel = self.kernel
        if len(kernel.table) == 1:
            raise Unsupported("One part of the paths has no spread to tell an error from. Ask for replicates(2).")
        parts = np.stack([kernel._at(part, kernel.check_time(time)) for part in kernel.table])
        parts = parts - parts.mean(axis=0)
        a, b = self.left(time), self.right(time)
        spread, noise = np.zeros((len(a), len(b))), np.zeros((len(a), len(b)))
        for part in parts:
            da, db = self.left.near @ part, self.right.near @ part
            spread += (da @ b.T + a @ db.T) ** 2
            noise += da @ db.T
        pairs = len(parts) * (len(parts) - 1)
        # Few parts make a rough estimate: half of it is what pairs of this covariance have on average.
        scale = _scale(a, b)
        spread = (spread + scale**2 * (spread.sum() / max((scale**2).sum(), 1e-300))) / 2
        coarse = kernel._coarseness / time * scale
        value, slope = self.slope(time)
        rate, volume = kernel._rate * slope[0], kernel.manifold.volume_error * value
        return np.sqrt(spread / pairs + (noise / pairs) ** 2 + coarse**2 + rate**2 + volume**2)


def _scale(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """sqrt(K(x, y)) (K(x, x) K(y, y))^(1/4) of features: how errors fall with the distance between x and y."""
    size = np.sqrt((a * a).sum(axis=1)[:, None] * (b * b).sum(axis=1))
    return np.sqrt(np.abs(a @ b.T) * size)
