"""Samples: their law, the bias of the step, and a cache that cannot be wrong."""

import contextlib
import math
import os

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import heatgp.paths.kept as table
from heatgp import (
    ComplexProjective,
    Euclidean,
    Grassmann,
    Product,
    SpecialOrthogonal,
    SpecialUnitary,
    Sphere,
    Stiefel,
    Torus,
    Unitary,
)
from heatgp.errors import HeatGPWarning, InvalidInput, Unsupported
from heatgp.manifolds.parse import can_be_named
from heatgp.paths.samples import orbit_samples

SETTING = {"times": [0.05, 0.1], "paths": 3000, "step": 0.01, "rng": 7}


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr("heatgp.paths.walk.CACHE_BYTES", 20_000)  # a block of 512 points of S^2: six chunks


@pytest.mark.parametrize(
    "manifold, eigenfunction, eigenvalue, expected",
    [
        (Sphere(2), lambda a: np.cos(a[..., 0]), 2, 1.0),
        (Sphere(9), lambda a: np.cos(a[..., 0]), 9, 8.0),
        (ComplexProjective(3), lambda a: (4 * np.cos(a[..., 0]) ** 2 - 1) / 3, 16, 8.0),
        (SpecialOrthogonal(5), lambda a: (1 + 2 * np.cos(a).sum(axis=-1)) / 5, 4, 1.5),
        (SpecialUnitary(3), lambda a: np.cos(a).sum(axis=-1) / 3, 16 / 3, 3.0),
        (Grassmann(5, 2), lambda a: (np.sum(np.cos(a) ** 2, axis=-1) - 0.8) / 1.2, 10, 3.0),
        (Torus(2), lambda a: np.cos(a).prod(axis=-1), 2, 0.0),
    ],
    ids=lambda value: None if callable(value) else repr(value),
)
def test_a_coarse_step_is_a_faster_clock(manifold, eigenfunction, eigenvalue, expected):
    """The mean of an eigenfunction decays like exp(-eigenvalue t/2) in the effective time, not in the nominal one."""
    assert manifold.einstein_constant == pytest.approx(expected)
    d = 0.3 / (1 + expected)
    samples = orbit_samples(manifold, [d, 2.5 * d], paths=40_000, step=d, rng=1, cache=False)  # a last step shortened
    values = eigenfunction(samples.theta)
    error = values.std(axis=1) / math.sqrt(samples.paths)
    t = samples.effective_times
    assert t == pytest.approx([d + expected / 6 * d**2, 2.5 * d + expected / 6 * 2.25 * d**2])
    second_order = eigenvalue * t / 2 * (expected * d) ** 2 / 20
    np.testing.assert_array_less(abs(values.mean(axis=1) - np.exp(-eigenvalue * t / 2)), 4 * error + second_order)
    if expected > 3:  # the nominal time is told apart from the effective one
        nominal = np.exp(-eigenvalue * samples.times / 2)
        assert (abs(values.mean(axis=1) - nominal) > 4 * error).all()


@pytest.mark.parametrize("manifold", [Unitary(2), Stiefel(5, 2)], ids=repr)
def test_without_one_ricci_curvature_times_are_nominal(manifold):
    assert manifold.einstein_constant is None
    samples = orbit_samples(manifold, [0.1], paths=10, step=0.1, rng=1)
    assert np.array_equal(samples.effective_times, samples.times)


def test_cached_samples_are_the_computed_ones(tmp_path, monkeypatch):
    fresh = orbit_samples(Sphere(2), **SETTING, cache=False)
    stored = orbit_samples(Sphere(2), **SETTING, cache=tmp_path)
    assert [f.suffix for f in tmp_path.iterdir()] == [".npz"]
    monkeypatch.setattr(table, "simulate", None)  # nothing may be simulated now
    again = orbit_samples(Sphere(2), **SETTING, cache=tmp_path)
    assert np.array_equal(fresh.theta, stored.theta)
    assert np.array_equal(fresh.theta, again.theta)
    assert again.entropy == fresh.entropy
    assert not again.theta.flags.writeable


