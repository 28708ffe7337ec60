"""Matern kernels against 40-digit series, Bessel functions, sums over images, scikit-learn and the laws of kernels."""

import gc
import math
import time
import warnings
from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest
from scipy.special import gammaln
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

import heatgp as hg
from catalog import FAST_MATERN_KERNELS, MATERN_KERNELS
from heatgp.baselines.comparison import DEFAULT
from heatgp.errors import InvalidInput, SmallSampleWarning
from heatgp.heat.averaged.gamma_times import GammaTimes
from heatgp.heat.matern import MaternKernel, with_smoothness
from heatgp.testing import check_kernel

HALVES = (0.5, 1.5, 2.5)
ENOUGH = 1e-9
"""The error that is allowed, in units of the diagonal."""


def rotation(angle):
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


RANK_ONE = {
    # manifold, the point at a distance from the first, and Jacobi parameters, speed, volume
    "S2": (hg.Sphere(2), lambda d: np.array([math.cos(d), math.sin(d), 0.0]), (0, 0, 1, 4 * mp.pi)),
    "SO3": (hg.SpecialOrthogonal(3), rotation, (mp.mpf(1) / 2, -mp.mpf(1) / 2, 1, 8 * mp.pi**2)),
    "CP2": (
        hg.ComplexProjective(2),
        lambda d: np.array([math.cos(d), math.sin(d), 0.0], dtype=complex),
        (1, 0, 2, mp.pi**2 / 2),
    ),
}


def coefficient(dim, smoothness, t, eigenvalue):
    """The spectral density of the Matern kernel, one at the eigenvalue 0."""
    return (1 + eigenvalue * t / (2 * smoothness)) ** -(smoothness + mp.mpf(dim) / 2)


def series(parameters, dim, distance, cases, terms):
    """Sums over zonal polynomials, one for each (smoothness, time), to 40 digits.

    The terms fall like a power. A cut-off that is smooth over all of them changes nothing beyond rounding at a distance
    that is many times 1/terms, where the sum is an infinitely differentiable function.
    """
    alpha, beta, speed, volume = parameters
    alpha, beta = mp.mpf(alpha), mp.mpf(beta)
    nu, x = alpha + beta + 1, mp.cos(speed * mp.mpf(distance))
    total, before, value, dimension = [mp.mpf(0)] * len(cases), mp.mpf(0), mp.mpf(1), mp.mpf(1)
    for k in range(terms):
        eigenvalue = speed**2 * k * (k + nu)
        part = mp.erfc(22 * (mp.mpf(k) / terms - mp.mpf("0.55"))) / 2 * dimension * value / volume
        for i, case in enumerate(cases):
            total[i] += part * coefficient(dim, *case, eigenvalue)
        n = mp.mpf(k + 1)
        if k == 0:
            after = 1 - (1 - x) * (nu + 1) / (2 * (alpha + 1))
            dimension = (nu + 2) * (alpha + 1) / (beta + 1)
        else:  # of the polynomials that are one at x = 1
            s = 2 * n + alpha + beta
            ahead = (s - 1) * (s * (s - 2) * x + alpha**2 - beta**2)
            back = 2 * (n + alpha - 1) * (n + beta - 1) * s * (n - 1) / (n - 1 + alpha)
            after = (ahead * value - back * before) / (2 * n * (n + alpha + beta) * (s - 2)) * n / (n + alpha)
            dimension *= (2 * k + 2 + nu) / (2 * k + nu) * (k + nu) * (k + alpha + 1) / (n * (n + beta))
        before, value = value, after
    return total


@pytest.mark.parametrize("name", RANK_ONE)
def test_series_to_40_digits(name):
    manifold, point, parameters = RANK_ONE[name]
    with mp.workdps(40):
        cases = [(mp.mpf(nu), mp.mpf(t)) for nu in HALVES for t in ("0.01", "0.3", "4")]
        for distance in (0.8, 1.4):
            expected = series(parameters, manifold.dim, distance, cases, 400)
            again = series(parameters, manifold.dim, distance, cases[:1], 300)
            assert abs(again[0] - expected[0]) < 1e-12 * abs(expected[0])  # the cut-off does not count
            for (nu, t), value in zip(cases, expected):
                kernel = hg.matern_kernel(manifold, float(nu))
                found, peak = (kernel(point(0.0), point(d), time=float(t)) for d in (distance, 0.0))
                assert abs(float(found - value)) < ENOUGH * peak


