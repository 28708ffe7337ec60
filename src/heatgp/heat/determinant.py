"""Determinants of many small matrices, and the loop over blocks of pairs that fit the cache."""

from collections.abc import Callable

import numpy as np

BLOCK = 8192  # angles a block: its rows stay in the second-level cache


def determinant(matrix: np.ndarray) -> np.ndarray:
    """Determinants of matrices stored entry by entry, (r, r, n) -> (n,)."""
    r = len(matrix)
    if r == 1:
        return matrix[0, 0]
    if r <= 3:  # a few passes over the pairs beat one LAPACK call a pair
        minors = [matrix[1:, [c for c in range(r) if c != b]] for b in range(r)]
        return sum((-1) ** b * matrix[0, b] * determinant(m) for b, m in enumerate(minors))
    return np.linalg.det(np.ascontiguousarray(np.moveaxis(matrix, -1, 0)))


def chunks(kernel: Callable[[np.ndarray], np.ndarray], theta: np.ndarray, reach: float) -> np.ndarray:
    """Apply kernel, (r, n) -> (n,), to theta (..., r) block by block; zero where any angle is beyond the reach."""
    rank = theta.shape[-1]
    flat = theta.reshape(-1, rank)
    result = np.zeros(len(flat))
    size = max(BLOCK // rank, 1)
    for start in range(0, len(flat), size):
        block = flat[start : start + size].T
        near = (np.abs(block) <= reach).all(axis=0)
        if near.all():
            result[start : start + size] = kernel(np.ascontiguousarray(block))
        elif near.any():
            result[start : start + size][near] = kernel(np.ascontiguousarray(block[:, near]))
    return result.reshape(theta.shape[:-1])
