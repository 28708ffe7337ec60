"""A step of learning in GPyTorch's ExactGP: the heat kernel beside GPyTorch's own kernels, on the same points of S².

A step is the evidence, its gradient and one step of Adam. Beside it: our Gram matrix with its derivative alone. Each
figure is the shortest of several runs, in milliseconds. Run with OMP_NUM_THREADS=1.
"""

import argparse
import time
import warnings

import numpy as np
import torch

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # torch.jit.script, which GPyTorch uses
    import gpytorch

import heatgp as hg
from heatgp.adapters.gpytorch import HeatKernel
from heatgp.covariance import Normalized

SPHERE = hg.Sphere(2)
KERNELS = {
    "RBFKernel": gpytorch.kernels.RBFKernel,
    "MaternKernel(2.5)": lambda: gpytorch.kernels.MaternKernel(2.5),
    "HeatKernel": lambda: HeatKernel(SPHERE),
    "HeatKernel, smoothness=2.5": lambda: HeatKernel(SPHERE, smoothness=2.5),
    "the same, learn_smoothness": lambda: HeatKernel(SPHERE, smoothness=2.5, learn_smoothness=True),
}


class Model(gpytorch.models.ExactGP):
    def __init__(self, x, y, kernel):
        super().__init__(x, y, gpytorch.likelihoods.GaussianLikelihood())
        self.mean_module, self.covar_module = gpytorch.means.ConstantMean(), gpytorch.kernels.ScaleKernel(kernel)

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def shortest(work, runs):
    found = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return 1e3 * min(found)


def learning(kernel, x, y):
    model = Model(x, y, kernel).double().train()
    evidence = gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model)
    adam = torch.optim.Adam(model.parameters(), lr=0.01)

    def step():
        adam.zero_grad()
        (-evidence(model(x), y)).backward()
        adam.step()

    return step


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=500)
    parser.add_argument("--runs", type=int, default=20)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    points = SPHERE.random(np.random.default_rng(0), arguments.points)
    x = torch.tensor(points)
    y = torch.sin(3 * x[:, 0]) + 0.1 * torch.randn(arguments.points, dtype=torch.float64)
    steps = {name: learning(make(), x, y) for name, make in KERNELS.items()}
    found = {name: shortest(step, arguments.runs) for name, step in steps.items()}
    for name, milliseconds in found.items():
        print(f"{name:28s} {milliseconds:8.1f} ms a step, {milliseconds / found['RBFKernel']:.2f} of the RBF kernel's")
    times = iter(np.linspace(0.5, 0.6, arguments.runs))

    def matrix():
        evaluation = Normalized(hg.heat_kernel(SPHERE)).pairs(points).at(next(times))
        return evaluation.slopes, evaluation.value

    print(f"Gram matrix and derivative   {shortest(matrix, arguments.runs):8.1f} ms")


if __name__ == "__main__":
    main()
