"""Quasi-random samples: of the same law as random ones, and more even."""

import numpy as np
import pytest

from heatgp import Domain, Euclidean, Grassmann, Product, SpecialOrthogonal, SpecialUnitary, Sphere
from heatgp.heat.reference.quasi import Quasi
from own_manifolds import CAP, SPHERE, SPHERE_CHART, TORUS_CHART, U_DOMAIN

MANIFOLDS = [
    Sphere(2),
    Product(Sphere(2), Sphere(2)),
    SpecialOrthogonal(3),
    SpecialUnitary(3),
    Grassmann(4, 2),
    SPHERE,
    SPHERE_CHART,
    TORUS_CHART,
    U_DOMAIN,
    CAP,
]


def moments(manifold, x):
    """Means of the coordinates and of their products: factors of a product must not go together."""
    x = np.asarray(manifold.embed(x)).reshape(len(x), -1)
    x = np.concatenate((x.real, x.imag), axis=1) if np.iscomplexobj(x) else x
    return np.concatenate((x, (x[:, :, None] * x[:, None]).reshape(len(x), -1)), axis=1)


@pytest.mark.parametrize("manifold", MANIFOLDS, ids=repr)
def test_the_law_is_the_same(manifold):
    n = 1 << 14
    rng = np.random.default_rng(0)
    random, even = (moments(manifold, manifold.random(g, n)) for g in (rng, Quasi(rng)))
    error = np.sqrt(2 * random.var(axis=0) / n)
    assert (np.abs(random.mean(axis=0) - even.mean(axis=0)) < 5 * error + 1e-12).all()


@pytest.mark.parametrize(
    "manifold", [Sphere(2), pytest.param(SPHERE, marks=pytest.mark.slow), SPHERE_CHART, U_DOMAIN], ids=repr
)
def test_shares_are_several_times_more_exact(manifold):
    """Of boxes that hold a hundredth of the points or so, against the shares of many points."""
    seeds = [np.random.default_rng(seed) for seed in range(8)]

    def shares(rng, n=1 << 13):
        x = np.asarray(manifold.random(rng, n))[:, :2]
        return np.histogram2d(*x.T, bins=12, range=[(-1, 3)] * 2)[0] / n

    truth = shares(np.random.default_rng(99), 1 << 21)
    random, even = (np.mean([(shares(g) - truth) ** 2 for g in group]) for group in (seeds, map(Quasi, seeds)))
    assert even < random / 5


def test_other_numbers_are_the_generator_s():
    assert Quasi(np.random.default_rng(0)).integers(5) == np.random.default_rng(0).integers(5)


def test_one_at_a_time():
    assert Quasi(np.random.default_rng(0)).random((1, 3)).shape == (1, 3)
    assert Domain(Euclidean(2), [(0, 0), (1, 0), (0, 1)]).random(Quasi(np.random.default_rng(0)), 0).shape == (0, 2)
