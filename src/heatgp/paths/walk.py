"""Brownian motion on a manifold: a geodesic random walk, vectorised over paths.

Ye, Niu, Cheung, Dai, Liu (2024), Algorithm 1, on every manifold; a manifold's own `step` is the paper's algorithm
for its family. Paths come in blocks with a random stream each, so that the answer for a seed does not depend on how
the blocks are spread over chunks and cores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from tqdm import tqdm

from ..array import Array
from ..errors import InvalidInput, Unsupported
from ..manifolds.checks import check_points
from ..manifolds.contract import Manifold

BLOCK = 512
"""Paths that share one random stream."""
POLISH_EVERY = 32
"""Steps between removals of rounding drift, which is far below 1e-13 in between."""
CACHE_BYTES = 320_000
"""Size of one array of a chunk of vectors, half of it for matrices, whose steps take more arrays: a core's cache."""

Seed = int | tuple[int, ...] | np.random.Generator | np.random.SeedSequence | None
"""What `rng` may be; a tuple is what `entropy` returned for another seed."""


@dataclass(frozen=True)
class Schedule:
    """The steps of a walk: `counts[k]` of length `step`, the last one shortened to `lasts[k]`, lead to `times[k]`."""

    times: tuple[float, ...]
    step: float
    counts: tuple[int, ...]
    lasts: tuple[float, ...]

    def faster(self, factor: float) -> Schedule:
        """The same steps in times divided by the factor."""
        times, lasts = (tuple(t / factor for t in part) for part in (self.times, self.lasts))
        return Schedule(times, self.step / factor, self.counts, lasts)


def schedule(times: Sequence[float] | np.ndarray | float, step: float, *, shorten_first: bool = False) -> Schedule:
    """The steps that end exactly at each time, or an error about the times or the step.

    A step that is longer than the first time is an error, unless the first step may be shortened.
    """
    t = np.atleast_1d(np.asarray(times, dtype=float))
    if t.ndim != 1 or not t.size or not np.isfinite(t).all():
        raise InvalidInput(f"times must be a non-empty list of finite numbers; got {times!r}.")
    if t[0] < 0:
        raise InvalidInput(f"times must not be negative; got {t[0]:g}. Brownian motion starts at time 0.")
    if (np.diff(t) <= 0).any():
        k = int(np.argmax(np.diff(t) <= 0))
        raise InvalidInput(
            f"times must increase; times[{k}] = {t[k]:g} is followed by {t[k + 1]:g}. Pass numpy.unique(times)."
        )
    check_step(step)
    first = t[t > 0][0] if (t > 0).any() else math.inf
    if step > first * (1 + 1e-9) and not shorten_first:
        raise InvalidInput(
            f"step = {step:g} is larger than the first time {first:g}. Choose a step of at most {first:g}."
        )
    gaps = np.diff(t, prepend=0.0)
    counts = np.ceil(gaps / step - 1e-9).astype(int)
    lasts = np.where(counts > 0, gaps - (counts - 1) * step, 0.0)
    return Schedule(tuple(t.tolist()), float(step), tuple(counts.tolist()), tuple(lasts.tolist()))


def check_step(step: Any) -> None:
    """A positive number, or a clear error."""
    number = isinstance(step, (int, float, np.integer, np.floating)) and not isinstance(step, bool)
    if not number or not math.isfinite(step) or step <= 0:
        raise InvalidInput(f"step must be a positive number; got {step!r}. A hundredth of the first time is a start.")


def check_count(name: str, value: Any) -> None:
    """A positive integer, or a clear error."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
        raise InvalidInput(f"{name} must be a positive integer; got {value!r}.")


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
    manifold : the manifold.
    x0 : where the paths start: one point, or one point a path, (paths, *shape). Its precision is that of the walk.
    times : increasing times, not only multiples of the step: the last step before each is shortened.
    paths : number of independent paths.
    step : time of one geodesic step; the error of expectations is proportional to it.
    rng : seed or numpy Generator; the same seed gives the same paths whatever `n_jobs` and `chunk`.
    n_jobs : number of cores, as in joblib: None is one, -1 all.
    engine : "numpy", or "jax" to compile the loop and run it on JAX's default device (other random numbers).
    chunk : paths simulated together on a core; by default what fits its cache.
    progress : show a bar; by default only on a terminal, and for what takes more than two seconds.

    Returns
    -------
    Array (len(times), paths, *shape).

    >>> from heatgp import Sphere
    >>> x = walk(Sphere(2), [1.0, 0, 0], [0.5, 1], paths=2000, step=0.01, rng=0)
    >>> x.shape, x[:, :, 0].mean(axis=1).round(1)  # the mean shrinks like exp(-t)
    ((2, 2000, 3), array([0.6, 0.4]))
    """
    plan = schedule(times, step)
    starts = check_start(manifold, x0, paths)
    if engine == "jax":
        try:
            from .jax_engine import scan_walk
        except ImportError:
            raise Unsupported("engine='jax' needs JAX, which is not installed: pip install 'heatgp[jax]'.") from None
        return scan_walk(manifold, starts, plan, paths, entropy(rng))
    if engine != "numpy":
        raise InvalidInput(f"engine must be 'numpy' or 'jax'; got {engine!r}.")
    out = np.empty((len(plan.times), paths, *manifold.shape), starts.dtype)
    for first, positions in simulate(manifold, starts, plan, paths, entropy(rng), _keep, n_jobs, chunk, progress):
        out[:, first : first + positions.shape[1]] = positions
    return out


