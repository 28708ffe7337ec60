"""Learning the parameters: gradients, optima, bounds, and the awkward cases."""

import warnings
from dataclasses import dataclass, replace

import numpy as np
import pytest
import sklearn.gaussian_process.kernels as sk
from scipy.linalg import eigh
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.model_selection import GroupKFold

import heatgp as hg
from gp_kernels import ARD, RBF, Cosines, Full, wavy
from heatgp.errors import AccuracyWarning, BoundWarning, InvalidInput, NotConverged, NotPositiveDefinite
from heatgp.gp import search
from heatgp.gp import search as learning
from heatgp.gp.classes import condition_classes
from heatgp.gp.kernels import Normalized, Precomputed
from heatgp.gp.objective import FLAT, MUCH_LOWER, worth_a_start
from heatgp.gp.parameters import Given, Params, Priors
from heatgp.gp.posterior import condition
from heatgp.gp.probit import Probit
from heatgp.gp.scores import coverage
from heatgp.gp.search import Bounds, ascend, steepest, step_units
from heatgp.points import latlon_to_sphere

BOUNDS = Bounds(time=(1e-3, 1e2))


def fit_regression(kernel, X, y, bounds, time=None, amplitude=None, noise=None, **options):
    return learning.fit(kernel, X, y, bounds, Given.of(kernel, time, amplitude, noise), **options)


def fit_classification(kernel, X, y, bounds, time=None, amplitude=None, **options):
    given = Given.of(kernel, time, amplitude, 0.0)
    return learning.fit(kernel, X, y, bounds, given, "zero", likelihood=Probit(), **options)


def test_finds_scikit_learns_optimum():
    X, y = wavy(80)
    y = y - y.mean()
    kernel = sk.ConstantKernel(1.0) * sk.RBF(1.0) + sk.WhiteKernel(0.1)
    theirs = GaussianProcessRegressor(kernel, n_restarts_optimizer=2, random_state=0).fit(X, y)
    ours = fit_regression(RBF(), X, y, BOUNDS, mean="zero")
    amplitude, length, noise = np.exp(theirs.kernel_.theta)
    np.testing.assert_allclose(ours.log_marginal_likelihood, theirs.log_marginal_likelihood_value_, atol=1e-5)
    np.testing.assert_allclose(ours.params.time, length**2, rtol=1e-2)
    np.testing.assert_allclose([ours.params.amplitude, ours.params.noise], [amplitude, noise], rtol=2e-2)
    assert ours.on_bound == ()


def test_subset_and_everything_agree(monkeypatch):
    X, y = wavy(150)
    whole = fit_regression(RBF(), X, y, BOUNDS)
    monkeypatch.setattr("heatgp.gp.exact.SUBSET", 50)
    started = fit_regression(RBF(), X, y, BOUNDS)
    np.testing.assert_allclose(started.log_marginal_likelihood, whole.log_marginal_likelihood, atol=1e-4)
    np.testing.assert_allclose(started.params.time, whole.params.time, rtol=1e-2)
    labels = np.sign(y - 3)
    whole = fit_classification(RBF(), X, labels, BOUNDS)
    monkeypatch.setattr("heatgp.gp.inference.SUBSET", 50)
    started = fit_classification(RBF(), X, labels, BOUNDS)
    np.testing.assert_allclose(started.log_marginal_likelihood, whole.log_marginal_likelihood, atol=1e-4)


def test_both_maxima_of_two_readings_are_seen():
    # few points: either a short time and little noise, or a long time and much (R&W, figure 5.5)
    X = np.array([-2.17, 1.99, 0.57, -3.01, -1.16, 3.30, -4.85, -0.86, -0.53, 2.33])[:, None] * 1.3
    rng = np.random.default_rng(7)
    found = []
    for _ in range(8):
        y = np.linalg.cholesky(RBF().pairs(X).at(1.0).value + 0.05 * np.eye(10)) @ rng.normal(size=10)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BoundWarning)
            fit = fit_regression(RBF(), X, y, BOUNDS, mean="zero")
        found.append(fit)
        values = [value for value, _ in fit.maxima]
        assert values == sorted(values, reverse=True)
        # no scanned reading is better than the one chosen
        for time in np.geomspace(1e-2, 1e2, 30):
            for noise in np.geomspace(1e-3, 1, 10):
                amplitude = fit.params.amplitude
                rival = condition(RBF(), X, y, Params(time, amplitude, noise), "zero").log_marginal_likelihood
                assert rival <= fit.log_marginal_likelihood + 1e-6
    assert any(len(fit.maxima) > 1 for fit in found)


