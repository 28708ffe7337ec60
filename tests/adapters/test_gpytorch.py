"""Heat kernels in GPyTorch: what its own tests ask of a kernel, derivatives, models, and what is refused."""

import copy
import doctest
import importlib
import math
import pickle
import re

import gpytorch
import mpmath
import numpy as np
import pytest
import torch
from gpytorch.distributions import MultivariateNormal
from gpytorch.kernels import AdditiveKernel, ProductKernel, RBFKernel, ScaleKernel
from scipy.special import eval_legendre

import heatgp as hg
from catalog import CATALOG, glide, identity, is_supported
from heatgp import SPD, Euclidean, Product, Quotient, Scaled, SpecialOrthogonal, Sphere, Stiefel, Torus, Unitary
from heatgp.adapters.gpytorch import MARGIN, HeatKernel
from heatgp.errors import InvalidInput, OffManifold, Unsupported
from heatgp.manifolds.composed.product import flatten

EXACT = [M for M in CATALOG if is_supported(M, "exact")]
KLEIN = Quotient(Torus(2), (identity, glide))  # where k(x, x) depends on x


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def rows(M, rng, *batch, dtype=torch.float64):
    """Random points as a tensor (*batch, size)."""
    points = np.asarray(flatten(M, M.random(rng, math.prod(batch))))
    return torch.tensor(points, dtype=dtype).reshape(*batch, -1)


def dense(kernel, *points, **options):
    return kernel(*points, **options).to_dense().detach()


def close(one, other, tolerance=1e-12):
    torch.testing.assert_close(one, other, rtol=0, atol=tolerance)


# What GPyTorch's BaseKernelTestCase checks, on every manifold with an exact kernel.


@pytest.mark.parametrize("M", EXACT, ids=repr)
def test_values_are_those_of_the_library(M, rng):
    x, y = M.random(rng, 4), M.random(rng, 3)
    exact = hg.heat_kernel(M)
    roots = [np.exp(exact.diag(z, 0.7, log=True) / 2) for z in (x, y)]
    found = dense(HeatKernel(M, 0.7), *(torch.tensor(np.asarray(flatten(M, z))) for z in (x, y)))
    close(found, torch.tensor(exact(x, y, time=0.7) / np.outer(*roots)), 1e-7)  # time is in single precision


@pytest.mark.parametrize("M", EXACT, ids=repr)
def test_batches(M, rng):
    """One time for a batch of points, a time for each element, and elements of the kernel."""
    x = rows(M, rng, 3, 2, 3)
    kernel = HeatKernel(M, 0.7).double()
    values = dense(kernel, x)
    close(values, torch.stack([torch.stack([dense(kernel, each) for each in row]) for row in x]))
    close(dense(kernel.expand_batch(torch.Size([3, 2])), x), values)
    close(kernel(x, diag=True), values.diagonal(dim1=-2, dim2=-1))

    several = HeatKernel(M, 0.7, batch_shape=torch.Size([3, 2])).double()
    several.time = torch.linspace(0.5, 0.9, 6, dtype=torch.float64).reshape(3, 2, 1, 1)
    values = dense(several, x)
    for i, j in np.ndindex(3, 2):
        kernel.time = several.time[i, j]
        close(dense(kernel, x[i, j]), values[i, j])
    close(dense(several[1], x[1]), values[1])
    close(dense(several[:, 1], x[:, 1]), values[:, 1])
    close(dense(several[2, 0], x[2, 0]), values[2, 0])
    close(several(x)[1, 0, :2, 1:].to_dense(), values[1, 0, :2, 1:])
    close(dense(several, x[0, 0]), dense(several, x[0, 0].expand(3, 2, -1, -1)))


@pytest.mark.parametrize("M", EXACT, ids=repr)
def test_active_dims(M, rng):
    x = rows(M, rng, 4)
    size, values = x.shape[-1], dense(HeatKernel(M).double(), x)
    more = torch.cat([torch.randn(4, 2, dtype=torch.float64), x, torch.randn(4, 1, dtype=torch.float64)], dim=-1)
    close(dense(HeatKernel(M, active_dims=list(range(2, 2 + size))).double(), more), values)
    mixed = torch.randperm(size)
    close(dense(HeatKernel(M, active_dims=torch.argsort(mixed)).double(), x[:, mixed]), values)


def curve_derivative(M, function, x, v, step=2e-3):
    """The derivative of a function of rows along geodesics, by differences of sixth order."""
    weights = ((1, 0.75), (2, -0.15), (3, 1 / 60))

    def value(s):
        return function(torch.tensor(np.asarray(flatten(M, M.exp(x, s * v))))).item()

    return sum(w * (value(k * step) - value(-k * step)) for k, w in weights) / step


