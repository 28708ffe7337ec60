"""Sums of kernels on some factors of a product, and a time for each coordinate: against scikit-learn and formulas."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel, Matern, WhiteKernel
from sklearn.model_selection import cross_val_score

from heatgp import (
    Domain,
    Euclidean,
    GPClassifier,
    GPRegressor,
    Product,
    Scaled,
    Smooth,
    SpecialEuclidean,
    Sphere,
    Torus,
    heat_kernel,
    load_kernel,
    matern_kernel,
)
from heatgp.errors import BoundWarning, InvalidInput
from heatgp.gp.exact import Exact
from heatgp.gp.kernels import Normalized
from heatgp.gp.multinomial import Multinomial
from heatgp.gp.objective import Objective
from heatgp.gp.parameters import FLAT, Given, Params, Priors
from heatgp.gp.poisson import Poisson
from heatgp.gp.posterior import condition
from heatgp.gp.prior import Prior, targets
from heatgp.gp.probit import Probit
from heatgp.gp.search import Bounds, objective_of
from heatgp.gp.student import StudentT

R1, R2, R3, S2 = Euclidean(1), Euclidean(2), Euclidean(3), Sphere(2)
P = Product(R1, R2)
ADDITIVE = heat_kernel(R1).on(P, 0) + heat_kernel(R2).on(P, 1)


class Columns(Kernel):
    """scikit-learn's RBF of some columns, with its gradient in the log length; a sum of two is additive."""

    def __init__(self, columns=(0,), length=1.0):
        self.columns, self.length = columns, length

    def __call__(self, X, Y=None, eval_gradient=False):
        return RBF(self.length)(X[:, self.columns], None if Y is None else Y[:, self.columns])

    def diag(self, X):
        return np.ones(len(X))

    def is_stationary(self):
        return True


