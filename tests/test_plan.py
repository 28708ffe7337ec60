"""What combines with what: each cell of the table of heatgp.estimators.plan is tried, for its values or for its error.

A cell that is allowed has a check in CHECKS, which compares numbers of the model with an answer in plain NumPy, see
`plan_answers`. All parameters are given, unless the row is about learned ones. Sparse models have all data as inducing
points, and models of neighbors have all data near, so that both are the exact model. Student's t distribution is tried
with 10,000 degrees of freedom, where it is normal but for 2e-4 of its variance, and with 4 at two data. Labels and
counts are few, so that integrals over f are possible; the tolerance is then the error of expectation propagation.

Without an independent value are the error of a simulated kernel and the values of Matern kernels; the checks say so.
"""

import re
import warnings
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import ndtri, softmax
from scipy.stats import norm

import heatgp as hg
from heatgp.errors import BoundWarning, SmallSampleWarning
from heatgp.estimators.plan import (
    CLASSES,
    KINDS,
    NEIGHBORS,
    NORMAL,
    OUTPUTS,
    PLAN,
    POISSON,
    SPARSE,
    SPARSE_CLASSES,
    SPARSE_LIKELIHOODS,
    STUDENT,
    table,
)
from heatgp.gp.parameters import FLAT, LogNormal, Priors
from heatgp.gp.smoothness import log_prior
from heatgp.gp.student import StudentT
from plan_answers import (
    POISSON_LIKELIHOOD,
    Integrated,
    Kriging,
    Orthants,
    correlation,
    heat,
    probit_likelihood,
    student_likelihood,
)

LINEAR = (NORMAL, OUTPUTS, SPARSE, NEIGHBORS)
"""Kinds with normal noise."""
REGRESSIONS = (NORMAL, STUDENT, POISSON, OUTPUTS, SPARSE, SPARSE_LIKELIHOODS, NEIGHBORS)
LABELS = (CLASSES, SPARSE_CLASSES)

S2 = hg.Sphere(2)
RNG = np.random.default_rng(0)
X = S2.random(RNG, 24)
Y = 1.0 + X[:, 0] + 0.2 * RNG.standard_normal(24)
ROUGH = np.where(np.arange(24) % 2, 2.0, -1.0) * RNG.uniform(0.5, 1.0, 24)
COVARIATES = RNG.normal(size=(24, 1))
WEIGHTS = np.linspace(0.5, 4.0, 24)
TWO = np.array([[1.0, 0.0, 0.0], [np.cos(0.7), np.sin(0.7), 0.0]])
INSIDE = np.array([[np.cos(angle), np.sin(angle), 0.0] for angle in (0.0, 0.3, 0.7)])
"""The two points and one between them: elsewhere rates with unknown coefficients have variances without a limit."""
FIVE = np.array([[1.0, 0, 0], [0.6, 0.8, 0], [0, 0.6, 0.8], [0.8, 0, -0.6], [-0.6, 0.8, 0]])
NEW = np.array([[0.8, 0.0, 0.6], [0.6, 0.64, 0.48], [-0.48, 0.6, 0.64]])
NEW_COVARIATES = np.array([[1.0], [-2.0], [0.5]])

TIME, AMPLITUDE, NOISE = 0.5, 1.3, 0.05
NEAR = hg.Neighbors(tolerance=1e-9)
"""Predictions are then made from all of few data."""
ERRORS = 4.5
"""Standard errors that averages of random numbers may be off."""
GROWTH = 5.0
"""The slope of an error over its size: errors vary over the same lengths as the kernel, some √time, or less."""
METHODS = {
    name: [name]
    for name in ("partial_fit", "predict_interval", "log_density", "gradient", "sample_y", "sample_functions")
} | {
    "partial_fit after fit": ["partial_fit"],
    "predict_proba, decision_function": ["predict_proba", "decision_function"],
}
"""The methods of rows that one of the classes does not have at all."""


def constant(points):
    return np.ones((len(points), 1))


def no_basis(points):
    return np.empty((len(points), 0))


def linear(points):
    return np.column_stack([np.ones(len(points)), points])


def matern(A, B, smoothness, time=TIME):
    """The correlation of the Matern kernel. Its series converges slowly: the values of the library are the input."""
    if smoothness == np.inf:
        return correlation(A, B, time)
    kernel = hg.matern_kernel(S2, smoothness=smoothness)
    return kernel(A, B, time=time) / kernel(NEW[:1], NEW[:1], time=time)


