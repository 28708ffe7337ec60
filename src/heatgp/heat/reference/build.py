"""The heat kernel of any manifold, through reference points: positive definite, and linear in the number of points.

p_t(x, y) is the integral of p_(t/2)(x, z) p_(t/2)(z, y) over z. Brownian motion is simulated once, from reference
points z_j; the density at x of the paths from z_j after the time t/2 is the feature p_(t/2)(x, z_j), and the Gram
matrix of the features is positive definite however noisy they are.

Paths are counted in small cells at t/2 less a last step s, and the counts are spread over s by averages over
neighbouring cells, the last of them at x: the short-time kernel of the last step, which follows a channel where a
Gaussian of the same width would cross the outside. The alternative is the ball of Ye, Niu, Cheung, Dai, Liu (2024),
Algorithm 2.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ...errors import AccuracyWarning, InvalidInput, warn
from ...manifolds import Manifold
from ...paths.kept import digest, kept_visits
from ...paths.simulation import Schedule, Simulation, entropy, schedule
from ...progress import tracked
from .cells import Cells
from .kept_cells import kept_cells
from .kernel import STEP, ReferenceKernel

if TYPE_CHECKING:
    from ..methods import Reference

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
RESOLVED = 0.7
"""Times below this multiple of the shortest by default are warned of."""
LAST_STEP = 0.75
"""Share of the half time that the last step, by averages, takes."""
SPREAD = (4.0, 16.0)
"""The longest time of the table by default, in units of the shortest: at least, and at most."""
LEVEL = 1 / 8
"""The longest time of the table by default, for a volume of one: the semigroup is as good from there on."""


def reference_kernel(manifold: Manifold, method: Reference) -> ReferenceKernel:
    """The heat kernel through reference points, by the options of the method."""
    references = method.references
    root = entropy(method.rng)
    cells, coarse = kept_cells(manifold, CELLS * references, references, (*root, 1), method.lasting)
    _check_channels(manifold, cells)
    shortest = RESOLUTION * coarse.spacing**2
    grid = table_times(manifold.dim, cells.volume, method.times, shortest)
    _check_times(manifold, float(grid[0]), shortest, references)
    averages, ends = _last_steps(cells, grid / 2, method.epsilon, method.ball)
    plan = _plan(cells, ends, method.step)
    each = GROUPS * math.ceil(method.paths / references / GROUPS)
    simulation = Simulation(plan, each * references, root, method.n_jobs, cache=method.lasting)
    counts = _count(cells, coarse.nodes, each, simulation)
    table = counts / (each / GROUPS * cells.volumes[:, None])
    parts = [(group, k) for k in range(len(grid)) for group in range(GROUPS)]
    for group, k in tracked(parts, len(parts), f"Averages over the cells of {manifold!r}"):
        table[group, k] = cells.flow(table[group, k], averages[k])
    # The integral of p_(t/2)(x, z) over z is one: what the volumes of the cells lack is made up for here.
    table /= (table @ coarse.volumes).mean(axis=0)[..., None]
    rng = int(method.rng) if isinstance(method.rng, (int, np.integer)) else root
    own = replace(method, paths=each * references, step=plan.step, times=tuple(grid.tolist()), rng=rng)
    table = table.astype(np.float32)  # rounding is a millionth of the noise, memory and files are half
    return ReferenceKernel(manifold, own, cells, coarse.nodes, coarse.volumes, grid, table)


def _check_channels(manifold: Manifold, cells: Cells) -> None:
    """A warning where cells are too large for the channels of a domain, or for the gaps between them."""
    width = manifold.channel_width
    if math.isinf(width):
        return
    index, square = cells.near(cells.nodes)
    joined = square < cells.reach**2
    outside = joined & ~manifold.open_way(cells.nodes[:, None], cells.nodes[index], 15)
    narrow = width < 2 * cells.spacing
    share = outside.sum() / joined.sum()
    if narrow or share > 1e-3:
        gap = f"gap between parts of {manifold!r}, over which {share:.1%} of the averages reach, is"
        what = f"channels of {manifold!r}, about {width:.2g} wide, are" if narrow else gap
        larger = (2 * cells.spacing / width) ** manifold.dim if narrow else 2**manifold.dim
        warn(
            f"The {what} hardly wider than the cells ({cells.spacing:.2g}): densities blur across. "
            f"Take references={math.ceil(len(cells.nodes) / CELLS * larger)}.",
            AccuracyWarning,
        )


def table_times(dim: int, volume: float, times: float | tuple[float, ...] | None, shortest: float) -> np.ndarray:
    """Times of the table, a constant ratio apart, from those asked for and the shortest that is resolved."""
    longest = np.clip(LEVEL * volume ** (2 / dim), SPREAD[0] * shortest, SPREAD[1] * shortest)
    asked = np.atleast_1d(times) if times is not None else np.array([longest])
    if not (np.isfinite(asked) & (asked > 0)).all():
        raise InvalidInput(f"times must be positive and finite; got {times!r}.")
    low, high = (min(shortest, asked[0] / 2), asked[0]) if asked.size == 1 else (asked.min(), asked.max())
    high = max(high, 2 * low)  # the error is measured by one time and its double
    number = max(4, 1 + math.ceil(math.log(high / low) / math.log(GRID)))
    return np.geomspace(low, high, number)


def _check_times(manifold: Manifold, low: float, shortest: float, references: int) -> None:
    """A warning where the reference points are too few for the first time."""
    if low < RESOLVED * shortest:
        needed = math.ceil(references * (shortest / low) ** (manifold.dim / 2))
        warn(
            f"{references} reference points on {manifold!r} resolve times down to {shortest:.2g}, not {low:.2g}: the "
            f"kernel there is uneven by more than a few per cent. Take references={needed}, or longer times.",
            AccuracyWarning,
        )


def _last_steps(cells: Cells, halves: np.ndarray, epsilon: float | None, ball: bool) -> tuple[np.ndarray, np.ndarray]:
    """How many averages make the last step before each half time, and when the walk ends for it: increasing."""
    if ball:
        return np.ones(len(halves), int), halves
    last = LAST_STEP * halves if epsilon is None else np.minimum(epsilon**2, 0.9 * halves)
    wanted = np.clip(np.round((last - cells.width) / cells.time), 1, AVERAGES if epsilon is None else np.inf)
    averages, ends = [], [0.0]
    for half, number in zip(halves, wanted.astype(int)):
        while number > 1 and half - cells.width - number * cells.time <= ends[-1]:
            number -= 1  # rounding has put the end before that of the time before
        averages.append(number)
        ends.append(half - cells.width - number * cells.time)
    if ends[1] <= 0:
        raise InvalidInput(
            f"time {2 * halves[0]:.2g} is too short for the {len(cells.nodes)} cells of {cells.manifold!r}: averages "
            f"over them take {2 * (cells.width + cells.time):.2g}. Take more references, or longer times."
        )
    return np.array(averages), np.array(ends[1:])


def longest_step(manifold: Manifold, volume: float) -> float:
    """The longest step that the geometry bears."""
    return min(manifold.step_limit, STEP * volume ** (2 / manifold.dim))


def _plan(cells: Cells, ends: np.ndarray, step: float | None) -> Schedule:
    """The steps of the walk: as long as the geometry bears, or as asked for, with a warning where that is too long."""
    manifold = cells.manifold
    limit = longest_step(manifold, cells.volume)
    if step is not None and step > 2 * limit:
        warn(
            f"step = {step:.2g} is long for {manifold!r}, whose curvature or channels allow {limit:.2g}: the kernel is "
            f"biased. Take step={limit:.2g}, or leave it out.",
            AccuracyWarning,
        )
    return schedule(ends, min(step or limit, float(ends[-1])), shorten_first=True)


def _count(cells: Cells, references: np.ndarray, each: int, simulation: Simulation) -> np.ndarray:
    """Paths of each group in each cell: (groups, times, cells, references)."""
    path = np.arange(simulation.paths)
    starts = references[path // each]
    kind = np.dtype(np.uint16 if len(cells.nodes) <= 1 << 16 else np.uint32)
    visit = partial(_cells_of, cells, kind)
    index = kept_visits(cells.manifold, starts, simulation, visit, kind, cells=digest(cells.nodes, references))
    shape = (len(cells.nodes), len(references))
    counts = np.empty((GROUPS, len(index), *shape), np.float32)
    for k, now in enumerate(index):
        for group in range(GROUPS):
            own = slice(group, None, GROUPS)
            place = now[own].astype(np.int64) * shape[1] + path[own] // each
            counts[group, k] = np.bincount(place, minlength=shape[0] * shape[1]).reshape(shape)
    return counts


def _cells_of(cells: Cells, kind: np.dtype, positions: np.ndarray) -> np.ndarray:
    return np.stack([cells.nearest(x) for x in positions]).astype(kind)
