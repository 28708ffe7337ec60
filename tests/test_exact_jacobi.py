"""Jacobi ensembles at short times: the expansion, the series it replaces, and plain high-precision arithmetic."""

import numpy as np
import pytest

from exact_reference import rank_one, scaled_log
from heatgp.heat.exact.families import (
    complex_grassmannian,
    complex_projective,
    real_projective,
    special_orthogonal,
    sphere,
)
from heatgp.heat.exact.jacobi import JacobiSeries

PROFILES = [
    *(sphere(1), sphere(2), sphere(9), real_projective(3), complex_projective(4)),
    *(special_orthogonal(3), special_orthogonal(5), special_orthogonal(8)),
    *(complex_grassmannian(4, 2), complex_grassmannian(7, 3)),
]


def near_angles(profile, time, rng):
    theta = rng.standard_normal((50, profile.rank)) * rng.uniform(0, 3, (50, 1)) * time**0.5
    theta[0] = 0
    return theta


@pytest.mark.parametrize("profile", PROFILES, ids=repr)
@pytest.mark.parametrize("time", [1e-5, 1e-3])
def test_the_short_time_expansion_is_the_series(profile, time, rng):
    """Two formulas with nothing in common."""
    short, series = JacobiSeries(profile, time), JacobiSeries(profile, time)
    assert short.is_short
    series.__dict__["is_short"] = False
    theta = near_angles(profile, time, rng)
    assert short.log_scale == pytest.approx(series.log_scale, rel=1e-13, abs=1e-13)
    np.testing.assert_allclose(short.value(theta), series.value(theta), atol=1e-13)
    np.testing.assert_allclose(short.slope(theta), series.slope(theta), atol=1e-12 / time)


@pytest.mark.parametrize("profile", PROFILES, ids=repr)
def test_the_tangent_space_at_the_shortest_times(profile, rng):
    """The kernel is the Gaussian up to curvature times t, down to clusters of the radius 1e-9."""
    dim = profile.rank * (2 * profile.alpha + 2 * profile.rank)
    for t in (1e-18, 1e-15, 1e-12):
        theta = near_angles(profile, t, rng)
        kernel = profile.at(t)
        gaussian = np.exp(-np.sum(theta**2, axis=-1) / (2 * t))
        np.testing.assert_allclose(kernel.relative_value(theta), gaussian, atol=1e-13 + 100 * t)
        assert kernel.log_scale == pytest.approx(-dim / 2 * np.log(2 * np.pi * t), rel=1e-13)
        slope = gaussian * (np.sum(theta**2, axis=-1) / t - dim) / (2 * t)
        np.testing.assert_allclose(kernel.relative_slope(theta), slope, atol=1e-11 / t)
        far = np.full((1, profile.rank), np.pi / profile.speed)
        assert kernel.relative_value(far)[0] == 0


@pytest.mark.parametrize("profile", [p for p in PROFILES if p.rank == 1], ids=repr)
@pytest.mark.parametrize("time", [1e-5, 1e-4, 1e-3, 0.004, 0.02, 0.06, 0.1, 0.3])
def test_rank_one_beside_high_precision(profile, time, rng):
    """Off the nodes of the table, and on both sides of the time where the series takes over."""
    r = np.append(0.0, rng.uniform(0, min(9 * time**0.5, np.pi / profile.speed), 5))
    log_peak, ratios = rank_one(profile.alpha, profile.beta, profile.speed, time, r)
    kernel = profile.at(time)
    np.testing.assert_allclose(kernel.relative_value(r[:, None]), [float(x) for x in ratios], rtol=0, atol=5e-14)
    assert scaled_log(kernel.log_scale, log_peak) < 1e-14


@pytest.mark.parametrize("profile", [*PROFILES, sphere(40), complex_projective(20)], ids=repr)
def test_no_time_has_a_long_series(profile):
    """The series has √(80/t) terms: the expansion takes over before they are many."""
    for time in np.geomspace(1e-18, 1e2, 81):
        series = JacobiSeries(profile, time)
        assert series.is_short or series._weights[0].shape[1] < 200
