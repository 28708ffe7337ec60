"""Options of the estimators that meet each other: weights and their scale, bounds, covariates by name, shapes of y."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import heatgp as hg
from heatgp.errors import BoundWarning, InvalidInput
from heatgp.gp.parameters import FLAT, LogNormal, Priors

S2 = hg.Sphere(2)
X = S2.random(np.random.default_rng(0), 40)
Y = X[:, 0] + 0.1 * np.random.default_rng(1).normal(size=40)
FIXED = {"time": 0.5, "amplitude": 1.0, "noise": 0.01}


class Table(np.ndarray):
    """An array whose columns have names, as a data frame has."""

    columns: tuple[str, ...] = ()


def table(values, *names):
    found = np.asarray(values).view(Table)
    found.columns = names
    return found


@pytest.mark.parametrize("outputs", [Y, np.stack([Y, -2 * Y], axis=1)], ids=["one", "two"])
@pytest.mark.parametrize("weight", [1e-9, 1e6])
def test_the_scale_of_weights_is_that_of_the_noise(weight, outputs):
    one, other = (hg.GPRegressor(S2).fit(X, outputs, sample_weight=np.full(40, w)) for w in (1.0, weight))
    np.testing.assert_allclose(other.predict(X), one.predict(X), atol=1e-4)
    np.testing.assert_allclose(other.amplitude_, one.amplitude_, rtol=1e-2)
    np.testing.assert_allclose(other.noise_ / weight, one.noise_, rtol=1e-2)


def flat(**options):
    return replace(FLAT, **options)


def test_bounds_are_arguments():
    with pytest.warns(BoundWarning, match=r"amplitude sits on the upper bound 0\.6"):
        assert hg.GPRegressor(S2, priors=flat(amplitude_bounds=(0.5, 0.6))).fit(X, Y).amplitude_ == pytest.approx(0.6)
    with pytest.warns(BoundWarning, match="noise / prior variance sits on the lower bound 0.1"):
        hg.GPRegressor(S2, priors=flat(noise_bounds=(0.1, 1.0))).fit(X, Y)
    with pytest.warns(BoundWarning, match="amplitude sits on the upper bound 3"):
        hg.GPClassifier(S2, priors=flat(amplitude_bounds=(1, 3)), label_noise=0).fit(X, Y > 0)
    for options in {"amplitude_bounds": (2, 1)}, {"noise_bounds": "wide"}, {"noise_bounds": (0.0, 1.0)}:
        with pytest.raises(InvalidInput, match="must be two positive numbers, the smaller first"):
            Priors(**options)


def test_covariates_are_known_by_their_names():
    gp = hg.GPRegressor(S2, **FIXED).fit(X, Y, covariates=table(X[:, :2], "a", "b"))
    assert gp.coefficient_names_ == ["constant", "covariate a", "covariate b"]
    with pytest.raises(InvalidInput, match=r"columns \['b', 'a'\]; the model was fitted with \['a', 'b'\]"):
        gp.predict(X[:2], covariates=table(X[:2, 1::-1], "b", "a"))


def test_a_prior_of_coefficients_allows_for_collinear_covariates():
    twice = np.stack([X[:, 0], X[:, 0]], axis=1)
    with pytest.raises(InvalidInput, match="is a combination of the columns of the mean before it"):
        hg.GPRegressor(S2, **FIXED).fit(X, Y, covariates=twice)
    gp = hg.GPRegressor(S2, priors=Priors(coefficients=1.0), **FIXED).fit(X, Y, covariates=twice)
    assert gp.coefficients_[1] == pytest.approx(gp.coefficients_[2])  # by symmetry


@pytest.mark.parametrize(
    "options, y, message",
    [
        ({}, np.zeros((2, 2)), r"y has shape \(2, 2\); needed is \(2,\)"),
        ({}, np.zeros(1), "y must be 2 real numbers"),
        ({"likelihood": "student-t"}, np.zeros(1), r"y has shape \(1,\); needed is \(2,\)"),
    ],
)
def test_densities_need_one_observation_for_each_point(options, y, message):
    with pytest.raises(InvalidInput, match=message):
        hg.GPRegressor(S2, **FIXED, **options).fit(X, Y).log_density(X[:2], y)


def test_student_t_noise_is_of_one_size_or_left_out():
    gp = hg.GPRegressor(S2, likelihood="student-t", **FIXED).fit(X, Y)
    assert gp.coefficients_.shape == (1,)  # the constant of the mean
    for ask in (lambda: gp.log_density(X[:2], Y[:2], noise=0.1), lambda: gp.predict_interval(X[:2], noise=0.1)):
        with pytest.raises(InvalidInput, match="noise must be True or False"):
            ask()
    (lower, upper), (low, high) = (gp.predict_interval(X[:2], noise=noise) for noise in (np.True_, False))
    assert np.all((lower < low) & (low < high) & (high < upper))


def test_known_noise_is_not_a_parameter_of_the_evidence():
    gp = hg.GPRegressor(S2, time=0.5, amplitude=1.0, noise=np.full(40, 0.01)).fit(X, Y)
    with pytest.raises(InvalidInput, match="the noise of this model is known"):
        gp.log_marginal_likelihood(noise=0.02)
    assert gp.log_marginal_likelihood() == pytest.approx(
        hg.GPRegressor(S2, **FIXED).fit(X, Y).log_marginal_likelihood()
    )


def test_means_that_are_arrays():
    with pytest.raises(InvalidInput, match=r"mean is an array\. Give its columns as `covariates`"):
        hg.GPRegressor(S2, mean=np.ones((40, 1))).fit(X, Y)
    with pytest.raises(InvalidInput, match="is not known"):
        hg.GPClassifier(S2, mean=np.ones(3)).fit(X, Y > 0)


def test_a_classifier_of_a_gram_matrix_predicts_with_prior_variances():
    sizes = np.linspace(1, 2, 40)
    gram = hg.heat_kernel(S2)(X, time=0.5) * np.outer(sizes, sizes)
    gp = hg.GPClassifier(kernel="precomputed").fit(gram, Y > 0)
    chosen = gp.predict(gram[:9], prior=np.diagonal(gram)[:9])
    np.testing.assert_array_equal(chosen, gp.predict_proba(gram[:9], prior=np.diagonal(gram)[:9])[:, 1] > 0.5)


def test_the_scorer_takes_a_pipeline_of_one_step():
    gp = hg.GPRegressor("euclidean", **FIXED)
    assert hg.nlpd_scorer(make_pipeline(gp).fit(X, Y), X, Y) == hg.nlpd_scorer(gp.fit(X, Y), X, Y)


SOME = LogNormal(1.0, 1.0)


def work(*arguments, **options):
    raise AssertionError("this comes after all checks")


@pytest.fixture
def no_kernel(monkeypatch):
    monkeypatch.setattr("heatgp.estimators.kernels.shared_kernel", work)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"priors": Priors(label_noise=SOME)}, "priors.label_noise is given, but not possible with GPRegressor"),
        (
            {"mean": "zero", "priors": Priors(coefficients=1.0)},
            "priors.coefficients = 1.0 has no effect.*no coefficients. Leave",
        ),
        ({"mean": 3.0, "priors": Priors(coefficients=[1.0])}, r"priors.coefficients = \[1.0\] has no effect"),
        ({"priors": Priors(coefficients=1.0)}, "no coefficients but the constant, which stays flat. Leave it None"),
        (
            {"likelihood": "student-t", "priors": Priors(noise_bounds=(0.1, 1.0))},
            "noise_bounds is given, but not possible with StudentT",
        ),
        (
            {"likelihood": "poisson", "priors": Priors(noise=SOME)},
            "priors.noise is given, but not possible with Poisson",
        ),
    ],
)
def test_arguments_of_regression_that_would_do_nothing(options, message, no_kernel):
    with pytest.raises(InvalidInput, match=message):
        hg.GPRegressor(S2, **options).fit(X, np.abs(np.round(9 * Y)))


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"priors": Priors(noise=SOME)}, InvalidInput, "priors.noise .* priors are of time, amplitude and label_noise"),
        (
            {"priors": Priors(noise_bounds=(0.1, 1.0))},
            InvalidInput,
            "priors.noise_bounds is given, but not possible with GPC",
        ),
        ({"priors": Priors(coefficients=1.0)}, InvalidInput, "priors.coefficients is given, but not possible with GPC"),
        (
            {"inference": "laplace"},
            InvalidInput,
            "inference = 'laplace' is not known. Use one of 'auto', 'dense', 'sparse'",
        ),
    ],
)
def test_arguments_of_classification_that_would_do_nothing(options, error, message, no_kernel):
    with pytest.raises(error, match=message):
        hg.GPClassifier(S2, **options).fit(X, Y > 0)


def test_a_gram_matrix_has_no_time_to_search_for():
    gram = hg.heat_kernel(S2)(X, time=0.5)
    for options, message in [
        (
            {"priors": Priors(time_bounds=(0.1, 1.0))},
            "priors.time_bounds is given, but not possible with a precomputed",
        ),
        ({"priors": Priors(time=SOME)}, "priors.time is given, but not possible with a precomputed kernel"),
    ]:
        for model, y in ((hg.GPRegressor, Y), (hg.GPClassifier, Y > 0)):
            with pytest.raises(InvalidInput, match=message):
                model(kernel="precomputed", **options).fit(gram, y)


def test_noise_changes_no_mean():
    gp = hg.GPRegressor(S2, **FIXED).fit(X, Y)
    for noise in (True, 0.1, "yes"):
        with pytest.raises(InvalidInput, match="Ask for return_std=True or return_cov=True, or leave noise out"):
            gp.predict(X, noise=noise)
    np.testing.assert_array_equal(gp.predict(X, noise=np.False_), gp.predict(X))


def test_bounds_and_priors_of_what_is_given_do_no_harm():
    plain = hg.GPRegressor(S2, **FIXED).fit(X, Y)
    bounds = {"time_bounds": (0.1, 1.0), "amplitude_bounds": (0.1, 1.0), "noise_bounds": (0.1, 1.0)}
    priors = Priors(SOME, SOME, SOME, **bounds)
    gp = clone(hg.GPRegressor(S2, priors=priors, integrate="grid", **FIXED)).fit(X, Y)
    np.testing.assert_array_equal(gp.predict(X), plain.predict(X))
    with pytest.warns(BoundWarning, match="noise / prior variance sits on the lower bound 0.1"):
        gp.set_params(noise=None).fit(X, Y)


def test_a_grid_of_five_parameters_is_refused_before_the_search(monkeypatch):
    P = hg.Product(S2, S2, S2)
    points = P.random(np.random.default_rng(0), 10)
    monkeypatch.setattr("heatgp.gp.kernels.Normalized.pairs", work)
    for model, y in ((hg.GPRegressor, Y[:10]), (hg.GPClassifier, Y[:10] > 0)):
        with pytest.raises(InvalidInput, match="integrate='grid' with 5 learned parameters"):
            model(P, time="each", integrate="grid").fit(points, y)


LINE, PLANE, ROUGH = hg.Euclidean(1), hg.Euclidean(2), hg.matern_kernel(hg.Euclidean(1), 0.5)


@pytest.mark.parametrize("smoothness", ["learn", 1.5])
@pytest.mark.parametrize(
    "manifold, kernel, time",
    [
        (LINE, ROUGH, None),
        (PLANE, hg.matern_kernel(PLANE, 0.5), "coordinates"),
        (PLANE, hg.matern_kernel(PLANE, 0.5).with_times("coordinates"), None),
        (hg.Product(LINE, LINE), ["auto", ROUGH], None),
        (hg.Product(LINE, LINE), ROUGH.on(hg.Product(LINE, LINE), 0), None),
    ],
    ids=["line", "coordinates", "stretched", "list", "factor"],
)
@pytest.mark.parametrize("model", [hg.GPRegressor, hg.GPClassifier])
def test_a_kernel_with_its_own_smoothness_is_refused_before_any_work(model, manifold, kernel, time, smoothness):
    """Points that are no points come later: the error is about the smoothness."""
    with pytest.raises(InvalidInput, match=r"has its own\. Leave one of them out"):
        model(manifold, kernel=kernel, time=time, smoothness=smoothness).fit("no points", None)


def test_the_smoothness_of_a_composed_kernel_is_the_least_of_its_parts():
    P, rng = hg.Product(LINE, LINE), np.random.default_rng(0)
    points = rng.normal(size=(20, 2))
    assert hg.GPRegressor(P, kernel=["auto", ROUGH], noise=0.1).fit(points, points[:, 0]).smoothness_ == 0.5
    kernel = hg.matern_kernel(PLANE, 1.5)
    model = hg.GPRegressor(PLANE, kernel=kernel, time=(1.0, 2.0), amplitude=1.0, noise=0.1).fit(points, points[:, 0])
    assert model.smoothness_ == 1.5


NAMES = [f"column {k}" for k in range(79)]
MANY = np.random.default_rng(0).normal(size=(40, 79))


@pytest.mark.parametrize(
    ("model", "labels"),
    [
        (hg.GPRegressor(S2, noise=np.ones(40), likelihood="student-t"), False),
        (hg.GPRegressor(S2, noise=np.ones(40), likelihood="poisson"), False),
        (hg.GPRegressor(S2, amplitude=np.ones(40)), False),
        (hg.GPRegressor(S2, time=np.ones(40)), False),
        (hg.GPRegressor("euclidean", time=(1.0,) * 40), False),
        (hg.GPRegressor(S2, priors=Priors(coefficients=np.ones(40))), False),
        (hg.GPRegressor(S2, smoothness=np.ones(40)), False),
        (hg.GPClassifier(S2, label_noise=np.ones(40)), True),
        (hg.GPClassifier(S2, mean=np.ones(40)), True),
    ],
)
def test_errors_do_not_print_whole_arrays(model, labels):
    with pytest.raises(InvalidInput, match=r"\[1\.0, 1\.0, 1\.0, \.\.\.\] \(40 values\)") as error:
        model.fit(X, Y > 0 if labels else Y)
    assert len(str(error.value)) < 250


def test_errors_do_not_list_all_covariates():
    import pandas

    table = pandas.DataFrame(MANY, columns=NAMES)
    gp = hg.GPRegressor(S2, priors=Priors(coefficients=1.0), **FIXED).fit(X, Y, covariates=table)
    with pytest.raises(InvalidInput, match=r"\['column 78', 'column 77', 'column 76', \.\.\.\] \(79 values\)"):
        gp.predict(X, covariates=table[NAMES[::-1]])
    twice = table[NAMES[:30]].assign(again=table["column 0"])
    with pytest.raises(InvalidInput, match=r"\(constant, covariate column 0, covariate column 1, \.\.\., 31 in all\)"):
        hg.GPRegressor(S2, **FIXED).fit(X, Y, covariates=twice)
    vectors = hg.GPRegressor("euclidean", **FIXED).fit(table, Y)
    with pytest.raises(InvalidInput, match=r"X has \['column 78', 'column 77', 'column 76', \.\.\.\] \(79 values\)"):
        vectors.predict(table[NAMES[::-1]])


def test_counts_are_compared_as_numbers():
    counts = np.arange(40) // 3
    with pytest.raises(InvalidInput, match=r"smallest class, 1; got 5\. If y holds numbers .* task='regression'"):
        hg.compare(S2, X, counts)
    with pytest.raises(InvalidInput, match=r"smallest class, 1; got 5\.$"):
        hg.compare(S2, X, counts.astype(str))


@pytest.mark.parametrize("name", ["time", "amplitude", "noise"])
def test_rows_of_different_lengths_are_no_parameter(name):
    with pytest.raises(InvalidInput, match=name):
        hg.GPRegressor(S2, **{name: [[1], [1, 2]]}).fit(X, Y)
