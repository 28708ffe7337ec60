"""Classes with times of their own: against one time for all, differences, simulation and slice sampling."""

import pickle
from functools import partial

import numpy as np
import pytest
from scipy.stats import chi2, norm

from gp_kernels import RBF
from heatgp import Euclidean, GPClassifier, Product, Sphere
from heatgp.covariance import DerivedKernel, Evaluation, TimeFunction
from heatgp.errors import InvalidInput
from heatgp.gp import own_times
from heatgp.gp.classification import condition_joint
from heatgp.gp.ep import expectation_propagation
from heatgp.gp.latent_objective import LatentObjective
from heatgp.gp.multinomial import Multinomial
from heatgp.gp.own_times import OwnTimes
from heatgp.gp.params import Given, Params
from heatgp.gp.prior import Prior
from heatgp.gp.priors import LogNormal, Priors

S2 = Sphere(2)
FIXED = {"amplitude": 5.0, "label_noise": 0.01}


def with_lengths(number, times, seed=0, amplitude=16.0):
    """Points of the sphere, and labels of functions with these times."""
    rng = np.random.default_rng(seed)
    X = S2.random(rng, number)
    unit = [GPClassifier(S2, time=t, amplitude=1.0, label_noise=0.0).fit(X[:2], [0, 1]).kernel_ for t in times]
    K = [kernel.pairs(X).at(t).value + 1e-9 * np.eye(number) for kernel, t in zip(unit, times)]
    f = np.sqrt(amplitude) * np.stack([np.linalg.cholesky(k) @ rng.normal(size=number) for k in K], axis=1)
    return X, (f + rng.normal(size=f.shape)).argmax(axis=1)


class Powers(DerivedKernel):
    """A kernel whose variance depends on the time and on the point."""

    def pairs(self, X, Y=None):
        inner, left, right = self.kernel.pairs(X, Y), 1 + X[:, :1] ** 2, 1 + (X if Y is None else Y)[:, :1] ** 2

        def at(time):
            found, factor = inner.at(time), np.sqrt(time) * left * right.T
            return Evaluation(lambda: factor * found.value, lambda: factor * (found.slopes + found.value / 2))

        return TimeFunction(at)


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("kernel", [RBF(), Powers(RBF())])
def test_gradients_are_differences(kernel, constant):
    rng, h = np.random.default_rng(0), 1e-4
    X, y = rng.normal(size=(30, 2)), rng.integers(3, size=30)
    own = OwnTimes(kernel, 3)
    for amplitude in None, 2.0:
        objective = LatentObjective(
            Prior.of(own, X, (1.0, 1.0, 1.0), dense=True),
            y,
            Given.of(own, None, amplitude, 0.0),
            Multinomial(3, None),
            partial(expectation_propagation, tolerance=1e-10),
            constant,
        )
        z = np.log([0.4, 0.1, 2.0, *([5.0] if amplitude is None else []), 0.05])
        differences = [(objective.value(z + e) - objective.value(z - e)) / (2 * h) for e in h * np.eye(len(z))]
        np.testing.assert_allclose(objective(z)[1], differences, rtol=1e-5, atol=1e-5)


def test_equal_times_are_one_time():
    X, y = with_lengths(60, (0.1, 0.1, 0.1))
    one = GPClassifier(S2, time=0.1, **FIXED).fit(X, y)
    own = GPClassifier(S2, time=(0.1, 0.1, 0.1), class_times="own", **FIXED).fit(X, y)
    assert own.time_ == (0.1, 0.1, 0.1)
    value, slopes = own.log_marginal_likelihood(gradient=True)
    of_one, of_shared = one.log_marginal_likelihood(gradient=True)
    np.testing.assert_allclose(value, of_one, atol=1e-9)
    np.testing.assert_allclose([slopes[:3].sum(), *slopes[3:]], of_shared, rtol=1e-6)
    np.testing.assert_allclose(own.predict_proba(X), one.predict_proba(X), atol=1e-9)
    np.testing.assert_allclose(own.loo(), one.loo(), atol=1e-9)
    other = own.log_marginal_likelihood(time=(0.3, 0.3, 0.3))
    np.testing.assert_allclose(other, one.log_marginal_likelihood(time=0.3), atol=1e-6)
    np.testing.assert_allclose(own.log_marginal_likelihood(time=0.3), other)


