"""How far the Monte Carlo error of a kernel moves predictions."""

from dataclasses import dataclass

import numpy as np
import pytest

from heatgp import GPClassifier, GPRegressor, Product, Sphere, Torus, heat_kernel
from heatgp.covariance import TimeFunction
from heatgp.estimators.kernel_error import KernelError
from heatgp.heat.composed import ProductKernel
from heatgp.heat.kernel import HeatKernel, Replicates

S2 = Sphere(2)
EXACT = heat_kernel(S2)
CLOCKS = (0.9, 0.97, 1.05, 1.12)
GIVEN = {"time": 0.4, "amplitude": 1.5}


@dataclass(frozen=True)
class FastClock(HeatKernel):
    """The kernel of the sphere with a clock that is wrong; the kernels of parts of its data have these clocks."""

    clock: float = 1.0
    parts: tuple[float, ...] = CLOCKS
    manifold = S2
    method = "fast clock"

    def pairs(self, X, Y=None):
        exact = EXACT.pairs(X, Y)
        return TimeFunction(lambda time: exact.at(time * self.clock))

    def replicates(self, number):
        return [Replicates(tuple(FastClock(clock) for clock in self.parts), 1 / len(self.parts))]


@pytest.fixture
def data(rng):
    X = S2.random(rng, 40)
    return X, X[:, 0] * X[:, 2] + 0.1 * rng.standard_normal(40), S2.random(rng, 15)


@pytest.mark.parametrize("normalize", [True, False])
def test_error_is_the_spread_over_the_parts(data, normalize):
    X, y, Z = data
    fixed = {"amplitude": 1.5, "noise": 0.01, "normalize": normalize}
    found = GPRegressor(S2, kernel=FastClock(), time=0.4, **fixed).fit(X, y).kernel_error(Z)
    parts = [GPRegressor(S2, time=0.4 * clock, **fixed).fit(X, y).predict(Z) for clock in CLOCKS]
    np.testing.assert_allclose(found.error, np.std(parts, axis=0, ddof=1) / 2, rtol=1e-6)
    spread = GPRegressor(S2, time=0.4, **fixed).fit(X, y).predict(Z, return_std=True)[1]
    np.testing.assert_allclose(found.spread, spread, rtol=1e-9)
    assert found.share == pytest.approx(np.sqrt(np.mean(found.error**2) / np.mean(spread**2)))


@pytest.mark.parametrize("classes", [2, 3])
def test_error_of_probabilities(data, classes):
    X, y, Z = data
    labels = np.digitize(y, [0.0] if classes == 2 else [-0.1, 0.1])
    found = GPClassifier(S2, kernel=FastClock(), label_noise=0.01, **GIVEN).fit(X, labels).kernel_error(Z)
    parts = [
        GPClassifier(S2, time=0.4 * c, amplitude=1.5, label_noise=0.01).fit(X, labels).predict_proba(Z) for c in CLOCKS
    ]
    expected = np.std(parts, axis=0, ddof=1).max(axis=1) / 2
    np.testing.assert_allclose(found.error, expected, rtol=1e-5, atol=1e-9)
    assert ((found.spread > 0) & (found.spread <= 0.5)).all()


def test_exact_kernels_have_none(data):
    X, y, Z = data
    found = GPRegressor(S2, **GIVEN, noise=0.01).fit(X, y).kernel_error(Z)
    assert not found.error.any()
    assert found.share == 0
    assert str(found) == "the kernel is exact: no part of the predictive error comes from it"


def test_products_pass_the_question_on(rng):
    M = Product(S2, Torus(1))
    (source,) = ProductKernel(M, (FastClock(), heat_kernel(Torus(1)))).replicates(4)
    assert [kernel.factors[0].clock for kernel in source.kernels] == list(CLOCKS)
    assert source.fraction == 1 / 4
    assert heat_kernel(M).replicates(4) == []
    X = M.random(rng, 20)
    gp = GPRegressor(M, kernel=[FastClock(), "exact"], time=(0.4, 0.5), amplitude=1.0, noise=0.1).fit(X, X[:, 0])
    assert (gp.kernel_error(X).error > 0).all()


