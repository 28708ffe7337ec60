"""Heat kernels in scikit-learn's Gaussian processes."""

import doctest
import pickle
from dataclasses import replace
from operator import add, mul

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel
from sklearn.model_selection import GridSearchCV

from catalog import PRODUCTS, QUOTIENTS, SCALED
from heatgp import (
    SPD,
    ComplexProjective,
    Euclidean,
    GPRegressor,
    Grassmann,
    Hyperbolic,
    Product,
    Reference,
    Smooth,
    SpecialOrthogonal,
    Sphere,
    Torus,
    Unitary,
    heat_kernel,
)
from heatgp.adapters import sklearn as adapter
from heatgp.adapters.sklearn import Columns, HeatKernel
from heatgp.errors import InvalidInput, OffManifold
from heatgp.manifolds.composed.product import flatten

S2 = Sphere(2)
X = S2.random(np.random.default_rng(0), 60)
Z = S2.random(np.random.default_rng(1), 7)
Y = X[:, 0] * X[:, 2] + 0.1 * np.random.default_rng(2).standard_normal(60)
COLORS = np.array(["red", "green", "blue"])[np.abs(X).argmax(axis=1)]

MANIFOLDS = [
    S2,
    Euclidean(3),
    Hyperbolic(2),
    SPD(2),
    ComplexProjective(2),
    SpecialOrthogonal(3),
    Unitary(2),
    Grassmann(5, 2),
    Torus(2),
    *PRODUCTS[1:3],
    QUOTIENTS[0],
    *SCALED[:2],
]


def rows(manifold, number, seed=0):
    return flatten(manifold, manifold.random(np.random.default_rng(seed), number))


def signal(points):
    return np.sin(points[:, 0]) + points[:, 1]


@pytest.mark.parametrize("manifold", MANIFOLDS, ids=repr)
def test_one_posterior_in_both_libraries(manifold):
    points, new = rows(manifold, 25), rows(manifold, 6, seed=1)
    y = signal(points)
    ours = GPRegressor(manifold, time=0.4, amplitude=1.3, noise=0.05, mean="zero").fit(points, y)
    kernel = ConstantKernel(1.3) * HeatKernel(manifold, time=0.4) + WhiteKernel(0.05)
    theirs = GaussianProcessRegressor(kernel, alpha=0, optimizer=None).fit(points, y)
    assert theirs.log_marginal_likelihood_value_ == pytest.approx(ours.log_marginal_likelihood(), abs=1e-8)
    for found, expected in zip(
        theirs.predict(new, return_std=True), ours.predict(new, return_std=True, noise=True), strict=True
    ):
        np.testing.assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize("manifold", MANIFOLDS, ids=repr)
def test_the_gradient_is_that_of_differences(manifold):
    points, kernel = rows(manifold, 8), HeatKernel(manifold, time=0.4)
    values, gradient = kernel(points, eval_gradient=True)
    step = 1e-5
    above, below = (kernel.clone_with_theta(kernel.theta + side)(points) for side in (step, -step))
    np.testing.assert_allclose(gradient[..., 0], (above - below) / (2 * step), atol=1e-8)
    np.testing.assert_allclose(values, values.T)
    np.testing.assert_allclose(np.diag(values), kernel.diag(points), rtol=1e-14)
    np.testing.assert_allclose(kernel(points, points), values, atol=1e-7)  # coordinates of a point with itself


@pytest.mark.parametrize(
    "ours, theirs",
    [
        (HeatKernel(Euclidean(3), time=0.49), RBF(0.7)),
        (HeatKernel(Euclidean(3), time=0.49, smoothness=1.5), Matern(0.7, nu=1.5)),
        (HeatKernel(Product(Euclidean(2), Euclidean(1)), time=(0.49, 4.0)), RBF([0.7, 0.7, 2.0])),
    ],
)
def test_in_flat_space_it_is_their_own(ours, theirs):
    points = rows(Euclidean(3), 20)
    (found, slope), (expected, in_length) = ours(points, eval_gradient=True), theirs(points, eval_gradient=True)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(slope.sum(axis=2), in_length.sum(axis=2) / 2, atol=1e-9)  # the time is a length squared


