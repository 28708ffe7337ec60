"""The logarithm of unitary and orthogonal matrices."""

import math
from collections.abc import Callable

import numpy as np
from scipy import linalg

from ...array import Array, adjoint, from_eigen, identity_like, namespace

TURNS = 64
"""Angles of which the best one is taken."""
HALF_TURN = 1e-8
"""Eigenvalues of orthogonal matrices as close as this to -1 are taken for -1: there are two logarithms."""


def log_unitary(a: Array, lift: Callable[[Array], Array]) -> Array:
    """The skew-Hermitian logarithm of unitary matrices I + a, real where a is.

    `lift` takes the angles of the eigenvalues, increasing in [-pi, pi], to those that are wanted, modulo 2 pi.
    The Hermitian and the skew-Hermitian part of a, C and S, have the eigenvectors of cos(b) C - i sin(b) S, whose
    eigenvalues cos(angle - b) differ where angles do, but for pairs around b. Errors are relative to a.
    """
    xp = namespace(a)
    turn = _apart(xp.angle(1 + xp.linalg.eigvals(a)))[..., None, None]
    mixed = xp.cos(turn) * (a + adjoint(a)) / 2 - 1j * xp.sin(turn) * (a - adjoint(a)) / 2
    _, vectors = xp.linalg.eigh(mixed)
    values = xp.sum(xp.conj(vectors) * xp.matmul(a + 0j, vectors), axis=-2)
    angles = xp.atan2(xp.imag(values), 1 + xp.real(values))
    order = xp.argsort(angles, axis=-1)
    angles, vectors = (
        xp.take_along_axis(part, places, axis=-1) for part, places in ((angles, order), (vectors, order[..., None, :]))
    )
    log = from_eigen(1j * lift(angles), vectors)
    if xp.isdtype(a.dtype, "complex floating"):
        return log
    log = xp.real(log)
    half_turn = math.pi - xp.max(xp.abs(angles), axis=-1) < HALF_TURN
    if xp is np and half_turn.any():
        log[half_turn] = [_real_log(b) for b in (identity_like(a) + a)[half_turn]]
    return log


def _apart(angles: Array) -> Array:
    """An angle b around which no two of the angles are a pair: the least |sin((one + other)/2 - b)| is large."""
    xp = namespace(angles)
    i, j = np.triu_indices(angles.shape[-1], 1)
    turns = xp.asarray(np.pi / TURNS * np.arange(TURNS), dtype=angles.dtype)
    if not len(i):
        return 0 * angles[..., 0]
    gaps = xp.abs(xp.sin((angles[..., i] + angles[..., j])[..., None] / 2 - turns))
    return turns[xp.argmax(xp.min(gaps, axis=-2), axis=-1)]


def _real_log(rotation: np.ndarray) -> np.ndarray:
    """The same of one rotation, by its Schur form: pairs of eigenvalues -1 are half turns in their plane.

    Of a reflection, which has none, it is some skew matrix.
    """
    form, basis = linalg.schur(rotation, output="real")
    n, i, log = len(form), 0, np.zeros_like(form)
    ends = []
    while i < n:
        if i + 1 < n and abs(form[i + 1, i]) > HALF_TURN:
            log[i + 1, i] = math.atan2(form[i + 1, i], form[i, i])
            i += 1
        elif form[i, i] < 0:
            ends.append(i)
        i += 1
    pairs = len(ends) // 2
    log[ends[1::2], ends[: 2 * pairs : 2]] = math.pi
    return basis @ (log - log.T) @ basis.T