def test_variances_of_independent_sources_add(rng):
    """Each source moves alone, whatever the number of its parts."""
    M = Product(S2, S2)
    X, Z = M.random(rng, 20), M.random(rng, 7)
    fixed = {"time": (0.4, 0.5), "amplitude": 1.0, "noise": 0.1}
    halves = (0.8, 1.3)
    gp = GPRegressor(M, kernel=[FastClock(), FastClock(parts=halves)], **fixed).fit(X, X[:, 0] * X[:, 4])

    def predictions(times):
        return [GPRegressor(M, **{**fixed, "time": t}).fit(X, X[:, 0] * X[:, 4]).predict(Z) for t in times]

    first = np.var(predictions([(0.4 * c, 0.5) for c in CLOCKS]), axis=0, ddof=1) / 4
    second = np.var(predictions([(0.4, 0.5 * c) for c in halves]), axis=0, ddof=1) / 2
    np.testing.assert_allclose(gp.kernel_error(Z).error, np.sqrt(first + second), rtol=1e-6)


@pytest.mark.parametrize("estimated", [False, True], ids=["clock", "reference"])
def test_sparse_models_use_the_other_kernels(estimated):
    """As dense ones do, up to their approximation.

    The spread over four estimated kernels is itself known to 40 %, so that the median of five data sets is compared.
    """
    shares, correlations = [], []
    for seed in range(5 if estimated else 1):
        rng = np.random.default_rng(seed)
        options = {"references": 60, "paths": 6000, "cache": False, "rng": seed}
        kernel = heat_kernel(S2, "reference", **options) if estimated else FastClock()
        X, Z = S2.random(rng, 400), S2.random(rng, 30)
        y = X[:, 0] * X[:, 2] + np.sin(4 * X[:, 1]) + 0.1 * rng.standard_normal(400)
        fixed = {"kernel": kernel, "time": 0.8, "amplitude": 1.5, "noise": 0.01}
        models = [GPRegressor(S2, inference=name, **fixed).fit(X, y) for name in ("dense", "sparse")]
        assert models[1].approximation_.inducing < 200
        dense, sparse = (gp.kernel_error(Z) for gp in models)
        np.testing.assert_allclose(sparse.spread, dense.spread, rtol=0.01)
        shares.append(sparse.share / dense.share)
        correlations.append(np.corrcoef(sparse.error, dense.error)[0, 1])
    assert np.median(shares) == pytest.approx(1.0, rel=0.2 if estimated else 0.02)
    assert np.median(correlations) > 0.8


def test_it_says_whether_more_paths_would_help():
    little, much = KernelError(np.ones(3), np.full(3, 10.0)), KernelError(np.ones(3), np.full(3, 2.0))
    assert str(little).endswith("is 10.0 % of the predictive spread: more paths would change little")
    assert str(much).endswith("is 50.0 % of the predictive spread: more paths would change the predictions")
    assert KernelError(np.ones(2), np.zeros(2)).share == np.inf


@pytest.mark.filterwarnings("ignore::heatgp.errors.AccuracyWarning")
def test_it_is_as_large_as_the_true_error(data):
    """Against the exact kernel, where the estimate is known to be wrong by so much."""
    X, y, Z = data
    fixed = {"time": 0.4, "amplitude": 1.0, "noise": 0.01}
    exact = GPRegressor(S2, **fixed).fit(X, y).predict(Z)
    true, stated = [], []
    for seed in range(8):
        kernel = heat_kernel(S2, "strip", paths=4000, times=[0.2, 0.4, 0.8], rng=seed, cache=False)
        gp = GPRegressor(S2, kernel=kernel, **fixed).fit(X, y)
        true.append(np.mean((gp.predict(Z) - exact) ** 2))
        stated.append(np.mean(gp.kernel_error(Z).error ** 2))
    assert 0.5 < np.sqrt(np.mean(true) / np.mean(stated)) < 2  # the errors of 8 seeds are known to 25 %