@pytest.mark.parametrize("M", EXACT, ids=repr)
def test_derivatives(M, rng):
    """In the points along geodesics, and in the raw time."""
    x, y = M.random(rng, 2), M.random(rng, 3)
    y = np.concatenate([y[:2], M.exp(x[:1], 0.3 * M.tangent_basis(x[:1])[:, 0])])
    z, weights = torch.tensor(np.asarray(flatten(M, y))), torch.randn(2, 3, dtype=torch.float64)
    kernel = HeatKernel(M, 0.5).double()

    def first(points):
        return (kernel(points, z).to_dense() * weights).sum()

    def second(points):
        return (kernel(z, points).to_dense() * weights.T).sum()

    v = M.tangent_basis(x)[:, -1] + M.tangent_basis(x)[:, 0] / 2
    for function in (first, second):
        at = torch.tensor(np.asarray(flatten(M, x)), requires_grad=True)
        (slopes,) = torch.autograd.grad(function(at), at)
        found = (slopes.numpy() * flatten(M, v)).sum()
        np.testing.assert_allclose(found, curve_derivative(M, function, x, v), atol=1e-8 * slopes.abs().max().item())
    close(*time_derivatives(kernel, lambda: first(at)), 1e-7)


def time_derivatives(kernel, function):
    return raw_derivatives(kernel.raw_time, function)


def raw_derivatives(raw, function):
    """The derivative in a raw parameter by autograd, and by differences."""
    (found,) = torch.autograd.grad(function(), raw)
    start, ends = raw.detach().clone(), []
    with torch.no_grad():
        for step in (1e-4, -1e-4):
            raw.copy_(start + step)
            ends.append(function())
        raw.copy_(start)
    return found.sum(), (ends[0] - ends[1]) / 2e-4


# Derivatives where more is to be thought of.


@pytest.mark.parametrize("M", [Sphere(2), KLEIN, Product(SpecialOrthogonal(3), Euclidean(1)), Unitary(2)], ids=repr)
def test_derivatives_of_points_with_themselves(M, rng):
    """Both arguments are the same tensor; where k(x, x) depends on x, it is divided out."""
    x = M.random(rng, 4)
    weights, kernel = torch.randn(4, 4, dtype=torch.float64), HeatKernel(M, 0.5, smoothness=2.5).double()

    def function(points):
        return (kernel(points).to_dense() * weights).sum()

    at = torch.tensor(np.asarray(flatten(M, x)), requires_grad=True)
    (slopes,) = torch.autograd.grad(function(at), at)
    v = M.tangent_basis(x)[:, 0]
    found = (slopes.numpy() * flatten(M, v)).sum()
    np.testing.assert_allclose(found, curve_derivative(M, function, x, v), atol=1e-7 * slopes.abs().max().item())


def test_partial_derivatives_have_no_normal_part(rng):
    M = Sphere(3)
    x, z = rows(M, rng, 5).requires_grad_(), rows(M, rng, 6)
    (slopes,) = torch.autograd.grad(HeatKernel(M, 0.5)(x, z).to_dense().sum(), x)
    close((slopes * x).sum(dim=-1).detach(), torch.zeros(5, dtype=torch.float64))


@pytest.mark.parametrize("M", [Sphere(2), SpecialOrthogonal(3), SPD(2), Unitary(2), Torus(2)], ids=repr)
def test_derivatives_through_the_projection(M, rng):
    """Of rows near the manifold, in all directions: PyTorch's own check."""
    x, z = rows(M, rng, 3), rows(M, rng, 2)
    x = (x + 0.05 * torch.randn_like(x)).requires_grad_()
    kernel = HeatKernel(M, 0.5, project=True).double()
    assert torch.autograd.gradcheck(lambda points: kernel(points, z).to_dense(), x, atol=1e-7)
    assert torch.autograd.gradcheck(lambda points: kernel(points).to_dense(), x, atol=1e-7)


def test_derivatives_in_batches(rng):
    """Of small elements, of elements with one set of points, and of a time for each: the same as one by one."""
    M = Sphere(2)
    kernel = HeatKernel(M, batch_shape=torch.Size([40])).double()
    kernel.time = torch.linspace(0.3, 0.9, 40, dtype=torch.float64).reshape(40, 1, 1).round(decimals=1)
    weights = torch.randn(40, 2, 3, dtype=torch.float64)
    fresh, shared = rows(M, rng, 40, 3), rows(M, rng, 3).expand(40, 3, 3)
    for z in (fresh, shared):
        for swap in (False, True):
            x = rows(M, rng, 40, 2).requires_grad_()
            values = kernel(z, x).to_dense().mT if swap else kernel(x, z).to_dense()
            found = torch.autograd.grad((values * weights).sum(), (x, kernel.raw_time))
            single = [(kernel[b](x[b], z[b]).to_dense() * weights[b]).sum() for b in range(40)]
            (expected,) = torch.autograd.grad(sum(single), x)
            close(found[0], expected, 1e-9)
            one = kernel[7]
            (slope,) = torch.autograd.grad((one(x[7], z[7]).to_dense() * weights[7]).sum(), one.raw_time)
            close(found[1][7], slope)