@pytest.mark.parametrize("change", [{"times": [0.05, 0.11]}, {"paths": 3001}, {"step": 0.011}, {"rng": 8}])
def test_another_setting_is_another_file(tmp_path, change):
    for setting in (SETTING, {**SETTING, **change}):
        expected = orbit_samples(Sphere(2), **setting, cache=False).theta
        assert np.array_equal(orbit_samples(Sphere(2), **setting, cache=tmp_path).theta, expected)
    orbit_samples(Sphere(3), **SETTING, cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize("manifold, n_jobs", [(Sphere(2), None), (SpecialOrthogonal(5), 2)], ids=repr)
def test_an_interrupted_simulation_resumes_with_the_same_answer(tmp_path, monkeypatch, manifold, n_jobs):
    expected = orbit_samples(manifold, **SETTING, cache=False).theta
    original, visited = table.simulate, []

    def interrupted(*args):
        for number, (first, part) in enumerate(original(*args)):
            if len(visited) == 3 and number == 3:
                raise KeyboardInterrupt
            visited.append(first)
            yield first, part

    monkeypatch.setattr(table, "simulate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        orbit_samples(manifold, **SETTING, cache=tmp_path)
    assert [f.suffix for f in tmp_path.iterdir()] == [".partial"]
    assert visited == [0, 512, 1024]
    resumed = orbit_samples(manifold, **SETTING, n_jobs=n_jobs, cache=tmp_path).theta
    assert visited == [0, 512, 1024, 1536, 2048, 2560]
    assert np.array_equal(resumed, expected)
    assert [f.suffix for f in tmp_path.iterdir()] == [".npz"]


def test_a_killed_simulation_has_stored_its_last_chunks(tmp_path, monkeypatch):
    """Every chunk is appended once: what was stored before is not written again."""
    monkeypatch.setattr(table, "STORE_SECONDS", 0.0)
    done = []
    stored = table.StoredArrays
    monkeypatch.setattr(stored, "append", lambda self, first, part: done.append((first, part.shape[1])) or True)
    monkeypatch.setattr(stored, "write", lambda self, arrays: done.append(arrays["theta"].shape[1]))
    orbit_samples(Sphere(2), **SETTING, cache=tmp_path)
    assert done == [*((n, 512) for n in (0, 512, 1024, 1536, 2048)), (2560, 440), 3000]


def flip(data):
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def other(data):
    """A whole and sound file, of another table."""
    return None


@pytest.mark.parametrize("damage", [flip, lambda data: data[: len(data) // 2], lambda data: b"", other])
def test_a_damaged_file_is_set_aside_and_computed_again(tmp_path, damage):
    expected = orbit_samples(Sphere(2), **SETTING, cache=tmp_path).theta
    (path,) = tmp_path.iterdir()
    sound = path.read_bytes()
    if damage is other:
        orbit_samples(Sphere(2), **{**SETTING, "rng": 8}, cache=tmp_path)
        (second,) = set(tmp_path.iterdir()) - {path}
        sound = second.read_bytes()
        second.unlink()
    path.write_bytes(sound if damage is other else damage(sound))
    with pytest.warns(HeatGPWarning, match=r"is damaged .* simulated again"):
        again = orbit_samples(Sphere(2), **SETTING, cache=tmp_path).theta
    assert np.array_equal(again, expected)
    assert sorted(f.name for f in tmp_path.iterdir()) == sorted([path.name, path.name + ".damaged"])


def stop_after(number):
    """A `simulate` that is interrupted after this many chunks."""
    original = table.simulate

    def stopped(*args):
        for done, item in enumerate(original(*args)):
            if done == number:
                raise KeyboardInterrupt
            yield item

    return stopped


@pytest.mark.parametrize("place", [5, 40, 100, 12_000, 30_000, 32_900])
@pytest.mark.parametrize("torn", [True, False])
def test_damaged_parts_are_simulated_again_and_sound_ones_are_used(tmp_path, monkeypatch, place, torn):
    """Four parts of 8,240 bytes each, cut off or changed at a place."""
    monkeypatch.setattr(table, "STORE_SECONDS", 0.0)
    expected = orbit_samples(Sphere(2), **SETTING, cache=False).theta
    original = table.simulate
    monkeypatch.setattr(table, "simulate", stop_after(4))
    with pytest.raises(KeyboardInterrupt):
        orbit_samples(Sphere(2), **SETTING, cache=tmp_path)
    (path,) = tmp_path.iterdir()
    data = path.read_bytes()
    size = 48 + 8 * 2 * 512
    assert len(data) == 4 * size
    path.write_bytes(data[:place] if torn else data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
    firsts = []
    monkeypatch.setattr(table, "simulate", lambda *args: (firsts.append(args[-1]), original(*args))[1])
    with contextlib.nullcontext() if torn else pytest.warns(HeatGPWarning, match=r"is damaged .* simulated again"):
        again = orbit_samples(Sphere(2), **SETTING, cache=tmp_path).theta
    assert np.array_equal(again, expected)
    assert firsts == [place // size]  # the parts before the damage were used
    assert [f.suffix for f in tmp_path.iterdir()] == [".npz"]


def test_nothing_is_stored_that_could_be_mistaken(tmp_path, monkeypatch):
    spline = CubicSpline([0, 1, 2], [0, 1, 4])  # an object of a compiled library, whose code does not say what it is

    class Mine(Euclidean):  # a user's class, with a `repr` that does not say what it is
        def __repr__(self):
            return "Euclidean(2)"

        def polish(self, x):
            return x + 0 * spline(0.5)

    assert can_be_named(Euclidean(2))
    assert can_be_named(Grassmann(4, 2, "complex"))
    assert not can_be_named(Mine(2))
    orbit_samples(Mine(2), **SETTING, cache=tmp_path)
    orbit_samples(Sphere(2), **{**SETTING, "rng": None}, cache=tmp_path)
    monkeypatch.setenv("HEATGP_CACHE", str(tmp_path))
    orbit_samples(Sphere(2), **SETTING)  # a moment's work
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr(table, "TRIVIAL", 1000)
    orbit_samples(Sphere(2), **SETTING)
    assert len(list(tmp_path.iterdir())) == 1


def slower(factor):
    class Slower(Euclidean):
        def __repr__(self):
            return "Euclidean(2)"

        def step(self, x, z, time):
            return super().step(x, z, time / factor)

    return Slower(2)


def test_manifolds_with_the_same_name_have_files_of_their_own(tmp_path):
    made = [Euclidean(2), slower(1), slower(2)]
    expected = [orbit_samples(M, **SETTING, cache=False).theta for M in made]
    for number in (1, 2, 3):
        assert np.array_equal(orbit_samples(made[number - 1], **SETTING, cache=tmp_path).theta, expected[number - 1])
        assert len(list(tmp_path.iterdir())) == number
    for M, theta in zip([Euclidean(2), slower(1), slower(2)], expected):
        assert np.array_equal(orbit_samples(M, **SETTING, cache=tmp_path).theta, theta)
    assert len(list(tmp_path.iterdir())) == 3


def test_a_function_that_depends_on_more_than_its_code_is_found_out(tmp_path):
    """The first block is simulated again: a manifold that reads a file is not what it was when the file has changed."""
    number = tmp_path / "factor"

    class Reading(Euclidean):
        def step(self, x, z, time):
            with open(name) as stream:
                return super().step(x, z, time * float(stream.read()))

    name, folder = str(number), tmp_path / "cache"
    number.write_text("1")
    one = orbit_samples(Reading(2), **SETTING, cache=folder).theta
    assert np.array_equal(orbit_samples(Reading(2), **SETTING, cache=folder).theta, one)
    number.write_text("4")
    with pytest.warns(HeatGPWarning, match="are not those that it has now, though the code .* is the same"):
        four = orbit_samples(Reading(2), **SETTING, cache=folder).theta
    np.testing.assert_allclose(four, 2 * one)  # Brownian motion four times as fast
    assert len(list(folder.iterdir())) == 1


def test_a_generator_is_a_seed_too(tmp_path, monkeypatch):
    fresh = orbit_samples(Sphere(2), **{**SETTING, "rng": np.random.default_rng(5)}, cache=False).theta
    orbit_samples(Sphere(2), **{**SETTING, "rng": np.random.default_rng(5)}, cache=tmp_path)
    monkeypatch.setattr(table, "simulate", None)
    again = orbit_samples(Sphere(2), **{**SETTING, "rng": np.random.default_rng(5)}, cache=tmp_path).theta
    assert np.array_equal(again, fresh)


def test_a_folder_that_cannot_be_written_costs_the_cache_only(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    with pytest.warns(HeatGPWarning, match="could not be stored in .* HEATGP_CACHE"):
        samples = orbit_samples(Sphere(2), **SETTING, cache=os.fspath(blocked / "below"))
    assert np.array_equal(samples.theta, orbit_samples(Sphere(2), **SETTING, cache=False).theta)


def test_bad_input_is_named():
    with pytest.raises(InvalidInput, match="times must be positive: at time 0 "):
        orbit_samples(Sphere(2), [0.0, 0.1], paths=10, step=0.01)
    with pytest.raises(InvalidInput, match="not be negative; got -1"):
        orbit_samples(Sphere(2), [-1.0], paths=10, step=0.01)
    with pytest.raises(InvalidInput, match="finite numbers"):
        orbit_samples(Sphere(2), [math.nan], paths=10, step=0.01)
    with pytest.raises(InvalidInput, match="paths must be a positive integer; got 0"):
        orbit_samples(Sphere(2), [0.1], paths=0, step=0.01)
    with pytest.raises(Unsupported, match=r"Product\(Sphere\(2\)\) is not homogeneous.*ball_matrix"):
        orbit_samples(Product(Sphere(2)), [0.1], paths=10, step=0.01)
