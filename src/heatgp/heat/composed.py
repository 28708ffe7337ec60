"""Kernels of manifolds made of others: products multiply, quotients sum, scaled manifolds change the time.

The kernel of a product has one time, or one for each factor.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import accumulate
from typing import Any

import numpy as np

from ..array import Array
from ..covariance import Evaluation, Gradients, TimeFunction, product, scaled_vectors, total, with_scale
from ..errors import InvalidInput
from ..manifolds import Euclidean, Manifold, Product, Quotient, Scaled
from ..manifolds.composed.wrapper import Wrapper
from .kernel import HeatKernel, Replicates


@dataclass(frozen=True)
class ProductKernel(HeatKernel):
    """p_t of a product is the product of the factors' p_t; with `own_times` every factor has a time of its own."""

    manifold: Product
    factors: tuple[HeatKernel, ...]
    own_times: bool = False

    def __post_init__(self) -> None:
        for factor in self.factors:
            if factor.weight_parameters:
                raise InvalidInput(
                    f"{factor!r} is a sum, and a factor of a product cannot be one. Multiply out: give the sum of "
                    "kernels of the product, such as k.on(product, 0, 1)."
                )
        if any(factor.parameters > 1 for factor in self.factors):
            object.__setattr__(self, "own_times", True)

    def __repr__(self) -> str:
        return f"ProductKernel({', '.join(map(repr, self.factors))}{', own_times=True' if self.own_times else ''})"

    @property
    def method(self) -> str:
        return " x ".join(factor.method for factor in self.factors)

    @property
    def is_exact(self) -> bool:
        return all(factor.is_exact for factor in self.factors)

    @property
    def detail(self) -> float:
        return max(factor.detail for factor in self.factors)

    @property
    def parameters(self) -> int:
        return sum(factor.parameters for factor in self.factors) if self.own_times else 1

    @property
    def remedy(self) -> str:
        return max(self.factors, key=lambda factor: factor.times[0]).remedy

    @property
    def advice(self) -> str:
        return advice_of(self.factors)

    @property
    def times(self) -> tuple[float, float]:
        """Common to all factors; where each has its own time, those of any of them."""
        low, high = [f.times[0] for f in self.factors], [f.times[1] for f in self.factors]
        return (min(low), max(high)) if self.own_times else (max(low), min(high))

    def check_time(self, time: Any) -> Any:
        times = super().check_time(time)
        if self.parameters == 1:
            return times
        checked = [f.check_time(t) for f, t in zip(self.factors, divided(self.factors, times))]
        return tuple(np.hstack(checked).tolist())

    def pairs(self, X: Array, Y: Array | None = None) -> TimeFunction:
        return self.product_of(lambda f, x, y: f.pairs(x, y), X, Y)

    def paired(self, X: Array, Y: Array | None = None) -> TimeFunction:
        return self.product_of(lambda f, x, y: f.paired(x, y), X, Y)

    def product_of(self, prepare: Callable[..., TimeFunction], X: Array, Y: Array | None) -> TimeFunction:
        """The product of what `prepare` makes of each factor and its points."""
        xs = self.manifold.split(np.asarray(X))
        ys = [None] * len(xs) if Y is None else self.manifold.split(np.asarray(Y))
        parts = [prepare(f, x, y) for f, x, y in zip(self.factors, xs, ys)]

        def at(time: Any) -> Evaluation:
            return product([part.at(t) for part, t in zip(parts, self._times_of_factors(time))], self.own_times)

        return TimeFunction(at)

    @property
    def has_constant_variance(self) -> bool:
        return all(factor.has_constant_variance for factor in self.factors)

    def with_gradients(self, X: Array, Y: Array, time: Any) -> Gradients:
        """The gradient of each factor times the values of the others."""
        points = (self.manifold.split(np.asarray(Z)) for Z in (X, Y))
        found = [f.with_gradients(*own) for f, *own in zip(self.factors, *points, self._times_of_factors(time))]
        vectors = []
        for i, own in enumerate(found):
            others = reduce(np.multiply, [f.value for j, f in enumerate(found) if j != i], np.ones(own.value.shape))
            vectors.append(scaled_vectors(others, own.gradient))
        value = reduce(np.multiply, [f.value for f in found])
        return Gradients(value, np.asarray(self.manifold.join(*vectors)), math.fsum(f.log_scale for f in found))

    def tabulated(self, time: Any) -> tuple[Any, list[Any]]:
        found = [f.tabulated(t) for f, t in zip(self.factors, self._times_of_factors(time))]
        numbers = tuple(own for own, _ in found)
        if not self.own_times:
            return numbers, [tuple(slope for _, (slope,) in found)]
        still = tuple(map(zeros, numbers))
        slopes = [(*still[:i], slope, *still[i + 1 :]) for i, (_, own) in enumerate(found) for slope in own]
        return numbers, slopes

    def _times_of_factors(self, time: Any) -> Sequence[Any]:
        return divided(self.factors, time) if self.own_times else (time,) * len(self.factors)

    def read_table(self, numbers: Any, X: Array, Y: Array) -> Array:
        parts = zip(self.factors, numbers, self.manifold.split(X), self.manifold.split(Y))
        return math.prod(f.read_table(own, x, y) for f, own, x, y in parts)

    def as_positive_definite(self) -> HeatKernel:
        return replace(self, factors=tuple(f.as_positive_definite() for f in self.factors))

    def with_times(self, which: str | None) -> HeatKernel:
        """By default one for each factor, also of a product that is a factor."""
        if which is None:
            factors = tuple(factor.with_times(None) for factor in self.factors)
            return replace(self, factors=factors, own_times=self.own_times or len(factors) > 1)
        factors = self.factors if which == "each" else tuple(f.with_times(which) for f in self.factors)
        return replace(self, factors=factors, own_times=which != "shared")

    def time_parts(self, X: np.ndarray) -> list[tuple[HeatKernel, np.ndarray]]:
        if not self.own_times:
            return super().time_parts(X)
        parts = zip(self.factors, self.manifold.split(X))
        return [found for factor, x in parts for found in factor.time_parts(np.asarray(x))]

    def images(self, X: Array) -> list[np.ndarray]:
        parts = [factor.images(x) for factor, x in zip(self.factors, self.manifold.split(np.asarray(X)))]
        return [np.asarray(self.manifold.join(*choice)) for choice in itertools.product(*parts)]

    def same_points(self, X: Array) -> list[np.ndarray]:
        parts, found = self.manifold.split(np.asarray(X)), []
        for i, (factor, part) in enumerate(zip(self.factors, parts)):
            found += [self.manifold.join(*parts[:i], y, *parts[i + 1 :]) for y in factor.same_points(part)]
        return found

    def replicates(self, number: int) -> list[Replicates]:
        """The sources of error of every factor, one at a time."""
        return [
            replace(source, kernels=tuple(self._with_factor(i, kernel) for kernel in source.kernels))
            for i, factor in enumerate(self.factors)
            for source in factor.replicates(number)
        ]

    def _with_factor(self, place: int, kernel: HeatKernel) -> ProductKernel:
        return replace(self, factors=(*self.factors[:place], kernel, *self.factors[place + 1 :]))


