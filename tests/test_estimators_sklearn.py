"""scikit-learn's own checks of estimators, and its tools around them: tables, pipelines, searches."""

import joblib
import numpy as np
import pandas
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import make_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from heatgp import ComplexProjective, Euclidean, GPClassifier, GPRegressor, SpecialOrthogonal, Sphere
from heatgp.errors import InvalidInput

FIXED = {"time": 0.5, "amplitude": 1.0}
X = np.random.default_rng(1).normal(size=(40, 3))
Y = np.sin(X[:, 0]) + 0.1 * X[:, 1]
LABELS = np.where(Y > 0, "up", "down")
TABLE = pandas.DataFrame(X, columns=["x", "y", "z"])
REGRESSOR, CLASSIFIER = GPRegressor("euclidean", noise=0.01, **FIXED), GPClassifier("euclidean", **FIXED)
BOTH = pytest.mark.parametrize("model, y", [(REGRESSOR, Y), (CLASSIFIER, LABELS)], ids=["regressor", "classifier"])


EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_sparse_data": "points are dense; scikit-learn 1.6 gives sparse ones to all "
    "models (its issue 30139), later versions do not"
}
"""Checks that must fail, and why."""
PRECISIONS = EXPECTED_FAILURES | {
    "check_sample_weight_equivalence_on_dense_data": "a weight is a precision: w equal copies would also say that the "
    "noise is small, and parameters are learned"
}
"""The same where parameters are learned; where they are given, weights are repetitions."""


UNDETERMINED = pytest.mark.filterwarnings("ignore::heatgp.errors.HeatGPWarning")
"""The checks fit a few random numbers, which determine no parameters."""


