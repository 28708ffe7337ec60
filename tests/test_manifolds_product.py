"""Products, quotients and scaled manifolds are what they are made of."""

from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import pytest

from catalog import PRODUCTS, antipode, identity
from heatgp import (
    ComplexProjective,
    Euclidean,
    Product,
    Quotient,
    Scaled,
    SpecialEuclidean,
    SpecialOrthogonal,
    Sphere,
    Torus,
    TorusKnot,
)
from heatgp.errors import InvalidInput


@pytest.mark.parametrize("manifold", PRODUCTS, ids=repr)
def test_split_and_join(manifold, rng):
    x, y = manifold.random(rng, 6), manifold.random(rng, 6)
    parts = manifold.split(x)
    assert [part.shape for part in parts] == [(6, *factor.shape) for factor in manifold.factors]
    np.testing.assert_array_equal(manifold.join(*parts), x)
    assert x.dtype == np.float64
    np.testing.assert_allclose(manifold.dim, sum(factor.dim for factor in manifold.factors))
    near = manifold.exp(x, 0.05 * manifold.noise(x, y))
    squares = sum(f.distance(a, b) ** 2 for f, a, b in zip(manifold.factors, parts, manifold.split(near)))
    np.testing.assert_allclose(manifold.distance(x, near) ** 2, squares, atol=1e-14)


def test_join_broadcasts():
    manifold = Product(Sphere(2), Torus(1))
    joined = manifold.join(np.array([1.0, 0, 0]), np.zeros((4, 1)))
    assert joined.shape == (4, 4)
    assert manifold.join([1.0, 0, 0], [0.5]).tolist() == [1, 0, 0, 0.5]


def test_complex_factors_are_real_parts_then_imaginary_parts():
    manifold = Product(ComplexProjective(1), Torus(1))
    assert manifold.join(np.array([0.6, 0.8j]), np.array([2.0])).tolist() == [0.6, 0, 0, 0.8, 2]


def test_products_are_values():
    one, two = Product(Sphere(2), Torus(1)), Product(Sphere(2), Torus(1))
    assert one == two
    assert hash(one) == hash(two)
    assert one != Product(Torus(1), Sphere(2))
    with pytest.raises(FrozenInstanceError):
        one.factors = ()


def test_volume_of_products():
    assert Product(Sphere(2), Torus(1)).volume == pytest.approx(8 * np.pi**2)
    assert Product(Sphere(2), Euclidean(1)).volume == np.inf
    assert Product(Sphere(2), Sphere(3)).scalar_curvature == pytest.approx(2 + 6)


def test_quotients_by_isometries_of_a_product(rng):
    """(x, a) -> (-x, a + pi): the isometry may use split and join."""
    cover = Product(Sphere(2), Torus(1))

    def glide(x):
        p, a = cover.split(x)
        return cover.join(-p, a + np.pi)

    manifold = Quotient(cover, (identity, glide))
    x, y = cover.random(rng, 9), cover.random(rng, 9)
    np.testing.assert_allclose(manifold.distance(x, glide(x)), 0, atol=1e-14)
    assert (manifold.distance(x, y) <= cover.distance(x, y)).all()
    assert manifold.volume == pytest.approx(cover.volume / 2)


def test_quotients_nest(rng):
    """Torus by a quarter turn, in two steps and in one."""
    half = Quotient(Torus(1), (identity, lambda x: x + np.pi))
    nested = Quotient(half, (identity, lambda x: x + np.pi / 2))
    direct = Quotient(Torus(1), tuple((lambda x, j=j: x + j * np.pi / 2) for j in range(4)))
    x, y = rng.uniform(-3, 3, (2, 20, 1))
    np.testing.assert_allclose(nested.distance(x, y), direct.distance(x, y), atol=1e-14)
    assert nested.volume == pytest.approx(direct.volume)


def test_quotient_is_hashable_and_takes_a_list():
    assert Quotient(Sphere(2), [identity, antipode]) == Quotient(Sphere(2), (identity, antipode))
    assert isinstance(hash(Quotient(Sphere(2), [identity, antipode])), int)


def test_scaled_lengths_volumes_and_motion(rng):
    manifold, base = Scaled(SpecialOrthogonal(3), 2.0), SpecialOrthogonal(3)
    x, y = base.random(rng, 2)
    assert manifold.distance(x, y) == pytest.approx(2 * base.distance(x, y))
    assert manifold.volume == pytest.approx(8 * base.volume)
    z = rng.standard_normal(3)
    np.testing.assert_allclose(manifold.step(x, z, 0.4), base.step(x, z, 0.1))


@pytest.mark.parametrize("p, q", [(1, 1), (2, 3), (3, 2), (3, 8)])
def test_knots_wind_p_times_around_the_axis_and_q_times_around_the_core(p, q):
    s = np.linspace(-np.pi, np.pi, 2001)[:, None]
    point = TorusKnot(p, q).embed(s)
    radius = np.hypot(point[:, 0], point[:, 1])
    np.testing.assert_allclose((radius - 2) ** 2 + point[:, 2] ** 2, 1, atol=1e-13)
    around = np.unwrap(np.arctan2(point[:, 1], point[:, 0]))
    through = np.unwrap(np.arctan2(point[:, 2], radius - 2))
    assert around[-1] - around[0] == pytest.approx(2 * np.pi * p)
    assert through[-1] - through[0] == pytest.approx(2 * np.pi * q)
    gaps = np.linalg.norm(point[:-1:10, None] - point[None, :-1:10], axis=-1) + 9 * np.eye(200)
    assert gaps.min() > 0.02  # it does not meet itself


def test_join_takes_columns_of_data_frames(rng):
    M = Product(Sphere(2), Torus(1), Euclidean(2))
    X = M.random(rng, 6)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    found = M.join(frame[["a", "b", "c"]], frame["d"], frame[["e", "f"]])
    np.testing.assert_array_equal(found, X)
    np.testing.assert_array_equal(M.join(frame.loc[0, ["a", "b", "c"]], frame["d"][:1], [1.0, 2.0]), [*X[0, :4], 1, 2])
    one = frame[:1]
    np.testing.assert_array_equal(M.join(one[["a", "b", "c"]], one["d"], one[["e", "f"]]), X[:1])


def test_parts_of_other_shapes_are_refused(rng):
    M = SpecialEuclidean(3)
    with pytest.raises(InvalidInput, match=r"x has shape \(5,\); points of Product.* have shape \(12,\)"):
        M.split(np.zeros(5))
    with pytest.raises(InvalidInput, match=r"part 1 of join has shape \(4,\).*quaternion_to_matrix"):
        M.join(np.zeros(3), np.array([0.0, 0, 0, 1]))
    with pytest.raises(InvalidInput, match="part 0 of join must be numbers"):
        M.join(["a", "b", "c"], np.eye(3))
    with pytest.raises(InvalidInput, match=r"batch axes \(2,\) and \(5,\), which do not broadcast\. Pass equally many"):
        M.join(np.zeros((2, 3)), np.zeros((5, 3, 3)))
    with pytest.raises(InvalidInput, match=r"part 0 of join is complex, and the points of Euclidean\(3\) are real"):
        M.join(np.zeros(3) + 1j, np.eye(3))
    with pytest.raises(InvalidInput, match=r"part 1 of join is complex, and the points of Torus\(1\) are real"):
        Product(Sphere(2), Torus(1)).join(np.eye(3), np.zeros(3) + 1j)
    assert [part.shape for part in M.split([0.0] * 12)] == [(3,), (3, 3)]
