"""Minima of expensive functions: known minima are found, and every way to ask, tell, fail, stop and go on works."""

import json
import pickle
from fractions import Fraction
from time import sleep

import mpmath
import numpy as np
import pytest
from scipy.optimize import OptimizeResult
from scipy.stats import yeojohnson

import heatgp as hg
from heatgp.errors import InvalidInput, OffManifold, Unsupported
from heatgp.manifolds.gradients import to_tangent_space
from heatgp.optimize.improvement import expected_improvement, improvement_of, log_improvement
from heatgp.optimize.models import fitted, likely
from heatgp.optimize.optimizer import SMALLEST, Optimizer
from heatgp.optimize.space import SIDE, Space
from own_manifolds import SPHERE, TORUS_CHART, U_DOMAIN

POSE = hg.Product(hg.SpecialOrthogonal(3), hg.Euclidean(3))
POSE_BOUNDS = [(-1.0, 1.0), (0.0, 1000.0), (5.0, 5.002)]


def height(x):
    return float(x[2] + x[0] ** 2)


def quiet(function, manifold, evaluations=100, *, show_progress=False, **options):
    return hg.minimize(function, manifold, evaluations, show_progress=show_progress, **options)


# Expected improvement


def exact_log_improvement(u):
    return mpmath.log(mpmath.npdf(u) + u * mpmath.ncdf(u))


def test_log_improvement_against_mpmath():
    u = np.concatenate([[-1e5, -1.0001e4, -0.9999e4, -1.0, 0.0, 10.0, 1e3], np.linspace(-50, 6, 57)])
    with mpmath.workdps(60):
        expected = np.array([float(exact_log_improvement(mpmath.mpf(float(v)))) for v in u])
    np.testing.assert_allclose(log_improvement(u), expected, rtol=1e-12, atol=1e-12)


def test_derivatives_of_expected_improvement_against_mpmath():
    mean, std, best = np.array([0.3, 0.0, 5.0, 40.0]), np.array([0.7, 1e-3, 0.5, 0.1]), 0.1
    _, in_mean, in_std = expected_improvement(mean, std, best)

    def exact(m, s):
        return mpmath.log(s) + exact_log_improvement((best - m) / s)

    with mpmath.workdps(200):
        for number, (m, s) in enumerate(zip(mean, std)):
            place = mpmath.mpf(float(m)), mpmath.mpf(float(s))
            assert in_mean[number] == pytest.approx(float(mpmath.diff(exact, place, (1, 0))), rel=1e-9)
            assert in_std[number] == pytest.approx(float(mpmath.diff(exact, place, (0, 1))), rel=1e-9)


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X = hg.Sphere(2).random(rng, 15)
    return hg.GPRegressor(hg.Sphere(2), time=0.5, amplitude=1.0, noise=1e-4).fit(X, X[:, 0] * X[:, 2])


def test_expected_improvement_of_a_model_against_draws(model, rng):
    x = hg.Sphere(2).random(rng, 6)
    best = float(model.predict(x).max())
    value, _ = improvement_of(model, best)
    mean, std = model.predict(x, return_std=True)
    gains = np.maximum(best - rng.normal(mean, std, (200_000, 6)), 0.0)
    error = gains.std(axis=0) / np.sqrt(len(gains))
    assert (np.abs(np.exp(-value(x)) - gains.mean(axis=0)) < 5 * error).all()


def test_gradient_of_a_model_s_improvement_against_differences(model, rng):
    M = hg.Sphere(2)
    value, with_gradient = improvement_of(model, -0.2)
    x, step = M.random(rng, 10), 1e-5
    v = to_tangent_space(M, x, rng.standard_normal((1, 10, 3)))[0]
    values, gradient = with_gradient(x)
    np.testing.assert_allclose(values, value(x), rtol=1e-11)
    slope = (value(M.exp(x, step * v)) - value(M.exp(x, -step * v))) / (2 * step)
    np.testing.assert_allclose((gradient * v).sum(axis=1), slope, atol=1e-6 * np.abs(slope).max())
    np.testing.assert_allclose((gradient * x).sum(axis=1), 0, atol=1e-12 * np.abs(gradient).max())


# The space and the trust region


def test_a_box_has_the_same_coordinates_in_all_units():
    space = Space(POSE, POSE_BOUNDS)
    x = space.random(np.random.default_rng(0), 200)
    low, high = np.transpose(POSE_BOUNDS)
    outer = space.outer(x)
    assert (outer[:, 9:] >= low).all()
    assert (outer[:, 9:] <= high).all()
    np.testing.assert_array_equal(outer[:, :9], x[:, :9])
    np.testing.assert_allclose(space.inner(outer), x, atol=1e-11)  # 5.002 has few digits left over 5
    edge = np.where(space.bounded, SIDE, x)
    np.testing.assert_array_equal(space.outer(edge)[:, 9:], np.broadcast_to(high, (200, 3)))  # to the last digit
    assert (np.ptp(outer[:, 9:], axis=0) > 0.9 * (high - low)).all()


@pytest.mark.parametrize(
    "M",
    [hg.Sphere(2), hg.ComplexProjective(2), hg.SPD(2), hg.Stiefel(4, 2), SPHERE, TORUS_CHART, U_DOMAIN],
    ids=repr,
)
def test_normal_coordinates(M, rng):
    """Those of the ends of short geodesics are the velocities, but for squares of the lengths."""
    space = Space(M)
    x = M.random(rng, 1)[0]
    v = 1e-3 * rng.standard_normal((20, M.dim))
    np.testing.assert_allclose(space.coordinates(x, space.at(x, v)), v, atol=1e-5)


