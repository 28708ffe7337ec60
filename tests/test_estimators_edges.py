"""Awkward data: a right answer or a clear error."""

import re

import numpy as np
import pytest

from heatgp import GPClassifier, GPRegressor, Product, Smooth, Sphere, Torus, heat_kernel
from heatgp.errors import BoundWarning, InvalidInput, OffManifold, SmallSampleWarning

S2 = Sphere(2)
X = S2.random(np.random.default_rng(5), 40)
Y = X[:, 0] * X[:, 2]
LABELS = np.where(Y > 0, "up", "down")


def test_one_point():
    with pytest.warns(SmallSampleWarning, match="amplitude, noise learned from N = 1 points"):
        gp = GPRegressor(S2, time=0.3, mean="zero", priors=None).fit(X[:1], [3.0])
    assert gp.amplitude_ + gp.noise_ == pytest.approx(9.0)
    mean, std = gp.predict(-X[:1], return_std=True)
    assert abs(mean[0]) < 0.01 * 3
    assert std[0] == pytest.approx(np.sqrt(gp.amplitude_), rel=1e-3)
    given = GPRegressor(S2, time=0.3, amplitude=2.0, noise=0.5).fit(X[:1], [3.0])
    np.testing.assert_allclose(given.predict(X[:3]), 3.0)  # all that is known of the constant
    with pytest.raises(InvalidInput, match=r"N = 1 target is its own mean .* Give amplitude, or a mean"):
        GPRegressor(S2).fit(X[:1], [3.0])


def test_duplicate_points():
    once = GPRegressor(S2).fit(X, Y)
    twice = GPRegressor(S2).fit(np.r_[X, X], np.r_[Y, Y])
    np.testing.assert_allclose(twice.predict(X), once.predict(X), atol=1e-4)
    copies, values = X[:1].repeat(20, axis=0), np.tile([1.0, 3.0], 10)
    with pytest.warns(BoundWarning, match="the data do not determine it"):
        plain = GPRegressor(S2, priors=None, smoothness=np.inf).fit(copies, values)
    for same in (plain, GPRegressor(S2).fit(copies, values)):  # with priors all is determined
        assert same.predict(X[:1])[0] == pytest.approx(2.0)
        assert same.noise_ == pytest.approx(1.0, rel=0.1)
    contradicting = GPClassifier(S2, time=0.3, amplitude=1.0).fit(np.r_[X, X], np.repeat(["a", "b"], 40))
    np.testing.assert_allclose(contradicting.predict_proba(X), 0.5, atol=1e-8)


@pytest.mark.parametrize("mean", ["constant", "linear"])
@pytest.mark.parametrize("constant", [0.0, 7.0, -1e12])
def test_constant_targets(constant, mean):
    with pytest.warns(BoundWarning, match=r"amplitude sits on the lower bound .*the data do not determine it"):
        gp = GPRegressor(S2, mean=mean).fit(X, np.full(40, constant))
    np.testing.assert_allclose(gp.predict(-X), constant)


@pytest.mark.parametrize("scale", [1e-100, 1e-12, 1e12, 1e100])
def test_the_unit_of_y_changes_nothing(scale):
    noisy = Y + 0.05 * np.random.default_rng(0).standard_normal(40)
    unit, scaled = GPRegressor(S2).fit(X, noisy), GPRegressor(S2).fit(X, noisy * scale)
    assert scaled.time_ == pytest.approx(unit.time_, rel=1e-3)
    assert scaled.noise_ / scale**2 == pytest.approx(unit.noise_, rel=1e-3)
    for ours, expected in zip(scaled.predict(-X, return_std=True), unit.predict(-X, return_std=True)):
        np.testing.assert_allclose(ours / scale, expected, rtol=1e-3, atol=1e-6)


def test_variances_are_never_negative():
    """Noise-free, at the data, with long times: rounding would make them so."""
    for time in (0.01, 1.0, 30.0):
        gp = GPRegressor(S2, time=time, amplitude=1e6, noise=0.0).fit(np.r_[X, X], np.r_[Y, Y])
        _, std = gp.predict(X, return_std=True)
        _, covariance = gp.predict(X, return_cov=True)
        assert (std >= 0).all()
        assert (np.diag(covariance) >= 0).all()


def test_nothing_to_predict():
    gp = GPRegressor(S2, time=0.3, amplitude=1.0, noise=0.1).fit(X, Y)
    assert gp.predict(X[:0]).shape == (0,)
    assert GPClassifier(S2, time=0.3, amplitude=1.0).fit(X, LABELS).predict_proba(X[:0]).shape == (0, 2)


