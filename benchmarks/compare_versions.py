"""Gram matrices, walks and fits of two versions of the library, in turn in one run: the new time over the old one.

    OMP_NUM_THREADS=1 python benchmarks/compare_versions.py OLD/src NEW/src --rounds 5

Each round starts one process for each version. The least processor time over all rounds counts: other work on the
machine can only add to it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path


def tasks() -> dict[str, Callable[[], object]]:
    """What is timed, by name; the library is that of PYTHONPATH."""
    import numpy as np

    import heatgp as hg

    rng = np.random.default_rng(0)
    found: dict[str, Callable[[], object]] = {}
    for M in (hg.Sphere(2), hg.ComplexProjective(2), hg.SpecialOrthogonal(3), hg.SpecialUnitary(3), hg.Torus(2)):
        kernel, X = hg.heat_kernel(M), M.random(rng, 1000)
        found[f"gram {M!r}"] = lambda kernel=kernel, X=X: kernel(X, time=0.2)
    for M in (hg.Sphere(2), hg.Sphere(9), hg.SpecialOrthogonal(3), hg.SpecialOrthogonal(5), hg.Grassmann(4, 2)):
        found[f"walk {M!r}"] = lambda M=M: hg.walk(M, M.origin, [0.5], paths=4096, step=0.01, rng=0)
    S2, CP2 = hg.Sphere(2), hg.ComplexProjective(2)
    X, Z = S2.random(rng, 600), CP2.random(rng, 150)
    y = X[:, 0] * X[:, 2] + 0.1 * rng.standard_normal(600)
    labels = np.abs(Z[:, 0]) + 0.2 * rng.standard_normal(150) > 0.6
    found["fit regression, n = 600"] = lambda: hg.GPRegressor(S2).fit(X, y)
    few, counts, three = X[:200], rng.poisson(np.exp(X[:200, 0])), np.digitize(X[:200, 2], [-0.3, 0.3])
    many = S2.random(rng, 5000)
    values = many[:, 0] * many[:, 2] + 0.1 * rng.standard_normal(5000)
    signs = many[:3000, 0] + 0.2 * rng.standard_normal(3000) > 0
    new, fitted = S2.random(rng, 2000), hg.GPRegressor(S2, time=1.0, amplitude=1.0, noise=0.01).fit(X, y)
    found |= {
        "fit two classes, n = 150": lambda: hg.GPClassifier(CP2).fit(Z, labels),
        "fit three classes, n = 200": lambda: hg.GPClassifier(S2).fit(few, three),
        "fit Student-t, n = 200": lambda: hg.GPRegressor(S2, likelihood="student-t").fit(few, y[:200]),
        "fit counts, n = 200": lambda: hg.GPRegressor(S2, likelihood="poisson").fit(few, counts),
        "fit three outputs, n = 200": lambda: hg.GPRegressor(S2).fit(few, few + 0.1 * y[:200, None]),
        "fit grid, n = 200": lambda: hg.GPRegressor(S2, integrate="grid").fit(few, y[:200]),
        "fit sparse, n = 5,000": lambda: hg.GPRegressor(S2).fit(many, values),
        "fit labels, sparse, n = 3,000": lambda: hg.GPClassifier(S2, inference="sparse").fit(many[:3000], signs),
        "predict with deviations, 600 and 2,000": lambda: fitted.predict(new, return_std=True),
    }
    return found


def measure(seconds: float, only: str) -> dict[str, float]:
    """The least processor time of each task, over as many repetitions as fit the time; the first does not count."""
    least = {}
    for name, task in tasks().items():
        if only not in name:
            continue
        task()
        times, start = [], time.perf_counter()
        while not times or time.perf_counter() - start < seconds:
            begin = time.process_time()
            task()
            times.append(time.process_time() - begin)
        least[name] = min(times)
    return least


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*", type=Path, help="folders with the package: the old one, the new one")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="for each task and round")
    parser.add_argument("--only", default="", help="tasks whose names have this in them")
    options = parser.parse_args()
    if not options.versions:  # one of the two, called from below
        print(json.dumps(measure(options.seconds, options.only)))
        return
    old, new = options.versions
    least: dict[Path, dict[str, float]] = {old: {}, new: {}}
    for _ in range(options.rounds):
        for version, known in least.items():
            command = [sys.executable, __file__, "--seconds", str(options.seconds), "--only", options.only]
            environment = os.environ | {"PYTHONPATH": str(version.resolve())}
            printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
            for name, value in json.loads(printed).items():
                known[name] = min(value, known.get(name, value))
    print(f"{'task':<40}{'old (ms)':>12}{'new (ms)':>12}{'new / old':>12}")
    for name, before in least[old].items():
        after = least[new][name]
        print(f"{name:<40}{1e3 * before:12.2f}{1e3 * after:12.2f}{after / before:12.3f}")


if __name__ == "__main__":
    main()
