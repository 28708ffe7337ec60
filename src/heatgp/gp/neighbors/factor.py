"""The covariance of data each of which depends on a few near ones before it: Vecchia's approximation.

    p(y) = product over i of p(y_i | y_N(i)),    N(i) the nearest of the data before i.

With C = K + S^-1 the mean of y_i given its neighbors is a_i' y_N(i), a_i = C_NN^-1 C_Ni, and the variance is
d_i = C_ii - a_i' C_Ni. So C^-1 is taken as R = U' D^-1 U, where U has ones on the diagonal and -a_i in row i. All
neighborhoods have one size, so that they are solved as one stack of small matrices.

References: Vecchia (1988), J. R. Statist. Soc. B 50, 297-312; Katzfuss & Guinness (2021), Statistical Science 36.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ...covariance import Array, Evaluation, Kernel, TimeFunction
from ...threads import on_all_threads
from ..factors import not_positive_definite
from .nearest import NONE

PAIRS = 1 << 19
"""Pairs of points whose covariances are computed at one time: some megabytes."""
KEPT = 1 << 26
"""Pairs up to which what does not depend on the time is kept, such as distances: half a gigabyte."""
VALUES_KEPT = 1 << 24
"""Pairs up to which covariances are kept for the gradient: some hundred megabytes."""


@dataclass(frozen=True)
class Neighborhoods:
    """Data, and the data before them that they are conditioned on.

    Attributes
    ----------
    rows : array (T,), the numbers of the data whose density is taken: all N, or some of them.
    near : array (T, m), the numbers of their neighbors; `NONE` where there are fewer.
    number : int, N.
    """

    rows: Array
    near: Array
    number: int

    @property
    def chunks(self) -> list[slice]:
        """Parts that are worked on at one time."""
        size = max(1, PAIRS // (self.pairs or 1))
        return [slice(start, start + size) for start in range(0, len(self.rows), size)]

    @property
    def pairs(self) -> int:
        """How many pairs of points a neighborhood and its datum have."""
        m = self.near.shape[1]
        return m * (m + 1) // 2

    def members(self, part: slice) -> Array:
        """The neighbors and then the datum itself, (n, m + 1); the datum in the place of neighbors that are missing."""
        rows, near = self.rows[part, None], self.near[part]
        return np.hstack([np.where(near == NONE, rows, near), rows])

    @cached_property
    def triangle(self) -> tuple[Array, Array]:
        """The pairs of members: those of neighbors, row by row, and then each neighbor with the datum."""
        return np.tril_indices(self.near.shape[1] + 1, -1)

    def present(self, part: slice) -> Array:
        """Which pairs are of two members, (n, pairs)."""
        there = np.hstack([self.near[part] != NONE, np.ones((len(self.near[part]), 1), bool)])
        row, column = self.triangle
        return there[:, row] & there[:, column]


@dataclass(frozen=True)
class Blocks:
    """The covariances within neighborhoods at one time, computed part by part; of derivatives those in a log time."""

    sets: Neighborhoods
    evaluations: Callable[[int], Evaluation]  # of the pairs of a part, by its number
    own: Array  # (N,), the prior variances
    number: int | None = None  # of the log time of a derivative
    scale: float = 1.0

    def __rmul__(self, factor: float) -> Blocks:
        return Blocks(self.sets, self.evaluations, factor * self.own, self.number, factor * self.scale)

    __array_ufunc__ = None  # a number of NumPy times this is `__rmul__`

    def of_part(self, number: int) -> Array:
        """The covariances of the pairs of a part, (n, pairs)."""
        part = self.sets.chunks[number]
        found = self.evaluations(number)
        if self.number is None:
            values = found.value
        else:
            values = found.slopes[self.number]
        values = self.scale * values.reshape(len(self.sets.near[part]), self.sets.pairs)
        if (self.sets.near[part] == NONE).any():
            values = np.where(self.sets.present(part), values, 0.0)
        return values

    def conditionals(self, noise: Array) -> tuple[Array, Array]:
        """a (T, m) and d (T,), with these variances of the noise, (N,)."""
        found = list(_each(self.sets, lambda number: _conditional(self, noise, number)[:2]))
        weights, left = (np.concatenate(parts) for parts in zip(*found))
        return weights, left


def covariances(kernel: Kernel, X: Array, sets: Neighborhoods) -> TimeFunction:
    """`Blocks` of the points X as a function of time."""
    row, column = sets.triangle
    kept = len(sets.rows) * sets.pairs <= KEPT
    prepared: dict[int, TimeFunction] = {}

    def of_pairs(number: int) -> TimeFunction:
        if number in prepared:
            return prepared[number]
        members = sets.members(sets.chunks[number])
        found = kernel.paired(X[members[:, row].ravel()], X[members[:, column].ravel()])
        if kept:
            prepared[number] = found
        return found

    own = kernel.paired(X)

    def at(time: Any) -> Evaluation:
        values: dict[int, Evaluation] = {}

        def evaluation(number: int) -> Evaluation:
            if number in values:
                return values[number]
            found = of_pairs(number).at(time)
            if len(sets.rows) * sets.pairs <= VALUES_KEPT:
                values[number] = found
            return found

        variances = own.at(time)
        slopes = [Blocks(sets, evaluation, slope, k) for k, slope in enumerate(variances.slopes)]
        value: Any = Blocks(sets, evaluation, variances.value)
        derivatives: Any = slopes
        return Evaluation(lambda: value, lambda: derivatives)

    return TimeFunction(at)


@dataclass(frozen=True)
class NeighborFactor:
    """The factored covariance; methods are those of `Dense`.

    Of some data the density of these alone is taken, given their neighbors among all.
    """

    sets: Neighborhoods
    precision: Array  # s, (N,)
    weights: Array  # a, (T, m)
    left: Array  # d, (T,)
    values: Any = None  # Blocks, for derivatives

    power = 1.0  # an amplitude a multiplies the values by a^power

    @classmethod
    def of(cls, values: Blocks, precision: Array | float) -> NeighborFactor:
        s = np.broadcast_to(precision, values.sets.number)
        weights, variances = values.conditionals(1.0 / s)
        if not variances.min(initial=np.inf) > 0:
            raise not_positive_definite(values.sets.number, float(variances.min()))
        return cls(values.sets, s, weights, variances, values)

    @staticmethod
    def variances(values: Blocks, slope: Blocks | None = None) -> Array:
        """The prior variances, or their derivatives."""
        return (values if slope is None else slope).own

    @cached_property
    def root(self) -> csr_array:
        """U, (T, N)."""
        sets = self.sets
        members = sets.members(slice(None))
        entries = np.hstack([-self.weights, np.ones((len(sets.rows), 1))])
        entries[:, :-1][sets.near == NONE] = 0.0
        starts = np.arange(len(members) + 1) * members.shape[1]
        return csr_array((entries.ravel(), members.ravel(), starts), shape=(len(members), sets.number))

    @property
    def log_det(self) -> float:
        """log |S^1/2 C S^1/2|; of some data, so that with the logs of all noises it is that of their variances."""
        return float(np.log(self.left).sum() + np.log(self.precision).sum())

    def solve(self, v: Array) -> Array:
        """R v."""
        root = self.root
        return root.T @ ((root @ v).T / self.left).T

    def inverse_diagonal(self) -> Array:
        """The diagonal of R."""
        squares = self.root.copy()
        squares.data = squares.data**2
        return squares.T @ (1.0 / self.left)

    def density_slopes(self, changes: Sequence[Blocks], columns: Array, solved: Array) -> tuple[Array, Array]:
        """The derivatives of -1/2 (log |R^-1| + tr W' R W), W = columns (N, c).

        Along changes of the covariance, and in the variance of the noise of each datum, (N,).
        """
        sets, of_noise, of_changes = self.sets, np.zeros(self.sets.number), np.zeros(len(changes))

        def of_part(number: int) -> tuple[Array, Array, Array]:
            members = sets.members(sets.chunks[number])
            of_pairs, of_own = self._adjoint(columns, number)
            along = [np.vdot(of_pairs, each.of_part(number)) + np.vdot(of_own, each.own[members]) for each in changes]
            return members, of_own, np.array(along)

        for members, of_own, along in _each(sets, of_part):
            of_noise += np.bincount(members.ravel(), of_own.ravel(), minlength=sets.number)
            of_changes += along
        return of_changes, of_noise

    def _adjoint(self, columns: Array, number: int) -> tuple[Array, Array]:
        """The derivatives in the covariances of each pair, (n, pairs), and in the variances of members, (n, m + 1).

        With e = W_i - W_N' a the density of a datum is -1/2 (log d + |e|² / d). A change of the covariance changes a by
        C_NN^-1 (dC_Ni - dC_NN a), and d by dC_ii - 2 a' dC_Ni + a' dC_NN a.
        """
        sets = self.sets
        part = sets.chunks[number]
        a, d, members = self.weights[part], self.left[part], sets.members(part)
        near = np.where((sets.near[part] == NONE)[..., None], 0.0, columns[members[:, :-1]])
        e = columns[members[:, -1]] - np.einsum("nm,nmc->nc", a, near)
        pull = np.einsum("nmc,nc->nm", near, e) / d[:, None]
        _, _, z = _conditional(self.values, 1.0 / self.precision, number, pull)
        level = -0.5 / d + 0.5 * np.square(e).sum(axis=1) / d**2
        row, column = (index[: -a.shape[1]] for index in sets.triangle)
        scaled = level[:, None] * a
        within = 2 * scaled[:, row] * a[:, column] - a[:, row] * z[:, column] - a[:, column] * z[:, row]
        of_pairs = np.hstack([within, z - 2 * scaled])
        of_own = np.hstack([scaled * a - z * a, level[:, None]])
        of_own[:, :-1][sets.near[part] == NONE] = 0.0
        return of_pairs, of_own


def _conditional(values: Blocks, noise: Array, number: int, pull: Array | None = None) -> tuple[Array, Array, Array]:
    """a (n, m) and d (n,) of the data of a part, and C_NN^-1 pull."""
    sets = values.sets
    part = sets.chunks[number]
    members, m = sets.members(part), sets.near.shape[1]
    pairs, own = values.of_part(number), values.own[members] + noise[members]
    cross = pairs[:, pairs.shape[1] - m :]
    right = cross[..., None] if pull is None else np.stack([cross, pull], axis=-1)
    solved = np.linalg.solve(square(pairs[:, : pairs.shape[1] - m], own[:, :-1]), right)
    a = solved[..., 0]
    return a, own[:, -1] - (a * cross).sum(axis=1), solved[..., -1]


def square(pairs: Array, diagonal: Array) -> Array:
    """Symmetric matrices (n, m, m) from their lower triangles, row by row, and their diagonals."""
    m = diagonal.shape[1]
    out = np.empty((len(diagonal), m, m))
    row, column = np.tril_indices(m, -1)
    out[:, row, column] = pairs
    out[:, column, row] = pairs
    out[:, np.arange(m), np.arange(m)] = diagonal
    return out


def _each(sets: Neighborhoods, function: Callable[[int], Any]) -> Iterator[Any]:
    """`function` of the number of each part, over cores."""
    operations = float(len(sets.rows)) * sets.near.shape[1] ** 3
    return on_all_threads(function, range(len(sets.chunks)), operations)
