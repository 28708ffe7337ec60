"""Gradients in the points: of kernels and of models."""

import math
from functools import partial

import mpmath
import numpy as np
import pytest
from scipy.linalg import expm
from sklearn.exceptions import NotFittedError

import exact_reference
import heatgp as hg
from catalog import CATALOG, QUOTIENTS, is_supported
from heatgp import (
    SPD,
    ComplexProjective,
    Euclidean,
    Grassmann,
    HermitianPD,
    Hyperbolic,
    Product,
    RealProjective,
    Scaled,
    SpecialOrthogonal,
    Sphere,
    Stiefel,
    Torus,
    Unitary,
)
from heatgp.array import hermitian, white_noise
from heatgp.covariance import Normalized
from heatgp.errors import InvalidInput, NotConverged, Unsupported
from heatgp.gp.sparse.regression import SparseData
from heatgp.heat.exact.fibre import finite_group, lift
from heatgp.heat.kernel import HeatKernel
from heatgp.manifolds.gradients import (
    WEIGHTS,
    partial_derivatives,
    through_projection,
    to_tangent_space,
)
from own_manifolds import OWN, TORUS, TORUS_CHART


def slope(function, step):
    """The derivative at 0 by central differences of sixth order."""
    return sum(w * (function(k * step) - function(-k * step)) for k, w in ((1, 0.75), (2, -0.15), (3, 1 / 60))) / step


def curve(M, x, rng):
    """Points on smooth curves through x: the nearest ones to straight lines of the arrays."""
    u = white_noise(rng, x.shape, M.is_complex)
    u = 0.1 * hermitian(u) if "PD" in repr(M) else u
    return lambda s: M.project(x + s * u)


def check(function, found, M, x, rng, limit, step=2e-3):
    """Gradients (n, ..., *shape) at x against derivatives of a function (n, ...) along curves."""
    c = curve(M, x, rng)
    velocity = slope(lambda s: M.difference(x, c(s)), step)
    expected = slope(lambda s: function(c(s)), step)
    middle = (slice(None), *(None,) * (expected.ndim - 1))
    np.testing.assert_allclose(M.metric(x[middle], found, velocity[middle]), expected, atol=limit)


SLOW = {"Stiefel(5, 2)", "Stiefel(3, 1, 'complex')", "SPD(4)", "Grassmann(6, 3)"}
EXACT = [M for M in CATALOG if is_supported(M, "exact")]


def partners(M, x, length, rng):
    """Points at about this distance from each x, very close to it and far from it; and the first x."""
    way = M.noise(x, white_noise(rng, x.shape, M.is_complex)) / math.sqrt(M.dim)
    far = M.exp(x, (math.pi - 1e-6) * M.tangent_basis(x)[:, 0])  # of many compact spaces the cut locus
    return np.concatenate((M.exp(x, length * way), M.exp(x, 1e-6 * length * way), far, x[:1]))


@pytest.mark.parametrize(
    "M", [pytest.param(M, marks=[pytest.mark.slow] if repr(M) in SLOW else []) for M in EXACT], ids=repr
)
def test_gradients_are_derivatives_along_curves(M, rng):
    """Along curves that no exponential map, basis or metric was used for."""
    kernel = hg.heat_kernel(M, "exact")
    for time in (max(0.02, kernel.times[0]), min(0.7, kernel.times[1])):
        x, length = M.random(rng, 2), math.sqrt(time)
        y = partners(M, x, length, rng)
        found = kernel.gradient(x, y, time=time)
        largest = np.sqrt(M.metric(x[:, None], found, found).max())
        check(lambda z, y=y, time=time: kernel(z, y, time=time), found, M, x, rng, 1e-7 * largest, 3e-3 * length)
        same = found[0, -1]
        assert np.sqrt(M.metric(x[0], same, same)) < 1e-9 * largest or not kernel.has_constant_variance


DIFFERENCES = {
    "Stiefel(4, 2)",
    "Stiefel(5, 2)",
    "Stiefel(2, 1, 'complex')",
    "Stiefel(3, 2, 'complex')",
    "Stiefel(3, 1, 'complex')",
    "Stiefel(7, 3)",
}
"""Kernels that are no functions of the coordinates of a symmetric space."""


