"""GPRegressor with priors, known noise, weights, mean functions and several outputs."""

import pickle

import numpy as np
import pandas
import pytest
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from heatgp import (
    ComplexProjective,
    Euclidean,
    GPRegressor,
    Grassmann,
    RealProjective,
    SpecialOrthogonal,
    Sphere,
    Torus,
)
from heatgp.errors import InvalidInput, Unsupported
from heatgp.gp.parameters import LogNormal, Priors

S2, R3 = Sphere(2), Euclidean(3)  # the models are in space, where kernels are cheap
RNG = np.random.default_rng(3)
X = S2.random(RNG, 60)
Y = X[:, 0] * X[:, 2] + 0.1 * RNG.standard_normal(60)
NEW = S2.random(RNG, 8)
FIXED = {"time": 0.5, "amplitude": 1.0, "noise": 0.02}


def test_weak_priors_matter_little_where_data_say_something():
    rng = np.random.default_rng(0)
    points = S2.random(rng, 120)
    y = np.sin(5 * points[:, 0]) * points[:, 1] + 0.1 * rng.standard_normal(120)
    weak, plain = GPRegressor(R3).fit(points, y), GPRegressor(R3, priors=None).fit(points, y)
    for name in ("time_", "amplitude_", "noise_"):
        assert getattr(weak, name) == pytest.approx(getattr(plain, name), rel=0.1)
    np.testing.assert_allclose(weak.predict(NEW), plain.predict(NEW), atol=0.02)
    assert 0 < plain.log_marginal_likelihood() - weak.log_marginal_likelihood() < 0.1
    assert weak.fit_.log_marginal_likelihood == pytest.approx(weak.log_marginal_likelihood(), abs=1e-6)
    assert weak.fit_.log_posterior < weak.fit_.log_marginal_likelihood
    assert plain.fit_.log_posterior == plain.fit_.log_marginal_likelihood


def test_a_narrow_prior_decides():
    priors = Priors(time=LogNormal(0.07, 1e-4), noise=LogNormal(3.0, 1e-4), amplitude=LogNormal(0.2, 1e-4))
    gp = GPRegressor(R3, priors=priors).fit(X, Y)
    assert (gp.time_, gp.amplitude_, gp.noise_ / gp.amplitude_) == pytest.approx((0.07, 0.2, 3.0), rel=1e-3)
    with pytest.raises(InvalidInput, match=r"prior of time, LogNormal\(.* has a probability of .* between the bounds"):
        GPRegressor(R3, priors=Priors(time=LogNormal(1e9, 1.0))).fit(X, Y)
    with pytest.raises(InvalidInput, match="priors = 'strong' is not known"):
        GPRegressor(R3, priors="strong").fit(X, Y)


def test_known_noise_equals_scikit_learn():
    points, new = RNG.normal(size=(40, 2)), RNG.normal(size=(5, 2))
    variances = np.geomspace(1e-3, 1.0, 40)
    y = np.sin(points[:, 0]) + np.sqrt(variances) * RNG.standard_normal(40)
    ours = GPRegressor("euclidean", noise=variances, mean="zero", priors=None, smoothness=np.inf).fit(points, y)
    kernel = ConstantKernel(1.0, (1e-6, 1e6)) * RBF(1.0, (1e-3, 1e3))
    theirs = GaussianProcessRegressor(kernel, alpha=variances, n_restarts_optimizer=2, random_state=0).fit(points, y)
    assert ours.log_marginal_likelihood() == pytest.approx(theirs.log_marginal_likelihood_value_, abs=1e-5)
    assert (ours.amplitude_, ours.time_) == pytest.approx(
        (theirs.kernel_.k1.constant_value, theirs.kernel_.k2.length_scale**2), rel=1e-2
    )
    for found, expected in zip(ours.predict(new, return_std=True), theirs.predict(new, return_std=True)):
        np.testing.assert_allclose(found, expected, rtol=5e-3, atol=5e-3)
    np.testing.assert_array_equal(ours.noise_, variances)
    with pytest.raises(InvalidInput, match="each observation has a known noise of its own"):
        ours.posterior_.moments(new, noise=True)[1]
    again = clone(ours).fit(points, y)
    assert pickle.loads(pickle.dumps(again)).predict(new) == pytest.approx(ours.predict(new))


