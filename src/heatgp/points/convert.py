"""Points of manifolds from what people have, and back.

Every function takes leading batch axes, checks its input before it computes, and names the first offender.
Positive definite matrices have a file of their own, `heatgp.spd`.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from ..array import adjoint
from ..errors import InvalidInput
from ..manifolds import ComplexProjective, Euclidean, Grassmann, Manifold, Product, SpecialOrthogonal, Sphere
from ..manifolds.checks import check_points

RIGID_MOTIONS = Product(Euclidean(3), SpecialOrthogonal(3))
"""The manifold of `rigid_to_product`: translation, then rotation."""

RANK = 1e-10
"""Singular values below this fraction of the largest count as zero: data with ten digits cannot say otherwise."""

Contrast = Literal["helmert", "first"]


def reject(bad: np.ndarray, values: np.ndarray, name: str, problem: str) -> None:
    """Raise InvalidInput for the first True of `bad`: "name[index] problem", with {value} the value there."""
    if bad.any():
        index = np.unravel_index(np.argmax(bad), bad.shape)
        place = f"{name}[{', '.join(str(int(i)) for i in index)}]" if index else name
        raise InvalidInput(f"{place} {problem.format(value=values[index])}")


def numbers(x: ArrayLike, name: str, *tail: int) -> np.ndarray:
    """x as an array of finite numbers, doubles or complex, whose last axes have the lengths `tail`."""
    x = np.asarray(x)
    if x.dtype.kind not in "biufc":
        raise InvalidInput(f"{name} must be numbers; the dtype is {x.dtype}.")
    x = x.astype(complex if x.dtype.kind == "c" else float)
    if tail and x.shape[-len(tail) :] != tail:
        raise InvalidInput(f"{name} has shape {x.shape}; it must have shape (..., {', '.join(map(str, tail))}).")
    reject(~np.isfinite(x), x, name, "is {value}. Remove or impute it first.")
    return x


def points(manifold: Manifold, x: ArrayLike, name: str) -> np.ndarray:
    return check_points(manifold, np.asarray(x), name)


def latlon_to_sphere(latitude: ArrayLike, longitude: ArrayLike) -> np.ndarray:
    """Latitude and longitude in degrees to points of Sphere(2): z to the north pole, x to (0, 0).

    >>> latlon_to_sphere(90, 0).round(12) + 0
    array([0., 0., 1.])
    """
    latitude, longitude = numbers(latitude, "latitude"), numbers(longitude, "longitude")
    limit = "is {value} degrees, outside [-%d, %d]. Pass degrees, latitude first."
    reject(np.abs(latitude) > 90, latitude, "latitude", limit % (90, 90))
    reject(np.abs(longitude) > 360, longitude, "longitude", limit % (360, 360))
    lat, lon = np.broadcast_arrays(np.radians(latitude), np.radians(longitude))
    return np.stack((np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)), axis=-1)


def sphere_to_latlon(x: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Points of Sphere(2) to latitude in [-90, 90] and longitude in [-180, 180], in degrees."""
    a, b, c = np.moveaxis(points(Sphere(2), x, "x"), -1, 0)
    return np.degrees(np.arctan2(c, np.hypot(a, b))), np.degrees(np.arctan2(b, a))