def test_several_times(rng):
    P = Product(Sphere(2), Euclidean(2))
    kernel = HeatKernel(P, (0.3, 2.0)).double()
    assert kernel.time.shape == (1, 2)
    x, y = P.random(rng, 3), P.random(rng, 4)
    sphere, plane = hg.heat_kernel(Sphere(2)), hg.heat_kernel(Euclidean(2))
    expected = sphere(x[:, :3], y[:, :3], time=0.3) / sphere.diag(x[:1, :3], 0.3)
    expected = expected * plane(x[:, 3:], y[:, 3:], time=2.0) / plane.diag(x[:1, 3:], 2.0)
    close(dense(kernel, torch.tensor(x), torch.tensor(y)), torch.tensor(expected), 1e-7)
    weights = torch.randn(3, 4, dtype=torch.float64)
    close(
        *time_derivatives(kernel, lambda: (kernel(torch.tensor(x), torch.tensor(y)).to_dense() * weights).sum()), 1e-7
    )


@pytest.mark.parametrize("smoothness", [0.3, 0.5, 1.5])
def test_derivatives_in_the_smoothness_are_those_of_bessel_functions_on_a_circle(smoothness):
    """Values are sums over those of the line at r + 2 pi n: z^s K_s(z) with z = |r + 2 pi n| √(2 s / t)."""
    r, t = 1.3, 0.5

    def wrapped(r, s):
        z = [abs(r + 2 * mpmath.pi * n) * mpmath.sqrt(2 * s / t) for n in range(-12, 13)]
        limit = 2 ** (s - 1) * mpmath.gamma(s)  # at z = 0
        return sum(limit if each == 0 else each**s * mpmath.besselk(s, each) for each in z)

    kernel = HeatKernel(Torus(1), smoothness=smoothness, learn_smoothness=True).double()
    kernel.time, kernel.smoothness = t, smoothness
    found = kernel(torch.tensor([[r]], dtype=torch.float64), torch.zeros(1, 1, dtype=torch.float64)).to_dense()[0, 0]
    assert found.item() == pytest.approx(float(wrapped(r, smoothness) / wrapped(0, smoothness)), abs=1e-8)
    expected = mpmath.diff(lambda s: wrapped(r, s) / wrapped(0, s), smoothness)
    assert smoothness_slope(kernel, found) == pytest.approx(float(expected), abs=1e-7)


def smoothness_slope(kernel, value):
    """The derivative in the smoothness, without that of the constraint."""
    raw = kernel.raw_smoothness
    (slope,) = torch.autograd.grad(value, raw)
    inner = torch.autograd.functional.jacobian(kernel.raw_smoothness_constraint.transform, raw.detach())
    return slope.item() / inner.item()


@pytest.mark.parametrize("smoothness", [1.5, 2.5, 40.0])
def test_derivatives_in_the_smoothness_are_those_of_the_spectral_density(smoothness):
    """On the sphere, sum of (2 l + 1) w P_l(cos r) over its value at 0, w = (1 + l (l + 1) t / (2 s))^-(s + 1)."""
    angles, t = torch.tensor([0.1, 0.7, 2.0], dtype=torch.float64), 0.3
    x = torch.stack([angles.sin(), 0 * angles, angles.cos()], dim=1)
    kernel = HeatKernel(Sphere(2), smoothness=smoothness, learn_smoothness=True).double()
    kernel.time, kernel.smoothness = t, smoothness
    s, degree = torch.tensor(smoothness, dtype=torch.float64, requires_grad=True), torch.arange(4000).double()
    weights = (2 * degree + 1) * (1 + degree * (degree + 1) * t / (2 * s)) ** -(s + 1)
    legendre = torch.tensor(eval_legendre(np.arange(4000), np.cos(angles.numpy())[:, None]))
    expected = (legendre * weights).sum(dim=1) / weights.sum()
    north = torch.tensor([[0.0, 0.0, 1.0]], dtype=torch.float64)
    for i in range(3):
        found = kernel(x[i : i + 1], north).to_dense()[0, 0]
        close(found, expected[i], 1e-8)
        (slope,) = torch.autograd.grad(expected[i], s, retain_graph=True)
        assert smoothness_slope(kernel, found) == pytest.approx(slope.item(), abs=1e-8)


