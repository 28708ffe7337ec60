"""BoTorch's acquisition functions on manifolds: candidates are on them, and better than many random points."""

import doctest
import importlib

import numpy as np
import pytest
import torch
from botorch.acquisition import (
    AcquisitionFunction,
    LogExpectedImprovement,
    UpperConfidenceBound,
    qKnowledgeGradient,
    qLogNoisyExpectedImprovement,
)
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from botorch.settings import validate_input_scaling
from gpytorch.kernels import ScaleKernel

from heatgp import SPD, Domain, Euclidean, Grassmann, Product, SpecialOrthogonal, Sphere, Unitary
from heatgp.adapters.botorch import gen_candidates, ic_generator
from heatgp.adapters.gpytorch import HeatKernel
from heatgp.errors import InvalidInput, OffManifold, Unsupported
from heatgp.manifolds.composed.product import flat_size, flatten, unflatten
from test_docs import ROOT, blocks, needs_optional, run

POSES = Product(SpecialOrthogonal(3), Euclidean(3))


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def rows(M, rng, number):
    return torch.tensor(np.asarray(flatten(M, M.random(rng, number))))


def anywhere(M):
    return torch.tensor([[-torch.inf], [torch.inf]], dtype=torch.float64).repeat(1, flat_size(M))


def model(M, rng, number=15):
    X = rows(M, rng, number)
    Y = torch.sin(2 * X[:, :1]) + X[:, 1:2]
    with validate_input_scaling(False):  # points of a manifold are not in a unit cube
        return SingleTaskGP(X, Y, covar_module=ScaleKernel(HeatKernel(M)).double()), X, Y


def best_of_random(acquisition, M, rng, q=1, number=2000, bounds=None):
    """The largest value at random points; of poses, with translations in the box."""
    X = rows(M, rng, number * q)
    if bounds is not None:
        low, high = bounds
        X[:, 9:] = (low + (high - low) * torch.rand_like(X))[:, 9:]
    with torch.no_grad():
        return acquisition(X.reshape(number, q, -1)).max().item()


def optimized(acquisition, M, q=1, bounds=None, **options):
    return optimize_acqf(
        acquisition,
        anywhere(M) if bounds is None else bounds,
        q=q,
        num_restarts=5,
        raw_samples=100,
        ic_generator=ic_generator(M),
        gen_candidates=gen_candidates(M),
        **options,
    )


def defect(M, candidates):
    return M.defect(unflatten(M, candidates.numpy())).max()


@pytest.mark.parametrize("M", [Sphere(2), SpecialOrthogonal(3), SPD(2), Grassmann(4, 2), Unitary(2)], ids=repr)
@pytest.mark.parametrize("name", ["improvement", "bound"])
def test_one_candidate(M, name, rng):
    gp, _, Y = model(M, rng)
    acquisition = LogExpectedImprovement(gp, Y.max()) if name == "improvement" else UpperConfidenceBound(gp, 4.0)
    candidates, value = optimized(acquisition, M)
    assert candidates.shape == (1, flat_size(M))
    assert candidates.dtype == torch.float64
    assert defect(M, candidates) < 1e-10
    assert value >= best_of_random(acquisition, M, rng)
    assert value.item() == pytest.approx(acquisition(candidates).item())


@pytest.mark.parametrize("sequential", [False, True])
def test_three_candidates(sequential, rng):
    M = Sphere(2)
    gp, X, _ = model(M, rng)
    acquisition = qLogNoisyExpectedImprovement(gp, X)
    candidates, value = optimized(acquisition, M, q=3, sequential=sequential)
    assert candidates.shape == (3, 3)
    assert defect(M, candidates) < 1e-10
    assert torch.cdist(candidates, candidates)[0, 1:].min() > 1e-3  # three different points
    if not sequential:
        assert value >= best_of_random(acquisition, M, rng, q=3)


def test_one_shot_acquisition(rng):
    """Knowledge gradients have fantasies beside the candidates, which are optimised with them."""
    gp, _, _ = model(Sphere(2), rng)
    acquisition = qKnowledgeGradient(gp, num_fantasies=2)
    candidates, value = optimized(acquisition, Sphere(2), options={"maxiter": 20})
    assert candidates.shape == (1, 3)
    assert defect(Sphere(2), candidates) < 1e-10
    assert value >= best_of_random(acquisition, Sphere(2), rng, q=3, number=300)


