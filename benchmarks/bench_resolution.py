"""How honest models are where reference points hardly resolve the manifold: 90 % intervals on spheres.

    OMP_NUM_THREADS=1 python benchmarks/bench_resolution.py [DIMENSION REFERENCES ...]

For each pair of a dimension and a number of reference points, the share of the truth inside 90 % intervals and the root
mean square error, by reference points and by the exact kernel; 150 data points, six functions.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

import heatgp as hg
from heatgp.errors import HeatGPWarning
from heatgp.heat.reference.cost import references_for

PAIRS = ((3, 400), (3, 40), (4, 400), (4, 100), (5, 400))


def scores(M: hg.Sphere, kernel: hg.HeatKernel, seed: int) -> tuple[float, float]:
    """Coverage and root mean square error of one model."""
    rng = np.random.default_rng(seed)
    X, Z, w = M.random(rng, 150), M.random(rng, 300), rng.standard_normal((3, M.dim + 1))
    clean, truth = (np.sin(x @ w[0]) + (x @ w[1]) * (x @ w[2]) for x in (X, Z))
    model = hg.GPRegressor(M, kernel=kernel).fit(X, clean + 0.1 * rng.standard_normal(150))
    mean, spread = model.predict(Z, return_std=True)
    return float(np.mean(np.abs(mean - truth) < 1.645 * spread)), float(np.sqrt(np.mean((mean - truth) ** 2)))


def main() -> None:
    numbers = [int(a) for a in sys.argv[1:]]
    warnings.simplefilter("ignore", HeatGPWarning)
    for dim, references in list(zip(numbers[::2], numbers[1::2])) or PAIRS:
        M = hg.Sphere(dim)
        kernels = (hg.Reference(references=references, paths=1000 * references).kernel(M), hg.heat_kernel(M))
        (ours, error), (exact, least) = (np.mean([scores(M, k, s) for s in range(6)], axis=0) for k in kernels)
        contrast = references / references_for(1.0, dim)
        print(f"S^{dim}, {references} points, contrast {contrast:.2g}: {ours:.2f} ({error:.3f}); ", end="")
        print(f"exact {exact:.2f} ({least:.3f})", flush=True)


if __name__ == "__main__":
    main()
