"""Flat, spherical and projective heat kernels against high-precision series, each other and the laws they obey."""

import mpmath as mp
import numpy as np
import pytest

from heatgp.heat.exact.families import complex_projective, real_projective, sphere
from heatgp.heat.exact.flat import EuclideanProfile, TorusProfile

TIMES = [1e-3, 0.03, 0.1, 1.0, 10.0]
TOLERANCE = 1e-12  # of p_t(x, x); 1e-10 is promised


def sphere_series(dim, time, theta, slope=False):
    """(1/vol) sum_k (2k + d - 1)/(d - 1) C_k(cos theta) exp(-k(k + d - 1) t/2), Gegenbauer's C, d >= 2."""
    with mp.workdps(30):
        x, order = mp.cos(mp.mpf(float(theta))), mp.mpf(dim - 1) / 2
        before, now, total, k = mp.mpf(0), mp.mpf(1), mp.mpf(0), 0
        while k * (k + dim - 1) * time < 130 + 8 * dim:
            rate = mp.mpf(k * (k + dim - 1)) / 2
            total += (1 + k / order) * now * mp.exp(-rate * mp.mpf(time)) * (-rate if slope else 1)
            before, now = now, (2 * (k + order) * x * now - (k + 2 * order - 1) * before) / (k + 1)
            k += 1
        return total * mp.gamma(order + 1) / (2 * mp.pi ** (order + 1))


def angles(time, end):
    short = np.sqrt(time) * np.array([1e-9, 1e-3, 0.4, 1.0, 2.5, 6.0])
    return np.array([x for x in [0.0, *short, 0.4 * end, 0.93 * end, end - 1e-7, end] if x <= end])


