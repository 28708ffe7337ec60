"""The ball estimate where the kernel is not a function of the distance: balls around the points asked for.

On a homogeneous manifold the isometries carry every pair to the origin, and one simulation from there serves all; else
paths start at each point.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ...array import Array
from ...covariance import Evaluation, TimeFunction
from ...errors import Unsupported
from ...manifolds import Homogeneous, Manifold
from ...paths.simulation import entropy
from ..kernel import HeatKernel, MadeKernel, Recent
from .ball import ball_matrix

if TYPE_CHECKING:
    from ..methods import Ball


@dataclass(frozen=True, repr=False)
class BallKernel(MadeKernel):
    """Counts of paths in balls; not positive definite. Each call simulates, with the same seed."""

    manifold: Manifold
    made_by: Ball

    @property
    def times(self) -> tuple[float, float]:
        assert isinstance(self.made_by.times, tuple)
        assert self.made_by.step is not None
        return self.made_by.step, self.made_by.times[-1]

    def pairs(self, X: Array, Y: Array | None = None) -> TimeFunction:
        estimate = Recent(lambda time: self._estimate(np.asarray(X), None if Y is None else np.asarray(Y), time))

        def no_slopes() -> np.ndarray:
            raise Unsupported(f"{self!r} has no derivative in time: counts at two times differ mostly by chance.")

        return TimeFunction(lambda time: Evaluation(lambda: estimate(time)[0], no_slopes, lambda: estimate(time)[1]))

    def as_positive_definite(self) -> HeatKernel:
        raise Unsupported(
            f"{self!r} counts paths and is not positive definite. A model on this manifold takes method='auto'."
        )

    def _estimate(self, X: np.ndarray, Y: np.ndarray | None, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Estimate and error at a time; of a set with itself the average of both directions.

        The walk is stopped a little early where it is known to run fast (see `effective_times`).
        """
        own = self.made_by
        assert own.step is not None
        if isinstance(self.manifold, Homogeneous):
            time /= 1 + (self.manifold.einstein_constant or 0.0) * own.step / 6
        simulation = replace(own, rng=np.random.SeedSequence(entropy(own.rng))).simulation([time], own.step)
        p, e = ball_matrix(self.manifold, X, X if Y is None else Y, simulation, own.epsilon)
        if Y is not None:
            return p[0], e[0]
        return (p[0] + p[0].T) / 2, np.hypot(e[0], e[0].T) / 2
