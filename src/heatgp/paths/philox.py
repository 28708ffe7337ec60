"""Random numbers that are functions of a counter: the same for a path and a step, whatever is computed beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax import numpy as jnp

Words = tuple[jax.Array, jax.Array, jax.Array, jax.Array]


def philox(counter: Sequence[Any], key: Sequence[Any]) -> Words:
    """Four random words of 32 bits for each counter of four words and key of two: Philox 4 x 32 with ten rounds.

    Reference: Salmon, Moraes, Dror, Shaw (2011), "Parallel random numbers: as easy as 1, 2, 3", SC11.
    """
    a, b, c, d = counter
    k, m = key
    for _ in range(10):
        (low_a, high_a), (low_c, high_c) = _product(a, 0xD2511F53), _product(c, 0xCD9E8D57)
        a, b, c, d = high_c ^ b ^ k, low_c, high_a ^ d ^ m, low_a
        k, m = k + np.uint32(0x9E3779B9), m + np.uint32(0xBB67AE85)
    return a, b, c, d


def _product(word: jax.Array, factor: int) -> tuple[jax.Array, jax.Array]:
    """The low and the high word of a product."""
    wide = word.astype(jnp.uint64) * np.uint64(factor)
    return wide.astype(jnp.uint32), (wide >> np.uint64(32)).astype(jnp.uint32)


def normals(words: Words, dtype: np.dtype) -> list[jax.Array]:
    """Four independent N(0, 1) numbers from four random words, by Box and Muller.

    With 32 bits the tails end at 6.8 standard deviations. The second moment is less than one by 8e-11 of it, the fourth
    less than three by 2e-9 of it.
    """
    out = []
    for first, second in (words[:2], words[2:]):
        uniform = first.astype(dtype) * dtype.type(2.0**-32) + dtype.type(2.0**-33)
        radius = jnp.sqrt(dtype.type(-2) * jnp.log(uniform))
        angle = second.astype(dtype) * dtype.type(2 * math.pi * 2.0**-32)
        out += [radius * jnp.cos(angle), radius * jnp.sin(angle)]
    return out


def white_noise(path: Any, step: Any, key: Sequence[Any], number: int, dtype: np.dtype) -> list[jax.Array]:
    """`number` independent N(0, 1) numbers for each path at a step: the same whatever else is computed beside them."""
    out: list[jax.Array] = []
    zero = jnp.zeros_like(path)
    for draw in range(math.ceil(number / 4)):
        out += normals(philox((path, zero + step, zero + np.uint32(draw), zero), key), dtype)
    return out[:number]
