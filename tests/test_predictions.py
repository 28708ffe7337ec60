"""Predictions of new observations, intervals, log densities, the evidence anywhere, functions that stay the same."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import BayesianRidge, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import heatgp as hg
from gp_kernels import Cosines
from heatgp.errors import BoundWarning, InvalidInput, Unsupported
from heatgp.gp.gradients import evidence_gradient
from heatgp.gp.mixture import Mixture, normal_quantile
from heatgp.gp.parameters import FLAT, Params
from heatgp.gp.pivoted import triangular_root
from heatgp.gp.posterior import condition
from statistics_helpers import assert_mean

TIME, AMPLITUDE, NOISE = 0.49, 1.7, 0.2


@pytest.fixture
def plane(rng):
    X = rng.normal(size=(25, 2))
    return X, np.sin(X[:, 0]) + 0.3 * rng.standard_normal(25), rng.normal(size=(7, 2))


@pytest.fixture
def ours(plane):
    X, y, _ = plane
    return hg.GPRegressor("euclidean", time=TIME, amplitude=AMPLITUDE, noise=NOISE, mean="zero").fit(X, y)


@pytest.fixture
def theirs(plane):
    """scikit-learn's process of observations: its standard deviations include the white noise."""
    X, y, _ = plane
    kernel = ConstantKernel(AMPLITUDE) * RBF(np.sqrt(TIME)) + WhiteKernel(NOISE)
    return GaussianProcessRegressor(kernel, optimizer=None).fit(X, y)


def test_new_observations_are_those_of_scikit_learn(plane, ours, theirs):
    new = plane[2]
    for which in ("return_std", "return_cov"):
        for mine, other in zip(ours.predict(new, noise=True, **{which: True}), theirs.predict(new, **{which: True})):
            np.testing.assert_allclose(mine, other, rtol=1e-8, atol=1e-10)
    lower, upper = ours.predict_interval(new, level=0.8)
    expected = norm.interval(0.8, *theirs.predict(new, return_std=True))
    np.testing.assert_allclose((lower, upper), expected, rtol=1e-8)
    values = np.linspace(-1, 1, len(new))
    expected = norm.logpdf(values, *theirs.predict(new, return_std=True))
    np.testing.assert_allclose(ours.log_density(new, values), expected, rtol=1e-8)


def test_variances_of_new_observations_can_be_given(plane, ours):
    new, variances = plane[2], np.arange(7.0)
    mean, std = ours.predict(new, return_std=True)
    np.testing.assert_allclose(ours.predict(new, return_std=True, noise=variances)[1] ** 2, std**2 + variances)
    covariance = ours.predict(new, return_cov=True)[1]
    found = ours.predict(new, return_cov=True, noise=variances)[1]
    np.testing.assert_allclose(found - covariance, np.diag(variances), atol=1e-12)
    expected = norm.interval(0.9, mean, np.sqrt(std**2 + variances))
    np.testing.assert_allclose(ours.predict_interval(new, noise=variances), expected)
    np.testing.assert_allclose(ours.predict_interval(new, noise=False), norm.interval(0.9, mean, std))


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"noise": np.ones(3)}, "noise must be True, False or the variances at 7 new points"),
        ({"noise": -np.ones(7)}, "noise must be True, False or the variances .* not negative"),
        ({"noise": "yes"}, "noise must be"),
        ({"level": 1.0}, "level = 1.0 must be a probability between 0 and 1"),
        ({"level": 90}, "level = 90 must be a probability"),
        ({"level": None}, "level = None must be"),
    ],
)
def test_wrong_noise_and_levels_are_named(plane, ours, wrong, message):
    with pytest.raises(InvalidInput, match=message):
        ours.predict_interval(plane[2], **wrong)


def test_the_evidence_anywhere_is_that_of_scikit_learn(ours, theirs):
    for time, amplitude, noise in [(TIME, AMPLITUDE, NOISE), (0.1, 5.0, 0.01), (9.0, 0.2, 1.0)]:
        value, gradient = ours.log_marginal_likelihood(time, amplitude, noise, gradient=True)
        theta = np.log([amplitude, np.sqrt(time), noise])
        expected, slopes = theirs.log_marginal_likelihood(theta, eval_gradient=True)
        np.testing.assert_allclose(value, expected, rtol=1e-9)
        # the length is the root of the time: d / d log time = 1/2 d / d log length
        np.testing.assert_allclose(gradient, [slopes[1] / 2, slopes[0], slopes[2]], rtol=1e-6, atol=1e-8)
    assert ours.log_marginal_likelihood() == ours.log_marginal_likelihood(TIME, AMPLITUDE, NOISE)
    with pytest.raises(InvalidInput, match=r"time = -1\.0 must be positive"):
        ours.log_marginal_likelihood(time=-1.0)
    with pytest.raises(InvalidInput, match="gradient must be True or False"):
        ours.log_marginal_likelihood(gradient=1)


