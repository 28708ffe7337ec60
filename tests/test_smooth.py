"""The smooth estimate against exact kernels, and its parts against laws that they do not use."""

import numpy as np
import pytest

from catalog import HOMOGENEOUS
from heatgp import (
    ComplexProjective,
    Grassmann,
    Orthogonal,
    RealProjective,
    SpecialOrthogonal,
    SpecialUnitary,
    Sphere,
    Stiefel,
    Torus,
    Unitary,
    heat_kernel,
)
from heatgp.errors import AccuracyWarning, InvalidInput, Unsupported
from heatgp.heat.methods import Exact
from heatgp.heat.smooth.expansion import Expansion
from heatgp.heat.smooth.fit import default_design, smooth_profile
from heatgp.heat.special.spherical import chamber_nodes, heat_modes
from heatgp.heat.special.spline import SymmetricGrid
from heatgp.manifolds.contract import Symmetric
from heatgp.paths.samples import orbit_samples

TIMES = (0.05, 0.1, 0.2, 0.3)
ONE_PERCENT = [Sphere(d) for d in range(1, 6)]
ONE_PERCENT += [RealProjective(3), ComplexProjective(1), ComplexProjective(2), SpecialOrthogonal(3), SpecialUnitary(2)]
TWO_PERCENT = [Sphere(9), ComplexProjective(4), SpecialOrthogonal(4), SpecialOrthogonal(5), Unitary(2)]
TWO_PERCENT += [Grassmann(4, 2, "complex")]
FAST = [
    Torus(2),
    Sphere(1),
    Sphere(2),
    Sphere(5),
    Sphere(9),
    RealProjective(3),
    ComplexProjective(2),
    SpecialOrthogonal(3),
]


def estimate(manifold, paths=20_000, rng=0, time=0.3):
    times, step = default_design(manifold, time)
    return smooth_profile(orbit_samples(manifold, times, paths=paths, step=step, rng=rng, cache=False))


def chamber_points(manifold, number=200):
    """Points spread over the chamber, denser near the origin, which comes first."""
    rng = np.random.default_rng(0)
    low, high = manifold.chamber[0]
    theta = rng.uniform(low, high, (number, len(manifold.chamber))) * rng.uniform(0, 1, (number, 1))
    theta[0] = 0
    if manifold.rank < theta.shape[1]:  # eigenangles of SU(n)
        theta[:, -1] = -theta[:, :-1].sum(axis=1)
        theta = np.remainder(theta + np.pi, 2 * np.pi) - np.pi
    return theta


def exact(manifold, theta, time):
    return Exact().kernel(manifold).profile.at(time)(theta)


def series(manifold, theta, time):
    """The sum of the spherical functions, where nobody has a closed form: good to 1e-5 of p_t(x, x)."""
    modes = heat_modes(manifold, time)
    weights = modes(np.zeros((1, theta.shape[1])))[0] * np.exp(-modes.eigenvalue * time / 2)
    return modes(theta) @ weights / manifold.volume


def largest_error(profile, reference, times=TIMES):
    """The largest error in units of p_t(x, x), and in standard errors (rounding of 1e-8 aside)."""
    theta = chamber_points(profile.manifold)
    parts, deviations = [], []
    for time in times:
        truth, at = reference(profile.manifold, theta, time), profile.at(time)
        parts.append(np.abs(at(theta) - truth) / truth[0])
        deviations.append(np.abs(at(theta) - truth) / (at.error(theta) + 1e-8 * truth[0]))
    return np.max(parts), np.max(deviations)


@pytest.mark.parametrize("manifold", FAST, ids=repr)
def test_smooth_is_the_exact_kernel_within_a_percent(manifold):
    part, deviation = largest_error(estimate(manifold), exact, (0.001, *TIMES, 1.0, 10.0))
    assert part < 0.01
    assert deviation < 4


def test_smooth_at_rank_two():
    part, deviation = largest_error(estimate(SpecialOrthogonal(4), paths=4000), exact)
    assert part < 0.01
    assert deviation < 4


def two_spheres(manifold, theta, time):
    """Gr(4, 2): the oriented planes are two spheres of radius 1/√2, with angles theta_1 ± theta_2; reversal is -1."""
    total, difference = theta.sum(axis=1, keepdims=True), np.abs(theta[:, :1] - theta[:, 1:])
    at = Exact().kernel(Sphere(2)).profile.at(2 * time)
    return 4 * (at(total) * at(difference) + at(np.pi - total) * at(np.pi - difference))


