"""Several classes at once, against dense matrices, two classes, closed formulas, integration and simulation."""

import time

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import log_ndtr
from scipy.stats import norm
from sklearn.multiclass import OneVsRestClassifier

from gp_kernels import RBF, Cosines, Full
from heatgp import ComplexProjective, Euclidean, GPClassifier, Sphere
from heatgp.errors import InvalidInput
from heatgp.gp.classes import condition_classes
from heatgp.gp.coupled import Coupled
from heatgp.gp.coupled_low_rank import CoupledLowRank
from heatgp.gp.ep import expectation_propagation
from heatgp.gp.inference import TOLERANCES, Approximate
from heatgp.gp.multinomial import Multinomial, largest, probits
from heatgp.gp.objective import Objective
from heatgp.gp.parameters import Given, Params
from heatgp.gp.pivoted import Root
from heatgp.gp.prior import Prior, observations
from heatgp.gp.probit import Probit


def labelled(n, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    angles = 2 * np.pi * np.arange(classes) / classes
    heights = 2 * X @ np.stack([np.cos(angles), np.sin(angles)]) + rng.normal(size=(n, classes))
    return X, heights.argmax(axis=1)


def joint_precision(K, precision):
    """The precision matrix of all f_c and the level s: (classes + 1) N rows, nothing integrated out."""
    classes, n = precision.shape
    whole = np.zeros(((classes + 1) * n,) * 2)
    for c, s in enumerate(precision):
        rows = slice(c * n, (c + 1) * n)
        whole[rows, rows] = np.linalg.inv(K) + np.diag(s)
        whole[rows, -n:] = whole[-n:, rows] = -np.diag(s)
        whole[-n:, -n:] += np.diag(s)
    return whole


def with_own(precision, y):
    return precision + (np.arange(len(precision))[:, None] == y)


def minus_level(classes, n):
    """The matrix that takes f_c and s to f_c - s."""
    return np.hstack([np.eye(classes * n), -np.tile(np.eye(n), (classes, 1))])


@pytest.mark.parametrize("low_rank", [False, True])
@pytest.mark.parametrize("least", [0.5, 1e-9, 0.0])
def test_coupled_is_the_matrix_with_all_rows(least, low_rank):
    rng = np.random.default_rng(0)
    X, y = labelled(8)
    K = 3.0 * RBF().pairs(X).at(0.5).value + 1e-6 * np.eye(8)
    precision = np.where(rng.uniform(size=(3, 8)) < 0.5, least, 1.0)
    shift, dK = rng.normal(size=(3, 8)), RBF().pairs(X).at(0.5).slopes[0]
    factor = CoupledLowRank.of(Root.of(K, 8), precision, y) if low_rank else Coupled.of(K, precision, y)
    total = with_own(precision, y)
    covariance = np.linalg.inv(joint_precision(K, total))
    D = minus_level(3, 8)
    of_g = D @ covariance @ D.T
    np.testing.assert_allclose(factor.marginal_variance().ravel(), np.diag(of_g), rtol=1e-6)
    np.testing.assert_allclose(factor.posterior_mean(shift).ravel(), of_g @ shift.ravel(), atol=1e-6)
    # the determinant of the whole over that of the prior
    _, whole = np.linalg.slogdet(joint_precision(K, total))
    np.testing.assert_allclose(factor.log_det, whole + 3 * np.linalg.slogdet(K)[1], atol=1e-5)
    # R = S - S cov(g) S, whose blocks on the diagonal stand beside dK and v
    S = np.diag(total.ravel())
    R = S - S @ of_g @ S
    v = rng.normal(size=(3, 8))
    blocks = [R[8 * c : 8 * c + 8, 8 * c : 8 * c + 8] for c in range(3)]
    changes = [dK, np.ones((8, 8))]
    expected = [np.vdot(v @ change, v) - 0.5 * sum(np.trace(block @ change) for block in blocks) for change in changes]
    np.testing.assert_allclose(factor.slopes(changes, v, v), expected, rtol=1e-6)
    # new points, of which f_c = k(new, X) K^-1 f_c + what is independent
    cross = rng.normal(size=(2, 8))
    explained, of_level = factor.explained(cross)
    weights = np.linalg.solve(K, cross.T)
    for m in range(2):
        every = np.kron(np.eye(3), weights[:, m])
        mix = every @ covariance[:24, :24] @ every.T
        mix -= cross[m] @ weights[:, m] * np.eye(3)
        np.testing.assert_allclose(of_level[m] - np.diag(explained[:, m]), mix, atol=1e-6 * np.abs(mix).max())


def test_low_rank_of_many_points_is_the_dense_factor():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1))
    K, slope = 4.0 * RBF().pairs(X).at(2.0).value, RBF().pairs(X).at(2.0).slopes[0]
    y, precision = rng.integers(3, size=60), rng.uniform(0, 2, size=(3, 60))
    root = Root.of(K, 20)
    few, dense = CoupledLowRank.of(root, precision, y), Coupled.of(K, precision, y)
    assert root.F.shape[1] < 20
    assert Root.of(K, 5) is None
    v = rng.normal(size=(3, 60))
    np.testing.assert_allclose(few.log_det, dense.log_det, rtol=1e-9)
    np.testing.assert_allclose(few.marginal_variance(), dense.marginal_variance(), rtol=1e-8)
    np.testing.assert_allclose(few.posterior_mean(v), dense.posterior_mean(v), rtol=1e-8)
    changes = [slope, np.ones((60, 60))]
    np.testing.assert_allclose(few.slopes(changes, v, v), dense.slopes(changes, v, v), rtol=1e-8)
    cross = 4.0 * RBF().pairs(rng.normal(size=(5, 1)), X).at(2.0).value
    change, other = (
        rest - explained.T[:, :, None] * np.eye(3) for explained, rest in (few.explained(cross), dense.explained(cross))
    )
    np.testing.assert_allclose(change, other, rtol=1e-7, atol=1e-8)


