"""The ball estimate where the kernel is no function of the distance: balls around the very points asked for.

On a homogeneous manifold the isometries carry every pair to the origin, and one simulation from there serves all; else
paths start at each point.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...array import Array
from ...errors import Unsupported
from ...manifolds import Homogeneous, Manifold
from ..kernel import HeatKernel
from .ball import ball_matrix


@dataclass(frozen=True, eq=False)
class BallKernel(HeatKernel):
    """Counts of paths in balls; not positive definite."""

    manifold: Manifold
    grid: np.ndarray
    paths: int
    step: float
    epsilon: float | None
    rng: Any
    n_jobs: int | None
    method: str = "ball"

    def __repr__(self) -> str:
        each = "" if isinstance(self.manifold, Homogeneous) else " a point"
        return f"heat_kernel({self.manifold!r}, method='ball', paths={self.paths}{each}, step={self.step:.3g})"

    @property
    def times(self) -> tuple[float, float]:
        return self.step, float(self.grid[-1])

    def pairs(self, X: Array, Y: Array | None = None) -> BallPairs:
        return BallPairs(self, np.asarray(X), None if Y is None else np.asarray(Y))

    def positive_definite(self) -> HeatKernel:
        raise Unsupported(
            f"{self!r} counts paths and is not positive definite. A model on this manifold takes method='auto'."
        )


@dataclass(frozen=True, eq=False)
class BallPairs:
    kernel: BallKernel
    X: np.ndarray
    Y: np.ndarray | None

    def __call__(self, time: float) -> np.ndarray:
        return self._once(time)[0]

    def error(self, time: float) -> np.ndarray:
        return self._once(time)[1]

    def _once(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        """One simulation for value and error."""
        if time not in self._found:
            self._found[time] = self._estimate(time)
        return self._found[time]

    @cached_property
    def _found(self) -> dict[float, tuple[np.ndarray, np.ndarray]]:
        return {}

    def slope(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        raise Unsupported(f"{self.kernel!r} has no derivative in time: counts at two times differ mostly by chance.")

    def _estimate(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Estimate and error at a time; of a set with itself the average of both directions.

        The walk is stopped a little early where it is known to run fast (see `effective_times`).
        """
        k = self.kernel
        if isinstance(k.manifold, Homogeneous):
            time /= 1 + (k.manifold.einstein_constant or 0.0) * k.step / 6
        other = self.X if self.Y is None else self.Y
        p, e = ball_matrix(
            k.manifold, self.X, other, [time], paths=k.paths, step=k.step, epsilon=k.epsilon, rng=k.rng, n_jobs=k.n_jobs
        )
        if self.Y is not None:
            return p[0], e[0]
        return (p[0] + p[0].T) / 2, np.hypot(e[0], e[0].T) / 2
