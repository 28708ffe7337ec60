"""One simulation for all times and all pairs: orbit coordinates of Brownian motion from the origin, kept on disk.

What determines the samples (manifold, times, paths, step, seed) names their file, so a file is never out of date. It
carries a checksum; a damaged one is renamed and computed again. Blocks of paths have a random stream each, so an
interrupted simulation goes on after its last stored block and ends with the same numbers.
"""

import json
import time as clock
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from ..cost import Cost
from ..errors import Unsupported
from ..manifolds.contract import Homogeneous
from ..manifolds.parse import can_be_named
from .disk import StoredArray, cache_folder
from .simulation import Seed, Simulation, schedule
from .walk import BLOCK, simulate, simulation_cost

VERSION = 1
"""Goes up whenever a seed gives other samples than before."""
TRIVIAL = 2_000_000
"""Path-steps that take well under a second: not worth a file unless a folder is named."""
STORE_SECONDS = 3.0
"""At most so much of an interrupted simulation is lost, even when the process is killed."""


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
        a moment; a path means that folder. Nothing is kept unless `rng` is an integer and the manifold is one of the
        library's, whose name and parameters say all of it: two manifolds of a user may share a `repr`.

    >>> from heatgp import Sphere
    >>> orbit_samples(Sphere(2), [0.1, 0.2], paths=1000, step=0.01, rng=0).theta.shape
    (2, 1000, 1)
    """
    if not isinstance(manifold, Homogeneous):
        raise Unsupported(
            f"{manifold!r} is not homogeneous: paths from one point do not serve every pair. "
            "Use ball_matrix, which starts paths from each point."
        )
    simulation = Simulation.of(times, paths=paths, step=step, rng=rng, n_jobs=n_jobs, progress=progress)
    simulation.require_positive_times()
    file, plan = None, simulation.plan
    lasting = isinstance(rng, (int, np.integer)) and can_be_named(manifold)
    if cache is not False and lasting and (cache is not True or paths * sum(plan.counts) >= TRIVIAL):
        file = StoredArray(cache_folder(cache), _description(manifold, simulation))
    theta = file.read("npz") if file else None
    if theta is None:
        theta = _simulate(manifold, simulation, file)
    theta.setflags(write=False)
    return Samples(manifold, np.array(plan.times), plan.step, simulation.root, theta)


def _simulate(manifold: Homogeneous, simulation: Simulation, file: StoredArray | None) -> np.ndarray:
    """Orbit coordinates (times, paths, r); what an interrupted run has stored is not simulated again."""
    visit = partial(_orbits, manifold)
    samples_cost(manifold, simulation).accept(
        f"Brownian motion on {manifold!r}", "Take fewer `paths`, longer steps, or more cores (`n_jobs`)."
    )
    theta = np.empty((len(simulation.plan.times), simulation.paths, len(manifold.chamber)))
    stored = file.read("partial") if file else None
    done = 0 if stored is None else stored.shape[1]
    if stored is not None:
        theta[:, :done] = stored
    chunks = simulate(manifold, manifold.origin, simulation, visit, done // BLOCK)
    kept, last = done, clock.monotonic()
    try:
        for first, part in chunks:
            done = first + part.shape[1]
            theta[:, first:done] = part
            if file and clock.monotonic() - last > STORE_SECONDS:
                file.write("partial", theta[:, :done])
                kept, last = done, clock.monotonic()
    except BaseException:
        if file and done > kept:
            file.write("partial", theta[:, :done])
        raise
    if file:
        file.write("npz", theta)
        file.remove("partial")
    return theta


def samples_cost(manifold: Homogeneous, simulation: Simulation) -> Cost:
    """What a simulation of orbit coordinates takes that is not on disk."""
    kept = 8 * len(simulation.plan.times) * simulation.paths * len(manifold.chamber)
    visit = partial(_orbits, manifold)
    return simulation_cost(manifold, manifold.origin, simulation, visit) + Cost(bytes=2 * kept)


def _orbits(manifold: Homogeneous, positions: np.ndarray) -> np.ndarray:
    return manifold.orbit(manifold.origin, positions)


def _description(manifold: Homogeneous, simulation: Simulation) -> str:
    """What determines the samples, as text."""
    plan = simulation.plan
    return json.dumps(
        {
            "table": VERSION,
            "manifold": repr(manifold),
            "times": [t.hex() for t in plan.times],
            "step": plan.step.hex(),
            "paths": int(simulation.paths),
            "entropy": simulation.root,
            "dtype": "float64",
        }
    )
