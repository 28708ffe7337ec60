"""Neighbors, dense and sparse models of JAX arrays are those of NumPy arrays; all is computed on the device."""

import numpy as np
import pytest
from jax import numpy as jnp
from sklearn.base import clone

import heatgp as hg
from heatgp.covariance import Normalized
from heatgp.gp.device import SMALLEST
from heatgp.gp.device_dense import DeviceDense
from heatgp.gp.device_posterior import DevicePosterior
from heatgp.gp.neighbors.device import DeviceFactor, DevicePlaces
from heatgp.gp.neighbors.nearest import Places
from test_jax_data import KLEIN, on_device

S2 = hg.Sphere(2)
KNOWN = {"time": 0.3, "amplitude": 1.0, "noise": 0.05}
SPACES = [
    (hg.SpecialOrthogonal(3), 0.5),
    (hg.Euclidean(2), 0.8),
    (hg.Hyperbolic(2), 1.5),
    (hg.ComplexProjective(2), 2.5),
    (hg.RealProjective(2), np.inf),
    (hg.Torus(2), np.inf),
    (hg.Product(S2, hg.Euclidean(1)), np.inf),
    (KLEIN, np.inf),  # the variance of its kernel is not the same everywhere
]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Few data are enough, and take several parts; the device is a processor."""
    monkeypatch.setattr("heatgp.gp.device.ON_PROCESSOR", True)
    monkeypatch.setattr("heatgp.estimators.regressor.ON_DEVICE", 100)
    monkeypatch.setattr("heatgp.gp.device.PAIRS_OF_PROCESSOR", SMALLEST)


def problem(M=S2, number=160):
    rng = np.random.default_rng(0)
    X = M.random(rng, number)
    f = np.asarray(M.embed(X)).reshape(number, -1)
    return X, 2 + f[:, 0] * f[:, -1] + 0.2 * rng.standard_normal(number)


def both(X, y, M=S2, **options):
    """A model of NumPy arrays and one of JAX arrays."""
    return [hg.GPRegressor(M, **options).fit(*data) for data in ((X, y), (on_device(X), on_device(y)))]


def assert_same(fits, new, rtol=1e-9):
    of_numpy, of_jax = fits
    for name in ("time_", "amplitude_", "noise_", "coefficients_", "coefficient_errors_"):
        np.testing.assert_allclose(getattr(of_jax, name), getattr(of_numpy, name), rtol=rtol)
    evidences = [gp.log_marginal_likelihood() for gp in fits]
    assert evidences[1] == pytest.approx(evidences[0], rel=1e-10, abs=1e-9)
    for found, expected in zip(*(gp.predict(new, return_std=True) for gp in (of_jax, of_numpy))):
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-10)
    np.testing.assert_allclose(*(gp.predict(new) for gp in fits), rtol=rtol, atol=1e-10)


def runs_on_device(gp):
    """Whether the fitted model computes there."""
    posterior = gp.posterior_
    if gp.approximation_ is None or gp.approximation_.structure == "sparse":
        return isinstance(posterior, DevicePosterior)
    return posterior.structure.on_device and isinstance(posterior.factor, DeviceFactor)


@pytest.mark.parametrize("inference", ["neighbors", "dense"])
def test_models_are_those_of_numpy(inference):
    X, y = problem()
    fits = both(X[:120], y[:120], smoothness=1.5, inference=inference, **KNOWN)
    assert_same(fits, X[110:], 1e-11)
    assert [runs_on_device(gp) for gp in fits] == [False, True]


@pytest.mark.parametrize(("inference", "number"), [("neighbors", 120), ("dense", 260)])
def test_learned_parameters_are_those_of_numpy(inference, number):
    X, y = problem(number=number)
    data = X, y, np.random.default_rng(1).uniform(0.5, 2, number)
    model = hg.GPRegressor(S2, smoothness=1.5, inference=inference)
    fits = [clone(model).fit(*arrays) for arrays in (data, map(on_device, data))]
    assert runs_on_device(fits[1])
    assert_same(fits, X[:9])
    slopes = [gp.log_marginal_likelihood(time=0.5, noise=0.2, gradient=True) for gp in fits]
    for found, expected in zip(*slopes):
        np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::heatgp.errors.AccuracyWarning")
@pytest.mark.parametrize("inference", ["neighbors", "dense"])
@pytest.mark.parametrize(("M", "smoothness"), SPACES, ids=repr)
def test_models_on_other_spaces(M, smoothness, inference):
    """Values, and the gradient of the evidence."""
    X, y = problem(M, 280)
    fits = both(X, y, M, smoothness=smoothness, inference=inference, **KNOWN)
    assert_same(fits, X[270:])
    assert runs_on_device(fits[1])
    np.testing.assert_allclose(*(gp.log_marginal_likelihood(gradient=True)[1] for gp in fits), rtol=1e-8)


def test_sparse_predictions():
    X, y = problem()
    fits = both(X, y, inference=hg.Sparse(X[:60]), **(KNOWN | {"time": 5.0}))
    assert_same(fits, X[110:])
    assert [runs_on_device(gp) for gp in fits] == [False, True]


def test_what_else_a_dense_model_says():
    X, y = problem()
    one, other = both(X[:120], y[:120], inference="dense", **KNOWN)
    assert isinstance(other.posterior_.factor, DeviceDense)
    results = [(gp.loo(), gp.predict(X[118:], return_cov=True), gp.gradient(X[118:])) for gp in (one, other)]
    for found, expected in zip(*results):
        for a, b in zip(found, expected):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


def test_points_in_single_precision():
    """They are moved onto the manifold in double precision, as NumPy arrays are."""
    X, y = problem()
    X = X.astype(np.float32)
    fits = [hg.GPRegressor(S2, inference="neighbors", **KNOWN).fit(Z, y) for Z in (X, jnp.asarray(X))]
    assert_same(fits, X[:9], 1e-11)


@pytest.mark.parametrize(
    ("M", "smoothness"),
    [(hg.Product(S2, hg.Euclidean(1)), 1.5), pytest.param(hg.SpecialOrthogonal(4), np.inf, marks=pytest.mark.slow)],
    ids=repr,
)
@pytest.mark.parametrize("inference", ["neighbors", "dense"])
def test_kernels_without_a_table_are_for_numpy(M, smoothness, inference):
    X, y = problem(M, 110)
    fits = both(X, y, M, smoothness=smoothness, inference=inference, **KNOWN)
    assert_same(fits, X[:9], 1e-11)
    assert not runs_on_device(fits[1])


@pytest.mark.parametrize("size", [15, 60])
def test_neighbors_are_the_same(size):
    """Those before a point in an order, and those of new points."""
    M = hg.Product(S2, hg.Euclidean(1))  # whose correlations are ordered otherwise than distances of the embedding
    X, kernel = M.random(np.random.default_rng(0), 900), hg.heat_kernel(M).with_times("each")
    one, other = (kind(Normalized(kernel), X, (0.1, 0.5)) for kind in (Places, DevicePlaces))
    order, rows = np.random.default_rng(1).permutation(900), np.arange(0, 900, 3)
    np.testing.assert_array_equal(one.before(order, rows, size), other.before(order, rows, size))
    np.testing.assert_array_equal(one.among(X[:50], size), other.among(X[:50], size))


@pytest.mark.slow
def test_a_model_in_a_file(tmp_path):
    X, y = problem()
    for inference in ("neighbors", "dense"):
        _, gp = both(X, y, inference=inference, **KNOWN)
        gp.save(tmp_path / "model")
        again = hg.load_model(tmp_path / "model")
        np.testing.assert_allclose(again.predict(X[:9]), gp.predict(X[:9]), rtol=1e-11)
