"""What `summary()` says of models of all kinds."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

import heatgp as hg
from heatgp.errors import BoundWarning
from heatgp.estimators.summary import search_path
from heatgp.gp.mixture import Mixture
from heatgp.gp.parameters import FLAT, Params
from heatgp.gp.search import Fit

S2 = hg.Sphere(2)
X = S2.random(np.random.default_rng(0), 40)
Y = X[:, 0] + 0.1 * np.random.default_rng(1).standard_normal(40)


def rows(gp):
    return {parameter.name: parameter for parameter in gp.summary().parameters}


def additive_data(number=150, seed=3):
    """Points of a sphere, a circle and a line, and a function with a slope along the line and none along the circle."""
    rng = np.random.default_rng(seed)
    M = hg.Product(S2, hg.Torus(1), hg.Euclidean(1))
    points = M.random(rng, number)
    points[:, 4] = rng.uniform(0, 2, number)
    parts = np.stack([np.sin(3 * points[:, 0]), np.zeros(number), -6.5 * points[:, 4]])
    return M, points, parts, 0.05 * rng.standard_normal(number)


FIXED = {"time": (0.5, 20.0, 40.0), "amplitude": 500.0, "noise": 0.0025}


@pytest.mark.parametrize("options", [{}, FIXED, FIXED | {"inference": "sparse"}], ids=["learned", "dense", "sparse"])
def test_what_each_factor_explains(options):
    """The variance over the data of each of the functions that add up, although the time of the line is long."""
    M, points, parts, noise = additive_data()
    gp = hg.GPRegressor(M, **options).fit(points, parts.sum(axis=0) + noise)
    found = gp.summary()
    names = ["factor 0, Sphere(2)", "factor 1, Torus(1)", "factor 2, Euclidean(1)"]
    assert list(found.explained) == names
    np.testing.assert_allclose(list(found.explained.values()), parts.var(axis=1), rtol=0.15, atol=0.01)
    assert found.variance == pytest.approx(gp.predict(points).var(), rel=0.15)
    assert gp.time_[2] > 4  # longer than the square of the range of the data
    share = 100 * found.explained[names[2]] / found.variance
    assert f"  explained by factor 2, Euclidean(1): {found.explained[names[2]]:.3g}, {share:.0f} %" in str(found)


def test_one_factor_that_varies_explains_all():
    M, points, parts, _ = additive_data(20)
    points[:, 3:] = 0.5
    found = hg.GPRegressor(M, **FIXED).fit(points, parts[0]).summary()
    sphere, *others = found.explained.values()
    assert sphere == pytest.approx(found.variance, rel=1e-9)
    assert others == [0, 0]


def test_what_each_coordinate_explains():
    rng = np.random.default_rng(0)
    points = rng.uniform(-1, 1, (80, 3))
    y = np.stack([2 * points[:, 0], 3 * points[:, 2]])
    gp = hg.GPRegressor(hg.Euclidean(3), time="coordinates", mean="linear", noise=1e-4)
    explained = gp.fit(points, y.sum(axis=0)).summary().explained
    expected = [y[0].var(), 0.0, y[1].var()]
    np.testing.assert_allclose([explained[f"coordinate {k}"] for k in range(3)], expected, rtol=0.15, atol=1e-3)
    assert not hg.GPRegressor(hg.Euclidean(3)).fit(points, y[0]).summary().explained


def test_scaled_products_have_the_times_and_factors_of_products():
    """Scaled by 3 a time is 9 times as long, and nothing else changes."""
    M, points, parts, noise = additive_data(60)
    y = parts.sum(axis=0) + noise
    one, scaled = (hg.GPRegressor(N, noise=0.0025, smoothness=np.inf).fit(points, y) for N in (M, hg.Scaled(M, 3.0)))
    np.testing.assert_allclose(scaled.time_, 9 * np.array(one.time_), rtol=1e-4)
    assert scaled.fit_.log_posterior == pytest.approx(one.fit_.log_posterior, abs=1e-6)
    evidence = scaled.log_marginal_likelihood(time=9 * np.array(one.time_), amplitude=one.amplitude_)
    assert evidence == pytest.approx(one.log_marginal_likelihood(), abs=1e-6)
    np.testing.assert_allclose(scaled.predict(points), one.predict(points), atol=1e-4)
    for name, value in one.summary().explained.items():
        assert scaled.summary().explained[name] == pytest.approx(value, rel=1e-3, abs=1e-6)
    gradient = scaled.gradient(points[:3])[0]
    np.testing.assert_allclose(gradient, one.gradient(points[:3])[0] / 9, atol=1e-3)
    classes = (hg.GPClassifier(N).fit(points, y > -6) for N in (M, hg.Scaled(M, 3.0)))
    np.testing.assert_allclose(*(np.array(gp.time_) / s for gp, s in zip(classes, (1, 9))), rtol=1e-3)
    lines = hg.Scaled(hg.Euclidean(2), 3.0)
    gp = hg.GPRegressor(lines, time="coordinates", noise=1e-4).fit(points[:, :2], points[:, 0])
    assert gp.summary().explained["coordinate 1"] < 0.01 * gp.summary().explained["coordinate 0"]


@pytest.mark.parametrize("classes", [2, 3])
def test_what_each_factor_explains_of_probabilities(classes):
    """Labels that depend on the circle alone."""
    rng = np.random.default_rng(0)
    M = hg.Product(hg.Sphere(2), hg.Torus(1))
    X = M.random(rng, 120)
    labels = np.digitize(np.cos(X[:, 3]), [0.0] if classes == 2 else [-0.5, 0.5])
    gp = hg.GPClassifier(M, label_noise=0.0).fit(X, labels)
    found = gp.summary()
    variance = gp.predict_proba(X)[:, 1:].var(axis=0)[0] if classes == 2 else gp.predict_proba(X).var(axis=0)
    np.testing.assert_allclose(found.variance, variance, rtol=1e-6)
    sphere, circle = found.explained.values()
    assert np.all(sphere < 0.05 * variance)
    np.testing.assert_allclose(circle, variance, rtol=0.1)
    assert "explained by factor 1, Torus(1)" in str(found)


def test_covariates_and_several_outputs_of_products():
    M, points, parts, noise = additive_data(60)
    rng = np.random.default_rng(1)
    covariate = rng.standard_normal(60)
    fixed = {"time": (1.0, 1.0, 4.0), "amplitude": 50.0, "noise": 0.01}
    one = hg.GPRegressor(M, **fixed).fit(points, parts.sum(axis=0) + noise).summary().explained
    y = parts.sum(axis=0) + noise + 30 * covariate
    with_covariate = hg.GPRegressor(M, **fixed).fit(points, y, covariates=covariate[:, None]).summary().explained
    for name, value in one.items():
        assert with_covariate[name] == pytest.approx(value, rel=0.1, abs=0.02)
    both = hg.GPRegressor(M, **fixed).fit(points, np.stack([parts.sum(axis=0) + noise, noise], axis=1)).summary()
    assert all(value.shape == (2,) for value in both.explained.values())
    assert both.explained["factor 2, Euclidean(1)"][0] == pytest.approx(one["factor 2, Euclidean(1)"])


def test_intervals_end_at_the_bounds_of_the_search():
    """The evidence of labels that do not overlap is flat in the amplitude and in the label noise."""
    found = rows(hg.GPClassifier(S2, priors=None).fit(X, X[:, 0] > 0))
    assert found["label_noise"].low >= 1e-4 * (1 - 1e-9)
    assert found["label_noise"].high <= 0.5 * (1 + 1e-9)
    assert found["amplitude"].high <= 1e4 * (1 + 1e-9)
    assert "0.0001 to 0.5, the bounds: the evidence is flat" in found["label_noise"].interval
    P = hg.Product(S2, hg.Euclidean(1))
    points = P.random(np.random.default_rng(0), 40)
    kernel = hg.heat_kernel(S2).on(P, 0) + hg.heat_kernel(hg.Euclidean(1)).on(P, 1)
    weight = rows(hg.GPRegressor(P, kernel=kernel).fit(points, points[:, 2]))["weight[1]"]
    assert 1e-4 * (1 - 1e-9) <= weight.low <= weight.high <= 1e4 * (1 + 1e-9)


def test_an_amplitude_without_end_is_said():
    y, fixed = X[:, 0] > 0, {"priors": FLAT, "label_noise": 0.0}
    gp = hg.GPClassifier(S2, **fixed).fit(X, y)
    assert gp.amplitude_ == pytest.approx(1e4)
    note = "amplitude is at its upper bound: labels without noise; a larger one changes nothing"
    assert note in gp.summary().notes
    assert note not in hg.GPClassifier(S2, amplitude=1e4, **fixed).fit(X, y).summary().notes
    fixed["priors"] = replace(FLAT, amplitude_bounds=(0.01, 1.0))
    with pytest.warns(BoundWarning, match="amplitude sits on the upper bound"):
        gp = hg.GPClassifier(S2, **fixed).fit(X, y)
    assert note not in gp.summary().notes
    assert "amplitude sits on a bound of its search" in gp.summary().notes


def test_the_smoothness_is_said_where_it_is_not_that_of_heat():
    fixed = {"time": 1.0, "amplitude": 1.0, "noise": 0.01}
    assert "smoothness" not in rows(hg.GPRegressor(S2, **fixed).fit(X, Y))
    assert re.search(r"smoothness +1.5 +given", str(hg.GPRegressor(S2, smoothness=1.5, **fixed).fit(X, Y).summary()))
    learned = hg.GPRegressor(S2, smoothness="learn", **fixed).fit(X, Y)
    row = rows(learned)["smoothness"]
    assert (row.value, row.interval) == (learned.smoothness_, "the best by evidence; inf is the heat kernel")
    assert row.is_learned
    assert math.isnan(row.low)


def test_coefficients_of_the_mean_have_standard_errors():
    fixed = {"time": 1.0, "amplitude": 0.01, "noise": 0.01}
    gp = hg.GPRegressor(S2, mean="linear", **fixed).fit(X, Y)
    found = [row for name, row in rows(gp).items() if name.startswith("mean: ")]
    assert [row.name for row in found] == [f"mean: {name}" for name in gp.coefficient_names_]
    np.testing.assert_array_equal([row.value for row in found], gp.coefficients_)
    for row, error in zip(found, gp.coefficient_errors_):
        assert (row.high - row.low) / 2 == pytest.approx(1.6448536 * error)
        assert f"standard error {error:.3g}" in row.interval
    both = hg.GPRegressor(S2, **fixed).fit(X, np.column_stack([Y, Y**2]))
    assert rows(both)["mean: constant[1]"].value == both.coefficients_[0, 1]
    assert not [name for name in rows(hg.GPRegressor(S2, mean="zero", **fixed).fit(X, Y)) if "mean" in name]


@pytest.mark.parametrize("outputs", [1, 2])
def test_known_variances_are_called_so(outputs):
    y = Y if outputs == 1 else np.column_stack([Y, Y**2])
    found = rows(hg.GPRegressor(S2, time=1.0, noise=np.linspace(0.01, 0.03, 40)).fit(X, y))
    noises = [row for name, row in found.items() if "noise" in name]
    assert [row.interval for row in noises] == ["0.01 to 0.03, known variances"]
    assert noises[0].value == pytest.approx(0.02)


def test_several_outputs_say_that_they_have_no_intervals():
    found = rows(hg.GPRegressor(S2).fit(X, np.column_stack([Y, Y**2])))
    assert found["time"].interval == found["noise[1]"].interval == "learned; no interval with several outputs"


@pytest.mark.parametrize(("has_noise", "end"), [(True, ", noise 0.1"), (False, "")])
def test_other_maxima_have_the_names_of_their_numbers(has_noise, end):
    params = Params((0.5, 2.0, 0.25), 3.0, 0.1)
    fit = Fit(params, -1.0, ((-1.0, params), (-2.0, params)), (), -1.0)
    lines = search_path(fit, Mixture([None], np.ones(1)), ["time[0]", "time[1]", "weight[1]"], has_noise)
    assert lines[1] == f"  other maximum: time[0] 0.5, time[1] 2, weight[1] 0.25, amplitude 3{end}"


def test_models_without_normal_noise_have_none_in_other_maxima():
    """A fit of two maxima, made by hand: their text must not speak of a noise that the model does not have."""
    counts = np.random.default_rng(0).poisson(np.exp(X[:, 0]))
    for gp in (
        hg.GPRegressor(S2, time=1.0, likelihood="poisson").fit(X, counts),
        hg.GPClassifier(S2, time=1.0, label_noise=0.0).fit(X, X[:, 0] > 0),
        hg.GPRegressor(S2, noise=np.full(40, 0.01)).fit(X, Y),
    ):
        fit = gp.fit_
        gp.fit_ = Fit(fit.params, 0.0, 2 * fit.maxima[:1], (), 0.0, fit.likelihood)
        (line,) = [line for line in gp.summary().path if "other maximum" in line]
        assert "noise" not in line


@pytest.mark.parametrize(
    "changed",
    [{"noise": np.full(40, 0.1)}, {"noise": 0.3, "time": (1.0, 2.0)}, {"integrate": "grid", "mean": "linear"}],
    ids=lambda changed: ", ".join(changed),
)
def test_parameters_set_after_a_fit_are_those_of_the_next_fit(changed):
    gp = hg.GPRegressor(S2).fit(X, Y)
    before = str(gp.summary()), gp.log_marginal_likelihood(noise=0.2, gradient=True), gp.kernel_error(X).error
    gp.set_params(**changed)
    assert str(gp.summary()) == before[0]
    np.testing.assert_equal(gp.log_marginal_likelihood(noise=0.2, gradient=True), before[1])
    np.testing.assert_equal(gp.kernel_error(X).error, before[2])
    assert all(gp.get_params()[name] is value for name, value in changed.items())


def test_labels_are_summarised_as_they_were_fitted():
    gp = hg.GPClassifier(S2).fit(X, X[:, 0] > 0)
    before = str(gp.summary())
    assert str(gp.set_params(label_noise=0.2, inference="sparse", mean="zero").summary()) == before
