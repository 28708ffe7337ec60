"""Kernels of Stiefel manifolds from those of the groups, against integrals, paths and laws of nature."""

from time import perf_counter

import numpy as np
import pytest
from scipy.integrate import quad

import heatgp as hg
from heatgp.errors import InvalidInput
from heatgp.heat.exact.fibre import finite_group, lift
from heatgp.heat.methods import Exact

SO5 = Exact().kernel(hg.SpecialOrthogonal(5))


def test_frames_of_one_column_are_a_sphere():
    M, S = hg.Stiefel(4, 1), hg.Sphere(3)
    X = M.random(np.random.default_rng(0), 6)
    np.testing.assert_allclose(Exact().kernel(M)(X, time=0.3), Exact().kernel(S)(X[..., 0], time=0.3), rtol=1e-12)


def test_all_but_one_column_are_a_rotation():
    X = hg.SpecialOrthogonal(4).random(np.random.default_rng(0), 6)
    group = Exact().kernel(hg.SpecialOrthogonal(4))(X, time=0.3)
    np.testing.assert_allclose(Exact().kernel(hg.Stiefel(4, 3))(X[..., :3], time=0.3), group, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("time", [0.02, 0.3])
def test_circle_average_is_the_integral_over_the_circle(time):
    """Against adaptive quadrature of the group's kernel over the rotations of the last two columns."""
    M = hg.Stiefel(5, 3)
    X = M.random(np.random.default_rng(1), 2)
    X[1] = M.exp(X[0], 0.2 * M.noise(X[0], X[1]))
    g, h = lift(M, X)

    def turned(angle):
        c, s = np.cos(angle), np.sin(angle)
        turn = np.eye(5)
        turn[3:, 3:] = [[c, -s], [s, c]]
        return float(SO5(g[None], (h @ turn)[None], time=time)[0, 0])

    kernel = Exact().kernel(M)
    peak = kernel.diag(X[:1], time)[0]
    expected = quad(turned, -np.pi, np.pi, limit=200, epsabs=1e-10 * peak, epsrel=0)[0]
    assert abs(kernel(X[:1], X[1:], time=time)[0, 0] - expected) < 1e-9 * peak


@pytest.mark.parametrize("M", [hg.Stiefel(4, 2), hg.Stiefel(3, 2, "complex"), hg.Stiefel(2, 1, "complex")], ids=repr)
def test_mass_is_one_and_the_frame_itself_decays(M, rng):
    """Uniform points: the mean of vol p is one, and that of vol p Re tr(x*y) / k is exp(-lambda t/2)."""
    Y = M.random(rng, 20_000)
    time = 0.8
    weight = M.volume * Exact().kernel(M)(M.origin, Y, time=time)
    overlap = np.einsum("ij,nij->n", M.origin.conj(), Y).real / M.k
    decay = np.exp(-M.n * time) if M.is_complex else np.exp(-(M.n - 1) * time / 2)
    for values, expected in ((weight, 1.0), (weight * overlap, decay)):
        assert abs(values.mean() - expected) < 5 * values.std() / np.sqrt(len(values))


@pytest.mark.parametrize("M", [hg.Stiefel(4, 2), hg.Stiefel(3, 2, "complex")], ids=repr)
def test_at_short_times_a_short_arc_is_the_whole_circle(M, rng, monkeypatch):
    """Points some widths of the kernel apart, and far away; the arccos of close points errs by 2e-16 / t."""
    time = 2e-4
    centre = np.broadcast_to(M.random(rng, 1)[0], (12, *M.shape))
    z = rng.standard_normal((2, 12, *M.shape))
    widths = np.sqrt(time) * np.linspace(0.1, 3, 12)[:, None, None]
    near = M.exp(centre, M.noise(centre, widths * (z[0] + 1j * z[1] if M.is_complex else z[0])))
    X, kernel = np.concatenate([near, M.random(rng, 2)]), Exact().kernel(M)
    arc, slope = kernel(X, X, time=time), kernel.derivative(X, X, time=time)
    monkeypatch.setattr("heatgp.heat.exact.fibre.MARGIN", np.inf)
    assert np.sum(arc > 1e-9 * arc.max()) > 50
    np.testing.assert_allclose(arc, kernel(X, X, time=time), atol=1e-11 * arc.max(), rtol=0)
    np.testing.assert_allclose(slope, kernel.derivative(X, X, time=time), atol=1e-11 * abs(slope).max(), rtol=0)


@pytest.mark.parametrize("time", [1e-5, 1e-6])
def test_forty_frames_at_short_times_take_a_second(time, rng):
    X = hg.Stiefel(4, 2).random(rng, 40)
    start = perf_counter()
    K = Exact().kernel(hg.Stiefel(4, 2))(X, time=time)
    assert perf_counter() - start < 10
    assert np.linalg.eigvalsh(K)[0] > 0.5 * K.max()  # far apart: a diagonal matrix


def test_finite_groups_are_groups():
    for group, order in ((finite_group(3, False), 60), (finite_group(4, False), 192), (finite_group(2, True), 32)):
        assert len(group) == order
        product = group[3] @ group[-1]
        assert np.abs(group - product).max(axis=(-2, -1)).min() < 1e-12
        np.testing.assert_allclose(np.linalg.det(group).real if group.shape[-1] > 2 else 1, 1, atol=1e-12)


def test_random_cosets_are_positive_definite_and_near_the_average(rng):
    """V(2, 5), whose fibre is SO(3), against ten thousand random elements of the fibre."""
    M = hg.Stiefel(5, 2)
    X = M.random(rng, 12)
    X[6:] = M.exp(X[:6], 0.5 * M.noise(X[:6], X[6:]))
    kernel = hg.heat_kernel(M, "fibre-average")
    assert repr(kernel) == "heat_kernel(Stiefel(5, 2), method='fibre-average', fibre=2)"
    K = kernel(X, time=0.4)
    eigenvalues = np.linalg.eigvalsh(K)
    assert eigenvalues[0] > -1e-12 * eigenvalues[-1]
    turns = np.tile(np.eye(5), (10_000, 1, 1))
    turns[:, 2:, 2:] = hg.SpecialOrthogonal(3).random(rng, 10_000)
    g = lift(M, X)
    volume = hg.SpecialOrthogonal(3).volume
    for i, j in ((0, 0), (0, 6), (1, 7), (2, 3)):
        values = volume * SO5(g[i][None], g[j] @ turns, time=0.4)[0]
        assert abs(K[i, j] - values.mean()) < 0.005 * K[0, 0] + 4 * values.std() / 100


def test_slope_and_errors_of_the_random_average(rng):
    M = hg.Stiefel(5, 2)
    X = M.random(rng, 4)
    kernel = hg.heat_kernel(M, "fibre-average", fibre=2)
    difference = (kernel(X, time=0.40004) - kernel(X, time=0.39996)) / 8e-5
    np.testing.assert_allclose(kernel.derivative(X, time=0.4), difference, atol=1e-6 * kernel.diag(X, 0.4).max() / 0.4)
    (source,) = kernel.replicates(4)  # as a model asks for them
    parts = [part.pairs(X).at(0.4).value for part in source.kernels]
    assert len(parts) == 4
    assert source.fraction == 1.0  # other cosets, as many
    assert 0 < np.abs(parts[0] - parts[1]).max() < 0.2 * kernel.diag(X, 0.4).max()
    with pytest.raises(InvalidInput, match="fibre must be a positive integer; got 0"):
        hg.FibreAverage(fibre=0)


@pytest.mark.parametrize("fibre", [1, 2])
def test_replicates_show_the_spread_over_random_cosets(fibre, rng):
    """The standard error that four replicates show is that of kernels with other random cosets."""
    M = hg.Stiefel(5, 2)
    X = M.random(rng, 6)
    X[3:] = M.exp(X[:3], 0.2 * M.noise(X[:3], X[3:]))  # near pairs vary far less than others
    kernels = [hg.FibreAverage(fibre=fibre, rng=100 * seed).kernel(M) for seed in range(24)]
    spread = np.std([kernel.pairs(X).at(0.35).value for kernel in kernels], axis=0, ddof=1)
    stated = []
    for kernel in kernels[:6]:
        (source,) = kernel.replicates(4)
        parts = [part.pairs(X).at(0.35).value for part in source.kernels]
        stated.append(source.fraction * np.var(parts, axis=0, ddof=1))
    far = np.arange(6)[:, None] % 3 != np.arange(6) % 3
    near = np.abs(np.arange(6)[:, None] - np.arange(6)) == 3
    for pairs in (far, near):
        ratio = np.sqrt(np.mean(stated, axis=0)[pairs].mean() / (spread[pairs] ** 2).mean())
        assert 0.6 < ratio < 1.6


@pytest.mark.parametrize("time", [0.31, 0.4, 0.5])
def test_stated_errors_are_those_against_many_cosets(time, rng):
    """V(2, 5): averages over 60 random cosets of the icosahedron's group, one-sided, are right to 0.2 % here."""
    M = hg.Stiefel(5, 2)
    X = M.random(rng, 8)
    X[1:] = M.exp(X[0], np.linspace(0, 1.2, 7)[:, None, None] / np.sqrt(M.dim) * M.noise(X[0], X[1:]))
    elements = np.tile(np.eye(5), (3600, 1, 1))
    elements[:, 2:, 2:] = (hg.SpecialOrthogonal(3).random(rng, 60)[:, None] @ finite_group(3, False)).reshape(-1, 3, 3)
    g = lift(M, X)
    truth = np.array([SO5(g[0][None], y @ elements, time=time).mean() for y in g]) * hg.SpecialOrthogonal(3).volume
    kernel = hg.heat_kernel(M, "fibre-average")
    off = np.abs(kernel(X[0], X, time=time) - truth) / truth[0]
    stated = kernel.standard_error(X[0], X, time=time) / truth[0]
    assert (off < 3 * stated + 0.005).all()
    assert (stated < 10 * off + 0.02).all()  # and not more than they are


@pytest.mark.parametrize(
    "M",
    [hg.Stiefel(7, 3), hg.Stiefel(6, 3), hg.Stiefel(5, 2), hg.Stiefel(4, 2), hg.Stiefel(4, 3), hg.Stiefel(4, 1)],
    ids=repr,
)
def test_no_points_at_all(M):
    none, one = M.random(np.random.default_rng(0), 0), M.origin[None]
    kernel = hg.heat_kernel(M)
    assert kernel(none, time=0.5).shape == (0, 0)
    assert kernel(one, none, time=0.5).shape == (1, 0)
    assert kernel.standard_error(none, one, time=0.5).shape == (0, 1)


@pytest.mark.parametrize("size", [(4, 2), (5, 3), (3, 2, "complex"), (4, 3, "complex")], ids=repr)
@pytest.mark.parametrize("time", [1e-3, 1e-2])
def test_only_the_near_part_of_the_circle_counts(size, time, rng, monkeypatch):
    """The average over the whole circle, which at short times is nearly all zeros, is the same."""
    M = hg.Stiefel(*size)
    x = np.broadcast_to(M.origin, (8, *M.shape))
    noise = rng.standard_normal((2, *x.shape))
    z = noise[0] + 1j * noise[1] if M.is_complex else noise[0]
    X = np.asarray(M.exp(x, 0.5 * np.sqrt(time) * M.noise(x, z)))
    X = np.concatenate([X, M.random(rng, 4)])
    kernel = Exact().kernel(M)
    found, slope = kernel(X, time=time), kernel.derivative(X, time=time)
    monkeypatch.setattr("heatgp.heat.exact.fibre.MARGIN", 1e9)
    peak = kernel.diag(X[0], time)
    np.testing.assert_allclose(found, kernel(X, time=time), atol=1e-11 * peak)
    np.testing.assert_allclose(slope, kernel.derivative(X, time=time), atol=1e-10 * peak / time)
    assert (found > 1e-6 * peak).mean() > 0.3
