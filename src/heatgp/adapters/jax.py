"""Statistics of many data by JAX: inner products of their features and targets, in double precision.

Data of a model are in JAX arrays: their statistics are computed on the device that has them, and only these travel.
Without a model, `jax_statistics` streams chunks of data through the device.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import numpy as jnp
from jax.scipy.linalg import solve_triangular

from ..arguments import EXTREME, as_array, is_number
from ..covariance import Array
from ..errors import InvalidInput, OffManifold, Unsupported
from ..estimators.data import LinearBasis, Rows
from ..estimators.kernels import without_normalization
from ..estimators.streams import Reader
from ..gp.prior import constant_basis
from ..gp.sparse.fit import Collect
from ..gp.sparse.inducing import Inducing
from ..gp.sparse.source import Source, collected
from ..gp.sparse.statistics import Statistics
from ..heat.jax_arrays import device_points, device_table, is_double
from ..heat.kernel import HeatKernel
from ..manifolds.checks import SINGLE_TOLERANCE, TOLERANCE, as_floats
from ..manifolds.rows import from_rows

CORES = 100.0
"""How many times faster than one core of a processor a pass on a GPU counts."""
NUMBERS = 1 << 25
"""Features of a piece of the data: 256 MB in double precision."""
SMALLEST = 1 << 10
"""Rows of the smallest pieces: smaller ones are filled up."""


def cores() -> float:
    """How many times faster than one core of a processor a pass over data is, on JAX's default device."""
    return 1.0 if jax.default_backend() == "cpu" else CORES


class Sums(NamedTuple):
    """`Statistics` on the device, and the number of the first row that is not possible; N where there is none."""

    count: Any
    gram: Any
    basis: Any
    weight: Any
    log_noise: Any
    bad: Any


class Features(NamedTuple):
    """What the features of points are made of, on the device: psi = L^-1 p_s(Z, x) / sqrt(p_s(Z, Z) p_s(x, x))."""

    table: Any  # of the kernel at the time s
    points: Any  # Z
    roots: Any  # (m,), of p_s(Z, Z); None where features are not divided by roots
    lower: Any  # L; None for the identity


def collector(data: Rows, reader: Reader) -> Collect:
    """How the core collects the statistics of points in a JAX array: on their device, in double precision.

    A kernel without a form for JAX arrays, points that are to be projected and a mean that is a user's function are for
    NumPy: data are then read by the processor, in parts.
    """
    own = reader.mean.mean if callable(reader.mean.mean) else None
    possible = not reader.project and (own is None or own is constant_basis or isinstance(own, LinearBasis))
    given = [_numbers(each, name) for each, name in zip(data, ("X", "y", "sample_weight", "noise", "covariates"))]

    def collect(source: Source, inducing: Inducing, start: Array) -> Statistics:
        kernel = without_normalization(inducing.kernel)
        features = _features(kernel, inducing) if possible else None
        if features is None:
            return collected(source, inducing, start)
        width = len(inducing) + len(start) + 1
        with jax.enable_x64(True):
            sums = _nothing(width, len(start), source.count)
            for first, number, piece in pieces(given, width):
                sums = _added(kernel, own, sums, features, start, reader.known, first, number, *piece)
            count, gram, basis, weight, log_noise, bad = map(np.asarray, sums)
        if bad < source.count:
            source.read(bad[None])  # raises the error about this row
            return collected(source, inducing, start)  # it is at the limit: what NumPy says counts
        return Statistics(int(count), gram, basis, float(weight), float(log_noise))

    return collect


def _numbers(each: Any, name: str) -> Any:
    """None, one number or an array of JAX as it is, and anything else as an array of numbers."""
    return each if each is None or is_number(each) or isinstance(each, jax.Array) else as_array(each, name)


def _features(kernel: HeatKernel, inducing: Inducing) -> Features | None:
    """Those of inducing points, or None where the kernel has no form for JAX arrays."""
    time, Z = kernel.check_time(inducing.time), inducing.points
    try:
        table, roots = device_table(kernel, time, True), np.sqrt(kernel.diag(Z, time))
    except (Unsupported, InvalidInput):  # densities of high dimension may be beyond floating point
        return None
    with jax.enable_x64(True):
        return Features(table, *map(jnp.asarray, (Z, roots, inducing.lower)))


def _nothing(width: int, basis: int, count: int) -> Sums:
    gram, inner = jnp.zeros((width, width)), jnp.zeros((basis, basis))
    return Sums(jnp.zeros((), int), gram, inner, jnp.zeros(()), jnp.zeros(()), jnp.full((), count, int))


