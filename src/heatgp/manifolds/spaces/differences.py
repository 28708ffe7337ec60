"""What tells y from x, with all its digits, however close they are.

Close points agree in their leading digits. Inner products of them lose the others: 1 - cos of an angle of 1e-8 is below
rounding. Here differences are taken first, so that results have a relative error of a few roundings at any distance.
"""

import math
from collections.abc import Callable

import numpy as np

from ...array import Array, adjoint, inner, matmul, namespace, norm


def group_difference(x: Array, y: Array) -> Array:
    """x*y - I of unitary matrices, accurate relative to |y - x|.

    With d = y - x, its skew-Hermitian part is that of x*d and its Hermitian part is -d*d/2. The rounding errors x*x - I
    and y*y - I, by which x and y are not unitary, are Hermitian: they do not enter.
    """
    d = y - x
    g = matmul(adjoint(x), d)
    return (g - adjoint(g) - matmul(adjoint(d), d)) / 2


def beside_line(x: Array, y: Array) -> Array:
    """The part of y orthogonal to x, unit vectors (..., n), accurate relative to its size."""
    part = _without_multiple(x, y, inner(x, y), lambda a, c: a * c)
    return part - x * inner(x, part)


def beside_subspace(x: Array, y: Array) -> Array:
    """The part of y orthogonal to the columns of x, orthonormal frames (..., n, k), accurate relative to its size."""
    part = _without_multiple(x, y, matmul(adjoint(x), y), matmul)
    return part - matmul(x, matmul(adjoint(x), part))


def _without_multiple(x: Array, y: Array, c: Array, multiply: Callable[[Array, Array], Array]) -> Array:
    """y - x c for a coefficient with half the digits of c: almost orthogonal to x, and without a rounding error.

    The leading halves of x and c are multiples of 2^-26: their products have no rounding errors, and sums of these
    below 2 have none either. What is left is as small as the steps of c and the part of y beside x, and its errors are
    relative to that.
    Reference: Ozaki, Ogita, Oishi, Rump (2012), Numer. Algorithms 59, 95-118.
    """
    xp = namespace(x)
    steps = 2.0 ** -round(math.log2(float(xp.finfo(x.dtype).eps)) / 2)
    c, head = (xp.round(a * steps) * (1 / steps) for a in (c, x))
    return (y - multiply(head, c)) - multiply(x - head, c)


def angles_of_sines(sines: Array, cosine_matrix: Array) -> Array:
    """Angles in [0, pi/2] whose sines are given, decreasing, and whose cosines are singular values of a matrix.

    The matrix is used where a sine is large, which is accurate at pi/2.
    """
    xp = namespace(sines)
    small = sines < 0.7
    cosines = xp.sqrt(xp.where(small, (1 - sines) * (1 + sines), 1.0))
    if xp is not np or not small.all():
        cosines = xp.where(small, cosines, xp.flip(singular_values(cosine_matrix), axis=-1))
    return xp.atan2(sines, cosines)


def singular_values(a: Array) -> Array:
    """Singular values of tall matrices (..., n, k), decreasing; in closed form up to two columns."""
    xp = namespace(a)
    if a.shape[-1] == 1:
        return norm(a, axes=2)[..., None]
    if a.shape[-1] > 2:
        return xp.linalg.svdvals(a)
    # From the triangular factor [[p, q], [0, r]], in which q may be made positive.
    first, second = a[..., 0], a[..., 1]
    p = norm(first)
    direction = first / xp.where(p > 0, p, 1.0)[..., None]
    along = inner(direction, second)
    q, r = xp.abs(along[..., 0]), norm(second - direction * along)
    total, gap = xp.hypot(p + r, q), xp.hypot(p - r, q)
    return xp.stack(((total + gap) / 2, xp.abs(total - gap) / 2), axis=-1)
