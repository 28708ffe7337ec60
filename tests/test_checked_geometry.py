"""Exponentials, logarithms and distances called by hand check their points and tangent vectors, on every manifold."""

import re
from math import dist

import numpy as np
import pytest

import heatgp as hg
from catalog import CATALOG
from heatgp.array import white_noise
from heatgp.errors import InvalidInput, OffManifold
from heatgp.manifolds.checks import unchecked
from own_manifolds import SPHERE, TORUS_CHART

S2, SO3 = hg.Sphere(2), hg.SpecialOrthogonal(3)
E1, E2 = np.eye(3)[:2]


class Plane(hg.Manifold):
    """The plane z = 1 of space, with the six members only."""

    def __repr__(self):
        return "Plane()"

    shape, dim, calls = (3,), 2, 0

    def noise(self, x, z):
        return z * np.array([1.0, 1, 0], dtype=z.dtype) + 0 * x

    def exp(self, x, v):
        return x + v

    def random(self, rng, n):
        return np.concatenate((rng.standard_normal((n, 2)), np.ones((n, 1))), axis=1)

    def defect(self, x):
        type(self).calls += 1
        return np.abs(x[..., 2] - 1)


WRONG = {
    "normal": (lambda: S2.exp(E1, E1), OffManifold, "the second argument of Sphere.exp is not a tangent vector of"),
    "remedy": (lambda: S2.exp(E1, E1), OffManifold, "is 1.0e+00 > 1e-05 of its size. Use M.to_tangent(x, v)"),
    "place": (lambda: S2.exp(E1, [E2, E1]), OffManifold, "the second argument of Sphere.exp[1] is not a tangent"),
    "point": (lambda: S2.exp(2 * E1, E2), OffManifold, "the first argument of Sphere.exp is not on Sphere(2)"),
    "nan": (lambda: S2.exp(E1, [0, np.nan, 0]), InvalidInput, "the second argument of Sphere.exp is not finite"),
    "reflection": (lambda: SO3.log(np.eye(3), -np.eye(3)), OffManifold, "the second argument of SpecialOrthogonal.log"),
    "distance": (lambda: S2.distance(E1, 3 * E2), OffManifold, "the second argument of Sphere.distance is not on"),
    "group": (lambda: SO3.exp(np.eye(3), np.eye(3)), OffManifold, "is not a tangent vector of SpecialOrthogonal(3)"),
    "phase": (
        lambda: hg.ComplexProjective(2).exp(E1, 1j * E1),
        OffManifold,
        "is not a tangent vector of ComplexProjective(2)",
    ),
    "frame": (
        lambda: hg.Grassmann(4, 2).exp(np.eye(4, 2), np.eye(4, 2)[:, ::-1] * [1, -1]),
        OffManifold,
        "is not a tangent vector of Grassmann(4, 2)",
    ),
    "user": (lambda: Plane().exp([0, 0, 1.0], [0, 0, 1.0]), OffManifold, "the second argument of Plane.exp"),
    "factor": (
        lambda: hg.Product(S2, hg.Euclidean(1)).exp([1, 0, 0, 0.0], [1, 0, 0, 1.0]),
        OffManifold,
        "is not a tangent vector of Product(Sphere(2), Euclidean(1))",
    ),
    "gradient": (
        lambda: S2.gradient(2 * E1, E2),
        OffManifold,
        "the first argument of Sphere.gradient is not on Sphere",
    ),
    "gradient, shape": (
        lambda: SO3.gradient(np.eye(3), E1),
        InvalidInput,
        "argument of SpecialOrthogonal.gradient has",
    ),
    "gradient, nan": (lambda: SO3.gradient(np.nan * np.eye(3), np.eye(3)), OffManifold, "gradient is not finite"),
    "gradient, batch": (
        lambda: S2.gradient(np.eye(3), np.eye(3)[:2]),
        InvalidInput,
        "Sphere.gradient got shapes (3, 3) and (2, 3), whose batch axes do not broadcast",
    ),
    "gradient, words": (lambda: hg.Torus(1).gradient("a", [1.0]), InvalidInput, "Torus.gradient must be numbers"),
    "gradient, scaled": (lambda: hg.Scaled(S2, 2.0).gradient(2 * E1, E2), OffManifold, "argument of Scaled.gradient"),
    "huge": (lambda: S2.exp(E1, 1e200 * E2), InvalidInput, "an entry of size 1.0e+200 > 1e+100"),
    "scaled": (lambda: hg.Scaled(S2, 2.0).distance(E1, 2 * E2), OffManifold, "is not on Scaled(Sphere(2), 2.0)"),
}


@pytest.mark.parametrize("call, error, text", WRONG.values(), ids=WRONG)
def test_what_is_not_on_the_manifold_is_refused(call, error, text):
    with pytest.raises(error, match=re.escape(text)):
        call()


