"""kernel="precomputed": Gram matrices in the place of points."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score

from heatgp import GPClassifier, GPRegressor, Sphere, heat_kernel
from heatgp.errors import InvalidInput, NotPositiveDefinite, Unsupported

S2 = Sphere(2)
X = S2.random(np.random.default_rng(6), 50)
Z = S2.random(np.random.default_rng(7), 8)
Y = X[:, 0] * X[:, 2] + 0.05 * np.random.default_rng(8).standard_normal(50)
LABELS = np.where(Y > 0, "up", "down")
COLORS = np.array(["red", "green", "blue"])[np.abs(X).argmax(axis=1)]
HEAT = heat_kernel(S2)


def gram(points, others=None):
    """The normalised kernel at time 0.5."""
    return HEAT(points, others, time=0.5) / HEAT(points[:1], time=0.5)[0, 0]


def uneven(points, others=None):
    """A linear kernel: its diagonal varies, and it is of low rank."""
    scale = 1 + points[:, :1] ** 2
    other = points if others is None else others
    return scale * (points @ other.T) * (1 + other[:, :1] ** 2).T


def test_equals_the_model_on_points():
    points = GPRegressor(S2, time=0.5).fit(X, Y)
    values = GPRegressor(kernel="precomputed").fit(gram(X), Y)
    assert values.time_ is None
    assert values.amplitude_ == pytest.approx(points.amplitude_, rel=1e-3)
    assert values.noise_ == pytest.approx(points.noise_, rel=1e-3)
    assert values.log_marginal_likelihood() == pytest.approx(points.log_marginal_likelihood(), abs=1e-6)
    rows = gram(Z, X)
    np.testing.assert_allclose(values.predict(rows), points.predict(Z), atol=1e-4)
    np.testing.assert_allclose(
        values.predict(rows, return_std=True)[1], points.predict(Z, return_std=True)[1], atol=1e-4
    )
    covariance = values.predict(rows, return_cov=True, prior=gram(Z))[1]
    np.testing.assert_allclose(covariance, points.predict(Z, return_cov=True)[1], atol=1e-4)
    np.testing.assert_allclose(values.loo(), points.loo(), atol=1e-3)
    assert values.sample_y(rows, 3, prior=gram(Z)).shape == (8, 3)


@pytest.mark.parametrize("labels", [LABELS, COLORS])
def test_classes_equal_the_model_on_points(labels):
    points = GPClassifier(S2, time=0.5).fit(X, labels)
    values = GPClassifier(kernel="precomputed").fit(gram(X), labels)
    np.testing.assert_allclose(values.predict_proba(gram(Z, X)), points.predict_proba(Z), atol=1e-3)
    np.testing.assert_array_equal(values.predict(gram(Z, X)), points.predict(Z))


def test_a_diagonal_that_varies():
    """Against the textbook's formula; prior variances of new points cannot be guessed."""
    gp = GPRegressor(kernel="precomputed", amplitude=2.0, noise=0.1, mean="zero").fit(uneven(X), Y)
    rows, own = uneven(Z, X), uneven(Z)
    inverse = np.linalg.inv(2 * uneven(X) + 0.1 * np.eye(50))
    covariance = 2 * own - 4 * rows @ inverse @ rows.T
    np.testing.assert_allclose(gp.predict(rows), 2 * rows @ inverse @ Y, atol=1e-9)
    np.testing.assert_allclose(gp.predict(rows, return_std=True, prior=np.diag(own))[1] ** 2, np.diag(covariance))
    np.testing.assert_allclose(gp.predict(rows, return_std=True, prior=own)[1] ** 2, np.diag(covariance))
    np.testing.assert_allclose(gp.predict(rows, return_cov=True, prior=own)[1], covariance, atol=1e-9)
    with pytest.raises(InvalidInput, match=r"says nothing of k\(x, x_57\).*Give k\(new, new\) too \(`prior`"):
        gp.predict(rows, return_std=True)
    with pytest.raises(InvalidInput, match="says nothing of"):
        gp.sample_y(rows, prior=np.diag(own))
    two = GPClassifier(kernel="precomputed", amplitude=5.0).fit(uneven(X), LABELS)
    probability = two.predict_proba(rows, prior=np.diag(own))
    np.testing.assert_array_equal(two.predict(rows), two.classes_[probability.argmax(axis=1)])


def test_scikit_learn_slices_both_axes():
    scores = cross_val_score(GPRegressor(kernel="precomputed"), gram(X), Y, cv=4)
    expected = cross_val_score(GPRegressor(S2, time=0.5), X, Y, cv=4)
    np.testing.assert_allclose(scores, expected, atol=1e-4)
    proba = cross_val_predict(GPClassifier(kernel="precomputed"), gram(X), LABELS, cv=3, method="predict_proba")
    assert proba.shape == (50, 2)
    model = GPRegressor(kernel="precomputed", amplitude=0.1)
    search = GridSearchCV(model, {"noise": [1e-3, 10.0]}, cv=3).fit(gram(X), Y)
    assert search.best_params_ == {"noise": 1e-3}
    assert cross_val_score(GPClassifier(kernel="precomputed", amplitude=9.0), uneven(X), LABELS, cv=3).shape == (3,)


@pytest.mark.parametrize(
    "matrix, message",
    [
        (gram(X)[:, :40], r"fitted to a square Gram matrix k\(X, X\); X has shape \(50, 40\)"),
        (gram(X)[0], r"X has shape \(50,\)"),
        (np.where(np.eye(50), np.nan, gram(X)), r"X\[0, 0\] = nan is not finite"),
        (gram(X) + np.triu(np.ones((50, 50))), "gram is not symmetric"),
        (gram(X) - 2 * np.eye(50), r"X\[0, 0\] = -1, a variance, is negative"),
        (gram(X).astype(str), "X must be a table of numbers; its dtype is <U"),
        (gram(X) + 0j, "its dtype is complex128"),
        (np.empty((0, 0)), "no point"),
    ],
)
def test_wrong_matrices_are_named(matrix, message):
    with pytest.raises(InvalidInput, match=message):
        GPRegressor(kernel="precomputed").fit(matrix, Y)


def test_wrong_rows_are_named():
    gp = GPRegressor(kernel="precomputed", amplitude=1.0, noise=0.1).fit(gram(X), Y)
    with pytest.raises(
        InvalidInput, match=r"k\(new, X\), 50 columns, one for each training point; X has shape \(8, 3\)"
    ):
        gp.predict(Z)
    with pytest.raises(
        InvalidInput, match=r"prior has shape \(3,\); needed is k\(new, new\) of 8 new points, \(8, 8\)"
    ):
        gp.predict(gram(Z, X), return_std=True, prior=np.ones(3))
    with pytest.raises(InvalidInput, match="prior holds the variance -1 < 0 of new point 0"):
        gp.predict(gram(Z, X), return_std=True, prior=-np.ones(8))
    with pytest.raises(InvalidInput, match=r"time = 0\.5, but a precomputed kernel has none"):
        GPRegressor(kernel="precomputed", time=0.5).fit(gram(X), Y)
    with pytest.raises(Unsupported, match="a precomputed kernel does not say how it was estimated"):
        gp.kernel_error(gram(Z, X))
    with pytest.raises(NotPositiveDefinite, match="covariance of 50 points is not positive definite"):
        GPRegressor(kernel="precomputed", amplitude=1.0, noise=0.1).fit(gram(X) - 0.5, Y)
