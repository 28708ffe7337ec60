"""The bias of the walk under step-halving: it shrinks in proportion to the step.

    python benchmarks/bench_step_bias.py [--paths 400000]

The bias of E<x0, B_t> (and of its like on each manifold) against the exact exp(-lambda t/2), with two standard errors.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

import heatgp as hg

TIME = 0.5


def overlap(x: np.ndarray, x0: np.ndarray) -> np.ndarray:
    """Re tr(x0* x) / k: decays like the mean of B_t."""
    k = x0.shape[-1] if x0.ndim == 2 else 1
    return np.sum((np.conj(x0) * x).real, axis=tuple(range(1, x.ndim))) / k


def projection(x: np.ndarray, x0: np.ndarray) -> np.ndarray:
    """(tr(P_x P_x0) - k²/n) / (k - k²/n) on a Grassmannian, |<x, x0>|² less its mean on a projective space."""
    a = np.atleast_3d(x) if x.ndim == 2 else x
    b = x0[:, None] if x0.ndim == 1 else x0
    n, k = b.shape
    inside = np.sum(np.abs(np.conj(b.T) @ a) ** 2, axis=(1, 2))
    return (inside - k * k / n) / (k - k * k / n)


CASES: list[tuple[hg.Manifold, Callable[[np.ndarray, np.ndarray], np.ndarray], float]] = [
    (hg.Sphere(2), overlap, 2.0),
    (hg.Sphere(9), overlap, 9.0),
    (hg.SpecialOrthogonal(3), overlap, 2.0),
    (hg.SpecialOrthogonal(5), overlap, 4.0),
    (hg.Unitary(2), overlap, 4.0),
    (hg.SpecialUnitary(3), overlap, 16 / 3),
    (hg.Stiefel(5, 2), overlap, 4.0),
    (hg.ComplexProjective(2), projection, 12.0),
    (hg.Grassmann(5, 2), projection, 10.0),
]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--paths", type=int, default=400_000)
    parser.add_argument("--steps", type=float, nargs="+", default=[0.25, 0.125, 0.0625, 0.03125])
    options = parser.parse_args()
    print(f"bias of E f(B_t), t = {TIME}, {options.paths} paths (+- two standard errors)")
    print(f"{'manifold':24}" + "".join(f"{f'step {step:g}':>22}" for step in options.steps))
    for manifold, function, eigenvalue in CASES:
        cells = []
        for step in options.steps:
            x = hg.walk(manifold, manifold.origin, [TIME], paths=options.paths, step=step, rng=0, n_jobs=-1)[0]
            f = function(x, manifold.origin)
            cells.append(f"{f.mean() - np.exp(-eigenvalue * TIME / 2):+12.5f} +-{2 * f.std() / len(f) ** 0.5:8.5f}")
        print(f"{manifold!r:24}" + "".join(cells), flush=True)


if __name__ == "__main__":
    main()
