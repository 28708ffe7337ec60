"""Landmarks to shapes: planar ones to points of complex projective spaces, those in space to points of spheres."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import helmert

from ..arguments import check_flag
from ..errors import InvalidInput
from ..manifolds import ComplexProjective
from .checks import RANK, check, numbers, real_numbers, reject

Contrast = Literal["helmert", "first"]
PLANAR = "Only planar landmarks have shapes in a projective space."
ORDERS = (
    "Pass numpy.moveaxis(landmarks, -1, 0) for (k, {0}, N), the order of R, numpy.swapaxes(landmarks, -1, -2) for "
    "(N, {0}, k)."
)
COINCIDE = "coincide: their size is {value:.1e}, and a single point has no shape. Remove it."


def landmarks_to_shape(landmarks: ArrayLike, contrast: Contrast = "helmert") -> np.ndarray:
    """Planar landmarks to their shape: what remains without position, rotation and size.

    Parameters
    ----------
    landmarks : array_like (..., k, 2) real or (..., k) complex
        k >= 3 landmarks.
    contrast : {"helmert", "first"}, default "helmert"
        "helmert" takes orthonormal contrasts, with which the metric is Kendall's. "first" takes z_j - z_1, as Ye,
        Niu, Cheung, Dai, Liu (2024) do; it depends on which landmark is the first.

    Returns
    -------
    ndarray (..., k - 1)
        Points of ComplexProjective(k - 2).

    Raises
    ------
    InvalidInput
        If there are fewer than three landmarks, they are not planar, or all of them coincide.

    References
    ----------
    Kendall (1984), Bull. London Math. Soc. 16, 81-121; Dryden and Mardia (2016), Statistical Shape Analysis.

    Examples
    --------
    >>> square = np.array([0, 1, 1 + 1j, 1j])
    >>> bigger_turned_moved = 3j * square + 5
    >>> M = ComplexProjective(2)
    >>> M.distance(landmarks_to_shape(square), landmarks_to_shape(bigger_turned_moved)) < 1e-12
    np.True_
    """
    z = numbers(landmarks, "landmarks")
    pairs = np.stack((z.real, z.imag), axis=-1) if z.dtype.kind == "c" else z
    if z.dtype.kind == "f" and (z.ndim < 2 or z.shape[-1] != 2):
        order_of_r = z.ndim == 3 and z.shape[1] == 2
        raise InvalidInput(
            f"landmarks has shape {z.shape}; it must have shape (..., k, 2) if real, (..., k) if complex. "
            + (ORDERS.format(2) if order_of_r else PLANAR)
        )
    if pairs.ndim < 2 or pairs.shape[-2] < 3:
        number = pairs.shape[-2] if pairs.ndim > 1 else 1
        order_of_r = z.dtype.kind == "f" and z.ndim == 3 and z.shape[1] == 2
        raise InvalidInput(
            f"there are {number} landmarks per row; a shape needs k >= 3."
            + (f" {ORDERS.format(2)}" if order_of_r else "")
        )
    _, power = np.frexp(np.abs(pairs).max(axis=(-2, -1)))
    pairs = np.ldexp(pairs, -power[..., None, None])  # of size one, so that squares stay in floating point
    z = pairs[..., 0] + 1j * pairs[..., 1]
    x = z @ contrasts(z.shape[-1], contrast).T
    size = np.linalg.norm(x, axis=-1)
    bad = size <= RANK * np.abs(z).max(axis=-1)
    reject(
        bad,
        np.ldexp(size, power),
        "landmarks",
        COINCIDE,
    )
    return x / size[..., None]


def shape_to_landmarks(x: ArrayLike, contrast: Contrast = "helmert", *, as_complex: bool = False) -> np.ndarray:
    """Shapes to landmarks that have them.

    Parameters
    ----------
    x : array_like (..., k - 1) complex
        Points of ComplexProjective(k - 2).
    contrast : {"helmert", "first"}, default "helmert"
        The one that made the shapes.
    as_complex : bool, default False
        Return complex numbers (..., k) in place of pairs of real numbers (..., k, 2).

    Returns
    -------
    ndarray (..., k, 2), or (..., k) if `as_complex`
        Centred and of unit size for "helmert"; the first landmark at zero for "first".

    Raises
    ------
    OffManifold
        If a shape is not on the manifold.

    Examples
    --------
    >>> landmarks = shape_to_landmarks(landmarks_to_shape([[0, 0], [1, 0], [0, 1]]))
    >>> landmarks.shape, bool(np.abs(landmarks.sum(axis=0)).max() < 1e-12)
    ((3, 2), True)
    """
    check_flag("as_complex", as_complex)
    x = numbers(x, "x")
    if x.ndim == 0 or x.shape[-1] < 2:
        raise InvalidInput(f"x has shape {x.shape}; shapes of k landmarks have shape (..., k - 1), k >= 3.")
    x = check(ComplexProjective(x.shape[-1] - 1), x, "x")
    matrix = contrasts(x.shape[-1] + 1, contrast)
    if contrast == "first":
        z = np.concatenate((np.zeros_like(x[..., :1]), x), axis=-1)
    else:
        z = x @ matrix  # its rows are orthonormal: the transpose is the inverse
    return z if as_complex else np.stack((z.real, z.imag), axis=-1)


def landmarks_to_preshape(landmarks: ArrayLike) -> np.ndarray:
    """Landmarks in space to what remains without position and size; `heatgp.shape_kernel` removes the rotation.

    Parameters
    ----------
    landmarks : array_like (..., k, 3)
        k >= 3 landmarks.

    Returns
    -------
    ndarray (..., 3 k - 3)
        Points of Sphere(3 k - 4): orthonormal contrasts (Helmert), row by row.

    Raises
    ------
    InvalidInput
        If there are fewer than three landmarks, they are not in space, or all of them coincide.

    References
    ----------
    Kendall (1984), Bull. London Math. Soc. 16, 81-121; Dryden and Mardia (2016), Statistical Shape Analysis.

    Examples
    --------
    >>> landmarks_to_preshape([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]).shape
    (9,)
    """
    points = real_numbers(landmarks, "landmarks")
    if points.ndim < 2 or points.shape[-1] != 3 or points.shape[-2] < 3:
        order_of_r = points.ndim == 3 and points.shape[1] == 3
        raise InvalidInput(
            f"landmarks has shape {points.shape}; it must have shape (..., k, 3), k >= 3."
            + (f" {ORDERS.format(3)}" if order_of_r and points.shape[-1] != 3 else "")
        )
    _, power = np.frexp(np.abs(points).max(axis=(-2, -1)))
    points = np.ldexp(points, -power[..., None, None])  # of size one, so that squares stay in floating point
    x = (helmert(points.shape[-2]) @ points).reshape(*points.shape[:-2], -1)
    size = np.linalg.norm(x, axis=-1)
    reject(size <= RANK, np.ldexp(size, power), "landmarks", COINCIDE)
    return x / size[..., None]


def contrasts(k: int, contrast: Contrast) -> np.ndarray:
    """The (k - 1, k) matrix that removes the position of k landmarks."""
    if contrast not in ("helmert", "first"):
        raise InvalidInput(f"contrast must be 'helmert' or 'first'; got {contrast!r}.")
    if contrast == "first":
        return np.eye(k)[1:] - np.eye(k)[0]
    return helmert(k)
