"""The contract: what it declares, what wrappers and products make of it, and its defaults."""

import math
import re
from dataclasses import dataclass

import numpy as np
import pytest

from heatgp import (
    Chart,
    ComplexProjective,
    Domain,
    Euclidean,
    Implicit,
    Product,
    Quotient,
    Scaled,
    SpecialOrthogonal,
    Sphere,
    Torus,
    walk,
)
from heatgp.errors import Unsupported
from heatgp.manifolds import contract
from heatgp.manifolds.composed.wrapper import Wrapper
from heatgp.manifolds.contract import Homogeneous, Manifold, Symmetric
from heatgp.manifolds.own import implicit
from own_manifolds import SPHERE, TORUS_CHART, U_DOMAIN, sphere_equation, sphere_metric

MEMBERS = {"shape", "dim"} | {name for name in vars(Manifold) if not name.startswith("_")}


def test_every_member_is_in_the_table():
    declared = MEMBERS | {name for cls in (Homogeneous, Symmetric) for name in vars(cls) if not name.startswith("_")}
    table = contract.__doc__.partition("=====")[2]
    first = " ".join(line[:26] for line in table.splitlines())
    assert declared <= set(re.findall(r"\w+", first))


@pytest.mark.parametrize("wrapper", [Scaled, Quotient, Domain])
def test_wrappers_forget_no_member(wrapper):
    for name in MEMBERS:
        assert name in vars(Wrapper) or name in vars(wrapper), f"{wrapper.__name__} forgets {name}"


# What the defaults of the contract say of a product, too: it is real, and has no covering or box of its own.
SAME = {"is_complex", "within", "covering", "straight", "box"}


def test_products_forget_no_member():
    assert set(vars(Product)) >= MEMBERS - SAME


def in_cap(x):
    return x[..., 2] > 0.2


def ask(manifold, name, x, y, z):
    """The member of this name, or its value at points x, close points y and white noise z."""
    member = getattr(manifold, name)
    arguments = {
        "random": (np.random.default_rng(1), 3),
        "step": (x, z, 0.01),
        "within": (x, y, 0.1),
        "noise": (x, z),
        "exp": (x, manifold.noise(x, 0.01 * z)),
        "gradient": (x, z),
        "to_tangent": (x, z),
        "converter": ((5, 2),),
        "metric": (x, z, z),
    }
    pairs = ("distance", "log", "separation", "rough_separation", "difference", "open_way")
    return member(*arguments.get(name, (x, y) if name in pairs else (x,))) if callable(member) else member


@pytest.mark.parametrize("name", sorted(MEMBERS))
@pytest.mark.parametrize("manifold", [SPHERE, TORUS_CHART, Domain(Sphere(2), in_cap)], ids=repr)
def test_a_wrapper_that_changes_nothing_is_the_manifold(manifold, name):
    """Scaled by one."""
    rng, same = np.random.default_rng(0), Scaled(manifold, 1.0)
    x, z = manifold.random(rng, 5), rng.standard_normal((5, *manifold.step_shape))
    y = manifold.step(x, z, 1e-3)
    try:
        expected = ask(manifold, name, x, y, z)
    except Unsupported:
        with pytest.raises(Unsupported):
            ask(same, name, x, y, z)
    else:
        np.testing.assert_array_equal(ask(same, name, x, y, z), expected)


def test_lengths_of_a_scaled_domain():
    M = Scaled(U_DOMAIN, 10.0)
    assert M.channel_width == pytest.approx(10 * U_DOMAIN.channel_width)
    assert M.step_limit == pytest.approx(100 * U_DOMAIN.step_limit)
    x, y = np.array([2.5, 0.5]), np.array([2.5, 1.5])
    assert M.separation(x, y) == np.inf
    assert not M.open_way(x, y)
    assert M.rough_separation(x, y) == pytest.approx(100)


def test_scaled_rotations_walk_on_quaternions_too():
    M = Scaled(SpecialOrthogonal(3), 3.0)
    ends = walk(M, np.eye(3), [0.9], paths=4000, step=0.09, rng=0)[0]
    squares = M.distance(np.eye(3), ends) ** 2
    plain = SpecialOrthogonal(3).distance(
        np.eye(3), walk(SpecialOrthogonal(3), np.eye(3), [0.1], paths=4000, step=0.01)[0]
    )
    assert squares.mean() == pytest.approx(
        9 * (plain**2).mean(), rel=5 * squares.std() / squares.mean() / 4000**0.5 * 1.5
    )