def sequential_ep(K, y, classes, sweeps=40):
    """One factor Phi(s - f_c) after the other, on the covariance of all f_c and s; log Z as the product of terms."""
    n = len(y)
    tau, nu = np.zeros((classes, n)), np.zeros((classes, n))
    for _ in range(sweeps):
        for i in range(n):
            for c in range(classes):
                if c == y[i]:
                    continue
                covariance = np.linalg.inv(joint_precision(K, with_own(tau, y)))
                row = np.zeros((classes + 1) * n)
                row[c * n + i], row[classes * n + i] = 1.0, -1.0
                v = row @ covariance @ row
                m = row @ covariance @ minus_level(classes, n).T @ nu.ravel()
                tau_cavity, nu_cavity = 1 / v - tau[c, i], m / v - nu[c, i]
                m, v = nu_cavity / tau_cavity, 1 / tau_cavity
                z = -m / np.sqrt(1 + v)
                ratio = norm.pdf(z) / norm.cdf(z)
                m_hat, v_hat = m - v * ratio / np.sqrt(1 + v), v - v**2 * ratio / (1 + v) * (z + ratio)
                tau[c, i], nu[c, i] = 1 / v_hat - tau_cavity, m_hat / v_hat - nu_cavity
    return tau, nu


def test_ep_equals_one_factor_after_the_other():
    X, y = labelled(6, seed=3)
    K = 4.0 * RBF().pairs(X).at(0.7).value + 1e-8 * np.eye(6)
    tau, nu = sequential_ep(K, y, 3)
    found = expectation_propagation(lambda s: Coupled.of(K, s, y), Multinomial(3), y)
    np.testing.assert_allclose(found.precision, tau, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(found.shift, nu, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize("constant", [False, True])
def test_two_classes_are_those_of_the_probit(noise, constant):
    # h = (f_1 - f_0) / root 2 has the covariance of each, and P(y = 1) = Phi(h); with label noise the likelihood is
    # (1 - e) ((1 - e) Phi + e), which is (1 - e²) times that of a probit with the share 2 e / (1 + e) of random labels
    X, y = labelled(40, 2)
    Z, params = np.random.default_rng(1).normal(size=(5, 2)), Params(0.5, 3.0)
    mean = "constant" if constant else "zero"
    joint = condition_classes(RBF(), X, y, params, Multinomial(2, noise), mean=mean)
    e = 1 - np.sqrt(1 - noise)
    probit = Probit(label_noise=2 * e / (1 + e))
    two = condition_classes(RBF(), X, 2.0 * y - 1, params, probit, mean=mean)
    expected = two.log_marginal_likelihood + 40 * np.log(1 - e**2)
    np.testing.assert_allclose(joint.log_marginal_likelihood, expected, atol=1e-6)
    # the nodes of the integral have an error of 1e-3
    np.testing.assert_allclose(joint.probabilities(Z)[:, 1], two.probability(Z), atol=2e-3)
    mean, covariance = joint.latent(Z)
    np.testing.assert_allclose((mean[:, 1] - mean[:, 0]) / np.sqrt(2), two.latent(Z)[0], atol=1e-6)
    np.testing.assert_allclose(np.einsum("a,nab,b->n", [1, -1], covariance, [1, -1]) / 2, two.latent(Z)[1], atol=1e-6)
    np.testing.assert_allclose(joint.loo_probability()[:, 1], two.loo_probability(), atol=2e-3)


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_four_points_by_simulation(noise):
    rng = np.random.default_rng(0)
    X, new, y = np.array([[0.0], [0.5], [1.5], [2.0]]), np.array([[0.2], [1.2]]), np.array([0, 1, 2, 1])
    K = 3.0 * RBF().pairs(np.concatenate([X, new])).at(1.0).value + 1e-9 * np.eye(6)
    posterior = condition_classes(RBF(), X, y, Params(1.0, 3.0), Multinomial(3, noise), mean="zero")
    f = np.einsum("ij,scj->sci", np.linalg.cholesky(K), rng.normal(size=(40_000, 3, 6)))
    node, weight = np.polynomial.hermite_e.hermegauss(12)  # the noise of the class that is seen
    e = 1 - (1 - noise) ** (1 / 3)

    def likelihood(c, i):
        factors = [(1 - e) * norm.cdf(f[:, c, i, None] + node - f[:, j, i, None]) + e for j in range(3) if j != c]
        return (1 - e) * np.prod(factors, axis=0) @ weight / weight.sum()

    seen = np.prod([likelihood(c, i) for i, c in enumerate(y)], axis=0)
    error = seen.std() / seen.mean() / np.sqrt(len(seen))
    # what is left beside five standard errors is that of the method: 0.01 in the log evidence of four labels
    assert abs(posterior.log_marginal_likelihood - np.log(seen.mean())) < 0.01 + 5 * error
    expected = np.array([[np.average(likelihood(c, 4 + i), weights=seen) for c in range(3)] for i in range(2)])
    expected /= expected.sum(axis=1, keepdims=True)  # that all classes are overlooked is left out
    effective = seen.sum() ** 2 / np.square(seen).sum()
    np.testing.assert_allclose(posterior.probabilities(new), expected, atol=0.01 + 5 * 0.5 / np.sqrt(effective))


def test_derivatives_of_the_likelihood():
    rng = np.random.default_rng(0)
    y, mean, variance, h = rng.integers(4, size=9), 3 * rng.normal(size=(4, 9)), rng.uniform(0.1, 5, (4, 9)), 1e-4
    for likelihood in Multinomial(4), Multinomial(4, 0.2):
        log_z, first, curvature = likelihood.tilted(y, mean, variance)
        for c in range(4):
            step = h * (np.arange(4)[:, None] == c)
            up, down = (likelihood.tilted(y, mean + sign * step, variance)[0] for sign in (1, -1))
            np.testing.assert_allclose(first[c], (up - down) / (2 * h), atol=1e-6)
            np.testing.assert_allclose(curvature[c], -(up - 2 * log_z + down) / h**2, atol=1e-5)
    far = Multinomial(3).tilted(np.array([0]), np.array([[0.0], [1e4], [-1e4]]), np.ones((3, 1)))
    assert all(np.all(np.isfinite(part)) for part in far)
    np.testing.assert_allclose(far[0], log_ndtr(-1e4 / np.sqrt(2)), rtol=1e-12)


@pytest.mark.parametrize("noise", [0.0, None])
@pytest.mark.parametrize("constant", [False, True])
def test_gradients_are_differences(noise, constant, monkeypatch):
    X, y = labelled(30, 4)
    likelihood, h = Multinomial(4, noise), 1e-4
    inference = Approximate(likelihood)
    monkeypatch.setitem(TOLERANCES, "exact", 1e-10)
    data, _ = observations(X, y, "constant" if constant else "zero")
    objective = Objective(Prior.of(RBF(), X, 1.0, dense=True), data, Given.of(RBF(), None, None, 0.0), inference)
    z = np.log([0.4, 5.0, 0.05][: 2 + (noise is None)])
    differences = [(objective.value(z + e) - objective.value(z - e)) / (2 * h) for e in h * np.eye(len(z))]
    np.testing.assert_allclose(objective(z)[1], differences, rtol=1e-5, atol=1e-5)


def test_largest_of_two_and_three_has_a_closed_form():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(20, 3, 3))
    covariance, mean = A @ A.swapaxes(1, 2) + np.eye(3), rng.normal(size=(20, 3))
    two = largest(mean[:, :2], covariance[:, :2, :2])[:, 0]
    spread = np.einsum("a,nab,b->n", [1, -1], covariance[:, :2, :2], [1, -1])
    np.testing.assert_allclose(two, norm.cdf((mean[:, 0] - mean[:, 1]) / np.sqrt(spread)), atol=2e-3)
    # without means, an orthant of two differences (Sheppard)
    three = largest(np.zeros((20, 3)), covariance)[:, 0]
    D = np.array([[1, -1, 0], [1, 0, -1]])
    C = D @ covariance @ D.T
    orthant = 0.25 + np.arcsin(C[:, 0, 1] / np.sqrt(C[:, 0, 0] * C[:, 1, 1])) / (2 * np.pi)
    np.testing.assert_allclose(three, orthant, atol=2e-3)


def test_largest_of_independent_ones_by_integration():
    rng = np.random.default_rng(0)
    mean, deviation = 3 * rng.normal(size=6), rng.uniform(1, 8, size=6)
    found = largest(mean[None], np.diag(deviation**2)[None])[0]
    for c in range(6):
        others = [j for j in range(6) if j != c]

        def density(s, c=c, others=others):
            return norm.pdf(s, mean[c], deviation[c]) * np.prod(norm.cdf(s, mean[others], deviation[others]))

        exact = quad(density, mean[c] - 9 * deviation[c], mean[c] + 9 * deviation[c], limit=200)[0]
        assert abs(found[c] - exact) < 2e-3
    # a probability of 1e-7, where none of 1024 nodes leads, is not lost
    tail = largest(np.array([[0.0, 0.0, -6.0]]), np.eye(3)[None])[0, 2]
    exact = quad(lambda s: norm.pdf(s, -6) * norm.cdf(s) ** 2, -9, 4)[0]
    assert abs(np.log(tail / exact)) < 0.5


def test_largest_where_some_are_overlooked():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(4, 4))
    mean, covariance, e = rng.normal(size=4), A @ A.T + np.eye(4), 0.2
    w = rng.multivariate_normal(mean, covariance, size=200_000)
    w[rng.uniform(size=w.shape) < e] = -np.inf
    seen = np.bincount(w.argmax(axis=1)[np.isfinite(w).any(axis=1)], minlength=4) / np.isfinite(w).any(axis=1).sum()
    error = np.sqrt(seen * (1 - seen) / len(w))
    assert np.all(np.abs(largest(mean[None], covariance[None], e)[0] - seen) < 2e-3 + 4 * error)


