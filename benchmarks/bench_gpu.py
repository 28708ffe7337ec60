"""Seconds of rough and of dense models of data on JAX's default device, each beside NumPy on the processor.

    python benchmarks/bench_gpu.py [--number 1000000] [--dense 20000] [--new 100000] [--limit 250]

f is a random function of variance one on S², of Matern 3/2 with the given length, and noise of standard deviation 0.1
is added; the sparse model has a smooth f. Everything is learned. The first fit of a kind compiles. `from` is how many
neighbors, inducing points or data a prediction is made from, `std` the stated standard deviation, `cover` how often
90 % intervals of f have f in them; RMSE is that of the mean at new points. NumPy has fewer points. Rows that would
start after the limit, in seconds, are left out.
All is also written to bench_gpu.txt in the folder $OUT, or here.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax import numpy as jnp

import heatgp as hg
from heatgp.estimators import regressor
from heatgp.gp import device
from heatgp.gp.neighbors import nearest, posterior
from heatgp.gp.neighbors.device import DeviceBlocks, DevicePlaces

NOISE = 0.1
FEATURES = 500
PART = 1 << 16
COLUMNS = ("N", "fit, s", "new", "predict, s", "from", "time", "noise", "RMSE", "std", "cover")
M = hg.Sphere(2)
started = time.perf_counter()


def matern_function(length: float, rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
    """A random function of R³ with Matern 3/2 covariance, by random cosines, computed by JAX in parts of one size."""
    frequencies = rng.standard_normal((3, FEATURES)) / (length * np.sqrt(rng.chisquare(3, FEATURES) / 3))
    phases = rng.uniform(0, 2 * np.pi, FEATURES)

    @jax.jit
    def values(X: Any) -> Any:
        return jnp.sqrt(2 / FEATURES) * jnp.cos(X @ frequencies + phases).sum(axis=1)

    def function(X: np.ndarray) -> np.ndarray:
        found = []
        with jax.enable_x64(True):
            for start in range(0, len(X), PART):
                part = X[start : start + PART]
                filled = np.concatenate([part, np.zeros((PART - len(part), 3))])
                found.append(np.asarray(values(filled))[: len(part)])
        return np.concatenate(found)

    return function


seconds: dict[str, float] = {}


def clocked(owner: Any, name: str) -> None:
    """Let a function add the time that it takes to `seconds`."""
    function = getattr(owner, name)

    @wraps(function)
    def timed(*arguments: Any, **options: Any) -> Any:
        begin = time.perf_counter()
        try:
            return function(*arguments, **options)
        finally:
            seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - begin

    setattr(owner, name, timed)


def row(say: Callable[[str], None], label: str, X: Any, y: Any, new: np.ndarray, f: np.ndarray, **options: Any) -> None:
    """One fit and its predictions, written."""
    say(f"# {label}: N = {len(X)}, after {time.perf_counter() - started:.0f} s")
    seconds.clear()
    clocks = [time.perf_counter()]
    gp = hg.GPRegressor(M, **options).fit(X, y)
    clocks.append(time.perf_counter())
    say(f"#   fit {clocks[-1] - clocks[0]:.2f} s, {gp.fit_.evaluations} evaluations, {gp.approximation_}")
    say("#   in it: " + ", ".join(f"{name} {spent:.2f}" for name, spent in seconds.items()))
    seconds.clear()
    mean, std = gp.predict(new, return_std=True)
    clocks.append(time.perf_counter())
    say("#   in predictions: " + ", ".join(f"{name} {spent:.2f}" for name, spent in seconds.items()))
    fit, predict = np.diff(clocks)
    wrong, about = np.abs(mean - f), gp.approximation_
    size = getattr(about, "neighbors", getattr(about, "inducing", len(X)))
    say(
        f"{label:36}{len(X):>9}{fit:>9.2f}{len(new):>9}{predict:>11.2f}{size:>9.0f}{gp.time_:>9.3g}"
        f"{np.sqrt(gp.noise_):>9.4f}{np.sqrt(np.mean(wrong**2)):>9.4f}{np.sqrt(np.mean(std**2)):>9.4f}"
        f"{np.mean(wrong < 1.6448536269514722 * std):>9.3f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--number", type=int, default=1_000_000, help="points of the model of neighbors")
    parser.add_argument("--dense", type=int, default=20_000, help="points of the dense models")
    parser.add_argument("--sparse", type=int, default=1_000_000, help="points of the sparse model, of a smooth f")
    parser.add_argument("--new", type=int, default=100_000, help="points to predict")
    parser.add_argument("--numpy", type=int, default=100_000, help="points of the model of neighbors by NumPy")
    parser.add_argument("--numpy-dense", type=int, default=3000, help="points of the dense models by NumPy")
    parser.add_argument("--length", type=float, default=0.1, help="length scale of f")
    parser.add_argument("--limit", type=float, default=250.0, help="seconds after which no row is started")
    options = parser.parse_args()
    out = Path(os.environ.get("OUT", ".")) / "bench_gpu.txt"
    out.write_text("")

    def say(text: str) -> None:
        print(text, flush=True)
        with out.open("a") as file:
            file.write(text + "\n")

    device.ON_PROCESSOR = True  # to try this where there is no accelerator
    regressor.ON_DEVICE = min(regressor.ON_DEVICE, options.dense)
    for owner, names in (
        (posterior, ("guessed", "fit_from", "condition_neighbors")),
        (nearest.Places, ("before", "among", "_tree_of")),
        (nearest, ("_query",)),
        (DevicePlaces, ("_ranked",)),
        (DeviceBlocks, ("conditionals", "density_slopes", "solve")),
        (posterior.NeighborsPosterior, ("resolved",)),
    ):
        for name in names:
            clocked(owner, name)
    warnings.simplefilter("always")
    warnings.showwarning = lambda message, *_: say(f"#   {type(message).__name__}: {message}")
    say(f"# JAX {jax.__version__} on {jax.devices()[0].device_kind}, {os.cpu_count()} cores, heatgp {hg.__file__}")
    rng = np.random.default_rng(0)
    f = matern_function(options.length, rng)
    X = M.random(rng, max(options.number, options.dense, options.sparse, options.numpy))
    new = M.random(rng, options.new)
    values, truth = f(X), f(new)
    noise = NOISE * rng.standard_normal(len(X))
    y = values + noise
    smooth = [np.cos(3 * Z[:, 0]) + Z[:, 1] * Z[:, 2] for Z in (X, new)]
    with jax.enable_x64(True):
        on_device = jax.block_until_ready([jnp.asarray(a) for a in (X, y, smooth[0] + noise)])
    say(f"# data after {time.perf_counter() - started:.0f} s")
    say(f"{'':36}" + "".join(f"{name:>{11 if 'predict' in name else 9}}" for name in COLUMNS))
    small, dense = slice(max(1, options.new // 10)), {"inference": "dense"}
    near, rough = {"inference": "neighbors", "smoothness": 1.5}, dense | {"smoothness": 1.5}
    of_numpy = X, y, smooth[0] + noise
    rows = [
        ("neighbors, first fit", on_device, options.number, slice(None), near),
        ("neighbors, again", on_device, options.number, slice(None), near),
        ("dense, Matern 3/2", on_device, options.dense, slice(None), rough),
        ("dense, heat", on_device, options.dense, slice(None), dense),
        ("neighbors, NumPy", of_numpy, options.numpy, small, near),
        ("sparse, heat", on_device, options.sparse, slice(None), {"inference": "sparse"}),
        ("sparse, heat, NumPy", of_numpy, options.sparse // 10, slice(None), {"inference": "sparse"}),
        ("dense, Matern 3/2, NumPy", of_numpy, options.numpy_dense, small, rough),
        ("dense, heat, NumPy", of_numpy, options.numpy_dense, small, dense),
    ]
    for label, (points, rough_y, smooth_y), number, some, given in rows:
        if time.perf_counter() - started > options.limit:
            say(f"# {label}: left out, after {time.perf_counter() - started:.0f} s")
            continue
        try:
            is_smooth = label.startswith("sparse")
            with jax.enable_x64(True):
                data = points[:number], (smooth_y if is_smooth else rough_y)[:number]
            row(say, label, *data, new[some], (smooth[1] if is_smooth else truth)[some], **given)
        except Exception as error:
            say(f"# {label}: {type(error).__name__}: {str(error)[:2000]}")
    say(f"# all after {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
