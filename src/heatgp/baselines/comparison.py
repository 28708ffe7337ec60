"""Every method on the same splits, in one call."""

from __future__ import annotations

import csv
import io
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold
from sklearn.utils.multiclass import type_of_target

from ..errors import InvalidInput, Unsupported
from ..manifolds import Manifold
from ..manifolds.checks import check_points
from .estimators import NAMES, Task, baseline

DEFAULT = ("heatgp", "rbf", "rbf raw", "rbf untuned", "svm", "linear", "nearest")
FLOOR = 1e-15
"""Probabilities below count as this in the cross entropy, which would be infinite after one certain error."""
CLASSES = 20
"""More different whole numbers than this may be a regression's counts as well as classes: the user must say."""

Split = tuple[Any, Any]


@dataclass(frozen=True)
class Row:
    """One figure of the table: mean and standard deviation of a metric over n splits."""

    method: str
    metric: str
    mean: float
    sd: float
    n: int


@dataclass(frozen=True)
class Comparison:
    """A table of methods and metrics; printing it shows mean (standard deviation) over the splits."""

    rows: tuple[Row, ...]
    title: str
    notes: tuple[str, ...] = ()

    def row(self, method: str, metric: str) -> Row:
        for row in self.rows:
            if (row.method, row.metric) == (method, metric):
                return row
        raise InvalidInput(f"The table has no {metric!r} of {method!r}.")

    def __str__(self) -> str:
        methods, metrics = _distinct(r.method for r in self.rows), _distinct(r.metric for r in self.rows)
        cells = {(r.method, r.metric): f"{r.mean:.3g} ({r.sd:.2g})" for r in self.rows}
        table = [["", *metrics], *([m, *(cells.get((m, k), "") for k in metrics)] for m in methods)]
        widths = [max(map(len, column)) for column in zip(*table)]
        lines = [
            line[0].ljust(widths[0]) + "".join(f"  {c:>{w}}" for c, w in zip(line[1:], widths[1:])) for line in table
        ]
        return "\n".join([self.title, *lines, *self.notes])

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """The rows as CSV text, written to `path` if one is given."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(("method", "metric", "mean", "sd", "n"))
        writer.writerows(astuple(row) for row in self.rows)
        if path is not None:
            Path(path).write_text(text.getvalue(), encoding="utf-8")
        return text.getvalue()


def compare(
    manifold: Manifold,
    X: ArrayLike,
    y: ArrayLike,
    *,
    task: Task | None = None,
    methods: Sequence[str] | Mapping[str, Any] | None = None,
    splits: int | Iterable[Split] = 5,
    groups: ArrayLike | None = None,
    rng: int | np.random.Generator = 0,
) -> Comparison:
    """Fit and score the Gaussian process of this library and the baselines on the same splits.

    Parameters
    ----------
    manifold, X, y
        Points (N, *manifold.shape) and their targets.
    task
        "regression" or "classification"; by default regression for fractional y, else classification.
    methods
        Names ("heatgp" or one of `baselines.NAMES`), or estimators by name, each of which takes points. By default
        heatgp, tuned baselines on the embedding, the RBF on raw coordinates, tuned or not, and nearest neighbours.
    splits
        So many folds of a cross-validation (stratified by class; whole groups where `groups` are given), or pairs of
        training and test indices.
    groups
        Labels (N,) of what must not be on both sides of a split, such as subjects.
    rng
        Seed or Generator: folds and searches depend on nothing else.

    Metrics are rmse and nlpd (mean negative log predictive density, where the method has a standard deviation), or
    cross_entropy, auc (two classes) and error; seconds are for fit and prediction together.
    """
    X, y = np.asarray(check_points(manifold, np.asarray(X))), np.asarray(y)
    if y.shape != X.shape[:1]:
        raise InvalidInput(f"y has shape {y.shape}; X has {len(X)} points, so y must have shape ({len(X)},).")
    task = infer_task(y) if task is None else task
    if task not in ("regression", "classification"):
        raise InvalidInput(f"task must be 'regression' or 'classification'; got {task!r}.")
    seed = int(np.random.default_rng(rng).integers(2**31))
    pairs = folds(y, task, splits, groups, seed) if isinstance(splits, (int, np.integer)) else list(splits)
    estimators, notes = choose(manifold, X, task, methods, seed)
    rows = []
    for name, estimator in estimators.items():
        scores = [evaluate(clone(estimator), X[a], y[a], X[b], y[b], task=task) for a, b in pairs]
        rows += [summary(name, metric, [s[metric] for s in scores if metric in s]) for metric in _distinct_keys(scores)]
    return Comparison(tuple(rows), f"{task} on {manifold!r}: {len(X)} points, {len(pairs)} splits", tuple(notes))


def evaluate(
    estimator: Any, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray, *, task: Task
) -> dict[str, float]:
    """Fit on (X, y), predict at X_test, and score against y_test."""
    start = time.perf_counter()
    estimator.fit(X, y)
    if task == "classification":
        proba = estimator.predict_proba(X_test)
        seconds = time.perf_counter() - start
        return {**classification_scores(estimator.classes_, proba, y_test), "seconds": seconds}
    try:
        mean, std = estimator.predict(X_test, return_std=True)
    except (TypeError, Unsupported):  # no such argument, or no such thing
        mean, std = estimator.predict(X_test), None
    seconds = time.perf_counter() - start
    scores = {"rmse": float(np.sqrt(np.mean((mean - y_test) ** 2)))}
    if std is not None and np.all(std > 0):
        # Ours is of the function, with the noise's variance in noise_; scikit-learn's has the noise in it already.
        std = np.sqrt(std**2 + getattr(estimator, "noise_", 0.0))
        scores["nlpd"] = float(-np.mean(norm.logpdf(y_test, mean, std)))
    return {**scores, "seconds": seconds}


def classification_scores(classes: np.ndarray, proba: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Cross entropy in nats, area under the ROC curve (two classes, both in y) and error rate."""
    right = y[:, None] == classes
    given = np.sum(np.where(right, proba, 0.0), axis=1)  # a class never seen in training was given probability zero
    scores = {"cross_entropy": float(-np.mean(np.log(np.maximum(given, FLOOR))))}
    if len(classes) == 2 and len(np.unique(y)) == 2:
        scores["auc"] = float(roc_auc_score(y == classes[1], proba[:, 1]))
    return {**scores, "error": float(np.mean(classes[np.argmax(proba, axis=1)] != y))}


