"""Kernels of manifolds made of others: products multiply, quotients sum, scaled ones change the clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..array import Array
from ..manifolds import Product, Quotient, Scaled
from .kernel import HeatKernel, HeatPairs


@dataclass(frozen=True)
class ProductKernel(HeatKernel):
    """p_t of a product is the product of the factors' p_t; with `each`, every factor has a time of its own."""

    manifold: Product
    factors: tuple[HeatKernel, ...]
    each: bool = False

    def __repr__(self) -> str:
        return f"ProductKernel({', '.join(map(repr, self.factors))}{', each=True' if self.each else ''})"

    @property
    def method(self) -> str:  # type: ignore[override]
        return " x ".join(factor.method for factor in self.factors)

    @property
    def parameters(self) -> int:
        return len(self.factors) if self.each else 1

    @property
    def remedy(self) -> str:
        return max(self.factors, key=lambda factor: factor.times[0]).remedy

    @property
    def times(self) -> tuple[float, float]:
        """Common to all factors; where each has its own time, of any of them."""
        low, high = [f.times[0] for f in self.factors], [f.times[1] for f in self.factors]
        return (min(low), max(high)) if self.each else (max(low), min(high))

    def check_time(self, time: Any) -> Any:
        times = super().check_time(time)
        if self.each:
            return tuple(f.check_time(t) for f, t in zip(self.factors, times))
        return times

    def pairs(self, X: Array, Y: Array | None = None) -> ProductPairs:
        xs = self.manifold.split(X)
        ys = [None] * len(xs) if Y is None else self.manifold.split(Y)
        return ProductPairs(tuple(f.pairs(x, y) for f, x, y in zip(self.factors, xs, ys)), self.each)

    def diag(self, X: Array, time: Any) -> np.ndarray:
        t = self.check_time(time)
        times = t if self.each else (t,) * len(self.factors)
        parts = self.manifold.split(np.asarray(X))
        return np.prod([f.diag(x, s) for f, x, s in zip(self.factors, parts, times)], axis=0)

    def positive_definite(self) -> HeatKernel:
        return ProductKernel(self.manifold, tuple(f.positive_definite() for f in self.factors), self.each)

    def replicates(self, number: int) -> list[HeatKernel]:
        parts = [f.replicates(number) for f in self.factors]
        if not any(parts):
            return []
        columns = zip(*(own or [f] * number for f, own in zip(self.factors, parts)))
        return [ProductKernel(self.manifold, column, self.each) for column in columns]


@dataclass(frozen=True)
class ProductPairs:
    factors: tuple[HeatPairs, ...]
    each: bool

    def _times(self, time: Any) -> tuple[Any, ...]:
        return tuple(time) if self.each else (time,) * len(self.factors)

    def __call__(self, time: Any) -> np.ndarray:
        return _product([pairs(t) for pairs, t in zip(self.factors, self._times(time))])

    def slope(self, time: Any) -> tuple[np.ndarray, np.ndarray]:
        values, slopes = zip(*(pairs.slope(t) for pairs, t in zip(self.factors, self._times(time))))
        parts = np.stack([_product([*values[:i], s.sum(axis=0), *values[i + 1 :]]) for i, s in enumerate(slopes)])
        return _product(list(values)), parts if self.each else parts.sum(axis=0, keepdims=True)

    def error(self, time: Any) -> np.ndarray:
        """The factors were simulated independently: squared relative errors add."""
        values = [pairs(t) for pairs, t in zip(self.factors, self._times(time))]
        errors = [pairs.error(t) for pairs, t in zip(self.factors, self._times(time))]
        parts = [_product([*values[:i], e, *values[i + 1 :]]) for i, e in enumerate(errors)]
        return np.sqrt(sum(part**2 for part in parts))


def _sum(arrays: Sequence[np.ndarray]) -> np.ndarray:
    return np.sum(np.stack(arrays), axis=0)


def _product(arrays: Sequence[np.ndarray]) -> np.ndarray:
    out = arrays[0].copy()
    for array in arrays[1:]:
        out *= array
    return out


