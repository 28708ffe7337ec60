import pickle
import re
import time

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from heatgp import ComplexProjective, Euclidean, Manifold, Orthogonal, Product, SpecialOrthogonal, Sphere
from heatgp.baselines import (
    NAMES,
    BaselineClassifier,
    BaselineRegressor,
    NearestClassifier,
    NearestRegressor,
    baseline,
    compare,
    evaluate,
)
from heatgp.baselines.comparison import folds
from heatgp.baselines.nearest import distances
from heatgp.errors import InvalidInput, Unsupported
from heatgp.gp.scores import classification_scores


class Plane(Manifold):
    """A manifold of a user's own that has no distance."""

    shape, dim = (2,), 2

    def noise(self, x, z):
        return z

    def exp(self, x, v):
        return x + v

    def random(self, rng, n):
        return rng.standard_normal((n, 2))

    def defect(self, x):
        return np.zeros(x.shape[:-1])

    def __repr__(self):
        return "Plane()"


QUICK = ("linear", "linear untuned", "nearest")


def sphere_data(n=60, seed=0):
    X = Sphere(2).random(np.random.default_rng(seed), n)
    return X, X[:, 2] + 0.5 * X[:, 0] * X[:, 1]


@pytest.mark.parametrize("neighbours", [1, 4])
def test_nearest_neighbours_in_flat_space_are_scikit_learns(neighbours):
    X, y = sphere_data()
    labels = np.where(y > 0, "up", "down")
    new = np.random.default_rng(1).standard_normal((20, 3))
    expected = KNeighborsRegressor(neighbours).fit(X, y).predict(new)
    np.testing.assert_allclose(NearestRegressor(Euclidean(3), neighbours).fit(X, y).predict(new), expected)
    share = KNeighborsClassifier(neighbours).fit(X, labels).predict_proba(new)
    found = NearestClassifier(Euclidean(3), neighbours).fit(X, labels).predict_proba(new)
    np.testing.assert_allclose(found, (neighbours * share + 1) / (neighbours + 2))


def test_the_number_of_neighbours_is_the_best_left_out():
    X, y = sphere_data(40)
    y = y + 0.5 * np.random.default_rng(2).standard_normal(40)

    def left_out(k):
        rest = [np.delete(np.arange(40), i) for i in range(40)]
        return np.mean(
            [(NearestRegressor(Sphere(2), k).fit(X[r], y[r]).predict(X[[i]]) - y[i]) ** 2 for i, r in enumerate(rest)]
        )

    assert NearestRegressor(Sphere(2)).fit(X, y).neighbours_ == 1 + np.argmin([left_out(k) for k in range(1, 26)])


def test_distances_in_blocks_equal_distances_at_once(monkeypatch):
    M = SpecialOrthogonal(3)
    X, Y = M.random(np.random.default_rng(0), 7), M.random(np.random.default_rng(1), 5)
    monkeypatch.setattr("heatgp.baselines.nearest.CHUNK", 100)
    np.testing.assert_array_equal(distances(M, X, Y), M.distance(X[:, None], Y[None]))


def test_neighbours_in_another_component_come_last():
    M = Orthogonal(3)
    X = M.random(np.random.default_rng(0), 30)
    y = np.linalg.det(X).round().astype(int)
    assert NearestClassifier(M, 3).fit(X, y).score(X, y) == 1


def test_neighbours_need_a_distance_and_enough_points():
    with pytest.raises(Unsupported, match=re.escape("Plane() has no distance in closed form")):
        NearestRegressor(Plane()).fit(np.ones((4, 2)), np.arange(4.0))
    with pytest.raises(InvalidInput, match="from 1 to the number of training points, 4; got 9"):
        NearestRegressor(Euclidean(1), 9).fit(np.ones((4, 1)), np.arange(4.0))
    assert NearestRegressor(Euclidean(1)).fit([[0.0]], [3.0]).predict([[5.0]]) == [3.0]


