"""The evidence as a function of log parameters: its gradients are differences, its values those of the posterior."""

import gc
import tracemalloc

import numpy as np
import pytest

from gp_kernels import ARD, RBF, Cosines, Full, wavy
from heatgp import Euclidean, heat_kernel
from heatgp.errors import NotPositiveDefinite
from heatgp.gp.classes import condition_classes
from heatgp.gp.exact import Exact, spectral, values_of_spectrum
from heatgp.gp.factors import Dense, Diagonal
from heatgp.gp.inference import Approximate
from heatgp.gp.kernels import Normalized, constant
from heatgp.gp.objective import Objective
from heatgp.gp.parameters import Given, LogNormal, log_density
from heatgp.gp.posterior import condition
from heatgp.gp.prior import Prior, observations, targets
from heatgp.gp.probit import Probit


def differences(objective, z, step=1e-5):
    return [(objective(z + e)[0] - objective(z - e)[0]) / (2 * step) for e in step * np.eye(len(z))]


PRIORS = {
    "time": LogNormal(0.7, 0.8),
    "time[1]": LogNormal(2.0, 0.3),
    "amplitude": LogNormal(2.0, 0.4),
    "noise": LogNormal(0.1, 0.5),
}
INTERVALS = {"amplitude": (1e-6, 1e6)}
SCALES = np.geomspace(0.2, 3.0, 30)


@pytest.mark.parametrize(
    "mean, width, scale, priors",
    [
        ("zero", None, None, {}),
        ("constant", None, None, {}),
        ("constant", None, SCALES, PRIORS),
        ("linear", None, SCALES, {}),
        ("linear", [np.inf, 0.5], SCALES, PRIORS),
        ("linear", 0.5, None, {}),
    ],
    ids=["zero", "constant", "priors", "linear", "half flat", "no flat"],
)
@pytest.mark.parametrize("amplitude, noise", [(None, None), (2.0, None), (None, 0.02), (2.0, 0.02)])
@pytest.mark.parametrize(
    "kernel, time",
    [
        (RBF(), None),
        (RBF(), 0.6),
        (ARD(2), None),
        (ARD(2), (None, 0.8)),
        (Cosines(), None),
        (Full(Cosines()), None),
        (Normalized(Full(Cosines())), None),
    ],
    ids=["rbf", "fixed time", "two times", "one of two", "low rank", "height moves", "normalized"],
)
def test_regression_gradients_are_differences(kernel, time, amplitude, noise, mean, width, scale, priors):
    X, y = wavy(30)
    X = X if isinstance(kernel, ARD) else X[:, :1]
    options = {"noise_scale": scale, "coefficient_scale": width}
    level = {"zero": 3.0, "linear": np.column_stack([np.ones(30), X[:, 0]])}.get(mean, mean)
    data, _ = targets(X, y, level, **options)
    given = Given.of(kernel, time, amplitude, noise)
    prior = Prior.of(kernel, X, given.times(np.zeros(2)))
    objective = Objective(prior, data, given, Exact(accuracy="search"), priors, INTERVALS)
    z = np.full(len(objective.names), -1.2)
    value, gradient = objective(z)
    assert gradient.shape == z.shape
    np.testing.assert_allclose(gradient, differences(objective, z), rtol=2e-4, atol=2e-4)
    params = objective.params(z)
    posterior = condition(kernel, X, y, params, level, **options)
    expected = posterior.log_marginal_likelihood
    variance = prior.mean_variance(prior.at(params.time)[0])
    values = {"amplitude": params.amplitude * variance, "noise": params.noise / params.amplitude / variance}
    values |= zip(given.time_names, np.atleast_1d(params.time)[given.free])
    learned = {"amplitude": amplitude, "noise": noise}
    expected += sum(
        each.log_density(np.log(values[n])) for n, each in priors.items() if learned.get(n) is None and n in values
    )
    np.testing.assert_allclose(value, expected, rtol=1e-7)
    np.testing.assert_allclose(value - objective.solution(z)[1], posterior.log_marginal_likelihood, rtol=1e-7)
    if prior.form is Dense:
        value -= sum(each.log_density(np.log(values[n])) for n, each in priors.items() if n in given.time_names)
        diagonal, rest = spectral(objective, z), z[len(given.free) :]
        np.testing.assert_allclose(diagonal(rest)[0], value, rtol=1e-6)
        points = rest + np.linspace(-1, 1, 3)[:, None]
        np.testing.assert_allclose(values_of_spectrum(diagonal, points), [diagonal(p)[0] for p in points], rtol=1e-9)


