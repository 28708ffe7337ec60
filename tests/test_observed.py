"""Regression with Student-t noise, counts and likelihoods of one's own: inference and learning."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy import stats

from gp_kernels import RBF, Cosines
from heatgp.gp import search as learning
from heatgp.gp.gradients import evidence_gradient
from heatgp.gp.inference import TOLERANCES, Approximate
from heatgp.gp.kernels import Normalized
from heatgp.gp.objective import Objective
from heatgp.gp.parameters import Given, Params
from heatgp.gp.poisson import Poisson
from heatgp.gp.posterior import condition
from heatgp.gp.prior import Prior, observations
from heatgp.gp.regression_likelihood import RegressionLikelihood
from heatgp.gp.search import Bounds
from heatgp.gp.student import StudentT
from heatgp.gp.variational import variational


@dataclass(frozen=True)
class Normal(RegressionLikelihood):
    """Normal noise given by its log density alone: the inference is then exact."""

    noise: float | None = None

    bounds: ClassVar = {"noise": (1e-6, 1e2)}

    def log_density(self, y, f):
        return stats.norm.logpdf(y, f, self.noise**0.5)

    def expected(self, f):
        return f

    def dispersion(self, f):
        return np.full(np.shape(f), self.noise)

    def distribution(self, y, f):
        return stats.norm.cdf(y, f, self.noise**0.5)


def by_integration(log_density, K, order=60):
    """log evidence, means and variances of f by Gauss and Hermite's rule in as many dimensions as there are data."""
    node, weight = np.polynomial.hermite_e.hermegauss(order)
    grids = np.meshgrid(*[node] * len(K), indexing="ij")
    f = np.stack([grid.ravel() for grid in grids], axis=1) @ np.linalg.cholesky(K).T
    log_weight = sum(np.meshgrid(*[np.log(weight / weight.sum())] * len(K), indexing="ij")).ravel()
    log_mass = log_weight + log_density(f)
    top = log_mass.max()
    mass = np.exp(log_mass - top)
    mean = mass @ f / mass.sum()
    return top + np.log(mass.sum()), mean, mass @ (f - mean) ** 2 / mass.sum()


def elliptical_slices(log_density, K, rng, steps, chains):
    """Draws (steps, chains, N) of f from its posterior by elliptical slice sampling, after as many that are left out.

    Reference: Murray, Adams & MacKay (2010), fig. 2.
    """
    root = np.linalg.cholesky(K + 1e-10 * np.eye(len(K)))
    f = rng.standard_normal((chains, len(K))) @ root.T
    density, kept = log_density(f), []
    for step in range(2 * steps):
        other = rng.standard_normal(f.shape) @ root.T
        level = density + np.log(rng.uniform(size=chains))
        angle = rng.uniform(0, 2 * np.pi, chains)
        low, high = angle - 2 * np.pi, angle.copy()
        open_, at, chosen = np.ones(chains, bool), np.empty(chains), np.empty(f.shape)
        while open_.any():
            place = f * np.cos(angle)[:, None] + other * np.sin(angle)[:, None]
            found = log_density(place)
            now = open_ & (found > level)
            chosen[now], at[now] = place[now], found[now]
            open_ &= ~now
            low, high = np.where(open_ & (angle < 0), angle, low), np.where(open_ & (angle >= 0), angle, high)
            angle = rng.uniform(low, high)
        f, density = chosen, at
        if step >= steps:
            kept.append(f)
    return np.stack(kept)


def sequential_ep(log_density, K, sweeps=40):
    """Expectation propagation, one site after the other, its moments by the trapezoid rule on 20,001 places.

    `log_density(i, f)` is that of observation i. Reference: Rasmussen & Williams (2006), Alg. 3.5, eq. 3.65 and 3.74.
    """
    n = len(K)
    tau, nu, log_z = np.zeros(n), np.zeros(n), np.zeros(n)
    for _ in range(sweeps):
        for i in range(n):
            Sigma = np.linalg.inv(np.linalg.inv(K) + np.diag(tau))
            mu = Sigma @ nu
            v = 1 / (1 / Sigma[i, i] - tau[i])
            m = v * (mu[i] / Sigma[i, i] - nu[i])
            f, step = np.linspace(m - 20 * v**0.5, m + 20 * v**0.5, 20_001, retstep=True)
            mass = step * np.exp(log_density(i, f)) * stats.norm.pdf(f, m, v**0.5)
            log_z[i] = np.log(mass.sum())
            center = mass @ f / mass.sum()
            spread = mass @ (f - center) ** 2 / mass.sum()
            spread = min(spread, v)  # a wider one would need a negative precision: it has the mean alone
            tau[i] = 1 / spread - 1 / v
            nu[i] = center / spread - m / v
    Sigma = np.linalg.inv(np.linalg.inv(K) + np.diag(tau))
    mu = Sigma @ nu
    v = 1 / (1 / np.diag(Sigma) - tau)
    cavity, marginal = (1 / v, mu / np.diag(Sigma) - nu), (1 / np.diag(Sigma), mu / np.diag(Sigma))
    log_parts = [shift**2 / (2 * precision) - 0.5 * np.log(precision) for precision, shift in (cavity, marginal)]
    log_evidence = 0.5 * nu @ mu + 0.5 * (np.linalg.slogdet(Sigma)[1] - np.linalg.slogdet(K)[1])
    return log_evidence + np.sum(log_z + log_parts[0] - log_parts[1]), mu, np.diag(Sigma)


