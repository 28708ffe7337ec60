"""Sparse regression beside the dense one, which it equals where every datum is an inducing point."""

import pickle
import warnings

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

import heatgp as hg
from gp_kernels import points_of
from heatgp.errors import AccuracyWarning, CostWarning, InvalidInput, Unsupported
from heatgp.estimators.plan import is_sparse
from heatgp.gp.gradients import evidence_gradient
from heatgp.gp.kernels import Normalized
from heatgp.gp.parameters import Given, Params
from heatgp.gp.pivoted import pivoted_cholesky
from heatgp.gp.posterior import condition
from heatgp.gp.search import Bounds
from heatgp.gp.sparse.fit import Problem, SparseOptions, fit_sparse
from heatgp.gp.sparse.inducing import InducedKernel, Inducing
from heatgp.gp.sparse.regression import SparseData, condition_sparse, sparse_objective
from heatgp.gp.sparse.source import Chunk, Source, collected

S2 = hg.Sphere(2)
KERNEL = Normalized(hg.heat_kernel(S2))


def problem(number=200, seed=0, noise=0.1):
    rng = np.random.default_rng(seed)
    X = S2.random(rng, number)
    return X, 5 + np.sin(3 * X[:, 0]) * X[:, 1] + noise * rng.standard_normal(number)


def source_of(X, y, basis=None, noise=None):
    basis = np.ones((len(X), 1)) if basis is None else basis
    return Source(len(X), lambda rows: Chunk(X[rows], y[rows], basis[rows], None if noise is None else noise[rows]))


def sparse_data(X, y, time, tolerance=0.0, limit=10_000, scale=None, **data):
    inducing = Inducing.of(KERNEL, X, time, tolerance, limit)
    source = source_of(X, y, **data)
    start = np.zeros(source.read(slice(0, 1)).basis.shape[1])
    return SparseData(inducing, collected(source, inducing, start), start, coefficient_scale=scale)


@pytest.mark.parametrize("limit", [3, 20, 60])
def test_pivoted_cholesky_leaves_the_residual_of_the_points_that_it_chose(limit):
    K = KERNEL.pairs(problem(60)[0]).at(0.05).value
    F, chosen, left = pivoted_cholesky(lambda i: K[:, i], np.diagonal(K), lambda rank: 1e-12, limit)
    projected = K[:, chosen] @ np.linalg.solve(K[np.ix_(chosen, chosen)], K[chosen])
    np.testing.assert_allclose(F @ F.T, projected, atol=1e-8)
    np.testing.assert_allclose(left, np.diagonal(K - projected), atol=1e-8)
    np.testing.assert_allclose(F[chosen], np.tril(F[chosen]))
    assert len(set(chosen)) == len(chosen) <= limit


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", [None, 2.0])
def test_all_data_as_inducing_points_is_the_dense_model(weighted, scale):
    X, y = problem(60)
    basis = np.column_stack([np.ones(60), X[:, :1]])
    noise = np.random.default_rng(1).uniform(0.5, 2.0, 60) if weighted else None
    data = sparse_data(X, y, 0.1, basis=basis, noise=noise, scale=scale)
    new = S2.random(np.random.default_rng(2), 30)
    for time in (0.1, 0.4):
        params = Params(time, 1.3, 0.02)
        dense = condition(KERNEL, X, y, params, basis, noise_scale=noise, coefficient_scale=scale)
        sparse = condition_sparse(data, params)
        np.testing.assert_allclose(sparse.log_marginal_likelihood, dense.log_marginal_likelihood, atol=1e-5)
        np.testing.assert_allclose(sparse.approximation.upper, dense.log_marginal_likelihood, atol=1e-3)
        np.testing.assert_allclose(sparse.coefficients, dense.coefficients, atol=1e-6)
        np.testing.assert_allclose(sparse.coefficient_errors, dense.coefficient_errors, atol=1e-6)
        values = np.column_stack([np.ones(30), new[:, :1]])
        ours, theirs = sparse.with_basis(values), dense.with_basis(values)
        for found, expected in zip(ours.moments(new, noise=True), theirs.moments(new, noise=True)):
            np.testing.assert_allclose(found, expected, atol=1e-6)
        np.testing.assert_allclose(ours.covariance(new), theirs.covariance(new), atol=1e-6)
        np.testing.assert_allclose(ours.mean(new), theirs.mean(new), atol=1e-6)


