"""Small linear algebra against SciPy, mpmath and identities."""

import math

import mpmath
import numpy as np
import pytest
from scipy.linalg import expm

from heatgp import array


def matrices(rng, n, kind, number=4):
    z = rng.standard_normal((2, number, n, n))
    return z[0] + 1j * z[1] if kind == "complex" else z[0]


@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
def test_matmul_in_every_layout(n, kind, rng):
    a, b = matrices(rng, n, kind), matrices(rng, n, kind)
    expected = np.einsum("bij,bjk->bik", a, b)
    last = [np.moveaxis(np.ascontiguousarray(np.moveaxis(m, 0, -1)), -1, 0) for m in (a, b)]
    for left, right in ((a, b), last, (a, last[1]), (last[0], b)):
        np.testing.assert_allclose(array.matmul(left, right), expected, atol=1e-13)
        np.testing.assert_allclose(array.matmul(left[0], right), a[0] @ b, atol=1e-13)
    assert array.matmul(a[:0], b[:0]).shape == (0, n, n)


@pytest.mark.parametrize("kind", ["real", "complex"])
def test_adjoint_inner_norm(kind, rng):
    a = matrices(rng, 3, kind)
    np.testing.assert_array_equal(array.adjoint(a), a.conj().transpose(0, 2, 1))
    np.testing.assert_allclose(array.inner(a, a)[..., 0], array.norm(a) ** 2)
    np.testing.assert_allclose(array.norm(a, axes=2), np.linalg.norm(a, axis=(1, 2)))
    assert array.is_complex(a) == (kind == "complex")


def test_sinc_keeps_its_digits():
    r = np.array([0.0, 1e-300, 1e-9, 1e-3, 1.0, 3.0])
    with mpmath.workdps(30):
        expected = [float(mpmath.sin(x) / x) if x else 1.0 for x in map(mpmath.mpf, r)]
    np.testing.assert_allclose(array.sinc(r), expected, rtol=2e-16)


@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("size", [0.0, 1e-8, 0.3, 30.0])
def test_exponential_of_skew_matrices(n, size, kind, rng):
    x = size * array.skew(matrices(rng, n, kind))
    expected = np.stack([expm(each) for each in x])
    np.testing.assert_allclose(array.expm_skew(x), expected, atol=1e-12)
    if size < 1:
        radius = float(np.linalg.norm(x, 2, axis=(1, 2)).max())
        np.testing.assert_allclose(array.expm_series(x, radius), expected, atol=array.step_tolerance(x))


@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("size", [0.0, 1e-5, 0.4, 20.0])
def test_cosine_and_sinc_of_a_root(size, kind, rng):
    """Against the SVD: with v = u s w*, cos √(v*v) = w cos(s) w*."""
    v = size * matrices(rng, 4, kind)
    gram = array.adjoint(v) @ v
    _, s, wh = np.linalg.svd(v)
    expected = [(array.adjoint(wh) * f[:, None, :]) @ wh for f in (np.cos(s), np.sinc(s / np.pi))]
    for found, exact in zip(array.cos_sinc(gram), expected):
        np.testing.assert_allclose(found, exact, atol=1e-12)
    if size < 1:
        for found, exact in zip(array.cos_sinc_series(gram, float(s.max())), expected):
            np.testing.assert_allclose(found, exact, atol=array.step_tolerance(gram))


@pytest.mark.parametrize("radius", [1e-3, 0.1, 1.0, 5.0])
@pytest.mark.parametrize("tolerance", [1e-6, 1e-10, 1e-15])
def test_taylor_degree_is_enough_and_not_much_more(radius, tolerance):
    def remainder(degree):
        return mpmath.exp(radius) - mpmath.fsum(
            mpmath.mpf(radius) ** j / mpmath.factorial(j) for j in range(degree + 1)
        )

    with mpmath.workdps(40):
        degree = array.taylor_degree(radius, tolerance)
        assert remainder(degree) <= tolerance
        assert degree <= 5 or remainder(degree - 5) > tolerance


@pytest.mark.parametrize("degree", range(1, 14))
def test_polynomial_of_a_matrix(degree, rng):
    coefficients = rng.standard_normal(degree + 1).tolist()
    x = matrices(rng, 3, "real")
    expected = sum(c * np.linalg.matrix_power(x, j) for j, c in enumerate(coefficients))
    np.testing.assert_allclose(array.polynomial(x, coefficients), expected, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("kind", ["real", "complex"])
def test_newton_schulz_squares_the_error(kind, rng):
    q = np.linalg.qr(matrices(rng, 5, kind))[0][..., :3]
    rough = q + 1e-4 * matrices(rng, 5, kind)[..., :3]
    before, after = array.orthonormality_defect(rough), array.orthonormality_defect(array.newton_schulz(rough))
    assert (after < 20 * before**2).all()
    assert np.max(array.orthonormality_defect(q)) < 1e-14


@pytest.mark.parametrize("kind, dim", [("real", 6), ("complex", 16)])
def test_skew_noise_is_white(kind, dim, rng):
    """E|X|² = dim in <X, Y> = Re tr(X*Y)/2, entries above the diagonal N(0, 1)."""
    x = array.skew(matrices(rng, 4, kind, 20_000))
    squares = np.sum(np.abs(x) ** 2, axis=(1, 2)) / 2
    assert abs(squares.mean() - dim) < 5 * squares.std() / math.sqrt(len(x))
    assert abs(x[:, 0, 1].real.var() - 1) < 5 * math.sqrt(2 / len(x))
    assert np.abs(x + array.adjoint(x)).max() == 0


def test_pairs_of_reals_are_complex_numbers(rng):
    z = matrices(rng, 2, "complex")
    np.testing.assert_array_equal(array.to_complex(np.stack((z.real, z.imag), axis=-1)), z)


@pytest.mark.parametrize("radius", [1e-3, 0.3, 1.4, 3.0])
def test_cosine_and_sinc_of_numbers(radius):
    r = np.linspace(0, radius, 50)
    c, s = array.cos_sinc_numbers(r**2, radius)
    np.testing.assert_allclose(c, np.cos(r), atol=1e-10)
    np.testing.assert_allclose(s, np.sinc(r / np.pi), atol=1e-10)