def test_two_points_of_two_classes():
    gp = GPClassifier(S2, time=0.1, amplitude=4.0).fit([[0, 0, 1], [0, 0, -1]], ["north", "south"])
    assert gp.predict([[0.0, 0.6, 0.8]])[0] == "north"
    np.testing.assert_allclose(gp.predict_proba([[1.0, 0, 0]]), 0.5, atol=1e-12)


def test_classes_that_do_not_overlap_need_no_warning():
    gp = GPClassifier(S2, priors=None, label_noise=0).fit(X, LABELS)  # a warning would be an error here
    assert gp.amplitude_ == pytest.approx(1e4)
    assert gp.score(X, LABELS) == 1.0
    weak = GPClassifier(S2).fit(X, LABELS)
    assert weak.amplitude_ < 1e3  # with priors it does not run away
    assert weak.score(X, LABELS) == 1.0


def test_warnings_point_at_the_line_of_the_user():
    with pytest.warns(BoundWarning) as caught:
        GPRegressor(S2).fit(X, np.full(40, 7.0))
    first = test_warnings_point_at_the_line_of_the_user.__code__.co_firstlineno
    assert [(w.filename, w.lineno) for w in caught] == [(__file__, first + 2)]


@pytest.mark.parametrize(
    "model, targets, learned",
    [
        (GPRegressor(S2), Y, "time, amplitude, noise"),
        (GPRegressor(S2, time=0.3, noise=0.01), Y, "amplitude"),
        (GPRegressor(kernel="precomputed"), Y, "amplitude, noise"),
    ],
)
def test_parameters_learned_from_few_data_are_warned_of_once(model, targets, learned):
    points = np.exp(-np.square(X[:, None] - X).sum(axis=2)) if model.kernel == "precomputed" else X
    few = points[:19, :19] if model.kernel == "precomputed" else points[:19]
    with pytest.warns(SmallSampleWarning) as caught:
        model.fit(few, targets[:19])
    assert [w.filename for w in caught] == [__file__]
    pattern = rf"^{learned} learned from N = 19 points, fewer than 20: .* Give the parameters .* or add data\.$"
    assert re.match(pattern, str(caught[0].message))
    enough = points[:20, :20] if model.kernel == "precomputed" else points[:20]
    model.fit(enough, targets[:20])  # a warning would be an error here


def test_given_parameters_need_no_data():
    GPRegressor(S2, time=0.3, amplitude=1.0, noise=0.1).fit(X[:3], Y[:3])
    GPClassifier(S2).fit(X[:15], LABELS[:15])  # probabilities are right with few data too
    both = Product(S2, Torus(1))
    points = both.random(np.random.default_rng(0), 15)
    wave = np.cos(2 * points[:, 3])
    GPRegressor(both, time=(9.0, 1.0), amplitude=1.0, noise=0.01).fit(points, wave)
    with pytest.warns(SmallSampleWarning, match="^time learned from N = 15"):
        GPRegressor(both, time=(9.0, None), amplitude=1.0, noise=0.01).fit(points, wave)


def at(index, value):
    changed = Y.copy()
    changed[index] = value
    return changed