@pytest.mark.parametrize("wide", [torch.inf, 1.0])
def test_poses_in_a_box(wide, rng):
    """The bounds of translations hold; those of rotations are infinite, or as wide as rotations are."""
    bounds = torch.tensor([[-wide] * 9 + [-0.5, 0.0, -1.0], [wide] * 9 + [0.5, 0.3, 1.0]], dtype=torch.float64)
    gp, _, _ = model(POSES, rng)
    acquisition = UpperConfidenceBound(gp, 9.0)  # largest at the walls: far from the data
    candidates, value = optimized(acquisition, POSES, bounds=bounds, options={"maxiter": 50})
    assert defect(POSES, candidates) < 1e-10
    low, high = bounds[:, 9:]
    assert ((candidates[:, 9:] >= low) & (candidates[:, 9:] <= high)).all()
    assert ((candidates[:, 9:] == low) | (candidates[:, 9:] == high)).any()
    assert value >= best_of_random(acquisition, POSES, rng, bounds=bounds)


def test_a_domain(rng):
    """A cap of the sphere, where the best points are at its boundary: candidates stay inside and are no worse."""
    cap = Domain(Sphere(2), lambda x: x[..., 2] - 0.5)
    X = rows(cap, rng, 10)
    with validate_input_scaling(False):
        gp = SingleTaskGP(X, -X[:, 2:], covar_module=ScaleKernel(HeatKernel(Sphere(2))).double())
    acquisition, free = UpperConfidenceBound(gp, 0.1), anywhere(cap)
    starts = ic_generator(cap)(acquisition, free, q=1, num_restarts=5, raw_samples=50)
    candidates, values = gen_candidates(cap)(starts, acquisition, options={"maxiter": 10})
    assert cap.contains(candidates.numpy()).all()
    assert (values > acquisition(starts)).all()
    assert all(parameter.requires_grad for parameter in gp.parameters())  # as before


class Height(AcquisitionFunction):
    """The last coordinate, with a hole where it is not defined."""

    def forward(self, X):
        return torch.where(X[..., 0, 0] > 0.9, torch.nan, X[..., 0, -1])


def test_starts_are_chosen_by_their_values():
    free = anywhere(Sphere(2))
    some = {"q": 1, "num_restarts": 3, "raw_samples": 200, "options": {"topn": True, "seed": 1}}
    starts = ic_generator(Sphere(2))(UpperHemisphere(None), free, **some)
    assert starts.shape == (3, 1, 3)
    drawn = Sphere(2).random(np.random.default_rng(1), 200)
    np.testing.assert_array_equal(starts[:, 0, 2], np.sort(drawn[:, 2])[:-4:-1])
    again = ic_generator(Sphere(2))(UpperHemisphere(None), free, **some)
    assert torch.equal(starts, again)
    torch.manual_seed(5)
    drawn = ic_generator(Sphere(2))(UpperHemisphere(None), free, 1, 3, 20)
    torch.manual_seed(5)
    assert torch.equal(drawn, ic_generator(Sphere(2))(UpperHemisphere(None), free, 1, 3, 20))


class UpperHemisphere(AcquisitionFunction):
    def forward(self, X):
        return X[..., -1].sum(dim=-1)


def test_starts_are_uniform_in_the_box():
    bounds = anywhere(POSES)
    bounds[:, 9:] = torch.tensor([[0.0, 1.0, -3.0], [1.0, 2.0, 5.0]])
    starts = ic_generator(POSES)(UpperHemisphere(None), bounds, 2, 400, 400, options={"topn": True})
    width = (bounds[1] - bounds[0])[9:]
    found = ((starts[..., 9:] - bounds[0, 9:]) / width).reshape(-1, 3)
    assert (found.min(dim=0).values > 0).all()
    assert (found.max(dim=0).values < 1).all()
    error = 4.5 * (1 / 12) ** 0.5 / 800**0.5
    assert (found.mean(dim=0) - 0.5).abs().max() < error


def test_values_that_are_not_finite_are_avoided():
    starts = torch.tensor([[[0.0, 0.6, -0.8]], [[0.96, 0.0, 0.28]]], dtype=torch.float64)
    candidates, values = gen_candidates(Sphere(2))(starts, Height(None))
    torch.testing.assert_close(candidates[0], torch.tensor([[0.0, 0.0, 1.0]], dtype=torch.float64), atol=1e-5, rtol=0)
    assert torch.equal(candidates[1], starts[1])
    assert values[1].isnan()


def test_single_precision_and_time_limit():
    starts = torch.tensor([[[0.6, 0.0, -0.8]]])
    candidates, values = gen_candidates(Sphere(2))(starts, UpperHemisphere(None))
    assert candidates.dtype == values.dtype == torch.float32
    assert values.item() == pytest.approx(1.0, abs=1e-6)
    stopped, _ = gen_candidates(Sphere(2))(starts, UpperHemisphere(None), timeout_sec=0.0)
    assert torch.equal(stopped, starts)


