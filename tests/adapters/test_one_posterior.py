"""One data set gives one posterior, whichever library computes it."""

import gpytorch
import numpy as np
import pytest
import torch
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel
from test_gpytorch import Regression

import heatgp as hg
from heatgp.adapters import gpytorch as for_gpytorch
from heatgp.adapters import sklearn as for_sklearn
from heatgp.adapters.geometric_kernels import from_geometric_kernels

# The adapter is imported first: it imports these without their warnings.
from geometric_kernels.kernels import MaternGeometricKernel  # isort: skip
from geometric_kernels.spaces import Hypersphere, SpecialOrthogonal  # isort: skip

TIME, AMPLITUDE, NOISE = 0.5, 1.3, 0.01
KNOWN = {"time": TIME, "amplitude": AMPLITUDE, "noise": NOISE, "mean": "zero"}


def by_regressor(M, space, X, y, new):
    return hg.GPRegressor(M, **KNOWN).fit(X, y).predict(new, return_std=True)


def by_gram_matrix(M, space, X, y, new):
    kernel = hg.heat_kernel(M)
    one = AMPLITUDE / kernel.diag(X[:1], TIME)[0]
    gp = hg.GPRegressor(kernel="precomputed", amplitude=1.0, noise=NOISE, mean="zero")
    return gp.fit(one * kernel(X, time=TIME), y).predict(one * kernel(new, X, time=TIME), return_std=True)


def by_scikit_learn(M, space, X, y, new):
    kernel = ConstantKernel(AMPLITUDE) * for_sklearn.HeatKernel(M, TIME) + WhiteKernel(NOISE)
    gp = GaussianProcessRegressor(kernel, optimizer=None, alpha=0.0).fit(X.reshape(len(X), -1), y)
    mean, std = gp.predict(new.reshape(len(new), -1), return_std=True)
    return mean, np.sqrt(std**2 - NOISE)  # WhiteKernel is the noise of new observations, too


def by_gpytorch(M, space, X, y, new):
    x, z = (torch.tensor(points.reshape(len(points), -1)) for points in (X, new))
    kernel = gpytorch.kernels.ScaleKernel(for_gpytorch.HeatKernel(M, TIME)).double()
    likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
    kernel.outputscale, likelihood.noise = (torch.tensor(v, dtype=torch.float64) for v in (AMPLITUDE, NOISE))
    model = Regression(x, torch.tensor(y), likelihood, kernel).eval()
    with torch.no_grad(), gpytorch.settings.fast_computations(False, False, False):
        found = model(z)
        return found.mean.numpy(), found.stddev.numpy()


def by_geometric_kernels(M, space, X, y, new):
    kernel = from_geometric_kernels(MaternGeometricKernel(space, num=20))
    return hg.GPRegressor(M, kernel=kernel, **KNOWN).fit(X, y).predict(new, return_std=True)


@pytest.mark.parametrize("by", [by_gram_matrix, by_scikit_learn, by_gpytorch, by_geometric_kernels])
@pytest.mark.parametrize(
    ("M", "space"),
    [(hg.Sphere(2), Hypersphere(2)), (hg.SpecialOrthogonal(3), SpecialOrthogonal(3))],
    ids=["sphere", "rotations"],
)
def test_one_posterior(M, space, by, rng):
    X, new = M.random(rng, 50), M.random(rng, 20)
    y = np.sin(2 * X.reshape(50, -1)[:, 0]) + 0.1 * rng.standard_normal(50)
    expected = by_regressor(M, space, X, y, new)
    np.testing.assert_allclose(by(M, space, X, y, new), expected, rtol=0, atol=1e-8)
