"""What methods of heat kernels and models cost: the tables of docs/choose.md.

    OMP_NUM_THREADS=1 python benchmarks/bench_methods.py

Seconds of processor time, one thread. Kernels: to make one, and to evaluate it between 30 random points at time 0.2,
the first time; the error is the largest, over p_t(x, x), against the exact kernel. Models: to fit time, amplitude and
noise to y = x0 x2 with noise of 0.1 on the sphere, and to predict 1,000 points with standard deviations.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

import heatgp as hg
from heatgp.errors import AccuracyWarning

TIME = 0.2
PLANES, SPHERE, FRAMES = hg.Grassmann(5, 2), hg.Sphere(2), hg.Stiefel(5, 2)
KERNELS = [
    (PLANES, "exact"),
    (PLANES, "smooth"),
    (PLANES, "strip"),
    (PLANES, "ball"),
    (SPHERE, "exact"),
    (SPHERE, "smooth"),
    (SPHERE, "reference"),
    (FRAMES, "exact"),
    (FRAMES, "fibre-average"),
]
OPTIONS: dict[str, dict[str, Any]] = {
    "exact": {},
    "smooth": {"cache": False},
    "strip": {"cache": False, "times": [TIME]},
    "ball": {"times": [TIME]},
    "reference": {"cache": False},
    "fibre-average": {"fibre": 8},  # cosets, enough for this time
}


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    start = process_time()
    result = work()
    return process_time() - start, result


def kernel_row(M: hg.Manifold, method: str) -> str:
    options = OPTIONS[method]
    X = M.random(np.random.default_rng(0), 30)
    making, kernel = seconds(lambda: hg.heat_kernel(M, method, **options))
    calling, K = seconds(lambda: kernel(X, time=TIME))
    truth = hg.heat_kernel(M, "exact")(X, time=TIME)
    return f"| `{M}` | {method} | {making:.2g} | {calling:.2g} | {np.abs(K - truth).max() / truth[0, 0]:.0e} |"


def data(number: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(number)
    X = SPHERE.random(rng, number)
    return X, X[:, 0] * X[:, 2] + rng.normal(0, 0.1, number)


def model_row(name: str, model: Any, number: int) -> str:
    X, y = data(number)
    fitting, _ = seconds(lambda: model.fit(X, y))
    new, truth = data(1000)[0], lambda x: x[:, 0] * x[:, 2]
    predicting, (mean, _) = seconds(lambda: model.predict(new, return_std=True))
    error = np.sqrt(np.mean((mean - truth(new)) ** 2))
    return f"| {name} | {number:,} | {fitting:.2g} | {predicting:.2g} | {error:.4f} |"


def main() -> None:
    warnings.simplefilter("ignore", AccuracyWarning)  # counting says how few its paths are: that is the point here
    hg.GPRegressor(SPHERE).fit(*data(50))  # what is imported at the first use is not counted
    print("| manifold | method | make (s) | 30 x 30 (s) | error |\n| --- | --- | --- | --- | --- |")
    for M, method in KERNELS:
        print(kernel_row(M, method), flush=True)
    print("\n| model | points | fit (s) | predict (s) | error |\n| --- | --- | --- | --- | --- |")
    for number in (250, 1000, 4000):
        print(model_row("dense", hg.GPRegressor(SPHERE, inference="dense"), number), flush=True)
    for number in (4000, 20_000):
        print(model_row("sparse", hg.GPRegressor(SPHERE, inference="sparse"), number), flush=True)
    theirs = GaussianProcessRegressor(ConstantKernel() * RBF() + WhiteKernel(), normalize_y=True)
    for number in (250, 1000):
        print(model_row("scikit-learn, RBF in R³", theirs, number), flush=True)


if __name__ == "__main__":
    main()
