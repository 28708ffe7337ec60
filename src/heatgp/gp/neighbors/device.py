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

from ...covariance import Array, Evaluation, Kernel, TimeFunction
from ..device import Tables, covariance, filled, on_device, parts, tables
from .factor import Neighborhoods
from .nearest import NONE, Places

ROOM = 1 << 16
"""New points that are predicted with the programs of the fit."""


def length_of(number: int) -> int:
    """To how many rows arrays of all points are filled up."""
    return 1 << (number + ROOM - 1).bit_length()


def covariances(kernel: Kernel, X: Array, sets: Neighborhoods) -> TimeFunction:
    """`DeviceBlocks` of the points X as a function of time."""
    members = Members(sets, on_device(filled(X, length_of(len(X)))))
    own = kernel.paired(X)

    def at(time: Any) -> Evaluation:
        found, at_time = own.at(time), tables(kernel, time)
        value: Any = DeviceBlocks(members, kernel, at_time, found.value)
        slopes: Any = [DeviceBlocks(members, kernel, at_time, slope, k) for k, slope in enumerate(found.slopes)]
        return Evaluation(lambda: value, lambda: slopes)

    return TimeFunction(at)


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
        return replace(self, own=factor * self.own, scale=factor * self.scale)

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

    def density_slopes(
        self, changes: Sequence[DeviceBlocks], noise: Array, weights: Array, left: Array, columns: Array
    ) -> tuple[Array, Array]:
        """As of `factor.Blocks`."""
        members, scales = self.members, (self.scale, *(each.scale for each in changes))
        slopes = [self.tables.slopes[each.number] for each in changes]
        of_noise, of_changes = np.zeros(self.sets.number), np.zeros(len(changes))
        with jax.enable_x64(True):
            arrays, found = (members.points, members.each(noise), members.each(columns)), []
            for part, *each in members.parts:
                own = (filled(array[part], len(each[0])) for array in (weights, left))
                found.append(_slopes(self.kernel, self.tables.numbers, slopes, scales, *arrays, *own, *each))
        for (part, *_), (of_own, along) in zip(members.parts, found):
            numbers = self.sets.members(part)
            of_noise += np.bincount(
                numbers.ravel(), np.asarray(of_own)[: len(numbers)].ravel(), minlength=self.sets.number
            )
            of_changes += np.asarray(along)
        return of_changes, of_noise

    def _joined(self, arrays: Sequence[Any]) -> Array:
        """The results of all parts, without the rows that these were filled up with."""
        return np.concatenate(
            [np.asarray(a)[: part.stop - part.start] for a, (part, *_) in zip(arrays, self.members.parts)]
        )


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
    return K + jnp.eye(K.shape[1]) * noise[members][:, None, :]


@partial(jax.jit, static_argnums=0)
def _conditionals(
    kernel: Kernel, numbers: Any, scale: Any, points: Any, noise: Any, members: Any, there: Any
) -> tuple[Any, Any]:
    """a (n, m) and d (n,)."""
    C = _with_noise(scale * _matrices(kernel, numbers, points, members, there), noise, members)
    cross = C[:, -1, :-1]
    a = _solved(C, cross)
    return a, C[:, -1, -1] - (a * cross).sum(axis=1)


@partial(jax.jit, static_argnums=0)
def _slopes(
    kernel: Kernel,
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
    """The derivatives in the variances of members, (n, m + 1), and along changes, as of `Blocks._adjoint`.

    Those in C_NN are G = level a a' - (a z' + z a') / 2, and with a' = [a, -1], z' = [z, 0] those in all of C.
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
    return jnp.diagonal(G, axis1=1, axis2=2), jnp.stack(along) if along else jnp.zeros(0)


class DevicePlaces(Places):
    """As `Places`, with the correlations of candidates computed on the device."""

    def _best(self, points: Array, near: Array, size: int) -> Array:
        width = 1 << (max(size, near.shape[1]) - 1).bit_length()
        near = np.pad(near, ((0, 0), (0, width - near.shape[1])), constant_values=NONE).astype(np.int32)
        rows, found = list(parts(len(points), width)), []
        with jax.enable_x64(True):
            arrays = tables(self.kernel, self.time).numbers, self._on_device
            for part, length in rows:
                own = on_device(filled(points[part], length)), filled(near[part], length)
                found.append(_ranked(self.kernel, *arrays, *own))
        return np.concatenate(
            [np.empty((0, width), int), *(np.asarray(a)[: part.stop - part.start] for a, (part, _) in zip(found, rows))]
        )[:, :size]

    @cached_property
    def _on_device(self) -> Any:
        return on_device(filled(self.X, length_of(len(self.X))))


@partial(jax.jit, static_argnums=0)
def _ranked(kernel: Kernel, numbers: Any, points: Any, X: Any, near: Any) -> Any:
    """Candidates, those of the largest correlations first and `NONE` last."""
    values = jax.vmap(lambda x, Y: covariance(kernel, numbers, x[None], Y)[0])(X, points[near])
    order = jnp.argsort(jnp.where(near == NONE, jnp.inf, -values), axis=1, stable=True)
    return jnp.take_along_axis(near, order, axis=1)
