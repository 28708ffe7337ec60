"""Distances and orbits next to 0, to the cut locus and to the walls of the chamber keep all their digits."""

import math
from contextlib import suppress

import numpy as np
import pytest

from catalog import STIEFEL
from heatgp import (
    ComplexProjective,
    Grassmann,
    Orthogonal,
    Product,
    RealProjective,
    SpecialOrthogonal,
    SpecialUnitary,
    Sphere,
    Stiefel,
    Torus,
    Unitary,
)
from heatgp.errors import NotConverged
from heatgp.manifolds.spaces import stiefel_log

TINY = 1e-9
ROUNDING = 1e-14
HALF = math.pi / 2


@pytest.mark.parametrize("angle", [0.0, 1e-300, 1e-16, TINY, 1.0, HALF, math.pi - TINY, math.pi])
@pytest.mark.parametrize("dim", [1, 2, 9])
def test_sphere(dim, angle, rng):
    g = Orthogonal(dim + 1).random(rng, 1)[0]
    x, y = g[:, 0], math.cos(angle) * g[:, 0] + math.sin(angle) * g[:, 1]
    assert abs(Sphere(dim).distance(x, y) - angle) < ROUNDING


@pytest.mark.parametrize("angle", [0.0, 1e-16, TINY, 1.0, HALF - TINY, HALF])
@pytest.mark.parametrize("manifold", [RealProjective(1), RealProjective(4), ComplexProjective(1), ComplexProjective(4)])
def test_lines(manifold, angle, rng):
    n = manifold.shape[0]
    g = (Unitary if manifold.is_complex else Orthogonal)(n).random(rng, 1)[0]
    phase = np.exp(2j) if manifold.is_complex else -1
    x, y = g[:, 0], phase * (math.cos(angle) * g[:, 0] + math.sin(angle) * g[:, 1])
    assert abs(manifold.distance(x, y) - angle) < ROUNDING


def block_rotation(angles, n):
    r = np.eye(n)
    for i, a in enumerate(angles):
        r[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[math.cos(a), -math.sin(a)], [math.sin(a), math.cos(a)]]
    return r


