"""Factored covariance matrices: the one piece of linear algebra under regression and classification.

With prior covariance K and Gaussian observations of precisions S = diag(s) (s = 1 / noise in regression, the
sites' or the likelihood's curvature in classification), everything needed comes from

    B = I + S^1/2 K S^1/2
    R = (K + S^-1)^-1 = S^1/2 B^-1 S^1/2
    Sigma = (K^-1 + S)^-1 = K - K R K,

where B's eigenvalues are at least 1 for every positive semidefinite K and every S >= 0 (Rasmussen & Williams 2006,
eq. 3.26). Each form of K has its class: `Dense` has the matrix K, `LowRank` has features Phi with
K = Phi Phi' and works with I + Phi' S Phi, `Diagonal` has the eigenvalues of K, in the basis of its eigenvectors.
`values` are K, Phi or the eigenvalues; `slopes` are the derivatives of the values, one array for each free log time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import linalg

from ..arguments import check_count, generator
from ..cost import check_memory
from ..covariance import Array
from ..errors import NotPositiveDefinite
from .pivoted import NEGLIGIBLE, Root

JITTER = 1e-10
"""Noise below this fraction of the mean prior variance is taken to be this fraction.

With it the covariance of duplicate points without noise can be factored. Rounding moves the eigenvalues of a Gram
matrix by about N * 1e-16 of the mean variance.
"""


def cholesky(B: Array) -> Array:
    """The lower Cholesky factor of B = I + S^1/2 K S^1/2, or NotPositiveDefinite."""
    # LAPACK itself: for 200 points the checks of scipy.linalg take a fifth of the time
    lower, failed = linalg.lapack.dpotrf(B, lower=1, clean=1)
    if failed or not np.all(np.isfinite(np.diagonal(lower))):  # nan anywhere ends on the diagonal
        finite = bool(np.all(np.isfinite(B)))
        raise not_positive_definite(len(B), linalg.eigvalsh(B, subset_by_index=[0, 0])[0] if finite else np.nan)
    return lower


def not_positive_definite(size: int, smallest: float) -> NotPositiveDefinite:
    """The error, for the smallest eigenvalue of B."""
    return NotPositiveDefinite(
        f"the covariance of {size} points is not positive definite: the smallest eigenvalue of I + K / noise "
        f"is {smallest:.2e}, and that with a noise of at least {JITTER:.0e} of the prior variance. Use a kernel "
        "that is positive definite by construction, or a larger noise."
    )


def scale_rows(factors: Array, v: Array) -> Array:
    """diag(factors) v, for v (N,) or (N, columns)."""
    return (factors * v.T).T


@dataclass(frozen=True)
class Cholesky(ABC):
    """What `Dense` and `LowRank` share: L with L L' = B, or L L' = I + Phi' S Phi, which has the same determinant."""

    values: Array
    precision: Array  # s, (N,)
    lower: Array

    levels: ClassVar[int] = 0
    """How many numbers without a prior are integrated out."""

    @property
    def log_det(self) -> float:
        """log |B|."""
        return 2.0 * float(np.log(np.diagonal(self.lower)).sum())

    def times(self, v: Array) -> Array:
        """K v."""
        return self.values @ self.reduced(v)

    @abstractmethod
    def posterior_mean(self, shift: Array) -> Array:
        """Sigma shift."""

    def mean_weights(self, shift: Array, mean: Array) -> Array:
        """K^-1 mean, mean = Sigma shift: what k(Xnew, X) is multiplied by to give the posterior mean."""
        return shift - self.precision * mean

    @abstractmethod
    def solve(self, v: Array) -> Array:
        """R v."""

    @abstractmethod
    def slope(self, change: Array, u: Array, v: Array) -> float:
        """u' dK v - tr(R dK) / 2: the derivative of an evidence along a change of the values."""

    def slopes(self, changes: Sequence[Array], u: Array, v: Array) -> Array:
        """The same for several changes."""
        return np.array([self.slope(change, u, v) for change in changes])

    def density_slopes(self, changes: Sequence[Array], columns: Array, solved: Array) -> tuple[Array, Array]:
        """The derivatives of -1/2 (log |R^-1| + tr W' R W), W = columns; `solved` is R W.

        Along changes of K, and in the variance of the noise of each datum, (N,).
        """
        of_noise = 0.5 * (np.square(solved).sum(axis=1) - self.inverse_diagonal())
        return self.slopes(changes, solved / 2, solved), of_noise

    @abstractmethod
    def inverse_diagonal(self) -> Array:
        """The diagonal of R."""

    @abstractmethod
    def reduced(self, weights: Array) -> Array:
        """What `cross` (see `whiten`) is multiplied by to give k(Xnew, X) weights."""

    def _solve(self, v: Array) -> Array:
        """(L L')^-1 v."""
        return linalg.lapack.dpotrs(self.lower, v, lower=1)[0]

    def lower_solve(self, v: Array, trans: int = 0) -> Array:
        """L^-1 v, or L'^-1 v with trans=1."""
        return linalg.lapack.dtrtrs(self.lower, v, lower=1, trans=trans)[0]