@pytest.mark.parametrize("limit", [5, 15, 30])
def test_bounds_of_the_evidence(limit):
    # at the time of the inducing points, where the sample is all data, the bound is that of Titsias (2009)
    X, y = problem(80)
    y = y - 5
    data = sparse_data(X, y, 0.2, limit=limit, basis=np.empty((80, 0)))
    sparse, K = condition_sparse(data, Params(0.2, 1.0, 0.05)), KERNEL.pairs(X).at(0.2).value
    few = KERNEL.pairs(X, data.inducing.points).at(0.2).value
    Q = few @ np.linalg.solve(KERNEL.pairs(data.inducing.points).at(0.2).value, few.T)
    bound = multivariate_normal(np.zeros(80), Q + 0.05 * np.eye(80)).logpdf(y) - np.trace(K - Q) / (2 * 0.05)
    np.testing.assert_allclose(sparse.log_marginal_likelihood, bound, rtol=1e-6)
    exact = multivariate_normal(np.zeros(80), K + 0.05 * np.eye(80)).logpdf(y)
    found = sparse.approximation
    assert bound <= exact <= found.upper
    assert found.inducing == limit
    assert found.gap == found.upper - sparse.log_marginal_likelihood
    np.testing.assert_allclose(found.residual, np.trace(K - Q) / 80, rtol=1e-6)
    posterior = Q @ np.linalg.solve(Q + 0.05 * np.eye(80), 0.05 * np.eye(80))
    np.testing.assert_allclose(found.variance, np.trace(posterior) / 80, rtol=1e-6)
    mean, variance = sparse.moments(X)
    np.testing.assert_allclose(mean, Q @ np.linalg.solve(Q + 0.05 * np.eye(80), y), atol=1e-6)
    # what is missed counts as noise of the mean eigenvalue, each with its own weight
    missed = np.square(K - Q).sum() / np.trace(K - Q)
    wider = Q @ np.linalg.solve(Q + (0.05 + missed) * np.eye(80), (0.05 + missed) * np.eye(80))
    np.testing.assert_allclose(variance, np.diagonal(K - Q + wider), atol=1e-6)


def test_the_covariance_is_that_of_the_features():
    X, _ = problem(30)
    kernel = InducedKernel(Inducing.of(KERNEL, X, 0.1, 0.0, 12))
    features, Z = kernel.features(X).at(0.3).value, kernel.inducing.points
    cross, own = KERNEL.pairs(X, Z).at(0.3).value, KERNEL.pairs(Z).at(0.3).value
    np.testing.assert_allclose(kernel.pairs(X).at(0.3).value, features @ features.T)
    np.testing.assert_allclose(features @ features.T, cross @ np.linalg.solve(own, cross.T), atol=1e-6)


@pytest.mark.parametrize("limit", [15, 200])
def test_gradients_are_differences(limit):
    data = sparse_data(*problem(), 0.1, limit=limit)
    given = Given.of(KERNEL, None, None, None)
    objective = sparse_objective(data, Bounds((0.01, 10.0)), given, "weak")
    z, step = np.log([0.3, 0.05]), 1e-4
    differences = [(objective(z + e)[0] - objective(z - e)[0]) / (2 * step) for e in step * np.eye(2)]
    np.testing.assert_allclose(objective(z)[1], differences, rtol=1e-4, atol=1e-4)
    values = np.log([0.3, 0.7, 0.05])

    def evidence(logs):
        return condition_sparse(data, Params(*np.exp(logs))).log_marginal_likelihood

    differences = [(evidence(values + e) - evidence(values - e)) / (2 * step) for e in step * np.eye(3)]
    found = evidence_gradient(condition_sparse(data, Params(*np.exp(values))))
    np.testing.assert_allclose(found, differences, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("manifold", "options"),
    [
        (S2, {}),
        pytest.param(hg.ComplexProjective(2), {}, marks=pytest.mark.slow),
        pytest.param(hg.Torus(2), {}, marks=pytest.mark.slow),
        pytest.param(hg.SpecialOrthogonal(3), {}, marks=pytest.mark.slow),
        pytest.param(S2, {"smoothness": 2.5}, marks=pytest.mark.slow),
        pytest.param(hg.Product(S2, hg.Euclidean(1)), {}, marks=pytest.mark.slow),
        (hg.Euclidean(2), {"mean": "linear", "time": "coordinates"}),
    ],
    ids=["S2", "CP2", "T2", "SO3", "Matern", "product", "coordinates"],
)
def test_predictions_are_those_of_the_dense_model(manifold, options):
    rng = np.random.default_rng(0)
    X = points_of(manifold, rng, 700)
    E = np.asarray(manifold.embed(X)).reshape(700, -1)
    f = np.cos(E @ rng.normal(size=(E.shape[1], 10)) + rng.uniform(0, 6, 10)) @ rng.normal(size=10)
    y = f + 0.3 * rng.standard_normal(700)
    # with a number of inducing points by hand the model is sparse where half of the data are inducing points, too
    sparse = hg.GPRegressor(manifold, inference=hg.Sparse(600), **options).fit(X[:600], y[:600])
    known = {"time": sparse.time_, "amplitude": sparse.amplitude_, "noise": sparse.noise_}
    dense = hg.GPRegressor(manifold, inference="dense", **(options | known)).fit(X[:600], y[:600])
    free = hg.GPRegressor(manifold, inference="dense", **options).fit(X[:600], y[:600])
    assert free.log_marginal_likelihood() - dense.log_marginal_likelihood() < 0.5  # as good as what dense finds
    mean, deviation = sparse.predict(X[600:], return_std=True)
    expected, spread = dense.predict(X[600:], return_std=True)
    np.testing.assert_allclose(mean, expected, atol=1e-2 * np.sqrt(sparse.amplitude_))
    np.testing.assert_allclose(deviation, spread, rtol=0.02)
    found = sparse.approximation_  # points are added until they leave tolerance / 10 of the posterior variance
    assert abs(found.lower - dense.log_marginal_likelihood()) < 0.01 / 10 * found.inducing


