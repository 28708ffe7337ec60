"""The covariance of many points from a few of them: Cholesky factorisation with large pivots first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ..covariance import Array

BLOCK = 64
"""Points that are looked at together: columns are then products of matrices."""
NEGLIGIBLE = 1e-12
"""The share of the largest prior variance that chosen points may leave unexplained: the size of rounding errors."""
ROUNDING = 1e-14
"""A share that is rounding alone."""
GOOD = 0.3
"""A point is taken where its variance is at least this part of the largest that is left."""


def pivoted_cholesky(
    columns: Callable[[Array], Array], diagonal: Array, tolerance: Callable[[int], float], limit: int
) -> tuple[Array, Array, Array]:
    """F, (N, rank), with K = F F' but for what the chosen points do not explain.

    Each step looks at some of the points with large variances left, and takes those that the others of them leave with
    a large one too. It ends when no variance is left above the tolerance, or when `limit` points are taken.

    Parameters
    ----------
    columns : function of point numbers (b,) that returns K[:, numbers], (N, b).
    diagonal : array (N,), that of K.
    tolerance : function of the number of points taken; variances below its value count as explained.
    limit : int, the largest rank.

    Returns
    -------
    F, the numbers of the chosen points, (rank,), and the variances that they leave, (N,). F[chosen] is lower
    triangular.

    Reference: Harbrecht, Peters & Schneider (2012), Alg. 1.

    Examples
    --------
    >>> K = np.array([[2.0, 1.0, 2.0], [1.0, 3.0, 1.0], [2.0, 1.0, 2.0]])
    >>> F, chosen, left = pivoted_cholesky(lambda i: K[:, i], np.diagonal(K), lambda rank: 1e-10, 3)
    >>> chosen, bool(np.allclose(F @ F.T, K))
    (array([1, 0]), True)
    """
    rng = np.random.default_rng(0)
    left, chosen = diagonal.astype(float), np.empty(0, dtype=int)
    F = np.empty((len(left), min(limit, len(left))), order="F")
    while (rank := len(chosen)) < F.shape[1]:
        worst, enough = float(left.max(initial=0.0)), tolerance(rank)
        if not worst > enough:
            break
        large = np.flatnonzero(left > max(GOOD * worst, enough))
        large = rng.permutation(large)[: min(BLOCK, F.shape[1] - rank)]  # of all regions, not neighbours
        new = columns(large) - F[:, :rank] @ F[large, :rank].T
        lower, order, taken, _ = linalg.lapack.dpstrf(new[large], tol=max(GOOD * worst, enough), lower=1)
        kept = order[:taken] - 1
        lower = np.tril(lower[:taken, :taken])
        part = linalg.solve_triangular(lower, new[:, kept].T, lower=True, check_finite=False).T
        part[chosen] = 0.0  # zero but for rounding
        part[large[kept]] = lower
        left = np.maximum(left - np.square(part).sum(axis=1), 0.0)
        left[large[kept]] = 0.0
        F[:, rank : rank + taken] = part
        chosen = np.concatenate([chosen, large[kept]])
    return F[:, : len(chosen)], chosen, left


@dataclass(frozen=True)
class Root:
    """K = F F' of chosen points, up to rounding."""

    K: Array
    F: Array  # (N, rank)
    chosen: Array  # (rank,)

    @classmethod
    def of(cls, K: Array, limit: int, share: float = NEGLIGIBLE) -> Root | None:
        """None where more than `limit` points are needed to leave no more than a share of the largest variance.

        Half of the points mostly need no more than all of them: they are asked first, for an eighth of the work.
        """
        tolerance = share * float(np.diagonal(K).max())
        if share < ROUNDING or not tolerance > 0:  # not where a variance is nan
            return None
        if len(K) > 2 * limit and len(triangular_root(K[::2, ::2], tolerance)[1]) > limit:
            return None
        F, chosen = triangular_root(K, tolerance)
        return cls(K, F, chosen) if len(chosen) <= limit and np.isfinite(F).all() else None

    def at(self, cross: Array) -> Array:
        """The rows of F at new points, cross = k(Xnew, X), (M, N): (rank, M)."""
        return linalg.solve_triangular(self.F[self.chosen], cross[:, self.chosen].T, lower=True, check_finite=False)


def triangular_root(K: Array, tolerance: float) -> tuple[Array, Array]:
    """F, (N, rank), with K = F F' but for variances up to the tolerance, and the points in whose rows it is triangular.

    The point with the largest variance that is left is taken first.
    """
    if not np.max(np.diagonal(K), initial=0.0) > tolerance:
        return np.empty((len(K), 0)), np.empty(0, int)
    lower, order, rank, _ = linalg.lapack.dpstrf(K.T, tol=tolerance, lower=1)
    F = np.empty((len(K), rank))
    F[order - 1] = np.tril(lower[:, :rank])
    return F, order[:rank] - 1
