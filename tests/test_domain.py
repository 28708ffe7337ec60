import pickle

import numpy as np
import pytest
from scipy.special import jn_zeros, jnp_zeros, jv

from heatgp import Chart, Domain, Euclidean, Sphere, Torus, walk
from heatgp.errors import InvalidInput, OffManifold, Unsupported
from heatgp.heat.reference.quasi import Quasi
from heatgp.manifolds.checks import check_points
from heatgp.testing import check_manifold
from own_manifolds import CAP, DISC, SPHERE, U_DOMAIN, U_SHAPE
from statistics_helpers import assert_mean

SQUARE = Domain(Euclidean(2), ((0, 0), (1, 0), (1, 1), (0, 1)))
ANNULUS = Domain(Euclidean(2), [[(0, 0), (3, 0), (3, 3), (0, 3)], [(1, 1), (2, 1), (2, 2), (1, 2)]])


def test_reflection_folds_the_plane_onto_the_square(rng):
    x = rng.random((2000, 2))
    v = rng.standard_normal((2000, 2))
    folded = np.abs((x + v + 1) % 2 - 1)
    np.testing.assert_allclose(SQUARE.exp(x, v), folded, atol=1e-12)


def test_paths_do_not_cross_the_outside(rng):
    x = walk(U_DOMAIN, np.array([2.9, 0.7]), [0.05, 0.5], paths=4000, step=0.01, rng=0)
    assert U_DOMAIN.contains(x).all()
    assert (x[0, :, 1] < 0.8).all()  # the other arm is 0.4 away, but 5 along paths inside


@pytest.mark.parametrize("domain", [U_DOMAIN, DISC, ANNULUS])
def test_the_uniform_law_stays(domain, rng):
    start = domain.random(rng, 20_000)
    end = walk(domain, start, [0.3], paths=20_000, step=0.02, rng=1)[0]
    functions = [np.concatenate((x, x * x, x[:, :1] * x[:, 1:], np.sin(5 * x)), axis=-1) for x in (start, end)]
    spread = np.sqrt(sum(f.var(axis=0) for f in functions) / 20_000)
    assert (np.abs(functions[0].mean(0) - functions[1].mean(0)) < 5 * spread).all()


def test_the_disc_has_neumann_eigenfunctions():
    """J_1(k r) cos(phi), k the first zero of J_1': its mean decays like exp(-k² t / 2)."""
    k = jnp_zeros(1, 1)[0]

    def mode(x):
        r = np.linalg.norm(x, axis=-1)
        return jv(1, k * r) * x[..., 0] / r

    start = np.array([0.8, 0.1])
    x = walk(DISC, start, [0.4], paths=20_000, step=0.002, rng=1)[0]
    assert_mean(mode(x), np.exp(-(k**2) * 0.4 / 2) * mode(start), bias=3e-3)
    assert jn_zeros(1, 1)[0] != k  # not the Dirichlet one


def test_the_square_has_neumann_eigenfunctions():
    start = np.array([0.1, 0.3])
    x = walk(SQUARE, start, [0.1], paths=20_000, step=0.05, rng=1)[0]
    assert_mean(np.cos(np.pi * x), np.exp(-(np.pi**2) * 0.05) * np.cos(np.pi * start))


def in_channel(x):
    """Signed, of a channel across the diagonal, 4 long and 0.5 wide."""
    along, across = (x[..., 0] + x[..., 1]) / np.sqrt(2), (x[..., 0] - x[..., 1]) / np.sqrt(2)
    return np.minimum(np.minimum(along, 4 - along), np.minimum(across + 0.25, 0.25 - across))


@pytest.mark.parametrize("inside", [in_channel, lambda x: in_channel(x) > 0], ids=["signed", "truth values"])
def test_a_channel_does_not_slow_paths_down(inside):
    """The first mode along it decays at its rate; were steps that lead out not taken, at one lower by a tenth."""
    channel = Domain(Euclidean(2), inside, ((-0.3, 3.2), (-0.3, 3.2)))
    start = np.array([0.5, 0.5]) / np.sqrt(2)

    def mode(x):
        return np.cos(np.pi / 4 * (x[..., 0] + x[..., 1]) / np.sqrt(2))

    x = walk(channel, start, [2.0], paths=20_000, step=0.004, rng=1)[0]
    assert channel.contains(x).all()
    assert_mean(mode(x), np.exp(-((np.pi / 4) ** 2)) * mode(start), bias=3e-3)


