"""GPRegressor and GPClassifier inside scikit-learn, and against its Gaussian process."""

import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from heatgp import (
    ComplexProjective,
    Euclidean,
    Exact,
    GPClassifier,
    GPRegressor,
    HeatKernel,
    Manifold,
    Product,
    Smooth,
    SpecialOrthogonal,
    Sphere,
    Stiefel,
    Torus,
    heat_kernel,
)
from heatgp.gp.kernels import Normalized
from heatgp.gp.scores import auc
from heatgp.points import latlon_to_sphere

S2, SO3, CP2 = Sphere(2), SpecialOrthogonal(3), ComplexProjective(2)
FIXED = {"time": 0.5, "amplitude": 1.0, "noise": 0.01}


@pytest.fixture
def sphere_data(rng):
    X = S2.random(rng, 60)
    return X, X[:, 0] * X[:, 2] + 0.05 * rng.standard_normal(60)


@pytest.fixture
def shape_data(rng):
    X = CP2.random(rng, 60)
    return X, np.where(np.abs(X[:, 0]) + 0.1 * rng.standard_normal(60) > 0.55, "long", "round")


def test_equals_scikit_learn_on_euclidean_space(rng):
    X, Z = rng.normal(size=(50, 3)), rng.normal(size=(7, 3))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=50)
    ours = GPRegressor(Euclidean(3), mean="zero", priors=None).fit(X, y)
    kernel = ConstantKernel(ours.amplitude_) * RBF(np.sqrt(ours.time_)) + WhiteKernel(ours.noise_)
    theirs = GaussianProcessRegressor(kernel, optimizer=None).fit(X, y)
    assert ours.log_marginal_likelihood() == pytest.approx(theirs.log_marginal_likelihood(), rel=1e-8)
    mean, cov = theirs.predict(Z, return_cov=True)
    np.testing.assert_allclose(ours.predict(Z), mean, atol=1e-8)
    np.testing.assert_allclose(ours.predict(Z, return_cov=True)[1], cov - ours.noise_ * np.eye(7), atol=1e-8)
    np.testing.assert_allclose(ours.predict(Z, return_std=True)[1] ** 2 + ours.noise_, np.diag(cov), atol=1e-8)
    tuned = GaussianProcessRegressor(kernel, n_restarts_optimizer=1, random_state=0).fit(X, y)
    assert ours.log_marginal_likelihood() > tuned.log_marginal_likelihood_value_ - 1e-4


def test_predictions_are_those_of_the_kernel(sphere_data):
    """The textbook's formulas with heat_kernel's own values."""
    X, y = sphere_data
    Z = -X[:9]
    kernel = heat_kernel(S2)
    variance = kernel(X[:1], time=0.5)[0, 0]
    K, k = kernel(X, time=0.5), kernel(Z, X, time=0.5)
    for normalize, scale in ((True, 1 / variance), (False, 1.0)):
        gp = GPRegressor(S2, **FIXED, mean="zero", normalize=normalize).fit(X, y)
        inverse = np.linalg.inv(scale * K + 0.01 * np.eye(60))
        np.testing.assert_allclose(gp.predict(Z), scale * k @ inverse @ y, atol=1e-9)
        covariance = scale * kernel(Z, time=0.5) - scale**2 * k @ inverse @ k.T
        np.testing.assert_allclose(gp.predict(Z, return_cov=True)[1], covariance, atol=1e-9)
        draws = gp.sample_y(Z, 4000, random_state=1)
        assert draws.shape == (9, 4000)
        error = np.sqrt(np.diag(covariance) / 4000)
        assert (np.abs(draws.mean(axis=1) - gp.predict(Z)) < 5 * error).all()


def test_leave_one_out_is_refitting(sphere_data):
    X, y = sphere_data
    X, y = X[:12], y[:12]
    mean, std = GPRegressor(S2, **FIXED).fit(X, y).loo()
    for i in range(12):
        others = np.arange(12) != i
        expected, spread = GPRegressor(S2, **FIXED).fit(X[others], y[others]).predict(X[i : i + 1], return_std=True)
        np.testing.assert_allclose([mean[i], std[i] ** 2], [expected[0], spread[0] ** 2 + 0.01], rtol=1e-8)


def test_given_values_are_held_and_the_rest_is_learned(sphere_data):
    X, y = sphere_data
    free = GPRegressor(S2, priors=None).fit(X, y)
    for name in FIXED:
        gp = GPRegressor(S2, priors=None, **{name: FIXED[name]}).fit(X, y)
        assert getattr(gp, f"{name}_") == FIXED[name]
        assert gp.log_marginal_likelihood() < free.log_marginal_likelihood()
    given = GPRegressor(S2, **FIXED).fit(X, y)
    assert given.fit_ is None
    assert (given.time_, given.amplitude_, given.noise_) == (0.5, 1.0, 0.01)