def test_a_trust_region_halves_doubles_and_begins_anew(monkeypatch):
    """It halves after two local evaluations on S² that did not improve, and doubles after two that did."""
    M = hg.Sphere(2)
    monkeypatch.setattr(Optimizer, "_proposal", lambda self, rng: (M.random(rng, 1)[0], "refined"))
    optimizer = Optimizer(M)
    size, radii = optimizer._space.size, []
    for value in [0.0, *[1.0] * 200, *-np.arange(1.0, 10.0)]:
        optimizer.tell(optimizer.ask(), value)
        radii.append(optimizer._radius / size)
    assert radii[:5] == [1 / 4, 1 / 4, 1 / 8, 1 / 8, 1 / 16]
    assert min(radii) > SMALLEST
    assert radii[:201].count(1 / 4) > 4
    assert [radii[202], radii[204]] == [2 * radii[200], 4 * radii[200]]
    assert radii[-1] <= 1 / 2


def test_a_better_point_elsewhere_widens_the_trust_region():
    """To reach the best point of before, up to a quarter of the space."""
    optimizer = Optimizer(hg.Sphere(2))
    optimizer.tell([1.0, 0, 0], 1.0)
    start, optimizer._radius = optimizer._radius, 1e-3
    optimizer.tell([np.cos(0.1), np.sin(0.1), 0], 0.5)
    assert optimizer._radius == pytest.approx(0.1)
    optimizer.tell([0, 0, 1.0], 0.0)
    assert optimizer._radius == start


# Minima that are known


def squared_distance(M, goal):
    return lambda x: float(min(M.distance(x, goal), 10.0) ** 2)  # of points in two components it is infinite


def found_on(M, evaluations, rng=0, **options):
    """The search for a random point by the square of the distance."""
    goal = M.random(np.random.default_rng(5), 1)[0]
    f = squared_distance(M, goal)
    found = quiet(f, M, evaluations, rng=rng, **options)
    assert M.defect(found.points).max() < 1e-9
    assert found.values[7] == f(found.points[7])
    assert found.fun == found.values.min() == f(found.x)
    return found


