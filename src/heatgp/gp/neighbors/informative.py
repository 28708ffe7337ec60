"""Of near data those that say most of f at a point, each given the ones before it.

The nearest data of a point in a gap lie together, often on one side of it, and say much the same. Chosen one by one, by
how much each lowers the variance of f, a fourth of the data are worth as much.

Reference: Huan, Guinness, Katzfuss, Owhadi & Schäfer (2023), arXiv:2307.11648.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...covariance import Array, Kernel
from ...threads import on_all_threads
from .nearest import NONE

NUMBERS = 1 << 20
"""Covariances of candidates with chosen data that are held at one time: 8 MB."""


def informative(kernel: Kernel, time: Any, data: tuple[Array, Array], points: Array, near: Array, size: int) -> Array:
    """Of the candidates of each point those chosen, (M, size).

    Parameters
    ----------
    kernel : Kernel
    time : at which it is taken.
    data : arrays of N points and of N variances of their noise over the amplitude.
    points : array of M points.
    near : array (M, count) of the numbers of candidates; `NONE` where there are fewer.
    size : int, how many are chosen; all of them where there are not more.
    """
    count = near.shape[1]
    if count <= size:
        return near
    step = max(1, NUMBERS // (count * size))
    parts = [slice(start, start + step) for start in range(0, len(near), step)]

    def of_part(part: slice) -> Array:
        return _chosen(kernel, time, data, points[part], near[part], size)

    found = on_all_threads(of_part, parts, float(near.size) * size**2)
    return np.concatenate([near[:0, :size], *found])


def _chosen(kernel: Kernel, time: Any, data: tuple[Array, Array], points: Array, near: Array, size: int) -> Array:
    """With the pivots of a Cholesky factor: `cross` and `left` are covariances given those that are chosen so far."""
    (number, count), (X, noise) = near.shape, data
    every, candidates, chosen = np.arange(number), X[near.ravel()], np.full((number, size), NONE)

    def with_candidates(these: Array) -> Array:
        return kernel.paired(np.repeat(these, count, axis=0), candidates).at(time).value.reshape(near.shape)

    cross = with_candidates(points)
    left = kernel.paired(candidates).at(time).value.reshape(near.shape) + noise[near]
    left[near == NONE] = np.inf
    columns = np.zeros((number, size, count))
    for step in range(size):
        best = np.argmax(cross**2 / left, axis=1)
        root, there = np.sqrt(left[every, best])[:, None], np.isfinite(left[every, best])
        chosen[there, step] = near[every, best][there]
        before = columns[:, :step]
        column = with_candidates(X[near[every, best]]) - (before[every, :, best][:, None] @ before)[:, 0]
        columns[:, step] = column / root
        cross -= columns[:, step] * (cross[every, best][:, None] / root)
        left = np.maximum(left - columns[:, step] ** 2, noise[near])
        left[every, best] = np.inf  # it is not chosen again
    return chosen