def test_gradient_of_the_estimator_is_a_difference():
    X, y = with_lengths(40, (0.02, 0.3, 0.3))
    times, h = np.array([0.03, 0.2, 0.5]), 1e-3
    for normalize in True, False:
        gp = GPClassifier(S2, time=tuple(times), class_times="own", normalize=normalize, **FIXED).fit(X, y)
        _, slopes = gp.log_marginal_likelihood(gradient=True)
        for c, move in enumerate(np.exp(h * np.eye(3))):
            up, down = (gp.log_marginal_likelihood(time=tuple(times * side)) for side in (move, 1 / move))
            np.testing.assert_allclose(slopes[c], (up - down) / (2 * h), rtol=1e-3, atol=1e-5)


def test_four_points_by_simulation():
    rng = np.random.default_rng(0)
    X, new, y = np.array([[0.0], [0.5], [1.5], [2.0]]), np.array([[0.2], [1.2]]), np.array([0, 1, 2, 1])
    kernel, times = OwnTimes(RBF(), 3), (0.1, 1.0, 5.0)
    K = 3.0 * kernel.pairs(np.concatenate([X, new])).at(times).value + 1e-9 * np.eye(6)
    posterior = condition_joint(kernel, X, y, Params(times, 3.0), Multinomial(3))
    f = np.einsum("cij,scj->sci", np.linalg.cholesky(K), rng.normal(size=(20_000, 3, 6)))
    node, weight = np.polynomial.hermite_e.hermegauss(12)  # the noise of the class that is seen

    def likelihood(c, i):
        factors = [norm.cdf(f[:, c, i, None] + node - f[:, j, i, None]) for j in range(3) if j != c]
        return np.prod(factors, axis=0) @ weight / weight.sum()

    seen = np.prod([likelihood(c, i) for i, c in enumerate(y)], axis=0)
    error = seen.std() / seen.mean() / np.sqrt(len(seen))
    # what is left beside five standard errors is that of the method, as for one time
    assert abs(posterior.log_marginal_likelihood - np.log(seen.mean())) < 0.01 + 5 * error
    expected = np.array([[np.average(likelihood(c, 4 + i), weights=seen) for c in range(3)] for i in range(2)])
    effective = seen.sum() ** 2 / np.square(seen).sum()
    np.testing.assert_allclose(posterior.probabilities(new), expected, atol=0.01 + 5 * 0.5 / np.sqrt(effective))
    shared = condition_joint(RBF(), X, y, Params(1.0, 3.0), Multinomial(3))
    assert np.abs(shared.probabilities(new) - expected).max() > 0.02  # the test can see a difference


def test_leave_one_out_is_near_the_refitted_one():
    rng = np.random.default_rng(0)
    X, y, kernel = rng.normal(size=(40, 1)), rng.integers(3, size=40), OwnTimes(RBF(), 3)
    params, likelihood = Params((0.05, 0.5, 3.0), 2.0), Multinomial(3, 0.02)
    approximate = condition_joint(kernel, X, y, params, likelihood, True).loo()
    for i in (0, 5, 11, 30):
        others = np.arange(40) != i
        refitted = condition_joint(kernel, X[others], y[others], params, likelihood, True)
        np.testing.assert_allclose(approximate[i], refitted.probabilities(X[i : i + 1])[0], atol=0.015)