def test_wrong_input():
    M, function, start = Sphere(2), UpperHemisphere(None), torch.eye(3)[:1, None]
    with pytest.raises(InvalidInput, match="manifold = 'sphere' must be a manifold"):
        gen_candidates("sphere")
    with pytest.raises(InvalidInput, match="manifold = 3 must be a manifold"):
        ic_generator(3)
    with pytest.raises(OffManifold, match=r"initial conditions\[3, 1\] is not on Sphere\(2\).*both ic_generator"):
        gen_candidates(M)(
            torch.cat([start.expand(4, 1, 3), torch.tensor([1.0, 1, 1, 2])[:, None, None] * start], 1), function
        )
    with pytest.raises(InvalidInput, match=r"shape \(1, 1, 2\); needed is \(restarts, q, 3\)"):
        gen_candidates(M)(start[..., :2], function)
    with pytest.raises(InvalidInput, match=r"have dtype torch.int64; needed is torch.float64 or torch.float32"):
        gen_candidates(M)(torch.tensor([[[1, 0, 0]]]), function)
    with pytest.raises(InvalidInput, match="options has 'method'; known is 'maxiter'"):
        gen_candidates(M)(start, function, options={"method": "SLSQP"})
    with pytest.raises(InvalidInput, match=r"bounds of column 0, 0 to 1, leave out points of .*Domain"):
        gen_candidates(M)(start, function, lower_bounds=torch.zeros(3), upper_bounds=torch.ones(3))
    with pytest.raises(InvalidInput, match=r"bounds have shape \(2,\); a point of Sphere\(2\) is 3 numbers"):
        ic_generator(M)(function, torch.zeros(2, 2), q=1, num_restarts=1, raw_samples=4)
    with pytest.raises(Unsupported, match="fixed features do not hold along geodesics"):
        gen_candidates(M)(start, function, fixed_features={0: 1.0})
    with pytest.raises(Unsupported, match="inequality constraints do not hold along geodesics"):
        ic_generator(M)(
            function, anywhere(M), 1, 1, 4, inequality_constraints=[(torch.tensor([0]), torch.ones(1), 0.0)]
        )


def test_wrong_bounds(rng):
    M, function = Euclidean(2), UpperHemisphere(None)
    box = torch.tensor([[0.0, 0.0], [1.0, 1.0]])

    def starts(bounds, function=function):
        return ic_generator(M)(function, bounds, q=1, num_restarts=1, raw_samples=4)

    with pytest.raises(InvalidInput, match=r"bounds of column 0 are 1 to 0\. Give the smaller number first"):
        starts(box.flip(0))
    with pytest.raises(InvalidInput, match="bounds of column 0 are nan to nan"):
        starts(box * torch.nan)
    with pytest.raises(InvalidInput, match="bounds are on the device 'meta'"):
        starts(box.to("meta"))
    for wrong, kind in ((box.long(), r"torch\.int64"), (box.numpy(), "ndarray"), (box.tolist(), "list")):
        with pytest.raises(InvalidInput, match=rf"\({kind}\) must be a tensor \(2, columns\) of torch\.float64"):
            starts(wrong)
    fitted, *_ = model(M, rng)
    with pytest.raises(InvalidInput, match=r"dtype torch\.float32, the model torch\.float64\. Give bounds\.to\(torch"):
        starts(box, UpperConfidenceBound(fitted, beta=2.0))


def test_both_functions_are_needed(rng):
    M = Sphere(2)
    fitted, *_ = model(M, rng)
    box = torch.tensor([[-1.0] * 3, [1.0] * 3], dtype=torch.float64)
    with pytest.raises(OffManifold, match="both ic_generator and gen_candidates"):
        optimize_acqf(
            UpperConfidenceBound(fitted, beta=2.0), box, 1, 2, raw_samples=4, gen_candidates=gen_candidates(M)
        )


def test_the_page_prints_what_it_says():
    page = ROOT / "docs" / "torch.md"
    assert all(needs_optional(code) for code, _ in blocks(page, "python"))  # the tests without PyTorch leave them out
    run(page)


def test_examples():
    found = doctest.testmod(importlib.import_module("heatgp.adapters.botorch"))
    assert found.attempted > 5
    assert not found.failed


def test_starts_need_an_acquisition_function():
    starts = ic_generator(Sphere(2))
    with pytest.raises(InvalidInput, match=r"acq_function = .* must be an acquisition function of BoTorch"):
        starts(lambda x: x)
    with pytest.raises(InvalidInput, match="num_restarts and raw_samples are needed"):
        starts(Height(None))
    with pytest.raises(InvalidInput, match="raw_samples must be a positive integer; got 0"):
        starts(Height(None), torch.zeros(2, 3), q=1, num_restarts=2, raw_samples=0)