def test_both_libraries_learn_the_same():
    theirs = GaussianProcessRegressor(ConstantKernel() * HeatKernel(S2) + WhiteKernel()).fit(X, Y)
    ours = GPRegressor(S2, mean="zero", priors=None).fit(X, Y)
    assert theirs.log_marginal_likelihood_value_ == pytest.approx(ours.log_marginal_likelihood(), abs=1e-6)
    found = np.exp(theirs.kernel_.theta)
    np.testing.assert_allclose(found, [ours.amplitude_, ours.time_, ours.noise_], rtol=1e-3)
    np.testing.assert_allclose(theirs.predict(Z), ours.predict(Z), atol=1e-4)


def test_gram_matrices_for_our_own_models():
    gram = HeatKernel(S2, time=0.5)
    values = GPRegressor(kernel="precomputed", amplitude=1.3, noise=0.05).fit(gram(X), Y)
    points = GPRegressor(S2, time=0.5, amplitude=1.3, noise=0.05).fit(X, Y)
    for found, expected in zip(
        values.predict(gram(Z, X), return_std=True), points.predict(Z, return_std=True), strict=True
    ):
        np.testing.assert_allclose(found, expected, atol=1e-8)


def test_classes():
    kernel = ConstantKernel(9.0) * HeatKernel(S2, time=0.3)
    model = GaussianProcessClassifier(kernel).fit(X, COLORS)
    assert model.score(X, COLORS) > 0.9
    assert model.predict_proba(Z).shape == (7, 3)


@pytest.mark.parametrize("combine", [add, mul])
@pytest.mark.parametrize(
    "other", [ConstantKernel(2.0), WhiteKernel(0.3), RBF(1.5), Columns(RBF(1.5), [0, 2]), HeatKernel(S2, time=0.2)]
)
def test_sums_and_products(combine, other):
    one = HeatKernel(S2, time=0.7)
    for both in (combine(one, other), combine(other, one)):
        assert both.n_dims == 2
        np.testing.assert_allclose(both(X), combine(one(X), other(X)))
        np.testing.assert_allclose(both(Z, X), combine(one(Z, X), other(Z, X)))
        np.testing.assert_allclose(both.diag(X), np.diag(both(X)))
        assert both.is_stationary()
        assert clone(both) == both == pickle.loads(pickle.dumps(both))
        gradient, step = both(X, eval_gradient=True)[1], 1e-5
        for k, unit in enumerate(np.eye(2)):
            above, below = (both.clone_with_theta(both.theta + side * unit)(X) for side in (step, -step))
            np.testing.assert_allclose(gradient[..., k], (above - below) / (2 * step), atol=1e-8)


def test_powers():
    kernel = HeatKernel(Euclidean(3), time=1.0) ** 2
    np.testing.assert_allclose(kernel(X), RBF(0.5**0.5)(X), atol=1e-12)
    np.testing.assert_allclose(kernel(X, eval_gradient=True)[1], RBF(0.5**0.5)(X, eval_gradient=True)[1] / 2, atol=1e-9)


def test_other_columns_have_other_kernels():
    """A sphere and a line, as a product manifold and as a product of kernels."""
    height = np.random.default_rng(3).standard_normal((60, 1))
    table = np.hstack((height, X))
    kernel = HeatKernel(S2, 0.4, columns=slice(1, None)) * Columns(RBF(0.6), 0)
    product = HeatKernel(Product(Euclidean(1), S2), time=(0.36, 0.4))
    np.testing.assert_allclose(kernel(table), product(table), atol=1e-12)
    np.testing.assert_allclose(
        kernel(table, eval_gradient=True)[1][..., 0], product(table, eval_gradient=True)[1][..., 1]
    )
    masked = HeatKernel(S2, 0.4, columns=np.array([False, True, True, True]))
    np.testing.assert_array_equal(masked(table, table), HeatKernel(S2, 0.4)(X, X))
    y = Y + np.sin(2 * height[:, 0])
    model = GaussianProcessRegressor(ConstantKernel() * kernel + WhiteKernel()).fit(table, y)
    assert model.score(table, y) > 0.9
    assert (
        repr(kernel)
        == "HeatKernel(Sphere(2), time=0.4, columns=slice(1, None, None)) * Columns(RBF(length_scale=0.6), 0)"
    )


