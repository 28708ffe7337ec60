"""The cost of many data: seconds of a core for each million points, read from memory-mapped files, and peak memory.

    OMP_NUM_THREADS=1 python benchmarks/bench_scale.py [--number 60000] [--inducing 100 300 1000 2000] [--fit 1000000]

The pass collects the statistics of all data; predictions are means and standard deviations. Seconds are processor time
of one core, so that other programs count little. How they grow with the number m of inducing points is what the last
line fits: a + b m + c m² for a million points. With --fit so many data on S^2 are fitted, everything learned, and the
first million of them predicted: processor time and the largest memory of the process.
"""

from __future__ import annotations

import argparse
import logging
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

import heatgp as hg
from heatgp.estimators.data import MeanModel, Rows
from heatgp.estimators.streams import Reader, streamed
from heatgp.gp.kernels import Normalized
from heatgp.gp.prior import constant_basis
from heatgp.gp.sparse.inducing import Inducing

logging.disable(logging.INFO)
MANIFOLDS = (hg.Sphere(2), hg.SpecialOrthogonal(3), hg.ComplexProjective(2))
MILLION = 1_000_000


def files(M: hg.Manifold, folder: Path, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Random points and noisy values of a function, as memory-mapped files that are written in parts."""
    shape, kind = (number, *M.shape), complex if M.is_complex else float
    X = np.lib.format.open_memmap(folder / "X.npy", "w+", kind, shape)
    y = np.lib.format.open_memmap(folder / "y.npy", "w+", float, (number,))
    rng = np.random.default_rng(0)
    for start in range(0, number, MILLION):
        part = M.random(rng, min(MILLION, number - start))
        first = np.abs(part.reshape(len(part), -1)[:, :2]) ** 2
        X[start : start + len(part)] = part
        y[start : start + len(part)] = np.sin(4 * first[:, 0]) * first[:, 1] + 0.3 * rng.standard_normal(len(part))
    X.flush(), y.flush()
    return np.load(folder / "X.npy", mmap_mode="r"), np.load(folder / "y.npy", mmap_mode="r")


def costs(M: hg.Manifold, X: np.ndarray, y: np.ndarray, m: int) -> tuple[float, float]:
    """Seconds for a million points: of the pass, and of predictions with standard deviations."""
    kernel = Normalized(hg.heat_kernel(M))
    inducing = Inducing.of(kernel, np.array(X[: 2 * m]), 0.02, 0.0, m)
    source, collect = streamed(Rows(X, y), Reader(M, False, MeanModel(constant_basis, ["constant"], None), 0.0))
    collect(source, inducing, np.zeros(1)) if m < 200 else None  # tables are made at a first call
    start = time.process_time()
    collect(source, inducing, np.zeros(1))
    passed = time.process_time() - start
    gp = hg.GPRegressor(M, time=0.02, amplitude=1.0, noise=1e3, inference=hg.Sparse(inducing.points))
    gp.fit(np.array(X[: 3 * m]), np.array(y[: 3 * m]))
    gp.predict(X[:10], return_std=True)
    new = X[: max(20_000, len(X) // 10)]
    start = time.process_time()
    gp.predict(new, return_std=True)
    return passed * MILLION / len(X), (time.process_time() - start) * MILLION / len(new)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=60_000)
    parser.add_argument("--inducing", type=int, nargs="+", default=[100, 300, 1000, 2000])
    parser.add_argument("--fit", type=int)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.fit:
            X, y = files(hg.Sphere(2), Path(folder), options.fit)
            start = time.process_time()
            gp = hg.GPRegressor(hg.Sphere(2), inference="sparse").fit(X, y)
            fitted, m = time.process_time() - start, gp.approximation_.inducing
            gp.predict(X[:MILLION], return_std=True)
            predicted = time.process_time() - start - fitted
            peak, size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, (X.nbytes + y.nbytes) / 2**20
            print(f"{options.fit:,} points, {size:,.0f} MB: {m} inducing points, fit {fitted:.0f} s, ", end="")
            print(f"predictions {predicted:.0f} s, peak {peak:.0f} MB")
            return
        for M in MANIFOLDS:
            X, y = files(M, Path(folder), options.number)
            found = np.array([costs(M, X, y, m) for m in options.inducing])
            for m, (passed, predicted) in zip(options.inducing, found):
                print(f"{M!r:22} m = {m:5d}  pass {passed:7.2f} s  predictions {predicted:7.2f} s for 1e6 points")
            if len(options.inducing) > 2:
                m = np.array(options.inducing, dtype=float)
                design = np.column_stack([np.ones(len(m)), m, m**2])
                a, b, c = np.linalg.lstsq(design / found[:, :1], np.ones(len(m)), rcond=None)[0]
                print(f"{M!r:22} pass: {a:.2g} + {b:.2g} m + {c:.2g} m² s for 1e6 points", flush=True)


if __name__ == "__main__":
    main()