@pytest.mark.slow
@pytest.mark.parametrize("name", RANK_ONE)
def test_series_to_40_digits_at_more_times_and_distances(name):
    manifold, point, parameters = RANK_ONE[name]
    with mp.workdps(40):
        cases = [(mp.mpf(nu), mp.mpf(t)) for nu in HALVES for t in ("0.01", "0.03", "0.1", "0.5", "1", "2", "4")]
        for distance in (0.05, 0.1, 0.2, 0.5, 0.8, 1.1, 1.5):
            for (nu, t), value in zip(cases, series(parameters, manifold.dim, distance, cases, 5000)):
                kernel = hg.matern_kernel(manifold, float(nu))
                found, peak = (kernel(point(0.0), point(d), time=float(t)) for d in (distance, 0.0))
                assert abs(float(found - value)) < ENOUGH * peak


@pytest.mark.parametrize("nu", HALVES)
def test_diagonal_of_the_sphere(nu):
    """The series has no sign there, and is summed by Euler and Maclaurin."""
    with mp.workdps(40):
        for t in (0.01, 0.3, 4.0):
            case = (2, mp.mpf(nu), mp.mpf(t))
            terms = 60

            def term(k, case=case):
                return (2 * k + 1) * coefficient(*case, k * (k + 1))

            head = mp.fsum(term(mp.mpf(k)) for k in range(terms))
            # with c = t / 2 nu the tail's integral is elementary: d(k (k + 1)) = (2 k + 1) dk
            c = case[2] / (2 * case[1])
            tail = (1 + c * terms * (terms + 1)) ** -case[1] / (c * case[1])
            corrections = mp.fsum(
                -mp.bernoulli(2 * j) / mp.factorial(2 * j) * mp.diff(term, mp.mpf(terms), 2 * j - 1)
                for j in range(1, 9)
            )
            expected = (head + tail + term(mp.mpf(terms)) / 2 + corrections) / (4 * mp.pi)
            found = hg.matern_kernel(hg.Sphere(2), nu).diag(np.eye(3)[0], t)
            assert abs(float(found - expected)) < ENOUGH * float(expected)


@pytest.mark.slow
@pytest.mark.parametrize("nu", HALVES)
def test_integral_over_time(nu):
    """The definition itself, with the heat kernel's series to 40 digits; short times count for nothing far away."""
    with mp.workdps(40):
        distance, t, a = mp.mpf(1), mp.mpf("0.3"), mp.mpf(nu) + 1

        def heat(s):
            terms = int(mp.sqrt(200 / s)) + 5
            return mp.fsum(
                (2 * k + 1) * mp.exp(-k * (k + 1) * s / 2) * mp.legendre(k, mp.cos(distance)) for k in range(terms)
            ) / (4 * mp.pi)

        def integrand(u):
            s = mp.exp(u)
            return s**a * mp.exp(-mp.mpf(nu) * s) * mp.mpf(nu) ** a / mp.gamma(a) * heat(s * t)

        with mp.workdps(25):
            expected = mp.quad(integrand, mp.linspace(mp.log(distance**2 / (100 * t)), mp.log(130 / nu), 9))
        kernel = hg.matern_kernel(hg.Sphere(2), nu)
        x, y = np.eye(3)[0], np.array([math.cos(1.0), math.sin(1.0), 0.0])
        assert abs(float(kernel(x, y, time=0.3) - expected)) < ENOUGH * float(kernel.diag(x, 0.3))


def flat_constant(nu, n, t):
    return math.exp(gammaln(nu) - gammaln(nu + n / 2)) * (2 * math.pi * t / nu) ** (-n / 2)


@pytest.mark.parametrize("nu", HALVES)
def test_torus_is_a_sum_over_images(nu):
    X = hg.Torus(2).random(np.random.default_rng(0), 7)
    turns = 2 * math.pi * np.arange(-40, 41)
    gap = X[:, None] - X
    distance = np.hypot(gap[..., 0, None, None] + turns[:, None], gap[..., 1, None, None] + turns)
    for t in (0.01, 0.3, 4.0):
        z = math.sqrt(2 * nu / t) * distance
        polynomial = {0.5: 1 + 0 * z, 1.5: 1 + z, 2.5: 1 + z + z**2 / 3}[nu]
        expected = flat_constant(nu, 2, t) * (polynomial * np.exp(-z)).sum(axis=(-1, -2))
        found = hg.matern_kernel(hg.Torus(2), nu)(X, time=t)
        assert np.abs(found - expected).max() < ENOUGH * expected[0, 0]