def test_what_scikit_learn_expects_of_a_kernel():
    kernel = HeatKernel(S2, time=0.5, time_bounds=(0.1, 10))
    assert list(kernel.get_params()) == ["manifold", "time", "time_bounds", "columns", "smoothness", "kernel"]
    np.testing.assert_allclose(kernel.theta, np.log([0.5]))
    np.testing.assert_allclose(kernel.bounds, np.log([[0.1, 10]]))
    kernel.theta = np.log([2.0])
    assert kernel.time == pytest.approx(2.0)
    assert repr(kernel) == "HeatKernel(Sphere(2), time=2)"
    assert kernel == clone(kernel) != HeatKernel(S2, time=2.5, time_bounds=(0.1, 10))
    assert kernel != HeatKernel(Sphere(3), kernel.time, time_bounds=(0.1, 10))
    assert kernel.requires_vector_input
    assert HeatKernel(S2, smoothness=1.5, time=0.25).set_params(time=None) == HeatKernel(S2, smoothness=1.5)
    np.testing.assert_array_equal(
        kernel.set_params(smoothness=0.5)(X), HeatKernel(S2, kernel.time, smoothness=0.5)(X)
    )  # it is made again
    nested = Columns(RBF(2.0), 0)
    nested.set_params(kernel__length_scale=3.0)
    assert nested.hyperparameters[0].name == "kernel__length_scale"
    assert nested.theta == pytest.approx(np.log(3))
    assert not HeatKernel(QUOTIENTS[0]).is_stationary()  # such as the Klein bottle, which is not homogeneous
    assert all(HeatKernel(manifold).is_stationary() for manifold in (*PRODUCTS, *SCALED))


def test_a_fixed_time():
    kernel = HeatKernel(S2, time=0.5, time_bounds="fixed")
    assert kernel.n_dims == 0
    assert kernel(X, eval_gradient=True)[1].shape == (60, 60, 0)
    model = GaussianProcessRegressor(ConstantKernel() * kernel + WhiteKernel()).fit(X, Y)
    assert model.kernel_.k1.k2.time == 0.5


def test_default_bounds_are_within_the_times_of_the_kernel():
    np.testing.assert_allclose(HeatKernel(S2).bounds, np.log([[1e-5, 1e5]]))
    np.testing.assert_allclose(HeatKernel(SPD(4)).bounds, np.log([[1e-5, 1.0]]))
    both = Product(S2, Torus(1))
    effects = heat_kernel(S2).on(both, 0) + heat_kernel(Torus(1)).on(both, 1)
    kernel = HeatKernel(both, (0.5, 1.0, 2.0), kernel=effects)  # two times and a weight
    np.testing.assert_allclose(kernel.bounds, np.log([[1e-5, 1e5], [1e-5, 1e5], [1e-4, 1e4]]))


@pytest.mark.parametrize("method", [Smooth(paths=2000), Reference(references=40, paths=2000)])
def test_estimated_kernels(method):
    ours = GPRegressor(S2, kernel=method, time=1.0, amplitude=1.3, noise=0.05, mean="zero").fit(X, Y)
    kernel = ConstantKernel(1.3) * HeatKernel(S2, 1.0, kernel=method) + WhiteKernel(0.05)
    theirs = GaussianProcessRegressor(kernel, alpha=0, optimizer=None).fit(X, Y)
    np.testing.assert_allclose(theirs.predict(Z), ours.predict(Z), atol=1e-8)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(theirs)).predict(Z), theirs.predict(Z))
    made = HeatKernel(S2, 1.0, kernel=method.kernel(S2))
    np.testing.assert_allclose(made(X), kernel.k1.k2(X), atol=1e-12)
    assert clone(made) == made
    kernel = HeatKernel(S2, 1.0, kernel=replace(method, rng=None, cache=False))  # another kernel each time it is made
    np.testing.assert_array_equal(kernel(X), clone(kernel)(X))
    np.testing.assert_array_equal(kernel(X), pickle.loads(pickle.dumps(kernel))(X))


