"""Simulations of kernels kept on disk: used again, continued, and the same as those computed at once."""

import numpy as np
import pytest

import heatgp.heat.counting.ball as ball_module
import heatgp.paths.kept as kept_module
from faults import Plane
from heatgp import Domain, Euclidean, GPRegressor, Grassmann, Implicit, Product, Reference, Sphere, heat_kernel
from heatgp.heat.shared import forget_kernels
from heatgp.paths.walk import simulate

pytestmark = pytest.mark.filterwarnings("ignore::heatgp.errors.AccuracyWarning")  # few paths are enough here


def spheroid(x):
    return x[..., 0] ** 2 + x[..., 1] ** 2 + x[..., 2] ** 2 / 2 - 1


PLANES = Grassmann(4, 2)
SQUARE = Domain(Euclidean(2), [(0, 0), (1, 0), (1, 1), (0, 1)])
SPHEROID = Implicit(spheroid, 2, 3, bounds=((-1.1, 1.1), (-1.1, 1.1), (-1.5, 1.5)))
BALL = {"method": "ball", "times": [0.2], "step": 0.05, "paths": 2400}
REFERENCE = {"method": "reference", "references": 8, "paths": 2400}
KERNELS = {
    "profile": (Sphere(2), BALL),
    "pairs": (PLANES, BALL),
    "rows": (Plane(), BALL),
    "polygon": (SQUARE, REFERENCE),
    "implicit": (SPHEROID, REFERENCE),
    "smooth": (PLANES, {"method": "smooth", "paths": 2400}),
    "auto": (SQUARE, {"references": 8, "paths": 1600}),
    "product": (Product(SQUARE, Sphere(2)), REFERENCE),
}


def values(manifold, options, seed, cache):
    kernel = heat_kernel(manifold, rng=np.random.default_rng(seed), cache=cache, **options)
    X = manifold.random(np.random.default_rng(0), 3)
    return kernel(X, time=8.0 if "references" in options else 0.2)


@pytest.fixture
def simulated(monkeypatch):
    """How many paths were simulated, and a number after which the simulation is interrupted."""
    count = {"paths": 0, "most": np.inf}

    def counted(manifold, starts, simulation, visit, first_block=0):
        for first, part in simulate(manifold, starts, simulation, visit, first_block):
            chunk = min(512, simulation.paths - first)
            if count["paths"] + chunk > count["most"]:
                raise KeyboardInterrupt
            count["paths"] += chunk
            yield first, part

    for module in (kept_module, ball_module):
        monkeypatch.setattr(module, "simulate", counted)
    monkeypatch.setattr("heatgp.paths.walk.CACHE_BYTES", 1)  # a block is a chunk
    monkeypatch.setattr(kept_module, "STORE_SECONDS", 0.0)
    return count


@pytest.mark.parametrize("name", KERNELS)
def test_a_second_kernel_simulates_nothing(tmp_path, simulated, name):
    """At most the first block of a manifold of functions, which is compared."""
    manifold, options = KERNELS[name]
    expected = values(manifold, options, 1, False)
    assert np.array_equal(values(manifold, options, 1, tmp_path), expected)
    simulated["paths"] = 0
    assert np.array_equal(values(manifold, options, 1, tmp_path), expected)
    assert simulated["paths"] <= (512 if manifold in (SQUARE, SPHEROID) or name == "product" else 0) * 2
    assert not np.array_equal(values(manifold, options, 2, tmp_path), expected)


@pytest.mark.parametrize("name", ["profile", "pairs", "rows", "polygon", "smooth"])
def test_an_interrupted_kernel_goes_on(tmp_path, simulated, name):
    manifold, options = KERNELS[name]
    expected = values(manifold, options, 1, False)
    total, simulated["paths"], simulated["most"] = simulated["paths"], 0, simulated["paths"] - 600
    with pytest.raises(KeyboardInterrupt):
        values(manifold, options, 1, tmp_path)
    assert [f.suffix for f in tmp_path.iterdir() if f.suffix != ".npz"] == [".partial"]
    simulated["paths"], simulated["most"] = 0, np.inf
    assert np.array_equal(values(manifold, options, 1, tmp_path), expected)
    assert 0 < simulated["paths"] < total
    assert {f.suffix for f in tmp_path.iterdir()} == {".npz"}


def test_without_a_seed_nothing_is_kept(tmp_path):
    for manifold, options in KERNELS.values():
        heat_kernel(manifold, rng=None, cache=tmp_path, **options)
    assert not list(tmp_path.iterdir())


def test_cells_are_not_made_again(tmp_path, monkeypatch):
    method = Reference(references=8, paths=1600, cache=tmp_path)
    first = method.kernel(SPHEROID)
    monkeypatch.setattr("heatgp.heat.reference.kept_cells.make_cells", None)
    again = method.kernel(Implicit(spheroid, 2, 3, bounds=SPHEROID.bounds))
    for name, array in first.arrays().items():
        assert np.array_equal(array, again.arrays()[name])
    with pytest.raises(TypeError):  # another surface
        method.kernel(Implicit(lambda x: 1.01 * spheroid(x), 2, 3, bounds=SPHEROID.bounds))


def test_a_second_fit_uses_the_first_simulation(tmp_path, monkeypatch, simulated):
    monkeypatch.setenv("HEATGP_CACHE", str(tmp_path))
    monkeypatch.setattr(kept_module, "TRIVIAL", 1000)
    X = SPHEROID.random(np.random.default_rng(0), 20)
    method = Reference(references=8, paths=1600)
    means = []
    for _ in range(2):
        simulated["paths"] = 0
        forget_kernels()  # as if it were another process
        means.append(GPRegressor(SPHEROID, kernel=method, priors=None).fit(X, X[:, 0]).predict(X))
    assert simulated["paths"] == 512
    assert np.array_equal(*means)
