"""Orbit coordinates of all pairs of two sets, by matrix products and closed forms: no decomposition for each pair.

Matrix products give the cosines of angles to rounding, so that the square of a distance has an error of 1e-16, much for
close points. Coordinates of pairs closer than `NEAR` are therefore those of `orbit`, which is accurate relative to the
distance; or differences are taken from the start.

A coordinate of far points that is near a wall of the chamber may lose half its digits here. Smooth invariant functions,
such as heat kernels, do not change by more than rounding: the trace of every power of x*y is accurate to rounding.
NumPy only.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist

from ...array import wrap

CACHED = 1 << 13
"""Pairs whose arrays fit a core's cache."""
NEAR = 0.3
"""Norm of the orbit coordinates below which `orbit` replaces fast formulas, whose relative error is 1e-16 / NEAR²."""
SPREAD = 1e-4
"""The least eigenvalue over the largest one below which too few of its digits are left."""
FEW = 8
"""Numbers of a point up to which differences of all pairs are as fast as a matrix product."""

DOUBLE = 1e-4
"""Eigenvalues of 3 x 3 matrices are taken from LAPACK where the cosine of the cubic's angle is so close to 1 or -1."""

Orbit = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Orbit coordinates (P, r) of pairs of points (P, *shape)."""


def refined(theta: np.ndarray, X: np.ndarray, Y: np.ndarray, orbit: Orbit, near: float = NEAR) -> np.ndarray:
    """theta (N, M, r), the coordinates of close pairs replaced by the more accurate ones of `orbit`."""
    close = np.einsum("...i,...i->...", theta, theta) < near**2 if theta.shape[-1] > 1 else theta[..., 0] < near
    return replaced(theta, close, X, Y, orbit)


def replaced(theta: np.ndarray, which: np.ndarray, X: np.ndarray, Y: np.ndarray, orbit: Orbit) -> np.ndarray:
    """theta (N, M, r), the coordinates of some pairs, True in (N, M), replaced by those of `orbit`."""
    rows, columns = np.divmod(np.flatnonzero(which), max(1, len(Y)))
    many = max(1, 2 * CACHED // math.prod(X.shape[1:]))
    X, Y = (np.ascontiguousarray(np.moveaxis(Z, 0, -1)) for Z in (X, Y))  # loops over pairs are long ones
    for i in range(0, len(rows), many):
        x, y = rows[i : i + many], columns[i : i + many]
        theta[x, y] = orbit(*(np.moveaxis(Z.take(k, axis=-1), -1, 0) for Z, k in ((X, x), (Y, y))))
    return theta


def chord_angles(X: np.ndarray, Y: np.ndarray, diameter: float) -> np.ndarray:
    """2 arcsin(|x - y| / diameter) of all pairs, (N, M): the angles of points on a sphere of this diameter."""
    return _chord_angle(cdist(_rows(X), _rows(Y)), diameter)


def _chord_angle(chord: np.ndarray, diameter: float) -> np.ndarray:
    """The same of chords, in place."""
    chord *= 1 / diameter
    np.minimum(chord, 1.0, out=chord)
    np.arcsin(chord, out=chord)
    chord *= 2
    return chord


def sphere_orbits(X: np.ndarray, Y: np.ndarray, orbit: Orbit) -> np.ndarray:
    """Angles (N, M, 1) of unit vectors."""
    if X.shape[-1] <= FEW:
        return chord_angles(X, Y, 2.0)[..., None]
    return refined(_angle(X @ Y.T)[..., None], X, Y, orbit)


def line_orbits(X: np.ndarray, Y: np.ndarray, orbit: Orbit) -> np.ndarray:
    """Angles (N, M, 1) between the lines that unit vectors span."""
    if X.shape[-1] <= FEW and not np.iscomplexobj(X):
        return _chord_angle(np.minimum(cdist(X, Y), cdist(X, -Y)), 2.0)[..., None]
    return refined(_angle(np.abs(np.conj(X) @ Y.T))[..., None], X, Y, orbit)


def rotation_orbits(X: np.ndarray, Y: np.ndarray, orbit: Orbit) -> np.ndarray:
    """Rotation angles (N, M, n // 2) of x'y, in any order, for rotations X (N, n, n) and Y (M, n, n)."""
    if X.shape[-1] <= 3:  # |x - y|² = 2 tr(I - x'y) = 8 sin²(angle/2)
        return chord_angles(X, Y, math.sqrt(8))[..., None]
    return refined(_far_rotation_orbits(X, Y), X, Y, orbit)


def _far_rotation_orbits(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    n = X.shape[-1]
    if n == 4:
        return _double_cover_angles(X, Y)
    # I - (x'y + y'x)/2 has the eigenvalues u = 1 - cos, each twice, and 0 once more where n is odd.
    s = _cross(X, Y)
    s = np.eye(n) - (s + s.swapaxes(-1, -2)) / 2
    if n > 5:
        u = np.linalg.eigvalsh(s)[..., n % 2 :: 2][..., ::-1]
        return _angle(1 - u)
    mean = np.einsum("...ii->...", s) / 4
    spread = np.sqrt(np.maximum(np.einsum("...ij,...ij->...", s, s) / 4 - mean**2, 0.0))
    return _angle(1 - np.stack((mean + spread, np.maximum(mean - spread, 0.0)), axis=-1))


def orthogonal_orbits(X: np.ndarray, Y: np.ndarray, orbit: Orbit) -> np.ndarray:
    """The same for orthogonal matrices; infinite between the two components."""
    first = np.eye(X.shape[-1])[:, :1]
    sign_x, sign_y = (np.sign(np.linalg.det(Z))[:, None, None] for Z in (X, Y))
    # Reflections with their first row negated are rotations; x'y of two reflections does not change.
    X, Y = (np.where(first * sign < 0, -Z, Z) for Z, sign in ((X, sign_x), (Y, sign_y)))
    theta = rotation_orbits(X, Y, orbit)
    return np.where(sign_x == sign_y[:, 0, 0, None], theta, math.inf)


def unitary_orbits(X: np.ndarray, Y: np.ndarray, orbit: Orbit) -> np.ndarray | None:
    """Eigenangles (N, M, n) of x*y, increasing, for n = 2; None where `orbit` is as fast or has the only formula."""
    if X.shape[-1] != 2:
        return None
    trace = _traces(X, Y)
    centre = np.angle(np.conj(np.linalg.det(X))[:, None] * np.linalg.det(Y)) / 2
    half = _angle((trace * np.exp(-1j * centre)).real / 2)
    theta = np.sort(wrap(np.stack((centre - half, centre + half), axis=-1)), axis=-1)
    return refined(theta, X, Y, orbit)


def special_unitary_orbits(X: np.ndarray, Y: np.ndarray, orbit: Orbit) -> np.ndarray | None:
    """The same on SU(n), for n <= 3, in any order and up to a common sign: heat kernels do not change with it."""
    n = X.shape[-1]
    if n == 2:  # the sphere S^3
        half = chord_angles(X, Y, math.sqrt(8))
        return np.stack((-half, half), axis=-1)
    if n > 3:
        return None
    out = np.empty((len(X), len(Y), 3))
    rows = max(1, CACHED // max(1, len(Y)))
    for i in range(0, len(X), rows):
        out[i : i + rows] = _su3_angles(X[i : i + rows], Y)
    return refined(out, X, Y, orbit)


def _su3_angles(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Eigenangles of x*y from those of I - (x*y + y*x)/2, whose eigenvalues are 1 - cos."""
    xr, xi, yr, yi = X.real, X.imag, Y.real, Y.imag

    def real(i: int, j: int) -> np.ndarray:
        return xr[:, :, i] @ yr[:, :, j].T + xi[:, :, i] @ yi[:, :, j].T

    def imaginary(i: int, j: int) -> np.ndarray:
        return xr[:, :, i] @ yi[:, :, j].T - xi[:, :, i] @ yr[:, :, j].T

    diagonal = [1 - real(i, i) for i in range(3)]
    pairs = ((0, 1), (0, 2), (1, 2))
    above = [((real(i, j) + real(j, i)) / -2, (imaginary(i, j) - imaginary(j, i)) / -2) for i, j in pairs]
    small, middle, large = (_angle(1 - u) for u in _cubic(diagonal, above))
    # The cosines leave the signs open; the angles sum to a whole turn or to nothing.
    turn = np.abs(small + middle + large - 2 * math.pi) < np.abs(large - small - middle)
    return np.stack((small, middle, np.where(turn, large, -large)), axis=-1)


def subspace_orbits(X: np.ndarray, Y: np.ndarray, orbit: Orbit) -> np.ndarray:
    """The min(k, n - k) principal angles that need not vanish, increasing, of the subspaces spanned by X and Y."""
    n, k = X.shape[-2:]
    return refined(_far_principal_angles(_cross(X, Y))[..., k - min(k, n - k) :], X, Y, orbit)


def _far_principal_angles(a: np.ndarray) -> np.ndarray:
    """All k principal angles from x*y."""
    k = a.shape[-1]
    if k > 3:
        return np.arccos(np.minimum(np.linalg.svdvals(a), 1.0))
    sines = np.eye(k) - np.conj(a.swapaxes(-1, -2)) @ a  # eigenvalues sin²
    return np.arcsin(np.sqrt(np.clip(hermitian_eigenvalues(sines), 0.0, 1.0)))


def log_eigenvalue_orbits(X: np.ndarray, Y: np.ndarray, orbit: Orbit) -> np.ndarray:
    """Logarithms (N, M, n) of the eigenvalues of x^-1 y, increasing, of positive definite matrices.

    Matrix products give the eigenvalues to rounding of the largest. Those of close pairs, and of pairs with small
    ones, are taken from `orbit`.
    """
    n = X.shape[-1]
    inverse = np.linalg.inv(np.linalg.cholesky(X))
    if n <= 3 and not np.iscomplexobj(X):
        values = _symmetric_eigenvalues(_carried_entries(inverse, Y), n)
    else:
        values = _carried_eigenvalues(inverse, Y)
    wide = values[..., 0] < SPREAD * values[..., -1]
    theta = replaced(np.log(np.where(wide[..., None], 1.0, values)), wide, X, Y, orbit)
    return refined(theta, X, Y, orbit)


def _carried_entries(a: np.ndarray, Y: np.ndarray) -> dict[tuple[int, int], np.ndarray]:
    """The entries i <= j of a y a' for all pairs of matrices a and symmetric y, (N, M) each, by matrix products."""
    above = [(i, j) for i in range(a.shape[-1]) for j in range(i, a.shape[-1])]
    entries = np.stack([Y[:, k, m] for k, m in above])

    def factors(i: int, j: int) -> np.ndarray:
        terms = [a[:, i, k] * a[:, j, m] + (k != m) * a[:, i, m] * a[:, j, k] for k, m in above]
        return np.stack(terms, axis=-1)

    return {place: factors(*place) @ entries for place in above}


def _symmetric_eigenvalues(entries: dict[tuple[int, int], np.ndarray], n: int) -> np.ndarray:
    """Eigenvalues (..., n), n = 2 or 3, increasing, of symmetric matrices given by their entries."""
    if n == 2:
        mean, half = (entries[0, 0] + entries[1, 1]) / 2, (entries[0, 0] - entries[1, 1]) / 2
        spread = np.sqrt(half * half + entries[0, 1] ** 2)
        return np.stack((mean - spread, mean + spread), axis=-1)
    nothing = np.broadcast_to(0.0, entries[0, 0].shape)
    above = [(entries[place], nothing) for place in ((0, 1), (0, 2), (1, 2))]
    return np.stack(_cubic([entries[i, i] for i in range(3)], above), axis=-1)


def _carried_eigenvalues(inverse: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Eigenvalues (N, M, n), increasing, of a y a* for all pairs."""
    n = Y.shape[-1]
    carried = inverse.reshape(-1, n) @ Y.swapaxes(0, 1).reshape(n, -1)
    carried = carried.reshape(len(inverse), n, len(Y), n).swapaxes(1, 2) @ np.conj(inverse.swapaxes(-1, -2))[:, None]
    return hermitian_eigenvalues(carried) if n <= 3 else np.linalg.eigvalsh(carried)


def log_orbits(
    logs: np.ndarray, others: np.ndarray, X: np.ndarray, Y: np.ndarray, orbit: Orbit, near: float
) -> np.ndarray:
    """Distances (N, M, 1) of logarithms as rows, those of close pairs by `orbit`."""
    return refined(cdist(logs, others)[..., None], X, Y, orbit, near)


def hermitian_eigenvalues(s: np.ndarray) -> np.ndarray:
    """Eigenvalues (..., k) of Hermitian matrices (..., k, k), k <= 3, increasing, up to rounding of the entries."""
    if s.shape[-1] == 1:
        return s[..., 0, :].real
    if s.shape[-1] == 2:
        a, b = s[..., 0, 0].real, s[..., 1, 1].real
        mean, spread = (a + b) / 2, np.hypot((a - b) / 2, np.abs(s[..., 0, 1]))
        return np.stack((mean - spread, mean + spread), axis=-1)
    above = [(s[..., i, j].real, s[..., i, j].imag) for i, j in ((0, 1), (0, 2), (1, 2))]
    return np.stack(_cubic([s[..., i, i].real for i in range(3)], above), axis=-1)


def _cubic(diagonal: list[np.ndarray], above: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, ...]:
    """Eigenvalues, increasing, of [[a, x, y], [x*, b, z], [y*, z*, c]] by the trigonometric solution of the cubic.

    `diagonal` is (a, b, c); `above` holds real and imaginary part of x, y and z. Reference: Smith (1961), Comm. ACM 4,
    168.
    """
    a, b, c = diagonal
    mean = (a + b + c) / 3
    a, b, c = a - mean, b - mean, c - mean
    (xr, xi), (yr, yi), (zr, zi) = above
    xx, yy, zz = xr * xr + xi * xi, yr * yr + yi * yi, zr * zr + zi * zi
    scale = np.sqrt((a * a + b * b + c * c + 2 * (xx + yy + zz)) / 6)
    triple = (xr * zr - xi * zi) * yr + (xr * zi + xi * zr) * yi
    determinant = a * b * c + 2 * triple - a * zz - b * yy - c * xx
    safe = np.where(scale > 0, scale, 1.0)
    ratio = determinant / (2 * safe * safe * safe)
    third = np.arccos(np.clip(ratio, -1.0, 1.0)) / 3
    cosine, sine = scale * np.cos(third), math.sqrt(3) * scale * np.sin(third)
    values = mean - cosine - sine, mean - cosine + sine, mean + 2 * cosine
    # Where two eigenvalues (almost) coincide, the ratio is (almost) 1 or -1, and the arccosine loses half the digits.
    double = np.nonzero(np.abs(ratio) > 1 - DOUBLE)
    if double[0].size:
        s = np.zeros((double[0].size, 3, 3), dtype=complex)
        for i, entry in enumerate((a, b, c)):
            s[:, i, i] = entry[double]
        for i, j, (real, imaginary) in ((1, 0, above[0]), (2, 0, above[1]), (2, 1, above[2])):  # the lower half is read
            s[:, i, j] = real[double] - 1j * imaginary[double]
        for value, exact in zip(values, np.linalg.eigvalsh(s).T):
            value[double] = mean[double] + exact
    return values


def _double_cover_angles(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """SO(4) is S^3 x S^3 up to a sign: with (a, b) the angles in the two, the rotation angles are a + b and |a - b|."""
    left_x, right_x = unit_quaternions(X)
    left_y, right_y = unit_quaternions(Y)
    a, b = _angle(left_x @ left_y.T), _angle(right_x @ right_y.T)
    total = a + b
    return np.stack((np.minimum(total, 2 * math.pi - total), np.abs(a - b)), axis=-1)


def unit_quaternions(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Unit quaternions (p, q), up to a common sign, with X v = p v q for every quaternion v: (N, 4) each.

    The matrix of v -> p v q is linear in the outer product of p and q, which is read off X and has rank one.
    Reference: Cayley's factorisation; Mebius (2005), arXiv:math/0501249.
    """
    left = np.array([[[w, -x, -y, -z], [x, w, -z, y], [y, z, w, -x], [z, -y, x, w]] for w, x, y, z in np.eye(4)])
    conjugate = np.diag([1.0, -1, -1, -1])
    right = conjugate @ left.swapaxes(1, 2) @ conjugate  # v q is the conjugate of q* v*
    products = left[:, None] @ right  # the matrices of v -> p v q for unit p and q: orthogonal, of squared norm 4
    u, _, vh = np.linalg.svd(np.einsum("pqij,nij->npq", products, X) / 4)
    return u[:, :, 0], vh[:, 0]


def _traces(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """tr(x*y) of all pairs, (N, M), as one product of large matrices."""
    size = math.prod(X.shape[1:])
    return np.conj(X.reshape(len(X), size)) @ Y.reshape(len(Y), size).T


def _rows(X: np.ndarray) -> np.ndarray:
    """Points (N, *shape) as real rows (N, size)."""
    rows = np.ascontiguousarray(X.reshape(len(X), math.prod(X.shape[1:])))
    return rows.view(rows.real.dtype)


def _cross(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """x*y of all pairs, (N, M, k, k), as one product of large matrices."""
    rows, columns = X.shape[-1], Y.shape[-1]
    tall = np.conj(X.swapaxes(-1, -2)).reshape(-1, X.shape[-2])
    wide = Y.swapaxes(0, 1).reshape(Y.shape[-2], -1)
    return (tall @ wide).reshape(len(X), rows, len(Y), columns).swapaxes(1, 2)


def _angle(cosine: np.ndarray) -> np.ndarray:
    return np.arccos(np.clip(cosine, -1.0, 1.0))