@pytest.mark.parametrize("time", TIMES)
@pytest.mark.parametrize("dim", [2, 3, 9, 50])
def test_sphere_against_the_gegenbauer_series(dim, time):
    kernel, theta = sphere(dim).at(time), angles(time, np.pi)
    scale = float(sphere_series(dim, time, 0.0))
    expected = [float(sphere_series(dim, time, x)) for x in theta]
    np.testing.assert_allclose(kernel(theta[:, None]) / scale, np.array(expected) / scale, rtol=0, atol=TOLERANCE)
    expected = [float(sphere_series(dim, time, x, slope=True)) for x in theta]
    scale /= time
    np.testing.assert_allclose(kernel.slope(theta[:, None]) / scale, np.array(expected) / scale, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("time", [1e-6, *TIMES, 1e3])
def test_circle_is_the_wrapped_gaussian(time):
    theta = angles(time, np.pi)
    images = theta[:, None] + 2 * np.pi * np.arange(-200, 201)
    expected = np.exp(-(images**2) / (2 * time)).sum(axis=1) / np.sqrt(2 * np.pi * time)
    np.testing.assert_allclose(sphere(1).at(time)(theta[:, None]), expected, rtol=0, atol=TOLERANCE * expected[0])


@pytest.mark.parametrize("dim", [1, 2, 7])
@pytest.mark.parametrize("time", TIMES)
def test_real_projective_space_adds_antipodes(dim, time):
    theta = angles(time, np.pi / 2)[:, None]
    ball = sphere(dim).at(time)
    expected = ball(theta) + ball(np.pi - theta)
    np.testing.assert_allclose(real_projective(dim).at(time)(theta), expected, rtol=0, atol=TOLERANCE * expected[0])


@pytest.mark.parametrize("dim", [1, 2, 4, 20])
@pytest.mark.parametrize("time", TIMES)
def test_complex_projective_space_is_the_circle_integral_of_the_sphere(dim, time):
    theta = angles(time, np.pi / 2)
    phase = 2 * np.pi * np.arange(1024) / 1024
    sine = np.hypot(np.sin(theta)[:, None], np.cos(theta)[:, None] * np.sin(phase))
    distance = np.arctan2(sine, np.cos(theta)[:, None] * np.cos(phase))
    expected = sphere(2 * dim + 1).at(time)(distance[..., None]).sum(axis=1) * 2 * np.pi / phase.size
    kernel = complex_projective(dim).at(time)
    np.testing.assert_allclose(kernel(theta[:, None]), expected, rtol=0, atol=TOLERANCE * expected[0])


@pytest.mark.parametrize(
    "profile, roots", [(sphere(5), (4, 0)), (real_projective(4), (3, 0)), (complex_projective(3), (4, 1))]
)
@pytest.mark.parametrize("time", [1e-3, 0.2, 5.0])
def test_mass_is_one(profile, roots, time):
    end = np.pi / profile.speed
    x, w = np.polynomial.legendre.leggauss(400)
    theta, w = end * (x + 1) / 2, end * w / 2
    density = np.sin(theta) ** roots[0] * np.sin(2 * theta) ** roots[1]
    mass = (profile.at(time)(theta[:, None]) * density) @ w * profile.volume / (density @ w)
    assert abs(mass - 1) < 1e-11  # the tail's rounding weighs more in the mass than in p


def test_chapman_kolmogorov_on_the_two_sphere():
    """integral of p_s(x, z) p_t(z, y) dz = p_(s+t)(x, y), product rule in height and longitude."""
    height, w = np.polynomial.legendre.leggauss(60)
    longitude = 2 * np.pi * np.arange(120) / 120
    ring = np.sqrt(1 - height**2)[:, None]
    z = np.stack([ring * np.cos(longitude), ring * np.sin(longitude), np.tile(height[:, None], 120)], axis=-1)
    y = np.array([np.sin(0.7), 0.0, np.cos(0.7)])
    first, second = sphere(2).at(0.2), sphere(2).at(0.15)
    both = first(np.arccos(z[..., 2:])) * second(np.arccos(np.clip(z @ y, -1, 1))[..., None])
    integral = (w[:, None] * both).sum() * 2 * np.pi / 120
    assert abs(integral - sphere(2).at(0.35)([0.7])) < 1e-12


@pytest.mark.parametrize("profile", [sphere(2), sphere(9), real_projective(3), complex_projective(4)])
def test_gram_matrices_are_positive_definite_to_rounding(profile):
    rng = np.random.default_rng(0)
    dim = int(2 * profile.alpha + 2) + (2 if profile.beta == 0 and profile.speed == 2 else 1)
    x = rng.normal(size=(200, dim))
    x = (x[:, ::2] + 1j * x[:, 1::2]) if profile.beta == 0 and profile.speed == 2 else x
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    x[1] = x[0]
    inner = np.abs(x @ x.conj().T) if profile.speed == 2 else x @ x.T
    theta = np.arccos(np.clip(inner, -1, 1))[..., None]
    for time in TIMES:
        eigenvalues = np.linalg.eigvalsh(profile.at(time)(theta))
        assert eigenvalues[0] > -1e-13 * eigenvalues[-1]


@pytest.mark.parametrize("profile", [sphere(1), sphere(6), real_projective(3), complex_projective(2)])
def test_long_times_forget_the_start(profile):
    kernel, theta = profile.at(1e3), np.linspace(0, np.pi / profile.speed, 7)[:, None]
    np.testing.assert_allclose(kernel(theta), 1 / profile.volume, rtol=1e-14)
    np.testing.assert_allclose(kernel.slope(theta), 0, atol=1e-100)


@pytest.mark.parametrize("dim", [2, 9])
def test_tiny_times_are_gaussian(dim):
    """Leading terms of the expansion at t = 1e-6, whose relative error there is of order t^2."""
    time = 1e-6
    theta = np.sqrt(time) * np.linspace(0, 4, 9)
    flat = EuclideanProfile(dim).at(time)(theta[:, None])
    factor = np.ones(9)
    factor[1:] = (theta[1:] / np.sin(theta[1:])) ** ((dim - 1) / 2)
    expected = flat * factor * (1 + dim * (dim - 1) * time / 12)
    np.testing.assert_allclose(sphere(dim).at(time)(theta[:, None]), expected, rtol=0, atol=1e-10 * flat[0])


def test_torus_is_a_product_of_circles_and_periodic():
    rng = np.random.default_rng(1)
    theta = rng.uniform(-np.pi, np.pi, (5, 3))
    kernel, circle = TorusProfile(3).at(0.4), sphere(1).at(0.4)
    expected = np.prod([circle(np.abs(theta[:, i : i + 1])) for i in range(3)], axis=0)
    np.testing.assert_allclose(kernel(theta), expected, rtol=1e-13)
    np.testing.assert_allclose(kernel(theta + 2 * np.pi * rng.integers(-3, 4, (5, 3))), expected, rtol=1e-11)
    h = 1e-4
    difference = (TorusProfile(3).at(0.4 + h)(theta) - TorusProfile(3).at(0.4 - h)(theta)) / (2 * h)
    np.testing.assert_allclose(kernel.slope(theta), difference, rtol=1e-5)


def test_euclidean_solves_the_heat_equation():
    """dp/dt = p''/2 + (n - 1)/(2 r) p'."""
    kernel, r, h = EuclideanProfile(3).at(0.7), np.array([0.4, 1.1, 2.0]), 1e-4
    up, mid, down = (kernel((r + s)[:, None]) for s in (h, 0.0, -h))
    laplacian = (up - 2 * mid + down) / h**2 + 2 / r * (up - down) / (2 * h)
    np.testing.assert_allclose(kernel.slope(r[:, None]), laplacian / 2, rtol=1e-5)


def test_profiles_hash_and_report_no_error():
    assert sphere(3) == sphere(3)
    assert hash(complex_projective(2)) == hash(complex_projective(2))
    for profile in (sphere(3), EuclideanProfile(2), TorusProfile(1)):
        assert np.array_equal(profile.at(0.5).error(np.ones((4, 2, 1))), np.zeros((4, 2)))
        assert profile.at(0.5)(np.ones((0, 1))).shape == (0,)
