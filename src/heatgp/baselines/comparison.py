"""Every method on the same splits, in one call."""

import math
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

from ..arguments import as_array, as_labels, generator, is_integer, refuse_missing
from ..errors import InvalidInput, Unsupported
from ..estimators import GPClassifier, GPRegressor
from ..gp.scores import classification_scores, negative_log_density, rmse
from ..html_table import html_table
from ..manifolds import Manifold
from ..manifolds.checks import check_points
from ..progress import heartbeat
from ..whole_file import write_text
from .estimators import NAMES, Task, baseline, check_task
from .rows import Row, aligned, csv_text, distinct
from .targets import check_targets, label_counts

PROCESSES = {"heatgp": math.inf, "heatgp matern": "learn"}
"""The Gaussian processes of this library, and the smoothness of their kernels."""
DEFAULT = (*PROCESSES, "rbf", "rbf raw", "rbf untuned", "svm", "linear", "nearest")
CLASSES = 20
"""More different whole numbers than this may be a regression's counts as well as classes: the user must say."""

Split = tuple[Any, Any]


@dataclass(frozen=True)
class Comparison:
    """A table of methods and metrics; printing it shows mean (standard deviation) over the splits."""

    rows: tuple[Row, ...]
    title: str
    notes: tuple[str, ...] = ()

    def row(self, method: str, metric: str) -> Row:
        """The row of a method and metric.

        Raises
        ------
        InvalidInput
            If the table has no such row.
        """
        for row in self.rows:
            if (row.method, row.metric) == (method, metric):
                return row
        raise InvalidInput(f"The table has no {metric!r} of {method!r}.")

    def __str__(self) -> str:
        return "\n".join([self.title, *aligned(self._lines), *self.notes])

    def _repr_html_(self) -> str:
        header, *lines = self._lines
        return html_table(self.title, lines, header, self.notes)

    @property
    def _lines(self) -> list[list[str]]:
        """The metrics, and for each method its name and its scores."""
        methods, metrics = distinct(r.method for r in self.rows), distinct(r.metric for r in self.rows)
        cells = {(r.method, r.metric): f"{r.mean:.3g} ({r.sd:.2g})" for r in self.rows}
        return [["", *metrics], *([m, *(cells.get((m, k), "") for k in metrics)] for m in methods)]

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """The rows as CSV text, written to `path` if one is given."""
        columns = ("method", "metric", "mean", "sd", "n")
        text = csv_text(columns, ([vars(row)[name] for name in columns] for row in self.rows))
        if path is not None:
            write_text(path, text)
        return text


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
    manifold : Manifold
    X : array_like (N, *manifold.shape)
        Points.
    y : array_like (N,)
        Their targets.
    task : {"regression", "classification"}, optional
        By default regression for fractional y, else classification.
    methods : sequence of str or mapping of str to estimators, optional
        Names ("heatgp", "heatgp matern" or one of `baselines.NAMES`), or estimators by name, each of which takes
        points. By default heatgp with the heat kernel and with the smoothness learned, tuned baselines on the
        embedding, the RBF on raw coordinates, tuned or not, and nearest neighbours.
    splits : int or iterable of (train, test), default 5
        Number of folds of a cross-validation (stratified by class; whole groups where `groups` are given), or pairs
        of training and test indices.
    groups : array_like (N,), optional
        Labels of what must not be on both sides of a split, such as subjects.
    rng : int or Generator, default 0
        Folds and searches depend on nothing else.

    Returns
    -------
    Comparison
        Metrics are rmse and nlpd (mean negative log predictive density, where the method has a standard deviation),
        or cross_entropy, auc (two classes) and error; seconds are for fit and prediction together.

    Raises
    ------
    InvalidInput
        If there are fewer than two points, y does not fit X or the task, the task cannot be told from y, a method is
        unknown or there are too many splits.

    Examples
    --------
    >>> from heatgp import Sphere
    >>> X = Sphere(2).random(np.random.default_rng(0), 40)
    >>> table = compare(Sphere(2), X, X[:, 2], methods=["linear", "nearest"])
    >>> table.row("linear", "rmse").mean < table.row("nearest", "rmse").mean
    True
    """
    if not isinstance(manifold, Manifold):
        raise InvalidInput(f"compare needs a manifold, such as Sphere(2); got {manifold!r}.")
    X = np.asarray(check_points(manifold, X))
    if X.ndim != 1 + len(manifold.shape):
        raise InvalidInput(f"X has shape {X.shape}; needed are points (N, {', '.join(map(str, manifold.shape))}).")
    if len(X) < 2:
        raise InvalidInput(f"X has {len(X)} points; compare needs two or more, to train and to test.")
    y = check_targets(y, len(X))
    task = infer_task(y) if task is None else task
    check_task(task)
    if task == "regression":
        y = as_array(y, "y", "numbers for task='regression'")
    else:
        label_counts(y, "y")
    seed = int(generator(rng).integers(2**31))
    pairs = folds(y, task, splits, groups, seed) if is_integer(splits) else check_splits(splits, len(y))
    estimators, notes = choose(manifold, X, task, methods, seed)
    scores: dict[str, list[dict[str, float]]] = {name: [] for name in estimators}

    def stage() -> str:
        done = [len(each) for each in scores.values()]
        running = next((name for name, each in scores.items() if len(each) < len(pairs)), "")
        return f"compare: {sum(done)} of {len(pairs) * len(done)} fits are done, {running!r} is running"

    with heartbeat(stage):
        for name, estimator in estimators.items():
            for a, b in pairs:
                scores[name].append(evaluate(clone(estimator), X[a], y[a], X[b], y[b], task=task))
    rows = []
    for name, found in scores.items():
        metrics = distinct(metric for score in found for metric in score)
        rows += [Row.of(name, metric, [score[metric] for score in found if metric in score]) for metric in metrics]
    return Comparison(tuple(rows), f"{task} on {manifold!r}: {len(X)} points, {len(pairs)} splits", tuple(notes))


def check_splits(splits: Any, number: int) -> list[Split]:
    """Pairs of training and test indices, neither of them empty."""
    message = f"splits must be an integer or pairs (train, test) of indices of {number} points; got {splits!r}."
    if isinstance(splits, (str, bytes, bool)) or not isinstance(splits, Iterable):
        raise InvalidInput(message)
    try:
        pairs = list(splits)
    except TypeError:  # an array without axes
        raise InvalidInput(message) from None
    for pair in pairs:
        parts = (
            [as_labels(part, "splits", "pairs of indices") for part in pair]
            if isinstance(pair, (tuple, list, np.ndarray))
            else []
        )
        for part in parts:
            inside = part.dtype.kind in "iu" and part.size and part.min() >= -number and part.max() < number
            mask = part.dtype.kind == "b" and part.shape == (number,) and part.any()
            if part.ndim != 1 or not (inside or mask):
                raise InvalidInput(message)
        if len(parts) != 2:
            raise InvalidInput(message)
    if not pairs:
        raise InvalidInput(message)
    return pairs


def evaluate(
    estimator: Any, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray, *, task: Task
) -> dict[str, float]:
    """Fit on (X, y), predict at X_test, and score against y_test.

    Parameters
    ----------
    estimator
        A scikit-learn estimator; its standard deviations, if it has `predict(..., return_std=True)`, are scored too.
    X, y, X_test, y_test : ndarray
        Training and test points with their targets.
    task : {"regression", "classification"}

    Returns
    -------
    dict
        The metrics that `compare` lists, and `seconds`.
    """
    prediction, std, seconds = timed_prediction(estimator, X, y, X_test, task)
    if task == "classification":
        return {**classification_scores(estimator.classes_, prediction, y_test), "seconds": seconds}
    scores = {"rmse": rmse(y_test, prediction)}
    if std is not None and np.all(std > 0):
        # Ours is of the function, with the noise's variance in noise_; scikit-learn's has the noise in it already.
        scores["nlpd"] = negative_log_density(y_test, prediction, std**2 + getattr(estimator, "noise_", 0.0))
    return {**scores, "seconds": seconds}


def timed_prediction(
    estimator: Any, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, task: Task
) -> tuple[np.ndarray, np.ndarray | None, float]:
    """Fit and predict: probabilities or means, standard deviations where there are any, and the seconds of both."""
    start, std = time.perf_counter(), None
    estimator.fit(X, y)
    if task == "classification":
        prediction = estimator.predict_proba(X_test)
    else:
        try:
            prediction, std = estimator.predict(X_test, return_std=True)
        except (TypeError, Unsupported):  # no such argument, or no standard deviation
            prediction = estimator.predict(X_test)
    return prediction, std, time.perf_counter() - start


def choose(
    manifold: Manifold, X: np.ndarray, task: Task, methods: Sequence[str] | Mapping[str, Any] | None, seed: int
) -> tuple[dict[str, Any], list[str]]:
    """The estimators by name, and what was left out and why."""
    try:
        listed = isinstance(methods, Iterable) and not isinstance(methods, str) and list(methods)
    except TypeError:  # an array without axes
        listed = False
    if methods is not None and not listed:
        raise InvalidInput(f"methods must be a list of one or more names, or estimators by name; got {methods!r}.")
    if isinstance(methods, Mapping):
        for name, estimator in methods.items():
            check_estimator(name, estimator, task)
        return dict(methods), []
    names, notes = list(listed or DEFAULT), []
    unknown = [name for name in names if not isinstance(name, str) or name not in (*PROCESSES, *NAMES)]
    if unknown:
        known = ", ".join(map(repr, ("heatgp", *NAMES, "heatgp matern")))
        raise InvalidInput(f"There is no method {unknown[0]!r}; there are {known}.")
    if methods is None:
        try:
            manifold.distance(X[:1], X[:1])
        except Unsupported as reason:
            names.remove("nearest")
            notes.append(f"nearest: left out. {reason}")
    return {
        name: process(manifold, task, smoothness=PROCESSES[name])
        if name in PROCESSES
        else baseline(name, manifold, task, random_state=seed)
        for name in names
    }, notes


def check_estimator(name: Any, estimator: Any, task: Task) -> None:
    """Raise InvalidInput unless it is a scikit-learn estimator for the task, with a name."""
    if not isinstance(name, str):
        raise InvalidInput(f"methods must have names that are text; got {name!r}.")
    needed = ("get_params", "fit", "predict_proba" if task == "classification" else "predict")
    if isinstance(estimator, type) or not all(hasattr(estimator, each) for each in needed):
        raise InvalidInput(
            f"methods[{name!r}] = {estimator!r} is no estimator with {', '.join(needed)}, which {task} needs. Give "
            "an object, such as GPRegressor(Sphere(2)) or GPClassifier(Sphere(2))."
        )


def process(manifold: Manifold, task: Task, **options: Any) -> GPRegressor | GPClassifier:
    """The Gaussian process of this library for a task."""
    return GPRegressor(manifold, **options) if task == "regression" else GPClassifier(manifold, **options)


def infer_task(y: np.ndarray) -> Task:
    """Regression for fractional numbers, classification for labels and few different whole numbers."""
    if y.ndim != 1 or y.dtype.kind not in "biufUSO":
        raise InvalidInput(f"y has shape {y.shape} and dtype {y.dtype}; it must be one number or label per point.")
    if y.dtype.kind == "f" and (y != np.round(y)).any():
        return "regression"
    values = len(label_counts(y, "y"))
    if y.dtype.kind in "iuf" and values > CLASSES:
        raise InvalidInput(
            f"y has {values} > {CLASSES} different whole numbers: say task='regression' or 'classification'."
        )
    return "classification"


def folds(y: np.ndarray, task: Task, number: Any, groups: ArrayLike | None, seed: int) -> list[Any]:
    """Cross-validation: every point is tested once."""
    if groups is not None:
        groups = as_labels(groups, "groups")
        if groups.shape != y.shape:
            raise InvalidInput(f"groups has shape {groups.shape}; one label for each of {len(y)} points is needed.")
        refuse_missing(groups, "groups")
        most, what = len(label_counts(groups, "groups")), "groups"
    elif task == "classification":
        most, what = int(label_counts(y, "y").min()), "points of the smallest class"
    else:
        most, what = len(y), "points"
    if not 2 <= number <= most:
        numbers = task == "classification" and groups is None and y.dtype.kind in "iuf"
        remedy = " If y holds numbers such as counts, not classes, say task='regression'." if numbers else ""
        raise InvalidInput(f"splits must be from 2 to the number of {what}, {most}; got {number}.{remedy}")
    if groups is not None:
        return list(GroupKFold(number).split(y, groups=groups))
    kind = StratifiedKFold if task == "classification" else KFold
    return list(kind(number, shuffle=True, random_state=seed).split(y, y))
