"""Products of manifolds; a point is one flat real array."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import accumulate, pairwise
from operator import attrgetter
from typing import Any, final

import numpy as np

from ...array import Array, namespace, real_vector
from ...errors import InvalidInput
from ..checks import as_floats, points_to_project, unchecked
from ..contract import Manifold
from ..roots import as_volume
from ..spaces.orthogonal import SpecialOrthogonal


def flatten(manifold: Manifold, x: Array) -> Array:
    """Points (..., *shape) as real rows (..., size): complex ones as real parts, then imaginary parts."""
    return real_vector(x, len(manifold.shape), manifold.is_complex)


def unflatten(manifold: Manifold, row: Array) -> Array:
    """Inverse of `flatten`."""
    if manifold.is_complex:
        half = row.shape[-1] // 2
        row = row[..., :half] + 1j * row[..., half:]
    return row.reshape(*row.shape[:-1], *manifold.shape)


def flat_size(manifold: Manifold) -> int:
    """How many real numbers `flatten` makes of one point."""
    return math.prod(manifold.shape) * (2 if manifold.is_complex else 1)


def over_factors(reduce: Callable, name: str) -> Any:
    """A property: the members of this name of all factors, reduced to one value."""
    return property(lambda self: reduce(map(attrgetter(name), self.factors)))


@final
@dataclass(frozen=True, repr=False, init=False)
class Product(Manifold):
    """The product M1 x M2 x ... of manifolds, with the sum of their metrics.

    A point is one flat real array of shape (size,): the flattened points of the factors side by side, complex ones as
    real parts followed by imaginary parts. Tangent vectors have the same form. Geodesics are geodesics in each factor;
    the squared distance is the sum over the factors. `split` and `join` convert between points of the product and
    points of the factors, which may be products themselves. A product has no orbit coordinates of its own: its heat
    kernel is the product of the kernels of its factors.

    Parameters
    ----------
    *factors : Manifold
        At least one.

    Examples
    --------
    >>> from heatgp import Euclidean, Sphere
    >>> M = Product(Sphere(2), Euclidean(3))
    >>> M, M.shape, M.dim
    (Product(Sphere(2), Euclidean(3)), (6,), 5)
    """

    factors: tuple[Manifold, ...]
    violation = "the largest defect of a factor"
    remedy = "Use M.project(x): it projects each factor's part (Product.split) onto its manifold."

    def __init__(self, *factors: Manifold) -> None:
        if not factors or not all(isinstance(f, Manifold) for f in factors):
            raise InvalidInput(f"Product needs one or more manifolds; got {factors!r}.")
        object.__setattr__(self, "factors", factors)

    def __repr__(self) -> str:
        return f"Product({', '.join(map(repr, self.factors))})"

    dim = over_factors(sum, "dim")
    volume_error = over_factors(lambda errors: math.hypot(*errors), "volume_error")
    scalar_curvature = over_factors(sum, "scalar_curvature")
    decay = over_factors(sum, "decay")
    farthest = over_factors(min, "farthest")
    step_limit = over_factors(min, "step_limit")
    curvature_step_limit = over_factors(min, "curvature_step_limit")
    channel_width = over_factors(min, "channel_width")
    draws_evenly = over_factors(all, "draws_evenly")

    def converter(self, shape: tuple[int, ...]) -> str:
        first, *others = self.factors
        if shape[-2:] == (first.dim + 1,) * 2 and others == [SpecialOrthogonal(max(2, first.dim))]:
            return " Matrices of rigid motions are converted by heatgp.points.rigid_to_product."
        for factor in self.factors if shape else ():  # one of them has other coordinates
            columns = shape[-1] - self.shape[0] + flat_size(factor)
            found = factor.converter((0, columns)) if 0 < columns != flat_size(factor) else ""
            if found:
                return f"{found} Then M.join(...) puts the points of the factors side by side."
        return ""

    @property
    def volume(self) -> float:
        return as_volume(self, sum(math.log(f.volume) for f in self.factors))

    @property
    def shape(self) -> tuple[int, ...]:
        return (sum(map(flat_size, self.factors)),)

    @property
    def step_shape(self) -> tuple[int, ...]:
        return (sum(math.prod(f.step_shape) for f in self.factors),)

    @property
    def periodic(self) -> tuple[float | None, ...] | None:
        periods = [f.periodic or (None,) * flat_size(f) for f in self.factors]
        return sum(periods, ()) if any(f.periodic for f in self.factors) else None

    def split(self, x: Array) -> tuple[Array, ...]:
        """Split points of the product into points of the factors.

        Parameters
        ----------
        x : array of shape (..., size)

        Returns
        -------
        tuple of arrays (..., *factor.shape), one for each factor

        Examples
        --------
        >>> from heatgp import Sphere, Torus
        >>> Product(Sphere(1), Torus(1)).split(np.array([1.0, 0.0, 0.5]))
        (array([1., 0.]), array([0.5]))
        """
        x, sizes = _as_array(x, "x"), [flat_size(factor) for factor in self.factors]
        if x.ndim < 1 or x.shape[-1] != sum(sizes):
            raise InvalidInput(
                f"x has shape {tuple(x.shape)}; points of {self!r} have shape {self.shape}: the numbers of each factor "
                "side by side. `join` makes them from points of the factors."
            )
        rows = _cut(x, sizes)
        return tuple(unflatten(f, row) for f, row in zip(self.factors, rows))

    def join(self, *parts: Array) -> Array:
        """Join points of the factors to points of the product, the inverse of `split`.

        Parameters
        ----------
        *parts : arrays of shape (..., *factor.shape), one for each factor
            Lists, data frames and columns of data frames too. Batch axes broadcast. Where the points of a factor are
            one number, (N,) numbers are N points.

        Returns
        -------
        array of shape (..., size)

        Examples
        --------
        >>> from heatgp import Sphere, Torus
        >>> Product(Sphere(1), Torus(1)).join([1.0, 0.0], [0.5])
        array([1. , 0. , 0.5])
        """
        if len(parts) != len(self.factors):
            raise InvalidInput(f"{self!r} has {len(self.factors)} factors; join got {len(parts)} parts.")
        rows = [flatten(factor, _part(factor, part, i)) for i, (factor, part) in enumerate(zip(self.factors, parts))]
        xp = namespace(rows[0])
        shapes = [tuple(row.shape[:-1]) for row in rows]
        try:
            batch = np.broadcast_shapes(*shapes)
        except ValueError:
            raise InvalidInput(
                f"the parts of join have batch axes {' and '.join(map(str, shapes))}, which do not broadcast. Pass "
                "equally many points of each factor."
            ) from None
        return xp.concat([xp.broadcast_to(row, (*batch, row.shape[-1])) for row in rows], axis=-1)

    def _values(self, name: str, *points: Array) -> list[Array]:
        """For each factor its function of this name, of its part of the points."""
        return [unchecked(attrgetter(name)(f))(*parts) for f, *parts in zip(self.factors, *map(self.split, points))]

    def noise(self, x: Array, z: Array) -> Array:
        return self.join(*self._values("noise", x, z))

    def exp(self, x: Array, v: Array) -> Array:
        return self.join(*self._values("exp", x, v))

    def to_tangent(self, x: Array, v: Array) -> Array:
        return self.join(*self._values("to_tangent", x, v))

    def metric(self, x: Array, u: Array, v: Array) -> Array:
        return sum(self._values("metric", x, u, v))

    def log(self, x: Array, y: Array) -> Array:
        return self.join(*self._values("log", x, y))

    def tangent_basis(self, x: Array) -> Array:
        """The bases of the factors, each with zeros in the parts of the others."""
        xp, rows = namespace(x), []
        bases = [flatten(f, basis) for f, basis in zip(self.factors, self._values("tangent_basis", x))]
        for i, basis in enumerate(bases):
            zeros = [xp.zeros((*basis.shape[:-1], other.shape[-1]), dtype=basis.dtype) for other in bases]
            rows.append(xp.concat([*zeros[:i], basis, *zeros[i + 1 :]], axis=-1))
        return xp.concat(rows, axis=-2)

    def step(self, x: Array, z: Array, time: float) -> Array:
        rows = _cut(z, (math.prod(f.step_shape) for f in self.factors))
        noises = [row.reshape(*row.shape[:-1], *f.step_shape) for f, row in zip(self.factors, rows)]
        return self.join(*(f.step(a, b, time) for f, a, b in zip(self.factors, self.split(x), noises)))

    def polish(self, x: Array) -> Array:
        return self.join(*self._values("polish", x))

    def project(self, x: Any) -> np.ndarray:
        """The nearest point of each factor."""
        return np.asarray(self.join(*self._values("project", points_to_project(self, x))))

    def random(self, rng: np.random.Generator, n: int) -> Array:
        """n points, each part independent of the others."""
        return self.join(*(f.random(rng, n) for f in self.factors))

    def defect(self, x: Array) -> Array:
        """The largest defect of a factor."""
        xp = namespace(x)
        return xp.max(xp.stack(self._values("defect", x)), axis=0)

    def distance(self, x: Array, y: Array) -> Array:
        return namespace(x).sqrt(sum(d**2 for d in self._values("distance", x, y)))

    def separation(self, x: Array, y: Array) -> Array:
        return sum(self._values("separation", x, y))

    def rough_separation(self, x: Array, y: Array) -> Array:
        return sum(self._values("rough_separation", x, y))

    def embed(self, x: Array) -> Array:
        return namespace(x).concat(self._values("embed", x), axis=-1)

    def difference(self, x: Array, y: Array) -> Array:
        return self.join(*self._values("difference", x, y))

    def canonical(self, x: Array) -> Array:
        return self.join(*self._values("canonical", x))

    def gradient(self, x: Array, slope: Array) -> Array:
        return self.join(*self._values("gradient", x, slope))

    def open_way(self, x: Array, y: Array, number: int = 3) -> Array:
        ways = [f.open_way(a, b, number) for f, a, b in zip(self.factors, self.split(x), self.split(y))]
        return namespace(x).all(namespace(x).stack(ways), axis=0)


def _as_array(x: Any, name: str) -> Array:
    """x, or an array of its numbers where it is a list or a table."""
    return x if hasattr(x, "__array_namespace__") else as_floats(x, name)


def _part(factor: Manifold, part: Any, number: int) -> Array:
    """The points of a factor that `join` got, or InvalidInput if they have another shape."""
    part, axes = _as_array(part, f"part {number} of join"), len(factor.shape)
    if factor.shape == (1,) and part.ndim == 1 and part.shape != (1,):
        part = part[:, None]
    if part.ndim < axes or tuple(part.shape[part.ndim - axes :]) != tuple(factor.shape):
        raise InvalidInput(
            f"part {number} of join has shape {tuple(part.shape)}; points of {factor!r} have shape {factor.shape}."
            f"{factor.converter(part.shape)}"
        )
    if getattr(part.dtype, "kind", "") == "c" and not factor.is_complex:
        raise InvalidInput(f"part {number} of join is complex, and the points of {factor!r} are real. Pass its .real.")
    return part


def _cut(x: Array, sizes: Iterable[int]) -> list[Array]:
    """The last axis cut into pieces of the given sizes."""
    return [x[..., start:stop] for start, stop in pairwise(accumulate(sizes, initial=0))]
