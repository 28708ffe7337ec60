"""Kernels of JAX arrays: computed by JAX on the device and in the precision of the arrays.

The profile of a kernel at a time is a table, made by NumPy and kept on the device. A compiled function reads it:
another time changes numbers, not the program.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import jax
import numpy as np
from jax import numpy as jnp

from ..arguments import as_array
from ..array import is_jax
from ..errors import InvalidInput, Unsupported
from ..manifolds.checks import check_points
from .kernel import NUMPY_REMEDY, HeatKernel


def jax_values(kernel: HeatKernel, X: Any, Y: Any, time: Any, log: bool) -> jax.Array:
    """What a call of the kernel returns for JAX arrays."""
    if log:
        raise Unsupported(f"log=True is not for JAX arrays. {NUMPY_REMEDY}")
    time = as_array(time, "time", f"a positive number, or an array of them; got {time!r}")
    many = kernel.parameters == 1 and time.ndim > 0
    times = [kernel.check_time(t) for t in (time.ravel().tolist() if many else [time.tolist()])]
    if not times:
        raise InvalidInput("time is an empty list; give one time or more.")
    double = any(is_double(Z) for Z in (X, Y) if is_jax(Z))
    tables = [device_table(kernel, t, double) for t in times]
    with jax.enable_x64(double):
        X = device_points(kernel, X, "X", double)
        Y = X if Y is None else device_points(kernel, Y, "Y", double)
        axes = len(kernel.manifold.shape)
        flat = [Z.reshape(-1, *kernel.manifold.shape) for Z in (X, Y)]
        values = jnp.stack([_values(kernel, table, *flat) for table in tables])
        batch = [Z.shape[: Z.ndim - axes] for Z in (X, Y)]
        return values.reshape(*time.shape[: many * time.ndim], *batch[0], *batch[1])


def is_double(X: Any) -> bool:
    """Whether the numbers of an array are in double precision."""
    return np.finfo(X.dtype).dtype == np.float64


def device_points(kernel: HeatKernel, X: Any, name: str, double: bool) -> jax.Array:
    """Points as a JAX array; their place on the manifold is checked unless JAX is compiling the caller."""
    if not isinstance(X, jax.core.Tracer):
        with jax.ensure_compile_time_eval():
            X = check_points(kernel.manifold, X, name)
    elif X.shape[X.ndim - len(kernel.manifold.shape) :] != kernel.manifold.shape:
        raise InvalidInput(f"{name} has shape {X.shape}; points of {kernel.manifold!r} have {kernel.manifold.shape}.")
    kind = {(False, False): "f4", (False, True): "f8", (True, False): "c8", (True, True): "c16"}
    return jnp.asarray(X, dtype=kind[kernel.manifold.is_complex, double])


@lru_cache(maxsize=32)
def device_table(kernel: HeatKernel, time: Any, double: bool) -> Any:
    """The table of the kernel at a time on JAX's default device, in single or double precision."""
    dtype = np.float64 if double else np.float32
    with np.errstate(over="ignore"):
        table = jax.tree.map(lambda a: np.asarray(a).astype(dtype), kernel.tabulated(time)[0])
    if not all(np.isfinite(a).all() for a in jax.tree.leaves(table)):
        raise InvalidInput(
            f"{kernel!r} at time = {time!r} is beyond single precision. Pass points in double precision, under "
            "jax.enable_x64(True)."
        )
    with jax.enable_x64(double):
        return jax.tree.map(jnp.asarray, table)


@partial(jax.jit, static_argnums=0)
def _values(kernel: HeatKernel, table: Any, X: jax.Array, Y: jax.Array) -> jax.Array:
    return kernel.read_table(table, kernel.manifold.polish(X), kernel.manifold.polish(Y))