@pytest.mark.slow
def test_a_sum_of_kernels_has_weights_that_are_no_times():
    rng = np.random.default_rng(0)
    M = hg.Product(S2, hg.Euclidean(1))
    X = points_of(M, rng, 600)
    y = np.sin(3 * X[:, 0]) + np.cos(2 * X[:, 3]) + 0.1 * rng.standard_normal(600)
    kernel = hg.heat_kernel(S2).on(M, 0) + hg.heat_kernel(hg.Euclidean(1)).on(M, 1)
    sparse, dense = (hg.GPRegressor(M, kernel=kernel, inference=name).fit(X, y) for name in ("sparse", "dense"))
    assert sparse.approximation_ is not None
    assert dense.log_marginal_likelihood() - sparse.log_marginal_likelihood() < 0.5
    np.testing.assert_allclose(sparse.predict(X[:20]), dense.predict(X[:20]), atol=0.02)


def test_parts_of_the_data_add_up():
    X, y = problem(600)
    points = X[:150]
    options = {"inference": hg.Sparse(points), "time": 0.3, "amplitude": 1.0, "noise": 0.01}
    whole = hg.GPRegressor(S2, **options).fit(X, y)
    parts = hg.GPRegressor(S2, **options)
    for start in (0, 100, 350):
        end = {0: 100, 100: 350, 350: 600}[start]
        parts.partial_fit(X[start:end], y[start:end])
    assert parts.posterior_.count == 600
    for found, expected in zip(parts.predict(X[:20], return_std=True), whole.predict(X[:20], return_std=True)):
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    learned = (
        hg.GPRegressor(S2, inference=hg.Sparse(points)).partial_fit(X[:200], y[:200]).partial_fit(X[200:], y[200:])
    )
    best = hg.GPRegressor(S2, inference="dense").fit(X, y)
    np.testing.assert_allclose([learned.time_, learned.noise_], [best.time_, best.noise_], rtol=0.05)


def test_new_data_off_the_inducing_points_are_said():
    X, y = problem(600)
    near, far = X[:, 2] > 0.5, X[:, 2] < -0.5
    gp = hg.GPRegressor(S2, time=0.05, amplitude=1.0, noise=0.01).partial_fit(X[near], y[near])
    with pytest.warns(AccuracyWarning, match="new data"):
        gp.partial_fit(X[far], y[far])


def true_deviations(gp, X, y, new, noise):
    """The root mean square errors of the means at new points, exact under the model: the means are W y."""
    time = gp.time_
    features = gp.posterior_.structure.inducing.features(X) @ gp.posterior_.kernel.root(time)
    weighted = features.T / noise
    inner = np.eye(len(weighted)) + weighted @ features
    W = gp.posterior_.kernel.features(new).at(time).value @ np.linalg.solve(inner, weighted)
    np.testing.assert_allclose(W @ y, gp.predict(new), atol=1e-6)
    cross, K = KERNEL.pairs(new, X).at(time).value, KERNEL.pairs(X).at(time).value
    return np.sqrt(1 - 2 * (W * cross).sum(axis=1) + ((W @ K) * W).sum(axis=1) + W**2 @ noise)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("time, inducing", [(0.1, 10), (0.1, 30), (0.1, 100), (0.3, 10), (0.3, 30), (1.0, 10)])
