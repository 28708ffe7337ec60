"""Kernels through reference points: features, errors, files, what is too coarse."""

import copy
import pickle
import warnings

import numpy as np
import pytest

import heat_solutions
from heat_solutions import SMALL, assert_within_error, reference_kernel
from heatgp import (
    Domain,
    Euclidean,
    GPRegressor,
    Implicit,
    Manifold,
    Scaled,
    Sphere,
    Torus,
    heat_kernel,
    load_kernel,
)
from heatgp.errors import AccuracyWarning, InvalidInput, Unsupported
from heatgp.heat.reference.build import _last_steps as last_steps
from heatgp.heat.reference.build import _plan as plan_of
from heatgp.heat.reference.cells import make_cells
from heatgp.heat.reference.quasi import Quasi
from own_manifolds import (
    SPHERE,
    SPHERE_CHART,
    TORUS,
    TORUS_CHART,
    U_DOMAIN,
    sphere_points,
)

HELPER = heat_solutions.__file__
"""Where the tests' own `reference_kernel` calls the library."""


@pytest.fixture(scope="module")
def sphere():
    return reference_kernel(Sphere(2), **SMALL)


@pytest.fixture(scope="module")
def points():
    return Sphere(2).random(np.random.default_rng(5), 60)


def exact(x, time):
    return heat_kernel(Sphere(2), "exact")(x, time=time)


@pytest.mark.parametrize("time", [0.35, 0.5, 1.3, 4.0, 9.0, 40.0])
def test_sphere(sphere, points, time):
    assert_within_error(sphere, points, exact(points, time), time)


class Angles(Manifold):
    """A flat torus in its angles: close points on both sides of the seam have coordinates that are far apart."""

    shape, dim, volume = (2,), 2, 4 * np.pi**2

    def noise(self, x, z):
        return z + 0 * x

    def exp(self, x, v):
        return np.remainder(x + v, 2 * np.pi)

    def random(self, rng, n):
        return rng.uniform(0, 2 * np.pi, (n, 2))

    def defect(self, x):
        return 0 * x[..., 0]

    def distance(self, x, y):
        return np.linalg.norm(np.remainder(y - x + np.pi, 2 * np.pi) - np.pi, axis=-1)


def test_coordinates_may_have_a_seam():
    kernel, time = reference_kernel(Angles(), **SMALL), 2.0
    x = np.array([[0.05, 1.0], [6.2, 1.1], [0.1, 6.25], [3.0, 3.0]])
    assert_within_error(kernel, x, heat_kernel(Torus(2))(x, time=time), time)


def test_gram_matrices_are_positive_definite(sphere, points):
    for time in (0.35, 1.0, 20.0):
        values = np.linalg.eigvalsh(sphere(points, time=time))
        assert values[0] > -1e-10 * values[-1]


def test_features(sphere, points):
    phi = sphere.features(points).at(0.7).value
    np.testing.assert_allclose(phi @ phi.T, sphere(points, time=0.7), rtol=1e-12)
    np.testing.assert_allclose(sphere.diag(points, 0.7), (phi**2).sum(1), rtol=1e-12)
    np.testing.assert_allclose(sphere(points, points[:3], time=0.7), phi @ phi[:3].T, rtol=1e-12)


@pytest.mark.parametrize("time", [0.4, 1.0, 12.0])
def test_slopes_are_derivatives_in_log_time(sphere, points, time):
    pairs = sphere.pairs(points, points[:5])
    slope = pairs.at(time).slopes
    difference = (pairs.at(time * np.exp(1e-4)).value - pairs.at(time * np.exp(-1e-4)).value) / 2e-4
    np.testing.assert_allclose(slope[0], difference, atol=1e-6 * np.abs(slope).max())
    features = sphere.features(points)
    rows = (features.at(time * np.exp(1e-4)).value - features.at(time * np.exp(-1e-4)).value) / 2e-4
    np.testing.assert_allclose(features.at(time).slopes[0], rows, atol=1e-6 * np.abs(rows).max())


