"""Several functions that are compared with each other: the covariance of f_c - s, where s is a level that they share.

A label says which of f_1(x), ..., f_C(x) is the largest, after noise is added, and nothing of their sizes. With s the
largest value, s = f_y + noise of variance one, every factor of the likelihood is one of a single g_c = f_c - s. With
Gaussian observations of g_c, of precisions S_c = diag(s_c), one of them the noise of f_y, and the prior covariance K,

    E_c = (K + S_c^-1)^-1,    M = E_1 + ... + E_C:

given s the functions are independent, and s has the precision M. R, the inverse of the covariance of the observations
in which s is integrated out, has the blocks R_cd = [c = d] E_c - E_c M^-1 E_d. So C + 1 matrices of N rows are factored
instead of one of C N rows.

Reference: Riihimaki, Jylanki & Vehtari (2013), section 3; Rasmussen & Williams (2006), Alg. 3.3, where the precisions
of a point add up to one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy import linalg

from ..covariance import Array
from ..threads import all_threads
from .factors import cholesky

WEAK = 1e-6
"""Share of a prior variance that is explained, below which rounding would cost more than six of the sixteen digits."""


@dataclass(frozen=True)
class Coupled:
    """The factored covariance of g_c = f_c - s. Vectors have the shape (classes, N)."""

    K: Array  # (N, N), of each function
    precision: Array  # (classes, N), with the noise of the largest
    inverses: Array  # E_c, (classes, N, N)
    lower: Array  # the Cholesky factor of M
    log_det: float

    of_features: ClassVar = False

    @classmethod
    def of(cls, K: Array, precision: Array, largest: Array) -> Coupled:
        """From the precisions (classes, N) of the other observations and the number of the largest, (N,)."""
        precision = precision + (np.arange(len(precision))[:, None] == largest)
        inverses, log_det = np.empty((len(precision), *K.shape)), 0.0
        with all_threads(inverses.size * len(K)):
            for E, s in zip(inverses, precision):
                root = np.sqrt(s)
                B = K * root[:, None]
                B *= root
                B.flat[:: len(B) + 1] += 1.0
                lower = cholesky(B)
                log_det += 2.0 * np.log(np.diagonal(lower)).sum()
                half, _ = linalg.lapack.dpotri(lower, lower=1, overwrite_c=1)  # one triangle of B^-1, else zeros
                half.flat[:: len(half) + 1] *= 0.5
                np.add(half, half.T, out=E)
                E *= root
                E *= root[:, None]
            lower = cholesky(inverses.sum(axis=0))
        return cls(K, precision, inverses, lower, float(log_det + 2.0 * np.log(np.diagonal(lower)).sum()))

    @property
    def levels(self) -> int:
        """How many numbers without a prior are integrated out."""
        return len(self.K)

    def marginal_variance(self) -> Array:
        """The variance of each g_c: S^-1 - S^-1 R S^-1; from K where S is too small to divide by."""
        variance = np.empty_like(self.precision)
        for found, E, s, white in zip(variance, self.inverses, self.precision, self._whitened):
            seen = s > 0
            share = 1.0 - np.where(seen, np.diagonal(E) / np.where(seen, s, 1.0), 1.0)  # s times variance given level
            weak = share < WEAK
            safe = np.where(weak, 1.0, s)
            found[:] = (share + np.einsum("ij,ij->i", white, white) / safe) / safe
            if weak.any():
                rows = self.K[weak] @ E
                given = np.diagonal(self.K)[weak] - np.einsum("ij,ij->i", rows, self.K[weak])
                pull = -rows.T
                pull[weak, np.arange(len(rows))] += 1.0
                found[weak] = np.maximum(given, 0.0) + np.square(self._level(pull)).sum(axis=0)
        return variance

    def posterior_mean(self, shift: Array) -> Array:
        """The mean of each g_c; `shift` is precision times observation."""
        # (I - E K) shift is E times the observations; a difference only where precisions are too small to divide by
        strong = self.precision * np.diagonal(self.K) > WEAK
        observed, rest = (
            np.where(strong, shift, 0.0) / np.where(strong, self.precision, 1.0),
            np.where(strong, 0.0, shift),
        )
        pulls = rest + np.stack([E @ v for E, v in zip(self.inverses, observed - rest @ self.K)])
        level = -linalg.cho_solve((self.lower, True), pulls.sum(axis=0), check_finite=False)
        return (self.inverses @ level + pulls) @ self.K - level

    def mean_weights(self, shift: Array, mean: Array) -> Array:
        """K^-1 mean of each function."""
        return shift - self.precision * mean

    def slopes(self, changes: Sequence[Array], u: Array, v: Array) -> Array:
        """The sum over classes of u_c' dK v_c - tr(R_cc dK) / 2, the derivative of an evidence, for each change dK."""
        return np.array([np.vdot(u @ dK, v) - 0.5 * np.vdot(self._sum, dK) for dK in changes])

    def explained(self, cross: Array) -> tuple[Array, Array]:
        """What data say of f at M new points, cross = k(Xnew, X), (M, N).

        Returns
        -------
        Arrays (classes, M) and (M, classes, classes). The covariance of the f_c at a point is diag(prior variance -
        first) + second: what is explained given the level, and what the level leaves open.
        """
        pulls = [E @ cross.T for E in self.inverses]
        given = np.stack([np.einsum("ij,ji->i", cross, pull) for pull in pulls])
        white = np.stack([self._level(pull) for pull in pulls], axis=-1).swapaxes(0, 1)  # (M, N, classes)
        return given, white.swapaxes(1, 2) @ white

    @cached_property
    def _whitened(self) -> Array:
        """(L^-1 E_c)', L L' = M: (classes, N, N)."""
        columns = self.inverses.reshape(-1, self.levels).T
        with all_threads(columns.size * self.levels):
            return linalg.blas.dtrsm(1.0, self.lower, columns, lower=1).T.reshape(self.inverses.shape)

    @cached_property
    def _sum(self) -> Array:
        """The sum of R_cc over the classes."""
        return self.inverses.sum(axis=0) - sum(white @ white.T for white in self._whitened)

    def _level(self, v: Array) -> Array:
        return linalg.solve_triangular(self.lower, v, lower=True, check_finite=False)
