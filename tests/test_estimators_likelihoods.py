"""GPRegressor with Student-t noise, counts and likelihoods of one's own."""

import re
import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy import stats
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold, cross_val_score

import heatgp as hg
from heatgp.errors import (
    BoundWarning,
    InvalidInput,
    NotPositiveDefinite,
    SmallSampleWarning,
    Unsupported,
)
from heatgp.gp.parameters import LogNormal, Priors
from heatgp.gp.poisson import Poisson
from heatgp.gp.regression_likelihood import RegressionLikelihood
from heatgp.gp.student import StudentT

S2 = hg.Sphere(2)
KNOWN = {"time": 0.5, "amplitude": 2.0}


def on_sphere(n, seed=0):
    rng = np.random.default_rng(seed)
    X = S2.random(rng, n)
    return X, 3 * X[:, 0] * X[:, 2], rng


def test_outliers():
    X, truth, rng = on_sphere(60)
    y = 10 + truth + 0.1 * rng.standard_normal(60)
    y[::10] += 20 * rng.standard_normal(6)
    gp = hg.GPRegressor(S2, time=1.0, likelihood="student-t").fit(X, y)
    mean, std = gp.predict(X, return_std=True)
    assert np.sqrt(np.mean((mean - 10 - truth) ** 2)) < 0.1
    assert 0.001 < gp.noise_ < 0.1
    assert gp.fit_.params.amplitude == pytest.approx(gp.amplitude_)
    assert gp.fit_.log_marginal_likelihood == pytest.approx(gp.log_marginal_likelihood(), abs=1e-4)
    draws = gp.sample_y(X[:3], n_samples=4000)
    np.testing.assert_allclose(draws.mean(axis=1), mean[:3], atol=5 * std[:3].max() / 4000**0.5)
    assert np.allclose(np.sqrt(np.diagonal(gp.predict(X, return_cov=True)[1])), std)
    again = hg.GPRegressor(S2, likelihood="student-t", time=gp.time_, amplitude=gp.amplitude_, noise=gp.noise_).fit(
        X, y
    )
    np.testing.assert_allclose(again.predict(X), mean, atol=1e-4)
    assert again.fit_ is None


@pytest.mark.parametrize("seed", range(3))
def test_an_amplitude_far_above_the_data_is_an_error_that_says_so(seed):
    X = S2.random(seed, 80)
    with pytest.raises(NotPositiveDefinite, match=r"precise as .* Use a smaller amplitude, or"):
        hg.GPRegressor(S2, likelihood="student-t", amplitude=1.0).fit(X, 1e-9 * X[:, 0])


def test_a_noise_below_rounding_is_an_error():
    X = S2.random(0, 80)
    model = hg.GPRegressor(S2, likelihood="student-t", time=0.5, amplitude=1.0, noise=1e-24)
    with pytest.raises(NotPositiveDefinite, match=r"within rounding.* Use a smaller amplitude, or .* a larger noise"):
        model.fit(X, 1e-9 * X[:, 0])


def test_normal_data_give_the_normal_model():
    """Without outliers and with many degrees of freedom both likelihoods give the same predictions."""
    X, truth, rng = on_sphere(40)
    y = 5 + truth + 0.3 * rng.standard_normal(40)
    normal = hg.GPRegressor(S2, **KNOWN, noise=0.09).fit(X, y)
    student = hg.GPRegressor(S2, **KNOWN, likelihood=StudentT(0.09, degrees=5000)).fit(X, y)
    # the constant has a flat prior in one and a normal one in the other
    np.testing.assert_allclose(student.predict(X), normal.predict(X), atol=0.03)


def test_counts():
    X, truth, rng = on_sphere(80)
    y = rng.poisson(np.exp(1 + truth / 2))
    gp = hg.GPRegressor(S2, likelihood="poisson").fit(X, y)
    mean, std = gp.predict(X, return_std=True)
    assert np.mean(np.abs(np.log(mean) - 1 - truth / 2)) < 0.3
    assert gp.noise_ is None
    assert np.all(std > 0)
    left_out, deviation = gp.loo()
    assert abs(np.mean((y - left_out) ** 2 / deviation**2) - 1) < 0.6  # 80 standardised residuals: sqrt(2 / 80) * 4
    assert "exact" in str(gp.kernel_error(X[:2]))
    assert clone(gp).likelihood == "poisson"


def test_a_constant_rate_is_that_of_a_generalised_linear_model():
    """A kernel that is nearly constant leaves the constant: scikit-learn's Poisson regression without columns."""
    X, _, rng = on_sphere(200)
    y = rng.poisson(6.0, 200)
    gp = hg.GPRegressor(S2, likelihood="poisson", time=100.0, amplitude=1e-6).fit(X, y)
    other = PoissonRegressor(alpha=0.0).fit(np.zeros((200, 1)), y)
    np.testing.assert_allclose(gp.predict(X[:2]), other.predict(np.zeros((2, 1))), rtol=2e-3)