def advice_of(kernels: Sequence[HeatKernel]) -> str:
    """What to do where a time is out of range of several kernels: that of one with a limit."""
    return next((k.advice for k in kernels if k.times != (0.0, math.inf)), kernels[0].advice)


@dataclass(frozen=True, repr=False)
class WrappedKernel(HeatKernel):
    """A kernel made of one other, `base`."""

    manifold: Manifold
    base: HeatKernel

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.manifold!r}, {self.base!r})"

    @property
    def method(self) -> str:
        return self.base.method

    @property
    def is_exact(self) -> bool:
        return self.base.is_exact

    @property
    def detail(self) -> float:
        return self.base.detail

    @property
    def remedy(self) -> str:
        return self.base.remedy

    @property
    def advice(self) -> str:
        return self.base.advice

    @property
    def times(self) -> tuple[float, float]:
        return self.base.times

    def as_positive_definite(self) -> HeatKernel:
        return replace(self, base=self.base.as_positive_definite())

    def images(self, X: Array) -> list[np.ndarray]:
        return self.base.images(X)

    def same_points(self, X: Array) -> list[np.ndarray]:
        return self.base.same_points(X)

    def replicates(self, number: int) -> list[Replicates]:
        return [
            replace(source, kernels=tuple(replace(self, base=kernel) for kernel in source.kernels))
            for source in self.base.replicates(number)
        ]


