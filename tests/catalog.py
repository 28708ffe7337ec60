"""The list of manifolds that drives the tests: every class of the library, at several sizes."""

from __future__ import annotations

import numpy as np

import heatgp as hg
from heatgp import (
    ComplexProjective,
    Euclidean,
    Grassmann,
    Orthogonal,
    Product,
    Quotient,
    RealProjective,
    Scaled,
    SpecialOrthogonal,
    SpecialUnitary,
    Sphere,
    Stiefel,
    Torus,
    TorusKnot,
    Unitary,
)


def identity(x):
    return x


def antipode(x):
    return -x


def turn(number, order):
    """Multiplication of (z1, z2) in the unit sphere of C² = R⁴ by exp(2 pi i number / order)."""
    a = 2 * np.pi * number / order
    one = np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]])
    matrix = np.kron(np.eye(2), one).T
    return lambda x: x @ matrix.astype(x.dtype)


def glide(x):
    """(a, b) -> (a + pi, -b): the torus over the Klein bottle."""
    return x * np.array([1, -1], x.dtype) + np.array([np.pi, 0], x.dtype)


EUCLIDEAN = [Euclidean(n) for n in (1, 2, 3, 5)]
SPHERES = [Sphere(n) for n in (1, 2, 3, 4, 7, 10)]
REAL_PROJECTIVE = [RealProjective(n) for n in (1, 2, 3, 5)]
COMPLEX_PROJECTIVE = [ComplexProjective(n) for n in (1, 2, 3, 4, 8)]
ROTATIONS = [SpecialOrthogonal(n) for n in range(2, 9)]
ORTHOGONAL = [Orthogonal(n) for n in (2, 3, 4)]
UNITARY = [Unitary(n) for n in range(1, 6)]
SPECIAL_UNITARY = [SpecialUnitary(n) for n in range(2, 6)]
GRASSMANN = [Grassmann(n, k) for n, k in ((2, 1), (4, 2), (5, 2), (5, 3), (6, 3), (7, 1), (10, 4))]
GRASSMANN += [Grassmann(n, k, "complex") for n, k in ((2, 1), (4, 2), (5, 3), (6, 2), (10, 4))]
STIEFEL = [Stiefel(n, k) for n, k in ((2, 1), (4, 1), (3, 2), (4, 2), (5, 2), (4, 3), (7, 3))]
STIEFEL += [Stiefel(n, k, "complex") for n, k in ((2, 1), (3, 1), (3, 2), (5, 2))]
FLAT = [Torus(n) for n in (1, 2, 3)] + [TorusKnot(2, 3), TorusKnot(3, 8)]
PRODUCTS = [
    Product(Sphere(2)),
    Product(Sphere(2), Torus(1), Euclidean(3)),
    Product(ComplexProjective(2), SpecialOrthogonal(3)),
    Product(Product(Unitary(2), RealProjective(2)), Stiefel(3, 1, "complex"), Grassmann(4, 2)),
]
QUOTIENTS = [
    Quotient(Sphere(2), (identity, antipode)),
    Quotient(Sphere(3), tuple(turn(number, 3) for number in range(3))),
    Quotient(Torus(2), (identity, glide)),
    Quotient(Orthogonal(3), (identity, antipode)),
    Quotient(Unitary(2), (identity, antipode)),
]
SCALED = [Scaled(SpecialOrthogonal(3), 2**0.5), Scaled(ComplexProjective(1), 2.0), Scaled(Product(Sphere(2)), 0.5)]

CATALOG = [
    *EUCLIDEAN,
    *SPHERES,
    *REAL_PROJECTIVE,
    *COMPLEX_PROJECTIVE,
    *ROTATIONS,
    *ORTHOGONAL,
    *UNITARY,
    *SPECIAL_UNITARY,
    *GRASSMANN,
    *STIEFEL,
    *FLAT,
    *PRODUCTS,
    *QUOTIENTS,
    *SCALED,
]
HOMOGENEOUS = [m for m in CATALOG if isinstance(m, hg.manifolds.Homogeneous)]
