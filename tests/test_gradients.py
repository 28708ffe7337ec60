"""Gradients in the points: of kernels and of models."""

import math

import mpmath
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import heatgp as hg
from catalog import CATALOG, is_supported
from heatgp import Euclidean, Hyperbolic, Product, SpecialOrthogonal, Sphere, Stiefel, Torus
from heatgp.array import hermitian, white_noise
from heatgp.errors import InvalidInput, NotConverged, Unsupported
from heatgp.heat.kernel import HeatKernel
from heatgp.manifolds.gradients import (
    WEIGHTS,
    partial_derivatives,
    tangent_gradient,
    through_projection,
    to_tangent_space,
)
from own_manifolds import TORUS, TORUS_CHART


def slope(function, step):
    """The derivative at 0 by central differences of sixth order."""
    return sum(w * (function(k * step) - function(-k * step)) for k, w in ((1, 0.75), (2, -0.15), (3, 1 / 60))) / step


def curve(M, x, rng):
    """Points on smooth curves through x: the nearest ones to straight lines of the arrays."""
    u = white_noise(rng, x.shape, M.is_complex)
    u = 0.1 * hermitian(u) if "PD" in repr(M) else u
    return lambda s: M.project(x + s * u)


SLOW = {
    "Stiefel(5, 2)",
    "Stiefel(7, 3)",
    "Stiefel(3, 1, 'complex')",
    "Stiefel(5, 2, 'complex')",
    "SPD(4)",
    "Grassmann(6, 3)",
}


def exact_or_averaged(M):
    for method in ("exact", "fibre-average"):
        if is_supported(M, method):
            return method
    return None


@pytest.mark.parametrize(
    "M",
    [
        pytest.param(M, marks=[pytest.mark.slow] if repr(M) in SLOW else [])
        for M in CATALOG
        if exact_or_averaged(M) is not None
    ],
    ids=repr,
)
def test_gradients_are_derivatives_along_curves(M, rng):
    """Along curves that no exponential map, basis or metric was used for."""
    kernel, time = hg.heat_kernel(M, exact_or_averaged(M)), 0.5
    x = M.random(rng, 2)
    y = np.concatenate((M.exp(x, 0.3 * M.noise(x, white_noise(rng, x.shape, M.is_complex))), x[:1]))
    c = curve(M, x, rng)
    velocity = slope(lambda s: M.difference(x, c(s)), 2e-3)
    expected = slope(lambda s: kernel(c(s), y, time=time), 2e-3)
    found = kernel.gradient(x, y, time=time)
    largest = np.sqrt(M.metric(x[:, None], found, found).max())
    stated = kernel.standard_error(x, y, time=time).max() / kernel.step_of_differences(time)
    limit = (1e-8 if kernel.is_exact else 1e-6) * largest + stated
    np.testing.assert_allclose(M.metric(x[:, None], found, velocity[:, None]), expected, atol=limit)


@pytest.mark.parametrize("M", CATALOG, ids=repr)
def test_partial_derivatives_and_gradients(M, rng):
    """Of a linear function of the entries, along curves that no exponential map, basis or metric was used for."""
    x = M.random(rng, 3)
    slope_of_entries = white_noise(rng, x.shape, M.is_complex)
    c = curve(M, x, rng)
    velocity = slope(lambda s: M.difference(x, c(s)), 2e-3)

    def derivative(s, v):
        return (s * v.conj()).real.reshape(3, -1).sum(axis=1)

    gradient = tangent_gradient(M, x, slope_of_entries)
    tangent = to_tangent_space(M, x, velocity)
    expected = derivative(slope_of_entries, tangent)
    limit = 1e-8 * np.abs(x).max() * np.abs(slope_of_entries).max()
    np.testing.assert_allclose(M.metric(x, gradient, velocity), expected, atol=limit)
    np.testing.assert_allclose(to_tangent_space(M, x, gradient), gradient, atol=1e-9 * np.abs(gradient).max())
    partial = partial_derivatives(M, x, gradient)
    np.testing.assert_allclose(derivative(partial, velocity), expected, atol=limit)
    np.testing.assert_allclose(tangent_gradient(M, x, partial), gradient, atol=1e-9 * np.abs(gradient).max())


