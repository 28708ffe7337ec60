"""Path-steps a second of the walk under JAX on its default device, beside NumPy on one core of the same machine.

python benchmarks/bench_walk_jax.py [--paths 4000000] [--steps 200]
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import heatgp as hg

MANIFOLDS = (
    hg.Sphere(2),
    hg.Sphere(9),
    hg.ComplexProjective(4),
    hg.SpecialOrthogonal(3),
    hg.SpecialOrthogonal(5),
    hg.Unitary(3),
    hg.Grassmann(4, 2),
    hg.Stiefel(5, 2),
)
STEP = 1e-3


def rate(manifold: hg.Manifold, dtype: type, paths: int, steps: int, engine: str) -> float:
    """Path-steps a second, compilation left out."""
    start = manifold.origin.astype(np.result_type(dtype, np.complex64) if manifold.is_complex else dtype)

    def run(seed: int) -> None:
        x = hg.walk(manifold, start, [STEP * steps], paths=paths, step=STEP, rng=seed, engine=engine)
        float(np.abs(np.asarray(x[0, :1])).sum())  # wait for the device

    run(0)
    begin = time.perf_counter()
    run(1)
    return paths * steps / (time.perf_counter() - begin)


def main() -> None:
    import jax

    parser = argparse.ArgumentParser()
    parser.add_argument("--paths", type=int, default=4_000_000)
    parser.add_argument("--steps", type=int, default=200)
    options = parser.parse_args()
    print(f"JAX {jax.__version__} on {jax.devices()[0].device_kind}; {options.paths} paths, {options.steps} steps")
    print(f"{'manifold':28} {'jax float32':>12} {'jax float64':>12} {'numpy float64':>14} {'ratio 64':>9}")
    for manifold in MANIFOLDS:
        paths = max(1000, options.paths * 3 // int(np.prod(manifold.shape)))
        single = rate(manifold, np.float32, paths, options.steps, "jax")
        double = rate(manifold, np.float64, paths, options.steps, "jax")
        numpy = rate(manifold, np.float64, 10_000, 20, "numpy")
        print(f"{manifold!r:28} {single:12.3g} {double:12.3g} {numpy:14.3g} {double / numpy:9.0f}", flush=True)


if __name__ == "__main__":
    main()
