"""The heat kernel of any manifold, through reference points: positive definite, and linear in the number of points.

p_t(x, y) is the integral of p_(t/2)(x, z) p_(t/2)(z, y) over z. Brownian motion is simulated once, from reference
points z_j; the density at x of the paths from z_j after the time t/2 is the feature p_(t/2)(x, z_j), and the Gram
matrix of the features is positive definite however noisy they are.

Paths are counted in small cells at t/2 less a last step s, and the counts are spread over s by averages over
neighbouring cells, the last of them at x: the short-time kernel of the last step, which follows a channel where a
Gaussian of the same width would jump over land. The hard ball of Ye, Niu, Cheung, Dai, Liu (2024), Algorithm 2, is the
alternative.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ...errors import AccuracyWarning, InvalidInput
from ...manifolds import Domain, Manifold
from ...paths.walk import Schedule, Seed, entropy, simulate
from .cells import Cells, make_cells
from .kernel import STEP, CloudKernel

CELLS = 5
"""Cells for each reference point."""
GROUPS = 4
"""Parts of the paths whose differences give the standard error."""
GRID = 1.5
"""Ratio of neighbouring times of the table."""
AVERAGES = 24
"""Averages that the last step consists of at most."""
RESOLUTION = 3.0
"""The shortest time of the table by default, in squares of the distance between reference points."""
SPREAD = (4.0, 16.0)
"""The longest time of the table by default, in units of the shortest: at least, and at most."""
LEVEL = 1 / 8
"""The longest time of the table by default, for a volume of one: the semigroup is as good from there on."""


def reference_kernel(
    manifold: Manifold,
    *,
    references: int = 400,
    paths: int = 400_000,
    step: float | None = None,
    times: float | Sequence[float] | np.ndarray | None = None,
    epsilon: float | None = None,
    ball: bool = False,
    rng: Seed = None,
    n_jobs: int | None = None,
) -> CloudKernel:
    """The heat kernel through reference points.

    Parameters
    ----------
    manifold : any manifold with finite volume and a uniform law.
    references : how many points paths start from, spread evenly.
    paths : simulated paths in all, the same number from each reference point.
    step : time of one step of Brownian motion; by default what the shortest time and the geometry ask for.
    times : the range of times simulated, or the longest; by default from what the reference points resolve to at most
        16 times that. Longer times than simulated follow from the semigroup.
    epsilon : root of the variance of the last step (by default three quarters of t/2, at most 24 averages over
        neighbouring cells), or radius of the ball.
    ball : count in hard balls about x at t/2, the paper's estimate, instead of a last step.
    rng : seed or numpy Generator.
    n_jobs : cores, as in joblib.
    """
    references, paths = _positive_integer("references", references), _positive_integer("paths", paths)
    if references < 2 or paths < GROUPS * references:
        raise InvalidInput(
            f"method='reference' needs references >= 2 and paths >= {GROUPS} * references; got references = "
            f"{references}, paths = {paths}."
        )
    root = entropy(rng)
    cells, coarse = make_cells(manifold, CELLS * references, references, np.random.default_rng((*root, 1)))
    _check_channels(manifold, cells)
    grid = _time_grid(manifold, times, RESOLUTION * coarse.spacing**2, references)
    averages, ends = _last_steps(cells, grid / 2, epsilon, ball)
    plan = _plan(manifold, ends, step)
    each = GROUPS * math.ceil(paths / references / GROUPS)
    counts = _count(cells, coarse.nodes, each, plan, root, n_jobs)
    table = counts / (each / GROUPS * cells.volumes[:, None])
    for k, number in enumerate(averages):
        for group in range(GROUPS):
            table[group, k] = cells.flow(table[group, k], number)
    # The integral of p_(t/2)(x, z) over z is one: what the volumes of the cells lack is made up for here.
    table /= (table @ coarse.volumes).mean(axis=0)[..., None]
    recipe = (("references", references), ("paths", each * references), ("step", plan.step))
    table = table.astype(np.float32)  # rounding is a millionth of the noise, memory and files are half
    return CloudKernel(manifold, cells, coarse.nodes, coarse.volumes, grid, table, epsilon if ball else None, recipe)


def _positive_integer(name: str, value: Any) -> int:
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
        raise InvalidInput(f"{name} must be a positive integer; got {value!r}.")
    return int(value)


def _check_channels(manifold: Manifold, cells: Cells) -> None:
    """A warning where cells are too large for the channels of a domain, or for the land between them."""
    if not isinstance(manifold, Domain):
        return
    index, square = cells.near(cells.nodes)
    joined = square < cells.reach**2
    over_land = joined & ~manifold.open_way(cells.nodes[:, None], cells.nodes[index], 15)
    narrow = manifold.channel_width < 2 * cells.spacing
    if narrow or over_land.sum() > 1e-3 * joined.sum():
        share = over_land.sum() / joined.sum()
        land = f"land of {manifold!r}, over which {share:.1%} of the averages reach, is"
        what = f"channels of {manifold!r}, about {manifold.channel_width:.2g} wide, are" if narrow else land
        larger = (2 * cells.spacing / manifold.channel_width) ** manifold.dim if narrow else 2**manifold.dim
        warnings.warn(
            f"The {what} hardly wider than the cells ({cells.spacing:.2g}): densities blur across. "
            f"Take references={math.ceil(len(cells.nodes) / CELLS * larger)}.",
            AccuracyWarning,
            stacklevel=3,
        )


def _time_grid(manifold: Manifold, times: Any, shortest: float, references: int) -> np.ndarray:
    """Times of the table, a constant ratio apart; a warning where the reference points are too few for the first."""
    longest = np.clip(LEVEL * manifold.volume ** (2 / manifold.dim), SPREAD[0] * shortest, SPREAD[1] * shortest)
    asked = np.atleast_1d(np.asarray(times, dtype=float)) if times is not None else np.array([longest])
    if asked.ndim != 1 or not asked.size or not (np.isfinite(asked) & (asked > 0)).all():
        raise InvalidInput(f"times must be positive and finite; got {times!r}.")
    low, high = (min(shortest, asked[0] / 2), asked[0]) if asked.size == 1 else (asked.min(), asked.max())
    if low < 0.7 * shortest:
        needed = math.ceil(references * (shortest / low) ** (manifold.dim / 2))
        warnings.warn(
            f"{references} reference points on {manifold!r} resolve times down to {shortest:.2g}, not {low:.2g}: the "
            f"kernel there is uneven by more than a few per cent. Take references={needed}, or longer times.",
            AccuracyWarning,
            stacklevel=3,
        )
    high = max(high, 2 * low)  # the error is measured by one time and its double
    number = max(4, 1 + math.ceil(math.log(high / low) / math.log(GRID)))
    return np.geomspace(low, high, number)


def _last_steps(cells: Cells, halves: np.ndarray, epsilon: float | None, ball: bool) -> tuple[np.ndarray, np.ndarray]:
    """How many averages make the last step before each half time, and when the walk ends for it."""
    if epsilon is not None and not (np.isfinite(epsilon) and epsilon > 0):
        raise InvalidInput(f"epsilon must be positive; got {epsilon!r}.")
    if ball:
        if epsilon is None:
            raise InvalidInput("ball=True needs epsilon, the radius of the balls.")
        return np.ones(len(halves), int), halves
    last = 0.75 * halves if epsilon is None else np.minimum(epsilon**2, 0.9 * halves)
    averages = np.clip(np.round((last - cells.width) / cells.time), 1, AVERAGES if epsilon is None else np.inf).astype(
        int
    )
    ends = halves - cells.width - averages * cells.time
    if ends[0] <= 0:
        raise InvalidInput(
            f"time {2 * halves[0]:.2g} is too short for the {len(cells.nodes)} cells of {cells.manifold!r}: averages "
            f"over them take {2 * (cells.width + cells.time):.2g}. Take more references, or longer times."
        )
    return averages, ends


def _plan(manifold: Manifold, ends: np.ndarray, step: float | None) -> Schedule:
    """The steps of the walk: as long as the geometry bears, or as asked for, with a warning where that is too long."""
    limit = min(manifold.step_limit, STEP * manifold.volume ** (2 / manifold.dim))
    if step is not None and not (np.isfinite(step) and step > 0):
        raise InvalidInput(f"step must be a positive number; got {step!r}.")
    if step is not None and step > 2 * limit:
        warnings.warn(
            f"step = {step:.2g} is long for {manifold!r}, whose curvature or channels bear {limit:.2g}: the kernel is "
            f"biased. Take step={limit:.2g}, or leave it out.",
            AccuracyWarning,
            stacklevel=3,
        )
    length = min(step or limit, float(ends[-1]))
    gaps = np.diff(ends, prepend=0.0)
    counts = np.ceil(gaps / length - 1e-9).astype(int)
    return Schedule(
        tuple(ends.tolist()), length, tuple(counts.tolist()), tuple((gaps - (counts - 1) * length).tolist())
    )


def _count(
    cells: Cells, references: np.ndarray, each: int, plan: Schedule, root: tuple[int, ...], n_jobs: int | None
) -> np.ndarray:
    """Paths of each group in each cell: (groups, times, cells, references)."""
    counts = np.zeros((GROUPS, len(plan.times), len(cells.nodes), len(references)), np.float32)
    total = each * len(references)
    starts = references[np.arange(total) // each]
    visit = partial(_cells_of, cells)
    for first, index in simulate(cells.manifold, starts, plan, total, root, visit, n_jobs):
        path = np.arange(first, first + index.shape[1])
        place = (path % GROUPS, index.astype(np.int64), path // each)
        for k in range(len(plan.times)):
            np.add.at(counts[:, k], (place[0], place[1][k], place[2]), 1)
    return counts


def _cells_of(cells: Cells, positions: np.ndarray) -> np.ndarray:
    return np.stack([cells.nearest(x) for x in positions]).astype(np.int32)