def _keep(positions: np.ndarray) -> np.ndarray:
    return positions


def check_start(manifold: Manifold, x0: Array, paths: int) -> np.ndarray:
    """The start, one point or one a path, as a checked array."""
    check_count("paths", paths)
    starts = np.asarray(check_points(manifold, x0, "x0"))
    if starts.shape not in (manifold.shape, (paths, *manifold.shape)):
        raise InvalidInput(
            f"x0 has shape {starts.shape}: give one point, shape {manifold.shape}, "
            f"or one point a path, shape {(paths, *manifold.shape)}."
        )
    return starts


def entropy(rng: Seed) -> tuple[int, ...]:
    """The root of all random streams of one simulation: four or more words, the same for the same seed."""
    if isinstance(rng, tuple):
        return rng
    if isinstance(rng, np.random.Generator):
        return tuple(int(word) for word in rng.integers(0, 2**32, 4))
    sequence = rng if isinstance(rng, np.random.SeedSequence) else np.random.SeedSequence(rng)
    return tuple(int(word) for word in sequence.generate_state(4))


def simulate(
    manifold: Manifold,
    starts: np.ndarray,
    plan: Schedule,
    paths: int,
    root: tuple[int, ...],
    visit: Callable[[np.ndarray], Any],
    n_jobs: int | None = None,
    chunk: int | None = None,
    progress: bool | None = None,
    first_block: int = 0,
) -> Iterator[tuple[int, Any]]:
    """(index of the first path, visit(positions (times, paths of the chunk, *shape))) of every chunk, in order.

    Only what `visit` returns is kept, so that memory does not grow with the paths. `first_block` skips blocks that
    an earlier, interrupted run has visited.
    """
    block = min(BLOCK, paths)
    blocks = math.ceil(paths / block)
    width = chunk_blocks(
        manifold, starts.dtype, block, chunk, math.ceil((blocks - first_block) / effective_n_jobs(n_jobs))
    )
    firsts = range(first_block, blocks, width)
    tasks = (
        delayed(_visit_chunk)(
            manifold,
            starts if starts.ndim == len(manifold.shape) else starts[first * block : (first + width) * block],
            plan,
            root,
            (first, min(width, blocks - first), block),
            min(width * block, paths - first * block),
            visit,
        )
        for first in firsts
    )
    results = Parallel(n_jobs=n_jobs, return_as="generator")(tasks)
    hide = None if progress is None else not progress
    bar = tqdm(results, total=len(firsts), desc=f"Brownian motion on {manifold!r}", disable=hide, delay=2, leave=False)
    for first, result in zip(firsts, bar):
        yield first * block, result


def chunk_blocks(manifold: Manifold, dtype: np.dtype, block: int, chunk: int | None, most: int) -> int:
    """How many blocks make a chunk: `chunk` paths, or what fits the cache; never so many that a core goes idle."""
    if chunk is not None:
        check_count("chunk", chunk)
    shape = manifold.covering.manifold.shape if manifold.covering else manifold.shape
    paths = chunk or CACHE_BYTES // (dtype.itemsize * math.prod(shape) * len(shape))
    return max(1, min(paths // block, most))


def _visit_chunk(
    manifold: Manifold,
    starts: np.ndarray,
    plan: Schedule,
    root: tuple[int, ...],
    where: tuple[int, int, int],
    paths: int,
    visit: Callable[[np.ndarray], Any],
) -> Any:
    """`visit` of the chunk at `where` = (first block, blocks, paths a block), less the padding of the last block."""
    return visit(walk_blocks(manifold, starts, plan, root, *where)[:, :paths])


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
