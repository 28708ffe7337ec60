"""Rigid motions of space to points of R^3 x SO(3), and back."""

import numpy as np
from numpy.typing import ArrayLike

from ..manifolds import Euclidean, Product, SpecialOrthogonal
from .checks import check, real_numbers, reject

RIGID_MOTIONS = Product(Euclidean(3), SpecialOrthogonal(3))
"""The manifold of `rigid_to_product`: translation, then rotation."""


def rigid_to_product(motion: ArrayLike) -> np.ndarray:
    """Rigid motions to points of RIGID_MOTIONS = R^3 x SO(3).

    Parameters
    ----------
    motion : array_like (..., 4, 4)
        Rotation, translation in the last column, and the last row (0, 0, 0, 1).

    Returns
    -------
    ndarray (..., 12)
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
    motion = real_numbers(motion, "motion", 4, 4)
    off = np.abs(motion[..., 3, :] - [0, 0, 0, 1]).max(axis=-1)
    reject(off > 1e-6, off, "motion", "has a last row {value:.1e} > 1e-06 away from (0, 0, 0, 1). Is it transposed?")
    rotation = check(SpecialOrthogonal(3), motion[..., :3, :3], "rotation part of motion")
    return RIGID_MOTIONS.join(motion[..., :3, 3], rotation)


def product_to_rigid(x: ArrayLike) -> np.ndarray:
    """Points of RIGID_MOTIONS to rigid motions.

    Parameters
    ----------
    x : array_like (..., 12)

    Returns
    -------
    ndarray (..., 4, 4)

    Raises
    ------
    OffManifold
        If the rotation part of a point is not a rotation.

    Examples
    --------
    >>> bool((product_to_rigid(rigid_to_product(np.eye(4))) == np.eye(4)).all())
    True
    """
    translation, rotation = RIGID_MOTIONS.split(check(RIGID_MOTIONS, x, "x"))
    upper = np.concatenate((rotation, translation[..., None]), axis=-1)
    last = np.broadcast_to(np.eye(4)[3], (*upper.shape[:-2], 1, 4))
    return np.concatenate((upper, last), axis=-2)
