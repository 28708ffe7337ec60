"""Time, memory and errors of fits of ten thousand to a million points, everything learned, and of 100,000 predictions.

    python benchmarks/bench_million.py [--manifolds "Sphere(2)" ...] [--sizes 10000 100000 1000000] [--profile]

f is a sum of cosines of random directions of the embedding, with variance one; the noise has standard deviation 0.3.
Each row is a process of its own, so that its peak memory is that of the fit and the predictions, with all data in
memory. `cover` is how often the 90 % interval of f has f in it; `/N` are seconds of processor for each point over
those of the row above: 1 where the cost is linear in N. `points` are inducing points, 0 where
predictions are made from near neighbors.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import resource
import subprocess
import sys
import time

import numpy as np

import heatgp as hg
from heatgp.gp.sparse.regression import SparseApproximation
from heatgp.manifolds.parse import parse

NOISE = 0.3
COSINES = 8
LEVEL = 0.9
PARTS = 100_000
"""Points that are made at a time, so that making them is not the peak of memory."""


def truth(M: hg.Manifold, frequency: float, rng: np.random.Generator):
    """A random smooth function of variance one: cosines of random directions of the embedding."""
    scale = M.embed(M.random(rng, 1000)).std(axis=0).mean()
    width = M.embed(M.random(rng, 1)).shape[-1]
    directions = rng.standard_normal((COSINES, width)) * frequency / (scale * np.sqrt(width))
    phases = rng.uniform(0, 2 * np.pi, COSINES)
    return lambda X: np.sqrt(2 / COSINES) * np.cos(M.embed(X) @ directions.T + phases).sum(axis=1)


def measured(name: str, number: int, new: int, frequency: float, profile: bool) -> dict:
    """One row, computed in this process."""
    M, rng = parse(name), np.random.default_rng(0)
    f = truth(M, frequency, rng)
    X = np.concatenate([M.random(rng, min(PARTS, number - k)) for k in range(0, number, PARTS)])
    y = np.concatenate([f(X[k : k + PARTS]) for k in range(0, number, PARTS)]) + rng.normal(0, NOISE, number)
    Xnew = M.random(rng, new)
    profiler = cProfile.Profile()
    if profile:
        profiler.enable()
    clocks = [(time.perf_counter(), time.process_time())]
    gp = hg.GPRegressor(M).fit(X, y)
    clocks.append((time.perf_counter(), time.process_time()))
    mean, std = gp.predict(Xnew, return_std=True)
    clocks.append((time.perf_counter(), time.process_time()))
    if profile:
        profiler.disable()
        pstats.Stats(profiler, stream=sys.stderr).sort_stats("cumulative").print_stats(45)
        pstats.Stats(profiler, stream=sys.stderr).sort_stats("tottime").print_stats(20)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    (fit, fit_cpu), (predict, predict_cpu) = np.diff(clocks, axis=0)
    inside = [np.abs(mean - f(Xnew)) < 1.6448536269514722 * std]
    return {
        "wall": fit + predict,
        "fit": fit_cpu,
        "predict": predict_cpu,
        "peak": peak,
        "inducing": gp.approximation_.inducing if isinstance(gp.approximation_, SparseApproximation) else 0,
        "time": gp.time_,
        "noise": float(np.sqrt(gp.noise_)),
        "error": float(np.sqrt(np.mean((mean - f(Xnew)) ** 2))),
        "deviation": float(np.sqrt(np.mean(std**2))),
        "cover": float(np.mean(inside)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--manifolds", nargs="+", default=["Sphere(2)"])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--new", type=int, default=100_000, help="points to predict")
    parser.add_argument("--frequency", type=float, default=3.0, help="root mean square of the argument of the cosines")
    parser.add_argument("--profile", action="store_true", help="print where the time goes")
    parser.add_argument("--one", action="store_true", help="one row as JSON, in this process")
    options = parser.parse_args()
    if options.one:
        row = measured(options.manifolds[0], options.sizes[0], options.new, options.frequency, options.profile)
        print(json.dumps(row))
        return
    print(f"seconds of wall and of processor of a fit and {options.new} predictions with standard deviations")
    names = ("N", "wall", "fit", "predict", "/N", "MB", "points", "time", "noise", "RMSE", "std", "cover")
    print(f"{'manifold':22}" + "".join(f"{name:>9}" for name in names))
    for name in options.manifolds:
        before = 0.0
        for number in options.sizes:
            command = [sys.executable, __file__, "--one", "--manifolds", name, "--sizes", str(number)]
            command += ["--new", str(options.new), "--frequency", str(options.frequency)]
            done = subprocess.run(
                command + ["--profile"] * options.profile, check=True, stdout=subprocess.PIPE, text=True
            )
            row = json.loads(done.stdout.splitlines()[-1])
            each = (row["fit"] + row["predict"]) / number
            ratio = f"{each / before:9.2f}" if before else f"{'':9}"
            before = each
            print(
                f"{name:22}{number:9}{row['wall']:9.1f}{row['fit']:9.1f}{row['predict']:9.1f}{ratio}{row['peak']:9.0f}"
                f"{row['inducing']:9}{row['time']:9.3g}{row['noise']:9.4f}{row['error']:9.4f}{row['deviation']:9.4f}"
                f"{row['cover']:9.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