def test_searches_and_tables():
    model = GaussianProcessRegressor(HeatKernel(S2, time_bounds="fixed"), alpha=0.01)
    search = GridSearchCV(model, {"kernel": [HeatKernel(S2, t, "fixed") for t in (1e-4, 1.0)]}, cv=3)
    assert search.fit(X, Y).best_params_["kernel"].time == 1.0
    search = GridSearchCV(model, {"kernel__time": [1e-4, 1.0], "kernel__smoothness": [2.5]}, cv=3)
    assert search.fit(X, Y).best_params_["kernel__time"] == 1.0


def test_points_are_prepared_once_for_a_fit(monkeypatch):
    """In the search for the time, and no longer; a table that has changed since is prepared again."""
    calls, prepare = [], adapter.Normalized.pairs
    monkeypatch.setattr(adapter.Normalized, "pairs", lambda *points: calls.append(1) or prepare(*points))
    model = GaussianProcessRegressor(ConstantKernel() * HeatKernel(S2) + WhiteKernel()).fit(X, Y)
    assert len(calls) == 1
    kernel = model.kernel_.k1.k2
    assert kernel._kept == ()
    kernel(X, eval_gradient=True)
    assert len(kernel._kept) == 3
    assert pickle.loads(pickle.dumps(kernel))._kept == ()
    moved = X.copy()
    kernel(moved, eval_gradient=True)
    assert len(calls) == 2
    moved[:] = moved[::-1]
    np.testing.assert_array_equal(kernel(moved, eval_gradient=True)[0], HeatKernel(S2, kernel.time)(moved))


@pytest.mark.parametrize(
    "kernel, table, message",
    [
        (
            HeatKernel(S2),
            np.hstack((X, Y[:, None])),
            r"X has 4 columns; a point of Sphere\(2\) is a row of 3 numbers\. Say",
        ),
        (
            HeatKernel(S2, columns=[0, 1]),
            X,
            r"X has 3 columns, of which columns=\[0, 1\] are 2; a point of Sphere\(2\)",
        ),
        (
            HeatKernel(S2, columns=[1, 2, 3]),
            X,
            r"columns = \[1, 2, 3\] of a table that has 3: index 3 is out of bounds",
        ),
        (HeatKernel(S2, columns="x"), X, "columns = 'x' must be positions, not names: scikit-learn removes the names"),
        (HeatKernel(S2, columns=["x", "y", "z"]), X, r"columns = \['x', 'y', 'z'\] must be positions, not names"),
        (HeatKernel(S2, columns=0.5), X, r"columns = 0\.5 of a table that has 3: only integers"),
        (Columns(RBF(), slice(7, 9)), X, r"columns = slice\(7, 9, None\) of a table that has 3: there are none"),
        (Columns(RBF(), 3), X, "columns = 3 of a table that has 3: index 3"),
        (HeatKernel(ComplexProjective(2)), X[:, :2], r"a point of ComplexProjective\(2\) is a row of 6 numbers"),
        (HeatKernel(S2, time=0.0), X, r"time must be positive and finite; got 0\.0"),
        (HeatKernel(S2, time="each"), X, "time = 'each' is one for each factor"),
        (
            HeatKernel(S2, time=(1.0, 2.0)),
            X,
            r"time = \(1\.0, 2\.0\) is one for each factor, but Sphere\(2\) is no product",
        ),
        (HeatKernel(SPD(4), time=2.0), rows(SPD(4), 3), "is beyond the times of"),
        (HeatKernel(S2, time_bounds=(1.0, 0.1)), X, r"time_bounds = \(1\.0, 0\.1\) must be 'fixed', or two positive"),
        (HeatKernel(S2, time_bounds=(0, 1)), X, r"time_bounds = \(0, 1\) must be"),
        (HeatKernel(S2, time_bounds="free"), X, "time_bounds = 'free' must be 'fixed'"),
        (HeatKernel(S2, time_bounds=(1, 2, 3)), X, r"time_bounds = \(1, 2, 3\) must be"),
        (
            HeatKernel(SPD(4), 0.5, (0.1, 10.0)),
            rows(SPD(4), 3),
            r"time_bounds = \(0\.1, 10\.0\) go beyond the times of",
        ),
        (HeatKernel(S2, smoothness=0.0), X, r"smoothness must be a number from 0\.1 on"),
        (HeatKernel(S2, kernel="series"), X, "kernel = 'series' is not known"),
        (HeatKernel(S2, kernel=heat_kernel(Sphere(3))), X, r"is a kernel of Sphere\(3\); the manifold is Sphere\(2\)"),
        (HeatKernel("sphere"), X, "manifold = 'sphere' must be a manifold"),
        (HeatKernel(S2), np.array([["a", "b", "c"]] * 3), "X must be a table of numbers; its dtype is <U1"),
    ],
)
def test_wrong_arguments_are_named(kernel, table, message):
    with pytest.raises(InvalidInput, match=message):
        kernel.theta, kernel.bounds, kernel(table)


