"""How good predictions are, and whether their stated uncertainty is true."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from sklearn.metrics import roc_auc_score

from ..errors import InvalidInput

Array = np.ndarray


def rmse(y: ArrayLike, mean: ArrayLike) -> float:
    """Root mean square error.

    >>> rmse([0.0, 0.0], [3.0, -3.0])
    3.0
    """
    y, mean = _alike(y, mean)
    return float(np.sqrt(np.mean(np.square(y - mean))))


def negative_log_density(y: ArrayLike, mean: ArrayLike, variance: ArrayLike) -> float:
    """Mean of -log N(y; mean, variance), the variance including the noise."""
    y, mean, variance = _alike(y, mean, variance)
    return float(np.mean(0.5 * (np.log(2 * np.pi * variance) + np.square(y - mean) / variance)))


def coverage(y: ArrayLike, mean: ArrayLike, variance: ArrayLike, level: float = 0.9) -> float:
    """The share of y inside the central interval of this level, which should be the level."""
    if not 0 < level < 1:
        raise InvalidInput(f"level = {level} must be between 0 and 1.")
    y, mean, variance = _alike(y, mean, variance)
    return float(np.mean(np.abs(y - mean) <= ndtri(0.5 + level / 2) * np.sqrt(variance)))


def cross_entropy(labels: ArrayLike, probabilities: ArrayLike) -> float:
    """Mean of -log of the probability given to the true class, never below the smallest positive float.

    `probabilities` is P(class 1) for labels 0 and 1, or (N, classes) for labels 0, 1, ...: column numbers.

    >>> round(cross_entropy([1, 0], [0.5, 0.5]), 4)
    0.6931
    """
    table, truth = _table(labels, probabilities)
    return float(np.mean(-np.log(np.maximum(table[np.arange(len(truth)), truth], np.finfo(float).tiny))))


def brier(labels: ArrayLike, probabilities: ArrayLike) -> float:
    """Mean square difference between the probabilities and the truth; for two classes that of one column."""
    table, truth = _table(labels, probabilities)
    squares = np.square(table - np.eye(table.shape[1])[truth]).sum(axis=1)
    return float(np.mean(squares) / (2 if table.shape[1] == 2 else 1))


def auc(labels: ArrayLike, probabilities: ArrayLike) -> float:
    """Area under the receiver operating characteristic; more than two classes one against the rest, averaged."""
    table, truth = _table(labels, probabilities)
    if table.shape[1] == 2:
        return float(roc_auc_score(truth, table[:, 1]))
    return float(np.mean([roc_auc_score(truth == k, table[:, k]) for k in np.unique(truth)]))


@dataclass(frozen=True)
class Reliability:
    """Predicted probability and observed frequency, bin by bin; bins without predictions are left out."""

    predicted: Array
    observed: Array
    count: Array

    @property
    def error(self) -> float:
        """Expected calibration error: the mean of |observed - predicted| over all predictions."""
        return float(np.sum(self.count * np.abs(self.observed - self.predicted)) / self.count.sum())


def reliability(labels: ArrayLike, probabilities: ArrayLike, bins: int = 10) -> Reliability:
    """How often class 1 happened where it was given about this probability, in `bins` equal bins of [0, 1].

    >>> reliability([0, 1, 1, 1], [0.1, 0.1, 0.9, 0.9], bins=2).observed
    array([0.5, 1. ])
    """
    happened, predicted = _alike(labels, probabilities)
    index = np.minimum((predicted * bins).astype(int), bins - 1)
    count = np.bincount(index, minlength=bins)
    some = count > 0
    return Reliability(
        predicted=np.bincount(index, predicted, bins)[some] / count[some],
        observed=np.bincount(index, happened, bins)[some] / count[some],
        count=count[some],
    )


def _alike(*arrays: ArrayLike) -> tuple[Array, ...]:
    """Float arrays of one shape (N,)."""
    converted = tuple(np.asarray(array, dtype=float) for array in arrays)
    shapes = [array.shape for array in converted]
    if len(set(shapes)) > 1 or len(shapes[0]) != 1 or shapes[0][0] == 0:
        raise InvalidInput(f"shapes {shapes}: all must be (N,) with one N >= 1.")
    return converted


def _table(labels: ArrayLike, probabilities: ArrayLike) -> tuple[Array, Array]:
    """Probabilities (N, classes) and labels as column numbers."""
    table, truth = np.asarray(probabilities, dtype=float), np.asarray(labels)
    if table.ndim == 1:
        table = np.stack([1.0 - table, table], axis=1)
    if table.ndim != 2 or truth.shape != table.shape[:1] or truth.size == 0:
        raise InvalidInput(
            f"labels have shape {truth.shape}, probabilities {np.shape(probabilities)}: one row a label."
        )
    if not (np.isin(truth, np.arange(table.shape[1])).all() and np.all((table >= 0) & (table <= 1))):
        raise InvalidInput(
            f"labels must be column numbers 0 to {table.shape[1] - 1}, and probabilities within 0 and 1; labels "
            f"here are {np.unique(truth)[:5]}. Encode classes with numpy.unique(..., return_inverse=True)."
        )
    return table, truth.astype(int)
