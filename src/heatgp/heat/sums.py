"""Sums of kernels: additive effects, each of its own factors of a product, or of its own length."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from ..arguments import is_integer
from ..array import Array
from ..covariance import Gradients, Normalized, TimeFunction, weighted_sum
from ..errors import InvalidInput
from ..manifolds import Manifold, Product
from .composed import WrappedKernel, advice_of, divided
from .kernel import HeatKernel, Replicates


@dataclass(frozen=True, repr=False)
class FactorsKernel(WrappedKernel):
    """A kernel of points of a product that sees some factors only: `base` is a kernel of these."""

    manifold: Product
    places: tuple[int, ...]

    def __repr__(self) -> str:
        return f"{self.base!r}.on({', '.join([repr(self.manifold), *map(str, self.places)])})"

    @property
    def parameters(self) -> int:
        return self.base.parameters

    def check_time(self, time: Any) -> Any:
        return self.base.check_time(time)

    def with_times(self, which: str | None) -> HeatKernel:
        return replace(self, base=self.base.with_times(which))

    def time_parts(self, X: np.ndarray) -> list[tuple[HeatKernel, np.ndarray]]:
        return self.base.time_parts(self.seen(X))

    def seen(self, X: Array) -> np.ndarray:
        """The points of the factors."""
        parts = self.manifold.split(np.asarray(X))
        chosen = [parts[place] for place in self.places]
        base = self.base.manifold
        return np.asarray(base.join(*chosen) if len(chosen) > 1 and isinstance(base, Product) else chosen[0])

    def same_points(self, X: Array) -> list[np.ndarray]:
        base, found = self.base.manifold, []
        for y in self.base.same_points(self.seen(X)):
            parts = list(self.manifold.split(np.asarray(X)))
            seen = base.split(y) if len(self.places) > 1 and isinstance(base, Product) else (y,)
            for place, part in zip(self.places, seen):
                parts[place] = part
            found.append(np.asarray(self.manifold.join(*parts)))
        return found

    def images(self, X: Array) -> list[np.ndarray]:
        """X alone: neighbors are looked for with all factors."""
        return [np.asarray(X)]

    def pairs(self, X: Array, Y: Array | None = None) -> TimeFunction:
        return self.base.pairs(self.seen(X), None if Y is None else self.seen(Y))

    def paired(self, X: Array, Y: Array | None = None) -> TimeFunction:
        return self.base.paired(self.seen(X), None if Y is None else self.seen(Y))

    def features(self, X: Array) -> TimeFunction | None:
        return self.base.features(self.seen(X))

    @property
    def has_constant_variance(self) -> bool:
        return self.base.has_constant_variance

    def with_gradients(self, X: Array, Y: Array, time: Any) -> Gradients:
        """Zero along the factors that are not seen."""
        found = self.base.with_gradients(self.seen(X), self.seen(Y), time)
        base, own = self.base.manifold, found.gradient
        seen = base.split(own) if len(self.places) > 1 and isinstance(base, Product) else (own,)
        vectors = [np.zeros((*found.value.shape, *factor.shape)) for factor in self.manifold.factors]
        for place, part in zip(self.places, seen):
            vectors[place] = part
        return replace(found, gradient=np.asarray(self.manifold.join(*vectors)))


@dataclass(frozen=True)
class SumKernel(HeatKernel):
    """The sum of correlations with weights, c_0 + w_1 c_1 + w_2 c_2 + ..., of kernels of one manifold.

    The correlation of a kernel k is c(x, y) = k(x, y) / √(k(x, x) k(y, y)). Densities on manifolds of different
    dimensions have different units and cannot be added; correlations can. The numbers that the kernel takes are the
    times of all summands, in their order, and then the weights of all but the first, whose weight is one: the amplitude
    of a model multiplies all.
    """

    manifold: Manifold
    summands: tuple[HeatKernel, ...]

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.summands))

    @property
    def method(self) -> str:
        return " + ".join(summand.method for summand in self.summands)

    @property
    def is_exact(self) -> bool:
        return all(summand.is_exact for summand in self.summands)

    @property
    def detail(self) -> float:
        return max(summand.detail for summand in self.summands)

    @property
    def parameters(self) -> int:
        return sum(summand.parameters for summand in self.summands) + self.weight_parameters

    @property
    def weight_parameters(self) -> int:
        return len(self.summands) - 1

    @property
    def remedy(self) -> str:
        return max(self.summands, key=lambda summand: summand.times[0]).remedy

    @property
    def advice(self) -> str:
        return advice_of(self.summands)

    @property
    def times(self) -> tuple[float, float]:
        """Those of any summand."""
        return min(s.times[0] for s in self.summands), max(s.times[1] for s in self.summands)

    def check_time(self, time: Any) -> Any:
        numbers = HeatKernel.check_time(self, time)
        checked = [s.check_time(t) for s, t in zip(self.summands, divided(self.summands, numbers))]
        return tuple(np.hstack([*checked, numbers[-self.weight_parameters :]]).tolist())

    def on(self, product: Product, *factors: int) -> HeatKernel:
        return replace(self, manifold=product, summands=tuple(s.on(product, *factors) for s in self.summands))

    def with_times(self, which: str | None) -> HeatKernel:
        return replace(self, summands=tuple(summand.with_times(which) for summand in self.summands))

    def time_parts(self, X: np.ndarray) -> list[tuple[HeatKernel, np.ndarray]]:
        return [part for summand in self.summands for part in summand.time_parts(X)]

    def pairs(self, X: Array, Y: Array | None = None) -> TimeFunction:
        return self._sum(lambda correlation: correlation.pairs(X, Y))

    def paired(self, X: Array, Y: Array | None = None) -> TimeFunction:
        return self._sum(lambda correlation: correlation.paired(X, Y))

    @property
    def has_constant_variance(self) -> bool:
        return True

    def with_gradients(self, X: Array, Y: Array, time: Any) -> Gradients:
        weights, times = (1.0, *time[-self.weight_parameters :]), divided(self.summands, time)
        parts = [Normalized(s).with_gradients(X, Y, t) for s, t in zip(self.summands, times)]
        factors = [weight * math.exp(part.log_scale) for weight, part in zip(weights, parts)]
        return Gradients(
            reduce(np.add, [factor * part.value for factor, part in zip(factors, parts)]),
            reduce(np.add, [factor * part.gradient for factor, part in zip(factors, parts)]),
        )

    def same_points(self, X: Array) -> list[np.ndarray]:
        """Those of any summand: a summand of other factors does not see the difference."""
        return [y for kernel in self.summands for y in kernel.same_points(X)]

    def _sum(self, prepare: Callable[[Normalized], TimeFunction]) -> TimeFunction:
        parts = [prepare(Normalized(summand)) for summand in self.summands]

        def at(numbers: Any) -> Any:
            times = divided(self.summands, numbers)
            return weighted_sum(
                [part.at(t) for part, t in zip(parts, times)], (1.0, *numbers[-self.weight_parameters :])
            )

        return TimeFunction(at)

    def as_positive_definite(self) -> HeatKernel:
        return replace(self, summands=tuple(summand.as_positive_definite() for summand in self.summands))

    def replicates(self, number: int) -> list[Replicates]:
        """The sources of error of every summand, one at a time; summands of one simulation count as independent."""
        return [
            replace(source, kernels=tuple(self._with_summand(i, kernel) for kernel in source.kernels))
            for i, summand in enumerate(self.summands)
            for source in summand.replicates(number)
        ]

    def _with_summand(self, place: int, kernel: HeatKernel) -> SumKernel:
        return replace(self, summands=(*self.summands[:place], kernel, *self.summands[place + 1 :]))


def added(one: HeatKernel, other: HeatKernel) -> SumKernel:
    """The sum of two kernels of one manifold; sums of sums are one sum."""
    if one.manifold != other.manifold:
        raise InvalidInput(
            f"{one!r} is a kernel of {one.manifold!r} and {other!r} of {other.manifold!r}: kernels of one manifold can "
            "be added. Make both kernels of their product P with `on`: k1.on(P, 0) + k2.on(P, 1)."
        )
    parts = [kernel.summands if isinstance(kernel, SumKernel) else (kernel,) for kernel in (one, other)]
    return SumKernel(one.manifold, (*parts[0], *parts[1]))


def on_factors(kernel: HeatKernel, product: Any, places: tuple[Any, ...]) -> FactorsKernel:
    """The kernel of some factors of a product as one of the product, or InvalidInput."""
    if not isinstance(product, Product):
        raise InvalidInput(f"`on` needs a Product and the numbers of its factors; got {product!r}.")
    number = len(product.factors)
    known = all(is_integer(place) and 0 <= place < number for place in places)
    if not places or not known or list(places) != sorted(set(places)):
        raise InvalidInput(
            f"factors = {places!r} must be different numbers from 0 to {number - 1}, increasing: {product!r} has "
            f"{number} factors."
        )
    whole = chosen_factors(product, places)
    if kernel.manifold != whole:
        raise InvalidInput(
            f"{kernel!r} is a kernel of {kernel.manifold!r}; factors {', '.join(map(str, places))} of {product!r} are "
            f"{whole!r}."
        )
    return FactorsKernel(product, kernel, tuple(int(place) for place in places))


def chosen_factors(product: Product, places: Sequence[int]) -> Manifold:
    """One factor of a product, or the product of several."""
    chosen = [product.factors[place] for place in places]
    return chosen[0] if len(chosen) == 1 else Product(*chosen)