def test_every_density_integrates_to_one(sphere, points):
    """Over the reference points exactly, at the times of the table; over uniform points within their noise."""
    phi = sphere.features(points).at(float(sphere.grid[2])).value
    np.testing.assert_allclose(phi @ np.sqrt(sphere.weights), 1, rtol=1e-5)
    many = Sphere(2).random(np.random.default_rng(1), 20_000)
    mean = sphere.features(many).at(0.5).value.mean(axis=0) * 4 * np.pi / np.sqrt(sphere.weights)
    assert np.abs(mean - 1).max() < 0.06


def test_more_paths_err_less(points, sphere):
    truth = exact(points, 0.5)

    def error(kernel):
        return np.abs(kernel(points, time=0.5) - truth).mean()

    few = reference_kernel(Sphere(2), references=120, paths=1200, rng=0)
    assert error(sphere) < error(few) / 2
    (source,) = sphere.replicates(4)
    parts = source.kernels
    assert (len(parts), source.fraction) == (4, 0.25)
    assert error(sphere) < np.mean([error(part) for part in parts])
    (three,) = sphere.replicates(3)  # four groups of paths make two equal parts, not three
    assert (len(three.kernels), three.fraction) == (2, 0.5)


def test_hard_balls(points):
    """Averages over a ball of radius 0.3 flatten the kernel's peak by about 2 (r²/4) 2/t of it."""
    kernel = reference_kernel(Sphere(2), ball=True, epsilon=0.3, **SMALL, times=(0.5, 1.0))
    truth = exact(points, 1.0)
    assert np.abs(kernel(points, time=1.0) - truth).max() < 0.12 * truth.max()
    with pytest.raises(InvalidInput, match="ball=True needs epsilon"):
        reference_kernel(Sphere(2), ball=True, **SMALL)


def test_the_seed_decides(points):
    kernels = [
        reference_kernel(Sphere(2), references=20, paths=2000, rng=3, n_jobs=n)(points, time=2.0) for n in (1, 2)
    ]
    np.testing.assert_array_equal(*kernels)


def test_averages_are_heat_flow():
    """The coordinates of the sphere are eigenfunctions: an average multiplies them by exp(-time)."""
    for manifold, place in ((SPHERE, lambda x: x), (SPHERE_CHART, sphere_points)):
        cells = make_cells(manifold, 600, 100, np.random.default_rng(0))[0]
        x = place(cells.nodes)
        y = x
        for _ in range(8):
            y = cells.average @ y
        rate = -np.log(np.average((x * y).sum(-1), weights=cells.volumes)) / (8 * cells.time)
        assert rate == pytest.approx(1, abs=0.01)
        np.testing.assert_allclose(cells.average @ np.ones(600), 1, rtol=1e-10)
        np.testing.assert_allclose(cells.volumes @ cells.average, cells.volumes, rtol=1e-8)
        assert cells.volumes.sum() == pytest.approx(4 * np.pi, rel=5e-3)


def test_the_covariance_follows_the_water():
    kernel = reference_kernel(U_DOMAIN, **SMALL)
    by_water, by_land = kernel([[2.5, 0.5]], [[1.2, 0.5], [2.5, 1.5]], time=0.6)[0]
    assert by_water > 100 * abs(by_land)  # 1.3 and 1.0 away as the crow flies


@pytest.mark.slow
@pytest.mark.parametrize("manifold, place", [(SPHERE, lambda x: x), (SPHERE_CHART, sphere_points)])
def test_sphere_as_an_equation_and_as_a_chart(manifold, place):
    kernel = reference_kernel(manifold, references=400, paths=400_000, rng=0)
    x = manifold.random(np.random.default_rng(5), 300)
    truth = exact(place(x), 0.2)
    value = kernel(x, time=0.2)
    assert np.abs(value - truth).max() < 0.04 * truth.max()
    values = np.linalg.eigvalsh(value)
    assert values[0] > -1e-10 * values[-1]
    z = place(x)
    f = np.sin(2 * z[:, 0]) + z[:, 1] * z[:, 2] + 0.5 * z[:, 2]
    y = f[:100] + np.random.default_rng(6).normal(0, 0.1, 100)
    own = GPRegressor(manifold, kernel=kernel).fit(x[:100], y).predict(x[100:])
    assert np.abs(own - GPRegressor(Sphere(2)).fit(z[:100], y).predict(z[100:])).max() < 0.02 * np.ptp(f)


