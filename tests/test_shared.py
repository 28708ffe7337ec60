"""Kernels that are simulated once for many fits."""

import threading

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score

from heatgp import GPClassifier, GPRegressor, Implicit, Product, Reference, Smooth, Sphere, Torus, compare, heat_kernel
from heatgp.heat import methods, shared
from heatgp.heat.shared import forget_kernels, shared_kernel

pytestmark = pytest.mark.filterwarnings("ignore::heatgp.errors.AccuracyWarning")  # few paths are enough here


def spheroid(x):
    return x[..., 0] ** 2 + x[..., 1] ** 2 + x[..., 2] ** 2 / 2 - 1


SPHEROID = Implicit(spheroid, 2, 3, bounds=((-1.1, 1.1), (-1.1, 1.1), (-1.5, 1.5)))
S2 = Sphere(2)
FEW = Reference(references=8, paths=400)
FIXED = {"time": 8.0, "amplitude": 1.0}


@pytest.fixture
def simulations(monkeypatch):
    """The manifolds whose kernel was simulated, one after the other."""
    found = []
    for name in ("reference_kernel", "orbit_samples"):
        made = getattr(methods, name)

        def counted(manifold, *arguments, made=made, **options):
            found.append(manifold)
            return made(manifold, *arguments, **options)

        monkeypatch.setattr(methods, name, counted)
    return found


@pytest.fixture
def data(rng):
    X = SPHEROID.random(rng, 30)
    return X, X[:, 2] + 0.1 * rng.standard_normal(30)


def test_a_cross_validation_simulates_once(simulations, data):
    X, y = data
    assert np.isfinite(cross_val_score(GPRegressor(SPHEROID, kernel=FEW, **FIXED, noise=0.1), X, y, cv=5)).all()
    assert len(simulations) == 1
    search = GridSearchCV(GPRegressor(SPHEROID, kernel=FEW, amplitude=1.0, noise=0.1), {"time": [8.0, 9.0]}, cv=2)
    search.fit(X, y)
    assert len(simulations) == 1


def test_so_do_compare_and_the_classes_of_a_classifier(simulations, rng):
    X, y = S2.random(rng, 30), rng.standard_normal(30)
    models = {"ours": GPRegressor(S2, kernel=Smooth(paths=500), **FIXED, noise=0.1)}
    compare(S2, X, y, methods=models, splits=3)
    GPClassifier(S2, kernel=Smooth(paths=500), **FIXED).fit(X, np.digitize(X[:, 2], [-0.5, 0.5]))
    assert len(simulations) == 1


def test_a_product_simulates_each_factor_once(simulations, rng):
    M = Product(S2, Torus(1), S2)
    X = M.random(rng, 20)
    model = GPRegressor(M, kernel=[Smooth(paths=500), "exact", Smooth(paths=500)], **FIXED, noise=0.1)
    cross_val_score(model, X, X[:, 0], cv=3)
    assert len(simulations) == 2  # the two spheres have seeds of their own


def test_what_differs_is_simulated_again(simulations):
    first = shared_kernel(Smooth(paths=500), S2)
    assert shared_kernel(Smooth(paths=500), Sphere(2)) is first
    for other in (Smooth(paths=600), Smooth(paths=500, rng=1)):
        assert shared_kernel(other, S2) is not first
    assert shared_kernel(Smooth(paths=500), Sphere(3)) is not first
    assert len(simulations) == 4


def test_values_are_those_of_a_kernel_made_anew(rng):
    X = Sphere(2).random(rng, 6)
    own = heat_kernel(Sphere(2), "smooth", paths=500).as_positive_definite()
    shared_kernel(Smooth(paths=500), Sphere(2))
    np.testing.assert_array_equal(shared_kernel(Smooth(paths=500), Sphere(2))(X, time=0.3), own(X, time=0.3))


def test_chance_is_not_shared(simulations, rng):
    """A Generator goes on, None is chance, and cache=False asks for nothing to be kept."""
    for options in ({"rng": rng}, {"rng": None}, {"cache": False}):
        method = Smooth(paths=200, **options)
        one, other = shared_kernel(method, Sphere(2)), shared_kernel(method, Sphere(2))
        assert one is not other
    assert len(simulations) == 6
    values = [k.samples.theta for k in (shared_kernel(Smooth(paths=200, rng=rng), Sphere(2)) for _ in range(2))]
    assert not np.array_equal(*values)


def test_manifolds_that_cannot_be_read_are_not_shared(simulations):
    state = iter(range(10**9))  # nothing tells what it does

    def odd(x):
        next(state)
        return spheroid(x)

    M = Implicit(odd, 2, 3, bounds=SPHEROID.bounds)
    assert shared_kernel(FEW, M) is not shared_kernel(FEW, M)
    assert len(simulations) == 2


def test_few_are_kept():
    for seed in range(shared.MOST + 2):
        shared_kernel(Smooth(paths=200, rng=seed), Sphere(2))
    assert len(shared._latest) == shared.MOST
    forget_kernels()
    assert not shared._latest


def test_threads_wait_for_one_simulation(simulations):
    found = []
    threads = [threading.Thread(target=lambda: found.append(shared_kernel(FEW, SPHEROID))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(simulations) == 1
    assert len({id(kernel) for kernel in found}) == 1