def with_outliers(n, seed=0, share=0.1):
    rng = np.random.default_rng(seed)
    X = np.sort(rng.uniform(-3, 3, (n, 1)), axis=0)
    far = rng.uniform(size=n) < share
    return X, np.sin(2 * X[:, 0]), np.sin(2 * X[:, 0]) + rng.normal(size=n) * np.where(far, 5.0, 0.1)


def counted(n, seed=0):
    rng = np.random.default_rng(seed)
    X = np.sort(rng.uniform(-3, 3, (n, 1)), axis=0)
    rate = np.exp(1 + 1.5 * np.sin(2 * X[:, 0]))
    return X, rate, rng.poisson(rate).astype(float)


def test_normal_noise_by_its_log_density_is_exact_regression():
    X, _, y = with_outliers(25, share=0)
    params, new = Params(0.6, 1.5, 0.02), np.linspace(-3, 3, 7)[:, None]
    exact = condition(RBF(), X, y, params, mean="zero")
    found = condition(RBF(), X, y, params, "zero", likelihood=Normal(0.02))
    np.testing.assert_allclose(found.log_marginal_likelihood, exact.log_marginal_likelihood, atol=1e-7)
    np.testing.assert_allclose(found.moments(new), exact.moments(new), atol=1e-8)
    np.testing.assert_allclose(found.moments(new, noise=True), exact.moments(new, noise=True), atol=1e-8)
    np.testing.assert_allclose(found.loo(), exact.loo(), atol=1e-7)
    mean, variance = exact.moments(new, noise=True)
    np.testing.assert_allclose(found.quantile(new, 0.9), stats.norm.ppf(0.9, mean, variance**0.5), atol=1e-7)
    density = stats.norm.logpdf(0.3, mean, variance**0.5)
    np.testing.assert_allclose(found.log_density(new, np.full(7, 0.3)), density, atol=1e-8)


def test_many_degrees_of_freedom_are_normal_noise():
    X, _, y = with_outliers(25, share=0)
    params = Params(0.6, 1.5, 0.02)
    exact = condition(RBF(), X, y, params, mean="zero")
    found = condition(RBF(), X, y, params, "zero", likelihood=StudentT(0.02, 1e4))
    np.testing.assert_allclose(found.mean(X), exact.mean(X), atol=1e-3)
    np.testing.assert_allclose(found.log_marginal_likelihood, exact.log_marginal_likelihood, atol=0.02)


THREE = np.array([[0.0], [0.5], [2.0]])


@pytest.mark.parametrize(
    "likelihood, y, log_density",
    [
        (Poisson(), [2.0, 0.0, 7.0], lambda y, f: stats.poisson.logpmf(y, np.exp(f))),
        (StudentT(0.3, 4.0), [0.2, 0.5, -0.3], lambda y, f: stats.t.logpdf(y, 4, f, 0.3**0.5)),
        (StudentT(0.3, 4.0), [0.2, 3.0, -0.3], lambda y, f: stats.t.logpdf(y, 4, f, 0.3**0.5)),  # one is far off
    ],
    ids=["counts", "near", "far"],
)
def test_three_points(likelihood, y, log_density):
    """The textbook's expectation propagation to rounding, and the truth by integration to the error of the method."""
    y, K = np.array(y), 1.2 * RBF().pairs(THREE).at(0.8).value + 2.2
    posterior = condition(RBF(), THREE, y, Params(0.8, 1.2), likelihood=likelihood, coefficient_scale=2.2**0.5)
    found = posterior.inferred
    log_z, mean, variance = sequential_ep(lambda i, f: log_density(y[i], f), K)
    np.testing.assert_allclose(found.log_evidence, log_z, atol=1e-6)
    np.testing.assert_allclose([found.mean, found.variance], [mean, variance], atol=1e-6)
    np.testing.assert_allclose(posterior.latent(THREE), [mean, variance], atol=1e-6)
    log_z, mean, variance = by_integration(lambda f: log_density(y, f).sum(axis=-1), K, order=100)
    assert abs(found.log_evidence - log_z) < 0.1
    assert np.all(np.abs(found.mean - mean) < 0.2 * variance**0.5)
    assert np.all(np.abs(found.variance / variance - 1) < 0.25)


