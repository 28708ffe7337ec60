"""GPyTorch's SVGP beside heatgp on the wind and the geopotential of the whole Earth, in one run.

    HEATGP_DATA=folder python benchmarks/bench_svgp.py [--variables u z] [--kernels matern rbf] [--inducing 500 1000]

The task is that of globe.py. SVGP (Hensman et al. 2013, 2015) sees places as points (x, y, z) of R^3. It is set up as
in GPyTorch's own tutorial: Adam with steps of 0.01, parts of 1024 data, inducing points that move, a whole covariance
of their values, single precision. Targets are scaled to variance one, inducing points start at random data. It goes on
until the mean of the bound over an epoch has not grown by 0.001 nats a datum in five epochs, or to the limit of epochs.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable

import gpytorch
import numpy as np
import torch
from globe import DENSE, HEADER, NOISE, UNITS, Predict, Task, heatgp_model, score

from heatgp import Sparse

PART = 1024
STEP = 0.01
GROWTH, PATIENCE = 1e-3, 5
LENGTH = 0.3
"""Where lengths start, in radians."""


class SVGP(gpytorch.models.ApproximateGP):
    """A sparse variational Gaussian process with a constant mean and one length."""

    def __init__(self, points: torch.Tensor, kernel: gpytorch.kernels.Kernel) -> None:
        law = gpytorch.variational.CholeskyVariationalDistribution(len(points))
        super().__init__(gpytorch.variational.VariationalStrategy(self, points, law, learn_inducing_locations=True))
        self.mean_module = gpytorch.means.ConstantMean()
        kernel.lengthscale = LENGTH
        self.covar_module = gpytorch.kernels.ScaleKernel(kernel)

    def forward(self, x: torch.Tensor) -> gpytorch.distributions.MultivariateNormal:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def svgp_model(kernel: str, inducing: int, epochs: int) -> Callable[[Task], tuple[Predict, str]]:
    """SVGP of all data."""

    def learn(task: Task) -> tuple[Predict, str]:
        torch.manual_seed(0)
        centre, scale = task.y.mean(), task.y.std()
        X = torch.tensor(task.X, dtype=torch.float32)
        y = torch.tensor((task.y - centre) / scale, dtype=torch.float32)
        kernels = gpytorch.kernels
        base = kernels.RBFKernel() if kernel == "rbf" else kernels.MaternKernel(nu=2.5)
        model = SVGP(X[torch.randperm(len(X))[:inducing]].clone(), base)
        likelihood = gpytorch.likelihoods.GaussianLikelihood()
        bound = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=len(y))
        optimizer = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=STEP)
        best, since, epoch = -math.inf, 0, 0
        while since < PATIENCE and epoch < epochs:
            total, epoch = 0.0, epoch + 1
            for rows in torch.randperm(len(y)).split(PART):
                optimizer.zero_grad()
                value = bound(model(X[rows]), y[rows])
                (-value).backward()
                optimizer.step()
                total += value.item() * len(rows)
            mean = total / len(y)
            print(f"  epoch {epoch}: mean bound {mean:.4f} nats a datum", file=sys.stderr, flush=True)
            best, since = (mean, 0) if mean > best + GROWTH else (best, since + 1)
        model.eval()

        def predict(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
            with torch.no_grad():
                parts = [model(part) for part in torch.tensor(points, dtype=torch.float32).split(4096)]
                mean = torch.cat([part.mean for part in parts]).numpy()
                variance = torch.cat([part.variance for part in parts]).numpy()
            return mean * scale + centre, np.sqrt(variance) * scale, noise

        noise = likelihood.noise.item() * scale**2
        length = model.covar_module.base_kernel.lengthscale.item()
        stopped = "" if since >= PATIENCE else ", at the limit"
        about = f"{epoch} epochs{stopped}, length {math.degrees(length):.1f} degrees, noise {math.sqrt(noise):.4g}"
        return predict, about

    return learn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--variables", nargs="+", default=["u", "z"], choices=NOISE)
    parser.add_argument("--kernels", nargs="*", default=["matern", "rbf"], choices=["matern", "rbf"])
    parser.add_argument("--inducing", type=int, nargs="+", default=[500, 1000], help="inducing points of SVGP")
    parser.add_argument("--epochs", type=int, default=60, help="the limit of epochs")
    parser.add_argument("--smoothness", nargs="*", default=["2.5", "inf"], help="of heatgp")
    parser.add_argument("--ours", type=int, nargs="+", default=[1000], help="inducing points of heatgp, at most")
    options = parser.parse_args()
    for variable in options.variables:
        task = Task.of(variable)
        print(f"{task.about}; noise {NOISE[variable]:g} {UNITS[variable]}, {len(task.y)} values to learn from")
        print(HEADER)
        for smoothness in options.smoothness:
            label = "heat kernel" if smoothness == "inf" else f"Matern {smoothness}"
            for inducing in options.ours:
                model = heatgp_model(smoothness=float(smoothness), inference=Sparse(inducing))
                print(score(f"heatgp, {label}, {inducing}", model, task), flush=True)
            model = heatgp_model(DENSE, smoothness=float(smoothness), inference="dense")
            print(score(f"  dense, {DENSE} values", model, task), flush=True)
        for kernel in options.kernels:
            for inducing in options.inducing:
                label = "RBF" if kernel == "rbf" else "Matern 2.5"
                print(
                    score(f"SVGP, {label}, {inducing}", svgp_model(kernel, inducing, options.epochs), task), flush=True
                )


if __name__ == "__main__":
    main()
