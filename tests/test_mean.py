"""The prior mean of a regression is a function of the point, whichever array stands for it."""

import warnings

import numpy as np
import pytest

import heatgp as hg
from catalog import QUOTIENTS
from heatgp import (
    ComplexProjective,
    Euclidean,
    GPRegressor,
    Grassmann,
    Product,
    Quotient,
    RealProjective,
    Sphere,
    Torus,
)
from heatgp.errors import InvalidInput
from heatgp.gp.parameters import Priors


def double_cover(x):
    return -x


PROJECTIVE = Quotient(Sphere(2), (lambda x: x, double_cover))


def _values_at_one_point(M, representatives, mean, kernel="auto"):
    """Predictions at several arrays that stand for the same points; None where the mean is refused."""
    rng = np.random.default_rng(0)
    points, new = M.random(rng, 40), M.random(rng, 5)
    gp = GPRegressor(M, kernel=kernel, mean=mean, time=0.5, amplitude=1.0, noise=0.01)
    try:
        gp.fit(points, rng.standard_normal(40))
    except InvalidInput:
        return None
    return [gp.predict(same(new)) for same in (lambda x: x, *representatives)]


def _quarter_turn(x):
    R = np.array([[0.0, -1.0, 0.0], [0.6, 0.0, -0.8], [0.8, 0.0, 0.6]])
    return (x.reshape(len(x), -1, 3) @ R).reshape(len(x), -1)


def _turned_first(x):
    return np.concatenate([_quarter_turn(x[:, : 8 + 1]), x[:, 9:]], axis=1)


SHAPES = Product(Sphere(8), Euclidean(1))
SAME_POINTS = {
    "quotient": (PROJECTIVE, [double_cover], "auto"),
    "scaled": (hg.Scaled(PROJECTIVE, 2.0), [double_cover], "auto"),
    "product": (
        Product(PROJECTIVE, Euclidean(1)),
        [lambda x: np.concatenate([-x[:, :3], x[:, 3:]], axis=1)],
        "auto",
    ),
    "lens": (QUOTIENTS[1], QUOTIENTS[1].isometries, "auto"),
    "Klein bottle": (QUOTIENTS[2], QUOTIENTS[2].isometries, "auto"),
    "O(3)/±1": (QUOTIENTS[3], QUOTIENTS[3].isometries, "auto"),
    "U(2)/±1": (QUOTIENTS[4], QUOTIENTS[4].isometries, "auto"),
    "shapes": (Sphere(8), [_quarter_turn], hg.shape_kernel(4)),
    "rough shapes": (Sphere(8), [_quarter_turn], hg.shape_kernel(4, 1.5)),
    "shapes in a product": (SHAPES, [_turned_first], [hg.shape_kernel(4), "exact"]),
    "sum": (
        SHAPES,
        [_turned_first],
        hg.shape_kernel(4).on(SHAPES, 0) + hg.heat_kernel(Euclidean(1)).on(SHAPES, 1),
    ),
    "real lines": (RealProjective(2), [double_cover], "auto"),
    "complex lines": (ComplexProjective(2), [lambda x: np.exp(0.7j) * x], "auto"),
    "planes": (Grassmann(4, 2), [lambda x: x @ np.array([[0.6, -0.8], [0.8, 0.6]])], "auto"),
    "complex planes": (Grassmann(4, 2, "complex"), [lambda x: x @ np.array([[0, 1j], [1, 0]])], "auto"),
    "torus": (Torus(2), [lambda x: x - 2 * np.pi * np.sign(x)], "auto"),
}


@pytest.mark.parametrize("case", SAME_POINTS)
def test_a_linear_mean_is_a_function_of_the_point(case):
    """It has one value at all arrays that stand for a point, or it is refused with the remedy."""
    M, representatives, kernel = SAME_POINTS[case]
    values = _values_at_one_point(M, representatives, "linear", kernel)
    invariant = ("real lines", "complex lines", "planes", "complex planes", "torus")
    assert values is not None or case not in invariant
    for other in (values or [None])[1:]:
        np.testing.assert_allclose(other, values[0], atol=1e-8)