def test_one_count_is_exact():
    """The site gives the moments of the one tilted distribution, whose integral is the evidence."""
    log_z, mean, variance = by_integration(
        lambda f: stats.poisson.logpmf(3, np.exp(f)).sum(axis=-1), np.full((1, 1), 1.7), order=200
    )
    X, y = np.zeros((1, 1)), np.array([3.0])
    found = condition(RBF(), X, y, Params(1.0, 1.7), "zero", likelihood=Poisson())
    np.testing.assert_allclose([found.log_marginal_likelihood], [log_z], atol=1e-9)
    np.testing.assert_allclose(found.latent(X), [mean, variance], atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["student-t", "poisson"])
def test_posterior_against_markov_chains(kind):
    """20 data. Expectation propagation errs by less than a tenth of a deviation in means, by a quarter in variances."""
    rng = np.random.default_rng(0)
    if kind == "poisson":
        X, _, y = counted(20)
        likelihood = Poisson()
    else:
        X, _, y = with_outliers(20, seed=1, share=0.15)
        likelihood = StudentT(0.02, 4.0)
    K = RBF().pairs(X).at(0.4).value
    found = condition(RBF(), X, y, Params(0.4, 1.0), "zero", likelihood=likelihood).inferred
    draws = elliptical_slices(lambda f: likelihood.log_density(y, f).sum(axis=-1), K, rng, steps=3000, chains=100)
    mean, variance = draws.mean(axis=(0, 1)), draws.var(axis=(0, 1))
    error = draws.mean(axis=0).std(axis=0) / 100**0.5
    assert np.all(np.abs(found.mean - mean) < 0.1 * variance**0.5 + 5 * error)
    assert np.all(np.abs(found.variance / variance - 1) < 0.3)


def quadratic(X):
    return np.column_stack([np.ones(len(X)), X[:, 0], X[:, 0] ** 2])


@pytest.mark.parametrize("kernel", [RBF(), Normalized(Cosines())], ids=["dense", "low rank"])
@pytest.mark.parametrize(
    "likelihood, values", [(StudentT(None, None), [0.02, 4.0]), (Poisson(), []), (Normal(), [0.02])], ids=str
)
@pytest.mark.parametrize(
    "mean, scale", [("constant", None), (quadratic, None), (quadratic, [np.inf, 0.5, 2.0])], ids=["1", "flat", "half"]
)
@pytest.mark.parametrize("amplitude", [None, 0.7])
def test_gradients_are_differences(kernel, likelihood, values, mean, scale, amplitude, monkeypatch):
    X, _, y = counted(30) if isinstance(likelihood, Poisson) else with_outliers(30, seed=2)
    prior = Prior.of(kernel, X, 1.0)
    data, _ = observations(X, y, mean, scale)
    inference = Approximate(likelihood)
    monkeypatch.setitem(TOLERANCES, "exact", 1e-10)
    objective = Objective(prior, data, Given.of(RBF(), None, amplitude, 0.0), inference)
    z, h = np.log([0.5, *([1.3] if amplitude is None else []), *values]), 1e-4
    differences = [(objective.value(z + e) - objective.value(z - e)) / (2 * h) for e in h * np.eye(len(z))]
    np.testing.assert_allclose(objective(z)[1], differences, rtol=1e-4, atol=1e-5)


def learned(X, y):
    likelihood = StudentT().adapted(y, np.median(y))
    given = Given.of(RBF(), None, None, 0.0)
    return learning.fit(RBF(), X, y, Bounds((0.1, 10.0)), given, "constant", likelihood=likelihood)


@pytest.mark.slow
def test_outliers_do_not_bend_the_curve():
    X, truth, y = with_outliers(40, seed=3)
    fit = learned(X, y)
    found = condition(RBF(), X, y, fit.params, likelihood=fit.likelihood)
    assert np.sqrt(np.mean((found.mean(X) - truth) ** 2)) < 0.1  # the noise of the good ones


