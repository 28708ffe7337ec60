"""The property suite finds planted mistakes, each by its own property, and is content with six members."""

import numpy as np
import pytest

from heatgp import ComplexProjective, Grassmann, Product, Scaled, Sphere, Stiefel, Torus, Unitary, heat_kernel
from heatgp.errors import InvalidInput, Unsupported
from heatgp.heat.kernel import HeatKernel
from heatgp.manifolds import Manifold
from heatgp.testing import check_kernel, check_manifold


class Minimal(Manifold):
    """S^2 with the six required members."""

    shape = (3,)
    dim = 2

    def noise(self, x, z):
        return z - x * (x * z).sum(axis=-1, keepdims=True)

    def exp(self, x, v):
        return Sphere(2).exp(x, v)

    def random(self, rng, n):
        return Sphere(2).random(rng, n)

    def defect(self, x):
        return Sphere(2).defect(x)


class Complete(Minimal):
    """What the mistakes below are planted in."""

    volume = 4 * np.pi

    def distance(self, x, y):
        return Sphere(2).distance(x, y)


class LongNoise(Complete):
    def noise(self, x, z):
        return 1.01 * super().noise(x, z)


class LongNoiseInMetric(LongNoise):
    """Beside the right metric; the basis comes from noise."""

    def metric(self, x, u, v):
        return (u * v).sum(axis=-1)


class SkewNoise(Complete):
    """The right trace, but not the same in all directions."""

    def noise(self, x, z):
        scale = np.array([1.2, 1.0, 0.8], dtype=z.dtype)
        return super().noise(x, scale * z)


class NormalNoise(Complete):
    """A component along the normal."""

    def noise(self, x, z):
        return super().noise(x, z) + 0.001 * z


class HiddenNormalNoise(NormalNoise):
    """The same where exp projects."""

    def exp(self, x, v):
        return Sphere(2).polish(super().exp(x, v))


class Retraction(Complete):
    """Straight out and back: right to second order, no geodesic."""

    def exp(self, x, v):
        y = x + v
        return y / np.sqrt((y * y).sum(axis=-1, keepdims=True))


class Leaving(Complete):
    def exp(self, x, v):
        return x + v


class Squeezing(Complete):
    def exp(self, x, v):
        return np.squeeze(super().exp(x, v))


class PoleHeavy(Complete):
    """Uniform angles instead of uniform points."""

    def random(self, rng, n):
        a, b = rng.uniform(0, np.pi, n), rng.uniform(0, 2 * np.pi, n)
        return np.stack((np.sin(a) * np.cos(b), np.sin(a) * np.sin(b), np.cos(a)), axis=-1)


class OffPoints(Complete):
    def random(self, rng, n):
        return 1.001 * super().random(rng, n)


class Unseeded(Complete):
    def random(self, rng, n):
        return super().random(np.random.default_rng(), n)


class Chordal(Complete):
    def distance(self, x, y):
        return np.sqrt(((x - y) ** 2).sum(axis=-1))


class SlowStep(Complete):
    def step(self, x, z, time):
        return super().step(x, z, 0.8 * time)


class DriftingStep(Complete):
    def step(self, x, z, time):
        return super().step(x, z + 0.2, time)


class MovingPolish(Complete):
    def polish(self, x):
        return -x


class WrongDimension(Complete):
    dim = 3


class FirstOnly(Complete):
    """Uses the first of a batch for all."""

    def defect(self, x):
        return super().defect(x[:1]) + 0 * x[..., 0] if x.ndim == 2 else super().defect(x)

    def embed(self, x):
        return x[:1] + 0 * x if x.ndim > 1 else x


class InfiniteNoise(Complete):
    def noise(self, x, z):
        return super().noise(x, z) + np.inf


class AllDirections(Complete):
    def noise(self, x, z):
        return z + 0 * x


class SingleNoise(Complete):
    def noise(self, x, z):
        return super().noise(x, z).astype(np.float32)


class TextDimension(Complete):
    dim = "2"


