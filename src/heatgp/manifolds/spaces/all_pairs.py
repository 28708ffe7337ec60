"""Orbit coordinates of all pairs of two sets, by matrix products and closed forms: no decomposition for each pair.

A coordinate near a wall of the chamber may lose half its digits here. Smooth invariant functions, such as heat kernels,
do not change by more than rounding: the trace of every power of x*y is accurate to rounding. NumPy only.
"""

import math

import numpy as np

from ...array import wrap

CACHED = 1 << 13
"""Pairs whose arrays fit a core's cache."""


def rotation_orbits(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Rotation angles (N, M, n // 2) of x'y, in any order, for rotations X (N, n, n) and Y (M, n, n)."""
    n = X.shape[-1]
    if n <= 3:  # the trace is 1 + 2 cos or 2 cos
        return _angle((_traces(X, Y) - n % 2) / 2)[..., None]
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


def orthogonal_orbits(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """The same for orthogonal matrices; infinite between the two components."""
    first = np.eye(X.shape[-1])[:, :1]
    sign_x, sign_y = (np.sign(np.linalg.det(Z))[:, None, None] for Z in (X, Y))
    # Reflections with their first row negated are rotations; x'y of two reflections does not change.
    theta = rotation_orbits(*(np.where(first * sign < 0, -Z, Z) for Z, sign in ((X, sign_x), (Y, sign_y))))
    return np.where(sign_x == sign_y[:, 0, 0, None], theta, math.inf)


def unitary_orbits(X: np.ndarray, Y: np.ndarray) -> np.ndarray | None:
    """Eigenangles (N, M, n) of x*y, increasing, for n <= 2; None beyond, where there is no closed form here."""
    n = X.shape[-1]
    if n == 1:
        return np.angle(np.conj(X[:, None, 0]) * Y[None, :, 0])
    if n > 2:
        return None
    trace = _traces(X, Y)
    centre = np.angle(np.conj(np.linalg.det(X))[:, None] * np.linalg.det(Y)) / 2
    half = _angle((trace * np.exp(-1j * centre)).real / 2)
    return np.sort(wrap(np.stack((centre - half, centre + half), axis=-1)), axis=-1)


def special_unitary_orbits(X: np.ndarray, Y: np.ndarray) -> np.ndarray | None:
    """The same on SU(n), for n <= 3, in any order and up to a common sign: heat kernels do not change with it."""
    n = X.shape[-1]
    if n == 2:
        half = _angle(_traces(X, Y).real / 2)
        return np.stack((-half, half), axis=-1)
    if n > 3:
        return None
    out = np.empty((len(X), len(Y), 3))
    rows = max(1, CACHED // max(1, len(Y)))
    for i in range(0, len(X), rows):
        out[i : i + rows] = _su3_angles(X[i : i + rows], Y)
    return out


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


def subspace_orbits(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Principal angles (N, M, k), increasing, of the subspaces spanned by orthonormal X (N, n, k) and Y (M, n, k)."""
    k = X.shape[-1]
    a = _cross(X, Y)
    if k > 3:
        return np.arccos(np.minimum(np.linalg.svdvals(a), 1.0))
    sines = np.eye(k) - np.conj(a.swapaxes(-1, -2)) @ a  # eigenvalues sin²
    return np.arcsin(np.sqrt(np.clip(hermitian_eigenvalues(sines), 0.0, 1.0)))


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
    third = np.arccos(np.clip(determinant / (2 * safe * safe * safe), -1.0, 1.0)) / 3
    cosine, sine = scale * np.cos(third), math.sqrt(3) * scale * np.sin(third)
    return mean - cosine - sine, mean - cosine + sine, mean + 2 * cosine


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
    return np.conj(X.reshape(len(X), -1)) @ Y.reshape(len(Y), -1).T


def _cross(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """x*y of all pairs, (N, M, k, k), as one product of large matrices."""
    rows, columns = X.shape[-1], Y.shape[-1]
    tall = np.conj(X.swapaxes(-1, -2)).reshape(-1, X.shape[-2])
    wide = Y.swapaxes(0, 1).reshape(Y.shape[-2], -1)
    return (tall @ wide).reshape(len(X), rows, len(Y), columns).swapaxes(1, 2)


def _angle(cosine: np.ndarray) -> np.ndarray:
    return np.arccos(np.clip(cosine, -1.0, 1.0))
