"""Many observations that are not normal: parameters from some of them, predictions from all."""

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy.special import gammainc, gammaln

import heatgp as hg
from heatgp.errors import AccuracyWarning, InvalidInput, Unsupported
from heatgp.gp.regression_likelihood import RegressionLikelihood

S2 = hg.Sphere(2)


@dataclass(frozen=True)
class Gamma(RegressionLikelihood):
    """Amounts with the mean exp(f): a likelihood of a user's own, without formulas for its moments."""

    shape: float | None = None

    bounds: ClassVar = {"shape": (0.1, 100.0)}
    expected_increases: ClassVar = True

    def log_density(self, y, f):
        a = self.shape
        return a * np.log(a) - gammaln(a) + (a - 1) * np.log(y) - a * f - a * y * np.exp(-f)

    def expected(self, f):
        return np.exp(f)

    def dispersion(self, f):
        return np.exp(2 * f) / self.shape

    def distribution(self, y, f):
        with np.errstate(over="ignore"):
            return gammainc(self.shape, self.shape * np.maximum(y, 0.0) * np.exp(-f))


def signal(X):
    return np.sin(3 * X[:, 0]) + X[:, 2]


def observed(name, number, seed=0):
    rng = np.random.default_rng(seed)
    X = S2.random(rng, number)
    f = signal(X)
    if name == "student-t":
        return X, f + 0.2 * rng.standard_t(4, number)
    return X, rng.poisson(np.exp(f)) if name == "poisson" else rng.gamma(3.0, np.exp(f) / 3.0)


LIKELIHOODS = {"student-t": "student-t", "poisson": "poisson", "gamma": Gamma()}


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_predictions_are_those_of_the_dense_model(name):
    """At the same parameters, those of the dense fit, within the tolerance: 1 % of a standard deviation."""
    X, y = observed(name, 400)
    new, likelihood = S2.random(np.random.default_rng(1), 100), LIKELIHOODS[name]
    dense, sparse = (
        hg.GPRegressor(S2, likelihood=likelihood, inference=inference).fit(X, y) for inference in ("dense", "sparse")
    )
    assert sparse.time_ == pytest.approx(dense.time_)
    assert sparse.approximation_.inducing < 200
    mean, std = dense.predict(new, return_std=True)
    other, spread = sparse.predict(new, return_std=True)
    assert np.abs(other - mean).max() < 0.01 * std.mean()
    np.testing.assert_allclose(spread, std, rtol=0.01)
    for level in (False, True):
        np.testing.assert_allclose(
            sparse.predict_interval(new[:9], noise=level), dense.predict_interval(new[:9], noise=level), rtol=0.02
        )
    assert sparse.log_marginal_likelihood() == pytest.approx(dense.log_marginal_likelihood(), abs=0.01)


def test_more_data_than_parameters_are_learned_from():
    """By default beyond 4,000 points; the truth is within the stated spread, and nearer than what some of them say."""
    X, y = observed("poisson", 6000)
    new = S2.random(np.random.default_rng(1), 500)
    gp = hg.GPRegressor(S2, likelihood="poisson").fit(X, y)
    some = hg.GPRegressor(S2, likelihood="poisson").fit(X[:500], y[:500])
    assert gp.learned_from_ == 2000
    assert "learned from 2,000 points" in str(gp.summary())
    truth = np.exp(signal(new))
    mean, std = gp.predict(new, return_std=True)
    assert np.sqrt(np.mean((mean - truth) ** 2)) < 0.6 * np.sqrt(np.mean((some.predict(new) - truth) ** 2))
    assert 0.8 < np.mean(np.abs(mean - truth) < 1.645 * std) <= 1.0


def test_exposure_of_many_counts():
    X, _ = observed("poisson", 600)
    exposure = np.linspace(0.5, 2.0, 600)
    y = np.random.default_rng(2).poisson(exposure * np.exp(signal(X)))
    dense, sparse = (
        hg.GPRegressor(S2, likelihood="poisson", inference=inference).fit(X, y, exposure=exposure)
        for inference in ("dense", "sparse")
    )
    np.testing.assert_allclose(sparse.predict(X[:50]), dense.predict(X[:50]), rtol=0.005)


def test_too_few_inducing_points_are_said():
    X, y = observed("student-t", 300)
    with pytest.warns(AccuracyWarning, match="8 inducing points leave .* of the prior variance of f unexplained"):
        hg.GPRegressor(S2, likelihood="student-t", inference=hg.Sparse(8), time=0.1).fit(X, y)


def test_what_is_refused():
    X, y = observed("poisson", 300)
    gp = hg.GPRegressor(S2, likelihood="poisson", inference="sparse", time=0.5, amplitude=1.0).fit(X, y)
    for call in (gp.loo, gp.plot):
        with pytest.raises(Unsupported, match="leave-one-out predictions need all data"):
            call()
    for call in (lambda: gp.kernel_error(X), lambda: gp.log_marginal_likelihood(time=0.3)):
        with pytest.raises(Unsupported, match="sparse model does not keep"):
            call()
    model = hg.GPRegressor(S2, likelihood="poisson", inference="sparse")
    with pytest.raises(Unsupported, match='inference="sparse" is not possible with integrate="grid" and a likelihood'):
        hg.GPRegressor(S2, likelihood="poisson", inference="sparse", integrate="grid").fit(X, y)
    with pytest.raises(Unsupported, match="partial_fit adds data to a sparse model, and these have normal noise"):
        model.partial_fit(X, y)
    with pytest.raises(Unsupported, match='inference="neighbors" is not possible with a likelihood that is not normal'):
        hg.GPRegressor(S2, likelihood="poisson", inference="neighbors").fit(X, y)
    with pytest.raises(InvalidInput, match="is not a count"):
        model.fit(X, y + 0.5)


def test_a_saved_model_predicts_the_same(tmp_path):
    X, y = observed("poisson", 300)
    gp = hg.GPRegressor(S2, likelihood="poisson", inference="sparse", time=0.5, amplitude=1.0).fit(X, y)
    gp.save(tmp_path / "model")
    again = hg.load_model(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X[:9], return_std=True), gp.predict(X[:9], return_std=True))


def test_points_by_hand_that_are_all_data():
    """The sparse model is then the dense one, up to the jitter of the inducing points."""
    X, y = observed("student-t", 60)
    options = {"likelihood": "student-t", "time": 0.3, "amplitude": 1.0, "noise": 0.05}
    with warnings.catch_warnings():
        warnings.simplefilter("error", AccuracyWarning)
        sparse = hg.GPRegressor(S2, inference=hg.Sparse(X), **options).fit(X, y)
    dense = hg.GPRegressor(S2, **options).fit(X, y)
    np.testing.assert_allclose(sparse.predict(X), dense.predict(X), atol=1e-5)
