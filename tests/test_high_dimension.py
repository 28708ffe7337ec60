"""Densities of high dimension, beside plain high-precision arithmetic; logarithms at every distance; models there."""

import mpmath as mp
import numpy as np
import pytest

from exact_reference import rank_one, scaled_log
from heatgp import (
    ComplexProjective,
    Euclidean,
    GPClassifier,
    GPRegressor,
    Product,
    Quotient,
    RealProjective,
    Scaled,
    SpecialUnitary,
    Sphere,
    Torus,
    Unitary,
    heat_kernel,
)
from heatgp.cli import main
from heatgp.errors import InvalidInput, Unsupported
from heatgp.gp.kernels import Normalized
from heatgp.heat.exact.families import complex_projective, real_projective, sphere
from heatgp.heat.exact.short_time import short_time

HIGH = [sphere(500), sphere(2000), complex_projective(1000), real_projective(1000)]


@pytest.mark.parametrize("profile", HIGH, ids=["S500", "S2000", "CP1000", "RP1000"])
@pytest.mark.parametrize("time", [4e-4, 1e-3, 3e-3, 0.01, 0.1, 10.0])
def test_ratios_and_the_log_of_the_peak(profile, time, rng):
    """The heat kernel of S^n lives at times of log(n)/n and below; before it is a point mass, after it constant."""
    r = np.append(0.0, rng.uniform(0, min(6 * time**0.5, np.pi / profile.speed), 6))
    log_peak, ratios = rank_one(profile.alpha, profile.beta, profile.speed, time, r)
    kernel = profile.at(time)
    assert scaled_log(kernel.log_scale, log_peak) < 1e-13
    np.testing.assert_allclose(kernel.relative_value(r[:, None]), [float(x) for x in ratios], rtol=0, atol=5e-14)
    nearby = profile.at(time * (1 + 1e-6)), profile.at(time * (1 - 1e-6))
    above, below = (p.relative_value(r[:, None]) * np.exp(p.log_scale - kernel.log_scale) for p in nearby)
    slope = time * kernel.relative_slope(r[:, None])
    np.testing.assert_allclose(slope, (above - below) / 2e-6, atol=1e-6 * max(1, abs(slope).max()))


@pytest.mark.parametrize("time", [1e-18, 1e-12, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1.0])
def test_logarithms_on_the_three_sphere_beside_its_images(time):
    """p_t = exp(t/2) (2 pi t)^(-3/2) / sin r sum_k (r + 2 pi k) exp(-(r + 2 pi k)²/2t), to the farthest point."""
    end = float(np.pi)
    r = np.unique(np.append(np.minimum(np.array([0.5, 3, 6, 8, 12, 60, 900]) * time**0.5, 3.0), [0.1, 1, 2, 3, 3.14]))
    r = np.append(r, [end - 1e-6, end - 1e-9])
    found = sphere(3).at(time).log(r[:, None])
    with mp.workdps(60):
        t = mp.mpf(time)
        for value, x in zip(found, map(mp.mpf, r.tolist())):
            images = [x + 2 * mp.pi * k for k in (-2, -1, 0, 1, 2)]
            total = mp.fsum(z * mp.exp((x * x - z * z) / (2 * t)) for z in images) / mp.sin(x)
            expected = t / 2 - mp.mpf(3) / 2 * mp.log(2 * mp.pi * t) - x * x / (2 * t) + mp.log(total)
            assert scaled_log(value, expected) < 1e-12


@pytest.mark.parametrize(
    "profile",
    [sphere(1), sphere(2), sphere(9), real_projective(2), real_projective(5), complex_projective(3), sphere(100)],
    ids=["S1", "S2", "S9", "RP2", "RP5", "CP3", "S100"],
)
@pytest.mark.parametrize("time", [0.02, 0.1, 0.5])
def test_logarithms_far_from_the_diagonal(profile, time):
    """Ratios down to 1e-130 of the peak, where the table has no digits."""
    r = np.array([0.0, 0.05, 0.3, 0.6, 0.9, 0.99, 1.0]) * np.pi / profile.speed
    log_peak, ratios = rank_one(profile.alpha, profile.beta, profile.speed, time, r, precision=240)
    found = profile.at(time).log(r[:, None])
    for value, ratio in zip(found, ratios):
        assert scaled_log(value, log_peak + mp.log(ratio)) < 1e-12


@pytest.mark.parametrize(
    "profile", [sphere(2000), complex_projective(1000), real_projective(1000)], ids=["S2000", "CP1000", "RP1000"]
)
@pytest.mark.parametrize("time", [2e-3, 4e-3])
def test_logarithms_far_from_the_diagonal_in_high_dimension(profile, time):
    r = np.array([0.02, 0.2, 0.5, 0.8, 1.0]) * np.pi / profile.speed
    log_peak, ratios = rank_one(profile.alpha, profile.beta, profile.speed, time, r, precision=900)
    for value, ratio in zip(profile.at(time).log(r[:, None]), ratios):
        assert scaled_log(value, log_peak + mp.log(ratio)) < 1e-12


