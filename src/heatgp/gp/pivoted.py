"""The covariance of many points from a few of them: the Cholesky factorisation with the largest pivot first."""

from collections.abc import Callable

import numpy as np

from ..covariance import Array


def pivoted_cholesky(
    column: Callable[[int], Array], diagonal: Array, tolerance: float, limit: int, least: float = 0.0
) -> tuple[Array, Array, Array]:
    """F, (N, rank), with K = F F' but for what the chosen points do not explain; each step takes the worst explained.

    It ends when no variance is left above `tolerance`, or after `limit` steps. Where `least` is given, the variance
    that may be left is tolerance times the number of steps, but at least `least`.

    Parameters
    ----------
    column : function of a number i that returns K[:, i], (N,).
    diagonal : array (N,), that of K.
    tolerance : number. Variances below it count as explained.
    limit : int, the largest rank.
    least : number, default 0: the tolerance does not grow.

    Returns
    -------
    F, the numbers of the chosen points, (rank,), and the variances that they leave, (N,). F[chosen] is lower
    triangular.

    Reference: Harbrecht, Peters & Schneider (2012), Alg. 1.

    Examples
    --------
    >>> K = np.array([[2.0, 1.0, 2.0], [1.0, 3.0, 1.0], [2.0, 1.0, 2.0]])
    >>> F, chosen, left = pivoted_cholesky(lambda i: K[i], np.diagonal(K), 1e-10, 3)
    >>> chosen, bool(np.allclose(F @ F.T, K))
    (array([1, 0]), True)
    """
    left = diagonal.astype(float)
    chosen: list[int] = []
    F = np.empty((len(left), min(limit, len(left))), order="F")
    for k in range(F.shape[1]):
        best = int(np.argmax(left))
        if not left[best] > (max(tolerance * k, least) if least else tolerance):
            break
        new = (column(best) - F[:, :k] @ F[best, :k]) / np.sqrt(left[best])
        new[chosen] = 0.0  # zero but for rounding
        left = np.maximum(left - new**2, 0.0)
        left[best] = 0.0
        F[:, k] = new
        chosen.append(best)
    return F[:, : len(chosen)], np.array(chosen, dtype=int), left