@pytest.mark.parametrize(
    "M", [SpecialOrthogonal(3), KLEIN, SPD(2), Unitary(2), Product(Sphere(2), Euclidean(1))], ids=repr
)
def test_derivatives_with_a_smoothness_that_is_learned(M, rng):
    x, z, weights = rows(M, rng, 3), rows(M, rng, 2), torch.randn(3, 2, dtype=torch.float64)
    kernel = HeatKernel(M, smoothness=1.2, learn_smoothness=True, project=True).double()
    for raw in (kernel.raw_smoothness, kernel.raw_time):
        close(*raw_derivatives(raw, lambda: (kernel(x, z).to_dense() * weights).sum()), 1e-7)
    given, slopes = HeatKernel(M, smoothness=1.2, project=True).double(), []
    given.time = kernel.time
    for each in (given, kernel):
        slopes += torch.autograd.grad((each(x.requires_grad_(), z).to_dense() * weights).sum(), x)
    close(*slopes, 1e-7)  # 1.2 is in single precision


def test_a_smoothness_for_each_element_of_a_batch(rng):
    """And one that is the same as a given one."""
    M = Sphere(2)
    kernel = HeatKernel(M, smoothness=1.5, learn_smoothness=True, batch_shape=torch.Size([2])).double()
    kernel.smoothness = torch.tensor([0.5, 2.5], dtype=torch.float64).reshape(2, 1, 1)
    x = rows(M, rng, 4)
    values = dense(kernel, x)
    for b, smoothness in enumerate((0.5, 2.5)):
        close(values[b], dense(HeatKernel(M, smoothness=smoothness).double(), x), 1e-12)
        close(values[b], dense(kernel[b], x), 0)
    assert HeatKernel(M, kernel=hg.matern_kernel(M, 1.5)).smoothness == HeatKernel(M, smoothness=1.5).smoothness == 1.5


def test_priors_sums_and_matched_points_with_a_learned_smoothness(rng):
    """Also a smoothness that is not to be learned for now, samples of the time, and copies."""
    M = Sphere(2)
    x, y = rows(M, rng, 5), rows(M, rng, 5)
    options = {"smoothness": 1.5, "learn_smoothness": True}
    kernel = HeatKernel(M, **options, smoothness_prior=gpytorch.priors.UniformPrior(2.0, 3.0)).double()
    kernel.sample_from_prior("smoothness_prior")
    assert 2 <= kernel.smoothness.item() <= 3
    for twin in (copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel))):
        close(dense(twin, x), dense(kernel, x), 0)
    close(kernel(x, y, diag=True), kernel(x, y).to_dense().diagonal())
    kernel.raw_smoothness.requires_grad_(False)
    kernel(x).to_dense().sum().backward()
    assert kernel.raw_time.grad.abs() > 0
    assert kernel.raw_smoothness.grad is None
    sampled = HeatKernel(M, **options, time_prior=gpytorch.priors.GammaPrior(2.0, 1.0)).double()
    times = torch.tensor([0.3, 0.8], dtype=torch.float64).reshape(2, 1, 1)
    sampled.local_load_samples({"time_prior": times}, set(), "")
    for b in range(2):
        close(dense(sampled, x)[b], dense(HeatKernel(M, times[b].item(), smoothness=1.5).double(), x), 1e-7)
    both = hg.heat_kernel(M) + hg.heat_kernel(M)
    several = HeatKernel(M, kernel=both, **options).double()
    close(*raw_derivatives(several.raw_smoothness, lambda: several(x, y).to_dense().sum()), 1e-7)
    assert several.time.shape == (1, 3)  # two times and a weight


@pytest.mark.parametrize("true", [0.5, 3.0])
def test_the_smoothness_of_data_is_learned(true, rng):
    """Functions drawn with one smoothness: by evidence it is within a factor of two. Learning starts beyond that."""
    M = Sphere(2)
    X = rows(M, rng, 150)
    drawn = HeatKernel(M, 0.2, smoothness=true).double()
    root = np.linalg.cholesky(dense(drawn, X).numpy() + 1e-8 * np.eye(150))
    y = torch.tensor(root @ rng.standard_normal((150, 4))).T  # four functions with the same parameters
    kernel = ScaleKernel(HeatKernel(M, 0.2, smoothness=1.2, learn_smoothness=True)).double()
    likelihood = gpytorch.likelihoods.GaussianLikelihood(
        noise_constraint=gpytorch.constraints.GreaterThan(1e-6)
    ).double()
    likelihood.noise = 1e-4
    model = Regression(X, y[0], likelihood, kernel).double().train()
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=20, line_search_fn="strong_wolfe")

    def loss():
        optimizer.zero_grad()
        noisy = likelihood(model(X))
        found = -sum(noisy.log_prob(values) for values in y)
        found.backward()
        return found

    optimizer.step(loss)
    assert true / 2 < kernel.base_kernel.smoothness.item() < 2 * true


