"""Likelihoods against 20-digit integrals, closed forms, SciPy's distributions and Markov chains."""

from dataclasses import dataclass
from functools import cache, partial

import mpmath as mp
import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import log_ndtr

from heatgp.errors import InvalidInput, Unsupported
from heatgp.gp.poisson import Poisson
from heatgp.gp.quadrature import average, quantile, tilted_moments
from heatgp.gp.regression_likelihood import RegressionLikelihood
from heatgp.gp.student import StudentT


def moments_to_20_digits(log_density, mean, variance, places):
    """log Z, d log Z / d mean and -d^2 log Z / d mean^2 by mpmath; `places` are where the integrand is not small."""
    with mp.workdps(20):
        mean, variance = mp.mpf(mean), mp.mpf(variance)

        def log_product(f):
            return log_density(f) - (f - mean) ** 2 / (2 * variance)

        top = max(log_product(f) for f in places)  # mpmath's error estimate is absolute: the integrand must be about 1
        density = cache(lambda f: mp.exp(log_product(f) - top))
        total, first, second = (
            mp.quad(lambda f, k=k: (f - mean) ** k * density(f), sorted(places), method="gauss-legendre")
            for k in range(3)
        )
        shift = first / total
        spread = second / total - shift**2
        log_z = mp.log(total) + top - mp.log(2 * mp.pi * variance) / 2
        return float(log_z), float(shift / variance), float((variance - spread) / variance**2)


def assert_tilted(found, expected, variance, tolerance=1e-10):
    """Derivatives in units of the cavity's deviation."""
    scale = np.array([1.0 + abs(expected[0]), variance**-0.5 + abs(expected[1]), 1 / variance])
    assert np.all(np.abs(np.ravel(found) - expected) < tolerance * scale), (np.ravel(found), expected)


@pytest.mark.parametrize("degrees", [1.0, 4.0, 50.0])
@pytest.mark.parametrize("noise, y, variance", [(0.1, 0.3, 1.0), (0.1, 3.0, 1.0), (2.0, 40.0, 0.5), (0.01, 1.0, 25.0)])
def test_student_t_to_20_digits(degrees, noise, y, variance):
    a, mean = mp.mpf(degrees) / 2, 0.2

    def log_density(f):
        constant = mp.loggamma(a + 0.5) - mp.loggamma(a) - mp.log(2 * mp.pi * a * noise) / 2
        return constant - (a + mp.mpf(0.5)) * mp.log(1 + (y - f) ** 2 / (2 * a * noise))

    width, deviation = noise**0.5, variance**0.5
    places = [y + k * width for k in (-30, -8, -2, 0, 2, 8, 30)]
    places += [mean + k * deviation for k in (-14, -8, -4, 0, 4, 8, 14)]
    places += list(np.linspace(mean, y, 4)[1:-1])
    expected = moments_to_20_digits(log_density, mean, variance, [mp.mpf(f) for f in set(places)])
    likelihood = StudentT(noise, degrees)
    found = likelihood.tilted(np.array([y]), np.array([mean]), np.array([variance]))
    assert_tilted(found, expected, variance)
    assert likelihood.log_density(y, mean) == pytest.approx(float(log_density(mp.mpf(mean))), abs=1e-12)
    assert likelihood.log_density(y, mean) == pytest.approx(stats.t.logpdf(y, degrees, mean, width), abs=1e-11)


@pytest.mark.parametrize("y", [0, 1, 30, 100_000])
@pytest.mark.parametrize("mean, variance", [(0.0, 1.0), (-2.0, 0.01), (3.0, 30.0)])
def test_poisson_to_20_digits(y, mean, variance):
    def log_density(f):
        return y * f - mp.exp(f) - mp.loggamma(y + 1)

    likelihood, arrays = Poisson(), (np.array([float(y)]), np.array([mean]), np.array([variance]))
    mode = float(mp.findroot(lambda f: y - mp.exp(f) - (f - mean) / variance, np.log(y) if y else mean - 1))
    width, deviation = (np.exp(mode) + 1 / variance) ** -0.5, variance**0.5
    places = [mode + k * width for k in (-12, -8, -4, -2, 0, 2, 4, 8, 12)] + [mode - k * deviation for k in (4, 9, 14)]
    expected = moments_to_20_digits(log_density, mean, variance, [mp.mpf(f) for f in set(places)])
    assert_tilted(likelihood.tilted(*arrays), expected, variance)
    assert_tilted(
        RegressionLikelihood.tilted(likelihood, *arrays), expected, variance
    )  # without the formula for the mode
    assert likelihood.log_density(y, 2.5) == pytest.approx(stats.poisson.logpmf(y, np.exp(2.5)), rel=1e-12, abs=1e-9)