def test_points_off_the_manifold_are_named():
    wrong = X.copy()
    wrong[4] *= 1.1
    model = GaussianProcessRegressor(HeatKernel(S2), alpha=0.01)
    with pytest.raises(OffManifold, match=r"X\[4\] is not on Sphere\(2\)"):
        model.fit(wrong, Y)
    model.fit(X, Y)
    with pytest.raises(OffManifold, match=r"X\[4\] is not on Sphere\(2\)"):
        model.predict(wrong)
    with pytest.raises(OffManifold, match=r"X\[4\] is not on Sphere\(2\)"):
        HeatKernel(S2).diag(wrong)
    with pytest.raises(InvalidInput, match="goes without Y"):
        HeatKernel(S2)(X, X, eval_gradient=True)


def test_examples():
    failed, tried = doctest.testmod(adapter)
    assert tried > 5
    assert failed == 0


def test_the_default_has_as_many_times_as_our_model():
    """On a product with R^n one for each factor; a number is one time for all."""
    poses = Product(Euclidean(2), SpecialOrthogonal(3))
    rng = np.random.default_rng(0)
    rows = np.asarray(poses.random(rng, 25)).reshape(25, -1)
    values = np.sin(rows[:, 0]) + rows[:, 2]
    for kernel in (HeatKernel(poses), Columns(HeatKernel(poses), slice(0, 11)), 2 * HeatKernel(poses)):
        np.testing.assert_array_equal(kernel.theta[-2:], 0)
        np.testing.assert_array_equal(kernel(rows), kernel.clone_with_theta(kernel.theta)(rows))
    np.testing.assert_array_equal(HeatKernel(poses)(rows), HeatKernel(poses, time=(1.0, 1.0))(rows))
    assert HeatKernel(poses, time=1.0).theta.shape == HeatKernel(S2).theta.shape == (1,)
    assert HeatKernel(poses, time_bounds="fixed").theta.shape == (0,)
    assert repr(HeatKernel(poses).clone_with_theta(np.zeros(2))).endswith("SpecialOrthogonal(3)), time=(1, 1))")
    theirs = GaussianProcessRegressor(HeatKernel(poses), alpha=1e-4).fit(rows, values)
    ours = GPRegressor(poses, amplitude=1.0, noise=1e-4, mean="zero", priors=None).fit(rows, values)
    found = theirs.log_marginal_likelihood(np.log(ours.time_))
    np.testing.assert_allclose(theirs.log_marginal_likelihood_value_, found, rtol=0, atol=1e-4)


@pytest.mark.parametrize("kernel", ["RBF", None, RBF], ids=repr)
def test_columns_need_a_kernel(kernel):
    with pytest.raises(InvalidInput, match=r"kernel = .* must be a kernel of scikit-learn, such as RBF\(\)"):
        Columns(kernel, 0)
