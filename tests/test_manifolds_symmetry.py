"""Orbit coordinates, volumes and curvatures against isometries, fibrations, small balls and coincidences."""

import math
from functools import singledispatch

import numpy as np
import pytest
from scipy.special import gamma

from catalog import GRASSMANN, HOMOGENEOUS, SPECIAL_UNITARY, STIEFEL
from heatgp import (
    SPD,
    ComplexProjective,
    Euclidean,
    Grassmann,
    HermitianPD,
    Hyperbolic,
    Orthogonal,
    Quotient,
    RealProjective,
    Scaled,
    SpecialOrthogonal,
    SpecialUnitary,
    Sphere,
    Stiefel,
    Torus,
    TorusKnot,
    Unitary,
)
from heatgp.errors import Unsupported
from heatgp.manifolds.spaces.positive_definite import AffineInvariant, LogEuclideanPD, expm, logm
from statistics_helpers import assert_mean


@singledispatch
def isometry(manifold, rng):
    """A random isometry: a rotation of the ambient space, for vectors and for frames."""
    group = Unitary if manifold.is_complex else Orthogonal
    g = group(max(2, manifold.shape[0])).random(rng, 1)[0]
    return (lambda x: g @ x) if len(manifold.shape) == 2 else (lambda x: x @ g.T)


@isometry.register(SpecialOrthogonal)
@isometry.register(SpecialUnitary)
@isometry.register(Orthogonal)
@isometry.register(Unitary)
def _(manifold, rng):
    g, h = manifold.random(rng, 2)
    return lambda x: g @ x @ h


@isometry.register
def _(manifold: Grassmann, rng):
    """A rotation of the space and another basis of the subspace."""
    group = Unitary if manifold.is_complex else Orthogonal
    g, h = group(manifold.n).random(rng, 1)[0], group(max(2, manifold.k)).random(rng, 1)[0]
    return lambda x: g @ x @ h if manifold.k > 1 else g @ x


@isometry.register
def _(manifold: ComplexProjective, rng):
    g = Unitary(manifold.complex_dim + 1).random(rng, 1)[0]
    return lambda x: 1j * x @ g.T


@isometry.register
def _(manifold: Euclidean, rng):
    a, g = rng.standard_normal(manifold.n), Orthogonal(max(2, manifold.n)).random(rng, 1)[0]
    return (lambda x: x @ g + a) if manifold.n > 1 else (lambda x: a - x)


@isometry.register
def _(manifold: Hyperbolic, rng):
    """A rotation about the origin and a boost to another point."""
    x, g = manifold.random(rng, 1)[0], np.eye(manifold.n + 1)
    g[1:, 1:] = Orthogonal(manifold.n).random(rng, 1)[0]
    boost = np.block([[x[:1], x[None, 1:]], [x[1:, None], np.eye(manifold.n) + np.outer(x[1:], x[1:]) / (1 + x[0])]])
    return lambda y: y @ g @ boost


@isometry.register
def _(manifold: AffineInvariant, rng):
    a = rng.standard_normal(manifold.shape) + (1j * rng.standard_normal(manifold.shape) if manifold.is_complex else 0)
    return lambda x: a @ x @ np.conj(a).T


@isometry.register
def _(manifold: LogEuclideanPD, rng):
    """A rotation and a shift of logarithms."""
    g, s = Orthogonal(manifold.n).random(rng, 1)[0], rng.standard_normal(manifold.shape)
    return lambda x: expm(g @ logm(x) @ g.T + s + s.T)


@isometry.register(Torus)
@isometry.register(TorusKnot)
def _(manifold, rng):
    shift, sign = rng.uniform(-9, 9, manifold.dim), rng.choice([-1, 1], manifold.dim)
    return lambda x: sign * x + shift


@pytest.mark.parametrize("manifold", HOMOGENEOUS, ids=repr)
def test_orbit_is_invariant_under_isometries(manifold, rng):
    move = isometry(manifold, rng)
    x, y = manifold.random(rng, 20), manifold.random(rng, 20)
    before, after = manifold.orbit(x, y), manifold.orbit(move(x), move(y))
    np.testing.assert_allclose(after, before, atol=1e-12)


def volume(manifold):
    return manifold.volume


CIRCLE = 2 * math.pi


