"""The heat kernel of Gr(5, 2) from that of SO(5), by quadrature: an exact curve to measure estimates against."""

import math

import numpy as np
from scipy.spatial.transform import Rotation

from ..heat.methods import heat_kernel
from ..manifolds import Grassmann, SpecialOrthogonal

ANGLES = 12
"""Nodes of a circle: an error of 1e-6 of the largest value at time 0.2 (measured against 18)."""


def grassmann_5_2(points: np.ndarray, time: float, angles: int = ANGLES) -> np.ndarray:
    """p_t(points[0], points[j]) on Grassmann(5, 2): the mean of SO(5)'s kernel over the fibre S(O(2) x O(3)).

    p(x, y) = vol(H) * mean over h in H of p_G(g_x^-1 g_y h), the fibre's volume being vol(G) / vol(G/H).
    """
    group = SpecialOrthogonal(5)
    fibre_volume = group.volume / Grassmann(5, 2).volume
    elements, weights = fibre(angles)
    frames = np.stack([completed(x) for x in points])
    kernel = heat_kernel(group, "exact")
    values = [kernel(frames[:1], frame @ elements, time=time)[0] @ weights for frame in frames]
    return fibre_volume * np.array(values)


def fibre(number: int) -> tuple[np.ndarray, np.ndarray]:
    """S(O(2) x O(3)) as block matrices (N, 5, 5) with weights of mean one: circles evenly, Gauss in cos(beta)."""
    circle = 2 * math.pi * np.arange(number) / number
    cosines, gauss = np.polynomial.legendre.leggauss(number // 2 + 1)
    a, b, c, turn = (m.ravel() for m in np.meshgrid(circle, np.arccos(cosines), circle, circle, indexing="ij"))
    weights = np.tile(np.broadcast_to(gauss[None, :, None, None], (number, len(gauss), number, number)).ravel(), 2)
    rotations = np.zeros((len(a), 5, 5))
    rotations[:, 0, 0] = rotations[:, 1, 1] = np.cos(turn)
    rotations[:, 1, 0], rotations[:, 0, 1] = np.sin(turn), -np.sin(turn)
    rotations[:, 2:, 2:] = Rotation.from_euler("ZYZ", np.stack((a, b, c), axis=1)).as_matrix()
    reflection = np.diag([-1.0, 1, -1, 1, 1])
    return np.concatenate((rotations, rotations @ reflection)), weights / weights.sum()


def completed(x: np.ndarray) -> np.ndarray:
    """A rotation whose first columns are x."""
    rest = np.linalg.svd(x)[0][:, x.shape[1] :]
    q = np.hstack((x, rest))
    q[:, -1] *= np.linalg.det(q)
    return q
