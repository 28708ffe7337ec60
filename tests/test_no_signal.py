"""Labels that do not depend on the points: the evidence of that, and predictions that allow for it."""

import numpy as np
import pytest
from scipy.integrate import dblquad, quad

from heatgp import ComplexProjective, GPClassifier, SpecialOrthogonal, Sphere
from heatgp.gp.no_signal import NoSignal
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
    np.testing.assert_allclose(model.loo()[0], without.probabilities(np.zeros(1))[0])


def test_signal_is_told_from_none():
    rng = np.random.default_rng(0)
    X = S2.random(rng, 120)
    assert GPClassifier(S2).fit(X, X[:, 2] > 0).signal_ == 1.0
    weak = GPClassifier(S2).fit(X, rng.uniform(size=120) < 0.5 + 0.2 * X[:, 2])
    assert 0 < weak.signal_ < 1
    shares = weak.mixtures_[0].posteriors[-1].probabilities(X[:1])
    alone = GPClassifier(S2, time=weak.time_, amplitude=weak.amplitude_, label_noise=weak.label_noise_)
    process = alone.fit(X, weak.posteriors_[0].y > 0).predict_proba(X[:1])
    np.testing.assert_allclose(
        weak.predict_proba(X[:1]), weak.signal_ * process + (1 - weak.signal_) * shares, atol=1e-6
    )
    assert GPClassifier(S2, priors=None).fit(X, X[:, 0] > X[:, 1]).signal_ == 1.0


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