def choose(
    manifold: Manifold, X: np.ndarray, task: Task, methods: Sequence[str] | Mapping[str, Any] | None, seed: int
) -> tuple[dict[str, Any], list[str]]:
    """The estimators by name, and what was left out and why."""
    if isinstance(methods, Mapping):
        return dict(methods), []
    names, notes = list(DEFAULT if methods is None else methods), []
    unknown = set(names) - {"heatgp", *NAMES}
    if unknown:
        raise InvalidInput(f"There is no method {min(unknown)!r}; there are 'heatgp', {', '.join(map(repr, NAMES))}.")
    if methods is None:
        try:
            manifold.distance(X[:1], X[:1])
        except Unsupported as reason:
            names.remove("nearest")
            notes.append(f"nearest: left out. {reason}")
    return {
        name: own(manifold, task) if name == "heatgp" else baseline(name, manifold, task, random_state=seed)
        for name in names
    }, notes


def own(manifold: Manifold, task: Task) -> Any:
    from ..estimators import GPClassifier, GPRegressor

    return GPRegressor(manifold) if task == "regression" else GPClassifier(manifold)


def infer_task(y: np.ndarray) -> Task:
    kind = type_of_target(y)
    if kind == "continuous":
        return "regression"
    if kind not in ("binary", "multiclass"):
        raise InvalidInput(f"y is {kind}; it must be one number or one label a point.")
    values = len(np.unique(y))
    if y.dtype.kind in "iuf" and values > CLASSES:
        raise InvalidInput(
            f"y has {values} > {CLASSES} different whole numbers: say task='regression' or 'classification'."
        )
    return "classification"


def folds(y: np.ndarray, task: Task, number: int, groups: ArrayLike | None, seed: int) -> list[Any]:
    """Cross-validation: every point is tested once."""
    if groups is not None:
        groups = np.asarray(groups)
        most, what = len(np.unique(groups)), "groups"
    elif task == "classification":
        most, what = int(np.unique(y, return_counts=True)[1].min()), "points of the smallest class"
    else:
        most, what = len(y), "points"
    if not 2 <= number <= most:
        raise InvalidInput(f"splits must be from 2 to the number of {what}, {most}; got {number}.")
    if groups is not None:
        return list(GroupKFold(number).split(y, groups=groups))
    kind = StratifiedKFold if task == "classification" else KFold
    return list(kind(number, shuffle=True, random_state=seed).split(y, y))


def summary(method: str, metric: str, values: list[float]) -> Row:
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return Row(method, metric, float(np.mean(values)), sd, len(values))


def _distinct(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


def _distinct_keys(scores: list[dict[str, float]]) -> list[str]:
    return _distinct(key for score in scores for key in score)
