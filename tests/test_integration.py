"""Parameters that are integrated over, against dense numerical integration with formulas of its own."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import norm

import heatgp as hg
from heatgp.errors import InvalidInput, NotPositiveDefinite
from heatgp.gp.integration import axes, curvature, grid
from heatgp.gp.parameters import LogNormal, Priors

WIDE = np.tile([-30.0, 30.0], (4, 1))


def moments(found):
    mean = found.weights @ found.points
    off = found.points - mean
    return mean, off.T @ (found.weights[:, None] * off)


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_normal_distributions(d, rng):
    root = rng.normal(size=(d, d)) / 2
    centre, covariance = rng.normal(size=d), root @ root.T + 0.05 * np.eye(d)
    precision = np.linalg.inv(covariance)

    def objective(z):
        return -0.5 * (z - centre) @ precision @ (z - centre), -precision @ (z - centre)

    hessian = curvature(objective, centre, WIDE[:d])
    np.testing.assert_allclose(hessian, precision, rtol=1e-6, atol=1e-6)
    steps = axes(hessian)
    np.testing.assert_allclose(np.triu(steps, 1), 0.0, atol=0)
    found = grid(lambda z: objective(z)[0], [centre], steps, WIDE[:d])
    mean, spread = moments(found)
    np.testing.assert_allclose(mean, centre, atol=1e-8)
    ratio = np.linalg.eigvals(np.linalg.solve(covariance, spread))
    assert np.all((ratio > 0.93) & (ratio < 1.01))  # what is left out is far out


def test_distributions_with_a_long_tail_and_a_bound():
    """The log of a gamma variable, with a weak prior; then the same cut off at its mode."""
    z = np.linspace(-25, 10, 70_001)

    def log_density(z):
        return 0.5 * z - np.exp(z) - 0.5 * (z / 2.5) ** 2

    mode = z[np.argmax(log_density(z))]

    def objective(u):
        return float(log_density(u[0])), np.array([0.5 - np.exp(u[0]) - u[0] / 2.5**2])

    for high in (10.0, mode):
        box = np.array([[-25.0, high]])
        kept = z <= high
        weights = np.exp(log_density(z[kept]))
        weights /= weights.sum()
        mean = weights @ z[kept]
        deviation = np.sqrt(weights @ (z[kept] - mean) ** 2)
        start = np.array([mode])
        found = grid(lambda u: objective(u)[0], [start], axes(curvature(objective, start, box)), box)
        assert found.points.max() <= high
        found_mean, found_variance = moments(found)
        # at a cut the trapezoidal rule with steps h errs by h² / 12 times the derivative there: 0.15 deviations
        assert found_mean[0] == pytest.approx(mean, abs=(0.05 if high == 10.0 else 0.2) * deviation)
        assert np.sqrt(found_variance[0, 0]) == pytest.approx(deviation, rel=0.05 if high == 10.0 else 0.15)


def test_two_modes_and_places_without_density():
    def value(z):
        if abs(z[0]) > 8:
            raise NotPositiveDefinite("beyond")
        return float(np.logaddexp(-0.5 * (z[0] + 5) ** 2, -0.5 * (z[0] - 5) ** 2))

    found = grid(value, [np.array([5.0]), np.array([-5.0])], np.array([[1.0]]), WIDE[:1])
    assert found.weights[found.points[:, 0] < 0].sum() == pytest.approx(0.5, abs=0.01)
    assert np.abs(found.points).max() <= 8


def test_too_many_parameters_are_refused():
    with pytest.raises(InvalidInput, match="a grid of more than 4 is too large"):
        grid(lambda z: 0.0, [np.zeros(5)], np.eye(5), np.tile([-1.0, 1.0], (5, 1)))


PRIORS = Priors(LogNormal(0.5, 0.8), LogNormal(1.0, 1.0), LogNormal(0.2, 1.2), time_bounds=(1e-3, 1e2))


def dense(prior, low=-4.0, high=4.0, number=33):
    """Values and weights of a log-normal distribution, equally spaced in its logarithm."""
    units = np.linspace(low, high, number)
    return prior.median * np.exp(prior.spread * units), norm.pdf(units)


@pytest.mark.parametrize("mean", ["zero", "constant"])
def test_regression_is_the_dense_integral(mean):
    """Five data on the line: the predictive distribution by a sum over 33³ parameters, with formulas of its own."""
    rng = np.random.default_rng(3)
    X, new = np.sort(rng.uniform(-2, 2, 5)), np.array([-2.5, 0.1, 1.4])
    y = np.sin(2 * X) + 0.3 * rng.standard_normal(5) + (5.0 if mean == "constant" else 0.0)
    gp = hg.GPRegressor("euclidean", mean=mean, priors=PRIORS, integrate="grid", smoothness=np.inf).fit(X[:, None], y)
    everywhere = np.concatenate((X, new))
    squared = (everywhere[:, None] - everywhere) ** 2
    # a constant with a flat prior is one of a very wide prior
    flat = 1e4 if mean == "constant" else 0.0
    offset = y.mean() if flat else 0.0
    amplitude, ratio = (part.ravel() for part in np.meshgrid(dense(PRIORS.amplitude)[0], dense(PRIORS.noise)[0]))
    of_others = np.outer(dense(PRIORS.noise)[1], dense(PRIORS.amplitude)[1]).ravel()
    weights, means, variances, noises = [], [], [], []
    for time, of_time in zip(*dense(PRIORS.time)):
        K = amplitude[:, None, None] * np.exp(-squared / (2 * time)) + flat
        C = K[:, :5, :5] + (amplitude * ratio)[:, None, None] * np.eye(5)
        gain = np.linalg.solve(C, K[:, :5, 5:]).swapaxes(1, 2)
        quadratic = (np.linalg.solve(C, (y - offset)[:, None])[..., 0] * (y - offset)).sum(axis=1)
        weights.append(of_time * of_others * np.exp(-0.5 * (quadratic + np.linalg.slogdet(C)[1])))
        means.append(gain @ (y - offset))
        variances.append(np.diagonal(K[:, 5:, 5:] - gain @ K[:, :5, 5:], axis1=1, axis2=2))
        noises.append(amplitude * ratio)
    weights, means, variances, noises = (np.concatenate(part) for part in (weights, means, variances, noises))
    weights /= weights.sum()
    expected = weights @ means
    spread = np.sqrt(weights @ (variances + means**2) - expected**2)
    found, std = gp.predict(new[:, None], return_std=True)
    np.testing.assert_allclose(found - offset, expected, atol=0.05 * spread.max())
    np.testing.assert_allclose(std, spread, rtol=0.05)
    lower, upper = gp.predict_interval(new[:, None], level=0.9)
    deviations = np.sqrt(variances + noises[:, None])
    for bound, probability in ((lower, 0.05), (upper, 0.95)):
        reached = weights @ ndtr((bound - offset - means) / deviations)
        np.testing.assert_allclose(reached, probability, atol=0.006)
    values = np.array([0.3, -0.4, 1.0])
    density = np.log(weights @ norm.pdf(values, means, deviations))
    np.testing.assert_allclose(gp.log_density(new[:, None], values + offset), density, atol=0.05)


def test_classes_are_the_dense_integral():
    """Probabilities averaged over 11² parameters, each with the inference of a model whose parameters are given."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (8, 1))
    labels, new = X[:, 0] + 0.5 * rng.standard_normal(8) > 0, np.array([[-1.5], [0.2], [3.0]])
    options = {"mean": "zero", "label_noise": 0.0}
    gp = hg.GPClassifier("euclidean", priors=replace(PRIORS, noise="weak"), integrate="grid", **options)
    gp.fit(X, labels)
    weights, probabilities = [], []
    for time, of_time in zip(*dense(PRIORS.time, number=11)):
        for amplitude, of_amplitude in zip(*dense(PRIORS.amplitude, number=11)):
            one = hg.GPClassifier("euclidean", time=time, amplitude=amplitude, **options).fit(X, labels)
            weights.append(of_time * of_amplitude * np.exp(one.log_marginal_likelihood()))
            probabilities.append(one.predict_proba(new)[:, 1])
    weights = np.array(weights) / np.sum(weights)
    np.testing.assert_allclose(gp.predict_proba(new)[:, 1], weights @ np.array(probabilities), atol=0.005)
    np.testing.assert_allclose(ndtr(gp.decision_function(new)), gp.predict_proba(new)[:, 1], rtol=1e-8)
    assert np.array_equal(gp.predict(new), gp.predict_proba(new)[:, 1] > 0.5)