def test_matched_points(rng):
    """diag=True of two different sets."""
    M = Sphere(2)
    x, y = rows(M, rng, 2, 50).requires_grad_(), rows(M, rng, 2, 50)
    kernel = HeatKernel(M).double()
    pairs = kernel(x, y).to_dense().diagonal(dim1=-2, dim2=-1)
    paired = kernel(x, y, diag=True)
    close(paired, pairs)
    close(*(torch.autograd.grad(values.sum(), x)[0] for values in (paired, pairs)))


def test_no_second_derivatives(rng):
    x = rows(Sphere(2), rng, 3).requires_grad_()
    (slopes,) = torch.autograd.grad(HeatKernel(Sphere(2))(x, x[:1].detach()).to_dense().sum(), x, create_graph=True)
    with pytest.raises(Unsupported, match="first derivatives only"):
        slopes.sum().backward()


def test_nothing_is_computed_that_is_not_asked_for(rng, monkeypatch):
    x, kernel = rows(Sphere(2), rng, 3), HeatKernel(Sphere(2))
    monkeypatch.setattr(hg.heat.kernel.HeatKernel, "gradient", None)
    kernel(x).to_dense().sum().backward()
    assert kernel.raw_time.grad is not None
    kernel.raw_time.requires_grad_(False)
    profile = type(kernel.heat_kernel.profile)
    monkeypatch.setattr(profile, "prepare", no_slopes(profile.prepare))
    kernel.heat_kernel.profile._recent.known.clear()
    assert not kernel(x).to_dense().requires_grad


def no_slopes(prepare):
    def changed(self, time):
        found = prepare(self, time)
        object.__setattr__(found, "relative_slope", None)
        return found

    return changed


# Types, copies, compositions.


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_types(dtype, rng):
    x = rows(Unitary(2), rng, 4, dtype=dtype).requires_grad_()
    kernel = HeatKernel(Unitary(2)).to(dtype)
    values = kernel(x).to_dense()
    assert values.dtype == kernel(x, diag=True).dtype == dtype
    values[0, 1].backward()
    assert x.grad.dtype == kernel.raw_time.grad.dtype == dtype
    exact = HeatKernel(Unitary(2)).double()
    close(values.detach().double(), dense(exact, x.detach().double()), 1e-5 if dtype == torch.float32 else 0)


def test_copies(rng):
    M = Product(Sphere(2), Torus(1))
    x = rows(M, rng, 5)
    prior = gpytorch.priors.GammaPrior(2.0, 3.0)
    kernel = ScaleKernel(HeatKernel(M, (0.3, 0.6), smoothness=1.5, time_prior=prior)).double()
    values = dense(kernel, x)
    for twin in (copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel))):
        close(dense(twin, x), values, 0)
    other = ScaleKernel(HeatKernel(M, (1.0, 1.0), smoothness=1.5, time_prior=prior)).double()
    other.load_state_dict(kernel.state_dict())
    close(dense(other, x), values, 0)
    assert set(HeatKernel(M).state_dict()) == {"raw_time"} | {
        f"raw_time_constraint.{b}_bound" for b in ("lower", "upper")
    }


def test_sums_and_products(rng):
    M = Sphere(2)
    x = torch.cat([rows(M, rng, 2, 6), torch.randn(2, 6, 1, dtype=torch.float64)], dim=-1)
    heat, rbf = HeatKernel(M, active_dims=[0, 1, 2]).double(), RBFKernel(active_dims=[3]).double()
    for kernel, rule in ((heat * rbf, torch.mul), (heat + rbf, torch.add)):
        assert isinstance(kernel, (ProductKernel, AdditiveKernel))
        assert not kernel.is_stationary
        close(dense(kernel, x), rule(dense(heat, x), dense(rbf, x)), 1e-7)
    several = heat.expand_batch(torch.Size([2]))
    close(dense(several, x), dense(heat, x))
    close(dense(several[1], x[1]), dense(heat, x[1]))
    assert heat.active_dims.tolist() == [0, 1, 2]