def differences(function, z, step=1e-4):
    """Central differences of a function of logarithms."""
    moves = step * np.eye(len(z))
    return np.array([(function(z + move) - function(z - move)) / (2 * step) for move in moves])


def test_gradients_of_all_models_are_differences(rng):
    S2 = hg.Sphere(2)
    X = S2.random(rng, 20)
    regressor = hg.GPRegressor(S2, time=0.3, amplitude=1.0, noise=0.1).fit(X, X[:, 0])
    fixed = {"time": 0.3, "amplitude": 4.0, "label_noise": 0.05}
    two = hg.GPClassifier(S2, **fixed).fit(X, X[:, 0] > 0)
    joint = hg.GPClassifier(S2, **fixed).fit(X, np.argmax(X, axis=1))
    wide = hg.GPClassifier(S2, normalize=False, **fixed).fit(X, X[:, 0] > 0)
    for gp, values in [
        (regressor, (0.3, 1.0, 0.1)),
        (two, (0.3, 4.0, 0.05)),
        (joint, (0.3, 4.0, 0.05)),
        (wide, (0.3, 4.0, 0.05)),
    ]:
        value, gradient = gp.log_marginal_likelihood(gradient=True)
        assert value == gp.log_marginal_likelihood()
        expected = differences(lambda z, gp=gp, v=values: gp.log_marginal_likelihood(*v * np.exp(z)), np.zeros(3))
        np.testing.assert_allclose(np.atleast_2d(gradient).sum(axis=0), expected, rtol=1e-5, atol=1e-5)
    with pytest.raises(InvalidInput, match="label_noise = 2"):
        two.log_marginal_likelihood(label_noise=2)


@pytest.mark.parametrize("noise", [0.1, 0.0])
def test_gradients_of_features_are_differences(rng, noise):
    kernel, X, y = Cosines(), rng.normal(size=(20, 1)), rng.normal(size=20)

    def at(z):
        return condition(kernel, X, y, Params(np.exp(z[0]), np.exp(z[1]), noise * np.exp(z[2])))

    gradient = evidence_gradient(at(np.zeros(3)))
    np.testing.assert_allclose(
        gradient, differences(lambda z: at(z).log_marginal_likelihood, np.zeros(3)), rtol=1e-4, atol=1e-4
    )
    assert noise or gradient[2] == 0


def test_the_scorer_is_the_mean_log_density(plane):
    X, y, _ = plane
    model = hg.GPRegressor("euclidean", time=TIME, amplitude=AMPLITUDE, noise=NOISE, mean="zero")
    kernel = ConstantKernel(AMPLITUDE) * RBF(np.sqrt(TIME)) + WhiteKernel(NOISE)
    scores = [
        cross_val_score(m, X, y, scoring=hg.nlpd_scorer, cv=4)
        for m in (model, GaussianProcessRegressor(kernel, optimizer=None))
    ]
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-8)
    scaled = make_pipeline(StandardScaler(), model)
    search = GridSearchCV(scaled, {"gpregressor__time": [0.1, 1.0]}, scoring=hg.nlpd_scorer, cv=3).fit(X, y)
    best = search.best_estimator_
    expected = norm.logpdf(y, *best.predict(X, return_std=True, noise=True)).mean()
    assert hg.nlpd_scorer(search, X, y) == pytest.approx(expected)
    assert np.isfinite(hg.nlpd_scorer(BayesianRidge().fit(X, y), X, y))


def test_the_scorer_of_classes_is_that_of_scikit_learn(plane):
    X, y, _ = plane
    labels = np.where(y > 0, "up", "down")
    for model in (hg.GPClassifier("euclidean", time=1.0, amplitude=4.0), LogisticRegression()):
        ours, theirs = (cross_val_score(model, X, labels, scoring=s, cv=4) for s in (hg.nlpd_scorer, "neg_log_loss"))
        np.testing.assert_allclose(ours, theirs)
    fitted = GaussianProcessClassifier().fit(X, labels)
    assert hg.nlpd_scorer(fitted, X[:1], ["sideways"]) == pytest.approx(np.log(1e-15))


