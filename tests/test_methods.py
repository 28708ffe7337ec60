"""Methods are values: their options, how they compose, split and store kernels."""

import copy
import pickle
import threading
import warnings
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

import heatgp as hg
from heatgp.errors import AccuracyWarning, InvalidInput, Unsupported
from heatgp.estimators.kernels import chosen_kernel
from heatgp.heat.composed import ProductKernel
from heatgp.heat.kernel import Recent
from heatgp.heat.methods import METHODS, method_named
from unknown import Planes

PLANES = hg.Grassmann(4, 2)
UNKNOWN = Planes(4, 2)
FRAMES = hg.Stiefel(3, 1, "complex")
"""Whose kernel is an average over random cosets."""


@pytest.mark.parametrize("method", METHODS.values())
def test_methods_are_small_frozen_values(method):
    value = method()
    assert value == method()
    assert hash(value) == hash(method())
    assert pickle.loads(pickle.dumps(value)) == value
    assert eval(repr(value), {method.__name__: getattr(hg, method.__name__)}) == value
    with pytest.raises(FrozenInstanceError):
        value.paths = 3
    assert method_named(method.name) == value


def test_a_value_and_its_name_make_the_same_kernel(rng):
    X = PLANES.random(rng, 4)
    options = {"paths": 500, "cache": False, "rng": 3}
    by_name = hg.heat_kernel(PLANES, "smooth", **options)
    for kernel in (hg.Smooth(**options).kernel(PLANES), hg.heat_kernel(PLANES, hg.Smooth(**options))):
        np.testing.assert_array_equal(kernel(X, time=0.2), by_name(X, time=0.2))
        assert repr(kernel) == repr(by_name)
    # What was left open is decided in the method that a kernel remembers: it makes the same kernel again.
    again = by_name.made_by.kernel(PLANES)
    np.testing.assert_array_equal(again(X, time=0.2), by_name(X, time=0.2))


@pytest.mark.parametrize(
    ("method", "options", "text"),
    [
        ("exact", {"paths": -3, "epsilon": -1}, "method 'exact' has no option 'paths'; it has no options"),
        ("smooth", {"epsilon": 0.1}, "has no option 'epsilon'; its options are paths, step, times, rng, n_jobs, cache"),
        ("ball", {"fibre": 2}, "method 'ball' has no option 'fibre'; its options are paths"),
        ("strip", {"references": 10}, "method 'strip' has no option 'references'"),
        ("reference", {"distance": True}, "method 'reference' has no option 'distance'"),
        ("reference", {"references": 1}, "needs references >= 2"),
        ("reference", {"ball": True}, "ball=True needs epsilon"),
        ("reference", {"references": 2.5}, "references must be a positive integer; got 2.5"),
        ("fibre-average", {"fibre": 0}, "fibre must be a positive integer; got 0"),
        ("auto", {"paths": -3}, "paths must be a positive integer; got -3"),
        ("auto", {"epsilon": -1}, "epsilon must be a positive number"),
        ("auto", {"distance": True}, "method 'auto' has no option 'distance'"),
        ("strip", {"times": []}, "times must be a number or a non-empty list"),
    ],
)
def test_options_that_a_method_does_not_have_are_errors(method, options, text):
    with pytest.raises(InvalidInput, match=text):
        hg.heat_kernel(hg.Sphere(2), method, **options)


def test_no_seed_is_a_new_seed():
    one, other = (hg.heat_kernel(UNKNOWN, paths=200, rng=None, cache=False) for _ in range(2))
    assert not np.array_equal(one.samples.theta, other.samples.theta)


def test_a_value_takes_no_more_options():
    with pytest.raises(InvalidInput, match="has its options already; got paths too"):
        hg.heat_kernel(hg.Sphere(2), hg.Exact(), paths=10)