def test_a_fit():
    X, y = with_lengths(50, (0.02, 0.4, 0.4))
    y = np.array(["a", "b", "c"])[y]
    shared, gp = (GPClassifier(S2, class_times=which).fit(X, y) for which in ("shared", "own"))
    assert isinstance(gp.time_, tuple)
    assert len(gp.time_) == 3
    assert isinstance(gp.amplitude_, float)
    assert isinstance(gp.label_noise_, float)
    fit = gp.fits_[0]
    at_shared = gp.log_marginal_likelihood(shared.time_, shared.amplitude_, shared.label_noise_)
    np.testing.assert_allclose(at_shared, shared.log_marginal_likelihood(), atol=1e-3)
    assert shared.fits_[0].evaluations < fit.evaluations < 4 * shared.fits_[0].evaluations
    np.testing.assert_allclose(fit.log_marginal_likelihood, gp.log_marginal_likelihood(), atol=1e-3)
    # a maximum: the gradient of the density of labels and priors is zero in all coordinates, on a scale of N
    objective, box = gp._objective(gp.posteriors_[0])
    best = np.log([*gp.time_, gp.amplitude_, gp.label_noise_])
    assert np.all((best > box[:, 0]) & (best < box[:, 1]))
    assert np.abs(objective(best)[1]).max() < 0.1
    names = [p.name for p in gp.summary().parameters]
    assert names == ["time[0]", "time[1]", "time[2]", "amplitude", "label_noise"]
    assert all(p.is_learned and p.low < p.value < p.high for p in gp.summary().parameters)
    again = pickle.loads(pickle.dumps(gp))
    np.testing.assert_array_equal(again.predict_proba(X[:5]), gp.predict_proba(X[:5]))
    np.testing.assert_array_equal(gp.kernel_error(X[:3]).error, 0)
    np.testing.assert_array_equal(gp.predict(X[:9]), gp.classes_[gp.decision_function(X[:9]).argmax(axis=1)])
    same = GPClassifier(S2, class_times="own", time=gp.time_, amplitude=gp.amplitude_, label_noise=gp.label_noise_)
    one, other = (model.posteriors_[0].probabilities(X[:5]) for model in (gp, same.fit(X, y)))
    np.testing.assert_allclose(one, other, atol=1e-3)


def test_two_classes_and_one_against_the_rest_are_as_ever():
    X, y = with_lengths(40, (0.1, 0.1, 0.1))
    for labels, multiclass in (y == 0, "auto"), (y, "one-vs-rest"):
        options = {"multiclass": multiclass, "time": 0.1, **FIXED}
        one, own = (GPClassifier(S2, class_times=which, **options).fit(X, labels) for which in ("shared", "own"))
        np.testing.assert_array_equal(own.predict_proba(X), one.predict_proba(X))


def test_times_may_be_an_array():
    X, y = with_lengths(30, (0.1, 0.1, 0.1))
    options = {"class_times": "own", **FIXED}
    array, numbers = (GPClassifier(S2, time=of((0.1, 0.2, 0.3)), **options).fit(X, y) for of in (np.array, tuple))
    assert array.time_ == numbers.time_
    np.testing.assert_array_equal(array.predict_proba(X), numbers.predict_proba(X))


def test_two_classes_and_laplace_have_nothing_to_share():
    """One function has one time, and the models of one class against the rest have their own."""
    X, y = with_lengths(40, (0.1, 0.1, 0.1))
    for labels, inference in (y == 0, "ep"), (y, "laplace"):
        options = {"inference": inference, "amplitude": 4.0, "label_noise": 0.0}
        one, own = (GPClassifier(S2, class_times=which, **options).fit(X, labels) for which in ("shared", "own"))
        assert own.time_ == one.time_


@pytest.mark.parametrize("number", [1, 2, 4])
def test_priors_of_times_are_checked_before_the_search(number, monkeypatch):
    def search(*arguments, **options):
        raise AssertionError("this comes after all checks")

    monkeypatch.setattr(own_times, "fit_latent", search)
    X, y = with_lengths(20, (0.1, 0.1, 0.1))
    priors = Priors(time=(LogNormal(0.1, 1.0),) * number)
    with pytest.raises(InvalidInput, match=f"priors.time has {number} laws; the kernel has 3 times"):
        GPClassifier(S2, class_times="own", priors=priors).fit(X, y)


