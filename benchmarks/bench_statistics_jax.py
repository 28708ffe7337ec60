"""Seconds to read N data on S² into the statistics of a sparse regression on JAX's default device.

python benchmarks/bench_statistics_jax.py [--number 10000000] [--points 600] [--time 0.05]

Features p_s(x, Z) of N points and m inducing points, and their inner products with themselves and with y. Data start in
the memory of the host; the copy to the device counts. Checked against NumPy on the first 20,000 points.
"""

from __future__ import annotations

import argparse
import time

import jax
import numpy as np

import heatgp as hg
from heatgp.adapters.jax import FeatureStatistics, jax_statistics

CHECKED = 20_000


def even_points(number: int) -> np.ndarray:
    """Points spread evenly over the sphere, along a spiral."""
    height, turn = 1 - (2 * np.arange(number) + 1) / number, np.pi * (1 + np.sqrt(5)) * np.arange(number)
    radius = np.sqrt(1 - height**2)
    return np.stack((radius * np.cos(turn), radius * np.sin(turn), height), axis=-1)


def apart(found: FeatureStatistics, Phi: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Largest errors of Phi'Phi and of Phi'y over the lengths of the columns."""
    lengths = np.linalg.norm(Phi, axis=0)
    gram = np.abs(found.gram - Phi.T @ Phi) / np.outer(lengths, lengths)
    return float(gram.max()), float((np.abs(found.moment - Phi.T @ y) / lengths).max() / np.linalg.norm(y))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--number", type=int, default=10_000_000)
    parser.add_argument("--points", type=int, default=600)
    parser.add_argument("--time", type=float, default=0.05)
    parser.add_argument("--chunk", type=int, default=1_000_000)
    options = parser.parse_args()
    M = hg.Sphere(2)
    kernel, rng = hg.heat_kernel(M), np.random.default_rng(0)
    X = M.random(rng, options.number)
    y = np.sin(3 * X[:, 0]) + rng.standard_normal(len(X))
    Z, peak = even_points(options.points), float(kernel.diag(X[0], options.time))
    lower = np.linalg.cholesky(kernel(Z, time=options.time) + 1e-11 * peak * np.eye(len(Z)))
    print(f"JAX {jax.__version__} on {jax.devices()[0].device_kind}; N = {len(X)}, m = {len(Z)}, s = {options.time}")
    Phi = kernel(X[:CHECKED], Z, time=options.time)
    psi = np.linalg.solve(lower, Phi.T).T
    print(f"{'features':28} {'seconds':>8} {'first run':>10} {'error of gram':>14} {'of moment':>10}")
    for name, dtype, triangle in (
        ("double", np.float64, None),
        ("double, L^-1 p_s(Z, x)", np.float64, lower),
        ("single", np.float32, None),
        ("single, L^-1 p_s(Z, x)", np.float32, lower),
    ):
        data = X.astype(dtype)

        def run(number: int, data: np.ndarray = data, triangle: np.ndarray | None = triangle) -> FeatureStatistics:
            parts = (slice(i, min(i + options.chunk, number)) for i in range(0, number, options.chunk))
            return jax_statistics(kernel, Z, options.time, ((data[p], y[p]) for p in parts), lower=triangle)

        begin = time.perf_counter()
        run(len(X))
        middle = time.perf_counter()
        found = run(len(X))
        end = time.perf_counter()
        assert found.count == len(X)
        errors = apart(run(CHECKED), Phi if triangle is None else psi, y[:CHECKED])
        print(f"{name:28} {end - middle:8.2f} {middle - begin:10.2f} {errors[0]:14.1e} {errors[1]:10.1e}", flush=True)


if __name__ == "__main__":
    main()
