"""Several outputs with one time: against one fit for each column, direct formulas and scikit-learn."""

import numpy as np
import pytest
import sklearn.gaussian_process.kernels as sk
from scipy.optimize import minimize_scalar
from sklearn.gaussian_process import GaussianProcessRegressor

import heatgp as hg
from gp_kernels import ARD, RBF, Cosines, wavy
from heatgp.errors import BoundWarning, InvalidInput, Unsupported
from heatgp.gp import search as learning
from heatgp.gp.exact_outputs import ExactOutputs
from heatgp.gp.kernels import Normalized
from heatgp.gp.objective import Objective
from heatgp.gp.outputs import condition_outputs
from heatgp.gp.parameters import Given, LogNormal, Params, Priors
from heatgp.gp.posterior import condition
from heatgp.gp.prior import Prior, targets
from heatgp.gp.search import Bounds

BOUNDS = Bounds(time=(1e-2, 1e2))
PRIORS = Priors(time=LogNormal(0.7, 0.8), amplitude=LogNormal(2.0, 0.4), noise=LogNormal(0.1, 0.5))
SCALES = np.geomspace(0.2, 3.0, 40)


def tables(n=40, p=3):
    X, y = wavy(n)
    rng = np.random.default_rng(5)
    waves = [np.cos((1 + k) * X[:, 0]) * 3**k + 10 * k for k in range(p - 1)]
    return X, np.column_stack([y, *waves]) + rng.normal(size=(n, p)) * 0.2 * np.arange(1, p + 1)


NAMES = "amplitude, noise, mean, scale, width"
NOISY = [
    (None, None, "constant", None, None),
    (None, None, "linear", SCALES, None),
    (2.0, None, "zero", None, None),
    (2.0, None, "linear", None, [np.inf, 0.5]),
    (None, 0.3, "constant", SCALES, None),
    (None, 0.3, "linear", None, 0.5),
    (2.0, 0.3, "constant", None, None),
]
CASES = pytest.mark.parametrize(NAMES, [*NOISY, (None, 0.0, "constant", None, None)])


@CASES
@pytest.mark.parametrize("priors", [None, PRIORS, "weak"], ids=["evidence", "priors", "weak"])
def test_each_column_is_a_fit_of_its_own(amplitude, noise, mean, scale, width, priors):
    """At the same time; amplitudes and noises by the search of one column."""
    X, Y = tables()
    mean = np.column_stack([np.ones(40), X[:, 0]]) if mean == "linear" else mean
    kernel, time = RBF(), 0.8
    options = {"mean": mean, "noise_scale": scale, "coefficient_scale": width}
    given = Given.of(kernel, time, amplitude, noise)
    joint = learning.fit(kernel, X, Y, BOUNDS, given, priors=priors, **options)
    single = [learning.fit(kernel, X, y, BOUNDS, given, priors=priors, **options) for y in Y.T]
    if not (priors == "weak" and amplitude is not None and noise is None):  # there the prior is about a common noise
        for name in ("amplitude", "noise"):
            expected = [getattr(fit.params, name) for fit in single]
            np.testing.assert_allclose(getattr(joint.params, name), expected, rtol=2e-4)
        np.testing.assert_allclose(joint.log_posterior, sum(fit.log_posterior for fit in single), atol=1e-6)
        np.testing.assert_allclose(
            joint.log_marginal_likelihood, sum(fit.log_marginal_likelihood for fit in single), atol=2e-2
        )
    posterior = condition_outputs(kernel, X, Y, joint.params, **options)
    np.testing.assert_allclose(posterior.log_marginal_likelihood, joint.log_marginal_likelihood, rtol=1e-8)


