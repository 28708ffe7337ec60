"""Time and memory of near neighbors: a rough function of many data, smoothness 3/2, everything else learned.

    OMP_NUM_THREADS=2 python benchmarks/bench_neighbors.py [--space sphere product] [--number 100000] [--new 10000]

f is a sum of 200 random waves whose power falls as that of a Matern function; the noise has standard deviation 0.1.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

import heatgp as hg

S2 = hg.Sphere(2)
SPACES = {"sphere": S2, "product": hg.Product(S2, hg.Euclidean(1))}
NOISE, WAVES = 0.1, 200


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--space", nargs="+", default=["sphere"], choices=list(SPACES))
    parser.add_argument("--number", type=int, nargs="+", default=[100_000])
    parser.add_argument("--new", type=int, default=10_000)
    options = parser.parse_args()
    print("space          N     wall s  fit s (processor)  predict s (processor)  MB    RMSE of f  deviation  noise")
    for name, number in [(name, number) for name in options.space for number in options.number]:
        M, rng = SPACES[name], np.random.default_rng(0)
        X = M.random(rng, number + options.new)
        points = M.embed(X)
        f = np.zeros(len(X))
        for _ in range(WAVES):
            direction = rng.standard_normal(points.shape[1])
            f += np.cos(points @ direction * 3 * rng.pareto(1.5) + rng.uniform(0, 2 * np.pi)) * np.sqrt(2 / WAVES)
        y = f + NOISE * rng.standard_normal(len(X))
        clocks = [(time.perf_counter(), time.process_time())]
        model = hg.GPRegressor(M, smoothness=1.5, inference="neighbors").fit(X[:number], y[:number])
        clocks.append((time.perf_counter(), time.process_time()))
        mean, deviation = model.predict(X[number:], return_std=True)
        clocks.append((time.perf_counter(), time.process_time()))
        (_, fit), (_, predict) = np.diff(clocks, axis=0)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        error = np.sqrt(np.mean((mean - f[number:]) ** 2))
        stated, noise = np.sqrt(np.mean(deviation**2)), np.sqrt(model.noise_)
        wall = clocks[-1][0] - clocks[0][0]
        print(
            f"{name:8s} {number:9,d} {wall:9.0f} {fit:9.0f} {predict:18.0f} {peak:20.0f} {error:10.4f} {stated:10.4f} "
            f"{noise:8.4f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
