"""Kernels of homogeneous manifolds estimated from simulated paths; what they are made of travels with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ..errors import InvalidInput
from ..manifolds import Homogeneous
from ..paths.samples import Samples
from ..paths.walk import entropy
from .counting.ball import ball_profile
from .counting.coordinates import Coordinates
from .counting.strip import check_counting, strip_profile
from .kernel import HeatKernel, OrbitKernel
from .positive.zonal import positive_definite
from .smooth.fit import smooth_profile, smoothable


@dataclass(frozen=True, eq=False, repr=False)
class EstimatedKernel(OrbitKernel):
    """An estimate from paths; `part(k, n)` is the same estimate from the k-th of n disjoint parts of as many paths."""

    part: Callable[[int, int], OrbitKernel] | None = None
    samples: Any = None
    """The simulated orbit coordinates, where they are kept."""

    def positive_definite(self) -> HeatKernel:
        return positive_definite(self)

    def replicates(self, number: int) -> list[HeatKernel]:
        assert self.part is not None
        kernels = [self.part(k, number) for k in range(number)]
        raw = type(self.profile) is type(kernels[0].profile)
        return [kernel if raw else kernel.positive_definite() for kernel in kernels]


def check_estimate(manifold: Homogeneous, method: str, paths: int, epsilon: float | None, distance: bool) -> None:
    """What an estimate of orbit coordinates cannot do, said before anything is simulated."""
    if method == "strip":
        check_counting(paths, epsilon)
        Coordinates(manifold, distance)
    else:
        smoothable(manifold)


def from_samples(
    manifold: Homogeneous, method: str, samples: Samples, epsilon: float | None = None, distance: bool = False
) -> EstimatedKernel:
    """The strip or smooth estimate of a simulation."""
    if method not in ("strip", "smooth"):
        raise InvalidInput(f"no estimate of simulated orbit coordinates is called {method!r}.")
    if method == "strip":
        profile: Any = strip_profile(samples, epsilon=epsilon, distance=distance)
    else:
        profile = smooth_profile(manifold, samples)
    recipe: list[tuple[str, Any]] = [("paths", samples.paths), ("step", float(f"{samples.step:.4g}"))]
    recipe += [("epsilon", epsilon)] if epsilon is not None else []
    recipe += [("distance", True)] if distance else []
    part = partial(_part_of_samples, manifold, method, samples, epsilon, distance)
    return EstimatedKernel(manifold, method, profile, tuple(recipe), part, samples)


def _part_of_samples(
    manifold: Homogeneous, method: str, samples: Samples, epsilon: float | None, distance: bool, k: int, number: int
) -> OrbitKernel:
    own = replace(samples, theta=samples.theta[:, k::number])
    return from_samples(manifold, method, own, epsilon, distance)


def from_balls(
    manifold: Homogeneous,
    grid: np.ndarray,
    paths: int,
    step: float,
    epsilon: float | None,
    rng: Any,
    n_jobs: int | None,
) -> EstimatedKernel:
    """The ball estimate at rank one."""
    root = entropy(rng)
    part = partial(_part_of_balls, manifold, grid, paths, step, epsilon, root, n_jobs)
    return replace(part(0, 1), part=part)


def _part_of_balls(
    manifold: Homogeneous,
    grid: np.ndarray,
    paths: int,
    step: float,
    epsilon: float | None,
    root: tuple[int, ...],
    n_jobs: int | None,
    k: int,
    number: int,
) -> EstimatedKernel:
    """Parts are simulated anew, with a seed of their own each."""
    seed = np.random.SeedSequence((*root, k))
    profile = ball_profile(manifold, grid, paths=paths // number, step=step, epsilon=epsilon, rng=seed, n_jobs=n_jobs)
    recipe: list[tuple[str, Any]] = [("paths", paths // number), ("step", float(f"{step:.4g}"))]
    recipe += [("epsilon", epsilon)] if epsilon is not None else []
    return EstimatedKernel(manifold, "ball", profile, tuple(recipe))
