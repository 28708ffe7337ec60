"""Points of manifolds from the data that people have, and back.

Every function takes leading batch axes, checks its input before it computes, and names the first value that is wrong.
"""

from .hyperbolic import (
    ball_to_hyperboloid,
    half_space_to_hyperboloid,
    hyperboloid_to_ball,
    hyperboloid_to_half_space,
)
from .landmarks import Contrast, landmarks_to_preshape, landmarks_to_shape, shape_to_landmarks
from .rigid_motions import RIGID_MOTIONS, product_to_rigid, rigid_to_product
from .rotations import (
    matrix_to_quaternion,
    matrix_to_rotation,
    matrix_to_rotation_vector,
    quaternion_to_matrix,
    rotation_to_matrix,
    rotation_vector_to_matrix,
)
from .spd import product_to_spd, spd_manifold, spd_to_product
from .sphere import latlon_to_sphere, sphere_to_latlon
from .subspaces import matrix_to_subspace, subspace_to_projector

__all__ = [
    "Contrast",
    "RIGID_MOTIONS",
    "ball_to_hyperboloid",
    "half_space_to_hyperboloid",
    "hyperboloid_to_ball",
    "hyperboloid_to_half_space",
    "landmarks_to_preshape",
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