@pytest.mark.parametrize(
    "total, base, fibre",
    [
        *((SpecialOrthogonal(n), Sphere(n - 1), SpecialOrthogonal(n - 1)) for n in range(3, 9)),
        *((Sphere(d), RealProjective(d), 2) for d in range(1, 6)),
        *((Sphere(2 * n + 1), ComplexProjective(n), CIRCLE) for n in range(1, 9)),
        *((Unitary(n), ComplexProjective(n - 1), volume(Unitary(n - 1)) * volume(Unitary(1))) for n in range(2, 6)),
        *((Unitary(n), SpecialUnitary(n), CIRCLE * math.sqrt(n / 2) / n) for n in range(2, 6)),
        *((Orthogonal(n), SpecialOrthogonal(n), 2) for n in (2, 3, 4)),
        *((Orthogonal(n), Stiefel(n, k), Orthogonal(n - k)) for n, k in ((4, 2), (5, 2), (7, 3), (7, 5))),
        *((Unitary(n), Stiefel(n, k, "complex"), Unitary(n - k)) for n, k in ((2, 1), (3, 1), (5, 2), (3, 2))),
        *((Stiefel(n, k), Grassmann(n, k), Orthogonal(k)) for n, k in ((4, 2), (5, 3), (10, 4))),
        *((Stiefel(n, k, "complex"), Grassmann(n, k, "complex"), Unitary(k)) for n, k in ((2, 1), (4, 2), (5, 3))),
        (Sphere(2), Scaled(ComplexProjective(1), 2.0), 1),
        (Sphere(3), SpecialUnitary(2), 1),
    ],
    ids=repr,
)
def test_volumes_multiply_along_fibrations(total, base, fibre):
    fibre = fibre if isinstance(fibre, (int, float)) else fibre.volume
    assert total.volume == pytest.approx(base.volume * fibre, rel=1e-12)


@pytest.mark.parametrize(
    "manifold",
    [
        Sphere(3),
        RealProjective(2),
        ComplexProjective(2),
        SpecialOrthogonal(3),
        SpecialUnitary(2),
        Unitary(2),
        Grassmann(4, 2),
        Scaled(Sphere(2), 0.5),
        Quotient(Sphere(3), (lambda x: x, lambda x: -x)),
    ],
    ids=repr,
)
def test_small_balls_have_the_volume_of_flat_ones(manifold, rng):
    """vol(ball) = flat volume (1 - scal r²/(6(d+2)) + O(r⁴)): pins the volume to the distance, and the curvature."""
    d, r, draws = manifold.dim, 0.6 if manifold.dim > 2 else 0.2, 100_000
    hits = np.mean(manifold.distance(manifold.random(rng, 1), manifold.random(rng, draws)) < r)
    flat = math.pi ** (d / 2) / gamma(d / 2 + 1) * r**d
    bend = manifold.scalar_curvature * r**2 / (6 * (d + 2))
    error = 5 * math.sqrt(hits / draws) + hits * bend**2
    assert abs(hits - flat * (1 - bend) / manifold.volume) < error


@pytest.mark.parametrize(
    "manifold, expected",
    [
        *((Sphere(d), d * (d - 1)) for d in (1, 2, 5)),
        *((RealProjective(d), d * (d - 1)) for d in (1, 2, 5)),
        *((ComplexProjective(n), 4 * n * (n + 1)) for n in (1, 2, 5)),
        *((SpecialOrthogonal(n), n * (n - 1) * (n - 2) / 4) for n in (2, 3, 4, 5, 8)),
        *((Orthogonal(n), n * (n - 1) * (n - 2) / 4) for n in (2, 3, 4)),
        *((SpecialUnitary(n), n * (n**2 - 1)) for n in (2, 3, 5)),
        *((Unitary(n), n * (n**2 - 1)) for n in (1, 2, 3, 5)),
        *((Grassmann(n, k), k * (n - k) * (n - 2)) for n, k in ((2, 1), (4, 2), (5, 3), (10, 4))),
        *((Grassmann(n, k, "complex"), 4 * n * k * (n - k)) for n, k in ((2, 1), (4, 2), (5, 3), (10, 4))),
        *((Stiefel(n, 1), (n - 1) * (n - 2)) for n in (2, 3, 7)),
        *((Stiefel(n, n - 1), n * (n - 1) * (n - 2) / 4) for n in (3, 4, 5)),
        (Scaled(Sphere(2), 0.5), 8),
        (Torus(3), 0),
        (TorusKnot(2, 3), 0),
        (Euclidean(3), 0),
        *((Hyperbolic(n), -n * (n - 1)) for n in (2, 3, 7)),
        *((SPD(n), -n * (n - 1) * (n + 2) / 8) for n in (2, 3, 5)),
        *((HermitianPD(n), -n * (n**2 - 1) / 2) for n in (2, 3)),
        (SPD(3, "log-euclidean"), 0),
    ],
    ids=repr,
)
def test_scalar_curvature(manifold, expected):
    assert manifold.scalar_curvature == pytest.approx(expected, rel=1e-12, abs=1e-12)