def images_to_40_digits(nu, t, gap):
    """The sum over images on the torus of two angles: the Poisson sum of its series, with exponentially small terms.

    Images beyond `turns` turns are farther than pi (2 turns + 1); in ring k there are 8k of them. What is left out is
    below 1e-30 of the diagonal.
    """
    unit = mp.sqrt(2 * nu / t)

    def correlation(distance):  # 2^(1-nu) / Gamma(nu) z^nu K_nu(z), which is elementary for half a whole number
        z = unit * distance
        return {0.5: 1, 1.5: 1 + z, 2.5: 1 + z + z**2 / 3}[float(nu)] * mp.exp(-z)

    turns = 0
    while mp.fsum(8 * k * correlation(mp.pi * (2 * k - 1)) for k in range(turns + 1, turns + 60)) > mp.mpf(10) ** -30:
        turns += 1
    rows, columns = ([mp.mpf(part) + 2 * mp.pi * k for k in range(-turns, turns + 1)] for part in gap)
    total = mp.fsum(correlation(mp.hypot(row, column)) for row in rows for column in columns)
    return mp.gamma(nu) / mp.gamma(nu + 1) * nu / (2 * mp.pi * t) * total


@pytest.mark.parametrize("nu", HALVES)
def test_torus_has_40_digits_of_images(nu):
    gaps = np.array([[0.0, 0.0], [1e-3, 0.0], [0.4, -0.02], [3.0, 2.5]])
    assert bessel_is_elementary()
    with mp.workdps(40):
        for t in (0.01, 0.3, 4.0):
            expected = [images_to_40_digits(mp.mpf(nu), mp.mpf(t), gap) for gap in gaps.tolist()]
            found = hg.matern_kernel(hg.Torus(2), nu)(np.zeros((1, 2)), gaps, time=t)[0]
            worst = max(abs(float(a - b)) for a, b in zip(found, expected))
            assert worst < ENOUGH * float(expected[0])


@pytest.mark.slow
@pytest.mark.parametrize("nu", HALVES)
def test_torus_has_40_digits_of_images_at_more_times_and_points(nu):
    gaps = np.random.default_rng(0).uniform(-math.pi, math.pi, (12, 2)) * np.geomspace(1e-4, 1, 12)[:, None]
    with mp.workdps(40):
        for t in (0.01, 0.03, 0.1, 0.5, 1.0, 2.0, 4.0):
            peak = float(images_to_40_digits(mp.mpf(nu), mp.mpf(t), [0.0, 0.0]))
            found = hg.matern_kernel(hg.Torus(2), nu)(np.zeros((1, 2)), gaps, time=t)[0]
            for value, gap in zip(found, gaps.tolist()):
                assert abs(float(value - images_to_40_digits(mp.mpf(nu), mp.mpf(t), gap))) < ENOUGH * peak


def bessel_is_elementary():
    """Whether the polynomials above are those of Bessel functions."""
    with mp.workdps(40):
        z = mp.mpf(3) / 7
        bessel = [2 ** (1 - mp.mpf(nu)) / mp.gamma(nu) * z ** mp.mpf(nu) * mp.besselk(nu, z) for nu in HALVES]
        known = [mp.exp(-z), (1 + z) * mp.exp(-z), (1 + z + z**2 / 3) * mp.exp(-z)]
        return all(abs(a - b) < mp.mpf(10) ** -35 for a, b in zip(bessel, known))