def test_methods_say_where_they_do_not_work():
    with pytest.raises(Unsupported, match=r"Sphere\(2\) is no Stiefel manifold"):
        hg.FibreAverage().kernel(hg.Sphere(2))
    with pytest.raises(Unsupported, match=r"Stiefel\(12, 2\)"):
        hg.FibreAverage().kernel(hg.Stiefel(12, 2))
    with pytest.raises(Unsupported, match="is not homogeneous"):
        hg.Smooth().kernel(hg.Domain(hg.Euclidean(2), [(0, 0), (1, 0), (0, 1)]))


@pytest.mark.parametrize(
    "M",
    [
        hg.Product(hg.Product(UNKNOWN, UNKNOWN), UNKNOWN),
        hg.Product(UNKNOWN, hg.Product(UNKNOWN, UNKNOWN)),
        hg.Product(hg.Scaled(hg.Product(UNKNOWN, UNKNOWN), 2.0), UNKNOWN),
        hg.Product(hg.Product(hg.Sphere(2), UNKNOWN), hg.Product(hg.Sphere(2), UNKNOWN)),
    ],
    ids=repr,
)
@pytest.mark.parametrize(
    "rng", [0, np.random.SeedSequence(5), np.random.default_rng(0), None], ids=lambda r: type(r).__name__
)
def test_parts_of_nested_products_are_simulated_independently(M, rng):
    def simulated(kernel):
        if isinstance(kernel, ProductKernel):
            return [leaf for factor in kernel.factors for leaf in simulated(factor)]
        if isinstance(kernel.manifold, hg.Scaled):
            return simulated(kernel.base)
        return [kernel.samples.theta] if kernel.method == "smooth" else []

    thetas = simulated(hg.heat_kernel(M, paths=200, rng=rng, cache=False))
    assert len(thetas) >= 2
    for i, one in enumerate(thetas):
        for other in thetas[:i]:
            assert not np.array_equal(one, other)


def test_products_list_the_errors_of_each_factor(rng):
    """Factors with different numbers of replicates: none is left out, none is cut short."""
    M = hg.Product(FRAMES, hg.Sphere(2), UNKNOWN)
    kernel = hg.heat_kernel(M, paths=400, cache=False)
    fibre, paths = kernel.replicates(3)
    assert (len(fibre.kernels), fibre.fraction, len(paths.kernels), paths.fraction) == (3, 1.0, 3, 1 / 3)
    X = M.random(rng, 2)
    assert fibre.kernels[0].factors[2] is kernel.factors[2]
    assert not np.array_equal(fibre.kernels[0](X, time=0.5), fibre.kernels[1](X, time=0.5))
    assert hg.heat_kernel(hg.Sphere(2)).replicates(3) == []


def test_kernels_of_composed_manifolds_with_functions_come_back_from_files(tmp_path, rng):
    triangle = hg.Domain(hg.Euclidean(2), [(0, 0), (1, 0), (0, 1)])
    M = hg.Product(hg.Scaled(triangle, 2.0), hg.Sphere(2))
    kernel = hg.heat_kernel(M, references=30, paths=3000)
    kernel.save(tmp_path / "kernel.npz")
    X = M.random(rng, 5)
    again = hg.load_kernel(tmp_path / "kernel.npz", M)
    np.testing.assert_array_equal(again(X, time=1.0), kernel(X, time=1.0))
    np.testing.assert_array_equal(again.standard_error(X, time=1.0), kernel.standard_error(X, time=1.0))
    with pytest.raises(InvalidInput, match="functions a file cannot hold"):
        hg.load_kernel(tmp_path / "kernel.npz")


def test_scaled_manifolds_scale_times_and_step():
    kernel = hg.heat_kernel(
        hg.Scaled(hg.Sphere(2), 2.0), "strip", times=[0.4, 0.8], step=0.04, paths=20_000, cache=False
    )
    assert kernel.base.made_by.times == pytest.approx((0.1, 0.2))
    assert kernel.base.made_by.step == pytest.approx(0.01)
    assert kernel.times == pytest.approx((0.4, 0.8), rel=0.02)