def test_log_linear_rates_are_those_of_a_generalised_linear_model():
    """In R^1 with a very long time f is a line in effect, with a wide prior: the maximum of the likelihood."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (300, 1))
    y = rng.poisson(np.exp(2 + X[:, 0]))
    # covariance 1e4 exp(-d^2 / 2t) at t = 1e4: slopes of variance 1, curvatures of variance 1e-4
    gp = hg.GPRegressor(hg.Euclidean(1), likelihood="poisson", time=1e4, amplitude=1e4, mean="zero").fit(X, y)
    other = PoissonRegressor(alpha=0.0, tol=1e-8).fit(X, y)
    at = np.array([[-0.5], [0.0], [0.5]])
    np.testing.assert_allclose(gp.predict(at), other.predict(at), rtol=0.01)


def test_precomputed_kernels():
    X, truth, rng = on_sphere(40)
    y = rng.poisson(np.exp(1 + truth / 2))
    direct = hg.GPRegressor(S2, **KNOWN, likelihood="poisson").fit(X[:30], y[:30])
    gram = direct.kernel_.pairs(X).at(0.5).value
    given = hg.GPRegressor(kernel="precomputed", amplitude=2.0, likelihood="poisson").fit(gram[:30, :30], y[:30])
    np.testing.assert_allclose(given.predict(gram[30:, :30]), direct.predict(X[30:]), rtol=1e-6)


@pytest.mark.parametrize(
    "options, y, message",
    [
        ({"likelihood": "gauss"}, [1.0, 2.0], r'gauss.* is not known. Use "normal", "student-t", "poisson"'),
        ({"likelihood": "poisson"}, [1.0, -2.0], r"y\[1\] = -2 is not a count"),
        ({"likelihood": "poisson"}, [1.0, 0.5], r"y\[1\] = 0.5 is not a count"),
        ({"likelihood": "poisson"}, [1, 10**7], r"y\[1\] = 1e\+07 is above 1,000,000"),
        ({"likelihood": "poisson"}, [1.0, np.nan], r"y\[1\] = nan is not finite"),
        ({"likelihood": "poisson"}, [[1, 2], [3, 4]], "one model for each column"),
        ({"likelihood": "poisson"}, [1, 2, 3], "3 observations and X 2 points"),
        ({"likelihood": "poisson", "noise": 0.1}, [1, 2], "has parameters of its own. Leave noise None"),
        ({"likelihood": Poisson}, [1, 2], r"is a class. Give an instance, Poisson\(\)"),
        ({"likelihood": "student-t", "noise": -1.0}, [1, 2], "must be a positive number"),
        ({"likelihood": "student-t", "noise": "a"}, [1, 2], "must be one number, or None"),
        ({"likelihood": "student-t", "mean": "cubic"}, [1, 2], '"constant", "linear", a finite number'),
        ({"likelihood": "student-t"}, [1e200, 2.0], "beyond floating point. Change its unit"),
        ({"likelihood": StudentT(unit=2.0)}, [1, 2], "unit = 2.0 of StudentT is set from the data"),
    ],
)
def test_what_is_not_possible(options, y, message):
    with pytest.raises(InvalidInput, match=message):
        hg.GPRegressor(S2, **(KNOWN | options)).fit(S2.random(np.random.default_rng(0), 2), y)


def test_what_normal_noise_alone_can_have():
    X = S2.random(np.random.default_rng(0), 2)
    gp = hg.GPRegressor(S2, **KNOWN, likelihood="poisson")
    with pytest.raises(InvalidInput, match=r"is not possible with Poisson. Leave it None, or use likelihood"):
        gp.fit(X, [1, 2], sample_weight=[1, 2])
    with pytest.raises(InvalidInput, match=r"must be one number, or None to learn it. Known variances need"):
        hg.GPRegressor(S2, **KNOWN, noise=[0.1, 0.2], likelihood="student-t").fit(X, [1, 2])
    with pytest.raises(InvalidInput, match=r"priors.noise is .* not possible with Poisson"):
        hg.GPRegressor(S2, priors=Priors(noise=LogNormal(0.1, 1.0)), likelihood="poisson").fit(X, [1, 2])


def test_priors_of_student_t_noise():
    """The noise has its prior as with normal noise, in the squared unit of y; what is not named keeps its weak one."""
    X, truth, rng = on_sphere(60)
    y = truth + 0.3 * rng.standard_normal(60)
    model = hg.GPRegressor(S2, time=1.0, amplitude=2.0, likelihood=StudentT(degrees=None))
    weak = model.fit(X, y).likelihood_
    assert 2.0 < weak.degrees < 50.0

    def fitted(unit, **priors):
        return clone(model).set_params(amplitude=2.0 * unit**2, priors=Priors(**priors)).fit(X, unit * y).likelihood_

    mild = fitted(1.0, noise=LogNormal(weak.noise, 1e-3))  # where it is anyway
    assert mild.degrees == pytest.approx(weak.degrees, rel=0.02)
    for unit in (1.0, 1e-6, 1e6):
        tight = fitted(unit, noise=LogNormal(0.02 * unit**2, 1e-3))
        assert tight.noise == pytest.approx(0.02 * unit**2, rel=1e-3)
        assert tight.degrees == pytest.approx(fitted(1.0, noise=LogNormal(0.02, 1e-3)).degrees, rel=0.01)
        tight = fitted(unit, likelihood={"degrees": LogNormal(7.0, 1e-3)})
        assert tight.degrees == pytest.approx(7.0, rel=1e-3)
    assert fitted(1.0, likelihood={}).degrees == pytest.approx(weak.degrees, rel=1e-3)
    assert fitted(1.0).noise == pytest.approx(weak.noise, rel=1e-3)


@pytest.mark.parametrize(
    "options, name, known",
    [
        ({"likelihood": "student-t"}, "xyz", "StudentT beside time, amplitude, noise and coefficients are: degrees"),
        ({"likelihood": "student-t"}, "time[0]", "StudentT beside .* are: degrees"),
        ({"likelihood": "poisson"}, "degrees", "Poisson beside time, amplitude and coefficients are: none"),
        ({}, "degrees", "GPRegressor beside time, amplitude, noise and coefficients are: none"),
        ({"kernel": "precomputed", "manifold": None}, "degrees", "GPRegressor beside .* are: none"),
    ],
)
def test_priors_name_parameters_of_the_likelihood(options, name, known):
    priors = Priors(likelihood={name: LogNormal(4.0, 1.0)})
    with pytest.raises(InvalidInput, match=rf"names {re.escape(repr(name))}, but the parameters of {known}. Leave"):
        hg.GPRegressor(**({"manifold": S2} | options), priors=priors).fit(np.eye(3), [1, 2, 3])
    with pytest.raises(InvalidInput, match=r"the parameters of GPClassifier beside .* are: none"):
        hg.GPClassifier(S2, priors=priors).fit(np.eye(3), [1, 2, 1])


def test_few_data_and_odd_ones():
    X, truth, _ = on_sphere(12)
    with pytest.warns(SmallSampleWarning, match="time learned"):
        hg.GPRegressor(S2, amplitude=1.0, likelihood="poisson").fit(X, np.round(np.exp(2 + truth)))
    zeros = hg.GPRegressor(S2, **KNOWN, likelihood="poisson").fit(X, np.zeros(12)).predict(X)
    assert np.all((zeros > 0) & (zeros < 0.5))
    one = hg.GPRegressor(S2, **KNOWN, likelihood="student-t", noise=0.1).fit(X[:1], [3.0])
    assert one.predict(X[:1])[0] == pytest.approx(3.0, abs=0.5)
    same = hg.GPRegressor(S2, **KNOWN, likelihood="student-t", noise=0.1).fit(X, np.full(12, 7.0))
    np.testing.assert_allclose(same.predict(X), 7.0, atol=0.01)


@dataclass(frozen=True)
class Waiting(RegressionLikelihood):
    """Exponential waiting times of the mean exp(f)."""

    def log_density(self, y, f):
        return -f - y * np.exp(-f)


def test_a_likelihood_with_a_log_density_alone():
    X, truth, rng = on_sphere(40)
    gp = hg.GPRegressor(S2, **KNOWN, likelihood=Waiting()).fit(X, rng.exponential(np.exp(truth)))
    mean, variance = gp.posterior_.latent(X)
    assert np.mean(np.abs(mean - truth)) < 2 * np.mean(np.sqrt(variance))
    with pytest.raises(Unsupported, match=r"Define Waiting.expected\(f\)"):
        gp.predict(X)
    with pytest.raises(Unsupported, match=r"set expected_increases = True in the class"):
        gp.predict_interval(X, noise=False)


def test_mean_as_a_number():
    X, truth, rng = on_sphere(30)
    y = rng.poisson(np.exp(1 + truth / 2))
    far = hg.GPRegressor(S2, time=1e-3, amplitude=0.5, mean=1.0, likelihood="poisson").fit(X[:5], y[:5])
    # far from the data f ~ N(1, 0.5)
    assert far.predict(-X[:5].mean(axis=0, keepdims=True) / np.linalg.norm(X[:5].mean(axis=0))) == pytest.approx(
        np.exp(1.25), rel=1e-6
    )
    assert isinstance(far.likelihood_, Poisson)


def test_parameters_are_in_the_units_of_y():
    X, truth, rng = on_sphere(40)
    y = truth + 0.2 * stats.t.rvs(4, size=40, random_state=rng)
    likelihood = StudentT(degrees=None)
    one, other = (hg.GPRegressor(S2, time=1.0, likelihood=likelihood).fit(X, values) for values in (y, 1000 + 50 * y))
    for gp, size in ((one, 1.0), (other, 2500.0)):
        assert gp.likelihood_.noise == gp.noise_
        assert 0.01 < gp.noise_ / size < 0.12  # 0.2² is 0.04
        parameters = {parameter.name: parameter for parameter in gp.summary().parameters}
        assert list(parameters) == ["time", "amplitude", "noise", "degrees", "mean: constant"]
        for name, value in (("amplitude", gp.amplitude_), ("noise", gp.noise_), ("degrees", gp.likelihood_.degrees)):
            assert parameters[name].low < value < parameters[name].high
            assert parameters[name].value == pytest.approx(value)
    assert other.noise_ == pytest.approx(2500 * one.noise_, rel=0.02)
    assert other.likelihood_.degrees == pytest.approx(one.likelihood_.degrees, rel=0.02)
    # the likelihood itself is in these units too
    np.testing.assert_allclose(
        other.likelihood_.log_density(0.0, 30.0),
        stats.t.logpdf(30.0, other.likelihood_.degrees, scale=other.noise_**0.5),
    )


@pytest.mark.parametrize("likelihood", ["student-t", "poisson"])
def test_evidence_anywhere(likelihood):
    X, truth, rng = on_sphere(30)
    y = rng.poisson(np.exp(2 + truth / 2))
    noise = {"noise": 4.0} if likelihood == "student-t" else {}
    known = {"time": 0.5, "amplitude": 2.0, **noise}
    gp = hg.GPRegressor(S2, likelihood=likelihood, **known).fit(X, y)
    _, slopes = gp.log_marginal_likelihood(gradient=True)
    for k, name in enumerate(known):
        there, back = (gp.log_marginal_likelihood(**{name: known[name] * np.exp(h)}) for h in (1e-3, -1e-3))
        assert slopes[k] == pytest.approx((there - back) / 2e-3, rel=1e-3, abs=1e-3)
    moved = {name: 1.5 * value for name, value in known.items()}
    other = hg.GPRegressor(S2, likelihood=likelihood, **moved).fit(X, y)
    assert gp.log_marginal_likelihood(**moved) == pytest.approx(other.log_marginal_likelihood(), abs=1e-6)
    if likelihood == "poisson":
        with pytest.raises(InvalidInput, match=r"noise = 0.1, but Poisson has none"):
            gp.log_marginal_likelihood(noise=0.1)
    else:
        with pytest.raises(InvalidInput, match=r"noise = -1.0 of StudentT must be a positive number"):
            gp.log_marginal_likelihood(noise=-1.0)


def test_functions_drawn_of_a_rate():
    """Two calls have the moments of one: those of log-normal rates."""
    X, truth, rng = on_sphere(30)
    gp = hg.GPRegressor(S2, **KNOWN, likelihood="poisson").fit(X, rng.poisson(np.exp(1 + truth / 2)))
    new = S2.random(rng, 3)
    f = gp.sample_functions(20_000)
    draws = np.concatenate([f(new[:1]), f(new[1:])])
    np.testing.assert_array_equal(f(new), draws)
    mean, covariance = gp.predict(new, return_cov=True)
    latent, variance = gp.posterior_.latent(new)
    logs = np.log(draws)
    assert np.all(np.abs(logs.mean(axis=1) - latent) < 5 * np.sqrt(variance / 20_000))
    expected = np.log1p(covariance / np.outer(mean, mean))  # of log rates
    error = np.sqrt((np.outer(variance, variance) + expected**2) / 20_000)
    assert np.all(np.abs(np.cov(logs) - expected) < 5 * error)


def test_one_count_with_its_amplitude_integrated_over():
    """Against integrals over f, which at each amplitude counts as normal, and over log amplitude."""
    count, prior = 7, LogNormal(2.0, 0.8)
    model = {"time": 1.0, "mean": "zero", "likelihood": "poisson", "priors": Priors(amplitude=prior, likelihood=None)}
    gp = hg.GPRegressor(hg.Euclidean(1), integrate="grid", **model)
    with pytest.warns(SmallSampleWarning):
        gp.fit([[0.0]], [count])
    z, u = np.linspace(-6, 7, 400), np.linspace(-9, 9, 900)  # log amplitude, f / deviation
    f = np.exp(z / 2)[:, None] * u
    mass = stats.norm.pdf(u) * stats.poisson.pmf(count, np.exp(f))
    weight = np.exp(prior.log_density(z)) * mass.sum(axis=1)
    weight, mass = weight / weight.sum(), mass / mass.sum(axis=1, keepdims=True)
    center = (mass * f).sum(axis=1)
    variance = (mass * (f - center[:, None]) ** 2).sum(axis=1)
    rates = np.exp(center + variance / 2)
    spread = weight @ (rates**2 * np.exp(variance)) - (weight @ rates) ** 2
    mean, std = gp.predict([[0.0]], return_std=True)
    assert mean[0] == pytest.approx(weight @ rates, rel=0.005)
    assert std[0] == pytest.approx(spread**0.5, rel=0.01)
    f = center[:, None] + np.sqrt(variance)[:, None] * u
    weight = weight[:, None] * stats.norm.pdf(u) / stats.norm.pdf(u).sum()
    for new in (0, 3, 15):
        expected = np.log((weight * stats.poisson.pmf(new, np.exp(f))).sum())
        assert gp.log_density([[0.0]], [new])[0] == pytest.approx(expected, abs=0.02)
    for found, p in zip(gp.predict_interval([[0.0]]), (0.05, 0.95)):
        below, at = ((weight * stats.poisson.cdf(k, np.exp(f))).sum() for k in (found[0] - 1, found[0]))
        assert below < p <= at


def test_grids_of_student_t_noise():
    X, truth, rng = on_sphere(25)
    y = truth + 0.2 * stats.t.rvs(4, size=25, random_state=rng)
    gp = hg.GPRegressor(S2, time=1.0, amplitude=2.0, likelihood="student-t", integrate="grid").fit(X, y)
    noises = {posterior.likelihood.noise for posterior in gp.mixture_.posteriors}
    assert len(noises) > 3
    lower, upper = gp.predict_interval(X[:4])
    parts = [
        (weight, *posterior.latent(X[:4]), posterior.likelihood)
        for weight, posterior in zip(gp.mixture_.weights, gp.mixture_.posteriors)
    ]
    for ends, p in ((lower, 0.05), (upper, 0.95)):
        below = sum(
            weight * likelihood.cumulative(ends, mean, variance) for weight, mean, variance, likelihood in parts
        )
        np.testing.assert_allclose(below, p, atol=1e-9)
    assert gp.loo()[0].shape == (25,)
    assert np.all(gp.log_density(X, y) > -9)
    P, likelihood = hg.Product(S2, S2), StudentT(degrees=None)
    with pytest.raises(InvalidInput, match="with 5 learned parameters"):
        hg.GPRegressor(P, time="each", likelihood=likelihood, integrate="grid").fit(P.random(rng, 25), y)


def test_the_search_is_not_led_astray_by_outliers():
    """Short times follow every outlier: a maximum of the evidence, but tens of nats lower."""
    rng = np.random.default_rng(0)
    X = S2.random(rng, 60)
    truth = 2 * X[:, 0] * X[:, 2] + X[:, 1]
    y = truth + 0.2 * rng.standard_normal(60)
    wrong = rng.permutation(60)[:18]
    y[wrong] += rng.choice([-1, 1], 18) * rng.uniform(1, 6, 18)
    gp = hg.GPRegressor(S2, likelihood=StudentT(degrees=None)).fit(X, y)
    assert np.sqrt(np.mean((gp.predict(X) - truth) ** 2)) < 0.2
    assert gp.likelihood_.degrees < 3  # on its bound, the Cauchy distribution, there is no warning


def test_the_summary_says_where_inference_was_by_a_bound():
    X, truth, rng = on_sphere(40, seed=53)
    y = truth + 0.2 * rng.standard_normal(40)
    y[::4] += 9 * rng.standard_normal(10)
    given = {"time": 0.3, "amplitude": 2.0, "likelihood": "student-t"}
    notes = {noise: hg.GPRegressor(S2, noise=noise, **given).fit(X, y).summary().notes for noise in (0.04, 1e-4)}
    assert notes[0.04] == ()
    assert "variational bound" in notes[1e-4][0]


def test_one_count_and_its_exposure():
    """Expectation propagation of one datum is exact: against an integral over f."""
    gp = hg.GPRegressor(hg.Euclidean(1), time=1.0, amplitude=1.7, mean="zero", likelihood="poisson")
    gp.fit([[0.0]], [3], exposure=[12.5])
    f = np.linspace(-12, 12, 20_001)
    mass = stats.norm.pdf(f, 0, 1.7**0.5) * stats.poisson.pmf(3, 12.5 * np.exp(f)) * (f[1] - f[0])
    assert gp.log_marginal_likelihood() == pytest.approx(np.log(mass.sum()), abs=1e-8)
    mass /= mass.sum()
    mean, variance = gp.posterior_.latent(np.zeros((1, 1)))
    assert mean[0] == pytest.approx(mass @ f, abs=1e-7)
    assert variance[0] == pytest.approx(mass @ (f - mass @ f) ** 2, abs=1e-7)
    mass = stats.norm.pdf(f, mean, variance**0.5) * (f[1] - f[0])  # predictions take f as normal
    density = np.log(mass @ stats.poisson.pmf(2, 4.0 * np.exp(f)))
    assert gp.log_density([[0.0]], [2], exposure=4.0)[0] == pytest.approx(density, abs=1e-7)
    for found, p in zip(gp.predict_interval([[0.0]], exposure=[40.0]), (0.05, 0.95)):
        below, at = (mass @ stats.poisson.cdf(k, 40.0 * np.exp(f)) for k in (found[0] - 1, found[0]))
        assert below < p <= at


def test_rates_are_counts_over_exposure():
    """A kernel that is nearly constant: scikit-learn's Poisson regression of y / exposure with these weights."""
    X, truth, rng = on_sphere(210)
    exposure = rng.uniform(0.1, 30, 210)
    y = rng.poisson(0.7 * exposure)
    constant = hg.GPRegressor(S2, likelihood="poisson", time=100.0, amplitude=1e-6).fit(X, y, exposure=exposure)
    other = PoissonRegressor(alpha=0.0).fit(np.zeros((210, 1)), y / exposure, sample_weight=exposure)
    np.testing.assert_allclose(constant.predict(X[:2]), other.predict(np.zeros((2, 1))), rtol=2e-3)
    y = rng.poisson(exposure * np.exp(truth / 2))
    gp = hg.GPRegressor(S2, likelihood="poisson").fit(X, y, exposure=exposure)
    assert np.mean(np.abs(np.log(gp.predict(X)) - truth / 2)) < 0.1
    mean, std = gp.loo()
    assert abs(np.mean((y - mean) ** 2 / std**2) - 1) < 4 * (2 / 210) ** 0.5  # of counts with their exposures
    hours, minutes = (
        hg.GPRegressor(S2, **KNOWN, likelihood="poisson").fit(X, y, exposure=k * exposure) for k in (1, 60)
    )
    np.testing.assert_allclose(hours.predict(X), 60 * minutes.predict(X), rtol=1e-6)
    assert hours.log_marginal_likelihood() == pytest.approx(minutes.log_marginal_likelihood(), abs=1e-6)