def test_places_that_a_neighbour_stands_for_are_no_starts():
    far = MUCH_LOWER + 1
    values = [-2 * far, -far, 0.0, -1.0, -far, -3 * far, -2 * far]  # a peak, its near neighbour, and a low peak
    kept = worth_a_start([(value, np.array([k])) for k, value in enumerate(values)])
    assert [int(z[0]) for _, z in kept] == [2, 3, 6]
    assert len(worth_a_start([(-np.inf, np.zeros(1))] * 3)) == 3


def test_given_values_are_held():
    X, y = wavy(40)
    fit = fit_regression(RBF(), X, y, BOUNDS, time=0.5, noise=0.04)
    assert (fit.params.time, fit.params.noise) == (0.5, 0.04)
    rivals = [
        condition(RBF(), X, y, Params(0.5, fit.params.amplitude * factor, 0.04)).log_marginal_likelihood
        for factor in (0.9, 1.0, 1.1)
    ]
    assert rivals[1] == max(rivals)
    np.testing.assert_allclose(rivals[1], fit.log_marginal_likelihood, rtol=1e-8)
    everything = fit_regression(RBF(), X, y, BOUNDS, time=0.5, amplitude=2.0, noise=0.04)
    assert everything.params == Params(0.5, 2.0, 0.04)
    two = fit_regression(ARD(2), X, y, BOUNDS, time=(None, 0.7))
    assert two.params.time[1] == 0.7
    assert fit_classification(RBF(), X, np.sign(y - 3), BOUNDS, time=0.5, amplitude=2.0).params == Params(0.5, 2.0)


def test_each_time_is_learned():
    rng = np.random.default_rng(4)
    X = rng.uniform(-2, 2, size=(120, 2))
    C = ARD(2).pairs(X).at((0.3, 4.0)).value + 0.01 * np.eye(120)
    fit = fit_regression(ARD(2), X, np.linalg.cholesky(C) @ rng.normal(size=120), BOUNDS)
    np.testing.assert_allclose(np.log(fit.params.time), np.log([0.3, 4.0]), atol=0.7)
    together = fit_regression(RBF(), X, np.linalg.cholesky(C) @ rng.normal(size=120), BOUNDS)
    assert isinstance(together.params.time, float)


def test_precomputed_has_no_time():
    X, y = wavy(60)
    expected = fit_regression(RBF(), X, y, BOUNDS, time=0.5)
    found = fit_regression(Precomputed(RBF().pairs(X).at(0.5).value), np.arange(60), y, BOUNDS)
    assert found.params.time == ()
    np.testing.assert_allclose(found.params.noise, expected.params.noise, rtol=1e-3)
    np.testing.assert_allclose(found.log_marginal_likelihood, expected.log_marginal_likelihood, atol=1e-8)
    labels = np.sign(y - 3 + np.random.default_rng(0).normal(size=60))
    expected = fit_classification(RBF(), X, labels, BOUNDS, time=0.5)
    classes = fit_classification(Precomputed(RBF().pairs(X).at(0.5).value), np.arange(60), labels, BOUNDS)
    np.testing.assert_allclose(classes.params.amplitude, expected.params.amplitude, rtol=1e-6)


def test_low_rank_and_dense_learn_the_same():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 6, size=(60, 1))
    y = np.cos(X[:, 0]) + 0.5 * np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=60)
    low, dense = (fit_regression(k, X, y, BOUNDS) for k in (Cosines(), Full(Cosines())))
    np.testing.assert_allclose(low.log_marginal_likelihood, dense.log_marginal_likelihood, atol=1e-5)
    np.testing.assert_allclose(low.params.time, dense.params.time, rtol=1e-2)
    fixed = fit_regression(Cosines(), X, y, BOUNDS, time=dense.params.time)
    np.testing.assert_allclose(fixed.log_marginal_likelihood, dense.log_marginal_likelihood, atol=1e-5)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
