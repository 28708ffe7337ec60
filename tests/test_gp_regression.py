"""Regression against the textbook's formulas written out, and against scikit-learn."""

import pickle

import numpy as np
import pytest
import sklearn.gaussian_process.kernels as sk
from scipy.linalg import null_space
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor

from gp_kernels import RBF, Cosines, Full
from heatgp.errors import InvalidInput, NotPositiveDefinite
from heatgp.gp.factors import Dense
from heatgp.gp.kernels import Normalized, Precomputed
from heatgp.gp.parameters import Params
from heatgp.gp.posterior import condition
from heatgp.gp.scores import coverage

PARAMS = Params(time=0.7, amplitude=1.3, noise=0.02)


@pytest.fixture
def data():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 2))
    return X, np.sin(2 * X[:, 0]) + 3.0 + 0.1 * rng.normal(size=40), rng.normal(size=(9, 2))


def covariances(X, Z):
    K = PARAMS.amplitude * RBF().pairs(X).at(PARAMS.time).value + PARAMS.noise * np.eye(len(X))
    cross = PARAMS.amplitude * RBF().pairs(Z, X).at(PARAMS.time).value
    return K, cross, PARAMS.amplitude * RBF().pairs(Z).at(PARAMS.time).value


def test_equals_scikit_learn(data):
    X, y, Z = data
    model = GaussianProcessRegressor(sk.ConstantKernel(1.3) * sk.RBF(np.sqrt(0.7)), alpha=0.02, optimizer=None).fit(
        X, y
    )
    mean, covariance = model.predict(Z, return_cov=True)
    posterior = condition(RBF(), X, y, PARAMS, mean="zero")
    np.testing.assert_allclose(posterior.mean(Z), mean, atol=1e-8)
    np.testing.assert_allclose(posterior.covariance(Z), covariance, atol=1e-8)
    np.testing.assert_allclose(posterior.moments(Z)[1], np.diag(covariance), atol=1e-8)
    np.testing.assert_allclose(posterior.log_marginal_likelihood, model.log_marginal_likelihood_value_, atol=1e-8)


def test_constant_mean_is_a_flat_prior_on_the_constant(data):
    # a constant with prior variance b -> infinity is one more term b of the kernel (R&W section 2.7)
    X, y, Z = data
    K, cross, prior = covariances(X, Z)
    b = 1e7
    solved = np.linalg.solve(K + b, np.column_stack([y, (cross + b).T]))
    posterior = condition(RBF(), X, y, PARAMS)
    np.testing.assert_allclose(posterior.mean(Z), (cross + b) @ solved[:, 0], atol=1e-5)
    np.testing.assert_allclose(posterior.covariance(Z), prior + b - (cross + b) @ solved[:, 1:], atol=1e-5)
    np.testing.assert_allclose(posterior.moments(Z)[1], np.diag(posterior.covariance(Z)), atol=1e-12)


def test_the_constant_is_integrated_out(data):
    """By quadrature; columns of length one have a flat prior of density one, so the constant counts root N times."""
    X, y, Z = data
    K, _, _ = covariances(X, Z)
    posterior = condition(RBF(), X, y, PARAMS)
    levels = posterior.coefficients[0] + posterior.coefficient_covariance[0, 0] ** 0.5 * np.linspace(-9, 9, 201)
    logs = [multivariate_normal.logpdf(y, np.full(len(y), level), K) for level in levels]
    integral = logsumexp(logs) + np.log((levels[1] - levels[0]) * np.sqrt(len(y)))
    np.testing.assert_allclose(posterior.log_marginal_likelihood, integral, atol=1e-9)


def test_the_evidence_is_that_of_contrasts(data):
    """Of N - q combinations of y that do not see the basis: whatever the units of the basis functions."""
    X, y, Z = data
    K, _, _ = covariances(X, Z)
    H = np.column_stack([np.ones(40), X])
    contrasts = null_space(H.T)
    expected = multivariate_normal.logpdf(contrasts.T @ y, cov=contrasts.T @ K @ contrasts)
    for scale in (1.0, 1e6, [1.0, 1e-3, 1e5]):
        found = condition(RBF(), X, y, PARAMS, H * scale)
        np.testing.assert_allclose(found.log_marginal_likelihood, expected, rtol=1e-9)