def test_half_a_sphere():
    assert CAP.volume == pytest.approx(2 * np.pi, rel=1e-2)
    exact = Domain(Sphere(2), lambda x: x[..., 2])
    start = np.array([0.6, 0, 0.8])
    for domain in (CAP, exact):
        x = walk(domain, start, [0.4], paths=10_000, step=0.01, rng=1)[0]
        assert (x[:, 2] > 0).all()
        assert_mean(x[:, :2], [np.exp(-0.4) * 0.6, 0], bias=5e-3)  # x and y are even in z


def test_a_patch_of_a_chart(rng):
    metric = Chart(lambda x: np.eye(2) + 0 * x[..., None], 2, bounds=((0, 1), (0, 1)))
    patch = Domain(metric, lambda x: x[..., 0] > -1)  # all of the patch: its own bounds reflect
    start = np.array([0.1, 0.3])
    x = walk(patch, start, [0.1], paths=5000, step=0.002, rng=1)[0]
    assert_mean(np.cos(np.pi * x), np.exp(-(np.pi**2) * 0.05) * np.cos(np.pi * start), bias=2e-3)


def test_volumes_and_widths():
    assert U_DOMAIN.volume == pytest.approx(3 * 2 - 2.2 * 0.4)
    assert ANNULUS.volume == pytest.approx(8)
    assert DISC.volume == pytest.approx(np.pi, rel=2e-3)
    assert 0.5 < U_DOMAIN.channel_width < 0.9
    assert 0.05 < Domain(Euclidean(2), ((0, 0), (6, 0), (6, 0.1), (0, 0.1))).channel_width < 0.12
    ball = Domain(Euclidean(3), lambda x: 1 - (x * x).sum(-1), ((-1, 1),) * 3)
    assert ball.volume == pytest.approx(4 * np.pi / 3, rel=2e-3)


def test_land_separates():
    x, y = np.array([2.0, 0.75]), np.array([2.0, 1.25])
    assert U_DOMAIN.separation(x, y) == np.inf
    assert U_DOMAIN.separation(x, x + np.array([0.1, -0.1])) == pytest.approx(0.02)
    with pytest.raises(Unsupported, match="reference"):
        U_DOMAIN.distance(x, y)


BOX = Domain(Euclidean(2), lambda x: x[..., 0] > -1, ((0, 1), (0, 1)))


def flat_metric(x):
    return np.broadcast_to(np.eye(2), (*x.shape[:-1], 2, 2))


def test_ways_over_the_seam():
    """Of a torus and of a periodic chart: open inside, closed where the outside lies between."""
    band = Domain(Torus(2), lambda x: np.abs(x[..., 0]) - 1)
    np.testing.assert_allclose(band.step(np.array([3.1, 0]), np.array([1.0, 0]), 0.01), [3.2 - 2 * np.pi, 0])
    x, y = np.array([3.1, 0]), np.array([-3.1, 0])
    assert band.separation(x, y) == pytest.approx((2 * np.pi - 6.2) ** 2)
    cylinder = Chart(flat_metric, 2, periodic=(2 * np.pi, None), bounds=(None, (0, 1)))
    wall = Domain(cylinder, lambda x: x[..., 0] > 0.4)
    assert wall.separation(np.array([6.2, 0.5]), np.array([0.45, 0.5])) == np.inf
    gap = Domain(cylinder, lambda x: (x[..., 0] < 2) & (x[..., 0] > 0.01))
    np.testing.assert_allclose(gap._mirror(np.array([[6.27, 0.5]])), [[0.033, 0.5]], atol=0.01)


def test_numbers_that_are_truth_values():
    disc = Domain(Euclidean(2), lambda x: ((x * x).sum(-1) < 1).astype(int), ((-1.5, 1.5),) * 2)
    np.testing.assert_allclose(disc._mirror(np.array([[1.03, 0.0]])), [[0.97, 0]], atol=0.01)
    small = Domain(Euclidean(2), lambda x: 1e-12 - (x * x).sum(-1), ((-1.5e-6, 1.5e-6),) * 2)
    np.testing.assert_allclose(small._mirror(np.array([[1.03e-6, 0.0]])), [[0.97e-6, 0]], rtol=0.01)


def test_a_domain_goes_through_pickle_after_use():
    assert DISC.step_limit > 0
    again = pickle.loads(pickle.dumps(DISC))
    assert again == DISC
    assert again.step_limit == DISC.step_limit


