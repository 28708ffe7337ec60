"""Fingerprints: different for different manifolds, the same in every process, and none where nothing can be read."""

import functools
import subprocess
import sys
from dataclasses import dataclass
from types import ModuleType

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.special import gamma

from heatgp import Chart, Domain, Euclidean, Implicit, Manifold, Product, Quotient, Smooth, Sphere
from heatgp.heat.shared import shared_kernel
from heatgp.manifolds.fingerprint import fingerprint
from own_manifolds import OWN

RADIUS = 1.0
SPLINE = CubicSpline([0, 1, 2], [0, 1, 4])


def radius(x):
    return (x * x).sum(-1) - RADIUS


def by_helper(x):
    return radius(x)


def surface(g):
    return Implicit(g, 2, 3)


def closed_over(value):
    return surface(lambda x: (x * x).sum(-1) - value)


def with_default(value):
    def g(x, size=value):
        return (x * x).sum(-1) - size

    return surface(g)


def nested(value):
    def g(x):
        return max([(y * y).sum(-1) - value for y in [x]], key=id)

    return surface(g)


@dataclass(frozen=True)
class Ball:
    size: float

    def __call__(self, x):
        return (x * x).sum(-1) - self.size


@dataclass(frozen=True)
class OtherBall:
    size: float

    def __call__(self, x):
        return (x * x).sum(-1) - 2 * self.size


def polygon(*points):
    return Domain(Euclidean(2), list(points))


TRIANGLE = [(0, 0), (1, 0), (0, 1)]
METRIC = np.eye(2)

PAIRS = {
    "constant": (surface(lambda x: (x * x).sum(-1) - 1), surface(lambda x: (x * x).sum(-1) - 2)),
    "operation": (surface(lambda x: (x * x).sum(-1) - 1), surface(lambda x: (x + x).sum(-1) - 1)),
    "attribute": (surface(lambda x: (x * x).sum(-1)), surface(lambda x: (x * x).prod(-1))),
    "enclosed": (closed_over(1.0), closed_over(2.0)),
    "enclosed array": (closed_over(np.array(1.0)), closed_over(np.array(1.5))),
    "default": (with_default(1.0), with_default(2.0)),
    "nested": (nested(1.0), nested(2.0)),
    "partial": (
        surface(functools.partial(lambda x, r: (x * x).sum(-1) - r, r=1.0)),
        surface(functools.partial(lambda x, r: (x * x).sum(-1) - r, r=2.0)),
    ),
    "object": (surface(Ball(1.0)), surface(Ball(2.0))),
    "class": (surface(Ball(1.0)), surface(OtherBall(1.0))),
    "method": (surface(Ball(1.0).__call__), surface(Ball(3.0).__call__)),
    "bounds": (Implicit(radius, 2, 3, bounds=((-2, 2),) * 3), Implicit(radius, 2, 3, bounds=((-3, 2),) * 3)),
    "shoreline": (polygon(*TRIANGLE), polygon((0, 0), (1, 0), (0, 1.001))),
    "base": (Domain(closed_over(1.0), lambda x: x[..., 0]), Domain(closed_over(2.0), lambda x: x[..., 0])),
    "period": (
        Chart(lambda x: METRIC + 0 * x[..., None], 2, (1.0, 1.0)),
        Chart(lambda x: METRIC + 0 * x[..., None], 2, (1.0, 2.0)),
    ),
    "isometries": (
        Quotient(Sphere(2), (lambda x: x, lambda x: -x)),
        Quotient(Sphere(2), (lambda x: x, lambda x: x * np.array([1, 1, -1]))),
    ),
    "factor": (Product(Sphere(2), closed_over(1.0)), Product(Sphere(2), closed_over(2.0))),
}


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_what_differs_has_another_fingerprint(pair):
    one, other = map(fingerprint, pair)
    assert one is not None
    assert other is not None
    assert one != other


@pytest.mark.parametrize(
    "make", [lambda: closed_over(1.0), lambda: nested(2.0), lambda: surface(Ball(1.0)), lambda: polygon(*TRIANGLE)]
)
def test_the_same_made_twice_has_one_fingerprint_also_after_use(make):
    used = make()
    assert used.volume > 0
    used.random(np.random.default_rng(0), 3)
    assert fingerprint(used) == fingerprint(make())