def test_some_parameters_are_given():
    X, y = with_lengths(50, (0.02, 0.4, 0.4))
    gp = GPClassifier(S2, time=(0.02, 0.4, 0.4), class_times="own").fit(X, y)
    assert gp.time_ == (0.02, 0.4, 0.4)
    assert len(gp.log_marginal_likelihood(gradient=True)[1]) == 5
    laws = tuple(LogNormal(t, 0.1) for t in (0.02, 0.4, 0.4))
    near = GPClassifier(S2, class_times="own", priors=Priors(time=laws), **FIXED).fit(X, y)
    assert np.all(np.abs(np.log(np.array(near.time_) / [0.02, 0.4, 0.4])) < 0.3)


def test_errors_say_what_to_do():
    X, y = with_lengths(20, (0.1, 0.1, 0.1))
    with pytest.raises(InvalidInput, match=r"class_times = 'each' is not known\. Use \"shared\" or \"own\"\."):
        GPClassifier(S2, class_times="each").fit(X, y)
    with pytest.raises(InvalidInput, match=r"needs a kernel of one time; got kernel = \"precomputed\""):
        GPClassifier(kernel="precomputed", class_times="own").fit(X @ X.T, y)
    with pytest.raises(InvalidInput, match=r"needs a kernel of one time; got time = \"each\""):
        GPClassifier(Product(S2, S2), time="each", class_times="own").fit(np.stack([X, X], axis=1), y)
    flat = Product(Euclidean(1), Euclidean(2))
    with pytest.raises(InvalidInput, match=r"this one takes 2 numbers.*time = \"shared\""):
        GPClassifier(flat, class_times="own").fit(X, y)
    with pytest.raises(InvalidInput, match=r"give the times of all classes, or none"):
        GPClassifier(S2, time=(0.1, None, 0.2), class_times="own").fit(X, y)
    with pytest.raises(InvalidInput, match=r"has 2 values; the kernel has 3"):
        GPClassifier(S2, time=(0.1, 0.2), class_times="own").fit(X, y)
    with pytest.raises(InvalidInput, match=r"integrate='grid' with 5 learned parameters.*or classes"):
        GPClassifier(S2, class_times="own", integrate="grid").fit(X, y)


@pytest.mark.slow
def test_three_times_on_a_grid():
    X, y = with_lengths(40, (0.02, 0.4, 0.4))
    gp = GPClassifier(S2, class_times="own", integrate="grid", **FIXED).fit(X, y)
    (mixture,) = gp.mixtures_
    times, weights = np.array([p.params.time for p in mixture.posteriors]), mixture.weights
    assert times.shape == (len(weights), 3)
    # the grid against a lattice over the whole box, in steps of a third of the standard deviations of the priors
    objective, box = gp._objective(gp.posteriors_[0])
    axes = [np.linspace(low, high, 13) for low, high in box]
    lattice = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    heights = np.array([objective.value(z) for z in lattice])
    whole = np.exp(heights - heights.max())
    expected = np.average(lattice, weights=whole, axis=0)
    spread = np.sqrt(np.average((lattice - expected) ** 2, weights=whole, axis=0))
    np.testing.assert_allclose(weights @ np.log(times), expected, atol=0.2 * spread.max())
    np.testing.assert_allclose(gp.predict_proba(X[:4]).sum(axis=1), 1)


@pytest.mark.slow
def test_the_evidence_of_own_times_is_higher_where_lengths_differ():
    # where all times are equal, twice the gain has about the law chi² with two degrees of freedom, and four add up
    limit = chi2.isf(1e-4, 8) / 2
    gains = np.zeros(2)
    for seed in range(4):
        for number, times in enumerate([(0.01, 0.5, 0.5), (0.1, 0.1, 0.1)]):
            X, y = with_lengths(250, times, seed)
            shared, own = (GPClassifier(S2, class_times=which, priors=None).fit(X, y) for which in ("shared", "own"))
            gain = own.log_marginal_likelihood() - shared.log_marginal_likelihood()
            assert gain > -1e-3
            gains[number] += gain
    assert gains[0] > limit > gains[1]