def test_smooth_on_planes_in_four_dimensions():
    part, deviation = largest_error(estimate(Grassmann(4, 2), paths=4000), two_spheres, (0.001, *TIMES, 1.0))
    assert part < 0.01
    assert deviation < 4


@pytest.mark.parametrize("manifold", [Grassmann(5, 2), Grassmann(6, 3)], ids=repr)
def test_mean_projector_where_no_formula_is_known(manifold):
    """tr(P_x P_y) - k²/n, the sum of cos² theta less its mean, decays like exp(-n t)."""
    n, k, profile = manifold.n, manifold.k, estimate(manifold, 500)
    theta, volume = chamber_nodes(manifold, np.pi / 2)
    for time in (0.05, 0.1, 0.3):
        mean = (np.sum(np.cos(theta) ** 2, axis=1) * volume) @ profile.at(time)(theta)
        assert mean == pytest.approx(k * k / n + (k - k * k / n) * np.exp(-n * time), abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("manifold", ONE_PERCENT + TWO_PERCENT, ids=repr)
def test_smooth_on_the_whole_list(manifold):
    part, deviation = largest_error(estimate(manifold), exact, np.linspace(0.05, 0.3, 11))
    assert part < (0.01 if manifold in ONE_PERCENT else 0.02)
    assert deviation < 4


@pytest.mark.slow
@pytest.mark.parametrize("manifold", [Grassmann(5, 2), Grassmann(6, 2), Grassmann(6, 3)], ids=repr)
def test_smooth_on_real_grassmannians(manifold):
    part, _ = largest_error(estimate(manifold), series, (0.1, 0.2, 0.3))
    assert part < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("manifold", [SpecialUnitary(3), Unitary(3), SpecialOrthogonal(7)], ids=repr)
def test_smooth_on_further_groups(manifold):
    part, deviation = largest_error(estimate(manifold), exact, (0.01, *TIMES, 1.0))
    assert part < 0.01
    assert deviation < 4


@pytest.mark.slow
@pytest.mark.parametrize(
    "manifold, paths",
    [
        (Sphere(2), 20_000),
        (Sphere(9), 20_000),
        (ComplexProjective(2), 20_000),
        (SpecialOrthogonal(3), 5000),
        (SpecialOrthogonal(4), 2000),
    ],
    ids=repr,
)
def test_two_standard_errors_cover_at_least_ninety_of_a_hundred(manifold, paths):
    theta = chamber_points(manifold, 50)
    covered = np.zeros((len(TIMES), len(theta)))
    for seed in range(100):
        profile = estimate(manifold, paths, seed)
        for k, time in enumerate(TIMES):
            truth, at = exact(manifold, theta, time), profile.at(time)
            covered[k] += np.abs(at(theta) - truth) <= 2 * at.error(theta) + 1e-12 * truth[0]
    assert covered.min() >= 90


def test_coarse_steps_are_covered_by_the_error():
    manifold = Sphere(9)
    samples = orbit_samples(manifold, [0.1, 0.2, 0.3], paths=20_000, step=0.03, rng=0, cache=False)
    _, deviation = largest_error(smooth_profile(samples), exact)
    assert deviation < 4


@pytest.mark.parametrize("manifold", [Sphere(4), RealProjective(2), ComplexProjective(4), SpecialUnitary(2)], ids=repr)
def test_mass_is_one_at_all_times(manifold):
    profile = estimate(manifold, 2000)
    horizon = profile.expansion.horizon
    theta, volume = chamber_nodes(manifold, manifold.roots.half_period)
    for time in horizon * np.array([0.2, 0.5, 1, 1.5, 5]):
        assert profile.at(time)(theta) @ volume == pytest.approx(1, abs=1e-3)


def test_long_times_are_uniform_and_say_so():
    profile = estimate(ComplexProjective(2), 2000)
    theta = chamber_points(profile.manifold)
    assert profile.at(30.0)(theta) * profile.manifold.volume == pytest.approx(1)
    assert profile.at(30.0).error(theta).max() * profile.manifold.volume < 1e-6


def test_horizon_leaves_no_gap():
    profile = estimate(Sphere(5), 2000)
    theta, horizon = chamber_points(profile.manifold), profile.expansion.horizon
    before, after = profile.at(horizon), profile.at(horizon * (1 + 1e-9))
    assert after(theta) == pytest.approx(before(theta), abs=1e-3 * before(theta[:1])[0])
    assert after.slope(theta) == pytest.approx(before.slope(theta), abs=1e-2 * np.abs(before.slope(theta)).max())


@pytest.mark.parametrize("time", [0.01, 0.3, 1.0])
def test_slope_is_the_derivative_in_time(time):
    manifold = Sphere(3)
    profile, theta = estimate(manifold, 2000), chamber_points(manifold)
    truth = Exact().kernel(manifold).profile.at(time).slope(theta)
    assert profile.at(time).slope(theta) == pytest.approx(truth, abs=1e-4 * np.abs(truth).max())


def test_more_paths_make_the_error_smaller():
    few, many = (float(estimate(Sphere(16), paths).at(0.2).error(np.zeros(1))) for paths in (200, 20_000))
    assert many < 0.9 * few


def test_paths_that_contradict_the_curvature_are_reported():
    """A simulation that runs fast by a twentieth."""
    samples = orbit_samples(Sphere(9), [0.105, 0.21, 0.315], paths=20_000, step=0.005, rng=0, cache=False)
    object.__setattr__(samples, "times", np.array([0.1, 0.2, 0.3]))
    with pytest.warns(AccuracyWarning, match=r"paths on Sphere\(9\) are .* standard errors from what its curvature"):
        smooth_profile(samples)


def test_other_component_is_never_reached():
    profile, theta = estimate(Orthogonal(3), 500), np.array([[np.inf], [0.4]])
    for time in (0.2, 2.0):
        at = profile.at(time)
        assert [f(theta)[0] for f in (at, at.slope, at.error)] == [0, 0, 0]
        assert at(theta) == pytest.approx(exact(profile.manifold, theta, time), rel=1e-3)


@pytest.mark.parametrize(
    "manifold", [m for m in HOMOGENEOUS if isinstance(m, Symmetric) and m.roots.is_compact], ids=repr
)
def test_second_term_of_the_expansion_is_the_scalar_curvature(manifold):
    half_rho, k = Expansion(manifold).potential
    assert half_rho - k.sum() / 3 == pytest.approx(manifold.scalar_curvature / 12)


@pytest.mark.parametrize(
    "manifold",
    [Sphere(3), RealProjective(3), SpecialOrthogonal(4), SpecialOrthogonal(5), Unitary(2), SpecialUnitary(3)],
)
def test_expansion_is_exact_on_groups(manifold):
    expansion, theta = Expansion(manifold), chamber_points(manifold)
    for time in expansion.horizon * np.array([0.01, 0.3, 0.8]):
        truth = exact(manifold, theta, time)
        assert np.exp(expansion.log_density(theta, time)[0]) == pytest.approx(truth, abs=1e-5 * truth[0])


@pytest.mark.parametrize(
    "manifold, eigenvalue",
    [
        (Sphere(4), 4),
        (ComplexProjective(3), 16),
        (SpecialOrthogonal(5), 4),
        (Unitary(2), 4),
        (SpecialUnitary(3), 2 * (3 - 1 / 3)),
        (Grassmann(5, 2), 10),
        (Grassmann(6, 3), 12),
        (Grassmann(5, 2, "complex"), 20),
    ],
    ids=repr,
)
def test_modes_are_orthonormal_eigenfunctions(manifold, eigenvalue):
    """Among them those of E[B_t] on groups and spheres and of tr(P_x P_y) on Grassmannians; all are largest at 0."""
    modes = heat_modes(manifold, 0.3)
    assert np.isclose(modes.eigenvalue, eigenvalue).any()
    theta, volume = chamber_nodes(manifold, manifold.chamber[0][1])
    values = modes(theta)
    gram = (values.T * volume) @ values / manifold.volume
    assert gram == pytest.approx(np.eye(len(gram)), abs=1e-8)
    origin = np.abs(modes(np.zeros((1, theta.shape[1]))))[0]
    assert (np.abs(values) <= origin * (1 + 1e-9)).all()


@pytest.mark.parametrize(
    "manifold", [Sphere(9), ComplexProjective(2), SpecialOrthogonal(5), SpecialUnitary(3)], ids=repr
)
def test_modes_sum_to_the_heat_kernel(manifold):
    theta = chamber_points(manifold)
    truth = exact(manifold, theta, 0.3)
    assert series(manifold, theta, 0.3) == pytest.approx(truth, abs=5e-5 * truth[0])


def test_table_is_symmetric_periodic_and_zero_beyond():
    grid = SymmetricGrid(2, np.pi, True)
    table = grid.table(np.cos(grid.points.sum(axis=1)))
    theta = np.random.default_rng(0).uniform(-np.pi, np.pi, (100, 2))
    assert table(theta) == pytest.approx(np.cos(theta.sum(axis=1)), abs=1e-5)
    assert table(np.array([[4.0, 0.0], [np.inf, np.inf]])).tolist() == [0, 0]


def test_what_it_cannot_do_it_says():
    frames = orbit_samples(Stiefel(5, 2), [0.1], paths=100, step=0.1, rng=0)
    with pytest.raises(Unsupported, match=r"Stiefel\(5, 2\) is not a symmetric space"):
        smooth_profile(frames)
    big = Grassmann(8, 4)
    with pytest.raises(Unsupported, match="rank 4; the smooth estimate is for ranks one to three"):
        smooth_profile(orbit_samples(big, [0.01], paths=100, step=0.01, rng=0))
    with pytest.raises(InvalidInput, match=r"uses paths up to time 0\.75; the first of the samples is 2"):
        smooth_profile(orbit_samples(Sphere(2), [2.0], paths=100, step=0.1, rng=0))
    with pytest.warns(AccuracyWarning, match="10 paths on Sphere"):
        profile = smooth_profile(orbit_samples(Sphere(2), [0.1], paths=10, step=0.01, rng=0))
    with pytest.raises(InvalidInput, match="time must be positive and finite; got -1"):
        profile.at(-1.0)


@pytest.mark.parametrize("manifold", [Sphere(2), ComplexProjective(2), SpecialUnitary(3), Unitary(2)], ids=repr)
def test_short_times_against_exact_kernels(manifold):
    profile = estimate(manifold, paths=2000)
    formula = Exact().kernel(manifold).profile
    rng = np.random.default_rng(1)
    for time in (0.01, 1e-3):
        theta = np.sqrt(time) * rng.standard_normal((200, manifold.roots.coordinates))
        if manifold.roots.sum_zero:
            theta -= theta.mean(axis=-1, keepdims=True)
        theta = theta if manifold.roots.signed else np.abs(theta)
        theta[0] = 0
        at, truth = profile.at(time), formula.at(time)
        assert (np.abs(at(theta) - truth(theta)) < 4 * at.error(theta)).all()
        assert at.error(theta).max() < 1e-5 * at(theta)[0]
        np.testing.assert_allclose(at.slope(theta), truth.slope(theta), rtol=1e-4, atol=1e-5 * truth(theta)[0] / time)


@pytest.mark.parametrize("manifold", [Sphere(2), Sphere(9), Grassmann(4, 2), Grassmann(6, 3), Unitary(2)], ids=repr)
def test_one_geodesic_is_enough_at_short_times(manifold):
    """The expansion without other geodesics is the whole one, and its slope its derivative."""
    expansion, rng = Expansion(manifold), np.random.default_rng(2)
    for time in (expansion.single, expansion.single / 30):
        theta = 2 * np.sqrt(time) * np.abs(rng.standard_normal((500, manifold.roots.coordinates)))
        theta = np.minimum(theta, manifold.roots.half_period) / manifold.roots.unit
        theta[0] = 0
        (one, slope), whole = expansion.log_single(theta, time), expansion.log_density(theta, time)[0]
        assert np.abs(np.exp(one - whole[0]) - np.exp(whole - whole[0])).max() < 1e-7
        change = 1e-5 * time
        ends = [expansion.log_single(theta, t)[0] for t in (time - change, time + change)]
        np.testing.assert_allclose(slope, (ends[1] - ends[0]) / (2 * change), rtol=1e-5, atol=1e-6 / time)


@pytest.mark.parametrize("manifold", [Grassmann(4, 2), Sphere(3), Orthogonal(3)], ids=repr)
@pytest.mark.parametrize("size", [1e-3, 1e-5, 1e-8])
def test_clusters_see_a_flat_space(manifold, size):
    """Positive definite kernels for models exist at any short time; there the kernel is the Gaussian's."""
    rng = np.random.default_rng(3)
    kernel = heat_kernel(manifold, "smooth", paths=500, rng=0, cache=False).as_positive_definite()
    centre = manifold.random(rng, 1)
    X = manifold.exp(centre, size * manifold.noise(centre, rng.standard_normal((40, *manifold.shape))))
    K = kernel(X, time=size**2)
    flat = np.exp(-(manifold.distance(X[:, None], X) ** 2) / (2 * size**2))
    np.testing.assert_allclose(K / K[0, 0], flat, atol=size**2 + 1e-12)
    assert np.linalg.eigvalsh(K / K[0, 0])[0] > -1e-13
