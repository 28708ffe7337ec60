"""Exact heat kernels of real Grassmannians: two ways against each other, against SO(n), and against laws of nature."""

import math

import numpy as np
import pytest

from group_average import completed, fibre, grassmann_average, rotations
from heatgp import Grassmann, Sphere, heat_kernel, matern_kernel
from heatgp.heat.exact.find import exact_profile
from heatgp.heat.exact.short_time_roots import RootExpansion
from heatgp.heat.exact.subspaces import GrassmannProfile, modes_from, root_expansion
from heatgp.heat.special.cosines import contract, cosine_modes, log_dimensions
from heatgp.heat.special.spherical import chamber_nodes, heat_modes, whole_chamber
from heatgp.manifolds.roots import Roots

SPACES = [(4, 2), (5, 2), (6, 2), (30, 2), (100, 2), (6, 3), (7, 3), (12, 3)]
TOLERANCE = 1e-12  # of p_t(x, x)


def angles(rank, rng, number=1000, reach=math.pi / 2):
    """Increasing angles, many of them close to each other and to zero."""
    theta = reach * rng.uniform(0, 1, (number, rank)) * rng.uniform(0, 1, (number, 1))
    theta[: number // 10, 1:] = theta[: number // 10, :1]
    theta[0] = 0
    return np.sort(theta, axis=1)


@pytest.mark.parametrize("time", [1e-4, 0.01, 0.02, 0.0249, 0.025, 0.1, 1.0, 30.0])
def test_planes_in_four_dimensions_are_pairs_of_points_of_spheres(time, rng):
    """The oriented ones are two spheres of radius 1/√2, with angles theta_1 ± theta_2; reversal is -1."""
    theta = angles(2, rng)
    total, difference = theta.sum(axis=1, keepdims=True), theta[:, 1:] - theta[:, :1]
    p = heat_kernel(Sphere(2)).profile.at(2 * time)
    expected = 4 * (p(total) * p(difference) + p(np.pi - total) * p(np.pi - difference))
    found = GrassmannProfile(4, 2).at(time)
    np.testing.assert_allclose(found(theta), expected, atol=TOLERANCE * expected[0])
    slope = GrassmannProfile(4, 2).at(time).slope(theta)
    up, down = (GrassmannProfile(4, 2).at(time * (1 + s))(theta) for s in (1e-5, -1e-5))
    np.testing.assert_allclose(slope * time, (up - down) / 2e-5, atol=1e-8 * expected[0])


@pytest.mark.parametrize("n, k", SPACES)
def test_expansion_and_series_agree_where_they_meet(n, k, rng):
    expansion = root_expansion(k, n - 2 * k)
    time, profile, theta = expansion.longest, GrassmannProfile(n, k), angles(k, rng)
    early, late = profile._expanded(expansion, time), profile._summed(modes_from(n, k, time), time)
    assert early.log_scale == pytest.approx(late.log_scale, abs=TOLERANCE)
    np.testing.assert_allclose(early.relative_value(theta), late.relative_value(theta), atol=1e-13)
    np.testing.assert_allclose(time * early.relative_slope(theta), time * late.relative_slope(theta), atol=1e-11)


@pytest.mark.parametrize(
    "n, k, time, number",
    [
        (4, 2, 0.05, 40),
        (4, 2, 0.3, 20),
        (5, 2, 0.3, 18),
        pytest.param(6, 3, 0.8, 8, marks=pytest.mark.slow),
        pytest.param(5, 2, 0.1, 28, marks=pytest.mark.slow),
        pytest.param(6, 3, 0.3, 12, marks=pytest.mark.slow),
    ],
)
def test_mean_of_the_groups_kernel_over_the_fibre(n, k, time, number, rng):
    M = Grassmann(n, k)
    X = M.random(rng, 5)
    X[1:] = M.exp(X[0], np.array([0.0, 0.2, 0.5, 1.0])[:, None, None] * M.noise(X[0], X[1:]))
    expected = grassmann_average(n, k, X, time, number)
    np.testing.assert_allclose(heat_kernel(M, "exact")(X[0], X, time=time), expected, atol=1e-7 * expected[0])


def test_fibre_is_a_sample_of_a_group_that_fixes_the_subspace(rng):
    elements, weights = fibre(5, 2, 4)
    assert weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(np.linalg.det(elements), 1)
    np.testing.assert_allclose(
        np.swapaxes(elements, 1, 2) @ elements, np.tile(np.eye(5), (len(weights), 1, 1)), atol=1e-12
    )
    np.testing.assert_allclose(np.einsum("n,nij,nkl->ijkl", weights, elements, elements)[2, 2, 2, 2], 1 / 3)  # Haar
    np.testing.assert_allclose(weights @ elements.reshape(-1, 25), 0, atol=1e-12)
    x = Grassmann(5, 2).random(rng, 1)[0]
    g = completed(x)
    np.testing.assert_allclose(g.T @ g, np.eye(5), atol=1e-12)
    assert np.linalg.det(g) == pytest.approx(1)
    np.testing.assert_array_equal(g[:, :2], x)
    assert len(rotations(1, 3)[0]) == 1


@pytest.mark.parametrize("n, k", [(5, 2), (9, 2), (6, 3), (7, 3)])
@pytest.mark.parametrize("time", [0.01, 0.05, 0.3, 3.0])
def test_mass_one_and_the_mean_projector(n, k, time):
    """tr(P_x P_y) - k²/n, the sum of cos² theta less its mean, decays like exp(-n t)."""
    M = Grassmann(n, k)
    theta, volume = chamber_nodes(M, np.pi / 2, least=96 if k == 2 else 48)
    p = GrassmannProfile(n, k).at(time)(theta) * volume
    assert p.sum() == pytest.approx(1, abs=1e-9)
    mean = np.sum(np.cos(theta) ** 2, axis=1) @ p
    assert mean == pytest.approx(k * k / n + (k - k * k / n) * np.exp(-n * time), abs=1e-9)


@pytest.mark.parametrize("n, k", [(4, 2), (5, 2), (6, 3)])
def test_cosine_sums_are_the_orthogonal_polynomials(n, k):
    """Those that Gram and Schmidt make by quadrature; dimensions are their squares at the origin."""
    M, time = Grassmann(n, k), 0.3
    modes, others = cosine_modes(M.roots, M.dim, time), heat_modes(M, time)
    count = len(others.weights)
    np.testing.assert_array_equal(modes.weights[:count], others.weights)
    np.testing.assert_allclose(modes.eigenvalue[:count], others.eigenvalue)
    theta, _ = whole_chamber(M, others.weights[:1])
    expected, origin = others(theta[::7]), others(np.zeros((1, k)))[0]
    np.testing.assert_allclose(np.exp(modes.log_dimension[:count]), origin**2, rtol=1e-9)
    for i in range(count):
        tensor = modes.tensor(np.eye(len(modes.weights))[i])
        found = contract(tensor, [np.cos(np.multiply.outer(a, 2.0 * np.arange(len(tensor)))) for a in theta[::7].T])
        np.testing.assert_allclose(found, expected[:, i] / origin[i], atol=1e-8)
    assert modes.coefficients.min() >= 0


def test_dimensions_are_those_of_spheres_at_rank_one():
    """(2l + 1) on S², binomials on S^9: those of harmonic polynomials."""
    weights = np.arange(6)[:, None]
    for m in (1, 8):
        expected = [math.comb(i + m + 1, m + 1) - (math.comb(i + m - 1, m + 1) if i > 1 else 0) for i in range(6)]
        np.testing.assert_allclose(np.exp(log_dimensions(Roots(((1.0,),), (m,)), weights)), expected)


@pytest.mark.parametrize("short", [0, 1, 8])
def test_expansion_begins_with_the_curvatures(short):
    """F = t scal / 12 + .. on the diagonal. Reference: Berger, Gauduchon and Mazet (1971), ch. III."""
    n = 4 + short
    found = RootExpansion(2, short).height(1e-7) / 1e-7
    assert found == pytest.approx(Grassmann(n, 2).scalar_curvature / 12, rel=1e-5)


@pytest.mark.parametrize("n, k", [(4, 2), (5, 2), (6, 3)])
@pytest.mark.parametrize("time", [0.02, 0.05, 0.3])
def test_gram_matrices_have_no_negative_eigenvalues(n, k, time, rng):
    M = Grassmann(n, k)
    X = M.random(rng, 300)
    X[100:] = M.exp(X[0], 0.3 * M.noise(X[0], X[100:]))  # most of them close to each other
    values = np.linalg.eigvalsh(heat_kernel(M)(X, time=time))
    assert values[0] > -1e-12 * values[-1]


def test_auto_takes_the_exact_kernel_as_far_as_it_was_checked(rng):
    assert heat_kernel(Grassmann(100, 2)).is_exact
    assert heat_kernel(Grassmann(30, 3)).is_exact
    assert not any(map(exact_profile, (Grassmann(101, 2), Grassmann(31, 3), Grassmann(8, 4))))
    X = Grassmann(5, 2).random(rng, 6)
    complements = np.stack([np.linalg.svd(x)[0][:, 2:] for x in X])
    found = heat_kernel(Grassmann(5, 3))(complements, time=0.2)
    np.testing.assert_allclose(found, heat_kernel(Grassmann(5, 2))(X, time=0.2), rtol=1e-9)


@pytest.mark.parametrize("n, k", [(5, 2), (6, 3)])
def test_matern_kernels_have_their_spectral_density(n, k, rng):
    """The sum of (1 + lambda time / 2 nu)^-(nu + dim/2) times the spherical functions, in place of an average."""
    M, nu, time = Grassmann(n, k), 4.5, 0.3
    X = M.random(rng, 4)
    X[1:] = M.exp(X[0], 0.3 * M.noise(X[0], X[1:]))
    modes = modes_from(n, k, 0.025)
    parts = np.exp(modes.log_dimension) * (1 + modes.eigenvalue * time / (2 * nu)) ** -(nu + M.dim / 2)
    tensor = modes.tensor(parts) / M.volume
    theta = M.orbit(X[0], X)
    expected = contract(tensor, [np.cos(np.multiply.outer(a, 2.0 * np.arange(len(tensor)))) for a in theta.T])
    np.testing.assert_allclose(matern_kernel(M, nu)(X[0], X, time=time), expected, atol=1e-7 * expected[0])
