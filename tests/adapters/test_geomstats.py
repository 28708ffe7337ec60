"""geomstats: the same distances, points both ways, and any space with an exponential map as a manifold."""

import doctest
import os
import subprocess
import sys

import jax
import numpy as np
import pytest

import heatgp as hg
from heat_solutions import assert_within_error
from heatgp.adapters import geomstats as adapter
from heatgp.adapters.geomstats import GeomstatsManifold, from_geomstats, to_geomstats
from heatgp.adapters.quiet import quiet_import
from heatgp.errors import InvalidInput, OffManifold, Unsupported
from heatgp.testing import check_manifold

with quiet_import():
    import geomstats.backend as gs
    from geomstats.geometry.complex_poincare_disk import ComplexPoincareDisk
    from geomstats.geometry.euclidean import Euclidean
    from geomstats.geometry.grassmannian import Grassmannian
    from geomstats.geometry.hpd_matrices import HPDMatrices
    from geomstats.geometry.hyperbolic import Hyperbolic
    from geomstats.geometry.hypersphere import Hypersphere
    from geomstats.geometry.klein_bottle import KleinBottle
    from geomstats.geometry.matrices import Matrices
    from geomstats.geometry.nfold_manifold import NFoldManifold, NFoldMetric
    from geomstats.geometry.poincare_polydisk import PoincarePolydisk
    from geomstats.geometry.pre_shape import PreShapeSpace
    from geomstats.geometry.product_manifold import ProductManifold
    from geomstats.geometry.spd_matrices import (
        SPDBuresWassersteinMetric,
        SPDLogEuclideanMetric,
        SPDMatrices,
    )
    from geomstats.geometry.special_euclidean import SpecialEuclidean
    from geomstats.geometry.special_orthogonal import SpecialOrthogonal
    from geomstats.geometry.stiefel import Stiefel
    from geomstats.geometry.symmetric_matrices import SymmetricMatrices
    from geomstats.information_geometry.dirichlet import DirichletDistributions
    from geomstats.information_geometry.normal import NormalDistributions

ROOT2 = 2**0.5


def shapes(k, m=2):
    return PreShapeSpace(k, m).equip_with_group_action("rotations").equip_with_quotient()


def log_euclidean(n):
    return SPDMatrices(n, equip=False).equip_with_metric(SPDLogEuclideanMetric)


def times(space, factor):
    return space.equip_with_metric(factor * space.metric)


SPACES = [
    (Hypersphere(1), hg.Sphere(1)),
    (Hypersphere(4), hg.Sphere(4)),
    (times(Hypersphere(2), 9.0), hg.Scaled(hg.Sphere(2), 3.0)),
    (SpecialOrthogonal(2), hg.SpecialOrthogonal(2)),
    (SpecialOrthogonal(3), hg.SpecialOrthogonal(3)),
    (SpecialOrthogonal(5), hg.SpecialOrthogonal(5)),
    (SpecialOrthogonal(3, point_type="vector"), hg.SpecialOrthogonal(3)),
    (Grassmannian(5, 2), hg.Scaled(hg.Grassmann(5, 2), ROOT2)),
    (Grassmannian(5, 3), hg.Scaled(hg.Grassmann(5, 3), ROOT2)),
    (PreShapeSpace(5, 3), hg.Sphere(11)),
    (shapes(5), hg.ComplexProjective(3)),
    (SPDMatrices(3), hg.SPD(3)),
    (log_euclidean(3), hg.SPD(3, "log-euclidean")),
    (HPDMatrices(2), hg.HermitianPD(2)),
    (Hyperbolic(3), hg.Hyperbolic(3)),
    (Hyperbolic(3, coords_type="ball"), hg.Hyperbolic(3)),
    (Hyperbolic(2, coords_type="half-space"), hg.Hyperbolic(2)),
    (ComplexPoincareDisk(), hg.Scaled(hg.Hyperbolic(2), 0.5)),
    (Euclidean(3), hg.Euclidean(3)),
    (Matrices(2, 3), hg.Euclidean(6)),
    (SpecialEuclidean(3), hg.Product(hg.Euclidean(3), hg.Scaled(hg.SpecialOrthogonal(3), ROOT2))),
    (ProductManifold((Hypersphere(2), SpecialOrthogonal(3))), hg.Product(hg.Sphere(2), hg.SpecialOrthogonal(3))),
    (ProductManifold((Hypersphere(2), Hypersphere(2))), hg.Product(hg.Sphere(2), hg.Sphere(2))),
    (ProductManifold((HPDMatrices(2), Hypersphere(2))), hg.Product(hg.HermitianPD(2), hg.Sphere(2))),
    (
        NFoldManifold(Hypersphere(2), 2, equip=False).equip_with_metric(NFoldMetric, scales=[4.0, 1.0]),
        hg.Product(hg.Scaled(hg.Sphere(2), 2.0), hg.Sphere(2)),
    ),
    (PoincarePolydisk(2), hg.Product(hg.Scaled(hg.Hyperbolic(2), ROOT2), hg.Hyperbolic(2))),
]