def sphere_and_plane_series(nu, times, cosine, steps):
    """S^2 x R^n with a time for the sphere and one for each coordinate, to 40 digits.

    For the mode l of the sphere the mean over s is an integral over s^(nu) exp(-b s - c/s), a Bessel function; away
    from distance 0 in R^n the sum over l falls exponentially.
    """
    first, *others = times
    c = mp.fsum(mp.mpf(step) ** 2 / (2 * t) for step, t in zip(steps, others))
    a, order = nu + 1 + mp.mpf(len(others)) / 2, nu + 1
    before, value, terms = mp.mpf(0), mp.mpf(1), []
    for degree in range(2000):
        b = nu + degree * (degree + 1) * first / 2
        factor = (2 * degree + 1) * 2 * (c / b) ** (order / 2) * mp.besselk(order, 2 * mp.sqrt(b * c))
        terms.append(factor * value)
        if degree > 3 and factor < mp.mpf(10) ** -32 * abs(terms[0]):
            break
        before, value = value, ((2 * degree + 1) * cosine * value - degree * before) / (degree + 1)
    constant = nu**a / mp.gamma(a) / mp.fprod(mp.sqrt(2 * mp.pi * t) for t in others)
    return constant * mp.fsum(terms) / (4 * mp.pi)


@pytest.mark.parametrize("nu", HALVES)
@pytest.mark.parametrize("which", ["each", "coordinates"])
def test_several_times_on_a_product_to_40_digits(which, nu):
    manifold = hg.Product(hg.Sphere(2), hg.Euclidean(2))
    kernel = hg.matern_kernel(manifold, nu).with_times(which)
    assert kernel.parameters == (2 if which == "each" else 3)
    for times in ((0.3, 0.5, 0.5), (2.0, 0.4, 0.4), (0.05, 0.02, 0.6)):
        if which == "each" and times[1] != times[2]:
            continue
        given = times[: kernel.parameters]
        places = [(0.0, 0.9, -0.7), (0.4, 0.5, 0.6), (2.0, 0.0, 1.1)]
        X = [manifold.join([math.cos(d), math.sin(d), 0.0], [r, s]) for d, r, s in places]
        origin = manifold.join([1.0, 0.0, 0.0], [0.0, 0.0])
        found, peak = kernel(origin, np.array(X), time=given), float(kernel.diag(origin, given))
        slopes = kernel.derivative(origin[None], np.array(X), time=given)[:, 0]
        with mp.workdps(40):
            for i, (d, *steps) in enumerate(places):

                def series_at(*t, d=d, steps=steps):
                    full = t if which == "coordinates" else (*t, t[1])
                    return sphere_and_plane_series(mp.mpf(nu), full, mp.cos(mp.mpf(d)), steps)

                exact = [mp.mpf(t) for t in given]
                assert abs(float(found[i] - series_at(*exact))) < ENOUGH * peak
                for k, t in enumerate(given if i == 1 else ()):
                    slope = mp.diff(series_at, exact, tuple(int(j == k) for j in range(len(given))))
                    assert abs(float(slopes[k, i] - slope)) < 10 * ENOUGH * peak / t


@pytest.mark.parametrize("nu", [1.5, *(pytest.param(nu, marks=pytest.mark.slow) for nu in (0.5, 2.5))])
@pytest.mark.parametrize("times", [(0.5, 0.3), pytest.param((1.0, 0.11), marks=pytest.mark.slow)])
def test_several_times_on_two_curved_factors_to_40_digits(times, nu):
    """S^1 x S^2 is a sum over the images of an angle in R x S^2, which fall like exp(-√(2 nu / t) distance)."""
    manifold = hg.Product(hg.Torus(1), hg.Sphere(2))
    kernel = hg.matern_kernel(manifold, nu).with_times("each")
    places = [(1.3, 0.0), (1.1, 0.4), (2.9, 2.5)]
    X = np.array([manifold.join([angle], [math.cos(d), math.sin(d), 0.0]) for angle, d in places])
    origin = manifold.join([0.0], [1.0, 0.0, 0.0])
    found, peak = kernel(origin, X, time=times), float(kernel.diag(origin, times))
    slopes = kernel.derivative(origin[None], X, time=times)[:, 0]
    turns = math.ceil(40 / math.sqrt(2 * nu / times[0]) / (2 * math.pi))  # exp(-40) = 4e-18
    with mp.workdps(40):
        for i, (angle, d) in enumerate(places):

            def images(circle, sphere, angle=angle, d=d):
                turned = [mp.mpf(angle) + 2 * mp.pi * k for k in range(-turns, turns + 1)]
                return mp.fsum(
                    sphere_and_plane_series(mp.mpf(nu), (sphere, circle), mp.cos(mp.mpf(d)), [gap]) for gap in turned
                )

            exact = [mp.mpf(t) for t in times]
            assert abs(float(found[i] - images(*exact))) < ENOUGH * peak
            if i == 1:
                for k, order in enumerate([(1, 0), (0, 1)]):
                    slope = mp.diff(images, exact, order)
                    assert abs(float(slopes[k, i] - slope)) < 10 * ENOUGH * peak / times[k]


