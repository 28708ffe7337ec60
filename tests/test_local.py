"""Local regression beside the dense one: rough functions, of which data far away say nothing."""

import pickle
import warnings

import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.stats import multivariate_normal

import heatgp as hg
from gp_kernels import points_of
from heatgp.errors import AccuracyWarning, InvalidInput, Unsupported
from heatgp.estimators import plan, sparse_regression
from heatgp.estimators.plan import Local
from heatgp.gp.factors import Dense
from heatgp.gp.parameters import Params
from heatgp.gp.posterior import AllData, Posterior
from heatgp.gp.sparse import fit, local
from heatgp.gp.sparse.blocks import Blocks
from heatgp.gp.sparse.local import LocalPosterior
from heatgp.gp.sparse.regression import SparseData
from heatgp.gp.sparse.source import Chunk

S2 = hg.Sphere(2)
ROUGH = {hg.Sphere(2): 0.01, hg.SpecialOrthogonal(3): 0.08, hg.Torus(2): 0.03}


def problem(manifold, time, number, seed=0, smoothness=np.inf, noise=0.3):
    """Draws of f at data and at new points, by the Cholesky factor of their covariance, and noise."""
    rng = np.random.default_rng(seed)
    kernel = hg.matern_kernel(manifold, smoothness=smoothness) if smoothness < np.inf else hg.heat_kernel(manifold)
    X = points_of(manifold, rng, number + 200)
    K = kernel(X, time=time) / kernel(X[:1], X[:1], time=time)
    f = np.linalg.cholesky(K + 1e-8 * np.eye(len(X))) @ rng.standard_normal(len(X))
    y = 3 + f[:number] + noise * rng.standard_normal(number)
    return X[:number], y, X[number:], 3 + f[number:]


def test_blocks_are_a_matrix_with_blocks():
    rng = np.random.default_rng(0)
    roots, changes = rng.standard_normal((2, 3, 4, 4))
    K, dK = roots @ roots.swapaxes(1, 2), changes + changes.swapaxes(1, 2)
    precision, v = rng.uniform(0.5, 2.0, 12), rng.standard_normal((12, 2))
    found, whole = Blocks.of(K, precision), Dense.of(block_diag(*K), precision)
    np.testing.assert_allclose(found.solve(v), whole.solve(v))
    np.testing.assert_allclose(found.solve(v[:, 0]), whole.solve(v[:, 0]))
    np.testing.assert_allclose(found.log_det, whole.log_det)
    np.testing.assert_allclose(found.inverse_diagonal(), whole.inverse_diagonal())
    np.testing.assert_allclose(found.slope(dK, v, v), whole.slope(block_diag(*dK), v, v))
    with pytest.raises(hg.errors.NotPositiveDefinite, match="12 points"):
        Blocks.of(-K, 1e3)


TOLERANCE = 1e-2
"""The default of inference="local"."""


def compared(manifold, X, y, new, tolerance=1e-2, **known):
    """The error of the mean, over the spread of y, the largest one of standard deviations, and both models."""
    gp = hg.GPRegressor(manifold, inference=Local(tolerance=tolerance), **known).fit(X, y)
    dense = hg.GPRegressor(manifold, inference="dense", **known).fit(X, y)
    (mean, std), (exact, deviation) = (model.predict(new, return_std=True) for model in (gp, dense))
    assert isinstance(gp.posterior_, LocalPosterior)
    if gp.approximation_.error < tolerance and isinstance(known.get("mean"), float):  # no learned mean
        assert np.abs(mean - exact).max() < tolerance * y.std()
    return np.sqrt(np.mean((mean - exact) ** 2)) / y.std(), np.abs(std / deviation - 1).max(), gp, dense