@pytest.mark.parametrize("mean", ["zero", "constant"])
def test_scale_of_y_scales_the_answer(scale, mean):
    X, y = wavy(60)
    unit, scaled = (fit_regression(RBF(), X, s * y, BOUNDS, mean=mean) for s in (1.0, scale))
    np.testing.assert_allclose(scaled.params.time, unit.params.time, rtol=1e-3)
    np.testing.assert_allclose(scaled.params.noise / scale**2, unit.params.noise, rtol=1e-3)


@pytest.mark.parametrize("constant", [0.0, 5.0, 1e-9, -1e12])
def test_constant_targets_are_predicted_and_said(constant):
    X, _ = wavy(20)
    y = np.full(20, constant)
    with pytest.warns(BoundWarning, match="amplitude sits on the lower bound"):
        fit = fit_regression(RBF(), X, y, BOUNDS)
    mean, variance = condition(RBF(), X, y, fit.params).moments(X + 0.3)
    np.testing.assert_allclose(mean, constant, rtol=1e-9, atol=1e-9)
    assert np.all(np.sqrt(variance) <= 1e-5 * max(abs(constant), 1))


def test_one_target_is_no_variance():
    X = np.zeros((1, 2))
    with pytest.raises(InvalidInput, match=r"N = 1 target is its own mean .* Give amplitude, or a mean"):
        fit_regression(RBF(), X, [3.0], BOUNDS)
    fit = fit_regression(RBF(), X, [3.0], BOUNDS, time=1.0, mean="zero")
    assert fit.params.amplitude + fit.params.noise == pytest.approx(9.0)


def test_a_small_variation_of_large_targets_is_seen():
    X, y = wavy(40)
    plain, lifted = (fit_regression(RBF(), X, values, BOUNDS).params for values in (y, y + 1e9))
    assert lifted.time == pytest.approx(plain.time, rel=1e-3)
    assert lifted.noise == pytest.approx(plain.noise, rel=1e-3)


def test_duplicate_points():
    X, y = wavy(40)
    fit = fit_regression(RBF(), np.vstack([X, X]), np.concatenate([y + 0.1, y - 0.1]), BOUNDS)
    assert 0.005 < fit.params.noise < 0.04  # at least the 0.01 that the pairs differ by


def test_noise_fixed_at_zero_learns_the_rest():
    X = np.linspace(-2, 2, 25)[:, None]
    rng = np.random.default_rng(1)
    y = np.linalg.cholesky(RBF().pairs(X).at(0.05).value + 1e-10 * np.eye(25)) @ rng.normal(size=25)
    fit = fit_regression(RBF(), X, y, BOUNDS, noise=0.0)
    assert fit.params.noise == 0.0
    assert 0.02 < fit.params.time < 0.12
    np.testing.assert_allclose(condition(RBF(), X, y, fit.params).mean(X), y, atol=1e-5)


def test_bounds_are_named():
    X, y = wavy(40)
    with pytest.warns(
        BoundWarning,
        match=r"time sits on the upper bound 0\.01 .*determine it\. Give time a value, or widen the bounds",
    ):
        fit = fit_regression(RBF(), X, y, Bounds(time=(1e-3, 1e-2)), noise=0.01)
    assert fit.on_bound == ("time",)
    smooth = np.sin(X[:, 0])
    with pytest.warns(BoundWarning, match=r"noise / prior variance sits on the lower bound 0\.001"):
        fit_regression(RBF(), X, smooth, Bounds(time=(1e-3, 1e2), noise=(1e-3, 1e3)))
    with pytest.warns(BoundWarning, match="amplitude sits on the upper bound 2"):
        fit_classification(RBF(), X, np.sign(X[:, 0]), Bounds(time=(1e-3, 10), amplitude=(1, 2)))