@pytest.mark.parametrize("M", [*CATALOG, SPHERE, TORUS_CHART, Plane()], ids=repr)
def test_tangential_parts(M, rng):
    """Tangent vectors are their own tangential parts, in the span of `tangent_basis`; so are those of any arrays."""
    x = M.random(rng, 3)
    z = white_noise(rng, x.shape, M.is_complex)
    v = M.noise(x, z)
    size = np.abs(v).max()
    np.testing.assert_allclose(M.to_tangent(x, v), v, rtol=0, atol=1e-10 * size)
    found = np.asarray(M.to_tangent(x, z))
    np.testing.assert_allclose(M.to_tangent(x, found), found, rtol=0, atol=1e-10 * max(size, np.abs(found).max()))
    rows, parts = (hg.Manifold.embed(M, each) for each in (np.asarray(M.tangent_basis(x)), found))
    for basis, part in zip(rows, parts):
        rest = part - basis.T @ np.linalg.lstsq(basis.T, part, rcond=None)[0]
        assert np.abs(rest).max() < 1e-9 * max(1.0, np.abs(part).max())


@pytest.mark.parametrize("M", [*CATALOG, SPHERE, TORUS_CHART], ids=repr)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_right_arguments_pass(M, dtype, rng):
    """Also after rounding to single precision, and where points were written with seven digits."""
    kind = np.result_type(dtype, 1j) if M.is_complex else dtype
    x = M.random(rng, 4)
    v = M.noise(x, 0.1 * white_noise(rng, x.shape, M.is_complex))
    assert np.isfinite(M.exp(x.astype(kind), v.astype(kind))).all()
    if dtype is np.float64 and np.abs(x).max() < 10:
        assert np.isfinite(M.exp(x.round(7), v.round(7))).all()
    for tiny in (0.0, 1e-18):
        assert np.isfinite(M.exp(x, tiny * v)).all()


def test_tangential_parts_of_lists():
    assert S2.to_tangent([1, 0, 0], [1, 2, 0]).tolist() == [0, 2, 0]
    assert Plane().to_tangent([0, 0, 1.0], [[1, 2, 3], [4, 5, 6]]).tolist() == [[1, 2, 0], [4, 5, 0]]
    with pytest.raises(OffManifold, match=r"the first argument of Sphere\.to_tangent is not on Sphere\(2\)"):
        S2.to_tangent([2, 0, 0], [1, 2, 0])


def test_single_precision_has_a_wider_tolerance():
    off = np.array([1e-4, 1.0, 0.0])
    assert S2.exp(E1.astype(np.float32), off.astype(np.float32)).dtype == np.float32
    with pytest.raises(OffManifold, match="> 1e-05 of its size"):
        S2.exp(E1, off)
    with pytest.raises(OffManifold, match="> 1e-03 of its size"):
        S2.exp(E1.astype(np.float32), (off + 0.01 * E1).astype(np.float32))


def test_jax_arrays_are_checked_and_traced_ones_are_not():
    jax = pytest.importorskip("jax")
    x, v = (jax.numpy.asarray(a, dtype="float32") for a in (E1, E2))
    with pytest.raises(OffManifold, match="is not a tangent vector"):
        S2.exp(x, x)
    np.testing.assert_allclose(jax.jit(S2.exp)(x, v), S2.exp(E1, E2), atol=1e-6)
    np.testing.assert_allclose(jax.jit(lambda w: S2.exp(x, w))(v), S2.exp(E1, E2), atol=1e-6)
    slope = jax.grad(lambda y: S2.distance(x, y))(v)
    np.testing.assert_allclose(slope[0], -1, atol=1e-6)


def test_paths_do_not_check_every_step():
    Plane.calls = 0
    hg.walk(Plane(), [0.0, 0, 1], 1.0, paths=5, step=0.01, rng=0)
    assert Plane.calls < 10


def test_calls_inside_a_class_are_not_checked_again():
    class Above(Plane):
        def exp(self, x, v):
            return super().exp(x, v)

    Plane.calls = Above.calls = 0
    Above().exp([0.0, 0, 1], [1.0, 0, 0])
    assert Above.calls == 1
    unchecked(Above().exp)(np.array([0.0, 0, 1]), np.array([1.0, 0, 0]))
    assert Above.calls == 1
    with pytest.raises(OffManifold):  # checks are on again
        Above().exp([0.0, 0, 2], [1.0, 0, 0])


def test_functions_of_any_kind_may_be_members():
    """Static methods, class methods, built-in functions and those of classes that are no manifolds."""

    class Mixin:
        def exp(self, x, v):
            return x + v

    class Static(Plane):
        distance = staticmethod(lambda x, y: np.sqrt(((x - y) ** 2).sum(axis=-1)))

    class OfClass(Plane):
        @classmethod
        def distance(cls, x, y):
            return np.sqrt(((x - y) ** 2).sum(axis=-1))

    class BuiltIn(Plane):
        distance = dist

    class Mixed(Mixin, Plane):
        pass

    x, y = [0.0, 0, 1], [3.0, 4, 1]
    for M in (Static(), OfClass(), BuiltIn()):
        assert M.distance(x, y) == 5
        assert M.distance(np.array(x), np.array(y)) == 5
        with pytest.raises(OffManifold, match=rf"the second argument of {type(M).__name__}\.distance"):
            M.distance(x, [0, 0, 0])
    with pytest.raises(OffManifold, match=r"the first argument of Mixed\.exp"):
        Mixed().exp([0, 0, 0], y)
