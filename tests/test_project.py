"""M.project: the nearest point."""

import re

import numpy as np
import pytest

import heatgp as hg
from catalog import CATALOG
from heatgp.array import white_noise
from heatgp.errors import InvalidInput, OffManifold
from own_manifolds import CAP, DISC, OWN, SPHERE, SPHERE_CHART, U_DOMAIN

FRAMES = [
    M
    for M in CATALOG
    if isinstance(M, (hg.Stiefel, hg.Grassmann, hg.SpecialOrthogonal, hg.Orthogonal, hg.Unitary, hg.SpecialUnitary))
]


def size(M, d):
    """The norm of a difference of points (..., *shape)."""
    return np.sqrt(np.sum(np.abs(d) ** 2, axis=tuple(range(d.ndim - len(M.shape), d.ndim))))


def disturbed(M, rng, number, noise):
    x = M.random(rng, number)
    if M is CAP:  # given by truth values: points outside have no known nearest point
        x = x[x[:, 2] > 0.5]
    return x, x + noise * white_noise(rng, x.shape, M.is_complex) / x[0].size ** 0.5


@pytest.mark.parametrize("noise", [1e-4, 0.1])
@pytest.mark.parametrize("M", [*CATALOG, *OWN, SPHERE_CHART], ids=repr)
def test_nearest_point(M, noise):
    rng = np.random.default_rng(3)
    x, off = disturbed(M, rng, 40, noise)
    before = off.copy()
    y = M.project(off)
    np.testing.assert_array_equal(off, before)
    assert y.shape == off.shape
    assert M.defect(y).max() < 1e-13
    np.testing.assert_allclose(M.project(y), y, rtol=0, atol=1e-13 if M in OWN else 2e-15)
    moved = size(M, M.difference(y, off))
    assert (moved <= size(M, M.difference(x, off)) * (1 + 1e-9) + 1e-14).all()
    for reach in (1e-3, 0.03, 0.3):  # nearer than other points of the manifold
        other = M.exp(y, reach * noise * M.noise(y, white_noise(rng, (30, *y.shape), M.is_complex)))
        away = size(M, M.difference(other, off))
        assert (moved <= away + 1e-7 * noise * moved.max() + 1e-14).all()


@pytest.mark.parametrize("M", FRAMES, ids=repr)
def test_columns_keep_their_signs(M):
    x, off = disturbed(M, np.random.default_rng(4), 50, 1e-3)
    y = M.project(off)
    assert np.abs(y - x).max() < 3e-3
    assert np.abs(M.project(np.round(x, 3)) - x).max() < 3e-3  # published with three digits


def test_one_point_no_points_lists_and_single_precision():
    assert hg.Sphere(2).project([3, 0, 4]).tolist() == [0.6, 0.0, 0.8]
    assert hg.Sphere(2).project(np.zeros((0, 3))).shape == (0, 3)
    assert hg.SpecialOrthogonal(3).project(np.zeros((0, 3, 3))).shape == (0, 3, 3)
    single = hg.Stiefel(4, 2).random(np.random.default_rng(0), 5).astype(np.float32)
    y = hg.Stiefel(4, 2).project(single)
    assert y.dtype == float
    assert hg.Stiefel(4, 2).defect(y).max() < 1e-15
    assert hg.Sphere(1).project([[3e200, 4e200]]).round(12).tolist() == [[0.6, 0.8]]


def test_what_has_no_nearest_point_is_refused():
    cases = [
        (
            hg.Sphere(2),
            [[1, 0, 0], [0, 0, 0.0]],
            r"x[1] has no nearest point on Sphere(2): it is zero. Check or remove it.",
        ),
        (hg.ComplexProjective(1), np.zeros(2), "x has no nearest point on ComplexProjective(1): it is zero"),
        (
            hg.Stiefel(3, 2),
            [[1, 1], [0, 0], [0, 0.0]],
            "x has no nearest point on Stiefel(3, 2): its columns are linearly",
        ),
        (hg.SpecialOrthogonal(3), -np.eye(3), "x has no nearest point on SpecialOrthogonal(3): it is a reflection"),
        (hg.SpecialUnitary(3), np.diag([1.0, 1e-3, -1]), "on SpecialUnitary(3): its determinant is too far from one"),
        (SPHERE, np.zeros(3), "on Implicit(sphere_equation, 2, 3): Newton's method does not converge"),
        (CAP, [0.8, 0, -0.6], "it is outside, and the way to the boundary is too far or not known"),
        (DISC, [3.0, 4.0], "it is outside, and the way to the boundary is too far or not known"),
        (hg.Product(hg.Torus(1), hg.Sphere(1)), [[7.0, 0, 0]], "x[0] has no nearest point on Sphere(1)"),
        (hg.Sphere(2), [np.nan, 0, 1], "x is not finite"),
    ]
    for M, x, message in cases:
        with pytest.raises(OffManifold, match=re.escape(message)):
            M.project(x)
    with pytest.raises(InvalidInput, match=r"x has shape \(2,\); points of Sphere\(2\) have shape \(3,\)"):
        hg.Sphere(2).project([1.0, 2.0])


def test_a_nearly_singular_matrix_becomes_the_nearest_rotation(rng):
    """The direction of the smallest singular value is turned, which no polar factor does."""
    u, v = hg.SpecialOrthogonal(3).random(rng, 2)
    x = u @ np.diag([1.1, 0.9, -0.05]) @ v
    np.testing.assert_allclose(hg.SpecialOrthogonal(3).project(x), u @ v, atol=1e-14)


def test_domains_and_charts():
    np.testing.assert_allclose(
        U_DOMAIN.project([[-1.0, 0.5], [2.0, 1.05], [0.4, 0.4]]), [[0, 0.5], [2.0, 1.2], [0.4, 0.4]]
    )
    np.testing.assert_allclose(DISC.project([[0.72, 0.96]]), [[0.6, 0.8]], atol=1e-14)
    np.testing.assert_allclose(hg.Torus(2).project([[7.0, 1.0]]), [[7 - 2 * np.pi, 1.0]])
    bounded = hg.Chart(lambda x: np.eye(2) + 0 * x[..., None], 2, bounds=((0, 1), (0, 2)))
    np.testing.assert_allclose(bounded.project([[-0.5, 3.0]]), [[0, 2]])


def test_a_manifold_of_ones_own_without_project():
    class Circle(hg.Manifold):
        shape, dim = (2,), 1

        def noise(self, x, z):
            return z - x * (x * z).sum(-1, keepdims=True)

        def exp(self, x, v):
            return self.polish(x + v)

        def random(self, rng, n):
            return self.polish(rng.standard_normal((n, 2)))

        def defect(self, x):
            return np.abs((x * x).sum(-1) - 1)

    class Polished(Circle):
        def polish(self, x):
            return x / np.sqrt((x * x).sum(-1, keepdims=True))

    np.testing.assert_allclose(Polished().project([[3.0, 4.0]]), [[0.6, 0.8]])
    with pytest.raises(OffManifold, match="`polish` does not lead to one"):
        Circle().project([[3.0, 4.0]])


def test_nearest_points_of_the_hyperboloid_from_its_axis():
    """From (x0, 0) the nearest point is the vertex up to x0 = 2, and one of a circle beyond."""
    M = hg.Hyperbolic(2)
    found = M.project([[1.5, 0, 0], [3.0, 0, 0], [3.0, 1e-15, 0]])
    np.testing.assert_allclose(found, [[1, 0, 0], [1.5, 1.25**0.5, 0], [1.5, 1.25**0.5, 0]], atol=1e-12)