@dataclass(frozen=True)
class Limited(RBF):
    """A kernel of a user's own, which can be asked for these times only and says nothing of a remedy."""

    times = (1e-3, 1e-2)


@pytest.mark.parametrize("kernel", [Limited(), Normalized(Limited())], ids=["plain", "normalized"])
def test_bounds_of_the_kernel_itself_are_named(kernel):
    X, y = wavy(40)
    with pytest.warns(BoundWarning) as caught:
        fit = fit_regression(kernel, X, y, Bounds(time=kernel.times), noise=0.01)
    assert fit.on_bound == ("time",)
    assert str(caught[0].message) == (
        "time sits on the upper bound 0.01 of its search. The bound is the kernel's own. Ask for a kernel with other "
        "`times`."
    )


def test_warnings_point_at_the_line_of_the_caller():
    X, y = wavy(40)
    given, classes = Given.of(RBF(), None, None, 0.01), Given.of(RBF(), None, None, 0.0)
    with warnings.catch_warnings(record=True, action="always") as caught:
        learning.fit(RBF(), X, y, Bounds(time=(1e-3, 1e-2)), given)
        learning.fit(RBF(), X, np.sign(X[:, 0]), Bounds((1e-3, 10), (1, 2)), classes, "zero", likelihood=Probit())
    first = test_warnings_point_at_the_line_of_the_caller.__code__.co_firstlineno
    assert [(w.filename, w.lineno) for w in caught] == [(__file__, first + 4), (__file__, first + 5)]


def test_classes_that_do_not_overlap_have_no_noise_and_that_is_an_answer():
    X, _ = wavy(40)
    labels = np.sign(np.sum(X**2, axis=1) - 2)
    fit = fit_classification(RBF(), X, labels, BOUNDS)
    assert fit.params.amplitude == pytest.approx(1e4)  # and no warning, which would be an error here
    assert fit.on_bound == ()
    new, _ = wavy(30, seed=1)
    near, far = (
        condition_classes(RBF(), X, labels, replace(fit.params, amplitude=a), Probit(), mean="zero").probability(new)
        for a in (1e4, 1e6)
    )
    np.testing.assert_allclose(near, far, atol=0.01)


def test_coverage_after_learning():
    rng = np.random.default_rng(8)
    inside = []
    for _ in range(25):
        X = rng.uniform(-3, 3, size=(160, 1))
        C = 2.0 * RBF().pairs(X).at(0.3).value + 0.1 * np.eye(160)
        y = np.linalg.cholesky(C) @ rng.normal(size=160) - 4.0
        params = fit_regression(RBF(), X[:80], y[:80], BOUNDS).params
        posterior = condition(RBF(), X[:80], y[:80], params)
        inside.append(coverage(y[80:], *posterior.moments(X[80:], noise=True)))
    assert 0.87 < np.mean(inside) < 0.93


def test_indefinite_kernels_are_an_error_or_get_enough_noise():
    X, y = wavy(40)
    K = RBF().pairs(X).at(0.5).value
    values, vectors = eigh(K)
    slightly = (vectors * np.where(values < 1e-3, -1e-3, values)) @ vectors.T
    slightly = (slightly + slightly.T) / 2
    fit = fit_regression(Precomputed(slightly), np.arange(40), y, BOUNDS)
    assert fit.params.noise > 1e-3 * fit.params.amplitude
    with pytest.raises(
        NotPositiveDefinite, match="Use a kernel that is positive definite by construction, or a larger"
    ):
        fit_regression(Precomputed(slightly), np.arange(40), y, Bounds(time=(1, 2), noise=(1e-8, 1e-4)))
    with pytest.raises(
        NotPositiveDefinite, match=r"mean prior variance of 40 points is -1\.00e\+00 and must be positive"
    ):
        fit_regression(Precomputed(-K), np.arange(40), y, BOUNDS)


