"""Brownian motion on a manifold: a geodesic random walk, vectorised over paths.

Ye, Niu, Cheung, Dai, Liu (2024), Algorithm 1, on every manifold; a manifold's own `step` is the paper's algorithm
for its family. Paths come in blocks with a random stream each, so that the answer for a seed does not depend on how
the blocks are spread over chunks and cores.
"""

import math
import time as clock
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from ..array import Array
from ..cost import Cost
from ..errors import InvalidInput, Unsupported
from ..manifolds.checks import check_points, require
from ..manifolds.contract import Manifold
from ..progress import tracked
from .simulation import Schedule, Seed, Simulation, check_count

BLOCK = 512
"""Paths that share one random stream."""
POLISH_EVERY = 32
"""Steps between removals of rounding drift, which is far below 1e-13 in between."""
CACHE_BYTES = 320_000
"""Size of one array of a chunk of vectors, half of it for matrices, whose steps take more arrays: a core's cache."""

FEW = 16
"""Paths whose steps are measured first."""
STEPS = 4
"""Steps to each time that are measured where a step takes little."""
MEASURED = 0.03
"""Seconds from which on a measurement counts; a shorter one is repeated with more paths and steps."""
UNMEASURED = 30_000_000
"""Path-steps times bytes of a point below which a simulation takes a moment: its time is not measured."""
WORKING = 6
"""Arrays of the size of the points that a step works with."""


def walk(
    manifold: Manifold,
    x0: Array,
    times: Sequence[float] | np.ndarray | float,
    *,
    paths: int,
    step: float,
    rng: Seed = None,
    n_jobs: int | None = None,
    engine: Literal["numpy", "jax"] = "numpy",
    chunk: int | None = None,
    progress: bool | None = None,
) -> Array:
    """Positions of Brownian motion at the given times.

    Parameters
    ----------
    manifold : Manifold
    x0 : array
        Where the paths start: one point, or one point per path, shape (paths, *manifold.shape). The walk has its
        precision.
    times : float or increasing sequence of floats
        They need not be multiples of the step: the last step before each time is shortened.
    paths : int
        Number of independent paths.
    step : float
        Time of one geodesic step; the error of expectations is proportional to it.
    rng : int, numpy Generator or None, default None
        The same seed gives the same paths for every `n_jobs` and `chunk`.
    n_jobs : int, default None
        Number of cores, as in joblib: None is one, -1 all.
    engine : "numpy" or "jax", default "numpy"
        "jax" compiles the loop and runs it on JAX's default device, with other random numbers. On a GPU, points of at
        most 25 real numbers stay in registers.
    chunk : int, default None
        Paths simulated together on a core; None is what fits its cache.
    progress : bool, default None
        Show a progress bar; None shows one on a terminal for what takes more than two seconds.

    Returns
    -------
    array of shape (number of times, paths, *manifold.shape)

    Raises
    ------
    InvalidInput : for wrong times, steps, numbers and points off the manifold.

    Examples
    --------
    >>> from heatgp import Sphere
    >>> x = walk(Sphere(2), [1.0, 0, 0], [0.5, 1], paths=2000, step=0.01, rng=0)
    >>> x.shape, x[:, :, 0].mean(axis=1).round(1)  # the mean shrinks like exp(-t)
    ((2, 2000, 3), array([0.6, 0.4]))
    """
    require(isinstance(manifold, Manifold), f"walk needs a manifold, such as Sphere(2); got {manifold!r}.")
    simulation = Simulation.of(times, paths=paths, step=step, rng=rng, n_jobs=n_jobs, chunk=chunk, progress=progress)
    starts = check_start(manifold, x0, paths)
    if engine == "jax":
        try:
            from .jax_engine import jax_walk
        except ImportError:
            raise Unsupported("engine='jax' needs JAX, which is not installed: pip install 'heatgp[jax]'.") from None
        return jax_walk(manifold, starts, simulation.plan, paths, simulation.root)
    if engine != "numpy":
        raise InvalidInput(f"engine must be 'numpy' or 'jax'; got {engine!r}.")
    kept = len(simulation.plan.times) * paths * math.prod(manifold.shape) * starts.dtype.itemsize
    cost = simulation_cost(manifold, starts, simulation, _keep) + Cost(bytes=kept)
    cost.accept(f"Brownian motion on {manifold!r}", "Take fewer paths or times, or longer steps.")
    out = np.empty((len(simulation.plan.times), paths, *manifold.shape), starts.dtype)
    for first, positions in simulate(manifold, starts, simulation, _keep):
        out[:, first : first + positions.shape[1]] = positions
    return out


