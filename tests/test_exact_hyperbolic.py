"""Heat kernels of hyperbolic spaces against high precision, by two other ways, and against the laws they obey."""

import mpmath as mp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gamma, kv

from exact_reference import hyperbolic, hyperbolic_waves
from heatgp import Hyperbolic, heat_kernel, matern_kernel
from heatgp.heat.exact.hyperbolic import HyperbolicProfile

TOLERANCE = 1e-12  # of p_t(x, x)


def check(n, time, distances, slopes=False):
    """The kernel, its logarithm and its derivative in time; errors over p_t(x, x), those of logarithms relative."""
    p, theta = HyperbolicProfile(n).at(time), np.array(distances)[:, None]
    exact = [hyperbolic(n, time, r) for r in distances]
    values, logs = (np.array([float(x) for x in part]) for part in ([x / exact[0] for x in exact], map(mp.log, exact)))
    assert np.abs(p.relative_value(theta) - values).max() < TOLERANCE
    assert (np.abs(p.log(theta) - logs) / np.maximum(1, np.abs(logs))).max() < TOLERANCE
    if slopes:
        expected = np.array([float(hyperbolic(n, time, r, slope=True) / exact[0]) for r in distances])
        assert np.abs(p.relative_slope(theta) - expected).max() < TOLERANCE * max(np.abs(expected).max(), 1 / time)


@pytest.mark.parametrize("time", [1e-3, 0.3, 10.0])
@pytest.mark.parametrize("n", [2, 3, 6, 7])
def test_kernel_agrees_with_high_precision(n, time):
    check(n, time, [0.0, 0.3, 2.0], slopes=n % 2 == 1)


def test_high_dimensions_and_long_times():
    check(61, 1.0, [0.0, 0.3, 2.51, 4.0])
    for n, time in ((60, 1e14), (151, 1e6), (200, 1e4)):
        p = HyperbolicProfile(n).at(time)
        values = p.relative_value(np.array([[0.0], [0.1], [0.5]]))
        assert values[0] == pytest.approx(1.0, abs=1e-12)
        assert (np.diff(values) < 0).all()
        assert (values > 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("time", [1e-3, 0.01, 0.1, 1.0, 10.0, 30.0])
@pytest.mark.parametrize("n", range(2, 21))
def test_kernel_agrees_with_high_precision_in_all_dimensions(n, time):
    check(n, time, [0.0, 1e-8, 1e-4, 0.03, 0.3, 1.0, 2.0, 2.49, 2.51, 4.0, 7.0, 10.0], slopes=n % 2 == 1 or n < 7)


@pytest.mark.parametrize(
    "n, time, r",
    [
        (2, 0.1, 0.0),
        (3, 0.3, 0.7),
        (4, 0.2, 0.5),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in ((2, 0.5, 1.3), (5, 1.0, 2.0))),
    ],
)
def test_kernel_is_the_integral_of_spherical_functions(n, time, r):
    p = HyperbolicProfile(n).at(time)
    assert abs(p([r]) - float(hyperbolic_waves(n, time, r))) < TOLERANCE * p([0.0])


@pytest.mark.parametrize("time", [1e-3, 0.1, 2.0, 30.0])
@pytest.mark.parametrize("n", [2, 3, 10, 20])
def test_mass_is_one(n, time):
    M, p = Hyperbolic(n), HyperbolicProfile(n).at(time)

    def density(r):
        theta = np.array([r])
        return float(np.exp(p.log(theta) + M.log_strip(theta)))

    middle = (n - 1) / 2 * time  # where paths are after a long time
    width = np.sqrt(n * time)
    ends = [max(middle - 12 * width, 1e-12), middle + 12 * width]
    mass = quad(density, *ends, points=[middle + k * width for k in range(-3, 4) if middle + k * width > 0], limit=400)
    assert mass[0] == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("time", [0.01, 0.5, 5.0])
@pytest.mark.parametrize("n", [2, 3, 8, 15, 20])
def test_heat_equation(n, time):
    """dp/dt is half of p'' + (n - 1) coth(r) p'."""
    p, r = HyperbolicProfile(n).at(time), np.sqrt(time) * np.array([0.3, 0.8, 1.5, 2.5])
    h = 1e-3 * np.sqrt(time)
    values = np.array([np.exp(p.log((r + k * h)[:, None])) for k in (-2, -1, 0, 1, 2)])
    first = (values[0] - 8 * values[1] + 8 * values[3] - values[4]) / (12 * h)
    second = (-values[0] + 16 * values[1] - 30 * values[2] + 16 * values[3] - values[4]) / (12 * h**2)
    expected = (second + (n - 1) / np.tanh(r) * first) / 2
    np.testing.assert_allclose(p.slope(r[:, None]), expected, rtol=0, atol=1e-7 * np.exp(p.log_scale) / time)


@pytest.mark.parametrize("n", [2, 5, 20, 60])
@pytest.mark.parametrize("time", [1e-8, 1e-3, 1.0, 1e3])
def test_tables_are_the_formula(n, time):
    p = HyperbolicProfile(n).at(time)
    r = np.sqrt(time) * np.random.default_rng(0).uniform(0, 9, 400)
    np.testing.assert_allclose(p.relative_value(r[:, None]), np.exp(p.relative_log(r[:, None])), rtol=0, atol=TOLERANCE)


def test_logarithms_reach_far():
    p = HyperbolicProfile(3).at(0.01)
    r = np.array([50.0, 300.0])
    expected = -1.5 * np.log(2 * np.pi * 0.01) - 0.005 - r**2 / 0.02 + np.log(2 * r) - r
    np.testing.assert_allclose(p.log(r[:, None]), expected, rtol=1e-14)


def test_gram_matrices_are_positive_definite():
    for n in (2, 3, 8, 20):
        M = Hyperbolic(n)
        X = M.random(0, 300)
        for time in (0.01, 0.3, 10.0):
            values = np.linalg.eigvalsh(heat_kernel(M)(X, time=time))
            assert values[0] > -1e-10 * values[-1]


@pytest.mark.parametrize("smoothness", [0.5, 1.5, 2.5, 0.8])
@pytest.mark.parametrize("time", [0.1, 3.0, 1e3, 1e6])
def test_matern_kernel_of_three_dimensions(smoothness, time):
    """p_t of H³ is that of R³ times exp(-t/2) r / sinh r: the average over time is a Bessel function."""
    M = Hyperbolic(3)
    r = np.array([1e-6, 0.1, 0.7, 2.0, 5.0])
    z = np.sqrt(2 * smoothness / time + 1) * r
    expected = 2 ** (1 - smoothness) / gamma(smoothness) * z**smoothness * kv(smoothness, z) * r / np.sinh(r)
    points = np.stack([np.cosh(r), np.sinh(r), 0 * r, 0 * r], axis=-1)
    kernel = matern_kernel(M, smoothness)
    found = kernel(M.origin, points, time=time) / kernel(M.origin, M.origin, time=time)
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-9)
