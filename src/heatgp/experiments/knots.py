"""Torus knots: one circle, three embeddings. Ye, Niu, Cheung, Dai, Liu (2024), Figure 3 and Table 1."""

from typing import Any

import numpy as np

from ..baselines import BaselineRegressor
from ..datasets import Dataset, torus_knot
from ..manifolds import TorusKnot
from ..plots import circle_figure, interval_figure, knot_figure
from .experiment import Experiment, Options, Outcome, Plan, Scores, Section, Unit
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

    columns = [("truth", [truth] * 3), ("rbf", predicted("rbf")), ("heatgp", predicted("heatgp"))]
    own = outcome.kept(SETTINGS[2], "heatgp")
    predicted_there = angles, np.array(own["prediction"]), np.array(own["std"])
    given: dict[str, Any] = {"truth": truth, "data": (d.X[:, 0], d.y)}
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
        pictures={
            "knots": knot_figure([TorusKnot(*k) for k in KNOTS], angles, columns),
            "knots_interval": interval_figure(
                *predicted_there, **given, xlabel="angle (radians)", title="(9, 8) knot, heatgp"
            ),
            "knots_circle": circle_figure(*predicted_there, **given, title="the same, around the circle"),
            "knots_rmse": method_figure(outcome, "rmse", xlabel="torus knot (p, q)", log=True),
        },
    )


EXPERIMENT = Experiment("knots", "Torus knots", plan, run, present)