def test_what_is_too_coarse_is_said():
    with pytest.warns(
        AccuracyWarning, match=r"20 reference points on Sphere\(2\) resolve times down to .* references="
    ):
        reference_kernel(Sphere(2), references=20, paths=400, times=(0.6, 2.0), rng=0)
    with pytest.warns(AccuracyWarning, match=r"step = 0.2 is long for Domain.* Take step="):
        reference_kernel(U_DOMAIN, references=100, paths=400, step=0.2, rng=0)
    narrow = Domain(Euclidean(2), ((0, 0), (6, 0), (6, 0.1), (0, 0.1)))
    with pytest.warns(AccuracyWarning, match=r"The channels of .* are hardly wider than the cells .* references="):
        reference_kernel(narrow, references=20, paths=400, rng=0)
    wall = Domain(Euclidean(2), lambda x: (np.abs(x[..., 1] - 0.5) > 0.004) | (x[..., 0] > 0.8), ((0, 1), (0, 1)))
    with pytest.warns(
        AccuracyWarning, match=r"The gap between parts of .*, over which .* averages reach.* references="
    ):
        reference_kernel(wall, references=60, paths=240, rng=0)


class OwnSphere(Manifold):
    """A user's class: what its `random` asks of the generator is its own affair."""

    dim, shape, volume = 2, (3,), 4 * np.pi
    noise, exp, defect, distance, embed = (
        (lambda self, *args, name=name: getattr(Sphere(2), name)(*args))
        for name in ("noise", "exp", "defect", "distance", "embed")
    )

    def random(self, rng, n):
        height, angle = 2 * rng.uniform(size=n) - 1, 2 * np.pi * rng.uniform(size=n)
        ring = np.sqrt(1 - height**2)
        return np.stack((ring * np.cos(angle), ring * np.sin(angle), height), axis=-1)


def test_a_class_of_the_user_s(points):
    kernel = reference_kernel(OwnSphere(), **SMALL)
    assert np.abs(kernel(points, time=1.0) - exact(points, 1.0)).max() < 0.05 * exact(points, 1.0).max()


class SixMembers(Manifold):
    """A sphere that knows no more than is required: no distance, no volume."""

    dim, shape = 2, (3,)
    noise, exp, defect, random = (
        (lambda self, *args, name=name: getattr(Sphere(2), name)(*args))
        for name in ("noise", "exp", "defect", "random")
    )


@pytest.mark.slow
def test_six_members_are_enough(points):
    with pytest.warns(
        AccuracyWarning, match=r"does not know its volume: 12\.\d+ is estimated.*Define.*`volume`"
    ) as caught:
        kernel = reference_kernel(SixMembers(), **SMALL)
    assert {warning.filename for warning in caught} == {HELPER}
    assert kernel.cells.volume == pytest.approx(4 * np.pi, rel=4 * kernel.cells.volume_error)
    assert kernel.cells.volume_error < 0.01
    assert_within_error(kernel, points, exact(points, 1.0), 1.0)


@pytest.mark.parametrize(("dim", "references"), [(2, 60), (3, 60), (4, 80), (5, 100), (6, 120)])
def test_walks_end_later_for_later_times(dim, references):
    """The averages of the last step are whole numbers: rounding them must not let an end come before another."""
    cells, coarse = make_cells(Sphere(dim), 5 * references, references, np.random.default_rng(0))
    for ratio in (1.15, 1.5, 4.0):
        low = 3 * coarse.spacing**2
        halves = np.geomspace(low, max(2.0, ratio) * low, 8 if ratio < 1.5 else 4) / 2
        averages, ends = last_steps(cells, halves, None, False)
        assert (averages >= 1).all()
        assert (np.diff(ends, prepend=0.0) > 0).all()
        np.testing.assert_allclose(ends + cells.width + averages * cells.time, halves)
        assert min(plan_of(cells, ends, None).counts) >= 1