CASES = [
    (hg.Sphere(2), 25),
    pytest.param(hg.SpecialOrthogonal(3), 40, marks=pytest.mark.slow),
    pytest.param(hg.ComplexProjective(2), 40, marks=pytest.mark.slow),
    pytest.param(hg.SPD(2), 40, marks=pytest.mark.slow),
    pytest.param(hg.Hyperbolic(2), 40, marks=pytest.mark.slow),
    pytest.param(hg.Torus(2), 40, marks=pytest.mark.slow),
    pytest.param(hg.Grassmann(4, 2), 40, marks=pytest.mark.slow),
    pytest.param(hg.Orthogonal(3), 40, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("M", "evaluations"), CASES, ids=lambda value: repr(value))
def test_the_nearest_point_is_found(M, evaluations):
    """To 1e-3 in the place, and so to 1e-6 in the value."""
    assert found_on(M, evaluations).fun < 1e-6


def test_complex_points():
    found = found_on(hg.ComplexProjective(2), 12)
    assert found.points.dtype == found.x.dtype == complex


@pytest.mark.slow
def test_frames():
    """Of all frames of two vectors those of the two least eigenvalues; logarithms of far frames are not found."""
    M, A = hg.Stiefel(4, 2), np.diag([1.0, 2.0, 4.0, 8.0])
    found = quiet(lambda x: np.trace(x.T @ A @ x @ np.diag([2.0, 1.0])), M, 60)
    assert found.fun == pytest.approx(2 * 1 + 2, abs=1e-3)
    assert M.defect(found.points).max() < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("M", [SPHERE, U_DOMAIN, TORUS_CHART], ids=["Implicit", "Domain", "Chart"])
def test_manifolds_of_users(M):
    """Without distance or logarithm, and with a rough kernel."""
    with pytest.raises(Unsupported):
        M.distance(*M.random(np.random.default_rng(0), 2))
    kernel = hg.heat_kernel(M, "reference", references=60, paths=6000, rng=0)
    goal = M.random(np.random.default_rng(5), 1)[0]
    found = quiet(lambda x: (M.difference(x, goal) ** 2).sum(), M, 50, kernel=kernel)
    assert found.fun < 1e-6
    assert M.defect(found.points).max() < 1e-6


def pose_error(goal):
    """The square of the angle, and of the distance over the widths of the bounds."""
    widths = np.ptp(POSE_BOUNDS, axis=1)

    def value(x):
        angle = POSE.factors[0].distance(x[:9].reshape(3, 3), np.eye(3))
        return float(angle**2 + np.sum(((x[9:] - goal) / widths) ** 2))

    return value


@pytest.mark.slow
@pytest.mark.parametrize("goal", [(0.3, 250.0, 5.0005), (0.3, 1200.0, 5.0)], ids=["inside", "at the boundary"])
def test_a_pose(goal):
    """Units differ by 1e6. Where the goal is outside, the minimum is at the nearest point of the box."""
    nearest = np.clip(goal, *np.transpose(POSE_BOUNDS))
    found = quiet(pose_error(goal), POSE, 80, bounds=POSE_BOUNDS)
    low, high = np.transpose(POSE_BOUNDS)
    assert ((found.points[:, 9:] >= low) & (found.points[:, 9:] <= high)).all()
    assert found.fun - pose_error(goal)(np.concatenate([np.eye(3).ravel(), nearest])) < 1e-3
    np.testing.assert_allclose((found.x[9:] - nearest) / (high - low), 0, atol=0.03)
    on_bound = nearest != np.array(goal)
    np.testing.assert_allclose(found.x[9:][on_bound], nearest[on_bound], rtol=1e-6)


def test_a_box():
    """A quadratic function of correlated coordinates whose units differ by 1e3."""
    A, goal = np.array([[2.0, 1.0], [1.0, 1.0]]), np.array([0.3, 0.7])

    def f(x):
        z = np.array([x[0], x[1] / 1000]) - goal
        return z @ A @ z

    found = quiet(f, hg.Euclidean(2), 25, bounds=[(-1, 1), (0, 1000)])
    np.testing.assert_allclose(found.x / [1, 1000], goal, atol=3e-3)
    assert [f(x) for x in found.points] == found.values.tolist()


def test_a_minimum_in_a_corner():
    found = quiet(lambda x: x[0] - x[1], hg.Euclidean(2), 15, bounds=[(1, 2), (0.1, 0.3)])
    np.testing.assert_array_equal(found.x, [1, 0.3])


def test_one_coordinate():
    found = quiet(lambda x: (x[0] - 0.3) ** 2, hg.Euclidean(1), 12, bounds=(0, 1))
    assert found.x == pytest.approx([0.3], abs=1e-3)


def test_narrow_bounds_far_from_zero():
    """Points are told as they were asked for, though their digits are few."""
    found = quiet(lambda x: ((x[0] - 1e6) * 1e4 - 3) ** 2, hg.Euclidean(1), 12, bounds=(1e6, 1e6 + 1e-3))
    assert len(np.unique(found.points)) == 12
    assert found.fun < 0.01


def test_two_components():
    """Both components of O(3) are searched, from a start in the wrong one."""
    M = hg.Orthogonal(3)
    goal = np.diag([1.0, 1.0, -1.0])
    found = quiet(lambda x: -np.trace(goal @ x), M, 18, x0=np.eye(3))
    assert {round(v) for v in np.linalg.det(found.points)} == {-1, 1}
    assert np.linalg.det(found.x) == pytest.approx(-1)


def test_constant_functions():
    found = quiet(lambda x: 1.0, hg.Sphere(2), 17)
    assert found.fun == 1
    assert len(np.unique(found.points.round(9), axis=0)) == 17


@pytest.mark.parametrize("scale", [1e-90, 1e90])
def test_extreme_units_of_the_values(scale):
    found = quiet(lambda x: scale * height(x), hg.Sphere(2), 17)
    assert found.fun < -0.9 * scale


@pytest.mark.parametrize("noise", [0.0, None])
def test_values_whose_squares_leave_floating_point(noise):
    found = quiet(lambda x: 1e-200 * height(x), hg.Sphere(2), 17, noise=noise)
    assert found.values.min() < 0
    found = quiet(lambda x: 1e200 if x[0] > 0 else height(x), hg.Sphere(2), 17, noise=noise)
    np.testing.assert_array_equal(np.isnan(found.values), found.points[:, 0] > 0)


# Asking and telling


def told(optimizer, count, function=height):
    for _ in range(count):
        x = optimizer.ask()
        optimizer.tell(x, function(x))
    return optimizer


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    """The file of a search after 16 evaluations: the next one is local, that after it is not."""
    path = tmp_path_factory.mktemp("state") / "search.npz"
    told(Optimizer(hg.Sphere(2)), 16).save(path)
    return path


@pytest.fixture
def search(state):
    optimizer = Optimizer(hg.Sphere(2))
    optimizer.load(state)
    return optimizer


def test_seeds():
    one, same, other = (quiet(height, hg.Sphere(2), 8, rng=seed).points for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not (one == other).all(axis=1).any()


def test_points_that_are_asked_for_together_are_apart(search):
    first, second = search.ask(), search.ask()
    assert hg.Sphere(2).distance(first, second) > 1e-6
    batch = search.ask(3)
    assert batch.shape == (3, 3)
    np.testing.assert_array_equal(search.pending, [first, second, *batch])
    apart = hg.Sphere(2).distance(search.pending[:, None], search.pending)
    assert apart[np.triu_indices(5, 1)].min() > 1e-6


def test_telling_in_another_order(search):
    points = search.ask(3)
    search.tell(points[2], height(points[2]))
    search.tell(points[[1, 0]], [height(points[1]), height(points[0])])
    assert len(search.pending) == 0
    np.testing.assert_array_equal(search.X[-3:], points[[2, 1, 0]])
    assert [height(x) for x in search.X] == search.y.tolist()


def test_telling_of_other_points(search):
    asked = search.ask()
    search.tell([0.0, 0.0, -1.0], -1.0)
    np.testing.assert_array_equal(search.pending, [asked])
    np.testing.assert_array_equal(search.x, [0, 0, -1])
    assert search.fun == -1
    search.tell([[0.0, 0.6, -0.8], [1.0, 0, 0]], [-0.8, 1])
    assert len(search.y) == 19


def test_telling_in_single_precision():
    optimizer = Optimizer(hg.Sphere(2))
    asked = optimizer.ask(4)
    optimizer.tell(asked.astype(np.float32), asked[:, 2])
    assert not len(optimizer.pending)
    np.testing.assert_array_equal(optimizer.X, asked)


def test_telling_nothing():
    optimizer = Optimizer(hg.Sphere(2))
    optimizer.tell(np.empty((0, 3)), [])
    assert optimizer.X.shape == (0, 3)


def test_what_is_told_is_not_asked_again(search):
    search.tell([0.0, 0.0, -1.0], -1.0)
    told(search, 6)
    distances = hg.Sphere(2).distance(search.X[:, None], search.X)[np.triu_indices(len(search.X), 1)]
    assert distances.min() > 1e-9


def test_arrays_of_the_search_are_copies(search):
    for array in (search.X, search.y, search.pending, search.x):
        array[...] = 0
    assert hg.Sphere(2).defect(search.X).max() < 1e-9


# Failed and noisy evaluations


def test_failures_are_kept_and_avoided():
    """Half of the sphere fails, and the minimum is at its edge."""

    def f(x):
        return np.nan if x[2] < 0 else height(x)

    found = quiet(f, hg.Sphere(2), 26)
    failed = np.isnan(found.values)
    np.testing.assert_array_equal(failed, found.points[:, 2] < 0)
    assert failed.any()
    assert failed[13:].sum() < 8
    assert found.success
    assert np.isfinite(found.fun)
    assert found.fun == np.nanmin(found.values) < 0.1


def failing_at_random(function, share, seed=0):
    """The function, which fails independently of the point, and may succeed where it is tried again."""
    rng = np.random.default_rng(seed)
    return lambda x: np.nan if rng.random() < share else function(x)


@pytest.mark.parametrize("noise", [0.0, None])
def test_models_of_the_values_do_not_see_failures(noise, monkeypatch):
    """No value is made up for them, in the model of all data and in the local one."""
    seen = []

    def watched(manifold, X, y, **options):
        seen.append(len(y))
        return fitted(manifold, X, y, **options)

    monkeypatch.setattr("heatgp.optimize.proposals.fitted", watched)
    search = Optimizer(hg.Sphere(2), noise=noise)
    X = hg.Sphere(2).random(np.random.default_rng(0), 16)
    search.tell(X, np.where(np.arange(16) % 4 == 1, np.nan, X[:, 2]))
    for chosen in ("explored", "refined"):
        x = search.ask()
        assert search._chosen[-1] == chosen
        search.tell(x, np.nan)
    assert max(seen) == 12  # of 16 points, four failed


def test_failures_at_random_do_not_block_the_refinement():
    """One evaluation in five fails; without failures the regret after 30 evaluations is below 1e-7."""
    found = quiet(failing_at_random(height, 0.2), hg.Sphere(2), 30)
    assert np.isnan(found.values).sum() >= 3
    assert found.fun + 1 < 1e-4
    assert found.fun == np.nanmin(found.values) == height(found.x)


@pytest.mark.slow
def test_failures_at_random_cost_little_more_than_their_number():
    """Four fifths of 100 evaluations succeed: the regret is that of 80 evaluations, to a few digits."""
    M = hg.Sphere(4)
    goal = M.random(np.random.default_rng(5), 1)[0]
    regrets = [
        quiet(failing_at_random(squared_distance(M, goal), 0.2, seed), M, 100, rng=seed).fun for seed in range(2)
    ]
    assert max(regrets) < 1e-6


def test_where_evaluations_are_likely_to_succeed():
    """Failures in a region are avoided; one failure does not matter farther away, and failures at random nowhere."""
    M, rng = hg.Sphere(2), np.random.default_rng(0)
    X, x = M.random(rng, 100), M.random(rng, 500)
    region = likely(M, X, np.where(X[:, 2] < 0, np.nan, 1.0), np.pi, x)(x)
    assert region[x[:, 2] > np.sin(0.5)].all()
    assert not region[x[:, 2] < -np.sin(0.5)].any()
    one = np.where(np.arange(100) == 7, np.nan, 1.0)
    assert likely(M, X, one, np.pi, x)(x[M.distance(x, X[7]) > 0.5]).all()
    assert likely(M, X, np.where(rng.random(100) < 0.2, np.nan, 1.0), np.pi, x)(x).mean() > 0.9
    assert likely(M, X, np.ones(100), np.pi, x)(x).all()
    again = np.concatenate([X, X[:1], X[:1]])  # the same point, tried again
    assert likely(M, again, np.where(np.arange(102) == 0, np.nan, 1.0), np.pi, x)(X[:1]).all()


@pytest.mark.slow
@pytest.mark.parametrize("centre", [1.5, 0.82], ids=["far from the minimum", "near it"])
def test_failures_in_a_region_far_from_and_near_the_minimum(centre):
    """A cap of radius 0.8 fails; its edge is 0.7 or 0.02 from the minimum."""
    M, goal = hg.Sphere(4), np.eye(5)[0]
    middle = np.cos(centre) * goal + np.sin(centre) * np.eye(5)[1]

    def f(x):
        return np.nan if M.distance(x, middle) < 0.8 else float(((x - goal) ** 2 * np.arange(1, 6)).sum())

    found = quiet(f, M, 60)
    assert found.fun < 1e-4
    assert np.isnan(found.values[30:]).sum() < 8


def test_a_point_that_failed_may_be_tried_again(search, monkeypatch):
    search.tell([0.0, 0.0, -1.0], np.nan)
    monkeypatch.setattr(Optimizer, "_proposal", lambda self, rng: (np.array([0.0, 0.0, -1.0]), "refined"))
    np.testing.assert_array_equal(search.ask(), [0, 0, -1])
    assert not (search.ask() == [0, 0, -1]).all()  # it is pending now


def test_first_evaluations_that_fail():
    values = iter([np.nan] * 7)
    found = quiet(lambda x: next(values, height(x)), hg.Sphere(2), 22)
    assert found.fun + 1 < 1e-3


def test_batches_and_files_with_failures(tmp_path):
    """Which points fail depends on them, so that a search that is interrupted can be compared with one that is not."""
    file = tmp_path / "search.npz"

    def f(x):
        return np.nan if np.sin(1e3 * x[0]) > 0.6 else height(x)

    with pytest.raises(KeyboardInterrupt):
        quiet(interrupted(f, 18), hg.Sphere(2), 21, batch=3, file=file)
    resumed = quiet(f, hg.Sphere(2), 21, batch=3, file=file)
    whole = quiet(f, hg.Sphere(2), 21, batch=3)
    assert np.isnan(whole.values).any()
    np.testing.assert_array_equal(resumed.points, whole.points)
    np.testing.assert_array_equal(resumed.values, whole.values)


@pytest.mark.slow
def test_failures_with_a_kernel_of_few_times():
    """Lengths over which success may vary are among the times of the kernel."""
    kernel = hg.heat_kernel(SPHERE, "reference", references=60, paths=6000, rng=0)
    found = quiet(failing_at_random(lambda x: x[0], 0.3), SPHERE, 12, kernel=kernel)
    assert np.isfinite(found.fun)


def test_infinite_values_are_failures():
    optimizer = Optimizer(hg.Sphere(2))
    optimizer.tell(hg.Sphere(2).random(np.random.default_rng(0), 4), [1.0, np.inf, -np.inf, 2.0])
    np.testing.assert_array_equal(optimizer.y, [1, np.nan, np.nan, 2])
    assert optimizer.fun == 1


@pytest.mark.parametrize("noise", [0.0, None])
def test_nothing_but_failures(noise):
    found = quiet(lambda x: np.nan, hg.Sphere(2), 7, noise=noise)
    assert not found.success
    assert found.x is None
    assert found.model is None
    assert np.isnan(found.fun)
    assert found.message == (
        "none of 7 evaluations had a value between -1e100 and 1e100. function returned nan at 7 of them. A minimum "
        "needs finite values: check the function at one of `points`."
    )
    with pytest.raises(InvalidInput, match="none with a value: there is no best point yet"):
        _ = Optimizer(hg.Sphere(2)).fun
    with pytest.raises(InvalidInput, match="a model needs two"):
        Optimizer(hg.Sphere(2)).model()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([-np.inf] * 4, "function returned -inf at 4 of them"),
        ([np.inf, -np.inf, np.inf, np.nan], "function returned nan at 1, -inf at 1, inf at 2 of them"),
        ([1e200, -1e200, 1e300, 1e200], "function returned a number beyond 1e100 at 4 of them"),
    ],
)
def test_functions_without_finite_values_are_named(values, message):
    rest = iter(values)
    found = quiet(lambda x: next(rest), hg.Sphere(2), 4)
    assert not found.success
    assert message in found.message


