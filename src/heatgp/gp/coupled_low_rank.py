"""`Coupled` where a few points carry the whole covariance, as those of smooth functions do.

With K = F F', F of N rows and few columns, f_c = F w_c. At a point with precisions s_c, D their sum, p_c = s_c / D, the
level that the functions share is integrated out first, which leaves contrasts of functions:

    g_c = sum over d of a_cd f_d + noise of variance 1 / D,    a_cd = [c = d] - p_d,

and the precision of all w is P = I + blocks F' diag(s_c a_cd) F. One matrix of classes times rank rows is factored.
With A_c = [a_c1 F, ..., a_cC F], P = L L' and W_c = L^-1 A_c', the variance of g_c is that of W_c' W_c plus 1 / D, and
R_cc = diag(s_c a_cc) - diag(s_c) W_c' W_c diag(s_c).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy import linalg

from ..covariance import Array
from .factors import cholesky
from .pivoted import Root

NUMBERS = 1 << 22
"""Numbers in memory at one time, 32 MB, where points are taken one part after the other."""


@dataclass(frozen=True)
class CoupledLowRank:
    """The factored covariance of g_c = f_c - s; methods are those of `Coupled`. Vectors have the shape (classes, N)."""

    root: Root
    precision: Array  # (classes, N), with the noise of the largest
    lower: Array  # L, (classes * rank, classes * rank)

    of_features: ClassVar = False

    @classmethod
    def of(cls, root: Root, precision: Array, largest: Array) -> CoupledLowRank:
        precision = precision + (np.arange(len(precision))[:, None] == largest)
        share, F, size = precision / precision.sum(axis=0), root.F, root.F.shape[1]
        classes = len(precision)
        P = np.zeros((classes * size, classes * size))
        for c in range(classes):
            for d in range(c + 1):  # one triangle is enough
                weight = precision[c] * ((c == d) - share[d])
                P[c * size : (c + 1) * size, d * size : (d + 1) * size] = (F.T * weight) @ F
        P.flat[:: len(P) + 1] += 1.0
        return cls(root, precision, cholesky(P))

    @property
    def K(self) -> Array:
        """The prior covariance of each function."""
        return self.root.K

    @property
    def levels(self) -> int:
        return self.precision.shape[1]

    @property
    def log_det(self) -> float:
        return float(2.0 * np.log(np.diagonal(self.lower)).sum() + np.log(self._total).sum())

    def marginal_variance(self) -> Array:
        explained = [np.square(white).sum(axis=1) for _, white in self._whitened()]
        return np.concatenate(explained, axis=1) + 1.0 / self._total

    def posterior_mean(self, shift: Array) -> Array:
        level = shift.sum(axis=0) / self._total
        pulls = (shift - self.precision * level) @ self.root.F
        weights = linalg.cho_solve((self.lower, True), pulls.ravel(), check_finite=False)
        f = weights.reshape(pulls.shape) @ self.root.F.T
        return f - (self._share * f).sum(axis=0) + level

    def mean_weights(self, shift: Array, mean: Array) -> Array:
        """K^-1 mean of each function."""
        return shift - self.precision * mean

    def slopes(self, changes: Sequence[Array], u: Array, v: Array) -> Array:
        return np.array([np.vdot(u @ dK, v) - 0.5 * np.vdot(self._sum, dK) for dK in changes])

    def explained(self, cross: Array) -> tuple[Array, Array]:
        """As in `Coupled`; the first is what the chosen points would explain, the second what is not known of them."""
        new, classes = self.root.at(cross), len(self.precision)
        return np.tile(np.square(new).sum(axis=0), (classes, 1)), covariances(self.lower, new)

    @cached_property
    def _sum(self) -> Array:
        """The sum of R_cc over the classes."""
        white = np.concatenate([W * self.precision[:, None, part] for part, W in self._whitened()], axis=2)
        white = white.reshape(-1, self.levels)
        R = -(white.T @ white)
        R.flat[:: len(R) + 1] += (self.precision * (1.0 - self._share)).sum(axis=0)
        return R

    @cached_property
    def _total(self) -> Array:
        return self.precision.sum(axis=0)

    @cached_property
    def _share(self) -> Array:
        return self.precision / self._total

    def _whitened(self) -> Iterator[tuple[slice, Array]]:
        """W_c of some of the points after the other: which, and an array (classes, classes * rank, points)."""
        classes, (number, rank) = len(self.precision), self.root.F.shape
        size = max(1, NUMBERS // max(1, classes**2 * rank))
        for start in range(0, number, size):
            part = slice(start, min(start + size, number))
            white = solved(self.lower, self.root.F[part].T, classes)
            yield part, white - np.einsum("dn,din->in", self._share[:, part], white)


@dataclass(frozen=True)
class CoupledFeatures:
    """What is kept of a `CoupledLowRank` where the data are not: new points are seen by their features."""

    lower: Array

    of_features: ClassVar = True

    def explained(self, features: Array) -> tuple[Array, Array]:
        """As in `Coupled`, of features (M, rank): all that is known of them is in the second."""
        classes = len(self.lower) // max(1, features.shape[1])
        return np.zeros((classes, len(features))), covariances(self.lower, features.T)


def solved(lower: Array, new: Array, classes: int) -> Array:
    """L^-1 of the columns (rank, M) in the place of each class: (classes, classes * rank, M)."""
    rank, found = len(new), np.zeros((classes, len(lower), new.shape[1]))
    for c, out in enumerate(found):
        column = np.zeros((len(lower) - c * rank, new.shape[1]))
        column[:rank] = new
        out[c * rank :] = linalg.solve_triangular(lower[c * rank :, c * rank :], column, lower=True, check_finite=False)
    return found


def covariances(lower: Array, new: Array) -> Array:
    """The covariance of the functions of all classes at M points with features (rank, M): (M, classes, classes)."""
    white = np.ascontiguousarray(solved(lower, new, len(lower) // len(new)).transpose(2, 0, 1))
    return white @ white.swapaxes(1, 2)