@pytest.mark.parametrize(
    "tolerance, of_mean, of_std", [(1e-2, 1e-2, 2e-2), pytest.param(1e-3, 1e-3, 2e-3, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("manifold", ROUGH, ids=repr)
def test_predictions_are_those_of_the_dense_model(manifold, tolerance, of_mean, of_std):
    time = ROUGH[manifold]
    X, y, new, _ = problem(manifold, time, 1500)
    with warnings.catch_warnings():  # at 1e-3 the last data changed more than that, what they leave out is less
        warnings.simplefilter("ignore", AccuracyWarning)
        mean, std, gp, _ = compared(manifold, X, y, new, tolerance, time=time, amplitude=1.0, noise=0.09, mean=3.0)
    assert mean < of_mean
    assert std < of_std
    assert gp.approximation_.data < len(X)


@pytest.mark.slow
@pytest.mark.parametrize("smoothness", [np.inf, 1.5])
@pytest.mark.parametrize("noise", [0.01, 0.5])
@pytest.mark.parametrize(
    "manifold, time",
    [(hg.RealProjective(2), 0.01), (hg.Euclidean(2), 0.02), (hg.Product(hg.Sphere(1), hg.Euclidean(1)), 0.02)],
    ids=repr,
)
def test_predictions_where_no_setting_was_chosen(manifold, time, noise, smoothness):
    # the constants of local models were chosen on the manifolds of ROUGH and a noise of 0.09
    X, y, new, _ = problem(manifold, time, 2500, 5, smoothness, np.sqrt(noise))
    known = {"time": time, "amplitude": 1.0, "noise": noise, "mean": 3.0, "smoothness": smoothness}
    mean, std, gp, _ = compared(manifold, X, y, new, **known)
    assert mean < 1e-2
    assert std < 2e-2
    assert gp.approximation_.data < len(X)


SAID = pytest.mark.filterwarnings("ignore:predictions are made from:heatgp.errors.AccuracyWarning")


@pytest.mark.parametrize("time, noise", [(0.003, 0.09), pytest.param(0.003, 1e-4, marks=SAID), (1e-4, 0.01)])
def test_little_noise_and_a_mean_that_is_learned(time, noise):
    X, y, new, _ = problem(S2, time, 1200, noise=np.sqrt(noise))
    mean, std, gp, dense = compared(S2, X, y, new, time=time, amplitude=1.0, noise=noise)
    error = dense.coefficient_errors_[0]  # the coefficients are those of 1024 data
    assert mean < 1e-2 + error / 2
    assert std < 2e-2
    np.testing.assert_allclose(gp.coefficients_, dense.coefficients_, atol=2 * error)
    assert 0.7 < gp.coefficient_errors_[0] / error < 1.5


def test_the_evidence_of_a_fit_is_that_of_others_at_its_parameters():
    X, y, _, _ = problem(S2, 0.01, 1500)
    known = {"amplitude": 1.0, "noise": 0.09, "inference": "local"}
    first, second = (hg.GPRegressor(S2, time=time, **known).fit(X, y) for time in (0.01, 0.002))
    again = first.posterior_.again(first.kernel_, second.posterior_.params).log_marginal_likelihood
    np.testing.assert_allclose(again, second.posterior_.log_marginal_likelihood)


def test_far_data_of_smooth_functions_without_noise_are_missed_and_that_is_said():
    X, y, new, _ = problem(S2, 0.02, 1000, noise=0.0)
    with pytest.warns(AccuracyWarning, match="near data"):
        _, std, _, _ = compared(S2, X, y, new, time=0.02, amplitude=1.0, noise=0.0, mean=3.0)
    assert std > 1e-2


def test_places_that_are_seen_more_than_once():
    X, _, new, _ = problem(S2, 0.02, 200)
    rng = np.random.default_rng(1)
    y = np.repeat(np.sin(6 * X[:, 0]), 5) + 0.3 * rng.standard_normal(1000)
    known = {"time": 0.02, "amplitude": 1.0, "noise": 0.09, "mean": 0.0}
    mean, std, _, _ = compared(S2, np.repeat(X, 5, axis=0), y, new, **known)
    assert mean < 1e-2
    assert std < 2e-2


@pytest.mark.parametrize("inference", ["local", "sparse"])
def test_known_variances_are_those_of_the_noise(inference):
    X, y, new, _ = problem(S2, 0.1, 600)
    known = {"time": 0.1, "amplitude": 1e-4, "mean": 0.03}
    y = y / 100
    models = [hg.GPRegressor(S2, inference=each, noise=np.full(600, 9e-6), **known) for each in (inference, "dense")]
    (mean, std), (exact, deviation) = (model.fit(X, y).predict(new, return_std=True) for model in models)
    assert np.sqrt(np.mean((mean - exact) ** 2)) < 1e-2 * y.std()
    np.testing.assert_allclose(std, deviation, rtol=2e-2)
    with pytest.raises(InvalidInput, match=r"noise\[3\] = 0"):
        hg.GPRegressor(S2, inference=inference, noise=np.where(np.arange(600) == 3, 0.0, 1.0)).fit(X, y)


@pytest.mark.slow
def test_a_local_model_of_many_near_data_is_sparse(monkeypatch):
    X, y, new, _ = problem(S2, 0.2, 800)
    monkeypatch.setattr(local, "SMALL", 100)
    monkeypatch.setattr(local, "DENSE", 200)
    mean, std, gp, _ = compared(S2, X, y, new, time=0.2, amplitude=1.0, noise=0.09, mean=3.0)
    near = gp.posterior_.near(new[:1])
    assert len(near.X) < near.count / 2
    assert mean < 1e-2
    assert std < 2e-2


@pytest.fixture(scope="module")
def fitted():
    X, y, new, truth = problem(S2, 0.02, 1200)
    return hg.GPRegressor(S2, inference="local").fit(X, y), X, y, new, truth


def test_the_evidence_is_that_of_neighbourhoods():
    X, y, *_ = problem(S2, 0.02, 600)
    gp = hg.GPRegressor(S2, inference="local", mean=3.0, noise=0.09, amplitude=1.0).fit(X, y)
    posterior, total = gp.posterior_, 0.0
    assert len(set(posterior.rows.ravel())) == posterior.rows.size == 512
    for rows in posterior.rows:
        C = gp.kernel_.pairs(X[rows]).at(gp.time_).value + 0.09 * np.eye(len(rows))
        total += multivariate_normal(np.full(len(rows), 3.0), C).logpdf(y[rows])
    np.testing.assert_allclose(gp.posterior_.log_marginal_likelihood, total, rtol=1e-9)
    np.testing.assert_allclose(gp.fit_.log_marginal_likelihood, total, rtol=1e-9)


def test_gradients_are_differences(fitted):
    objective, box = fitted[0]._objective(fitted[0].posterior_)
    z = box.mean(axis=1)
    for step, slope in zip(1e-4 * np.eye(len(z)), objective(z)[1]):
        difference = (objective(z + step)[0] - objective(z - step)[0]) / 2e-4
        np.testing.assert_allclose(slope, difference, rtol=1e-4, atol=1e-3)


def test_what_parameters_were_learned_from_is_said(fitted):
    gp, X, y, *_ = fitted
    assert gp.learned_from_ == 1024
    text = str(gp.summary())
    assert "note: parameters were learned from 1,024 of 1,200 points" in text
    assert "log evidence" not in text
    for options in ({}, {"time": 0.01}, {"gradient": True}):
        with pytest.raises(Unsupported, match=r"evidence of all 1,200 points.*from 1,024 of them.*nlpd_scorer"):
            gp.log_marginal_likelihood(**options)
    given = hg.GPRegressor(S2, time=0.02, amplitude=1.0, noise=0.09, inference="local").fit(X, y)
    assert given.learned_from_ == 1200


def test_covariances_and_samples_are_of_one_law(fitted):
    gp, _, _, new, _ = fitted
    some = new[:20]
    mean, covariance = gp.predict(some, return_cov=True)
    std = gp.predict(some, return_std=True)[1]
    np.testing.assert_allclose(np.sqrt(np.diagonal(covariance)), std, rtol=2e-2)
    assert np.linalg.eigvalsh(covariance).min() > -1e-10
    draws = gp.sample_y(some, n_samples=4000, random_state=0).T
    assert np.all(np.abs(draws.mean(axis=0) - mean) < 5 * std / np.sqrt(4000) + 1e-2)
    np.testing.assert_allclose(draws.std(axis=0), std, rtol=0.1)
    assert gp.predict(new[:0], return_cov=True)[1].shape == (0, 0)


def test_it_is_the_same_after_pickling_and_tells_of_itself(fitted):
    gp, _, _, new, _ = fitted
    again = pickle.loads(pickle.dumps(gp))
    np.testing.assert_array_equal(again.predict(new[:10]), gp.predict(new[:10]))
    assert "local, predictions from" in str(gp.summary())
    assert 0 < gp.approximation_.error < TOLERANCE


def test_weights_and_covariates():
    X, y, new, _ = problem(S2, 0.02, 800)
    rng = np.random.default_rng(1)
    table, weights = rng.standard_normal((1000, 1)), rng.uniform(0.5, 2.0, 800)
    y = y + 2 * table[:800, 0]
    known = {"time": 0.02, "amplitude": 1.0, "noise": 0.09}
    found = []
    for inference in ("local", "dense"):
        gp = hg.GPRegressor(S2, inference=inference, **known).fit(X, y, weights, covariates=table[:800])
        found.append((gp.coefficients_, *gp.predict(new, return_std=True, covariates=table[800:])))
    (coefficients, mean, std), (exact, of_dense, deviation) = found
    np.testing.assert_allclose(coefficients, exact, atol=0.05)
    assert np.sqrt(np.mean((mean - of_dense) ** 2)) < 1e-2 * y.std()
    np.testing.assert_allclose(std, deviation, rtol=2e-2)


def test_what_a_local_model_has_not(fitted, tmp_path, monkeypatch):
    gp, X, y, *_ = fitted
    with pytest.raises(Unsupported, match="local"):
        gp.partial_fit(X, y)
    with pytest.raises(Unsupported, match="leave-one-out predictions need all data"):
        gp.loo()
    monkeypatch.setattr(local, "DENSE", 600)
    monkeypatch.setattr(local, "WORK", 1e6)
    with pytest.raises(Unsupported, match="near each other"):
        gp.predict(X, return_cov=True)
    np.save(tmp_path / "X.npy", X)
    in_file = np.load(tmp_path / "X.npy", mmap_mode="r")
    with pytest.raises(Unsupported, match="memory-mapped"):
        hg.GPRegressor(S2, inference="local").fit(in_file, y)
    with pytest.raises(Unsupported, match="integrated"):
        hg.GPRegressor(S2, inference="local", integrate="grid").fit(X, y)
    with pytest.raises(Unsupported, match="several outputs"):
        hg.GPRegressor(S2, inference="local").fit(X, np.column_stack([y, y]))
    with pytest.raises(InvalidInput, match="local"):
        hg.GPClassifier(S2, inference="local").fit(X, y > 3)


def check_is_learned_and_covered(manifold, time, number, kind, smoothness=np.inf):
    """By the model of this kind that inference="auto" makes."""
    X, y, new, truth = problem(manifold, time, number, smoothness=smoothness)
    gp = hg.GPRegressor(manifold, smoothness=smoothness).fit(X, y)
    assert type(gp.posterior_) is kind
    assert type(gp.posterior_.structure) is AllData
    assert 0.7 < gp.time_ / time < 1.4
    mean, std = gp.predict(new, return_std=True)
    covered = np.mean(np.abs(mean - truth) < 1.6448536 * std)
    assert abs(covered - 0.9) < 4 * np.sqrt(0.09 / len(new))
    return gp, (X, y, new, mean, std)


@pytest.mark.slow
@pytest.mark.parametrize("manifold", ROUGH, ids=repr)
@pytest.mark.parametrize("smoothness", [np.inf, 1.5])
def test_rough_functions_are_learned_and_covered(manifold, smoothness):
    # in three dimensions too many of 7,000 data are near to a point, and a dense model is possible
    kind = LocalPosterior if manifold.dim == 2 else Posterior
    check_is_learned_and_covered(manifold, ROUGH[manifold] / 2, 7000, kind, smoothness)


@pytest.mark.slow
@pytest.mark.parametrize("manifold, most", [(hg.SpecialOrthogonal(3), 0.01), (hg.ComplexProjective(2), 0.15)], ids=repr)
def test_in_three_and_four_dimensions_many_data_are_near(manifold, most):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        gp, (X, y, new, mean, std) = check_is_learned_and_covered(manifold, 0.04, 9000, LocalPosterior)
    assert gp.approximation_.error < most
    said = ["predictions are made from"] if gp.approximation_.error > TOLERANCE else []
    assert [str(each.message)[:25] for each in caught] == said
    known = {"time": gp.time_, "amplitude": gp.amplitude_, "noise": gp.noise_}
    exact, deviation = hg.GPRegressor(manifold, inference="dense", **known).fit(X, y).predict(new, return_std=True)
    assert np.sqrt(np.mean((mean - exact) ** 2)) < max(TOLERANCE, gp.approximation_.error / 2) * y.std()
    np.testing.assert_allclose(std, deviation, rtol=max(2 * TOLERANCE, gp.approximation_.error))


@pytest.fixture
def few_points(monkeypatch):
    """1,000 data are many, and 200 inducing points all there may be."""
    monkeypatch.setattr(plan, "DENSE", 100)
    for name, value in {"DENSE": 100, "DENSE_AT_LAST": 100, "ROUGH": 150, "MOST": 200, "NEAR_DATA": 50}.items():
        monkeypatch.setattr(fit, name, value)
    monkeypatch.setattr(sparse_regression, "DENSE_AT_LAST", 100)
    return monkeypatch


def auto(X, y, time=0.02, noise=0.09):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        gp = hg.GPRegressor(S2, time=time, amplitude=1.0, noise=noise, mean=3.0).fit(X, y)
    return gp.posterior_, [str(each.message) for each in caught]


def test_the_better_one_of_two_models_that_are_not_accurate(few_points):
    X, y, new, _ = problem(S2, 0.02, 1000)
    model, _ = auto(X, y)
    assert isinstance(model, LocalPosterior)  # from 100 near data, the tenth; 200 points leave much
    assert model.approximation.error_of_means <= model.approximation.error
    few_points.setattr(sparse_regression, "error_of_points", lambda *_: 1e-9)
    other, other_said = auto(X, y)
    assert isinstance(other.structure, SparseData)
    assert other.params == model.params
    assert "inducing points leave" in other_said[0]
    exact = hg.GPRegressor(S2, inference="dense", time=0.02, amplitude=1.0, noise=0.09, mean=3.0).fit(X, y)
    errors = [np.abs(each.mean(new) - exact.predict(new)).max() for each in (model, other)]
    assert errors[0] < errors[1]


def test_what_points_lose_is_zero_where_they_suffice(few_points):
    X, y, _, _ = problem(S2, 0.5, 1000)
    source, kernel = sparse_regression.of_memory(Chunk(X, y, np.empty((1000, 0)), None)), auto(X[:5], y[:5])[0].kernel
    assert fit.error_of_points(kernel, source, Params(0.5, 1.0, 0.09), fit.DEFAULT) == 0.0
    assert fit.error_of_points(kernel, source, Params(0.02, 1.0, 0.09), fit.DEFAULT) > 0.02


def test_a_dense_model_is_the_last_one_of_not_too_many_data(few_points):
    X, y, _, _ = problem(S2, 0.02, 1000)
    few_points.setattr(fit, "SHARE", 0.01)
    for module in (fit, sparse_regression):
        few_points.setattr(module, "DENSE_AT_LAST", 1000)
    model, _ = auto(X, y)
    assert type(model) is Posterior
    assert type(model.structure) is AllData


@pytest.mark.slow
def test_the_smoothness_is_learned():
    X, y, _, _ = problem(S2, 0.01, 7000, smoothness=1.5)
    assert hg.GPRegressor(S2, smoothness="learn").fit(X, y).smoothness_ == 1.5