@pytest.mark.parametrize("noise", [0.0, 0.01, None])
def test_one_value_among_failures(noise):
    values = iter([np.nan, 2.5, np.nan, np.nan, np.nan, np.nan])
    found = quiet(lambda x: next(values), hg.Sphere(2), 6, noise=noise)
    assert found.fun == 2.5
    np.testing.assert_array_equal(found.x, found.points[1])


@pytest.mark.parametrize("noise", [None, pytest.param(0.04, marks=pytest.mark.slow)])
def test_noise(noise):
    """The true value of x is lowest but for a part of the noise, of standard deviation 0.2, and `fun` is a mean."""
    rng = np.random.default_rng(3)
    found = quiet(lambda x: 2 * height(x) + rng.normal(0, 0.2), hg.Sphere(2), 30, noise=noise)
    assert 2 * height(found.x) + 2 < 0.2
    assert found.fun == pytest.approx(found.model.predict(found.x[None])[0])
    assert abs(found.fun - 2 * height(found.x)) < 0.2
    assert found.values.min() < found.fun
    assert 0.1 < found.model.noise_**0.5 < 0.4


def test_the_model_of_all_data_has_the_noise_that_is_given(monkeypatch):
    """Its values are standardised and made nearly normal, and the noise with them: by the slope of that function."""
    noises = []

    def seen(*arguments, **options):
        noises.append(options["noise"])
        return fitted(*arguments, **options)

    monkeypatch.setattr("heatgp.optimize.proposals.fitted", seen)
    rng = np.random.default_rng(0)
    search = Optimizer(hg.Sphere(2), noise=0.25)
    X = hg.Sphere(2).random(rng, 8)
    y = 10 * X[:, 2] + rng.normal(0, 0.5, 8)
    search.tell(X, y)
    search.ask()
    unit = (y - y.mean()) / y.std()
    _, power = yeojohnson(unit)
    slopes = (yeojohnson(unit + 1e-5, power) - yeojohnson(unit - 1e-5, power)) / 2e-5
    assert noises == pytest.approx([0.25 * np.mean(slopes**2) / y.var()], rel=1e-6)