@dataclass(frozen=True, repr=False)
class QuotientKernel(WrappedKernel):
    """p_t of M/G is the sum over g of M's p_t(x, gy).

    A kernel that is not exactly invariant under isometries (random cosets or reference points, estimated factors that
    an isometry exchanges) takes the mean over g and h of p_t(gx, hy) |G| instead, which is positive definite in any
    case.
    """

    manifold: Quotient

    def pairs(self, X: Array, Y: Array | None = None) -> TimeFunction:
        other = X if Y is None else Y
        left = self._left(X)
        # All parts are kept: each has at least one coordinate and one value for each pair.
        self.check_pairs(len(X), len(other), 2 * len(left) * len(self.manifold.isometries))
        parts = [self.base.pairs(x, y) for x in left for y in self._images(other)]

        def at(time: Any) -> Evaluation:
            found = total([part.at(time) for part in parts]).scaled(1 / len(left))
            return found.symmetrized() if Y is None else found

        return TimeFunction(at)

    def paired(self, X: Array, Y: Array | None = None) -> TimeFunction:
        left = self._left(X)
        parts = [self.base.paired(x, y) for x in left for y in self._images(X if Y is None else Y)]
        return TimeFunction(lambda time: total([part.at(time) for part in parts]).scaled(1 / len(left)))

    def with_gradients(self, X: Array, Y: Array, time: Any) -> Gradients:
        if not self.base.is_exact:  # means over images of x too, whose gradients would have to be carried back
            return super().with_gradients(X, Y, time)
        parts = [self.base.with_gradients(X, y, time) for y in self._images(Y)]
        value, gradient = reduce(np.add, [p.value for p in parts]), reduce(np.add, [p.gradient for p in parts])
        return Gradients(value, gradient, parts[0].log_scale)

    def images(self, X: Array) -> list[np.ndarray]:
        return self._images(X)

    def same_points(self, X: Array) -> list[np.ndarray]:
        return [*self._images(X), *self.base.same_points(X)]

    def tabulated(self, time: Any) -> tuple[Any, list[Any]]:
        return self.base.tabulated(time)

    def read_table(self, numbers: Any, X: Array, Y: Array) -> Array:
        return sum(self.base.read_table(numbers, X, g(Y)) for g in self.manifold.isometries)

    def _images(self, X: Array) -> list[np.ndarray]:
        return [np.asarray(g(X)) for g in self.manifold.isometries]

    def _left(self, X: Array) -> list[np.ndarray]:
        return [np.asarray(X)] if self.base.is_exact else self._images(X)