@pytest.mark.parametrize("which", ["each", "coordinates"])
def test_several_times_are_positive_definite(which):
    """At times that are far from each other, with points that nearly coincide."""
    manifold, rng = hg.Product(hg.Sphere(2), hg.Torus(1), hg.Euclidean(2)), np.random.default_rng(0)
    X = manifold.random(rng, 40)
    X[20:] = manifold.project(X[:20] + 1e-5 * rng.standard_normal((20, *manifold.shape)))
    for nu in (0.5, 2.5):
        kernel = hg.matern_kernel(manifold, nu).with_times(which)
        for times in ((0.05, 5.0, 0.01, 1.0), (3.0, 0.02, 2.0, 50.0)):
            found = kernel(X, time=times[: kernel.parameters])
            assert np.array_equal(found, found.T)
            assert np.linalg.eigvalsh(found / found[0, 0])[0] > -len(X) * ENOUGH / 10


@pytest.mark.slow
def test_stated_errors_with_several_times():
    """Against the Matern kernel of the exact one; errors of one simulation at different times are taken to add."""
    manifold = hg.Product(hg.Sphere(2), hg.Torus(1))
    X = manifold.random(np.random.default_rng(1), 30)
    base = hg.heat_kernel(manifold, hg.Strip(paths=20_000, cache=False)).with_times("each")
    for nu, times in ((1.5, (0.5, 0.8)), (0.5, (0.9, 0.2))):
        estimated = with_smoothness(base, nu)
        exact = hg.matern_kernel(manifold, nu).with_times("each")(X, time=times)
        error = estimated.standard_error(X, time=times)
        off = np.abs(estimated(X, time=times) - exact)
        assert (off < 4.5 * error).all()
        assert np.median(error) < 0.05 * exact[0, 0]
        assert np.linalg.eigvalsh(estimated.as_positive_definite()(X, time=times))[0] > -1e-9 * exact[0, 0] * len(X)


@pytest.mark.parametrize("nu", [0.1, 0.5, 1.0, 1.5, 2.5, 7.7, 29.5, 40.0])
@pytest.mark.parametrize("n", [1, 3, 10])
def test_euclidean_space_has_the_bessel_formula(n, nu):
    manifold = hg.Euclidean(n)
    lengths = np.array([0.0, 1e-12, 1e-4, 0.3, 1.0, 5.0])
    X = lengths[:, None] * np.eye(n)[0]
    t = 0.7
    kernel = hg.matern_kernel(manifold, nu)
    found = kernel(X[0], X, time=t) / kernel(X[0], X[0], time=t)
    expected = []
    for r in lengths:
        z = mp.sqrt(2 * mp.mpf(nu) / t) * mp.mpf(r)
        expected.append(float(2 ** (1 - mp.mpf(nu)) / mp.gamma(nu) * z**nu * mp.besselk(nu, z)) if r else 1.0)
    assert np.abs(found - expected).max() < ENOUGH
    assert kernel.diag(X[0], t) == pytest.approx(flat_constant(nu, n, t), rel=ENOUGH)
    if nu < 30:
        logs = kernel(X[0], 100 * X[1:], time=t, log=True) - kernel(X[0], X[0], time=t, log=True)
        far = mp.sqrt(2 * mp.mpf(nu) / t) * 500
        log = (1 - nu) * mp.log(2) - mp.loggamma(nu) + nu * mp.log(far) + mp.log(mp.besselk(nu, far))
        assert logs[-1] == pytest.approx(float(log), rel=1e-10)