def test_values_and_functions_of_the_module_count(monkeypatch):
    before = [fingerprint(surface(g)) for g in (radius, by_helper)]
    monkeypatch.setattr(sys.modules[__name__], "RADIUS", 2.0)
    after = [fingerprint(surface(g)) for g in (radius, by_helper)]
    assert all(a != b for a, b in zip(before, after))
    monkeypatch.undo()
    monkeypatch.setattr(sys.modules[__name__], "radius", lambda x: (x * x).sum(-1) - 3)
    assert fingerprint(surface(by_helper)) not in (before[1], after[1])


def test_a_function_that_calls_itself_has_a_fingerprint():
    def power(x, n):
        return x if n == 1 else x * power(x, n - 1)

    assert fingerprint(surface(lambda x: power(x, 2).sum(-1) - 1)) is not None


class Plane(Manifold):
    """A class of the user's, without a `repr` of its own."""

    shape, dim = (2,), 2

    def noise(self, x, z):
        return z

    def exp(self, x, v):
        return x + v

    def random(self, rng, n):
        return rng.random((n, 2))

    def defect(self, x):
        return 0 * x[..., 0]


def test_two_objects_of_a_class_have_one_fingerprint():
    one, other = Plane(), Plane()
    assert fingerprint(one) == fingerprint(other) is not None

    class Other(Plane):
        def exp(self, x, v):
            return x - v

    assert fingerprint(Other()) != fingerprint(one)


@pytest.mark.parametrize("manifold", OWN, ids=repr)
def test_every_kind_of_own_manifold_has_one(manifold):
    assert fingerprint(manifold) is not None


def test_functions_of_installed_packages_are_known_by_name_and_version():
    assert fingerprint(surface(lambda x: gamma(1 + (x * x).sum(-1)) - 1)) is not None
    assert fingerprint(surface(lambda x: np.linalg.norm(x, axis=-1) - 1)) is not None


def test_what_cannot_be_read_has_none(tmp_path):
    assert fingerprint(surface(lambda x: SPLINE((x * x).sum(-1)))) is None
    with (tmp_path / "file").open("w") as stream:
        assert fingerprint(surface(lambda x: (x * x).sum(-1) - 1 + 0 * (stream is None))) is None
    import own_manifolds  # a module of the user's: what its functions do may change

    assert fingerprint(surface(lambda x: own_manifolds.sphere_equation(x))) is None


def test_it_is_the_same_in_another_process():
    """Names of sets and ids of objects differ between processes: the fingerprint does not."""
    code = (
        "import test_fingerprint as t; print(*(t.fingerprint(m) for pair in t.PAIRS.values() for m in pair), sep='\\n')"
    )
    found = [
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    ]
    assert found[0] == found[1]
    assert len(set(found[0].splitlines())) == len(found[0].splitlines()) - 2  # two pairs share one of their manifolds


def test_modules_that_are_imported_when_a_function_is_called_count(tmp_path, monkeypatch):
    """Those of the user's may change, so such functions have no fingerprint; those of libraries have one."""
    (tmp_path / "own_radius.py").write_text("R = 1.0")
    monkeypatch.syspath_prepend(tmp_path)

    def of_mine(x):
        from own_radius import R

        return (x * x).sum(-1) - R

    def of_a_library(x):
        import math

        from scipy import special

        return (x * x).sum(-1) - math.sqrt(special.gamma(1.0))

    def inner(x):
        return (lambda y: of_mine(y))(x)

    def loaded(x):
        return (x * x).sum(-1) - sys.modules["own_radius"].R

    def relative(x):
        if len(x) < 0:
            from .math import R

            return R
        return (x * x).sum(-1) - 1

    try:
        assert fingerprint(surface(of_mine)) is None
        assert fingerprint(surface(inner)) is None
        assert fingerprint(surface(loaded)) is None
        assert fingerprint(surface(relative)) is None
        assert fingerprint(surface(of_a_library)) is not None
    finally:
        sys.modules.pop("own_radius", None)


def test_a_kernel_is_not_shared_after_an_imported_module_has_changed(monkeypatch):
    module = ModuleType("own_mirror")
    monkeypatch.setitem(sys.modules, "own_mirror", module)

    def mirror(x):
        import own_mirror

        return x * own_mirror.SIGNS

    method, found = Smooth(paths=500), []
    for module.SIGNS in (np.array([-1, -1, -1]), np.array([1, 1, -1])):
        found.append(shared_kernel(method, Quotient(Sphere(2), (lambda x: x, mirror))))
    assert found[0] is not found[1]
