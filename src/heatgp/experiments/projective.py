"""Regression on CP^4. Ye, Niu, Cheung, Dai, Liu (2024), appendix "Projective spaces"."""

import numpy as np

from ..datasets import Dataset, projective_regression
from ..plots import scatter_figure
from .experiment import Experiment, Options, Outcome, Plan, Scores, Section, Unit
from .models import model, regression
from .section import method_figure, regression_tables, section_text
from .table import paper_figures

DECIBELS = (30, 20, 10)
METHODS = ("heatgp", "smooth", "strip", "ball", "rbf", "rbf untuned", "rbf projector")
SETTINGS = tuple(f"{db} dB" for db in DECIBELS)
BASELINES = {"rbf": "rbf raw", "rbf projector": "rbf"}
"""`rbf` is the paper's, on the ten real coordinates of a unit vector; the embedding of CP^4 is by projectors x x*."""


def plan(options: Options) -> Plan:
    return Plan(options.units(SETTINGS, METHODS), paper=paper_figures("projective"))


def data(unit: Unit) -> Dataset:
    return projective_regression(unit.repetition, snr_db=DECIBELS[SETTINGS.index(unit.setting)])


def run(unit: Unit) -> Scores:
    d = data(unit)
    estimator = model(BASELINES.get(unit.method, unit.method), d.manifold, "regression", unit["paths"])
    return regression(estimator, d.X, d.y, d.X_test, d.y_test, keep=unit.repetition == 0)


def present(outcome: Outcome) -> Section:
    first = data(Unit(SETTINGS[0], "", 0))
    truth = np.asarray(first.y_test)
    panels = {
        method: (truth, np.array(kept["prediction"]), np.array(kept["std"]))
        for method in ("heatgp", "rbf", "rbf projector")
        if (kept := outcome.kept(SETTINGS[0], method))
    }
    return Section(
        text=section_text("projective", points=len(first.y), test=len(truth), paths=outcome.options.paths),
        tables=regression_tables(outcome, ["rbf", "rbf projector"]),
        pictures={
            "projective_predictions": scatter_figure(panels, title=SETTINGS[0]),
            "projective_rmse": method_figure(outcome, "rmse", xlabel="signal-to-noise ratio", log=True),
        },
    )


EXPERIMENT = Experiment("projective", "Complex projective space CP⁴", plan, run, present)