@pytest.mark.parametrize(NAMES, NOISY)
@pytest.mark.parametrize(
    "kernel", [RBF(), Normalized(Cosines()), Cosines(), ARD(2)], ids=["rbf", "n", "low rank", "two"]
)
def test_gradients_are_differences(kernel, amplitude, noise, mean, scale, width):
    """Without noise rounding is as large as the jitter, and differences say nothing."""
    X, Y = tables()
    X = X if isinstance(kernel, ARD) else X[:, :1]
    mean = np.column_stack([np.ones(40), X[:, 0]]) if mean == "linear" else mean
    data, _ = targets(X, Y, mean, scale, width)
    given = Given.of(kernel, None, amplitude, noise)
    variance = np.full(3, 1e-6), np.full(3, 1e6)
    prior = Prior.of(kernel, X, given.times(np.zeros(2)))
    priors = {"time": LogNormal(0.7, 0.8), "noise": LogNormal(0.1, 0.5), "amplitude": LogNormal(1.0, 1.5)}
    inference = ExactOutputs(accuracy="search", size=np.array([1.0, 4.0, 9.0]))
    objective = Objective(prior, data, given, inference, priors, {"amplitude": variance, "noise": (1e-8, 1e4)})
    z = np.full(kernel.parameters, -0.7)
    value, gradient = objective(z)
    step = 1e-4
    differences = [(objective(z + e)[0] - objective(z - e)[0]) / (2 * step) for e in step * np.eye(len(z))]
    np.testing.assert_allclose(gradient, differences, rtol=1e-4, atol=1e-3)
    evidence = condition_outputs(
        kernel, X, Y, objective.params(z), mean, noise_scale=scale, coefficient_scale=width
    ).log_marginal_likelihood
    np.testing.assert_allclose(value - objective.solution(z)[1], evidence, rtol=1e-7)


def test_the_time_is_the_best_for_the_sum():
    X, Y = tables()
    kernel = RBF()
    fit = learning.fit(kernel, X, Y, BOUNDS, Given.of(kernel, None, None, None))

    def cost(log_time):
        given = Given.of(kernel, float(np.exp(log_time)), None, None)
        return -sum(learning.fit(kernel, X, y, BOUNDS, given).log_marginal_likelihood for y in Y.T)

    best = minimize_scalar(cost, bracket=(np.log(fit.params.time) - 0.3, np.log(fit.params.time) + 0.3), tol=1e-4)
    assert np.exp(best.x) == pytest.approx(fit.params.time, rel=1e-3)
    np.testing.assert_allclose(fit.log_posterior, -best.fun, atol=1e-4)


@pytest.mark.parametrize("kernel", [RBF(), Normalized(Cosines())], ids=["dense", "low rank"])
@pytest.mark.parametrize("mean", ["zero", "constant", 2.5, "linear"])
def test_predictions_are_those_of_single_models(kernel, mean):
    X, Y = tables()
    X, Z = X[:, :1], np.linspace(-2, 2, 7)[:, None]
    mean = (lambda P: np.column_stack([np.ones(len(P)), P[:, 0]])) if mean == "linear" else mean
    params = Params(0.7, np.array([1.0, 2.0, 5.0]), np.array([0.1, 0.2, 0.05]))
    options = {"mean": mean, "noise_scale": SCALES}
    joint = condition_outputs(kernel, X, Y, params, **options)
    assert joint.mean(Z[:0]).shape == (0, 3)
    covariance, samples = joint.covariance(Z), joint.sample(Z, 0, 4000)
    assert samples.shape == (4000, 7, 3)
    for j in range(3):
        single = condition(kernel, X, Y[:, j], params[j], **options)
        np.testing.assert_allclose([m[:, j] for m in joint.moments(Z)], single.moments(Z), rtol=1e-7)
        np.testing.assert_allclose(joint.mean(Z)[:, j], single.mean(Z), rtol=1e-7)
        np.testing.assert_allclose(covariance[:, :, j], single.covariance(Z), atol=1e-8)
        np.testing.assert_allclose(joint.moments(Z, noise=True)[1][:, j], single.moments(Z, noise=True)[1], rtol=1e-7)
        new = np.linspace(0, 1, 7)
        np.testing.assert_allclose(joint.moments(Z, noise=new)[1][:, j], single.moments(Z, noise=new)[1], rtol=1e-7)
        np.testing.assert_allclose([m[:, j] for m in joint.loo()], single.loo(), rtol=1e-7)
        np.testing.assert_allclose(joint.coefficients[:, j], single.coefficients, rtol=1e-7)
        np.testing.assert_allclose(
            joint.coefficient_errors[:, j], np.sqrt(np.diag(single.coefficient_covariance)), rtol=1e-7
        )
        error = 4.5 * np.sqrt(np.diag(covariance[:, :, j]) / 4000)
        assert np.all(np.abs(samples[:, :, j].mean(axis=0) - single.mean(Z)) < error)


