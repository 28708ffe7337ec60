"""Simulation-based calibration: parameters from the priors, functions, data; is the truth anywhere in the posterior?

If a model and its computation are right, the posterior probability of values below the true one has the uniform
distribution, over draws of everything. Reference: Talts, Betancourt, Simpson, Vehtari & Gelman (2018). The posterior
probability takes the place of ranks among draws: it is their limit for many draws.

Each test has a false alarm in one of a thousand seeds; the seed is fixed.
"""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import chi2, kstest

import heatgp as hg
from heatgp.gp.label_noise import LABEL_NOISE
from heatgp.gp.parameters import LogNormal, Priors
from heatgp.gp.probit import Probit

MANIFOLDS = (hg.Sphere(2), hg.SpecialOrthogonal(3), hg.ComplexProjective(2), hg.Torus(2))
LEVEL = 1e-3
DATA = 30
TIME = LogNormal(0.3, 0.7)
BOUNDS = tuple(TIME.quantile([1e-7, 1 - 1e-7]))
REGRESSION = Priors(time=TIME, amplitude=LogNormal(1.0, 0.7), noise=LogNormal(0.1, 0.7), time_bounds=BOUNDS)
CLASSES = Priors(time=TIME, amplitude=LogNormal(4.0, 0.7), time_bounds=BOUNDS)
BANDWIDTH = 1.5 / np.sqrt(12)
"""Of a cell of the grid, in standard deviations: points are 1.5 of them apart."""


def misfit(u):
    """The smaller probability of two tests of uniform u: of their distribution, and of their spread."""
    u = np.clip(u, 1e-12, 1 - 1e-12)
    squares = np.sum(ndtri(u) ** 2)
    spread = 2 * min(chi2.cdf(squares, len(u)), chi2.sf(squares, len(u)))
    return min(kstest(u, "uniform").pvalue, spread)


def drawn(manifold, priors, functions, rng):
    """Parameters of the priors, and functions of these at points: the last one is new."""
    time, amplitude = float(priors.time.sample(rng)), float(priors.amplitude.sample(rng))
    return time, amplitude, *drawn_at(manifold, time, amplitude, functions, rng)


def drawn_at(manifold, time, variance, functions, rng):
    """Points, and functions of this time and prior variance at them."""
    X = manifold.random(rng, DATA + 1)
    K = hg.heat_kernel(manifold)(X, time=time)
    values, vectors = np.linalg.eigh(K / np.sqrt(np.outer(np.diag(K), np.diag(K))))
    root = vectors * np.sqrt(np.maximum(values, 0))
    return X, np.sqrt(variance) * root @ rng.standard_normal((DATA + 1, functions))


def below(mixture, truth, mean, variance):
    """The posterior probability of values below the truth; means and variances are one for each set of parameters."""
    return float(mixture.weights @ ndtr((truth - np.asarray(mean)) / np.sqrt(variance)))


def parameter_below(mixture, truth, of_params):
    """The same of a parameter: each point of the grid stands for its cell, without a change of the variance."""
    logs = np.log([of_params(posterior.params) for posterior in mixture.posteriors])
    mean = mixture.weights @ logs
    deviation = np.sqrt(mixture.weights @ (logs - mean) ** 2)
    centres = mean + (logs - mean) * np.sqrt(1 - BANDWIDTH**2)
    return float(mixture.weights @ ndtr((np.log(truth) - centres) / (BANDWIDTH * deviation)))


def regression(manifold, rng):
    """u of f at a new point, of time, amplitude and noise; and of f with half its variance, which is wrong."""
    time, amplitude, X, f = drawn(manifold, REGRESSION, 1, rng)
    noise = amplitude * float(REGRESSION.noise.sample(rng))
    y = f[:, 0] + np.sqrt(noise) * rng.standard_normal(DATA + 1)
    gp = hg.GPRegressor(manifold, mean="zero", priors=REGRESSION, integrate="grid")
    mixture = gp.fit(X[:-1], y[:-1]).mixture_
    means, variances = mixture.parts(X[-1:])
    return (
        below(mixture, f[-1, 0], means[:, 0], variances[:, 0]),
        parameter_below(mixture, time, lambda params: params.time),
        parameter_below(mixture, amplitude, lambda params: params.amplitude),
        parameter_below(mixture, noise, lambda params: params.noise),
        below(mixture, f[-1, 0], means[:, 0], variances[:, 0] / 2),
    )