def _keep(positions: np.ndarray) -> np.ndarray:
    return positions


def check_start(manifold: Manifold, x0: Array, paths: int) -> np.ndarray:
    """The start, one point or one point per path, as a checked array."""
    starts = np.asarray(check_points(manifold, x0, "x0"))
    if starts.shape not in (manifold.shape, (paths, *manifold.shape)):
        raise InvalidInput(
            f"x0 has shape {starts.shape}: give one point, shape {manifold.shape}, "
            f"or one point per path, shape {(paths, *manifold.shape)}."
        )
    return starts


def simulate(
    manifold: Manifold,
    starts: np.ndarray,
    simulation: Simulation,
    visit: Callable[[np.ndarray], Any],
    first_block: int = 0,
) -> Iterator[tuple[int, Any]]:
    """(index of the first path, visit(positions (times, paths of the chunk, *shape))) of every chunk, in order.

    Only what `visit` returns is kept, so that memory does not grow with the paths. `first_block` skips blocks that
    an earlier, interrupted run has visited.
    """
    paths = simulation.paths
    block = min(BLOCK, paths)
    blocks = math.ceil(paths / block)
    share = math.ceil((blocks - first_block) / effective_n_jobs(simulation.n_jobs))
    width = chunk_blocks(manifold, starts.dtype, block, simulation.chunk, share)
    firsts = range(first_block, blocks, width)

    def task(first: int) -> Any:
        own = starts if starts.ndim == len(manifold.shape) else starts[first * block : (first + width) * block]
        part = (own, first, min(width, blocks - first), block)
        return delayed(_visit_chunk)(manifold, simulation, part, min(width * block, paths - first * block), visit)

    results = Parallel(n_jobs=simulation.n_jobs, return_as="generator")(task(first) for first in firsts)
    shown = tracked(results, len(firsts), f"Brownian motion on {manifold!r}", simulation.progress)
    for first, result in zip(firsts, shown):
        yield first * block, result


def simulation_cost(
    manifold: Manifold, starts: np.ndarray, simulation: Simulation, visit: Callable[[np.ndarray], Any]
) -> Cost:
    """What `simulate` takes: paths times steps times the time of one, measured on a few steps to each time.

    Processor time is measured, so that other programs that are busy now do not count. Few paths are measured first,
    more where those took no time: the steps of large matrices take seconds for a block.
    Bytes are those of the chunks that the cores work on.
    """
    plan, paths, block = simulation.plan, simulation.paths, min(BLOCK, simulation.paths)
    cores = effective_n_jobs(simulation.n_jobs)
    width = chunk_blocks(manifold, starts.dtype, block, simulation.chunk, math.ceil(paths / block / cores))
    numbers = math.prod(manifold.shape) * starts.dtype.itemsize
    chunk = Cost(bytes=cores * width * block * numbers * (len(plan.times) + WORKING))
    if paths * sum(plan.counts) * numbers < UNMEASURED:
        return chunk
    own = starts if starts.ndim == len(manifold.shape) else starts[: width * block]

    def measured(steps: int, blocks: int, each: int) -> float:
        """Seconds of the whole simulation, from these steps to each time of these paths."""
        short = replace(plan, counts=tuple(min(steps, count) for count in plan.counts))
        start = clock.thread_time()
        positions = walk_blocks(manifold, own, short, (0,), 0, blocks, each)
        middle = clock.thread_time()
        visit(positions)
        stepping, visiting = middle - start, clock.thread_time() - middle
        spent.append(stepping + visiting)
        seconds = stepping * sum(plan.counts) / max(1, sum(short.counts)) + visiting
        return seconds * paths / (blocks * each) / min(cores, math.ceil(paths / block))

    spent: list[float] = []
    measured(1, 1, 1)  # what a manifold does once only does not count
    for size in ((1, 1, min(FEW, block)), (1, 1, block), (STEPS, width, block)):
        seconds = measured(*size)
        if spent[-1] > MEASURED:
            break
    return chunk + Cost(min(seconds, measured(*size)))


