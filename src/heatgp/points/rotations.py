"""Quaternions, rotation vectors and SciPy rotations to rotation matrices, and back."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from ..arguments import check_flag
from ..errors import InvalidInput
from ..manifolds import Euclidean, SpecialOrthogonal, Sphere
from .checks import check


def quaternion_to_matrix(q: ArrayLike, *, scalar_first: bool = False) -> np.ndarray:
    """Unit quaternions to rotation matrices.

    Parameters
    ----------
    q : array_like (..., 4)
        (x, y, z, w) with the scalar w last; q and -q are the same rotation.
    scalar_first : bool, default False
        The order is (w, x, y, z).

    Returns
    -------
    ndarray (..., 3, 3)
        Points of SpecialOrthogonal(3).

    Raises
    ------
    OffManifold
        If a quaternion does not have unit length.

    Examples
    --------
    >>> quaternion_to_matrix([0.0, 0, 0, 1]).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    check_flag("scalar_first", scalar_first)
    q = check(Sphere(3), q, "quaternion")
    q = np.roll(q, -1, axis=-1) if scalar_first else q
    return Rotation.from_quat(q.reshape(-1, 4)).as_matrix().reshape(*q.shape[:-1], 3, 3)


def matrix_to_quaternion(x: ArrayLike, *, scalar_first: bool = False) -> np.ndarray:
    """Rotation matrices to unit quaternions.

    Parameters
    ----------
    x : array_like (..., 3, 3)
        Points of SpecialOrthogonal(3).
    scalar_first : bool, default False
        Return (w, x, y, z) in place of (x, y, z, w).

    Returns
    -------
    ndarray (..., 4)
        Of q and -q, the same rotation, the one with w >= 0.

    Raises
    ------
    OffManifold
        If a matrix is not a rotation.

    Examples
    --------
    >>> matrix_to_quaternion(np.eye(3)).tolist()
    [0.0, 0.0, 0.0, 1.0]
    """
    check_flag("scalar_first", scalar_first)
    flat, batch = _rotations(x)
    q = flat.as_quat(canonical=True).reshape(*batch, 4)
    return np.roll(q, 1, axis=-1) if scalar_first else q


def rotation_vector_to_matrix(vector: ArrayLike) -> np.ndarray:
    """Rotation vectors to rotation matrices.

    Parameters
    ----------
    vector : array_like (..., 3)
        Axis times angle in radians.

    Returns
    -------
    ndarray (..., 3, 3)
        Points of SpecialOrthogonal(3).

    Examples
    --------
    >>> rotation_vector_to_matrix([0, 0, np.pi / 2]).round(12).tolist()
    [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    vector = check(Euclidean(3), vector, "vector")
    return Rotation.from_rotvec(vector.reshape(-1, 3)).as_matrix().reshape(*vector.shape[:-1], 3, 3)


def matrix_to_rotation_vector(x: ArrayLike) -> np.ndarray:
    """Rotation matrices to rotation vectors.

    Parameters
    ----------
    x : array_like (..., 3, 3)
        Points of SpecialOrthogonal(3).

    Returns
    -------
    ndarray (..., 3)
        Axis times angle, of length at most pi.

    Raises
    ------
    OffManifold
        If a matrix is not a rotation.

    Examples
    --------
    >>> matrix_to_rotation_vector(np.eye(3)).tolist()
    [0.0, 0.0, 0.0]
    """
    flat, batch = _rotations(x)
    return flat.as_rotvec().reshape(*batch, 3)


def rotation_to_matrix(rotation: Rotation) -> np.ndarray:
    """SciPy's rotations to points of SpecialOrthogonal(3).

    Parameters
    ----------
    rotation : scipy.spatial.transform.Rotation
        One rotation or a stack of them.

    Returns
    -------
    ndarray (3, 3) or (N, 3, 3)

    Raises
    ------
    InvalidInput
        If it is not a Rotation.

    Examples
    --------
    >>> rotation_to_matrix(Rotation.identity(5)).shape
    (5, 3, 3)
    """
    if not isinstance(rotation, Rotation):
        raise InvalidInput(
            f"rotation is a {type(rotation).__name__}, not a scipy Rotation. For arrays see quaternion_to_matrix "
            "and rotation_vector_to_matrix."
        )
    return rotation.as_matrix()


def matrix_to_rotation(x: ArrayLike) -> Rotation:
    """Points of SpecialOrthogonal(3) to SciPy's rotations.

    Parameters
    ----------
    x : array_like (3, 3) or (N, 3, 3)

    Returns
    -------
    scipy.spatial.transform.Rotation

    Raises
    ------
    OffManifold
        If a matrix is not a rotation.
    InvalidInput
        If there are more axes.

    Examples
    --------
    >>> float(matrix_to_rotation(np.eye(3)).magnitude())
    0.0
    """
    x = check(SpecialOrthogonal(3), x, "x")
    if x.ndim > 3:
        raise InvalidInput(f"x has shape {x.shape}; a Rotation holds (3, 3) or (N, 3, 3). Reshape to (-1, 3, 3).")
    return Rotation.from_matrix(x)


def _rotations(x: ArrayLike) -> tuple[Rotation, tuple[int, ...]]:
    """Checked rotation matrices as one flat stack, and their batch shape."""
    x = check(SpecialOrthogonal(3), x, "x")
    return Rotation.from_matrix(x.reshape(-1, 3, 3)), x.shape[:-2]