def test_functions_have_the_distribution_of_the_posterior_over_calls(rng):
    S2 = hg.Sphere(2)
    X = S2.random(rng, 12)
    gp = hg.GPRegressor(S2, time=0.3, amplitude=1.0, noise=0.1).fit(X, X[:, 0])
    new = S2.random(rng, 8)
    f = gp.sample_functions(4000, random_state=1)
    values = np.concatenate([f(new[:3]), f(new[3:4]), f(new[4:])]).T
    mean, covariance = gp.predict(new, return_cov=True)
    assert_mean(values, mean)
    centred = values - mean
    assert_mean(centred[:, :, None] * centred[:, None], covariance)
    # the joint density: one number that sees every correlation, a chi-squared with 8 degrees of freedom
    squares = -2 * (multivariate_normal(mean, covariance).logpdf(values) + 0.5 * np.linalg.slogdet(covariance)[1])
    assert_mean(squares - 8 * np.log(2 * np.pi), 8.0)


def test_functions_keep_their_values(rng):
    S2 = hg.Sphere(2)
    X = S2.random(rng, 12)
    gp = hg.GPRegressor(S2, time=0.3, amplitude=1.0, noise=0.1).fit(X, X[:, 0])
    new = S2.random(rng, 300)
    f = gp.sample_functions(3)
    first = f(new[:200])
    assert np.array_equal(f(new[:200][::-1]), first[::-1])
    assert np.array_equal(f(np.concatenate((new[:2], new[:2])))[2:], first[:2])
    f(new[200:])
    assert np.array_equal(f(new)[:200], first)
    near = new[:50] + 1e-7 * rng.standard_normal((50, 3))
    near /= np.linalg.norm(near, axis=1, keepdims=True)
    assert np.abs(f(near) - first[:50]).max() < 1e-4
    assert f(new[:0]).shape == (0, 3)
    assert np.array_equal(gp.sample_functions(3)(new[:200]), first)
    assert not np.array_equal(gp.sample_functions(3, random_state=1)(new[:200]), first)


def test_functions_of_wrong_arguments(rng):
    gram = np.eye(3)
    gp = hg.GPRegressor(kernel="precomputed", amplitude=1.0, noise=0.1).fit(gram, [1.0, 2.0, 3.0])
    with pytest.raises(Unsupported, match="sample_y"):
        gp.sample_functions(2)
    gp = hg.GPRegressor("euclidean", time=1.0, amplitude=1.0, noise=0.1).fit([[0.0], [1.0]], [0.0, 1.0])
    with pytest.raises(InvalidInput, match="number of samples must be a positive integer"):
        gp.sample_functions(0)
    with pytest.raises(InvalidInput, match="random_state"):
        gp.sample_functions(1, random_state=-1)


def test_triangular_roots_of_singular_matrices(rng):
    root = rng.normal(size=(9, 3))
    found, pivots = triangular_root(root @ root.T, 1e-12)
    assert found.shape == (9, 3)
    np.testing.assert_allclose(found @ found.T, root @ root.T, atol=1e-10)
    np.testing.assert_allclose(np.triu(found[pivots], 1), 0.0, atol=0)
    assert triangular_root(np.zeros((2, 2)), 1e-12)[0].shape == (2, 0)


def test_mixtures_are_those_of_many_draws(rng):
    """Moments, quantiles and densities of a mixture, against a sample of it."""
    X, y, new = rng.normal(size=(6, 1)), rng.normal(size=6), np.array([[0.0], [3.0]])
    gp = hg.GPRegressor("euclidean", time=1.0, amplitude=1.0, noise=0.1, mean="zero").fit(X, y)
    parts = [gp.posterior_.again(gp.kernel_, Params(*p)) for p in [(1.0, 1.0, 0.1), (0.1, 9.0, 0.5)]]
    mixture = Mixture(parts, np.array([0.3, 0.7]))
    draws = mixture.sample(new, np.random.default_rng(0), 40_000)
    mean, variance = mixture.moments(new)
    assert_mean(draws, mean)
    assert_mean((draws - mean) ** 2, variance)
    assert_mean((draws - mean)[:, :, None] * (draws - mean)[:, None], mixture.covariance(new))
    for probability, quantile in zip((0.05, 0.6), mixture.quantiles(new, (0.05, 0.6), noise=False)):
        assert_mean(draws < quantile, probability)
    grid = np.linspace(-30, 30, 6001)
    densities = [mixture.log_density(np.repeat(new[:1], len(grid), axis=0), grid, noise) for noise in (False, True)]
    for density, noise in zip(densities, (False, True)):
        weights = np.exp(density) * (grid[1] - grid[0])
        assert weights.sum() == pytest.approx(1, abs=1e-6)
        assert weights @ grid**2 - (weights @ grid) ** 2 == pytest.approx(mixture.moments(new, noise)[1][0], rel=1e-6)