def test_noise_does_not_depend_on_the_units_of_the_bounds():
    """The same search, with one coordinate in units of a thousandth."""

    def means(unit):
        optimizer = Optimizer(hg.Euclidean(2), bounds=[(0, 1), (0, unit)], noise=0.01)
        points = np.random.default_rng(0).random((30, 2))
        optimizer.tell(points * [1, unit], np.random.default_rng(1).normal(((points - 0.5) ** 2).sum(axis=1), 0.1))
        return optimizer.fun, optimizer.x / [1, unit]

    for one, other in zip(means(1), means(1000)):
        np.testing.assert_allclose(one, other, rtol=1e-6)


# Files


def interrupted(function, number):
    """The function, which is interrupted at one of its calls."""
    calls = []

    def f(x):
        calls.append(x)
        if len(calls) == number:
            raise KeyboardInterrupt
        return function(x)

    return f


@pytest.mark.parametrize(
    ("M", "f", "options", "number"),
    [
        (hg.Sphere(2), height, {}, 23),
        (hg.Sphere(2), height, {"x0": [[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]]}, 2),
        (hg.ComplexProjective(2), lambda x: abs(x[0]) ** 2, {"batch": 2}, 6),
        pytest.param(POSE, pose_error((0.3, 250.0, 5.0)), {"bounds": POSE_BOUNDS}, 23, marks=pytest.mark.slow),
    ],
    ids=["sphere", "given points", "complex points, batches", "pose"],
)
def test_an_interrupted_search_goes_on_as_if_nothing_had_happened(M, f, options, number, tmp_path):
    file, evaluations = tmp_path / "search.npz", number + 2
    with pytest.raises(KeyboardInterrupt):
        quiet(interrupted(f, number), M, evaluations, file=file, **options)
    resumed = quiet(f, M, evaluations, file=file, **options)
    whole = quiet(f, M, evaluations, **options)
    np.testing.assert_array_equal(resumed.points, whole.points)
    np.testing.assert_array_equal(resumed.values, whole.values)
    again = quiet(interrupted(f, 2), M, evaluations, file=file, **options)  # all is there: one call, to compare
    assert (again.nfev, again.fun) == (evaluations, whole.fun)


