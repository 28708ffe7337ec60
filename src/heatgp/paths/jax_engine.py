"""The walk of `paths.walk` compiled by JAX, for accelerators: the same steps, other random numbers.

On a GPU, points of few entries stay in registers (`paths.registers`); all others, and other devices, take one operation
of JAX after the other. Precision is the caller's: double precision is enabled for this computation alone.
"""

from functools import partial

import jax
import numpy as np
from jax import lax

from ..errors import Unsupported
from ..manifolds.contract import Manifold
from .registers import register_walk
from .simulation import Schedule
from .walk import POLISH_EVERY


def jax_walk(manifold: Manifold, starts: np.ndarray, plan: Schedule, paths: int, root: tuple[int, ...]) -> jax.Array:
    """Positions (times, paths, *shape) on JAX's default device, in the precision of the starts."""
    if manifold.covering is not None:
        above = manifold.covering
        below = jax_walk(above.manifold, np.asarray(above.up(starts)), plan.faster(above.scale**2), paths, root)
        with jax.enable_x64(below.dtype == np.float64):
            return above.down(below)
    if is_gpu():
        try:
            return register_walk(manifold, starts, plan, paths, root)
        except Unsupported:  # points of many entries, or steps by eigenvalues
            pass
    return scan_walk(manifold, starts, plan, paths, root)


def is_gpu() -> bool:
    """Whether JAX's default device is a GPU."""
    return next(iter(jax.numpy.zeros(0).devices())).platform == "gpu"


def scan_walk(manifold: Manifold, starts: np.ndarray, plan: Schedule, paths: int, root: tuple[int, ...]) -> jax.Array:
    """The same, one operation on all paths after the other: for every manifold and device."""
    double = starts.real.dtype == np.float64
    with jax.enable_x64(double):
        key = jax.random.key(root[0])
        for word in root[1:]:
            key = jax.random.fold_in(key, word)
        x = jax.numpy.broadcast_to(jax.numpy.asarray(starts), (paths, *manifold.shape))
        positions = []
        for count, last in zip(plan.counts, plan.lasts):
            key, own = jax.random.split(key)
            x = _advance(manifold, count, plan.step, last, x, own) if count else x
            positions.append(x)
        return jax.numpy.stack(positions)


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _advance(manifold: Manifold, count: int, step: float, last: float, x: jax.Array, key: jax.Array) -> jax.Array:
    """`count` steps, the last one of another length; rounding drift is removed as in the NumPy walk."""

    def one_step(i: jax.Array | int, x: jax.Array, time: float = step) -> jax.Array:
        z = jax.random.normal(jax.random.fold_in(key, i), (x.shape[0], *manifold.step_shape), x.real.dtype)
        return manifold.step(x, z, time)

    def polished_steps(j: jax.Array, x: jax.Array) -> jax.Array:
        return manifold.polish(lax.fori_loop(j * POLISH_EVERY, (j + 1) * POLISH_EVERY, one_step, x))

    rounds = (count - 1) // POLISH_EVERY
    x = lax.fori_loop(0, rounds, polished_steps, x)
    x = lax.fori_loop(rounds * POLISH_EVERY, count - 1, one_step, x)
    return manifold.polish(one_step(count - 1, x, last))