def test_the_tuned_rbf_is_scikit_learns_at_its_optimum():
    X, y = sphere_data()
    y = y + 0.1 * np.random.default_rng(1).standard_normal(len(y))
    model = BaselineRegressor(Sphere(2), "rbf").fit(X, y)
    kernel = ConstantKernel() * RBF(2.0) + WhiteKernel(0.01)
    other = GaussianProcessRegressor(kernel, normalize_y=True).fit(X, y)  # from another start
    evidence = model.model_.log_marginal_likelihood_value_
    np.testing.assert_allclose(evidence, other.log_marginal_likelihood_value_, atol=1e-3)
    np.testing.assert_allclose(model.predict(X, return_std=True), other.predict(X, return_std=True), atol=1e-2)


def test_the_untuned_rbf_keeps_its_length_on_raw_coordinates():
    M = ComplexProjective(2)
    X = M.random(np.random.default_rng(0), 30)
    model = baseline("rbf untuned", M, "regression").fit(X, X[:, 0].real)
    assert model.model_.kernel_.k1.k2.length_scale == 1
    np.testing.assert_array_equal(model.model_.X_train_, np.concatenate((X.real, X.imag), axis=1))
    invariant = baseline("linear", M, "regression").fit(X, np.abs(X[:, 0]) ** 2)
    np.testing.assert_allclose(invariant.predict(1j * X), invariant.predict(X))  # the embedding sees lines, not vectors


@pytest.mark.parametrize("name", NAMES)
def test_every_baseline_learns_an_easy_problem_of_either_kind(name):
    M = Product(Sphere(2), Euclidean(1))
    rng = np.random.default_rng(3)
    X = M.random(rng, 60)
    y = 2 * X[:, 0] + X[:, 3]
    labels = np.array(["low", "middle", "high"])[np.digitize(y, (-1, 1))]
    regressor, classifier = baseline(name, M, "regression"), baseline(name, M, "classification")
    assert clone(regressor).fit(X[:45], y[:45]).score(X[45:], y[45:]) > 0.6
    classifier = pickle.loads(pickle.dumps(clone(classifier).fit(X, labels)))
    proba = classifier.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert list(classifier.classes_) == ["high", "low", "middle"]
    assert np.mean(classifier.predict(X) == labels) > 0.7


def test_baselines_work_inside_cross_validation():
    X, y = sphere_data()
    assert cross_val_score(BaselineRegressor(Sphere(2), "linear"), X, y, cv=3).shape == (3,)


def test_svm_copes_with_a_class_of_one():
    X, _ = sphere_data(12)
    y = np.array([0] * 11 + [1])
    for name in ("svm", "linear"):
        assert baseline(name, Sphere(2), "classification").fit(X, y).predict_proba(X).shape == (12, 2)


def test_baselines_name_what_they_do_not_know():
    X, y = sphere_data(8)
    with pytest.raises(InvalidInput, match="method must be one of 'rbf', 'svm', 'linear'; got 'tree'"):
        BaselineRegressor(Sphere(2), "tree").fit(X, y)
    with pytest.raises(InvalidInput, match="coordinates must be 'embedding' or 'raw'; got 'polar'"):
        BaselineClassifier(Sphere(2), coordinates="polar").fit(X, y > 0)
    with pytest.raises(InvalidInput, match="There is no baseline 'tree'; there are 'rbf', 'rbf raw'"):
        baseline("tree", Sphere(2), "regression")
    with pytest.raises(InvalidInput, match="y has one class only, "):
        BaselineClassifier(Sphere(2)).fit(X, np.ones(8))
    with pytest.raises(Unsupported, match="'linear' has no predictive standard deviation"):
        BaselineRegressor(Sphere(2), "linear").fit(X, y).predict(X, return_std=True)
    with pytest.raises(InvalidInput, match=re.escape("X[0] is not on Sphere(2)")):
        BaselineRegressor(Sphere(2), "linear").fit(2 * X, y)


