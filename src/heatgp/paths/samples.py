"""One simulation for all times and all pairs: orbit coordinates of Brownian motion from the origin, kept on disk."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from ..cost import Cost
from ..errors import Unsupported
from ..manifolds.contract import Homogeneous
from .kept import kept_visits
from .simulation import Seed, Simulation, schedule
from .walk import simulation_cost


@dataclass(frozen=True, eq=False)
class Samples:
    """Orbit coordinates theta (times, paths, r) of independent Brownian paths from the origin of the manifold."""

    manifold: Homogeneous
    times: np.ndarray
    step: float
    entropy: tuple[int, ...]
    theta: np.ndarray

    @property
    def paths(self) -> int:
        return self.theta.shape[1]

    @property
    def effective_times(self) -> np.ndarray:
        """The times whose Brownian motion the walk imitates best: see the function."""
        return effective_times(self.manifold, self.times, self.step)


def effective_times(manifold: Homogeneous, times: Sequence[float] | np.ndarray, step: float) -> np.ndarray:
    """The times whose Brownian motion the walk imitates best: each step d counts as d (1 + ricci d/6).

    A normal vector v of variance d along a geodesic has E f(exp v) = f + d/2 Lf + d²/8 S + O(d³), where S is the
    symmetrised trace of the fourth derivative of f. Commuting derivatives gives S = LLf + 2/3 div(Ric grad f): where
    Ric = ricci * metric the walk is Brownian motion run faster by 1 + ricci d/6, up to O(d²). Elsewhere (U(n),
    whose centre is flat, and Stiefel manifolds) no one time does it: these are the nominal times.
    """
    plan = schedule(times, step)
    counts, lasts = np.array(plan.counts), np.array(plan.lasts)
    squares = np.maximum(counts - 1, 0) * step**2 + lasts**2
    return np.array(plan.times) + (manifold.einstein_constant or 0.0) / 6 * np.cumsum(squares)


def orbit_samples(
    manifold: Homogeneous,
    times: Sequence[float] | np.ndarray | float,
    *,
    paths: int,
    step: float,
    rng: Seed = None,
    n_jobs: int | None = None,
    cache: bool | str | Path = True,
    progress: bool | None = None,
) -> Samples:
    """Orbit coordinates of Brownian motion from the origin at the given times.

    Parameters
    ----------
    manifold : a homogeneous manifold.
    times : positive, increasing.
    paths, step, rng, n_jobs, progress : as in `walk`; one seed, one answer, however it was computed.
    cache : keep the result on disk. True means the folder HEATGP_CACHE or ~/.cache/heatgp, for what takes longer than
        a moment; a path means that folder. Nothing is kept without a seed (rng=None), nor for a manifold of a user
        whose functions do not tell what they compute with (see `manifolds.fingerprint`).

    >>> from heatgp import Sphere
    >>> orbit_samples(Sphere(2), [0.1, 0.2], paths=1000, step=0.01, rng=0).theta.shape
    (2, 1000, 1)
    """
    if not isinstance(manifold, Homogeneous):
        raise Unsupported(
            f"{manifold!r} is not homogeneous: paths from one point do not serve every pair. "
            "Use ball_matrix, which starts paths from each point."
        )
    lasting = rng is not None and cache
    simulation = Simulation.of(times, paths=paths, step=step, rng=rng, n_jobs=n_jobs, progress=progress, cache=lasting)
    simulation.require_positive_times()
    visit, shape = partial(_orbits, manifold), (len(manifold.chamber),)
    theta = kept_visits(manifold, manifold.origin, simulation, visit, np.dtype(float), shape, dtype="float64")
    theta.setflags(write=False)
    plan = simulation.plan
    return Samples(manifold, np.array(plan.times), plan.step, simulation.root, theta)


def samples_cost(manifold: Homogeneous, simulation: Simulation) -> Cost:
    """What a simulation of orbit coordinates takes, where it is not on disk."""
    kept = 8 * len(simulation.plan.times) * simulation.paths * len(manifold.chamber)
    visit = partial(_orbits, manifold)
    return simulation_cost(manifold, manifold.origin, simulation, visit) + Cost(bytes=2 * kept)


def _orbits(manifold: Homogeneous, positions: np.ndarray) -> np.ndarray:
    return manifold.orbit(manifold.origin, positions)
