"""A second fit, one that fails, and `partial_fit` after other arguments were set."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import heatgp as hg
from heatgp.errors import HeatGPError, InvalidInput

pytestmark = pytest.mark.filterwarnings("ignore::heatgp.errors.AccuracyWarning")  # of few inducing points

S2 = hg.Sphere(2)
CUBE = hg.Product(S2, S2, S2)
RNG = np.random.default_rng(0)
X, NEW = S2.random(0, 80), S2.random(1, 10)
Z = RNG.standard_normal((80, 1))
Y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * RNG.standard_normal(80)
X3 = CUBE.random(2, 80)
GRAM = hg.heat_kernel(S2)(X, X, time=0.3)
OTHERS = {
    "manifold": "euclidean",
    "kernel": "ball",
    "smoothness": 1.5,
    "time": 3.0,
    "amplitude": 7.0,
    "noise": 5.0,
    "mean": "zero",
    "priors": None,
    "integrate": "grid",
    "likelihood": "poisson",
    "inference": "dense",
    "project": True,
    "random_state": 5,
}
"""Arguments that change the next fit, and not the fitted model."""


def failing_refits():
    """A fitted model, and a call that fails."""
    yield (
        "kernel",
        hg.GPClassifier(S2).fit(X, Y > 0),
        lambda c: c.set_params(kernel="x").fit(X, np.digitize(Y, [-0.5, 0.5])),
    )
    covariates = hg.GPRegressor(CUBE, time=1.0, amplitude=1.0, noise=0.1).fit(X3, Y, covariates=Z)
    free = {"time": "each", "amplitude": None, "noise": None, "integrate": "grid"}
    yield "grid", covariates, lambda gp: gp.set_params(**free).fit(X3, Y)
    columns = hg.GPRegressor("euclidean", time=1.0, amplitude=1.0, noise=0.1).fit(X, Y)
    yield "columns", columns, lambda gp: gp.fit(X[:, :2], np.full(80, np.nan))
    learned = hg.GPRegressor(S2, smoothness="learn", amplitude=1.0, noise=0.1, time=0.3).fit(X, Y)
    yield "smoothness", learned, lambda gp: gp.fit(X, np.full(80, np.nan))
    dense = hg.GPRegressor(S2).fit(X, Y)
    yield "new data", dense, lambda gp: gp.partial_fit(X, np.full(80, np.nan))
    yield "options", hg.GPRegressor(S2).partial_fit(X, Y), lambda gp: gp.partial_fit(X, Y, np.zeros(80))


@pytest.mark.parametrize("model, refit", [pytest.param(*case, id=name) for name, *case in failing_refits()])
def test_a_fit_that_fails_leaves_the_model_as_it_was(model, refit):
    before = {name: value for name, value in vars(model).items() if name not in model.get_params(deep=False)}
    with pytest.raises(HeatGPError):
        refit(model)
    after = {name: value for name, value in vars(model).items() if name not in model.get_params(deep=False)}
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)


def test_a_model_that_failed_still_predicts():
    model = hg.GPClassifier(S2).fit(X, Y > 0)
    before = model.predict_proba(NEW)
    with pytest.raises(InvalidInput, match="kernel = 'x' is not known"):
        model.set_params(kernel="x").fit(X, np.digitize(Y, [-0.5, 0.5]))
    np.testing.assert_array_equal(model.predict_proba(NEW), before)


def test_a_first_fit_that_fails_leaves_no_fitted_model():
    model = hg.GPRegressor(S2)
    with pytest.raises(InvalidInput):
        model.fit(X, np.full(80, np.nan))
    assert set(vars(model)) == set(model.get_params())


def test_a_refit_with_a_gram_matrix_has_no_manifold():
    model = hg.GPRegressor(S2, time=0.3, amplitude=1.0, noise=0.1).fit(X, Y)
    model.set_params(kernel="precomputed", time=None).fit(GRAM, Y)
    assert not {"manifold_", "moved_"} & set(vars(model))


def test_what_a_class_of_ones_own_sets_stays():
    class Noted(hg.GPRegressor):
        def fit(self, X, y):
            self.mean_of_y_ = y.mean()
            return super().fit(X, y)

    model = Noted(S2, time=0.3, amplitude=1.0, noise=0.1)
    assert model.fit(X, Y) is model
    assert model.fit(X, Y + 1).mean_of_y_ == np.mean(Y + 1)


@pytest.mark.parametrize("first", ["fit", "partial_fit"])
@pytest.mark.parametrize("name", OTHERS)
def test_partial_fit_goes_by_the_fit_and_not_by_arguments_set_since(name, first):
    model, same = (getattr(hg.GPRegressor(S2), first)(X[:50], Y[:50]) for _ in range(2))
    kernel = model.kernel_
    model.set_params(**{name: OTHERS[name]}).partial_fit(X[50:], Y[50:])
    same.partial_fit(X[50:], Y[50:])
    assert model.noise_ == same.noise_
    assert model.kernel_ is kernel
    np.testing.assert_array_equal(model.predict(NEW), same.predict(NEW))
    assert len(model.mixture_.weights) == 1


@pytest.mark.parametrize("options", [{"normalize": False}, {"noise": 0.0}])
def test_models_that_cannot_be_sparse_take_no_more_data(options):
    model = hg.GPRegressor(S2, time=0.3, amplitude=1.0, **({"noise": 0.01} | options)).fit(X[:50], Y[:50])
    with pytest.raises(HeatGPError, match=f"is not possible with {next(iter(options))}="):
        model.set_params(normalize=True, noise=1.0).partial_fit(X[50:], Y[50:])


@pytest.mark.parametrize("first", ["fit", "partial_fit"])
@pytest.mark.parametrize("mapped", [False, True])
def test_the_largest_move_is_that_of_all_data(tmp_path, first, mapped):
    model = hg.GPRegressor(S2, time=0.3, amplitude=1.0, noise=0.1, project=True)
    getattr(model, first)(1.002 * X[:50], Y[:50])
    assert model.moved_ == pytest.approx(0.002)
    np.save(tmp_path / "X.npy", 1.004 * X[50:])
    more = np.load(tmp_path / "X.npy", mmap_mode="r") if mapped else 1.004 * X[50:]
    assert model.partial_fit(more, Y[50:]).moved_ == pytest.approx(0.004)
    assert model.partial_fit(X[:20], Y[:20]).moved_ == pytest.approx(0.004)


@pytest.mark.parametrize("inference", ["auto", hg.Sparse(inducing=20), "neighbors"])
def test_options_of_inference_are_those_of_the_fit(inference):
    model = hg.GPRegressor(S2, inference=inference).fit(X, Y).set_params(inference="bad")
    assert "Parameters of the fit" in model._repr_html_()
    if inference != "neighbors":
        assert model.partial_fit(X, Y).posterior_.count == 160


@pytest.mark.parametrize("mapped", [False, True])
def test_new_data_whose_weights_are_all_zero_are_refused(tmp_path, mapped):
    model = hg.GPRegressor(S2, inference=hg.Sparse(inducing=20)).partial_fit(X[:50], Y[:50])
    np.save(tmp_path / "X.npy", X[50:])
    more = np.load(tmp_path / "X.npy", mmap_mode="r") if mapped else X[50:]
    with pytest.raises(InvalidInput, match="sample_weight is zero for all"):
        model.partial_fit(more, Y[50:], np.zeros(30))


@pytest.mark.parametrize(
    "of",
    [
        lambda: hg.Sparse(inducing=X[:9].copy()),
        lambda: hg.Sparse(inducing=X[:9].tolist(), tolerance=0.1),
        lambda: hg.Sparse(20),
        lambda: hg.Priors(coefficients=np.ones(3)),
        lambda: hg.Priors(time=(hg.LogNormal(1.0, 1.0), "weak"), time_bounds=[[0.1, 1.0], [0.2, 2.0]]),
    ],
)
def test_options_are_equal_where_their_values_are(of):
    assert of() == of()
    assert of() not in (hg.Sparse(inducing=X[:8]), hg.Priors(coefficients=np.ones(2)), hg.Sparse(), hg.Priors(), None)


def test_scikit_learn_takes_options_with_arrays():
    options = {"inference": hg.Sparse(inducing=X[:9]), "priors": hg.Priors(coefficients=np.ones(3))}
    model = hg.GPRegressor(S2, time=0.3, amplitude=1.0, noise=0.1, **options)
    assert clone(model).get_params() == model.get_params()
    assert clone(model).set_params(**options).inference == options["inference"]
    assert "Sparse" in repr(model)
    grid = {"inference": [hg.Sparse(inducing=10), hg.Sparse(inducing=30), hg.Sparse(inducing=X[:9])]}
    search = GridSearchCV(model.set_params(priors="weak"), grid, cv=3).fit(X, Y)
    assert search.best_params_["inference"] == hg.Sparse(inducing=30)


@pytest.mark.parametrize(
    "labels", [Y, Y.astype(object), [*Y[:-1].tolist(), 1], Y.astype(np.float32).astype(object), Y + 0j]
)
def test_continuous_labels_of_any_type_are_refused(labels):
    with pytest.raises(InvalidInput, match="continuous"):
        hg.GPClassifier(S2).fit(X, labels)


@pytest.mark.parametrize("kind", [bool, int, float, str])
def test_labels_may_be_objects(kind):
    labels = (Y > 0).astype(kind).astype(object)
    assert hg.GPClassifier(S2, time=0.3, amplitude=1.0).fit(X, labels).classes_.tolist() == sorted(set(labels.tolist()))


COUNTS = RNG.poisson(2.0, 80)


@pytest.mark.parametrize(
    "fit, message",
    [
        (lambda: hg.GPRegressor(S2, random_state="x").fit(X, Y), "random_state must be an integer"),
        (
            lambda: hg.GPRegressor(S2, mean="linear", priors=hg.Priors(coefficients=1.0)).fit(X, np.c_[Y, Y]),
            "leave priors.coefficients None",
        ),
        (
            lambda: hg.GPRegressor(S2, likelihood="poisson", mean=1.0).fit(X, COUNTS, covariates=Z),
            r"multiply the exposure of counts by exp\(1.0\), and use mean='zero'",
        ),
        (
            lambda: hg.GPRegressor(S2, priors=hg.Priors(time_bounds=((1, 2), (1, 2)))).fit(X, Y),
            "^time_bounds = .* one interval nor",
        ),
    ],
)
def test_messages_name_the_arguments(fit, message):
    with pytest.raises(HeatGPError, match=message):
        fit()


def test_exposure_takes_the_place_of_a_known_mean_beside_covariates():
    given = {"time": 0.3, "amplitude": 1.0, "likelihood": "poisson"}
    known = hg.GPRegressor(S2, mean=1.0, **given).fit(X, COUNTS)
    shifted = hg.GPRegressor(S2, mean="zero", **given).fit(X, COUNTS, exposure=np.e)
    np.testing.assert_allclose(np.e * shifted.predict(NEW), known.predict(NEW), rtol=1e-6)