def test_files_of_other_searches(state, tmp_path):
    with pytest.raises(InvalidInput, match=r"is of a search on Sphere\(2\), not on Sphere\(3\)"):
        quiet(height, hg.Sphere(3), file=state)
    box = tmp_path / "box.npz"
    Optimizer(hg.Euclidean(1), bounds=(0, 1)).save(box)
    with pytest.raises(InvalidInput, match="with other bounds"):
        quiet(sum, hg.Euclidean(1), bounds=(0, 2), file=box)
    with pytest.raises(InvalidInput, match="no such file"):
        Optimizer(hg.Sphere(2)).load(tmp_path / "none.npz")


@pytest.mark.parametrize("damage", [lambda b: b[:200], lambda b: b"text", lambda b: b"", lambda b: b[:-1]])
def test_damaged_files(damage, state, tmp_path):
    file = tmp_path / "damaged.npz"
    file.write_bytes(damage(state.read_bytes()))
    with pytest.raises(InvalidInput, match="not a file of an Optimizer, or it is damaged"):
        quiet(height, hg.Sphere(2), file=file)


def test_files_of_other_formats(state, tmp_path):
    file = tmp_path / "later.npz"
    with np.load(state) as arrays:
        content = dict(arrays)
    later = json.loads(str(content.pop("state")))
    content["format"] = np.array(99)
    np.savez(file, state=json.dumps(later), **content)
    with pytest.raises(InvalidInput, match=r"has format 99; this version reads 2\. Give another file"):
        Optimizer(hg.Sphere(2)).load(file)
    first = {"format": 1, "manifold": "Sphere(2)", "bounds": [], "seed": [0]}  # the format stood here
    np.savez(file, state=json.dumps(first), X=content["X"], y=content["y"], pending=content["pending"])
    with pytest.raises(InvalidInput, match="has format 1; this version reads 2"):
        Optimizer(hg.Sphere(2)).load(file)
    del later["seed"]
    content["format"] = np.array(2)
    np.savez(file, state=json.dumps(later), **content)
    with pytest.raises(InvalidInput, match="or it is damaged"):
        Optimizer(hg.Sphere(2)).load(file)
    np.savez(file, numbers=np.ones(3))
    with pytest.raises(InvalidInput, match="or it is damaged"):
        Optimizer(hg.Sphere(2)).load(file)


@pytest.mark.parametrize("noise", [0.0, 0.01, None])
def test_files_of_other_functions(noise, tmp_path):
    """No minimum is reported that the function does not have, also where all evaluations are in the file."""
    file = tmp_path / "search.npz"
    rng = np.random.default_rng(0)

    def noisy(x):
        return height(x) + (0 if noise == 0 else rng.normal(0, 0.1))

    quiet(noisy, hg.Sphere(2), 6, noise=noise, file=file)
    before = file.read_bytes()
    for evaluations in (6, 8):
        with pytest.raises(InvalidInput, match=r"is of a search of another function: at its point . it has the value "):
            quiet(lambda x: noisy(x) + 10, hg.Sphere(2), evaluations, noise=noise, file=file)
    assert file.read_bytes() == before
    assert quiet(noisy, hg.Sphere(2), 7, noise=noise, file=file).nfev == 7


def test_small_differences_of_functions(tmp_path):
    """Values of the last digits may differ, and a thousandth may not."""
    file = tmp_path / "search.npz"
    quiet(height, hg.Sphere(2), 6, file=file)
    with pytest.raises(InvalidInput, match="another function: at its point 0"):
        quiet(lambda x: height(x) + 1e-3, hg.Sphere(2), 6, file=file)
    assert quiet(lambda x: height(x) * (1 + 1e-12), hg.Sphere(2), 6, file=file).nfev == 6


def test_a_failure_at_the_first_point_of_a_file(tmp_path):
    """One failure decides nothing: the next point with a value does. Three are another function."""
    file = tmp_path / "search.npz"
    quiet(height, hg.Sphere(2), 6, file=file)
    values = iter([np.nan, np.nan])
    assert quiet(lambda x: next(values, height(x)), hg.Sphere(2), 6, file=file).nfev == 6
    with pytest.raises(InvalidInput, match=r"point 2 it has the value .*, and this function nan"):
        quiet(lambda x: np.nan, hg.Sphere(2), 6, file=file)


