"""Neighborhoods on the device of JAX arrays: as `factor` and `nearest`, in parts of a few fixed shapes.

Trees of points, and what is done once for each datum, stay on the processor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import jax
import numpy as np
from jax import numpy as jnp
from jax.scipy.linalg import cho_solve

from ...covariance import Array, Kernel, TimeFunction
from ..device import Tables, covariance, filled, of_tables, on_device, parts, tables
from .factor import NeighborFactor, Neighborhoods
from .nearest import NONE, RANKED, Places

WIDTHS = (64, 128, 512, 4096, 1 << 16)
"""To how many candidates a row is filled up, so that few programs are compiled."""
ROOM = 1 << 16
"""New points that are predicted with the programs of the fit."""


def length_of(number: int) -> int:
    """To how many rows arrays of all points are filled up."""
    return 1 << (number + ROOM - 1).bit_length()


def covariances(kernel: Kernel, X: Array, sets: Neighborhoods) -> TimeFunction:
    """`DeviceBlocks` of the points X as a function of time."""
    members = Members(sets, on_device(filled(X, length_of(len(X)))))
    return DeviceFunction(of_tables(kernel, X, partial(DeviceBlocks, members, kernel)))


@dataclass(frozen=True)
class Members:
    """Neighborhoods, and all points, on the device."""

    sets: Neighborhoods
    points: Any

    @cached_property
    def parts(self) -> list[tuple[slice, Any, Any]]:
        """Rows, the numbers of their members, (n, m + 1), and which of these there are; filled up with rows of none."""
        sets = self.sets
        found: list[tuple[slice, Any, Any]] = []
        m = sets.near.shape[1] + 1
        for part, size in parts(len(sets.rows), m * m):
            there = np.hstack([sets.near[part] != NONE, np.ones((len(sets.rows[part]), 1), bool)])
            arrays = sets.members(part).astype(np.int32), there
            numbers, present = (jnp.asarray(filled(each, size)) for each in arrays)
            found.append((part, numbers, present))
        return found

    def each(self, array: Array) -> Any:
        """Numbers of all points, on the device."""
        return on_device(filled(array, len(self.points)))


@dataclass(frozen=True)
class DeviceBlocks:
    """As `factor.Blocks`."""

    members: Members
    kernel: Kernel
    tables: Tables
    own: Array  # (N,), the prior variances
    number: int = 0  # of the log time of a derivative
    scale: float = 1.0

    __array_ufunc__ = None  # a number of NumPy times this is `__rmul__`

    @property
    def sets(self) -> Neighborhoods:
        return self.members.sets

    def __rmul__(self, factor: float) -> DeviceBlocks:
        return replace(self, own=factor * self.own, scale=float(factor) * self.scale)

    def conditionals(self, noise: Array) -> tuple[Array, Array]:
        """a (T, m) and d (T,), with these variances of the noise, (N,)."""
        members = self.members
        with jax.enable_x64(True):
            variances = members.each(noise)
            found = [
                _conditionals(self.kernel, self.tables.numbers, self.scale, members.points, variances, *each)
                for _, *each in members.parts
            ]
        weights, left = (self._joined(arrays) for arrays in zip(*found))
        return weights, left

    def solve(self, weights: Array, left: Array, v: Array) -> Array:
        """R v, with R from these a and d."""
        members = self.members
        with jax.enable_x64(True):
            v = members.each(v)
            found = jnp.zeros_like(v)
            for part, *each in members.parts:
                found = _added(found, v, *self._filled(part, each[0], weights, left), *each)
            return np.array(found)[: self.sets.number]

    def density_slopes(
        self, changes: Sequence[DeviceBlocks], noise: Array, weights: Array, left: Array, columns: Array
    ) -> tuple[Array, Array]:
        """As of a factor with these variances of the noise, a and d."""
        members, scales = self.members, (self.scale, *(each.scale for each in changes))
        slopes = [self.tables.slopes[each.number] for each in changes]
        of_noise, of_changes = np.zeros(len(members.points)), np.zeros(len(changes))
        with jax.enable_x64(True):
            found = jnp.asarray(of_changes), jnp.asarray(of_noise)
            arrays = members.points, members.each(noise), members.each(columns)
            for part, *each in members.parts:
                own = self._filled(part, each[0], weights, left)
                found = _slopes(self.kernel, found, self.tables.numbers, slopes, scales, *arrays, *own, *each)
            of_changes, of_noise = map(np.asarray, found)
        return of_changes, of_noise[: self.sets.number]

    def _filled(self, part: slice, members: Any, *arrays: Array) -> list[Any]:
        """Rows of a part, filled up as its members are."""
        return [on_device(filled(array[part], len(members))) for array in arrays]

    def _joined(self, arrays: Sequence[Any]) -> Array:
        """The results of all parts, without the rows that these were filled up with."""
        return np.concatenate(
            [np.asarray(a)[: part.stop - part.start] for a, (part, *_) in zip(arrays, self.members.parts)]
        )


class DeviceFactor(NeighborFactor):
    """As `NeighborFactor`, while it has its values."""

    def solve(self, v: Array) -> Array:
        return super().solve(v) if self.values is None else self.values.solve(self.weights, self.left, v)

    def density_slopes(self, changes: Sequence[Any], columns: Array, solved: Array) -> tuple[Array, Array]:
        return self.values.density_slopes(changes, 1.0 / self.precision, self.weights, self.left, columns)


@dataclass(frozen=True)
class DeviceFunction(TimeFunction):
    """`DeviceBlocks` as a function of time, for a `DeviceFactor`."""

    form = DeviceFactor


def _matrices(kernel: Kernel, numbers: Any, points: Any, members: Any, there: Any) -> Any:
    """The covariances of members, (n, m + 1, m + 1); those of members that are not there are zero."""
    values = jax.vmap(lambda X: covariance(kernel, numbers, X, X))(points[members])
    both = there[:, :, None] & there[:, None, :]
    return jnp.where(both | jnp.eye(members.shape[1], dtype=bool), values, 0.0)


def _solved(C: Any, right: Any) -> Any:
    """C_NN^-1 times right, (n, m)."""
    lower = jax.lax.linalg.cholesky(C[:, :-1, :-1], symmetrize_input=False)
    return cho_solve((lower, True), right[..., None])[..., 0]


def _with_noise(K: Any, noise: Any, members: Any) -> Any:
    return jax.lax.optimization_barrier(K + jnp.eye(K.shape[1]) * noise[members][:, None, :])


@partial(jax.jit, static_argnums=0)
def _conditionals(
    kernel: Kernel, numbers: Any, scale: Any, points: Any, noise: Any, members: Any, there: Any
) -> tuple[Any, Any]:
    """a (n, m) and d (n,)."""
    C = _with_noise(scale * _matrices(kernel, numbers, points, members, there), noise, members)
    cross = C[:, -1, :-1]
    a = _solved(C, cross)
    return a, C[:, -1, -1] - (a * cross).sum(axis=1)


@partial(jax.jit, donate_argnums=0)
def _added(found: Any, v: Any, a: Any, d: Any, members: Any, there: Any) -> Any:
    """The sum with what some data add to R v."""
    rows = jnp.concatenate([-a, jnp.ones((len(a), 1))], axis=1) * there
    e = jnp.einsum("nm,nmc->nc", rows, v[members]) / jnp.where(there[:, -1], d, 1.0)[:, None]
    return found.at[members].add(rows[..., None] * e[:, None])


@partial(jax.jit, static_argnums=0, donate_argnums=1)
def _slopes(
    kernel: Kernel,
    found: Any,
    numbers: Any,
    slopes: list[Any],
    scales: Any,
    points: Any,
    noise: Any,
    columns: Any,
    a: Any,
    d: Any,
    members: Any,
    there: Any,
) -> tuple[Any, Any]:
    """The derivatives along changes, and in the variances of the noise, with those of some data.

    As in `NeighborFactor._adjoint`, those in C_NN are G = level a a' - (a z' + z a') / 2; with a' = [a, -1] and
    z' = [z, 0] they are those in all of C.
    """

    def of(numbers: Any) -> Any:
        return _matrices(kernel, numbers, points, members, there)

    C = _with_noise(scales[0] * of(numbers), noise, members)
    inside = there[:, -1]
    d = jnp.where(inside, d, 1.0)
    values = columns[members] * there[..., None]
    e = values[:, -1] - jnp.einsum("nm,nmc->nc", a, values[:, :-1])
    z = _solved(C, jnp.einsum("nmc,nc->nm", values[:, :-1], e) / d[:, None])
    level = jnp.where(inside, -0.5 / d + 0.5 * (e**2).sum(axis=1) / d**2, 0.0)
    a, z = (jnp.concatenate([each, jnp.full((len(each), 1), last)], axis=1) for each, last in ((a, -1.0), (z, 0.0)))
    outer = a[:, :, None] * z[:, None, :]
    G = level[:, None, None] * a[:, :, None] * a[:, None, :] - (outer + outer.mT) / 2
    along = [scale * jnp.vdot(G, jax.jvp(of, (numbers,), (slope,))[1]) for scale, slope in zip(scales[1:], slopes)]
    of_changes, of_noise = found
    of_noise = of_noise.at[members].add(jnp.diagonal(G, axis1=1, axis2=2))
    return of_changes + jnp.array(along) if along else of_changes, of_noise


class DevicePlaces(Places):
    """As `Places`, with candidates compared on the device."""

    def _best(self, points: Array, near: Array, size: int) -> Array:
        best, _ = self._ranked(points, near, None, size)
        return best

    def _earlier(
        self, rows: Array, near: Array, order: Array, rank: Array, size: int, are_all: bool
    ) -> tuple[Array, Array]:
        before = filled(order.astype(np.int32), length_of(len(order))), rank.astype(np.int32)
        best, enough = self._ranked(self.X[rows], near, before, size)
        enough |= are_all
        return best[enough], enough

    def _ranked(self, points: Array, near: Array, before: tuple[Array, Array] | None, size: int) -> tuple[Array, Array]:
        """The candidates of the largest correlations, (M, size), and whether enough of them come before the points."""
        width = next(width for width in WIDTHS if width >= max(RANKED * size, near.shape[1]))
        found, rows = [], list(parts(len(points), width))
        with jax.enable_x64(True):
            arrays = tables(self.kernel, self.time).numbers, self._on_device
            order = None if before is None else jnp.asarray(before[0])
            for part, length in rows:
                candidates = np.full((length, width), NONE, np.int32)
                candidates[: part.stop - part.start, : near.shape[1]] = near[part]
                own = on_device(filled(points[part], length)), jnp.asarray(candidates)
                limit = None if before is None else jnp.asarray(filled(before[1][part], length))
                found.append(_ranked(self.kernel, *arrays, *own, order, limit, RANKED * size))
        none = np.empty((0, width // 2), int), np.empty(0, bool)
        best, enough = (
            np.concatenate([start, *(np.asarray(a)[: part.stop - part.start] for a, (part, _) in zip(each, rows))])
            for start, each in zip(none, zip(*found) if found else ((), ()))
        )
        return best[:, :size], enough

    @cached_property
    def _on_device(self) -> Any:
        return on_device(filled(self.X, length_of(len(self.X))))


@partial(jax.jit, static_argnums=0)
def _ranked(
    kernel: Kernel, numbers: Any, X: Any, points: Any, near: Any, order: Any, limit: Any, count: Any
) -> tuple[Any, Any]:
    """Half of the candidates, those of the largest correlations and `NONE` last.

    With an order, candidates are places in it, and so many of them count, the first of those before the limit.
    """
    enough = jnp.ones(len(near), dtype=bool)
    if order is not None:
        earlier = (near != NONE) & (near < limit[:, None])
        enough = earlier.sum(axis=1) >= count
        near = jnp.where(earlier & (jnp.cumsum(earlier, axis=1) <= count), order[near], NONE)
    values = jax.vmap(lambda x, Y: covariance(kernel, numbers, x[None], Y)[0])(points, X[near])
    best = jnp.argsort(jnp.where(near == NONE, jnp.inf, -values), axis=1, stable=True)[:, : near.shape[1] // 2]
    return jnp.take_along_axis(near, best, axis=1), enough
