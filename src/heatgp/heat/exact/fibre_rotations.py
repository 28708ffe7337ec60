"""Averages of a class function of SO(n) over the rotations of the last three coordinates, for V(n - 3, n).

With r = g_x^-1 g_y and the singular values of its last block, r = c up to rotations of the fibre, where the last block
of c is diagonal: the identity is then the element of the fibre at which c comes closest to the identity. At short times
all that counts is around it, as much as a normal density, and a sum over equal steps of rotation vectors converges
exponentially. At long times Gauss's rule for all rotations needs fewer elements.

Reference: Trefethen and Weideman (2014), SIAM Review 56, 385-458; Kostelec and Rockmore (2008), J. Fourier Anal. Appl.
14, 145-179, for the rule.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from scipy.spatial.transform import Rotation

from ...manifolds import Homogeneous
from ...progress import tracked
from ..kernel import Function

NEGLIGIBLE = 26.0
"""exp(-26) = 5e-12: smaller terms, as parts of the largest, are left out."""
STEP = 0.85
"""Of the rotation vectors, in units of √t: the error of the sum is 6 exp(-2 pi²/step²) = 8e-12."""
WHOLE = 2.8
"""Rotation angles that count, beyond which the rule for all rotations is taken."""
CHUNK = 1 << 16
"""Group elements at once."""


def rotation_average(
    group: Homogeneous, functions: Sequence[Function], time: float, gx: np.ndarray, gy: np.ndarray
) -> list[np.ndarray]:
    """The mean of each class function over the fibre for all pairs of group elements."""
    elements, weights = rule(time)
    reach = math.sqrt(2 * NEGLIGIBLE * time)
    out = [np.zeros((len(gx), len(gy))) for _ in functions]
    rows = max(1, CHUNK // max(1, len(gy)))
    for start in tracked(range(0, len(gx), rows), math.ceil(len(gx) / rows), "Averages over rotations"):
        aligned = align(np.swapaxes(gx[start : start + rows], -1, -2)[:, None] @ gy)
        traces = np.trace(aligned, axis1=-2, axis2=-1)
        near = np.argwhere(gx.shape[-1] - traces < reach**2)
        if gx is gy:  # the same value for (x, y) and (y, x)
            near = near[start + near[:, 0] <= near[:, 1]]
        size = max(1, 4 * CHUNK // len(elements))
        for i in range(0, len(near), size):
            own = near[i : i + size]
            for values, sums in zip(out, _sums(group, functions, aligned[tuple(own.T)], elements, weights, reach)):
                values[start + own[:, 0], own[:, 1]] = sums
                if gx is gy:
                    values[own[:, 1], start + own[:, 0]] = sums
    return out


def _sums(
    group: Homogeneous,
    functions: Sequence[Function],
    c: np.ndarray,
    elements: np.ndarray,
    weights: np.ndarray,
    reach: float,
) -> list[np.ndarray]:
    """Weighted sums (pairs,) of each function over the elements with which c comes within reach of the identity.

    The square of the distance of a rotation from the identity is at least n less its trace.
    """
    n = c.shape[-1]
    fixed = np.trace(c[:, :-3, :-3], axis1=-2, axis2=-1)
    turning = np.diagonal(c[:, -3:, -3:], axis1=-2, axis2=-1) @ np.diagonal(elements, axis1=-2, axis2=-1).T
    pair, element = np.nonzero(n - fixed[:, None] - turning < reach**2)
    sums = [np.zeros(len(c)) for _ in functions]
    identity = np.eye(n)[None]
    for start in range(0, len(pair), CHUNK):
        own, which = pair[start : start + CHUNK], element[start : start + CHUNK]
        turned = c[own]
        turned[..., -3:] = turned[..., -3:] @ elements[which]
        theta = np.asarray(group.orbits(identity, turned))[0]
        for total, function in zip(sums, functions):
            total += np.bincount(own, function(theta) * weights[which], minlength=len(c))
    return sums


def align(r: np.ndarray) -> np.ndarray:
    """Rotations (..., n, n) turned in the fibre, on both sides, until their last 3 x 3 block is diagonal.

    Its entries are the singular values, decreasing, the last one with the sign of the determinant.
    """
    u, _, v = np.linalg.svd(r[..., -3:, -3:])
    v[..., -1, :] *= (np.linalg.det(u) * np.linalg.det(v))[..., None]
    out = r.copy()
    out[..., -3:] = out[..., -3:] @ np.swapaxes(v, -1, -2)
    out[..., -3:, :] = np.swapaxes(u, -1, -2) @ out[..., -3:, :]
    return out


@lru_cache(maxsize=64)
def rule(time: float) -> tuple[np.ndarray, np.ndarray]:
    """Rotations (m, 3, 3) and weights, with the sum one over all rotations, for class functions at a time."""
    reach = math.sqrt(2 * NEGLIGIBLE * time)
    angle = 2 * math.asin(min(1.0, reach / 2))  # 2 - 2 cos(angle) = reach²
    return _near_identity(STEP * math.sqrt(time), angle) if angle < WHOLE else everywhere(time)


def _near_identity(step: float, angle: float) -> tuple[np.ndarray, np.ndarray]:
    """Rotation vectors in equal steps up to an angle; the volume element is (2 sin(angle/2) / angle)²."""
    axis = step * np.arange(-math.ceil(angle / step), math.ceil(angle / step) + 1)
    vectors = np.stack(np.meshgrid(axis, axis, axis), axis=-1).reshape(-1, 3)
    size = np.linalg.norm(vectors, axis=1)
    vectors, size = vectors[size < angle + step], size[size < angle + step]
    density = np.sinc(size / (2 * math.pi)) ** 2 * (size < math.pi)
    return Rotation.from_rotvec(vectors).as_matrix(), density * step**3 / (8 * math.pi**2)


def everywhere(time: float) -> tuple[np.ndarray, np.ndarray]:
    """Euler angles: two circles in equal steps and Gauss's rule in cos(beta).

    The rule is exact up to a degree, the functions of which decay like exp(-degree² t/2).
    """
    number = max(4, math.ceil(math.sqrt(2 * (NEGLIGIBLE + 4) / time)))
    circle = 2 * math.pi * np.arange(number) / number
    cosines, gauss = np.polynomial.legendre.leggauss(number // 2 + 1)
    a, b, c = (part.ravel() for part in np.meshgrid(circle, np.arccos(cosines), circle, indexing="ij"))
    weights = np.broadcast_to(gauss[None, :, None], (number, len(gauss), number)).ravel()
    return Rotation.from_euler("ZYZ", np.stack([a, b, c], axis=1)).as_matrix(), weights / weights.sum()
