"""Expectation propagation against the textbook's sequential loop and integration."""

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import norm

import heatgp as hg
from gp_kernels import RBF, Cosines, Full
from heatgp.errors import InvalidInput, NotConverged
from heatgp.gp.classes import condition_classes
from heatgp.gp.ep import expectation_propagation
from heatgp.gp.kernels import Normalized
from heatgp.gp.parameters import Params
from heatgp.gp.prior import Prior
from heatgp.gp.probit import Probit
from heatgp.gp.scores import reliability


def conditioned(kernel, X, y, params):
    """The posterior of a function of mean zero given labels without noise."""
    return condition_classes(kernel, X, y, params, Probit(), mean="zero")


def labelled(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.where(np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)


def sequential_ep(K, y, sweeps=60):
    """R&W Alg. 3.5, one site after the other with rank-one updates, and log Z as the product of its site terms."""
    n = len(y)
    nu, tau = np.zeros(n), np.zeros(n)
    Sigma, mu = K.copy(), np.zeros(n)
    for _ in range(sweeps):
        for i in range(n):
            tau_cavity = 1 / Sigma[i, i] - tau[i]
            nu_cavity = mu[i] / Sigma[i, i] - nu[i]
            m, v = nu_cavity / tau_cavity, 1 / tau_cavity
            z = y[i] * m / np.sqrt(1 + v)
            ratio = norm.pdf(z) / norm.cdf(z)
            m_hat = m + y[i] * v * ratio / np.sqrt(1 + v)
            v_hat = v - v**2 * ratio / (1 + v) * (z + ratio)
            change = 1 / v_hat - tau_cavity - tau[i]
            tau[i] += change
            nu[i] = m_hat / v_hat - nu_cavity
            column = Sigma[:, i].copy()
            Sigma -= change / (1 + change * column[i]) * np.outer(column, column)
            mu = Sigma @ nu
        Sigma = np.linalg.inv(np.linalg.inv(K) + np.diag(tau))
        mu = Sigma @ nu
    v = 1 / (1 / np.diag(Sigma) - tau)
    m = v * (mu / np.diag(Sigma) - nu)
    site_mean, site_variance = nu / tau, 1 / tau
    # eq. 3.65 term by term: log N(site mean; 0, K + site variances) and the sites' normalisations (eq. 3.59)
    C = K + np.diag(site_variance)
    log_z = -0.5 * site_mean @ np.linalg.solve(C, site_mean) - 0.5 * np.linalg.slogdet(C)[1]
    log_z += np.sum(norm.logcdf(y * m / np.sqrt(1 + v)) + 0.5 * np.log(v + site_variance))
    log_z += np.sum((m - site_mean) ** 2 / (2 * (v + site_variance)))
    return nu, tau, mu, np.diag(Sigma), log_z


@pytest.mark.parametrize("amplitude, time", [(1.0, 0.7), (10.0, 0.3), (200.0, 0.3)])
def test_ep_equals_the_sequential_textbook(amplitude, time):
    X, y = labelled(25)
    nu, tau, mu, variance, log_z = sequential_ep(amplitude * RBF().pairs(X).at(time).value, y)
    posterior = conditioned(RBF(), X, y, Params(time, amplitude))
    found = posterior.inferred
    np.testing.assert_allclose(found.precision, tau, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(found.shift, nu, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(found.mean, mu, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found.variance, variance, rtol=1e-6)
    np.testing.assert_allclose(posterior.log_marginal_likelihood, log_z, atol=1e-6)
    # Alg. 3.6: the predictive moments
    Z = np.random.default_rng(1).normal(size=(6, 2))
    C = amplitude * RBF().pairs(X).at(time).value + np.diag(1 / tau)
    cross = amplitude * RBF().pairs(Z, X).at(time).value
    mean, spread = cross @ np.linalg.solve(C, nu / tau), amplitude - np.sum(cross * np.linalg.solve(C, cross.T).T, 1)
    np.testing.assert_allclose(posterior.moments(Z)[0], mean, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(posterior.moments(Z)[1], spread, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(posterior.probability(Z), norm.cdf(mean / np.sqrt(1 + spread)), atol=1e-6)


# What is left at larger amplitudes is the error of the method, not of the code, the textbook's to 1e-6 (above).
@pytest.mark.parametrize(
    "amplitude, tolerance",
    [(0.5, 1e-3), (2.0, 5e-3)],
)
def test_three_points_by_integration(amplitude, tolerance):
    X, y, new = np.array([[0.0], [0.5], [1.5]]), np.array([1.0, 1.0, -1.0]), np.array([[0.2], [1.1], [3.0]])
    posterior = conditioned(RBF(), X, y, Params(0.8, amplitude))
    # Gauss-Hermite on the whitened latent values of the three data
    node, weight = np.polynomial.hermite_e.hermegauss(28)
    weight = weight / weight.sum()
    z = np.stack(np.meshgrid(node, node, node, indexing="ij"), axis=-1).reshape(-1, 3)
    w = np.einsum("i,j,k->ijk", weight, weight, weight).ravel()
    K = amplitude * RBF().pairs(X).at(0.8).value
    f = z @ np.linalg.cholesky(K).T
    joint = w * np.prod(norm.cdf(y * f), axis=1)
    # the integral is itself checked: an orthant probability of three variables has a closed form (Sheppard)
    C = (K + np.eye(3)) / (amplitude + 1) * np.outer(y, y)
    orthant = 1 / 8 + np.arcsin(C[np.triu_indices(3, 1)]).sum() / (4 * np.pi)
    assert abs(joint.sum() - orthant) < 1e-7
    assert abs(np.exp(posterior.log_marginal_likelihood) - orthant) < 1e-3
    assert abs(posterior.log_marginal_likelihood - np.log(orthant)) < tolerance
    cross = amplitude * RBF().pairs(new, X).at(0.8).value
    mean = f @ np.linalg.solve(K, cross.T)
    variance = amplitude - np.sum(cross * np.linalg.solve(K, cross.T).T, axis=1)
    probability = joint @ norm.cdf(mean / np.sqrt(1 + variance)) / joint.sum()
    np.testing.assert_allclose(posterior.probability(new), probability, atol=tolerance)


@pytest.mark.parametrize("kernel", [RBF(), Normalized(Cosines())], ids=["dense", "low rank"])
def test_gradients_are_differences(kernel):
    X, y = labelled(30)
    X, time, amplitude, h = X[:, :1], 0.4, 5.0, 1e-4

    def found(log_time, log_amplitude):
        prior = Prior.of(kernel, X, 1.0)
        values, slopes = prior.at(np.exp(log_time), [0])
        scale = np.exp(log_amplitude) ** prior.form.power
        found = expectation_propagation(lambda s: prior.form.of(scale * values, s), Probit(), y, tolerance=1e-10)
        return found, [scale * slopes[0]]

    t, a = np.log(time), np.log(amplitude)
    at, slopes = found(t, a)
    in_time = (found(t + h, a)[0].log_evidence - found(t - h, a)[0].log_evidence) / (2 * h)
    in_amplitude = (found(t, a + h)[0].log_evidence - found(t, a - h)[0].log_evidence) / (2 * h)
    np.testing.assert_allclose(at.in_times(slopes), [in_time], rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(at.in_amplitude, in_amplitude, rtol=1e-5, atol=1e-7)


def test_low_rank_equals_dense():
    X, y = labelled(60)
    X, Z, params = X[:, :1], np.linspace(-2, 2, 7)[:, None], Params(0.3, 4.0)
    low, dense = (conditioned(k, X, y, params) for k in (Cosines(), Full(Cosines())))
    np.testing.assert_allclose(low.moments(Z), dense.moments(Z), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(low.log_marginal_likelihood, dense.log_marginal_likelihood, atol=1e-8)


def test_a_start_changes_nothing():
    X, y = labelled(40)
    prior = Prior.of(RBF(), X, 1.0)
    near = expectation_propagation(lambda s: prior.form.of(8.0 * prior.at(0.5)[0], s), Probit(), y)
    cold = expectation_propagation(lambda s: prior.form.of(10.0 * prior.at(0.4)[0], s), Probit(), y)
    warm = expectation_propagation(lambda s: prior.form.of(10.0 * prior.at(0.4)[0], s), Probit(), y, start=near.sites)
    np.testing.assert_allclose(warm.mean, cold.mean, atol=1e-6)
    np.testing.assert_allclose(warm.log_evidence, cold.log_evidence, atol=1e-9)


def test_leave_one_out_of_ep_is_near_the_refitted_one():
    X, y = labelled(40)
    approximate = conditioned(RBF(), X, y, Params(0.5, 2.0)).loo_probability()
    for i in (0, 5, 11, 30):
        others = np.arange(40) != i
        refitted = conditioned(RBF(), X[others], y[others], Params(0.5, 2.0))
        assert abs(approximate[i] - refitted.probability(X[i : i + 1])[0]) < 0.01


def test_probabilities_are_calibrated_on_data_from_the_model():
    rng = np.random.default_rng(5)
    probabilities, happened = [], []
    for _ in range(30):
        X = rng.uniform(-2, 2, size=(150, 2))
        K = 4.0 * RBF().pairs(X).at(0.5).value + 1e-9 * np.eye(150)
        f = np.linalg.cholesky(K) @ rng.normal(size=150)
        y = np.where(rng.uniform(size=150) < norm.cdf(f), 1.0, -1.0)
        posterior = conditioned(RBF(), X[:75], y[:75], Params(0.5, 4.0))
        probabilities.append(posterior.probability(X[75:]))
        happened.append(y[75:] > 0)
    table = reliability(np.concatenate(happened), np.concatenate(probabilities), bins=5)
    # predictions of one draw of f are dependent: count each of the 30 draws as ten
    error = np.sqrt(table.predicted * (1 - table.predicted) / (table.count * 10 / 75))
    np.testing.assert_array_less(np.abs(table.observed - table.predicted), 4 * error)
    assert table.error < 0.03


def test_hard_cases_converge():
    X, y = labelled(30)
    same = np.zeros((30, 2))
    for points, labels, params in [
        (same, y, Params(1.0, 1e4)),  # contradicting duplicates
        (X, np.ones(30), Params(1.0, 1e4)),  # one class
        (X, np.sign(X[:, 0]), Params(10.0, 1e6)),  # separable, huge amplitude
        (X, y, Params(1e-8, 1.0)),  # independent points
        (X, y, Params(1.0, 1e-8)),  # nothing to learn
        (X[:1], y[:1], Params(1.0, 1.0)),
    ]:
        posterior = conditioned(RBF(), points, labels, params)
        probability = posterior.probability(points)
        assert np.all((probability >= 0) & (probability <= 1))
        assert np.isfinite(posterior.log_marginal_likelihood)
    assert np.isclose(posterior.log_marginal_likelihood, np.log(0.5), atol=0.06)  # EP of one label is exact


def test_one_label_is_exact():
    posterior = conditioned(RBF(), np.zeros((1, 1)), [1.0], Params(1.0, 3.0))
    assert np.isclose(posterior.log_marginal_likelihood, np.log(0.5), atol=1e-10)


def test_errors_say_what_to_do():
    X, y = labelled(20)
    prior = Prior.of(RBF(), X, 1.0)
    K = 10.0 * prior.at(0.5)[0]
    with pytest.raises(NotConverged, match=r"after 2 iterations the largest change of a site is .* > 1e-08\. Use a sm"):
        expectation_propagation(lambda s: prior.form.of(K, s), Probit(), y, iterations=2)
    with pytest.raises(InvalidInput, match=r"y\[0\] = 0\.0 is not a label. Labels are -1 and 1"):
        conditioned(RBF(), X, np.zeros(20), Params(1.0, 1.0))


@pytest.mark.parametrize("seed", [1, 3])
def test_short_lengths_that_random_labels_do_not_see_are_found(seed):
    sphere, rng = hg.Sphere(2), np.random.default_rng(seed)
    X = sphere.random(rng, 800)
    y = rng.random(800) < ndtr(2 * X[:, 2] + 1.5 * np.sin(10 * X[:, 0]))
    learned, given = hg.GPClassifier(sphere).fit(X, y), hg.GPClassifier(sphere, time=0.055).fit(X, y)
    assert learned.log_marginal_likelihood() > given.log_marginal_likelihood() - 0.5
