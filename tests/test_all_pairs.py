"""Orbit coordinates of all pairs against those of each pair, as heat kernels see them."""

import numpy as np
import pytest

import heatgp as hg
from heatgp.heat.methods import Exact
from heatgp.manifolds.spaces.all_pairs import hermitian_eigenvalues, unit_quaternions

SPACES = [
    hg.Sphere(2),
    hg.RealProjective(3),
    hg.ComplexProjective(3),
    *(hg.SpecialOrthogonal(n) for n in range(2, 8)),
    hg.Orthogonal(3),
    hg.Orthogonal(4),
    hg.Unitary(1),
    hg.Unitary(2),
    hg.Unitary(3),
    hg.SpecialUnitary(2),
    hg.SpecialUnitary(3),
    hg.Grassmann(5, 1),
    hg.Grassmann(5, 2, "complex"),
    hg.Grassmann(5, 3, "complex"),
    hg.Grassmann(6, 3, "complex"),
]


def near(M, X, size, rng):
    """Points at about this distance from those of X."""
    z = rng.standard_normal(X.shape) + (1j * rng.standard_normal(X.shape) if M.is_complex else 0)
    return M.exp(X, size * M.noise(X, z))


@pytest.mark.parametrize("M", SPACES, ids=repr)
@pytest.mark.parametrize("time", [0.001, 0.1])
def test_heat_kernels_cannot_tell_them_from_orbit(M, time):
    rng = np.random.default_rng(1)
    X = M.random(rng, 12)
    Y = np.concatenate([M.random(rng, 8), *(near(M, X, size, rng) for size in (1e-9, 1e-4, 0.03)), X])
    at = Exact().kernel(M).profile.at(time)
    diagonal = at(M.orbit(M.origin, M.origin))
    assert np.abs(at(M.orbits(X, Y)) - at(M.orbit(X[:, None], Y))).max() < 3e-11 * diagonal


def test_real_grassmannian_against_orbit():
    M = hg.Grassmann(7, 3)
    rng = np.random.default_rng(2)
    X, Y = M.random(rng, 20), M.random(rng, 30)
    np.testing.assert_allclose(M.orbits(X, Y), M.orbit(X[:, None], Y), atol=1e-7)


def test_cubic_against_lapack():
    rng = np.random.default_rng(3)
    z = rng.standard_normal((2, 200, 3, 3))
    s = z[0] + 1j * z[1]
    s = (s + np.conj(s.swapaxes(-1, -2))) / 2
    s[0], s[1] = np.eye(3), 0  # a triple eigenvalue, and nothing at all
    np.testing.assert_allclose(hermitian_eigenvalues(s), np.linalg.eigvalsh(s), atol=1e-13)


def test_quaternions_multiply_as_the_rotation_does():
    X = hg.SpecialOrthogonal(4).random(np.random.default_rng(4), 10)
    p, q = unit_quaternions(X)

    def multiply(a, b):
        w, x = a[..., :1], a[..., 1:]
        v, y = b[..., :1], b[..., 1:]
        return np.concatenate((w * v - np.sum(x * y, -1, keepdims=True), w * y + v * x + np.cross(x, y)), axis=-1)

    v = np.random.default_rng(5).standard_normal((10, 4))
    np.testing.assert_allclose(multiply(multiply(p, v), q), np.einsum("nij,nj->ni", X, v), atol=1e-14)
