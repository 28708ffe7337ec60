"""Exact heat kernels of Stiefel manifolds: V(2, n) by its series, V(n - 3, n) by sums over rotations."""

import math

import numpy as np
import pytest

from group_average import stiefel_average
from heatgp import SpecialOrthogonal, Stiefel, heat_kernel, matern_kernel, walk
from heatgp.errors import InvalidInput
from heatgp.heat.exact.fibre import lift
from heatgp.heat.exact.fibre_rotations import align, rotation_average, rule
from heatgp.heat.exact.find import exact_profile
from heatgp.heat.exact.frames import FramesProfile, angles, charges, symmetric_products


def near_points(M, rng, number=8, reach=1.0):
    """Points around the first one, the second of which is the first."""
    X = M.random(rng, number)
    X[1:] = M.exp(X[0], np.linspace(0, reach, number - 1)[:, None, None] * M.noise(X[0], X[1:]))
    return X


def log_dimension(n, first, second):
    """Of the representation of SO(n) with the highest weight (first, second, 0, ..), by Weyl's formula."""
    rho = n / 2 - 1 - np.arange(n // 2)
    top = rho + np.r_[first, second, np.zeros(n // 2 - 2)]
    i, j = np.triu_indices(n // 2, 1)
    total = np.log((top[i] ** 2 - top[j] ** 2) / (rho[i] ** 2 - rho[j] ** 2)).sum()
    both_signs = n == 4 and second > 0  # two representations, of weights (first, ±second)
    return total + (np.log(top / rho).sum() if n % 2 else 0) + both_signs * math.log(2)


@pytest.mark.parametrize("n", [4, 5, 6, 9])
def test_polynomials_have_the_dimensions_of_representations(n):
    """P(1, 1)² is the dimension of an irreducible representation: that of Weyl's formula."""
    for charge in charges(n, 150.0):
        k = charge.m + charge.weights.sum(axis=1)
        gap = charge.weights[:, 0] - charge.weights[:, 1]
        expected = [log_dimension(n, a, b) for a, b in zip(k, gap)]
        np.testing.assert_allclose(2 * np.log(np.abs(charge.at_one)), expected, atol=1e-9)


def test_angles_are_those_of_the_matrix(rng):
    """A z = w z + u conj(z), singular values |w| ± |u| = cos(sigma ∓ delta)."""
    A = rng.uniform(-0.7, 0.7, (50, 2, 2))
    phi, sigma, delta = angles(A.reshape(-1, 4))
    assert np.all((delta >= 0) & (sigma >= delta))
    values = np.linalg.svdvals(A)
    signs = np.sign(np.linalg.det(A))
    inside = values[:, 0] < 1
    np.testing.assert_allclose(np.cos(sigma - delta)[inside], values[inside, 0], atol=1e-12)
    np.testing.assert_allclose(np.cos(sigma + delta)[inside], (signs * values[:, 1])[inside], atol=1e-12)
    w = np.cos(sigma) * np.cos(delta) * np.exp(1j * phi)
    np.testing.assert_allclose(w[inside].real, np.trace(A, axis1=1, axis2=2)[inside] / 2, atol=1e-12)


@pytest.mark.parametrize("time", [0.04, 0.1, 0.3, 2.0, 20.0, 1e4])
def test_frames_of_four_dimensions_are_an_average_over_a_circle(time, rng):
    M = Stiefel(4, 2)
    X, kernel = near_points(M, rng, 30), heat_kernel(M)
    expected = kernel(X[0], X, time=time)
    found = FramesProfile(4).at(time)
    np.testing.assert_allclose(found(M.orbit(X[0], X)), expected, atol=1e-12 * expected[0])
    slopes = kernel.derivative(X[0], X, time=time)
    np.testing.assert_allclose(found.slope(M.orbit(X[0], X)), slopes, atol=1e-11 * expected[0] / time)


@pytest.mark.parametrize("n, k", [(5, 2), (6, 3), (7, 4)])
@pytest.mark.parametrize("time", [0.3, 1.0])
def test_mean_of_the_groups_kernel_over_the_fibre(n, k, time, rng):
    M = Stiefel(n, k)
    X = near_points(M, rng, 6)
    expected = stiefel_average(n, k, X, time, 18)
    np.testing.assert_allclose(heat_kernel(M, "exact")(X[0], X, time=time), expected, atol=1e-10 * expected[0])


@pytest.mark.slow
@pytest.mark.parametrize("n, k", [(5, 2), (6, 3)])
@pytest.mark.parametrize("time, number", [(0.05, 40), (0.1, 28)])
def test_the_same_at_short_times(n, k, time, number, rng):
    M = Stiefel(n, k)
    X = near_points(M, rng, 4, reach=0.4)
    expected = stiefel_average(n, k, X, time, number)
    np.testing.assert_allclose(heat_kernel(M, "exact")(X[0], X, time=time), expected, atol=1e-8 * expected[0])


@pytest.mark.slow
@pytest.mark.parametrize("time", [0.05, 0.1, 0.3])
def test_pairs_of_six_dimensions_are_triples_averaged_over_the_third_vector(time, rng):
    """V(2, 6) is V(3, 6) over spheres S³: the integral of the kernel of triples, which is another one of SO(6)'s.

    Unit vectors v orthogonal to y around the nearest to the third one of x, in equal steps of their logarithms.
    """
    M, triples = Stiefel(6, 2), Stiefel(6, 3)
    X = near_points(M, rng, 4, reach=0.3)
    whole = np.linalg.svd(X[0])[0]
    start = np.concatenate([X[0], whole[:, 2:3]], axis=1)
    step = 0.8 * math.sqrt(time)
    axis = step * np.arange(-7, 8)
    w = np.stack(np.meshgrid(axis, axis, axis), axis=-1).reshape(-1, 3)
    size = np.linalg.norm(w, axis=1)
    w, size = w[size < min(7 * step, math.pi)], size[size < min(7 * step, math.pi)]
    found = []
    for y in X:
        rest = np.linalg.svd(y)[0][:, 2:]  # orthonormal, orthogonal to y
        turn = np.linalg.svd(rest.T @ start[:, 2:3])[0]
        middle, sides = rest @ turn[:, 0] * np.sign(turn[:, 0] @ rest.T @ start[:, 2]), rest @ turn[:, 1:]
        v = np.cos(size)[:, None] * middle + np.sinc(size / np.pi)[:, None] * (w @ sides.T)
        ends = np.concatenate([np.broadcast_to(y, (len(v), 6, 2)), v[..., None]], axis=-1)
        found.append(heat_kernel(triples)(start, ends, time=time) @ np.sinc(size / np.pi) ** 2 * step**3)
    expected = heat_kernel(M)(X[0], X, time=time)
    np.testing.assert_allclose(found, expected, atol=1e-4 * expected[0])


@pytest.mark.parametrize("time", [0.025, 0.06, 0.12, 0.4])
def test_two_ways_to_frames_of_five_dimensions(time, rng):
    """The series against sums over rotations."""
    M, G = Stiefel(5, 2), SpecialOrthogonal(5)
    X = near_points(M, rng, 6, reach=0.5)
    group, g = heat_kernel(G).profile.at(time), lift(M, X)
    (found,) = rotation_average(G, (group.relative_value,), time, g[:1], g)
    expected = heat_kernel(M)(X[0], X, time=time)
    found = found[0] * math.exp(group.log_scale) * 8 * math.pi**2
    np.testing.assert_allclose(found, expected, atol=3e-11 * expected[0])


@pytest.mark.parametrize("n", [5, 6, 10, 16])
def test_mean_of_the_trace_and_positive_densities(n, rng):
    """E[x'B_t] = exp(-(n-1)t/2) I, by uniform points weighted with the kernel; and no value is negative."""
    M, time = Stiefel(n, 2), 2.0
    Y = M.random(rng, 40_000)
    p = M.volume * heat_kernel(M)(M.origin, Y, time=time)
    assert p.min() > 0
    for values, expected in ((p, 1.0), (p * Y[:, 0, 0], np.exp(-(n - 1) * time / 2)), (p * Y[:, 1, 0], 0.0)):
        assert abs(values.mean() - expected) < 4.5 * values.std() / 200


@pytest.mark.parametrize("n, k, time", [(6, 2, 0.3), (10, 2, 0.1), pytest.param(6, 3, 0.2, marks=pytest.mark.slow)])
def test_chapman_and_kolmogorov_with_simulated_paths(n, k, time, rng):
    """p_2t(x, y) is the mean of p_t(B_t, y) over Brownian motion from x: paths know nothing of the series."""
    M = Stiefel(n, k)
    X = near_points(M, rng, 4, reach=0.5)
    number = 4000 if k == 2 else 150
    ends = walk(M, X[0], times=[time], paths=number, step=time / 200, rng=1)[0]
    kernel = heat_kernel(M)
    values = kernel(ends, X, time=time)
    expected = kernel(X[0], X, time=2 * time)
    error = values.std(axis=0) / math.sqrt(number)
    np.testing.assert_array_less(np.abs(values.mean(axis=0) - expected), 4.5 * error + 2e-3 * expected)


@pytest.mark.parametrize(
    "n, k, number, times",
    [
        (5, 2, 300, (0.05, 0.3)),
        (10, 2, 300, (0.05, 0.3)),
        (6, 3, 15, (0.05, 0.3)),
        pytest.param(6, 3, 300, (0.05, 0.3), marks=pytest.mark.slow),
    ],
)
def test_gram_matrices_have_no_negative_eigenvalues(n, k, number, times, rng):
    M = Stiefel(n, k)
    X = M.random(rng, number)
    X[number // 3 :] = M.exp(X[0], 0.1 * M.noise(X[0], X[number // 3 :]))  # most of them close to each other
    for time in times:
        values = np.linalg.eigvalsh(heat_kernel(M)(X, time=time))
        assert values[0] > -1e-10 * values[-1]


def test_aligned_rotations_are_closest_to_the_identity(rng):
    G = SpecialOrthogonal(6)
    r = G.random(rng, 20)
    aligned = align(r)
    np.testing.assert_allclose(np.linalg.det(aligned), 1)
    block = aligned[:, 3:, 3:]
    np.testing.assert_allclose(block, block * np.eye(3), atol=1e-12)
    turns = np.tile(np.eye(6), (200, 1, 1))
    turns[:, 3:, 3:] = SpecialOrthogonal(3).random(rng, 200)
    largest = np.trace(r[:, None] @ turns, axis1=-2, axis2=-1).max(axis=1)
    assert np.all(np.trace(aligned, axis1=-2, axis2=-1) >= largest)


@pytest.mark.parametrize("time", [0.01, 0.05, 0.15, 1.0])
def test_rules_integrate_the_heat_kernel_of_rotations(time):
    elements, weights = rule(time)
    p = heat_kernel(SpecialOrthogonal(3))(np.eye(3), elements, time=time)
    assert 8 * math.pi**2 * (p @ weights) == pytest.approx(1, abs=1e-9)


def test_what_is_exact_and_from_when_on():
    assert heat_kernel(Stiefel(16, 2)).is_exact
    assert heat_kernel(Stiefel(6, 3)).times == (0.0, math.inf)
    assert not any(map(exact_profile, (Stiefel(17, 2), Stiefel(7, 3), Stiefel(5, 2, "complex"))))
    with pytest.raises(
        InvalidInput, match=r"time = 0\.01 is beyond the times .* 0\.02 to inf\. No method goes to shorter times"
    ):
        heat_kernel(Stiefel(5, 2))(np.eye(5, 2), time=0.01)


def test_matern_kernels_have_their_spectral_density(rng):
    """The sum of (1 + E time / 2 nu)^-(nu + dim/2) over the polynomials, in place of an average over time."""
    M, nu, time = Stiefel(5, 2), 4.5, 0.5
    X = near_points(M, rng, 5)
    expected = np.zeros(5)
    phi, sigma, delta = angles(M.orbit(X[0], X))
    for c in charges(5, 3000.0):
        values = symmetric_products(c.m, c.weights, np.cos(2 * np.stack([sigma, delta], axis=1))) @ c.mixing
        decay = (1 + c.eigenvalue * time / (2 * nu)) ** -(nu + M.dim / 2)
        parts = (np.cos(sigma) * np.cos(delta)) ** c.m * (values @ (decay * c.at_one))
        expected += (2 if c.m else 1) * np.cos(c.m * phi) * parts / M.volume
    kernel = matern_kernel(M, nu)
    found, error = kernel(X[0], X, time=time), kernel.standard_error(X[0], X, time=time)
    np.testing.assert_array_less(np.abs(found - expected), error + 2e-6 * expected[0])
    assert error.max() < 1e-3 * expected[0]
