"""Brownian motion: eigenfunctions of the Laplacian decay like exp(-lambda t / 2), on every manifold of the catalog."""

import math
from functools import singledispatch

import numpy as np
import pytest
from scipy.special import hyp2f1

from catalog import (
    CATALOG,
    ORTHOGONAL,
    QUOTIENTS,
    ROTATIONS,
    SPECIAL_UNITARY,
    SPHERES,
    STIEFEL,
    UNITARY,
)
from heatgp import (
    ComplexProjective,
    Euclidean,
    Grassmann,
    Hyperbolic,
    Orthogonal,
    Product,
    RealProjective,
    Scaled,
    SpecialOrthogonal,
    SpecialUnitary,
    Sphere,
    Stiefel,
    Torus,
    TorusKnot,
    Unitary,
    walk,
)
from heatgp.manifolds.spaces.positive_definite import AffineInvariant, LogEuclideanPD
from statistics_helpers import assert_mean

STEPS, PATHS = 32, 1000


def coefficient(x, y):
    """Re <x, y> over all coordinates of a point: linear in y."""
    axes = tuple(range(-x.ndim, 0))
    return np.sum(x.conj() * y, axis=axes).real


def overlap(x, y):
    """tr(P_x P_y) of lines or subspaces."""
    x, y = (x[:, None], y[..., None]) if x.ndim == 1 else (x, y)
    return np.sum(np.abs(x.conj().T @ y) ** 2, axis=(-2, -1))


@singledispatch
def eigenpair(manifold):
    """(f, lambda): y -> f(x, y) has -Laplace f = lambda f for every x."""
    raise NotImplementedError(f"register an eigenfunction of {manifold!r} here, as the classes below do")


@eigenpair.register(Euclidean)
@eigenpair.register(Torus)
@eigenpair.register(TorusKnot)
def _(manifold):
    return lambda x, y: np.prod(np.cos(y - x), axis=-1), manifold.dim


@eigenpair.register
def _(manifold: Hyperbolic):
    """A spherical function that tends to 0."""
    n, power = manifold.n, (manifold.n - 1) / 3

    def wave(x, y):
        return hyp2f1(power, n - 1 - power, n / 2, -(np.sinh(manifold.distance(x, y) / 2) ** 2))

    return wave, power * (n - 1 - power)


@eigenpair.register
def _(manifold: AffineInvariant):
    """A power of the first entry, where x is carried to the identity: a wave on horospheres that tends to 0."""
    rate = (manifold.n - 1) * manifold._beta / 2
    return lambda x, y: manifold.to_origin(x, y)[..., 0, 0].real ** (-rate / 2), rate**2 / 4


@eigenpair.register
def _(manifold: LogEuclideanPD):
    return lambda x, y: np.prod(np.cos(manifold.embed(y) - manifold.embed(x)), axis=-1), manifold.dim


@eigenpair.register
def _(manifold: Sphere):
    return coefficient, manifold.dim


@eigenpair.register
def _(manifold: RealProjective):
    n = manifold.dim + 1
    return lambda x, y: overlap(x, y) - 1 / n, 2 * n


@eigenpair.register
def _(manifold: ComplexProjective):
    n = manifold.complex_dim + 1
    return lambda x, y: overlap(x, y) - 1 / n, 4 * n


@eigenpair.register(SpecialOrthogonal)
@eigenpair.register(Orthogonal)
def _(manifold):
    return coefficient, manifold.n - 1


@eigenpair.register
def _(manifold: Unitary):
    return coefficient, 2 * manifold.n


@eigenpair.register
def _(manifold: SpecialUnitary):
    return coefficient, 2 * (manifold.n - 1 / manifold.n)


@eigenpair.register
def _(manifold: Stiefel):
    return coefficient, 2 * manifold.n if manifold.is_complex else manifold.n - 1


