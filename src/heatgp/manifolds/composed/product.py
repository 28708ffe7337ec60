"""Products of manifolds; a point is one flat real array."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import final

import numpy as np

from ...array import Array, namespace
from ...errors import InvalidInput
from ..contract import Manifold


def flatten(manifold: Manifold, x: Array) -> Array:
    """Points (..., *shape) as real rows (..., size): complex ones as real parts, then imaginary parts."""
    return _to_row(manifold.is_complex, len(manifold.shape), x)


def unflatten(manifold: Manifold, row: Array) -> Array:
    """Inverse of `flatten`."""
    return _from_row(manifold.is_complex, manifold.shape, row)


def flat_size(manifold: Manifold) -> int:
    return math.prod(manifold.shape) * (2 if manifold.is_complex else 1)


def _to_row(is_complex: bool, axes: int, x: Array) -> Array:
    xp = namespace(x)
    row = xp.reshape(x, (*x.shape[: x.ndim - axes], math.prod(x.shape[x.ndim - axes :])))
    return xp.concat((xp.real(row), xp.imag(row)), axis=-1) if is_complex else row


def _from_row(is_complex: bool, shape: tuple[int, ...], row: Array) -> Array:
    xp = namespace(row)
    if is_complex:
        half = row.shape[-1] // 2
        row = row[..., :half] + 1j * row[..., half:]
    return xp.reshape(row, (*row.shape[:-1], *shape))


@final
class Product(Manifold):
    """M1 x M2 x ... with the sum of the metrics.

    A point is one flat real array: its factors' flattened points side by side, complex ones as real parts followed by
    imaginary parts. Tangent vectors have the same form, geodesics are those of the factors. `split` and `join` convert
    between points of the product and points of the factors, which may be products themselves.

    Parameters
    ----------
    *factors : Manifold
        One or more.

    Examples
    --------
    >>> from heatgp import Euclidean, Sphere
    >>> M = Product(Sphere(2), Euclidean(3))
    >>> M, M.shape, M.dim
    (Product(Sphere(2), Euclidean(3)), (6,), 5)
    """

    violation = "the largest defect of a factor"
    remedy = "Project each factor's part (Product.split) onto its manifold."

    factors: tuple[Manifold, ...]

    def __init__(self, *factors: Manifold) -> None:
        if not factors or not all(isinstance(f, Manifold) for f in factors):
            raise InvalidInput(f"Product needs one or more manifolds; got {factors!r}.")
        object.__setattr__(self, "factors", factors)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{self!r} is immutable.")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Product) and self.factors == other.factors

    def __hash__(self) -> int:
        return hash((Product, self.factors))

    def __repr__(self) -> str:
        return f"Product({', '.join(map(repr, self.factors))})"

    @property
    def shape(self) -> tuple[int, ...]:
        return (sum(flat_size(f) for f in self.factors),)

    @property
    def dim(self) -> int:
        return sum(f.dim for f in self.factors)

    @property
    def volume(self) -> float:
        return math.prod(f.volume for f in self.factors)

    @property
    def volume_error(self) -> float:
        return math.hypot(*(f.volume_error for f in self.factors))

    @property
    def scalar_curvature(self) -> float:
        return sum(f.scalar_curvature for f in self.factors)

    @property
    def step_limit(self) -> float:
        return min(f.step_limit for f in self.factors)

    @property
    def curvature_step_limit(self) -> float:
        return min(f.curvature_step_limit for f in self.factors)

    @property
    def channel_width(self) -> float:
        return min(f.channel_width for f in self.factors)

    @property
    def draws_evenly(self) -> bool:  # type: ignore[override]
        return all(f.draws_evenly for f in self.factors)

    @property
    def periodic(self) -> tuple[float | None, ...] | None:  # type: ignore[override]
        periods = [f.periodic or (None,) * flat_size(f) for f in self.factors]
        return sum(periods, ()) if any(f.periodic for f in self.factors) else None

    def split(self, x: Array) -> tuple[Array, ...]:
        """Points of the product to a tuple of points of the factors."""
        rows = _cut(x, [flat_size(f) for f in self.factors])
        return tuple(unflatten(f, row) for f, row in zip(self.factors, rows))

    def join(self, *parts: Array) -> Array:
        """Points of the factors, with common or broadcasting batch axes, to points of the product."""
        if len(parts) != len(self.factors):
            raise InvalidInput(f"{self!r} has {len(self.factors)} factors; join got {len(parts)} parts.")
        rows = [flatten(f, np.asarray(p) if isinstance(p, (list, tuple)) else p) for f, p in zip(self.factors, parts)]
        xp = namespace(rows[0])
        batch = np.broadcast_shapes(*(row.shape[:-1] for row in rows))
        return xp.concat([xp.broadcast_to(row, (*batch, row.shape[-1])) for row in rows], axis=-1)

    def _map(self, function: Callable[..., Array], *points: Array) -> Array:
        """Points of the product from function(factor, part, ...) of each factor."""
        return self.join(*(function(f, *parts) for f, *parts in zip(self.factors, *map(self.split, points))))

    def _sum(self, function: Callable[..., Array], *points: Array) -> Array:
        """The sum over the factors of function(factor, part, ...)."""
        return sum(function(f, *parts) for f, *parts in zip(self.factors, *map(self.split, points)))

    def noise(self, x: Array, z: Array) -> Array:
        return self._map(lambda f, a, b: f.noise(a, b), x, z)

    def exp(self, x: Array, v: Array) -> Array:
        return self._map(lambda f, a, b: f.exp(a, b), x, v)

    @property
    def step_shape(self) -> tuple[int, ...]:
        return (sum(math.prod(f.step_shape) for f in self.factors),)

    def step(self, x: Array, z: Array, time: float) -> Array:
        rows = _cut(z, [math.prod(f.step_shape) for f in self.factors])
        noises = [_from_row(False, f.step_shape, row) for f, row in zip(self.factors, rows)]
        return self.join(*(f.step(a, b, time) for f, a, b in zip(self.factors, self.split(x), noises)))

    def polish(self, x: Array) -> Array:
        return self._map(lambda f, a: f.polish(a), x)

    def random(self, rng: np.random.Generator, n: int) -> Array:
        return self.join(*(f.random(rng, n) for f in self.factors))

    def defect(self, x: Array) -> Array:
        xp = namespace(x)
        return xp.max(xp.stack([f.defect(a) for f, a in zip(self.factors, self.split(x))]), axis=0)

    def distance(self, x: Array, y: Array) -> Array:
        return namespace(x).sqrt(self._sum(lambda f, a, b: f.distance(a, b) ** 2, x, y))

    def separation(self, x: Array, y: Array) -> Array:
        return self._sum(lambda f, a, b: f.separation(a, b), x, y)

    def rough_separation(self, x: Array, y: Array) -> Array:
        return self._sum(lambda f, a, b: f.rough_separation(a, b), x, y)

    def embed(self, x: Array) -> Array:
        return namespace(x).concat([f.embed(a) for f, a in zip(self.factors, self.split(x))], axis=-1)

    def difference(self, x: Array, y: Array) -> Array:
        return self._map(lambda f, a, b: f.difference(a, b), x, y)

    def canonical(self, x: Array) -> Array:
        return self._map(lambda f, a: f.canonical(a), x)

    def gradient(self, x: Array, slope: Array) -> Array:
        return self._map(lambda f, a, b: f.gradient(a, b), x, slope)

    def open_way(self, x: Array, y: Array, number: int = 3) -> Array:
        closed = self._sum(lambda f, a, b: namespace(a).where(f.open_way(a, b, number), 0, 1), x, y)
        return closed == 0


def _cut(x: Array, sizes: list[int]) -> list[Array]:
    """The last axis cut into pieces of the given sizes."""
    stops = np.cumsum(sizes)
    return [x[..., stop - size : stop] for size, stop in zip(sizes, stops)]
