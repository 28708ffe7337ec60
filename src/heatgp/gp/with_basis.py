"""f plus basis functions whose coefficients have a normal prior: in the place of the factored covariance of f."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import linalg

from ..covariance import Array
from .factors import cholesky


@dataclass(frozen=True)
class WithBasis:
    """The factored covariance K + H diag(1 / inner) H', from that of K; methods are those of `Dense`.

    With R of K alone and A = H' R H + diag(inner),

        (K + H diag(1 / inner) H' + S^-1)^-1 = R - R H A^-1 H' R.

    So a wide prior of coefficients, a small `inner`, costs no digits, and predictions have the factor of K alone.

    Reference: Rasmussen & Williams (2006), eq. 2.40 to 2.42.
    """

    factor: Any  # Dense or LowRank, of K
    basis: Array  # H, (N, q)
    inner: Array  # (q,), one over the prior variances of the coefficients
    flat: Array  # (q,), whether these stand for a flat prior
    solved: Array  # R H, (N, q)
    lower: Array  # L with L L' = A

    levels: ClassVar[int] = 0

    @classmethod
    def of(cls, factor: Any, basis: Array, inner: Array, flat: Array) -> WithBasis:
        solved = factor.solve(basis)
        A = basis.T @ solved
        A = (A + A.T) / 2
        A.flat[:: len(A) + 1] += inner
        return cls(factor, basis, inner, flat, solved, cholesky(A))

    @property
    def precision(self) -> Array:
        return self.factor.precision

    @property
    def log_det(self) -> float:
        """log |I + S^1/2 (K + H diag(1 / inner) H') S^1/2|; less log (2 pi / inner) for each flat prior.

        So an evidence with these has the limit of wide priors: the restricted likelihood, as with normal noise.
        """
        of_prior = np.where(self.flat, 2 * np.pi, self.inner)
        return self.factor.log_det + float(2.0 * np.log(np.diagonal(self.lower)).sum() - np.log(of_prior).sum())

    def marginal_variance(self) -> Array:
        return self.factor.marginal_variance() + np.square(self._root).sum(axis=1)

    def posterior_mean(self, shift: Array) -> Array:
        return self.factor.posterior_mean(shift) + self._root @ (self._root.T @ shift)

    def mean_weights(self, shift: Array, mean: Array) -> Array:
        """Those of f less its mean H c, with c as the posterior has it."""
        known = self.basis @ self.coefficients(shift)
        return self.factor.mean_weights(shift - self.precision * known, mean - known)

    def coefficients(self, shift: Array) -> Array:
        """The posterior means of the coefficients, (q,)."""
        return np.linalg.solve(self.lower.T, self._root.T @ shift)

    def in_coefficients(self, shift: Array) -> Array:
        """The derivatives of an evidence in the logs of the prior variances of the coefficients, (q,)."""
        variance = np.square(self._whiten(np.eye(len(self.lower)))).sum(axis=0)
        return 0.5 * (self.inner * (self.coefficients(shift) ** 2 + variance) - 1.0)

    def slopes(self, changes: Sequence[Array], u: Array, v: Array) -> Array:
        of_basis = self._whiten(self.solved.T).T
        return self.factor.slopes(changes, np.column_stack([u, 0.5 * of_basis]), np.column_stack([v, of_basis]))

    @cached_property
    def _root(self) -> Array:
        """U with U U' what the coefficients add to the posterior covariance: (H - K R H) L'^-1."""
        return self._whiten((self.basis - self.factor.times(self.solved)).T).T

    def _whiten(self, columns: Array) -> Array:
        """L^-1 columns."""
        return linalg.lapack.dtrtrs(self.lower, columns, lower=1)[0] if len(columns) else columns