EVEN = [SpecialOrthogonal, Orthogonal, Unitary, Grassmann]
EVEN = [m for m in HOMOGENEOUS if type(m) in EVEN and m.rank <= 4 and getattr(m, "field", "complex") == "complex"]


@pytest.mark.parametrize("manifold", EVEN, ids=repr)
def test_strip_integrates_to_the_volume(manifold):
    """Roots between coordinates have even multiplicity: omega is smooth, and Gauss's rule integrates it to rounding."""
    (low, high), r = manifold.chamber[0], manifold.rank
    nodes, weights = np.polynomial.legendre.leggauss(24)
    nodes, weights = (low + high + (high - low) * nodes) / 2, weights * (high - low) / 2
    omega = np.exp(manifold.log_strip(np.stack(np.meshgrid(*[nodes] * r), axis=-1)))
    for _ in range(r):
        omega = omega @ weights
    components = 2 if isinstance(manifold, Orthogonal) else 1
    assert components * omega == pytest.approx(manifold.volume, rel=1e-9)


@pytest.mark.parametrize("manifold", [m for m in STIEFEL if m.n >= 2 * m.k and m.n > 2], ids=repr)
def test_stiefel_strip_integrates_to_the_volume(manifold, rng):
    """By importance sampling: the entries of x*y are nearly N(0, 1/n)."""
    coordinates, draws = len(manifold.chamber), 100_000
    variance = 1 / manifold.n if not manifold.is_complex else 0.5 / manifold.n
    theta = rng.normal(0, math.sqrt(variance), (draws, coordinates))
    proposal = -np.sum(theta**2, axis=-1) / (2 * variance) - coordinates / 2 * math.log(2 * math.pi * variance)
    weight = np.exp(manifold.log_strip(theta) - proposal) / manifold.volume
    assert_mean(weight, 1)
    assert weight.std() / math.sqrt(draws) < 0.02


@pytest.mark.parametrize("manifold", SPECIAL_UNITARY, ids=repr)
def test_special_unitary_strip_is_a_density_of_all_angles_but_one(manifold, rng):
    """Its integral is the volume, and E|tr x|² = 1 and E|tr x|⁴ = 2 under it."""
    draws, n = 200_000, manifold.n
    free = rng.uniform(-math.pi, math.pi, (draws, n - 1))
    theta = np.concatenate((free, -free.sum(axis=-1, keepdims=True)), axis=-1)
    weight = np.exp(manifold.log_strip(theta)) * (2 * math.pi) ** (n - 1) / manifold.volume
    trace = np.abs(np.exp(1j * theta).sum(axis=-1)) ** 2
    for power, expected in ((0, 1), (1, 1), (2, 2)):
        values = weight * trace**power
        assert abs(values.mean() - expected) < 5 * values.std() / math.sqrt(draws)


@pytest.mark.parametrize(
    "one, other, carry",
    [
        (Torus(1), Sphere(1), lambda a: np.concatenate((np.cos(a), np.sin(a)), axis=-1)),
        (TorusKnot(2, 3), Torus(1), lambda a: a),
        (Scaled(Unitary(1), math.sqrt(2)), Sphere(1), lambda u: np.stack((u.real, u.imag), axis=-1)[..., 0, 0, :]),
        (SpecialUnitary(2), Sphere(3), lambda u: np.concatenate((u[..., 0].real, u[..., 0].imag), axis=-1)),
        (Scaled(RealProjective(3), 2), SpecialOrthogonal(3), lambda q: rotation(q)),
        (Scaled(ComplexProjective(1), 2), Sphere(2), lambda z: hopf(z)),
        (Quotient(Sphere(2), (lambda x: x, lambda x: -x)), RealProjective(2), lambda x: x),
        (Grassmann(5, 1), RealProjective(4), lambda x: x[..., 0]),
        (Grassmann(5, 1, "complex"), ComplexProjective(4), lambda x: x[..., 0]),
        (Grassmann(5, 3), Grassmann(5, 2), lambda x: complement(x)),
        (Grassmann(5, 2, "complex"), Grassmann(5, 3, "complex"), lambda x: complement(x)),
    ],
    ids=lambda value: None if callable(value) else repr(value),
)
def test_coincidences(one, other, carry, rng):
    """The same space twice: distances agree, and so do volumes and curvatures."""
    x, y = one.random(rng, 30), one.random(rng, 30)
    np.testing.assert_allclose(other.distance(carry(x), carry(y)), one.distance(x, y), atol=1e-13)
    assert other.dim == one.dim
    assert other.volume == pytest.approx(one.volume, rel=1e-12)
    assert other.scalar_curvature == pytest.approx(one.scalar_curvature, rel=1e-12)