def quaternion_to_matrix(q: ArrayLike, *, scalar_first: bool = False) -> np.ndarray:
    """Unit quaternions (x, y, z, w), or (w, x, y, z) with scalar_first, to rotation matrices.

    >>> quaternion_to_matrix([0.0, 0, 0, 1]).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    q = points(Sphere(3), q, "quaternion")
    q = np.roll(q, -1, axis=-1) if scalar_first else q
    return Rotation.from_quat(q.reshape(-1, 4)).as_matrix().reshape(*q.shape[:-1], 3, 3)


def matrix_to_quaternion(x: ArrayLike, *, scalar_first: bool = False) -> np.ndarray:
    """Rotation matrices to unit quaternions (x, y, z, w) with w >= 0: of q and -q, the same rotation, the one."""
    flat, batch = _rotations(x)
    q = flat.as_quat(canonical=True).reshape(*batch, 4)
    return np.roll(q, 1, axis=-1) if scalar_first else q


def rotation_vector_to_matrix(vector: ArrayLike) -> np.ndarray:
    """Rotation vectors, axis times angle in radians, to rotation matrices.

    >>> rotation_vector_to_matrix([0, 0, np.pi / 2]).round(12).tolist()
    [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    vector = points(Euclidean(3), vector, "vector")
    return Rotation.from_rotvec(vector.reshape(-1, 3)).as_matrix().reshape(*vector.shape[:-1], 3, 3)


def matrix_to_rotation_vector(x: ArrayLike) -> np.ndarray:
    """Rotation matrices to rotation vectors of length at most pi."""
    flat, batch = _rotations(x)
    return flat.as_rotvec().reshape(*batch, 3)


def rotation_to_matrix(rotation: Rotation) -> np.ndarray:
    """scipy's Rotation, one or a stack, to points of SpecialOrthogonal(3)."""
    if not isinstance(rotation, Rotation):
        raise InvalidInput(
            f"rotation is a {type(rotation).__name__}, not a scipy Rotation. For arrays see quaternion_to_matrix "
            "and rotation_vector_to_matrix."
        )
    return rotation.as_matrix()


def matrix_to_rotation(x: ArrayLike) -> Rotation:
    """Points of SpecialOrthogonal(3), (3, 3) or (N, 3, 3), to scipy's Rotation."""
    x = points(SpecialOrthogonal(3), x, "x")
    if x.ndim > 3:
        raise InvalidInput(f"x has shape {x.shape}; a Rotation holds (3, 3) or (N, 3, 3). Reshape to (-1, 3, 3).")
    return Rotation.from_matrix(x)


def _rotations(x: ArrayLike) -> tuple[Rotation, tuple[int, ...]]:
    """Checked rotation matrices as one flat stack, and their batch shape."""
    x = points(SpecialOrthogonal(3), x, "x")
    return Rotation.from_matrix(x.reshape(-1, 3, 3)), x.shape[:-2]


def rigid_to_product(motion: ArrayLike) -> np.ndarray:
    """Rigid motions, 4 x 4 with last row (0, 0, 0, 1), to points of RIGID_MOTIONS = R^3 x SO(3).

    >>> rigid_to_product(np.eye(4)).shape
    (12,)
    """
    motion = numbers(motion, "motion", 4, 4)
    off = np.abs(motion[..., 3, :] - [0, 0, 0, 1]).max(axis=-1)
    reject(off > 1e-6, off, "motion", "has a last row {value:.1e} > 1e-06 away from (0, 0, 0, 1). Is it transposed?")
    rotation = points(SpecialOrthogonal(3), motion[..., :3, :3], "rotation part of motion")
    return RIGID_MOTIONS.join(motion[..., :3, 3], rotation)


def product_to_rigid(x: ArrayLike) -> np.ndarray:
    """Points of RIGID_MOTIONS to 4 x 4 rigid motions."""
    translation, rotation = RIGID_MOTIONS.split(points(RIGID_MOTIONS, x, "x"))
    upper = np.concatenate((rotation, translation[..., None]), axis=-1)
    last = np.broadcast_to(np.eye(4)[3], (*upper.shape[:-2], 1, 4))
    return np.concatenate((upper, last), axis=-2)


def matrix_to_subspace(A: ArrayLike, k: int | None = None) -> np.ndarray:
    """The subspace that the columns of A (..., n, columns) span, as a point of Grassmann(n, k).

    Rows are features, columns directions or samples. With k, the k leading left singular vectors: the subspace that
    fits the columns best in least squares. Centre samples first if their mean is not of interest.

    >>> matrix_to_subspace([[2.0, 1], [0, 3], [0, 0]]).shape
    (3, 2)
    """
    A = numbers(A, "A")
    if A.ndim < 2:
        raise InvalidInput(f"A has shape {A.shape}; it must have shape (..., n, columns).")
    n, columns = A.shape[-2:]
    k = columns if k is None else k
    if not 1 <= k <= min(columns, n - 1):
        raise InvalidInput(
            f"A has {n} rows and {columns} columns; the subspace must have dimension 1 <= k <= {min(columns, n - 1)}, "
            f"got k = {k}. If samples are the rows, pass the transpose."
        )
    u, s, _ = np.linalg.svd(A, full_matrices=False)
    least, largest = s[..., k - 1], s[..., 0]
    low = f"has rank below {k}: singular value {k} is {{value:.1e}}, under {RANK:.0e} of the largest. Lower k."
    reject(least <= RANK * largest, least, "A", low)
    if k < s.shape[-1]:
        gap = (least - s[..., k]) / largest
        tie = (
            f"has singular values {k} and {k + 1} closer than {RANK:.0e} of the largest: no unique subspace. Change k."
        )
        reject(gap <= RANK, gap, "A", tie)
    return u[..., :k]


def subspace_to_projector(x: ArrayLike) -> np.ndarray:
    """The orthogonal projector x x*, (..., n, n), the same for every basis; matrix_to_subspace(_, k) goes back."""
    x = numbers(x, "x")
    if x.ndim < 2:
        raise InvalidInput(f"x has shape {x.shape}; it must have shape (..., n, k).")
    field: Literal["real", "complex"] = "complex" if x.dtype.kind == "c" else "real"
    x = points(Grassmann(x.shape[-2], x.shape[-1], field), x, "x")
    return x @ adjoint(x)


def landmarks_to_shape(landmarks: ArrayLike, contrast: Contrast = "helmert") -> np.ndarray:
    """k planar landmarks, (..., k, 2) real or (..., k) complex, to their shape in ComplexProjective(k - 2).

    Shape is what translation, rotation and size leave. "helmert" takes orthonormal contrasts, which makes the metric
    Kendall's; "first" takes z_j - z_1, as Ye, Niu, Cheung, Dai, Liu (2024) do, and depends on which is the first.
    Reference: Kendall (1984), Bull. London Math. Soc. 16, 81-121; Dryden and Mardia (2016).

    >>> square = np.array([0, 1, 1 + 1j, 1j])
    >>> bigger_turned_moved = 3j * square + 5
    >>> M = ComplexProjective(2)
    >>> M.distance(landmarks_to_shape(square), landmarks_to_shape(bigger_turned_moved)) < 1e-12
    np.True_
    """
    z = numbers(landmarks, "landmarks")
    if z.dtype.kind == "f":
        if z.ndim < 2 or z.shape[-1] != 2:
            raise InvalidInput(
                f"landmarks has shape {z.shape}; it must have shape (..., k, 2) if real, (..., k) if complex. "
                "Only planar landmarks have shapes in a projective space."
            )
        z = z[..., 0] + 1j * z[..., 1]
    if z.ndim == 0 or z.shape[-1] < 3:
        raise InvalidInput(f"landmarks has {z.shape[-1] if z.ndim else 1} a row; a shape needs k >= 3.")
    x = z @ contrasts(z.shape[-1], contrast).T
    size = np.linalg.norm(x, axis=-1)
    bad = size <= RANK * np.abs(z).max(axis=-1)
    reject(bad, size, "landmarks", "coincide: their size is {value:.1e}, and a single point has no shape. Remove it.")
    return x / size[..., None]


def shape_to_landmarks(x: ArrayLike, contrast: Contrast = "helmert") -> np.ndarray:
    """A shape's representative (..., k) complex: centred with unit size ("helmert"), or z_1 = 0 ("first")."""
    x = numbers(x, "x")
    if x.ndim == 0 or x.shape[-1] < 2:
        raise InvalidInput(f"x has shape {x.shape}; shapes of k landmarks have shape (..., k - 1), k >= 3.")
    x = points(ComplexProjective(x.shape[-1] - 1), x, "x")
    matrix = contrasts(x.shape[-1] + 1, contrast)
    if contrast == "first":
        return np.concatenate((np.zeros_like(x[..., :1]), x), axis=-1)
    return x @ matrix  # its rows are orthonormal: the transpose is the inverse


def contrasts(k: int, contrast: Contrast) -> np.ndarray:
    """The (k - 1, k) matrix that removes the position of k landmarks."""
    if contrast not in ("helmert", "first"):
        raise InvalidInput(f"contrast must be 'helmert' or 'first'; got {contrast!r}.")
    if contrast == "first":
        return np.eye(k)[1:] - np.eye(k)[0]
    j = np.arange(1, k)[:, None]
    rows = np.tri(k - 1, k) - j * np.eye(k)[1:]  # j ones, then -j
    return rows / np.sqrt(j * (j + 1))
