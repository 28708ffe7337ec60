"""Labels that do not depend on the points: the evidence of that, and predictions that allow for it."""

import itertools

import numpy as np
import pytest
from scipy.integrate import dblquad, quad
from scipy.special import logsumexp

from heatgp import ComplexProjective, GPClassifier, SpecialOrthogonal, Sphere
from heatgp.errors import NotConverged
from heatgp.estimators import base
from heatgp.gp.mixture import Mixture
from heatgp.gp.no_signal import NoSignal, evidences
from heatgp.gp.scores import cross_entropy

S2 = Sphere(2)


def test_evidence_is_the_integral_over_shares():
    two = NoSignal(None, np.empty(0), np.array([3, 5]))
    assert np.isclose(np.exp(two.log_marginal_likelihood), quad(lambda p: (1 - p) ** 3 * p**5, 0, 1)[0])
    three = NoSignal(None, np.empty(0), np.array([2, 0, 1]))
    integral, _ = dblquad(lambda q, p: 2 * p**2 * (1 - p - q), 0, 1, 0, lambda p: 1 - p)  # the density of shares is 2
    assert np.isclose(np.exp(three.log_marginal_likelihood), integral)


def test_predictions_are_ratios_of_evidences():
    labels = np.array([0, 2, 0])
    model = NoSignal(None, labels, np.bincount(labels))
    for k in range(3):
        more = NoSignal(None, labels, np.bincount([*labels, k]))
        ratio = np.exp(more.log_marginal_likelihood - model.log_marginal_likelihood)
        assert np.isclose(model.probabilities(np.zeros(1))[0, k], ratio)
    without = NoSignal(None, labels[1:], np.bincount(labels[1:], minlength=3))
    np.testing.assert_allclose(model.loo_probability()[0], without.probabilities(np.zeros(1))[0])


def test_signal_is_told_from_none():
    rng = np.random.default_rng(0)
    X = S2.random(rng, 120)
    assert GPClassifier(S2).fit(X, X[:, 2] > 0).signal_ == 1.0
    weak = GPClassifier(S2).fit(X, rng.uniform(size=120) < 0.5 + 0.2 * X[:, 2])
    assert 0 < weak.signal_ < 1
    *processes, shares = weak.mixtures_[0].posteriors
    *weights, last = weak.mixtures_[0].weights
    assert last == pytest.approx(1 - weak.signal_)
    assert sum(weights) == pytest.approx(weak.signal_)
    average = last * shares.probabilities(X[:1])
    for weight, p in zip(weights, processes):
        given = GPClassifier(S2, time=p.params.time, amplitude=p.params.amplitude, label_noise=p.likelihood.label_noise)
        average += weight * given.fit(X, shares.y > 0).predict_proba(X[:1])
    np.testing.assert_allclose(weak.predict_proba(X[:1]), average, atol=1e-6)
    assert weak.summary().parameters[0].value == weak.time_
    assert GPClassifier(S2, priors=None).fit(X, X[:, 0] > X[:, 1]).signal_ == 1.0


@pytest.mark.parametrize("number, members, seed", [(30, 1, 0), (100, 1, 1), (100, 2, 2)])
def test_few_labels_of_a_class_are_no_signal_and_no_error(number, members, seed):
    """Whether they are noise or a small region is open, and expectation propagation of label noise is slow there."""
    rng = np.random.default_rng(seed)
    X = S2.random(rng, number)
    gp = GPClassifier(S2).fit(X, np.isin(np.arange(number), rng.permutation(number)[:members]))
    assert gp.predict_proba(S2.random(rng, 50))[:, 1].mean() < 2 * (members + 1) / (number + 2)


def test_the_average_evidence_is_an_integral():
    """Beside a lattice over the quantiles of the priors."""
    rng = np.random.default_rng(0)
    X = S2.random(rng, 20)
    gp = GPClassifier(S2, label_noise=0.0).fit(X, rng.uniform(size=20) < 0.5 + 0.3 * X[:, 2])
    objective, box = gp._objective(gp.posteriors_[0])
    middles = (np.arange(20) + 0.5) / 20
    places = (objective.laws[name].log_quantile(middles, *side) for name, side in zip(objective.names, box))
    points = map(np.array, itertools.product(*places))
    values = [objective.value(z) - objective.log_prior(z, objective.params(z)) for z in points]
    average = logsumexp(evidences(objective, box, 20)[0]) - np.log(32)
    assert average == pytest.approx(logsumexp(values) - np.log(len(values)), abs=0.1)


