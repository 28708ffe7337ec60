"""The walk of `paths.walk` on a GPU, with the position of a path in the registers of one thread.

The loop over the steps runs inside one kernel: nothing is read or written between a start and a time, and random
numbers are made where they are used. The step is the manifold's own, taken apart into entries (`paths.entries`). Where
JAX cannot compile such kernels, its usual compiler runs the same loop, one kernel for each step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from importlib.util import find_spec
from typing import Any, Literal

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp
from jax.experimental import pallas

from ..errors import Unsupported, without_warnings_of_others
from ..manifolds.contract import Manifold
from .entries import entrywise, to_entries, to_table
from .philox import white_noise
from .simulation import Schedule
from .walk import POLISH_EVERY

BLOCK = 128
"""Paths of one block of threads."""
MOST_ENTRIES = 25
"""Real numbers of a point that fit the registers of a thread, beside what a step computes with."""
LONGEST = 1 << 30
"""Steps of one kernel: they are counted with 32 bits."""

How = Literal["triton", "interpreted", "loop"]
"""Whether kernels are compiled, imitated (on any processor, for tests), or replaced by a loop of usual operations."""


def register_walk(
    manifold: Manifold, starts: np.ndarray, plan: Schedule, paths: int, root: tuple[int, ...], how: How | None = None
) -> jax.Array:
    """Positions (times, paths, *shape) on JAX's default device, in the precision of the starts.

    Unsupported where a point has too many entries, or where its step has operations that have no form entry by entry.
    """
    if math.prod(manifold.shape) * (1 + manifold.is_complex) > MOST_ENTRIES:
        raise Unsupported(f"points of {manifold!r} have more than {MOST_ENTRIES} real entries.")
    how = how or ("triton" if find_spec("jax.experimental.pallas.triton") else "loop")
    single = starts.real.dtype == np.float32
    padded = math.ceil(paths / BLOCK) * BLOCK
    with jax.enable_x64(True):  # products of random words have 64 bits
        entries = _spread(starts, len(manifold.shape), paths, padded)
        positions = []
        for k, (count, last) in enumerate(zip(plan.counts, plan.lasts)):
            for part, (time, first, end) in enumerate(_legs(count, plan.step, last)):
                key = np.random.SeedSequence(root, spawn_key=(k, part)).generate_state(2)
                numbers = np.array([first, end, *key], np.uint32)
                # the loop takes over where JAX no longer has these kernels
                with without_warnings_of_others(Warning, message="The Pallas Triton backend is deprecated"):
                    entries = _leg(manifold, time, single, how, numbers, *entries)
            positions.append(_joined(manifold.shape, manifold.is_complex, paths, *entries))
        return jnp.stack(positions)


def _legs(count: int, step: float, last: float) -> Iterator[tuple[float, int, int]]:
    """(time of a step, first step, end) of pieces of equal steps that lead to a time."""
    equal = count if math.isclose(step, last, rel_tol=1e-9) else count - 1
    for first in range(0, equal, LONGEST):
        yield step, first, min(first + LONGEST, equal)
    if 0 <= equal < count:
        yield last, 0, 1


def _spread(starts: np.ndarray, point_axes: int, paths: int, padded: int) -> list[jax.Array]:
    """The real entries of the starting points, each a vector (padded,) of all paths."""
    points = starts.reshape(-1, math.prod(starts.shape[starts.ndim - point_axes :]))
    real = (
        np.stack((points.real, points.imag), axis=-1).reshape(len(points), -1) if points.dtype.kind == "c" else points
    )
    if len(points) == 1:
        return [jnp.full(padded, entry) for entry in real[0]]
    return [jnp.pad(jnp.asarray(entry), (0, padded - paths), mode="edge") for entry in real.T]


@partial(jax.jit, static_argnums=(0, 1, 2))
def _joined(shape: tuple[int, ...], is_complex: bool, paths: int, *entries: jax.Array) -> jax.Array:
    """Points (paths, *shape) from their real entries."""
    real = jnp.stack([e[:paths] for e in entries], axis=-1)
    return (real[:, ::2] + 1j * real[:, 1::2] if is_complex else real).reshape(paths, *shape)


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _leg(
    manifold: Manifold, time: float, single: bool, how: How, numbers: jax.Array, *entries: jax.Array
) -> Sequence[jax.Array]:
    """The entries of all paths after the steps from numbers[0] to numbers[1], with the key numbers[2:]."""
    move, size, paths = march(manifold, time, single), len(entries), len(entries[0])
    if how == "loop":
        return move(entries, jnp.arange(paths, dtype=jnp.uint32), numbers)

    def kernel(numbers: Any, *references: Any) -> None:
        path = pallas.program_id(0) * BLOCK + lax.iota(jnp.int32, BLOCK)
        moved = move([r[...] for r in references[:size]], path.astype(jnp.uint32), [numbers[i] for i in range(4)])
        for reference, entry in zip(references[size:], moved):
            reference[...] = entry

    own = pallas.BlockSpec((BLOCK,), lambda block: (block,))
    return pallas.pallas_call(
        kernel,
        grid=(paths // BLOCK,),
        in_specs=[pallas.BlockSpec((4,), lambda block: (0,)), *[own] * size],
        out_specs=[own] * size,
        out_shape=[jax.ShapeDtypeStruct(entries[0].shape, entries[0].dtype)] * size,
        interpret=how == "interpreted",
        compiler_params=_one_path_a_thread() if how == "triton" else None,
    )(numbers, *entries)


def _one_path_a_thread() -> Any:
    from jax.experimental.pallas import triton  # deprecated by JAX 0.11, which says that it will go

    return triton.CompilerParams(num_warps=BLOCK // 32)


@lru_cache(maxsize=64)
def march(manifold: Manifold, time: float, single: bool) -> Callable[..., list[jax.Array]]:
    """A function that moves paths on by steps of this time, and removes rounding drift as the NumPy walk does.

    It takes the entries of the points, vectors with an element for each path; the numbers of the paths; and four
    numbers: the first step, the end, and the key of the random numbers.
    """
    dtype = np.dtype(np.float32 if single else np.float64)
    kind = np.result_type(dtype, np.complex64) if manifold.is_complex else dtype
    point, noise = jax.ShapeDtypeStruct(manifold.shape, kind), jax.ShapeDtypeStruct(manifold.step_shape, dtype)
    with jax.enable_x64(not single):
        step, polish = entrywise(partial(manifold.step, time=time), point, noise), entrywise(manifold.polish, point)

    def on(entries: Sequence[jax.Array], function: Callable[..., np.ndarray], *tables: np.ndarray) -> list[jax.Array]:
        moved = to_entries(function(to_table(entries, manifold.shape, manifold.is_complex), *tables))
        return [jnp.broadcast_to(jnp.asarray(e, dtype), entries[0].shape) for e in moved]

    def moved_on(entries: Sequence[jax.Array], path: jax.Array, numbers: Sequence[jax.Array]) -> list[jax.Array]:
        first, end = (n.astype(jnp.int32) for n in numbers[:2])

        def one_step(i: jax.Array, entries: Sequence[jax.Array]) -> list[jax.Array]:
            z = white_noise(path, i.astype(jnp.uint32), numbers[2:], math.prod(manifold.step_shape), dtype)
            return on(entries, step, to_table(z, manifold.step_shape, False))

        def polished_steps(j: jax.Array, entries: Sequence[jax.Array]) -> list[jax.Array]:
            start = first + j * POLISH_EVERY
            return on(lax.fori_loop(start, jnp.minimum(start + POLISH_EVERY, end), one_step, entries), polish)

        return lax.fori_loop(0, (end - first + (POLISH_EVERY - 1)) // POLISH_EVERY, polished_steps, list(entries))

    return moved_on