class Dense(Cholesky):
    """K itself; one Cholesky factorisation of B, N^3 / 3 operations."""

    of_features = False  # whether new points are seen by their features, or by their covariances with the data
    power = 1.0  # an amplitude a multiplies the values by a^power
    sign = -1.0  # of what `whiten` adds to a variance: what data explain

    @classmethod
    def of(cls, K: Array, precision: Array | float) -> Dense:
        s = np.broadcast_to(precision, len(K))
        B = K * np.sqrt(s)[:, None]
        B *= np.sqrt(s)
        B.flat[:: len(B) + 1] += 1.0
        return cls(K, s, cholesky(B))

    @staticmethod
    def variances(K: Array, slope: Array | None = None) -> Array:
        """The diagonal of K, or its derivative for a slope of K."""
        return np.diagonal(K if slope is None else slope)

    @cached_property
    def _inverse(self) -> Array:
        """B^-1 in the upper triangle, zeros below (LAPACK's dpotri on the Fortran-ordered factor, seen transposed)."""
        inverse, _ = linalg.lapack.dpotri(self.lower, lower=1)
        return inverse.T

    def solve(self, v: Array) -> Array:
        """R v."""
        root = np.sqrt(self.precision)
        return scale_rows(root, self._solve(scale_rows(root, v)))

    def posterior_mean(self, shift: Array) -> Array:
        return self.values @ self.mean_weights(shift)

    def mean_weights(self, shift: Array, mean: Any = None) -> Array:
        """K^-1 Sigma shift = S^1/2 B^-1 (u - S^1/2 K w) + w, where shift = S^1/2 u + w.

        w is the part of the shift where S is too small to divide by. Other than shift - R K shift this has no
        difference of large numbers, which costs as many digits as data have more precision than the prior.
        """
        root = np.sqrt(self.precision)
        weak = self.precision * np.diagonal(self.values) < 1e-6
        u, w = np.where(weak, 0.0, shift / np.where(weak, 1.0, root)), np.where(weak, shift, 0.0)
        if w.any():
            u = u - root * (self.values @ w)
        return root * self._solve(u) + w

    def reduced(self, weights: Array) -> Array:
        return weights

    def inverse_diagonal(self) -> Array:
        """The diagonal of R."""
        return self.precision * np.diagonal(self._inverse)

    def marginal_variance(self) -> Array:
        """The diagonal of Sigma = S^-1/2 (I - B^-1) S^-1/2; of K - K R K where S is too small to divide by."""
        inverse, _ = linalg.lapack.dtrtri(self.lower, lower=1)  # L^-1: two thirds of the time of B^-1
        share = 1.0 - np.einsum("ij,ij->j", inverse, inverse)
        weak = share < 1e-6  # rounding would cost more than six of the sixteen digits
        variance = share / np.where(weak, 1.0, self.precision)
        if weak.any():
            explained = np.square(self.whiten(self.values[weak])).sum(axis=0)
            variance[weak] = np.maximum(np.diagonal(self.values)[weak] - explained, 0.0)
        return variance

    def slope(self, dK: Array, u: Array, v: Array) -> float:
        """u' dK v - tr(R dK) / 2: the derivative of an evidence along dK; of several columns the sum of u' dK v."""
        root = np.sqrt(self.precision)
        # one triangle of a symmetric matrix is known: count it twice and the diagonal once
        both = root @ np.einsum("ij,ij,j->i", self._inverse, dK, root)
        return float(np.vdot(u, dK @ v) - both + self.inverse_diagonal() @ np.diagonal(dK) / 2)

    def whiten(self, cross: Array) -> Array:
        """L^-1 S^1/2 cross', cross = k(Xnew, X): the squares of a column add up to the variance explained by data."""
        return self.lower_solve((cross * np.sqrt(self.precision)).T)

    def unwhiten(self, white: Array) -> Array:
        """S^1/2 L'^-1 white: R cross', where white = whiten(cross)."""
        return scale_rows(np.sqrt(self.precision), self.lower_solve(white, trans=1))


