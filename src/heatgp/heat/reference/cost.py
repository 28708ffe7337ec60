"""Whether reference points can resolve a manifold, and what a kernel through them takes: known before any work."""

from __future__ import annotations

import math
import time as clock
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from ...cost import Cost, available_memory, check_memory
from ...errors import AccuracyWarning, Unsupported, warn
from ...manifolds import Manifold
from ...manifolds.roots import log_unit_ball_volume
from ...paths.simulation import Simulation, entropy, schedule
from ...paths.walk import simulation_cost
from .build import AVERAGES, CELLS, GROUPS, LAST_STEP, RESOLUTION, longest_step, table_times
from .cells import COUNTED, MEMBERS, NEIGHBOURS, POOL, REACH, SAMPLE, check_compact

if TYPE_CHECKING:
    from ..methods import Reference

CONTRAST = (0.25, 1.0)
"""p_t(x, x) times the volume, in flat space and at the shortest time resolved, below which a kernel is refused, and
below which a warning is given."""
PROBES = 4096
"""Points whose work is measured, if it takes less than this:"""
ENOUGH = 0.05
"""Seconds that tell how long the rest takes."""


def references_for(contrast: float, dim: int) -> float:
    """Reference points with which the kernel at the shortest time resolved is this multiple of the uniform density.

    That time is RESOLUTION squares of the distance between points, (volume / references)^(2/dim): the volume cancels.

    >>> [round(references_for(1, dim)) for dim in (2, 4, 6, 8)], references_for(1, 1000)
    ([19, 355, 6697, 126242], inf)
    """
    try:
        return contrast * (2 * math.pi * RESOLUTION) ** (dim / 2)
    except OverflowError:
        return math.inf


def refuse_unresolved(manifold: Manifold, references: int, remedy: str) -> None:
    """An error where the kernel is constant at every time that the reference points resolve, or needs too much memory.

    Parameters
    ----------
    manifold : Manifold.
    references : int.
    remedy : str, what to do instead where more reference points are no way: a sentence.
    """
    least, enough = (np.ceil(references_for(contrast, manifold.dim)) for contrast in CONTRAST)
    if references >= least:
        what = f"The kernel of {manifold!r} through {references} reference points"
        check_memory(_bytes(manifold, references, 4), what, "Take fewer `references`.")
        return
    more = f"Take references={least:.0f} or more ({enough:.0f} without a warning)."
    possible = least < 1e6 and _bytes(manifold, least, 4) < available_memory()
    count = f"{least:,.0f}" if least < 1e6 else "millions" if least < 1e9 else "more than a billion"
    raise Unsupported(
        f"{references} reference points on {manifold!r}, which has {manifold.dim} dimensions, resolve no time at which "
        f"its kernel is more than a constant: that takes {count} of them. {more if possible else remedy}"
    )


def warn_where_hardly_resolved(manifold: Manifold, references: int) -> None:
    """A warning where the kernel at the shortest time that the reference points resolve is nearly constant."""
    enough = references_for(CONTRAST[1], manifold.dim)
    if references < enough:
        warn(
            f"{references} reference points on {manifold!r}, which has {manifold.dim} dimensions, resolve only times "
            "at which its kernel is nearly constant: functions that vary faster are lost, and predictions are too "
            f"sure of themselves. Take references={math.ceil(enough)}.",
            AccuracyWarning,
        )


def reference_cost(manifold: Manifold, method: Reference) -> Cost:
    """Seconds and bytes of a kernel through reference points, from what a few points and steps take."""
    nodes, rng, dim = CELLS * method.references, np.random.default_rng(0), manifold.dim
    try:
        volume, counted = manifold.volume, 0
    except Unsupported:  # steps are in its units; what the count of `known_volume` takes is added
        volume, counted = 1.0, COUNTED[0]
    check_compact(manifold, volume)
    spacing = (volume / method.references) ** (2 / dim), (volume / nodes) ** (2 / dim)
    grid = table_times(dim, volume, method.times, RESOLUTION * spacing[0])
    width, average = spacing[1] / 12, REACH**2 * spacing[1] / (dim + 10)
    last = LAST_STEP * grid / 2 if method.epsilon is None else np.minimum(method.epsilon**2, 0.45 * grid)
    averages = np.clip(np.round((last - width) / average), 1, AVERAGES if method.epsilon is None else np.inf)
    ends = np.maximum.accumulate(np.maximum(grid / 2 - width - averages * average, 1e-3 * grid))
    step = min(method.step or longest_step(manifold, volume), float(ends[-1]))
    plan = schedule(np.unique(ends), step, shorten_first=True)
    simulation = Simulation(plan, method.paths, entropy(0), method.n_jobs)

    point, drawn = _measured(lambda number: np.asarray(manifold.random(rng, number)), PROBES)
    pair, square = _measured(lambda number: manifold.rough_separation(drawn[:number], drawn[0]), len(drawn))
    places = np.resize(manifold.embed(drawn), (nodes, manifold.embed(drawn[0]).size))
    tree = cKDTree(places + 0.1 * places.std() * rng.standard_normal(places.shape))  # equal points would be slow
    look_up, _ = _measured(lambda number: tree.query(manifold.embed(drawn[:number])), len(drawn))
    chord = np.sum((manifold.embed(drawn) - manifold.embed(drawn[0])) ** 2, axis=-1)
    candidates = 0 if np.allclose(square, chord[: len(square)], rtol=1e-6) else 10
    entries = min(nodes, NEIGHBOURS, math.ceil(math.exp(log_unit_ball_volume(dim)) * REACH**dim))
    product = _product_time(nodes, entries, method.references)

    placed = 6 * SAMPLE * nodes + len(grid) * simulation.paths
    pairs = POOL * nodes**2 + 2 * MEMBERS**2 * nodes + candidates * (placed + 4 * nodes**2 // 10)
    seconds = point * ((POOL + SAMPLE) * nodes + counted) + pair * pairs + look_up * placed
    seconds += product * GROUPS * float(np.sum(averages + 2))
    walk = simulation_cost(manifold, drawn[0], simulation, lambda positions: positions)
    return Cost(seconds, _bytes(manifold, method.references, len(grid))) + walk


def _bytes(manifold: Manifold, references: float, times: int) -> float:
    """Counts in single precision, densities in double, the result in single; and the points that measure volumes."""
    points = 2 * SAMPLE * CELLS * references * math.prod(manifold.shape) * (16 if manifold.is_complex else 8)
    return 16.0 * GROUPS * times * CELLS * references**2 + points


def _measured(work: Callable[[int], Any], number: int) -> tuple[float, Any]:
    """The time of `work` for one of `number` points, and its result; for fewer points where those take a while."""
    work(2)  # what is done once only does not count
    for some in (2, 64, number, number):
        start = clock.thread_time()
        result = work(some)
        seconds = clock.thread_time() - start
        if seconds > ENOUGH:
            break
    return seconds / some, result


def _product_time(nodes: int, entries: int, columns: int) -> float:
    """Seconds of one average of all columns, measured on some rows."""
    rng, rows = np.random.default_rng(0), min(nodes, 128)
    place = (np.repeat(np.arange(rows), entries), rng.integers(0, nodes, rows * entries))
    average, values = csr_array((np.ones(rows * entries), place), (rows, nodes)), np.ones((nodes, min(columns, 400)))
    seconds, _ = _measured(lambda number: average[:number] @ values, rows)
    return seconds * nodes * columns / values.shape[1]
