import re

import numpy as np
import pytest

from heatgp import Chart, Sphere, walk
from heatgp.errors import InvalidInput, Unsupported
from heatgp.testing import check_manifold
from own_manifolds import SPHERE_CHART, TORUS, TORUS_CHART, over_the_poles, sphere_metric, sphere_points, torus_metric
from statistics_helpers import assert_mean


def push(x, v):
    """Tangent vector of the sphere with components v in (theta, phi)."""
    theta, phi = x[..., 0], x[..., 1]
    south = np.stack((np.cos(theta) * np.cos(phi), np.cos(theta) * np.sin(phi), -np.sin(theta)), axis=-1)
    east = np.stack((-np.sin(phi), np.cos(phi), 0 * phi), axis=-1)
    return south * v[..., :1] + east * (np.sin(theta) * v[..., 1])[..., None]


def test_geodesics_of_the_sphere_pass_the_poles(rng):
    x = SPHERE_CHART.random(rng, 300)
    v = SPHERE_CHART.noise(x, rng.standard_normal(x.shape))
    error = np.linalg.norm(sphere_points(SPHERE_CHART.exp(x, v)) - Sphere(2).exp(sphere_points(x), push(x, v)), axis=-1)
    assert np.median(error) < 1e-8
    assert error.max() < 1e-4
    over = SPHERE_CHART.exp(np.array([0.1, 1.0]), np.array([-0.3, 0.0]))
    np.testing.assert_allclose(over, [0.2, 1 + np.pi], atol=1e-7)


def test_speed_is_kept_and_the_order_is_four(rng):
    x = TORUS_CHART.random(rng, 50)
    v = TORUS_CHART.noise(x, rng.standard_normal(x.shape))
    errors, drifts = [], []
    fine = TORUS_CHART.integrate(x, v, 512, False)[0]
    for substeps in (16, 32):
        y, w, drift = TORUS_CHART.integrate(x, v, substeps, False)
        np.testing.assert_allclose(TORUS_CHART.square(y, w), TORUS_CHART.square(x, v), rtol=1e-12)
        errors.append(np.abs(y - fine).max())
        drifts.append(drift.max())
    assert errors[0] / errors[1] > 12
    assert drifts[0] / drifts[1] > 12
    assert np.abs(TORUS_CHART.geodesic(x, v)[0] - fine).max() < 1e-6


def test_ricci_curvature(rng):
    """1 on the sphere, K = cos / (r (R + r cos)) on the torus, -2 in hyperbolic space of dimension three."""

    def half_space(x):
        return np.eye(3) / x[..., 2, None, None] ** 2

    hyperbolic = Chart(half_space, 3, bounds=((0, 1), (0, 1), (1, 2)))
    torus = TORUS_CHART.random(rng, 50)
    cases = [
        (SPHERE_CHART, SPHERE_CHART.random(rng, 50), np.ones(50)),
        (TORUS_CHART, torus, np.cos(torus[:, 0]) / 0.4 / (1 + 0.4 * np.cos(torus[:, 0]))),
        (hyperbolic, hyperbolic.random(rng, 50), np.full(50, -2.0)),
    ]
    for chart, x, value in cases:
        np.testing.assert_allclose(chart.ricci(x), value[:, None, None] * chart.metric(x), atol=1e-4)
    assert SPHERE_CHART.step_limit == pytest.approx(0.06, rel=1e-3)
    assert TORUS_CHART.step_limit == pytest.approx(0.06 * 0.24, rel=0.01)  # of the inner ring


def test_a_chart_and_an_equation_have_the_same_geodesics(rng):
    x = TORUS_CHART.random(rng, 20)
    z = 0.5 * rng.standard_normal(x.shape)
    v = TORUS_CHART.noise(x, z)

    def points(x):
        r = 1 + 0.4 * np.cos(x[..., 0])
        return np.stack((r * np.cos(x[..., 1]), r * np.sin(x[..., 1]), 0.4 * np.sin(x[..., 0])), axis=-1)

    w = (points(x + 1e-5 * v) - points(x - 1e-5 * v)) / 2e-5
    np.testing.assert_allclose(points(TORUS_CHART.exp(x, v)), TORUS.exp(points(x), w), atol=1e-6)


def test_separation_is_the_squared_distance_to_sixth_order(rng):
    x = SPHERE_CHART.random(rng, 200)
    x = x[np.abs(x[:, 0] - np.pi / 2) < 1]
    v = SPHERE_CHART.noise(x, rng.standard_normal(x.shape))
    v /= np.sqrt(SPHERE_CHART.square(x, v))[:, None]
    errors = []
    for r in (0.2, 0.1):
        y = SPHERE_CHART.exp(x, r * v)
        errors.append(np.abs(SPHERE_CHART.separation(x, y) - r * r).max())
        assert np.abs(SPHERE_CHART.rough_separation(x, y) / r**2 - 1).max() < 0.05
    assert errors[0] / errors[1] > 25
    across = SPHERE_CHART.separation(np.array([0.05, 0.0]), np.array([0.05, np.pi]))
    assert 0.1**2 <= across <= 1.4 * 0.1**2