def name(value):
    return f"{type(value).__name__}{getattr(value, 'shape', '')}"


@pytest.fixture(autouse=True)
def seed():
    gs.random.seed(0)


@pytest.mark.parametrize(("space", "manifold"), SPACES, ids=lambda value: name(value))
def test_spaces_have_the_distances_of_their_manifolds(space, manifold):
    found = from_geomstats(space)
    assert repr(found.manifold) == repr(manifold)
    assert found.space is space
    X, Y = space.random_point(20), space.random_point(20)
    x, y = found.to_points(X), found.to_points(Y)
    np.testing.assert_allclose(found.manifold.distance(x, y), space.metric.dist(X, Y), rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.from_points(x), X, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(found.to_points(X.reshape(4, 5, *space.shape)), x.reshape(4, 5, *manifold.shape))
    np.testing.assert_array_equal(found.to_points(X[0]), x[0])
    assert found.to_points(X[:0]).shape == (0, *manifold.shape)
    assert found.from_points(x[:0]).shape == (0, *space.shape)


def test_frames_have_the_canonical_metric():
    """At points within 1: geomstats' logarithm, an iteration, does not converge for all far ones."""
    space = Stiefel(5, 2)
    space.metric.log_solver.tol = 1e-14
    found = from_geomstats(space)
    assert repr(found.manifold) == "Stiefel(5, 2)"
    X = space.random_point(20)
    V = space.to_tangent(gs.random.normal(size=X.shape), X)
    V /= space.metric.norm(V, X)[:, None, None]
    Y = space.metric.exp(V, X)
    x, y = found.to_points(X), found.to_points(Y)
    np.testing.assert_allclose(found.manifold.distance(x, y), 1.0, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.manifold.distance(x, y), space.metric.dist(X, Y), rtol=0, atol=1e-12)


MANIFOLDS = [
    hg.Sphere(2),
    hg.SpecialOrthogonal(4),
    hg.Grassmann(5, 2),
    hg.ComplexProjective(2),
    hg.SPD(3),
    hg.SPD(2, "log-euclidean"),
    hg.HermitianPD(2),
    hg.Hyperbolic(3),
    hg.Euclidean(2),
    hg.Torus(2),
    hg.Scaled(hg.Grassmann(4, 2), 2.0),
    hg.SpecialEuclidean(3),
    hg.Product(hg.Sphere(2), hg.Torus(1), hg.Grassmann(4, 2), hg.Scaled(hg.SPD(2), 3.0)),
]


@pytest.mark.parametrize("manifold", MANIFOLDS, ids=repr)
def test_manifolds_have_spaces_of_the_same_distances(manifold):
    found = to_geomstats(manifold)
    assert found.manifold is manifold
    x, y = manifold.random(0, 10), manifold.random(1, 10)
    X, Y = found.from_points(x), found.from_points(y)
    assert found.space.belongs(X).all()
    np.testing.assert_allclose(found.space.metric.dist(X, Y), manifold.distance(x, y), rtol=0, atol=1e-12)
    assert manifold.distance(found.to_points(X), x).max() < 1e-12


def test_frames_become_frames():
    found = to_geomstats(hg.Stiefel(4, 2))
    x = found.manifold.random(0, 3)
    assert isinstance(found.space, Stiefel)
    np.testing.assert_array_equal(found.from_points(x), x)


def test_a_model_of_subspaces_given_as_projectors():
    """The kernel of the projectors' metric at time t is ours at t/2."""
    planes = from_geomstats(Grassmannian(4, 2))
    P = planes.space.random_uniform(30)
    y = P[:, 0, 0]
    gp = hg.GPRegressor(planes.manifold, time=0.4, amplitude=1.0, noise=0.01).fit(planes.to_points(P), y)
    own = hg.GPRegressor(hg.Grassmann(4, 2), time=0.2, amplitude=1.0, noise=0.01).fit(planes.to_points(P), y)
    new = planes.to_points(planes.space.random_uniform(5))
    np.testing.assert_allclose(gp.predict(new), own.predict(new), rtol=0, atol=1e-10)


PASSING = [Hypersphere(2), SpecialOrthogonal(3), Grassmannian(4, 2), SPDMatrices(2), Euclidean(2), KleinBottle()]


@pytest.mark.parametrize("space", PASSING, ids=name)
def test_any_space_with_an_exponential_map_is_a_manifold(space):
    assert check_manifold(GeomstatsManifold(space)) == []


@pytest.mark.parametrize("space", [Hypersphere(2), SpecialOrthogonal(3), Grassmannian(4, 2), SPDMatrices(3)], ids=name)
def test_noise_has_the_covariance_that_ours_has(space):
    known, own = from_geomstats(space), GeomstatsManifold(space)
    X = space.random_point(3)
    V = own.noise(X, np.random.default_rng(0).standard_normal(X.shape))
    np.testing.assert_allclose(own.metric(X, V, V), space.metric.squared_norm(V, X), rtol=1e-10)
    if known.manifold.shape == own.shape:
        np.testing.assert_allclose(own.metric(X, V, V), known.manifold.metric(X, V, V), rtol=1e-10)


def klein_bottle_kernel(x, y, time):
    """Sum over the images in the plane: one step along the first coordinate mirrors the second."""
    total = 0.0
    for i in range(-6, 7):
        for j in range(-6, 7):
            second = np.where(i % 2, 1 - y[..., 1], y[..., 1]) + j
            square = (x[..., 0] - y[..., 0] - i) ** 2 + (x[..., 1] - second) ** 2
            total = total + np.exp(-square / (2 * time)) / (2 * np.pi * time)
    return total


@pytest.fixture(scope="module")
def bottle():
    return GeomstatsManifold(KleinBottle(), volume=1.0)


@pytest.fixture(scope="module")
def bottle_kernel(bottle):
    return hg.heat_kernel(bottle, references=30, paths=3000, rng=0)


def test_the_heat_kernel_of_a_klein_bottle(bottle, bottle_kernel):
    x = bottle.random(3, 20)
    assert_within_error(bottle_kernel, x, klein_bottle_kernel(x[:, None], x[None], 0.15), 0.15)


def test_models_of_a_space_that_only_geomstats_has(bottle, bottle_kernel):
    rng = np.random.default_rng(0)
    X, new = bottle.random(rng, 60), bottle.random(rng, 20)
    truth = [np.cos(2 * np.pi * Z[:, 1]) for Z in (X, new)]  # the same on both sides of both seams
    gp = hg.GPRegressor(bottle, kernel=bottle_kernel, noise=0.01).fit(X, truth[0] + 0.1 * rng.standard_normal(60))
    assert np.sqrt(np.mean((gp.predict(new) - truth[1]) ** 2)) < 0.1  # the noise


def test_random_points_follow_the_seed_and_leave_the_global_one():
    sphere = GeomstatsManifold(Hypersphere(2))
    gs.random.seed(5)
    first = gs.random.uniform(size=3)
    gs.random.seed(5)
    np.testing.assert_array_equal(sphere.random(1, 4), sphere.random(1, 4))
    assert not np.array_equal(sphere.random(1, 4), sphere.random(2, 4))
    np.testing.assert_array_equal(gs.random.uniform(size=3), first)


def test_points_that_are_none_are_errors():
    sphere, planes, ball = map(from_geomstats, (Hypersphere(2), Grassmannian(4, 2), Hyperbolic(2, coords_type="ball")))
    with pytest.raises(OffManifold, match=r"X\[1\] is not on Sphere\(2\)"):
        sphere.to_points([[1.0, 0, 0], [1.0, 1, 0]])
    with pytest.raises(InvalidInput, match=r"X has shape \(2, 2\); it must have shape \(..., 3\)"):
        sphere.to_points(np.ones((2, 2)))
    with pytest.raises(InvalidInput, match="X"):
        sphere.to_points([["a", "b", "c"]])
    with pytest.raises(
        InvalidInput, match="X is complex, but the points of Hypersphere with HypersphereMetric are real"
    ):
        sphere.to_points([[1j, 0, 0]])
    mixed = from_geomstats(ProductManifold((HPDMatrices(2), Hypersphere(2))))
    with pytest.raises(
        InvalidInput, match="X is complex, but the points of Hypersphere with HypersphereMetric are real"
    ):
        mixed.to_points(mixed.space.random_point() + 1j)
    with pytest.raises(InvalidInput, match=r"X\[0, 1\] is nan"):
        sphere.to_points([[1.0, np.nan, 0]])
    with pytest.raises(OffManifold, match=r"x is not on Sphere\(2\)"):
        sphere.from_points([1.0, 1, 0])
    with pytest.raises(InvalidInput, match=r"X\[0\] is no orthogonal projector of rank 2: it is 1.0e\+00 > 1e-06"):
        planes.to_points(np.eye(4)[None])
    with pytest.raises(InvalidInput, match="is not inside the unit ball"):
        ball.to_points([[1.0, 1.0]])
    with pytest.raises(InvalidInput, match=r"X\[0\] is not centred and of unit size, by 3.0e\+00 .* space.projection"):
        from_geomstats(shapes(4)).to_points(np.full((1, 4, 2), 2**0.5))
    with pytest.raises(InvalidInput, match="is off the circles by"):
        to_geomstats(hg.Torus(1)).to_points([[1.0, 1.0]])
    with pytest.raises(OffManifold, match=r"x0\[0\] is not on GeomstatsManifold\(Hypersphere with Hypersphere"):
        hg.walk(GeomstatsManifold(Hypersphere(2)), [[1.0, 1.0, 0]], [0.1], paths=2, step=0.05, rng=0)


def test_spaces_that_are_not_known_are_errors():
    spheres = "Hypersphere with HypersphereMetric, SpecialOrthogonalMatrices with BiInvariantMetric"
    with pytest.raises(Unsupported, match=rf"^SPDMatrices with SPDBuresWassersteinMetric is none of .* {spheres}, .*"):
        from_geomstats(SPDMatrices(2, equip=False).equip_with_metric(SPDBuresWassersteinMetric))
    with pytest.raises(
        Unsupported, match=r"KleinBottle with .*and is compact, GeomstatsManifold\(space\) is a manifold"
    ):
        from_geomstats(ProductManifold((KleinBottle(), Hypersphere(2))))
    with pytest.raises(Unsupported, match="SymmetricMatrices with MatricesMetric is none of"):
        from_geomstats(SymmetricMatrices(2))
    with pytest.raises(Unsupported, match=r"Hypersphere with no metric .* space\.equip_with_metric\(\)"):
        from_geomstats(Hypersphere(2, equip=False))
    with pytest.raises(Unsupported, match=r"intrinsic coordinates. Take Hypersphere\(2\)"):
        from_geomstats(Hypersphere(2, intrinsic=True))
    with pytest.raises(Unsupported, match=r"shapes in 3 dimensions; .* heatgp\.shape_kernel"):
        from_geomstats(shapes(5, 3))
    with pytest.raises(InvalidInput, match="needs a space of geomstats; got 3"):
        from_geomstats(3)
    with pytest.raises(
        InvalidInput, match=r"takes a manifold of heatgp, .* got Hypersphere\. A space of geomstats goes"
    ):
        to_geomstats(Hypersphere(2))
    with pytest.raises(Unsupported, match=r"no space for TorusKnot\(2, 3\). It has spaces for Sphere,"):
        to_geomstats(hg.TorusKnot(2, 3))
    with pytest.raises(Unsupported, match=r"no space for Stiefel\(4, 2, 'complex'\)"):
        to_geomstats(hg.Stiefel(4, 2, "complex"))
    with pytest.raises(Unsupported, match="HPDMatrices is complex"):
        GeomstatsManifold(HPDMatrices(2))
    with pytest.raises(Unsupported, match="Hypersphere with no metric lacks what Brownian motion needs"):
        GeomstatsManifold(Hypersphere(2, equip=False))
    with pytest.raises(InvalidInput, match="volume must be a positive number or None; got -1"):
        GeomstatsManifold(Hypersphere(2), volume=-1)
    with pytest.raises(Unsupported, match="takes NumPy arrays alone"):
        GeomstatsManifold(Hypersphere(2)).exp(jax.numpy.eye(3), jax.numpy.zeros((3, 3)))


def in_a_new_process(code, **environment):
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )
    return found.stdout + found.stderr


