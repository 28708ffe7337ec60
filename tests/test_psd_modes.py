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