def test_noise_of_one_size_is_the_number():
    array = GPRegressor(R3, noise=np.full(60, 0.02)).fit(X, Y)
    number = GPRegressor(R3, noise=0.02).fit(X, Y)
    assert array.time_ == pytest.approx(number.time_, rel=1e-3)
    np.testing.assert_allclose(array.predict(NEW), number.predict(NEW), atol=1e-5)
    exact = np.where(np.arange(60) < 5, 0.0, 0.02)  # some observations have no noise
    gp = GPRegressor(R3, noise=exact).fit(X, Y)
    np.testing.assert_allclose(gp.predict(X[:5]), Y[:5], atol=1e-4)
    assert np.isfinite(gp.log_marginal_likelihood())


def test_weights():
    weights = np.random.default_rng(1).integers(0, 4, 60)
    weighted = GPRegressor(R3, **FIXED).fit(X, Y, sample_weight=weights)
    repeated = GPRegressor(R3, **FIXED).fit(X.repeat(weights, axis=0), Y.repeat(weights))
    for ours, expected in zip(weighted.predict(NEW, return_std=True), repeated.predict(NEW, return_std=True)):
        np.testing.assert_allclose(ours, expected, rtol=1e-8)
    learned, ones = GPRegressor(R3).fit(X, Y), GPRegressor(R3).fit(X, Y, sample_weight=np.ones(60))
    assert ones.time_ == pytest.approx(learned.time_, rel=1e-6)
    # averages of w observations have the noise of weight w
    many = np.repeat([1, 9], 30)
    rng = np.random.default_rng(2)
    f = X[:, 0] * X[:, 2]
    means = f + 0.5 * rng.standard_normal(60) / np.sqrt(many)
    assert GPRegressor(R3).fit(X, means, sample_weight=many).noise_ == pytest.approx(0.25, rel=0.5)
    gram = np.exp(-np.square(X[:, None] - X).sum(axis=2))
    precomputed = GPRegressor(kernel="precomputed", amplitude=1.0, noise=0.02)
    kept = weights > 0
    some = clone(precomputed).fit(gram[np.ix_(kept, kept)], Y[kept], sample_weight=weights[kept])
    all_ = clone(precomputed).fit(gram, Y, sample_weight=weights)
    np.testing.assert_allclose(all_.predict(gram[:3]), some.predict(gram[:3, kept]), rtol=1e-9)
    assert len(all_.loo()[0]) == kept.sum()


@pytest.mark.parametrize(
    "arguments, weights, message",
    [
        ({}, np.ones(59), r"sample_weight must be 60 real numbers, one for each observation; got shape \(59,\)"),
        ({}, np.where(np.arange(60) == 3, -1.0, 1.0), r"sample_weight\[3\] = -1\.0 must be finite and 0 or positive"),
        ({}, np.where(np.arange(60) == 3, np.nan, 1.0), r"sample_weight\[3\] = nan must be finite"),
        ({}, np.zeros(60), "sample_weight is zero for all observations"),
        ({"noise": np.ones(59)}, None, r"noise must be 60 real numbers, one for each observation; got shape \(59,\)"),
        ({"noise": np.full(60, -0.1)}, None, r"noise\[0\] = -0\.1 must be finite and 0 or positive"),
        ({"noise": np.ones((60, 2))}, None, r"noise must be 60 real numbers.*\(60, 2\)"),
        ({"noise": ["a"] * 60}, None, "noise must be numbers"),
        ({"mean": lambda points: np.full(60, np.nan)}, None, "the basis of the mean holds nan in column 0, at point 0"),
        ({"mean": lambda points: points[:3]}, None, r"the basis of the mean has shape \(3, 3\)"),
        ({"mean": lambda points: points[:, [0, 0]]}, None, "column 1 of the basis of the mean is a combination"),
        ({"mean": "quadratic"}, None, "mean = 'quadratic' is not known"),
        ({"mean": "linear", "priors": Priors(coefficients=[1.0, 2.0])}, None, "or one for each of 4 coefficients"),
    ],
)
def test_bad_values_are_refused(arguments, weights, message):
    with pytest.raises(InvalidInput, match=message):
        GPRegressor(R3, **arguments).fit(X, Y, sample_weight=weights)


