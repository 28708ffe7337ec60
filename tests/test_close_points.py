"""Orbit coordinates of clusters of every size against 60 digits, computed from the stored points.

The reference moves each stored point to the nearest point of the manifold first: rounding errors off the manifold have
no part in a distance.
"""

import math

import mpmath as mp
import numpy as np
import pytest

import heatgp as hg
from heatgp.array import white_noise
from heatgp.manifolds.spaces.positive_definite import LogEuclideanPD, PositiveDefinite

SIZES = [1.0, 1e-2, 1e-4, 1e-6, 1e-8]
SPACES = [
    hg.Sphere(1),
    hg.Sphere(2),
    hg.Sphere(9),
    hg.RealProjective(2),
    hg.RealProjective(9),
    hg.ComplexProjective(1),
    hg.ComplexProjective(2),
    *(hg.SpecialOrthogonal(n) for n in range(2, 7)),
    hg.Orthogonal(3),
    hg.Orthogonal(4),
    hg.Unitary(1),
    hg.Unitary(2),
    hg.Unitary(3),
    hg.SpecialUnitary(2),
    hg.SpecialUnitary(3),
    hg.SpecialUnitary(4),
    hg.Grassmann(5, 1),
    hg.Grassmann(4, 2),
    hg.Grassmann(5, 2, "complex"),
    hg.Grassmann(5, 3),
    hg.Grassmann(6, 3, "complex"),
    hg.Grassmann(10, 4),
    hg.Torus(2),
    hg.TorusKnot(2, 3),
    hg.Euclidean(3),
    hg.Hyperbolic(2),
    hg.Hyperbolic(5),
    hg.SPD(2),
    hg.SPD(3),
    hg.SPD(3, "log-euclidean"),
    hg.HermitianPD(2),
    hg.HermitianPD(4),
]


@pytest.fixture(autouse=True)
def sixty_digits():
    with mp.workdps(60):
        yield


def cluster(M, size, rng, number=5):
    """Points of M around one, at distances of about `size`; each subspace with a basis of its own."""
    centre = M.random(rng, 1)
    z = white_noise(rng, (number, *M.shape), M.is_complex)
    X = M.polish(M.exp(centre, size / math.sqrt(M.dim) * M.noise(centre, z)))
    if isinstance(M, hg.Grassmann):
        bases = white_noise(rng, (number, M.k, M.k), M.is_complex)
        return X @ np.linalg.qr(bases)[0]
    if isinstance(M, (hg.RealProjective, hg.ComplexProjective)):
        return X * (np.exp(6j * rng.random((number, 1))) if M.is_complex else rng.choice([-1, 1], (number, 1)))
    return X


def orthonormal(x):
    """The nearest matrix with orthonormal columns."""
    x = mp.matrix(x.tolist())
    for _ in range(3):  # an error e becomes 3e²/2
        x = 1.5 * x - 0.5 * x * (x.H * x)
    return x


def sine(square):
    return mp.asin(min(mp.sqrt(max(square, 0)), 1))


def reference(M, x, y):
    """Orbit coordinates, increasing, in high precision."""
    match M:
        case hg.Euclidean():
            return [mp.norm(mp.matrix(x.tolist()) - mp.matrix(y.tolist()))]
        case hg.Hyperbolic():
            x, y = ([mp.mpf(a) for a in z[1:].tolist()] for z in (x, y))  # the first coordinate follows
            first, second = (mp.sqrt(1 + mp.fdot(z, z)) for z in (x, y))
            return [mp.acosh(first * second - mp.fdot(x, y))]
        case LogEuclideanPD():
            logs = [_log(mp.matrix(z.tolist())) for z in (x, y)]
            return [mp.norm(logs[0] - logs[1])]
        case PositiveDefinite():
            root = mp.inverse(mp.cholesky(mp.matrix(x.tolist())))
            return sorted(map(mp.log, mp.eighe(root * mp.matrix(y.tolist()) * root.H, eigvals_only=True)))
        case hg.Torus() | hg.TorusKnot():
            ways = [mp.mpf(a) - mp.mpf(b) for a, b in zip(x.tolist(), y.tolist())]
            return sorted(abs(w - 2 * mp.pi * mp.nint(w / (2 * mp.pi))) for w in ways)
        case hg.Sphere():
            x, y = orthonormal(x[:, None]), orthonormal(y[:, None])
            return [2 * mp.atan2(mp.norm(x - y), mp.norm(x + y))]
        case hg.RealProjective() | hg.ComplexProjective() | hg.Grassmann():
            x, y = (orthonormal(z if z.ndim == 2 else z[:, None]) for z in (x, y))
            rest = y - x * (x.H * y)
            squares = mp.eigh(rest.H * rest, eigvals_only=True)
            return sorted(sine(s) for s in squares)[x.cols - M.rank :]
    r = orthonormal(x).H * orthonormal(y)
    if not M.is_complex:  # the eigenvalues of I - (r + r')/2 are 2 sin²(angle/2), in pairs
        squares = mp.eigh(mp.eye(M.n) - (r + r.T) / 2, eigvals_only=True)
        return sorted(2 * sine(s / 2) for s in squares)[M.n % 2 :: 2]
    if isinstance(M, hg.SpecialUnitary):
        r *= mp.expj(-mp.arg(mp.det(r)) / M.n)
    values = [r[0, 0]] if M.n == 1 else mp.eig(r, left=False, right=False)  # eig of one entry is nested in mpmath 1.3
    return sorted(mp.arg(z) for z in values)


