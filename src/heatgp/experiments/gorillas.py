"""Gorilla skulls by sex, from the shape of four landmarks. Ye, Niu, Cheung, Dai, Liu (2024), Table 2."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ..datasets import Dataset, data_folder, gorillas
from ..datasets.skulls import skull_files
from ..manifolds import ComplexProjective
from ..plots import reliability_figure
from ..points import landmarks_to_shape
from .experiment import Experiment, Options, Outcome, Plan, Scores, Section, Unit
from .models import SIMULATED, classification, model, pooled
from .section import method_figure, method_grid, section_text
from .table import paper_figures

SETTINGS = ("raw", "unit", "rotated")
BASELINES = ("rbf", "rbf untuned", "svm", "svm untuned", "linear", "linear untuned")
INTRINSIC = ("heatgp", "heatgp first")
METHODS = (*INTRINSIC, *SIMULATED, *BASELINES)
TRAINING = 50


def plan(options: Options) -> Plan:
    """Every method on every representation, on the same random splits; raises DataMissing without the skulls."""
    skull_files(data_folder())
    units = options.units(SETTINGS, METHODS)
    chosen = [u for u in units if u.method not in SIMULATED or u.setting == "rotated"]
    return Plan(chosen, paper=paper_figures("gorillas"))


@cache
def skulls(folder: Path, representation: Any) -> Dataset:
    """The skulls of a data folder, read once in each process."""
    return gorillas(representation=representation, data_home=folder)


def run(unit: Unit) -> Scores:
    d = skulls(data_folder(), unit.setting)
    X, manifold = d.X, d.manifold
    if unit.method in (*INTRINSIC, *SIMULATED):
        contrast: Any = "first" if unit.method.endswith("first") else "helmert"
        X, manifold = landmarks_to_shape(X.reshape(len(X), -1, 2), contrast), ComplexProjective(2)
    estimator = model(unit.method.removesuffix(" first"), manifold, "classification", unit["paths"])
    order = np.random.default_rng(unit.repetition).permutation(len(d.y))
    train, test = order[:TRAINING], order[TRAINING:]
    return classification(estimator, X[train], d.y[train], X[test], d.y[test])


def present(outcome: Outcome) -> Section:
    shown = ("heatgp", "rbf", "svm", "linear")
    captions = {
        "cross_entropy": "Cross entropy in nats, mean (sd) over splits",
        "auc": "Area under the ROC curve, mean (sd) over splits",
        "error": "Error rate, mean (sd) over splits",
        "seconds": "Seconds for fit and prediction, mean (sd)",
    }
    predicted = {method: pooled(outcome.select(setting="rotated", method=method)) for method in shown}
    return Section(
        text=section_text("gorillas", paths=outcome.options.paths),
        tables=[method_grid(outcome, metric, caption, METHODS) for metric, caption in captions.items()],
        pictures={
            "gorillas_cross_entropy": method_figure(
                outcome, "cross_entropy", methods=(*shown, "rbf untuned", "strip", "smooth")
            ),
            "gorillas_reliability": reliability_figure(predicted, title="probability of a male, shape only"),
        },
    )


EXPERIMENT = Experiment("gorillas", "Gorilla skulls", plan, run, present)