def test_constraints_and_priors(rng):
    interval = gpytorch.constraints.Interval(0.1, 2.0)
    kernel = HeatKernel(Sphere(2), 0.5, time_constraint=interval, time_prior=gpytorch.priors.UniformPrior(0.6, 0.9))
    assert kernel.time.item() == pytest.approx(0.5)
    assert [name for name, *_ in kernel.named_priors()] == ["time_prior"]
    kernel.sample_from_prior("time_prior")
    assert 0.6 <= kernel.time.item() <= 0.9
    with pytest.raises(InvalidInput, match=r"time = 2.0 is not inside the constraint"):
        kernel.time = 2.0
    assert 1 < HeatKernel(Stiefel(5, 2)).raw_time_constraint.lower_bound.item() / 0.02 < 1 + 2 * MARGIN
    assert 1 - 2 * MARGIN < HeatKernel(SPD(4)).raw_time_constraint.upper_bound.item() < 1
    assert HeatKernel(SPD(4)).time.item() == pytest.approx(0.5)  # its kernel is known to time 1
    for wrong in ("long", [0.5, 0.6, 0.7]):
        with pytest.raises(InvalidInput, match=r"must be one number, or numbers of shape \(1, 1\)"):
            kernel.time = wrong


@pytest.mark.parametrize("scale", np.linspace(1.0, 2.0, 11))
def test_times_of_single_precision_stay_within_those_of_the_kernel(scale):
    """Where learning leads to a bound, the raw parameter is so large that the time is the bound, rounded."""
    kernel, x = HeatKernel(Scaled(SPD(4), scale)), torch.eye(4).reshape(1, 16)
    for raw in (-1e3, 1e3):
        kernel.raw_time.data.fill_(raw)
        assert dense(kernel, x).item() == 1


@pytest.mark.parametrize(
    "method", [hg.Smooth(paths=500, times=[0.5, 1.0]), hg.Reference(references=60, paths=600)], ids=repr
)
def test_kernels_that_are_estimated(method, rng):
    """Any method, and a kernel that is ready; what is not positive definite is made so."""
    M = Sphere(2)
    ready = method.kernel(M).as_positive_definite()
    x = M.random(rng, 30)
    found = dense(HeatKernel(M, 0.75, kernel=method).double(), torch.tensor(x))
    close(dense(HeatKernel(M, 0.75, kernel=ready).double(), torch.tensor(x)), found, 0)
    roots = np.sqrt(ready.diag(x, 0.75))
    close(found, torch.tensor(ready(x, time=0.75) / np.outer(roots, roots)), 1e-7)
    assert torch.linalg.eigvalsh(found).min() > -1e-8

    weights, kernel = torch.randn(2, 30, dtype=torch.float64), HeatKernel(M, 0.75, kernel=ready).double()
    at, v = torch.tensor(x[:2], requires_grad=True), M.tangent_basis(x[:2])[:, 0]

    def function(points):
        return (kernel(points, torch.tensor(x)).to_dense() * weights).sum()

    (slopes,) = torch.autograd.grad(function(at), at)
    step = ready.step_of_differences(0.75)
    expected = curve_derivative(M, function, x[:2], v, step)
    np.testing.assert_allclose((slopes.numpy() * v).sum(), expected, atol=1e-3 * slopes.abs().max().item())


# Models.


class Regression(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood, kernel):
        super().__init__(x, y, likelihood)
        self.mean_module, self.covar_module = gpytorch.means.ZeroMean(), kernel

    def forward(self, x):
        return MultivariateNormal(self.mean_module(x), self.covar_module(x))


@pytest.mark.parametrize("smoothness", [math.inf, 1.5])
@pytest.mark.parametrize("M", [Sphere(2), SPD(2), Product(SpecialOrthogonal(3), Euclidean(2))], ids=repr)
def test_posterior_is_that_of_the_regressor(M, smoothness, rng):
    X, new = M.random(rng, 40), M.random(rng, 15)
    y = np.sin(2 * M.embed(X)[:, 0]) + 0.1 * rng.standard_normal(40)
    time = (0.6, 1.7) if isinstance(M, Product) else 0.6
    gp = hg.GPRegressor(M, smoothness=smoothness, time=time, amplitude=1.3, noise=0.01, mean="zero").fit(X, y)
    mean, std = gp.predict(new, return_std=True)

    x, z = (torch.tensor(np.asarray(flatten(M, each))) for each in (X, new))
    kernel = ScaleKernel(HeatKernel(M, time, smoothness=smoothness)).double()
    kernel.outputscale, kernel.base_kernel.time = torch.tensor(1.3, dtype=torch.float64), time
    likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
    likelihood.noise = torch.tensor(0.01, dtype=torch.float64)
    model = Regression(x, torch.tensor(y), likelihood, kernel).eval()
    with torch.no_grad(), gpytorch.settings.fast_computations(False, False, False):
        found = model(z)
        np.testing.assert_allclose(found.mean, mean, atol=1e-8)
        np.testing.assert_allclose(found.stddev, std, atol=1e-8)
    evidence = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model.train())
    with gpytorch.settings.fast_computations(False, False, False):
        found = 40 * evidence(model(x), model.train_targets).item()
    assert found == pytest.approx(gp.posterior_.log_marginal_likelihood, abs=1e-7)


