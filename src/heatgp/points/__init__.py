"""Points of manifolds from what people have, and back."""

from .convert import (
    RIGID_MOTIONS,
    Contrast,
    landmarks_to_shape,
    latlon_to_sphere,
    matrix_to_quaternion,
    matrix_to_rotation,
    matrix_to_rotation_vector,
    matrix_to_subspace,
    product_to_rigid,
    quaternion_to_matrix,
    rigid_to_product,
    rotation_to_matrix,
    rotation_vector_to_matrix,
    shape_to_landmarks,
    sphere_to_latlon,
    subspace_to_projector,
)
from .spd import product_to_spd, spd_manifold, spd_to_product

__all__ = [
    "Contrast",
    "RIGID_MOTIONS",
    "landmarks_to_shape",
    "latlon_to_sphere",
    "matrix_to_quaternion",
    "matrix_to_rotation",
    "matrix_to_rotation_vector",
    "matrix_to_subspace",
    "product_to_rigid",
    "product_to_spd",
    "quaternion_to_matrix",
    "rigid_to_product",
    "rotation_to_matrix",
    "rotation_vector_to_matrix",
    "shape_to_landmarks",
    "spd_manifold",
    "spd_to_product",
    "sphere_to_latlon",
    "subspace_to_projector",
]
