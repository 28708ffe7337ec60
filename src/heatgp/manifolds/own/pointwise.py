"""Linear algebra with one small matrix for each point, written so that each operation is a long loop over points."""

from functools import reduce
from itertools import chain

import numpy as np

from ...array import Array, inner, namespace


def dot(a: Array, b: Array) -> Array:
    """The sum of a b over the last axis, term by term: each term is one long loop over the points."""
    return sum((a[..., i] * b[..., i] for i in range(1, b.shape[-1])), a[..., 0] * b[..., 0])


def apply(A: Array, v: Array) -> Array:
    """A v for matrices (..., n, n) and vectors (..., n), term by term."""
    return sum((A[..., :, j] * v[..., j, None] for j in range(1, v.shape[-1])), A[..., :, 0] * v[..., 0, None])


def small_solve(A: Array, b: Array) -> Array:
    """A^-1 b for matrices (..., n, n) and vectors (..., n); up to n = 3 by Cramer's rule."""
    xp = namespace(A)
    if A.shape[-1] == 1:
        return b / A[..., 0]
    if A.shape[-1] == 2:
        det = A[..., 0, 0] * A[..., 1, 1] - A[..., 0, 1] * A[..., 1, 0]
        first = (A[..., 1, 1] * b[..., 0] - A[..., 0, 1] * b[..., 1]) / det
        second = (A[..., 0, 0] * b[..., 1] - A[..., 1, 0] * b[..., 0]) / det
        return xp.stack((first, second), axis=-1)
    if A.shape[-1] == 3:
        a, c, d = (A[..., :, j] for j in range(3))
        normals = cross(c, d), cross(d, a), cross(a, c)
        det = dot(a, normals[0])
        return xp.stack([dot(n, b) / det for n in normals], axis=-1)
    return xp.linalg.solve(A, b[..., None])[..., 0]


def cross(a: Array, b: Array) -> Array:
    """The vector product of vectors (..., 3); faster than `numpy.cross`."""
    pairs = ((1, 2), (2, 0), (0, 1))
    return namespace(a).stack([a[..., i] * b[..., j] - a[..., j] * b[..., i] for i, j in pairs], axis=-1)


def depth_in_box(x: Array, box: np.ndarray) -> Array:
    """Distance (...) of points (..., n) to the nearest side of a box (2, n), its low and high corner; < 0 outside."""
    sides = ((x[..., i] - low, high - x[..., i]) for i, (low, high) in enumerate(box.T.tolist()))
    return reduce(namespace(x).minimum, chain.from_iterable(sides))


def row_solve(rows: Array, g: Array) -> Array:
    """(J J')^-1 g for the rows J (..., c, n) and g (..., c)."""
    if rows.shape[-2] == 1:
        return g / inner(rows[..., 0, :], rows[..., 0, :])
    xp = namespace(rows)
    return xp.linalg.solve(xp.matmul(rows, xp.swapaxes(rows, -1, -2)), g[..., None])[..., 0]


def lift(rows: Array, g: Array) -> Array:
    """J' g: the normal vector with coefficients g."""
    return sum((rows[..., k, :] * g[..., k, None] for k in range(1, g.shape[-1])), rows[..., 0, :] * g[..., 0, None])


def normal(rows: Array, g: Array) -> Array:
    """J' (J J')^-1 g: the vector in the span of the rows J whose products with them are g."""
    return lift(rows, row_solve(rows, g))


def tangent(rows: Array, z: Array) -> Array:
    """z minus its part in the span of the rows."""
    return z - normal(rows, namespace(rows).sum(rows * z[..., None, :], axis=-1))