def test_exact_regression_learns(rng):
    M = Sphere(2)
    x, z = rows(M, rng, 60), rows(M, rng, 200)
    y = x[:, 0] * x[:, 2] + 0.05 * torch.randn(60, dtype=torch.float64)
    likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
    model = Regression(x, y, likelihood, ScaleKernel(HeatKernel(M)).double())
    evidence = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    best = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(60):
        best.zero_grad()
        loss = -evidence(model(x), y)
        loss.backward()
        best.step()
    model.eval()
    with torch.no_grad():
        error = (model(z).mean - z[:, 0] * z[:, 2]).square().mean().sqrt()
    assert error < 0.05  # that of one observation
    assert model.covar_module.base_kernel.time.item() != pytest.approx(1.0, abs=0.01)


class Sparse(gpytorch.models.ApproximateGP):
    def __init__(self, inducing, kernel):
        distribution = gpytorch.variational.CholeskyVariationalDistribution(len(inducing))
        super().__init__(gpytorch.variational.VariationalStrategy(self, inducing, distribution))
        self.mean_module, self.covar_module = gpytorch.means.ConstantMean(), kernel

    def forward(self, x):
        return MultivariateNormal(self.mean_module(x), self.covar_module(x))


def sparse_fit(M, x, y, kernel, steps):
    likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
    model = Sparse(x[:15].clone(), kernel).double()
    bound = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=len(y))
    best = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=0.05)
    for _ in range(steps):
        best.zero_grad()
        loss = -bound(model(x), y)
        loss.backward()
        best.step()
    return model.eval(), loss.item()


def test_sparse_regression_learns_its_inducing_points(rng):
    M = SpecialOrthogonal(3)
    x, z = rows(M, rng, 100), rows(M, rng, 100)
    y = x[:, 0] + 0.05 * torch.randn(100, dtype=torch.float64)
    model, _ = sparse_fit(M, x, y, ScaleKernel(HeatKernel(M, project=True)), 80)
    with torch.no_grad():
        assert (model(z).mean - z[:, 0]).square().mean().sqrt() < 0.3 * z[:, 0].std()
    inducing = model.variational_strategy.inducing_points.detach()
    assert (inducing - x[:15]).abs().max() > 0.1  # they have moved
    with pytest.raises(OffManifold, match="project=True"):
        sparse_fit(M, x, y, ScaleKernel(HeatKernel(M)), 2)


# What is refused.


def test_wrong_arguments():
    with pytest.raises(InvalidInput, match="manifold = 'sphere' must be a manifold"):
        HeatKernel("sphere")
    with pytest.raises(InvalidInput, match="time must be positive"):
        HeatKernel(Sphere(2), -1.0)
    with pytest.raises(InvalidInput, match="one for each factor"):
        HeatKernel(Sphere(2), (1.0, 2.0))
    with pytest.raises(InvalidInput, match="smoothness must be a number"):
        HeatKernel(Sphere(2), smoothness=0.0)
    with pytest.raises(InvalidInput, match="Give learn_smoothness=True"):
        HeatKernel(Sphere(2), smoothness="learn")
    with pytest.raises(InvalidInput, match="'precomputed' has no points"):
        HeatKernel(Sphere(2), kernel="precomputed")
    with pytest.raises(InvalidInput, match=r"time = 1\.0 is longer than 0\.137.*with a larger lower bound"):
        HeatKernel(SPD(4), 1.0, smoothness=1.5, learn_smoothness=True)
    counted = hg.heat_kernel(Stiefel(4, 2), "ball", paths=200, rng=0)
    with pytest.raises(Unsupported):
        HeatKernel(counted.manifold, kernel=counted, smoothness=1.5, learn_smoothness=True)
    with pytest.raises(InvalidInput, match=r"smoothness = inf.*a finite number to start from"):
        HeatKernel(Sphere(2), learn_smoothness=True)
    with pytest.raises(InvalidInput, match="need learn_smoothness=True"):
        HeatKernel(Sphere(2), smoothness=1.5, smoothness_prior=gpytorch.priors.GammaPrior(2.0, 1.0))
    with pytest.raises(InvalidInput, match=r"smoothness = 200\.0 is not inside the constraint"):
        HeatKernel(Sphere(2), smoothness=200.0, learn_smoothness=True)
    positive = gpytorch.constraints.Positive()
    with pytest.raises(InvalidInput, match=r"must have a lower bound of 0\.125 or more"):
        HeatKernel(Sphere(2), smoothness=1.5, learn_smoothness=True, smoothness_constraint=positive)
    with pytest.raises(InvalidInput, match=r"smoothness = 2\.5 cannot be set"):
        HeatKernel(Sphere(2), smoothness=1.5).smoothness = 2.5
    with pytest.raises(InvalidInput, match="kernel = 'gauss' is not known"):
        HeatKernel(Sphere(2), kernel="gauss")
    with pytest.raises(InvalidInput, match=r"is a kernel of Sphere\(3\); the manifold is Sphere\(2\)"):
        HeatKernel(Sphere(2), kernel=hg.heat_kernel(Sphere(3)))
    with pytest.raises(InvalidInput, match="time_prior = 1 must be a prior"):
        HeatKernel(Sphere(2), time_prior=1)
    with pytest.raises(InvalidInput, match="time_constraint = 1 must be a constraint"):
        HeatKernel(Sphere(2), time_constraint=1)
    with pytest.raises(InvalidInput, match="project"):
        HeatKernel(Sphere(2), project="yes")