@pytest.mark.parametrize("width", [None, 0.7, [np.inf, 0.7, 2.0]], ids=["flat", "wide", "mixed"])
@pytest.mark.parametrize("kernel", [RBF(), Normalized(Cosines())], ids=["dense", "low rank"])
def test_a_basis_is_a_kernel_of_its_own(data, kernel, width):
    """Coefficients of variance b add H b H' to the covariance (R&W, eq. 2.39); a flat prior is b -> infinity."""
    X, y, Z = data
    X, Z = X[:, :1], Z[:, :1]
    H, new = (np.column_stack([np.ones(len(P)), P[:, 0], P[:, 0] ** 2]) for P in (X, Z))
    scales = np.geomspace(0.5, 2.0, 40)
    posterior = condition(kernel, X, y, PARAMS, H, noise_scale=scales, coefficient_scale=width).with_basis(new)
    b = np.diag(np.minimum(np.broadcast_to(np.inf if width is None else width, 3), 3e3) ** 2)
    C = PARAMS.amplitude * kernel.pairs(X).at(PARAMS.time).value + PARAMS.noise * np.diag(scales) + H @ b @ H.T
    cross = PARAMS.amplitude * kernel.pairs(Z, X).at(PARAMS.time).value + new @ b @ H.T
    prior = PARAMS.amplitude * kernel.pairs(Z).at(PARAMS.time).value + new @ b @ new.T
    tolerance = {"rtol": 1e-4, "atol": 1e-4}
    np.testing.assert_allclose(posterior.mean(Z), cross @ np.linalg.solve(C, y), **tolerance)
    covariance = prior - cross @ np.linalg.solve(C, cross.T)
    np.testing.assert_allclose(posterior.covariance(Z), covariance, **tolerance)
    np.testing.assert_allclose(posterior.moments(Z)[1], np.diag(covariance), **tolerance)
    coefficients = b @ H.T @ np.linalg.solve(C, y)
    np.testing.assert_allclose(posterior.coefficients, coefficients, **tolerance)
    np.testing.assert_allclose(posterior.coefficient_covariance, b - b @ H.T @ np.linalg.solve(C, H @ b), **tolerance)
    if width == 0.7:
        expected = multivariate_normal.logpdf(y, cov=C)
        np.testing.assert_allclose(posterior.log_marginal_likelihood, expected, rtol=1e-9)


def test_coefficients_are_generalised_least_squares(data):
    X, y, Z = data
    K, _, _ = covariances(X, Z)
    H = np.column_stack([np.ones(40), X[:, 0], 1e4 + 1e-3 * X[:, 1]])
    found = condition(RBF(), X, y, PARAMS, H)
    white = np.linalg.solve(np.linalg.cholesky(K), np.column_stack([H, y]))
    expected = np.linalg.lstsq(white[:, :3], white[:, 3])[0]  # H'C^-1 H would lose all digits
    np.testing.assert_allclose(found.coefficients, expected, rtol=1e-6)
    inverse = np.linalg.inv(np.linalg.qr(white[:, :3])[1])
    np.testing.assert_allclose(found.coefficient_covariance, inverse @ inverse.T, rtol=1e-6)


def test_known_noise_equals_scikit_learn(data):
    X, y, Z = data
    variances = np.geomspace(1e-3, 1.0, 40)
    kernel = sk.ConstantKernel(1.3) * sk.RBF(np.sqrt(0.7))
    model = GaussianProcessRegressor(kernel, alpha=variances, optimizer=None).fit(X, y)
    mean, std = model.predict(Z, return_std=True)
    posterior = condition(RBF(), X, y, Params(0.7, 1.3, 1.0), "zero", noise_scale=variances)
    np.testing.assert_allclose(posterior.moments(Z), [mean, std**2], atol=1e-8)
    np.testing.assert_allclose(posterior.log_marginal_likelihood, model.log_marginal_likelihood_value_, atol=1e-8)
    noise = np.linspace(0, 1, 9)
    np.testing.assert_allclose(posterior.moments(Z, noise=noise)[1], std**2 + noise, atol=1e-8)
    np.testing.assert_allclose(np.diag(posterior.covariance(Z, noise=noise)), std**2 + noise, atol=1e-8)
    with pytest.raises(InvalidInput, match="noise must be True, False or the variances at 9 new points"):
        posterior.moments(Z, noise=-noise)


def test_a_weight_is_a_number_of_repetitions(data):
    """For the posterior of f at given parameters; the evidence of copies has their differences too, all 0."""
    X, y, Z = data
    weights = np.random.default_rng(0).integers(1, 4, 40)
    weighted = condition(RBF(), X, y, PARAMS, noise_scale=1 / weights)
    repeated = condition(RBF(), X.repeat(weights, axis=0), y.repeat(weights), PARAMS)
    np.testing.assert_allclose(weighted.moments(Z), repeated.moments(Z), rtol=1e-9)
    # orthonormal differences of w copies are noise; sums over root w have root w times the column of the constant
    copies = (
        np.sum(weights - 1) * np.log(2 * np.pi * PARAMS.noise) + np.log(weights).sum() + np.log(len(y) / weights.sum())
    )
    difference = weighted.log_marginal_likelihood - repeated.log_marginal_likelihood
    np.testing.assert_allclose(difference, copies / 2, rtol=1e-9)