class LowRank(Cholesky):
    """K = Phi Phi', by the matrix inversion lemma: N rank^2 operations. Methods are those of `Dense`."""

    of_features = True
    power = 0.5
    sign = 1.0  # what data leave

    @classmethod
    def of(cls, Phi: Array, precision: Array | float) -> LowRank:
        s = np.broadcast_to(precision, len(Phi))
        B = (Phi.T * s) @ Phi
        B.flat[:: len(B) + 1] += 1.0
        return cls(Phi, s, cholesky(B))

    @staticmethod
    def variances(Phi: Array, slope: Array | None = None) -> Array:
        return np.square(Phi).sum(axis=1) if slope is None else 2 * (slope * Phi).sum(axis=1)

    @cached_property
    def _whitened(self) -> Array:
        return self.whiten(self.values)

    def solve(self, v: Array) -> Array:
        inner = self._solve(self.reduced(scale_rows(self.precision, v)))
        return scale_rows(self.precision, v - self.values @ inner)

    def posterior_mean(self, shift: Array) -> Array:
        return self.values @ self._solve(self.reduced(shift))

    def reduced(self, weights: Array) -> Array:
        return self.values.T @ weights

    def inverse_diagonal(self) -> Array:
        return self.precision * (1.0 - self.precision * self.marginal_variance())

    def marginal_variance(self) -> Array:
        return np.square(self._whitened).sum(axis=0)

    def slope(self, dPhi: Array, u: Array, v: Array) -> float:
        # dK = dPhi Phi' + Phi dPhi', and R Phi = S Phi (I + Phi' S Phi)^-1
        R_Phi = scale_rows(self.precision, self.lower_solve(self._whitened, trans=1).T)
        moved = np.vdot(u, dPhi @ self.reduced(v)) + np.vdot(v, dPhi @ self.reduced(u))
        return float(moved - np.vdot(R_Phi, dPhi))

    def whiten(self, cross: Array) -> Array:
        """L^-1 cross', cross = Phi(Xnew): the squares of a column add up to the posterior variance."""
        return self.lower_solve(cross.T)

    def unwhiten(self, white: Array) -> Array:
        """L'^-1 white."""
        return self.lower_solve(white, trans=1)


@dataclass(frozen=True)
class Diagonal:
    """K in the basis of its eigenvectors: operations are elementwise, and another amplitude or noise costs little."""

    inverse: Array  # the eigenvalues of R
    log_det: float

    @classmethod
    def of(cls, eigenvalues: Array, precision: float) -> Diagonal:
        one_plus = 1.0 + precision * eigenvalues
        if not one_plus.min() > 0:
            raise not_positive_definite(len(eigenvalues), one_plus.min())
        return cls(precision / one_plus, float(np.log(one_plus).sum()))

    @staticmethod
    def variances(eigenvalues: Array) -> Array:
        """The eigenvalues, whose mean is that of the diagonal."""
        return eigenvalues

    def solve(self, v: Array) -> Array:
        return scale_rows(self.inverse, v)

    def density_slopes(self, changes: Sequence[Array], columns: Array, solved: Array) -> tuple[Array, Array]:
        """As of `Dense`, in the coordinates of the eigenvectors, where times do not move: those of the noise."""
        return np.empty(0), 0.5 * (np.square(solved).sum(axis=1) - self.inverse)