def test_other_backends_are_an_error():
    code = "from geomstats.geometry.hypersphere import Hypersphere; import heatgp.adapters.geomstats as a; "
    printed = in_a_new_process(code + "a.from_geomstats(Hypersphere(2))", GEOMSTATS_BACKEND="pytorch")
    assert "geomstats computes with pytorch; heatgp needs its NumPy backend. Set GEOMSTATS_BACKEND=numpy" in printed


def test_the_import_prints_nothing_and_leaves_the_logging_as_it_is():
    code = "import logging, heatgp.adapters.geomstats; root = logging.getLogger(); print(root.level, root.handlers)"
    assert in_a_new_process(code) == "30 []\n"


def test_examples_in_docstrings():
    assert doctest.testmod(adapter).failed == 0
    assert doctest.testmod(adapter).attempted > 10


class Plane(KleinBottle):
    """Not compact, of a class that does not say so."""

    def __init__(self):
        super().__init__()
        self.metric = Euclidean(2).metric

    def belongs(self, point, atol=1e-6):
        return np.ones(len(point), dtype=bool)


NOT_COMPACT = [
    Hyperbolic(2),
    SPDMatrices(2),
    Euclidean(2),
    NormalDistributions(1),
    DirichletDistributions(3),
    SpecialEuclidean(2),
    ProductManifold((Hypersphere(2), Euclidean(1))),
    Plane(),
]


@pytest.mark.parametrize("space", NOT_COMPACT, ids=name)
def test_models_refuse_spaces_that_are_not_compact(space):
    manifold = GeomstatsManifold(space)
    X = manifold.random(np.random.default_rng(0), 3)
    with pytest.raises(Unsupported, match=r"is not compact: .* Chart with bounds, .* from_geomstats"):
        hg.GPRegressor(manifold, time=1.0).fit(X, np.arange(3.0))
    with pytest.raises(InvalidInput, match=r"volume = 2\.0, but .* is not compact\. Leave it out"):
        GeomstatsManifold(space, volume=2.0)


@pytest.mark.parametrize("space", [Hypersphere(5), SpecialOrthogonal(3), Grassmannian(4, 2), KleinBottle()], ids=name)
def test_compact_spaces_are_not_taken_for_others(space):
    assert GeomstatsManifold(space, volume=2.0).volume == 2.0


def test_a_correspondence_shows_its_manifold_and_space():
    assert repr(from_geomstats(Hypersphere(2))) == "Correspondence(Sphere(2), Hypersphere with HypersphereMetric)"
