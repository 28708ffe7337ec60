"""SO(n), U(n) and SU(n) against high-precision determinants, coverings by spheres, character sums and martingales."""

from functools import partial
from itertools import product

import numpy as np
import pytest

from exact_reference import assert_agrees, chamber_quadrature, hard_angles, orthogonal
from exact_reference import unitary as unitary_reference
from heatgp.heat.exact import jacobi, short_time, unitary
from heatgp.heat.exact.families import special_orthogonal, sphere
from heatgp.heat.exact.unitary import UnitaryProfile

TIMES = [0.003, 0.03, 0.07, 0.3, 2.0, 10.0]


@pytest.mark.parametrize("time", [0.004, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_special_orthogonal_against_the_determinants(n, time):
    theta = hard_angles(n // 2, time, np.pi, np.random.default_rng(n))
    theta = theta[:: 1 if time >= 0.1 and n < 6 else 3]
    assert_agrees(special_orthogonal(n), partial(orthogonal, n), time, theta, slopes=3)


@pytest.mark.parametrize("time", [0.05, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_unitary_against_the_determinants(n, time):
    theta = hard_angles(n, time, np.pi, np.random.default_rng(n), low=-np.pi)
    theta = np.vstack([theta, np.where(np.arange(n) % 2, -np.pi, np.pi)])  # far apart, yet equal
    theta = theta[:: 1 if n < 4 else 3]
    assert_agrees(UnitaryProfile(n), partial(unitary_reference, n), time, theta, slopes=3)


@pytest.mark.slow
@pytest.mark.parametrize("time", [1e-3, 0.01, 0.06, 0.07, 0.5, 3.0, 10.0])
def test_large_groups_against_the_determinants(time):
    rng = np.random.default_rng(8)
    for n in (7, 8, 9, 10):
        theta = hard_angles(n // 2, time, np.pi, rng)
        assert_agrees(special_orthogonal(n), partial(orthogonal, n), time, theta[::2], slopes=2)
    for n in (5, 6):
        theta = hard_angles(n, time, np.pi, rng, low=-np.pi)[::3]
        assert_agrees(UnitaryProfile(n), partial(unitary_reference, n), time, theta, slopes=2)


@pytest.mark.parametrize("time", TIMES)
def test_three_dimensional_rotations_are_half_a_sphere_twice_as_large(time):
    theta = np.array([0, 1e-9, 0.01, 0.2, 1.0, 3.0, np.pi - 1e-9, np.pi])[:, None]
    ball = sphere(3).at(time / 4)
    expected = (ball(theta / 2) + ball(np.pi - theta / 2)) / 8
    np.testing.assert_allclose(special_orthogonal(3).at(time)(theta), expected, rtol=0, atol=1e-12 * expected[0])


@pytest.mark.parametrize("time", TIMES)
def test_four_dimensional_rotations_split_into_spheres(time):
    theta = hard_angles(2, time, np.pi, np.random.default_rng(0))
    one, two = np.abs(theta @ [[0.5, 0.5], [0.5, -0.5]]).T[..., None]
    ball = sphere(3).at(time / 2)
    expected = (ball(one) * ball(two) + ball(np.pi - one) * ball(np.pi - two)) / 8
    np.testing.assert_allclose(special_orthogonal(4).at(time)(theta), expected, rtol=0, atol=1e-12 * expected[0])


@pytest.mark.parametrize("time", TIMES)
def test_unitary_two_splits_into_circle_and_sphere(time):
    theta = hard_angles(2, time, np.pi, np.random.default_rng(0), low=-np.pi)
    circle, ball = sphere(1).at(time), sphere(3).at(time)
    phase, angle = theta.mean(axis=1), np.abs(theta[:, 0] - theta[:, 1]) / 2
    turned = np.abs((phase + 2 * np.pi) % (2 * np.pi) - np.pi)
    expected = circle(np.abs(phase)[:, None]) * ball(angle[:, None])
    expected += circle(turned[:, None]) * ball(np.pi - angle[:, None])
    np.testing.assert_allclose(UnitaryProfile(2).at(time)(theta), expected, rtol=0, atol=1e-12 * expected[0])


@pytest.mark.parametrize("time", [0.003, 0.05, 0.07, 0.12, 0.5, 1.9, 2.1, 4.1, 10.0, 40.0])
@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_unitary_is_circle_times_special_unitary(n, time):
    """p_U(exp(i phi) g) = sum_j N(phi - 2 pi j / n) p_SU(exp(2 pi i j / n) g), N the Gaussian of the line of phases."""
    theta = hard_angles(n, time, np.pi, np.random.default_rng(n), low=-np.pi)
    theta[:, -1] -= theta.sum(axis=1)
    theta = np.vstack([theta, np.full(n, 2 * np.pi / n)])
    phi, turns = 0.3 * min(1, np.sqrt(time)), np.arange(-60 * n, 60 * n + 1)
    distance = np.sqrt(n / 2) * (phi - 2 * np.pi * turns / n)
    line = np.exp(-(distance**2) / (2 * time)) / np.sqrt(2 * np.pi * time)
    keep = line > 1e-30 * line.max()
    line, distance, turns = line[keep], distance[keep], turns[keep]
    change = line * (distance**2 / time - 1) / (2 * time)
    kernel = UnitaryProfile(n, special=True).at(time)
    around = theta[:, None] + 2 * np.pi * turns[:, None] / n
    whole = UnitaryProfile(n).at(time)
    scale = whole(np.zeros(n))
    np.testing.assert_allclose(kernel(around) @ line / scale, whole(theta + phi) / scale, rtol=0, atol=1e-12)
    slope = (kernel(around) @ change + kernel.slope(around) @ line) / scale * time
    np.testing.assert_allclose(slope, whole.slope(theta + phi) / scale * time, rtol=0, atol=1e-11)


@pytest.mark.parametrize("n", [3, 4])
def test_special_unitary_at_the_identity_is_the_sum_of_squared_dimensions(n):
    """p_t(x, x) = (1/vol) sum of dim^2 exp(-t (|l|^2 - (sum l)^2 / n - |rho|^2)) over l = highest weight + rho."""
    time, rho = 0.4, np.arange(n)[::-1] - (n - 1) / 2
    total = 0.0
    for labels in product(range(25 if n == 3 else 16), repeat=n - 1):
        weight = np.append(np.cumsum(labels[::-1])[::-1], 0) + rho
        dimension = np.prod([(weight[i] - weight[j]) / (j - i) for i in range(n) for j in range(i + 1, n)])
        total += dimension**2 * np.exp(-time * (weight @ weight - weight.sum() ** 2 / n - rho @ rho))
    kernel = UnitaryProfile(n, special=True)
    np.testing.assert_allclose(kernel.at(time)(np.zeros(n)) * kernel.volume, total, rtol=1e-12)


@pytest.mark.parametrize("n", [5, 6, 7])
def test_special_orthogonal_at_the_identity_is_the_sum_of_squared_dimensions(n):
    time, r = 0.5, n // 2
    rho = n / 2 - np.arange(1, r + 1)
    total = 0.0
    for steps in product(range(18), repeat=r):
        highest = np.cumsum(steps[::-1])[::-1].astype(float)
        weight = highest + rho
        pairs = [(i, j) for i in range(r) for j in range(i + 1, r)]
        dimension = np.prod([(weight[i] ** 2 - weight[j] ** 2) / (rho[i] ** 2 - rho[j] ** 2) for i, j in pairs])
        dimension *= np.prod(weight / rho) if n % 2 else 1
        both = 2 if n % 2 == 0 and highest[-1] > 0 else 1  # the weights with the last entry reversed
        total += both * dimension**2 * np.exp(-time * (weight @ weight - rho @ rho) / 2)
    kernel = special_orthogonal(n)
    np.testing.assert_allclose(kernel.at(time)(np.zeros(r)) * kernel.volume, total, rtol=1e-12)


@pytest.mark.parametrize("time", [0.03, 0.3, 2.0])
@pytest.mark.parametrize("n", [3, 4, 5, 6, 7])
def test_special_orthogonal_has_mass_one_and_the_right_mean(n, time):
    """E tr(x'B_t) = n exp(-(n - 1) t / 2)."""
    r = n // 2
    theta, weight = chamber_quadrature(r, 0.0, np.pi, 80 if r < 3 else 40)
    cosine = np.cos(theta)
    for i in range(r):
        weight = weight * ((1 - cosine[:, i]) if n % 2 else 1)
        for j in range(i):
            weight = weight * (cosine[:, i] - cosine[:, j]) ** 2
    profile = special_orthogonal(n)
    mass = profile.at(time)(theta) * weight * profile.volume / weight.sum()
    assert abs(mass.sum() - 1) < 1e-10
    trace = 2 * cosine.sum(axis=1) + n % 2
    assert abs(mass @ trace - n * np.exp(-(n - 1) * time / 2)) < 1e-9


@pytest.mark.parametrize("time", [0.05, 0.3, 2.0])
@pytest.mark.parametrize("n, special", [(1, False), (2, False), (3, False), (2, True), (3, True), (4, True)])
def test_unitary_groups_have_mass_one_and_the_right_mean(n, special, time):
    """E tr(x*B_t) = n exp(-n t) on U(n), n exp(-(n - 1/n) t) on SU(n); the trapezoid rule is exact on the torus."""
    free, nodes = n - special, 40 if n - special == 3 else 96
    angle = 2 * np.pi * np.arange(nodes) / nodes
    theta = np.stack(np.meshgrid(*[angle] * free, indexing="ij"), axis=-1).reshape(-1, free)
    if special:
        theta = np.hstack([theta, -theta.sum(axis=1, keepdims=True)])
    z = np.exp(1j * theta)
    weight = np.prod([np.abs(z[:, i] - z[:, j]) ** 2 for i in range(n) for j in range(i)], axis=0) * np.ones(len(z))
    profile = UnitaryProfile(n, special=True) if special else UnitaryProfile(n)
    mass = profile.at(time)(theta) * weight * profile.volume / weight.sum()
    assert abs(mass.sum() - 1) < 1e-11
    rate = n - 1 / n if special else n
    assert abs(mass @ z.sum(axis=1) - n * np.exp(-rate * time)) < 1e-10


@pytest.mark.parametrize("time", [0.05, 0.5, 5.0])
def test_kernels_respect_the_symmetries_of_the_angles(time):
    rng = np.random.default_rng(4)
    for profile in (
        special_orthogonal(5),
        special_orthogonal(6),
        UnitaryProfile(3),
        UnitaryProfile(3, special=True),
        UnitaryProfile(4, special=True),
    ):
        turning = profile in (UnitaryProfile(3), UnitaryProfile(3, special=True), UnitaryProfile(4, special=True))
        size = profile.n if turning else profile.rank
        theta = rng.uniform(0, 1.5 * np.sqrt(time), (20, size)) % np.pi
        theta[:, -1] -= theta.sum(axis=1) if turning else 0
        theta = theta if turning else np.abs(theta)
        kernel = profile.at(time)
        tolerance = 1e-13 * kernel(np.zeros(size))
        np.testing.assert_allclose(kernel(theta[:, ::-1]), kernel(theta), rtol=0, atol=tolerance)
        np.testing.assert_allclose(kernel(-theta), kernel(theta), rtol=0, atol=tolerance)
        if turning:
            turns = 2 * np.pi * rng.integers(-2, 3, theta.shape)
            np.testing.assert_allclose(kernel(theta + turns), kernel(theta), rtol=0, atol=10 * tolerance)
        else:
            signs = rng.choice([-1, 1], theta.shape)
            np.testing.assert_allclose(kernel(signs * theta), kernel(theta), rtol=0, atol=tolerance)


def eigenangles(x, y):
    return np.angle(np.linalg.eigvals(np.conj(np.swapaxes(x, -1, -2))[:, None] @ y))


@pytest.mark.parametrize("time", [1e-3, 0.05, 0.3, 3.0])
@pytest.mark.parametrize(
    "profile", [special_orthogonal(4), special_orthogonal(5), UnitaryProfile(3), UnitaryProfile(3, special=True)]
)
def test_gram_matrices_are_positive_definite_to_rounding(profile, time):
    rng = np.random.default_rng(5)
    real = profile in (special_orthogonal(4), special_orthogonal(5))
    n = (4 if profile == special_orthogonal(4) else 5) if real else 3
    noise = rng.normal(size=(60, n, n)) + (0 if real else 1j * rng.normal(size=(60, n, n)))
    noise[:30] = noise[0] + np.sqrt(time) * noise[:30]  # a cluster as wide as the kernel
    noise[40], noise[41] = noise[0], noise[1]
    x = np.linalg.qr(noise)[0]
    determinant = np.linalg.det(x)
    x[:, :, 0] /= (np.sign(determinant) if real else determinant)[:, None] if profile != UnitaryProfile(3) else 1
    theta = eigenangles(x, x)
    if real:
        theta = np.sort(np.abs(theta), axis=-1)[..., n % 2 :: 2]
    gram = profile.at(time)(theta)
    eigenvalues = np.linalg.eigvalsh((gram + gram.T) / 2)
    assert eigenvalues[0] > -1e-12 * eigenvalues[-1]
    np.testing.assert_allclose(gram, gram.T, rtol=0, atol=1e-12 * gram.max())


@pytest.mark.parametrize(
    "profile, size", [(special_orthogonal(8), 4), (UnitaryProfile(6), 6), (UnitaryProfile(5, special=True), 5)]
)
def test_extreme_times(profile, size):
    theta = np.array([np.zeros(size), np.linspace(-1, 1, size)])
    theta[1] -= theta[1].mean()
    long = profile.at(1e3)
    np.testing.assert_allclose(long(np.abs(theta) if size == 4 else theta), 1 / profile.volume, rtol=1e-12)
    np.testing.assert_allclose(long.slope(np.zeros(size)), 0, atol=1e-100)
    dim = 28 if size == 4 else profile.dim
    time = 1e-6
    assert abs(profile.at(time)(np.zeros(size)) * (2 * np.pi * time) ** (dim / 2) - 1) < 1e-4  # 1 + scal t / 12


@pytest.mark.parametrize("n, tolerance", [(5, 2e-14), (8, 3e-12), (10, 1e-10)])
def test_accuracy_where_long_double_is_a_double(n, tolerance, monkeypatch):
    """As on ARM and Windows: the errors that docs/api.md states."""
    for module in (jacobi, short_time, unitary):
        monkeypatch.setattr(module, "_LONG", np.float64)
    short_time.short_time.cache_clear()
    try:
        for time in (0.06, 0.5):
            theta = hard_angles(n // 2, time, np.pi, np.random.default_rng(0))[::6]
            profile, reference = special_orthogonal(n), partial(orthogonal, n)
            scale = float(reference(time, np.zeros(n // 2)))
            expected = np.array([float(reference(time, x)) for x in theta])
            np.testing.assert_allclose(profile.at(time)(theta) / scale, expected / scale, rtol=0, atol=tolerance)
    finally:
        short_time.short_time.cache_clear()