def test_probits_have_no_end():
    np.testing.assert_allclose(probits(np.array([[1.0, 1e-200, 1e-300]]))[0, 0], -norm.ppf(1e-200), rtol=1e-6)
    table = np.array([[0.2, 0.5, 0.3]])
    np.testing.assert_allclose(probits(table), norm.ppf(table))


def test_leave_one_out_is_near_the_refitted_one():
    X, y = labelled(40)
    approximate = condition_classes(RBF(), X, y, Params(0.5, 2.0), Multinomial(3, 0.02)).loo_probability()
    for i in (0, 5, 11, 30):
        others = np.arange(40) != i
        refitted = condition_classes(RBF(), X[others], y[others], Params(0.5, 2.0), Multinomial(3, 0.02))
        np.testing.assert_allclose(approximate[i], refitted.probabilities(X[i : i + 1])[0], atol=0.015)


def test_a_kernel_with_features():
    X, y = labelled(60)
    X, Z, params = X[:, :1], np.linspace(-2, 2, 7)[:, None], Params(0.3, 4.0)
    low, dense = (condition_classes(k, X, y, params, Multinomial(3)) for k in (Cosines(), Full(Cosines())))
    np.testing.assert_allclose(low.probabilities(Z), dense.probabilities(Z), atol=1e-7)
    np.testing.assert_allclose(low.log_marginal_likelihood, dense.log_marginal_likelihood, atol=1e-8)