def test_equals_scikit_learn_where_parameters_are_the_same():
    X, Y = tables()
    Z = X[:5] + 0.1
    model = GaussianProcessRegressor(sk.ConstantKernel(1.3) * sk.RBF(np.sqrt(0.7)), alpha=0.02, optimizer=None)
    mean, covariance = model.fit(X, Y).predict(Z, return_cov=True)
    ours = condition_outputs(RBF(), X, Y, Params(0.7, 1.3, 0.02), "zero")
    np.testing.assert_allclose(ours.mean(Z), mean, atol=1e-7)
    np.testing.assert_allclose(ours.covariance(Z), covariance, atol=1e-8)
    np.testing.assert_allclose(ours.log_marginal_likelihood, model.log_marginal_likelihood_value_, rtol=1e-9)


def test_blocks_of_columns_change_nothing(monkeypatch):
    X, Y = tables(p=5)
    given = Given.of(RBF(), None, None, None)
    whole = learning.fit(RBF(), X, Y, BOUNDS, given, priors="weak")
    monkeypatch.setattr("heatgp.gp.exact_outputs.NUMBERS", 40 * 2)  # two columns at a time
    parts = learning.fit(RBF(), X, Y, BOUNDS, given, priors="weak")
    np.testing.assert_allclose(parts.params.noise, whole.params.noise, rtol=1e-6)
    np.testing.assert_allclose(parts.log_posterior, whole.log_posterior, rtol=1e-9)


def test_odd_columns():
    X, Y = tables()
    Y[:, 1] = 7.0
    given = Given.of(RBF(), None, None, None)
    with pytest.warns(BoundWarning, match="amplitude sits in 1 outputs, the first is column 1, on the lower bound"):
        fit = learning.fit(RBF(), X, Y, BOUNDS, given)
    assert "amplitude" in fit.on_bound
    np.testing.assert_allclose(condition_outputs(RBF(), X, Y, fit.params).mean(X + 0.3)[:, 1], 7.0)
    scaled = learning.fit(RBF(), X, Y[:, [0, 2]] * [1e-9, 1e9], BOUNDS, given)
    plain = learning.fit(RBF(), X, Y[:, [0, 2]], BOUNDS, given)
    np.testing.assert_allclose(scaled.params.noise, plain.params.noise * [1e-18, 1e18], rtol=1e-4)
    with pytest.raises(Unsupported, match=r"priors.coefficients with several outputs"):
        learning.fit(RBF(), X, Y, BOUNDS, given, X[:, :1].copy(), coefficient_scale=1.0)
    with pytest.raises(InvalidInput, match=r"y has shape \(40, 3\); several outputs are for `condition_outputs`"):
        condition(RBF(), X, Y, Params(1.0, 1.0, 0.1))
    with pytest.raises(InvalidInput, match="leave-one-out of N = 1 point has no data"):
        condition_outputs(RBF(), X[:1], Y[:1], Params(1.0, 1.0, 0.1)).loo()


def test_short_lengths_that_random_data_do_not_see_are_found():
    sphere, rng = hg.Sphere(2), np.random.default_rng(0)
    X = sphere.random(rng, 800)
    f = np.column_stack([2 * X[:, 2] + 0.7 * np.sin(10 * X[:, 0]), X[:, 1] + 0.7 * np.sin(10 * X[:, 2])])
    y = f + 0.5 * rng.standard_normal(f.shape)
    heat = {"smoothness": np.inf}
    learned, given = (hg.GPRegressor(sphere, time=time, **heat).fit(X, y) for time in (None, 0.065))
    assert learned.log_marginal_likelihood() > given.log_marginal_likelihood() - 0.5
