"""What the properties share: a manifold, a few of its points, and ways to say what is wrong."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..arguments import check_number
from ..array import Array
from ..errors import InvalidInput, Unsupported
from ..manifolds import Manifold
from ..manifolds.checks import unchecked

REACH = 0.1
"""Lengths up to which distances are checked: below the injectivity radius of manifolds of diameter one or more."""
SIGMAS = 5.0
"""Standard errors that a sample mean may be off."""


def problems_of(properties: Iterable[Callable[[Any], Iterator[str]]], sample: Any) -> list[str]:
    """What the properties find wrong, in sentences that begin with its name; what is Unsupported is not checked."""
    problems: list[str] = []
    for check in properties:
        try:
            problems += [f"{check.__name__}: {problem}" for problem in check(sample)]
        except Unsupported:
            continue
        except Exception as error:
            problems.append(f"{check.__name__}: raised {type(error).__name__}: {error}")
    return problems


def checked_tolerance(tolerance: Any) -> float:
    """A number that is not negative: below zero, everything would be wrong."""
    if check_number("tolerance", tolerance) < 0:
        raise InvalidInput(f"tolerance must be 0 or positive; got {tolerance}.")
    return float(tolerance)


@dataclass(frozen=True)
class Sample:
    """A manifold with a few random points and tangent vectors, shared by the properties."""

    manifold: Manifold
    rng: np.random.Generator
    tolerance: float

    @cached_property
    def x(self) -> np.ndarray:
        return self.manifold.random(self.rng, 6)

    @cached_property
    def v(self) -> np.ndarray:
        return self.tangents(self.x, len(self.x))

    def white(self, *batch: int) -> np.ndarray:
        """White noise of the shape of points (complex where they are)."""
        z = self.rng.standard_normal((2, *batch, *self.manifold.shape))
        return z[0] + 1j * z[1] if self.manifold.is_complex else z[0]

    def tangents(self, x: Array, *batch: int) -> Array:
        return self.manifold.noise(x, self.white(*batch))

    def exp(self, x: Array, v: Array) -> Array:
        """As the class defines it: checks of the arguments would hide what is wrong."""
        return unchecked(self.manifold.exp)(x, v)

    def log(self, x: Array, y: Array) -> Array:
        return unchecked(self.manifold.log)(x, y)

    def distance(self, x: Array, y: Array) -> Array:
        return unchecked(self.manifold.distance)(x, y)

    def row(self, x: Array) -> np.ndarray:
        """Points or vectors (..., *shape) as real rows (..., size)."""
        x = np.asarray(x)
        batch = x.shape[: x.ndim - len(self.manifold.shape)]
        flat = x.reshape(*batch, math.prod(self.manifold.shape))
        return np.concatenate((flat.real, flat.imag), axis=-1) if self.manifold.is_complex else flat

    def above(self, what: str, value: Array, limit: float | None = None) -> Iterator[str]:
        """A problem when the largest value passes the limit (by default the tolerance) or is NaN."""
        limit = self.tolerance if limit is None else limit
        largest = float(np.max(np.abs(np.asarray(value)), initial=0.0))
        if not largest <= limit:
            yield f"{what}: {largest:.2g} > {limit:.2g}"

    def apart(self, what: str, found: Array, expected: Array) -> Iterator[str]:
        """A problem when arrays differ in shape or by more than the tolerance."""
        found, expected = np.asarray(found), np.asarray(expected)
        if found.shape != expected.shape:
            yield f"{what}: shape {found.shape} instead of {expected.shape}"
        else:
            with np.errstate(invalid="ignore"):  # equal infinities agree
                yield from self.above(what, np.where(found == expected, 0, found - expected))

    def biased(self, what: str, values: np.ndarray, expected: float = 0.0) -> Iterator[str]:
        """A problem when a column's mean is more than SIGMAS standard errors from what is expected."""
        error = values.std(axis=0, ddof=1) / math.sqrt(len(values)) + self.tolerance
        yield from self.above(f"{what}, in standard errors", (values.mean(axis=0) - expected) / error, SIGMAS)

    def speed(self, x: Array, v: Array) -> np.ndarray:
        """|v|, the distance that exp goes, by a short piece of the geodesic."""
        short = REACH / 10
        return np.asarray(self.distance(x, self.exp(x, short * v))) / short

    def basis(self, x: Array) -> Array:
        """The tangent vectors that the unit vectors of white noise become."""
        size = math.prod(self.manifold.shape)
        one = np.eye(size).reshape(size, *self.manifold.shape)
        unit = np.concatenate((one, 1j * one)) if self.manifold.is_complex else one
        return self.manifold.noise(x, unit)
