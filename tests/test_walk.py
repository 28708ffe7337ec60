"""The loop of Brownian motion: times, streams, precision, memory, errors. Its law is tested with the geometry."""

import tracemalloc

import numpy as np
import pytest

import heatgp as hg
from heatgp.errors import InvalidInput, OffManifold
from heatgp.paths.simulation import Simulation, schedule
from heatgp.paths.walk import simulate

NORTH = np.array([1.0, 0.0, 0.0])
MIXED = hg.Product(hg.Sphere(2), hg.ComplexProjective(1))


def test_the_steps_before_each_time_add_up_to_it():
    plan = schedule([0.1, 0.25, 0.2501, 1.0], 0.03)
    lengths = [max(count - 1, 0) * plan.step + last for count, last in zip(plan.counts, plan.lasts)]
    np.testing.assert_allclose(np.cumsum(lengths), plan.times, rtol=1e-14)
    assert max(plan.lasts) <= 0.03
    assert schedule([0.3], 0.1).counts == (3,)  # 0.3/0.1 is not 3 in floating point


def test_a_time_that_is_no_multiple_of_the_step_has_its_own_variance():
    x = hg.walk(hg.Euclidean(1), [0.0], [0.05, 0.125], paths=40_000, step=0.02, rng=0)[..., 0]
    for values, time in zip(x, (0.05, 0.125)):
        assert abs(values.var() - time) < 5 * time * np.sqrt(2 / 40_000)
    increments = x[1] - x[0]
    assert abs(np.corrcoef(increments, x[0])[0, 1]) < 5 / np.sqrt(40_000)


def test_time_zero_is_the_start():
    x = hg.walk(hg.Sphere(2), NORTH, [0.0, 0.1], paths=5, step=0.05, rng=0)
    np.testing.assert_array_equal(x[0], np.tile(NORTH, (5, 1)))


@pytest.mark.parametrize("manifold", [hg.Sphere(2), hg.SpecialOrthogonal(3), hg.Grassmann(6, 3), MIXED], ids=repr)
def test_one_seed_one_answer_whatever_the_chunks(manifold):
    x0 = manifold.random(np.random.default_rng(0), 1)[0]

    def run(**options):
        return hg.walk(manifold, x0, [0.02, 0.05], paths=1300, step=0.01, rng=7, **options)

    once = run()
    for options in ({"chunk": 1}, {"chunk": 600}, {"chunk": 10**6}):
        np.testing.assert_array_equal(run(**options), once)
    assert not np.array_equal(hg.walk(manifold, x0, [0.02, 0.05], paths=1300, step=0.01, rng=8), once)


def test_one_seed_one_answer_whatever_the_jobs():
    run = [hg.walk(hg.Sphere(2), NORTH, [0.05], paths=2000, step=0.01, rng=7, n_jobs=jobs) for jobs in (1, 2)]
    np.testing.assert_array_equal(*run)


def test_generators_give_new_paths_and_the_same_again():
    first, second = np.random.default_rng(3), np.random.default_rng(3)

    def run(rng):
        return hg.walk(hg.Sphere(2), NORTH, [0.1], paths=10, step=0.1, rng=rng)

    one = run(first)
    np.testing.assert_array_equal(one, run(second))
    assert not np.array_equal(one, run(first))


