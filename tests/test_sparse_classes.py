"""Sparse classification beside the dense one."""

import pickle

import numpy as np
import pytest
from scipy.special import ndtr

import heatgp as hg
from heatgp.errors import AccuracyWarning, InvalidInput, Unsupported
from heatgp.estimators import base, classifier, plan
from heatgp.estimators.classifier import some_of_each
from heatgp.gp.classes import condition_classes
from heatgp.gp.kernels import Normalized
from heatgp.gp.multinomial import Multinomial
from heatgp.gp.parameters import Params
from heatgp.gp.probit import Probit
from heatgp.gp.sparse.inducing import InducedKernel, Inducing
from heatgp.gp.sparse.sites import condition_sparse_sites

S2 = hg.Sphere(2)
KERNEL = Normalized(hg.heat_kernel(S2))
PARAMS = Params(0.5, 5.0)


def labelled(number, classes, seed=0):
    rng = np.random.default_rng(seed)
    X = S2.random(rng, number)
    values = np.sin(2 * X @ rng.normal(size=(3, classes)))
    return X, np.argmax(values + 0.4 * rng.standard_normal(values.shape), axis=1)


def induced(X):
    return InducedKernel(Inducing.of(KERNEL, X, 0.5, 1e-12, len(X)))


@pytest.mark.parametrize("mean", ["zero", "constant"])
def test_two_classes_are_those_of_the_dense_model(mean):
    X, y = labelled(150, 2)
    signs, new = 2.0 * y - 1, labelled(20, 2, seed=1)[0]
    dense = condition_classes(KERNEL, X, signs, PARAMS, Probit(0.05), mean=mean)
    sparse = condition_sparse_sites(induced(X), X, signs, PARAMS, Probit(0.05), mean)
    np.testing.assert_allclose(sparse.probability(new), dense.probability(new), atol=1e-5)
    np.testing.assert_allclose(sparse.log_marginal_likelihood, dense.log_marginal_likelihood, atol=1e-4)
    assert sparse.count == 150


@pytest.mark.parametrize("mean", ["zero", "constant"])
@pytest.mark.parametrize("number", [60, 80])
def test_as_many_inducing_points_as_labels_or_more(mean, number):
    X, y = labelled(60, 2)
    Z, signs = np.concatenate([X, labelled(20, 2, seed=2)[0]])[:number], 2.0 * y - 1
    kernel = InducedKernel(Inducing.of(KERNEL, X, 0.05, 0.0, number, points=Z))
    assert len(kernel.inducing) == number
    new, params = labelled(20, 2, seed=1)[0], Params(0.05, 5.0)
    dense = condition_classes(KERNEL, X, signs, params, Probit(0.05), mean=mean)
    sparse = condition_sparse_sites(kernel, X, signs, params, Probit(0.05), mean)
    np.testing.assert_allclose(sparse.probability(new), dense.probability(new), atol=1e-5)
    np.testing.assert_allclose(sparse.log_marginal_likelihood, dense.log_marginal_likelihood, atol=1e-4)


def test_random_labels_of_a_sparse_model_that_needs_all_points():
    """Where the average over parameters meets a short time, all 300 points are inducing points."""
    rng = np.random.default_rng(1)
    X, y = S2.random(rng, 300), rng.integers(0, 2, 300)
    dense, sparse = (hg.GPClassifier(S2, inference=name).fit(X, y).predict_proba(X) for name in ("dense", "sparse"))
    np.testing.assert_allclose(sparse, dense, atol=0.01)


@pytest.mark.parametrize("mean", ["zero", "constant"])
def test_several_classes_are_those_of_the_dense_model(mean):
    X, y = labelled(150, 3)
    new = labelled(20, 3, seed=1)[0]
    dense = condition_classes(KERNEL, X, y, PARAMS, Multinomial(3, 0.05), mean=mean)
    sparse = condition_sparse_sites(induced(X), X, y, PARAMS, Multinomial(3, 0.05), mean)
    np.testing.assert_allclose(sparse.probabilities(new), dense.probabilities(new), atol=2e-4)
    for found, expected in zip(sparse.latent(new), dense.latent(new)):
        np.testing.assert_allclose(found, expected, atol=2e-3)