@pytest.mark.parametrize("time", [1e-6, 1e-5, 1e-4, 1e-3])
def test_dimensions_are_a_ladder(time):
    """On S^(n+2) the density is -exp(nt/2)/(2 pi sin r) times the derivative in r of that on S^n."""
    n, r = 1998, np.array([0.05, 0.3, 1.0, 2.0, 3.0])
    step = 1e-4 * np.array([-2, -1, 1, 2])
    log = sphere(n).at(time).log
    around = np.stack([log((r + h)[:, None]) for h in step])
    change = (around[0] - 8 * around[1] + 8 * around[2] - around[3]) / 12e-4
    expected = log(r[:, None]) + n * time / 2 - np.log(2 * np.pi * np.sin(r)) + np.log(-change)
    found = sphere(n + 2).at(time).log(r[:, None])
    assert (np.abs(found - expected) < 1e-12 * np.abs(expected) + 1e-7).all()  # the difference has an error of 1e-8


@pytest.mark.parametrize("profile", [sphere(2), sphere(50), *HIGH[1:]], ids=["S2", "S50", "S2000", "CP1000", "RP1000"])
@pytest.mark.parametrize("time", [1e-11, 1e-9, 1e-7, 1e-5])
def test_the_positive_sum_is_the_short_time_expansion(profile, time):
    """Two formulas with nothing in common, where both hold: ratios from 1e-3 to 1e-87."""
    r = np.array([4, 5, 7, 9, 12, 20]) * time**0.5
    jet, height = short_time(profile.alpha, profile.beta, profile.speed).jet(r.astype(np.longdouble), time, 0)
    expected = height - (profile.alpha + 1) * np.log(2 * np.pi * time) + np.log(jet[0]).astype(float)
    np.testing.assert_allclose(profile.at(time).log(r[:, None]), expected, rtol=1e-12, atol=1e-12)


def test_euclidean_space_of_five_thousand_dimensions(rng):
    X = rng.standard_normal((3, 5000))
    found = heat_kernel(Euclidean(5000))(X, time=0.3, log=True)
    square = ((X[:, None] - X) ** 2).sum(-1)
    np.testing.assert_allclose(found, -2500 * np.log(2 * np.pi * 0.3) - square / 0.6, rtol=1e-13)


def test_logs_of_products_scaled_manifolds_and_quotients(rng):
    """Products add, scaled manifolds shift, quotients sum on a common scale."""
    M, t = Product(Sphere(900), Scaled(Sphere(800), 3.0)), 2e-3
    X = M.random(rng, 3)
    parts = M.split(X)
    first = heat_kernel(Sphere(900))(parts[0], time=t, log=True)
    second = heat_kernel(Sphere(800))(parts[1], time=t / 9, log=True) - 800 * np.log(3)
    np.testing.assert_allclose(heat_kernel(M)(X, time=t, log=True), first + second, rtol=1e-12)
    np.testing.assert_allclose(heat_kernel(M).diag(X, t, log=True), np.diag(first + second), rtol=1e-12)
    cover = Sphere(700)
    halves = Quotient(cover, [lambda x: x, lambda x: -x])
    real = heat_kernel(RealProjective(700))
    Y = cover.random(rng, 3)
    np.testing.assert_allclose(heat_kernel(halves)(Y, time=0.01, log=True), real(Y, time=0.01, log=True), rtol=1e-12)


def test_the_log_is_that_of_the_value(rng):
    for M in (Sphere(2), Torus(3), ComplexProjective(2), Unitary(2), SpecialUnitary(2), Euclidean(2)):
        X = M.random(rng, 4) if not isinstance(M, Euclidean) else rng.standard_normal((4, 2))
        kernel = heat_kernel(M)
        np.testing.assert_allclose(kernel(X, X[:2], time=0.7, log=True), np.log(kernel(X, X[:2], time=0.7)), atol=1e-10)


@pytest.mark.parametrize(
    "kernel", [heat_kernel(M) for M in (Sphere(500), Sphere(300), Euclidean(900), ComplexProjective(220))], ids=repr
)
def test_no_density_is_silently_infinite(kernel):
    X = np.zeros((2, *kernel.manifold.shape), dtype=complex if kernel.manifold.is_complex else float)
    X[..., 0] = 1
    assert (kernel.standard_error(X, time=1e-3) == 0).all()
    for function in (kernel, kernel.derivative):
        with pytest.raises(InvalidInput, match=r"densities of the size exp\(\d+.*log=True"):
            function(X, time=1e-3)
    with pytest.raises(InvalidInput, match=r"log=True"):
        kernel.diag(X, 1e-3)
    assert (kernel.diag(X, 1e-3, log=True) > 700).all()