def draw(mean: Array, covariance: Array, rng: Any, size: int) -> Array:
    """`size` samples, (size, N), of a normal distribution; its covariance may be singular.

    Of p distributions, mean (N, p) and covariance (N, N, p), they are (size, N, p).
    """
    if mean.ndim == 2:
        rng = generator(rng)
        return np.stack([draw(mean[:, j], covariance[:, :, j], rng, size) for j in range(mean.shape[1])], axis=2)
    size = check_count("number of samples", size)
    check_memory(16.0 * size * len(mean), f"{size} samples at {len(mean)} points", "Ask for fewer at a time.")
    values, vectors = linalg.eigh(covariance, check_finite=False)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    noise = generator(rng).standard_normal((size, len(mean)))
    return mean + noise @ root.T


LEAST = 300
"""Data below which a dense factorisation is as fast."""
SHARE = 4
"""The rank is at most one part in so many of the number of data."""
EVIDENCE = 1e-8
"""What the rest of the covariance may change a log evidence by."""


@dataclass(frozen=True)
class PivotedLowRank(LowRank):
    """K = F F' of few points (see `pivoted`): as `LowRank`, but slopes are those of K."""

    @classmethod
    def root(cls, form: Any, K: Array, precision: Array | None = None) -> Root | None:
        """The points that carry K for the log evidence at these precisions, or up to rounding; None for too many."""
        if form is not Dense or len(K) < LEAST:
            return None
        share = NEGLIGIBLE
        if precision is not None:
            share = 2.0 * EVIDENCE / (float(np.max(precision)) * len(K) * float(np.diagonal(K).max()))
        return Root.of(K, len(K) // SHARE, share)

    @cached_property
    def _inverse(self) -> Array:
        """R."""
        white = self._whitened * self.precision
        R = -(white.T @ white)
        R.flat[:: len(R) + 1] += self.precision
        return R

    def slope(self, change: Array, u: Array, v: Array) -> float:
        return float(np.vdot(u, change @ v) - 0.5 * np.vdot(self._inverse, change))


def factored(form: Any, values: Array, precision: Array) -> Any:
    """The factor of a form, in few points where these carry a dense covariance."""
    root = PivotedLowRank.root(form, values, precision)
    return form.of(values, precision) if root is None else PivotedLowRank.of(root.F, precision)


@dataclass(frozen=True)
class Spectrum:
    """D K D = U diag(eigenvalues) U', D = diag(scale): new coordinates are U' D y.

    D makes the noise the same for all data where it is not; it leaves the mean prior variance what it is.
    """

    eigenvalues: Array
    vectors: Array  # U, (N, N)
    scale: Array  # (N,)
    noise: float  # the variance of the noise in these coordinates over the parameter `noise`

    @classmethod
    def of(cls, form: Any, values: Array, variance: float, noise: Array) -> Spectrum:
        """From the values of a prior at a time, their mean variance and the relative noise of the data."""
        K = values @ values.T if form is LowRank else values
        noise = np.maximum(noise, JITTER * noise.max())
        scale = 1.0 / np.sqrt(noise) if noise.any() else np.ones(len(K))
        scale = scale * np.sqrt(variance / np.mean(scale**2 * np.diagonal(K)))
        eigenvalues, vectors = linalg.eigh(K * np.outer(scale, scale), driver="evd", check_finite=False)
        return cls(eigenvalues, vectors, scale, float(np.mean(noise * scale**2)))

    def rotated(self, data: Any) -> Any:
        """`Targets` in these coordinates."""
        return data.mapped(self.vectors.T * self.scale, self.noise, float(np.log(self.scale).sum()))