def test_leave_one_out_is_that_of_the_parameters_without_the_point():
    """Against the model without the point: its parameters have other weights, on a grid of its own."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-2, 2, (9, 1))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(9)
    options = {"mean": "zero", "priors": PRIORS, "integrate": "grid"}
    mean, std = hg.GPRegressor("euclidean", **options).fit(X, y).loo()
    labels = y > 0
    of_labels = options | {"label_noise": 0.0, "priors": replace(PRIORS, noise="weak")}
    ones = hg.GPClassifier("euclidean", **of_labels).fit(X, labels).loo()[:, 1]
    for i in (0, 4, 8):
        kept = np.arange(9) != i
        other = hg.GPRegressor("euclidean", **options).fit(X[kept], y[kept])
        expected, spread = other.predict(X[[i]], return_std=True, noise=True)
        assert mean[i] == pytest.approx(expected[0], abs=0.1 * spread[0])
        assert std[i] == pytest.approx(spread[0], rel=0.1)
        other = hg.GPClassifier("euclidean", **of_labels).fit(X[kept], labels[kept])
        assert ones[i] == pytest.approx(other.predict_proba(X[[i]])[0, 1], abs=0.05)


def test_what_is_given_is_not_integrated_over(rng):
    X, y = rng.normal(size=(25, 1)), rng.normal(size=25)
    fixed = {"time": 1.0, "amplitude": 1.0, "noise": 0.5}
    one = hg.GPRegressor("euclidean", **fixed).fit(X, y)
    same = hg.GPRegressor("euclidean", integrate="grid", **fixed).fit(X, y)
    assert np.array_equal(one.predict(X), same.predict(X))
    some = hg.GPRegressor("euclidean", integrate="grid", time=1.0, noise=0.5).fit(X, y)
    assert {p.params.time for p in some.mixture_.posteriors} == {1.0}
    assert {p.params.noise for p in some.mixture_.posteriors} == {0.5}
    assert len({p.params.amplitude for p in some.mixture_.posteriors}) > 3
    with pytest.raises(InvalidInput, match="integrate = 'mcmc' is not known"):
        hg.GPRegressor("euclidean", integrate="mcmc").fit(X, y)


def test_functions_have_parameters_of_their_own(rng):
    X, y = rng.normal(size=(25, 1)), rng.normal(size=25)
    gp = hg.GPRegressor("euclidean", integrate="grid").fit(X, y)
    new = np.array([[0.0], [0.5], [3.0]])
    f = gp.sample_functions(6000, random_state=0)
    values = np.concatenate((f(new[:1]), f(new[1:])))
    mean, covariance = gp.predict(new, return_cov=True)
    error = np.sqrt(np.diag(covariance) / 6000)
    assert np.all(np.abs(values.mean(axis=1) - mean) < 5 * error)
    np.testing.assert_allclose(np.cov(values), covariance, atol=0.1 * np.diag(covariance).max())