def test_small_shares_have_a_volume_and_an_error():
    for height in (0.9, 0.99):
        cap = Domain(Sphere(2), lambda x, height=height: x[..., 2] - height)
        assert abs(cap.volume / (2 * np.pi * (1 - height)) - 1) < 4 * cap.volume_error < 0.04


def test_contains_agrees_with_the_crossing_rule(rng):
    x = rng.uniform(-0.5, 3.5, (5000, 2))
    inside = (x > 0).all(-1) & (x < [3, 2]).all(-1) & ~((x[:, 0] > 0.8) & (np.abs(x[:, 1] - 1) < 0.2))
    np.testing.assert_array_equal(U_DOMAIN.contains(x), inside)
    hole = (x > 0).all(-1) & (x < 3).all(-1) & ~((x > 1) & (x < 2)).all(-1)
    np.testing.assert_array_equal(ANNULUS.contains(x), hole)


def test_jax_reflects_too(rng):
    import jax

    with jax.enable_x64(True):
        x, z = U_DOMAIN.random(rng, 50), rng.standard_normal((50, 2))
        step = jax.jit(lambda x, z: U_DOMAIN.step(x, z, 0.01))
        np.testing.assert_allclose(step(x, z), U_DOMAIN.step(x, z, 0.01), atol=1e-12)


def test_points_outside():
    with pytest.raises(
        OffManifold, match=r"X\[1\] is not on Domain\(Euclidean\(2\), <8 edges>\): the distance outside = 2"
    ):
        check_points(U_DOMAIN, np.array([[0.5, 0.5], [2.0, 1.0]]))
    with pytest.raises(OffManifold, match=r"is not on Domain.*in_cap"):
        check_points(CAP, np.array([0.0, 0, -1]))


def test_wrong_arguments():
    with pytest.raises(InvalidInput, match=r"vertices of shape \(k, 2\)"):
        Domain(Euclidean(2), [(0, 0), (1, 1)])
    with pytest.raises(InvalidInput, match="has no area"):
        Domain(Euclidean(2), [(0, 0), (1, 1), (2, 2)])
    with pytest.raises(InvalidInput, match="A polygon is a Domain of Euclidean"):
        Domain(SPHERE, U_SHAPE)
    with pytest.raises(InvalidInput, match="needs bounds"):
        Domain(Euclidean(3), lambda x: x[..., 0])
    with pytest.raises(InvalidInput, match="one truth value or number for each point"):
        Domain(Euclidean(2), lambda x: x, ((0, 1), (0, 1)))
    with pytest.raises(InvalidInput, match="over the last axes of x"):
        Domain(Euclidean(2), lambda x: x[:, 0] < x[:, 1], ((0, 1), (0, 1)))
    with pytest.raises(OffManifold, match="the distance outside = 4"):
        check_points(BOX, np.array([5.0, 0.5]))
    with pytest.raises(InvalidInput, match="Check the sign of"):
        Domain(Euclidean(2), lambda x: -1 - (x * x).sum(-1), ((0, 1), (0, 1))).random(np.random.default_rng(0), 5)


def test_value():
    assert repr(U_DOMAIN) == "Domain(Euclidean(2), <8 edges>)"
    assert hash(Domain(Euclidean(2), np.array(U_SHAPE))) == hash(U_DOMAIN)
    closed = Domain(Euclidean(2), (*U_SHAPE, U_SHAPE[0]))
    assert closed == U_DOMAIN


@pytest.mark.parametrize("manifold", [U_DOMAIN, DISC, CAP, ANNULUS], ids=repr)
def test_properties(manifold):
    assert check_manifold(manifold) == []


@pytest.mark.parametrize("share", [1.0, 0.2])
def test_domains_of_curved_manifolds_use_quasi_random_numbers(share):
    """The height is uniform on a cap of the sphere (Archimedes). Errors of its mean are half of random ones at most.

    Errors of random points would pass with a probability of 0.4 %: chi-square of 12 is below 3.
    """
    low, number = 1 - 2 * share, 5000
    cap = Domain(Sphere(2), lambda x: x[..., 2] >= low)
    assert cap.draws_evenly
    errors = [cap.random(Quasi(np.random.default_rng(seed)), number)[:, 2].mean() - (1 + low) / 2 for seed in range(12)]
    assert np.sqrt(np.mean(np.square(errors))) < 0.5 * (1 - low) / np.sqrt(12 * number)
    random = cap.random(np.random.default_rng(0), number)
    assert cap.contains(random).all()
    assert_mean(random[:, 2], (1 + low) / 2)
