"""Regression on CP^4. Ye, Niu, Cheung, Dai, Liu (2024), appendix "Projective spaces"."""

from __future__ import annotations

import numpy as np

from ..datasets import Dataset, projective_regression
from ..plots import scatter_figure
from .models import model, regression
from .section import Grid, Options, Outcome, Picture, Section, method_figure, method_grid, ratio
from .table import number
from .work import Experiment, Plan, Scores, Unit

DECIBELS = (30, 20, 10)
METHODS = ("heatgp", "smooth", "strip", "ball", "rbf", "rbf untuned", "rbf projector")
SETTINGS = tuple(f"{db} dB" for db in DECIBELS)
INTRINSIC = ((2.16, 0.05), (2.13, 0.21), (2.66, 0.28))
EXTRINSIC = ((6.47, 0.03), (6.5, 0.14), (6.6, 0.28))
PAPER = {(s, "heatgp", "rmse"): v for s, v in zip(SETTINGS, INTRINSIC)} | {
    (s, "rbf", "rmse"): v for s, v in zip(SETTINGS, EXTRINSIC)
}
BASELINES = {"rbf": "rbf raw", "rbf projector": "rbf"}
"""`rbf` is the paper's, on the ten real coordinates of a unit vector; the embedding of CP^4 is by projectors x x*."""

TEXT = """
f = x* M x on CP⁴, eight real dimensions, M = G G* with a complex normal G; {points} training points and noise at
three signal-to-noise ratios; errors against the true function at {test} points. Each data set has its own M. The
paper does not give M or the number of points: ratios compare better than errors.

`rbf` is the paper's extrinsic process: an RBF kernel on the ten real coordinates of a unit vector x, with a learned
length-scale. It does not know that x and ix are the same point, and learns next to nothing. That makes it a weak
opponent, and a win over it is none. A competent user would embed the point as its projector x x*, which does know it:
`rbf projector` is that, and does as well as the heat kernel here, since f is linear in x x*. What the intrinsic
process has over it is that nobody had to find that embedding.

`heatgp` has the exact kernel; `ball`, `strip` and `smooth` estimate it from {paths} paths, the first two by counting
in balls and strips of the width that suits them best, `smooth` by fitting a smooth density to the same paths.
"""


def plan(options: Options) -> Plan:
    repetitions, paths = (3, 5_000) if options.quick else (10, 20_000)
    return Plan(
        tuple(
            Unit(setting, method, seed, (("paths", paths),))
            for setting in SETTINGS
            for method in METHODS
            for seed in range(repetitions)
        )
    )


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
    ratios = tuple(number(ratio(outcome.rows, s, "rmse")) for s in SETTINGS)
    honest = tuple(number(ratio(outcome.rows, s, "rmse", "rbf projector")) for s in SETTINGS)
    stated = tuple(number(a / b) for (a, _), (b, _) in zip(INTRINSIC, EXTRINSIC))
    return Section(
        text=TEXT.format(points=len(first.y), test=len(truth), paths=next(iter(outcome.scores))["paths"]),
        tables=(
            method_grid(outcome.rows, "rmse", "Root mean squared error, mean (sd) over data sets", PAPER),
            Grid(
                "Error of heatgp as a part of others'",
                ("", *SETTINGS),
                (
                    ("heatgp / rbf", *ratios),
                    ("paper: SiGP / naive GP", *stated),
                    ("heatgp / rbf projector", *honest),
                ),
            ),
            method_grid(outcome.rows, "seconds", "Seconds for fit and prediction, mean (sd)", {}),
        ),
        pictures=(
            Picture(
                "projective_predictions",
                scatter_figure(panels, title=SETTINGS[0]),
                "Prediction against truth at 500 test points of one data set, with one standard deviation.",
            ),
            Picture(
                "projective_rmse",
                method_figure(outcome.rows, "rmse", xlabel="signal-to-noise ratio", log=True),
                "Errors of all methods, with standard deviations over the data sets.",
            ),
        ),
    )


EXPERIMENT = Experiment("projective", "Complex projective space CP⁴", plan, run, present, PAPER)