def test_hard_cases_converge():
    X, y = labelled(30)
    for points, labels, params in [
        (np.zeros((30, 2)), y, Params(1.0, 1e4)),  # contradicting duplicates
        (X, np.zeros(30, int), Params(1.0, 1e4)),  # one class of three
        (X, (X[:, 0] > 0) + 0 * y, Params(10.0, 1e6)),  # separable, huge amplitude
        (X, y, Params(1e-8, 1.0)),  # independent points
        (X, y, Params(1.0, 1e-8)),  # nothing to learn
        (X[:1], y[:1], Params(1.0, 1.0)),
    ]:
        for noise in 0.0, 0.05:
            posterior = condition_classes(RBF(), points, labels, params, Multinomial(3, noise), mean="zero")
            probabilities = posterior.probabilities(points)
            np.testing.assert_allclose(probabilities.sum(axis=1), 1)
            assert probabilities.min() >= 0
            assert np.isfinite(posterior.log_marginal_likelihood)
            np.testing.assert_allclose(posterior.loo_probability().sum(axis=1), 1)


def test_probabilities_are_calibrated_on_data_from_the_model():
    rng = np.random.default_rng(5)
    confidence, right = [], []
    for _ in range(12):
        X = rng.uniform(-2, 2, size=(140, 2))
        K = 20.0 * RBF().pairs(X).at(0.5).value + 1e-9 * np.eye(140)
        f = np.linalg.cholesky(K) @ rng.normal(size=(140, 3))
        y = (f + rng.normal(size=(140, 3))).argmax(axis=1)
        posterior = condition_classes(RBF(), X[:60], y[:60], Params(0.5, 20.0), Multinomial(3), mean="zero")
        P = posterior.probabilities(X[60:])
        confidence.append(P.max(axis=1).mean())
        right.append((P.argmax(axis=1) == y[60:]).mean())
    difference = np.array(confidence) - right
    assert abs(difference.mean()) < 4 * difference.std() / np.sqrt(len(difference))
    assert difference.std() / np.sqrt(len(difference)) < 0.02  # the test can see a difference


