"""Regression of many data beside the dense answer, over the whole interval in which times are searched for.

    python benchmarks/bench_sparse_accuracy.py [--manifolds "Sphere(2)" ...] [--times 4] [--tolerances 1e-2 1e-3]

y is drawn from the model: f from the prior of variance one at a time, and noise of a given variance. The dense answer
is the textbook's, from a Cholesky factor of the covariance by SciPy. Columns are
- `t`, the time. With --learned it is learned, and the textbook's answer is computed at what was learned; else all
  parameters are given.
- `model`, what inference="auto" chose, and `points`, its inducing points, its data, or those near a new point.
- `mean`, the largest difference of means at new points, over the prior standard deviation, 1.
- `std`, the largest relative difference of standard deviations of f at new points.
- `cover`, the probability under the model that the 90 % interval of f has f in it, the mean over new points. It is
  computed, not counted, from the means of these data.
- processor seconds of both.
A tighter tolerance is left out where the model is dense already. A row is marked where a mean differs by more than the
tolerance, a deviation by more than twice the tolerance, or where the intervals cover less than 88 % or more than 92 %.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from scipy import linalg
from scipy.stats import norm

import heatgp as hg
from heatgp.errors import AccuracyWarning
from heatgp.estimators.time_bounds import time_bounds
from heatgp.gp.kernels import Normalized
from heatgp.manifolds.parse import parse

MANIFOLDS = (
    "Sphere(2)",
    "SpecialOrthogonal(3)",
    "ComplexProjective(2)",
    "Torus(2)",
    "Grassmann(4, 2, 'complex')",
    "Euclidean(3)",
)
LEVEL = 0.9
NEW = 500


def points_of(M: hg.Manifold, rng: np.random.Generator, number: int) -> np.ndarray:
    return M.random(rng, number) if np.isfinite(M.volume) else rng.standard_normal((number, *M.shape))


def covariance(kernel: Normalized, X: np.ndarray, Y: np.ndarray, at: float) -> np.ndarray:
    """k_t(X, Y), in parts."""
    return np.concatenate([kernel.pairs(X[k : k + 500], Y).at(at).value for k in range(0, len(X), 500)])


def dense(K: np.ndarray, cross: np.ndarray, y: np.ndarray, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of f at new points; cross is (new, N)."""
    lower = linalg.cholesky(K + noise * np.eye(len(K)), lower=True, overwrite_a=True, check_finite=False)
    half = linalg.solve_triangular(lower, cross.T, lower=True, check_finite=False)
    mean = half.T @ linalg.solve_triangular(lower, y, lower=True, check_finite=False)
    return mean, np.sqrt(1.0 - np.square(half).sum(axis=0))


def coverage(std: np.ndarray, expected_std: np.ndarray, difference: np.ndarray) -> float:
    """The probability that the intervals of f at new points have f in them, under the model, their mean.

    The dense answer is the law of f given y: f - mean has its variance, plus the square of the difference of means.
    """
    spread = np.sqrt(np.square(expected_std) + np.square(difference))
    return float(np.mean(2 * norm.cdf(norm.ppf(0.5 + LEVEL / 2) * std / spread) - 1))


def compared(name: str, number: int, at: float, noise: float, tolerances: list[float], learned: bool):
    """Rows of numbers, one for each tolerance."""
    M, rng = parse(name), np.random.default_rng(0)
    X, new = points_of(M, rng, number), points_of(M, rng, NEW)
    kernel = Normalized(hg.heat_kernel(M))
    K = covariance(kernel, X, X, at)
    # f from the prior: the jitter is a thousandth of the noise or less
    lower = linalg.cholesky(K + 1e-8 * np.eye(number), lower=True, overwrite_a=True, check_finite=False)
    y = lower @ rng.standard_normal(number) + np.sqrt(noise) * rng.standard_normal(number)
    del lower
    before: tuple = ()
    for tolerance in tolerances:
        begin = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AccuracyWarning)
            gp = hg.GPRegressor(
                M, time=None if learned else at, amplitude=1.0, noise=noise, mean="zero",
                inference=hg.Sparse(tolerance=tolerance),
            ).fit(X, y)  # fmt: skip
            mean, std = gp.predict(new, return_std=True)
        ours = time.process_time() - begin
        if not before or before[0] != gp.time_:
            K, cross = covariance(kernel, X, X, gp.time_), covariance(kernel, new, X, gp.time_)
            begin = time.process_time()
            before = (gp.time_, K, cross, *dense(K, cross, y, noise), time.process_time() - begin)
        _, K, cross, expected, expected_std, seconds = before
        found = gp.approximation_
        yield {
            "tolerance": tolerance,
            "time": gp.time_,
            "model": "dense" if found is None else found.words.split(",")[0],
            "points": number if found is None else getattr(found, "inducing", 0) or round(found.neighbors),
            "mean": float(np.abs(mean - expected).max()),
            "std": float(np.abs(std / expected_std - 1).max()),
            "cover": coverage(std, expected_std, mean - expected),
            "ours": ours,
            "dense": seconds,
        }
        if found is None:
            return


def is_violated(row: dict) -> bool:
    """Whether a row is worse than it should be."""
    far = row["mean"] > row["tolerance"] or row["std"] > 2 * row["tolerance"]
    return far or not 0.88 <= row["cover"] <= 0.92


def times_of(name: str, number: int, count: int) -> np.ndarray:
    """Times from the upper to the lower end of the search interval."""
    M = parse(name)
    low, high = time_bounds(hg.heat_kernel(M), points_of(M, np.random.default_rng(0), number))
    return np.geomspace(high, low, count)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--manifolds", nargs="+", default=MANIFOLDS)
    parser.add_argument("--number", type=int, default=5000)
    parser.add_argument("--times", type=int, default=4)
    parser.add_argument("--noises", type=float, nargs="+", default=[0.1, 1e-3])
    parser.add_argument("--tolerances", type=float, nargs="+", default=[1e-2, 1e-3])
    parser.add_argument("--learned", action="store_true", help="the time is learned")
    options = parser.parse_args()
    names = ("noise", "tol", "t", "model", "points", "mean", "std", "cover", "ours", "dense")
    print(f"{'manifold':27}" + "".join(f"{name:>9}" for name in names))
    violated = rows = 0
    for name in options.manifolds:
        for at in times_of(name, options.number, options.times):
            for noise in options.noises:
                for row in compared(name, options.number, at, noise, options.tolerances, options.learned):
                    mark, rows = "  <--" * is_violated(row), rows + 1
                    violated += is_violated(row)
                    print(
                        f"{name:27}{noise:9.0e}{row['tolerance']:9.0e}{row['time']:9.2g}{row['model']:>9}"
                        f"{row['points']:9}{row['mean']:9.1e}{row['std']:9.1e}{row['cover']:9.3f}"
                        f"{row['ours']:9.1f}{row['dense']:9.1f}{mark}",
                        flush=True,
                    )
    print(f"{violated} of {rows} rows are worse than they should be")


if __name__ == "__main__":
    main()