class NegativeVolume(Complete):
    volume = -1.0


class ListShape(Complete):
    shape = property(lambda self: [3])


class Double(Complete):
    """Constants of NumPy in double precision, as many write them."""

    def noise(self, x, z):
        return np.float64(1) * super().noise(x, z)

    def exp(self, x, v):
        return np.float64(1) * super().exp(x, v)

    def polish(self, x):
        return np.float64(1) * x


class InPlace(Complete):
    def exp(self, x, v):
        y = super().exp(x, v)
        y[..., 0] = y[..., 0]
        return y


class NumPyOnly(Complete):
    def exp(self, x, v):
        if not isinstance(x, np.ndarray):
            raise Unsupported("for NumPy arrays alone")
        return super().exp(x, v)


class Failing(Complete):
    def defect(self, x):
        raise ZeroDivisionError("no idea")


def test_six_members_are_enough():
    assert check_manifold(Minimal()) == []
    assert check_manifold(Complete()) == []
    assert check_manifold(NumPyOnly()) == []


def test_constants_in_double_precision_are_no_mistake():
    """Arrays in single precision become double: the geometry is right."""
    assert check_manifold(Double()) == []


@pytest.mark.parametrize(
    "mistake, problem",
    [
        (LongNoise, "covariance: E|noise|² = 2.0402, dim = 2"),
        (LongNoiseInMetric, "inner_products: E|noise|² = 2.0402 in the metric, dim = 2"),
        (SkewNoise, "covariance: covariance of noise is not the identity"),
        (NormalNoise, "exponential: defect of exp(x, 0.1 v)"),
        (HiddenNormalNoise, "tangents: noise is not tangent"),
        (Retraction, "geodesics: distance along the geodesic"),
        (Leaving, "exponential: defect of exp(x, 0.1 v)"),
        (Squeezing, "batches: exp of one point: shape (3,) instead of (1, 3)"),
        (PoleHeavy, "uniformity: random is not uniform"),
        (OffPoints, "points: defect of random points: 0.001 > 1e-08"),
        (Unseeded, "points: random differs for equal seeds"),
        (Chordal, "geodesics: distance along the geodesic"),
        (SlowStep, "variation: the mean squared length of a step is not dim * time"),
        (DriftingStep, "stepping: mean of step and of exp(noise) differ"),
        (MovingPolish, "polishing: polish moves points"),
        (WrongDimension, "tangents: noise spans 2 directions, dim is 3"),
        (FirstOnly, "batches: embed of a batch differs from a loop"),
        (ListShape, "declaration: shape must be a tuple of positive integers; it is [3]"),
        (InfiniteNoise, "tangents: noise is not finite, though x and z are"),
        (AllDirections, "tangents: noise spans 3 directions, dim is 2"),
        (SingleNoise, "tangents: noise of points (6, 3), float64 has shape (6, 3), dtype float32"),
        (TextDimension, "declaration: dim must be a positive integer; it is '2'"),
        (NegativeVolume, "uniformity: volume must be positive; it is -1.0"),
        (InPlace, "under_jax: TypeError under JAX"),
        (Failing, "points: raised ZeroDivisionError: no idea"),
    ],
)
def test_finds_planted_mistakes(mistake, problem):
    problems = check_manifold(mistake())
    assert any(found.startswith(problem) for found in problems), problems
    assert not any("tangent_basis" in found for found in problems), problems


def test_names_missing_members():
    class Empty(Minimal):
        dim = property(lambda self: Minimal.absent)

    assert check_manifold(Empty()) == ["Empty lacks the required member 'dim'"]
    assert check_manifold(3) == [
        "int is not a subclass of heatgp.Manifold, which has the defaults of all but "
        "shape, dim, noise, exp, random, defect"
    ]