@pytest.mark.parametrize("M", [SO3, CP2, Stiefel(3, 2)], ids=repr)
def test_layouts_of_points_change_nothing(M, rng):
    X = M.random(rng, 20)
    y = X.reshape(20, -1)[:, 0].real
    expected = GPRegressor(M, **FIXED).fit(X, y).predict(X)
    rows = X.reshape(20, -1)
    split = np.hstack((rows.real, rows.imag)) if M.is_complex else rows
    for layout in (rows, split, X.tolist()):
        gp = GPRegressor(M, **FIXED).fit(layout, y)
        np.testing.assert_allclose(gp.predict(layout), expected, atol=1e-12)
        assert gp.n_features_in_ == np.prod(np.shape(layout)[1:])


def test_parameters_clone_and_pickle(sphere_data, shape_data):
    for gp, (X, y) in (
        (GPRegressor(S2, time=0.4, mean="zero"), sphere_data),
        (GPRegressor(S2, kernel=heat_kernel(S2), noise=0.01), sphere_data),
    ):
        fresh = clone(gp.fit(X, y))
        assert fresh.get_params() == gp.get_params()
        with pytest.raises(NotFittedError):
            fresh.predict(X)
        np.testing.assert_array_equal(fresh.fit(X, y).predict(X), gp.predict(X))
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(gp)).predict(X), gp.predict(X))
    assert gp.set_params(time=1.0).time == 1.0
    assert "GPRegressor" in repr(gp)


def test_clones_of_a_manifold_without_equality(rng):
    class Plane(Manifold):
        shape, dim = (2,), 2
        noise, exp, defect, random = Euclidean.noise, Euclidean.exp, Euclidean.defect, None

    @dataclass(frozen=True)
    class PlaneKernel(HeatKernel):
        manifold: Manifold
        method = "borrowed"

        def pairs(self, X, Y=None):
            return heat_kernel(Euclidean(2)).pairs(X, Y)

    X = rng.normal(size=(30, 2))
    plane = Plane()
    gp = GPRegressor(plane, kernel=PlaneKernel(plane), **FIXED)
    expected = cross_val_score(GPRegressor(Euclidean(2), **FIXED), X, X[:, 0], cv=3)
    np.testing.assert_allclose(cross_val_score(gp, X, X[:, 0], cv=3), expected, rtol=1e-9)


def test_cross_validation_and_search(sphere_data, shape_data):
    X, y = sphere_data
    assert cross_val_score(GPRegressor(S2), X, y, cv=3).mean() > 0.8
    grid = {"kernel": ["auto", "exact"], "time": [0.001, 0.5]}
    search = GridSearchCV(GPRegressor(S2, noise=0.01), grid, cv=3).fit(X, y)
    assert search.best_params_["time"] == 0.5
    assert search.score(X, y) > 0.9
    X, labels = shape_data
    scores = cross_val_score(GPClassifier(CP2, amplitude=10.0), X, labels, cv=3, scoring="neg_log_loss")
    assert scores.mean() > -np.log(2)


def test_folds_of_matrices(rng):
    """X with more than two axes goes through scikit-learn's splitting."""
    X = SO3.random(rng, 40)
    predicted = cross_val_predict(GPRegressor(SO3), X, X[:, 0, 0], cv=KFold(4))
    assert np.corrcoef(predicted, X[:, 0, 0])[0, 1] > 0.95


def test_pipeline_from_latitude_and_longitude(rng):
    latlon = np.stack((rng.uniform(-90, 90, 50), rng.uniform(-180, 180, 50)), axis=1)
    temperature = 30 * np.cos(np.radians(latlon[:, 0])) ** 2
    to_sphere = FunctionTransformer(lambda rows: latlon_to_sphere(rows[:, 0], rows[:, 1]))
    model = make_pipeline(to_sphere, GPRegressor(S2))
    assert model.fit(latlon, temperature).score(latlon, temperature) > 0.999
    assert cross_val_score(model, latlon, temperature, cv=3).mean() > 0.99
    mean, std = model.predict(np.array([[0.0, 179.9], [0.0, -179.9]]), return_std=True)
    assert abs(mean[0] - mean[1]) < 0.1  # no seam at the date line
    assert std.shape == (2,)


