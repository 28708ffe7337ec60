"""Positive definite 3 x 3 matrices, such as diffusion tensors, as points of S^2 x S^1 x R^3, and back."""

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import check_flag
from ..array import wrap
from ..manifolds import Euclidean, Product, Scaled, Sphere, Torus
from .checks import check, real_numbers, reject

SEPARATION = 1e-8
"""Eigenvalues closer than this fraction of the largest, or v1 closer to span(e2, e3): directions are arbitrary."""
LOGS = 700.0
"""Logarithms of eigenvalues beyond this have exponentials that leave floating point."""


def spd_manifold(*, half_circle: bool = True) -> Product:
    """The manifold of `spd_to_product`.

    Parameters
    ----------
    half_circle : bool, default True
        Take Scaled(Torus(1), 0.5), a circle of half the length.

    Returns
    -------
    Product

    Examples
    --------
    >>> spd_manifold()
    Product(Sphere(2), Scaled(Torus(1), 0.5), Euclidean(3))
    """
    check_flag("half_circle", half_circle)
    return Product(Sphere(2), Scaled(Torus(1), 0.5) if half_circle else Torus(1), Euclidean(3))


def spd_to_product(A: ArrayLike, *, half_circle: bool = True, log: bool = False) -> np.ndarray:
    """Positive definite 3 x 3 matrices to points of S^2 x S^1 x R^3: direction, angle, eigenvalues.

    A = P diag(lambda) P' with decreasing eigenvalues and P = (v1, v2, v3) in SO(3). The direction is v1, its sign fixed
    by its first coordinate > 0; the angle turns a frame (v2', v3') that depends on v1 alone into (v2, v3):
    v2 = cos(angle) v2' - sin(angle) v3'. The frame is from the QR factorisation of (v1, e2, e3).

    Parameters
    ----------
    A : array_like (..., 3, 3)
    half_circle : bool, default True
        (v2, v3) and (-v2, -v3) are the same tensor, so the angle is known modulo pi only. True doubles it: it then has
        the full range of a circle of half the length, without a cut. False is the paper's circle of length 2 pi, with
        the angle in [-pi/2, pi/2).
    log : bool, default False
        Take logarithms of the eigenvalues.

    Returns
    -------
    ndarray (..., 7)
        Points of `spd_manifold(half_circle=half_circle)`.

    Raises
    ------
    InvalidInput
        If a matrix is not symmetric or not positive definite, or its direction or angle is arbitrary.

    References
    ----------
    Ye, Niu, Cheung, Dai, Liu (2024), appendix "Diffusion tensor image classification".

    Examples
    --------
    >>> spd_to_product(np.diag([3.0, 2, 1])) + 0
    array([1., 0., 0., 0., 3., 2., 1.])
    """
    check_flag("half_circle", half_circle)
    check_flag("log", log)
    A = real_numbers(A, "A", 3, 3)
    scale = np.abs(A).max(axis=(-2, -1))
    skew = np.abs(A - np.swapaxes(A, -1, -2)).max(axis=(-2, -1))
    reject(skew > 1e-6 * scale, skew, "A", "is not symmetric: |A - A'| = {value:.1e} > 1e-06 |A|. Pass (A + A') / 2.")
    values, vectors = np.linalg.eigh((A + np.swapaxes(A, -1, -2)) / 2)
    values, vectors = values[..., ::-1], vectors[..., ::-1]
    least = values[..., 2]
    reject(least <= 0, least, "A", "is not positive definite: its least eigenvalue is {value:.1e} <= 0. Remove it.")
    gap = (values[..., :-1] - values[..., 1:]).min(axis=-1) / values[..., 0]
    tie = f"has a repeated eigenvalue: relative gap {{value:.1e}} <= {SEPARATION:.0e}, so eigenvectors are arbitrary. "
    reject(gap <= SEPARATION, gap, "A", tie + "Remove it.")
    v1, v2 = vectors[..., 0], vectors[..., 1]
    first = np.abs(v1[..., 0])
    edge = f"has v1 in span(e2, e3): |first coordinate| = {{value:.1e}} <= {SEPARATION:.0e}, so its sign is arbitrary. "
    reject(first <= SEPARATION, first, "A", edge + "Rotate the coordinates of all matrices.")
    v1 = v1 * np.sign(v1[..., :1])
    frame2, frame3 = tangent_frame(v1)
    angle = np.arctan2(-np.sum(v2 * frame3, axis=-1), np.sum(v2 * frame2, axis=-1))
    doubled = wrap(2 * angle)[..., None]  # the sign of v2 is gone
    circle = doubled if half_circle else doubled / 2
    return np.concatenate((v1, circle, np.log(values) if log else values), axis=-1)


def product_to_spd(x: ArrayLike, *, half_circle: bool = True, log: bool = False) -> np.ndarray:
    """Points of S^2 x S^1 x R^3 to positive definite 3 x 3 matrices, the inverse of `spd_to_product`.

    Parameters
    ----------
    x : array_like (..., 7)
        Eigenvalues may come in any order.
    half_circle, log
        As they were in `spd_to_product`.

    Returns
    -------
    ndarray (..., 3, 3)

    Raises
    ------
    InvalidInput
        If an eigenvalue or the first coordinate of a direction is not positive, or a log eigenvalue is beyond +-700.

    Examples
    --------
    >>> product_to_spd([1.0, 0, 0, 0, 3, 2, 1]).round(12).tolist()
    [[3.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 1.0]]
    """
    manifold = spd_manifold(half_circle=half_circle)
    check_flag("log", log)
    v1, angle, values = manifold.split(check(manifold, x, "x"))
    first, least, largest = v1[..., 0], values.min(axis=-1), np.abs(values).max(axis=-1)
    reject(first <= 0, first, "x", "has a direction with first coordinate {value:.1e} <= 0. Flip the sign of v1.")
    if log:
        far = f"has a log eigenvalue of size {{value:.4g}} > {LOGS:g}: its exponential leaves floating point. "
        reject(largest > LOGS, largest, "x", far + "Are these eigenvalues? Pass log=False then.")
        values = np.exp(values)
    else:
        reject(least <= 0, least, "x", "has an eigenvalue {value:.1e} <= 0. Work with log=True, where any sign does.")
    frame2, frame3 = tangent_frame(v1)
    angle = angle / 2 if half_circle else angle
    v2 = np.cos(angle) * frame2 - np.sin(angle) * frame3
    v3 = np.sin(angle) * frame2 + np.cos(angle) * frame3
    vectors = np.stack((v1, v2, v3), axis=-1)
    return (vectors * values[..., None, :]) @ np.swapaxes(vectors, -1, -2)


def tangent_frame(v1: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(v2', v3') of the QR factorisation of (v1, e2, e3) with positive diagonal: e2 less its part along v1, turned."""
    e2 = np.array([0.0, 1, 0])
    frame2 = e2 - v1[..., 1:2] * v1
    frame2 = frame2 / np.linalg.norm(frame2, axis=-1, keepdims=True)
    return frame2, np.cross(v1, frame2)