@pytest.mark.parametrize("variance, tolerance", [(1e-4, 1e-11), (1.0, 1e-11), (1e3, 1e-8), (1e6, 1e-7)])
def test_integration_of_any_width_has_the_closed_form_of_probit(variance, tolerance):
    """Phi(f) has one side that is flat and one that falls: of all log-concave functions the hardest."""
    mean = np.array([-30.0, -3.0, -1.0, 0.0, 0.1, 2.0, 10.0])
    log_z, first, curvature = tilted_moments(log_ndtr, mean, np.full(7, variance))
    scale = np.sqrt(1 + variance)
    expected = log_ndtr(mean / scale)  # Rasmussen & Williams (2006), eq. 3.77 and 3.58
    hazard = np.exp(stats.norm.logpdf(mean / scale) - expected)
    np.testing.assert_allclose(log_z, expected, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(first * scale, hazard, rtol=tolerance, atol=tolerance)
    product = hazard * (mean / scale + hazard)
    np.testing.assert_allclose(curvature * scale**2, product, rtol=10 * tolerance, atol=(10 + 1 / variance) * tolerance)


def test_integration_where_the_function_is_zero():
    log_z, _, _ = tilted_moments(lambda f: np.where(f > 0, -f, -np.inf), np.array([-2.0, 5.0]), np.ones(2))
    # the integral of exp(-f) N(f; m, 1) over f > 0 is exp(1/2 - m) Phi(m - 1)
    np.testing.assert_allclose(log_z, [2.5 + log_ndtr(-3.0), -4.5 + log_ndtr(4.0)], rtol=1e-6)
    assert tilted_moments(lambda f: np.full(f.shape, -np.inf), np.zeros(1), np.ones(1))[0] == -np.inf


@dataclass(frozen=True)
class Logistic(RegressionLikelihood):
    """log_density alone, as in a user's first attempt."""

    def log_density(self, y, f):
        return -np.logaddexp(0.0, -y * f)


def test_defaults_need_the_log_density_alone():
    y, mean, variance = np.array([1.0, -1.0]), np.array([0.3, 0.8]), np.array([2.0, 9.0])
    found = Logistic().tilted(y, mean, variance)

    def z(m, i):
        return integrate.quad(
            lambda f: stats.norm.pdf(f, m, variance[i] ** 0.5) / (1 + np.exp(-y[i] * f)), m - 40, m + 40, epsabs=1e-13
        )[0]

    h = 1e-2
    for i in range(2):
        low, at, high = (np.log(z(mean[i] + k * h, i)) for k in (-1, 0, 1))
        assert found[0][i] == pytest.approx(at, abs=1e-10)
        assert found[1][i] == pytest.approx((high - low) / (2 * h), abs=1e-5)
        assert found[2][i] == pytest.approx(-(high - 2 * at + low) / h**2, abs=1e-5)
    for call in (lambda: Logistic().mean(mean, variance), lambda: Logistic().quantile(0.5, mean, variance)):
        with pytest.raises(Unsupported, match=r"Logistic does not say this .* Define Logistic.expected\(f\)"):
            call()
    assert Logistic().free == []


def test_slopes_in_the_parameters_are_differences():
    y, mean, variance = np.array([0.1, 3.0, -20.0]), np.array([0.0, 0.5, 1.0]), np.array([1.0, 0.1, 4.0])
    likelihood, names = StudentT(0.3, 3.0), ["noise", "degrees"]
    expected = RegressionLikelihood.in_parameters(likelihood, y, mean, variance, names)
    np.testing.assert_allclose(likelihood.in_parameters(y, mean, variance, names), expected, atol=1e-7)
    assert StudentT().free == ["noise"]
    assert StudentT(1.0, None).free == ["degrees"]


def averaged(function, mean, variance):
    """The mean of a function of f ~ N(mean, variance), by SciPy."""
    deviation = variance**0.5
    low, high = mean - 12 * deviation, mean + 12 * deviation
    return integrate.quad(lambda f: function(f) * stats.norm.pdf(f, mean, deviation), low, high, epsabs=1e-12)[0]


@pytest.mark.parametrize("p", [0.05, 0.5, 0.975])
def test_quantiles_of_new_observations(p):
    mean, variance = np.array([0.0, 1.5, -3.0]), np.array([0.5, 2.0, 1e-12])
    student = StudentT(0.3, 4.0)
    found = student.quantile(p, mean, variance)
    for y, *moments in zip(found, mean, variance):
        assert averaged(stats.t(4, y, 0.3**0.5).sf, *moments) == pytest.approx(p, abs=1e-9)  # symmetric in y and f
    np.testing.assert_allclose(
        RegressionLikelihood.cumulative(student, found, mean, variance), p, atol=1e-6
    )  # the default
    counts = Poisson().quantile(p, mean, variance)
    for k, *moments in zip(counts, mean, variance):
        below, at = (averaged(partial(lambda j, f: stats.poisson.cdf(j, np.exp(f)), j), *moments) for j in (k - 1, k))
        assert below < p <= at


def test_quantiles_of_known_rates_are_those_of_scipy():
    rates = np.array([1e-3, 0.7, 12.0, 3e5])
    for p in (1e-3, 0.999):
        np.testing.assert_array_equal(
            Poisson().quantile(p, np.log(rates), np.full(4, 1e-30)), stats.poisson.ppf(p, rates)
        )
    huge = Poisson().quantile(0.95, np.array([30.0]), np.array([100.0]))
    assert huge == pytest.approx(stats.lognorm.ppf(0.95, 10.0, scale=np.exp(30.0)), rel=0.01)


def test_moments_of_new_observations():
    mean, variance = np.array([0.3, 2.0]), np.array([0.5, 0.1])
    for likelihood in (Poisson(), StudentT(0.3, 5.0)):
        expected = average(likelihood.expected, mean, variance)
        np.testing.assert_allclose(likelihood.mean(mean, variance), expected, rtol=1e-10)
        np.testing.assert_allclose(
            likelihood.variance(mean, variance), RegressionLikelihood.variance(likelihood, mean, variance)
        )
    assert np.all(StudentT(0.3, 2.0).variance(mean, variance) == np.inf)
    assert StudentT(0.3, 5.0).dispersion(mean) == pytest.approx(stats.t.var(5, scale=0.3**0.5))


@pytest.mark.parametrize(
    "y, message",
    [
        ([1.0, -1.0], r"y\[1\] = -1 is not a count: Poisson needs whole numbers, 0 or more"),
        ([0.5], r"y\[0\] = 0.5 is not a count.*student-t"),
        ([1, 2_000_000], r"y\[1\] = 2e\+06 is above 1,000,000.*log\(y\)"),
        ([1.0, np.nan], r"y\[1\] = nan is not finite. Remove such observations"),
        ([[1, 2], [3, 4]], r"shape \(2, 2\).*With Poisson fit one model for each column"),
        (["a"], "real numbers"),
    ],
)
def test_what_is_no_count(y, message):
    with pytest.raises(InvalidInput, match=message):
        Poisson().check(y)


def test_parameters_are_checked():
    for values in ({"noise": -1.0}, {"noise": np.nan}, {"degrees": 0.0}, {"noise": "1"}):
        with pytest.raises(InvalidInput, match="StudentT must be a positive number, or None to learn it"):
            StudentT(**values)
    with pytest.raises(InvalidInput, match=r"between 0.1 and 10,000"):
        StudentT(degrees=1e6)


def test_quantile_of_a_whole_number_starts_anywhere():
    counts = stats.poisson(3.0)
    for start in (-50.0, 0.0, 3.0, 1e6):
        assert quantile(counts.cdf, 0.8, np.array([start]), np.ones(1), integer=True) == counts.ppf(0.8)
