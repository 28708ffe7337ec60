"""Jacobi ensembles at the shortest times, where the series gives way to the short-time expansion."""

import numpy as np
import pytest

from heatgp.heat.exact.families import (
    complex_grassmannian,
    complex_projective,
    real_projective,
    special_orthogonal,
    sphere,
)
from heatgp.heat.exact.jacobi import SHORT, JacobiSeries


@pytest.mark.parametrize(
    "profile",
    [
        *(sphere(1), sphere(2), sphere(9), real_projective(3), complex_projective(4)),
        *(special_orthogonal(3), special_orthogonal(5), special_orthogonal(8)),
        *(complex_grassmannian(4, 2), complex_grassmannian(7, 3)),
    ],
    ids=repr,
)
def test_the_short_time_expansion_continues_the_series(profile, rng):
    """Two formulas with nothing in common, on both sides of the time where one takes over from the other."""
    series, short = profile.at(SHORT), profile.at(SHORT * (1 - 1e-12))
    assert isinstance(series.value.__self__, JacobiSeries)
    assert short.value.__qualname__.startswith("short_time")
    theta = rng.standard_normal((50, profile.rank)) * rng.uniform(0, 3, (50, 1)) * SHORT**0.5
    theta[0] = 0
    peak = series(theta[:1])[0]
    np.testing.assert_allclose(short(theta), series(theta), atol=1e-11 * peak)
    np.testing.assert_allclose(short.slope(theta), series.slope(theta), atol=1e-10 * peak / SHORT)
    far = np.full((1, profile.rank), np.pi / profile.speed)
    assert profile.at(1e-9)(far)[0] == 0