def test_symmetric_spaces_and_what_is_made_of_them_need_no_differences_along_geodesics(monkeypatch, rng):
    def refuse(kernel, *arguments):
        raise AssertionError(f"{kernel!r} is differentiated along geodesics")

    monkeypatch.setattr(HeatKernel, "with_gradients", refuse)
    for M in EXACT:
        if not any(name in repr(M) for name in DIFFERENCES):
            hg.heat_kernel(M, "exact").gradient(M.random(rng, 1), M.random(rng, 1), time=0.5)


def rank_one(alpha, beta, speed, time, theta):
    log, (ratio,) = exact_reference.rank_one(alpha, beta, speed, time, theta)
    return mpmath.exp(log) * ratio


def torus(time, theta):
    def circle(a):
        turns = [mpmath.mpf(float(a)) + 2 * mpmath.pi * k for k in range(-12, 13)]
        return sum(mpmath.exp(-(b**2) / (2 * mpmath.mpf(time))) for b in turns) / mpmath.sqrt(2 * mpmath.pi * time)

    return mpmath.fprod(map(circle, theta))


def gaussian(n, time, theta):
    return mpmath.exp(-(mpmath.mpf(float(theta[0])) ** 2) / (2 * time)) / (2 * mpmath.pi * time) ** (mpmath.mpf(n) / 2)


HIGH_PRECISION = {
    Euclidean(3): partial(gaussian, 3),
    Torus(2): torus,
    Sphere(2): partial(rank_one, 0, 0, 1),
    Sphere(5): partial(rank_one, 1.5, 1.5, 1),
    RealProjective(3): partial(rank_one, 0.5, -0.5, 2),
    ComplexProjective(2): partial(rank_one, 1, 0, 2),
    SpecialOrthogonal(3): partial(exact_reference.orthogonal, 3),
    SpecialOrthogonal(4): partial(exact_reference.orthogonal, 4),
    SpecialOrthogonal(5): partial(exact_reference.orthogonal, 5),
    Unitary(2): partial(exact_reference.unitary, 2),
    Unitary(3): partial(exact_reference.unitary, 3),
    Grassmann(4, 2, "complex"): partial(exact_reference.grassmannian, 4, 2),
    Hyperbolic(2): lambda time, theta: exact_reference.hyperbolic(2, time, theta[0]),
    Hyperbolic(3): lambda time, theta: exact_reference.hyperbolic(3, time, theta[0]),
    SPD(2): lambda time, theta: exact_reference.symmetric_two(theta, time),
    HermitianPD(2): lambda time, theta: exact_reference.hermitian(theta, time),
    HermitianPD(3): lambda time, theta: exact_reference.hermitian(theta, time),
}
"""Heat kernels as functions of a time and of orbit coordinates, with 30 digits and more."""


