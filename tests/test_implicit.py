import re

import numpy as np
import pytest
from scipy.special import ellipeinc, ellipkinc

from heatgp import Implicit, Sphere, heat_kernel, walk
from heatgp.errors import InvalidInput, NotConverged, OffManifold
from heatgp.manifolds.checks import check_points
from heatgp.testing import check_manifold
from own_manifolds import FLAT, SPHERE, SPHEROID, TORUS, sphere_equation, torus_equation, two_circles
from statistics_helpers import assert_mean


@pytest.mark.parametrize("manifold", [SPHERE, TORUS, SPHEROID, FLAT])
def test_geodesics_stay_and_keep_their_speed_to_sixth_order(manifold, rng):
    x = manifold.random(rng, 20)
    v = manifold.noise(x, rng.standard_normal(x.shape))
    v *= 0.7 / manifold.curvature / np.linalg.norm(v, axis=-1, keepdims=True)
    fine = manifold.geodesic(x, v, 24)
    errors = []
    for substeps in (3, 6):
        y, w = manifold.geodesic(x, v, substeps)
        assert manifold.defect(y).max() < 1e-14
        speed = np.linalg.norm(w, axis=-1) * manifold.curvature / 0.7
        assert np.abs(speed - 1).max() < 1e-7
        errors.append(np.abs(y - fine[0]).max())
    assert errors[0] / errors[1] > 40  # 2^6, less rounding
    assert np.abs(manifold.exp(x, v) - fine[0]).max() < 2e-8


def test_geodesics_of_the_sphere(rng):
    x = SPHERE.random(rng, 100)
    v = SPHERE.noise(x, rng.standard_normal(x.shape))
    np.testing.assert_allclose(SPHERE.exp(x, v), Sphere(2).exp(x, v), atol=2e-8)
    z = rng.standard_normal(x.shape)
    np.testing.assert_allclose(SPHERE.step(x, z, 0.02), Sphere(2).step(x, z, 0.02), atol=1e-9)


def test_a_long_step_follows_the_geodesic(rng):
    x = SPHERE.random(rng, 200)
    z = rng.standard_normal(x.shape)
    np.testing.assert_allclose(SPHERE.step(x, z, 1.0), Sphere(2).step(x, z, 1.0), atol=1e-7)


def test_steps_differ_from_geodesics_by_third_order(rng):
    x, z = TORUS.random(rng, 100), rng.standard_normal((100, 3))
    gaps = [np.abs(TORUS.step(x, z, t) - TORUS.exp(x, TORUS.noise(x, t**0.5 * z))).max() for t in (4e-4, 1e-4)]
    assert gaps[0] / gaps[1] > 6
    assert TORUS.defect(TORUS.step(x, z, 4e-4)).max() < 1e-14


def spheroid_area(c):
    """Area of the spheroid x² + y² + z²/c² = 1, c < 1. Reference: Beyer (1987), CRC Standard Mathematical Tables."""
    e = np.sqrt(1 - c**2)
    return 2 * np.pi * (1 + (1 - e**2) / e * np.arctanh(e))


@pytest.mark.parametrize(
    "manifold, volume",
    [
        (TORUS, 4 * np.pi**2 * 0.4),
        *(
            pytest.param(manifold, volume, marks=pytest.mark.slow)
            for manifold, volume in ((SPHERE, 4 * np.pi), (FLAT, 2 * np.pi**2), (SPHEROID, spheroid_area(0.6)))
        ),
    ],
    ids=repr,
)
def test_volumes(manifold, volume):
    assert manifold.volume == pytest.approx(volume, rel=5e-3)


def test_volume_of_an_ellipsoid_with_three_axes():
    """Reference: Legendre's formula, DLMF 19.33.2."""
    a, b, c = 1.0, 0.8, 0.6
    ellipsoid = Implicit(lambda x: (x[..., 0] / a) ** 2 + (x[..., 1] / b) ** 2 + (x[..., 2] / c) ** 2 - 1, 2, 3)
    phi = np.arccos(c / a)
    m = a**2 * (b**2 - c**2) / (b**2 * (a**2 - c**2))
    rest = ellipkinc(phi, m) * np.cos(phi) ** 2 + ellipeinc(phi, m) * np.sin(phi) ** 2
    assert ellipsoid.volume == pytest.approx(2 * np.pi * (c**2 + a * b / np.sin(phi) * rest), rel=5e-3)


