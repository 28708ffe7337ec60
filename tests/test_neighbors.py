"""Models by near neighbors, compared with dense ones."""

import pickle
import warnings

import numpy as np
import pytest

import heatgp as hg
from heatgp.covariance import Normalized
from heatgp.errors import AccuracyWarning, InvalidInput, NotPositiveDefinite, Unsupported
from heatgp.estimators import plan, sparse_regression
from heatgp.gp import search
from heatgp.gp.factors import Dense
from heatgp.gp.neighbors import posterior
from heatgp.gp.neighbors.factor import NeighborFactor, Neighborhoods, covariances
from heatgp.gp.neighbors.nearest import NONE, Places
from heatgp.gp.posterior import AllData
from heatgp.gp.sparse import fit
from heatgp.gp.sparse.regression import SparseData

S2, R = hg.Sphere(2), hg.Euclidean(1)
SPACES = {
    "S2": (S2, 1.5, 0.3),
    "SO(3)": (hg.SpecialOrthogonal(3), 0.5, 0.4),
    "H2": (hg.Hyperbolic(2), 1.5, 0.5),
    "RP2": (hg.Quotient(S2, (lambda x: x, lambda x: -x)), 1.5, 0.3),
    "S2 x R": (hg.Product(S2, R), 0.5, (0.3, 0.5)),
}


def model(name, number=60):
    """Points, a kernel of prior variance one, a time, and the search for neighbors."""
    M, smoothness, time = SPACES[name]
    X = M.random(np.random.default_rng(0), number)
    kernel = Normalized(hg.matern_kernel(M, smoothness=smoothness).with_times(None))
    return X, kernel, time, Places(kernel, X, time)


@pytest.mark.parametrize("name", [name for name in SPACES if name != "H2"])  # its embedding stretches distances
@pytest.mark.parametrize("size", [5, 59])
def test_neighbors_before_have_the_largest_correlations(name, size):
    X, kernel, time, places = model(name)
    order = np.random.default_rng(1).permutation(len(X))
    near = places.before(order, np.arange(len(X)), size)
    K, rank = kernel.pairs(X).at(time).value, np.argsort(order)
    for i, found in enumerate(near):
        earlier = order[: rank[i]]
        expected = np.sort(K[i, earlier])[::-1][:size]
        kept = found[found != NONE]
        assert set(kept) <= set(earlier)
        np.testing.assert_allclose(K[i, kept], expected, atol=1e-12)


@pytest.mark.parametrize("name", SPACES)
def test_all_neighbors_are_the_dense_model(name):
    X, kernel, time, places = model(name)
    order, rows = np.random.default_rng(1).permutation(len(X)), np.arange(len(X))
    sets = Neighborhoods(rows, places.before(order, rows, len(X) - 1), len(X))
    found = covariances(kernel, X, sets).at(time)
    rng = np.random.default_rng(2)
    precision, columns = rng.uniform(2, 20, len(X)), rng.standard_normal((len(X), 2))
    factor, evaluation = NeighborFactor.of(found.value, precision), kernel.pairs(X).at(time)
    dense = Dense.of(evaluation.value, precision)
    solved = dense.solve(columns)
    np.testing.assert_allclose(factor.solve(columns), solved, atol=1e-10)
    np.testing.assert_allclose(factor.log_det, dense.log_det)
    np.testing.assert_allclose(factor.inverse_diagonal(), dense.inverse_diagonal())
    ours = factor.density_slopes(found.slopes, columns, solved)
    theirs = dense.density_slopes(list(evaluation.slopes), columns, solved)
    for one, other in zip(ours, theirs):
        np.testing.assert_allclose(one, other, atol=1e-9)


@pytest.mark.parametrize("name", SPACES)
def test_slopes_are_those_of_the_density(name):
    X, kernel, time, places = model(name)
    order, rows = np.random.default_rng(1).permutation(len(X)), np.arange(10, 40)
    sets = Neighborhoods(rows, places.before(order, rows, 8), len(X))
    prior = covariances(kernel, X, sets)
    columns, noise = np.random.default_rng(2).standard_normal((len(X), 2)), np.full(len(X), 0.1)

    def density(numbers, noise):
        numbers = tuple(numbers) if np.ndim(time) else numbers[0]
        factor = NeighborFactor.of(prior.at(numbers).value, 1.0 / noise)
        log_det = factor.log_det + np.log(noise).sum()
        return -0.5 * (log_det + np.vdot(columns, factor.solve(columns)))

    found = prior.at(time)
    in_times, in_noise = NeighborFactor.of(found.value, 1.0 / noise).density_slopes(found.slopes, columns, None)
    times, step = np.atleast_1d(time), 1e-5
    for k in range(len(times)):
        factor = np.exp(step * np.eye(len(times))[k])
        slope = (density(times * factor, noise) - density(times / factor, noise)) / (2 * step)
        np.testing.assert_allclose(in_times[k], slope, rtol=1e-6)
    step = 1e-6 * np.eye(len(X))[17]
    slope = (density(times, noise + step) - density(times, noise - step)) / 2e-6
    np.testing.assert_allclose(in_noise[17], slope, rtol=1e-5, atol=1e-8)