def test_a_log_that_no_formula_resolves_is_an_error():
    U = Unitary(3)
    x, y = np.eye(3), np.diag([-1, 1, 1])
    with pytest.raises(InvalidInput, match=r"of the largest one; below 1e-10 of it this kernel has no digits"):
        heat_kernel(U)(x.astype(complex), y.astype(complex), time=0.01, log=True)


@pytest.mark.parametrize("method", ["smooth", "strip", "ball"])
def test_paths_cannot_resolve_so_many_dimensions(method):
    with pytest.raises(Unsupported, match=r"Sphere\(500\) has 500 dimensions: .* Use method='auto'"):
        heat_kernel(Sphere(500), method, paths=200)


def test_the_diagonal_has_the_batch_axes_of_the_points(rng):
    for M in (Sphere(2), Unitary(2), Product(Sphere(2), Torus(1))):
        kernel, X = heat_kernel(M), M.random(rng, 6)
        for batch in ((), (6,), (2, 3), (0,)):
            points = X[: int(np.prod(batch))].reshape(*batch, *M.shape) if batch != () else X[0]
            assert kernel.diag(points, 0.3).shape == batch
        np.testing.assert_allclose(kernel.diag(X, 0.3), np.diag(kernel(X, time=0.3)), rtol=1e-12)


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_unitary_groups_at_long_times(n, special, rng):
    """They are uniform: 1/volume, without a warning."""
    M = SpecialUnitary(n) if special else Unitary(n)
    kernel, X = heat_kernel(M), M.random(rng, 3)
    for time in (1e2, 3e3, 1e4, 1e6):
        np.testing.assert_allclose(kernel(X, time=time), 1 / M.volume, rtol=1e-10)
        assert np.abs(kernel.derivative(X, time=time)).max() < 1e-10


def low_dimensional_data(M, rng, number):
    """Points near a three-dimensional part of the manifold, and a smooth function on that."""
    latent = rng.standard_normal((number, 4))
    X = np.zeros((number, *M.shape), dtype=complex if M.is_complex else float)
    X[:, :4] = latent
    X += 1e-3 * rng.standard_normal(X.shape)
    if not isinstance(M, Euclidean):
        X[:, 0] = np.abs(X[:, 0]) + 2
        X /= np.linalg.norm(X, axis=1, keepdims=True)
    f = (X[:, 1] * X[:, 0].conj()).real
    return X, (f - f.mean()) / f.std()


@pytest.mark.parametrize(
    "M", [Sphere(400), Sphere(2000), RealProjective(1000), ComplexProjective(1000), Euclidean(5000)], ids=repr
)
def test_models_fit_and_predict(M, rng):
    X, f = low_dimensional_data(M, rng, 260)
    y = f + 0.1 * rng.standard_normal(len(f))
    model = GPRegressor(M).fit(X[:200], y[:200])
    mean, deviation = model.predict(X[200:], return_std=True)
    assert np.mean((mean - f[200:]) ** 2) < 0.1 * np.var(f[200:])
    assert np.isfinite(deviation).all()
    classes = GPClassifier(M, priors=None, label_noise=0, mean="zero").fit(X[:80], f[:80] > 0)
    assert classes.score(X[200:], f[200:] > 0) > 0.85


def test_a_linear_function_of_all_coordinates(rng):
    """200 points in 401 dimensions: half of the variance can be known."""
    M = Sphere(400)
    X = M.random(rng, 500)
    f = np.sqrt(401) * X @ M.random(rng, 1)[0]
    model = GPRegressor(M, noise=1e-2).fit(X[:200], f[:200])
    assert np.mean((model.predict(X[200:]) - f[200:]) ** 2) < 0.7 * np.var(f[200:])


@pytest.mark.parametrize("M", [Sphere(2000), ComplexProjective(300), Euclidean(5000)], ids=repr)
def test_slopes_of_correlations_are_derivatives(M, rng):
    X, _ = low_dimensional_data(M, rng, 12)
    pairs = Normalized(heat_kernel(M)).pairs(X)
    for time in (1e-3, 4e-3, 0.05):
        step = 1e-4
        above, below = pairs.at(time * np.exp(step)).value, pairs.at(time * np.exp(-step)).value
        np.testing.assert_allclose(pairs.at(time).slopes[0], (above - below) / (2 * step), atol=1e-7)


def test_the_command_line_prints_logs_or_an_error(capsys):
    assert main(["kernel", "Sphere(500)", "--time", "0.01"]) == 2
    assert "log=True (on the command line --log)" in capsys.readouterr().err
    assert main(["kernel", "Sphere(500)", "--time", "0.01", "--log"]) == 0
    printed = capsys.readouterr().out
    assert "nan" not in printed
    assert "879.755" in printed  # log p_t(x, x), as in mpmath
    assert main(["kernel", "Sphere(2)", "--time", "0.1", "--log", "--plot", "x.png"]) == 2
