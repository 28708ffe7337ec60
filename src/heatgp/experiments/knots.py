"""Torus knots: one circle, three embeddings. Ye, Niu, Cheung, Dai, Liu (2024), Figure 3 and Table 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..baselines import BaselineRegressor
from ..datasets import Dataset, torus_knot
from ..manifolds import TorusKnot
from ..plots import circle_figure, interval_figure, knot_figure
from .experiment import Experiment, Options, Outcome, Picture, Plan, Scores, Section, Unit
from .models import model, regression
from .section import method_figure, regression_tables, section_text
from .table import paper_figures

KNOTS = ((2, 3), (4, 3), (9, 8))
METHODS = ("heatgp", "strip", "ball", "rbf", "rbf untuned")
SETTINGS = tuple(map(str, KNOTS))


def plan(options: Options) -> Plan:
    return Plan(options.units(SETTINGS, METHODS), paper=paper_figures("knots"))


def data(unit: Unit) -> Dataset:
    return torus_knot(*KNOTS[SETTINGS.index(unit.setting)], seed=unit.repetition)


def run(unit: Unit) -> Scores:
    d = data(unit)
    if unit.method == "rbf untuned":  # in space, too: its raw coordinate would be the angle
        estimator: Any = BaselineRegressor(d.manifold, tuned=False)
    else:
        estimator = model(unit.method, d.manifold, "regression", unit["paths"])
    return regression(estimator, d.X, d.y, d.X_test, d.y_test, keep=unit.repetition == 0)


def present(outcome: Outcome) -> Section:
    d = data(Unit(SETTINGS[0], "", 0))
    angles, truth = np.asarray(d.X_test)[:, 0], np.asarray(d.y_test)

    def predicted(method: str) -> list[np.ndarray]:
        return [np.array(outcome.kept(setting, method)["prediction"]) for setting in SETTINGS]

    columns = [("truth", [truth] * 3), ("rbf in R³", predicted("rbf")), ("intrinsic", predicted("heatgp"))]
    own = outcome.kept(SETTINGS[2], "heatgp")
    mean, std = np.array(own["prediction"]), np.array(own["std"])
    observed = (d.X[:, 0], d.y)
    return Section(
        text=section_text(
            "knots",
            matrix=d.details["matrix"].tolist(),
            noise=d.details["noise"],
            points=len(d.y),
            grid=len(truth),
            paths=outcome.options.paths,
        ),
        tables=regression_tables(outcome, ["rbf"]),
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
                method_figure(outcome, "rmse", xlabel="torus knot (p, q)", log=True),
                "Errors of all methods, with standard deviations over the data sets.",
            ),
        ),
    )


EXPERIMENT = Experiment("knots", "Torus knots", plan, run, present)