@pytest.mark.parametrize("time", [0.01, 0.4, pytest.param(2.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "M",
    [pytest.param(M, marks=[pytest.mark.slow] if M in (Hyperbolic(2), SPD(2)) else []) for M in HIGH_PRECISION],
    ids=repr,
)
def test_gradients_in_high_precision(M, time, rng):
    """Differences of values with 30 digits, along curves; also close to the diagonal."""
    reference, length = HIGH_PRECISION[M], math.sqrt(time)
    x = np.repeat(M.random(rng, 1), 2, axis=0)
    way = M.noise(x, white_noise(rng, x.shape, M.is_complex)) / math.sqrt(M.dim)
    y = M.exp(x, np.reshape([1.3 * length, 0.02 * length], (2, *(1,) * len(M.shape))) * way)
    found = np.stack([hg.heat_kernel(M).gradient(a, b, time=time) for a, b in zip(x, y)])

    def values(z):
        return np.array([float(reference(time, theta)) for theta in M.orbit(z, y)])

    check(values, found, M, x, rng, 1e-8 * np.sqrt(M.metric(x, found, found).max()), 3e-3 * length)


@pytest.mark.parametrize(
    "M, number",
    [
        (Stiefel(5, 2), 2),
        (Stiefel(4, 1, "complex"), 1),
        pytest.param(Stiefel(7, 3), None, marks=pytest.mark.slow),
        pytest.param(Stiefel(5, 2, "complex"), None, marks=pytest.mark.slow),
    ],
    ids=repr,
)
def test_averages_over_cosets_are_differentiated_along_horizontal_lifts(M, number, rng):
    """Against the double average itself, at exp(sW) g_x, where W has no part in the fibre."""
    kernel, time = hg.heat_kernel(M, "fibre-average", fibre=number), 0.5
    x = M.random(rng, 2)
    y = M.exp(x, 0.5 * M.noise(x, white_noise(rng, x.shape, M.is_complex)))
    found = kernel.gradient(x, y, time=time)
    largest = np.sqrt(M.metric(x[:, None], found, found).max())
    size = M.n - M.k
    sides = kernel.fibre.representatives(M)
    elements = np.einsum("aij,bjk->abik", sides, finite_group(size, M.is_complex)).reshape(-1, size, size)

    def inside(h):
        out = np.tile(np.eye(M.n, dtype=h.dtype), (len(h), 1, 1))
        out[:, M.k :, M.k :] = h
        return out

    gx, gy = lift(M, x), (lift(M, y)[:, None] @ inside(elements)).reshape(-1, M.n, M.n)
    volume = math.exp(kernel.log_fibre_volume)

    def average(g):
        left = (g[:, None] @ inside(sides)).reshape(-1, M.n, M.n)
        values = kernel.group(left, gy, time=time).reshape(len(g), len(sides), len(y), -1)
        return volume * values.mean(axis=(1, 3))

    np.testing.assert_allclose(average(gx), kernel(x, y, time=time), rtol=1e-10)
    for v in np.moveaxis(M.tangent_basis(x), 1, 0)[:3]:
        vx = v @ np.conj(np.swapaxes(x, 1, 2))
        W = vx - np.conj(np.swapaxes(vx, 1, 2)) - x @ (np.conj(np.swapaxes(x, 1, 2)) @ vx)
        expected = slope(lambda s, W=W: average(expm(s * W) @ gx), 2e-2)
        np.testing.assert_allclose(M.metric(x[:, None], found, v[:, None]), expected, atol=1e-8 * largest)


@pytest.mark.parametrize("M", [*CATALOG, *OWN], ids=repr)
def test_inner_products_of_gradients_are_derivatives(M, rng):
    """Of f(x) = Re <A, x>, against differences along geodesics."""
    x = M.random(rng, 4)
    A = white_noise(rng, x.shape, M.is_complex)
    v = M.noise(x, white_noise(rng, x.shape, M.is_complex))

    def change(s):
        """f(exp(x, s v)) - f(x); angles have a seam."""
        return (A.conj() * M.difference(x, M.exp(x, s * v))).real.reshape(4, -1).sum(axis=1)

    gradient = M.gradient(x, A)
    limit = 1e-8 * max(1.0, np.abs(x).max()) * np.abs(A).max() * max(1.0, np.abs(v).max())
    np.testing.assert_allclose(M.metric(x, gradient, v), slope(change, 2e-3), atol=limit)
    tangent = to_tangent_space(M, x, gradient)
    np.testing.assert_allclose(tangent, gradient, atol=1e-9 * np.abs(gradient).max())


@pytest.mark.parametrize("M", CATALOG, ids=repr)
def test_partial_derivatives_and_gradients(M, rng):
    """Of a linear function of the entries, along curves that no exponential map, basis or metric was used for."""
    x = M.random(rng, 3)
    slope_of_entries = white_noise(rng, x.shape, M.is_complex)
    c = curve(M, x, rng)
    velocity = slope(lambda s: M.difference(x, c(s)), 2e-3)

    def derivative(s, v):
        return (s * v.conj()).real.reshape(3, -1).sum(axis=1)

    gradient = M.gradient(x, slope_of_entries)
    tangent = to_tangent_space(M, x, velocity)
    expected = derivative(slope_of_entries, tangent)
    limit = 1e-8 * np.abs(x).max() * np.abs(slope_of_entries).max()
    np.testing.assert_allclose(M.metric(x, gradient, velocity), expected, atol=limit)
    np.testing.assert_allclose(to_tangent_space(M, x, gradient), gradient, atol=1e-9 * np.abs(gradient).max())
    partial = partial_derivatives(M, x, gradient)
    np.testing.assert_allclose(derivative(partial, velocity), expected, atol=limit)
    np.testing.assert_allclose(M.gradient(x, partial), gradient, atol=1e-9 * np.abs(gradient).max())


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


@pytest.mark.slow
@pytest.mark.parametrize("M", [Stiefel(7, 3), Stiefel(5, 2, "complex")], ids=repr)
def test_gradients_of_averages_are_right_to_their_error(M, rng):
    """The heat kernel is invariant under isometries: a common turn of both points only moves their completions."""
    kernel, time = hg.heat_kernel(M, "fibre-average"), 0.5
    x = M.random(rng, 1)
    y = M.exp(x, 0.5 * M.noise(x, white_noise(rng, x.shape, M.is_complex)) / math.sqrt(M.dim))
    turn = np.linalg.qr(white_noise(rng, (M.n, M.n), M.is_complex))[0]
    found = kernel.gradient(x, y, time=time)
    other = np.conj(turn.T) @ kernel.gradient(turn @ x, turn @ y, time=time)
    error = float(kernel.standard_error(x, y, time=time).max()) / math.sqrt(time)
    assert 1e-6 * np.abs(found).max() < np.abs(found - other).max() < 10 * error


def test_gradients_of_a_distance_agree_with_differences(rng):
    """The formula for kernels of one distance, and the general one: also at the same point and at the antipode."""
    M = Sphere(4)
    x = M.random(rng, 3)
    y = np.concatenate((x, -x, M.random(rng, 5)))
    kernel = hg.heat_kernel(M)
    found = kernel.with_gradients(x, y, 0.3).gradient
    along = HeatKernel.with_gradients(kernel, x, y, 0.3).gradient
    np.testing.assert_allclose(found, along, atol=1e-9 * np.abs(found).max())
    assert np.abs(found[np.arange(3), np.arange(3)]).max() < 1e-12
    np.testing.assert_allclose((found * x[:, None]).sum(-1), 0, atol=1e-12)


@pytest.mark.parametrize("M", [Sphere(2), Sphere(9), Hyperbolic(3), Euclidean(4), SpecialOrthogonal(3)], ids=repr)
@pytest.mark.parametrize("time", [1e-12, 1e-6])
def test_tiny_times_are_gaussian(M, time, rng):
    """p_t (y - x) / t, up to the curvature."""
    x, kernel = M.random(rng, 1)[0], hg.heat_kernel(M)
    v = math.sqrt(time) * M.tangent_basis(x)[0]
    found = kernel.gradient(x, M.exp(x, v), time=time)
    expected = math.exp(-0.5) * kernel.diag(x, time) * v / time
    np.testing.assert_allclose(found, expected, atol=2e-4 * np.abs(expected).max())


@pytest.mark.parametrize("M", [Sphere(2), SpecialOrthogonal(4), Grassmann(5, 2), ComplexProjective(2)], ids=repr)
def test_long_times_have_no_gradient(M, rng):
    kernel = hg.heat_kernel(M)
    assert np.abs(kernel.gradient(M.random(rng, 4), time=60.0)).max() < 1e-10 * kernel.diag(M.origin, 60.0)


@pytest.mark.parametrize("smoothness", [0.5, 0.7, 1.5, 2.5])
@pytest.mark.parametrize("M", [Euclidean(2), Sphere(2), Hyperbolic(2), SpecialOrthogonal(3), Torus(1)], ids=repr)
def test_matern_kernels(M, smoothness, rng):
    """Against differences; and close to x = y, where 1/2 has a cusp: the gradient is zero there, not beside it."""
    kernel, time = hg.matern_kernel(M, smoothness), 0.4
    x = M.random(rng, 2)
    basis = M.tangent_basis(x)[:, 0]
    y = np.concatenate((M.exp(x, 0.5 * basis), M.exp(x, 0.1 * basis)))
    found = kernel.gradient(x, y, time=time)
    check(lambda z: kernel(z, y, time=time), found, M, x, rng, 1e-7 * np.abs(found).max(), 1e-3)
    assert not kernel.gradient(x[0], x[0], time=time).any()
    beside = kernel.gradient(x[0], M.exp(x[0], 1e-7 * basis[0]), time=time)
    size = float(np.sqrt(M.metric(x[0], beside, beside)) / kernel.diag(x[0], time))
    if smoothness == 0.5 and isinstance(M, Euclidean):
        assert abs(size * math.sqrt(time) - 1) < 1e-6  # exp(-r / √t)
    elif smoothness > 1:
        assert size < 1e-5


@pytest.mark.parametrize("M", [Grassmann(5, 2), SPD(2), SpecialOrthogonal(4), HermitianPD(2)], ids=repr)
def test_matern_kernels_of_several_coordinates(M, rng):
    kernel, x = hg.matern_kernel(M, 2.5), M.random(rng, 2)
    y = partners(M, x, 0.5, rng)
    found = kernel.gradient(x, y, time=0.4)
    check(lambda z: kernel(z, y, time=0.4), found, M, x, rng, 1e-7 * np.abs(found).max(), 1e-3)


KLEIN = QUOTIENTS[2]
FACTORS = Product(Sphere(2), Euclidean(2))
SPHERE, PLANE = hg.heat_kernel(Sphere(2)), hg.heat_kernel(Euclidean(2))
COMPOSED = {
    "own times": (hg.heat_kernel(FACTORS).with_times("each"), (0.2, 3.0)),
    "a time for each coordinate": (PLANE.with_times("coordinates"), (0.3, 2.0)),
    "matern of coordinates": (hg.matern_kernel(Euclidean(2), 1.5).with_times("coordinates"), (0.3, 2.0)),
    "matern of a product": (hg.matern_kernel(FACTORS, 2.5), 0.5),
    "a sum of factors": (SPHERE.on(FACTORS, 0) + PLANE.on(FACTORS, 1), (0.3, 2.0, 0.5)),
    "a sum of averages": (
        hg.heat_kernel(Stiefel(5, 2), "fibre-average", fibre=1) + hg.heat_kernel(Stiefel(5, 2)),
        (1, 1, 1),
    ),
    "a sum of three": (SPHERE + SPHERE + hg.matern_kernel(Sphere(2), 1.5), (0.1, 0.5, 1.0, 0.4, 2.0)),
    "both factors": (
        hg.heat_kernel(Product(Sphere(2), Torus(1))).on(Product(Sphere(2), Torus(1), Euclidean(1)), 0, 1),
        1,
    ),
    "a quotient": (hg.heat_kernel(KLEIN), 0.5),
    "normalised on a bottle": (Normalized(hg.heat_kernel(KLEIN)), 0.5),
    "scaled": (hg.heat_kernel(Scaled(SpecialOrthogonal(3), 3.0)), 2.0),
    "matern of a scaled quotient": (hg.matern_kernel(Scaled(KLEIN, 2.0), 2.5), 2.0),
    "shapes": (hg.shape_kernel(5), 0.1),
    "normalised shapes": (Normalized(hg.shape_kernel(5)), 0.1),
    "beyond floating point": (Normalized(hg.heat_kernel(Euclidean(3000))), 1e-3),
}


@pytest.mark.parametrize("kernel, time", COMPOSED.values(), ids=COMPOSED)
def test_kernels_made_of_others(kernel, time, rng):
    M = kernel.kernel.manifold if isinstance(kernel, Normalized) else kernel.manifold
    x = M.random(rng, 3)
    y = np.concatenate((M.exp(x, 0.3 * M.noise(x, rng.standard_normal(x.shape)) / math.sqrt(M.dim)), x[:1]))
    if M.dim == 3000:
        y = x + 1e-3 * rng.standard_normal(x.shape)
    found = kernel.with_gradients(x, y, time)
    factor = math.exp(found.log_scale)
    np.testing.assert_allclose(factor * found.value, kernel.pairs(x, y).at(time).value, rtol=1e-9)
    step = 1e-5 if M.dim == 3000 else 2e-3
    limit = 1e-7 * factor * np.abs(found.gradient).max()
    check(lambda z: kernel.pairs(z, y).at(time).value, factor * found.gradient, M, x, rng, limit, step)


@pytest.mark.parametrize(
    "kernel, time",
    [(hg.heat_kernel(KLEIN), 1.5), (hg.shape_kernel(5), 0.1)],
    ids=["bottle", "shapes"],
)
def test_gradients_of_variances(kernel, time, rng):
    M = kernel.manifold
    x = M.random(rng, 4)
    found = kernel.log_variance_gradient(x, time)
    assert np.abs(found).max() > 1e-3
    check(lambda z: np.log(kernel.diag(z, time)), found, M, x, rng, 1e-7 * np.abs(found).max())


def test_shapes(rng):
    M = SpecialOrthogonal(3)
    x, y, kernel = M.random(rng, 4), M.random(rng, 5), hg.heat_kernel(M)
    whole = kernel.gradient(x, y, time=[0.2, 0.4])
    assert whole.shape == (2, 4, 5, 3, 3)
    np.testing.assert_array_equal(kernel.gradient(x[1], y[2], time=0.4), whole[1, 1, 2])
    np.testing.assert_array_equal(kernel.gradient(x.reshape(2, 2, 3, 3), y, time=0.2), whole[0].reshape(2, 2, 5, 3, 3))
    assert kernel.gradient(x, time=0.2).shape == (4, 4, 3, 3)
    for k, t in ((kernel, 0.2), (kernel + kernel, (0.2, 0.4, 1.0)), (hg.matern_kernel(M, 1.5), 0.2)):
        assert k.gradient(x[:0], y, time=t).shape == (0, 5, 3, 3)
        assert k.gradient(x, y[:0], time=t).shape == (4, 0, 3, 3)
    with pytest.raises(InvalidInput, match="positive"):
        kernel.gradient(x, y, time=-1.0)


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


KNOWN = {"time": 0.3, "amplitude": 1.0, "noise": 0.01}
MODELS = {
    "learned": {},
    "linear mean": {"mean": "linear"},
    "a function as mean": {**KNOWN, "mean": lambda x: np.sin(2 * x[..., :2]), "priors": hg.Priors(coefficients=2.0)},
    "integrated": {"integrate": "grid"},
    "matern": {"smoothness": 2.5},
    "densities": {**KNOWN, "normalize": False},
    "no mean, hardly any noise": {**KNOWN, "noise": 1e-8, "mean": "zero"},
    "known noise": {**KNOWN, "noise": np.linspace(0.01, 0.1, 80)},
    "student-t": {"time": 0.3, "amplitude": 1.0, "likelihood": "student-t"},
}


def check_model(gp, M, x, rng, limit=1e-6, step=2e-3):
    found = gp.gradient(x)
    for number, each in enumerate(found):
        assert each.shape == x.shape
        check(lambda z, k=number: gp.predict(z, return_std=True)[k], each, M, x, rng, limit * np.abs(each).max(), step)


def data(M, number, rng):
    X = M.random(rng, number)
    return X, np.sin(3 * M.embed(X)[:, 0]) + 0.1 * rng.standard_normal(number)


@pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize(
    "M", [Sphere(2), pytest.param(Product(SpecialOrthogonal(3), Euclidean(1)), marks=pytest.mark.slow)], ids=repr
)
def test_gradients_of_models(M, options, rng):
    if M.dim > 2 and options.get("time"):
        options = {**options, "time": (0.3, 2.0)}
    check_model(hg.GPRegressor(M, **options).fit(*data(M, 80, rng)), M, M.random(rng, 6), rng)


@pytest.mark.parametrize("M, time, mean", [(Sphere(2), 0.3, "linear"), (ComplexProjective(2), 0.6, "constant")])
def test_gradients_of_sparse_models(M, time, mean, rng):
    options = KNOWN | {"time": time, "mean": mean, "inference": "sparse"}
    gp = hg.GPRegressor(M, **options).fit(*data(M, 800, rng))
    assert isinstance(gp.posterior_.structure, SparseData)  # of fewer data it is dense
    check_model(gp, M, M.random(rng, 4), rng)


@pytest.mark.parametrize(
    "M", [Hyperbolic(3), SPD(2), Grassmann(5, 2), SpecialOrthogonal(3), KLEIN, ComplexProjective(2)], ids=repr
)
@pytest.mark.parametrize("normalize", [True, False])
def test_gradients_of_models_on_other_manifolds(M, normalize, rng):
    """Of the Klein bottle the prior variance differs from point to point."""
    gp = hg.GPRegressor(M, **(KNOWN | {"time": 1.5}), normalize=normalize).fit(*data(M, 40, rng))
    x = M.random(rng, 4)
    check_model(gp, M, np.concatenate((x, gp.posterior_.X[:1])), rng, step=1e-3)


def test_gradients_of_models_of_neighbors(rng):
    """Nearly those of the dense model; and differences of predictions where all data are near."""
    M = Sphere(2)
    X, y = data(M, 600, rng)
    options = {"time": 0.003, "amplitude": 1.0, "noise": 0.01, "mean": "linear"}
    near, dense = (hg.GPRegressor(M, inference=kind, **options).fit(X, y) for kind in ("neighbors", "dense"))
    x = X[:40:8]
    for found, expected in zip(near.gradient(x), dense.gradient(x)):
        np.testing.assert_allclose(found, expected, atol=0.1 / math.sqrt(0.003))  # the tolerance over a length
    few = hg.GPRegressor(M, inference=hg.Neighbors(tolerance=1e-9), **options).fit(X[:60], y[:60])
    check_model(few, M, x[:1], rng, limit=1e-5, step=2e-4)


def test_gradients_of_counts_and_of_reference_points(rng):
    M = Sphere(2)
    X = M.random(rng, 60)
    x = M.random(rng, 4)
    counts = rng.poisson(np.exp(1 + X[:, 0]))
    check_model(hg.GPRegressor(M, time=0.5, amplitude=1.0, likelihood="poisson").fit(X, counts), M, x, rng)
    method = hg.Reference(references=40, paths=1000, times=(1.0, 2.0), rng=0)
    gp = hg.GPRegressor(M, kernel=method, time=1.2, amplitude=1.0, noise=0.01).fit(X, X[:, 0])
    assert gp.posterior_.factor.values.shape[1] < len(X)  # of low rank
    check_model(gp, M, x, rng, limit=1e-4, step=1e-3)


def test_no_point_and_many(rng, monkeypatch):
    M = Sphere(2)
    gp = hg.GPRegressor(M, **KNOWN).fit(*data(M, 30, rng))
    for found in gp.gradient(np.empty((0, 3))):
        assert found.shape == (0, 3)
    x = M.random(rng, 50)
    whole = gp.gradient(x)
    monkeypatch.setattr("heatgp.gp.posterior.PAIRS", 100)
    for one, other in zip(whole, gp.gradient(x)):
        np.testing.assert_allclose(one, other, atol=1e-13)


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
    np.testing.assert_allclose(both[0][:, 1], 2 * both[0][:, 0], atol=1e-6 * np.abs(both[0]).max())


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


@pytest.mark.parametrize("likelihood", ["normal", "student-t"])
def test_gradients_come_with_predictions(likelihood, rng):
    X = Sphere(2).random(rng, 30)
    gp = hg.GPRegressor(Sphere(2), time=0.5, amplitude=1.0, noise=0.1, likelihood=likelihood).fit(X, X[:, 0])
    mean, std, *gradients = gp.gradient(X[:4], return_prediction=True)
    np.testing.assert_allclose((mean, std), gp.predict(X[:4], return_std=True), rtol=1e-12)
    np.testing.assert_array_equal(gradients, gp.gradient(X[:4]))