def test_copies_of_quasi_random_numbers():
    quasi = Quasi(np.random.default_rng(0))
    for twin in (copy.copy(quasi), copy.deepcopy(quasi), pickle.loads(pickle.dumps(quasi))):
        assert twin.random((4, 2)).shape == (4, 2)
        assert twin.integers(0, 3) in (0, 1, 2)


def test_scaled(points):
    kernel = reference_kernel(Scaled(SPHERE, 0.1), **SMALL)
    assert np.abs(kernel(points, time=0.01) * 0.01 - exact(points, 1.0)).max() < 0.05 * exact(points, 1.0).max()


def test_every_point_has_a_density():
    """Also one that no node can be seen from: in the tip of a narrow bay."""
    bay = Domain(Euclidean(2), ((0, 0), (1, 0), (1, 1), (0.02, 1), (0.02, 1.5), (0, 1.5)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        kernel = reference_kernel(bay, references=60, paths=2400, rng=0)
    assert np.isfinite(kernel([[0.01, 1.49], [0.5, 0.5]], time=1.0)).all()


def test_one_part_of_the_paths_has_no_error(sphere, points):
    with pytest.raises(Unsupported, match=r"replicates\(2\)"):
        sphere.replicates(4)[0].kernels[0].standard_error(points, time=1.0)
    assert sphere.replicates(2)[0].kernels[0].standard_error(points, time=1.0).min() > 0


def test_wrong_arguments(sphere):
    with pytest.raises(InvalidInput, match=r"time = 0.001 is beyond the times of .* 0.314 to inf"):
        sphere([[1.0, 0, 0]], time=0.001)
    with pytest.raises(InvalidInput, match=r"paths >= 4 \* references"):
        reference_kernel(Sphere(2), references=100, paths=100)
    with pytest.raises(Unsupported, match=r"not compact.*Domain"):
        reference_kernel(Euclidean(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        with pytest.raises(InvalidInput, match="too short for the 100 cells"):
            reference_kernel(Sphere(2), references=20, paths=400, times=(0.01, 1.0))


@pytest.mark.parametrize("manifold", [Sphere(2), TORUS, TORUS_CHART, U_DOMAIN], ids=repr)
def test_kernels_come_back_from_files(manifold, tmp_path):
    kernel = reference_kernel(manifold, references=60, paths=1200, rng=0)
    kernel.save(tmp_path / "kernel.npz")
    again = load_kernel(tmp_path / "kernel.npz", manifold=manifold)
    x, time = manifold.random(np.random.default_rng(1), 9), 2 * float(kernel.grid[-1])
    np.testing.assert_array_equal(again(x, time=time), kernel(x, time=time))
    np.testing.assert_array_equal(again.standard_error(x, time=1.5), kernel.standard_error(x, time=1.5))
    assert repr(again) == repr(kernel)


def test_files_do_not_hold_functions(tmp_path):
    path = tmp_path / "kernel.npz"
    reference_kernel(TORUS, references=60, paths=600, rng=0).save(path)
    with pytest.raises(InvalidInput, match=r"of Implicit\(torus_equation, 2, 3\), whose functions .* Pass manifold="):
        load_kernel(path)
    with pytest.raises(InvalidInput, match=r"of Implicit\(torus_equation, 2, 3\); the manifold given is Sphere\(2\)"):
        load_kernel(path, manifold=Sphere(2))
    thin = Implicit(torus_equation_of(0.3), 2, 3)
    with pytest.raises(InvalidInput, match=r"is of another Implicit\(torus_equation, 2, 3\)"):
        load_kernel(path, manifold=thin)
    reference_kernel(Sphere(2), references=20, paths=200, rng=0).save(path)
    assert load_kernel(path).manifold == Sphere(2)
    with pytest.raises(InvalidInput, match=r"holds a kernel of Sphere\(2\); the manifold given is Implicit"):
        load_kernel(path, manifold=TORUS)


def torus_equation_of(tube):
    def torus_equation(x):
        return np.hypot(np.hypot(x[..., 0], x[..., 1]) - 1, x[..., 2]) - tube

    return torus_equation
