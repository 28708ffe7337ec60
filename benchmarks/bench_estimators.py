"""Error of the ball, strip and smooth estimates against the path-steps that they take: a table and a picture.

    python benchmarks/bench_estimators.py [--out results]

The error is the largest along a geodesic, at time 0.1, over p_t(x, x); its root mean square over seeds. It is measured
against the exact kernels.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import heatgp as hg
from heatgp.errors import AccuracyWarning
from heatgp.plots import along_geodesic, save_figure

TIME = 0.1
SPACES = (hg.Sphere(2), hg.Sphere(9), hg.ComplexProjective(4), hg.SpecialOrthogonal(3), hg.Grassmann(5, 2))
METHODS = ("ball", "strip", "smooth")


def exact(M: hg.Manifold, points: np.ndarray) -> np.ndarray:
    return hg.heat_kernel(M, "exact")(points[0], points, time=TIME)


def estimate(M: hg.Manifold, method: str, points: np.ndarray, paths: int, seed: int) -> tuple[np.ndarray, int]:
    """The estimate along the geodesic, and the path-steps it took."""
    options = {"times": TIME} if method == "smooth" else {"times": [TIME], "step": TIME / 50}
    if method != "ball":  # which keeps nothing
        options["cache"] = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        kernel = hg.heat_kernel(M, method, paths=paths, rng=seed, **options)
        values = kernel(points[0], points, time=TIME)
    steps = round(kernel.samples.times[-1] / kernel.samples.step) if method == "smooth" else 50
    return values, paths * steps


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="results")
    parser.add_argument("--paths", type=int, nargs="+", default=[1000, 4000, 16000, 64000])
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    figure = Figure(figsize=(15, 3.2), constrained_layout=True)
    panels = figure.subplots(1, len(SPACES), sharey=True)
    print(f"largest error over p_t(x, x), t = {TIME}, root mean square over {options.seeds} seeds")
    print(f"{'manifold':22}{'method':8}" + "".join(f"{paths:>12} paths" for paths in options.paths))
    for M, axes in zip(SPACES, panels):
        _, points = along_geodesic(M, TIME, 17)
        truth = exact(M, points)
        for method in METHODS:
            steps, errors = [], []
            for paths in options.paths:
                runs = [estimate(M, method, points, paths, seed) for seed in range(options.seeds)]
                worst = [np.abs(values - truth).max() / truth[0] for values, _ in runs]
                steps.append(runs[0][1])
                errors.append(float(np.sqrt(np.mean(np.square(worst)))))
            print(f"{M!r:22}{method:8}" + "".join(f"{e:18.5f}" for e in errors), flush=True)
            axes.loglog(steps, errors, marker="o", label=method)
        axes.set(title=repr(M), xlabel="path-steps")
    panels[0].set_ylabel("largest error / $p_t(x, x)$")
    panels[0].legend()
    folder = Path(options.out)
    folder.mkdir(parents=True, exist_ok=True)
    save_figure(figure, folder / "bench_estimators.png")
    print(f"picture: {folder / 'bench_estimators.png'}")


if __name__ == "__main__":
    main()
