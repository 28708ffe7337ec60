"""Gorilla skulls by sex, from the shape of four landmarks. Ye, Niu, Cheung, Dai, Liu (2024), Table 2."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..baselines.estimators import baseline
from ..datasets import gorillas
from ..manifolds import ComplexProjective
from ..plots import reliability_figure
from ..points.convert import landmarks_to_shape
from .models import SIMULATED, classification, model
from .section import Options, Outcome, Picture, Section, method_figure, method_grid
from .work import Experiment, Plan, Scores, Unit

SETTINGS = ("raw", "unit", "rotated")
BASELINES = ("rbf", "rbf untuned", "svm", "svm untuned", "linear", "linear untuned")
INTRINSIC = ("heatgp", "heatgp first")
METHODS = (*INTRINSIC, *SIMULATED, *BASELINES)
STATED = {
    "heatgp": ((0.15, 0.05), (0.99, 0.01)),
    "rbf": ((0.58, 0.21), (0.83, 0.14)),
    "svm": ((0.70, 0.004), (0.52, 0.06)),
    "linear": ((3.8, 1.2), (0.92, 0.07)),
}
PAPER = {
    (setting, method, metric): figure
    for setting in SETTINGS
    for method, figures in STATED.items()
    for metric, figure in zip(("cross_entropy", "auc"), figures)
}
TRAINING = 50

TEXT = """
59 skulls, landmarks 1 to 4 of 8 (the paper does not name its four), random splits of 50 for training and 9 for
testing, expectation propagation. The shape of four planar landmarks is a point of CP².

The coordinates in the data set are registered and not scaled: size alone tells the sexes apart. Methods on
coordinates therefore solve an easier problem in the column `raw`; `unit` removes position and size; `rotated` also
turns each skull by a random angle, which is what “shape only” means. The intrinsic process gets the same landmarks in
each column, and its figures do not change: that is the point. In the columns `raw` and `unit` tuned baselines are as
good as it is, or better.

`heatgp` takes Helmert contrasts, which make the metric Kendall's; `heatgp first` takes the paper's differences from
the first landmark. `ball`, `strip` and `smooth` estimate the kernel of CP² from {paths} paths, `heatgp` has the exact
one. Baselines are tuned (the RBF length-scale by evidence, the others by cross-validation); `untuned` ones have
scikit-learn's defaults, as the paper seems to have used. The paper's figures stand in each column, since it does not
say which representation it took.
"""


def plan(options: Options) -> Plan:
    """Every method on every representation, on the same random splits; raises DataMissing without the skulls."""
    gorillas()
    repetitions, paths = (3, 5_000) if options.quick else (10, 20_000)
    return Plan(
        tuple(
            Unit(setting, method, split, (("paths", paths),))
            for setting in SETTINGS
            for method in (*INTRINSIC, *(SIMULATED if setting == "rotated" else ()), *BASELINES)
            for split in range(repetitions)
        )
    )


def run(unit: Unit) -> Scores:
    representation: Any = unit.setting
    d = gorillas(representation=representation)
    X = d.X
    if unit.method in (*INTRINSIC, *SIMULATED):
        contrast: Any = "first" if unit.method.endswith("first") else "helmert"
        X = landmarks_to_shape(X.reshape(len(X), -1, 2), contrast)
        estimator = model(unit.method.removesuffix(" first"), ComplexProjective(2), "classification", unit["paths"])
    else:
        estimator = baseline(unit.method, d.manifold, "classification")
    order = np.random.default_rng(unit.repetition).permutation(len(d.y))
    train, test = order[:TRAINING], order[TRAINING:]
    return classification(estimator, X[train], d.y[train], X[test], d.y[test])


def pooled(outcome: Outcome, setting: str, method: str) -> tuple[np.ndarray, np.ndarray]:
    """Predicted probabilities and truths of all splits."""
    found = [s for u, s in outcome.scores.items() if (u.setting, u.method) == (setting, method)]
    return np.concatenate([s["probability"] for s in found]), np.concatenate([s["truth"] for s in found])


def present(outcome: Outcome) -> Section:
    shown = ("heatgp", "rbf", "svm", "linear")
    return Section(
        text=TEXT.format(paths=next(iter(outcome.scores))["paths"]),
        tables=(
            method_grid(
                outcome.rows, "cross_entropy", "Cross entropy in nats, mean (sd) over splits", PAPER, methods=METHODS
            ),
            method_grid(outcome.rows, "auc", "Area under the ROC curve, mean (sd) over splits", PAPER, methods=METHODS),
            method_grid(outcome.rows, "error", "Error rate, mean (sd) over splits", {}, methods=METHODS),
            method_grid(outcome.rows, "seconds", "Seconds for fit and prediction, mean (sd)", {}, methods=METHODS),
        ),
        pictures=(
            Picture(
                "gorillas_cross_entropy",
                method_figure(outcome.rows, "cross_entropy", methods=(*shown, "rbf untuned", "strip", "smooth")),
                "Cross entropy of the methods on the three representations, with standard deviations over the splits.",
            ),
            Picture(
                "gorillas_reliability",
                reliability_figure(
                    {m: pooled(outcome, "rotated", m) for m in shown}, title="probability of a male, shape only"
                ),
                "Are the probabilities right? Predictions of all splits on rotated skulls, with one standard error.",
            ),
        ),
    )


EXPERIMENT = Experiment("gorillas", "Gorilla skulls", plan, run, present, PAPER)