@pytest.mark.parametrize(
    "arguments, points, targets, message",
    [
        ({}, X, at(3, np.nan), r"y\[3\] = nan is not finite\. Remove such observations"),
        ({}, X, at(3, np.inf), r"y\[3\] = inf is not finite"),
        ({}, X, np.stack([Y[1:], Y[1:]], axis=1), r"y must be 40 real numbers, one for .* got shape \(39, 2\)"),
        ({}, X, np.ones((40, 2, 2)), r"got shape \(40, 2, 2\).*of several outputs give a table with 40 rows"),
        ({}, X, Y[1:], r"y must be 40 real numbers, one for each of N >= 1 points; got shape \(39,\)"),
        ({}, X, Y + 0j, "got shape .*, dtype complex128"),
        ({}, X, LABELS, "labels are for GPClassifier; its dtype is <U4"),
        ({}, X, 1e300 * Y, "y has the size .* Change its unit"),
        ({}, X[:, :2], Y, r"X has shape \(40, 2\); points of Sphere\(2\) have shape \(3,\)"),
        ({}, X[:0], Y[:0], r"X has shape \(0, 3\): no point\. Give at least one"),
        ({"manifold": None}, X, Y, r"manifold = None must be a manifold, such as Sphere\(2\)"),
        ({"manifold": Sphere}, X, Y, "manifold = <class .* must be a manifold"),
        ({"kernel": "rbf"}, X, Y, "kernel = 'rbf' is not known. Give one of 'auto', 'exact', .*'precomputed'"),
        ({"kernel": Smooth}, X, Y, "kernel = <class .* is not known. Give one of .* a method such as Smooth"),
        ({"kernel": heat_kernel(Sphere(3))}, X, Y, r"is a kernel of Sphere\(3\); the manifold is Sphere\(2\)"),
        ({"kernel": []}, X, Y, r"a list of 0 kernels needs a product of as many; got Sphere\(2\)"),
        ({"kernel": ["exact"] * 2}, X, Y, r"a list of 2 kernels needs a product of as many; got Sphere\(2\)"),
        (
            {"time": "long"},
            X,
            Y,
            "time = 'long' is not known. Give a positive number, None, 'shared', 'each', 'coordinates' or one per",
        ),
        ({"time": "each"}, X, Y, r"time = 'each' is one for each factor, but Sphere\(2\) is no product"),
        ({"time": -1}, X, Y, "time = -1.0 must be positive and finite. Give None to learn it"),
        ({"time": 1j}, X, Y, "time = 1j must be a number"),
        ({"amplitude": "large"}, X, Y, "amplitude = 'large' must be a number, or None to learn it"),
        ({"amplitude": 0}, X, Y, "amplitude = 0 is a variance and must be positive"),
        ({"noise": -0.1}, X, Y, "noise = -0.1 is a variance and must be 0 or positive"),
        ({"mean": None}, X, Y, "mean = None is not known"),
    ],
)
def test_regression_says_what_is_wrong(arguments, points, targets, message):
    with pytest.raises(InvalidInput, match=message):
        GPRegressor(**{"manifold": S2, **arguments}).fit(points, targets)


@pytest.mark.parametrize(
    "arguments, labels, message",
    [
        ({}, np.ones(40), "y has the one class 1.0: there is nothing to tell apart. Give at least two"),
        ({}, Y, "y holds numbers such as .*, not labels. Use GPRegressor"),
        ({}, LABELS[1:], r"y has shape \(39,\) and X 40 points: one label for each point"),
        ({}, np.stack([LABELS, LABELS], axis=1), r"y has shape \(40, 2\) and X 40 points"),
        ({}, [np.nan, 1.0] * 20, r"y\[0\] = nan is missing or not finite"),
        ({}, ["a", "b", np.nan, "b"] * 10, r"y\[2\] = nan is missing or not finite"),
        ({}, np.array([1, "a"] * 20, object), "the labels in y cannot be sorted .* Give all of one type"),
        ({"inference": "mcmc"}, LABELS, "inference = 'mcmc' is not known. Use one of 'auto', 'dense'"),
        ({"amplitude": -1.0}, LABELS, "amplitude = -1.0 is a variance"),
    ],
)
def test_classification_says_what_is_wrong(arguments, labels, message):
    with pytest.raises(InvalidInput, match=message):
        GPClassifier(S2, **arguments).fit(X, labels)


def test_points_off_the_manifold():
    with pytest.raises(OffManifold, match=r"X\[0\] is not on Sphere\(2\).*Divide each point by its norm"):
        GPRegressor(S2).fit(1.1 * X, Y)
    gp = GPClassifier(S2, time=0.3, amplitude=1.0).fit(X, LABELS)
    with pytest.raises(OffManifold, match=r"X\[1\] is not finite"):
        gp.predict([[0, 0, 1.0], [np.nan, 0, 1]])
    with pytest.raises(InvalidInput, match="prior is for kernel='precomputed'"):
        gp.predict_proba(X, prior=np.ones(40))


def test_products_say_what_is_wrong():
    M = Product(S2, Torus(1))
    points = M.random(np.random.default_rng(0), 5)
    with pytest.raises(InvalidInput, match=r"time = \(1, 2, 3\) has 3 values; the kernel has 2"):
        GPRegressor(M, time=(1, 2, 3)).fit(points, np.arange(5))
    with pytest.raises(InvalidInput, match=r"kernel = 'none' is not known"):
        GPRegressor(M, kernel=["exact", "none"]).fit(points, np.arange(5))
    with pytest.raises(InvalidInput, match="ask for return_std or return_cov, not both"):
        GPRegressor(M).predict(points, return_std=True, return_cov=True)
