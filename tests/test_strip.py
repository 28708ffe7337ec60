"""The strip algorithm against exact kernels, within its stated errors, and its words where it counted too little."""

import math
import pickle
import warnings

import numpy as np
import pytest

from heatgp import (
    ComplexProjective,
    Euclidean,
    Grassmann,
    Orthogonal,
    RealProjective,
    SpecialOrthogonal,
    SpecialUnitary,
    Sphere,
    Stiefel,
    Torus,
    TorusKnot,
    Unitary,
)
from heatgp.errors import AccuracyWarning, InvalidInput, Unsupported
from heatgp.heat.counting.coordinates import Coordinates
from heatgp.heat.counting.counted import ENOUGH
from heatgp.heat.counting.strip import strip_profile, strip_volumes
from heatgp.heat.exact.families import (
    complex_grassmannian,
    complex_projective,
    real_projective,
    special_orthogonal,
    sphere,
)
from heatgp.heat.exact.flat import EuclideanProfile, TorusProfile
from heatgp.paths.samples import orbit_samples

TIMES = [0.08, 0.12, 0.2, 0.3]
EXACT = [
    (Euclidean(1), EuclideanProfile(1)),
    (Euclidean(2), EuclideanProfile(2)),
    (Euclidean(3), EuclideanProfile(3)),
    (Sphere(1), sphere(1)),
    (Sphere(2), sphere(2)),
    (Sphere(5), sphere(5)),
    (RealProjective(3), real_projective(3)),
    (ComplexProjective(2), complex_projective(2)),
    (SpecialOrthogonal(3), special_orthogonal(3)),
    (SpecialUnitary(2), sphere(3)),
    (TorusKnot(2, 3), sphere(1)),
    (Torus(2), TorusProfile(2)),
    (SpecialOrthogonal(4), special_orthogonal(4)),
    (Grassmann(4, 2, "complex"), complex_grassmannian(4, 2)),
]