def test_classification_scores_are_scikit_learns():
    rng = np.random.default_rng(0)
    p = expit(rng.standard_normal(50))
    y = (rng.random(50) < p).astype(int)
    proba = np.column_stack((1 - p, p))
    scores = classification_scores(np.array([0, 1]), proba, y)
    expected = (log_loss(y, proba), roc_auc_score(y, p), np.mean((p > 0.5) != y))
    np.testing.assert_allclose([scores[k] for k in ("cross_entropy", "auc", "error")], expected)


def test_scores_survive_certainty_one_class_and_unseen_classes():
    certain = classification_scores(np.array(["a", "b"]), np.array([[1.0, 0.0]]), np.array(["b"]))
    np.testing.assert_allclose(certain["cross_entropy"], 15 * np.log(10))
    assert "auc" not in certain
    unseen = classification_scores(np.array(["a", "b"]), np.array([[0.5, 0.5]]), np.array(["c"]))
    assert unseen["error"] == 1


def test_evaluate_scores_means_and_densities():
    X, y = sphere_data(30)

    class Constant(DummyRegressor):
        def predict(self, X, return_std=False):
            return np.full(len(X), 0.3), np.full(len(X), 2.0)

    scores = evaluate(Constant(), X, y, X, y, task="regression")
    np.testing.assert_allclose(scores["rmse"], np.sqrt(np.mean((y - 0.3) ** 2)))
    np.testing.assert_allclose(scores["nlpd"], -norm(0.3, 2).logpdf(y).mean())
    noisy = Constant()
    noisy.noise_ = 5.0  # a variance that the standard deviation of the function does not hold
    np.testing.assert_allclose(evaluate(noisy, X, y, X, y, task="regression")["nlpd"], -norm(0.3, 3).logpdf(y).mean())
    assert "nlpd" not in evaluate(baseline("linear", Sphere(2), "regression"), X, y, X, y, task="regression")


def test_compare_uses_one_set_of_splits_and_averages():
    X, y = sphere_data()
    pairs = [(np.arange(40), np.arange(40, 60)), (np.arange(20, 60), np.arange(20))]
    table = compare(
        Sphere(2),
        X,
        y,
        methods={"mean": DummyRegressor(), "line": baseline("linear", Sphere(2), "regression")},
        splits=pairs,
    )
    errors = [np.sqrt(np.mean((y[b] - y[a].mean()) ** 2)) for a, b in pairs]
    row = table.row("mean", "rmse")
    np.testing.assert_allclose((row.mean, row.sd, row.n), (np.mean(errors), np.std(errors, ddof=1), 2))
    assert table.row("line", "rmse").mean < row.mean
    with pytest.raises(InvalidInput, match="The table has no 'auc' of 'mean'"):
        table.row("mean", "auc")


def test_compare_is_repeatable_and_prints_and_saves(tmp_path):
    X, y = sphere_data()
    labels = np.where(y > 0, "up", "down")
    table = compare(Sphere(2), X, labels, methods=QUICK, splits=3, rng=5)
    again = compare(Sphere(2), X, labels, methods=QUICK, splits=3, rng=5)
    assert [r for r in table.rows if r.metric != "seconds"] == [r for r in again.rows if r.metric != "seconds"]
    lines = str(table).splitlines()
    assert lines[0] == "classification on Sphere(2): 60 points, 3 splits"
    assert lines[1].split() == ["cross_entropy", "auc", "error", "seconds"]
    assert [line.split("  ")[0] for line in lines[2:]] == list(QUICK)
    assert len({len(line) for line in lines[1:]}) == 1
    text = table.to_csv(tmp_path / "table.csv")
    assert (tmp_path / "table.csv").read_text() == text
    assert text.splitlines()[0] == "method,metric,mean,sd,n"
    assert len(text.splitlines()) == 1 + len(table.rows)