@pytest.mark.slow
def test_a_fit_does_not_depend_on_units():
    """The amplitude and the noise are in squares of the unit of y."""
    X, _, y = with_outliers(60, seed=3)
    fit, moved = learned(X, y), learned(X, 1e3 + 50 * y)
    assert moved.params.time == pytest.approx(fit.params.time, rel=1e-3)
    assert moved.params.amplitude == pytest.approx(50**2 * fit.params.amplitude, rel=1e-3)
    assert moved.likelihood.noise == pytest.approx(50**2 * fit.likelihood.noise, rel=1e-3)
    # with a flat mean the evidence is the density of 59 coordinates
    assert moved.log_marginal_likelihood == pytest.approx(fit.log_marginal_likelihood - 59 * np.log(50), abs=1e-4)


def test_counts_larger_than_all_others():
    """Sites of a million times the precision of the prior converge, and predict the counts."""
    X = np.linspace(0, 10, 11)[:, None]
    y = np.array([0, 1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10, 0, 500_000.0])
    found = condition(RBF(), X, y, Params(0.01, 30.0), likelihood=Poisson())
    large = y >= 1000
    np.testing.assert_allclose(found.mean(X)[large], y[large], rtol=3 / 1000**0.5)


def test_moments_of_samples():
    X, _, y = counted(25)
    found = condition(RBF(), X, y, Params(0.6, 2.0), likelihood=Poisson())
    new = np.array([[-2.0], [0.1], [0.4]])
    draws = found.sample(new, np.random.default_rng(0), 200_000)
    np.testing.assert_allclose(draws.mean(axis=0), found.mean(new), rtol=0.02)
    np.testing.assert_allclose(np.cov(draws.T), found.covariance(new), rtol=0.1)
    np.testing.assert_allclose(np.diagonal(found.covariance(new)), found.moments(new)[1], rtol=1e-10)
    total = np.diagonal(found.covariance(new, noise=True))
    np.testing.assert_allclose(total, found.moments(new, noise=True)[1], rtol=1e-10)


def test_leave_one_out_is_near_the_refitted_one():
    X, _, y = counted(30)
    params, likelihood = Params(0.6, 2.0), Poisson()
    mean, variance = condition(RBF(), X, y, params, likelihood=likelihood).loo()
    for i in (0, 7, 21):
        others = np.arange(30) != i
        alone = condition(RBF(), X[others], y[others], params, likelihood=likelihood)
        np.testing.assert_allclose([mean[[i]], variance[[i]]], alone.moments(X[[i]], noise=True), rtol=0.05)


def test_intervals_cover_data_of_the_model():
    rng, inside, n = np.random.default_rng(4), {"student-t": [], "poisson": []}, 9
    for _ in range(n):
        X = rng.uniform(-3, 3, (80, 1))
        K = RBF().pairs(X).at(0.5).value + 1e-9 * np.eye(80)
        f = 1 + np.linalg.cholesky(K) @ rng.standard_normal(80)
        y = {"student-t": f + 0.3 * stats.t.rvs(4, size=80, random_state=rng), "poisson": rng.poisson(np.exp(f)) * 1.0}
        for name, likelihood in (("student-t", StudentT(0.09, 4.0)), ("poisson", Poisson())):
            data = y[name]
            found = condition(RBF(), X[:40], data[:40], Params(0.5, 1.0), likelihood=likelihood)
            low, high = (found.quantile(X[40:], p) for p in (0.05, 0.95))
            inside[name].append(np.mean((low <= data[40:]) & (data[40:] <= high)))
    share, error = np.mean(inside["student-t"]), np.std(inside["student-t"]) / n**0.5
    assert abs(share - 0.9) < 4 * error
    share, error = np.mean(inside["poisson"]), np.std(inside["poisson"]) / n**0.5
    assert 0.9 - 4 * error < share < 0.97  # whole numbers: the interval has at least the level


