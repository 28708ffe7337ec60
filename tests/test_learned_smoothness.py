"""smoothness="learn" in models that are not dense."""

import numpy as np
import pytest
from scipy.optimize import brentq

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


def test_evidences_of_one_kind_are_compared():
    """A sparse model of smoothness 5/2 beside a dense one of 3/2, whose exact evidence is less by half of what the
    lower bound of the sparse one loses."""
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(0, 1, 80))[:, None]
    walk, wave = np.cumsum(rng.standard_normal(80)) / 9, np.sin(9 * X[:, 0])
    known = {"time": 0.04, "amplitude": 1.0, "noise": 0.01, "mean": "zero"}
    noise = 0.1 * rng.standard_normal(80)

    def fitted(share, smoothness, inference):
        inference = hg.Sparse(tolerance=0.9) if inference == "sparse" else inference
        gp = hg.GPRegressor(R, smoothness=smoothness, inference=inference, **known)
        return gp.fit(X, (1 - share) * wave + share * walk + noise)

    def evidence(share, smoothness, inference="dense"):
        return fitted(share, smoothness, inference).log_marginal_likelihood()

    lost = evidence(0.7, 2.5) - evidence(0.7, 2.5, "sparse")
    share = brentq(lambda s: evidence(s, 2.5) - evidence(s, 1.5) - lost / 2, 0.4, 1.0)
    assert evidence(share, 2.5, "sparse") < evidence(share, 1.5) < evidence(share, 2.5)
    assert evidence(share, 1.5, "sparse") == evidence(share, 1.5)  # where "sparse" is dense
    assert fitted(share, "learn", "dense").smoothness_ == 2.5
    assert fitted(share, "learn", "sparse").smoothness_ == 2.5