def test_rows_have_the_columns_of_the_table():
    X, y = sphere_data()
    table = compare(Sphere(2), X, y, methods=["linear"], splits=2)
    columns = ["method", "metric", "mean", "sd", "n"]
    assert [list(vars(row)) for row in table.rows] == [columns] * len(table.rows)
    assert table.to_csv().splitlines()[0].split(",") == columns


def test_compare_says_how_far_it_is(caplog, monkeypatch):
    class Slow(DummyRegressor):
        def fit(self, X, y):
            time.sleep(0.15)
            return super().fit(X, y)

    monkeypatch.setattr("heatgp.progress.LONG", 0.1)
    X, y = sphere_data()
    with caplog.at_level("INFO", "heatgp"):
        compare(Sphere(2), X, y, methods={"mean": DummyRegressor(), "slow": Slow()}, splits=2)
    assert "compare: 2 of 4 fits are done, 'slow' is running: at work for 0 s" in caplog.text


def test_groups_stay_together_and_all_points_are_tested():
    groups = np.repeat(list("abcdef"), 5)
    y = np.tile((0, 1), 15)
    for a, b in folds(y, "classification", 3, groups, 0):
        assert not set(groups[a]) & set(groups[b])
    for task, members in (("regression", None), ("classification", None), ("classification", groups)):
        tested = np.concatenate([b for _, b in folds(y, task, 3, members, 0)])
        assert sorted(tested) == list(range(30))


def test_compare_leaves_nearest_out_only_where_it_must(monkeypatch):
    M = Plane()
    X = M.random(np.random.default_rng(0), 12)
    y = X[:, 0]
    monkeypatch.setattr("heatgp.baselines.comparison.DEFAULT", QUICK)
    table = compare(M, X, y, splits=3)
    assert {row.method for row in table.rows} == {"linear", "linear untuned"}
    assert str(table).splitlines()[-1].startswith("nearest: left out. Plane() has no distance")
    with pytest.raises(Unsupported):
        compare(M, X, y, methods=["nearest"], splits=3)


def test_compare_explains_what_it_cannot_do():
    X, y = sphere_data(24)

    def fails(message, *arguments, **options):
        with pytest.raises(InvalidInput, match=re.escape(message)):
            compare(Sphere(2), *arguments, **options)

    fails("y has shape (3,); X has 24 points, so y must have shape (24,)", X, y[:3])
    fails("There is no method 'tree'; there are 'heatgp', 'rbf'", X, y, methods=["tree"])
    fails("y has 24 > 20 different whole numbers: say task=", X, np.arange(24), methods=QUICK)
    fails("task must be 'regression' or 'classification'; got 'ranking'", X, y, task="ranking")
    fails("splits must be from 2 to the number of points, 24; got 1", X, y, methods=QUICK, splits=1)
    few = np.arange(24) < 3
    fails("splits must be from 2 to the number of points of the smallest class, 3; got 5", X, few, methods=QUICK)
    fails("splits must be from 2 to the number of groups, 2; got 5", X, y, methods=QUICK, groups=few)


def test_auc_counts_only_splits_with_both_classes():
    X, _ = sphere_data(12)
    y = np.array([0] * 6 + [1] * 6)
    pairs = [(np.arange(12), np.arange(4)), (np.arange(12), np.arange(12))]
    table = compare(Sphere(2), X, y, methods={"prior": DummyClassifier()}, splits=pairs)
    assert (table.row("prior", "auc").n, table.row("prior", "error").n) == (1, 2)


def test_compare_runs_the_library_beside_the_baselines():
    X, y = sphere_data(40)
    y = y + 0.02 * np.random.default_rng(1).standard_normal(40)
    table = compare(Sphere(2), X, y, methods=("heatgp", "nearest"), splits=2)
    assert table.row("heatgp", "rmse").mean < 0.2 * table.row("nearest", "rmse").mean
    assert table.row("heatgp", "nlpd").n == 2