@pytest.mark.parametrize("classes, seed", [(2, 3), pytest.param(3, 1, marks=pytest.mark.slow)])
def test_sparse_models_of_random_labels_predict_what_dense_ones_do(classes, seed):
    """Labels that do not depend on the points: predictions are nearly the shares of the classes."""
    rng = np.random.default_rng(seed)
    X, new, y = S2.random(rng, 150), S2.random(rng, 200), rng.integers(classes, size=150)
    dense, sparse = (
        GPClassifier(S2, inference=inference, inducing=inducing, label_noise=0.0).fit(X, y)
        for inference, inducing in (("dense", None), ("sparse", 100))
    )
    assert sparse.approximation_.inducing <= 100
    assert 0 < dense.signal_ < 0.9
    assert sparse.signal_ == pytest.approx(dense.signal_, abs=0.05)
    np.testing.assert_allclose(sparse.predict_proba(new), dense.predict_proba(new), atol=0.02)
    np.testing.assert_allclose(sparse.decision_function(new), dense.decision_function(new), atol=0.06)
    best = np.ptp(sparse.posteriors_[0].probabilities(new) if classes > 2 else sparse.posteriors_[0].probability(new))
    assert np.ptp(sparse.predict_proba(new)[:, 1]) < 0.5 * best
    assert "labels depend on the points with the probability" in str(sparse.summary())


def excess(manifold, labels, seeds, number=80):
    """Cross entropy of new labels, less that of the shares of the training labels, over several data sets."""
    found = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        X = manifold.random(rng, number + 500)
        y = labels(rng, number + 500)
        probabilities = GPClassifier(manifold).fit(X[:number], y[:number]).predict_proba(X[number:])
        shares = np.tile(np.bincount(y[:number]) / number, (500, 1))
        found.append(cross_entropy(y[number:], probabilities) - cross_entropy(y[number:], shares))
    return np.mean(found)


@pytest.mark.slow
@pytest.mark.parametrize("manifold", [S2, SpecialOrthogonal(3), ComplexProjective(2)])
@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.85, 0.15), (0.4, 0.3, 0.3)])
def test_labels_without_signal_cost_little(manifold, shares):
    def labels(rng, number):
        return rng.choice(len(shares), number, p=shares)

    assert excess(manifold, labels, range(12)) < 0.01


def test_random_labels_are_found_beside_a_large_function():
    """Labels that f explains with a short time are another maximum, ten nats below."""
    rng = np.random.default_rng(0)
    X = S2.random(rng, 200)
    gp = GPClassifier(S2).fit(X, (X[:, 2] > 0) ^ (rng.uniform(size=200) < 0.15))
    assert 0.1 < gp.label_noise_ < 0.5


@pytest.mark.parametrize("classes", [2, 3])
def test_labels_have_no_noise_where_inference_converges_nowhere(classes, monkeypatch):
    def failing(fit):
        def wrapped(*arguments, likelihood, **options):
            if likelihood.free:
                raise NotConverged("nowhere")
            return fit(*arguments, likelihood=likelihood, **options)

        return wrapped

    monkeypatch.setattr(base, "fit", failing(base.fit))
    X = S2.random(np.random.default_rng(0), 40)
    y = (X[:, 2] > 0).astype(int) + (classes == 3) * (X[:, 0] > 0.5)
    gp = GPClassifier(S2).fit(X, y)
    assert gp.label_noise_ == 0
    assert "label noise" not in [parameter.name for parameter in gp.summary().parameters]


def test_parameters_without_convergence_are_left_out():
    def condition(z):
        if z == 1:
            raise NotConverged("at 1")
        return z

    mixture = Mixture.over(condition, [0, 1, 2], [0.25, 0.5, 0.25])
    assert (mixture.posteriors, mixture.weights.tolist()) == ([0, 2], [0.5, 0.5])
    with pytest.raises(NotConverged, match="at 1"):
        Mixture.over(condition, [1], [1.0])