@UNDETERMINED
@parametrize_with_checks(
    [
        GPRegressor("euclidean"),
        GPRegressor("euclidean", time=1.0, amplitude=1.0, noise=0.1),
        GPClassifier("euclidean", time=1.0, amplitude=10.0),
    ],
    expected_failed_checks=lambda estimator: PRECISIONS if estimator.time is None else EXPECTED_FAILURES,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@UNDETERMINED
@parametrize_with_checks(
    [GPClassifier("euclidean"), GPClassifier("euclidean", inference="sparse")],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
def test_scikit_learn_checks_of_classes_with_everything_learned(estimator, check):
    check(estimator)


@BOTH
def test_euclidean_has_the_columns_of_the_data(model, y):
    fitted, named = clone(model).fit(X, y), clone(model).set_params(manifold=Euclidean(3)).fit(X, y)
    assert fitted.manifold == "euclidean"
    assert fitted.manifold_ == Euclidean(3)
    np.testing.assert_array_equal(fitted.predict(X), named.predict(X))


@BOTH
def test_names_of_columns(model, y):
    fitted = clone(model).fit(TABLE, y)
    assert fitted.feature_names_in_.tolist() == ["x", "y", "z"]
    np.testing.assert_array_equal(fitted.predict(TABLE), clone(model).fit(X, y).predict(X))
    with pytest.raises(InvalidInput, match="Feature names must be in the same order as they were in fit"):
        fitted.predict(TABLE[["y", "x", "z"]])
    with pytest.raises(InvalidInput, match=r"Feature names unseen at fit time:\n- w"):
        fitted.predict(TABLE.rename(columns={"x": "w"}))
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        fitted.predict(X)
    assert not hasattr(fitted.fit(X, y), "feature_names_in_")


@pytest.mark.parametrize("manifold", [Sphere(2), SpecialOrthogonal(2), ComplexProjective(1)], ids=repr)
def test_names_of_columns_on_manifolds(manifold, rng):
    points = manifold.random(rng, 20).reshape(20, -1)
    rows = np.hstack((points.real, points.imag)) if manifold.is_complex else points
    table = pandas.DataFrame(rows, columns=[f"c{i}" for i in range(rows.shape[1])])
    model = GPRegressor(manifold, noise=0.1, **FIXED).fit(table, rows[:, 0])
    assert len(model.feature_names_in_) == model.n_features_in_ == rows.shape[1]
    with pytest.raises(InvalidInput, match="Feature names must be in the same order"):
        model.predict(table[table.columns[::-1]])


def test_names_of_columns_stay_where_a_model_becomes_sparse():
    """Also the number of columns, which is that of the rows: 4 real numbers, not 2 complex ones."""
    manifold = ComplexProjective(1)
    points = manifold.random(np.random.default_rng(0), 40)
    table = pandas.DataFrame(np.hstack((points.real, points.imag)), columns=list("abcd"))
    model = GPRegressor(manifold, noise=0.1, **FIXED).fit(table, Y).partial_fit(table, Y)
    assert model.feature_names_in_.tolist() == list("abcd")
    assert model.n_features_in_ == 4
    assert model.posterior_.count == 80


def test_names_of_columns_go_through_pipelines():
    """scikit-learn's set_output is of transformers, whose tables our models take; predictions are arrays."""
    scaled = make_pipeline(StandardScaler(), clone(REGRESSOR)).set_output(transform="pandas").fit(TABLE, Y)
    assert scaled[-1].feature_names_in_.tolist() == ["x", "y", "z"]
    assert isinstance(scaled.predict(TABLE), np.ndarray)
    assert not hasattr(REGRESSOR, "set_output")


@BOTH
def test_other_numbers_of_columns(model, y):
    fitted = clone(model).fit(X, y)
    name = type(model).__name__
    with pytest.raises(InvalidInput, match=rf"X has 2 features, but {name} is expecting 3 features as input"):
        fitted.predict(X[:, :2])
    with pytest.raises(InvalidInput, match=r"Expected 2D array.*Reshape your data"):
        fitted.predict(X[0])
    with pytest.raises(InvalidInput, match=r"Expected 2D array.*X has shape \(40,\)"):
        clone(model).fit(X[:, 0], y)


@BOTH
def test_tables_of_several_types(model, y):
    """Columns of objects, of nullable numbers and of single precision are read as numbers."""
    expected = clone(model).fit(X, y).predict(X)
    for kind in (object, "Float64"):
        np.testing.assert_array_equal(clone(model).fit(TABLE.astype(kind), y).predict(TABLE), expected)
    with pytest.raises(InvalidInput, match="sparse data are not supported"):
        clone(model).fit(csr_array(X), y)
    with pytest.raises(
        InvalidInput, match=r"must be a table of numbers; its dtype is object, and X\[0, 0\] is 'north'"
    ):
        clone(model).fit(TABLE.assign(x="north"), y)


@BOTH
def test_targets_in_a_column(model, y):
    expected = clone(model).fit(X, y).predict(X)
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed") as caught:
        fitted = clone(model).fit(X, y[:, None])
    assert [w.filename for w in caught] == [__file__]
    np.testing.assert_array_equal(fitted.predict(X), expected)
    np.testing.assert_array_equal(clone(model).fit(X, pandas.Series(y, index=range(7, 47))).predict(X), expected)
    with pytest.raises(InvalidInput, match="requires y to be passed, but the target y is None"):
        clone(model).fit(X, None)


def test_decision_function_orders_as_the_probabilities():
    two = clone(CLASSIFIER).fit(X, LABELS)
    new = np.random.default_rng(2).normal(size=(50, 3))
    margin, probability = two.decision_function(new), two.predict_proba(new)
    np.testing.assert_array_equal(two.predict(new), two.classes_[(margin > 0).astype(int)])
    np.testing.assert_array_equal(np.argsort(margin), np.argsort(probability[:, 1]))
    three = clone(CLASSIFIER).fit(X, np.abs(X).argmax(axis=1))
    assert three.decision_function(new).shape == (50, 3)
    np.testing.assert_array_equal(three.decision_function(new).argmax(axis=1), three.predict(new))
    by_probability = make_scorer(roc_auc_score, response_method="predict_proba")
    scores = [cross_val_score(CLASSIFIER, X, LABELS, cv=3, scoring=scoring) for scoring in ("roc_auc", by_probability)]
    np.testing.assert_array_equal(*scores)


@pytest.mark.parametrize(
    "model, y, processes",
    [(REGRESSOR, Y, 1), (CLASSIFIER, LABELS, 1), pytest.param(REGRESSOR, Y, 2, marks=pytest.mark.slow)],
)
def test_pipeline_of_tables_in_a_search(model, y, processes, tmp_path):
    pipeline = make_pipeline(StandardScaler(), clone(model)).set_output(transform="pandas")
    name = type(model).__name__.lower()
    grid = {f"{name}__time": [0.01, 1.0], f"{name}__amplitude": [1.0, 4.0]}
    search = GridSearchCV(pipeline, grid, cv=3, n_jobs=processes).fit(TABLE, y)
    assert search.best_params_[f"{name}__time"] == 1.0
    assert search.best_estimator_[-1].feature_names_in_.tolist() == ["x", "y", "z"]
    joblib.dump(search, tmp_path / "search.joblib")
    again = joblib.load(tmp_path / "search.joblib")
    np.testing.assert_array_equal(again.predict(TABLE), search.predict(TABLE))


def test_arrays_of_other_libraries():
    import jax

    with jax.enable_x64(True):
        fitted = clone(REGRESSOR).fit(jax.numpy.asarray(X), jax.numpy.asarray(Y))
    np.testing.assert_allclose(fitted.predict(X), clone(REGRESSOR).fit(X, Y).predict(X), rtol=1e-12)