def test_ascent_steps_back_from_failures():
    def broken_beyond_one(z):
        if z[0] > 1:
            raise NotPositiveDefinite("no")
        return -((z[0] - 0.9) ** 2) * 50, np.array([-100 * (z[0] - 0.9)])

    _, z = ascend(broken_beyond_one, np.array([-3.0]), np.array([[-5.0, 5.0]]), 1.0)
    np.testing.assert_allclose(z, 0.9, atol=1e-3)


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"time": (1.0, 2.0)}, r"time = \(1\.0, 2\.0\) has 2 values; the kernel has 1"),
        ({"amplitude": -1.0}, "amplitude = -1.0 is a variance"),
        ({"bounds": Bounds(time=(1.0, 1.0))}, r"bounds \(1\.0, 1\.0\) must be positive, increasing"),
        ({"bounds": Bounds(time=((1.0, 2.0), (1.0, 2.0)))}, "neither one interval nor one for each of 1 times"),
    ],
)
def test_errors_say_what_to_do(wrong, message):
    X, y = wavy(10)
    arguments = {"bounds": BOUNDS, **wrong}
    with pytest.raises(InvalidInput, match=message):
        fit_regression(RBF(), X, y, **arguments)


def test_units_of_a_search_are_measured_within_the_bounds():
    """The curvature of a parabola, where one interval is shorter than the usual step."""
    box = np.array([[-0.01, 0.02], [-3.0, 3.0], [1.0, 1.0]])
    seen = []

    def parabola(z):
        seen.append(z)
        return -np.sum(z**2), -2 * z

    units = step_units(parabola, np.array([0.02, -3.0, 1.0]), box, 50.0)
    np.testing.assert_allclose(units[:2], 5.0)  # √(50 / 2)
    assert np.all((np.array(seen) >= box[:, 0]) & (np.array(seen) <= box[:, 1]))


@pytest.mark.parametrize("number", [600, 1200])
def test_short_lengths_that_random_data_do_not_see_are_found(number):
    # a long and a short length: 250 random data are too far apart for the short one
    sphere, rng = hg.Sphere(2), np.random.default_rng(1)
    X = sphere.random(rng, number)
    y = 2 * X[:, 2] + 0.7 * np.sin(10 * X[:, 0]) + 0.5 * rng.standard_normal(number)
    heat = {"smoothness": np.inf}
    learned, given = (hg.GPRegressor(sphere, time=time, **heat).fit(X, y) for time in (None, 0.073))
    assert learned.log_marginal_likelihood() > given.log_marginal_likelihood() - 0.5


@pytest.mark.parametrize("time", [None, 1.0])
def test_dependent_columns_of_the_mean_end_no_search(time):
    # at some of the scanned noises the precision of their coefficients cannot be factored
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(60)
    gp = hg.GPRegressor(
        "euclidean",
        time=time,
        mean=lambda X: np.column_stack([X[:, 0], X[:, 0], X[:, 1], X[:, 0] + X[:, 1]]),
        priors=Priors(coefficients=1e5),
    ).fit(X, y)
    assert np.isfinite(gp.log_marginal_likelihood())


def test_a_search_does_not_stop_on_a_slope():
    """In a curved valley with walls where nothing converges L-BFGS-B alone ends at -144 from one of these starts."""

    def valley(z):
        x, y = z
        if abs(y - x**2) > 0.1:
            raise NotConverged("too far from the floor")
        value = -(300 * (y - x**2) ** 2 + 30 * (1 - x) ** 2)
        return value, np.array([1200 * x * (y - x**2) + 60 * (1 - x), -600 * (y - x**2)])

    box = np.array([[-6.0, 6.0], [-6.0, 6.0]])
    for x in np.linspace(-2, 2, 21):
        value, _ = ascend(valley, np.array([x, x**2 + 0.05]), box, 300, 1e-7)
        assert value > -1e-3


