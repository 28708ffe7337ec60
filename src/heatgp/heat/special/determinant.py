"""Determinants of many small matrices, and the loop over blocks of pairs that fit the cache."""

from collections.abc import Callable

import numpy as np

NEGLIGIBLE = 38.0  # exp(-38) = 3e-17: below the rounding of p_t(x, x)
BLOCK = 8192  # angles per block: its rows stay in the second-level cache


def determinant(m: np.ndarray) -> np.ndarray:
    """Determinants of matrices stored entry by entry, (r, r, n) -> (n,).

    Up to order four a few passes over all the matrices, by Laplace's expansion, beat one LAPACK call for each.
    """
    r = len(m)
    if r == 1:
        return m[0, 0]
    if r == 2:
        return m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]
    if r == 3:
        return sum(m[0, i] * (m[1, j] * m[2, k] - m[1, k] * m[2, j]) for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)))
    if r == 4:
        halves = ([0, 1, 2, 3], [0, 2, 3, 1], [0, 3, 1, 2], [1, 2, 0, 3], [3, 1, 0, 2], [2, 3, 0, 1])  # even
        return sum(determinant(m[:2, half[:2]]) * determinant(m[2:, half[2:]]) for half in halves)
    return np.linalg.det(np.ascontiguousarray(np.moveaxis(m, -1, 0)))


def eliminate(rows: np.ndarray, taylor: np.ndarray, before: list[int]) -> np.ndarray:
    """Subtract from row a the rows j < before[a] to make it orthogonal to taylor[j]; the determinant does not change.

    Rows are coefficients of functions, and taylor[j] gives a function's divided difference of order j at the identity.
    There the determinant then is the product of the diagonal, which spares the cancellation between rows that are
    nearly parallel at short times.
    """
    rows = rows.copy()
    for a, count in enumerate(before):
        for j in range(count):
            rows[a] -= rows[j] * ((rows[a] @ taylor[j]) / (rows[j] @ taylor[j]))
    return rows


def blocks(kernel: Callable[[np.ndarray], np.ndarray], theta: np.ndarray) -> np.ndarray:
    """Apply kernel, (r, n) -> (n,), to theta (..., r), block by block."""
    rank = theta.shape[-1]
    flat = theta.reshape(-1, rank)
    result = np.empty(len(flat))
    size = max(BLOCK // rank, 1)
    for start in range(0, len(flat), size):
        result[start : start + size] = kernel(np.ascontiguousarray(flat[start : start + size].T))
    return result.reshape(theta.shape[:-1])