def _log(x):
    values, vectors = mp.eigsy(x)
    return vectors * mp.diag(list(map(mp.log, values))) * vectors.T


def errors(theta, exact):
    """The largest error of a coordinate and that of the norm, relative to the distance."""
    length = mp.sqrt(sum(a * a for a in exact))
    apart = max(abs(mp.mpf(a) - b) for a, b in zip(sorted(theta.tolist()), exact))
    return float(apart / length), float(abs(mp.sqrt(sum(mp.mpf(a) ** 2 for a in theta.tolist())) / length - 1))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("M", SPACES, ids=repr)
def test_coordinates_have_a_rounding_error_relative_to_the_distance(M, size):
    """The limit is 50 roundings, and what errors of 4e-16 across the manifold add to a chord: their square.

    Of far pairs a coordinate near a wall may be less accurate; their distance is not.
    """
    X = cluster(M, size, np.random.default_rng(7))
    each, every = M.orbit(X[:, None], X[None]), M.orbits(X, X)
    for i in range(len(X)):
        for j in range(i):
            exact = reference(M, X[i], X[j])
            limit = 1e-14 + float(4e-16 / mp.norm(exact)) ** 2
            assert max(errors(each[i, j], exact)) < limit
            conjugate = min(errors(sign * every[i, j], exact) for sign in (1, -1 if M.is_complex else 1))
            assert conjugate[1] < limit
            assert conjugate[0] < (limit if size < 1 else 1e-7)


def test_distances_of_one_point_with_itself_are_zero_to_rounding(rng):
    for M in SPACES:
        X = cluster(M, 1.0, rng)
        assert M.distance(X, X).max() < 1e-20


@pytest.mark.parametrize("size", [1e-3, 1e-6, 1e-8])
@pytest.mark.parametrize("M", [M for M in SPACES if not isinstance(M, hg.Euclidean)], ids=repr)
def test_short_geodesics_have_their_length(M, size, rng):
    """Stored points are rounded: the distance of x and exp(x, v) is |v| to a few 1e-16, absolutely."""
    X = M.polish(M.random(rng, 20))
    z = white_noise(rng, X.shape, M.is_complex)
    v = size * M.noise(X, z)
    norms = np.sqrt(np.sum(np.abs(v) ** 2, axis=tuple(range(1, v.ndim))))
    norms /= math.sqrt(2) if isinstance(M, (hg.SpecialOrthogonal, hg.Orthogonal, hg.Unitary, hg.SpecialUnitary)) else 1
    if isinstance(M, hg.Hyperbolic):
        norms = size * np.linalg.norm(z[:, 1:], axis=1)
    if isinstance(M, PositiveDefinite):
        norms = size * np.linalg.norm((z + np.conj(z.swapaxes(1, 2))) / 2, axis=(1, 2))
    Y = M.exp(X, v)
    np.testing.assert_allclose(M.distance(X, Y), norms, rtol=1e-14, atol=5e-15)
    np.testing.assert_allclose(M.distance(X, M.polish(Y)), norms, rtol=1e-14, atol=5e-15)


@pytest.mark.parametrize("way", [1e-3, 1e-8])
def test_clusters_across_the_seam_of_a_torus(way):
    x, y = np.array([math.pi - way / 3]), np.array([-math.pi + way / 2])
    for turn in (0.0, 2 * math.pi, -4 * math.pi):
        exact = reference(hg.Torus(1), x, y + turn)[0]
        assert abs(hg.Torus(1).orbits(x[None], y[None] + turn)[0, 0, 0] / exact - 1) < 1e-15


@pytest.mark.parametrize("field", ["real", "complex"])
@pytest.mark.parametrize(
    "angles",
    [(math.pi / 2, 0, 0), (math.pi / 2, math.pi / 2, 0), (1.0, 1e-3, 1e-3), (1.2, 1.2, 0.1), (1.2, 1.2 + 1e-9, 0.1)],
)
def test_subspaces_that_share_directions(angles, field, rng):
    """Double eigenvalues: sines and cosines, of which heat kernels are smooth functions, have errors of rounding."""
    M = hg.Grassmann(6, 3, field)
    group = hg.Unitary if M.is_complex else hg.Orthogonal
    g, h = group(6).random(rng, 20), group(3).random(rng, 20)
    X = g[:, :, :3]
    Y = (X * np.cos(angles) + g[:, :, 3:] * np.sin(angles)) @ h
    theta = M.orbits(X, Y)[np.arange(20), np.arange(20)]
    np.testing.assert_allclose(np.sin(theta) ** 2, np.tile(np.sort(np.sin(angles) ** 2), (20, 1)), atol=5e-15)
    np.testing.assert_allclose(theta, np.tile(np.sort(angles), (20, 1)), atol=1e-7)


def test_special_unitary_matrices_with_double_eigenvalues(rng):
    M = hg.SpecialUnitary(3)
    angles = np.array([1.0, 1.0, -2.0])
    x, g = M.random(rng, 30), M.random(rng, 30)
    y = x @ (g * np.exp(1j * angles)) @ g.conj().swapaxes(-1, -2)
    theta = M.orbits(x, y)[np.arange(30), np.arange(30)]
    np.testing.assert_allclose(np.sort(np.cos(theta)), np.tile(np.sort(np.cos(angles)), (30, 1)), atol=5e-15)


@pytest.mark.parametrize("M", SPACES, ids=repr)
def test_no_points_have_no_coordinates(M, rng):
    X = M.random(rng, 3)
    assert M.orbits(X[:0], X).shape[:2] == (0, 3)
    assert M.orbits(X, X[:0]).shape[:2] == (3, 0)
