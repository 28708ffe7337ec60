"""Dense covariances of JAX arrays: as `factors.Dense`, with every matrix on their device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import numpy as np
from jax import numpy as jnp
from jax.scipy.linalg import cho_solve, solve_triangular

from ..covariance import Array, Kernel, TimeFunction
from .device import Tables, covariance, of_tables, on_device
from .factors import Dense, not_positive_definite

ROWS = 256
"""Rows of a matrix that are computed at one time."""


@dataclass(frozen=True)
class DeviceMatrix:
    """The covariance of points at a time, or a derivative: what it is computed from, not its values."""

    kernel: Kernel
    points: Any  # on the device
    tables: Tables
    own: Array  # (N,), the diagonal
    number: int = 0  # of the log time of a derivative
    scale: float = 1.0

    __array_ufunc__ = None  # a number of NumPy times this is `__rmul__`

    def __len__(self) -> int:
        return len(self.own)

    def __rmul__(self, factor: float) -> DeviceMatrix:
        return replace(self, own=factor * self.own, scale=float(factor) * self.scale)


@dataclass(frozen=True)
class DevicePairs(TimeFunction):
    """The covariance of all pairs of some points as a function of time, for a `DeviceDense`."""

    @property
    def form(self) -> type[DeviceDense]:
        return DeviceDense

    @classmethod
    def of(cls, kernel: Kernel, X: Array) -> DevicePairs:
        return cls(of_tables(kernel, X, partial(DeviceMatrix, kernel, on_device(X))))


class DeviceDense(Dense):
    """K by its `DeviceMatrix`; arguments and results are NumPy arrays."""

    @classmethod
    def of(cls, K: Any, precision: Array | float) -> DeviceDense:
        s = np.broadcast_to(precision, len(K))
        with jax.enable_x64(True):
            lower = _factored(K.kernel, K.tables.numbers, K.scale, K.points, np.sqrt(s))
            found = cls(K, s, lower)
            if not np.isfinite(found.log_det):
                raise not_positive_definite(len(K), np.nan)
        return found

    @staticmethod
    def variances(K: Any, slope: Any = None) -> Array:
        return (K if slope is None else slope).own

    @property
    def log_det(self) -> float:
        with jax.enable_x64(True):
            return 2.0 * float(np.log(np.asarray(jnp.diagonal(self.lower))).sum())

    @property
    def _root(self) -> Array:
        return np.sqrt(self.precision)

    def _solve(self, v: Array) -> Array:
        with jax.enable_x64(True):
            return np.array(_solved(self.lower, v))

    def lower_solve(self, v: Array, trans: int = 0) -> Array:
        with jax.enable_x64(True):
            return np.asarray(solve_triangular(self.lower, v, lower=True, trans=trans))

    def density_slopes(self, changes: Sequence[Any], columns: Array, solved: Array) -> tuple[Array, Array]:
        K: Any = self.values
        scales, slopes = [each.scale for each in changes], [K.tables.slopes[each.number] for each in changes]
        with jax.enable_x64(True):
            arrays = self.lower, self._root, solved
            along, noise = _slopes(K.kernel, K.tables.numbers, slopes, scales, K.points, *arrays)
        return np.asarray(along), np.asarray(noise)

    def inverse_diagonal(self) -> Array:
        with jax.enable_x64(True):
            return self.precision * np.asarray(_inverse_diagonal(self.lower))


def _row(kernel: Kernel, numbers: Any, x: Any, Y: Any) -> Any:
    """k(x, y_j), (N,)."""
    return covariance(kernel, numbers, x[None], Y)[0]


@partial(jax.jit, static_argnums=0)
def _factored(kernel: Kernel, numbers: Any, scale: Any, X: Any, root: Any) -> Any:
    """The Cholesky factor of B; nan where B is not positive definite."""

    def row(own: tuple[Any, Any]) -> Any:
        return scale * own[1] * _row(kernel, numbers, own[0], X) * root

    B = jax.lax.map(row, (X, root), batch_size=ROWS) + jnp.eye(len(X))
    return jax.lax.linalg.cholesky(B, symmetrize_input=False)


@jax.jit
def _solved(lower: Any, v: Any) -> Any:
    return cho_solve((lower, True), v)


@jax.jit
def _inverse_diagonal(lower: Any) -> Any:
    inverse = solve_triangular(lower, jnp.eye(len(lower)), lower=True)
    return (inverse**2).sum(axis=0)


@partial(jax.jit, static_argnums=0)
def _slopes(
    kernel: Kernel, numbers: Any, slopes: list[Any], scales: Any, X: Any, lower: Any, root: Any, solved: Any
) -> tuple[Any, Any]:
    """Derivatives along changes of K, and in the variances of the noise, as `Cholesky.density_slopes`."""
    R = cho_solve((lower, True), jnp.diag(root)) * root[:, None]
    weights = (solved @ solved.T - R) / 2

    def along(own: tuple[Any, Any]) -> Any:
        x, w = own
        rows = [jax.jvp(lambda n: _row(kernel, n, x, X), (numbers,), (slope,))[1] for slope in slopes]
        return jnp.array([scale * jnp.vdot(w, row) for scale, row in zip(scales, rows)])

    found = jax.lax.map(along, (X, weights), batch_size=ROWS).sum(axis=0) if slopes else jnp.zeros(0)
    return found, jnp.diagonal(weights)