def test_given_mean_shifts(data):
    X, y, Z = data
    shifted = condition(RBF(), X, y, PARAMS, mean=3.0)
    plain = condition(RBF(), X, y - 3.0, PARAMS, mean="zero")
    np.testing.assert_allclose(shifted.mean(Z), plain.mean(Z) + 3.0, atol=1e-12)
    np.testing.assert_allclose(shifted.moments(Z)[1], plain.moments(Z)[1], atol=1e-14)


@pytest.mark.parametrize("mean", ["zero", "constant", 2.5, "linear"])
@pytest.mark.parametrize("kernel", [RBF(), Normalized(Cosines())], ids=["dense", "low rank"])
def test_leave_one_out_is_refitting_without_one(data, mean, kernel):
    X, y, _ = data
    X = X[:, :1]
    H, scales = np.column_stack([np.ones(40), X]), np.geomspace(0.5, 3.0, 40)
    means, variances = condition(kernel, X, y, PARAMS, H if mean == "linear" else mean, noise_scale=scales).loo()
    for i in (0, 7, 39):
        others = np.arange(len(y)) != i
        some = H[others] if mean == "linear" else mean
        posterior = condition(kernel, X[others], y[others], PARAMS, some, noise_scale=scales[others])
        posterior = posterior.with_basis(H[i : i + 1]) if mean == "linear" else posterior
        expected, variance = posterior.moments(X[i : i + 1], PARAMS.noise * scales[i])
        np.testing.assert_allclose([means[i], variances[i]], [expected[0], variance[0]], rtol=1e-8)


@pytest.mark.parametrize("kernel", [Cosines(), Normalized(Cosines())], ids=["plain", "normalized"])
@pytest.mark.parametrize("mean", ["zero", "constant"])
def test_low_rank_equals_dense(kernel, mean):
    rng = np.random.default_rng(2)
    X, Z = rng.uniform(0, 6, size=(50, 1)), np.linspace(0, 6, 9)[:, None]
    y = np.sin(2 * X[:, 0]) + 3 + 0.1 * rng.normal(size=50)
    low, dense = (condition(k, X, y, Params(0.3, 1.3, 0.01), mean=mean) for k in (kernel, Full(kernel)))
    assert type(low.factor) is not type(dense.factor)
    np.testing.assert_allclose(low.mean(Z), dense.mean(Z), atol=1e-10)
    np.testing.assert_allclose(low.covariance(Z), dense.covariance(Z), atol=1e-10)
    np.testing.assert_allclose(low.moments(Z)[1], dense.moments(Z)[1], atol=1e-10)
    np.testing.assert_allclose(low.log_marginal_likelihood, dense.log_marginal_likelihood, atol=1e-9)
    np.testing.assert_allclose(low.loo(), dense.loo(), atol=1e-10)


def test_more_features_than_points_goes_the_dense_way():
    X = np.linspace(0, 6, 5)[:, None]
    posterior = condition(Cosines(), X, np.sin(X[:, 0]), Params(0.3, 1.0, 0.01))
    assert isinstance(posterior.factor, Dense)


def test_precomputed(data):
    X, y, Z = data
    everything = np.vstack([X, Z])
    gram = RBF().pairs(everything).at(0.7).value
    train, new = np.arange(40), np.arange(40, 49)
    expected = condition(RBF(), X, y, PARAMS)
    params = Params((), PARAMS.amplitude, PARAMS.noise)
    full = condition(Precomputed(gram), train, y, params)
    np.testing.assert_allclose(full.mean(new), expected.mean(Z), atol=1e-10)
    np.testing.assert_allclose(full.covariance(new), expected.covariance(Z), atol=1e-10)
    thin = condition(Precomputed(gram[:, :40], diagonal=np.ones(49)), train, y, params)
    np.testing.assert_allclose(thin.moments(new)[1], expected.moments(Z)[1], atol=1e-10)
    blind = condition(Precomputed(gram[:, :40]), train, y, params)
    np.testing.assert_allclose(blind.mean(new), expected.mean(Z), atol=1e-10)
    with pytest.raises(InvalidInput, match=r"has 40 columns and says nothing of k\(x, x_48\)\. Give k\(new, new\) too"):
        blind.moments(new)