def test_quantiles_of_mixtures_without_variance():
    means, weights = np.array([[0.0, 1.0], [1.0, 1.0]]), np.array([0.3, 0.7])
    assert normal_quantile(weights, means, np.zeros((2, 2)), 0.2) == pytest.approx([0.0, 1.0], abs=1e-8)
    assert normal_quantile(weights, means, np.zeros((2, 2)), 0.5) == pytest.approx([1.0, 1.0], abs=1e-8)


def test_summaries_have_the_curvature_of_the_evidence(rng):
    """Against second differences of scikit-learn's log marginal likelihood, with flat priors and no mean."""
    X = rng.normal(size=(60, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(60)
    gp = hg.GPRegressor("euclidean", mean="zero", priors=None, smoothness=np.inf).fit(X, y)
    theta = np.log([gp.amplitude_, np.sqrt(gp.time_), gp.noise_])
    kernel = ConstantKernel() * RBF() + WhiteKernel()
    theirs = GaussianProcessRegressor(kernel, optimizer=None).fit(X, y)
    slopes = [
        theirs.log_marginal_likelihood(theta + move, eval_gradient=True)[1]
        - theirs.log_marginal_likelihood(theta - move, eval_gradient=True)[1]
        for move in 1e-3 * np.eye(3)
    ]
    deviations = np.sqrt(np.diag(np.linalg.inv(-np.array(slopes) / 2e-3)))
    summary = gp.summary()
    assert summary.log_marginal_likelihood == pytest.approx(theirs.log_marginal_likelihood(theta), rel=1e-8)
    assert [p.name for p in summary.parameters] == ["time", "amplitude", "noise"]
    expected = norm.ppf(0.95) * deviations[[1, 0, 2]] * [2, 1, 1]  # the time is the square of the length
    for parameter, width in zip(summary.parameters, expected):
        assert np.log(parameter.high / parameter.value) == pytest.approx(width, rel=0.02)
        assert np.log(parameter.value / parameter.low) == pytest.approx(width, rel=0.02)
    text = str(summary)
    assert text.startswith("GPRegressor(manifold=Euclidean(2)), N = 60\nparameter")
    assert "1 local maximum" in text
    assert f"{gp.fit_.evaluations} evaluations" in text


def test_intervals_of_a_grid_are_within_the_bounds(rng):
    X = rng.normal(size=(25, 1))
    y = X[:, 0] + 0.3 * rng.normal(size=25)  # so smooth that the time presses against its upper bound
    with pytest.warns(BoundWarning):
        gp = hg.GPRegressor("euclidean", integrate="grid", priors=replace(FLAT, time_bounds=(0.01, 2.0))).fit(X, y)
    time, *_ = gp.summary().parameters
    assert 0.01 <= time.low < time.high <= 2.0 * (1 + 1e-9)


def test_summaries_say_what_is_given_and_what_is_not_determined(rng):
    X, y = rng.normal(size=(25, 1)), rng.normal(size=25)
    text = str(hg.GPRegressor("euclidean", time=1.0, noise=0.5, integrate="grid").fit(X, y).summary())
    assert re.search(r"time +1 +given", text)
    assert re.search(r"noise +0.5 +given", text)
    assert re.search(r"amplitude +\S+ +\S+ to", text)
    assert "sets of parameters" in text
    with pytest.warns(BoundWarning):
        gp = hg.GPRegressor("euclidean", priors=None, mean="zero").fit(X, np.full(25, 3.0))
    assert "sits on a bound of its search" in str(gp.summary())
    labels = np.arange(25) % 3
    rows = hg.GPClassifier("euclidean").fit(X, labels).summary().parameters
    assert [p.name for p in rows][:3] == ["time", "amplitude", "label_noise"]
    gram = np.exp(-((X - X.T) ** 2))
    assert "a precomputed kernel" in str(hg.GPRegressor(kernel="precomputed").fit(gram, y).summary())


def test_pictures_of_fits(rng):
    X, y = rng.normal(size=(40, 1)), rng.normal(size=40)
    gp = hg.GPRegressor("euclidean", time=1.0, amplitude=1.0, noise=0.5).fit(X, y)
    _, middle, right = gp.plot().axes
    mean, std = gp.loo()
    np.testing.assert_allclose(middle.lines[-1].get_ydata(), (y - mean) / std)
    level, share = right.lines[-1].get_data()
    inside = np.abs(y - mean) <= norm.ppf(0.5 + level[9] / 2) * std
    assert share[9] == pytest.approx(inside.mean())
    labels = np.where(y > 0, "up", "down")
    figure = hg.GPClassifier("euclidean", time=1.0, amplitude=4.0, label_noise=0.0).fit(X, labels).plot()
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["down", "up"]
    joint = hg.GPClassifier("euclidean", time=1.0, amplitude=4.0, label_noise=0.0).fit(X, np.arange(40) % 5)
    assert len(joint.plot().axes[0].lines) >= 2  # the diagonal and one curve of all five classes


def test_several_outputs_have_predictions_for_each(rng):
    X, new = rng.normal(size=(30, 1)), rng.normal(size=(4, 1))
    Y = np.column_stack([np.sin(X[:, 0]), np.cos(X[:, 0])]) + 0.1 * rng.standard_normal((30, 2))
    fixed = {"time": 1.0, "amplitude": 1.0, "noise": 0.01}
    both = hg.GPRegressor("euclidean", **fixed).fit(X, Y)
    each = [hg.GPRegressor("euclidean", **fixed).fit(X, y) for y in Y.T]
    values = np.zeros((4, 2))
    for k, one in enumerate(each):
        for mine, other in zip(both.predict_interval(new), one.predict_interval(new)):
            np.testing.assert_allclose(mine[:, k], other, rtol=1e-6)
        np.testing.assert_allclose(both.log_density(new, values)[:, k], one.log_density(new, values[:, k]), rtol=1e-6)
    assert re.search(r"amplitude\[1\] +1 +given", str(both.summary()))
    for ask in (both.sample_functions, both.plot, lambda: both.log_marginal_likelihood(time=2.0)):
        with pytest.raises(Unsupported, match="is for one output, and y has 2 columns"):
            ask()
    with pytest.raises(Unsupported, match='integrate="grid" is for one output, and y has 2 columns'):
        hg.GPRegressor("euclidean", integrate="grid").fit(X, Y)


def test_counts_have_intervals_of_their_own(rng):
    X = rng.uniform(-2, 2, (40, 1))
    y = rng.poisson(np.exp(1 + X[:, 0]))
    gp = hg.GPRegressor("euclidean", likelihood="poisson", time=1.0, amplitude=1.0).fit(X, y)
    lower, upper = gp.predict_interval(X)
    assert np.array_equal(lower, np.round(lower))
    assert np.mean((lower <= y) & (y <= upper)) >= 0.85
    assert gp.log_density(X, y).shape == (40,)
    assert hg.nlpd_scorer(gp, X, y) == pytest.approx(gp.log_density(X, y).mean())
    assert "amplitude" in str(gp.summary())


@pytest.mark.parametrize("number", [2, 3])
def test_the_noise_of_new_points_is_that_of_all_outputs(number):
    """A variance for each new point, with known noise and with one for all: of as many points as outputs, too."""
    rng = np.random.default_rng(0)
    X, new, noise = rng.normal(size=(20, 1)), rng.normal(size=(number, 1)), np.geomspace(0.1, 10.0, number)
    Y = np.column_stack([np.sin(X[:, 0]), X[:, 0]])
    for known in (np.full(20, 0.1), 0.1):
        gp = hg.GPRegressor(hg.Euclidean(1), time=1.0, amplitude=1.0, noise=known).fit(X, Y)
        _, std = gp.predict(new, return_std=True)
        _, wider = gp.predict(new, return_std=True, noise=noise)
        np.testing.assert_allclose(wider**2 - std**2, np.column_stack([noise, noise]), rtol=1e-9)
        _, covariance = gp.predict(new, return_cov=True, noise=noise)
        np.testing.assert_allclose(covariance[np.arange(number), np.arange(number)], wider**2, rtol=1e-9)
        assert gp.log_density(new, np.zeros((number, 2)), noise=noise).shape == (number, 2)


def test_the_gradient_of_the_evidence_of_one_point():
    """Nothing is left to learn from, and everything is given: the evidence does not depend on the parameters."""
    gp = hg.GPRegressor(hg.Euclidean(1), time=1.0, amplitude=1.0, noise=0.1).fit([[0.0]], [1.0])
    _, slopes = gp.log_marginal_likelihood(gradient=True)
    np.testing.assert_allclose(slopes, 0.0, atol=1e-12)