def test_values_of_many_points_where_a_covariance_is_not_positive_definite():
    given = Given.of(RBF(), 1.0, None, None)
    prior = Prior(constant(np.array([1.0, 0.5, -0.1])), Diagonal)
    data, _ = targets(np.zeros((3, 1)), np.array([1.0, 2.0, -1.0]), "zero")
    objective = Objective(prior, data, given, Exact(accuracy="search"), intervals=INTERVALS)
    noise = np.log([[0.01], [10.0]])  # of a mean prior variance of 0.47
    np.testing.assert_allclose(values_of_spectrum(objective, noise[1:]), objective.value(noise[1]), rtol=1e-12)
    with pytest.raises(NotPositiveDefinite):
        values_of_spectrum(objective, noise)


@pytest.mark.parametrize("amplitude", [None, 2.0])
@pytest.mark.parametrize("noise", [0.0, 1e-13])
@pytest.mark.parametrize("kernel", [RBF(), Full(Cosines())], ids=["rbf", "height moves"])
def test_gradient_under_the_jitter(kernel, noise, amplitude):
    # singular covariances and targets without noise, in their range: the jitter decides the determinant
    X = np.linspace(0, 3, 30)[:, None]
    y = Cosines(frequencies=3).features(X).at(0.1).value.sum(axis=1)
    given = Given.of(kernel, None, amplitude, noise)
    objective = Objective(
        Prior.of(kernel, X, 1.0), targets(X, y, "zero")[0], given, Exact(accuracy="search"), intervals=INTERVALS
    )
    z = np.full(len(objective.names), -0.3)
    np.testing.assert_allclose(objective(z)[1], differences(objective, z, 1e-3), rtol=1e-2, atol=1e-2)


def test_gradient_where_the_amplitude_is_clipped():
    X, y = wavy(30)
    given = Given.of(Full(Cosines()), None, None, None)
    prior = Prior.of(Full(Cosines()), X[:, :1], 1.0)
    objective = Objective(
        prior, targets(X, y, "zero")[0], given, Exact(accuracy="search"), intervals={"amplitude": (1e-6, 0.1)}
    )
    z = np.array([-1.0, -3.0])
    np.testing.assert_allclose(objective(z)[1], differences(objective, z), rtol=1e-5)
    time = objective.given.times(z)
    assert np.isclose(objective.params(z).amplitude * prior.mean_variance(prior.at(time)[0]), 0.1)


@pytest.mark.parametrize("constant", [False, True], ids=["zero mean", "constant"])
@pytest.mark.parametrize("label_noise", [0.0, None])
@pytest.mark.parametrize("amplitude", [None, 5.0])
@pytest.mark.parametrize("kernel", [RBF(), Cosines(), Full(Cosines()), ARD(2)])
def test_class_gradients_are_differences(kernel, amplitude, label_noise, constant):
    X, y = wavy(30)
    X = X if isinstance(kernel, ARD) else X[:, :1]
    given = Given.of(kernel, None, amplitude, 0.0)
    prior = Prior.of(kernel, X, given.times(np.zeros(2)))
    labels, priors = np.sign(y - 3.01), {"time": LogNormal(2.0, 0.5), "amplitude": LogNormal(3.0, 0.7)}
    inference = Approximate(Probit(label_noise))
    mean = "constant" if constant else "zero"
    objective = Objective(prior, observations(X, labels, mean)[0], given, inference, priors)
    z = np.full(len(objective.names), -0.5)
    value, gradient = objective(z)
    np.testing.assert_allclose(gradient, differences(objective, z, 1e-3), rtol=1e-4, atol=1e-4)
    density, params, likelihood = (
        log_density(priors, objective.names, z)[0],
        objective.params(z),
        objective.likelihood(z),
    )
    posterior = condition_classes(kernel, X, labels, params, likelihood, mean=mean)
    np.testing.assert_allclose(value, posterior.log_marginal_likelihood + density, atol=1e-8)


@pytest.mark.parametrize("classes", [False, True], ids=["regression", "classification"])
def test_memory_of_one_evaluation(classes):
    """K, its slope and two work arrays: neither the kernel before normalisation nor cycles keep others alive."""
    n = 1500
    X, y = wavy(n)
    kernel = Normalized(heat_kernel(Euclidean(2)))
    given = Given.of(kernel, None, None, 0.0 if classes else None)
    prior = Prior.of(kernel, X, 1.0)
    objective = Objective(prior, targets(X, y, 3.0)[0], given, Exact(accuracy="search"), intervals=INTERVALS)
    if classes:
        objective = Objective(prior, observations(X, np.sign(y - 3.01), "zero")[0], given, Approximate(Probit()))
    gc.disable()
    tracemalloc.start()
    try:
        objective(np.array([0.0, 0.0]))
        left, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        gc.enable()
    matrix = 8 * n**2
    assert peak < (7.1 if classes else 4.1) * matrix, (
        peak / matrix
    )  # sites: two steps of it, and the inverse of a factor
    assert left < 0.1 * matrix, left / matrix