# Models of GPRegressor, beside dense ones.

GIVEN = {"time": 0.05, "amplitude": 1.0, "noise": 0.1}
ALL = hg.Neighbors(tolerance=1e-15)
"""Predictions are made from all of few data."""
MEANS = {"number": 3.0, "zero": "zero", "constant": "constant", "linear": "linear"}


def problem(manifold, number, seed=0, smoothness=np.inf, time=0.05, noise=0.1):
    """Draws of f at data and at new points, by the Cholesky factor of their covariance, and noise."""
    rng = np.random.default_rng(seed)
    kernel = hg.matern_kernel(manifold, smoothness=smoothness) if smoothness < np.inf else hg.heat_kernel(manifold)
    kernel, X = Normalized(kernel.with_times(None)), manifold.random(rng, number + 200)
    K = kernel.pairs(X).at(time).value
    f = np.linalg.cholesky(K + 1e-8 * np.eye(len(X))) @ rng.standard_normal(len(X))
    y = 3 + f[:number] + np.sqrt(noise) * rng.standard_normal(number)
    return X[:number], y, X[number:], 3 + f[number:]


def both(manifold, X, y, inference="neighbors", fit=None, **options):
    """The model of neighbors and the dense one."""
    kinds = inference, "dense"
    return [hg.GPRegressor(manifold, inference=kind, **GIVEN | options).fit(X, y, **(fit or {})) for kind in kinds]


def are_equal(models, new, rtol=1e-8, **options):
    """Predictions, over the standard deviation."""
    (mean, std), (exact, deviation) = (model.predict(new, return_std=True, **options) for model in models)
    np.testing.assert_allclose(std, deviation, rtol=rtol)
    np.testing.assert_allclose((mean - exact) / deviation, 0.0, atol=rtol)


def are_near(models, new, **options):
    """Predictions to the default tolerance: 1 % of standard deviations, and ten times that of means."""
    (mean, std), (exact, deviation) = (model.predict(new, return_std=True, **options) for model in models)
    assert np.sqrt(np.mean((std / deviation - 1) ** 2)) < 0.01
    assert np.sqrt(np.mean(((mean - exact) / deviation) ** 2)) < 0.1


@pytest.mark.parametrize("smoothness", [0.5, 1.5])
@pytest.mark.parametrize("name", SPACES)
def test_predictions_from_all_data_are_those_of_the_dense_model(name, smoothness):
    M, _, time = SPACES[name]
    X, y, new, _ = problem(M, 60, smoothness=smoothness, time=time)
    models = both(M, X, y, ALL, time=time, mean=3.0, smoothness=smoothness)
    are_equal(models, new)
    np.testing.assert_allclose(*(model.predict(new[:5], return_cov=True)[1] for model in models), atol=1e-8)


@pytest.mark.parametrize("mean", MEANS.values(), ids=MEANS)
@pytest.mark.parametrize("number", [2, 5, 31])
def test_fewer_data_than_neighbors_are_the_dense_model(mean, number):
    X, y, new, _ = problem(S2, 60)
    priors = hg.Priors(coefficients=10.0 if mean == "linear" else None)
    models = both(S2, X[:number], y[:number], ALL, mean=mean, priors=priors)
    are_equal(models, new)
    np.testing.assert_allclose(*(model.log_marginal_likelihood() for model in models), rtol=1e-9)
    np.testing.assert_allclose(*(model.coefficients_ for model in models), rtol=1e-7)
    np.testing.assert_allclose(*(model.coefficient_errors_ for model in models), rtol=1e-7)
    np.testing.assert_allclose(*(model.loo() for model in models), rtol=1e-7, atol=1e-9)


