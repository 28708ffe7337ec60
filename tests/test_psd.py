"""Positive definite by construction: the spectrum of Gram matrices, and how little it costs."""

import math
import warnings

import mpmath
import numpy as np
import pytest

from heatgp import (
    ComplexProjective,
    Euclidean,
    Orthogonal,
    RealProjective,
    SpecialOrthogonal,
    SpecialUnitary,
    Sphere,
    Torus,
    TorusKnot,
    Unitary,
)
from heatgp.errors import AccuracyWarning, Unsupported
from heatgp.heat.exact.families import complex_projective, real_projective, sphere
from heatgp.heat.methods import Exact, Strip
from heatgp.heat.positive.zonal import PositiveProfile, Zonal, zonal
from heatgp.paths.samples import orbit_samples


def strip_kernel(manifold, times, paths, **options):
    samples = orbit_samples(manifold, times, paths=paths, step=0.02, rng=0, cache=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        return Strip(**options).from_samples(samples)


@pytest.mark.parametrize(
    "manifold, expected",
    [
        (Sphere(1), (-0.5, -0.5, 1)),
        (Sphere(4), (1, 1, 1)),
        (RealProjective(3), (0.5, -0.5, 2)),
        (ComplexProjective(3), (2, 0, 2)),
        (SpecialOrthogonal(3), (0.5, -0.5, 1)),
        (SpecialUnitary(2), (0.5, 0.5, 1)),
        (Unitary(1), (-0.5, -0.5, math.sqrt(2))),
        (Torus(1), (-0.5, -0.5, 1)),
        (TorusKnot(2, 3), (-0.5, -0.5, 1)),
    ],
    ids=repr,
)
def test_zonal_functions_are_read_off_the_roots(manifold, expected):
    found = zonal(manifold)
    assert (found.alpha, found.beta, found.speed) == pytest.approx(expected)


@pytest.mark.parametrize("functions", [Zonal(0, 0, 1), Zonal(2, 0, 2), Zonal(0.5, -0.5, 1), Zonal(-0.5, -0.5, 1)])
def test_polynomials_against_high_precision(functions):
    distance = np.array([0.0, 1e-6, 0.3, 1.2, math.pi / functions.speed])
    values, rises = functions.polynomials(distance, 41)
    for k in (0, 1, 7, 40):
        for i, d in enumerate(distance):

            def polynomial(r, k=k):
                x = mpmath.cos(functions.speed * r)
                one = mpmath.jacobi(k, functions.alpha, functions.beta, 1)
                return mpmath.jacobi(k, functions.alpha, functions.beta, x) / one

            assert values[k, i] == pytest.approx(float(polynomial(mpmath.mpf(d))), abs=1e-11)
            if 0 < i < 4:
                assert rises[k, i] == pytest.approx(float(mpmath.diff(polynomial, mpmath.mpf(d))), abs=1e-8)
    assert functions.terms(100.0) >= np.count_nonzero(functions.eigenvalues(50) <= 100)


@pytest.mark.parametrize(
    "manifold, exact",
    [(Sphere(2), sphere(2)), (RealProjective(3), real_projective(3)), (ComplexProjective(2), complex_projective(2))],
    ids=lambda value: repr(value)[:20],
)
def test_an_exact_kernel_is_left_as_it_is(manifold, exact):
    profile, theta = PositiveProfile(manifold, exact), np.linspace(0, 1.5, 40)[:, None]
    for time in (0.02, 0.3):
        kernel, reference = profile.at(time), exact.at(time)
        np.testing.assert_allclose(kernel(theta), reference(theta), atol=1e-3 * float(reference(theta[0])))
        scale = abs(reference.slope(theta)).max()
        np.testing.assert_allclose(kernel.slope(theta), reference.slope(theta), atol=5e-3 * scale)
        weights, _ = profile.coefficients(time)
        k = np.arange(4)
        decay = np.exp(-profile.zonal.eigenvalues(4) * time / 2)
        dimension = {2: 2 * k + 1, 3: (2 * k + 1) ** 2, 4: (k + 1) ** 3}[manifold.dim]
        np.testing.assert_allclose(weights[:4] * manifold.volume, dimension * decay, rtol=1e-9)


def test_a_counted_kernel_on_the_sphere_becomes_positive_definite():
    """100,000 paths: negative eigenvalues before, none beyond rounding after, at no cost in accuracy."""
    kernel = strip_kernel(Sphere(2), np.geomspace(0.06, 0.5, 6), 100_000)
    better = kernel.as_positive_definite()
    assert better.as_positive_definite() is better
    X = Sphere(2).random(np.random.default_rng(1), 300)
    theta = np.linspace(0, np.pi, 200)[:, None]
    for time in (0.07, 0.1, 0.3, 0.5):
        before, after = (np.linalg.eigvalsh(k(X, time=time)) for k in (kernel, better))
        assert before[0] < -2e-4 * before[-1]
        assert after[0] > -1e-13 * after[-1]
        old, new, exact = kernel.profile.at(time), better.profile.at(time), sphere(2).at(time)(theta)
        change = abs(new(theta) - old(theta))
        assert change.max() < 2 * old.error(theta).max()
        assert np.sqrt(np.mean((new(theta) - exact) ** 2)) < 1.2 * np.sqrt(np.mean((old(theta) - exact) ** 2))
        assert (abs(new(theta) - exact) < 4 * new.error(theta) + 1e-3 * exact[0]).all()


@pytest.mark.parametrize("manifold", [ComplexProjective(2), SpecialOrthogonal(3), SpecialUnitary(2)], ids=repr)
def test_other_spaces_of_rank_one(manifold):
    kernel = strip_kernel(manifold, [0.1, 0.2], 5000)
    X = manifold.random(np.random.default_rng(2), 150)
    assert np.linalg.eigvalsh(kernel(X, time=0.15))[0] < 0
    eigenvalues = np.linalg.eigvalsh(kernel.as_positive_definite()(X, time=0.15))
    assert eigenvalues[0] > -1e-12 * eigenvalues[-1]


def test_slope_is_the_derivative_in_time():
    profile = strip_kernel(Sphere(2), [0.1, 0.15, 0.2], 5000).as_positive_definite().profile
    theta, h = np.linspace(0, 3, 30)[:, None], 1e-6
    for time in (0.12, 0.18):
        difference = (profile.at(time + h)(theta) - profile.at(time - h)(theta)) / (2 * h)
        slope = profile.at(time).slope(theta)
        np.testing.assert_allclose(slope, difference, atol=1e-3 * abs(slope).max())
    assert profile.times == pytest.approx((0.1, 0.2), rel=0.01)


def test_the_other_component_of_o3_stays_out_of_reach():
    kernel = strip_kernel(Orthogonal(3), [0.1], 2000).as_positive_definite().profile.at(0.1)
    theta = np.array([[math.inf], [0.2]])
    assert kernel(theta)[0] == kernel.error(theta)[0] == 0 < kernel(theta)[1]


def test_strips_on_a_torus_become_positive_definite():
    """Its spherical functions are products of cosines, summed over the orders of the circles."""
    manifold = Torus(2)
    kernel = strip_kernel(manifold, [0.2, 0.3], 20_000)
    better = kernel.as_positive_definite()
    X = manifold.random(np.random.default_rng(0), 200)
    before, after = (np.linalg.eigvalsh(k(X, time=0.25)) for k in (kernel, better))
    assert before[0] < -1e-3 * before[-1]
    assert after[0] > -1e-12 * after[-1]
    exact = Exact().kernel(manifold)(X, time=0.25)
    deviation = (better(X, time=0.25) - exact) / better.standard_error(X, time=0.25)
    assert abs(deviation).max() < 5
    assert np.sqrt(np.mean(deviation**2)) < 1.5


def test_what_it_cannot_do_is_said():
    with pytest.raises(Unsupported, match=r"Euclidean\(2\) is not positive definite.*method='auto'"):
        strip_kernel(Euclidean(2), [0.1], 500).as_positive_definite()
    with pytest.raises(Unsupported, match=r"SpecialOrthogonal\(8\) is not positive definite.*up to rank three"):
        strip_kernel(SpecialOrthogonal(8), [0.1], 500, distance=True).as_positive_definite()
