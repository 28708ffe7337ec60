"""Rigid motions to points of R^n x SO(n), and back."""

import math

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InvalidInput
from ..manifolds import SpecialEuclidean, SpecialOrthogonal
from .checks import check, numbers, real_numbers, reject

RIGID_MOTIONS = SpecialEuclidean(3)
"""The rigid motions of space: translation, then rotation."""


def rigid_to_product(motion: ArrayLike) -> np.ndarray:
    """Rigid motions to points of SpecialEuclidean(n) = R^n x SO(n).

    Parameters
    ----------
    motion : array_like (..., n + 1, n + 1)
        Rotation, translation in the last column, and the last row (0, .., 0, 1): 4 x 4 in space, 3 x 3 in the plane.

    Returns
    -------
    ndarray (..., n + n²)
        The translation, then the rotation row by row.

    Raises
    ------
    InvalidInput
        If the last row is another one or the shape is wrong.
    OffManifold
        If the upper left block is not a rotation.

    Examples
    --------
    >>> rigid_to_product(np.eye(4)).shape
    (12,)
    """
    motion = real_numbers(motion, "motion")
    size = max(3, motion.shape[-1]) if motion.ndim > 1 else 4
    motion = real_numbers(motion, "motion", size, size)
    off = np.abs(motion[..., -1, :] - np.eye(size)[-1]).max(axis=-1)
    reject(off > 1e-6, off, "motion", "has a last row {value:.1e} > 1e-06 away from (0, .., 0, 1). Is it transposed?")
    rotation = check(SpecialOrthogonal(size - 1), motion[..., :-1, :-1], "rotation part of motion")
    return SpecialEuclidean(size - 1).join(motion[..., :-1, -1], rotation)


def product_to_rigid(x: ArrayLike) -> np.ndarray:
    """Points of SpecialEuclidean(n) to rigid motions.

    Parameters
    ----------
    x : array_like (..., n + n²)

    Returns
    -------
    ndarray (..., n + 1, n + 1)

    Raises
    ------
    InvalidInput
        If rows have another length.
    OffManifold
        If the rotation part of a point is not a rotation.

    Examples
    --------
    >>> bool((product_to_rigid(rigid_to_product(np.eye(4))) == np.eye(4)).all())
    True
    """
    x = numbers(x, "x")
    length = x.shape[-1] if x.ndim else 0
    n = math.isqrt(length)
    if n < 2 or n + n * n != length:
        raise InvalidInput(f"x has shape {x.shape}; rows of rigid motions of R^n have n + n² numbers: 12 in space.")
    M = SpecialEuclidean(n)
    translation, rotation = M.split(check(M, x, "x"))
    upper = np.concatenate((rotation, translation[..., None]), axis=-1)
    last = np.broadcast_to(np.eye(n + 1)[-1], (*upper.shape[:-2], 1, n + 1))
    return np.concatenate((upper, last), axis=-2)