@partial(jax.jit, static_argnums=(0, 1))
def _added(
    kernel: HeatKernel,
    own: Any,
    sums: Sums,
    features: Features,
    start: Any,
    known: Any,
    first: Any,
    number: Any,
    X: Any,
    y: Any,
    weights: Any,
    variances: Any,
    covariates: Any,
) -> Sums:
    """The sums and what the first rows of a piece of the data, so many of them, add; as `Reader.chunk` reads them."""
    manifold, inside = kernel.manifold, jnp.arange(len(X)) < number
    limit = SINGLE_TOLERANCE if X.dtype in (np.float32, np.complex64) else TOLERANCE
    given = from_rows(manifold, X).astype(complex if manifold.is_complex else float)
    size = jnp.abs(given).reshape(len(X), -1).max(axis=1)
    possible = (size <= EXTREME) & (manifold.defect(given) <= limit)
    points = manifold.polish(given)

    weights, variances = (
        jnp.ones(len(X)) if each is None else each * jnp.ones(len(X)) for each in (weights, variances)
    )
    possible &= (weights >= 0) & (weights < jnp.inf) & (variances > 0) & (variances < jnp.inf)
    kept = inside & (weights > 0)
    noise = jnp.where(kept, variances, 1.0) / jnp.where(kept, weights, 1.0)

    parts = [] if own is None else [own(points)]
    parts += [] if covariates is None else [covariates.reshape(len(X), -1)]
    basis = jnp.hstack([jnp.zeros((len(X), 0)), *parts])
    target = y.astype(float) - known
    possible &= ~kept | ((jnp.abs(target) < 1e140) & jnp.isfinite(basis).all(axis=1))
    basis = jnp.where(kept[:, None], basis, 0.0)

    columns = jnp.hstack([_values(kernel, features, points), basis, (target - basis @ start)[:, None]])
    columns = jnp.where(kept[:, None], columns, 0.0) / jnp.sqrt(noise)[:, None]
    bad = inside & ~possible
    return Sums(
        sums.count + kept.sum(),
        sums.gram + columns.T @ columns,
        sums.basis + basis.T @ basis,
        sums.weight + jnp.where(kept, 1.0 / noise, 0.0).sum(),
        sums.log_noise + jnp.log(noise).sum(),
        jnp.where(bad.any(), jnp.minimum(sums.bad, first + jnp.argmax(bad)), sums.bad),
    )


def _values(kernel: HeatKernel, features: Features, points: Any) -> Any:
    """psi at points, (n, m), in double precision."""
    table, Z, roots, lower = features
    values = kernel.read_table(table, points, Z)
    if roots is not None:
        variances = jax.vmap(lambda x: kernel.read_table(table, x[None], x[None])[0, 0])(points)
        values = values / (jnp.sqrt(variances)[:, None] * roots)
    values = values.astype(float)
    return values if lower is None else solve_triangular(lower, values.T, lower=True).T


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
    time, count, sums = kernel.check_time(time), 0, None
    with jax.enable_x64(True):
        for X, y, factors in (_checked(kernel, chunk) for chunk in chunks):
            if sums is None:
                double, one = is_double(X), y.ndim == 1
                points = kernel.manifold.polish(device_points(kernel, Z, "Z", double))
                triangle = None if lower is None else jnp.asarray(lower, dtype=float)
                features, m = Features(device_table(kernel, time, double), points, None, triangle), len(points)
                width = m + (1 if one else y.shape[1])
                sums = jnp.zeros((width, width)), jnp.zeros(())
            for _, number, piece in pieces((X, y.reshape(len(X), -1), factors), m):
                sums = _multiplied(kernel, features, sums, number, *piece)
            count += len(X)
        if sums is None:
            raise InvalidInput("there are no chunks of data.")
        gram, defect = map(np.asarray, sums)
    moment, square = gram[:m, m:], gram[m:, m:]
    _check(kernel, double, square, defect)
    if one:
        return FeatureStatistics(gram[:m, :m], moment[:, 0], float(square[0, 0]), count)
    return FeatureStatistics(gram[:m, :m], moment, square, count)


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


@partial(jax.jit, static_argnums=0)
def _multiplied(
    kernel: HeatKernel, features: Features, sums: tuple[Any, Any], number: Any, X: Any, y: Any, factors: Any
) -> tuple[Any, Any]:
    """The inner products, and the largest defect, with those of the first rows of a piece, so many of them."""
    manifold, (gram, defect) = kernel.manifold, sums
    X = X.astype(features.points.dtype)
    columns = jnp.hstack([_values(kernel, features, manifold.polish(X)), y.astype(float)])
    columns = columns * jnp.where(jnp.arange(len(X)) < number, factors, 0.0)[:, None]
    finite = jnp.isfinite(X).reshape(len(X), -1).all(axis=1)
    worst = jnp.max(jnp.where(finite, manifold.defect(X), jnp.inf))
    return gram + columns.T @ columns, jnp.maximum(defect, worst)


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
