"""Functions of matrices whose eigenvalues are known, without eigenvectors."""

from ...array import Array, identity_like, matmul, namespace

SAME = 1e-12
"""Eigenvalues as close as this count as one."""


def with_eigenvalues(s: Array, nodes: Array, values: Array) -> Array:
    """The matrix with the eigenvectors of s, but the eigenvalues `values` (..., r) instead of `nodes` (..., r).

    By Newton's interpolation. Divided differences of close nodes have large errors, but they multiply products of s
    less these nodes, which are as small: s must be a normal matrix, and values at nodes that coincide must be equal.
    """
    xp, one = namespace(s), identity_like(s)
    count = nodes.shape[-1]
    table = [values[..., j] for j in range(count)]
    for order in range(1, count):
        for j in range(count - 1, order - 1, -1):
            gap = nodes[..., j] - nodes[..., j - order]
            apart = xp.abs(gap) > SAME
            table[j] = xp.where(apart, table[j] - table[j - 1], 0.0) / xp.where(apart, gap, 1.0)
    rates, places = ([part[..., None, None] for part in parts] for parts in (table, xp.unstack(nodes, axis=-1)))
    if count == 1:
        return rates[0] * one
    result = rates[-1] * (s - places[-2] * one) + rates[-2] * one
    for j in range(count - 3, -1, -1):
        result = matmul(s - places[j] * one, result) + rates[j] * one
    return result