def test_volume_and_uniform_law(rng):
    assert SPHERE_CHART.volume == pytest.approx(4 * np.pi, rel=1e-4)
    assert TORUS_CHART.volume == pytest.approx(4 * np.pi**2 * 0.4, rel=1e-4)
    p = sphere_points(SPHERE_CHART.random(rng, 20_000))
    assert_mean(np.concatenate((p, p * p), axis=-1), [0, 0, 0, 1 / 3, 1 / 3, 1 / 3])


def test_brownian_motion_has_the_right_clock():
    start = np.array([0.3, 1.0])  # so near the pole that most paths pass it
    x = walk(SPHERE_CHART, start, [0.2], paths=10_000, step=0.02, rng=3)[0]
    assert_mean(sphere_points(x), np.exp(-0.2) * sphere_points(start), bias=3e-3)
    assert (SPHERE_CHART.defect(x) == 0).all()


def test_jax_agrees(rng):
    import jax

    with jax.enable_x64(True):
        x, z = TORUS_CHART.random(rng, 4), rng.standard_normal((4, 2))
        a, b = jax.numpy.asarray(x), jax.numpy.asarray(z)
        np.testing.assert_allclose(TORUS_CHART.step(a, b, 0.01), TORUS_CHART.step(x, z, 0.01), atol=1e-4)
        np.testing.assert_allclose(TORUS_CHART.exp(a, 0.3 * b), TORUS_CHART.exp(x, 0.3 * z), atol=1e-7)


def test_one_and_three_dimensions(rng):
    line = Chart(lambda x: 4 + 0 * x[..., None], 1, (1.0,))
    assert line.volume == pytest.approx(2.0)
    np.testing.assert_allclose(line.exp(np.array([0.9]), np.array([0.2])), [0.1], atol=1e-9)
    flat = Chart(lambda x: np.eye(3) * (1 + 0 * x[..., None]), 3, (1.0, 1.0, 1.0))
    x, v = flat.random(rng, 5), 0.1 * rng.standard_normal((5, 3))
    np.testing.assert_allclose(flat.exp(x, v), (x + v) % 1, atol=1e-9)


def test_errors_name_the_coordinates():
    with pytest.raises(InvalidInput, match=r"not positive definite at x = \[.*the eigenvalue -1"):
        Chart(lambda x: -np.eye(2) + 0 * x[..., None], 2)
    with pytest.raises(InvalidInput, match=re.escape("at x = [0.0, 1.0]: G = [[1.0, 0.0], [0.0, 0.0]]") + ".*poles"):
        SPHERE_CHART.noise(np.array([0.0, 1.0]), np.zeros(2))
    with pytest.raises(InvalidInput, match="must be finite and symmetric as well"):
        Chart(lambda x: np.array([[1.0, 0.5], [0.0, 1.0]]) + 0 * x[..., None], 2)
    with pytest.raises(InvalidInput, match="must be finite and symmetric as well"):
        Chart(lambda x: np.eye(2) * np.nan + 0 * x[..., None], 2)
    with pytest.raises(InvalidInput, match="needed is \\(2, 3, 2, 2\\)"):
        Chart(lambda x: x, 2)
    with pytest.raises(InvalidInput, match="a period or None for each of 2"):
        Chart(sphere_metric, 2, (1.0,))
    with pytest.raises(Unsupported, match="has no bounds: pass bounds"):
        Chart(sphere_metric, 2).random(np.random.default_rng(0), 3)


def test_leaving_the_patch_is_an_error():
    patch = Chart(sphere_metric, 2, bounds=((0.5, 1.0), (0.0, 1.0)))
    with pytest.raises(InvalidInput, match=r"has left the bounds of Chart.*periodic, wrap.*Domain"):
        walk(patch, np.array([0.9, 0.9]), [1.0], paths=50, step=0.05, rng=0)


def test_value():
    assert repr(SPHERE_CHART) == "Chart(sphere_metric, 2)"
    again = Chart(sphere_metric, 2, (None, 2 * np.pi), ((0, np.pi), None), over_the_poles)
    assert again == SPHERE_CHART
    assert hash(again) == hash(SPHERE_CHART)
    assert Chart(torus_metric, 2, (2 * np.pi, 2 * np.pi)).bounds == ((0.0, 2 * np.pi),) * 2


@pytest.mark.parametrize("manifold", [TORUS_CHART, pytest.param(SPHERE_CHART, marks=pytest.mark.slow)], ids=repr)
def test_properties(manifold):
    assert check_manifold(manifold) == []
