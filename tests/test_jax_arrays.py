"""Kernels of JAX arrays against those of NumPy arrays, and the statistics of many data."""

import jax
import numpy as np
import pytest
from jax import numpy as jnp

import heatgp as hg
from heatgp.adapters.jax import SMALLEST, jax_statistics
from heatgp.errors import InvalidInput, OffManifold, Unsupported

S2 = hg.heat_kernel(hg.Sphere(2))
FAST = [
    hg.Euclidean(3),
    hg.Hyperbolic(2),
    hg.Quotient(hg.Product(hg.Scaled(hg.Sphere(2), 2.0), hg.Torus(2)), (lambda x: x, lambda x: -x)),
]
SLOW = [
    *(hg.Sphere(1), hg.Sphere(2), hg.Sphere(7), hg.RealProjective(2), hg.ComplexProjective(2), hg.SpecialOrthogonal(2)),
    *(hg.SpecialOrthogonal(3), hg.Torus(2), hg.TorusKnot(2, 3), hg.Unitary(1), hg.SpecialUnitary(2)),
    *(hg.Grassmann(4, 1), hg.Grassmann(3, 1, "complex")),
]


@pytest.mark.parametrize("M", [*FAST, *(pytest.param(M, marks=pytest.mark.slow) for M in SLOW)], ids=repr)
def test_kernels_of_jax_arrays_are_those_of_numpy_arrays(M, rng):
    """In double precision to 1e-13 of the diagonal; in single to 1e-6, and 1e-7 / √time for rounded points."""
    kernel = hg.heat_kernel(M)
    X, Y = M.random(rng, 30), M.random(rng, 20)
    X[:5] = Y[:5]
    X[5:9] = M.exp(Y[5:9], M.noise(Y[5:9], 0.05 * np.ones(Y[5:9].shape)))
    times = np.array([0.003, 0.1, 2.0])
    expected = kernel(X, Y, time=times)
    scale = kernel(X[:1], time=times)
    with jax.enable_x64(True):
        double = kernel(jnp.asarray(X), jnp.asarray(Y), time=times)
    assert isinstance(double, jax.Array)
    assert double.dtype == np.float64
    assert np.max(np.abs(np.asarray(double) - expected) / scale) < 1e-13
    kind = np.complex64 if M.is_complex else np.float32
    single = kernel(jnp.asarray(X.astype(kind)), Y, time=times)  # the JAX array decides about the precision
    assert single.dtype == np.float32
    assert np.max(np.abs(np.asarray(single) - expected) / scale / (1e-6 + 1e-7 / np.sqrt(times)[:, None, None])) < 1


@pytest.mark.parametrize("smoothness", [np.inf, 0.5, 1.5, pytest.param(0.8, marks=pytest.mark.slow)])
@pytest.mark.parametrize("M", [*FAST, *(pytest.param(M, marks=pytest.mark.slow) for M in SLOW)], ids=repr)
def test_tables_have_derivatives_in_log_times(M, smoothness, rng):
    """To 1e-12 of the diagonal; and Matern kernels are functions of tables too, where they are of one coordinate."""
    kernel = hg.heat_kernel(M).with_times("each") if smoothness == np.inf else hg.matern_kernel(M, smoothness)
    X = M.random(rng, 20)
    time = tuple(np.geomspace(0.1, 0.5, kernel.parameters)) if kernel.parameters > 1 else 0.1
    expected = kernel.pairs(X).at(time)
    try:
        numbers, slopes = kernel.tabulated(time)
    except Unsupported:
        assert smoothness < np.inf
        return
    with jax.enable_x64(True):
        numbers, slopes, X = jax.tree.map(jnp.asarray, (numbers, slopes, X))
        for slope, change in zip(slopes, expected.slopes, strict=True):
            values, found = jax.jvp(lambda n: kernel.read_table(n, X, X), (numbers,), (slope,))
            for one, other in ((values, expected.value), (found, change)):
                np.testing.assert_allclose(one, other, atol=1e-12 * expected.value.max(), rtol=0)


def test_shapes_are_those_of_a_call_with_numpy_arrays(rng):
    X = hg.Sphere(2).random(rng, 6)
    grid = jnp.asarray(X.reshape(2, 3, 3), dtype=np.float32)
    found = S2(grid, time=[0.1, 0.2])
    assert found.shape == S2(X.reshape(2, 3, 3), time=[0.1, 0.2]).shape == (2, 2, 3, 2, 3)
    np.testing.assert_allclose(np.diagonal(found[0].reshape(6, 6)), S2.diag(X[0], 0.1), rtol=1e-6)


def test_calls_can_be_compiled_and_differentiated(rng):
    """Against a difference quotient along a geodesic, in NumPy."""
    M = hg.Sphere(2)
    x, y = M.random(rng, 2)[:, None]
    v = M.noise(x, rng.standard_normal((1, 3)))
    other = jnp.asarray(y, dtype=np.float32)
    slope = jax.jit(jax.grad(lambda a: S2(a, other, time=0.5)[0, 0]))(jnp.asarray(x, dtype=np.float32))
    ahead, behind = (float(S2(M.exp(x, h * v), y, time=0.5)[0, 0]) for h in (1e-4, -1e-4))
    assert float(np.sum(np.asarray(slope) * v)) == pytest.approx((ahead - behind) / 2e-4, rel=1e-4)