def test_one_datum():
    X, y, new, _ = problem(S2, 1)
    are_equal(both(S2, X, y, ALL, mean=0.5), new)


def test_parameters_of_fewer_data_than_neighbors_are_learned_as_those_of_the_dense_model():
    X, y, new, _ = problem(S2, 31, time=0.3)
    models = both(S2, X, y, ALL, time=None, amplitude=None, noise=None)
    near, dense = models
    np.testing.assert_allclose(
        near.posterior_.log_marginal_likelihood, dense.posterior_.log_marginal_likelihood, atol=1e-6
    )
    np.testing.assert_allclose(near.time_, dense.time_, rtol=1e-2)
    np.testing.assert_allclose(near.predict(new), dense.predict(new), atol=1e-2 * y.std())


def test_known_variances_are_those_of_the_noise():
    X, y, new, _ = problem(S2, 60)
    noise = np.random.default_rng(1).uniform(0.01, 1.0, 60)
    models = both(S2, X, y, ALL, noise=noise, mean=3.0)
    are_equal(models, new)
    np.testing.assert_array_equal(models[0].noise_, noise)
    with pytest.raises(InvalidInput, match=r"noise\[3\] = 0"):
        both(S2, X, y, noise=np.where(np.arange(60) == 3, 0.0, 1.0))


def test_weights_and_covariates():
    X, y, new, _ = problem(S2, 600, time=0.02)
    rng = np.random.default_rng(1)
    table, weights = rng.standard_normal((800, 1)), rng.uniform(0.5, 2.0, 600)
    y = y + 2 * table[:600, 0]
    models = both(S2, X, y, time=0.02, fit={"sample_weight": weights, "covariates": table[:600]})
    are_near(models, new, covariates=table[600:])
    near, dense = models
    assert np.all(np.abs(near.coefficients_ - dense.coefficients_) < 0.1 * dense.coefficient_errors_)
    few = both(S2, X[:30], y[:30], ALL, fit={"sample_weight": weights[:30], "covariates": table[:30]})
    are_equal(few, new, covariates=table[600:])


def test_places_that_are_seen_more_than_once():
    X, _, new, _ = problem(S2, 200)
    rng = np.random.default_rng(1)
    y = np.repeat(np.sin(6 * X[:, 0]), 5) + 0.3 * rng.standard_normal(1000)
    are_near(both(S2, np.repeat(X, 5, axis=0), y, smoothness=0.5, mean=0.0), new)
    are_equal(both(S2, np.repeat(X[:12], 5, axis=0), y[:60], ALL, time=0.3, mean=0.0), new)


def test_all_points_are_the_same():
    X, y, new, _ = problem(S2, 60)
    are_equal(both(S2, np.repeat(X[:1], 60, axis=0), y, ALL, mean=0.0), np.vstack([new, X[:1]]))


def test_one_point_is_far():
    X, y, new, _ = problem(hg.Euclidean(2), 59)
    X, new = np.vstack([X, [[1e4, 0.0]]]), np.vstack([new, [[1e4, 0.1], [-1e5, 1.0]]])
    models = both(hg.Euclidean(2), X, np.append(y, 5.0), ALL, mean=3.0)
    are_equal(models, new)
    np.testing.assert_allclose(models[0].predict(new[-1:], return_std=True), [[3.0], [1.0]])


def test_without_noise():
    X, y, new, _ = problem(S2, 60, smoothness=0.5, noise=0.0)
    models = both(S2, X, y, ALL, smoothness=0.5, noise=0.0, mean=3.0)
    are_equal(models, new, 1e-7)  # with a jitter of 1e-10 the covariance has this condition
    np.testing.assert_allclose(models[0].predict(X), y, atol=1e-6)


@pytest.mark.parametrize("where", ["X", "y", "new"])
def test_what_is_no_number_is_refused(where):
    X, y, new, _ = problem(S2, 60)
    {"X": X, "y": y, "new": new}[where][(7, 0) if where != "y" else 7] = np.nan
    with pytest.raises(InvalidInput, match="7"):
        hg.GPRegressor(S2, inference="neighbors", **GIVEN).fit(X, y).predict(new)


@pytest.mark.slow
@pytest.mark.parametrize("smoothness", [0.5, 1.5])
@pytest.mark.parametrize(
    "manifold",
    [S2, hg.SpecialOrthogonal(3), hg.Hyperbolic(2), hg.Euclidean(2), hg.Product(S2, R)],
    ids=repr,
)
def test_predictions_are_those_of_the_dense_model(manifold, smoothness):
    time = (0.05, 0.05) if isinstance(manifold, hg.Product) else 0.05
    X, y, new, _ = problem(manifold, 3000, smoothness=smoothness, time=time)
    are_near(both(manifold, X, y, time=time, smoothness=smoothness), new)


