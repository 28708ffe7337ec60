"""Ball, strip, smooth and exact kernels. Ye, Niu, Cheung, Dai, Liu (2024), Figure 2 and Theorem 3.2."""

import time
from functools import cache
from typing import Any

import numpy as np

from ..baselines.rows import distinct
from ..heat.methods import heat_kernel, known_options
from ..manifolds import ComplexProjective, Euclidean, Grassmann, Manifold, SpecialOrthogonal, Sphere
from ..plots import along_geodesic, distance_label, kernel_panels
from .experiment import Experiment, Options, Outcome, Plan, Scores, Section, Unit
from .section import method_figure, section_text, setting_grid

SETTINGS: dict[str, tuple[Manifold, float]] = {
    "R^1": (Euclidean(1), 1.0),
    "R^2": (Euclidean(2), 1.0),
    "R^3": (Euclidean(3), 1.0),
    "S^2": (Sphere(2), 0.2),
    "S^9": (Sphere(9), 0.1),
    "CP^4": (ComplexProjective(4), 0.1),
    "SO(3)": (SpecialOrthogonal(3), 0.2),
    "Gr(5,2)": (Grassmann(5, 2), 0.2),
}
"""Manifolds, each with a time at which its kernel is neither concentrated in a point nor flat."""
METHODS = ("ball", "strip", "smooth", "exact")
WIDTH = 0.1
"""Radius of balls and half-width of strips in R^n, as in the paper: a tenth of the kernel's standard deviation."""
PATHS = 20_000
DISTANCES = 25
STEPS = 50


def plan(options: Options) -> Plan:
    repetitions = 2 if options.quick else 5
    units = [
        Unit(setting, method, seed, (("paths", PATHS),))
        for setting, (manifold, _) in SETTINGS.items()
        for method in METHODS
        if method != "smooth" or not isinstance(manifold, Euclidean)
        for seed in range(1 if method == "exact" else repetitions)
    ]
    return Plan(units)


def run(unit: Unit) -> Scores:
    manifold, at = SETTINGS[unit.setting]
    _, points = along_geodesic(manifold, at, DISTANCES)
    start = time.perf_counter()
    if unit.method == "exact":
        value, deviation = exact.__wrapped__(unit.setting), np.zeros(DISTANCES)
    else:
        kernel = heat_kernel(manifold, unit.method, **simulation(unit))
        value = kernel(points[:1], points, time=at)[0]
        deviation = kernel.standard_error(points[:1], points, time=at)[0]
    seconds = time.perf_counter() - start
    truth = exact(unit.setting)
    scores: Scores = {"error": float(np.sqrt(np.mean((value - truth) ** 2))) / float(truth[0]), "seconds": seconds}
    if unit.repetition == 0:
        scores |= {"curve": (value / truth[0]).tolist(), "deviation": (deviation / truth[0]).tolist()}
    return scores


def simulation(unit: Unit) -> dict[str, Any]:
    """How a method simulates: one exact step in R^n, fifty elsewhere, and the smooth estimate its own design."""
    manifold, at = SETTINGS[unit.setting]
    design: dict[str, Any] = {"times": [at], "step": at / STEPS}
    if unit.method == "smooth":
        design = {"times": at}
    elif isinstance(manifold, Euclidean):
        design = {"times": [at], "step": at, "epsilon": WIDTH}
    return known_options(unit.method, **design, paths=unit["paths"], rng=unit.repetition, cache=False)


@cache
def exact(setting: str) -> np.ndarray:
    """p_t from the first point of the geodesic to all of them."""
    manifold, at = SETTINGS[setting]
    _, points = along_geodesic(manifold, at, DISTANCES)
    return heat_kernel(manifold, "exact")(points[:1], points, time=at)[0]


def present(outcome: Outcome) -> Section:
    panels = []
    for setting in distinct(u.setting for u in outcome.scores):
        manifold, at = SETTINGS[setting]
        lengths, _ = along_geodesic(manifold, at, DISTANCES)
        kept = {m: k for m in METHODS if (k := outcome.kept(setting, m))}
        curves = [(m, np.array(k["curve"]), np.array(k["deviation"])) for m, k in kept.items()]
        panels.append((f"{setting}, t = {at:g}", distance_label(manifold), lengths, curves))
    return Section(
        text=section_text("compare", paths=PATHS, width=WIDTH, distances=DISTANCES),
        tables=(
            setting_grid(outcome, "error", "Error as a fraction of p_t(x, x), mean (sd) over seeds", METHODS),
            setting_grid(outcome, "seconds", "Seconds, mean (sd) over seeds", METHODS),
        ),
        pictures={
            "compare": kernel_panels(panels),
            "compare_error": method_figure(outcome, "error", methods=METHODS[:-1], log=True),
            "compare_seconds": method_figure(outcome, "seconds", log=True),
        },
    )


EXPERIMENT = Experiment("compare", "Ball, strip, smooth and exact kernels", plan, run, present)
