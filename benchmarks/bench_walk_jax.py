"""Path-steps a second of the walk under JAX on its default device, beside NumPy on one core of the same machine.

python benchmarks/bench_walk_jax.py [--paths 16000000] [--steps 200] [--quick]

Columns: `walk(engine="jax")` in single and double precision (on a GPU the state stays in registers where it fits); the
same entries in a loop of XLA, which replaces that where JAX has no Triton kernels; one operation after the other, as on
other devices; NumPy. Compilation is left out and given apart. The last column is the mean of an eigenfunction of the
Laplacian over the paths in single precision, less its exact value, in standard errors.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from functools import partial

import jax
import numpy as np
from scipy.integrate import quad
from scipy.stats import chi

import heatgp as hg
from heatgp.errors import Unsupported
from heatgp.paths.jax_engine import scan_walk
from heatgp.paths.registers import register_walk
from heatgp.paths.simulation import Simulation

MANIFOLDS = (
    hg.Sphere(2),
    hg.SpecialOrthogonal(3),
    hg.Grassmann(4, 2),
    hg.Sphere(9),
    hg.ComplexProjective(4),
    hg.Stiefel(5, 2),
    hg.SpecialOrthogonal(4),
    hg.SpecialOrthogonal(5),
    hg.Unitary(3),
)
STEP = 1e-3


def angle_mean(function: Callable[[float], float], dim: int) -> float:
    """The mean of a function of the length of one step, a normal vector of this dimension and variance STEP."""
    return quad(lambda r: function(math.sqrt(STEP) * r) * chi.pdf(r, dim), 0, 40)[0]


def eigenfunction(manifold: hg.Manifold) -> tuple[Callable[[np.ndarray], np.ndarray], float] | None:
    """A function of points that is one at the origin, and by what each step from there multiplies its mean.

    Spherical functions of symmetric spaces: the mean after one step of any isotropic law multiplies with every step.
    For groups the entry x_00, with the moments of Gaussian skew matrices; for Grassmannians those of Wishart matrices.
    """
    if isinstance(manifold, hg.Sphere):
        return lambda x: x[:, 0], angle_mean(math.cos, manifold.dim)
    if isinstance(manifold, hg.ComplexProjective):
        n = manifold.complex_dim + 1
        return (
            lambda x: (abs(x[:, 0]) ** 2 - 1 / n) / (1 - 1 / n),
            angle_mean(lambda r: (math.cos(r) ** 2 - 1 / n) / (1 - 1 / n), manifold.dim),
        )
    if isinstance(manifold, hg.SpecialOrthogonal):
        n = manifold.n
        return lambda x: x[:, 0, 0], 1 - (n - 1) * STEP / 2 + (n - 1) * (2 * n - 1) * STEP**2 / 24
    if isinstance(manifold, hg.Unitary):
        n = manifold.n
        return lambda x: x[:, 0, 0].real, 1 - n * STEP + (2 * n * n + 1) * STEP**2 / 6
    if isinstance(manifold, hg.Grassmann):
        n, k, p = manifold.n, manifold.k, manifold.n - manifold.k
        # E tr sin² = E tr W - E tr W² / 3 + ..., W a Wishart matrix
        sines = STEP * p * k - STEP**2 * p * k * (p + k + 1) / 3
        return lambda x: ((x[:, :k] ** 2).sum((1, 2)) - k * k / n) / (k - k * k / n), 1 - sines / (k - k * k / n)
    return None


def start_of(manifold: hg.Manifold, dtype: type) -> np.ndarray:
    return manifold.origin.astype(np.result_type(dtype, np.complex64) if manifold.is_complex else dtype)


def measured(run: Callable[[int], object]) -> tuple[float, float, object]:
    """Seconds of the best of two runs, seconds of compilation, and what the last run returned."""
    begin = time.perf_counter()
    jax.block_until_ready(run(0))
    first = time.perf_counter() - begin
    seconds = math.inf
    for seed in (1, 2):
        begin = time.perf_counter()
        result = jax.block_until_ready(run(seed))
        seconds = min(seconds, time.perf_counter() - begin)
    return seconds, first - seconds, result


def engine(manifold: hg.Manifold, dtype: type, paths: int, steps: int, walk: Callable) -> Callable[[int], object]:
    """A run of one of the engines on the manifold, or on its covering."""
    starts, above = start_of(manifold, dtype), manifold.covering

    def run(seed: int) -> object:
        simulation = Simulation.of([STEP * steps], paths=paths, step=STEP, rng=seed)
        if above is None:
            return walk(manifold, starts, simulation.plan, paths, simulation.root)
        plan = simulation.plan.faster(above.scale**2)
        return walk(above.manifold, np.asarray(above.up(starts)), plan, paths, simulation.root)

    return run


def rate(paths: int, steps: int, run: Callable[[int], object]) -> tuple[str, str, object]:
    """Path-steps a second and seconds of compilation, as texts, and the positions."""
    try:
        seconds, compiling, result = measured(run)
    except Unsupported:
        return "-", "-", None
    return f"{paths * steps / seconds:.3g}", f"{compiling:.1f}", result


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--paths", type=int, default=16_000_000)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--quick", action="store_true", help="only the first column and its check")
    options = parser.parse_args()
    print(f"JAX {jax.__version__} on {jax.devices()[0].device_kind}; {options.paths} paths, {options.steps} steps")
    heads = ("jax 32", "compile s", "jax 64", "loop 32", "scan 32", "numpy 64", "defect 32", "check")
    print(f"{'manifold':24}" + "".join(f"{head:>11}" for head in heads))
    steps = options.steps
    for manifold in MANIFOLDS:
        paths = max(1000, options.paths * 3 // int(np.prod(manifold.shape)))

        def public(dtype: type, number: int, manifold: hg.Manifold = manifold, name: str = "jax") -> Callable:
            return lambda seed: hg.walk(
                manifold, start_of(manifold, dtype), [STEP * steps], paths=number, step=STEP, rng=seed, engine=name
            )

        single, compiling, x = rate(paths, steps, public(np.float32, paths))
        columns = [single, compiling]
        points = np.asarray(x)[0]
        del x
        if options.quick:
            columns += ["-"] * 4
        else:
            loop = partial(register_walk, how="loop")
            columns.append(rate(paths // 2, steps, public(np.float64, paths // 2))[0])
            columns.append(rate(paths, steps, engine(manifold, np.float32, paths, steps, loop))[0])
            columns.append(rate(paths // 4, steps, engine(manifold, np.float32, paths // 4, steps, scan_walk))[0])
            columns.append(rate(10_000, steps, public(np.float64, 10_000, name="numpy"))[0])
        columns.append(f"{np.max(manifold.defect(points)):.1e}")
        found = eigenfunction(manifold)
        if found:
            values = np.asarray(found[0](points), dtype=float)
            off = (values.mean() - found[1] ** steps) / (values.std() / math.sqrt(len(values)))
            columns.append(f"{off:+.1f}")
        print(f"{manifold!r:24}" + "".join(f"{column:>11}" for column in columns), flush=True)


if __name__ == "__main__":
    main()