@pytest.mark.parametrize("n", range(2, 9))
@pytest.mark.parametrize("ends", [(TINY,), (0.0,), (math.pi - TINY,), (math.pi,), (math.pi - TINY, TINY), (1.0, 1.0)])
def test_rotations(n, ends, rng):
    angles = np.resize(ends, n // 2)
    x, g = SpecialOrthogonal(n).random(rng, 2)
    y = x @ g @ block_rotation(angles, n) @ g.T
    expected = np.sort(angles)[::-1]
    np.testing.assert_allclose(SpecialOrthogonal(n).orbit(x, y), expected, atol=ROUNDING)
    np.testing.assert_allclose(Orthogonal(n).orbit(x, y), expected, atol=ROUNDING)


@pytest.mark.parametrize("n", range(1, 6))
@pytest.mark.parametrize(
    "ends", [(TINY,), (-TINY, TINY), (math.pi - TINY,), (math.pi - TINY, TINY - math.pi), (1.0, 0.0)]
)
def test_unitary(n, ends, rng):
    angles = np.resize(ends, n)
    x, g = Unitary(n).random(rng, 2)
    y = x @ (g * np.exp(1j * angles)) @ g.conj().T
    np.testing.assert_allclose(Unitary(n).orbit(x, y), np.sort(angles), atol=ROUNDING)
    assert abs(Unitary(n).distance(x, y) - np.linalg.norm(angles) / math.sqrt(2)) < ROUNDING


def test_special_unitary_distance_uses_the_shortest_lift():
    """Three eigenangles 2 pi/3 - e, each: their sum must become 0, one of them loses a turn."""
    for turns, angles in ((1, [2.0, 2.0, 2 * math.pi - 4]), (-1, [-2.0, -2.0, 4 - 2 * math.pi]), (0, [1.0, 1.0, -2.0])):
        y = np.diag(np.exp(1j * np.array(angles)))
        lifts = [np.array(angles) + 2 * math.pi * np.array(k) for k in np.ndindex(3, 3, 3)]
        lifts += [lift - 2 * math.pi * np.array(k) for lift in lifts for k in np.ndindex(3, 3, 3)]
        shortest = min(np.linalg.norm(lift) for lift in lifts if abs(lift.sum()) < 1e-9) / math.sqrt(2)
        assert SpecialUnitary(3).distance(np.eye(3) + 0j, y) == pytest.approx(shortest, abs=1e-14), turns


@pytest.mark.parametrize("field", ["real", "complex"])
@pytest.mark.parametrize("n, k", [(2, 1), (4, 2), (5, 2), (5, 3), (10, 4)])
@pytest.mark.parametrize("ends", [(TINY,), (HALF - TINY,), (TINY, HALF - TINY), (0.0,), (HALF,), (1.0, 1.0)])
def test_grassmann(n, k, field, ends, rng):
    manifold = Grassmann(n, k, field)
    angles = np.sort(np.resize(ends, manifold.rank))
    group = Unitary if manifold.is_complex else Orthogonal
    g, h = group(n).random(rng, 1)[0], group(max(k, 2)).random(rng, 1)[0][:k, :k]
    h = h / np.abs(h) if k == 1 else h
    x, y = g[:, :k], g[:, :k].copy()
    for i, a in enumerate(angles):
        y[:, i] = math.cos(a) * g[:, i] + math.sin(a) * g[:, k + i]
    np.testing.assert_allclose(manifold.orbit(x, y @ h), angles, atol=ROUNDING)


@pytest.mark.parametrize("angle", [TINY, math.pi - TINY, math.pi])
def test_torus_across_the_seam(angle):
    x = np.array([math.pi - angle / 2])
    assert abs(Torus(1).distance(x, x + angle) - angle) < ROUNDING
    assert abs(Torus(1).distance(x - 20 * math.pi, x + angle) - angle) < 10 * ROUNDING


@pytest.mark.parametrize("manifold", [*STIEFEL, Stiefel(10, 5), Stiefel(5, 4, "complex")], ids=repr)
@pytest.mark.parametrize("length", [1e-9, 1e-3, 0.3, 1.0])
def test_stiefel_logarithm_inverts_exp(manifold, length, rng):
    """|v|² = tr v*(I - xx*/2)v, the canonical metric, is what the iteration finds."""
    x = manifold.random(rng, 20)
    z = rng.standard_normal((2, *x.shape))
    v = manifold.noise(x, z[0] + 1j * z[1] if manifold.is_complex else z[0])
    vertical = x.conj().swapaxes(-1, -2) @ v
    squares = np.sum(np.abs(v) ** 2, axis=(-2, -1)) - np.sum(np.abs(vertical) ** 2, axis=(-2, -1)) / 2
    v = length * v / np.sqrt(squares)[:, None, None]
    np.testing.assert_allclose(manifold.distance(x, manifold.exp(x, v)), length, atol=1e-13)


def test_stiefel_logarithm_says_when_it_did_not_converge(rng, monkeypatch):
    manifold = Stiefel(5, 2)
    x, y = manifold.random(rng, 3), manifold.random(rng, 3)
    monkeypatch.setattr(stiefel_log, "ITERATIONS", 2)
    assert manifold.distance(x, x) == pytest.approx(0, abs=1e-14)
    text = r"did not converge for 3 of 3 pairs in 2 rounds \(residual .*, limit 1e-12\): they are too far apart"
    with pytest.raises(NotConverged, match=text):
        manifold.distance(x, y)
    with pytest.raises(NotConverged, match="Go through a point between them"):
        Product(Sphere(2), manifold).distance(
            *(np.append(np.tile([1.0, 0, 0], (3, 1)), a.reshape(3, 10), 1) for a in (x, y))
        )


def test_stiefel_logarithm_is_never_zero_between_other_points(rng):
    """x and -x: eigenvalues -1, whose logarithm is not real; no distance is better than a wrong one."""
    for manifold in (Stiefel(4, 2), Stiefel(7, 3), Stiefel(4, 3), Stiefel(4, 1)):
        x = manifold.random(rng, 1)
        with suppress(NotConverged):
            assert manifold.distance(x, -x) > 1


@pytest.mark.parametrize(
    "manifold", [Stiefel(3, 2), Stiefel(4, 1), Stiefel(5, 2), Stiefel(7, 3), Stiefel(3, 2, "complex")]
)
def test_stiefel_separation_is_the_squared_distance_of_close_points(manifold, rng):
    x, z = manifold.random(rng, 50), manifold.random(rng, 50)
    y = manifold.exp(x, 0.3 * manifold.noise(x, z))
    square = manifold.distance(x, y) ** 2
    assert square.max() < 1
    np.testing.assert_allclose(manifold.separation(x, y), square, rtol=1e-5)
    np.testing.assert_allclose(manifold.rough_separation(x, y), square, rtol=0.3)
    assert manifold.separation(x, -x).min() > 4  # no iteration that fails where there is no nearest geodesic
