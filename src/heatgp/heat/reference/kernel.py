"""Kernels through reference points: Gram matrices of the densities of paths."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.sparse import csr_array

from ...array import Array
from ...covariance import Evaluation, TimeFunction, gram, inner_products
from ...errors import Unsupported
from ...manifolds import Manifold
from ...manifolds.checks import check_points
from ..kernel import MadeKernel, Recent
from .cells import Cells

if TYPE_CHECKING:
    from ..methods import Arrays, Reference

STEP = 1 / 400
"""Longest step of Brownian motion, for a volume of one: on the unit sphere it errs by half a per cent of the rate."""
CHECKED = 256
"""Points at which the semigroup is checked."""
STORED = ("references", "weights", "grid", "table")
"""Arrays of a kernel that a file holds, besides its cells."""


@dataclass(frozen=True, eq=False, repr=False)
class ReferenceKernel(MadeKernel):
    """Gram matrices of half-time densities: K = Phi Phi', Phi_ij = sqrt(w_j) p_(t/2)(x_i, z_j).

    `table` holds densities at the nodes at several times. Between them p_(t/2) over its mean height at the reference
    points is a cubic spline in log t, the same for all features, so that K stays a Gram matrix and has two continuous
    derivatives in time. Beyond the last time T features are multiplied by a power of p_(T/2) between the reference
    points: the semigroup.
    """

    manifold: Manifold
    made_by: Reference
    cells: Cells
    references: np.ndarray
    weights: np.ndarray
    """Volumes of the reference points' own cells."""
    grid: np.ndarray
    """Times of the table."""
    table: np.ndarray
    """Densities (groups, times, cells, references) of four parts of the paths."""

    @classmethod
    def of_arrays(cls, manifold: Manifold, made_by: Reference, arrays: Arrays) -> ReferenceKernel:
        """The kernel of a file: the inverse of `arrays`."""
        nodes = check_points(manifold, arrays["nodes"], "nodes")
        cells = Cells(manifold, nodes, arrays["volumes"], *arrays["cells"].tolist())
        return cls(manifold, made_by, cells, *(arrays[name] for name in STORED))

    def arrays(self) -> Arrays:
        """What a file must hold."""
        cells = {"nodes": self.cells.nodes, "volumes": self.cells.volumes}
        cells["cells"] = np.array([self.cells.width, self.cells.volume_error])
        return cells | dict(zip(STORED, (self.references, self.weights, self.grid, self.table)))

    @property
    def times(self) -> tuple[float, float]:
        return float(self.grid[0]), math.inf

    def pairs(self, X: Array, Y: Array | None = None) -> TimeFunction:
        left = self.near(X)
        right = left if Y is None else self.near(Y)
        rows = self._features(left)
        columns = rows if Y is None else self._features(right)

        def at(time: float) -> Evaluation:
            a = rows.at(time)
            b = a if columns is rows else columns.at(time)
            return gram(a, b, lambda: self._error(time, left, right, a, b))

        return TimeFunction(at)

    def paired(self, X: Array, Y: Array | None = None) -> TimeFunction:
        rows = self.features(X)
        columns = rows if Y is None else self.features(Y)
        slow = super().paired

        def at(time: float) -> Evaluation:
            a = rows.at(time)
            b = a if columns is rows else columns.at(time)
            return inner_products(a, b, lambda: slow(X, Y).at(time).error)

        return TimeFunction(at)

    def features(self, X: Array) -> TimeFunction:
        """Phi (N, references), as a function of time."""
        return self._features(self.near(X))

    def _features(self, near: csr_array) -> TimeFunction:
        few = near.shape[0] < near.shape[1]

        @cache
        def densities() -> np.ndarray:
            """Densities (times, N, references) at few points: one product with the table serves every time."""
            return np.stack([near @ part for part in self._mean])

        def at(time: float) -> Evaluation:
            time = self.check_time(time)

            def read(derivative: int) -> np.ndarray:
                if few:
                    return self._at(densities(), time, derivative)
                return near @ self._columns(time, derivative)

            return Evaluation(lambda: read(0), lambda: read(1)[None])

        return TimeFunction(at)

    def near(self, X: Array) -> csr_array:
        """Weights of the averages at the points over the cells near them, (N, cells)."""
        X = np.asarray(check_points(self.manifold, X, "X"))
        radius = self.made_by.epsilon if self.made_by.ball else None
        return self.cells.average_at(X) if radius is None else self.cells.ball_at(X, radius)

    @cached_property
    def _columns(self) -> Recent:
        """Features at the nodes, (cells, references), or their derivative in log time: a function of both."""
        return Recent(self._node_features, 4)

    def _node_features(self, time: float, derivative: int) -> np.ndarray:
        return self._at(self._mean, time, derivative)

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
        now, (height, shares) = math.log(time), self._splines
        value = shares(now) * np.exp(height(now))
        return shares(now, 1) * np.exp(height(now)) + height(now, 1) * value if derivative else value

    @cached_property
    def _splines(self) -> tuple[CubicSpline, CubicSpline]:
        """log of the mean density at its own reference point over log time, and each time's share of the quotient."""
        near = self.near(self.references)
        heights = np.array([near.multiply(part.T).sum(axis=1).mean() for part in self._mean])
        times = np.log(self.grid)
        return CubicSpline(times, np.log(heights)), CubicSpline(times, np.diag(1 / heights))

    def _flow(self, power: float, derivative: int) -> np.ndarray:
        """Heat flow between the reference points for `power` times the last half time, or its derivative in log t."""
        values, vectors = self._modes
        factor = values**power * ((1 + power) * np.log(values) if derivative else 1.0)
        return vectors * factor @ vectors.T

    @cached_property
    def _modes(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues, the largest of them 1, and eigenvectors of sqrt(w_i) p_(T/2)(z_i, z_j) sqrt(w_j)."""
        root = np.sqrt(self.weights)
        flow = self.near(self.references) @ (self._mean[-1] * root) * root[:, None]
        flow = (flow + flow.T) / 2
        scale = np.ones(len(root))
        for _ in range(100):  # until mass is conserved: every component of the manifold then has an eigenvalue of 1
            scale = np.sqrt(scale * root / (flow @ (scale * root)))
        values, vectors = np.linalg.eigh(flow * scale * scale[:, None])
        return np.clip(values / values[-1], 1e-9, 1.0), vectors

    @cached_property
    def _rate(self) -> float:
        """The error of the rate of finite steps, of the walk or by averages, as a share: 1 % at the step limit."""
        usual = 2 * STEP * self.cells.volume ** (2 / self.manifold.dim)
        walk, average = min(self.manifold.step_limit, usual), min(self.manifold.curvature_step_limit, usual)
        assert self.made_by.step is not None
        return 0.01 * max(self.made_by.step / walk, self.cells.time / average)

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

    def _error(self, time: float, left: csr_array, right: csr_array, a: Evaluation, b: Evaluation) -> np.ndarray:
        """The root of the sum of the squares of five errors.

        They are the spread of K over parts of the paths, the noise that the product of the features adds, the sums over
        reference points and cells, the rate of finite steps, and the volume.
        """
        if len(self.table) == 1:
            raise Unsupported("One part of the paths has no spread to tell an error from. Ask for replicates(2).")
        parts = np.stack([self._at(part, self.check_time(time)) for part in self.table])
        parts = parts - parts.mean(axis=0)
        K = gram(a, b)
        spread, noise = np.zeros(K.value.shape), np.zeros(K.value.shape)
        for part in parts:
            da, db = left @ part, right @ part
            spread += (da @ b.value.T + a.value @ db.T) ** 2
            noise += da @ db.T
        pairs = len(parts) * (len(parts) - 1)
        # Few parts make a rough estimate: half of it is what pairs of this covariance have on average.
        scale = _scale(a.value, b.value)
        spread = (spread + scale**2 * (spread.sum() / max((scale**2).sum(), 1e-300))) / 2
        coarse = self._coarseness / time * scale
        rate, volume = self._rate * K.slopes[0], self.cells.volume_error * K.value
        return np.sqrt(spread / pairs + (noise / pairs) ** 2 + coarse**2 + rate**2 + volume**2)


def _scale(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """sqrt(K(x, y)) (K(x, x) K(y, y))^(1/4) of features: how errors fall with the distance between x and y."""
    size = np.sqrt((a * a).sum(axis=1)[:, None] * (b * b).sum(axis=1))
    return np.sqrt(np.abs(a @ b.T) * size)
