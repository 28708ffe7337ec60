"""The logarithm of the canonical metric on Stiefel manifolds, by iteration."""

import numpy as np

from ...array import Array, adjoint, expm_skew, norm
from ...errors import NotConverged

TOLERANCE = 1e-12
ITERATIONS = 300


def log_norm(x: Array, y: Array, tolerance: float = TOLERANCE) -> np.ndarray:
    """Length of a geodesic from x to y: sqrt(|A|²/2 + |B|²) of its horizontal logarithm."""
    a, b, _ = _horizontal_log(x, y, tolerance)
    return np.sqrt(norm(a, axes=2) ** 2 / 2 + norm(b, axes=2) ** 2)


def log(x: Array, y: Array) -> np.ndarray:
    """Velocity xA + qB at x of a geodesic from x to y."""
    a, b, q = _horizontal_log(x, y, TOLERANCE)
    found = x @ a + q @ b
    return found if np.iscomplexobj(x) else found.real


def _horizontal_log(x: Array, y: Array, tolerance: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A and B of the horizontal logarithm [[A, -B*], [B, 0]] of y, in a basis [x, q] of the span of x and y; and q.

    In an orthonormal basis of the span of x and y, y is the first block column [M; N] of a unitary matrix V whose
    other columns are free. Each round takes log V = [[A, -B*], [B, C]] and turns the free columns by exp(-C); at
    the fixed point C = 0 the logarithm is horizontal. It converges linearly near x and may fail far away. Rounds end
    when no entry of C is larger than the tolerance.

    Reference: Zimmermann (2017), SIAM J. Matrix Anal. Appl. 38, 322-342, Algorithm 3.1.
    """
    x, y = (a.astype(np.result_type(a.dtype, float)) for a in np.broadcast_arrays(x, y))
    k, batch = x.shape[-1], x.shape[:-2]
    v, q = _completion(x.reshape(-1, *x.shape[-2:]), y.reshape(-1, *x.shape[-2:]))
    found = np.empty(v[:, :, :k].shape, complex)
    active = np.arange(len(v))
    for _ in range(ITERATIONS):
        log, real = _log_unitary(v)
        c = log[:, k:, k:] if np.iscomplexobj(v) else log[:, k:, k:].real
        residual = np.abs(c).max(axis=(-2, -1))
        done = (residual < tolerance) & (real | np.isinf(tolerance))
        found[active[done]] = log[done, :, :k]
        active, v, c, residual = active[~done], v[~done], c[~done], residual[~done]
        if not active.size:
            a, b = found[:, :k], found[:, k:]
            return a.reshape(*batch, *a.shape[1:]), b.reshape(*batch, *b.shape[1:]), q.reshape(*batch, *q.shape[1:])
        v = np.concatenate((v[:, :, :k], v[:, :, k:] @ expm_skew(-c)), axis=-1)
    raise NotConverged(
        f"the logarithm on the Stiefel manifold did not converge for {active.size} of {len(found)} pairs in "
        f"{ITERATIONS} rounds (residual {residual.max():.1e}, limit {tolerance:.0e}): they are too far apart. "
        "Go through a point between them, or use a method that needs no distance ('strip', 'auto')."
    )


def _completion(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A unitary V (pairs, k + m, k + m), m = min(k, n - k), whose first k columns are y in a basis [x, q]; and q."""
    n, k = x.shape[-2:]
    m = min(k, n - k)
    # In the basis of left singular vectors of its part outside x, that part of y is diag(s) vh.
    head = adjoint(x) @ y
    rest = y - x @ head
    u, s, vh = np.linalg.svd(rest, full_matrices=False)
    tail = s[:, :m, None] * vh[:, :m]
    first = np.concatenate((head, tail), axis=-2)
    whole, _ = np.linalg.qr(first, mode="complete")
    free = whole[:, :, k:]
    # Turn the free columns so that their lower block is Hermitian positive: the start closest to the identity.
    left, _, right = np.linalg.svd(free[:, k:])
    free = free @ adjoint(left @ right)
    v = np.concatenate((first, free), axis=-1)
    if not np.iscomplexobj(v):  # the identity component; a reflection of one free column changes nothing else
        v[:, :, -1] *= np.sign(np.linalg.det(v))[:, None]
    return v, u[:, :, :m]


def _log_unitary(v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Principal logarithm of unitary matrices: eigenvectors sorted by angle, made orthonormal by QR.

    The second result is False where the matrix is real but its logarithm is not, as may happen at eigenvalues -1.
    """
    w, u = np.linalg.eig(v)
    order = np.argsort(np.angle(w), axis=-1)
    u = np.take_along_axis(u, order[:, None, :], axis=-1)
    w = np.take_along_axis(w, order, axis=-1)
    u, _ = np.linalg.qr(u)
    log = (u * (1j * np.angle(w))[:, None, :]) @ adjoint(u)
    log = (log - adjoint(log)) / 2
    return log, np.iscomplexobj(v) | (np.abs(log.imag).max(axis=(-2, -1)) < 1e-6)