@pytest.fixture
def data(rng):
    X = rng.random((40, 3)) * [1.0, 2.0, 5.0]
    return X, np.sin(4 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.standard_normal(40)


def derivative(function, at, step=1e-5):
    """Central differences in each coordinate."""
    steps = step * np.eye(len(at))
    return np.array([(function(at + e) - function(at - e)) / (2 * step) for e in steps])


def test_times_of_coordinates_are_the_anisotropic_rbf_of_scikit_learn(data):
    X, y = data
    times = np.array([0.3, 1.7, 40.0])
    gp = GPRegressor(R3, time=tuple(times), amplitude=2.0, noise=0.02, mean="zero").fit(X, y)
    theirs = ConstantKernel(2.0, "fixed") * RBF(np.sqrt(times)) + WhiteKernel(0.02, "fixed")
    other = GaussianProcessRegressor(theirs, optimizer=None, alpha=0).fit(X, y)
    value, gradient = other.log_marginal_likelihood(other.kernel_.theta, eval_gradient=True)
    assert gp.log_marginal_likelihood() == pytest.approx(value, rel=1e-11)
    prior = Prior(gp.kernel_.pairs(X), gp.posterior_.factor.__class__)
    given = Given.of(gp.kernel_, None, 2.0, 0.02)
    objective = Objective(prior, targets(X, y, "zero")[0], given, Exact((1e-6, 1e6)))
    found, slopes = objective(np.log(times))
    assert found == pytest.approx(value, rel=1e-11)
    np.testing.assert_allclose(slopes, gradient / 2, rtol=1e-8)  # theirs is in the log lengths, the roots of the times
    new = X[:7] + 0.1
    np.testing.assert_allclose(gp.predict(new, return_std=True)[0], other.predict(new), rtol=1e-9)
    within = other.predict(new, return_std=True)[1] ** 2 - 0.02
    np.testing.assert_allclose(gp.predict(new, return_std=True)[1] ** 2, within, atol=1e-10)


@pytest.mark.parametrize("smoothness", [0.5, 1.5, 2.5])
def test_matern_kernels_have_times_of_coordinates_too(data, smoothness):
    X, _ = data
    times = np.array([0.3, 1.7, 40.0])
    kernel = Normalized(matern_kernel(R3, smoothness).with_times("coordinates"))
    found = kernel.pairs(X).at(tuple(times))
    theirs, slopes = Matern(np.sqrt(times), nu=smoothness)(X, eval_gradient=True)
    np.testing.assert_allclose(found.value, theirs, atol=1e-12)
    np.testing.assert_allclose(np.moveaxis(found.slopes, 0, -1), slopes / 2, atol=1e-9)  # theirs is in log lengths


def test_heat_and_matern_kernels_are_added(data):
    X, y = data
    kernel = heat_kernel(R1).on(P, 0) + matern_kernel(R2, 1.5).on(P, 1)
    gp = GPRegressor(P, kernel=kernel, time=(0.3, 2.0, 0.5), amplitude=3.0, noise=0.02, mean="zero").fit(X, y)
    gram = 2 * RBF(np.sqrt(0.3))(X[:, :1]) + Matern(np.sqrt(2.0), nu=1.5)(X[:, 1:])
    law = multivariate_normal(np.zeros(len(X)), gram + 0.02 * np.eye(len(X)))
    assert gp.log_marginal_likelihood() == pytest.approx(law.logpdf(y), rel=1e-9)
    assert repr(kernel).endswith(
        "+ matern_kernel(heat_kernel(Euclidean(2), method='exact'), smoothness=1.5).on(" + f"{P!r}, 1)"
    )


def test_matern_kernels_of_products_have_a_time_for_each_factor(rng):
    M = Product(S2, R2)
    X = M.random(rng, 5)
    kernel = matern_kernel(M, 1.5)
    for which, number in ((None, 2), ("shared", 1), ("coordinates", 3)):
        assert kernel.with_times(which).parameters == len(kernel.with_times(which).time_parts(X)) == number
    each = kernel.with_times("each")
    np.testing.assert_allclose(each(X, time=(0.4, 0.4)), kernel(X, time=0.4), rtol=1e-9)
    numbers = np.array([0.4, 0.9, 0.5])
    own = kernel.with_times("coordinates")
    changes = derivative(lambda t: own(X, time=t), numbers, 1e-4)
    np.testing.assert_allclose(own.derivative(X, time=numbers), changes, rtol=1e-4, atol=1e-5)


def test_learned_times_of_coordinates_are_as_good_as_those_of_scikit_learn(rng):
    X = rng.random((100, 4)) * [1.0, 20.0, 0.1, 1.0]
    y = np.sin(5 * X[:, 0]) + X[:, 2] * X[:, 1] + 0.1 * rng.standard_normal(100)
    gp = GPRegressor("euclidean", time="coordinates", priors=None, mean=float(y.mean())).fit(
        X, y
    )  # no warning: none is on a bound
    start = ConstantKernel(1.0, (1e-6, 1e6)) * RBF(X.std(axis=0), (1e-3, 1e4)) + WhiteKernel(0.1, (1e-9, 1e3))
    with pytest.warns(Warning, match="close to the specified upper bound"):  # the last column
        other = GaussianProcessRegressor(start, alpha=0, n_restarts_optimizer=2, random_state=0).fit(X, y - y.mean())
    assert gp.log_marginal_likelihood() > other.log_marginal_likelihood_value_ - 0.01
    assert gp.time_[3] > 100 * np.ptp(X[:, 3]) ** 2  # it has no effect
    assert gp.log_marginal_likelihood() > GPRegressor("euclidean").fit(X, y).log_marginal_likelihood() + 20


def test_one_time_for_all_coordinates_is_the_kernel_itself(rng):
    X, Y = rng.standard_normal((5, 3)), rng.standard_normal((4, 3))
    stretched = heat_kernel(R3).with_times("coordinates")
    np.testing.assert_allclose(stretched(X, Y, time=(0.7,) * 3), heat_kernel(R3)(X, Y, time=0.7), rtol=1e-13)
    np.testing.assert_allclose(stretched.diag(X, (0.7,) * 3), heat_kernel(R3).diag(X, 0.7), rtol=1e-13)
    np.testing.assert_allclose(
        stretched.derivative(X, time=(0.7,) * 3).sum(axis=0), heat_kernel(R3).derivative(X, time=0.7), rtol=1e-11
    )


def test_times_of_coordinates_are_the_product_of_kernels_of_lines(rng):
    X, Y, times = rng.standard_normal((5, 3)), rng.standard_normal((4, 3)), (0.2, 1.0, 30.0)
    stretched = heat_kernel(R3).with_times("coordinates")
    lines = heat_kernel(Product(R1, R1, R1)).with_times("each")
    for one, other in ((stretched, lines), (stretched.derivative, lines.derivative)):
        np.testing.assert_allclose(one(X, Y, time=times), other(X, Y, time=times), rtol=1e-11, atol=1e-16)
        np.testing.assert_allclose(one(X, time=times), other(X, time=times), rtol=1e-11, atol=1e-16)
    np.testing.assert_allclose(stretched(X, time=times, log=True), np.log(lines(X, time=times)), rtol=1e-11)
    rows = stretched.paired(X[:4], Y).at(times)
    np.testing.assert_allclose(rows.value, np.diag(stretched(X[:4], Y, time=times)), rtol=1e-12)
    np.testing.assert_allclose(
        rows.slopes, [np.diag(s) * t for s, t in zip(stretched.derivative(X[:4], Y, time=times), times)], rtol=1e-11
    )


def test_coordinates_inside_a_product(rng):
    M = Product(S2, R2)
    X = M.random(rng, 60)
    y = X[:, 0] + np.sin(2 * X[:, 3]) + 0.05 * rng.standard_normal(60)
    gp = GPRegressor(M, time="coordinates").fit(X, y)
    assert len(gp.time_) == 3
    assert gp.time_[2] > 30 * gp.time_[1]
    again = GPRegressor(M, time=gp.time_, amplitude=gp.amplitude_, noise=gp.noise_).fit(X, y)
    np.testing.assert_allclose(again.predict(X), gp.predict(X), atol=1e-9)
    assert len(GPRegressor(M, time=(0.5, 1.0), amplitude=1.0, noise=0.1).fit(X, y).time_) == 2


def test_factors_with_units_have_times_of_their_own(rng):
    """The evidence does not change with the unit of a factor that has its own time."""
    M = Product(S2, R1)
    X = M.random(rng, 40)
    y = X[:, 2] + np.cos(X[:, 3]) + 0.1 * rng.standard_normal(40)
    metres, millimetres = (GPRegressor(M).fit(X * [1, 1, 1, unit], y) for unit in (1, 1000))
    assert millimetres.log_marginal_likelihood() == pytest.approx(metres.log_marginal_likelihood(), abs=1e-3)
    assert millimetres.time_[1] == pytest.approx(1e6 * metres.time_[1], rel=0.01)
    for one in ("shared", 0.3):
        assert isinstance(GPRegressor(M, time=one, amplitude=1.0, noise=0.1).fit(X, y).time_, float)


@pytest.mark.parametrize(
    ("manifold", "number"),
    [
        (Product(S2, Torus(1)), 2),
        (Product(S2, R1), 2),
        (P, 2),
        (Product(R2), 1),
        (Product(S2, Scaled(R1, 2.0), S2), 3),
        (Product(S2, Product(Torus(1), R1)), 3),
        (SpecialEuclidean(2), 2),
        (Product(SpecialEuclidean(2), R1), 3),
        (S2, 1),
        (R3, 1),
    ],
    ids=repr,
)
def test_how_many_times_are_usual(manifold, number):
    assert heat_kernel(manifold).with_times(None).parameters == number
    assert heat_kernel(manifold).with_times(None).with_times("shared").parameters == 1


def test_a_product_learns_a_time_for_each_factor():
    """By default, with and without R^n; the evidence is that of time="each", and more than that of one time."""
    rng = np.random.default_rng(0)
    M = Product(S2, Torus(1))
    X = M.random(rng, 60)
    y = X[:, 0] + np.sin(5 * X[:, 3]) + 0.1 * rng.standard_normal(60)
    default, each, shared = (GPRegressor(M, time=time).fit(X, y) for time in (None, "each", "shared"))
    assert len(default.time_) == 2
    assert default.log_marginal_likelihood() == pytest.approx(each.log_marginal_likelihood(), abs=1e-6)
    assert default.log_marginal_likelihood() > shared.log_marginal_likelihood() + 1
    P2, line = Product(S2, Torus(1), R1), rng.standard_normal((60, 1))
    assert len(GPRegressor(P2).fit(np.hstack([X, line]), y).time_) == 3
    assert isinstance(GPRegressor(M, time=0.3, amplitude=1.0, noise=0.1).fit(X, y).time_, float)


def test_a_domain_of_the_plane_has_units():
    square = Domain(R2, [(0, 0), (1, 0), (1, 1), (0, 1)])
    M = Product(Torus(1), square)
    assert heat_kernel(M, "reference", references=20, paths=160, times=1.0).with_times(None).parameters == 2


def test_sums_are_the_additive_kernel_of_scikit_learn(data):
    X, y = data
    gp = GPRegressor(P, kernel=ADDITIVE, time=(0.3, 2.0, 0.5), amplitude=3.0, noise=0.02, mean="zero").fit(X, y)
    theirs = Columns([0], np.sqrt(0.3)) * ConstantKernel(2.0) + Columns([1, 2], np.sqrt(2.0)) * ConstantKernel(1.0)
    other = GaussianProcessRegressor(theirs, optimizer=None, alpha=0.02).fit(X, y)
    assert gp.log_marginal_likelihood() == pytest.approx(other.log_marginal_likelihood_value_, rel=1e-11)
    mean, std = gp.predict(X[:5] + 0.2, return_std=True)
    np.testing.assert_allclose(np.stack((mean, std)), other.predict(X[:5] + 0.2, return_std=True), rtol=1e-8)
    np.testing.assert_allclose(gp.weights_, (2 / 3, 1 / 3))
    assert gp.time_ == (0.3, 2.0)


@pytest.mark.parametrize("normalize", [True, False])
def test_the_gradient_in_times_and_weights_is_that_of_differences(data, normalize):
    X, y = data
    kernel = ADDITIVE + heat_kernel(P).with_times("coordinates")
    kernel = Normalized(kernel) if normalize else kernel
    assert kernel.names == (*(f"time[{k}]" for k in range(5)), "weight[1]", "weight[2]")
    z = np.log([0.3, 2.0, 0.1, 0.5, 4.0, 0.5, 2.0])

    def evidence(z):
        return condition(kernel, X, y, Params(tuple(np.exp(z)), 1.3, 0.05)).log_marginal_likelihood

    prior, given = Prior.of(kernel, X, tuple(np.exp(z))), Given.of(kernel, None, 1.3, 0.05)
    full = Objective(prior, targets(X, y, "constant")[0], given, Exact((1, 2)))
    value, gradient = full(z)
    assert value == pytest.approx(evidence(z), rel=1e-9)
    np.testing.assert_allclose(gradient, derivative(evidence, z), rtol=1e-5, atol=1e-6)


def test_derivatives_and_diagonals_of_sums(rng):
    M = Product(S2, Torus(1))
    X = M.random(rng, 6)
    kernel = heat_kernel(S2).on(M, 0) + heat_kernel(M) + heat_kernel(Torus(1)).on(M, 1)
    numbers = np.array([0.3, 0.8, 0.5, 0.7, 2.0])
    np.testing.assert_allclose(
        kernel.derivative(X, X[:3], time=numbers),
        derivative(lambda t: kernel(X, X[:3], time=t), numbers),
        rtol=1e-7,
        atol=1e-9,
    )
    np.testing.assert_allclose(kernel.diag(X, numbers), 1 + 0.7 + 2.0)
    np.testing.assert_allclose(np.diag(kernel(X, time=numbers)), 1 + 0.7 + 2.0)
    np.testing.assert_allclose(
        kernel.paired(X, X[::-1]).at(tuple(numbers)).value, np.diag(kernel(X, X[::-1], time=numbers))
    )
    assert np.linalg.eigvalsh(kernel(M.random(rng, 60), time=numbers)).min() > -1e-12


def test_additive_effects_are_found(rng):
    """Two effects that add: one of each factor; the sum explains them better than the product, and says how much."""
    M = Product(S2, R1)
    X = M.random(rng, 60)
    y = 2 * X[:, 2] + np.sin(3 * X[:, 3]) + 0.1 * rng.standard_normal(60)
    kernel = heat_kernel(S2).on(M, 0) + heat_kernel(R1).on(M, 1)
    gp = GPRegressor(M, kernel=kernel).fit(X, y)
    assert gp.log_marginal_likelihood() > GPRegressor(M).fit(X, y).log_marginal_likelihood() + 10
    assert len(gp.time_) == 2
    assert sum(gp.weights_) == pytest.approx(1)
    assert min(gp.weights_) > 0.02
    given = GPRegressor(M, kernel=kernel, time=gp.time_).fit(X, y)  # the weights are learned again
    np.testing.assert_allclose(given.weights_, gp.weights_, rtol=0.05)


@pytest.mark.parametrize("first", [0, 1])
def test_a_summand_without_effect_has_no_weight_and_no_warning(rng, first):
    M = Product(R1, R1)
    X = rng.random((60, 2))
    y = np.sin(6 * X[:, 0]) + 0.1 * rng.standard_normal(60)
    kernel = heat_kernel(R1).on(M, first) + heat_kernel(R1).on(M, 1 - first)
    gp = GPRegressor(M, kernel=kernel).fit(X, y)
    assert gp.weights_[1 - first] < 0.05, "the factor without effect"


def test_time_bounds_of_the_user_are_of_the_times(data):
    X, y = data
    gp = GPRegressor(P, kernel=ADDITIVE, priors=replace(FLAT, time_bounds=(0.2, 0.3)))
    with pytest.warns(BoundWarning, match=r"time\[1\] sits on the upper bound 0\.3 of its search"):
        gp.fit(X, y)
    assert all(0.2 <= t <= 0.3 + 1e-9 for t in gp.time_)
    gp = GPRegressor(P, kernel=ADDITIVE, priors=Priors(time_bounds=((0.1, 1.0), (0.5, 5000.0)))).fit(X, y)
    assert 0.1 <= gp.time_[0] <= 1.0 < gp.time_[1] <= 5000.0
    assert Bounds(((0.1, 1.0),) * 2).times(2).shape == (2, 2)


def test_classification_with_a_sum(data):
    X, y = data
    labels = np.where(y > np.median(y), "up", "down")
    gp = GPClassifier(P, kernel=ADDITIVE, time=(0.3, 2.0, 0.5), amplitude=3.0).fit(X, labels)
    gram = (Columns([0], np.sqrt(0.3))(X) * 2 + Columns([1, 2], np.sqrt(2.0))(X)) / 3
    other = GPClassifier(kernel="precomputed", amplitude=3.0).fit(gram, labels)
    assert gp.log_marginal_likelihood() == pytest.approx(other.log_marginal_likelihood(), rel=1e-9)
    np.testing.assert_allclose(gp.predict_proba(X), other.predict_proba(gram), atol=1e-9)
    learned = GPClassifier(P, kernel=ADDITIVE, amplitude=3.0).fit(X, labels)
    assert learned.log_marginal_likelihood() > gp.log_marginal_likelihood()
    assert len(learned.time_) == len(learned.weights_) == 2
    three = GPClassifier(P, kernel=ADDITIVE, time=(0.3, 2.0, 0.5), amplitude=3.0)
    np.testing.assert_allclose(three.fit(X, np.digitize(y, [0.5, 1.2])).weights_, (2 / 3, 1 / 3))


def test_sums_are_saved_pickled_and_cloned(rng, tmp_path):
    M = Product(S2, R2, Torus(1))
    X = M.random(rng, 5)
    sphere = Smooth(paths=500, cache=False).kernel(S2)
    kernel = sphere.on(M, 0) + heat_kernel(Product(R2, Torus(1))).on(M, 1, 2).with_times("coordinates") + heat_kernel(M)
    numbers = (0.4, 0.2, 1.0, 0.3, 0.5, 0.5, 2.0)
    kernel.save(tmp_path / "sum.npz")
    for other in (load_kernel(tmp_path / "sum.npz"), pickle.loads(pickle.dumps(kernel))):
        np.testing.assert_array_equal(other(X, time=numbers), kernel(X, time=numbers))
        assert repr(other) == repr(kernel)
    model = clone(GPRegressor(M, kernel=kernel, time=numbers, amplitude=1.0, noise=0.1))
    assert np.isfinite(cross_val_score(model, M.random(rng, 30), rng.standard_normal(30), cv=2)).all()


def test_sums_with_a_domain_are_saved(rng, tmp_path):
    square = Domain(R2, [(0, 0), (1, 0), (1, 1), (0, 1)])
    M = Product(Torus(1), square)
    kernel = heat_kernel(Torus(1)).on(M, 0) + heat_kernel(square, references=20, paths=160, times=1.0).on(M, 1)
    kernel.save(tmp_path / "sum.npz")
    X = M.random(rng, 4)
    again = load_kernel(tmp_path / "sum.npz", M)
    np.testing.assert_array_equal(again(X, time=(0.5, 0.7, 2.0)), kernel(X, time=(0.5, 0.7, 2.0)))


def test_they_read_like_the_expression():
    M = Product(S2, R1)
    kernel = sum([heat_kernel(S2).on(M, 0), heat_kernel(R1).on(M, 1)])
    assert repr(kernel) == (
        "heat_kernel(Sphere(2), method='exact').on(Product(Sphere(2), Euclidean(1)), 0)"
        " + heat_kernel(Euclidean(1), method='exact').on(Product(Sphere(2), Euclidean(1)), 1)"
    )
    assert kernel.method == "exact + exact"
    assert (kernel + heat_kernel(M)).summands == (*kernel.summands, heat_kernel(M))
    assert kernel + heat_kernel(M) == kernel.summands[0] + (kernel.summands[1] + heat_kernel(M))
    outer = Product(M, S2)
    assert kernel.on(outer, 0).parameters == 3  # a sum on a factor is the sum on it


def test_the_error_of_a_simulated_summand(rng):
    M = Product(S2, Torus(1))
    X = M.random(rng, 40)
    noisy = Smooth(paths=400, cache=False).kernel(S2)
    kernel = noisy.on(M, 0) + heat_kernel(Torus(1)).on(M, 1)
    numbers = (0.3, 0.5, 2.0)
    alone = Normalized(noisy).pairs(X[:, :3]).at(0.3)
    np.testing.assert_allclose(kernel.standard_error(X, time=numbers), alone.error, rtol=1e-12)
    (source,) = kernel.replicates(4)
    spread = np.std([part(X, time=numbers) for part in source.kernels], axis=0, ddof=1)
    own = np.std(
        [Normalized(part).pairs(X[:, :3]).at(0.3).value for part in noisy.replicates(4)[0].kernels], axis=0, ddof=1
    )
    np.testing.assert_allclose(spread, own, atol=1e-12)
    gp = GPRegressor(M, kernel=kernel, time=numbers, amplitude=1.0, noise=0.01).fit(X, X[:, 0])
    assert 0 < gp.kernel_error(X[:5]).share < 10
    assert np.linalg.eigvalsh(kernel.as_positive_definite()(X, time=numbers)).min() > -1e-10


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: heat_kernel(S2) + heat_kernel(R1), r"kernels of one manifold can be added\. Make both kernels of"),
        (lambda: heat_kernel(S2).on(S2, 0), r"`on` needs a Product and the numbers of its factors; got Sphere\(2\)"),
        (lambda: heat_kernel(S2).on(P, 0), r"is a kernel of Sphere\(2\); factors 0 of .* are Euclidean\(1\)"),
        (lambda: heat_kernel(R1).on(P, 2), r"factors = \(2,\) must be different numbers from 0 to 1, increasing"),
        (lambda: heat_kernel(R1).on(P), r"factors = \(\) must be different numbers from 0 to 1"),
        (lambda: heat_kernel(R1).on(P, True), "must be different numbers"),
        (lambda: heat_kernel(P).on(P, 1, 0), "increasing"),
        (lambda: ADDITIVE(np.zeros((1, 3)), time=(1.0, 1.0)), r"takes 2 time\(s\), then 1 weight\(s\); got"),
        (lambda: ADDITIVE(np.zeros((1, 3)), time=(1.0, 1.0, -1.0)), "must be positive and finite"),
        (
            lambda: GPRegressor(Product(P, S2), kernel=[ADDITIVE, "auto"]).fit(np.eye(6)[[5, 5]], [0, 1]),
            "is a sum, and a factor of a product cannot be one. Multiply out",
        ),
        (lambda: GPRegressor(S2, time="coordinates").fit([[0, 0, 1.0]] * 2, [0, 1]), "is no product. Give one time"),
        (lambda: GPRegressor(R2, time="each").fit(np.eye(2), [0, 1]), "is no product. Give one time"),
        (lambda: GPRegressor(R2, time=(1, 2, 3)).fit(np.eye(2), [0, 1]), "has 3 values; the kernel has"),
        (
            lambda: GPRegressor(P, kernel=ADDITIVE, time=(1, 2, 3, 4, 5)).fit(np.eye(3), [0, 1, 2]),
            "has 5 values; the kernel has 2",
        ),
        (
            lambda: GPRegressor(P, kernel=ADDITIVE, priors=Priors(time_bounds=((1, 2),) * 3)).fit(np.eye(3), [0, 1, 2]),
            "neither one interval nor one for each of 2 times",
        ),
    ],
)
def test_errors_say_what_to_do(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()


def test_only_kernels_are_added():
    for wrong in (1, "kernel", None):
        with pytest.raises(TypeError):
            heat_kernel(S2) + wrong
    with pytest.raises(TypeError):
        2 + heat_kernel(S2)


@pytest.mark.parametrize("likelihood", [None, Probit(None), Multinomial(3, None), StudentT(), Poisson()], ids=str)
def test_weights_are_flat_with_every_likelihood(data, likelihood):
    """So that a summand can vanish. The bounds of a time are at two standard deviations, for classes at one."""
    X, y = data
    bounds, given = Bounds(((0.1, 2.0), (0.2, 9.0), (1e-4, 1e4))), Given.of(ADDITIVE, None, None, None)
    objective = objective_of(ADDITIVE, X, y, bounds, given, likelihood=likelihood, priors="weak")
    edge = 1.0 if isinstance(likelihood, (Probit, Multinomial)) else 2.0
    for name, interval in zip(("time[0]", "time[1]"), bounds.time):
        np.testing.assert_allclose(objective.priors[name].quantile(norm.cdf([-edge, edge])), interval, rtol=1e-9)
    assert "amplitude" in objective.priors
    assert "weight[1]" not in objective.priors
