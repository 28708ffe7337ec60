"""Heat kernels of positive definite matrices against high precision, against the laws they obey, and against paths."""

import warnings
from time import process_time

import mpmath as mp
import numpy as np
import pytest
from scipy.special import gamma, kv

from exact_reference import hermitian, symmetric_two
from heatgp import SPD, GPRegressor, HermitianPD, Hyperbolic, heat_kernel, matern_kernel, walk
from heatgp.errors import InvalidInput, SmallSampleWarning
from heatgp.heat.exact import positive_definite
from heatgp.heat.exact.positive_definite import (
    RULES,
    HermitianProfile,
    Rule,
    SymmetricProfile,
    ThreeSeries,
    _three,
    kept_quadratures,
)

TOLERANCE = 1e-12  # of p_t(x, x)
RADII = [0.0, 1e-8, 1e-4, 0.03, 0.3, 1.0, 2.5, 5.0, 10.0]


def direction(n, seed=0):
    """Coordinates h of length one, not adding up to zero."""
    h = np.random.default_rng(seed).standard_normal(n)
    return h / np.linalg.norm(h)


def symmetric_three(h, time):
    """The integral over complex rotations in Cartesian coordinates, by other nodes, with LAPACK's eigenvalues."""
    h, t = np.asarray(h, dtype=float), time
    line = np.exp(-(h.sum() ** 2) / (6 * t)) / np.sqrt(2 * np.pi * t)
    h = h - h.mean()
    step = min(0.5 * np.sqrt(t / 32), 0.25)
    number = 26 if t <= 8 else 56
    y = step * np.stack(np.indices((number,) * 3), axis=-1).reshape(-1, 3)  # even in each coordinate
    r = np.linalg.norm(y, axis=1)
    y, r = y[r < number * step], r[r < number * step]
    copies = 2.0 ** np.count_nonzero(y, axis=1)
    turn = np.zeros((len(y), 3, 3), dtype=complex)
    turn[:, 0, 1], turn[:, 0, 2], turn[:, 1, 2] = -1j * y[:, 2], 1j * y[:, 1], -1j * y[:, 0]
    values, vectors = np.linalg.eigh(turn + np.conj(turn.swapaxes(1, 2)))
    k = (vectors * np.exp(values)[:, None]) @ np.conj(vectors.swapaxes(1, 2))
    # the largest eigenvalues of the matrix and of its inverse; the determinant is one
    up, down = (
        np.log(np.linalg.eigvalsh((part * np.exp(sign * h / 2)) @ part)[:, -1])
        for part, sign in ((k, 1), (np.conj(k), -1))
    )
    s = np.stack([-down, down - up, up], axis=-1)
    gaps = np.abs(s[:, [0, 0, 1]] - s[:, [1, 2, 2]]) / 2
    sines = np.prod(np.where(gaps > 1e-6, np.maximum(gaps, 1e-6) / np.sinh(np.maximum(gaps, 1e-6)), 1.0), axis=1)
    area = np.where(r > 0, np.sinh(r) / np.where(r > 0, r, 1.0), 1.0) ** 2
    whole = step**3 * np.sum(copies * area * sines * np.exp(-2 * np.square(s).sum(axis=1) / t))
    return line * whole * np.exp(-t / 4) * (2 * np.pi * t) ** -2.5 * (16 / (np.pi * t)) ** 1.5


@pytest.mark.parametrize("time", [0.01, 0.3, 10.0])
@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_hermitian_matrices_agree_with_high_precision(n, time):
    p, h = HermitianProfile(n).at(time), np.outer(RADII, direction(n))
    exact = [hermitian(each, time) for each in h]
    values = np.array([float(x / exact[0]) for x in exact])
    assert np.abs(p.relative_value(h) - values).max() < TOLERANCE
    np.testing.assert_allclose(p.log(h), [float(mp.log(x)) for x in exact], rtol=TOLERANCE)


@pytest.mark.parametrize("time", [0.01, 0.3, 10.0])
def test_symmetric_matrices_of_size_two_agree_with_high_precision(time):
    p, h = SymmetricProfile(2).at(time), np.outer(RADII, direction(2))
    exact = [symmetric_two(each, time) for each in h]
    values = np.array([float(x / exact[0]) for x in exact])
    assert np.abs(p.relative_value(h) - values).max() < TOLERANCE
    np.testing.assert_allclose(p.log(h), [float(mp.log(x)) for x in exact], rtol=1e-11)


@pytest.mark.parametrize("time", [0.01, 0.2, 1.0])
def test_symmetric_matrices_of_size_three_agree_with_another_rule(time):
    p = SymmetricProfile(3).at(time)
    for radius in (0.0, 0.5, 2.0, 4.0):
        h = np.sqrt(time) * radius * direction(3, 1)
        assert p(h) == pytest.approx(symmetric_three(h, time), abs=TOLERANCE * p(np.zeros(3)))