def test_a_linear_mean_is_found():
    y = Y + 3.0 + 5.0 * X[:, 1]
    gp = GPRegressor(R3, mean="linear").fit(X, y)
    assert gp.coefficient_names_ == ["constant", "coordinate 0", "coordinate 1", "coordinate 2"]
    assert np.all(np.abs(gp.coefficients_ - [3, 0, 5, 0]) < 4 * gp.coefficient_errors_)
    assert np.all(gp.coefficient_errors_ < 1.0)
    own = GPRegressor(R3, mean=lambda points: np.column_stack([np.ones(len(points)), points])).fit(X, y)
    np.testing.assert_allclose(own.predict(NEW), gp.predict(NEW), atol=1e-6)
    covariates = GPRegressor(R3).fit(X, y, covariates=X)
    np.testing.assert_allclose(covariates.predict(NEW, covariates=NEW), gp.predict(NEW), atol=1e-6)
    again = pickle.loads(pickle.dumps(gp))
    np.testing.assert_array_equal(again.predict(NEW), gp.predict(NEW))
    for mean, std in (gp.predict(NEW, return_std=True), covariates.predict(NEW, return_std=True, covariates=NEW)):
        np.testing.assert_allclose(std, gp.predict(NEW, return_std=True)[1], rtol=1e-4)
        assert mean.shape == (8,)


@pytest.mark.parametrize(
    "M",
    [RealProjective(2), ComplexProjective(2), Grassmann(4, 2, "complex"), SpecialOrthogonal(3), Torus(2), Euclidean(3)],
    ids=repr,
)
def test_linear_means_of_manifolds_whose_coordinates_are_dependent(M):
    """Coordinates that are combinations of others are left out, and no linear function is lost."""
    rng = np.random.default_rng(0)
    points, new = M.random(rng, 60), M.random(rng, 5)
    H = np.column_stack([np.ones(60), np.asarray(M.embed(points)).reshape(60, -1)])
    coefficients = rng.normal(size=H.shape[1])
    y = H @ coefficients + 0.01 * rng.standard_normal(60)
    gp = GPRegressor(M, mean="linear", time=1.0, amplitude=1e-6, noise=1e-4).fit(points, y)
    assert len(gp.coefficients_) == np.linalg.matrix_rank(H)
    expected = np.column_stack([np.ones(5), np.asarray(M.embed(new)).reshape(5, -1)]) @ coefficients
    np.testing.assert_allclose(gp.predict(new), expected, atol=0.1)