def test_products_learn_one_time_for_each_factor(rng):
    M = Product(S2, Torus(1))
    X = M.random(rng, 120)
    y = X[:, 2] * np.cos(3 * X[:, 3]) + 0.05 * rng.standard_normal(120)  # fast along the circle only
    each = GPRegressor(M, time="each").fit(X, y)
    assert each.time_[1] < each.time_[0] / 3
    assert each.log_marginal_likelihood() > GPRegressor(M, time="shared").fit(X, y).log_marginal_likelihood() + 5
    half = GPRegressor(M, time=(each.time_[0], None)).fit(X, y)
    np.testing.assert_allclose(half.time_, each.time_, rtol=0.02)
    kernels = ["exact", heat_kernel(Torus(1))]
    listed = GPRegressor(M, kernel=kernels, time=each.time_, amplitude=each.amplitude_, noise=each.noise_).fit(X, y)
    np.testing.assert_allclose(listed.predict(X), each.predict(X), atol=1e-9)


def test_methods_are_values(sphere_data):
    X, y = sphere_data
    smooth = Smooth(paths=2000, rng=3, cache=False)
    for method, kernel in ((Exact(), heat_kernel(S2)), (smooth, smooth.kernel(S2))):
        gp = GPRegressor(S2, kernel=method, **FIXED).fit(X, y)
        np.testing.assert_array_equal(gp.predict(X), GPRegressor(S2, kernel=kernel, **FIXED).fit(X, y).predict(X))
        assert clone(gp).get_params()["kernel"] == method


def test_methods_given_by_name_take_the_seed_that_they_have(sphere_data, monkeypatch, tmp_path):
    monkeypatch.setenv("HEATGP_CACHE", str(tmp_path))
    X, y = sphere_data
    first, again, other = (
        GPRegressor(S2, kernel="smooth", random_state=rng, **FIXED).fit(X, y).predict(X) for rng in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    exact = [GPRegressor(S2, kernel="exact", random_state=rng, **FIXED).fit(X, y).predict(X) for rng in (1, 2)]
    np.testing.assert_array_equal(*exact)


def test_simulations_of_a_list_are_those_of_the_product(rng):
    M = Product(S2, S2)
    X = M.random(rng, 20)
    method = Smooth(paths=2000, cache=False)
    listed, whole = (GPRegressor(M, kernel=k, **FIXED).fit(X, X[:, 0]).predict(X) for k in ([method, method], method))
    np.testing.assert_array_equal(listed, whole)


@pytest.mark.parametrize("labels", [np.array([False, True]), np.array([7, 3]), np.array(["a", "bb"]), [1.0, 2.0]])
def test_labels_of_any_type(shape_data, labels):
    X, y = shape_data
    y = np.asarray(labels)[(y == "long").astype(int)]
    gp = GPClassifier(CP2, time=0.1, amplitude=10.0).fit(X, y)
    np.testing.assert_array_equal(gp.classes_, np.unique(labels))
    assert gp.classes_.dtype == y.dtype
    assert gp.score(X, y) > 0.9
    probabilities = gp.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_array_equal(gp.predict(X), gp.classes_[probabilities.argmax(axis=1)])


def test_three_classes(rng):
    X = S2.random(rng, 90)
    y = np.array(["x", "y", "z"])[np.abs(X).argmax(axis=1)]
    gp = GPClassifier(S2).fit(X[:60], y[:60])
    assert np.size(gp.time_) == np.size(gp.amplitude_) == 1
    assert gp.predict_proba(X[60:]).shape == (30, 3)
    assert gp.score(X[60:], y[60:]) > 0.75
    assert gp.log_marginal_likelihood() == gp.posterior_.log_marginal_likelihood
    left_out = gp.loo()
    np.testing.assert_allclose(left_out.sum(axis=1), 1)
    numbers = np.searchsorted(gp.classes_, y[:60])
    assert 0.8 < auc(numbers, left_out) <= auc(numbers, gp.predict_proba(X[:60]))


def test_models_of_each_class_against_the_rest_are_those_of_scikit_learn(rng):
    X = S2.random(rng, 90)
    y = np.array(["x", "y", "z"])[np.abs(X).argmax(axis=1)]
    rest = OneVsRestClassifier(GPClassifier(S2)).fit(X[:60], y[:60])
    assert len({model.time_ for model in rest.estimators_}) == 3
    assert rest.score(X[60:], y[60:]) > 0.75
    np.testing.assert_allclose(rest.predict_proba(X[60:]).sum(axis=1), 1)


def test_kernel_is_normalised_unless_told(sphere_data):
    gp = GPRegressor(S2, **FIXED).fit(*sphere_data)
    assert isinstance(gp.kernel_, Normalized)
    assert GPRegressor(S2, **FIXED, normalize=False).fit(*sphere_data).kernel_ == heat_kernel(S2)