def test_given_points_are_in_the_file(tmp_path):
    file, starts = tmp_path / "search.npz", np.eye(3)
    with pytest.raises(KeyboardInterrupt):
        quiet(interrupted(height, 2), hg.Sphere(2), 5, x0=starts, file=file)
    with pytest.raises(InvalidInput, match=r"began with another x0, of 3 point\(s\). Leave x0 out to go on with it"):
        quiet(height, hg.Sphere(2), 5, x0=-starts, file=file)
    found = quiet(height, hg.Sphere(2), 5, file=file)  # those that are left come first
    np.testing.assert_array_equal(found.points[:3], starts)
    assert quiet(height, hg.Sphere(2), 5, x0=starts, file=file).nfev == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise": 0.1}, "with noise = 0.0, not 0.1. Give the same noise, or another file"),
        ({"noise": None}, "with noise = 0.0, not None"),
        ({"smoothness": 2.5}, "with smoothness = inf, not 2.5"),
        (
            {"kernel": hg.heat_kernel(hg.Sphere(2), "smooth", paths=2000, times=[0.5], step=0.05, cache=False)},
            "kernel =",
        ),
    ],
)
def test_files_of_searches_with_other_models(options, message, state):
    with pytest.raises(InvalidInput, match=message):
        quiet(never, hg.Sphere(2), file=state, **options)


def edited(name, change):
    def edit(content):
        content[name] = change(content[name])

    return edit


def edited_state(**parts):
    def edit(content):
        content["state"] = np.array(json.dumps({**json.loads(str(content["state"])), **parts}))

    return edit


@pytest.mark.parametrize(
    "edit",
    [
        edited("y", lambda y: y[:-1]),
        edited("y", lambda y: y - 1),
        edited("y", lambda y: y.astype("U9")),
        edited("X", lambda X: X[:-1]),
        edited("X", lambda X: X * np.nan),
        edited("X", lambda X: 2 * X),
        edited("X", lambda X: X.T),
        edited("X", lambda X: X.astype(complex)),
        edited("pending", lambda X: np.ones((4, 3))),
        edited("x0", lambda X: np.ones((4, 3))),
        edited("checksum", lambda text: np.array("0")),
        edited_state(region={"size": 3.0, "patience": 2, "radius": "x"}),
        edited_state(seed="seed"),
        edited_state(asked=-1),
        edited_state(chosen=None),
        edited_state(learned=[16, {"time": -1.0}]),
        lambda content: content.pop("y"),
        lambda content: content.pop("checksum"),
        lambda content: content.pop("x0"),
    ],
)
def test_edited_files(edit, state, tmp_path):
    with np.load(state) as arrays:
        content = dict(arrays)
    edit(content)
    file = tmp_path / "edited.npz"
    np.savez(file, **content)
    with pytest.raises(InvalidInput, match="not a file of an Optimizer, or it is damaged or was edited"):
        quiet(never, hg.Sphere(2), file=file)


# The result, and what a user may pass


def test_result():
    found = quiet(height, hg.Sphere(2), 8)
    assert isinstance(found, OptimizeResult)
    assert isinstance(found.model, hg.GPRegressor)
    assert (found.nfev, found.success, found.message) == (8, True, "8 evaluations were made.")
    assert found.points.shape == (8, 3)
    assert found.values is found["values"]
    for part in ("fun:", "x:", "nfev: 8", "points:", "values:", "model: GPRegressor"):
        assert part in str(found)
        assert part in repr(found)
    np.testing.assert_allclose(found.model.predict(found.points), found.values, atol=0.1)
    same = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(same.values, found.values)


@pytest.mark.parametrize("evaluations", [1, 2])
def test_few_evaluations(evaluations):
    for noise in (0.0, None):
        found = quiet(height, hg.Sphere(2), evaluations, noise=noise)
        assert found.nfev == evaluations
        assert np.isfinite(found.fun)


def test_given_points_come_first():
    starts = hg.Sphere(2).random(np.random.default_rng(0), 7)
    found = quiet(height, hg.Sphere(2), 9, x0=starts, batch=2)
    np.testing.assert_allclose(found.points[:7], starts, atol=1e-15)
    one = quiet(height, hg.Sphere(2), 1, x0=[0.0, 0, -1])
    assert (one.fun, one.nfev) == (-1, 1)


def test_given_points_stay_as_they_are():
    start = [0.1 + 0.2, 700.0 / 3]
    found = quiet(sum, hg.Euclidean(2), 2, x0=start, bounds=[(0, 1), (1, 1000)])
    np.testing.assert_array_equal(found.points[0], start)


@pytest.mark.parametrize("answer, evaluations", [(np.True_, 1), (1, 3), (np.zeros(2), 3), (None, 3)])
def test_callback_answers(answer, evaluations):
    assert quiet(height, hg.Sphere(2), 3, callback=lambda optimizer: answer).nfev == evaluations


def test_callback_ends_the_search():
    seen = []

    def enough(optimizer):
        seen.append(len(optimizer.y))
        return len(optimizer.y) >= 4

    found = quiet(height, hg.Sphere(2), batch=2, callback=enough)
    assert seen == [2, 4]
    assert found.message == "4 evaluations were made, and callback ended the search."
    assert found.success


def test_batches_over_processes():
    one, two = (quiet(height, hg.Sphere(2), 9, batch=3, n_jobs=jobs) for jobs in (None, 2))
    np.testing.assert_array_equal(one.points, two.points)
    np.testing.assert_array_equal(one.values, two.values)


@pytest.mark.parametrize("value", [3, True, np.float32(3), np.array(3.0), Fraction(3), 10**30], ids=repr)
def test_values_that_are_numbers(value):
    assert quiet(lambda x: value, hg.Sphere(2), 1).fun == float(value)


def test_functions_may_change_their_argument():
    def f(x):
        x[:] = 0
        return 1.0

    assert hg.Sphere(2).defect(quiet(f, hg.Sphere(2), 3).points).max() < 1e-12


def test_a_matern_kernel():
    found = quiet(height, hg.Sphere(2), 8, smoothness=2.5, initial=3)
    assert found.model.smoothness_ == 2.5


