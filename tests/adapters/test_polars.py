"""Tables of polars: the same models as of arrays, with the names of their columns."""

import numpy as np
import polars
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import heatgp as hg
from heatgp.errors import InvalidInput, OffManifold
from heatgp.manifolds.composed.product import flatten

S2 = hg.Sphere(2)
X = S2.random(np.random.default_rng(0), 40)
Y = X[:, 0] + 0.1 * np.random.default_rng(1).standard_normal(40)
COLORS = np.array(["red", "green", "blue"])[np.abs(X).argmax(axis=1)]
TABLE = polars.DataFrame(X, schema=["x", "y", "z"])
FIXED = {"time": 0.5, "amplitude": 1.0}
REGRESSOR, CLASSIFIER = hg.GPRegressor(S2, noise=0.01, **FIXED), hg.GPClassifier(S2, **FIXED)


@pytest.mark.parametrize("model, y", [(REGRESSOR, Y), (CLASSIFIER, COLORS)], ids=["regressor", "classifier"])
def test_names_of_columns(model, y):
    fitted = model.fit(TABLE, polars.Series(y))
    assert fitted.feature_names_in_.tolist() == ["x", "y", "z"]
    found = fitted.predict(TABLE)
    assert isinstance(found, np.ndarray)
    with pytest.raises(InvalidInput, match=r"same order as they were in fit(.|\n)*X has \['y', 'x', 'z'\]"):
        fitted.predict(TABLE.select("y", "x", "z"))
    with pytest.raises(InvalidInput, match=r"Feature names unseen at fit time:\n- w"):
        fitted.predict(TABLE.rename({"x": "w"}))
    np.testing.assert_array_equal(found, model.fit(X, y).predict(X))


@pytest.mark.parametrize("manifold", [hg.ComplexProjective(2), hg.SpecialOrthogonal(3)], ids=repr)
def test_flattened_points(manifold):
    points = manifold.random(np.random.default_rng(0), 20)
    table = polars.DataFrame(flatten(manifold, points))
    model = hg.GPRegressor(manifold, noise=0.1, **FIXED)
    y = np.arange(20.0)
    np.testing.assert_allclose(model.fit(table, y).predict(table), model.fit(points, y).predict(points), atol=1e-12)


def test_all_that_has_rows():
    """Weights, known variances, covariates, several targets, and new data for a model of many."""
    weights, height = np.linspace(1, 2, 40), polars.DataFrame({"height": X[:, 1] ** 2})
    model = hg.GPRegressor(S2, noise=0.01, **FIXED)
    found = model.fit(TABLE, Y, sample_weight=polars.Series(weights), covariates=height)
    assert found.coefficient_names_ == ["constant", "covariate height"]
    mean = found.predict(TABLE, covariates=height)
    plain = model.fit(X, Y, sample_weight=weights, covariates=height.to_numpy())
    np.testing.assert_array_equal(mean, plain.predict(X, covariates=height.to_numpy()))
    noise = hg.GPRegressor(S2, noise=polars.Series(weights), **FIXED).fit(TABLE, Y).noise_
    np.testing.assert_array_equal(noise, weights)
    assert model.fit(TABLE, polars.DataFrame({"u": Y, "v": -Y})).predict(TABLE).shape == (40, 2)
    more = model.fit(TABLE, Y).partial_fit(TABLE, Y)
    assert more.feature_names_in_.tolist() == ["x", "y", "z"]
    assert more.posterior_.count == 80


def test_gram_matrices():
    gram = hg.heat_kernel(S2)(X, time=0.5)
    table = polars.DataFrame(gram, schema=[f"p{i}" for i in range(40)])
    model = hg.GPRegressor(kernel="precomputed", amplitude=1.0, noise=0.1)
    mean, std = model.fit(table, polars.Series(Y)).predict(table, return_std=True, prior=polars.Series(np.diag(gram)))
    assert model.feature_names_in_[:2].tolist() == ["p0", "p1"]
    with pytest.raises(InvalidInput, match="same order as they were in fit"):
        model.predict(table.select(reversed(table.columns)))
    np.testing.assert_array_equal((mean, std), model.fit(gram, Y).predict(gram, return_std=True, prior=np.diag(gram)))


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_tools_of_scikit_learn(library):
    """Names go through a pipeline whose steps put out tables; our models are its end."""
    model = make_pipeline(FunctionTransformer(feature_names_out="one-to-one"), REGRESSOR).set_output(transform=library)
    assert model.fit(TABLE, Y)[-1].feature_names_in_.tolist() == ["x", "y", "z"]
    scores = cross_val_score(REGRESSOR, TABLE, polars.Series(Y), cv=3)
    np.testing.assert_allclose(scores, cross_val_score(REGRESSOR, X, Y, cv=3))
    search = GridSearchCV(REGRESSOR, {"time": [1e-4, 0.5]}, cv=3).fit(TABLE, polars.Series(Y))
    assert search.best_params_ == {"time": 0.5}


def test_tables_back():
    mean, std = REGRESSOR.fit(TABLE, Y).predict(TABLE, return_std=True)
    assert TABLE.with_columns(mean=mean, std=std).columns == ["x", "y", "z", "mean", "std"]
    scores = polars.DataFrame(hg.compare(S2, TABLE, polars.Series(Y), methods=["linear"]).rows)
    assert scores["metric"].to_list() == ["rmse", "seconds"]


@pytest.mark.parametrize(
    "table, error, message",
    [
        (TABLE.lazy(), InvalidInput, r"LazyFrame of polars, whose numbers are not there yet\. Give X\.collect\(\)"),
        (TABLE.with_columns(x=None), OffManifold, r"X\[0\] is not finite"),
        (TABLE.with_columns(x=polars.lit("a")), InvalidInput, "X must be a table of numbers"),
        (TABLE * 2, OffManifold, r"X\[0\] is not on Sphere\(2\)"),
        (TABLE.select("x", "y"), InvalidInput, r"X has shape \(40, 2\)"),
    ],
)
def test_wrong_tables_are_named(table, error, message):
    with pytest.raises(error, match=message):
        hg.GPRegressor(S2, noise=0.1, **FIXED).fit(table, Y)


def test_missing_targets_are_named():
    with pytest.raises(InvalidInput, match=r"y\[1\] = nan is not finite"):
        REGRESSOR.fit(TABLE[:2], polars.Series([1.0, None]))
    with pytest.raises(InvalidInput, match=r"y\[2\] = None is missing"):
        CLASSIFIER.fit(TABLE[:3], polars.Series(["a", "b", None]))