@pytest.mark.parametrize("time, noise", [(0.003, 0.09), (0.003, 1e-4), (1e-4, 0.01)])
def test_little_noise_and_a_mean_that_is_learned(time, noise):
    X, y, new, _ = problem(S2, 1200, time=time, noise=noise)
    models = near, dense = both(S2, X, y, time=time, noise=noise)
    are_near(models, new)
    error = dense.coefficient_errors_[0]
    np.testing.assert_allclose(near.coefficients_, dense.coefficients_, atol=error / 10)
    np.testing.assert_allclose(near.coefficient_errors_, error, rtol=0.02)


def test_smooth_functions_need_more_neighbors_and_that_is_said():
    X, y, _, _ = problem(S2, 1000, time=0.5)
    with pytest.warns(AccuracyWarning, match=r"of predictions still change with the last of 240 neighbors"):
        model = hg.GPRegressor(S2, inference=hg.Neighbors(tolerance=1e-4), **GIVEN | {"time": 0.5}).fit(X, y)
    assert model.approximation_.unsettled > 0.05


@pytest.fixture(scope="module")
def fitted():
    X, y, new, truth = problem(S2, 1200, smoothness=1.5)
    return hg.GPRegressor(S2, smoothness=1.5, inference="neighbors").fit(X, y), X, y, new, truth


def test_the_evidence_of_a_fit_is_that_of_others_at_its_parameters(fitted):
    near, X, y, *_ = fitted
    known = {"smoothness": 1.5, "amplitude": near.amplitude_, "noise": near.noise_, "inference": "neighbors"}
    other = hg.GPRegressor(S2, time=near.time_, **known).fit(X, y)
    evidence = near.posterior_.log_marginal_likelihood
    np.testing.assert_allclose(other.posterior_.log_marginal_likelihood, evidence, atol=0.5)
    np.testing.assert_allclose(near.log_marginal_likelihood(), evidence, rtol=1e-12)
    np.testing.assert_allclose(near.fit_.log_marginal_likelihood, evidence, rtol=1e-9)
    dense = hg.GPRegressor(S2, time=near.time_, **known | {"inference": "dense"}).fit(X, y)
    np.testing.assert_allclose(dense.log_marginal_likelihood(), evidence, atol=1e-3 * len(X))


def test_gradients_are_differences(fitted):
    objective, _ = fitted[0]._objective(fitted[0].posterior_)
    z = objective.coordinates(fitted[0].posterior_.params, fitted[0].posterior_.likelihood)
    for step, slope in zip(1e-4 * np.eye(len(z)), objective(z)[1]):
        difference = (objective(z + step)[0] - objective(z - step)[0]) / 2e-4
        np.testing.assert_allclose(slope, difference, rtol=1e-4, atol=1e-3)


def test_what_parameters_were_learned_from_is_said(fitted, monkeypatch):
    near, X, y, *_ = fitted
    assert near.learned_from_ == 1200
    assert "parameters were learned" not in str(near.summary())
    monkeypatch.setattr(posterior, "CHOOSING", 200)
    monkeypatch.setattr(posterior, "LEARNED", 600)
    part = hg.GPRegressor(S2, smoothness=1.5, inference="neighbors").fit(X, y)
    assert part.learned_from_ == 600
    assert "note: parameters were learned from 600 of 1,200 points" in str(part.summary())
    assert 0.7 < part.time_ / near.time_ < 1.4
    given = hg.GPRegressor(S2, smoothness=1.5, inference="neighbors", **GIVEN).fit(X, y)
    assert given.learned_from_ == 1200


def test_leave_one_out_is_near_that_of_the_dense_model(fitted):
    _, X, y, *_ = fitted
    (mean, std), (exact, deviation) = (model.loo() for model in both(S2, X, y, smoothness=1.5))
    assert np.sqrt(np.mean((std / deviation - 1) ** 2)) < 0.01
    assert np.sqrt(np.mean(((mean - exact) / deviation) ** 2)) < 0.1