def test_wrong_tensors():
    kernel, x = HeatKernel(Sphere(2)), torch.eye(3)
    with pytest.raises(OffManifold, match=r"x1\[1\] is not on Sphere\(2\).*project=True"):
        kernel(torch.stack([x[0], 2 * x[1]])).to_dense()
    with pytest.raises(OffManifold, match=r"x1\[1\] is not on Sphere\(2\).*project=True"):
        kernel(torch.stack([x[0], 2 * x[1]]), diag=True)
    with pytest.raises(OffManifold, match=r"x2\[0, 2\] is not on Sphere\(2\)"):
        kernel(x[None], torch.stack([x[0], x[0], 2 * x[1]])[None]).to_dense()
    with pytest.raises(OffManifold, match=r"x1\[0\] is not finite"):
        kernel(x * torch.nan).to_dense()
    with pytest.raises(InvalidInput, match=r"x1 has dtype torch.int64; needed is torch.float64 or torch.float32"):
        kernel(x.long()).to_dense()
    with pytest.raises(InvalidInput, match="real parts, then its imaginary parts"):
        HeatKernel(Unitary(2))(torch.eye(4, dtype=torch.complex128)).to_dense()
    with pytest.raises(InvalidInput, match=r"x1 has shape \(2, 4\); a point of Unitary\(2\) is a row of 8 numbers"):
        HeatKernel(Unitary(2))(torch.eye(2).reshape(1, 4).repeat(2, 1)).to_dense()
    with pytest.raises(InvalidInput, match="x1 is on the device 'meta'"):
        kernel(x.to("meta")).evaluate_kernel()
    with pytest.raises(InvalidInput, match="the time of the kernel is on the device 'meta'"):
        HeatKernel(Sphere(2)).to("meta")(x).to_dense()
    with pytest.raises(Unsupported, match="active_dims"):
        kernel.forward(x, x, last_dim_is_batch=True)


def test_the_manifold_is_shown():
    assert "heat_kernel(Sphere(2), method='exact')" in repr(HeatKernel(Sphere(2)))


def test_no_points():
    kernel, none, x = HeatKernel(Sphere(2)), torch.empty(0, 3), torch.eye(3)
    assert kernel(none, x).to_dense().shape == (0, 3)
    assert kernel(x, none).to_dense().shape == (3, 0)
    assert kernel(torch.empty(2, 0, 3), x.expand(2, 3, 3)).to_dense().shape == (2, 0, 3)


def test_examples():
    found = doctest.testmod(importlib.import_module("heatgp.adapters.gpytorch"))
    assert found.attempted > 3
    assert not found.failed


def test_points_that_are_matrices_are_to_be_flattened():
    """Before GPyTorch compares sizes, also inside other kernels and models."""
    M = hg.SpecialOrthogonal(3)
    x = torch.tensor(M.random(0, 5))
    text = re.escape(
        "x1 has shape (5, 3, 3); a point of SpecialOrthogonal(3) is a row of 9 numbers. Flatten each point: "
    )
    for kernel in (HeatKernel(M), gpytorch.kernels.ScaleKernel(HeatKernel(M))):
        with pytest.raises(InvalidInput, match=text + re.escape("x.reshape(-1, 9).")):
            gpytorch.distributions.MultivariateNormal(torch.zeros(5), kernel(x))
        assert kernel(x.reshape(-1, 9)).to_dense().shape == (5, 5)
    with pytest.raises(InvalidInput, match="quaternion_to_matrix"):
        HeatKernel(M)(torch.ones(5, 4)).to_dense()
    with pytest.raises(InvalidInput, match=text.replace("x1", "x2")):
        HeatKernel(M)(x.reshape(-1, 9), x)
    with pytest.raises(InvalidInput, match=r"x1 must be a tensor; got \[.* Pass torch.as_tensor\(x1\)"):
        HeatKernel(M)(x.numpy())