def binary(manifold, rng):
    """u of f at a new point, and of time and amplitude; None where all labels are the same."""
    time, amplitude, X, f = drawn(manifold, CLASSES, 1, rng)
    labels = f[:-1, 0] + rng.standard_normal(DATA) > 0
    if labels.all() or not labels.any():
        return None
    options = {"mean": "zero", "label_noise": 0.0, "priors": CLASSES, "integrate": "grid"}
    mixture = hg.GPClassifier(manifold, **options).fit(X[:-1], labels).mixture_
    means, variances = mixture.parts(X[-1:])
    return (
        below(mixture, f[-1, 0], means[:, 0], variances[:, 0]),
        parameter_below(mixture, time, lambda params: params.time),
        parameter_below(mixture, amplitude, lambda params: params.amplitude),
    )


def several(manifold, rng):
    """u of the difference of two functions of three at a new point; None where a class has no label."""
    _, _, X, f = drawn(manifold, CLASSES, 3, rng)
    labels = np.argmax(f[:-1] + rng.standard_normal((DATA, 3)), axis=1)
    if len(np.unique(labels)) < 3:
        return None
    options = {"mean": "zero", "label_noise": 0.0, "priors": CLASSES, "integrate": "grid"}
    mixture = hg.GPClassifier(manifold, **options).fit(X[:-1], labels).mixture_
    found = [posterior.moments(X[-1:]) for posterior in mixture.posteriors]
    side = np.array([1.0, -1.0, 0.0])
    means = [mean[0] @ side for mean, _ in found]
    variances = [side @ covariance[0] @ side for _, covariance in found]
    return (below(mixture, f[-1] @ side, means, variances),)


def truncated(prior, low, high, rng):
    """A value of the prior between two bounds."""
    return float(prior.quantile(rng.uniform(*ndtr(np.log(np.array([low, high]) / prior.median) / prior.spread))))


def weakly(manifold, rng):
    """The default classifier where its weak priors are true: what it says, and what happened; None for equal labels.

    Half of the labels are drawn from shares that are the same at all points. What it says is the probability of the
    label 1 at a new point.
    """
    priors, signal = Probit.weak_priors, rng.uniform() < 0.5
    time = truncated(LogNormal.between(*BOUNDS, Probit.time_edge), *BOUNDS, rng)
    variance, noise = (
        truncated(priors["amplitude"], 1e-2, 1e4, rng),
        truncated(priors["label_noise"], *LABEL_NOISE, rng),
    )
    X, f = drawn_at(manifold, time, variance, 1, rng)
    f = f[:, 0] + np.sqrt(1 + variance) * rng.standard_normal()
    p = (1 - noise) * ndtr(f) + noise / 2 if signal else np.full(DATA + 1, rng.uniform())
    labels = rng.uniform(size=DATA + 1) < p
    if labels[:-1].all() or not labels[:-1].any():
        return None
    gp = hg.GPClassifier(manifold, priors=Priors(time_bounds=BOUNDS)).fit(X[:-1], labels[:-1])
    return gp.predict_proba(X[-1:])[0, 1], labels[-1]


def all_of(draw, manifold, number):
    """u of each quantity, (quantities, number); data for which there is no model do not count, as they are data."""
    seeds = np.random.SeedSequence([MANIFOLDS.index(manifold), number]).spawn(number)
    found = [draw(manifold, np.random.default_rng(seed)) for seed in seeds]
    return np.array([u for u in found if u is not None]).T


@pytest.mark.slow
@pytest.mark.parametrize("manifold", MANIFOLDS, ids=repr)
def test_regression(manifold):
    *right, wrong = all_of(regression, manifold, 100)
    for u in right:
        assert misfit(u) > LEVEL
    assert misfit(wrong) < LEVEL


@pytest.mark.slow
@pytest.mark.parametrize("manifold", MANIFOLDS, ids=repr)
def test_two_classes(manifold):
    for u in all_of(binary, manifold, 100):
        assert misfit(u) > LEVEL


@pytest.mark.slow
@pytest.mark.parametrize("manifold", MANIFOLDS, ids=repr)
def test_three_classes(manifold):
    for u in all_of(several, manifold, 50):
        assert misfit(u) > LEVEL


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::heatgp.errors.BoundWarning")
@pytest.mark.parametrize("manifold", MANIFOLDS, ids=repr)
def test_weak_priors(manifold):
    """Probabilities are as often right as they say: on average, and the nearer to 0 or 1 they are.

    Parameters are learned, not integrated over. The second sum is of what is said beyond one half: it is negative where
    probabilities are too far from it.
    """
    said, label = all_of(weakly, manifold, 200)
    for weight in (np.ones(len(said)), said - 0.5):
        surprise = np.sum(weight * (label - said)) / np.sqrt(np.sum(weight**2 * said * (1 - said)))
        assert abs(surprise) < 4
