"""What a sparse regression keeps of many data, computed by JAX: inner products of the features p_s(x, Z), and of y.

Data stream through the device in pieces. Features have the precision of the points; all sums are in double precision.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import numpy as np
from jax import numpy as jnp
from jax.scipy.linalg import solve_triangular

from ..errors import InvalidInput, OffManifold
from ..heat.jax_arrays import device_points, device_table
from ..heat.kernel import HeatKernel
from ..manifolds.checks import SINGLE_TOLERANCE, TOLERANCE, as_floats

NUMBERS = 1 << 25
"""Features of a piece of the data: 256 MB in double precision."""
SMALLEST = 1 << 10
"""Rows of the smallest pieces: smaller ones are filled up."""


@dataclass(frozen=True)
class FeatureStatistics:
    """Inner products of features (N, m) and targets (N,) or (N, k), in double precision; those of parts add up."""

    gram: np.ndarray  # (m, m)
    moment: np.ndarray  # (m,) or (m, k)
    square: Any  # a number or (k, k)
    count: int

    def __add__(self, other: FeatureStatistics) -> FeatureStatistics:
        return FeatureStatistics(
            self.gram + other.gram, self.moment + other.moment, self.square + other.square, self.count + other.count
        )


def jax_statistics(
    kernel: HeatKernel, Z: Any, time: Any, chunks: Iterable[tuple[Any, ...]], *, lower: Any = None
) -> FeatureStatistics:
    """Inner products of the features p_s(x, Z) of data that come in chunks, on JAX's default device.

    Parameters
    ----------
    kernel : HeatKernel that takes JAX arrays: see its call.
    Z : array of m points.
    time : the time s of the features.
    chunks : iterable of (X, y) or (X, y, factors)
        Points X (n, *shape), targets y (n,) or (n, k), and factors (n,) of the rows, such as one over the root of the
        relative noise. NumPy or JAX arrays. The precision of the first X is that of all features.
    lower : array (m, m), default None
        A lower triangular matrix L: features are then L^-1 p_s(Z, x).

    Returns
    -------
    FeatureStatistics, in NumPy arrays

    Raises
    ------
    InvalidInput : for chunks of wrong shapes, targets that are not finite, and where there are no chunks.
    OffManifold : for points that are not on the manifold.
    Unsupported : for kernels that have no form for JAX arrays.

    Notes
    -----
    In double precision features are exact to rounding. In single precision they have errors of 3e-7 of p_s(x, x), or of
    3e-7 / sqrt(s) where that is more. Divided by L, these are 1e-2: regressions need double precision.

    Examples
    --------
    >>> from heatgp import Sphere, heat_kernel
    >>> X = Sphere(2).random(np.random.default_rng(0), 1000)
    >>> found = jax_statistics(heat_kernel(Sphere(2)), X[:5], 0.1, [(X, X[:, 0])])
    >>> found.gram.shape, found.moment.shape, found.count
    ((5, 5), (5,), 1000)
    """
    time, totals, one = kernel.check_time(time), None, True
    count = 0
    with jax.enable_x64(True):
        for X, y, factors in (_checked(kernel, chunk) for chunk in chunks):
            if totals is None:
                double = np.finfo(X.dtype).dtype == np.float64
                points = device_points(kernel, Z, "Z", double)
                table, one = device_table(kernel, time, double), y.ndim == 1
                triangle = None if lower is None else jnp.asarray(lower, dtype=float)
                totals = _nothing(len(points), 1 if one else y.shape[1])
            columns = y[:, None] if one else y
            for _, number, piece in pieces((X, columns, factors), len(points)):
                totals = _added(kernel, totals, table, points, triangle, number, *piece)
            count += len(X)
        if totals is None:
            raise InvalidInput("there are no chunks of data.")
        gram, moment, square, defect = map(np.asarray, totals)
    _check(kernel, double, square, defect)
    return FeatureStatistics(gram, moment[:, 0] if one else moment, float(square[0, 0]) if one else square, count)


def _checked(kernel: HeatKernel, chunk: tuple[Any, ...]) -> tuple[Any, Any, Any]:
    """Points, targets and factors as floating arrays of one length, or an error about their shapes."""
    arrays = [as_floats(a, name, "a numeric array") for a, name in zip(chunk, ("X", "y", "factors"))]
    lengths = [len(a) for a in arrays]
    if len(chunk) not in (2, 3) or len(set(lengths)) > 1:
        raise InvalidInput(
            f"a chunk is (X, y) or (X, y, factors) of one length; got {len(chunk)} of lengths {lengths}."
        )
    X, y, *factors = arrays
    if X.shape[1:] != kernel.manifold.shape:
        raise InvalidInput(f"X has shape {X.shape}; points of {kernel.manifold!r} have {kernel.manifold.shape}.")
    return X, y, factors[0] if factors else np.ones(len(X))


def _nothing(m: int, k: int) -> tuple[jax.Array, ...]:
    return jnp.zeros((m, m)), jnp.zeros((m, k)), jnp.zeros((k, k)), jnp.zeros(())


def pieces(arrays: Sequence[Any], width: int) -> Iterator[tuple[int, int, list[Any]]]:
    """Rows of arrays in pieces that fit on the device; `width` is how many numbers are computed for each row.

    Yields the number of the first row, how many rows there are, and these, filled up to a power of two by copies of the
    last, so that few programs are compiled. What has no rows, None or a number, is the same in each.
    """
    most = 1 << (max(SMALLEST, NUMBERS // width).bit_length() - 1)
    count = len(arrays[0])
    for first in range(0, count, most):
        number = min(most, count - first)
        missing = max(SMALLEST, 1 << (number - 1).bit_length()) - number
        which: Any = slice(first, first + number)
        if missing:
            which = np.minimum(np.arange(first, first + number + missing), count - 1)
        yield first, number, [_rows(each, which) for each in arrays]


def _rows(each: Any, which: Any) -> Any:
    if each is None or np.ndim(each) == 0:
        return each
    return each[which] if isinstance(which, slice) else each.take(which, axis=0)


@partial(jax.jit, static_argnums=0)
def _added(
    kernel: HeatKernel,
    totals: tuple[jax.Array, ...],
    table: Any,
    Z: jax.Array,
    lower: jax.Array | None,
    number: int,
    X: jax.Array,
    y: jax.Array,
    factors: jax.Array,
) -> tuple[jax.Array, ...]:
    """The totals and what the first rows of a piece of the data, so many of them, add."""
    manifold = kernel.manifold
    factors = jnp.where(jnp.arange(len(X)) < number, factors, 0.0)
    X = X.astype(Z.dtype)
    features = kernel.read_table(table, manifold.polish(X), manifold.polish(Z)).astype(jnp.float64)
    if lower is not None:
        features = solve_triangular(lower, features.T, lower=True).T
    features, y = features * factors[:, None], y.astype(jnp.float64) * factors[:, None]
    gram, moment, square, defect = totals
    finite = jnp.isfinite(X).reshape(len(X), -1).all(axis=1)
    worst = jnp.max(jnp.where(finite, manifold.defect(X), jnp.inf))
    return gram + features.T @ features, moment + features.T @ y, square + y.T @ y, jnp.maximum(defect, worst)


def _check(kernel: HeatKernel, double: bool, square: np.ndarray, defect: np.ndarray) -> None:
    """Errors about the data, found at the end: looking at each piece would make the device wait."""
    limit = TOLERANCE if double else SINGLE_TOLERANCE
    if defect == np.inf:
        raise OffManifold("a point of X is not finite (NaN or infinity). Remove or impute it.")
    if not defect <= limit:
        raise OffManifold(
            f"a point of X is not on {kernel.manifold!r}: {kernel.manifold.violation} = {defect:.1e} > {limit:.0e}. "
            f"{kernel.manifold.remedy}"
        )
    if not np.isfinite(square).all():
        raise InvalidInput("y has values that are missing or not finite. Remove them.")
