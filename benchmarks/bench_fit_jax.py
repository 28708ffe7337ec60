"""Seconds and errors of whole fits of ten million points that are on JAX's default device, everything learned.

    python benchmarks/bench_fit_jax.py [--manifolds "Sphere(2)" ...] [--number 10000000] [--numpy 1000000]

Data are those of bench_million.py: a sum of cosines of variance one, noise of standard deviation 0.3. The first fit
compiles. `pass` are the seconds of the passes over the data, `passes` how many there were. RMSE is that of the mean at
new points against the truth, `cover` how often the 90 % interval of f has f in it. The last row of a manifold is a fit
of fewer points by NumPy, on all cores of the machine.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import jax
import numpy as np
from bench_million import NOISE, PARTS, truth
from jax import numpy as jnp

import heatgp as hg
from heatgp.adapters import jax as adapter
from heatgp.manifolds.parse import parse

NAMES = ("N", "seconds", "pass", "passes", "predict", "points", "time", "noise", "RMSE", "std", "cover")
passes: list[float] = []


def timed(collector: Any) -> Any:
    """The adapter's `collector`, with the seconds of each pass kept."""

    def timed_collector(*arguments: Any) -> Any:
        collect = collector(*arguments)

        def timed_collect(*others: Any) -> Any:
            begin = time.perf_counter()
            found = collect(*others)  # in memory, so the device has finished
            passes.append(time.perf_counter() - begin)
            return found

        return timed_collect

    return timed_collector


def row(label: str, M: hg.Manifold, X: Any, y: Any, new: np.ndarray, f: Any) -> None:
    """One fit and its predictions, printed."""
    passes.clear()
    clocks = [time.perf_counter()]
    gp = hg.GPRegressor(M).fit(X, y)
    clocks.append(time.perf_counter())
    mean, std = gp.predict(new, return_std=True)
    clocks.append(time.perf_counter())
    fit, predict = np.diff(clocks)
    wrong = np.abs(mean - f(new))
    print(
        f"{label:32}{len(X):10}{fit:9.2f}{sum(passes):9.2f}{len(passes):9}{predict:9.2f}"
        f"{gp.approximation_.inducing:9}{gp.time_:9.3g}{np.sqrt(gp.noise_):9.5f}{np.sqrt(np.mean(wrong**2)):9.5f}"
        f"{np.sqrt(np.mean(std**2)):9.5f}{np.mean(wrong < 1.6448536269514722 * std):9.3f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--manifolds", nargs="+", default=["Sphere(2)"])
    parser.add_argument("--number", type=int, default=10_000_000)
    parser.add_argument("--numpy", type=int, default=1_000_000, help="points of the fit by NumPy; 0 for none")
    parser.add_argument("--new", type=int, default=100_000, help="points to predict")
    parser.add_argument("--frequency", type=float, default=3.0, help="root mean square of the argument of the cosines")
    options = parser.parse_args()
    adapter.collector = timed(adapter.collector)
    print(f"JAX {jax.__version__} on {jax.devices()[0].device_kind}; {options.new} predictions by NumPy")
    print(f"{'':32}{'N':>10}" + "".join(f"{name:>9}" for name in NAMES[1:]))
    for name in options.manifolds:
        M, rng = parse(name), np.random.default_rng(0)
        f = truth(M, options.frequency, rng)
        X = np.concatenate([M.random(rng, min(PARTS, options.number - k)) for k in range(0, options.number, PARTS)])
        y = np.concatenate([f(X[k : k + PARTS]) for k in range(0, len(X), PARTS)]) + rng.normal(0, NOISE, len(X))
        new = M.random(rng, options.new)
        with jax.enable_x64(True):
            data = jax.block_until_ready((jnp.asarray(X), jnp.asarray(y)))
        row(f"{name}, first fit", M, *data, new, f)
        row(f"{name}, again", M, *data, new, f)
        row(f"{name}, y in the host's memory", M, data[0], y, new, f)
        single = jax.block_until_ready(jnp.asarray(X, dtype="c8" if M.is_complex else "f4"))
        row(f"{name}, points in single precision", M, single, data[1], new, f)
        if options.numpy:
            row(f"{name}, NumPy", M, X[: options.numpy], y[: options.numpy], new, f)


if __name__ == "__main__":
    main()
