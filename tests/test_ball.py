"""The ball algorithm against exact kernels, within its stated errors."""

import math
import warnings

import numpy as np
import pytest

from heatgp import (
    ComplexProjective,
    Euclidean,
    Manifold,
    Product,
    RealProjective,
    SpecialOrthogonal,
    Sphere,
    Stiefel,
    Torus,
)
from heatgp.errors import AccuracyWarning, InvalidInput, OffManifold, Unsupported
from heatgp.heat.counting import ball
from heatgp.heat.counting.ball import ball_volume, chosen_radius
from heatgp.heat.exact.families import complex_projective, real_projective, special_orthogonal, sphere
from heatgp.heat.exact.flat import EuclideanProfile, TorusProfile
from heatgp.paths.simulation import Simulation


def ball_matrix(manifold, X, Y, times, *, epsilon=None, rng=None, **options):
    return ball.ball_matrix(manifold, X, Y, Simulation.of(times, rng=rng, **options), epsilon)


def ball_profile(manifold, times, *, epsilon=None, rng=None, **options):
    return ball.ball_profile(manifold, Simulation.of(times, rng=rng, **options), epsilon)


EXACT = [
    (Euclidean(1), EuclideanProfile(1)),
    (Euclidean(2), EuclideanProfile(2)),
    (Euclidean(3), EuclideanProfile(3)),
    (Sphere(2), sphere(2)),
    (Sphere(5), sphere(5)),
    (RealProjective(3), real_projective(3)),
    (ComplexProjective(2), complex_projective(2)),
    (SpecialOrthogonal(3), special_orthogonal(3)),
]


class Plane(Manifold):
    """A user's own manifold: the required members and a distance, no symmetry, no volume, no curvature."""

    shape = (2,)
    dim = 2

    def noise(self, x, z):
        return z

    def exp(self, x, v):
        return x + v

    def random(self, rng, n):
        return rng.standard_normal((n, 2))

    def defect(self, x):
        return np.zeros(x.shape[:-1])

    def distance(self, x, y):
        return np.linalg.norm(x - y, axis=-1)


@pytest.mark.filterwarnings("ignore::heatgp.errors.AccuracyWarning")
@pytest.mark.parametrize("epsilon", [None, 0.15])
@pytest.mark.parametrize("manifold, exact", EXACT, ids=lambda value: repr(value)[:24])
def test_profile_within_the_stated_error_of_the_exact_kernel(manifold, exact, epsilon):
    profile = ball_profile(manifold, [0.1, 0.15, 0.3], paths=10_000, step=0.01, rng=1, epsilon=epsilon)
    theta = np.linspace(0, 1.5, 25)[:, None]
    for time in (0.12, profile.tables[1].time, 0.25):
        kernel, expected = profile.at(time), exact.at(time)(theta)
        error = (kernel(theta) - expected) / kernel.error(theta)
        assert np.sqrt(np.mean(error**2)) < 2  # neighbouring balls share paths
        assert abs(error).max() < 5
    if epsilon is None:  # and the error is worth stating
        assert profile.at(0.2).error(theta[:1]) < 0.3 * exact.at(0.2)(theta[:1])


@pytest.mark.filterwarnings("ignore::heatgp.errors.AccuracyWarning")
def test_matrix_on_a_product_within_the_stated_error():
    """No symmetry is used: paths from each point, volume of the ball by the scalar curvature."""
    manifold = Product(Sphere(2), Torus(1))
    rng = np.random.default_rng(0)
    X = manifold.random(rng, 3)
    Y = np.concatenate([X, manifold.exp(X, 0.4 * manifold.noise(X, rng.standard_normal(X.shape)))])
    estimate, error = ball_matrix(manifold, X, Y, [0.1, 0.2], paths=10_000, step=0.01, rng=0)
    assert estimate.shape == error.shape == (2, 3, 6)
    (xs, xt), (ys, yt) = manifold.split(X[:, None]), manifold.split(Y[None])
    for i, time in enumerate((0.1, 0.2)):
        first = sphere(2).at(time)(Sphere(2).orbit(xs, ys))
        expected = first * TorusProfile(1).at(time)(Torus(1).orbit(xt, yt))
        assert (abs(estimate[i] - expected) < 5 * error[i]).all()
        assert np.median(error[i][expected > 0.1 * expected.max()] / expected.max()) < 0.15


@pytest.mark.filterwarnings("ignore::heatgp.errors.AccuracyWarning")
def test_matrix_at_rank_two():
    manifold = SpecialOrthogonal(4)
    rng = np.random.default_rng(1)
    X = manifold.random(rng, 2)
    Y = manifold.step(np.repeat(X, 3, axis=0), rng.standard_normal((6, 6)), 0.1)
    estimate, error = ball_matrix(manifold, X, Y, 0.3, paths=10_000, step=0.02, rng=0)
    expected = special_orthogonal(4).at(0.3)(manifold.orbit(X[:, None], Y[None]))
    assert (abs(estimate[0] - expected) < 5 * error[0]).all()
    assert (estimate[0] > 0).sum() >= 6


