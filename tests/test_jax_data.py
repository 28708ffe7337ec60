"""Data in JAX arrays: statistics and models are those of NumPy arrays, and points stay on the device."""

import jax
import numpy as np
import pytest
from jax import numpy as jnp

import heatgp as hg
from heatgp.adapters.jax import SMALLEST
from heatgp.errors import HeatGPError, InvalidInput, OffManifold, Unsupported
from heatgp.estimators.data import MeanModel, Rows
from heatgp.estimators.streams import Reader, streamed
from heatgp.gp.kernels import Normalized
from heatgp.gp.sparse.inducing import Inducing

S2 = hg.Sphere(2)
KLEIN = hg.Quotient(hg.Torus(2), (lambda x: x, lambda x: x * np.array([1.0, -1.0]) + np.array([np.pi, 0.0])))
"""The variance of its kernel is not the same at all points."""
PRODUCT = hg.Product(hg.ComplexProjective(2), hg.Scaled(hg.SpecialOrthogonal(3), 2.0))
SLOW = [PRODUCT, hg.SpecialOrthogonal(3), hg.ComplexProjective(2), hg.Torus(2), hg.Euclidean(2), KLEIN]
NUMBER = SMALLEST + 300
KNOWN = {"time": 1.0, "amplitude": 1.0, "noise": 0.1}


def on_device(array):
    """In the precision that it has."""
    with jax.enable_x64(True):
        return jnp.asarray(array)


def problem(number, M=S2, seed=0):
    """Points, targets, weights of which some are zero, and covariates."""
    rng = np.random.default_rng(seed)
    X = M.random(rng, number)
    f = np.asarray(M.embed(X)).reshape(number, -1)
    y = 5 + f[:, 0] * f[:, 1] + 0.1 * rng.standard_normal(number)
    return X, y, rng.integers(0, 3, number).astype(float), rng.normal(size=(number, 2))


@pytest.fixture
def small(monkeypatch):
    """Small samples, and pieces of a thousand rows."""
    monkeypatch.setattr("heatgp.gp.sparse.fit.SUBSET", 200)
    monkeypatch.setattr("heatgp.gp.sparse.fit.CANDIDATES", 600)
    monkeypatch.setattr("heatgp.estimators.regressor.SPACED", 900)
    monkeypatch.setattr("heatgp.adapters.jax.NUMBERS", 0)


@pytest.fixture
def device_alone(monkeypatch):
    """Nothing is collected by NumPy."""

    def collected(*arguments):
        raise AssertionError("the statistics were collected by NumPy")

    monkeypatch.setattr("heatgp.adapters.jax.collected", collected)


def collected(M, X, y, weights, Z):
    """Statistics with weights, known variances, a linear mean and covariates."""
    points = M.random(np.random.default_rng(1), 300)
    inducing = Inducing.of(Normalized(hg.heat_kernel(M)), points, 0.3, 1e-8, 40)
    mean = MeanModel.of("linear", M, points, np.random.default_rng(2).normal(size=(300, 2)))
    variances = np.random.default_rng(3).uniform(1, 2, len(y))
    source, collect = streamed(Rows(X, y, weights, variances, Z), Reader(M, False, mean, 0.5))
    return collect(source, inducing, np.linspace(1, 2, len(mean.names)))


@pytest.mark.parametrize("M", [S2, *(pytest.param(M, marks=pytest.mark.slow) for M in SLOW)], ids=repr)
def test_statistics_are_those_of_numpy(M, small, device_alone):
    """To 1e-10 of the lengths of the columns."""
    X, y, weights, Z = problem(NUMBER, M)
    y[np.flatnonzero(weights == 0)[0]] = np.nan  # it is left out
    found, expected = collected(M, on_device(X), y, on_device(weights), Z), collected(M, X, y, weights, Z)
    lengths = np.sqrt(np.diagonal(expected.gram))
    assert np.max(np.abs(found.gram - expected.gram) / np.outer(lengths, lengths)) < 1e-10
    np.testing.assert_allclose(found.basis, expected.basis, atol=1e-10 * expected.basis.max())
    assert (found.count, found.weight) == (expected.count, pytest.approx(expected.weight, rel=1e-10))
    assert found.log_noise == pytest.approx(expected.log_noise, rel=1e-10)


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (0, 2.0, "X[1319] is not on Sphere(2)"),
        (0, np.nan, "X[1319] is not finite"),
        (0, 1e101, "X[1319] has an entry of size"),
        (1, np.inf, "y[1319] = inf"),
        (2, -1.0, "sample_weight[1319] = -1.0"),
        (3, np.nan, "in column 1, at point 1319"),
    ],
)
def test_bad_rows_are_named(place, value, words, small, device_alone):
    """They are found on the device; the error is that of NumPy arrays."""
    data = problem(NUMBER)
    data[2][:] = 1.0
    data[place].reshape(NUMBER, -1)[1319, -1] = value
    data[place][1321] = data[place][1319]  # the first one is named
    X, y, weights, Z = data
    with pytest.raises(HeatGPError) as found:
        collected(S2, on_device(X), y, on_device(weights), Z)
    with pytest.raises(type(found.value)) as expected:
        collected(S2, X, y, weights, Z)
    assert str(found.value) == str(expected.value)
    assert words in str(found.value)


@pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.float64, marks=pytest.mark.slow)])
def test_models_are_those_of_numpy_and_points_stay_on_the_device(dtype, small, device_alone, monkeypatch):
    """Points of single precision too: they are moved onto the manifold in double precision."""
    read, chunk = [], Reader.chunk

    def counted(self, data, where=0):
        read.append(len(data.X))
        return chunk(self, data, where)

    monkeypatch.setattr(Reader, "chunk", counted)
    X, y, _, _ = problem(3000)
    X, y = X.astype(dtype), y.astype(dtype)
    options = {"inference": hg.Sparse(60), "priors": hg.Priors(time_bounds=(0.01, 100.0))}  # by default from samples
    of_jax = hg.GPRegressor(S2, **options).fit(on_device(X[:1500]), on_device(y[:1500]))
    assert read
    assert max(read) <= 1000  # the samples
    of_numpy = hg.GPRegressor(S2, **options).fit(X[:1500], y[:1500])
    assert of_jax.approximation_.inducing == of_numpy.approximation_.inducing <= 60
    assert_same_models(of_jax, of_numpy, X[:100])
    of_jax.partial_fit(on_device(X[1500:]), on_device(y[1500:]))
    assert max(read) <= 1000
    of_numpy.partial_fit(X[1500:], y[1500:])
    assert of_jax.posterior_.count == 3000
    assert_same_models(of_jax, of_numpy, X[:100])


def assert_same_models(of_jax, of_numpy, X):
    for name in ("time_", "amplitude_", "noise_", "coefficients_"):
        np.testing.assert_allclose(getattr(of_jax, name), getattr(of_numpy, name), rtol=1e-6)
    predictions = of_jax.predict(on_device(X), return_std=True), of_numpy.predict(X, return_std=True)
    for found, expected in zip(*predictions):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.slow
def test_rows_of_flattened_points(small, device_alone):
    M = hg.ComplexProjective(1)
    X, y, _, _ = problem(NUMBER, M)
    rows = on_device(np.hstack([X.real, X.imag]))
    options = KNOWN | {"inference": hg.Sparse(X[:40])}
    fits = [hg.GPRegressor(M, **options).fit(data, y) for data in (X, rows)]
    np.testing.assert_allclose(*(gp.predict(data[:9]) for gp, data in zip(fits, (X, rows))), rtol=1e-9)


def test_wrong_shapes_are_refused():
    X, y, _, _ = problem(5000)
    for wrong, words in ((X[:, :2], r"shape \(5000, 2\)"), (X[:4900], "4,900 points"), (X[0, 0], r"shape \(\)")):
        with pytest.raises(InvalidInput, match=words):
            hg.GPRegressor(S2).fit(on_device(wrong), y)
    for own in (on_device, np.asarray):
        gp = hg.GPRegressor(S2, **(KNOWN | {"inference": hg.Sparse(20)})).partial_fit(X[:50], y[:50])
        with pytest.raises(Unsupported, match=r"these have one output\. Fit one for each column"):
            gp.partial_fit(own(X[:50]), np.column_stack([y, y])[:50])
    gp = hg.GPRegressor(S2, **KNOWN).fit(X[:50], y[:50])
    with pytest.raises(InvalidInput, match=r"shape \(\)"):
        gp.predict(on_device(X[0, 0]))
    with pytest.raises(OffManifold, match=r"X\[3\]"):
        gp.predict(on_device(np.where(np.arange(9)[:, None] == 3, 2 * X[:9], X[:9])))


@pytest.mark.parametrize(
    "options",
    [{"smoothness": 1.5}, {"project": True}, {"mean": lambda X: X[:, :1]}, {"inference": "dense"}],
    ids=["Matern", "project", "function", "dense"],
)
def test_what_has_no_form_for_jax_is_for_numpy(options, small):
    X, y, weights, Z = problem(600)
    X, weights = X.round(3) if "project" in options else X, weights + 1
    options = KNOWN | {"inference": "sparse"} | options
    if options["inference"] == "sparse":
        options["inference"] = hg.Sparse(X if "smoothness" in options else X[:40])  # 40 are few for a rough function
    of_jax = hg.GPRegressor(S2, **options).fit(on_device(X), on_device(y), on_device(weights), covariates=on_device(Z))
    of_numpy = hg.GPRegressor(S2, **options).fit(X, y, weights, covariates=Z)
    assert of_jax.log_marginal_likelihood() == pytest.approx(of_numpy.log_marginal_likelihood(), rel=1e-10)
    np.testing.assert_allclose(*(gp.predict(X[:9], covariates=Z[:9]) for gp in (of_jax, of_numpy)), rtol=1e-9)


def test_a_model_that_is_faster_dense():
    X, y, _, _ = problem(300)
    options = {"time": 1e-3, "amplitude": 1.0, "noise": 0.1, "inference": "sparse"}
    fits = [hg.GPRegressor(S2, **options).fit(*data) for data in ((X, y), (on_device(X), on_device(y)))]
    assert fits[0].approximation_ is fits[1].approximation_ is None
    assert fits[0].log_marginal_likelihood() == fits[1].log_marginal_likelihood()