def test_few_inducing_points_are_not_overconfident(time, inducing, known):
    X, y = problem(800)
    X, y, new = X[:600], y[:600], X[600:]
    noise = np.where(X[:, 0] > 0.8, 1e-3, 0.3) if known else np.full(600, 0.04)
    options = {"time": time, "amplitude": 1.0, "noise": noise if known else 0.04, "mean": "zero"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        few = hg.GPRegressor(S2, inference=hg.Sparse(inducing), **options).fit(X, y)
    dense = hg.GPRegressor(S2, inference="dense", **options).fit(X, y)
    (_, deviation), (_, least) = (gp.predict(new, return_std=True) for gp in (few, dense))
    assert np.all(deviation > 0.95 * least)
    covered = 2 * norm.cdf(norm.ppf(0.95) * deviation / true_deviations(few, X, y, new, noise)) - 1
    assert covered.mean() > 0.88


def test_points_by_hand_are_judged_by_the_data():
    X, y = problem(600)
    options = {"time": 0.1, "amplitude": 1.0, "noise": 0.04}
    with pytest.warns(AccuracyWarning, match="10 inducing points leave"):
        chosen = hg.GPRegressor(S2, inference=hg.Sparse(10), **options).fit(X, y)
    with pytest.warns(AccuracyWarning, match="10 inducing points leave"):
        given = hg.GPRegressor(S2, inference=hg.Sparse(chosen.posterior_.X), **options).fit(X, y)
    for name in ("lower", "upper", "residual"):
        np.testing.assert_allclose(*(getattr(gp.approximation_, name) for gp in (chosen, given)))
    np.testing.assert_allclose(*(gp.predict(X[:20], return_std=True)[1] for gp in (chosen, given)))


def test_few_inducing_points_are_said_and_what_they_miss_counts_as_noise():
    X, y = problem(2600)
    with pytest.warns(
        AccuracyWarning,
        match=r"10 inducing points leave .* more points.* inference=Sparse\(inducing=\.\.\., tolerance=",
    ):
        few = hg.GPRegressor(S2, inference=hg.Sparse(10)).fit(X[:600], y[:600])
    known = {"time": few.time_, "amplitude": few.amplitude_, "noise": few.noise_}
    dense = hg.GPRegressor(S2, inference="dense", **known).fit(X[:600], y[:600])
    (_, deviation), (_, least) = (gp.predict(X, return_std=True) for gp in (few, dense))
    assert np.all(deviation > 0.95 * least)
    low, high = few.predict_interval(X[600:], level=0.9)
    covered = np.mean((low < y[600:]) & (y[600:] < high))
    assert covered > 0.9 - 4 * np.sqrt(0.09 / 2000)
    assert few.score(X[600:], y[600:]) > 0


def test_the_shortest_time_is_what_the_number_of_points_allows_and_that_is_said(monkeypatch):
    X, _ = problem(5000)
    y = np.sin(5 * X[:, 0]) * np.sin(5 * X[:, 1]) + 0.1 * np.random.default_rng(1).standard_normal(5000)
    free = hg.GPRegressor(S2, inference="sparse").fit(X, y)
    enough = hg.GPRegressor(S2, inference=hg.Sparse(free.approximation_.inducing - 10)).fit(X, y)
    assert free.approximation_.shortest_time < enough.approximation_.shortest_time < free.time_
    np.testing.assert_allclose(enough.time_, free.time_, rtol=1e-3)
    long = Params(1.0, 1.0, 0.01)
    monkeypatch.setattr("heatgp.gp.sparse.fit.guessed", lambda *_: [long])
    with pytest.warns(AccuracyWarning, match="inducing points are too few for times below .* inference=Sparse"):
        few = hg.GPRegressor(S2, inference=hg.Sparse(150)).fit(X, y)
    assert few.approximation_.inducing < 150
    assert few.time_ > free.time_


def test_the_time_is_learned_with_points_by_hand_as_with_their_number():
    X, y = problem(600)
    with pytest.warns(AccuracyWarning, match="15 inducing points"):
        chosen = hg.GPRegressor(S2, inference=hg.Sparse(15)).fit(X, y)
    with pytest.warns(AccuracyWarning, match="15 inducing points"):
        given = hg.GPRegressor(S2, inference=hg.Sparse(chosen.posterior_.X)).fit(X, y)
    np.testing.assert_allclose(given.approximation_.lower, chosen.approximation_.lower, atol=1.0)
    np.testing.assert_allclose(given.time_, chosen.time_, rtol=0.1)


def test_more_data_than_the_points_are_enough_for_are_said():
    X, y = problem(20_000)
    gp = hg.GPRegressor(S2).partial_fit(X[:100], y[:100])
    with pytest.warns(AccuracyWarning, match="inducing points leave"):
        gp.partial_fit(X[100:], y[100:])


def test_a_sparse_model_is_small_and_the_same_after_pickling():
    X, y = problem(3000)
    gp = hg.GPRegressor(S2, inference="sparse").fit(X, y)
    written = pickle.dumps(gp)
    assert len(written) < 3_000_000
    again = pickle.loads(written)
    np.testing.assert_allclose(again.predict(X[:5]), gp.predict(X[:5]), rtol=1e-12)
    again.partial_fit(X[:10], y[:10])
    assert f"N = 3000, sparse, {gp.approximation_.inducing} inducing points" in str(gp.summary())
    assert again.posterior_.count == 3010


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"inference": "fast"}, InvalidInput, "inference = 'fast' is not known"),
        ({"inference": "sparse", "normalize": False}, Unsupported, "normalize=False"),
        ({"inference": "neighbors", "likelihood": "student-t"}, Unsupported, "not normal"),
        ({"inference": "sparse", "noise": 0.0}, Unsupported, "not possible with noise=0"),
        ({"inference": hg.Sparse([[2.0, 0.0, 0.0]])}, InvalidInput, r"inducing\[0\] is not on Sphere"),
    ],
)
def test_bad_input(options, error, message):
    X, y = problem(30)
    with pytest.raises(error, match=message):
        hg.GPRegressor(S2, **options).fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tolerance": 2.0}, "tolerance = 2.0 must be"),
        ({"inducing": 0}, "inducing = 0 must be"),
        ({"inducing": "all"}, "inducing = 'all' must be"),
        ({"inducing": np.empty((0, 3))}, "inducing has no point"),
    ],
)
def test_options_are_checked_at_once(options, message):
    with pytest.raises(InvalidInput, match=message):
        hg.Sparse(**options)


