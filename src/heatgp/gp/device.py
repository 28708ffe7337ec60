"""Covariances on the device of JAX arrays, in double precision: from tables of the kernel at a time.

Functions here are compiled once for each kernel and shape; another time changes numbers, not the program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import numpy as jnp

from ..covariance import Array, Evaluation, Kernel, Normalized
from ..errors import InvalidInput, Unsupported

SMALLEST = 1 << 6
"""Rows of the smallest arrays that programs are compiled for."""
PAIRS = 1 << 25
"""Pairs of points whose covariances are in the memory of a device at one time: some arrays of 256 MB."""

PAIRS_OF_PROCESSOR = 1 << 19
"""The same where JAX runs on a processor."""

ON_PROCESSOR = False
"""Whether models are computed by JAX where its device is a processor: NumPy is faster there. Tests set it."""


class Tables(NamedTuple):
    """A kernel at a time, on the device: numbers, and their derivatives in each log time."""

    numbers: Any
    slopes: list[Any]


def runs_on_device(kernel: Kernel, time: Any) -> bool:
    """Whether there is a device that is faster than NumPy, and the kernel has tables."""
    if jax.default_backend() == "cpu" and not ON_PROCESSOR:
        return False
    try:
        hash(kernel)
        tables(kernel, time)
    except (AttributeError, InvalidInput, TypeError, Unsupported):  # densities may be beyond floating point
        return False
    return True


@lru_cache(maxsize=8)
def tables(kernel: Kernel, time: Any) -> Tables:
    """The tables of a kernel at a time."""
    return Tables(*on_device(_unscaled(kernel).tabulated(time)))


def of_tables(kernel: Kernel, X: Array, make: Callable[..., Any]) -> Callable[[Any], Evaluation]:
    """An evaluation at each time, of what `make` makes of the tables, the prior variances and the number of a slope."""
    own = kernel.paired(X)

    def at(time: Any) -> Evaluation:
        found, at_time = own.at(time), tables(kernel, time)
        value: Any = make(at_time, found.value)
        slopes: Any = [make(at_time, slope, k) for k, slope in enumerate(found.slopes)]
        return Evaluation(lambda: value, lambda: slopes)

    return at


def on_device(arrays: Any) -> Any:
    """Arrays, also in tuples and lists, in double precision on JAX's default device."""
    with jax.enable_x64(True):
        return jax.tree.map(lambda a: jnp.asarray(a, dtype=complex if np.iscomplexobj(a) else float), arrays)


def filled(array: Array, length: int) -> Array:
    """The array with zeros after its last row."""
    return np.concatenate([array, np.zeros((length - len(array), *array.shape[1:]), array.dtype)])


def parts(number: int, pairs: int) -> Iterator[tuple[slice, int]]:
    """Rows that are worked on at one time, and to how many they are filled up; `pairs` are those of a row."""
    most = max(SMALLEST, (PAIRS_OF_PROCESSOR if jax.default_backend() == "cpu" else PAIRS) // pairs)
    size = SMALLEST if number <= SMALLEST else 1 << (most.bit_length() - 1)
    return ((slice(start, min(start + size, number)), size) for start in range(0, number, size))


def covariance(kernel: Kernel, numbers: Any, X: Any, Y: Any) -> Any:
    """k(x_i, y_j), (N, M), inside a compiled function."""
    inner = _unscaled(kernel)
    values = inner.read_table(numbers, X, Y)
    if inner is kernel:
        return values
    left, right = (jnp.sqrt(variances(kernel, numbers, Z)) for Z in (X, Y))
    return values / (left[:, None] * right)


def variances(kernel: Kernel, numbers: Any, X: Any) -> Any:
    """k(x_i, x_i) before it is divided by its diagonal; one number where it is the same everywhere."""
    inner = _unscaled(kernel)
    some = X[:1] if inner.has_constant_variance else X
    return jax.vmap(lambda x: inner.read_table(numbers, x[None], x[None])[0, 0])(some)


def _unscaled(kernel: Kernel) -> Any:
    """The kernel that has tables: the one that is divided by its diagonal."""
    return kernel.kernel if isinstance(kernel, Normalized) else kernel
