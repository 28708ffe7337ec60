"""The walk with its state in registers, imitated on this processor: random numbers, steps entry by entry, laws."""

from importlib.util import find_spec

import jax
import numpy as np
import pytest
from jax import numpy as jnp
from scipy.integrate import quad
from scipy.stats import kstest

import heatgp as hg
from catalog import CATALOG, POSITIVE_DEFINITE
from heatgp.errors import Unsupported
from heatgp.paths import jax_engine
from heatgp.paths.entries import entrywise, to_entries, to_table
from heatgp.paths.philox import normals, philox
from heatgp.paths.registers import BLOCK, MOST_ENTRIES, _leg, _legs, register_walk
from heatgp.paths.samples import effective_times
from heatgp.paths.simulation import Simulation


def registers(M, start, times, *, paths, step, rng=0, how="interpreted"):
    simulation = Simulation.of(times, paths=paths, step=step, rng=rng)
    return register_walk(M, start, simulation.plan, paths, simulation.root, how)


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ([0, 0, 0, 0], [0, 0], [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xA4093822, 0x299F31D0],
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ],
)
def test_philox_gives_the_words_of_its_authors(counter, key, expected):
    """The known answers of Random123, the library of Salmon et al. (2011)."""
    with jax.enable_x64(True):
        words = philox([jnp.uint32(c) for c in counter], [jnp.uint32(k) for k in key])
    assert [int(word) for word in words] == expected


def test_normals_of_the_ends_of_all_words_are_finite(rng):
    ends = np.array([0, 1, 2**31, 2**32 - 2, 2**32 - 1], np.uint32)
    words = [jnp.asarray(w.ravel()) for w in np.meshgrid(ends, ends)] * 2
    for dtype in (np.dtype(np.float32), np.dtype(np.float64)):
        with jax.enable_x64(True):
            values = np.array(jax.jit(normals, static_argnums=1)(words, dtype), dtype=float)
        assert np.isfinite(values).all()
        assert 6.7 < np.abs(values).max() < 6.8  # the root of -2 log 2^-33


SMALL = [
    M
    for M in CATALOG
    if M.covering is None
    and M not in POSITIVE_DEFINITE
    and M.random(np.random.default_rng(0), 1).view(float).size <= MOST_ENTRIES
]
FAST = [
    *(hg.Sphere(2), hg.ComplexProjective(2), hg.Torus(2), hg.SpecialOrthogonal(4), hg.Grassmann(4, 2)),
    *(hg.Stiefel(3, 2, "complex"), hg.SpecialUnitary(2)),
]


@pytest.mark.parametrize("M", [M if M in FAST else pytest.param(M, marks=pytest.mark.slow) for M in SMALL], ids=repr)
def test_steps_entry_by_entry_are_the_steps_of_the_manifold(M, rng):
    """On NumPy vectors, so that nothing is compiled: all small manifolds, their step and their polish."""
    x, z = M.random(rng, 5), rng.standard_normal((5, *M.step_shape))
    point = jax.ShapeDtypeStruct(M.shape, x.dtype)
    with jax.enable_x64(True), jax.disable_jit():
        step = entrywise(lambda x, z: M.step(x, z, 0.01), point, jax.ShapeDtypeStruct(M.step_shape, float))
        polish = entrywise(M.polish, point)

        def table(a, shape):
            vectors = a.reshape(5, -1).view(float).T
            return to_table(list(vectors), shape, np.iscomplexobj(a))

        moved = step(table(x, M.shape), table(z, M.step_shape))
        both = [to_entries(moved), to_entries(polish(moved))]
    expected = M.step(x, z, 0.01)
    for entries, value in zip(both, (expected, M.polish(expected))):
        rows = np.stack([np.broadcast_to(np.asarray(e, float), 5) for e in entries], axis=-1)
        np.testing.assert_allclose(rows, value.reshape(5, -1).view(float), atol=1e-12)


def test_what_has_no_form_entry_by_entry_is_refused():
    with pytest.raises(Unsupported, match="'eigh' of JAX has no form entry by entry"):
        entrywise(lambda x: jnp.linalg.eigh(x).eigenvalues, jax.ShapeDtypeStruct((2, 2), np.float32))
    for M in (hg.SPD(2), hg.HermitianPD(2)):  # steps by Cholesky's factors: the usual operations take their place
        with pytest.raises(Unsupported, match="'cholesky' of JAX has no form entry by entry"):
            registers(M, M.origin, [0.1], paths=1, step=0.1)
    with pytest.raises(Unsupported, match=r"SpecialOrthogonal\(6\) have more than 25 real entries"):
        registers(hg.SpecialOrthogonal(6), np.eye(6), [0.1], paths=1, step=0.1)


@pytest.fixture(scope="module")
def sphere_paths():
    """S² from the north pole in single precision: 20 steps and 20,000 paths."""
    start = np.array([1.0, 0, 0], np.float32)
    return np.asarray(registers(hg.Sphere(2), start, [0.4], paths=20_000, step=0.02)[0])