@pytest.mark.parametrize(
    "kernel",
    [hg.heat_kernel(hg.SpecialOrthogonal(4)), hg.heat_kernel(hg.Unitary(2)), S2 + S2],
    ids=["SO(4)", "U(2)", "sum"],
)
def test_kernels_without_a_form_for_jax_name_the_remedy(kernel):
    X = jnp.asarray(
        kernel.manifold.random(np.random.default_rng(0), 2), dtype="c8" if kernel.manifold.is_complex else "f4"
    )
    with pytest.raises(Unsupported, match=r"has no form for JAX arrays.*Pass numpy\.asarray\(X\)"):
        kernel(X, time=0.1 if kernel.parameters == 1 else (0.1, 0.1, 1.0))


def test_bad_input_is_named():
    x = jnp.asarray([[1.0, 0, 0]])
    with pytest.raises(OffManifold, match=r"X\[0\] is not on Sphere\(2\)"):
        S2(2 * x, time=0.1)
    with pytest.raises(InvalidInput, match="time must be positive"):
        S2(x, time=-1.0)
    with pytest.raises(Unsupported, match="log=True is not for JAX arrays"):
        S2(x, time=0.1, log=True)
    with pytest.raises(InvalidInput, match="beyond single precision"):
        hg.heat_kernel(hg.Euclidean(30))(jnp.zeros((1, 30)), time=1e-4)
    with pytest.raises(InvalidInput, match=r"X has shape \(1, 4\)"):
        jax.jit(lambda a: S2(a, time=0.1))(jnp.zeros((1, 4)))


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = hg.Sphere(2).random(rng, 2 * SMALLEST + 300)
    return X, rng.standard_normal(len(X)), X[:40]


def test_statistics_are_the_inner_products_of_the_features(data):
    X, y, Z = data
    Phi = S2(X, Z, time=0.1)
    half = SMALLEST + 100
    chunks = [(X[:half], y[:half]), (X[half:], y[half:])]
    found = jax_statistics(S2, Z, 0.1, iter(chunks))
    assert found.count == len(X)
    assert found.gram.dtype == np.float64
    np.testing.assert_allclose(found.gram, Phi.T @ Phi, rtol=1e-12)
    np.testing.assert_allclose(found.moment, Phi.T @ y, atol=1e-11 * np.abs(Phi.T @ y).max())
    assert found.square == pytest.approx(y @ y, rel=1e-12)
    single = jax_statistics(S2, Z, 0.1, [(jnp.asarray(X, dtype=np.float32), y)])
    lengths = np.sqrt(np.diagonal(Phi.T @ Phi))
    assert np.max(np.abs(single.gram - Phi.T @ Phi) / np.outer(lengths, lengths)) < 1e-6


def test_statistics_with_factors_several_targets_and_a_triangle(data):
    X, y, Z = data
    rng = np.random.default_rng(1)
    targets, factors = np.column_stack((np.ones_like(y), y)), rng.uniform(0.5, 2, len(y))
    lower = np.linalg.cholesky(S2(Z, time=0.1) + 1e-6 * np.eye(len(Z)))
    features = np.linalg.solve(lower, S2(X, Z, time=0.1).T).T * factors[:, None]
    rows = targets * factors[:, None]
    found = jax_statistics(S2, Z, 0.1, [(X, targets, factors)], lower=lower)
    np.testing.assert_allclose(found.gram, features.T @ features, atol=1e-9 * np.abs(features.T @ features).max())
    np.testing.assert_allclose(found.moment, features.T @ rows, atol=1e-9 * np.abs(features.T @ rows).max())
    np.testing.assert_allclose(found.square, rows.T @ rows, rtol=1e-12)
    assert (found + found).count == 2 * len(X)


def test_statistics_of_bad_data_are_refused(data):
    X, y, Z = data
    with pytest.raises(OffManifold, match=r"a point of X is not on Sphere\(2\): \|\|x\| - 1\| = 1\.0e\+00"):
        jax_statistics(S2, Z, 0.1, [(2 * X, y)])
    with pytest.raises(OffManifold, match="a point of X is not finite"):
        jax_statistics(S2, Z, 0.1, [(np.where(np.arange(len(X))[:, None] == 7, np.nan, X), y)])
    with pytest.raises(InvalidInput, match="y has values that are missing or not finite"):
        jax_statistics(S2, Z, 0.1, [(X, np.where(y == y[3], np.inf, y))])
    with pytest.raises(InvalidInput, match=r"X has shape \(2348, 2\); points of Sphere\(2\)"):
        jax_statistics(S2, Z, 0.1, [(X[:, :2], y)])
    with pytest.raises(InvalidInput, match=r"one length; got 2 of lengths \[2348, 2347\]"):
        jax_statistics(S2, Z, 0.1, [(X, y[:-1])])
    with pytest.raises(InvalidInput, match="no chunks"):
        jax_statistics(S2, Z, 0.1, [])
