"""Torus knots: one circle, three embeddings. Ye, Niu, Cheung, Dai, Liu (2024), Figure 3 and Table 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..baselines import BaselineRegressor
from ..datasets import Dataset, torus_knot
from ..manifolds import TorusKnot
from ..plots import circle_figure, interval_figure, knot_figure
from .models import model, regression
from .section import Grid, Options, Outcome, Picture, Section, method_figure, method_grid, ratio
from .table import number
from .work import Experiment, Plan, Scores, Unit

KNOTS = ((2, 3), (4, 3), (9, 8))
METHODS = ("heatgp", "strip", "ball", "rbf", "rbf untuned")
INTRINSIC, EXTRINSIC = 0.072, {(2, 3): (0.103, 0.014), (4, 3): (1.78, 0.58), (9, 8): (2.29, 0.75)}
PAPER = {(str(k), "heatgp", "rmse"): (INTRINSIC, 0.01) for k in KNOTS} | {
    (str(k), "rbf", "rmse"): EXTRINSIC[k] for k in KNOTS
}

TEXT = """
A function on the circle is the same function however the circle is tied into space. The intrinsic process knows the
circle and has the same error on all three knots; the extrinsic one sees strands that come close in space and are far
apart along the knot, and takes them for neighbours.

f = x' M x with M = {matrix} of the unit vector x, noise of standard deviation {noise:g}, {points} training points at
uniform angles, errors against the true function at {grid} angles. The paper gives neither M nor the noise nor the
number of points, so ratios compare better than errors. The length-scale of `rbf` is learned; that of `rbf untuned` is
1. `heatgp` has the exact kernel of the circle, `strip` and `ball` the kernels that the paper's algorithms estimate
from {paths} paths.

That the estimated kernels do a little better than the exact one is luck: harmonics that they cannot estimate are left
out, which keeps them positive definite, and f happens to have a single harmonic.
"""


def plan(options: Options) -> Plan:
    repetitions, paths = (3, 5_000) if options.quick else (10, 20_000)
    return Plan(
        tuple(
            Unit(str(knot), method, seed, (("paths", paths),))
            for knot in KNOTS
            for method in METHODS
            for seed in range(repetitions)
        )
    )


def data(unit: Unit) -> Dataset:
    knot = KNOTS[[str(k) for k in KNOTS].index(unit.setting)]
    return torus_knot(*knot, seed=unit.repetition)


def run(unit: Unit) -> Scores:
    d = data(unit)
    if unit.method == "rbf untuned":  # in space, too: its raw coordinate would be the angle
        estimator: Any = BaselineRegressor(d.manifold, tuned=False)
    else:
        estimator = model(unit.method, d.manifold, "regression", unit["paths"])
    return regression(estimator, d.X, d.y, d.X_test, d.y_test, keep=unit.repetition == 0)


def present(outcome: Outcome) -> Section:
    d = data(Unit(str(KNOTS[0]), "", 0))
    angles, truth = np.asarray(d.X_test)[:, 0], np.asarray(d.y_test)

    def predicted(method: str) -> list[np.ndarray]:
        return [np.array(outcome.kept(str(knot), method)["prediction"]) for knot in KNOTS]

    columns = [("truth", [truth] * 3), ("rbf in R³", predicted("rbf")), ("intrinsic", predicted("heatgp"))]
    own = outcome.kept(str(KNOTS[2]), "heatgp")
    mean, std = np.array(own["prediction"]), np.array(own["std"])
    observed = (d.X[:, 0], d.y)
    ratios = tuple(f"{number(ratio(outcome.rows, str(k), 'rmse'))}" for k in KNOTS)
    stated = tuple(number(INTRINSIC / EXTRINSIC[k][0]) for k in KNOTS)
    return Section(
        text=TEXT.format(
            matrix=d.details["matrix"].tolist(),
            noise=d.details["noise"],
            points=len(d.y),
            grid=len(truth),
            paths=next(iter(outcome.scores))["paths"],
        ),
        tables=(
            method_grid(outcome.rows, "rmse", "Root mean squared error, mean (sd) over data sets", PAPER),
            Grid(
                "Error of heatgp as a part of that of the tuned rbf",
                ("", *map(str, KNOTS)),
                (("heatgp / rbf", *ratios), ("paper: SiGP / exGP", *stated)),
            ),
            method_grid(outcome.rows, "seconds", "Seconds for fit and prediction, mean (sd)", {}),
        ),
        pictures=(
            Picture(
                "knots",
                knot_figure([TorusKnot(*k) for k in KNOTS], angles, columns),
                "The function on three knots: the truth, as the RBF process in R³ predicts it, and as ours does.",
            ),
            Picture(
                "knots_interval",
                interval_figure(angles, mean, std, truth=truth, data=observed, title="(9, 8) knot, intrinsic"),
                "Intrinsic prediction along the knot with its interval.",
            ),
            Picture(
                "knots_circle",
                circle_figure(angles, mean, std, truth=truth, data=observed, title="the same, around the circle"),
                "The same prediction around the circle: it closes without a seam.",
            ),
            Picture(
                "knots_rmse",
                method_figure(outcome.rows, "rmse", xlabel="torus knot (p, q)", log=True),
                "Errors of all methods, with standard deviations over the data sets.",
            ),
        ),
    )


EXPERIMENT = Experiment("knots", "Torus knots", plan, run, present, PAPER)