def quiet_profile(samples, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        return strip_profile(samples, **options)


def exact_theta(manifold, theta):
    return manifold.length(theta)[..., None] if manifold.rank == 1 else theta


@pytest.mark.parametrize("epsilon", [None, 0.1])
@pytest.mark.parametrize("manifold, exact", EXACT, ids=lambda value: repr(value)[:24])
def test_within_the_stated_error_of_the_exact_kernel(manifold, exact, epsilon):
    samples = orbit_samples(manifold, TIMES, paths=10_000, step=0.01, rng=2, cache=False)
    profile = quiet_profile(samples, epsilon=epsilon)
    for time in (profile.tables[0].time, 0.1, 0.25, 0.3):
        theta = samples.theta[2, :300]  # where the paths are, and beyond at the shorter times
        kernel = profile.at(time)
        expected = exact.at(time)(exact_theta(manifold, theta))
        error = (kernel(theta) - expected) / kernel.error(theta)
        assert np.sqrt(np.mean(error**2)) < 1.8  # neighbours share paths: the mean square itself is noisy
        assert abs(error).max() < 5
        if manifold.rank == 1:  # and the error is worth stating
            assert np.median(kernel.error(theta) / expected) < 0.2


@pytest.mark.parametrize("manifold, exact", [EXACT[4], EXACT[12]], ids=repr)
def test_the_error_shrinks_with_the_paths(manifold, exact):
    theta = orbit_samples(manifold, [0.2], paths=300, step=0.02, rng=9, cache=False).theta[0]
    errors = []
    for paths in (1000, 30_000):
        profile = quiet_profile(orbit_samples(manifold, [0.2], paths=paths, step=0.01, rng=3, cache=False))
        kernel = profile.at(0.2)
        expected = exact.at(0.2)(theta)
        errors.append(np.sqrt(np.mean((kernel(theta) / expected - 1) ** 2)))
    assert errors[1] < 0.6 * errors[0]


@pytest.mark.parametrize("manifold", [m for m, _ in EXACT if math.isfinite(m.volume)] + [Unitary(2)], ids=repr)
def test_strips_that_cover_the_chamber_have_its_volume(manifold):
    """Disjoint strips add up; the ones at the ends are cut there."""
    coordinates = Coordinates(manifold)
    lower, upper = coordinates.bounds
    half = float((upper - lower)[0]) / 8
    axes = [np.linspace(a, b, 5)[:-1] + half for a, b in zip(lower, upper)]
    nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    volumes, _ = strip_volumes(coordinates, nodes, np.full(len(nodes), half), 1.0)
    assert volumes.sum() == pytest.approx(manifold.volume, rel=1e-3)
    if not coordinates.circular:
        corner, _ = strip_volumes(coordinates, lower[None], np.array([2 * half]), 1.0)
        first, _ = strip_volumes(coordinates, lower[None] + half, np.array([half]), 1.0)
        assert corner == pytest.approx(first, rel=1e-9)


def test_end_strips_of_the_sphere_are_caps():
    """Area of a cap of S^2: 2 pi (1 - cos r); at d0 < epsilon the strip is the ball of radius d0 + epsilon."""
    nodes = np.array([[0.0], [0.1], [0.3], [math.pi - 0.05], [math.pi]])
    volumes, _ = strip_volumes(Coordinates(Sphere(2)), nodes, np.full(5, 0.2), 1.0)
    cap = [2 * math.pi * (1 - math.cos(r)) for r in (0.2, 0.3, 0.5, 0.1, 0.25)]
    assert volumes == pytest.approx([cap[0], cap[1], cap[2] - cap[3], cap[4], cap[0]])


def test_slope_is_the_derivative_and_tables_are_met():
    profile = quiet_profile(orbit_samples(Sphere(2), TIMES, paths=5000, step=0.01, rng=2, cache=False))
    theta = np.linspace(0, 2.5, 40)[:, None]
    for time in (0.1, 0.15, 0.29):
        h = 1e-6
        difference = (profile.at(time + h)(theta) - profile.at(time - h)(theta)) / (2 * h)
        np.testing.assert_allclose(profile.at(time).slope(theta), difference, rtol=1e-5, atol=1e-6)
    for table in profile.tables:
        np.testing.assert_allclose(
            profile.at(table.time)(table.axes[0][:, None]),
            np.interp(table.axes[0], profile.axes[0], np.interp(profile.axes[0], table.axes[0], table.p)),
            rtol=1e-9,
        )
    around = [profile.at(profile.tables[1].time * (1 + s))(theta) for s in (-1e-9, 1e-9)]
    np.testing.assert_allclose(*around, rtol=1e-6, atol=1e-12)


def test_a_given_width_that_counts_nothing_says_so():
    samples = orbit_samples(Sphere(9), [0.1, 0.2], paths=5000, step=0.02, rng=0, cache=False)
    message = r"strips on Sphere\(9\) count too few of 5000 paths at 2 of 2 times.*distances 0 to .*method='exact'"
    with pytest.warns(AccuracyWarning, match=message):
        profile = strip_profile(samples, epsilon=0.05)
    kernel, zero = profile.at(0.15), np.zeros((1, 1))
    assert kernel(zero) == 0
    assert kernel.error(zero) > sphere(9).at(0.15)(zero)  # an empty strip does not claim to know
    assert abs(kernel([[0.9]]) - sphere(9).at(0.15)([[0.9]])) < 4 * kernel.error([[0.9]])


def test_a_chosen_width_counts_enough_everywhere():
    samples = orbit_samples(Sphere(9), [0.1], paths=5000, step=0.02, rng=0, cache=False)
    table = quiet_profile(samples).tables[0]
    assert table.count.min() >= ENOUGH
    error = (table.p[0] - sphere(9).at(table.time)(np.zeros(1))) / table.error[0]
    assert abs(error) < 4


def test_no_warning_where_counts_are_plenty():
    samples = orbit_samples(Euclidean(1), [0.1, 0.2], paths=20_000, step=0.1, rng=0, cache=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        strip_profile(samples)


def test_distance_strip_is_the_average_over_the_distance():
    """On SO(4) the kernel depends on two angles; the mean of the exact kernel over uniform points at a distance."""
    manifold = SpecialOrthogonal(4)
    samples = orbit_samples(manifold, [0.3], paths=20_000, step=0.02, rng=5, cache=False)
    profile = quiet_profile(samples, distance=True)
    assert "average over distance strips" in repr(profile)
    theta = manifold.orbit(manifold.origin, manifold.random(np.random.default_rng(0), 100_000))
    lengths, exact = manifold.length(theta), special_orthogonal(4).at(profile.tables[0].time)(theta)
    kernel = profile.at(profile.tables[0].time)
    for distance in (0.8, 1.2, 2.0):
        near = abs(lengths - distance) < 0.03
        expected, noise = exact[near].mean(), exact[near].std() / math.sqrt(near.sum())
        at = np.array([[distance, 0.0]])
        assert abs(kernel(at)[0] - expected) < 4 * math.hypot(noise, kernel.error(at)[0]) + 0.005 * expected


@pytest.mark.parametrize("manifold", [Torus(3), SpecialOrthogonal(5), Unitary(2), SpecialUnitary(3)], ids=repr)
def test_distance_spheres_have_the_area_of_small_balls_and_of_all(manifold):
    """Volume of a ball: flat volume times 1 - scal r²/(6(m + 2)); of the largest, that of the manifold."""
    coordinates, m, r = Coordinates(manifold, by_distance=True), manifold.dim, 0.2
    ball, _ = strip_volumes(coordinates, np.zeros((1, 1)), np.array([r]), 1.0)
    flat = math.pi ** (m / 2) / math.gamma(m / 2 + 1) * r**m
    assert ball[0] / flat == pytest.approx(1 - manifold.scalar_curvature * r**2 / (6 * (m + 2)), rel=3e-3)
    ends = np.linspace(0, coordinates.bounds[1][0], 41)
    volumes, _ = strip_volumes(coordinates, (ends[1:, None] + ends[:-1, None]) / 2, np.diff(ends) / 2, 1.0)
    assert volumes.sum() == pytest.approx(manifold.volume, rel=1e-2)


def test_the_other_component_is_out_of_reach():
    profile = quiet_profile(orbit_samples(Orthogonal(3), [0.1], paths=1000, step=0.05, rng=0, cache=False))
    kernel, theta = profile.at(0.1), np.array([[math.inf], [0.3]])
    assert kernel(theta)[0] == kernel.error(theta)[0] == kernel.slope(theta)[0] == 0
    assert kernel(theta)[1] > 0


def test_bad_input_is_named():
    samples = orbit_samples(Sphere(2), [0.1, 0.2], paths=200, step=0.1, rng=0, cache=False)
    for epsilon in (0, -1.0, math.nan, "wide"):
        with pytest.raises(InvalidInput, match="epsilon must be a positive number, or None"):
            strip_profile(samples, epsilon=epsilon)
    with pytest.raises(InvalidInput, match=r"epsilon = 1e-05 makes a table of .* Use at least 0.0"):
        strip_profile(samples, epsilon=1e-5)
    profile = quiet_profile(samples)
    for time in (0, -0.1, math.nan, "soon"):
        with pytest.raises(InvalidInput, match="time must be a positive number; got"):
            profile.at(time)
    with pytest.raises(InvalidInput, match=r"time = 0.05 is outside the simulated times, 0.1 to 0.2.* enclose it"):
        profile.at(0.05)
    with pytest.raises(InvalidInput, match=r"time = 0\.5 is outside"):
        profile.at(0.5)
    with pytest.raises(InvalidInput, match="paths = 50 say nothing when counted; use at least 100"):
        strip_profile(orbit_samples(Sphere(2), [0.1], paths=50, step=0.1, rng=0, cache=False))
    with pytest.raises(Unsupported, match=r"rank 4.*distance=True"):
        strip_profile(orbit_samples(SpecialOrthogonal(8), [0.1], paths=100, step=0.1, rng=0, cache=False))
    with pytest.raises(Unsupported, match=r"Stiefel\(5, 2\): strips need the distance"):
        strip_profile(orbit_samples(Stiefel(5, 2), [0.1], paths=100, step=0.1, rng=0, cache=False))


def test_a_profile_travels_to_other_processes():
    profile = quiet_profile(orbit_samples(Sphere(2), [0.1, 0.2], paths=500, step=0.05, rng=0, cache=False))
    theta = np.linspace(0, 2, 5)[:, None]
    expected = profile.at(0.15)(theta)
    assert np.array_equal(pickle.loads(pickle.dumps(profile)).at(0.15)(theta), expected)
