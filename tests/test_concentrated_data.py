"""Gaussian processes on clusters of every size agree with those of the tangent space, and their intervals cover.

The data are drawn from the model: 150 points in a ball, noise a thousandth of the signal. On small balls the process is
that of the tangent space.
"""

import math
import warnings
from functools import lru_cache

import numpy as np
import pytest

import heatgp as hg
from catalog import HOMOGENEOUS
from heatgp.array import white_noise
from heatgp.errors import BoundWarning
from heatgp.gp.scores import coverage
from heatgp.manifolds.spaces.positive_definite import PositiveDefinite

SPACES = [hg.Sphere(2), hg.SpecialOrthogonal(3), hg.ComplexProjective(2), hg.Grassmann(4, 2), hg.Unitary(2)]
SIZES = [1.0, 1e-2, 1e-4, 1e-6, 1e-8]
# Stiefel manifolds have a test of their own below: averages over fibres are slower.
SMALL = [M for M in HOMOGENEOUS if not isinstance(M, (hg.Euclidean, hg.Stiefel)) and M.dim <= 10]
TRAIN, TEST, NOISE = 150, 150, 1e-3


def ball(M, radius, number, rng):
    """Tangent vectors in normal coordinates, uniform in a ball, and the points where their geodesics end."""
    centre = M.random(rng, 1)
    one = M.noise(centre, white_noise(rng, (4 * M.dim, *M.shape), M.is_complex)).reshape(4 * M.dim, -1)
    basis = np.linalg.svd(np.concatenate((one.real, one.imag), axis=1))[2][: M.dim]
    basis = (basis[:, : one.shape[1]] + 1j * basis[:, one.shape[1] :]).reshape(-1, *M.shape)
    if isinstance(M, (hg.SpecialOrthogonal, hg.Orthogonal, hg.Unitary, hg.SpecialUnitary)):
        basis = math.sqrt(2) * basis  # the metric of groups is half that of matrices
    if isinstance(M, hg.Hyperbolic):  # the metric is not that of arrays
        basis = M.noise(centre, np.eye(M.n + 1)[1:])
    if isinstance(M, PositiveDefinite):
        basis = M.noise(centre, hermitian_basis(M))
    u = rng.standard_normal((number, M.dim))
    u *= radius * rng.random((number, 1)) ** (1 / M.dim) / np.linalg.norm(u, axis=1, keepdims=True)
    v = np.tensordot(u, basis, axes=1)
    return u, M.exp(centre, v if M.is_complex else v.real)


def hermitian_basis(M):
    """Orthonormal Hermitian matrices, in the norm of their entries."""
    one = np.eye(M.n**2).reshape(M.n, M.n, M.n, M.n)
    i, j = np.triu_indices(M.n, 1)
    above, below = one[i, j] / math.sqrt(2), one[j, i] / math.sqrt(2)
    parts = [one[range(M.n), range(M.n)], above + below, *([1j * (above - below)] if M.is_complex else [])]
    return np.concatenate(parts)


def targets(K, rng):
    """A function of the process with this Gram matrix, of variance one, and noise."""
    values, vectors = np.linalg.eigh(K / K[0, 0])
    f = vectors @ (np.sqrt(np.maximum(values, 0)) * rng.standard_normal(len(K)))
    return f + NOISE * rng.standard_normal(len(K))


def gaussian(u, length):
    squares = np.sum((u[:, None] - u) ** 2, axis=-1)
    return np.exp(-squares / (2 * length**2))


@lru_cache
def kernel_of(M):
    return hg.heat_kernel(M).as_positive_definite()


def predicted(M, X, y):
    """Mean and variance of new observations, everything learned."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BoundWarning)  # some draws do not determine everything: they count too
        gp = hg.GPRegressor(M, kernel=kernel_of(M)).fit(X[:TRAIN], y[:TRAIN])
    mean, std = gp.predict(X[TRAIN:], return_std=True)
    return mean, std**2 + gp.noise_


def shares(M, radius, replicates, seed=0):
    """The share of new observations in their 90 % interval; the largest difference to the tangent space's mean."""
    rng = np.random.default_rng(seed)
    covered, apart = [], []
    for _ in range(replicates):
        u, X = ball(M, radius, TRAIN + TEST, rng)
        y = targets(kernel_of(M)(X, time=(radius / 2) ** 2) if radius == 1 else gaussian(u, radius / 2), rng)
        mean, variance = predicted(M, X, y)
        covered.append(coverage(y[TRAIN:], mean, variance))
        if radius < 1:
            apart.append(np.abs(mean - predicted(hg.Euclidean(M.dim), u, y)[0]).max())
    return float(np.mean(covered)), max(apart, default=0.0)


def check(M, radius, replicates):
    covered, apart = shares(M, radius, replicates)
    assert covered >= 0.85
    assert apart < 10 * radius**2 + NOISE / 10  # curvature; and a tenth of the noise


@pytest.mark.slow
@pytest.mark.parametrize("radius", SIZES)
@pytest.mark.parametrize("M", SPACES, ids=repr)
def test_intervals_cover_at_every_size(M, radius):
    check(M, radius, replicates=10)


@pytest.mark.slow
@pytest.mark.parametrize("M", SMALL, ids=repr)
def test_every_manifold_is_flat_on_a_small_cluster(M):
    rng, radius = np.random.default_rng(0), 1e-7
    u, X = ball(M, radius, TRAIN + 50, rng)
    y = targets(gaussian(u, radius), rng)
    mean, flat = predicted(M, X, y)[0], predicted(hg.Euclidean(M.dim), u, y)[0]
    assert np.abs(mean - flat).max() < NOISE / 100


@pytest.mark.parametrize("M", [hg.Sphere(2), hg.Unitary(2)], ids=repr)
def test_intervals_cover_on_very_small_clusters(M):
    check(M, 1e-6, replicates=2)


def test_predictive_covariances_have_no_negative_eigenvalues():
    """A hundred metres on the earth."""
    M, rng = hg.Sphere(2), np.random.default_rng(1)
    u, X = ball(M, 1.6e-5, 120, rng)
    y = targets(gaussian(u, 0.8e-5), rng)
    covariance = hg.GPRegressor(M).fit(X[:80], y[:80]).predict(X[80:], return_cov=True)[1]
    assert np.linalg.eigvalsh(covariance)[0] > -1e-12 * np.trace(covariance)


@pytest.mark.parametrize("radius", [1e-2, 1e-4, 1e-6, 1e-8])
@pytest.mark.parametrize("M", [hg.Stiefel(4, 2), hg.Stiefel(5, 3), hg.Stiefel(3, 2, "complex")], ids=repr)
def test_averages_over_circles_are_gaussian_at_short_times(M, radius, rng):
    """p_t(x, y) / p_t(x, x) is exp(-d²/2t) up to the curvature, of the size of t; entries of x'y have 16 digits."""
    x = M.random(rng, 1)[0]
    v = M.noise(x, white_noise(rng, (6, *M.shape), M.is_complex))
    distance = radius * np.asarray(M.distance(x, M.exp(x, 1e-3 * v))) / 1e-3
    kernel, time = hg.heat_kernel(M), radius**2
    ratio = kernel(x[None], M.exp(x, radius * v), time=time)[0] / kernel(x[None], time=time)[0, 0]
    np.testing.assert_allclose(ratio, np.exp(-(distance**2) / (2 * time)), rtol=0, atol=time + 1e-15 / radius + 1e-7)