def stations():
    """Simulated temperatures: places on the globe, the season and the elevation, some of them wrong; five folds."""
    rng, n = np.random.default_rng(1), 60
    lat, lon = np.degrees(np.arcsin(rng.uniform(-0.8, 0.95, n))), rng.uniform(-180, 180, n)
    elevation, rows = rng.gamma(1.2, 400, n), []
    for _ in range(400):
        s, date = rng.integers(n), np.datetime64("2021-01-01") + rng.integers(0, 1095)
        day = (date - date.astype("datetime64[Y]")).astype(int)
        season = 12 * np.sin(np.radians(lat[s])) * np.cos(2 * np.pi * (day - 20) / 365.25)
        y = 30 * np.cos(np.radians(lat[s])) ** 2 - 5 - 0.0065 * elevation[s] - season + rng.normal(0, 1.2)
        if rng.random() < 0.02:
            y += rng.choice([-30, 40])
        if not (rng.random() < 0.04) + (rng.random() < 0.02):
            rows.append((s, round(lat[s], 3), round(lon[s], 3), day + 1, round(elevation[s]), round(y, 1)))
    station, lat, lon, day, elevation, y = np.array(rows).T
    M = hg.Product(hg.Sphere(2), hg.Torus(1), hg.Euclidean(1))
    X = M.join(latlon_to_sphere(lat, lon), 2 * np.pi * day[:, None] / 365.25, elevation[:, None] / 1000)
    return M, X, y, [train for train, _ in GroupKFold(5).split(X, y, station)]


@pytest.mark.parametrize("fold", range(5))
def test_fits_with_outliers_reach_the_best_parameters(fold):
    """With Student-t noise. In fold 4 a search ended 90 below the evidence of these parameters, with a slope of 7.7."""
    M, X, y, folds = stations()
    gp = hg.GPRegressor(M, likelihood="student-t").fit(X[folds[fold]], y[folds[fold]])
    assert gp.fit_.steep[1] == 0.0
    elsewhere = gp.log_marginal_likelihood(time=(2.3, 12, 600), amplitude=9000, noise=1.2)
    assert gp.log_marginal_likelihood() > elsewhere - 0.5  # the maximum is that of the posterior density


def test_a_search_that_ends_on_a_slope_says_so(monkeypatch):
    M, (X, y) = hg.Euclidean(2), wavy(40)
    search_with = search.minimize

    def lame(*arguments, options, **others):
        return search_with(*arguments, options=options | {"maxiter": 0}, **others)

    monkeypatch.setattr(search, "minimize", lame)
    with pytest.warns(AccuracyWarning, match=r"did not end at a maximum: the log evidence has the slope .* in log "):
        gp = hg.GPRegressor(M, likelihood="student-t").fit(X, y)
    name, slope = gp.fit_.steep
    assert abs(slope) >= FLAT
    text = str(gp.summary())
    assert f"no maximum of the log posterior density, whose slope in log {name} is {slope:.2g}" in text
    assert "flat" not in text


def test_slopes_out_of_the_box_are_none():
    box = np.array([[0.0, 1.0], [0.0, 1.0]])

    class Plane:
        names = ("a", "b")

        def __call__(self, z):
            return 0.0, np.array([-2.0, 0.7])

    assert steepest(Plane(), np.array([0.0, 0.5]), box) == ("b", 0.7)
    assert steepest(Plane(), np.array([0.0, 1.0]), box)[1] == 0.0
    assert steepest(Plane(), np.array([0.5, 1.0]), box) == ("a", -2.0)


@pytest.mark.parametrize("away, is_far", [(0.3, False), (1.0, True)])
def test_a_slope_near_a_sharp_maximum_is_none(away, is_far):
    """In standard deviations of 0.1: the slopes are 3 and 10."""

    class Normal:
        names = ("a",)

        def __call__(self, z):
            return -50 * z[0] ** 2, -100 * z

    found = steepest(Normal(), np.array([0.1 * away]), np.array([[-5.0, 5.0]]))
    assert found == (("a", -10 * away) if is_far else ("", 0.0))


def test_an_inference_that_fails_where_the_search_ended_is_no_error():
    """Slopes are looked at after the search, by an inference that starts anew."""

    class Failing:
        names = ("a",)

        def __call__(self, z):
            raise NotConverged("no")

    assert steepest(Failing(), np.array([0.5]), np.array([[0.0, 1.0]])) == ("", 0.0)


def test_nothing_is_computed_for_slopes_where_nothing_is_learned():
    assert steepest(None, np.empty(0), np.empty((0, 2))) == ("", 0.0)