@pytest.mark.parametrize(
    "M", [Sphere(3), Stiefel(3, 1, "complex"), Torus(2), Product(Sphere(2), Euclidean(1))], ids=repr
)
def test_derivatives_through_projections(M, rng):
    """x / |x| has the derivative (1 - uu') / |x| with u = x / |x|; tori and flat spaces have no constraints."""
    x = M.random(rng, 4) + 0.3 * white_noise(rng, (4, *M.shape), M.is_complex)
    slopes = white_noise(rng, x.shape, M.is_complex)

    def of_unit_vectors(x, slopes):
        size = np.linalg.norm(x, axis=1, keepdims=True)
        return (slopes - x / size * (x / size * slopes.conj()).real.sum(axis=1, keepdims=True)) / size

    expected = slopes.copy()
    if isinstance(M, Product):
        expected[:, :3] = of_unit_vectors(x[:, :3], slopes[:, :3])
    elif not isinstance(M, Torus):
        expected = of_unit_vectors(x, slopes)
    np.testing.assert_allclose(through_projection(M, x, slopes), expected, atol=1e-9)


def closed_form(M, x, y, time):
    """p_t(x, y) of S³ and H³ with 40 digits."""
    t = mpmath.mpf(time)
    if isinstance(M, Sphere):
        r = mpmath.acos(sum(a * b for a, b in zip(x, y)))
        images = mpmath.nsum(
            lambda k: (r + 2 * mpmath.pi * k) * mpmath.exp(-((r + 2 * mpmath.pi * k) ** 2) / (2 * t)), [-20, 20]
        )
        return mpmath.exp(t / 2) / (2 * mpmath.pi * t) ** 1.5 * images / mpmath.sin(r)
    r = mpmath.acosh(x[0] * y[0] - sum(a * b for a, b in zip(x[1:], y[1:])))
    return mpmath.exp(-t / 2 - r**2 / (2 * t)) / (2 * mpmath.pi * t) ** 1.5 * r / mpmath.sinh(r)


@pytest.mark.parametrize("time", [0.05, 0.4, 3.0])
@pytest.mark.parametrize("M", [Sphere(3), Hyperbolic(3)], ids=repr)
def test_gradients_in_high_precision(M, time, rng):
    x, y = M.random(rng, 1)[0], M.random(rng, 1)[0]
    y = M.exp(x, 0.5 * M.noise(x, y))
    v = M.tangent_basis(x)[0]
    with mpmath.workdps(40):
        point, way, end = ([mpmath.mpf(a) for a in z.tolist()] for z in (x, v, y))
        sign = 1 if isinstance(M, Sphere) else -1  # of the squares of all entries but the first

        def value(s):
            """On the line x + s v, brought back to the manifold: to first order the geodesic."""
            z = [a + s * b for a, b in zip(point, way)]
            size = mpmath.sqrt(z[0] ** 2 + sign * sum(a**2 for a in z[1:]))
            return closed_form(M, [a / size for a in z], end, time)

        expected = float(mpmath.diff(value, 0))
    found = hg.heat_kernel(M).gradient(x, y, time=time)
    largest = math.sqrt(M.metric(x, found, found)) + hg.heat_kernel(M).diag(x, time) / math.sqrt(time)
    assert abs(M.metric(x, found, v) - expected) < 1e-10 * largest


def test_gradients_of_a_distance_agree_with_differences(rng):
    """The formula for kernels of one distance, and the general one: also at the same point and at the antipode."""
    M = Sphere(4)
    x = M.random(rng, 3)
    y = np.concatenate((x, -x, M.random(rng, 5)))
    kernel = hg.heat_kernel(M)
    found = kernel.gradient(x, y, time=0.3)
    np.testing.assert_allclose(found, HeatKernel._gradients(kernel, x, y, 0.3), atol=1e-9 * np.abs(found).max())
    assert np.abs(found[np.arange(3), np.arange(3)]).max() < 1e-12
    np.testing.assert_allclose((found * x[:, None]).sum(-1), 0, atol=1e-12)


