"""Scores against scikit-learn and the normal distribution."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn import metrics

from heatgp.errors import InvalidInput
from heatgp.gp import scores

rng = np.random.default_rng(0)
Y, MEAN, VARIANCE = rng.normal(size=50), rng.normal(size=50), rng.uniform(0.5, 2, size=50)
LABELS = rng.integers(2, size=200)
P = np.clip(rng.uniform(size=200) * 0.6 + 0.3 * LABELS, 0, 1)
CLASSES = rng.integers(3, size=200)
TABLE = rng.dirichlet(np.ones(3), size=200)


def test_regression_scores():
    assert np.isclose(scores.rmse(Y, MEAN), metrics.root_mean_squared_error(Y, MEAN))
    expected = -norm.logpdf(Y, MEAN, np.sqrt(VARIANCE)).mean()
    assert np.isclose(scores.negative_log_density(Y, MEAN, VARIANCE), expected)
    low, high = norm.interval(0.8, MEAN, np.sqrt(VARIANCE))
    assert scores.coverage(Y, MEAN, VARIANCE, level=0.8) == np.mean((low <= Y) & (high >= Y))


def test_class_scores():
    assert np.isclose(scores.cross_entropy(LABELS, P), metrics.log_loss(LABELS, P))
    assert np.isclose(scores.cross_entropy(CLASSES, TABLE), metrics.log_loss(CLASSES, TABLE))
    assert np.isclose(scores.cross_entropy(LABELS == 1, P), scores.cross_entropy(LABELS, P))
    assert np.isclose(scores.auc(LABELS, P), metrics.roc_auc_score(LABELS, P))
    assert np.isclose(scores.auc(CLASSES, TABLE), metrics.roc_auc_score(CLASSES, TABLE, multi_class="ovr"))


def test_a_certain_mistake_costs_much_but_not_everything():
    assert 700 < scores.cross_entropy([1], [0.0]) < 710


def test_reliability_of_true_probabilities():
    p = rng.uniform(size=20_000)
    table = scores.reliability(rng.uniform(size=20_000) < p, p)
    assert table.count.sum() == 20_000
    error = np.sqrt(table.predicted * (1 - table.predicted) / table.count)
    np.testing.assert_array_less(np.abs(table.observed - table.predicted), 4.5 * error)
    assert table.error < 0.02
    assert len(scores.reliability([1.0, 1.0], [1.0, 0.95]).count) == 1  # empty bins are left out, 1.0 is in the last


def test_errors_say_what_to_do():
    with pytest.raises(InvalidInput, match=r"shapes \[\(2,\), \(1,\)\]: all must be \(N,\)"):
        scores.rmse([1.0, 2.0], [1.0])
    with pytest.raises(InvalidInput, match="level = 90 must be between 0 and 1"):
        scores.coverage([1.0], [1.0], [1.0], level=90)
    with pytest.raises(InvalidInput, match=r"column numbers 0 to 1.*Encode classes with numpy\.unique"):
        scores.cross_entropy([-1, 1], [0.5, 0.5])
    with pytest.raises(InvalidInput, match="one row per label"):
        scores.auc([0, 1, 1], [0.5, 0.5])