def test_every_path_may_have_its_own_start():
    M = hg.Sphere(2)
    starts = M.random(np.random.default_rng(0), 700)
    x = hg.walk(M, starts, [1e-8], paths=700, step=1e-8, rng=0)[0]
    assert M.distance(x, starts).max() < 1e-3
    chunked = hg.walk(M, starts, [0.1], paths=700, step=0.05, rng=0, chunk=512)
    np.testing.assert_array_equal(chunked, hg.walk(M, starts, [0.1], paths=700, step=0.05, rng=0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precision_is_that_of_the_start(dtype):
    x = hg.walk(hg.Sphere(2), NORTH.astype(dtype), [0.1], paths=10, step=0.05, rng=0)
    assert x.dtype == dtype
    x = hg.walk(hg.Unitary(2), np.eye(2).astype(np.result_type(dtype, np.complex64)), [0.1], paths=9, step=0.05, rng=0)
    assert x.real.dtype == dtype


def test_no_chunk_keeps_more_than_its_visitor_returns():
    M = hg.Sphere(2)
    simulation = Simulation.of([0.2], step=0.01, paths=200_000, rng=0)
    tracemalloc.start()
    means = [mean for _, mean in simulate(M, NORTH, simulation, lambda x: x.mean(axis=1))]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(means) > 5
    assert peak < 200_000 * 3 * 8  # less than the positions of all paths


@pytest.mark.slow
def test_a_million_steps_stay_on_the_manifold():
    for M in (hg.Sphere(2), hg.SpecialOrthogonal(3), hg.SpecialOrthogonal(4), hg.Grassmann(4, 2)):
        x = hg.walk(M, M.origin, [1000.0], paths=4, step=1e-3, rng=0)
        assert M.defect(x).max() < 4e-15


@pytest.mark.parametrize(
    "manifold",
    [hg.Sphere(3), hg.SpecialOrthogonal(3), hg.SpecialOrthogonal(5), hg.SpecialUnitary(3), hg.Stiefel(4, 2, "complex")],
    ids=repr,
)
def test_thousands_of_steps_stay_on_the_manifold(manifold):
    x = hg.walk(manifold, manifold.origin, [20.0], paths=3, step=0.01, rng=0)
    assert manifold.defect(x).max() < 1e-14


@pytest.mark.parametrize(
    "M",
    [
        hg.Sphere(2),
        hg.HermitianPD(2),
        *(pytest.param(M, marks=pytest.mark.slow) for M in (hg.ComplexProjective(1), hg.SPD(2))),
    ],
    ids=repr,
)
def test_jax_walks_the_same_law_in_the_precision_of_the_start(M):
    import jax

    single = M.origin.astype(np.complex64 if M.is_complex else np.float32)
    x = hg.walk(M, single, [0.2, 0.45], paths=3000, step=0.02, rng=0, engine="jax")
    assert x.dtype == single.dtype
    double = np.asarray(hg.walk(M, M.origin, [0.2, 0.45], paths=3000, step=0.02, rng=0, engine="jax"))
    assert double.dtype == M.origin.dtype
    assert M.defect(double).max() < 1e-14
    other = hg.walk(M, M.origin, [0.2, 0.45], paths=3000, step=0.02, rng=1)
    for a, b in zip(double, other):
        squares = M.distance(a, M.origin) ** 2, M.distance(b, M.origin) ** 2
        spread = np.hypot(squares[0].std(), squares[1].std()) / np.sqrt(3000)
        assert abs(squares[0].mean() - squares[1].mean()) < 5 * spread
    assert not jax.config.jax_enable_x64


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"times": [-0.1, 0.2]}, r"times must not be negative; got -0\.1"),
        ({"times": [0.2, 0.1]}, r"times must increase; times\[0\] = 0\.2 is followed by 0\.1\. Pass numpy\.unique"),
        ({"times": [np.nan]}, "finite numbers"),
        ({"times": []}, "non-empty list"),
        ({"step": 0.3}, r"step = 0\.3 is larger than the first time 0\.1\. Choose a step of at most 0\.1"),
        ({"step": 0.0}, "step must be a positive number; got 0.0"),
        ({"step": np.nan}, "step must be a positive number"),
        ({"paths": 0}, "paths must be a positive integer; got 0"),
        ({"paths": 2.5}, "paths must be a positive integer; got 2.5"),
        ({"chunk": 0}, "chunk must be a positive integer; got 0"),
        ({"engine": "cuda"}, "engine must be 'numpy' or 'jax'; got 'cuda'"),
        (
            {"x0": np.zeros((2, 3)) + NORTH},
            r"x0 has shape \(2, 3\): give one point, .* or one point per path",
        ),
        ({"x0": [1.0, 0.0]}, r"x0 has shape \(2,\); points of Sphere\(2\) have shape \(3,\)"),
    ],
)
def test_bad_input_is_named_before_any_work(changed, text):
    arguments = {"x0": NORTH, "times": [0.1, 0.2], "paths": 10, "step": 0.05, "rng": 0} | changed
    with pytest.raises(InvalidInput, match=text):
        hg.walk(hg.Sphere(2), **arguments)


def test_a_start_off_the_manifold_is_named():
    with pytest.raises(OffManifold, match=r"x0 is not on Sphere\(2\): \|\|x\| - 1\| = 1\.0e\+00 > 1e-06\. Divide"):
        hg.walk(hg.Sphere(2), [2.0, 0, 0], [0.1], paths=1, step=0.1)


@pytest.mark.parametrize(
    "M", [hg.SpecialOrthogonal(5), hg.Unitary(3), hg.SpecialUnitary(3), hg.Grassmann(5, 2), hg.Stiefel(5, 2)], ids=repr
)
def test_steps_too_long_for_a_series_stay_on_the_manifold(M):
    x = hg.walk(M, M.origin, [1000.0], paths=200, step=100.0, rng=0)
    assert M.defect(x).max() < 1e-13


def test_rotations_walk_as_unit_quaternions_with_the_law_of_their_own_steps(rng):
    """SO(3) is walked on S^3: the same start, and the same angle after one step as by `step` itself."""
    M = hg.SpecialOrthogonal(3)
    starts = M.random(rng, 20_000)
    x = hg.walk(M, starts, [0.0, 0.05], paths=20_000, step=0.05, rng=0)
    np.testing.assert_allclose(x[0], starts, atol=1e-14)
    own = M.step(starts, rng.standard_normal((20_000, 3)), 0.05)
    angles = [M.distance(ends, starts) for ends in (x[1], own)]
    for power in (1, 2, 4):
        a, b = (angle**power for angle in angles)
        assert abs(a.mean() - b.mean()) < 5 * np.hypot(a.std(), b.std()) / np.sqrt(20_000)