@pytest.mark.slow
def test_a_hundred_classes_and_classes_of_one():
    X = Sphere(2).random(np.random.default_rng(0), 120)
    y = np.concatenate([np.arange(100), np.arange(20)])
    gp = GPClassifier(Sphere(2), time=0.1, amplitude=4.0, label_noise=0.01).fit(X, y)
    P = gp.predict_proba(X)
    assert P.shape == (120, 100)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert P[np.arange(120), y].mean() > 0.05  # five times that of chance


@pytest.mark.slow
def test_a_hundred_classes_are_learned_within_a_minute():
    rng = np.random.default_rng(0)
    S2 = Sphere(2)
    X, centres = S2.random(rng, 700), S2.random(rng, 100)
    y = (10 * X @ centres.T + 0.3 * rng.normal(size=(700, 100))).argmax(axis=1)
    y[:100] = np.arange(100)  # every class is there, some of them once
    assert np.bincount(y[:500]).min() == 1
    start = time.process_time()
    gp = GPClassifier(S2).fit(X[:500], y[:500])
    assert time.process_time() - start < 60
    P = gp.predict_proba(X[500:])
    assert P.shape == (200, 100)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    shares = (np.bincount(y[:500]) + 1) / 600
    assert np.log(P[np.arange(200), y[500:]]).mean() > np.log(shares[y[500:]]).mean() + 1
    assert gp.fit_.data == 171


@pytest.mark.slow
def test_a_hundred_classes_of_few_points_take_seconds():
    """5.7 s of processor; 18 s once."""
    X = Sphere(2).random(0, 200)
    start = time.process_time()
    GPClassifier(Sphere(2)).fit(X, np.arange(200) % 100)
    assert time.process_time() - start < 15


def test_parameters_are_learned_from_affordable_data(monkeypatch, caplog):
    X, y = labelled(60)
    monkeypatch.setattr("heatgp.gp.inference.LARGE", 30**3)
    monkeypatch.setattr("heatgp.gp.inference.REDUCED", 3 * 30**3)
    with caplog.at_level("INFO", "heatgp"):
        gp = GPClassifier(Euclidean(2)).fit(X, y)
    assert "60 points in 3 classes: what is learned was learned from 30 random points" in caplog.text
    assert gp.fit_.data == 30
    assert len(gp.posterior_.X) == 60
    assert "note: parameters were learned from 30 of 60 points" in str(gp.summary())
    assert gp.learned_from_ == 30
    # the evidence and the density are those of all data
    np.testing.assert_allclose(gp.fit_.log_marginal_likelihood, gp.log_marginal_likelihood(), atol=1e-3)
    monkeypatch.undo()
    every = GPClassifier(Euclidean(2)).fit(X, y)
    assert every.fit_.data == 60
    assert every.fit_.log_posterior >= gp.fit_.log_posterior - 1e-3
    assert "learned from" not in str(every.summary())
    assert every.learned_from_ == 60