def test_random_points_are_uniform(rng):
    x = TORUS.random(rng, 20_000)
    assert TORUS.defect(x).max() < 1e-14
    tube = np.arctan2(x[:, 2], np.hypot(x[:, 0], x[:, 1]) - 1)
    # density of the angle around the tube prop. to 1 + 0.4 cos: moments 0.2, 0, 0
    assert_mean(np.stack((np.cos(tube), np.sin(tube), np.cos(2 * tube)), -1), [0.2, 0, 0], bias=2e-3)
    assert_mean(x, 0)


def test_brownian_motion_has_the_right_clock():
    x = walk(SPHERE, [0.0, 0, 1], [0.5], paths=20_000, step=0.02, rng=1)[0]
    assert_mean(x, [0, 0, np.exp(-0.5)], bias=2e-3)
    # Euclidean coordinates of a circle of radius 1/2 are eigenfunctions with eigenvalue 4
    x = walk(FLAT, [1.0, 0, 0.5, 0], [0.3], paths=20_000, step=0.01, rng=1)[0]
    assert_mean(x, [np.exp(-0.15), 0, 0.5 * np.exp(-0.6), 0], bias=2e-3)


def test_the_jacobian_may_be_given(rng):
    given = Implicit(sphere_equation, 2, 3, jacobian=lambda x: 2 * x)
    x, z = SPHERE.random(rng, 50), rng.standard_normal((50, 3))
    np.testing.assert_allclose(given.noise(x, z), SPHERE.noise(x, z), atol=1e-9)
    np.testing.assert_allclose(given.step(x, z, 0.05), SPHERE.step(x, z, 0.05), atol=1e-9)
    np.testing.assert_allclose(given.exp(x, given.noise(x, z)), Sphere(2).exp(x, given.noise(x, z)), atol=2e-8)


def test_jax_differentiates(rng):
    import jax

    with jax.enable_x64(True):
        x, z = TORUS.random(rng, 4), rng.standard_normal((4, 3))
        step = jax.jit(lambda x, z: TORUS.step(x, z, 0.01))
        np.testing.assert_allclose(step(jax.numpy.asarray(x), jax.numpy.asarray(z)), TORUS.step(x, z, 0.01), atol=1e-9)


def test_a_box_may_be_given(rng):
    boxed = Implicit(sphere_equation, 2, 3, bounds=((-2, 2),) * 3)
    assert boxed.volume == pytest.approx(4 * np.pi, rel=8e-3)
    far = Implicit(lambda x: ((x - 50) ** 2).sum(-1) - 4, 2, 3)
    assert far.volume == pytest.approx(16 * np.pi, rel=8e-3)
    np.testing.assert_allclose(far.random(rng, 5000).mean(0), 50, atol=0.1)


def test_projection(rng):
    x = TORUS.random(rng, 50)
    near = TORUS.project(x + 0.05 * rng.standard_normal(x.shape))
    assert TORUS.defect(near).max() < 1e-12
    with pytest.raises(OffManifold, match=re.escape("X[0] is not on Implicit(torus_equation, 2, 3): the distance")):
        check_points(TORUS, x + 0.05)


@pytest.mark.parametrize(
    "equation, message",
    [
        (lambda x: sphere_equation(x) ** 2, r"gradient of the constraint vanishes at x = .* use an equation whose"),
        (lambda x: (x**2).sum(-1) ** 2 - 2 * x[..., 0] ** 2 + 2 * x[..., 1] ** 2 + x[..., 2] ** 2, r"at x = .*0\.0"),
        (lambda x: x[..., 2] - x[..., 0] ** 2, r"seems to be unbounded.*Pass bounds"),
        (lambda x: (x * x).sum(-1) + 1, "hardly a point with g"),
    ],
)
def test_equations_that_are_no_manifold(equation, message):
    manifold = Implicit(equation, 2, 3)
    with pytest.raises(InvalidInput, match=message):
        manifold.random(np.random.default_rng(0), 10)


