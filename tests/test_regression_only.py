"""Arguments of GPRegressor that GPClassifier has not: the errors say what to do instead."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone

import heatgp as hg
from heatgp.errors import InvalidInput

S2 = hg.Sphere(2)
X = S2.random(np.random.default_rng(0), 20)
LABELS = X[:, 0] > 0
GP = hg.GPClassifier(S2, time=0.5, amplitude=2.0, label_noise=0.0).fit(X, LABELS)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: GP.fit(X, LABELS, covariates=X),
            r"GPClassifier\.fit has no argument covariates.*M\.join\(X, covariates",
        ),
        (lambda: GP.fit(X, LABELS, sample_weight=np.ones(20)), r"fit has no argument sample_weight.*numpy\.repeat"),
        (lambda: GP.fit(X, LABELS, exposure=1.0), r'fit has no argument exposure.*likelihood="poisson"'),
        (lambda: GP.predict(X, return_std=True), r"GPClassifier\.predict has no argument return_std.*predict_proba"),
        (lambda: GP.predict_proba(X, covariates=X), r"predict_proba has no argument covariates.*Product\(manifold"),
        (lambda: GP.decision_function(X, noise=True), r"decision_function has no argument noise.*label_noise"),
        (lambda: GP.log_marginal_likelihood(noise=0.1), r"has no argument noise.*label_noise"),
        (lambda: hg.GPClassifier(S2, noise=0.1), r"GPClassifier has no argument noise.*label_noise"),
        (lambda: hg.GPClassifier(S2, likelihood="poisson"), r"has no argument likelihood.*GPRegressor for numbers"),
    ],
)
def test_arguments_of_regression_alone(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()


def test_the_remedy_for_covariates_works():
    """Covariates as coordinates of a product."""
    covariates = np.random.default_rng(1).standard_normal((20, 1))
    M = hg.Product(S2, hg.Euclidean(1))
    gp = hg.GPClassifier(M, time=0.5, amplitude=2.0, label_noise=0.0).fit(M.join(X, covariates), covariates[:, 0] > 0)
    assert gp.score(M.join(X, covariates), covariates[:, 0] > 0) > 0.9


def test_other_names_and_signatures_are_as_usual():
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        GP.fit(X, LABELS, colour="red")
    assert list(inspect.signature(GP.fit).parameters) == ["X", "y"]
    assert "label_noise" in clone(GP).get_params()