def test_shapes(rng):
    M = SpecialOrthogonal(3)
    x, y, kernel = M.random(rng, 4), M.random(rng, 5), hg.heat_kernel(M)
    whole = kernel.gradient(x, y, time=[0.2, 0.4])
    assert whole.shape == (2, 4, 5, 3, 3)
    np.testing.assert_array_equal(kernel.gradient(x[1], y[2], time=0.4), whole[1, 1, 2])
    np.testing.assert_array_equal(kernel.gradient(x.reshape(2, 2, 3, 3), y, time=0.2), whole[0].reshape(2, 2, 5, 3, 3))
    assert kernel.gradient(x, time=0.2).shape == (4, 4, 3, 3)
    assert kernel.gradient(x[:0], y, time=0.2).shape == (0, 5, 3, 3)
    with pytest.raises(InvalidInput, match="positive"):
        kernel.gradient(x, y, time=-1.0)


FACTORS = Product(Sphere(2), Euclidean(2))


@pytest.mark.parametrize(
    "kernel, time",
    [(hg.heat_kernel(FACTORS).with_times("each"), (0.2, 3.0)), (hg.matern_kernel(FACTORS, 2.5), 0.5)],
    ids=["times", "matern"],
)
def test_several_times_and_matern(kernel, time, rng):
    x, y = FACTORS.random(rng, 3), FACTORS.random(rng, 4)
    c = curve(FACTORS, x, rng)
    velocity = slope(lambda s: c(s) - x, 2e-3)
    expected = slope(lambda s: kernel(c(s), y, time=time), 2e-3)
    found = kernel.gradient(x, y, time=time)
    along = FACTORS.metric(x[:, None], found, velocity[:, None])
    np.testing.assert_allclose(along, expected, atol=1e-7 * np.abs(found).max())


@pytest.mark.parametrize("method", ["strip", "ball"])
def test_gradients_of_counts_have_the_error_of_differences_of_them(method, rng):
    M, time = Sphere(2), 0.5
    kernel, exact = hg.heat_kernel(M, method, paths=100_000, times=[time], cache=False), hg.heat_kernel(M)
    x, y = M.random(rng, 3), M.random(rng, 20)
    found, truth = (k.gradient(x, y, time=time) for k in (kernel, exact))
    step, ways = kernel.step_of_differences(time), M.log(x[:, None], y)
    ways = step * ways / np.linalg.norm(ways, axis=-1, keepdims=True)
    variance = sum(
        (w / step) ** 2 * np.einsum("ijj->ij", kernel.standard_error(M.exp(x[:, None], k * ways), y, time=time)) ** 2
        for number, w in WEIGHTS.items()
        for k in (number, -number)
    )
    error = np.sqrt(variance)
    off, largest = np.linalg.norm(found - truth, axis=-1), np.linalg.norm(truth, axis=-1).max()
    np.testing.assert_array_less(off, 4.5 * error + 0.02 * largest)  # and the error of so long a difference


def test_gradients_of_smooth_estimates(rng):
    M = Sphere(2)
    kernel, exact = hg.heat_kernel(M, "smooth", paths=100_000, times=[0.5], cache=False), hg.heat_kernel(M)
    found, truth = (k.gradient(M.random(1, 3), M.random(2, 20), time=0.5) for k in (kernel, exact))
    assert np.abs(found - truth).max() < 0.01 * np.abs(truth).max()


@pytest.mark.slow
@pytest.mark.parametrize("M", [TORUS, TORUS_CHART], ids=repr)
def test_own_manifolds(M, rng):
    kernel = hg.heat_kernel(M, references=120, paths=4000, times=(0.8, 1.6), rng=0)
    x, y = M.random(rng, 2), M.random(rng, 5)
    v = M.tangent_basis(x)[:, 1]
    found = kernel.gradient(x, y, time=1.0)
    expected = slope(lambda s: kernel(M.exp(x, s * v), y, time=1.0), 2e-3)
    np.testing.assert_allclose(M.metric(x[:, None], found, v[:, None]), expected, atol=1e-5 * np.abs(expected).max())


MODELS = {
    "normal": {},
    "linear mean": {"mean": "linear"},
    "integrated": {"integrate": "grid"},
    "sparse": {"inference": "sparse"},
    "matern": {"smoothness": 2.5},
}


@pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize(
    "M", [Sphere(2), pytest.param(Product(SpecialOrthogonal(3), Euclidean(1)), marks=pytest.mark.slow)], ids=repr
)
def test_gradients_of_models(M, options, rng):
    X = M.random(rng, 80)
    gp = hg.GPRegressor(M, **options).fit(X, np.sin(3 * M.embed(X)[:, 0]) + 0.1 * rng.standard_normal(80))
    x = M.random(rng, 6)
    c = curve(M, x, rng)
    velocity = slope(lambda s: c(s) - x, 2e-3)
    expected = slope(lambda s: np.stack(gp.predict(c(s), return_std=True)), 2e-3)
    for found, one in zip(gp.gradient(x), expected):
        assert found.shape == x.shape
        np.testing.assert_allclose(M.metric(x, found, velocity), one, atol=1e-6 * np.abs(found).max())


def test_covariates_and_outputs(rng):
    M = Sphere(2)
    X, z = M.random(rng, 50), rng.standard_normal((50, 1))
    y = X[:, 0] + 0.5 * z[:, 0] + 0.1 * rng.standard_normal(50)
    gp = hg.GPRegressor(M).fit(X, y, covariates=z)
    of_mean, of_std = gp.gradient(X[:3], covariates=z[:3])
    step = 1e-4 * M.tangent_basis(X[:3])[:, 0]
    ends = [np.stack(gp.predict(M.exp(X[:3], s * step), return_std=True, covariates=z[:3])) for s in (1, -1)]
    slopes = (ends[0] - ends[1]) / 2
    np.testing.assert_allclose([M.metric(X[:3], g, step) for g in (of_mean, of_std)], slopes, rtol=1e-4, atol=1e-10)
    both = hg.GPRegressor(M).fit(X, np.stack((y, 2 * y), axis=1)).gradient(X[:3])
    assert both[0].shape == both[1].shape == (3, 2, 3)


def test_what_has_no_gradient():
    with pytest.raises(NotFittedError):
        hg.GPRegressor(Sphere(2)).gradient([[1.0, 0, 0]])
    gp = hg.GPRegressor(kernel="precomputed", amplitude=1.0, noise=0.1).fit(np.eye(4), np.arange(4.0))
    with pytest.raises(Unsupported, match="precomputed"):
        gp.gradient(np.ones((1, 4)))
    with pytest.raises(Unsupported, match="log"):
        TORUS_CHART.log(TORUS_CHART.random(0, 1), TORUS_CHART.random(0, 1))


@pytest.mark.parametrize("M", CATALOG, ids=repr)
def test_logarithms_of_far_points(M, rng):
    """The geodesic of log(x, y) ends in y, and is as long as the distance; on O(n) between points of one piece."""
    x, y = M.random(rng, 6), M.random(rng, 6)
    try:
        distance, log = M.distance(x, y), M.log(x, y)
    except NotConverged:  # frames that are far from each other
        y = M.exp(x, M.noise(x, white_noise(rng, x.shape, M.is_complex)) / math.sqrt(M.dim))
        distance, log = M.distance(x, y), M.log(x, y)
    near = np.isfinite(distance)
    np.testing.assert_allclose(np.sqrt(M.metric(x, log, log))[near], distance[near], atol=1e-12)
    assert M.distance(M.exp(x[near], log[near]), y[near]).max() < 1e-11


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_logarithms_of_half_turns(n, rng):
    """Of rotations with eigenvalues -1, which have several: exactly, and within rounding of it."""
    M = SpecialOrthogonal(n)
    half = np.diag([-1.0] * (n - n % 2) + [1.0] * (n % 2))
    x = M.random(rng, 8)
    y = x @ half
    close = M.exp(y, M.noise(y, 10.0 ** -np.arange(8, 16)[:, None, None] * rng.standard_normal(y.shape)))
    for end in (y, close):
        log = M.log(x, end)
        np.testing.assert_allclose(np.sqrt(M.metric(x, log, log)), math.pi * math.sqrt(n // 2), atol=1e-6)
        assert M.distance(M.exp(x, log), end).max() < 1e-6
