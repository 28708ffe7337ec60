"""Heat kernels of real Grassmannians and Stiefel manifolds from that of SO(n), by quadrature over the fibre.

p(x, y) = vol(H) * mean over h in H of p_G(g_x^-1 g_y h), the fibre's volume being vol(G) / vol(G/H).
"""

import math

import numpy as np
from scipy.spatial.transform import Rotation

from heatgp import Grassmann, SpecialOrthogonal, Stiefel, heat_kernel

CHUNK = 200_000


def rotations(size, angles):
    """SO(size), size 1 to 3, as matrices with weights that add up to one: circles evenly, Gauss in cos(beta)."""
    circle = 2 * math.pi * np.arange(angles) / angles
    if size == 1:
        return np.ones((1, 1, 1)), np.ones(1)
    if size == 2:
        return Rotation.from_rotvec(circle[:, None] * [0, 0, 1]).as_matrix()[:, :2, :2], np.full(angles, 1 / angles)
    cosines, gauss = np.polynomial.legendre.leggauss(angles // 2 + 1)
    a, b, c = (m.ravel() for m in np.meshgrid(circle, np.arccos(cosines), circle, indexing="ij"))
    weights = np.broadcast_to(gauss[None, :, None], (angles, len(gauss), angles)).ravel()
    return Rotation.from_euler("ZYZ", np.stack((a, b, c), axis=1)).as_matrix(), weights / weights.sum()


def fibre(n, k, angles):
    """S(O(k) x O(n - k)) as block matrices (N, n, n) with weights that add up to one."""
    (first, u), (second, v) = rotations(k, angles), rotations(n - k, angles)
    out = np.zeros((len(u), len(v), n, n))
    out[..., :k, :k], out[..., k:, k:] = first[:, None], second
    out, weights = out.reshape(-1, n, n), np.outer(u, v).ravel()
    reflection = np.eye(n)
    reflection[0, 0] = reflection[k, k] = -1
    return np.concatenate((out, out @ reflection)), np.tile(weights, 2) / 2


def grassmann_average(n, k, points, time, angles):
    """p_t(points[0], points[j]) on Grassmann(n, k)."""
    return averaged(n, points, time, *fibre(n, k, angles), Grassmann(n, k).volume)


def stiefel_average(n, k, points, time, angles):
    """p_t(points[0], points[j]) on Stiefel(n, k), n - k <= 3."""
    elements, weights = rotations(n - k, angles)
    whole = np.tile(np.eye(n), (len(elements), 1, 1))
    whole[:, k:, k:] = elements
    return averaged(n, points, time, whole, weights, Stiefel(n, k).volume)


def averaged(n, points, time, elements, weights, volume):
    group = SpecialOrthogonal(n)
    frames = np.stack([completed(x) for x in points])
    kernel = heat_kernel(group, "exact")
    values = np.zeros(len(frames))
    for start in range(0, len(elements), CHUNK):
        own = slice(start, start + CHUNK)
        values += [kernel(frames[:1], frame @ elements[own], time=time)[0] @ weights[own] for frame in frames]
    return group.volume / volume * values


def completed(x):
    """A rotation whose first columns are x."""
    rest = np.linalg.svd(x)[0][:, x.shape[1] :]
    q = np.hstack((x, rest))
    q[:, -1] *= np.linalg.det(q)
    return q