def test_the_diagonal_of_a_quotient_takes_one_call_for_all_points(rng, monkeypatch):
    M = hg.Quotient(hg.Sphere(2), (lambda x: x, lambda x: -x))
    kernel, X = hg.heat_kernel(M), M.random(rng, 500)
    expected = np.array([kernel(x, x, time=0.3) for x in X[:5]])
    calls = []
    original = hg.Sphere.orbit
    monkeypatch.setattr(hg.Sphere, "orbit", lambda *args: calls.append(args) or original(*args))
    np.testing.assert_allclose(kernel.diag(X, 0.3)[:5], expected, rtol=1e-12)
    assert len(calls) <= 4


def test_recent_results_are_kept_with_their_owner_among_threads():
    def slow(time):
        made.append(time)
        return 2 * time

    made: list = []
    recent = Recent(slow, most=4)
    threads = [threading.Thread(target=lambda: [recent(t % 7) for t in range(200)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(recent.known) <= 4 + len(threads)
    assert recent(3) == 6
    kernel = hg.heat_kernel(PLANES, "smooth", paths=200, cache=False)
    values = kernel(PLANES.origin, time=0.2)
    for twin in (pickle.loads(pickle.dumps(kernel)), copy.deepcopy(kernel), replace(kernel)):
        np.testing.assert_array_equal(twin(PLANES.origin, time=0.2), values)


@pytest.mark.parametrize(
    "method, M",
    [
        (hg.Ball(paths=np.int64(500), epsilon=np.float32(0.5), rng=np.int64(1)), hg.Sphere(2)),
        (hg.Strip(paths=np.int64(20_000), times=np.array([0.5, 1.0])), hg.Sphere(2)),
        (hg.Reference(references=np.int64(20), paths=np.int64(500)), hg.Sphere(2)),
        (hg.FibreAverage(fibre=np.int64(1), rng=np.int64(2)), hg.Stiefel(5, 2)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_options_may_be_numbers_of_numpy_and_still_go_to_a_file(method, M, tmp_path, rng):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)  # few paths
        kernel = method.kernel(M)
    kernel.save(tmp_path / "kernel.npz")
    X, again = M.random(rng, 3), hg.load_kernel(tmp_path / "kernel.npz")
    time = 1.01 * max(0.5, kernel.times[0])
    np.testing.assert_array_equal(again(X, time=time), kernel(X, time=time))


def test_equal_factors_of_a_product_have_cosets_of_their_own():
    M = hg.Product(FRAMES, FRAMES)
    one, other = hg.heat_kernel(M).factors
    assert one.made_by.rng != other.made_by.rng
    assert one.fibre != other.fibre


def seeds(kernel):
    parts = kernel.factors if isinstance(kernel, ProductKernel) else ()
    return [seed for part in parts for seed in seeds(part)] or [kernel.made_by.rng]


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("rng", [5, np.random.default_rng(5)], ids=["int", "generator"])
def test_lists_of_kernels_have_seeds_of_their_own(number, rng):
    """In lists of names and of methods, also where a factor is a product itself."""
    M = (hg.Product(hg.Product(PLANES, PLANES), PLANES), hg.Product(PLANES, hg.Product(PLANES, PLANES)))[number]
    few = hg.Smooth(paths=200, cache=False, rng=rng)
    assert len(set(seeds(chosen_kernel(M, [few, few], None)))) == 3
    frames = hg.Product(FRAMES, FRAMES)
    assert len(set(seeds(chosen_kernel(frames, ["auto", "auto"], None, rng=rng)))) == 2


def test_one_simulated_kernel_for_two_factors_is_warned_of():
    kernel, other = (hg.heat_kernel(PLANES, "smooth", paths=200, cache=False, rng=rng) for rng in (0, 1))
    M = hg.Product(PLANES, PLANES)
    with pytest.warns(AccuracyWarning, match="stands for two factors: .* a seed .* of their own"):
        chosen_kernel(M, [kernel, kernel], None)
    chosen_kernel(M, [kernel, other], None)
    exact = hg.heat_kernel(hg.Sphere(2))
    chosen_kernel(hg.Product(hg.Sphere(2), hg.Sphere(2)), [exact, exact], None)
