"""smoothness="learn" in models that are not dense."""

import numpy as np
import pytest

import heatgp as hg
from heatgp.gp.neighbors import posterior

R = hg.Euclidean(1)


def rough_data(number=240):
    """A kinked function of a line, in random order."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1, number)
    return x[:, None], np.abs(np.sin(12 * x)) + 0.02 * rng.standard_normal(number)


@pytest.mark.filterwarnings("ignore::heatgp.errors.AccuracyWarning")
@pytest.mark.parametrize("first", ["partial_fit", "fit"])
def test_partial_fit_keeps_the_smoothness_of_the_first_data(first):
    X, y = rough_data()
    gp = getattr(hg.GPRegressor(R, smoothness="learn"), first)(X[:160], y[:160])
    learned = gp.smoothness_
    assert learned < np.inf
    gp.partial_fit(X[160:], y[160:])
    assert gp.smoothness_ == learned
    assert gp.posterior_.count == len(X)
    assert gp.smoothness == "learn"
    same = hg.GPRegressor(R, smoothness=learned).partial_fit(X[:160], y[:160]).partial_fit(X[160:], y[160:])
    np.testing.assert_allclose(gp.predict(X), same.predict(X), rtol=1e-6)
    assert gp.log_marginal_likelihood() == pytest.approx(same.log_marginal_likelihood(), rel=1e-8)
    row = next(p for p in gp.summary().parameters if p.name == "smoothness")
    assert row.is_learned


def test_the_smoothness_of_functions_is_found():
    """Functions drawn with a known smoothness; the evidence is at most some nats below that of the true one."""
    S2, rng = hg.Sphere(2), np.random.default_rng(1)
    X = S2.random(rng, 300)
    for smoothness, low, high in [(0.5, 0.25, 1.0), (1.5, 0.9, 3.0), (np.inf, 4.0, np.inf)]:
        kernel = hg.matern_kernel(S2, smoothness)
        K = kernel(X, time=0.16)
        y = np.linalg.cholesky(K / K[0, 0] + 1e-10 * np.eye(300)) @ rng.standard_normal(300)
        y += 0.05 * rng.standard_normal(300)
        gp, true = (hg.GPRegressor(S2, smoothness=each).fit(X, y) for each in ("auto", smoothness))
        assert low <= gp.smoothness_ <= high
        assert gp.log_marginal_likelihood() > true.log_marginal_likelihood() - 2
        assert gp.kernel_.parameters == 1


@pytest.mark.parametrize(
    "options",
    [{"time": 0.3}, {"kernel": hg.matern_kernel(R, 1.5)}, {"smoothness": np.inf}, {"likelihood": "poisson"}],
    ids=["a time", "a kernel", "inf", "counts"],
)
def test_by_default_it_is_not_learned_where_the_kernel_is_known(options):
    X, y = rough_data(30)
    gp = hg.GPRegressor(R, **options).fit(X, np.round(3 * np.abs(y)) if "likelihood" in options else y)
    assert gp.smoothness_ == (1.5 if "kernel" in options else np.inf)
    assert not any(row.name == "smoothness" and row.is_learned for row in gp.summary().parameters)


def test_a_model_of_two_lengths(monkeypatch, tmp_path):
    """It has two times and a weight, and everything that a model of neighbors has."""
    monkeypatch.setattr(posterior, "CLEAR", -np.inf)  # two lengths, whatever the data say
    rng, plane = np.random.default_rng(0), hg.Euclidean(2)
    X = rng.uniform(0, 1, (500, 2))
    y = np.sin(4 * X[:, 0]) + 0.3 * np.abs(np.sin(30 * X[:, 1])) + 0.05 * rng.standard_normal(500)
    gp = hg.GPRegressor(plane, inference="neighbors").fit(X, y)
    assert len(gp.time_) == len(gp.lengthscale_) == len(gp.weights_) == 2
    assert gp.smoothness_ == 0.5
    first, second = (hg.matern_kernel(plane, part.smoothness) for part in gp.kernel_.kernel.summands)
    dense = hg.GPRegressor(
        plane,
        kernel=first + second,
        inference="dense",
        time=gp.posterior_.params.time,
        amplitude=gp.amplitude_,
        noise=gp.noise_,
    ).fit(X, y)
    (mean, std), (exact, deviation) = (model.predict(X + 0.01, return_std=True) for model in (gp, dense))
    assert np.sqrt(np.mean((std / deviation - 1) ** 2)) < 0.01
    assert np.sqrt(np.mean(((mean - exact) / deviation) ** 2)) < 0.1
    value, slopes = gp.log_marginal_likelihood(gradient=True)
    assert value == pytest.approx(gp.log_marginal_likelihood())
    assert len(slopes) == 5
    assert "weight[1]" in str(gp.summary())
    gp.save(tmp_path / "model")
    np.testing.assert_array_equal(hg.load_model(tmp_path / "model").predict(X), gp.predict(X))