@dataclass(frozen=True)
class Case:
    """A model with its data, and how far its numbers may be from the answer.

    `tolerance` is that of means and standard deviations over the standard deviation, and of probabilities; `nats` that
    of log evidences and log densities; `rough` is the tolerance where expectation propagation is less accurate: f at
    one point counts as normal, or the factor of one datum is taken out.
    """

    likelihood: str
    options: dict
    X: np.ndarray
    y: np.ndarray
    tolerance: float
    nats: float
    rough: float
    other_y: np.ndarray | None = None  # of another smoothness
    new_y: np.ndarray = field(default_factory=lambda: np.array([1.5, 2.0, 0.3]))
    label_noise: float = 0.0

    @property
    def is_classifier(self):
        return self.likelihood in ("probit", "orthants")

    @property
    def inside(self):
        """New points where the data determine what several coefficients of the mean say."""
        return NEW if len(self.X) > 2 else INSIDE

    def linear(self, points):
        """The basis of mean="linear": of two data those columns that are no combinations of others."""
        return linear(points) if len(self.X) > 2 else linear(points)[:, :2]

    def model(self, **options):
        estimator = hg.GPClassifier if self.is_classifier else hg.GPRegressor
        return estimator(**{"manifold": S2, "time": TIME, "amplitude": AMPLITUDE} | self.options | options)

    def fit(self, y=None, given=None, **options):
        """The fitted model; `given` are more arguments of `fit`."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SmallSampleWarning)
            return self.model(**options).fit(self.X, self.y if y is None else y, **(given or {}))

    def answers(
        self,
        covariance=None,
        mean=constant,
        scale=np.inf,
        time=TIME,
        amplitude=AMPLITUDE,
        noise=NOISE,
        known=None,
        X=None,
        y=None,
        exposure=None,
        label_noise=None,
        variance=None,
        degrees=4.0,
    ):
        """The answers, one for each output.

        Parameters
        ----------
        covariance : function of two sets of points, default that of the time and the amplitude.
        mean : a number or basis functions.
        scale : number, the prior standard deviation of the coefficients but the first.
        known : the variances of the noise of the data, default `noise`.
        X : points, default those of the case, perhaps with covariates as further columns.
        variance : number, the mean prior variance at the data, where it is not the same at all points.
        """
        X, y = self.X if X is None else X, self.y if y is None else y
        k = (lambda A, B: amplitude * correlation(A, B, time)) if covariance is None else covariance
        basis, offset = (mean, 0.0) if callable(mean) else (no_basis, mean)
        if self.likelihood == "normal":
            scales = np.full(basis(X).shape[1], scale)
            scales[:1] = np.inf
            known = np.full(len(X), noise) if known is None else known
            columns = y.reshape(len(X), -1).T
            return [Kriging(X, column, k, known, basis, scales, offset, noise) for column in columns]
        shift = np.zeros(len(X)) if exposure is None else np.log(exposure)
        if callable(mean) and self.likelihood == "poisson":
            offset = np.log(y.sum() / np.exp(shift).sum())
        if self.likelihood == "near normal":
            scales = np.where(np.arange(basis(X).shape[1]) == 0, np.inf, scale)
            return [Kriging(X, y, k, np.full(len(X), noise), basis, scales, offset, noise)]
        is_flat = mean is constant and self.likelihood == "student"
        variance = k(X[:1], X[:1])[0, 0] if variance is None else variance
        # orthogonal columns of the mean square one have coefficients of the variance 1 + variance, else scale²
        scales = np.full(basis(X).shape[1], scale)
        own = np.isinf(scales) | (np.arange(len(scales)) == 0)
        columns, transform = basis(X), np.eye(len(scales))
        transform[np.ix_(own, own)] = np.linalg.inv(np.linalg.qr(columns[:, own])[1]) * np.sqrt(len(X))
        variances = np.where(own, 1.0 + variance, scales**2) * (not is_flat)
        variances = np.where(np.isfinite(variances), variances, 0.0)

        def with_level(A, B):
            return k(A, B) + (basis(A) @ transform * variances) @ (basis(B) @ transform).T

        if self.likelihood == "orthants":
            return [Orthants(X, y, with_level, len(np.unique(y)))]
        label_noise = self.label_noise if label_noise is None else label_noise
        likelihood = {
            "student": student_likelihood(noise, degrees),
            "poisson": POISSON_LIKELIHOOD,
            "probit": probit_likelihood(label_noise),
        }[self.likelihood]
        y = 2.0 * y - 1 if self.likelihood == "probit" else y
        return [Integrated(X, y, with_level, likelihood, offset, shift, is_flat)]


def cases_of_labels(sparse=False):
    def case(likelihood, points, y, tolerance, nats, rough, label_noise=0.0):
        given = {"label_noise": label_noise} | ({"inference": hg.Sparse(points)} if sparse else {})
        return Case(likelihood, given, points, np.array(y), tolerance, nats, rough, label_noise=label_noise)

    return [
        case("probit", TWO, [0, 1], 5e-3, 1e-2, 5e-3, 0.05),
        case("orthants", FIVE, [0, 1, 1, 0, 1], 4e-3, 5e-3, 1e-2),
        case("orthants", FIVE, [0, 1, 2, 0, 1], 4e-3, 2e-2, 2e-2),
    ]


NEAR_NORMAL = Case(
    "near normal", {"likelihood": StudentT(noise=NOISE, degrees=1e4)}, X, Y, 2e-4, 2e-3, 2e-4, 0.4 * ROUGH
)
HEAVY = Case("student", {"likelihood": "student-t", "noise": NOISE}, TWO, np.array([0.3, 1.4]), 5e-3, 1e-2, 1e-2)
COUNTS = Case(
    "poisson",
    {"likelihood": "poisson"},
    TWO,
    np.array([7.0, 16.0]),
    1e-2,
    1e-2,
    2e-2,
    np.array([2.0, 40.0]),
    new_y=np.array([4.0, 9.0, 2.0]),
)
SPARSE_CASES = [
    replace(case, options=case.options | {"inference": hg.Sparse(case.X)}) for case in (NEAR_NORMAL, HEAVY, COUNTS)
]
CASES = {
    NORMAL: [Case("normal", {"noise": NOISE}, X, Y, 1e-8, 1e-8, 1e-8, ROUGH)],
    STUDENT: [NEAR_NORMAL, HEAVY],
    POISSON: [COUNTS],
    OUTPUTS: [
        Case("normal", {"noise": NOISE}, X, np.column_stack([Y, Y**2]), 1e-8, 1e-8, 1e-8, np.column_stack([ROUGH, Y]))
    ],
    SPARSE: [Case("normal", {"noise": NOISE, "inference": hg.Sparse(X)}, X, Y, 1e-7, 1e-8, 1e-7, ROUGH)],
    SPARSE_LIKELIHOODS: SPARSE_CASES,
    NEIGHBORS: [Case("normal", {"noise": NOISE, "inference": NEAR}, X, Y, 1e-8, 1e-8, 1e-8, ROUGH)],
    CLASSES: cases_of_labels(),
    SPARSE_CLASSES: cases_of_labels(sparse=True),
}
"""Sparse models add 1e-13 of the variance for each point to its diagonal: over the noise that is 1e-10."""

CHECKS = {}


def checks(row, *kinds):
    """A decorator of functions of a case, which check a row of the plan for some kinds of models."""

    def decorate(function):
        def check(kind):
            for case in CASES[kind]:
                function(case)

        CHECKS.setdefault(row, {}).update({kind: partial(check, kind) for kind in kinds})
        return function

    return decorate


def stacked(arrays, shape):
    """Arrays of the outputs as the model returns them, with the outputs last."""
    return np.stack(arrays, axis=-1).reshape(shape)


def moments(answer, new):
    """The means and the standard deviations of predictions."""
    mean, covariance = answer.predicted(new)
    return mean, np.sqrt(np.diagonal(covariance))


def expected(case, answers, new=NEW):
    """The same of all outputs, as the model returns them."""
    shape = (len(new), *np.shape(case.y)[1:])
    means, stds = zip(*(moments(answer, new) for answer in answers))
    return stacked(means, shape), stacked(stds, shape)


def agrees(case, model, answers, new=NEW, points=None, **options):
    """The model has the evidence and the predictions of the answers, at new points; `points` are what it is given."""
    points = new[:, :3] if points is None else points
    evidence = sum(answer.evidence for answer in answers)
    assert abs(model.log_marginal_likelihood() - evidence) < case.nats
    if case.is_classifier:
        probabilities = answers[0].probabilities(new, case.label_noise)
        np.testing.assert_allclose(model.predict_proba(points, **options), probabilities, atol=case.tolerance)
        return
    mean, std = model.predict(points, return_std=True, **options)
    off_mean, off_std = differences(expected(case, answers, new), (mean, std))
    assert off_mean < case.tolerance
    assert off_std < case.tolerance


def differences(expected, found):
    """The largest differences of means and of standard deviations, over the standard deviations."""
    (mean, std), (other, deviation) = expected, found
    assert np.shape(other) == np.shape(deviation) == np.shape(mean)
    return np.max(np.abs(other - mean) / std), np.max(np.abs(deviation / std - 1))


def has_covariance(case, answers, mean, covariance):
    """Means (M,) and covariances (M, M), or (M, p) and (M, M, p), are those of the answers."""
    for k, answer in enumerate(answers):
        (of_mean, of_covariance), (_, std) = answer.predicted(NEW), moments(answer, NEW)
        own_mean, own = (mean[:, k], covariance[..., k]) if mean.ndim == 2 else (mean, covariance)
        assert np.max(np.abs(own_mean - of_mean) / std) < case.tolerance
        # a variance has twice the relative error of a standard deviation
        assert np.max(np.abs(own - of_covariance) / np.outer(std, std)) < 2 * case.tolerance


def several_coefficients(function):
    """The check for all cases but that of two data with Student-t noise, of which flat coefficients leave nothing."""

    def check(case):
        if case.likelihood == "poisson":  # with a wide prior the log rate is normal for large counts only
            function(replace(case, y=10 * case.y))
        elif case.likelihood != "student":
            function(case)

    return check


def has_coefficients(case, model, answers):
    """The coefficients of the mean are those of the answers, where these state them."""
    if case.likelihood in ("normal", "near normal"):
        found = [answer.coefficients[0] for answer in answers]
        tolerance = 1e-6 if case.likelihood == "normal" else case.tolerance
        np.testing.assert_allclose(model.coefficients_, stacked(found, model.coefficients_.shape), rtol=tolerance)


# The arguments of a fit.


@checks("fit(sample_weight=)", *LINEAR)
def check_weights(case):
    model = case.fit(given={"sample_weight": WEIGHTS})
    agrees(case, model, case.answers(known=NOISE / WEIGHTS))
    none = np.where(np.arange(24) < 3, 0.0, WEIGHTS)  # as if these were not there
    kept = none > 0
    answers = case.answers(X=X[kept], y=case.y[kept], known=NOISE / WEIGHTS[kept])
    agrees(case, case.fit(given={"sample_weight": none}), answers)


@checks("fit(covariates=)", *REGRESSIONS)
@several_coefficients
def check_covariates(case):
    own, new = (
        (COVARIATES, NEW_COVARIATES) if len(case.X) > 2 else (NEW_COVARIATES[:2], np.array([[1.0], [-1.0], [-2.0]]))
    )
    model = case.fit(given={"covariates": own})
    answers = case.answers(
        X=np.hstack([case.X, own]),
        covariance=lambda A, B: AMPLITUDE * correlation(A, B, TIME),
        mean=lambda points: np.column_stack([np.ones(len(points)), points[:, 3]]),
    )
    agrees(case, model, answers, np.hstack([case.inside, new]), covariates=new)
    has_coefficients(case, model, answers)


@checks("fit(exposure=)", POISSON, SPARSE_LIKELIHOODS)
def check_exposure(case):
    if case.likelihood != "poisson":  # an error, of which the column Student-t is about
        return
    exposure = np.array([1.0, 4.0])
    model, answers = case.fit(given={"exposure": exposure}), case.answers(exposure=exposure)
    agrees(case, model, answers)
    rates = expected(case, answers)
    counts = model.predict(NEW, return_std=True, exposure=3.0)
    assert max(differences([3.0 * each for each in rates], counts)) < case.tolerance
    density = answers[0].log_density(NEW, case.new_y, np.log(3.0))
    np.testing.assert_allclose(model.log_density(NEW, case.new_y, exposure=3.0), density, atol=case.nats)


@checks("noise=array", *LINEAR)
def check_known_noise(case):
    agrees(case, case.fit(noise=0.1 * WEIGHTS), case.answers(known=0.1 * WEIGHTS))


@checks("Priors(noise_bounds=)", *LINEAR)
def check_noise_bounds(case):
    """Bounds of the noise over the prior variance: within wide ones it is the best one, else it is the bound."""

    def loss(log_noise, k):
        return -case.answers(noise=np.exp(log_noise))[k].evidence

    best = [
        np.exp(minimize_scalar(loss, bounds=(-9.0, 1.0), args=(k,), method="bounded", options={"xatol": 1e-6}).x)
        for k in range(len(case.answers()))
    ]
    model = case.fit(noise=None, priors=replace(FLAT, noise_bounds=(1e-4, 2.0)))
    # a search ends where 1e-8 nats are left for each datum, and the curvature in log noise is about N / 2
    np.testing.assert_allclose(model.noise_, stacked(best, np.shape(model.noise_)), rtol=1e-3)
    learned = np.ravel(model.noise_)
    agrees(case, model, [case.answers(noise=noise)[k] for k, noise in enumerate(learned)])
    with pytest.warns(BoundWarning, match="noise / prior variance sits"):
        model = case.fit(noise=None, priors=replace(FLAT, noise_bounds=(2.0, 5.0)))
    assert max(best) < 2.0 * AMPLITUDE
    np.testing.assert_allclose(model.noise_, 2.0 * AMPLITUDE)
    agrees(case, model, case.answers(noise=2.0 * AMPLITUDE))


@checks("Priors(coefficients=)", *REGRESSIONS)
@several_coefficients
def check_coefficient_scale(case):
    model = case.fit(mean="linear", priors=Priors(coefficients=0.3))
    agrees(case, model, case.answers(mean=case.linear, scale=0.3), case.inside)


@checks('likelihood="student-t"', NORMAL, STUDENT, POISSON, SPARSE, SPARSE_LIKELIHOODS)
def check_student(case):
    options = {"likelihood": "student-t", "noise": NOISE}
    inducing = {"inference": hg.Sparse(TWO)} if isinstance(case.options.get("inference"), hg.Sparse) else {}
    heavy = Case("student", case.options | options | inducing, TWO, HEAVY.y, HEAVY.tolerance, HEAVY.nats, HEAVY.rough)
    agrees(heavy, heavy.fit(), heavy.answers())


@checks('mean="zero"', *KINDS)
def check_mean_zero(case):
    agrees(case, case.fit(mean="zero"), case.answers(mean=0.0))


@checks("mean=number", *REGRESSIONS)
def check_mean_number(case):
    agrees(case, case.fit(mean=0.7), case.answers(mean=0.7))


@checks('mean="linear"', *REGRESSIONS)
@several_coefficients
def check_mean_linear(case):
    model, answers = case.fit(mean="linear"), case.answers(mean=case.linear)
    agrees(case, model, answers, case.inside)
    has_coefficients(case, model, answers)


@checks('mean="linear"', *LABELS)
def check_linear_trend_of_labels(case):
    """The trend has the prior variance of f, averaged over the data, here half of that of the other checks."""
    half, center = AMPLITUDE / 2, case.X.mean(axis=0)
    size = np.square(case.X - center).sum(axis=1).mean()

    def covariance(A, B):
        return half * (correlation(A, B, TIME) + (A - center) @ (B - center).T / size)

    agrees(case, case.fit(mean="linear", amplitude=half), case.answers(covariance, variance=half))


@checks("mean=function", *KINDS)
@several_coefficients
def check_mean_function(case):
    few = 1 if case.is_classifier else 2  # two of labels would have so large a variance that propagation errs by 0.01

    def basis(points):
        return np.column_stack([1.0 + points[:, 1] * points[:, 2], np.sin(points[:, 0])])[:, :few]

    agrees(case, case.fit(mean=basis), case.answers(mean=basis), case.inside)


@checks('smoothness="learn"', *KINDS)
def check_smoothness(case):
    """No other smoothness has a larger posterior density, and predictions are those with its kernel."""
    chosen = set()
    for y in [case.y] if case.other_y is None else [case.y, case.other_y]:
        model, found = case.fit(y, smoothness="learn"), {}
        for s in (0.25, 0.5, 1.5, 2.5, 8.0, np.inf, model.smoothness_):
            answers = case.answers(lambda A, B, s=s: AMPLITUDE * matern(A, B, s), y=y)
            evidence = case.fit(y, smoothness=s).log_marginal_likelihood()
            assert abs(evidence - sum(answer.evidence for answer in answers)) < case.nats
            found[s] = evidence + log_prior(s)
            if s == model.smoothness_:
                agrees(case, model, answers)
        assert found[model.smoothness_] > max(found.values()) - case.nats
        chosen.add(model.smoothness_)
    assert len(chosen) == 1 + (case.other_y is not None)


@checks('kernel="precomputed"', NORMAL, STUDENT, POISSON, OUTPUTS, CLASSES)
def check_precomputed(case):
    """A Gram matrix whose diagonal is not one number; that of new points is given as `prior`."""

    def gram(A, B):
        return np.exp(A @ B.T - 1) * np.outer(1 + 0.2 * A[:, 0], 1 + 0.2 * B[:, 0])

    own = gram(case.X, case.X)
    model = case.model(manifold=None, kernel="precomputed", time=None).fit(own, case.y)
    mean = float(np.mean(np.diagonal(own)))
    answers = case.answers(lambda A, B: AMPLITUDE * gram(A, B), variance=AMPLITUDE * mean)
    agrees(case, model, answers, points=gram(NEW, case.X), prior=gram(NEW, NEW))
    if not case.is_classifier:
        has_covariance(case, answers, *model.predict(gram(NEW, case.X), return_cov=True, prior=gram(NEW, NEW)))


@checks("kernel=k1 + k2", *KINDS)
def check_sum(case):
    """The weight of the first summand is one, and the prior variance is the amplitude."""
    kernel = hg.heat_kernel(S2) + hg.matern_kernel(S2, smoothness=1.5)
    model = case.fit(kernel=kernel, time=(TIME, 0.3, 2.0))
    agrees(
        case, model, case.answers(lambda A, B: AMPLITUDE / 3 * (correlation(A, B, TIME) + 2 * matern(A, B, 1.5, 0.3)))
    )


@checks("normalize=False", NORMAL, STUDENT, POISSON, OUTPUTS, CLASSES)
def check_density(case):
    agrees(case, case.fit(normalize=False), case.answers(lambda A, B: AMPLITUDE * heat(A, B, TIME)))


@checks("partial_fit", NORMAL, SPARSE)
def check_partial_fit(case):
    """Data in two parts, with all of them as inducing points: the model of all data."""
    model = case.model(inference=hg.Sparse(X)).partial_fit(X[:10], case.y[:10]).partial_fit(X[10:], case.y[10:])
    agrees(CASES[SPARSE][0], model, case.answers())
    model = case.model(inference=hg.Sparse(X)).partial_fit(X[:10], case.y[:10], sample_weight=WEIGHTS[:10])
    model.partial_fit(X[10:], case.y[10:], sample_weight=WEIGHTS[10:])
    agrees(CASES[SPARSE][0], model, case.answers(known=NOISE / WEIGHTS))


@checks("partial_fit after fit", NORMAL, SPARSE)
def check_partial_fit_after_fit(case):
    model = case.model(inference=hg.Sparse(X)).fit(X[:10], case.y[:10])
    agrees(CASES[SPARSE][0], model.partial_fit(X[10:], case.y[10:]), case.answers())


@checks('integrate="grid"', NORMAL, STUDENT, POISSON, SPARSE, CLASSES)
def check_grid(case):
    """The weights of the grid are the posterior density at its points, and predictions are averaged with them."""
    is_normal = case.likelihood == "normal"
    priors = {"amplitude": LogNormal(1.5, 0.7)} | ({"noise": LogNormal(0.05, 0.5)} if is_normal else {})
    model = case.fit(**dict.fromkeys(priors), integrate="grid", priors=Priors(**priors))
    mixture = model.mixture_
    params = [posterior.params for posterior in mixture.posteriors]
    assert len(params) > 3
    parts = [case.answers(amplitude=p.amplitude, noise=p.noise if is_normal else NOISE)[0] for p in params]
    logs = norm.logpdf(np.log([p.amplitude for p in params]), np.log(1.5), 0.7)
    if is_normal:  # the prior is that of the noise over the prior variance
        logs += norm.logpdf(np.log([p.noise / p.amplitude for p in params]), np.log(0.05), 0.5)
    weights = softmax(logs + [part.evidence for part in parts])
    np.testing.assert_allclose(mixture.weights, weights, atol=case.nats)
    if case.is_classifier:
        probabilities = sum(w * part.probabilities(NEW, case.label_noise) for w, part in zip(weights, parts))
        np.testing.assert_allclose(model.predict_proba(NEW), probabilities, atol=case.tolerance)
        return
    means, stds = np.array([moments(part, NEW) for part in parts]).swapaxes(0, 1)
    mean = weights @ means
    std = np.sqrt(weights @ (stds**2 + (means - mean) ** 2))
    assert max(differences((mean, std), model.predict(NEW, return_std=True))) < case.tolerance


# The methods.


@checks("predict(return_std=True)", *REGRESSIONS)
def check_std(case):
    model, answers = case.fit(), case.answers()
    agrees(case, model, answers)
    mean, std = model.predict(NEW, return_std=True, noise=True)
    shape = mean.shape
    found = zip(*(answer.observed(NEW) for answer in answers))
    means, variances = (stacked(each, shape) for each in found)
    assert max(differences((means, np.sqrt(variances)), (mean, std))) < case.tolerance


@checks("predict(return_cov=True)", *REGRESSIONS)
def check_covariance(case):
    has_covariance(case, case.answers(), *case.fit().predict(NEW, return_cov=True))


@checks("predict_proba, decision_function", *LABELS)
def check_probabilities(case):
    model, (answer,) = case.fit(), case.answers()
    agrees(case, model, [answer])
    without = ndtri(answer.probabilities(NEW, 0.0))
    margins = without[:, 1] if without.shape[1] == 2 else without
    # the density of the normal distribution at these margins is above 0.2
    assert norm.pdf(margins).min() > 0.2
    np.testing.assert_allclose(model.decision_function(NEW), margins, atol=5 * case.tolerance)
    assert (model.predict(NEW) == model.classes_[without.argmax(axis=1)]).all()
    own = (model.predict_proba(NEW) - case.label_noise / 2) / (1 - case.label_noise)
    margins = ndtri(own[:, 1] if own.shape[1] == 2 else own)
    np.testing.assert_allclose(model.decision_function(NEW), margins, atol=1e-9)


@checks("predict_interval", *REGRESSIONS)
def check_interval(case):
    found = np.array(case.fit().predict_interval(NEW, level=0.8))
    for k, answer in enumerate(case.answers()):
        own = found[..., k] if found.ndim == 3 else found
        std = 0.0 if case.likelihood == "poisson" else np.sqrt(answer.observed(NEW)[1])
        assert np.all(np.abs(own - answer.interval(NEW, 0.8)) <= case.rough * std)
    if case.likelihood == "poisson":  # those of the rate are of f, whose moments are more accurate
        low, high = np.log(case.fit().predict_interval(NEW, level=0.8, noise=False))
        mean, covariance = case.answers()[0].latent(NEW)
        of_f = (low + high) / 2, (high - low) / (2 * norm.ppf(0.9))
        assert max(differences((mean, np.sqrt(np.diagonal(covariance))), of_f)) < 0.2 * case.tolerance


@checks("log_density", *REGRESSIONS)
def check_log_density(case):
    y = stacked([case.new_y] * len(case.answers()), (3, *case.y.shape[1:]))
    expected = stacked([answer.log_density(NEW, case.new_y) for answer in case.answers()], y.shape)
    np.testing.assert_allclose(case.fit().log_density(NEW, y), expected, atol=case.nats)


@checks("nlpd_scorer", *KINDS)
def check_nlpd(case):
    answers = case.answers()
    if case.is_classifier:
        labels = np.array([1, 0, 1])
        logs = np.log(answers[0].probabilities(NEW, case.label_noise)[np.arange(3), labels])
        assert abs(hg.nlpd_scorer(case.fit(), NEW, labels) - logs.mean()) < case.nats
        return
    y = stacked([case.new_y] * len(answers), (3, *case.y.shape[1:]))
    expected = np.mean([answer.log_density(NEW, case.new_y) for answer in answers])
    assert abs(hg.nlpd_scorer(case.fit(), NEW, y) - expected) < case.nats


@checks("gradient", *REGRESSIONS)
def check_gradient(case):
    """Differences of the answers along two great circles through each point. Their error is the step squared."""
    gradients, step = case.fit().gradient(NEW), 1e-3
    for k, answer in enumerate(case.answers()):
        of_mean, of_std = (each[:, k] if each.ndim == 3 else each for each in gradients)
        for place, x in enumerate(NEW):
            assert abs(of_mean[place] @ x) + abs(of_std[place] @ x) < 1e-9
            _, scale = moments(answer, x[None])
            for v in np.linalg.svd(x[None])[2][1:]:
                mean, std = moments(answer, np.array([np.cos(s) * x + np.sin(s) * v for s in (-step, step)]))
                assert abs(of_mean[place] @ v - np.diff(mean) / (2 * step)) < max(case.tolerance, 1e-5) * GROWTH * scale
                assert abs(of_std[place] @ v - np.diff(std) / (2 * step)) < max(case.tolerance, 1e-5) * GROWTH * scale


def are_drawn(case, draws):
    """Draws (M, n), or (M, p, n), have the mean and the covariance of the answers; of rates their logarithms have."""
    for k, answer in enumerate(case.answers()):
        own = draws[:, k] if draws.ndim == 3 else draws
        own, (mean, covariance) = np.log(own) if case.likelihood == "poisson" else own, answer.latent(NEW)
        std = np.sqrt(np.diagonal(covariance))
        error = std / np.sqrt(own.shape[1])
        assert np.max(np.abs(own.mean(axis=1) - mean) - ERRORS * error - case.tolerance * std) < 0
        # the variance of a product of two normal numbers
        error = np.sqrt((np.outer(std, std) ** 2 + covariance**2) / own.shape[1])
        limit = ERRORS * error + 2 * case.tolerance * np.outer(std, std)
        assert np.max(np.abs(np.cov(own) - covariance) - limit) < 0


@checks("sample_y", *REGRESSIONS)
def check_sample(case):
    draws = case.fit().sample_y(NEW, n_samples=4000)
    assert draws.shape == (3, *case.y.shape[1:], 4000)
    are_drawn(case, draws)


@checks("sample_functions", NORMAL, STUDENT, POISSON, SPARSE, SPARSE_LIKELIHOODS, NEIGHBORS)
def check_functions(case):
    """Values at points of two calls have the joint distribution."""
    functions = case.fit().sample_functions(n_samples=4000)
    are_drawn(case, np.vstack([functions(NEW[:2]), functions(NEW[2:])]))


@checks("loo", NORMAL, STUDENT, POISSON, OUTPUTS, NEIGHBORS, CLASSES)
def check_loo(case):
    """Predictions of each datum by the answer for the others."""
    found = case.fit().loo()
    if case.is_classifier:
        probabilities = case.answers()[0].loo_probabilities(case.label_noise)
        np.testing.assert_allclose(found, probabilities, atol=case.rough)
        return
    for k, answer in enumerate(case.answers()):
        own = [each[:, k] if each.ndim == 2 else each for each in found]
        assert max(differences(answer.loo(), own)) < case.rough


@checks("summary", *KINDS)
def check_summary(case):
    """The printed evidence, parameters and coefficients are those of the answers, to the digits that are printed."""
    printed, answers = str(case.fit().summary()), case.answers()
    evidence = re.search(r"log evidence +(\S+)", printed)
    assert abs(float(evidence[1]) - sum(answer.evidence for answer in answers)) < case.nats + 5e-4
    values = dict(re.findall(r"^(\S.*?)  +(\S+)  ", printed, re.MULTILINE))
    assert float(values["time"]) == TIME
    assert {float(value) for name, value in values.items() if name.startswith("amplitude")} == {AMPLITUDE}
    if case.likelihood != "normal":
        return
    for k, answer in enumerate(answers):
        name = f"mean: constant{f'[{k}]' if len(answers) > 1 else ''}"
        (coefficient,), of_coefficient = answer.coefficients
        error = np.sqrt(of_coefficient[0, 0])
        row = re.search(rf"^{re.escape(name)} +(\S+) +(\S+) to (\S+), standard error (\S+)$", printed, re.MULTILINE)
        ends = norm.interval(0.9, coefficient, error)
        np.testing.assert_allclose([float(each) for each in row.groups()], [coefficient, *ends, error], rtol=6e-3)
    if len(answers) > 1:  # no interval
        return
    model = case.fit(noise=None, priors=None)
    at, step = np.log(model.noise_), 0.01
    low, here, high = (case.answers(noise=np.exp(at + side * step))[0].evidence for side in (-1, 0, 1))
    spread = 1 / np.sqrt(2 * here - low - high) * step
    (found,) = (row for row in model.summary().parameters if row.name == "noise")
    np.testing.assert_allclose([found.low, found.high], np.exp(norm.interval(0.9, at, spread)), rtol=1e-3)


@checks("plot", NORMAL, STUDENT, POISSON, NEIGHBORS, CLASSES)
def check_plot(case):
    """What is drawn are the leave-one-out predictions of the answer."""
    axes, (answer,) = case.fit().plot().axes, case.answers()
    if case.is_classifier:
        given = answer.loo_probabilities(case.label_noise)[np.arange(len(case.y)), case.y]
        drawn = np.concatenate([line.get_ydata() for line in axes[1].lines if line.get_marker() != "None"])
        np.testing.assert_allclose(np.sort(drawn), np.sort(given), atol=case.rough)
        return
    mean, std = answer.loo()
    left = axes[0].containers[0]
    bars = np.array([path.vertices[:, 0] for path in left.lines[2][0].get_paths()])
    half = np.diff(bars)[:, 0] / 2
    limit = case.rough
    assert max(differences((mean, std), (left.lines[0].get_xdata(), half / norm.ppf(0.95)))) < limit
    np.testing.assert_array_equal(left.lines[0].get_ydata(), case.y)
    (points,) = (line for line in axes[1].lines if len(line.get_xdata()) == len(case.y) and line.get_marker() == "o")
    residuals = (case.y - mean) / std
    np.testing.assert_allclose(points.get_ydata(), residuals, atol=limit * (1 + np.abs(residuals).max()))


@checks("kernel_error", NORMAL, STUDENT, POISSON, OUTPUTS, SPARSE, NEIGHBORS, CLASSES)
def check_kernel_error(case):
    """The kernel is exact: it has no error. The spread is that of predictions, the largest of several outputs.

    The error of a simulated kernel has no answer in closed form; it is compared with repeated simulations in
    test_kernel_error.py.
    """
    found = case.fit().kernel_error(NEW)
    assert not found.error.any()
    if case.is_classifier:
        probabilities = case.answers()[0].probabilities(NEW, case.label_noise)
        spread = np.sqrt(probabilities * (1 - probabilities)).max(axis=1)
        np.testing.assert_allclose(found.spread, spread, atol=case.tolerance)
        return
    _, std = expected(case, case.answers())
    np.testing.assert_allclose(found.spread, std if std.ndim == 1 else std.max(axis=1), rtol=case.tolerance)


@checks("log_marginal_likelihood(gradient=True)", NORMAL, STUDENT, POISSON, SPARSE, NEIGHBORS, CLASSES)
def check_evidence(case):
    """Slopes by differences of the evidence of the answer in the logarithms of the parameters."""
    model = case.fit()
    value, slopes = model.log_marginal_likelihood(gradient=True)
    names = {"time": TIME, "amplitude": AMPLITUDE}
    names |= {"noise": NOISE} if case.likelihood in ("normal", "near normal", "student") else {}
    names |= {"near normal": {"degrees": 1e4}, "student": {"degrees": 4.0}}.get(case.likelihood, {})
    names |= {"label_noise": case.label_noise} if case.is_classifier else {}
    assert len(slopes) == len(names)

    def evidence(**moved):
        return sum(answer.evidence for answer in case.answers(**moved))

    assert abs(value - evidence()) < case.nats
    step = 1e-3
    for slope, (name, at) in zip(slopes, names.items()):
        low, high = (evidence(**{name: at * np.exp(side * step)}) for side in (-1, 1))
        # differences are off by the square of the step; slopes of the approximate evidence less than it itself
        assert abs(slope - (high - low) / (2 * step)) < np.clip(case.nats, 1e-5, 5e-3)
        if name != "degrees":  # no argument of the method
            moved = model.log_marginal_likelihood(**{name: 1.2 * at})
            assert abs(moved - evidence(**{name: 1.2 * at})) < case.nats


# All cells.


def with_option(model, y, points=X, **options):
    return type(model)(**model.get_params(deep=False) | options).fit(points, y)


def fitted(ask):
    return lambda model, y: ask(model.fit(X, y))


REFUSED = {
    "fit(sample_weight=)": lambda model, y: model.fit(X, y, sample_weight=WEIGHTS),
    "fit(covariates=)": lambda model, y: model.fit(X, y, covariates=COVARIATES),
    "fit(exposure=)": lambda model, y: model.fit(X, y, exposure=WEIGHTS),
    "noise=array": lambda model, y: with_option(model, y, noise=WEIGHTS),
    "Priors(noise_bounds=)": lambda model, y: with_option(model, y, priors=Priors(noise_bounds=(0.01, 1.0))),
    "Priors(coefficients=)": lambda model, y: with_option(model, y, priors=Priors(coefficients=1.0)),
    'likelihood="student-t"': lambda model, y: with_option(model, y, likelihood="student-t"),
    "mean=number": lambda model, y: with_option(model, y, mean=0.5),
    'kernel="precomputed"': lambda model, y: with_option(
        model, y, np.exp(X @ X.T), manifold=None, kernel="precomputed", time=None
    ),
    "normalize=False": lambda model, y: with_option(model, y, normalize=False),
    "partial_fit": lambda model, y: model.partial_fit(X, y),
    "partial_fit after fit": fitted(lambda gp: gp.partial_fit(X, gp.predict(X))),
    'integrate="grid"': lambda model, y: with_option(model, y, integrate="grid", amplitude=None),
    "predict(return_std=True)": fitted(lambda gp: gp.predict(X, return_std=True)),
    "predict(return_cov=True)": fitted(lambda gp: gp.predict(X, return_cov=True)),
    "predict_interval": fitted(lambda gp: gp.predict_interval(X)),
    "log_density": fitted(lambda gp: gp.log_density(X, Y)),
    "gradient": fitted(lambda gp: gp.gradient(X)),
    "sample_y": fitted(lambda gp: gp.sample_y(X)),
    "sample_functions": fitted(lambda gp: gp.sample_functions()),
    "loo": fitted(lambda gp: gp.loo()),
    "plot": fitted(lambda gp: gp.plot()),
    "kernel_error": fitted(lambda gp: gp.kernel_error(X)),
    "log_marginal_likelihood(gradient=True)": fitted(lambda gp: gp.log_marginal_likelihood(gradient=True)),
}
"""What raises the error of a row, from a model and data of 24 points."""


def refused_models(kind):
    """Models of a kind that are not fitted, with data."""
    likelihood = {STUDENT: "student-t", SPARSE_LIKELIHOODS: "student-t", POISSON: "poisson"}.get(kind, "normal")
    given = {"manifold": S2, "time": TIME, "amplitude": AMPLITUDE}
    if kind in (SPARSE, SPARSE_LIKELIHOODS, SPARSE_CLASSES):
        given |= {"inference": hg.Sparse(X)}
    if kind == NEIGHBORS:
        given |= {"inference": NEAR}
    if kind in LABELS:
        return [(hg.GPClassifier(label_noise=0.0, **given), np.arange(24) % classes) for classes in (2, 3)]
    y = {POISSON: np.round(np.exp(X[:, 0])), OUTPUTS: np.column_stack([Y, Y**2])}.get(kind, Y)
    noise = {} if kind == POISSON else {"noise": NOISE}
    return [(hg.GPRegressor(likelihood=likelihood, **noise, **given), y)]


def is_refused(row, kind):
    """The error of the plan is raised, in its words; or the class has no such method, which is Python's error."""
    error, text = PLAN[row][kind]
    words = re.sub(r"\\\{.*?\\\}", ".+", re.escape(text))
    for model, y in refused_models(kind):
        if "has no such method" in text:
            for name in METHODS[row]:
                with pytest.raises(AttributeError, match=f"no attribute '{name}'"):
                    getattr(model.fit(X, y), name)
            continue
        with pytest.raises(error, match=words) as raised:
            REFUSED[row](model, y)
        assert not re.search(r"\{\w*[:,]*\}", str(raised.value))  # all words of this model were filled in


def test_the_documentation_prints_the_table():
    assert table() in (Path(__file__).parents[1] / "docs" / "api.md").read_text()


def test_each_cell_has_one_check():
    assert {(row, kind) for row in PLAN for kind in KINDS if kind not in PLAN[row]} == {
        (row, kind) for row, kinds in CHECKS.items() for kind in kinds
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("row", PLAN)
def test_each_cell_is_as_the_table_says(row, kind):
    if kind in PLAN[row]:
        is_refused(row, kind)
    else:
        assert kind in CHECKS.get(row, {}), "no check of its values"
        CHECKS[row][kind]()
