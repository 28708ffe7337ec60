"""Complex Grassmannians against high-precision determinants, projective space, mass one and the martingale."""

from functools import partial

import numpy as np
import pytest

from exact_reference import assert_agrees, chamber_quadrature, grassmannian, hard_angles
from heatgp.heat.exact.families import complex_grassmannian, complex_projective


@pytest.mark.parametrize("time", [0.003, 0.05, 0.5, 5.0])
@pytest.mark.parametrize("n, k", [(4, 2), (7, 2), (6, 3)])
def test_against_the_determinants(n, k, time):
    theta = hard_angles(k, time, np.pi / 2, np.random.default_rng(n))[:: 1 if time > 0.01 else 4]
    assert_agrees(complex_grassmannian(n, k), partial(grassmannian, n, k), time, theta, slopes=2)


@pytest.mark.slow
@pytest.mark.parametrize("time", [1e-3, 0.02, 0.3, 10.0])
@pytest.mark.parametrize("n, k", [(8, 4), (10, 4), (12, 3)])
def test_large_ones_against_the_determinants(n, k, time):
    theta = hard_angles(k, time, np.pi / 2, np.random.default_rng(n))[::3]
    assert_agrees(complex_grassmannian(n, k), partial(grassmannian, n, k), time, theta, slopes=2, tolerance=1e-11)


def test_lines_make_projective_space():
    theta = np.linspace(0, np.pi / 2, 9)[:, None]
    expected = complex_projective(4).at(0.1)(theta)
    np.testing.assert_allclose(complex_grassmannian(5, 1).at(0.1)(theta), expected, rtol=1e-12)


@pytest.mark.parametrize("time", [0.02, 0.1, 1.0])
@pytest.mark.parametrize("n, k", [(4, 2), (5, 2), (9, 2), (6, 3)])
def test_mass_is_one_and_the_projections_correlate_as_they_should(n, k, time):
    """E[tr(P_x P_y) - k^2/n] = (k - k^2/n) exp(-2 n t)."""
    theta, weight = chamber_quadrature(k, 0.0, np.pi / 2, 60 if k == 2 else 36)
    weight = weight * np.prod(np.sin(theta) ** (2 * n - 4 * k) * np.sin(2 * theta), axis=1)
    for i in range(k):
        for j in range(i):
            weight = weight * (np.sin(theta[:, i] - theta[:, j]) * np.sin(theta[:, i] + theta[:, j])) ** 2
    profile = complex_grassmannian(n, k)
    mass = profile.at(time)(theta) * weight * profile.volume / weight.sum()
    assert abs(mass.sum() - 1) < 1e-10
    trace = (np.cos(theta) ** 2).sum(axis=1) - k**2 / n
    assert abs(mass @ trace - (k - k**2 / n) * np.exp(-2 * n * time)) < 1e-10


@pytest.mark.parametrize("time", [1e-3, 0.05, 1.0])
def test_gram_matrices_are_positive_definite_to_rounding(time):
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(60, 4, 2)) + 1j * rng.normal(size=(60, 4, 2))
    noise[:30] = noise[0] + np.sqrt(time) * noise[:30]
    x = np.linalg.qr(noise)[0]
    cosine = np.linalg.svd(np.conj(np.swapaxes(x, 1, 2))[:, None] @ x, compute_uv=False)
    gram = complex_grassmannian(4, 2).at(time)(np.arccos(np.minimum(cosine, 1)))
    eigenvalues = np.linalg.eigvalsh((gram + gram.T) / 2)
    assert eigenvalues[0] > -1e-12 * eigenvalues[-1]


def test_extreme_times():
    profile = complex_grassmannian(5, 2)
    np.testing.assert_allclose(profile.at(1e3)([[0.0, 0.0], [0.3, 1.2]]), 1 / profile.volume, rtol=1e-13)
    assert abs(profile.at(1e-6)([0.0, 0.0]) * (2e-6 * np.pi) ** 6 - 1) < 1e-4  # 1 + scal t / 12