@dataclass(frozen=True)
class QuotientKernel(HeatKernel):
    """p_t of M/G is the sum over g of M's p_t(x, gy).

    A kernel that is not invariant to the last digit (random cosets or reference points, estimated factors that an
    isometry exchanges) takes the mean over g and h of p_t(gx, hy) |G| instead, which is positive definite in any case.
    """

    manifold: Quotient
    cover: HeatKernel

    def __repr__(self) -> str:
        return f"QuotientKernel({self.manifold!r}, {self.cover!r})"

    @property
    def method(self) -> str:  # type: ignore[override]
        return self.cover.method

    @property
    def times(self) -> tuple[float, float]:
        return self.cover.times

    def pairs(self, X: Array, Y: Array | None = None) -> SumPairs:
        isometries, other = self.manifold.isometries, X if Y is None else Y
        exact = set(self.cover.method.split(" x ")) == {"exact"}
        left = [X] if exact else [np.asarray(g(X)) for g in isometries]
        parts = tuple(self.cover.pairs(x, np.asarray(g(other))) for x in left for g in isometries)
        return SumPairs(parts, Y is None, 1 / len(left))

    def positive_definite(self) -> HeatKernel:
        return QuotientKernel(self.manifold, self.cover.positive_definite())

    def replicates(self, number: int) -> list[HeatKernel]:
        return [QuotientKernel(self.manifold, part) for part in self.cover.replicates(number)]


@dataclass(frozen=True)
class SumPairs:
    parts: tuple[HeatPairs, ...]
    symmetric: bool
    weight: float = 1.0

    def _symmetrized(self, values: np.ndarray) -> np.ndarray:
        values = self.weight * values
        return (values + values.swapaxes(-1, -2)) / 2 if self.symmetric else values

    def __call__(self, time: Any) -> np.ndarray:
        return self._symmetrized(_sum([part(time) for part in self.parts]))

    def slope(self, time: Any) -> tuple[np.ndarray, np.ndarray]:
        values, slopes = zip(*(part.slope(time) for part in self.parts))
        return self._symmetrized(_sum(values)), self._symmetrized(_sum(slopes))

    def error(self, time: Any) -> np.ndarray:
        """All parts come from one simulation: at worst their errors add."""
        return self._symmetrized(_sum([part.error(time) for part in self.parts]))


@dataclass(frozen=True)
class ScaledKernel(HeatKernel):
    """The kernel of M with distances multiplied by s is s^-dim p_(t/s²)."""

    manifold: Scaled
    base: HeatKernel

    def __repr__(self) -> str:
        return f"ScaledKernel({self.base!r}, scale={self.manifold.scale:g})"

    @property
    def method(self) -> str:  # type: ignore[override]
        return self.base.method

    @property
    def remedy(self) -> str:
        return self.base.remedy

    @property
    def times(self) -> tuple[float, float]:
        low, high = self.base.times
        return low * self.manifold.scale**2, high * self.manifold.scale**2

    def pairs(self, X: Array, Y: Array | None = None) -> ScaledPairs:
        return ScaledPairs(self.base.pairs(X, Y), self.manifold.scale, self.manifold.dim)

    def diag(self, X: Array, time: Any) -> np.ndarray:
        scale = self.manifold.scale
        return self.base.diag(X, self.check_time(time) / scale**2) / scale**self.manifold.dim

    def positive_definite(self) -> HeatKernel:
        return ScaledKernel(self.manifold, self.base.positive_definite())

    def replicates(self, number: int) -> list[HeatKernel]:
        return [ScaledKernel(self.manifold, part) for part in self.base.replicates(number)]


@dataclass(frozen=True)
class ScaledPairs:
    base: HeatPairs
    scale: float
    dim: int

    def __call__(self, time: float) -> np.ndarray:
        return self.base(time / self.scale**2) / self.scale**self.dim

    def slope(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        values, slopes = self.base.slope(time / self.scale**2)
        return values / self.scale**self.dim, slopes / self.scale**self.dim

    def error(self, time: float) -> np.ndarray:
        return self.base.error(time / self.scale**2) / self.scale**self.dim