@pytest.mark.parametrize(
    ("classes", "options"),
    [
        (2, {}),
        pytest.param(3, {}, marks=pytest.mark.slow),
    ],
)
def test_the_estimator_learns_from_some_and_sees_all(monkeypatch, classes, options):
    monkeypatch.setattr(plan, "DENSE", 180)
    monkeypatch.setattr(classifier, "LEARNED", 120)
    X, y = labelled(900, classes)
    X, new, y, truth = X[:600], X[600:], y[:600], y[600:]
    gp = hg.GPClassifier(S2, **options).fit(X, y)
    few = some_of_each(y, 120)
    same = hg.GPClassifier(S2, **options).fit(X[few], y[few])
    np.testing.assert_allclose(gp.time_, same.time_)
    known = {"amplitude": gp.amplitude_, "label_noise": gp.label_noise_, "time": gp.time_}
    dense = hg.GPClassifier(S2, **(options | known)).fit(X, y)
    np.testing.assert_allclose(gp.predict_proba(new), dense.predict_proba(new), atol=5e-3)
    rows = gp.predict_proba(new)
    np.testing.assert_allclose(rows.sum(axis=1), 1.0)
    assert -np.log(rows[np.arange(300), truth]).mean() < -np.log(same.predict_proba(new)[np.arange(300), truth]).mean()
    assert gp.decision_function(new).shape == ((300,) if classes == 2 else (300, classes))
    again = pickle.loads(pickle.dumps(gp))
    np.testing.assert_allclose(again.predict_proba(new), rows, rtol=1e-12)
    text = str(gp.summary())
    found = gp.approximation_
    assert f"N = 600, sparse, {found.inducing} inducing points" in text
    assert 0 <= found.residual < 1e-4
    assert found.residual_share < 0.01
    assert gp.learned_from_ == len(few)
    assert f"learned from {len(few)} points" in text


def test_short_lengths_that_random_labels_do_not_see_are_found(monkeypatch):
    rng = np.random.default_rng(0)
    X = S2.random(rng, 2000)
    y = rng.random(2000) < ndtr(2 * X[:, 2] + 1.5 * np.sin(10 * X[:, 0]))
    monkeypatch.setattr(classifier, "LEARNED", 120)
    monkeypatch.setattr(base, "NEIGHBORS", 400)
    gp = hg.GPClassifier(S2, inference="sparse").fit(X, y)
    assert gp.learned_from_ == 400
    assert 0.02 < gp.time_ < 0.1
    monkeypatch.setattr(base, "NEIGHBORS", 1001)  # too many of 2,000 labels: none are looked at
    assert hg.GPClassifier(S2, inference="sparse").fit(X, y).time_ > 1.0


def test_few_inducing_points_of_labels_are_said():
    X, y = labelled(300, 2)
    known = {"time": 0.05, "amplitude": 5.0, "label_noise": 0.0}
    with pytest.warns(AccuracyWarning, match="10 inducing points leave"):
        few = hg.GPClassifier(S2, inference=hg.Sparse(10), **known).fit(X, y)
    Z = few.posterior_.X
    cross, inner = KERNEL.pairs(X, Z).at(0.05).value, KERNEL.pairs(Z).at(0.05).value
    left = 1 - (cross * np.linalg.solve(inner, cross.T).T).sum() / 300
    np.testing.assert_allclose(few.approximation_.residual, left, rtol=1e-6)


def test_what_a_sparse_classifier_has_not():
    X, y = labelled(100, 2)
    gp = hg.GPClassifier(S2, inference=hg.Sparse(40), time=0.5, amplitude=5.0, label_noise=0.0).fit(X, y)
    for call in (gp.loo, gp.plot):
        with pytest.raises(Unsupported, match="leave-one-out predictions need all data"):
            call()
    for call in (lambda: gp.log_marginal_likelihood(time=0.3), lambda: gp.kernel_error(X)):
        with pytest.raises(Unsupported, match="sparse model does not keep"):
            call()
    with pytest.raises(InvalidInput, match="inference = 'fast' is not known"):
        hg.GPClassifier(S2, inference="fast").fit(X, y)


def test_rare_classes_are_among_the_data_that_parameters_are_learned_from():
    numbers = np.array([0] * 500 + [1] * 3 + [2] * 500)
    few = some_of_each(numbers, 50)
    assert set(numbers[few]) == {0, 1, 2}
    assert len(few) <= 50 + 3 + 20


def test_the_smoothness_of_classes_is_learned():
    X = hg.Sphere(2).random(np.random.default_rng(0), 60)
    y = X[:, 0] + 0.3 * np.random.default_rng(1).standard_normal(60) > 0
    models = [hg.GPClassifier(hg.Sphere(2), smoothness=each).fit(X, y) for each in (np.inf, 2.5, 1.5, 0.5, "learn")]
    evidences = [model.log_marginal_likelihood() for model in models]
    assert evidences[-1] > max(evidences[:-1]) - 1  # it has a prior