def test_covariates():
    rng = np.random.default_rng(4)
    table = pandas.DataFrame({"age": rng.uniform(20, 80, 60), "dose": rng.normal(size=60)})
    y = Y + 0.1 * table["age"].to_numpy() - 2.0 * table["dose"].to_numpy() + 7.0
    gp = GPRegressor(R3).fit(X, y, covariates=table)
    assert gp.coefficient_names_ == ["constant", "covariate age", "covariate dose"]
    assert np.all(np.abs(gp.coefficients_[1:] - [0.1, -2.0]) < 4 * gp.coefficient_errors_[1:])
    mean = gp.predict(X, covariates=table)
    assert np.std(mean - y) < 0.15
    assert gp.sample_y(NEW, 3, covariates=np.zeros((8, 2))).shape == (8, 3)
    tied = GPRegressor(R3, priors=Priors(coefficients=1e-6), **FIXED).fit(X, y, covariates=table)
    np.testing.assert_allclose(tied.coefficients_[1:], 0.0, atol=1e-4)
    for wrong, message in (
        ({}, "the model was fitted with 2 covariates. Give `covariates` at the points"),
        ({"covariates": table}, r"`covariates` has shape \(60, 2\)"),
        ({"covariates": np.zeros((8, 3))}, "covariates have 3 columns; the model was fitted with 2"),
    ):
        with pytest.raises(InvalidInput, match=message):
            gp.predict(NEW, **wrong)
    with pytest.raises(
        InvalidInput, match=r"'covariate 1' is a combination of the columns .* \(constant, covariate 0\)"
    ):
        GPRegressor(R3).fit(X, y, covariates=np.column_stack([table["age"], 3 * table["age"] + 1]))
    with pytest.raises(InvalidInput, match=r"`covariates` has shape \(5, 2\)"):
        GPRegressor(R3).fit(X, y, covariates=table[:5])
    with pytest.raises(InvalidInput, match="the model was fitted without covariates"):
        GPRegressor(R3, **FIXED).fit(X, y).predict(NEW, covariates=np.zeros((8, 2)))
    with pytest.raises(InvalidInput, match=r"mean = 3\.0 beside covariates: subtract it from y"):
        GPRegressor(R3, mean=3.0).fit(X, y, covariates=table)
    with pytest.raises(Unsupported, match="needs points, and a precomputed kernel has none"):
        GPRegressor(kernel="precomputed", mean="linear").fit(np.eye(60), y)


def test_more_coefficients_than_targets():
    with pytest.raises(InvalidInput, match="5 coefficients and there are 4 points, which cannot determine them"):
        GPRegressor(R3, mean=lambda points: np.ones((len(points), 5))).fit(X[:4], Y[:4])
    with pytest.raises(InvalidInput, match="as many coefficients as there are targets, 4: nothing is left"):
        GPRegressor(R3).fit(X[:4], Y[:4], covariates=X[:4])


def test_several_outputs():
    table = np.column_stack([Y, 100 * X[:, 1] + np.arange(60) % 3, 7 + Y**2])
    gp = GPRegressor(R3).fit(X, table)
    mean, std = gp.predict(NEW, return_std=True)
    assert mean.shape == std.shape == (8, 3)
    assert gp.amplitude_.shape == gp.noise_.shape == (3,)
    assert gp.sample_y(NEW, 5).shape == (8, 3, 5)
    assert gp.predict(NEW, return_cov=True)[1].shape == (8, 8, 3)
    assert gp.loo()[0].shape == (60, 3)
    assert gp.score(X, table) > 0.5
    total = 0.0
    for j in range(3):
        given = {"time": gp.time_, "amplitude": gp.amplitude_[j], "noise": gp.noise_[j]}
        single = GPRegressor(R3, **given).fit(X, table[:, j])
        np.testing.assert_allclose(gp.predict(NEW)[:, j], single.predict(NEW), rtol=1e-6)
        np.testing.assert_allclose(std[:, j], single.predict(NEW, return_std=True)[1], rtol=1e-6)
        np.testing.assert_allclose([part[:, j] for part in gp.loo()], single.loo(), rtol=1e-6)
        total += single.log_marginal_likelihood()
    assert gp.log_marginal_likelihood() == pytest.approx(total, rel=1e-9)
    frame = pandas.DataFrame(table, columns=["a", "b", "c"])
    np.testing.assert_allclose(GPRegressor(R3, **FIXED).fit(X, frame).predict(NEW).shape, (8, 3))
    assert str(gp.kernel_error(NEW)).startswith("the kernel is exact")
    with pytest.raises(InvalidInput, match=r"y\[2, 1\] = nan is not finite"):
        GPRegressor(R3).fit(X, np.where(np.arange(180).reshape(60, 3) == 7, np.nan, table))