def test_a_users_manifold_is_counted_flat_and_told_so():
    X = np.array([[0.0, 0.0], [5.0, 5.0]])
    with pytest.warns(AccuracyWarning, match="does not know its scalar curvature: its balls of radius .* flat"):
        estimate, error = ball_matrix(Plane(), X, X + 0.1, 0.2, paths=20_000, step=0.1, rng=0)
    expected = math.exp(-0.02 / 0.4) / (2 * math.pi * 0.2)
    assert (abs(np.diag(estimate[0]) - expected) < 4 * np.diag(error[0])).all()
    assert estimate[0, 0, 1] == 0 < error[0, 0, 1]


@pytest.mark.filterwarnings("ignore::heatgp.errors.AccuracyWarning")
def test_one_seed_one_answer():
    arguments = (Sphere(2), np.eye(3)[:2], np.eye(3), [0.1])
    options = {"paths": 2000, "step": 0.05, "epsilon": 0.5}
    first, second = (ball_matrix(*arguments, **options, rng=3)[0] for _ in range(2))
    assert np.array_equal(first, second)
    one = ball_matrix(Sphere(2), np.eye(3)[:1], np.eye(3), [0.1], **options, rng=3)[0]
    assert np.array_equal(first[:, :1], one)
    assert ball_matrix(Sphere(2), np.empty((0, 3)), np.eye(3), [0.1], **options, rng=3)[0].shape == (1, 0, 3)


@pytest.mark.parametrize("manifold", [Stiefel(5, 2), Product(Sphere(2), Sphere(3))], ids=repr)
def test_volume_by_expansion_against_uniform_points(manifold):
    rng, radius = np.random.default_rng(0), 1.0
    x, y = manifold.random(rng, 1)[0], manifold.random(rng, 20_000)
    if isinstance(manifold, Stiefel):  # the iterative distance is for close pairs: the others are beyond the radius
        y = y[np.linalg.norm(x - y, axis=(1, 2)) < math.sqrt(2) * radius]
    share = np.count_nonzero(manifold.distance(x, y) < radius) / 20_000
    noise = math.sqrt(share / 20_000) * manifold.volume
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        assert float(ball_volume(manifold, radius)) == pytest.approx(
            share * manifold.volume, abs=4 * noise + 0.02 * share * manifold.volume
        )


def test_exact_volumes():
    assert ball_volume(Euclidean(3), 0.5) == pytest.approx(math.pi / 6)
    assert ball_volume(Sphere(2), 1.0) == pytest.approx(2 * math.pi * (1 - math.cos(1)))
    assert ball_volume(ComplexProjective(2), 0.7) == pytest.approx(math.pi**2 / 2 * math.sin(0.7) ** 4)
    assert ball_volume(RealProjective(2), np.array([0.3, 2.0])) == pytest.approx(
        [2 * math.pi * (1 - math.cos(0.3)), 2 * math.pi]
    )


def test_the_chosen_radius_balances_noise_and_bias():
    """At the minimum of 1/k + b² with k ~ r^m, b ~ r²: m/k = 4 b²."""
    for manifold in (Euclidean(1), Euclidean(3), Sphere(5)):
        m, time, paths = manifold.dim, 0.01, 10_000
        r = chosen_radius(manifold, time, paths)
        count = paths * float(ball_volume(manifold, r)) * (2 * math.pi * time) ** (-m / 2)
        bias = m * r**2 / (2 * (m + 2) * time)
        assert m / count == pytest.approx(4 * bias**2, rel=0.05)


def test_bad_input_and_poor_counts_are_named():
    options = {"paths": 1000, "step": 0.01, "rng": 0}
    with pytest.raises(InvalidInput, match="times must be positive: at time 0 "):
        ball_profile(Sphere(2), [0.0, 0.1], **options)
    with pytest.raises(InvalidInput, match="epsilon must be a positive number"):
        ball_profile(Sphere(2), [0.1], **options, epsilon=-1)
    with pytest.raises(InvalidInput, match="paths = 20 say nothing"):
        ball_matrix(Sphere(2), np.eye(3), np.eye(3), [0.1], paths=20, step=0.01)
    with pytest.raises(
        Unsupported, match=r"SpecialOrthogonal\(4\): its kernel is not a function of the distance.*ball_matrix"
    ):
        ball_profile(SpecialOrthogonal(4), [0.1], **options)
    with pytest.raises(OffManifold, match=r"Y\[0\] is not on Sphere\(2\)"):
        ball_matrix(Sphere(2), np.eye(3), 2 * np.eye(3), [0.1], **options)
    with pytest.warns(AccuracyWarning, match=r"Balls on Sphere\(5\) count too few of 1000 paths for 100% of the pairs"):
        ball_matrix(Sphere(5), np.eye(6)[:1], np.eye(6)[:1], [0.1], **options, epsilon=0.1)
    with pytest.warns(AccuracyWarning, match=r"balls on Sphere\(9\) count too few of 1000 paths at 1 of 1 times"):
        profile = ball_profile(Sphere(9), [0.1], **options, epsilon=0.1)
    assert profile.at(0.1)(np.zeros((1, 1))) == 0
    with pytest.raises(InvalidInput, match=r"time = 1 is outside the simulated times"):
        profile.at(1.0)