@dataclass(frozen=True, repr=False)
class ScaledKernel(WrappedKernel):
    """The kernel of M with distances multiplied by s is s^-dim p_(t/s²)."""

    manifold: Scaled

    @property
    def parameters(self) -> int:
        return self.base.parameters

    def with_times(self, which: str | None) -> HeatKernel:
        """Those of the base: a scaled product is a product."""
        base = self.base.with_times(which)
        return self if base is self.base else replace(self, base=base)

    def time_parts(self, X: np.ndarray) -> list[tuple[HeatKernel, np.ndarray]]:
        if self.parameters == 1:
            return super().time_parts(X)
        scale = self.manifold.scale
        return [(ScaledKernel(Scaled(part.manifold, scale), part), x) for part, x in self.base.time_parts(X)]

    def check_time(self, time: Any) -> Any:
        times = super().check_time(time)
        if self.parameters > 1:
            self.base.check_time(np.divide(times, self.manifold.scale**2))
        return times

    @property
    def times(self) -> tuple[float, float]:
        low, high = self.base.times
        return low * self.manifold.scale**2, high * self.manifold.scale**2

    def pairs(self, X: Array, Y: Array | None = None) -> TimeFunction:
        return self._slower(self.base.pairs(X, Y))

    def paired(self, X: Array, Y: Array | None = None) -> TimeFunction:
        return self._slower(self.base.paired(X, Y))

    @property
    def has_constant_variance(self) -> bool:
        return self.base.has_constant_variance

    def with_gradients(self, X: Array, Y: Array, time: Any) -> Gradients:
        """The metric is s² times that of M, so that gradients are those of M over s²."""
        square = self.manifold.scale**2
        found = self.base.with_gradients(X, Y, np.divide(time, square))
        shift = -self.manifold.dim * math.log(self.manifold.scale)
        return Gradients(found.value, found.gradient / square, found.log_scale + shift)

    def tabulated(self, time: Any) -> tuple[Any, list[Any]]:
        scale = self.manifold.scale
        numbers, slopes = self.base.tabulated(np.divide(time, scale**2))
        factor = with_scale(np.ones(()), -self.manifold.dim * math.log(scale))
        return (numbers, factor), [(slope, np.zeros(())) for slope in slopes]

    def read_table(self, numbers: Any, X: Array, Y: Array) -> Array:
        table, factor = numbers
        return factor * self.base.read_table(table, X, Y)

    def features(self, X: Array) -> TimeFunction | None:
        rows = self.base.features(X)
        return None if rows is None else self._slower(rows, power=0.5)

    def _slower(self, function: TimeFunction, power: float = 1.0) -> TimeFunction:
        """The base's function of time, at t/s² and divided by s^dim (its root for features)."""
        square, shift = self.manifold.scale**2, -power * self.manifold.dim * math.log(self.manifold.scale)
        return TimeFunction(lambda time: function.at(np.divide(time, square)).shifted(shift))


def zeros(numbers: Any) -> Any:
    """Zeros in the place of the arrays of nested tuples."""
    return tuple(map(zeros, numbers)) if isinstance(numbers, tuple) else np.zeros_like(numbers)


def has_units(manifold: Manifold) -> bool:
    """Whether lengths on a manifold have a unit of the user's, such as metres: those of R^n, its parts and copies."""
    if isinstance(manifold, Wrapper):
        return has_units(manifold.base)
    return isinstance(manifold, Euclidean) or (isinstance(manifold, Product) and any(map(has_units, manifold.factors)))


def divided(kernels: Sequence[HeatKernel], numbers: Any) -> list[Any]:
    """The numbers that each of several kernels takes: one number, or a tuple where it takes several."""
    numbers = tuple(np.atleast_1d(numbers).tolist())
    ends = accumulate(kernel.parameters for kernel in kernels)
    cut = [numbers[end - kernel.parameters : end] for kernel, end in zip(kernels, ends)]
    return [part[0] if len(part) == 1 else part for part in cut]


def composed_of(manifold: Manifold) -> tuple[Manifold, ...]:
    """The manifolds that a composed one is made of; none for any other."""
    if isinstance(manifold, Product):
        return manifold.factors
    return (manifold.base,) if isinstance(manifold, (Quotient, Scaled)) else ()


def compose(manifold: Manifold, parts: tuple[HeatKernel, ...]) -> HeatKernel:
    """The kernel of a composed manifold from those of its parts."""
    if isinstance(manifold, Product):
        return ProductKernel(manifold, parts)
    if isinstance(manifold, Quotient):
        return QuotientKernel(manifold, parts[0])
    assert isinstance(manifold, Scaled)
    return ScaledKernel(manifold, parts[0])
