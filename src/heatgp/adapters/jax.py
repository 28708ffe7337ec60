"""Data in JAX arrays: their statistics are computed on the device that has them, and only these travel."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import numpy as jnp
from jax.scipy.linalg import solve_triangular

from ..arguments import EXTREME, as_array, is_number
from ..covariance import Array
from ..errors import InvalidInput, Unsupported
from ..estimators.data import LinearBasis, Rows
from ..estimators.jax_statistics import pieces
from ..estimators.kernels import without_normalization
from ..estimators.streams import Reader
from ..gp.prior import constant_basis
from ..gp.sparse.fit import Collect
from ..gp.sparse.inducing import Inducing
from ..gp.sparse.source import Source, collected
from ..gp.sparse.statistics import Statistics
from ..heat.jax_arrays import device_table
from ..heat.kernel import HeatKernel
from ..manifolds.checks import SINGLE_TOLERANCE, TOLERANCE
from ..manifolds.rows import from_rows

CORES = 100.0
"""How many times faster than one core of a processor a pass on a GPU counts."""


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
    roots: Any  # (m,), of p_s(Z, Z)
    lower: Any  # L


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
    """psi at points, (n, m)."""
    table, Z, roots, lower = features
    variances = jax.vmap(lambda x: kernel.read_table(table, x[None], x[None])[0, 0])(points)
    values = kernel.read_table(table, points, Z) / (jnp.sqrt(variances)[:, None] * roots)
    return solve_triangular(lower, values.T, lower=True).T