def test_a_product_keeps_what_its_factors_know():
    M = Product(SPHERE, U_DOMAIN, Torus(1))
    assert M.step_limit == min(SPHERE.step_limit, U_DOMAIN.step_limit)
    assert M.curvature_step_limit == SPHERE.step_limit
    assert M.volume_error == SPHERE.volume_error
    assert Product(SPHERE, SPHERE).volume_error == pytest.approx(2**0.5 * SPHERE.volume_error)
    assert M.channel_width == U_DOMAIN.channel_width
    assert M.draws_evenly
    assert not Product(SPHERE, ByHand()).draws_evenly
    rng = np.random.default_rng(0)
    parts = [f.random(rng, 4) for f in M.factors]
    close = [f.exp(x, f.noise(x, 0.01 * rng.standard_normal(x.shape))) for f, x in zip(M.factors, parts)]
    x, y = M.join(*parts), M.join(*close)
    for separation in ("separation", "rough_separation"):
        expected = sum(getattr(f, separation)(a, b) for f, a, b in zip(M.factors, parts, close))
        np.testing.assert_allclose(getattr(M, separation)(x, y), expected)
    assert M.open_way(x, y).all()
    across = M.join(parts[0][0], np.array([2.5, 1.5]), parts[2][0])
    assert not M.open_way(M.join(parts[0][0], np.array([2.5, 0.5]), parts[2][0]), across)


@dataclass(frozen=True)
class ByHand(Manifold):
    """The unit sphere with the six members only, all a user need write."""

    dim = 2
    shape = (3,)

    def noise(self, x, z):
        return Sphere(2).noise(x, z)

    def exp(self, x, v):
        return Sphere(2).exp(x, v)

    def random(self, rng, n):
        return Sphere(2).random(rng, n)

    def defect(self, x):
        return Sphere(2).defect(x)


@dataclass(frozen=True)
class Patch(ByHand):
    """The same in polar coordinates, by its metric."""

    shape = (2,)

    def noise(self, x, z):
        return z / np.stack((np.ones(x.shape[:-1]), np.sin(x[..., 0])), axis=-1)

    def random(self, rng, n):
        return np.stack((np.arccos(rng.uniform(-0.8, 0.8, n)), rng.uniform(0, 6, n)), axis=-1)


@pytest.mark.parametrize("length", [0.03, 0.1, 0.3])
def test_separation_from_six_members(length):
    """Squared distances up to the fourth order, from noise alone: in the surrounding space and in coordinates."""
    rng = np.random.default_rng(0)
    x = Sphere(2).random(rng, 50)
    v = Sphere(2).noise(x, rng.standard_normal(x.shape))
    y = Sphere(2).exp(x, length * v / np.linalg.norm(v, axis=-1, keepdims=True))
    assert np.abs(ByHand().separation(x, y) / length**2 - 1).max() < 0.4 * length**2
    np.testing.assert_allclose(ByHand().separation(x[:, None], y[None])[3, 7], ByHand().separation(x[3], y[7]))
    chart = Chart(sphere_metric, 2, bounds=((0.1, math.pi - 0.1), (0, 6.2)))
    a = Patch().random(rng, 50)
    b = a + length * Patch().noise(a, v[:, :2]) / 2
    np.testing.assert_allclose(Patch().separation(a, b), chart.rough_separation(a, b), rtol=1e-9)


def test_separation_of_complex_points_from_six_members():
    M, rng = ComplexProjective(2), np.random.default_rng(0)
    x = M.random(rng, 20)
    z = 0.02 * (rng.standard_normal(x.shape) + 1j * rng.standard_normal(x.shape))
    y = M.exp(x, M.noise(x, z))
    d = Manifold.embed(M, y - x)
    own = [row @ metric @ row for row, metric in zip(d, M._metric_matrix(x))]
    np.testing.assert_allclose(own, M.distance(x, y) ** 2, rtol=0.01)


def test_the_error_of_a_volume_is_that_of_the_points_counted(monkeypatch):
    """Far fewer points than usual: the stated error grows with the true one."""
    assert 0.001 < SPHERE.volume_error < 0.004
    monkeypatch.setattr(implicit, "BATCH", 1 << 9)
    for tried in (1 << 9, 1 << 11, 1 << 13):
        monkeypatch.setattr(implicit, "TRIED", tried)
        sphere = Implicit(sphere_equation, 2, 3)
        assert sphere.volume_error == pytest.approx((0.9 / (0.1 * tried)) ** 0.5, rel=0.3)
        assert abs(sphere.volume / (4 * np.pi) - 1) < 4 * sphere.volume_error


def test_defaults():
    M = ByHand()
    x, y = M.random(np.random.default_rng(0), 2)
    assert (M.step_limit, M.channel_width, M.covering, M.volume_error) == (math.inf, math.inf, None, 0.0)
    assert M.open_way(x, y)
    assert M.open_way(x[None, None], y[None]).shape == (1, 1)
    with pytest.raises(Unsupported, match="has no distance in closed form"):
        M.distance(x, y)
    assert Euclidean(2).curvature_step_limit == math.inf