def test_a_sparse_model_is_dense_where_all_data_would_be_inducing_points():
    X, y = problem(300)
    gp = hg.GPRegressor(S2, inference="sparse", time=1e-3, amplitude=1.0, noise=0.01).fit(X, y)
    assert gp.approximation_ is None
    np.testing.assert_array_equal(gp.loo(), hg.GPRegressor(S2, time=1e-3, amplitude=1.0, noise=0.01).fit(X, y).loo())


def test_many_data_of_a_model_that_is_never_sparse_are_said():
    with pytest.warns(CostWarning, match="5,000 points .* several outputs. Fit one model for each output"):
        assert not is_sparse("auto", 5000, {"several outputs": True})
    for inference, number in (("dense", 5000), ("auto", 4000)):
        assert not is_sparse(inference, number, {"several outputs": True})
    assert is_sparse("auto", 5000, {"several outputs": False})


def test_what_a_sparse_model_has_not():
    X, y = problem(100)
    gp = hg.GPRegressor(S2, inference="sparse", time=0.5, amplitude=1.0, noise=0.1).fit(X, y)
    with pytest.raises(Unsupported, match="leave-one-out"):
        gp.loo()
    dense = hg.GPRegressor(S2, time=0.5, amplitude=1.0, noise=0.1)
    with pytest.raises(Unsupported, match="partial_fit from the first data on"):
        dense.fit(X, y, covariates=X[:, :1]).partial_fit(X, y)
    assert dense.fit(X, y).partial_fit(X, y).posterior_.count == 200
    with pytest.raises(InvalidInput, match=r"X has shape \(0, 3\): no point"):
        gp.partial_fit(X[:0], y[:0])


def test_short_times_are_looked_for_where_the_subset_misses_them(monkeypatch):
    # a subset of few data does not see what varies quickly: the search goes on to shorter times
    monkeypatch.setattr("heatgp.gp.sparse.fit.SUBSET", 40)
    rng = np.random.default_rng(0)
    X = S2.random(rng, 500)
    y = np.sin(5 * X[:, 0]) * np.sin(5 * X[:, 1]) + 0.1 * rng.standard_normal(500)
    given, bounds = Given.of(KERNEL, None, None, None), Bounds((1e-3, 10.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = fit_sparse(Problem(KERNEL, source_of(X, y), bounds, given), SparseOptions(always=True))
    dense = hg.GPRegressor(S2, inference="dense", priors=None).fit(X, y)
    np.testing.assert_allclose(found.params.time, dense.time_, rtol=0.05)
    assert found.fit.params == found.params
    assert found.data.statistics.count == 500
