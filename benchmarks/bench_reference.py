"""The kernel through reference points beside the exact one: the sphere as an equation and as a chart, by default.

    OMP_NUM_THREADS=1 python benchmarks/bench_reference.py [--jobs 2]

Prints, for each way of writing the sphere: seconds to build; the largest error at time 0.2 as a share of the diagonal,
and in stated errors; the largest difference of Gaussian process predictions from the exact kernel's, as a share of the
function's range; the least eigenvalue of a Gram matrix over the largest; seconds for a hundred thousand predictions
with standard deviations, and the most memory the process has held.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

import heatgp as hg

TIME = 0.2


def equation(x):
    return (x * x).sum(-1) - 1


def metric(x):
    one = np.ones_like(x[..., 0])
    return np.stack((np.stack((one, 0 * one), -1), np.stack((0 * one, np.sin(x[..., 0]) ** 2), -1)), -2)


def over_the_poles(x):
    theta = np.remainder(x[..., 0], 2 * np.pi)
    far = theta > np.pi
    return np.stack((np.where(far, 2 * np.pi - theta, theta), np.where(far, x[..., 1] + np.pi, x[..., 1])), axis=-1)


def in_space(x):
    return np.stack((np.sin(x[:, 0]) * np.cos(x[:, 1]), np.sin(x[:, 0]) * np.sin(x[:, 1]), np.cos(x[:, 0])), axis=-1)


def report(name, manifold, place, seed, jobs):
    start = time.perf_counter()
    kernel = hg.heat_kernel(manifold, "reference", rng=seed, n_jobs=jobs)
    built = time.perf_counter() - start
    rng = np.random.default_rng(seed + 100)
    x = manifold.random(rng, 400)
    z = place(x)
    truth = hg.heat_kernel(hg.Sphere(2), "exact")(z, time=TIME)
    value, error = kernel(x, time=TIME), kernel.standard_error(x, time=TIME)
    gap = np.abs(value - truth)
    levels = np.linalg.eigvalsh(value)

    f = np.sin(2 * z[:, 0]) + z[:, 1] * z[:, 2] + 0.5 * z[:, 2]
    y = f[:100] + rng.normal(0, 0.1, 100)
    own = hg.GPRegressor(manifold, kernel=kernel).fit(x[:100], y)
    exact = hg.GPRegressor(hg.Sphere(2)).fit(z[:100], y)
    apart = np.abs(own.predict(x[100:]) - exact.predict(z[100:])).max() / np.ptp(f)

    many = manifold.random(rng, 100_000)
    start = time.perf_counter()
    own.predict(many, return_std=True)
    predicted = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{name:9s} seed {seed}: built in {built:5.1f} s; error {gap.max() / truth.max():.2%} of the diagonal, "
        f"{(gap / error).max():.1f} stated errors at most, {np.sqrt((gap**2).mean() / (error**2).mean()):.2f} in the "
        "mean; "
        f"predictions {apart:.2%} of the range; eigenvalues >= {levels[0] / levels[-1]:.0e}; 100,000 predicted in "
        f"{predicted:.1f} s, {memory:.0f} MB",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args()
    chart = hg.Chart(metric, 2, (None, 2 * np.pi), ((0, np.pi), None), over_the_poles)
    for seed in range(options.seeds):
        report("equation", hg.Implicit(equation, 2, 3), lambda x: x, seed, options.jobs)
        report("chart", chart, in_space, seed, options.jobs)


if __name__ == "__main__":
    main()
