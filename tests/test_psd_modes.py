"""Sums of spherical functions with positive coefficients on spaces of rank two and three."""

import numpy as np
import pytest

import heatgp as hg
from group_average import grassmann_average
from heatgp.heat.positive.modes import ModeProfile


def kernel_of(M):
    return hg.heat_kernel(M, "smooth", paths=2000, cache=False).as_positive_definite()


@pytest.mark.parametrize(
    "M", [hg.SpecialOrthogonal(4), hg.Unitary(2), hg.SpecialUnitary(3), hg.Grassmann(4, 2, "complex")], ids=repr
)
def test_close_to_the_exact_kernel_and_positive_definite(M, rng):
    kernel = kernel_of(M)
    assert isinstance(kernel.profile, ModeProfile)
    X = M.random(rng, 40)
    X[20:] = X[:20]  # twenty eigenvalues are zero
    for time in (0.1, 0.45):
        K, exact = kernel(X, time=time), hg.heat_kernel(M, "exact")(X, time=time)
        peak = exact.max()
        assert np.abs(K - exact).max() < 1e-3 * peak
        assert (np.abs(K - exact) <= 3 * kernel.standard_error(X, time=time) + 2e-5 * peak).all()
        eigenvalues = np.linalg.eigvalsh(K)
        assert eigenvalues[0] > -1e-13 * eigenvalues[-1]
        low, high = (kernel(X[:3], time=time * (1 + s * 1e-5)) for s in (-1, 1))
        slope = kernel.derivative(X[:3], time=time)
        np.testing.assert_allclose(slope, (high - low) / (2e-5 * time), atol=1e-5 * peak / time)


def test_real_planes_against_the_average_over_the_fibre(rng):
    M = hg.Grassmann(5, 2)
    X = M.random(rng, 4)
    X[2] = M.exp(X[0], 0.3 * M.noise(X[0], X[2]))
    exact = grassmann_average(5, 2, X, 0.3, angles=12)
    np.testing.assert_allclose(kernel_of(M)(X[0], X, time=0.3), exact, atol=1e-3 * exact[0])


def test_a_noisy_estimate_of_rank_two_becomes_positive_definite(rng):
    M = hg.SpecialOrthogonal(4)
    with pytest.warns(hg.errors.AccuracyWarning):
        strip = hg.heat_kernel(M, "strip", times=[0.3, 0.4], step=0.05, paths=3000, cache=False)
    X = M.random(rng, 60)
    before, after = strip(X, time=0.35), strip.as_positive_definite()(X, time=0.35)
    assert np.linalg.eigvalsh(before)[0] < -1e-3 * before.max()
    assert np.linalg.eigvalsh(after)[0] > -1e-12 * after.max()


def test_short_times_that_need_too_many_functions_are_named():
    """Of a counted estimate; a smooth one is its short-time expansion there."""
    with pytest.warns(hg.errors.AccuracyWarning):
        counted = hg.heat_kernel(hg.Grassmann(4, 2), "strip", times=[1e-5, 1e-2], step=1e-5, paths=100, cache=False)
    kernel = counted.as_positive_definite()
    with pytest.raises(
        hg.errors.InvalidInput, match=r"time = 1e-05 is beyond the times of heat_kernel\(Grassmann\(4, 2\)"
    ):
        kernel(hg.Grassmann(4, 2).origin, time=1e-5)


@pytest.mark.parametrize("M", [hg.Grassmann(5, 2), hg.SpecialOrthogonal(4)], ids=repr)
def test_continuous_in_time_with_its_derivative(M, rng):
    """Also at powers of two, where the set of spherical functions changes."""
    kernel, X, h = kernel_of(M), M.random(rng, 5), 1e-9
    X[1] = M.exp(X[0], 0.3 * M.noise(X[0], X[1]))
    for time in (1 / 64, 1 / 32, 0.5, 1.0):
        low, high = (kernel(X, time=time * (1 + s * h)) for s in (-1, 1))
        before, after = (kernel.derivative(X, time=time * (1 + s * h)) for s in (-1, 1))
        peak = high.max()
        np.testing.assert_allclose(high - low, h * time * (before + after), atol=1e-10 * peak, rtol=0)
        np.testing.assert_allclose(before, after, atol=1e-4 * peak / time, rtol=0)
        assert np.linalg.eigvalsh(high)[0] > -1e-13 * len(X) * peak
        assert (kernel.standard_error(X, time=time) < 1e-2 * peak).all()


@pytest.mark.slow
@pytest.mark.parametrize("M", [hg.SpecialOrthogonal(6), hg.Grassmann(6, 3)], ids=repr)
def test_continuous_in_time_at_rank_three(M, rng):
    kernel, X, h = kernel_of(M), M.random(rng, 3), 1e-9
    for time in (0.25, 0.5, 1.0):
        low, high = (kernel(X, time=time * (1 + s * h)) for s in (-1, 1))
        np.testing.assert_allclose(high, low, atol=1e-7 * high.max(), rtol=0)


@pytest.mark.parametrize("M, times", [(hg.Sphere(2), (1e-4, 2e-4)), (hg.ComplexProjective(2), (3e-5, 7e-5))], ids=repr)
def test_continuous_where_the_sum_replaces_the_short_time_expansion(M, times):
    """Each change of log p_t(x, x) from time to time is the integral of its derivative, by the trapezoidal rule."""
    kernel, time = kernel_of(M), np.geomspace(*times, 12)
    value = np.array([kernel(M.origin, M.origin, time=t) for t in time]).ravel()
    slope = time * np.array([kernel.derivative(M.origin, M.origin, time=t) for t in time]).ravel() / value
    change = np.diff(np.log(time)) * (slope[1:] + slope[:-1]) / 2
    np.testing.assert_allclose(np.diff(np.log(value)), change, atol=2e-5)