@eigenpair.register
def _(manifold: Grassmann):
    n, k = manifold.n, manifold.k
    return lambda x, y: overlap(x, y) - k * k / n, 4 * n if manifold.is_complex else 2 * n


@eigenpair.register
def _(manifold: Scaled):
    f, eigenvalue = eigenpair(manifold.base)
    return f, eigenvalue / manifold.scale**2


@eigenpair.register
def _(manifold: Product):
    """The product of the factors' eigenfunctions."""
    pairs = [eigenpair(factor) for factor in manifold.factors]

    def f(x, y):
        return math.prod(g(a, b) for (g, _), a, b in zip(pairs, manifold.split(x), manifold.split(y)))

    return f, sum(eigenvalue for _, eigenvalue in pairs)


def complex_overlap(x, y):
    """|<z, w>|² of x, y in R⁴ = C²: the lens space is a circle bundle over CP^1."""
    z, w = (a[..., 0::2] + 1j * a[..., 1::2] for a in (x, y))
    return overlap(z, w)


# Functions that the group leaves alone: projective plane, lens space, Klein bottle, O(3)/±1 = SO(3), U(2)/±1.
INVARIANT = [
    (lambda x, y: overlap(x, y) - 1 / 3, 6),
    (lambda x, y: complex_overlap(x, y) - 1 / 2, 8),
    (lambda x, y: np.cos(2 * (y - x)[..., 0]), 4),
    (lambda x, y: coefficient(x, y) * np.linalg.det(y) * np.linalg.det(x), 2),
    (lambda x, y: np.abs(np.sum(x.conj() * y, axis=(-2, -1))) ** 2 - 1, 8),
]
CASES = [(m, *eigenpair(m)) for m in CATALOG if m not in QUOTIENTS]
CASES += [(m, *pair) for m, pair in zip(QUOTIENTS, INVARIANT, strict=True)]


@pytest.mark.parametrize("manifold, f, eigenvalue", CASES, ids=[repr(case[0]) for case in CASES])
def test_eigenfunctions_decay(manifold, f, eigenvalue, rng):
    x0 = manifold.random(rng, 1)[0]
    time = 1 / eigenvalue
    y = walk(manifold, x0, [time / 2, time], paths=PATHS, step=time / STEPS, rng=1)
    assert np.max(manifold.defect(y)) < 1e-12
    for positions, t in zip(y, (time / 2, time)):
        expected = math.exp(-eigenvalue * t / 2) * f(x0, x0[None])[0]
        # A step multiplies by 1 - lambda step/2 + c (lambda step)², 0 < c < 1/8, where the exponential has 1/8.
        assert_mean(f(x0, positions), expected, bias=abs(expected) * (eigenvalue * time / STEPS) ** 2 / 8 * STEPS)


@pytest.mark.parametrize(
    "manifold", [*SPHERES, *ROTATIONS, *ORTHOGONAL, *UNITARY, *SPECIAL_UNITARY, *STIEFEL], ids=repr
)
def test_mean_is_a_multiple_of_the_start(manifold, rng):
    """E[B_t] = exp(-lambda t/2) x0, every entry of it."""
    _, eigenvalue = eigenpair(manifold)
    x0, time = manifold.random(rng, 1)[0], 1 / eigenvalue
    y = walk(manifold, x0, time, paths=PATHS, step=time / STEPS, rng=2)[0]
    assert_mean(y - math.exp(-0.5) * x0, 0, bias=1 / (8 * STEPS))


def test_euclidean_motion_is_exact():
    y = walk(Euclidean(2), np.array([1.0, 2.0]), [0.5, 2.0], paths=4000, step=0.25, rng=0)
    assert_mean(y[0], [1.0, 2.0])
    assert_mean((y[0] - [1.0, 2.0]) ** 2, 0.5)
    assert_mean((y[1] - y[0]) ** 2, 1.5)
    assert_mean((y[1] - y[0]) * (y[0] - [1.0, 2.0]), 0)