def test_a_function_as_mean_is_a_function_of_the_point():
    assert _values_at_one_point(PROJECTIVE, [], lambda x: x[:, 0]) is None
    here, there = _values_at_one_point(PROJECTIVE, [double_cover], lambda x: x[:, :1] * x)
    np.testing.assert_allclose(there, here, atol=1e-8)
    M = Product(PROJECTIVE, Euclidean(1))
    here, there = _values_at_one_point(M, [SAME_POINTS["product"][1][0]], lambda x: M.split(x)[1])
    np.testing.assert_allclose(there, here, atol=1e-8)
    sparse = hg.GPRegressor(PROJECTIVE, mean="linear", inference="sparse", noise=0.01)
    X = PROJECTIVE.random(np.random.default_rng(0), 200)
    with pytest.raises(InvalidInput, match='mean = "linear" is not a function of the point: X'):
        sparse.fit(X, X[:, 0] ** 2)
    with pytest.raises(InvalidInput, match=r"column 0 of the basis changes by .* Give mean='constant', or a function"):
        GPRegressor(PROJECTIVE, mean=lambda x: x[:, 0]).fit(X, X[:, 0] ** 2)


def test_each_column_of_a_mean_is_compared_in_its_own_unit():
    """Heights of 1e8 beside unit vectors hid that these change their sign."""
    M, rng = Product(PROJECTIVE, Euclidean(1)), np.random.default_rng(0)
    X = M.join(Sphere(2).random(rng, 20), 1e8 * rng.standard_normal((20, 1)))
    with pytest.raises(InvalidInput, match='mean = "linear" is not a function of the point'):
        GPRegressor(M, mean="linear", time=(0.1, 1e16), amplitude=1.0, noise=0.1).fit(X, X[:, 0] ** 2)


def test_rounding_is_no_second_value():
    """sin is zero, up to rounding, at all of these angles and at their periods."""
    gp = GPRegressor(Torus(1), mean=np.sin, priors=Priors(coefficients=1.0), time=0.1, amplitude=1.0, noise=0.1)
    assert np.isfinite(gp.fit(np.pi * np.arange(3.0)[:, None], [1.0, 2.0, 3.0]).predict([[0.5]])).all()


INVARIANT = {
    "real lines": np.abs,
    "complex lines": np.abs,
    "planes": lambda x: (x**2).sum(axis=-1),
    "complex planes": lambda x: (abs(x) ** 2).sum(axis=-1),
    "torus": np.cos,
}


@pytest.mark.parametrize("case", INVARIANT)
@pytest.mark.parametrize("factors", [1, 2])
def test_functions_as_mean_of_points_with_several_arrays(case, factors):
    """Unit vectors of a line, frames of a plane and angles are not points: entries are no functions of them."""
    M, (other,), _ = SAME_POINTS[case]
    product = M if factors == 1 else Product(Euclidean(1), M)

    def of_last(function):
        return lambda x: function(x if factors == 1 else product.split(x)[1]).real.reshape(len(x), -1)[:, :1]

    def same(x):
        return other(x) if factors == 1 else product.join(product.split(x)[0], other(product.split(x)[1]))

    assert _values_at_one_point(product, [], of_last(np.asarray)) is None
    here, there = _values_at_one_point(product, [same], of_last(INVARIANT[case]))
    np.testing.assert_allclose(there, here, atol=1e-8)


@pytest.mark.parametrize("M", [Sphere(2), hg.Orthogonal(3), hg.Stiefel(4, 2), hg.SPD(2), hg.Hyperbolic(2)], ids=repr)
def test_any_function_where_points_are_arrays(M):
    X = M.random(np.random.default_rng(0), 20)
    gp = GPRegressor(M, mean=lambda x: x.reshape(len(x), -1)[:, :1], time=0.5, amplitude=1.0, noise=0.1)
    assert np.isfinite(gp.fit(X, np.arange(20.0)).predict(X)).all()


def test_numbers_as_mean_of_any_precision_and_size():
    X = Sphere(2).random(np.random.default_rng(0), 20)
    given = {"time": 0.5, "amplitude": 1.0, "noise": 0.1}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one, two = (GPRegressor(Sphere(2), mean=mean, **given).fit(X, X[:, 0]) for mean in (np.float32(1), 1.0))
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    with pytest.raises(InvalidInput, match=r"mean = 1e\+300 has a square beyond floating point. Change the unit of y"):
        GPRegressor(Sphere(2), mean=1e300, **given).fit(X, X[:, 0])