def chunk_blocks(manifold: Manifold, dtype: np.dtype, block: int, chunk: int | None, most: int) -> int:
    """How many blocks make a chunk: `chunk` paths, or what fits the cache; never so many that a core goes idle."""
    if chunk is not None:
        check_count("chunk", chunk)
    shape = manifold.covering.manifold.shape if manifold.covering else manifold.shape
    paths = chunk or CACHE_BYTES // (dtype.itemsize * math.prod(shape) * len(shape))
    return max(1, min(paths // block, most))


def _visit_chunk(
    manifold: Manifold,
    simulation: Simulation,
    part: tuple[np.ndarray, int, int, int],
    paths: int,
    visit: Callable[[np.ndarray], Any],
) -> Any:
    """`visit` of the chunk `part` = (starts, first block, blocks, paths per block), without padding of the last.

    In a tuple the starts travel with the task. An array alone joblib would give to one worker of a Dask cluster, and
    all would be lost with this worker.
    """
    starts, *where = part
    return visit(walk_blocks(manifold, starts, simulation.plan, simulation.root, *where)[:, :paths])


def walk_blocks(
    manifold: Manifold, starts: np.ndarray, plan: Schedule, root: tuple[int, ...], first: int, blocks: int, block: int
) -> np.ndarray:
    """Positions (times, blocks * block, *shape) of a chunk of whole blocks.

    Vectors and small matrices lie with the paths contiguous: every operation of the geometry is then one long loop.
    Beyond 4 x 4, matrices are contiguous, as BLAS wants them.
    """
    if manifold.covering is not None:
        above = manifold.covering
        starts, plan = np.asarray(above.up(starts)), plan.faster(above.scale**2)
        return above.down(walk_blocks(above.manifold, starts, plan, root, first, blocks, block))
    paths_last = len(manifold.shape) == 1 or math.prod(manifold.shape) <= 16
    real = np.dtype(starts.real.dtype)
    # (blocks, *step_shape, block) or (blocks, block, *step_shape) in memory; seen as (blocks, block, *step_shape).
    memory = (blocks, *manifold.step_shape, block) if paths_last else (blocks, block, *manifold.step_shape)
    buffer = np.empty(memory, real)
    noise = np.moveaxis(buffer, -1, 1) if paths_last else buffer
    streams = [
        np.random.Generator(np.random.SFC64(np.random.SeedSequence(root, spawn_key=(b,))))
        for b in range(first, first + blocks)
    ]
    out = np.empty((len(plan.times), blocks * block, *manifold.shape), starts.dtype)
    x = _fill(starts, blocks * block, len(manifold.shape)).reshape(blocks, block, *manifold.shape)
    if paths_last:
        x = np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)
    for k, (count, last) in enumerate(zip(plan.counts, plan.lasts)):
        for i in range(count):
            for stream, part in zip(streams, buffer):
                stream.standard_normal(dtype=real.type, out=part)
            x = manifold.step(x, noise, plan.step if i < count - 1 else last)
            if i % POLISH_EVERY == POLISH_EVERY - 1 or i == count - 1:
                x = manifold.polish(x)
        out[k] = x.reshape(-1, *manifold.shape)
    return out


def _fill(starts: np.ndarray, number: int, point_axes: int) -> np.ndarray:
    """`number` starting points: one repeated, or those given and the last one repeated to fill a block."""
    if starts.ndim == point_axes:
        return np.broadcast_to(starts, (number, *starts.shape))
    return starts[np.minimum(np.arange(number), len(starts) - 1)]