def rotation(q):
    """The rotation of a unit quaternion."""
    from scipy.spatial.transform import Rotation

    return Rotation.from_quat(q).as_matrix()


def hopf(z):
    """CP^1 to the unit sphere of R^3."""
    a, b = z[..., 0], z[..., 1]
    w = 2 * np.conj(a) * b
    return np.stack((w.real, w.imag, np.abs(a) ** 2 - np.abs(b) ** 2), axis=-1)


def complement(x):
    """An orthonormal basis of the orthogonal complement."""
    return np.linalg.qr(x, mode="complete")[0][..., x.shape[-1] :]


@pytest.mark.parametrize("manifold", [Stiefel(4, 1), Stiefel(3, 2), Stiefel(4, 3)], ids=repr)
def test_extreme_stiefel_manifolds_are_spheres_and_rotations(manifold, rng):
    x = manifold.random(rng, 20)
    y = manifold.exp(x, 0.7 * manifold.noise(x, rng.standard_normal(x.shape)) / math.sqrt(manifold.dim))
    if manifold.k == 1:
        expected = Sphere(manifold.n - 1).distance(x[..., 0], y[..., 0])
    else:
        full = [np.concatenate((a, complement(a)), axis=-1) for a in (x, y)]
        full = [a * np.append(np.ones((20, manifold.k)), np.linalg.det(a)[:, None], axis=1)[:, None] for a in full]
        expected = SpecialOrthogonal(manifold.n).distance(*full)
    np.testing.assert_allclose(manifold.distance(x, y), expected, atol=1e-11)


@pytest.mark.parametrize("manifold", [m for m in GRASSMANN + STIEFEL if m.k > 1], ids=repr)
def test_complete_invariant(manifold, rng):
    """Moving y by an isometry that fixes x keeps the orbit; another y has another orbit."""
    x, y, other = manifold.random(rng, 3)
    same = y - 2 * x @ (x.conj().T @ y) if isinstance(manifold, Grassmann) else x @ (x.conj().T @ y) * 2 - y
    np.testing.assert_allclose(manifold.orbit(x, same), manifold.orbit(x, y), atol=1e-12)
    assert np.abs(manifold.orbit(x, other) - manifold.orbit(x, y)).max() > 1e-3


def test_orthogonal_has_two_components(rng):
    manifold, x = Orthogonal(4), Orthogonal(4).random(rng, 50)
    mirrored = x * np.array([1, 1, 1, -1])
    assert np.isinf(manifold.distance(x, mirrored)).all()
    assert np.isinf(manifold.orbit(x, mirrored)).all()
    same = np.linalg.det(x[:25]) * np.linalg.det(x[25:]) > 0
    assert (np.isfinite(manifold.distance(x[:25], x[25:])) == same).all()


def test_short_time_factor_of_the_sphere():
    theta = np.array([[0.0], [1e-9], [1.0], [3.0]])
    expected = [0, 0, *(0.5 * math.log(a / math.sin(a)) for a in (1.0, 3.0))]
    np.testing.assert_allclose(Sphere(2).roots.log_short_time(theta), expected, atol=1e-15)


def test_euclidean_strip_is_the_area_of_spheres():
    for n in (1, 2, 3, 5):
        area = 2 * math.pi ** (n / 2) / gamma(n / 2) * 0.7 ** (n - 1)
        assert np.exp(Euclidean(n).log_strip(np.array([0.7]))) == pytest.approx(area)


def test_stiefel_strip_needs_tall_frames():
    with pytest.raises(Unsupported, match=r"Stiefel\(3, 2\): .* only for n >= 2k; n = 3, 2k = 4"):
        Stiefel(3, 2).log_strip(np.zeros(4))


def test_hyperbolic_strip_is_the_area_of_spheres():
    logs = np.array([math.log(math.sinh(0.7)), 300 - math.log(2)])
    for n in (2, 3, 5):
        area = math.log(2 * math.pi ** (n / 2) / gamma(n / 2)) + (n - 1) * logs
        np.testing.assert_allclose(Hyperbolic(n).log_strip(np.array([[0.7], [300.0]])), area, rtol=1e-14)
    theta = np.array([[0.0], [1.0], [50.0]])
    expected = [0, -math.log(math.sinh(1)), math.log(100) - 50]
    np.testing.assert_allclose(Hyperbolic(3).roots.log_short_time(theta), expected, atol=1e-15)
