"""heat_kernel: from a manifold and the name of a method to a kernel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np

from ..errors import InvalidInput, Unsupported
from ..manifolds import (
    Homogeneous,
    Manifold,
    Product,
    Quotient,
    Scaled,
    SpecialOrthogonal,
    Stiefel,
    Symmetric,
    Unitary,
)
from ..paths.samples import orbit_samples
from ..paths.walk import Seed, check_paths, check_step, entropy, schedule
from .composed import ProductKernel, QuotientKernel, ScaledKernel
from .counting.ball_kernel import BallKernel
from .counting.strip import check_counting
from .exact.fibre import Cosets, FibreKernel, group_order
from .exact.find import exact_kernel, find_exact
from .kernel import HeatKernel, Method, OrbitKernel
from .sampled import check_estimate, from_balls, from_samples
from .smooth.fit import default_design

METHODS: tuple[str, ...] = get_args(Method)
FIBRE_TERMS = 2000
"""Terms of a fibre average, some milliseconds a pair, up to which it is worth its time."""


def heat_kernel(
    manifold: Manifold,
    method: Method = "auto",
    *,
    paths: int | None = None,
    step: float | None = None,
    times: float | Sequence[float] | np.ndarray | None = None,
    epsilon: float | None = None,
    rng: Seed = 0,
    n_jobs: int | None = None,
    cache: bool | str | Path = True,
    distance: bool = False,
    references: int = 400,
    fibre: int | None = None,
) -> HeatKernel:
    """The heat kernel p_t(x, y) of a manifold.

    Parameters
    ----------
    manifold : the manifold. Products multiply, quotients sum and scaled manifolds change the clock of their parts.
    method : "exact", to rounding; "ball" and "strip", the paper's estimates by counting paths; "smooth", the same paths
        fitted by a smooth log-density; "reference", through reference points, for any manifold; "auto", the first of
        exact, smooth, reference that there is (on Stiefel manifolds the average of the group's kernel over the fibre).
    paths : simulated paths, 20,000 by default (400,000 in all for "reference").
    step : time of one step of Brownian motion, by default from the times.
    times : where a simulation is read. One number is the largest time, with earlier ones filled in; None is a time by
        which the kernel is spread over the manifold. "smooth" can be asked for any time, the others within them.
    epsilon : radius of balls, half-width of strips, bandwidth of "reference"; by default chosen from the paths.
    rng : seed or numpy Generator of the simulation.
    n_jobs : cores, as in joblib.
    cache : keep simulations on disk (folder HEATGP_CACHE or ~/.cache/heatgp), or a folder.
    distance : with "strip" on a manifold of higher rank, count in strips of the distance as the paper does. The kernel
        is no function of the distance there: the result is its average over all points at that distance.
    references : reference points of method "reference".
    fibre : random cosets of a finite group that a Stiefel manifold's kernel averages over its fibre; two by default, or
        one where two would take thousands of terms a pair.

    >>> from heatgp import Sphere
    >>> kernel = heat_kernel(Sphere(2))
    >>> kernel
    heat_kernel(Sphere(2), method='exact')
    >>> kernel([[1.0, 0, 0]], [[1.0, 0, 0], [0, 0, 1.0]], time=0.1).round(4)
    array([[1.6183, 0.    ]])
    """
    if method not in METHODS:
        raise InvalidInput(f"method must be one of {', '.join(METHODS)}; got {method!r}.")
    if not isinstance(manifold, Manifold):
        raise InvalidInput(f"heat_kernel needs a manifold, such as Sphere(2); got {manifold!r}.")
    if method == "exact":
        return exact_kernel(manifold)
    exact = find_exact(manifold) if method == "auto" else None
    if exact is not None:
        return exact
    simulation: dict[str, Any] = {"paths": paths, "step": step, "times": times, "rng": rng, "n_jobs": n_jobs}
    again: dict[str, Any] = simulation | {"epsilon": epsilon, "cache": cache, "distance": distance}
    again |= {"references": references, "fibre": fibre}
    if paths is not None:
        check_paths(paths)
    if step is not None:
        check_step(step)
    match manifold:
        case Product():
            seeds = [again | {"rng": _independent(rng, i)} for i in range(len(manifold.factors))]
            return ProductKernel(
                manifold, tuple(heat_kernel(f, method, **own) for f, own in zip(manifold.factors, seeds))
            )
        case Quotient():
            return QuotientKernel(manifold, heat_kernel(manifold.cover, method, **again))
        case Scaled():
            again["times"] = None if times is None else np.asarray(times) / manifold.scale**2
            again["step"] = None if step is None else step / manifold.scale**2
            return ScaledKernel(manifold, heat_kernel(manifold.base, method, **again))
    chosen = _automatic(manifold) if method == "auto" else method
    if chosen == "fibre":
        assert isinstance(manifold, Stiefel)
        return fibre_kernel(manifold, fibre)
    if chosen == "reference":
        from .reference.build import reference_kernel

        simulation["paths"] = paths or 400_000
        return reference_kernel(manifold, references=references, epsilon=epsilon, **simulation)
    if chosen == "ball" and not (isinstance(manifold, Homogeneous) and manifold.rank == 1):
        grid, short = _design(manifold, times, step)
        check_counting(paths or 20_000, epsilon)
        schedule(grid, short)
        # One seed for good: a Generator would make every call, and every error, another simulation.
        seed = np.random.SeedSequence(entropy(rng))
        return BallKernel(manifold, grid, paths or 20_000, short, epsilon, seed, n_jobs)
    if not isinstance(manifold, Homogeneous):
        raise Unsupported(
            f"{manifold!r} is not homogeneous: no one simulation serves every pair, which method={method!r} needs. "
            "Use method='reference' (what 'auto' takes), or 'ball'."
        )
    return _sampled(manifold, chosen, paths or 20_000, step, times, epsilon, rng, n_jobs, cache, distance)


def _independent(rng: Seed, number: int) -> Seed:
    """A seed of its own for each factor of a product, whose errors are added as those of independent simulations."""
    if number and isinstance(rng, (int, np.integer)):  # an integer again: simulations of integers are kept on disk
        return int(np.random.SeedSequence((int(rng), number)).generate_state(1)[0])
    return np.random.SeedSequence((*entropy(rng), number)) if isinstance(rng, np.random.SeedSequence) else rng


def _automatic(manifold: Manifold) -> str:
    """What `auto` takes where there is no exact kernel."""
    if isinstance(manifold, Symmetric) and manifold.rank <= 3:
        return "smooth"
    if isinstance(manifold, Stiefel) and find_exact(_group(manifold)) is not None and _order(manifold) <= FIBRE_TERMS:
        return "fibre"
    return "reference"


def _group(manifold: Stiefel) -> Homogeneous:
    return Unitary(manifold.n) if manifold.is_complex else SpecialOrthogonal(manifold.n)


def _order(manifold: Stiefel) -> int:
    return group_order(manifold.n - manifold.k, manifold.is_complex)


def fibre_kernel(manifold: Stiefel, number: int | None = None) -> FibreKernel:
    """The group's exact kernel averaged over both sides of the fibre: positive definite for any finite sample."""
    if number is None:
        number = 2 if 4 * _order(manifold) <= FIBRE_TERMS else 1
    if not isinstance(number, (int, np.integer)) or number < 1:
        raise InvalidInput(f"fibre must be a positive integer; got {number!r}.")
    group = find_exact(_group(manifold))
    assert isinstance(group, OrbitKernel)
    return FibreKernel(manifold, "fibre", group, Cosets(int(number)))


def _sampled(
    manifold: Homogeneous,
    method: str,
    paths: int,
    step: float | None,
    times: Any,
    epsilon: float | None,
    rng: Seed,
    n_jobs: int | None,
    cache: bool | str | Path,
    distance: bool,
) -> HeatKernel:
    if method == "smooth" and isinstance(manifold, Symmetric) and (times is None or np.ndim(times) == 0):
        grid, short = default_design(manifold, math.inf if times is None else _positive(times))
        short = step or short
    else:
        grid, short = _design(manifold, times, step)
    if method == "ball":
        return from_balls(manifold, grid, paths, short, epsilon, rng, n_jobs)
    check_estimate(manifold, method, paths, epsilon, distance)
    samples = orbit_samples(manifold, grid, paths=paths, step=short, rng=rng, n_jobs=n_jobs, cache=cache)
    return from_samples(manifold, method, samples, epsilon, distance)


def _design(manifold: Manifold, times: Any, step: float | None) -> tuple[np.ndarray, float]:
    """Times of a table and the step of its simulation: a dozen times, eight steps to the first."""
    if times is not None and np.ndim(times):
        grid = np.asarray(times, dtype=float)
    else:
        grid = np.geomspace(1 / 30, 1, 12) * (spread_time(manifold) if times is None else _positive(times))
    return grid, step or float(grid[0]) / 8


def _positive(time: Any) -> float:
    if not (isinstance(time, (int, float, np.integer, np.floating)) and math.isfinite(time) and time > 0):
        raise InvalidInput(f"times must be positive and finite; got {time!r}.")
    return float(time)


def spread_time(manifold: Manifold) -> float:
    """A time by which the kernel is spread over the manifold: √(t dim) is half the radius of a ball of its volume."""
    try:
        volume = manifold.volume
    except Unsupported:
        return 1.0
    if not math.isfinite(volume):
        return 1.0
    m = manifold.dim
    log_unit_ball = m / 2 * math.log(math.pi) - math.lgamma(m / 2 + 1)
    return math.exp(2 * (math.log(volume) - log_unit_ball) / m) / 4