@pytest.mark.parametrize("nu", [0.5, 1.5, 7.0])
@pytest.mark.parametrize("dim", [1, 4, 30])
def test_sums_over_times_keep_their_tolerance(nu, dim):
    """Against Bessel functions, at all distances at once, and with the mass."""
    law = GammaTimes(nu, dim, 1e-7)
    lengths = np.concatenate([[0.0], np.geomspace(1e-6, 40, 200)])
    z = np.sqrt(2 * nu) * lengths[1:]
    expected = [1.0, *(float(2 ** (1 - mp.mpf(nu)) / mp.gamma(nu) * x**nu * mp.besselk(nu, x)) for x in z)]
    for t in (1.0, 1.3):
        places = law.places(t)
        s = law.times(places) / t
        logs, _ = law.weights(t, places)
        assert np.exp(logs).sum() == pytest.approx(1.0, abs=1e-13)
        values = np.exp(logs - dim / 2 * np.log(2 * math.pi * s) - lengths[:, None] ** 2 / (2 * s)).sum(axis=1)
        assert np.abs(values / flat_constant(nu, dim, 1.0) - expected).max() < 3e-7


def test_a_kernel_with_several_times_is_the_anisotropic_matern_kernel():
    manifold = hg.Product(hg.Euclidean(1), hg.Scaled(hg.Euclidean(2), 2.0))
    X = np.random.default_rng(0).standard_normal((12, 3))
    base = hg.heat_kernel(manifold)
    for nu in (0.5, 1.5):
        kernel = with_smoothness(replace(base, own_times=True), nu)
        found = kernel(X, time=(0.5, 2.0))
        expected = Matern([math.sqrt(0.5), math.sqrt(2) / 2, math.sqrt(2) / 2], nu=nu)(X)
        assert np.abs(found / found[0, 0] - expected).max() < ENOUGH
        slopes = kernel.derivative(X, time=(0.5, 2.0))
        for i, change in enumerate(1e-4 * np.eye(2)):
            later, before = (kernel(X, time=tuple(np.array([0.5, 2.0]) + sign * change)) for sign in (1, -1))
            assert np.abs(slopes[i] - (later - before) / 2e-4).max() < 1e-6 * np.abs(slopes[i]).max()
        assert np.abs(kernel(X, X[:3], time=(0.5, 2.0)) - found[:, :3]).max() < 1e-12 * found[0, 0]


@pytest.mark.parametrize("manifold", [hg.Sphere(2), hg.Torus(2), hg.Euclidean(3)], ids=repr)
def test_smooth_matern_kernels_tend_to_the_heat_kernel(manifold):
    X = manifold.random(np.random.default_rng(0), 5)
    heat = hg.heat_kernel(manifold)(X, time=0.5)
    for nu in (1e3, 1e6):
        assert np.abs(hg.matern_kernel(manifold, nu)(X, time=0.5) - heat).max() < 5 / nu * heat.max()
    assert np.array_equal(hg.matern_kernel(manifold, math.inf)(X, time=0.5), heat)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(c, marks=[] if i < len(FAST_MATERN_KERNELS) else [pytest.mark.slow])
        for i, c in enumerate(MATERN_KERNELS)
    ],
    ids=repr,
)
def test_laws(case):
    assert check_kernel(case.build(), **case.check) == []


@pytest.mark.slow
def test_laws_of_a_product_with_own_times():
    base = hg.heat_kernel(hg.Product(hg.Sphere(2), hg.Torus(1)))
    assert check_kernel(with_smoothness(replace(base, own_times=True), 1.5), draws=512) == []


@pytest.mark.parametrize("smoothness", [0, -1.0, math.nan, "rough", 0.05, True, None, 1j, -math.inf, [0.5]])
def test_bad_smoothness(smoothness):
    with pytest.raises(InvalidInput, match="smoothness"):
        hg.matern_kernel(hg.Sphere(2), smoothness)
    with pytest.raises(InvalidInput, match="smoothness"):
        hg.GPRegressor(hg.Sphere(2), smoothness=smoothness).fit(np.eye(3), [0.0, 1.0, 2.0])


def test_a_matern_kernel_is_made_of_a_heat_kernel():
    kernel = hg.matern_kernel(hg.Sphere(2), 1.5)
    with pytest.raises(InvalidInput, match="made of a heat kernel"):
        MaternKernel(hg.Sphere(2), kernel, 0.5)
    with pytest.raises(InvalidInput, match="has its own"):
        hg.GPRegressor(hg.Sphere(2), kernel=kernel, smoothness=0.5).fit(np.eye(3), [0.0, 1.0, 2.0])
    with pytest.raises(InvalidInput, match="precomputed"):
        hg.GPRegressor(kernel="precomputed", smoothness=0.5).fit(np.eye(3), [0.0, 1.0, 2.0])