def test_covariances_and_samples_are_of_one_law(fitted):
    near, _, _, new, _ = fitted
    some = new[:20]
    mean, covariance = near.predict(some, return_cov=True)
    std = near.predict(some, return_std=True)[1]
    np.testing.assert_allclose(np.sqrt(np.diagonal(covariance)), std, rtol=1e-8)
    assert np.linalg.eigvalsh(covariance).min() > -1e-10
    draws = near.sample_y(some, n_samples=4000, random_state=0).T
    assert np.all(np.abs(draws.mean(axis=0) - mean) < 5 * std / np.sqrt(4000))
    np.testing.assert_allclose(draws.std(axis=0), std, rtol=0.1)
    assert near.predict(new[:0], return_cov=True)[1].shape == (0, 0)
    assert near.predict(new[:0]).shape == (0,)
    assert near.gradient(new[:0])[0].shape == (0, 3)


def test_it_is_the_same_after_pickling_and_saving_and_tells_of_itself(fitted, tmp_path):
    near, X, _, new, _ = fitted
    near.save(tmp_path / "model")
    for again in (pickle.loads(pickle.dumps(near)), hg.load_model(tmp_path / "model")):
        np.testing.assert_array_equal(again.predict(new, return_std=True), near.predict(new, return_std=True))
        np.testing.assert_array_equal(again.loo(), near.loo())
        assert str(again.summary()) == str(near.summary())
    assert len(pickle.dumps(near)) < 10 * 31 * 8 * len(X)
    found = near.approximation_
    assert f"N = 1200, predictions from {found.neighbors:.0f} nearest neighbors" in str(near.summary())
    assert "log evidence" in str(near.summary())
    assert 15 <= found.neighbors <= 240
    assert 0 <= found.unsettled <= 0.05


def test_what_a_model_of_neighbors_has_not(fitted, tmp_path, monkeypatch):
    near, X, y, *_ = fitted
    with pytest.raises(Unsupported, match="near neighbors"):
        near.partial_fit(X, y)
    monkeypatch.setattr(posterior, "JOINT", 600)
    with pytest.raises(Unsupported, match="1,200 data are near 1,200 points, too many"):
        near.predict(X, return_cov=True)
    np.save(tmp_path / "X.npy", X)
    in_file = np.load(tmp_path / "X.npy", mmap_mode="r")
    with pytest.raises(Unsupported, match="memory-mapped"):
        hg.GPRegressor(S2, inference="neighbors").fit(in_file, y)
    with pytest.raises(Unsupported, match="integrated"):
        hg.GPRegressor(S2, inference="neighbors", integrate="grid").fit(X, y)
    with pytest.raises(Unsupported, match="several outputs"):
        hg.GPRegressor(S2, inference="neighbors").fit(X, np.column_stack([y, y]))
    with pytest.raises(InvalidInput, match="neighbors"):
        hg.GPClassifier(S2, inference="neighbors").fit(X, y > 3)
    with pytest.raises(InvalidInput, match=r"inference = Neighbors\(tolerance=0.01\) is not known"):
        hg.GPClassifier(S2, inference=hg.Neighbors()).fit(X, y > 3)