def test_exposures_that_are_not_possible():
    X, y = S2.random(np.random.default_rng(0), 3), [1, 0, 2]
    gp = hg.GPRegressor(S2, **KNOWN, likelihood="poisson")
    for exposure, message in [
        ([1.0, 0.0, 2.0], r"exposure\[1\] = 0: nothing was observed there"),
        ([1.0, -1.0, 2.0], r"exposure\[1\] = -1.0 must be finite"),
        ([1.0, 2.0], "exposure must be 3 real numbers"),
        ([1.0, np.nan, 2.0], r"exposure\[1\] = nan must be finite"),
        ([1.0, 1e-320, 2.0], r"exposure\[1\] = 9.99989e-321 must be between 1e-100 and 1e\+100"),
        (np.nan, "exposure = nan must be a positive, finite number, or an array with one for each count"),
        (np.inf, "exposure = inf must be a positive"),
        (-1, "exposure = -1 must be a positive"),
        (0.0, "exposure = 0.0 must be a positive"),
        ("long", "exposure = 'long' must be a positive"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            gp.fit(X, y, exposure=exposure)
    with pytest.raises(InvalidInput, match="exposure = nan must be a positive, finite number"):
        hg.GPRegressor(S2, **KNOWN, likelihood="poisson").fit(X, y).predict(X, exposure=np.nan)
    with pytest.raises(InvalidInput, match='exposure needs likelihood="poisson"; StudentT has none'):
        hg.GPRegressor(S2, **KNOWN, likelihood="student-t").fit(X, y, exposure=1.0)
    normal = hg.GPRegressor(S2, **KNOWN, noise=0.1)
    with pytest.raises(InvalidInput, match='it needs likelihood="poisson"'):
        normal.fit(X, y, exposure=1.0)
    normal.fit(X, y)
    for ask in (lambda: normal.predict_interval(X, exposure=2.0), lambda: normal.log_density(X, y, exposure=2.0)):
        with pytest.raises(InvalidInput, match='it needs likelihood="poisson"'):
            ask()


def counted(n=40):
    """Counts in places of very different exposures."""
    X, truth, rng = on_sphere(n)
    exposure = rng.uniform(0.5, 50, n)
    return X, rng.poisson(exposure * np.exp(truth / 2)), exposure


@dataclass(frozen=True)
class OwnCounts(RegressionLikelihood):
    """Poisson, by what a user would write."""

    is_discrete: ClassVar = True

    def log_density(self, y, f):
        return stats.poisson.logpmf(y, np.exp(f))

    def expected(self, f):
        return np.exp(f)

    def dispersion(self, f):
        return np.exp(f)

    def offset(self, exposure, number):
        return np.broadcast_to(np.log(exposure), number)


@pytest.mark.parametrize("inference", ["dense", hg.Sparse(40)])
def test_a_likelihood_of_ones_own_takes_exposures(inference):
    X, y, exposure = counted()
    own, ours = (
        hg.GPRegressor(S2, **KNOWN, mean="zero", likelihood=likelihood, inference=inference).fit(
            X, y, exposure=exposure
        )
        for likelihood in (OwnCounts(), "poisson")
    )
    assert own.log_marginal_likelihood() == pytest.approx(ours.log_marginal_likelihood(), abs=1e-6)
    for noise in (False, True):
        np.testing.assert_allclose(
            own.predict(X, return_std=True, noise=noise, exposure=2.0),
            ours.predict(X, return_std=True, noise=noise, exposure=2.0),
            rtol=1e-6,
        )
    np.testing.assert_allclose(own.log_density(X, y, exposure=exposure), ours.log_density(X, y, exposure=exposure))
    if inference == "dense":
        np.testing.assert_allclose(own.loo(), ours.loo(), rtol=1e-6)


def test_scores_of_counts_know_their_exposures():
    X, y, exposure = counted()
    gp = hg.GPRegressor(S2, **KNOWN, likelihood="poisson").fit(X, y, exposure=exposure)
    rate, spread = gp.predict(X, return_std=True)
    mean, of_mean = gp.predict(X, return_std=True, exposure=exposure)
    np.testing.assert_allclose(mean, exposure * rate, rtol=1e-12)
    np.testing.assert_allclose(of_mean, exposure * spread, rtol=1e-12)
    of_counts = gp.predict(X, return_std=True, noise=True, exposure=exposure)[1]
    np.testing.assert_allclose(of_counts**2, exposure * rate + (exposure * spread) ** 2, rtol=1e-12)  # total variance
    covariance = gp.predict(X, return_cov=True, noise=True, exposure=exposure)[1]
    np.testing.assert_allclose(np.diagonal(covariance), of_counts**2, rtol=1e-10)
    assert gp.score(X, y, exposure=exposure) == pytest.approx(r2_score(y, exposure * rate))
    assert gp.score(X, y, exposure, exposure=exposure) == pytest.approx(
        r2_score(y, exposure * rate, sample_weight=exposure)
    )
    assert hg.nlpd_scorer(gp, X, y, exposure=exposure) == np.mean(gp.log_density(X, y, exposure=exposure))
    for ask in (gp.score, gp.log_density, lambda X, y: hg.nlpd_scorer(gp, X, y)):
        with pytest.raises(InvalidInput, match=r"fitted with exposure.*Give `exposure` of these observations"):
            ask(X, y)
    with pytest.raises(InvalidInput, match="exposure is for GPRegressor, and PoissonRegressor has none"):
        hg.nlpd_scorer(PoissonRegressor().fit(X, y), X, y, exposure=exposure)
    without = hg.GPRegressor(S2, **KNOWN, likelihood="poisson").fit(X, y)
    assert without.score(X, y) == pytest.approx(r2_score(y, without.predict(X)))


def test_cross_validation_with_exposure_and_with_covariates():
    """By scikit-learn's metadata routing; without it a score is an error, not a number."""
    X, y, exposure = counted()
    counts = hg.GPRegressor(S2, **KNOWN, likelihood="poisson")
    normal = hg.GPRegressor(S2, **KNOWN, noise=0.1)
    for gp, data in ((counts, {"exposure": exposure}), (normal, {"covariates": exposure[:, None]})):
        with pytest.raises(InvalidInput, match=f"fitted with .*{next(iter(data))}"):
            cross_val_score(gp, X, y, params=data, cv=3, error_score="raise")
        by_hand = []
        for train, test in KFold(3).split(X):
            fold = {name: values[train] for name, values in data.items()}
            fitted = clone(gp).fit(X[train], y[train], **fold)
            by_hand.append(fitted.score(X[test], y[test], **{name: values[test] for name, values in data.items()}))
        with config_context(enable_metadata_routing=True):
            asked = dict.fromkeys(data, True)
            routed = clone(gp).set_fit_request(**asked).set_score_request(**asked)
            np.testing.assert_allclose(cross_val_score(routed, X, y, params=data, cv=3), by_hand, rtol=1e-12)


@pytest.mark.parametrize("options", [KNOWN, {"time": 0.5, "integrate": "grid"}], ids=["known", "grid"])
def test_intervals_without_noise_are_those_of_draws(options):
    """Of f in the units of y, and of rates: against functions drawn from the posterior."""
    X, truth, rng = on_sphere(25)
    new, size = S2.random(rng, 3), 20_000
    student = hg.GPRegressor(S2, **options, likelihood="student-t").fit(X, 100 + 20 * truth)
    counts = hg.GPRegressor(S2, **options, likelihood="poisson").fit(X, rng.poisson(np.exp(1 + truth / 2)))
    for gp in (student, counts):
        draws = gp.sample_y(new, size)
        for end, p in zip(gp.predict_interval(new, 0.8, noise=False), (0.1, 0.9)):
            below = np.mean(draws <= end[:, None], axis=1)
            assert np.all(np.abs(below - p) < 5 * (p * (1 - p) / size) ** 0.5)
    once, twice = (counts.predict_interval(new, noise=False, exposure=e) for e in (1.0, 2.0))
    np.testing.assert_allclose(twice, 2 * np.array(once), rtol=1e-9)
    with pytest.raises(Unsupported, match=r"with Poisson y is not f with noise added"):
        counts.log_density(new, [1, 2, 3], noise=False)


def test_the_density_of_f_under_student_t_noise():
    X, truth, _ = on_sphere(25)
    gp = hg.GPRegressor(S2, **KNOWN, likelihood="student-t").fit(X, 100 + 20 * truth)
    mean, std = gp.predict(X[:4], return_std=True)
    y = mean + [0.0, 1.0, -2.0, 5.0] * std
    np.testing.assert_allclose(gp.log_density(X[:4], y, noise=False), stats.norm.logpdf(y, mean, std), rtol=1e-9)


@dataclass(frozen=True)
class Mistaken(Waiting):
    """A likelihood whose log density has the mistake of this name."""

    mistake: str | None = None

    def log_density(self, y, f):
        right = super().log_density(y, f)
        cases = {"nan": np.where(y > 1, np.nan, right), "inf": np.where(f > 2, np.inf, right), "sum": np.sum(right)}
        return cases[self.mistake] if self.mistake else self.mistake * right


@pytest.mark.parametrize(
    "mistake, message",
    [
        ("nan", r"Mistaken.log_density\(y, f\) is nan for y\[2\] = 3 at f = 0, and at no f a finite number.*`check`"),
        ("inf", r"Mistaken.log_density\(y, f\) is inf for y\[0\] = 0.5 at f = 10\. "),
        ("sum", r"Mistaken.log_density\(y, f\) has shape \(\).*needed is \(16, 3\).*without a sum"),
        ("none", r"Mistaken.log_density\(y, f\) raised KeyError: 'none'.*called with arrays y, \(N,\)"),
        (None, r"raised TypeError: .* mistake is None and not in `bounds`: give it a value, or name it there"),
    ],
)
def test_mistakes_in_a_likelihood_of_ones_own(mistake, message):
    X = S2.random(np.random.default_rng(0), 3)
    with pytest.raises(InvalidInput, match=message):
        hg.GPRegressor(S2, likelihood=Mistaken(mistake)).fit(X, [0.5, 1.0, 3.0])


def test_bounds_of_what_is_no_field():
    @dataclass(frozen=True)
    class Named(Waiting):
        bounds: ClassVar = {"shape": (0.1, 10.0)}

    with pytest.raises(InvalidInput, match=r"Named.bounds names 'shape', which is no field of it. Declare it"):
        Named()


@pytest.mark.parametrize("unit", [1e-4, 1.0, 1e4])
def test_no_noise_is_an_answer_in_every_unit(unit):
    """Student-t noise on its lower bound is no parameter that the data do not determine."""
    X = np.linspace(-3, 3, 40)[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("error", BoundWarning)
        gp = hg.GPRegressor(hg.Euclidean(1), likelihood="student-t").fit(X, unit * np.sin(X[:, 0]))
    assert gp.noise_ < 1e-5 * unit**2


@pytest.mark.parametrize("effect", [1.0, 1000.0])
def test_the_unit_of_student_t_noise_is_that_of_y_about_its_mean(effect):
    """A covariate with a large effect moves neither the other parameters nor its own coefficient."""
    X, truth, rng = on_sphere(80)
    group = (np.arange(80) % 10 < 4).astype(float)
    y = truth + 0.1 * rng.standard_normal(80)
    model = hg.GPRegressor(S2, likelihood="student-t")
    plain, moved = (clone(model).fit(X, y + size * group, covariates=group) for size in (0.0, effect))
    assert moved.amplitude_ == pytest.approx(plain.amplitude_, rel=1e-3)
    assert moved.noise_ == pytest.approx(plain.noise_, rel=1e-3)
    np.testing.assert_allclose(moved.coefficients_ - plain.coefficients_, [0.0, effect], atol=1e-4 * effect)


@pytest.mark.parametrize("likelihood", ["normal", "student-t"])
def test_a_mean_means_the_same_with_every_likelihood(likelihood):
    """The coefficient of a constant is a value of y, and without a constant the mean of f far from data is zero."""
    X, truth, rng = on_sphere(80)
    model = hg.GPRegressor(S2, likelihood=likelihood, time=1e-4, amplitude=1.0, noise=0.01)
    gp = clone(model).fit(X, 1000 + truth)
    assert gp.coefficients_[0] == pytest.approx(1000, abs=1)
    new = S2.random(rng, 10)
    other = clone(model).set_params(mean=lambda points: points[:, 2]).fit(X, 5 + truth)
    np.testing.assert_allclose(other.predict(new), other.coefficients_[0] * new[:, 2], atol=1e-3)


def test_the_constant_of_counts_is_a_log_rate():
    X, truth, rng = on_sphere(80)
    gp = hg.GPRegressor(S2, likelihood="poisson").fit(X, rng.poisson(np.exp(5 + 0.3 * truth)))
    assert gp.coefficients_[0] == pytest.approx(5, abs=0.5)


@dataclass(frozen=True)
class Known(RegressionLikelihood):
    """Normal noise of variance 0.09."""

    def log_density(self, y, f):
        return stats.norm.logpdf(y, f, 0.3)


def test_a_likelihood_of_ones_own_takes_a_number_as_mean():
    """A known mean of f is an offset: the data are those of f + 0.3."""
    X, truth, rng = on_sphere(40)
    y = truth + 0.3 * rng.standard_normal(40)
    own = hg.GPRegressor(S2, likelihood=Known(), time=0.5, amplitude=1.0)
    known = clone(own).set_params(mean=0.3).fit(X, y)
    moved = clone(own).set_params(mean="zero").fit(X, y - 0.3)
    np.testing.assert_allclose(known.posterior_.latent(X)[0], 0.3 + moved.posterior_.latent(X)[0], atol=1e-6)
    assert known.log_marginal_likelihood() == pytest.approx(moved.log_marginal_likelihood(), abs=1e-6)


def test_student_t_noise_needs_more_data_than_coefficients():
    with pytest.raises(InvalidInput, match="N = 1 target is its own mean"):
        hg.GPRegressor(S2, likelihood="student-t").fit(S2.random(np.random.default_rng(0), 1), [1.0])


@pytest.mark.parametrize("noise", [1e-9, 1e-6, 1e-2])
def test_data_without_noise_keep_their_digits(noise):
    """Student-t noise of a billionth of the prior variance: the mean at the data is that of normal noise."""
    X, truth, _ = on_sphere(60)
    given = {"time": 1.0, "amplitude": 1.0, "noise": noise}
    normal = hg.GPRegressor(S2, **given).fit(X, truth)
    student = hg.GPRegressor(S2, likelihood=StudentT(noise, degrees=1e4), time=1.0, amplitude=1.0).fit(X, truth)
    np.testing.assert_allclose(student.predict(X), normal.predict(X), atol=1e-5)