def test_logarithms_end_where_the_digits_do():
    kernel, x = hg.matern_kernel(hg.Sphere(2), 0.5), np.eye(3)
    assert kernel(x[0], x[1], time=0.3, log=True) == pytest.approx(math.log(kernel(x[0], x[1], time=0.3)), rel=1e-9)
    with pytest.raises(InvalidInput, match="digits"):
        kernel(x[0], -x[0], time=0.01, log=True)


def plane_data(number=50):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((number, 2))
    return X, np.sin(2 * X[:, 0]) + np.abs(X[:, 1]) + 0.1 * rng.standard_normal(number), rng.standard_normal((6, 2))


@pytest.mark.parametrize("nu", HALVES)
def test_regression_is_that_of_scikit_learn(nu):
    X, y, new = plane_data()
    gp = hg.GPRegressor(hg.Euclidean(2), smoothness=nu, mean="zero", priors=None).fit(X, y)
    covariance = ConstantKernel(gp.amplitude_) * Matern(math.sqrt(gp.time_), nu=nu) + WhiteKernel(gp.noise_)
    peer = GaussianProcessRegressor(covariance, optimizer=None).fit(X, y)
    assert gp.log_marginal_likelihood() == pytest.approx(peer.log_marginal_likelihood_value_, abs=1e-6)
    mean, std = gp.predict(new, return_std=True)
    peer_mean, peer_std = peer.predict(new, return_std=True)
    assert np.abs(mean - peer_mean).max() < 1e-7
    assert np.abs(std**2 + gp.noise_ - peer_std**2).max() < 1e-7
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of its bounds
        learned = GaussianProcessRegressor(covariance).fit(X, y)
    assert gp.log_marginal_likelihood() > learned.log_marginal_likelihood_value_ - 1e-3


def test_learned_smoothness_has_the_largest_evidence():
    """Functions are drawn with known smoothness; on a circle seventy points tell 1/2 from smooth ones.

    It may be between the numbers in use, and has a prior which is worth less than two nats.
    """
    manifold, rng = hg.Torus(1), np.random.default_rng(0)
    X = manifold.random(rng, 70)
    covariance = hg.matern_kernel(manifold, 0.5)(X, time=4.0)
    rough = np.linalg.cholesky(covariance / covariance[0, 0]) @ rng.standard_normal(70)
    smooth = np.exp(np.sin(X[:, 0])) + 0.01 * rng.standard_normal(70)
    assert hg.GPRegressor(manifold, smoothness="learn").fit(X, smooth).smoothness_ == math.inf
    model = hg.GPRegressor(manifold, smoothness="learn").fit(X, rough)
    evidence = {
        nu: hg.GPRegressor(manifold, smoothness=nu).fit(X, rough).log_marginal_likelihood()
        for nu in (*HALVES, math.inf)
    }
    assert max(evidence, key=evidence.get) == 0.5
    assert 0.25 <= model.smoothness_ < 1
    assert model.log_marginal_likelihood() > max(evidence.values()) - 2
    assert model.smoothness == "learn"


def test_matern_kernels_in_models():
    manifold, rng = hg.Sphere(2), np.random.default_rng(0)
    X = manifold.random(rng, 40)
    labels, given = X[:, 0] * X[:, 1] > 0, {"amplitude": 4.0}
    by_name = hg.GPClassifier(manifold, smoothness=1.5, **given).fit(X, labels)
    by_kernel = hg.GPClassifier(manifold, kernel=hg.matern_kernel(manifold, 1.5), **given).fit(X, labels)
    assert by_name.smoothness_ == by_kernel.smoothness_ == 1.5
    assert np.array_equal(by_name.predict_proba(X), by_kernel.predict_proba(X))
    assert hg.GPClassifier(manifold, time=0.5, **given).fit(X, labels).smoothness_ == math.inf
    strip = hg.GPRegressor(
        manifold, kernel=hg.Strip(paths=50_000, cache=False), smoothness=2.5, time=0.5, amplitude=1.0, noise=0.1
    )
    assert strip.fit(X, X[:, 0]).kernel_error(X[:5]).share > 0