@pytest.mark.parametrize(
    "equation",
    [
        lambda x: np.abs(x).sum(-1) - 1,
        lambda x: np.abs(x).max(-1) - 1,
        lambda x: np.minimum(sphere_equation(x), sphere_equation(x - np.array([1.2, 0, 0]))),
    ],
    ids=["octahedron", "cube", "two spheres"],
)
def test_surfaces_that_are_not_smooth_are_refused_with_the_reason(equation):
    manifold = Implicit(equation, 2, 3)
    for work in (lambda: manifold.random(np.random.default_rng(0), 10), lambda: heat_kernel(manifold)):
        with pytest.raises(
            InvalidInput, match=r"is not smooth near x = \[.*\], where its gradient jumps.* Use a smooth"
        ):
            work()


@pytest.mark.parametrize(
    "equation",
    [
        lambda x: (x**4).sum(-1) - 1,
        lambda x: np.sqrt(x**2 + 1e-3).sum(-1) - 1,
        lambda x: x[..., 0] ** 2 + x[..., 1] ** 2 + 400 * x[..., 2] ** 2 - 1,
        lambda x: ((x.astype(np.float32)) ** 2).sum(-1) - 1,
    ],
    ids=["rounded cube", "rounded octahedron", "flat ellipsoid", "single precision"],
)
def test_surfaces_that_bend_sharply_are_smooth(equation):
    assert np.isfinite(Implicit(equation, 2, 3).curvature)


def test_wrong_arguments():
    with pytest.raises(InvalidInput, match="maps points of shape"):
        Implicit(two_circles, 3, 4)
    with pytest.raises(InvalidInput, match="integer ambient >= 3"):
        Implicit(sphere_equation, 2, 2)
    with pytest.raises(InvalidInput, match=r"bounds of 3 pairs \(low, high\)"):
        Implicit(sphere_equation, 2, 3, bounds=((0, 1),))
    with pytest.raises(InvalidInput, match="returns values of dtype complex128; needed are real numbers"):
        Implicit(lambda x: sphere_equation(x) + 0j, 2, 3)
    with pytest.raises(InvalidInput, match="returns values of dtype <U1; needed are real numbers"):
        Implicit(lambda x: np.full(x.shape[:-1], "a"), 2, 3)
    with pytest.raises(
        InvalidInput, match=r"The jacobian of Implicit maps .* needed is \(2, 3, 1, 3\), 1 row\(s\) of 3"
    ):
        Implicit(sphere_equation, 2, 3, lambda x: 2 * x[..., :2])
    with pytest.raises(NotConverged, match="misses the manifold"):
        SPHERE.geodesic(np.array([1.0, 0, 0]), np.array([0, 30.0, 0]), 1)


def test_separation_is_the_squared_distance_up_to_fifth_order(rng):
    """On the sphere, by its distance; on two circles of R^4, flat, by their angles."""
    angles = rng.uniform(0, 2 * np.pi, (50, 2))
    turn = rng.standard_normal((50, 2))
    x = SPHERE.random(rng, 50)
    v = SPHERE.noise(x, rng.standard_normal(x.shape))
    errors = []
    for size in (0.2, 0.1):
        flat = FLAT.separation(circles(angles), circles(angles + size * turn))
        truth = size**2 * (turn[:, 0] ** 2 + turn[:, 1] ** 2 / 4)
        sphere = SPHERE.separation(x, SPHERE.exp(x, size * v))
        errors.append((np.abs(flat - truth).max(), np.abs(sphere - size**2 * (v * v).sum(-1)).max()))
    assert (np.array(errors[0]) / errors[1] > 28).all()
    assert SPHERE.rough_separation(x, -x) == pytest.approx(4)


def circles(angle):
    """Points of FLAT from angles."""
    unit = np.stack((np.cos(angle), np.sin(angle)), axis=-1) * np.array([1, 0.5])[:, None]
    return unit.reshape(*angle.shape[:-1], 4)


def test_value():
    assert repr(TORUS) == "Implicit(torus_equation, 2, 3)"
    assert hash(TORUS) == hash(Implicit(torus_equation, 2, 3))
    assert SPHERE.step_limit == pytest.approx(0.06)
    assert TORUS.curvature == pytest.approx(2.5, rel=1e-2)


@pytest.mark.parametrize(
    "manifold", [TORUS, *(pytest.param(m, marks=pytest.mark.slow) for m in (SPHERE, SPHEROID, FLAT))], ids=repr
)
def test_properties(manifold):
    assert check_manifold(manifold) == []