def test_the_first_eigenfunction_decays_as_the_steps_say(sphere_paths):
    """E x_0 after one step is E cos(r √d), where r² is the sum of two squared normals; each step multiplies by that."""
    assert sphere_paths.dtype == np.float32

    def factor(d):
        return quad(lambda r: np.cos(r * np.sqrt(d)) * r * np.exp(-(r**2) / 2), 0, 40)[0]

    mean, spread = sphere_paths[:, 0].mean(dtype=float), sphere_paths[:, 0].std() / np.sqrt(len(sphere_paths))
    assert abs(mean - factor(0.02) ** 20) < 4.5 * spread
    for k in (1, 2):
        assert abs(sphere_paths[:, k].mean(dtype=float)) < 4.5 * sphere_paths[:, k].std() / np.sqrt(len(sphere_paths))


def test_distances_have_the_law_of_the_heat_kernel(sphere_paths):
    M = hg.Sphere(2)
    time = effective_times(M, [0.4], 0.02)[0]
    angle = np.linspace(0, np.pi, 4001)
    points = np.stack((np.cos(angle), np.sin(angle), 0 * angle), axis=-1)
    density = hg.heat_kernel(M)(points[:1], points, time=time)[0] * 2 * np.pi * np.sin(angle)
    law = np.concatenate(([0.0], np.cumsum((density[1:] + density[:-1]) / 2) * angle[1]))
    assert abs(law[-1] - 1) < 1e-5  # mass one
    distances = np.arccos(np.clip(sphere_paths[:, 0].astype(float), -1, 1))
    assert kstest(distances, lambda r: np.interp(r, angle, law)).pvalue > 1e-4
    assert hg.Sphere(2).defect(sphere_paths.astype(float)).max() < 3e-7


def test_paths_are_the_same_in_a_loop_and_whatever_is_beside_them(sphere_paths):
    """A few paths, in double precision and in a loop of usual operations: the same random numbers, the same paths."""
    some = np.asarray(registers(hg.Sphere(2), np.array([1.0, 0, 0]), [0.4], paths=200, step=0.02, how="loop")[0])
    assert some.dtype == np.float64
    np.testing.assert_allclose(some, sphere_paths[:200], atol=2e-5)
    assert not jax.config.jax_enable_x64


def test_a_gpu_takes_registers_where_points_fit_and_operations_where_not(monkeypatch):
    """The choice alone: a GPU is only claimed, without Triton, so that the loop runs here."""
    monkeypatch.setattr(jax_engine, "is_gpu", lambda: True)
    monkeypatch.setattr("heatgp.paths.registers.find_spec", lambda name: None)
    how = {"times": [0.4], "paths": 200, "step": 0.02, "rng": 0}
    start = np.array([1.0, 0, 0])
    chosen = hg.walk(hg.Sphere(2), start, engine="jax", **how)
    np.testing.assert_array_equal(chosen, registers(hg.Sphere(2), start, [0.4], paths=200, step=0.02, how="loop"))
    monkeypatch.setattr(jax_engine, "scan_walk", lambda manifold, *rest: f"operations on {manifold!r}")
    assert hg.walk(hg.SpecialOrthogonal(6), np.eye(6), engine="jax", **how) == "operations on SpecialOrthogonal(6)"


def test_complex_points_start_where_they_are_told_and_pass_every_time():
    M = hg.ComplexProjective(1)
    starts = M.random(np.random.default_rng(0), 3 * BLOCK + 5)
    x = np.asarray(registers(M, starts, [0.0, 0.1], paths=len(starts), step=0.05, how="loop"))
    np.testing.assert_array_equal(x[0], starts)
    assert M.defect(x[1]).max() < 1e-15
    squares = M.distance(x[1], starts) ** 2  # CP¹ is a sphere of radius 1/2, on which E sin²(angle/2) is known
    mean = (1 - np.exp(-4 * effective_times(M, [0.1], 0.05)[0])) / 2
    chance = np.sin(np.sqrt(squares)) ** 2
    assert abs(chance.mean() - mean) < 4.5 * chance.std() / np.sqrt(len(starts))


def test_steps_are_divided_into_pieces_of_equal_steps():
    assert list(_legs(3, 0.1, 0.1 - 1e-12)) == [(0.1, 0, 3)]
    assert list(_legs(3, 0.1, 0.05)) == [(0.1, 0, 2), (0.05, 0, 1)]
    assert list(_legs(1, 0.1, 0.05)) == [(0.05, 0, 1)]
    assert list(_legs(0, 0.1, 0.0)) == []
    assert list(_legs(2**30 + 2, 0.1, 0.1)) == [(0.1, 0, 2**30), (0.1, 2**30, 2**30 + 2)]


@pytest.mark.skipif(
    find_spec("jax.experimental.pallas.triton") is None, reason="this version of JAX has no Triton kernels"
)
@pytest.mark.filterwarnings("ignore:The Pallas Triton backend is deprecated")
@pytest.mark.parametrize(("M", "dtype"), [(hg.Sphere(2), "float32"), (hg.Grassmann(4, 2), "float64")], ids=repr)
def test_kernels_are_written_for_gpus_where_there_is_none(M, dtype):
    """Every operation of the kernel has a form in Triton's language: its compiler runs on a machine with a GPU only."""
    with jax.enable_x64(True):
        entries = [jax.ShapeDtypeStruct((2 * BLOCK,), dtype)] * np.prod(M.shape)
        numbers = jax.ShapeDtypeStruct((4,), "uint32")
        traced = _leg.trace(M, 0.01, dtype == "float32", "triton", numbers, *entries)
        assert "triton" in traced.lower(lowering_platforms=("cuda",)).as_text()