def test_long_inference_is_announced_and_hopeless_one_refused(monkeypatch, caplog):
    X, y = labelled(9)
    options = {"time": 1.0, "amplitude": 1.0, "label_noise": 0.0}
    monkeypatch.setattr("heatgp.estimators.classifier.INFERENCE", 30 / (3 * 9**3))
    with caplog.at_level("INFO", "heatgp"):
        GPClassifier(Euclidean(2), **options).fit(X, y)
    assert "The joint model of 9 points in 3 classes: about 30 s" in caplog.text
    monkeypatch.setattr("heatgp.estimators.classifier.INFERENCE", 90_000 / (3 * 9**3))
    with pytest.raises(InvalidInput, match=r"would take about 25 hours; more than a day is refused.*OneVsRest"):
        GPClassifier(Euclidean(2), **options).fit(X, y)


def test_the_estimator():
    rng = np.random.default_rng(0)
    S2 = Sphere(2)
    X = S2.random(rng, 90)
    y = np.array(["x", "y", "z"])[(np.abs(X) + 0.1 * rng.normal(size=X.shape)).argmax(axis=1)]
    gp = GPClassifier(S2).fit(X[:60], y[:60])
    assert all(isinstance(value, float) for value in (gp.time_, gp.amplitude_, gp.label_noise_))
    decision, P = gp.decision_function(X[60:]), gp.predict_proba(X[60:])
    assert decision.shape == P.shape == (30, 3)
    np.testing.assert_array_equal(gp.predict(X[60:]), gp.classes_[decision.argmax(axis=1)])
    np.testing.assert_allclose(norm.cdf(decision).sum(axis=1), 1)
    np.testing.assert_allclose(norm.cdf(decision), P, atol=2 * gp.label_noise_)
    given = {"time": gp.time_, "amplitude": gp.amplitude_}
    rest = OneVsRestClassifier(GPClassifier(S2, label_noise=gp.label_noise_, **given)).fit(X[:60], y[:60])
    assert np.abs(rest.predict_proba(X[60:]) - P).max() < 0.25
    np.testing.assert_array_equal(gp.kernel_error(X[:3]).error, 0)
    # the order of the classes is of no consequence
    other = GPClassifier(S2).fit(X[:60], np.array([{"x": "c", "y": "a", "z": "b"}[label] for label in y[:60]]))
    np.testing.assert_allclose(other.predict_proba(X[60:])[:, [2, 0, 1]], P, atol=5e-3)
    np.testing.assert_allclose(other.log_marginal_likelihood(), gp.log_marginal_likelihood(), atol=1e-3)


def test_one_odd_label_does_not_bend_the_functions():
    X = np.concatenate([c + 0.3 * np.random.default_rng(c).normal(size=(20, 1)) for c in range(0, 9, 3)])
    y = np.repeat([0, 1, 2], 20)
    y[5] = 2  # far from its class
    plain, robust = (
        condition_classes(RBF(), X, y, Params(0.5, 100.0), Multinomial(3, e), mean="zero") for e in (0.0, 0.05)
    )
    assert robust.log_marginal_likelihood > plain.log_marginal_likelihood + 1
    around = X[5] + np.linspace(-0.2, 0.2, 9)[:, None]
    assert np.all(robust.probabilities(around)[:, 0] > plain.probabilities(around)[:, 0])


def test_labels_without_signal_are_shares():
    rng = np.random.default_rng(0)
    X = ComplexProjective(2).random(rng, 150)
    y = rng.choice(3, size=150, p=[0.6, 0.3, 0.1])
    P = GPClassifier(ComplexProjective(2)).fit(X[:100], y[:100]).predict_proba(X[100:])
    shares = np.bincount(y[:100]) / 100
    cross_entropy = -np.log(P[np.arange(50), y[100:]]).mean()
    assert cross_entropy < -np.log(shares[y[100:]]).mean() + 0.05


def test_too_many_classes_for_the_memory(monkeypatch):
    monkeypatch.setattr("heatgp.cost.available_memory", lambda: 1e3)
    monkeypatch.setattr("heatgp.cost.SMALL", 0)
    X, y = labelled(9)
    with pytest.raises(InvalidInput, match=r"joint model of 9 points in 3 classes.*OneVsRest"):
        GPClassifier(Euclidean(2), time=1.0, amplitude=1.0, label_noise=0).fit(X, y)
