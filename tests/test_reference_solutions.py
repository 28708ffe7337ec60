"""Kernels through reference points against the heat equation: finite volumes, mirror images, exact kernels."""

import numpy as np
import pytest

from heat_solutions import SMALL, assert_within_error, neumann_kernel, reference_kernel, revolution_kernel
from heatgp import Domain, Euclidean, Implicit, Sphere, heat_kernel
from own_manifolds import SPHEROID, TORUS, TORUS_CHART, U_DOMAIN, sphere_equation


def torus_solution(places, time):
    truth, tube = revolution_kernel(
        lambda s: 1 + 0.4 * np.cos(s), lambda s: 0.4 + 0 * s, 2 * np.pi, True, places, time, cells=200
    )
    r = 1 + 0.4 * np.cos(tube)
    around = places[:, 1]
    return truth, np.stack((r * np.cos(around), r * np.sin(around), 0.4 * np.sin(tube)), axis=-1), tube


def spheroid_solution(places, time):
    truth, angle = revolution_kernel(
        np.sin, lambda s: np.sqrt(np.cos(s) ** 2 + 0.36 * np.sin(s) ** 2), np.pi, False, places, time, cells=200
    )
    ring = np.sin(angle)
    x = np.stack((ring * np.cos(places[:, 1]), ring * np.sin(places[:, 1]), 0.6 * np.cos(angle)), axis=-1)
    return truth, x


def places(rng, top, number=40):
    return np.stack((np.clip(rng.uniform(0, top, number), 0.2, top - 0.2), rng.uniform(0, 2 * np.pi, number)), axis=-1)


@pytest.mark.parametrize("full", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_torus_of_revolution(full, rng):
    size = {"rng": 0} if full else SMALL | {"times": (0.4, 1.6)}
    chart, equation = reference_kernel(TORUS_CHART, **size), reference_kernel(TORUS, **size)
    for time in (0.5, 4.0):
        truth, x, tube = torus_solution(p := places(rng, 2 * np.pi), time)
        assert_within_error(equation, x, truth, time)
        assert_within_error(chart, np.stack((tube, p[:, 1]), axis=-1), truth, time)


@pytest.mark.parametrize("full", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_spheroid(full, rng):
    kernel = reference_kernel(SPHEROID, **({"rng": 0} if full else SMALL | {"times": (0.3, 1.2)}))
    for time in (0.4, 2.0):
        truth, x = spheroid_solution(places(rng, np.pi), time)
        assert_within_error(kernel, x, truth, time)


def u_by_a_function(x):
    land = (x[..., 0] > 0.8) & (x[..., 1] > 0.8) & (x[..., 1] < 1.2)
    return (x > 0).all(-1) & (x[..., 0] < 3) & (x[..., 1] < 2) & ~land


@pytest.mark.parametrize("full", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("domain", [U_DOMAIN, Domain(Euclidean(2), u_by_a_function, ((0, 3), (0, 2)))])
def test_u_shaped_domain(domain, full, rng):
    kernel = reference_kernel(domain, **({"rng": 0} if full else SMALL))
    for time, side in ((0.25, 0.025), (2.0, 0.05)):
        y = (np.floor(domain.random(rng, 50) / side) + 0.5) * side
        truth = neumann_kernel(domain.contains, ((0, 3), (0, 2)), side, y[:8], y, time)
        assert_within_error(kernel, y[:8], truth, time, y)


def by_images(x, y, time, side):
    """The kernel of an interval with reflecting ends: the point and its mirror images."""
    shift = 2 * side * np.arange(-4, 5)
    gaps = np.stack((x[:, None] - y, x[:, None] + y))[..., None] + shift
    return np.exp(-(gaps**2) / (2 * time)).sum(axis=(0, -1)) / np.sqrt(2 * np.pi * time)


@pytest.mark.parametrize("full", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_square(full, rng):
    """At the boundary and away from it: averages that a boundary cuts off must not slow the others down."""
    square = Domain(Euclidean(2), ((0, 0), (2, 0), (2, 2), (0, 2)))
    kernel = reference_kernel(square, **({"rng": 0} if full else SMALL))
    x = square.random(rng, 200)
    for time in (0.12, 0.3, 3.0):
        truth = np.prod([by_images(x[:, i], x[:, i], time, 2.0) for i in range(2)], axis=0)
        assert_within_error(kernel, x, truth, time)
        middle = np.abs(x - 1).max(axis=1) < 0.5
        assert np.diag(kernel(x, time=time) / truth)[middle].mean() == pytest.approx(1, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("full", [False, True])
def test_three_dimensions(full, rng):
    """The three-sphere as an equation, and a box: coarser, since 400 points are seven to a side."""
    size = {"rng": 0} if full else SMALL | {"references": 250}
    sphere = Implicit(sphere_equation, 3, 4)
    box = Domain(Euclidean(3), lambda x: x[..., 0] > -1, ((0, 1),) * 3)
    for manifold, truth in (
        (sphere, lambda x, t: heat_kernel(Sphere(3), "exact")(x, time=t)),
        (box, lambda x, t: np.prod([by_images(x[:, i], x[:, i], t, 1.0) for i in range(3)], axis=0)),
    ):
        kernel = reference_kernel(manifold, **size)
        x = manifold.random(rng, 100)
        for time in kernel.grid[1:4:2]:
            expected = truth(x, float(time))
            gap = np.abs(kernel(x, time=time) - expected)
            ratio = np.sqrt((gap**2).mean() / (kernel.standard_error(x, time=time) ** 2).mean())
            assert gap.max() < 0.08 * expected.max()
            assert 0.2 < ratio < 1.7
            assert np.linalg.eigvalsh(kernel(x, time=time))[0] > -1e-10 * expected.max()