def test_intervals_cover_and_samples_have_the_moments():
    rng = np.random.default_rng(3)
    params = Params(0.5, 2.0, 0.1)
    inside, total = 0.0, 40
    for _ in range(total):
        X = rng.uniform(-3, 3, size=(80, 1))
        C = 2.0 * RBF().pairs(X).at(0.5).value + 0.1 * np.eye(80)
        y = 5.0 + np.linalg.cholesky(C) @ rng.normal(size=80)
        posterior = condition(RBF(), X[:40], y[:40], params)
        inside += coverage(y[40:], *posterior.moments(X[40:], noise=True), level=0.9) / total
    assert 0.87 < inside < 0.93
    Z = X[40:44]
    draws = posterior.sample(Z, rng=0, size=20_000)
    deviation = np.sqrt(posterior.moments(Z)[1])
    np.testing.assert_array_less(np.abs(draws.mean(0) - posterior.mean(Z)), 4.5 * deviation / np.sqrt(20_000))
    spread = np.outer(deviation, deviation) * np.sqrt(2 / 20_000)
    np.testing.assert_array_less(np.abs(np.cov(draws.T) - posterior.covariance(Z)), 4.5 * spread)


def test_variance_is_never_negative_nor_the_chunks_visible(data, monkeypatch):
    X, y, Z = data
    posterior = condition(RBF(), X, y, Params(50.0, 1e6, 0.0))
    near = np.vstack([X, X + 1e-9, Z])
    assert posterior.moments(near)[1].min() >= 0
    assert np.linalg.eigvalsh(posterior.covariance(X)).min() > -1e-3
    whole = posterior.moments(near)
    monkeypatch.setattr("heatgp.gp.posterior.CHUNK", 100)  # two new points at a time
    np.testing.assert_allclose(posterior.moments(near), whole, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(posterior.mean(near), whole[0], rtol=1e-6)
    assert posterior.moments(near[:0])[1].shape == (0,)


def test_noise_zero_interpolates_and_duplicates_are_averaged():
    X = np.linspace(0, 5, 12)[:, None]
    y = np.sin(X[:, 0])
    posterior = condition(RBF(), X, y, Params(0.3, 1.0, 0.0))
    np.testing.assert_allclose(posterior.mean(X), y, atol=1e-6)
    np.testing.assert_allclose(posterior.moments(X)[1], 0, atol=1e-6)
    twice = condition(RBF(), np.vstack([X, X]), np.concatenate([y, y + 0.2]), Params(0.3, 1.0, 0.0))
    np.testing.assert_allclose(twice.mean(X), y + 0.1, atol=1e-5)


def test_one_point():
    posterior = condition(RBF(), np.zeros((1, 1)), [3.0], Params(1.0, 2.0, 0.5), mean="zero")
    mean, variance = posterior.moments(np.array([[0.0], [100.0]]))
    np.testing.assert_allclose(mean, [3 * 2 / 2.5, 0], atol=1e-12)
    np.testing.assert_allclose(variance, [2 - 4 / 2.5, 2])
    np.testing.assert_allclose(posterior.loo(), [[0.0], [2.5]], atol=1e-12)
    with pytest.raises(InvalidInput, match="leave-one-out of N = 1 point"):
        condition(RBF(), np.zeros((1, 1)), [3.0], PARAMS).loo()


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_scales_of_y_change_nothing(data, scale):
    X, y, Z = data
    scaled = Params(0.7, 1.3 * scale**2, 0.02 * scale**2)
    mean, variance = condition(RBF(), X, y * scale, scaled).moments(Z)
    expected, expected_variance = condition(RBF(), X, y, PARAMS).moments(Z)
    np.testing.assert_allclose(mean / scale, expected, rtol=1e-9)
    np.testing.assert_allclose(variance / scale**2, expected_variance, rtol=1e-9)


def test_pickles(data):
    X, y, Z = data
    posterior = condition(Normalized(RBF()), X, y, PARAMS)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(posterior)).mean(Z), posterior.mean(Z))


def test_errors_say_what_to_do(data):
    X, y, _ = data
    with pytest.raises(InvalidInput, match=r"y\[3\] = nan is not finite\. Remove"):
        condition(RBF(), X, np.where(np.arange(40) == 3, np.nan, y), PARAMS)
    with pytest.raises(
        InvalidInput, match=r"y must be 40 real numbers, one for each of N >= 1 points; got shape \(39,\)"
    ):
        condition(RBF(), X, y[1:], PARAMS)
    with pytest.raises(
        InvalidInput, match=r'mean = \'curved\' is not known\. Use "zero", "constant", "linear", a finite number'
    ):
        condition(RBF(), X, y, PARAMS, mean="curved")
    with pytest.raises(InvalidInput, match=r"y has the size 1\.0e\+200, whose square is beyond .* Change its unit"):
        condition(RBF(), X, np.full(40, 1e200), PARAMS)
    bad = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(NotPositiveDefinite, match=r"covariance of 2 points.*is -9\.00e\+00.*or a larger noise"):
        condition(Precomputed(bad), np.arange(2), [1.0, 2.0], Params((), 1.0, 0.1))