@pytest.mark.parametrize("tolerance", [0.0, 1.0, -0.1, np.nan, "1e-2", None])
def test_the_tolerance_is_a_number_between_zero_and_one(tolerance):
    with pytest.raises(InvalidInput, match="must be a number between 0 and 1"):
        hg.Neighbors(tolerance=tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("smoothness, time", [(np.inf, 0.001), (1.5, 0.01)])
def test_rough_functions_of_many_data_are_learned_and_covered(smoothness, time):
    """By the model that inference="auto" makes."""
    X, y, new, truth = problem(S2, 7000, smoothness=smoothness, time=time)
    model = hg.GPRegressor(S2, smoothness=smoothness).fit(X, y)
    assert 0.7 < model.time_ / time < 1.4
    mean, std = model.predict(new, return_std=True)
    covered = np.mean(np.abs(mean - truth) < 1.6448536 * std)
    assert abs(covered - 0.9) < 4 * np.sqrt(0.09 / len(new))


@pytest.fixture
def few_points(monkeypatch):
    """1,000 data are many, and 150 inducing points all there may be."""
    monkeypatch.setattr(plan, "DENSE", 100)
    for name, value in {"DENSE": 100, "ROUGH": 150, "MOST": 200}.items():
        monkeypatch.setattr(fit, name, value)
    monkeypatch.setattr(sparse_regression, "DENSE_AT_LAST", 100)
    return monkeypatch


def automatic(time):
    X, y, *_ = problem(S2, 1000, time=time)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = hg.GPRegressor(S2, **GIVEN | {"time": time}).fit(X, y)
    return model.posterior_.structure, [str(each.message) for each in caught]


def test_neighbors_take_the_place_of_inducing_points_that_are_too_few(few_points):
    assert isinstance(automatic(1.0)[0], SparseData)
    structure, said = automatic(0.005)
    assert isinstance(structure, posterior.NeighborData)
    assert not said


def test_a_dense_model_is_the_last_one_of_not_too_many_data(few_points):
    few_points.setattr(sparse_regression, "UNSETTLED", -1.0)
    few_points.setattr(sparse_regression, "MOSTLY", -1.0)
    structure, (said,) = automatic(0.005)
    assert isinstance(structure, posterior.NeighborData)
    assert "of predictions still change" in said
    few_points.setattr(sparse_regression, "DENSE_AT_LAST", 1000)
    structure, said = automatic(0.005)
    assert type(structure) is AllData
    assert not said


@pytest.mark.slow
def test_the_smoothness_is_learned():
    X, y, _, _ = problem(S2, 5000, smoothness=1.5, time=0.01)
    assert hg.GPRegressor(S2, smoothness="learn", inference="neighbors").fit(X, y).smoothness_ == 1.5


def test_a_covariance_that_is_none_is_refused():
    X, kernel, time, places = model("S2")
    order, rows = np.arange(len(X)), np.arange(len(X))
    values = covariances(kernel, X, Neighborhoods(rows, places.before(order, rows, 8), len(X))).at(time).value
    with pytest.raises(NotPositiveDefinite, match="60 points"):
        NeighborFactor.of(-1.0 * values, 1e3)


def test_newton_from_fewer_data_ends_where_the_search_ends(monkeypatch):
    X, y, *_ = problem(S2, 1500, smoothness=1.5)
    monkeypatch.setattr(posterior, "CHOOSING", 400)
    options = {"smoothness": 1.5, "inference": "neighbors"}
    quick = hg.GPRegressor(S2, **options).fit(X, y)
    monkeypatch.setattr(search, "newton", lambda *arguments: None)
    usual = hg.GPRegressor(S2, **options).fit(X, y)
    np.testing.assert_allclose(quick.fit_.log_marginal_likelihood, usual.fit_.log_marginal_likelihood, atol=1e-3)
    np.testing.assert_allclose(quick.time_, usual.time_, rtol=1e-2)
    assert quick.fit_.evaluations < usual.fit_.evaluations


INPUTS = {
    "one datum": (np.zeros(1, int), np.r_[1.0]),
    "two data": (np.r_[0, 1], np.r_[1.0, 2.0]),
    "two data at one point": (np.r_[0, 0], np.r_[1.0, 2.0]),
    "fewer data than neighbors": (np.arange(20), np.sin(np.arange(20))),
    "one point with different values": (np.zeros(300, int), np.sin(np.arange(300))),
    "two points with different values": (np.arange(300) % 2, np.sin(np.arange(300))),
    "points that are seen five times": (np.arange(300) % 60, np.sin(np.arange(300))),
}


@pytest.mark.parametrize("smoothness", [0.5, np.inf])
@pytest.mark.parametrize("rows, y", INPUTS.values(), ids=INPUTS)
def test_few_and_repeated_data_are_the_dense_model_or_a_warning_says_so(rows, y, smoothness):
    """Of 300 data at one point a prediction sees no more than 240."""
    X, _, new, _ = problem(S2, 60)
    options = {"mean": 0.5, "smoothness": smoothness, "time": 0.3}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        models = both(S2, X[rows], y, **options)
    unsettled = models[0].approximation_.unsettled > sparse_regression.UNSETTLED
    assert unsettled == any("of predictions still change" in str(each.message) for each in caught)
    if not unsettled:
        are_near(models, np.vstack([new[:50], X[:3]]))


def test_many_repeated_points_are_near_the_dense_model_or_a_warning_says_no():
    X, _, new, _ = problem(S2, 150)
    rows = np.random.default_rng(1).integers(0, 150, 1500)
    y = np.sin(6 * X[rows, 0]) + 0.3 * np.random.default_rng(2).standard_normal(1500)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        models = both(S2, X[rows], y, mean=0.0)
    unsettled = any("of predictions still change" in str(each.message) for each in caught)
    assert unsettled == (models[0].approximation_.unsettled > sparse_regression.UNSETTLED)
    if not unsettled:
        are_near(models, new)