@pytest.mark.parametrize(
    "time, tolerance",
    [(3.0, 1e-11), pytest.param(12.0, 1e-10, marks=pytest.mark.slow), (40.0, 1e-8)]
    + [pytest.param(time, 2e-6, marks=pytest.mark.slow) for time in (115.0, 400.0)],
)
def test_long_times_of_size_three_agree_with_another_rule(time, tolerance):
    """The tolerances are those of docs/api.md."""
    p = SymmetricProfile(3).at(time)
    for radius in (0.0, 0.5, 2.0, 5.0):
        h = radius * direction(3, 2)
        assert p(h) == pytest.approx(symmetric_three(h, time), abs=tolerance * p(np.zeros(3)))


def forget_quadratures():
    positive_definite._kept.clear()


def test_quadratures_share_a_memory_of_fixed_size(monkeypatch):
    """The last ones used are kept: 32 of any size were 560 MB after a search over times and distances."""
    forget_quadratures()
    rule = Rule(*RULES[0])
    first = kept_quadratures(rule, 2.0, 13)
    one = positive_definite.kept_bytes()
    monkeypatch.setattr(positive_definite, "KEPT", 3 * one)
    for reach in (2.5, 2.0, 3.0, 3.5):
        again = kept_quadratures(rule, reach, 13)
        assert again is kept_quadratures(rule, reach, 13)
        assert (reach != 2.0) or (again is first)
        assert positive_definite.kept_bytes() <= 3 * one
    monkeypatch.setattr(positive_definite, "KEPT", one // 2)
    assert np.isfinite(kept_quadratures(rule, 4.0, 13)[0].at(1.0)).all()
    assert positive_definite.kept_bytes() == 0
    forget_quadratures()


@pytest.mark.parametrize("n, spread", [(12, 3.0), (300, 0.5)])
def test_fits_take_two_seconds(n, spread, rng):
    """Quadratures are shared by all times of a search: 26 s before, and 66 s where 12 points are far apart."""
    A = spread * rng.standard_normal((n, 3, 3))
    values, vectors = np.linalg.eigh((A + A.swapaxes(1, 2)) / 2)
    X = np.einsum("nij,nj,nkj->nik", vectors, np.exp(values), vectors)
    y = values[:, 0] + 0.1 * rng.standard_normal(n)
    forget_quadratures()
    start = process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallSampleWarning)
        GPRegressor(SPD(3), smoothness=np.inf).fit(X, y)
    assert process_time() - start < 4.0  # with room for another process on the same cores


def test_hermitian_matrices_of_size_two_are_a_line_and_a_hyperbolic_space(rng):
    time, h = 0.7, rng.standard_normal((20, 2))
    M = Hyperbolic(3)
    r = np.abs(h[:, 0] - h[:, 1]) / 2
    points = np.stack([np.cosh(r), np.sinh(r), 0 * r, 0 * r], axis=-1)
    curved = heat_kernel(M)(points, M.origin, time=time / 2) / 2**1.5  # distances are √2 times as long
    line = np.exp(-(h.sum(axis=1) ** 2) / (4 * time)) / np.sqrt(2 * np.pi * time)
    np.testing.assert_allclose(HermitianProfile(2).at(time)(h), line * curved, rtol=1e-12)


PROFILES = [(SymmetricProfile(2), 1), (SymmetricProfile(3), 1), (HermitianProfile(2), 2), (HermitianProfile(4), 2)]


@pytest.mark.parametrize(
    "profile, multiplicity, time",
    [
        *((profile, m, time) for profile, m in PROFILES for time in (0.05, 0.5, 4.0)),
        *((SymmetricProfile(n), 1, time) for n in (4, 5) for time in (0.05, 0.4, 0.95)),
    ],
    ids=repr,
)
def test_heat_equation(profile, multiplicity, time):
    """dp/dt is half of the sum of p_ii and, over pairs, of m/2 coth((h_i - h_j)/2) (p_i - p_j)."""
    n, p = profile.n, profile.at(time)
    h = np.sqrt(min(time, 1.0)) * np.linspace(-0.7, 1.2, n) ** 3 + 0.1
    step = 2e-3 * np.sqrt(time)
    first, second = np.zeros(n), 0.0
    for i in range(n):
        values = [p(h + k * step * np.eye(n)[i]) for k in (-2, -1, 0, 1, 2)]
        first[i] = (values[0] - 8 * values[1] + 8 * values[3] - values[4]) / (12 * step)
        second += (-values[0] + 16 * values[1] - 30 * values[2] + 16 * values[3] - values[4]) / (12 * step**2)
    for i in range(n):
        for j in range(i):
            second += multiplicity / 2 / np.tanh((h[i] - h[j]) / 2) * (first[i] - first[j])
    assert p.slope(h) == pytest.approx(second / 2, abs=1e-7 * np.exp(p.log_scale) / time)


