"""smoothness="learn" in models that are not dense."""

import numpy as np
import pytest

import heatgp as hg

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