def test_progress(capsys):
    """A bar comes after two seconds."""

    def slow(x):
        sleep(0.8)
        return height(x)

    quiet(slow, hg.Sphere(2), 4, show_progress=True)
    assert "Evaluations" in capsys.readouterr().err
    quiet(slow, hg.Sphere(2), 4, show_progress=False)
    assert capsys.readouterr() == ("", "")


def never(x):
    raise AssertionError("an evaluation before the arguments were checked")


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((3, hg.Sphere(2)), {}, "function must be a function of one point; got 3"),
        ((never, "sphere"), {}, "manifold must be a manifold, such as Sphere"),
        ((never, hg.Sphere(2), 0), {}, "evaluations must be a positive integer; got 0"),
        ((never, hg.Sphere(2)), {"batch": 0}, "batch must be a positive integer; got 0"),
        ((never, hg.Sphere(2)), {"initial": 0}, "initial must be a positive integer; got 0"),
        ((never, hg.Sphere(2)), {"n_jobs": 0}, "n_jobs must be"),
        ((never, hg.Sphere(2)), {"noise": -1}, "noise = -1 is a variance and must be 0 or positive"),
        ((never, hg.Sphere(2)), {"noise": "much"}, "noise must be a finite number"),
        ((never, hg.Sphere(2)), {"rng": -1}, "rng must be"),
        ((never, hg.Sphere(2)), {"callback": 3}, "callback must be a function of the Optimizer"),
        ((never, hg.Sphere(2)), {"show_progress": "yes"}, "show_progress must be True or False"),
        ((never, hg.Sphere(2)), {"kernel": "rbf"}, "kernel = 'rbf' is not known"),
        ((never, hg.Sphere(2)), {"smoothness": -2}, "smoothness"),
        ((never, hg.Sphere(2)), {"file": 3}, "file must be a path"),
        ((never, hg.Sphere(2)), {"bounds": [(0, 1)]}, r"for Euclidean coordinates, and Sphere\(2\) has none"),
        ((never, hg.Euclidean(2)), {}, r"has 2 Euclidean coordinate\(s\), and each needs bounds.*; got none"),
        ((never, POSE), {"bounds": [(0, 1)]}, r"has 3 Euclidean.*; got an array of shape \(1, 2\)"),
        ((never, hg.Euclidean(1)), {"bounds": (0, np.inf)}, r"bounds\[0\] = \(0.0, inf\) must be two finite numbers"),
        ((never, hg.Euclidean(2)), {"bounds": [(0, 1), (2, 1)]}, r"bounds\[1\] = \(2, 1\) must be two finite numbers"),
        ((never, hg.Euclidean(1)), {"bounds": ["a", "b"]}, "bounds must be numbers"),
        ((never, hg.Euclidean(1)), {"bounds": (0, 1), "x0": [[0.5], [1.5]]}, r"x0\[1\] is beyond the bounds"),
        ((never, hg.Sphere(2)), {"x0": [1.0, 0]}, "x0 has shape"),
        ((never, hg.Sphere(2)), {"x0": [1.0, 1, 0]}, r"x0\[0\] is not on Sphere\(2\)"),
    ],
)
def test_bad_arguments(arguments, options, message):
    error = OffManifold if "not on Sphere" in message else InvalidInput
    with pytest.raises(error, match=message):
        quiet(*arguments, **options)


def test_manifolds_without_a_kernel_are_refused_at_once():
    with pytest.raises(Unsupported):
        quiet(never, hg.SpecialOrthogonal(11))


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(OSError, match="No such file"):
        quiet(never, hg.Sphere(2), file=tmp_path / "none" / "search.npz", x0=[1.0, 0, 0])


@pytest.mark.parametrize(
    "value",
    ["low", "1.0", None, 1j, np.complex128(1), 10**400, [1.0], np.ones(3), [[1], [1, 2]]],
    ids=lambda v: repr(v)[:9],
)
def test_values_that_are_no_numbers(value):
    with pytest.raises(InvalidInput, match="function must return a number, or nan where it fails; it returned"):
        quiet(lambda x: value, hg.Sphere(2), 3)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([1.0, 0, 0], [1.0, 2.0], r"x has 1 point\(s\) and y the shape \(2,\)"),
        ([[1.0, 0, 0], [0, 1.0, 0]], 1.0, r"x has 2 point\(s\) and y the shape \(\)"),
        ([1.0, 0, 0], "low", "y must be"),
        ([1.0, 0, 0], 1j, "y must be real numbers"),
        ([1.0, 0], 1.0, "x has shape"),
        ([1.0, 1.0, 0], 1.0, "is not on"),
    ],
)
def test_bad_values(x, y, message):
    optimizer = Optimizer(hg.Sphere(2))
    with pytest.raises((InvalidInput, OffManifold), match=message):
        optimizer.tell(x, y)
    assert len(optimizer.y) == 0
    with pytest.raises(InvalidInput, match="count must be a positive integer; got 0"):
        optimizer.ask(0)
    assert len(optimizer.pending) == 0


def test_no_evaluation_of_a_batch_is_lost(tmp_path):
    """Interrupted in the middle of a batch: each value that f returned is in the file."""
    file, calls = tmp_path / "search.npz", []

    def f(x):
        calls.append(x)
        if len(calls) == 8:
            raise KeyboardInterrupt
        return x[2]

    with pytest.raises(KeyboardInterrupt):
        hg.minimize(f, hg.Sphere(2), evaluations=9, batch=3, file=file, show_progress=False)
    again = hg.minimize(f, hg.Sphere(2), evaluations=9, batch=3, file=file, show_progress=False)
    assert len(calls) == 11  # nine values, the one that failed, and the first one again, to compare
    whole = hg.minimize(lambda x: x[2], hg.Sphere(2), evaluations=9, batch=3, show_progress=False)
    np.testing.assert_array_equal(again.points, whole.points)
