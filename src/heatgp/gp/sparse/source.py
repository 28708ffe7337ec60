"""Data that are read in parts, so that they need not be in memory at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np

from ...covariance import Array
from ...threads import on_all_threads
from .inducing import Inducing
from .statistics import Statistics

NUMBERS = 1 << 22
"""Numbers of a chunk of features, 32 MB."""


class Chunk(NamedTuple):
    """Some of the data."""

    X: Array  # points
    y: Array  # (n,), less what is known of the mean
    basis: Array  # (n, q), of the mean
    noise: Array | None  # (n,), relative variances of the noise; None where all are one

    @property
    def mean(self) -> Any:
        """The mean as a dense model takes it: values of basis functions, or "zero"."""
        return self.basis if self.basis.shape[1] else "zero"

    def some(self, rows: Any) -> Chunk:
        """A slice of the rows, or those of these numbers."""
        return Chunk(self.X[rows], self.y[rows], self.basis[rows], None if self.noise is None else self.noise[rows])


def random_rows(count: int, number: int, rng: Any = 0) -> Array:
    """The numbers of so many random rows, sorted, always the same ones, or of all rows."""
    if number >= count:
        return np.arange(count)
    return np.sort(np.random.default_rng(rng).choice(count, number, replace=False))


@dataclass(frozen=True)
class Source:
    """N data, of which any rows can be read."""

    count: int
    read: Callable[[Any], Chunk]  # of a slice or of row numbers
    cores: float = 1.0  # how many times faster than one core a pass over them is
    on_device: bool = False  # whether they are in JAX arrays

    def sample(self, number: int, rng: Any = 0) -> Chunk:
        """So many random data, always the same ones, or all of them."""
        if number >= self.count:
            return self.read(slice(None))
        return self.read(random_rows(self.count, number, rng))

    def chunks(self, width: int) -> Iterator[Chunk]:
        """All data in parts; `width` is how many numbers will be computed for each of them."""
        size = max(1, NUMBERS // width)
        return (self.read(slice(start, start + size)) for start in range(0, max(1, self.count), size))


def statistics_of(chunk: Chunk, inducing: Inducing, start: Array) -> Statistics:
    """Of some data; `start` are coefficients of the basis that are subtracted from y."""
    return Statistics.of(inducing.features(chunk.X), chunk.basis, chunk.y - chunk.basis @ start, chunk.noise)


def collected(source: Source, inducing: Inducing, start: Array) -> Statistics:
    """The statistics of all data, in one pass."""
    chunks, operations = source.chunks(len(inducing)), 2.0 * source.count * len(inducing) ** 2
    return reduce(add, on_all_threads(lambda chunk: statistics_of(chunk, inducing, start), chunks, operations))
