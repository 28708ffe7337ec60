"""The lists that drive the tests: manifolds, each class at several sizes, and kernels, each manifold by each method."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

import heatgp as hg
from heatgp import (
    SPD,
    ComplexProjective,
    Euclidean,
    Grassmann,
    HermitianPD,
    Hyperbolic,
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
from heatgp.errors import AccuracyWarning
from heatgp.heat.methods import METHODS, known_options
from own_manifolds import OWN


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
HYPERBOLIC = [Hyperbolic(n) for n in (2, 3, 4, 7)]
POSITIVE_DEFINITE = [
    SPD(2),
    SPD(3),
    SPD(4),
    SPD(2, "log-euclidean"),
    SPD(3, "log-euclidean"),
    HermitianPD(2),
    HermitianPD(4),
]
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
# Of these, as of Euclidean spaces, any array of the right shape is a point.
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
    *HYPERBOLIC,
    *POSITIVE_DEFINITE,
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


class KernelCase(NamedTuple):
    """A kernel to be made: a manifold, a method and its options, and the options of `check_kernel` that suit it."""

    manifold: Any
    method: str
    options: dict[str, Any]
    check: dict[str, Any]
    smoothness: float = np.inf

    def __repr__(self) -> str:
        name = f"{self.manifold!r}-{self.method}"
        return name if np.isinf(self.smoothness) else f"{name}-{self.smoothness:g}"

    def build(self) -> hg.HeatKernel:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AccuracyWarning)  # few paths
            return hg.matern_kernel(self.manifold, self.smoothness, self.method, **self.options)


def parts(manifold):
    """The manifolds that one is composed of."""
    match manifold:
        case Product():
            return [part for factor in manifold.factors for part in parts(factor)]
        case Quotient():
            return parts(manifold.cover)
        case Scaled():
            return parts(manifold.base)
    return [manifold]


def has_exact(M):
    """Whether a closed form or a series is known: not on all Grassmannians and Stiefel manifolds."""
    match M:
        case Stiefel():
            return M.n - M.k <= (1 if M.is_complex else 3) or (M.k <= 2 and not M.is_complex)
        case Grassmann():
            return M.is_complex or M.rank <= 3
    return M in CATALOG


def is_supported(manifold, method):
    """Whether a manifold has a kernel of this method; products, quotients and scaled ones if all their parts have."""
    rules = {
        "exact": has_exact,
        "auto": lambda M: any(is_supported(M, name) for name in ("exact", "smooth", "fibre-average", "reference")),
        "smooth": lambda M: isinstance(M, hg.manifolds.Symmetric) and M.rank <= 3 and np.isfinite(M.volume),
        "strip": lambda M: M in HOMOGENEOUS and not isinstance(M, Stiefel) and M.rank <= 3,
        "ball": lambda M: M in CATALOG,
        "reference": lambda M: M not in EUCLIDEAN + HYPERBOLIC + POSITIVE_DEFINITE and M.dim <= max(REFERENCES),
        "fibre-average": lambda M: (
            isinstance(M, Stiefel) and (M.n <= 6 if M.is_complex else M.n <= 10 and 1 < M.k < M.n - 1)
        ),
    }
    return all(rules[method](M) for M in parts(manifold))


REFERENCES = {1: 40, 2: 40, 3: 40, 4: 90, 5: 390}
"""Reference points that resolve more than a constant, by the dimension; in six dimensions hundreds would be slow."""


def kernel_case(manifold, method):
    """The smallest sizes that say something, since what is checked is that errors are honest, not small."""
    options: dict[str, Any] = known_options(method, rng=0)
    check: dict[str, Any] = {}
    if method == "reference" or (method == "auto" and manifold in OWN):
        references = REFERENCES[min(max(M.dim for M in parts(manifold)), max(REFERENCES))]
        size = {"references": references, "paths": (50 if manifold.dim < 4 else 20) * references}
        return KernelCase(manifold, method, options | size, {"draws": 512})
    if options:
        options |= known_options(method, paths=2000, cache=False)
    if any(isinstance(M, hg.manifolds.Homogeneous) and M.rank > 2 for M in parts(manifold)):
        check = {"draws": 512}
    if any(isinstance(M, Stiefel) for M in parts(manifold)):
        check = {"draws": 256 if is_supported(manifold, "exact") else 32 if manifold.is_complex else 64}
    if method == "ball" and any(M not in HOMOGENEOUS or M.rank > 1 or isinstance(M, Stiefel) for M in parts(manifold)):
        options, check = options | {"paths": 500}, {"draws": 128, "reproducible": False}
    return KernelCase(manifold, method, options, check)


KERNELS = [kernel_case(manifold, method) for manifold in [*CATALOG, *OWN] for method in METHODS]

FAST_KERNELS = [
    kernel_case(manifold, method)
    for method, manifolds in {
        "exact": [
            Euclidean(2),
            Hyperbolic(2),
            SPD(2),
            SPD(3, "log-euclidean"),
            HermitianPD(2),
            Sphere(2),
            RealProjective(2),
            ComplexProjective(2),
            SpecialOrthogonal(3),
            Orthogonal(3),
            SpecialUnitary(3),
            Unitary(2),
            Grassmann(4, 2, "complex"),
            Grassmann(5, 2),
            Stiefel(3, 2),
            Stiefel(5, 2),
            Torus(2),
            TorusKnot(2, 3),
            PRODUCTS[1],
            QUOTIENTS[0],
            SCALED[0],
        ],
        "auto": [Stiefel(4, 1), RealProjective(3)],
        "fibre-average": [Stiefel(5, 2)],
        "smooth": [Sphere(4), SpecialOrthogonal(4), Grassmann(4, 2), Orthogonal(3)],
        "strip": [Sphere(2), ComplexProjective(2), SpecialOrthogonal(3)],
        "ball": [Euclidean(2), Sphere(2)],
        "reference": [
            Sphere(2),
            *(next(M for M in OWN if isinstance(M, own)) for own in (hg.Implicit, hg.Chart, hg.Domain)),
        ],
    }.items()
    for manifold in manifolds
]
"""The part of the kernels that every run of the tests checks: each class of manifolds and each method."""

FAST_MATERN_KERNELS = [
    kernel_case(manifold, method)._replace(smoothness=smoothness)
    for manifold, method, smoothness in [
        (Euclidean(2), "exact", 0.5),
        (Sphere(2), "exact", 0.5),
        (Orthogonal(3), "exact", 0.5),
        (Torus(2), "exact", 1.5),
        (Stiefel(3, 2), "exact", 0.7),
        (QUOTIENTS[0], "exact", 0.5),
        (SCALED[0], "exact", 2.5),
        (Sphere(2), "strip", 0.5),
        (Sphere(2), "reference", 2.5),
    ]
]
MATERN_KERNELS = FAST_MATERN_KERNELS + [
    case._replace(smoothness=smoothness) for case in FAST_KERNELS for smoothness in (0.5, 2.5)
]
"""Matern kernels of heat kernels by every method, rough and smooth; the first ones in every run of the tests."""