@pytest.mark.parametrize("tolerance", ["a", None, np.nan], ids=str)
def test_a_tolerance_is_a_number(tolerance):
    kernel, message = heat_kernel(Sphere(2)), f"tolerance must be a finite number; got {tolerance!r}"
    with pytest.raises(InvalidInput, match=message):
        check_manifold(Sphere(2), 0, tolerance)
    with pytest.raises(InvalidInput, match=message):
        check_kernel(kernel, tolerance=tolerance)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"tolerance": -1}, "tolerance must be 0 or positive; got -1"),
        ({"draws": 0}, "draws must be a positive integer; got 0"),
        ({"draws": 31}, "draws = 31 must be at least 32"),
        ({"draws": "a"}, "draws must be a positive integer; got 'a'"),
        ({"reproducible": "no"}, "reproducible must be True or False; got 'no'"),
    ],
)
def test_arguments_that_would_blame_a_right_kernel(options, message):
    with pytest.raises(InvalidInput, match=message):
        check_kernel(heat_kernel(Sphere(1)), **options)
    if "tolerance" in options:
        with pytest.raises(InvalidInput, match=message):
            check_manifold(Sphere(1), **options)


def test_the_fewest_draws():
    assert check_kernel(heat_kernel(Sphere(1)), draws=32) == []


def test_a_class_in_place_of_a_manifold_is_named():
    assert check_manifold(Sphere) == ["Sphere is a class: pass an instance of it, such as Sphere(...)"]
    (found,) = check_kernel(HeatKernel)
    assert found == "HeatKernel is a class: pass an instance, such as heatgp.heat_kernel(Sphere(2)) makes."


def test_a_wrong_tangent_basis_is_named():
    class WrongBasis(Complete):
        def metric(self, x, u, v):
            return (u * v).sum(axis=-1)

        def tangent_basis(self, x):
            return 1.1 * super().tangent_basis(x)

    assert any("tangent_basis is not orthonormal" in found for found in check_manifold(WrongBasis()))


def test_wrong_symmetry_is_found(monkeypatch):
    sphere = Sphere(3)
    monkeypatch.setattr(Sphere, "log_strip", lambda self, theta: np.log(4 * np.pi * np.sin(theta[..., 0])))
    assert any(p.startswith("strip: volume of orbits") for p in check_manifold(sphere))
    monkeypatch.undo()
    monkeypatch.setattr(Sphere, "orbit", lambda self, x, y: 0.9 * np.arccos((x * y).sum(axis=-1))[..., None])
    problems = check_manifold(sphere)
    assert any(p.startswith("strip: mean of orbits") for p in problems)
    assert any(p.startswith("orbits: cos(orbits) differs") for p in problems)


def test_what_random_points_cannot_tell_is_refused():
    with pytest.raises(Unsupported, match=r"Sphere\(101\) has 101 dimensions.*up to 100"):
        check_manifold(Sphere(101))
    with pytest.raises(Unsupported, match=r"Sphere\(51\) has 51 dimensions.*up to 50"):
        check_kernel(heat_kernel(Sphere(51)))


@pytest.mark.parametrize("manifold", [Sphere(100), Torus(100), Stiefel(11, 5), Stiefel(13, 2, "complex")], ids=repr)
def test_right_manifolds_of_many_dimensions_pass(manifold):
    assert check_manifold(manifold, rng=2) == []


@pytest.mark.parametrize(
    "manifold", [Sphere(50), Torus(50), ComplexProjective(25), Scaled(Sphere(50), 100.0)], ids=repr
)
def test_right_kernels_of_many_dimensions_pass(manifold):
    assert check_kernel(heat_kernel(manifold)) == []


@pytest.mark.parametrize(
    "manifold",
    [
        Sphere(2000),
        Torus(500),
        Unitary(40),
        Grassmann(100, 50, "complex"),
        Stiefel(60, 30, "complex"),
        Scaled(Sphere(100), 1e9),
        Product(Sphere(300), Sphere(300)),
    ],
    ids=repr,
)
def test_volumes_beyond_floating_point_numbers_are_refused(manifold):
    with pytest.raises(Unsupported, match=r"is exp\(.*\), beyond floating point numbers"):
        _ = manifold.volume