def test_sums_and_times_of_coordinates_in_a_model():
    X, y, _ = plane_data(40)
    given = {"amplitude": 1.0, "noise": 0.01, "mean": "zero"}
    model = hg.GPRegressor(hg.Euclidean(2), smoothness=1.5, time=(0.5, 2.0), **given).fit(X, y)
    peer = GaussianProcessRegressor(Matern([math.sqrt(0.5), math.sqrt(2)], nu=1.5), alpha=0.01, optimizer=None).fit(
        X, y
    )
    assert model.log_marginal_likelihood() == pytest.approx(peer.log_marginal_likelihood_value_, abs=1e-6)
    line, plane = hg.heat_kernel(hg.Euclidean(1)), hg.Product(hg.Euclidean(1), hg.Euclidean(1))
    both = line.on(plane, 0) + line.on(plane, 1)
    numbers = (0.5, 2.0, 3.0)  # two times and a weight
    kernel = with_smoothness(both, 1.5)
    expected = Matern(math.sqrt(0.5), nu=1.5)(X[:, :1]) + 3 * Matern(math.sqrt(2), nu=1.5)(X[:, 1:])
    assert np.abs(kernel(X, time=numbers) - expected).max() < 1e-12
    assert hg.GPRegressor(plane, kernel=both, smoothness=1.5).fit(X, y).smoothness_ == 1.5


def test_own_times_in_a_model():
    manifold = hg.Product(hg.Euclidean(1), hg.Euclidean(1))
    X, y, _ = plane_data(40)
    given = {"amplitude": 1.0, "noise": 0.01, "mean": "zero"}
    model = hg.GPRegressor(manifold, smoothness=1.5, time=(0.5, 2.0), **given).fit(X, y)
    peer = GaussianProcessRegressor(Matern([math.sqrt(0.5), math.sqrt(2)], nu=1.5), alpha=0.01, optimizer=None).fit(
        X, y
    )
    assert model.log_marginal_likelihood() == pytest.approx(peer.log_marginal_likelihood_value_, abs=1e-6)
    kernel = hg.matern_kernel(manifold, 1.5)
    same = hg.GPRegressor(manifold, kernel=kernel, time=(0.5, 2.0), **given).fit(X, y)
    assert same.log_marginal_likelihood() == model.log_marginal_likelihood()


def test_compare_lists_heat_and_matern():
    X = hg.Sphere(2).random(np.random.default_rng(0), 30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallSampleWarning)
        table = hg.compare(hg.Sphere(2), X, np.abs(X[:, 2]), methods=["heatgp", "heatgp matern"], splits=2)
    assert table.row("heatgp matern", "rmse").n == table.row("heatgp", "rmse").n == 2
    assert {"heatgp", "heatgp matern"} < set(DEFAULT)


@pytest.mark.slow
@pytest.mark.parametrize(
    "manifold",
    [
        hg.Sphere(2),
        hg.SpecialOrthogonal(3),
        hg.ComplexProjective(2),
        hg.Torus(2),
        hg.SpecialOrthogonal(4),
        hg.Grassmann(4, 2, "complex"),
        hg.Euclidean(3),
        hg.Product(hg.Sphere(2), hg.Euclidean(3)),
        hg.Product(hg.Sphere(2), hg.Torus(1)),
        hg.Product(*[hg.Sphere(2)] * 6),
    ],
    ids=repr,
)
def test_a_gram_matrix_costs_at_most_20_heat_kernels(manifold):
    X = manifold.random(np.random.default_rng(0), 1000)

    def seconds(kernel, times):
        gc.collect()  # else what other tests have left is collected in a call, which takes a second
        start = time.process_time()
        kernel(X, time=times)
        return time.process_time() - start

    for which in ("shared", "each", "coordinates"):
        kernel = hg.heat_kernel(manifold).with_times(which)
        times = tuple(0.3 + 0.05 * np.arange(kernel.parameters)) if kernel.parameters > 1 else 0.3
        kernel(X[:10], time=times)
        heat = np.median([seconds(hg.heat_kernel(manifold).with_times(which), times) for _ in range(5)])
        for nu in HALVES:
            assert seconds(hg.matern_kernel(manifold, nu).with_times(which), times) < 20 * heat