def student_bound(X, y, z, mean="zero"):
    """The variational bound at log time, amplitude, noise and degrees, and its gradient by the objective."""
    prior = Prior.of(RBF(), X, 1.0)

    def infer(factorise, likelihood, data, *start, **options):
        return variational(factorise, likelihood, data.y, tolerance=1e-10)

    data, _ = observations(X, y, mean)
    objective = Objective(prior, data, Given.of(RBF(), None, None, 0.0), Approximate(StudentT(None, None)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("heatgp.gp.inference.converging_ep", infer)
        return objective(z)


@pytest.mark.parametrize("degrees", [2.0, 4.0, 2000.0])
def test_the_variational_bound(degrees):
    """Against the mean of log p(y, f, lambda) - log q(f, lambda) over draws of SciPy, and below the evidence."""
    X, y, noise, a = np.array([[0.0], [0.4], [1.5]]), np.array([0.3, 2.5, -0.4]), 0.3, degrees / 2
    K = 1.3 * RBF().pairs(X).at(0.5).value
    value, _ = student_bound(X, y, np.log([0.5, 1.3, noise, degrees]))
    mean, variance = np.zeros(3), np.zeros(3)
    for _ in range(500):  # the best distribution of the precisions lambda, then that of f
        rate = a + ((y - mean) ** 2 + variance) / (2 * noise)
        precision = (a + 0.5) / rate / noise
        Sigma = np.linalg.inv(np.linalg.inv(K) + np.diag(precision))
        mean, variance = Sigma @ (precision * y), np.diagonal(Sigma)
    rng = np.random.default_rng(0)
    f, lambdas = rng.multivariate_normal(mean, Sigma, 100_000), rng.gamma(a + 0.5, 1 / rate, (100_000, 3))
    terms = stats.norm.logpdf(y, f, np.sqrt(noise / lambdas)) + stats.gamma.logpdf(lambdas, a, scale=1 / a)
    terms -= stats.gamma.logpdf(lambdas, a + 0.5, scale=1 / rate)
    terms = terms.sum(axis=1) + stats.multivariate_normal(np.zeros(3), K).logpdf(f)
    terms -= stats.multivariate_normal(mean, Sigma).logpdf(f)
    assert abs(terms.mean() - value) < 4.5 * terms.std() / 100_000**0.5 + 1e-9
    likelihood = StudentT(noise, degrees)
    assert value < by_integration(lambda f: likelihood.log_density(y, f).sum(axis=-1), K)[0]


@pytest.mark.parametrize("mean", ["zero", quadratic])
def test_the_gradient_of_the_variational_bound_is_that_of_differences(mean):
    X, _, y = with_outliers(20, seed=2)
    z, h = np.log([0.5, 1.3, 0.02, 4.0]), 1e-4
    ends = [[student_bound(X, y, z + side * e, mean)[0] for side in (-1, 1)] for e in h * np.eye(4)]
    differences = [(high - low) / (2 * h) for low, high in ends]
    np.testing.assert_allclose(student_bound(X, y, z, mean)[1], differences, rtol=1e-4, atol=1e-5)


def contradicting(seed, share):
    """Points of a circle, a smooth function, and outliers of one to six times its size."""
    rng, n = np.random.default_rng(seed), (20, 40, 80)[seed % 3]
    X = rng.uniform(-3, 3, (n, 1))
    y = 2 * np.sin(2 * X[:, 0]) + 0.2 * rng.standard_normal(n)
    wrong = rng.permutation(n)[: int(share * n)]
    y[wrong] += rng.choice([-1, 1], len(wrong)) * rng.uniform(1, 6, len(wrong))
    return X, y


def test_inference_ends_where_expectation_propagation_does_not():
    """A tenth of the noise that data have: sites of contradicting observations go in circles."""
    ended = []
    for seed in range(9, 16):
        X, y = contradicting(seed, 0.3)
        found = condition(RBF(), X, y, Params(0.05, 2.0), "zero", likelihood=StudentT(0.004, 4.0))
        ended.append(found.inferred.in_parameters is not None)
        assert np.isfinite(found.log_marginal_likelihood)
        assert np.all(np.isfinite(found.mean(X)))
    assert any(ended)  # else this tests nothing


@pytest.mark.parametrize(("noise", "share"), [(0.1, 0.1), (0.004, 0.3)])
def test_an_offset_is_added_to_f(noise, share):
    """With Student-t noise it is as if y were smaller: by expectation propagation, and by the variational bound."""
    X, y = contradicting(10, share)
    offset, likelihood, params = np.linspace(-3.0, 5.0, len(y)), StudentT(noise, 4.0), Params(0.05, 2.0)
    plain = condition(RBF(), X, y, params, likelihood=likelihood)
    shifted = condition(RBF(), X, y + offset, params, likelihood=likelihood, offset=offset)
    again = shifted.again(RBF(), params)
    assert shifted.is_bound == plain.is_bound == (noise < 0.1)
    new = np.linspace(-3, 3, 7)[:, None]
    for found in (shifted, again):
        assert found.log_marginal_likelihood == pytest.approx(plain.log_marginal_likelihood, abs=1e-5)
        np.testing.assert_allclose(found.moments(new), plain.moments(new), atol=1e-6)
        np.testing.assert_allclose(found.loo_log_density(), plain.loo_log_density(), atol=1e-5)
        np.testing.assert_allclose(found.loo()[0], plain.loo()[0] + offset, atol=1e-6)
    gradients = [evidence_gradient(found) for found in (plain, shifted)]
    np.testing.assert_allclose(gradients[1], gradients[0], atol=1e-3)