@pytest.mark.parametrize("time", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("M", [SPD(2), HermitianPD(2)], ids=repr)
def test_mass_is_one(M, time):
    """Gauss's rule in the sum and the difference, one order of the coordinates of two."""
    p = heat_kernel(M).profile.at(time)
    nodes, weights = np.polynomial.legendre.leggauss(100)
    end = 9 * np.sqrt(time) + time
    total, difference = (part.ravel() for part in np.meshgrid(2 * end * nodes, end * (nodes + 1)))
    h = np.stack((total + difference, total - difference), axis=-1) / 2
    mass = end**2 * np.outer(weights, weights).ravel() @ np.exp(p.log(h) + M.log_strip(h))
    assert 2 * mass == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("time", [0.1, 2.0])
def test_mass_of_three_sizes_is_one(time):
    """Without the line of determinants; Gauss's rule in both differences, one order of the coordinates of six."""
    M, p = SPD(3), ThreeSeries(time)
    nodes, weights = np.polynomial.legendre.leggauss(60)
    end = 12 * np.sqrt(time) + 2 * time
    x, w = end * (nodes + 1) / 2, end * weights / 2
    a, b = (part.ravel() for part in np.meshgrid(x, x))
    h = np.stack([0 * a, a, a + b], axis=-1)
    h = h - h.mean(axis=1, keepdims=True)
    density = np.exp(p.log_scale + np.log(2 * np.pi * time) / 2 + M.log_strip(h)) * p.value(h)
    # dh of three coordinates is that of the differences times that of the sum over √3, in units of which h has length
    mass = 6 * np.sum(density * np.outer(w, w).ravel()) / np.sqrt(3)
    assert mass == pytest.approx(1.0, abs=1e-8)


@pytest.mark.parametrize(
    "M", [SPD(2), SPD(3), SPD(4), SPD(5), SPD(3, "log-euclidean"), HermitianPD(2), HermitianPD(6)], ids=repr
)
def test_gram_matrices_are_positive_definite(M):
    X = M.random(0, 300)
    for time in (0.01, 0.3, min(3.0, heat_kernel(M).times[1])):
        values = np.linalg.eigvalsh(heat_kernel(M)(X, time=time))
        assert values[0] > -1e-10 * values[-1]


@pytest.mark.parametrize("time, tolerance", [(0.1, 1e-13), (0.3, 1e-13), (0.5, 1e-12), (1.0, 2e-9)])
def test_expansion_and_integral_agree(time, tolerance, rng):
    """For n = 3: at short times one is used, at long times the other. At 0.02 the integral has lost a digit."""
    h = np.sqrt(time) * rng.uniform(0, 4, (300, 1)) * rng.standard_normal((300, 3))
    h[:20, 1] = h[:20, 0]
    early, late = SymmetricProfile(3)._expanded(time), _three(time)
    assert early.log_scale == pytest.approx(late.log_scale, abs=tolerance)
    np.testing.assert_allclose(early.relative_value(h), late.relative_value(h), atol=tolerance)
    np.testing.assert_allclose(time * early.relative_slope(h), time * late.relative_slope(h), atol=30 * tolerance)
    np.testing.assert_allclose(early.relative_log(h[:5]), late.relative_log(h[:5]), atol=1e-12)


def test_expansion_of_size_two_is_that_of_the_hyperbolic_plane(rng):
    h = rng.uniform(-2, 2, (100, 2))
    for time in (0.05, 0.4):
        found, expected = SymmetricProfile(2)._expanded(time), SymmetricProfile(2).at(time)
        np.testing.assert_allclose(found(h), expected(h), atol=1e-13 * np.exp(expected.log_scale))


def test_times_beyond_the_expansion_are_refused_with_what_to_do(rng):
    """Of Matern kernels too, of which more than a thousandth would be of heat kernels that nobody knows."""
    M = SPD(4)
    X = M.random(rng, 3)
    with pytest.raises(
        InvalidInput, match=r"0 to 1\. No method goes further .* SPD\(n, 'log-euclidean'\) has a kernel"
    ):
        heat_kernel(M)(X, time=1.1)
    kernel = matern_kernel(M, 1.5)
    assert 0.7 < kernel.times[1] < 0.8
    with pytest.raises(InvalidInput, match=r"time = 0\.9 is beyond the times of matern.*, up to 0\.73.*No method"):
        kernel(X, time=0.9)
    assert matern_kernel(SPD(3), 1.5).times[1] == np.inf


@pytest.mark.parametrize("smoothness, time", [(0.5, 0.3), (1.5, 0.5), (2.5, 0.9)])
def test_matern_kernels_where_heat_kernels_end(smoothness, time, rng, monkeypatch):
    """SPD(3) as if it ended like SPD(4), against the average of all heat kernels: within the stated error."""
    M = SPD(3)
    X = M.exp(M.origin, np.linspace(0, 2.5, 5)[:, None, None] * M.noise(M.origin, M.random(rng, 5)) / 3)
    exact = matern_kernel(M, smoothness)(X, time=time)
    monkeypatch.setattr(SymmetricProfile, "times", (0.0, 1.0))
    monkeypatch.setattr(SymmetricProfile, "averaged_times", (0.0, 4.0))
    monkeypatch.setattr(SymmetricProfile, "prepare", lambda self, time: self._expanded(time))
    kernel = matern_kernel(M, smoothness)
    found, error = kernel(X, time=time), kernel.standard_error(X, time=time)
    assert error.max() < 3e-3 * exact.max()
    np.testing.assert_array_less(np.abs(found - exact), error + 1e-4 * exact.max())


def test_counts_of_paths_in_cells():
    """Brownian paths on 3 x 3 matrices, counted by both differences of h: within 4.5 standard errors in each cell."""
    M, time, number = SPD(3), 0.4, 40_000
    ends = walk(M, M.origin, times=[time], paths=number, step=0.002, rng=3)[0]
    gaps = np.diff(np.sort(M.orbit(M.origin, ends), axis=-1), axis=-1)
    edges = np.sqrt(time) * np.array([0, 0.3, 0.6, 0.9, 1.3, 1.8, 2.5, 4.0])
    counts = np.histogram2d(*gaps.T, bins=(edges, edges))[0]
    p, (nodes, weights) = ThreeSeries(time), np.polynomial.legendre.leggauss(8)
    middle, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    x, w = (middle[:, None] + half[:, None] * nodes).ravel(), (half[:, None] * weights).ravel()
    a, b = (part.ravel() for part in np.meshgrid(x, x, indexing="ij"))
    h = np.stack([0 * a, a, a + b], axis=-1)
    h = h - h.mean(axis=1, keepdims=True)
    scale = np.exp(p.log_scale + np.log(2 * np.pi * time) / 2 + M.log_strip(h))
    density = 6 / np.sqrt(3) * scale * p.value(h) * np.outer(w, w).ravel()
    expected = number * density.reshape(7, 8, 7, 8).sum(axis=(1, 3))
    assert expected.sum() > 0.97 * number
    error = np.sqrt(expected) + 2e-3 * expected  # of the counts, and of the steps of the paths
    np.testing.assert_array_less(np.abs(counts - expected), 4.5 * error)


@pytest.mark.parametrize("M", [SPD(3), SPD(4), SPD(5)], ids=repr)
def test_paths_are_where_the_kernel_says(M):
    """Means over paths of functions of h are integrals over the kernel: Chapman and Kolmogorov with p_s for one."""
    time, later = 0.3, 0.2
    X = walk(M, M.origin, times=[time], paths=20_000, step=0.005, rng=0)[0]
    kernel, y = heat_kernel(M), M.random(1, 4)
    values = kernel(X, y, time=later)
    expected = kernel(M.origin, y, time=time + later)
    error = values.std(axis=0) / np.sqrt(len(X))
    assert np.all(np.abs(values.mean(axis=0) - expected) < 4.5 * error)


@pytest.mark.parametrize("smoothness", [0.5, pytest.param(1.5, marks=pytest.mark.slow)])
@pytest.mark.parametrize("M", [SPD(2), HermitianPD(2)], ids=repr)
def test_matern_kernels_are_averages_over_times(M, smoothness):
    """By another rule for the integral over times."""
    X, time = M.random(3, 4), 0.5
    power = smoothness + M.dim / 2
    u = np.linspace(np.log(1e-24), np.log(60), 1000)
    weight = np.exp(power * u - smoothness * np.exp(u) / time) * (smoothness / time) ** power / gamma(power)
    heat = heat_kernel(M)
    expected = sum(w * heat(X, time=t) for w, t in zip(weight * (u[1] - u[0]), np.exp(u)) if w > 0)
    found = matern_kernel(M, smoothness)(X, time=time)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7 * found.max())


@pytest.mark.parametrize("smoothness", [0.5, 2.5])
def test_matern_kernels_of_the_flat_metric_are_bessel_functions(smoothness):
    M, time = SPD(3, "log-euclidean"), 0.8
    X = M.random(0, 5)
    z = np.sqrt(2 * smoothness / time) * M.distance(X[:1], X[1:])
    expected = 2 ** (1 - smoothness) / gamma(smoothness) * z**smoothness * kv(smoothness, z)
    kernel = matern_kernel(M, smoothness)
    np.testing.assert_allclose(kernel(X[:1], X[1:], time=time)[0] / kernel(X[0], X[0], time=time), expected, atol=1e-12)
