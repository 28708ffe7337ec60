"""How good predictions are, and whether their stated uncertainty is true.

Every score of the library is here: those of `compare`, of the experiments and of the reliability diagrams.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from sklearn.metrics import roc_auc_score

from ..errors import InvalidInput

Array = np.ndarray


TINY = float(np.finfo(float).tiny)


def rmse(y: ArrayLike, mean: ArrayLike) -> float:
    """Root mean square error.

    Parameters
    ----------
    y, mean : array_like (N,)
        Observations and predictions.

    Returns
    -------
    float

    Raises
    ------
    InvalidInput
        If the arrays are empty or differ in shape.

    Examples
    --------
    >>> rmse([0.0, 0.0], [3.0, -3.0])
    3.0
    """
    y, mean = _alike(y, mean)
    return float(np.sqrt(np.mean(np.square(y - mean))))


def negative_log_density(y: ArrayLike, mean: ArrayLike, variance: ArrayLike) -> float:
    """Mean negative log density of the observations under normal predictions.

    Parameters
    ----------
    y, mean, variance : array_like (N,)
        Observations, and mean and variance of their prediction. The variance includes that of the noise.

    Returns
    -------
    float
        Mean of -log N(y; mean, variance), in nats.

    Examples
    --------
    >>> round(negative_log_density([0.0], [0.0], [1.0]), 4)
    0.9189
    """
    y, mean, variance = _alike(y, mean, variance)
    return float(np.mean(0.5 * (np.log(2 * np.pi * variance) + np.square(y - mean) / variance)))


def coverage(y: ArrayLike, mean: ArrayLike, variance: ArrayLike, level: float = 0.9) -> float:
    """Share of the observations inside the central prediction interval.

    Parameters
    ----------
    y, mean, variance : array_like (N,)
        Observations, and mean and variance of their prediction.
    level : float, default 0.9
        Probability of the interval. A calibrated model has a coverage close to it.

    Returns
    -------
    float

    Examples
    --------
    >>> coverage([0.0, 5.0], [0.0, 0.0], [1.0, 1.0])
    0.5
    """
    if not 0 < level < 1:
        raise InvalidInput(f"level = {level} must be between 0 and 1.")
    y, mean, variance = _alike(y, mean, variance)
    return float(np.mean(np.abs(y - mean) <= ndtri(0.5 + level / 2) * np.sqrt(variance)))


def cross_entropy(labels: ArrayLike, probabilities: ArrayLike, floor: float = TINY) -> float:
    """Mean of -log of the probability that was given to the true class.

    Parameters
    ----------
    labels : array_like (N,)
        Classes as column numbers 0, 1, ...
    probabilities : array_like (N,) or (N, classes)
        P(class 1) for two classes, or one column for each class.
    floor : float, default the smallest positive float
        Smaller probabilities count as this one, so that one certain mistake does not make the score infinite.

    Returns
    -------
    float
        In nats.

    Examples
    --------
    >>> round(cross_entropy([1, 0], [0.5, 0.5]), 4)
    0.6931
    """
    rows, truth = _checked(labels, probabilities)
    return float(np.mean(-np.log(np.maximum(rows[np.arange(len(truth)), truth], floor))))


def auc(labels: ArrayLike, probabilities: ArrayLike) -> float:
    """Area under the receiver operating characteristic curve.

    Parameters
    ----------
    labels, probabilities
        As in `cross_entropy`.

    Returns
    -------
    float
        For more than two classes the average over the classes, each against the rest.

    Examples
    --------
    >>> auc([0, 1, 1], [0.2, 0.3, 0.9])
    1.0
    """
    rows, truth = _checked(labels, probabilities)
    if rows.shape[1] == 2:
        return float(roc_auc_score(truth, rows[:, 1]))
    return float(np.mean([roc_auc_score(truth == k, rows[:, k]) for k in np.unique(truth)]))


def classification_scores(classes: ArrayLike, probabilities: ArrayLike, y: ArrayLike) -> dict[str, float]:
    """Cross entropy, area under the ROC curve and error rate of a classifier.

    Parameters
    ----------
    classes : array_like (K,)
        The classes in the order of the columns, as in scikit-learn's `classes_`.
    probabilities : array_like (N, K)
        As from `predict_proba`.
    y : array_like (N,)
        True classes. One that is not in `classes` was given probability zero.

    Returns
    -------
    dict
        `cross_entropy` with the floor 1e-15, `auc` where there are two classes and `y` has both, and `error`.

    Examples
    --------
    >>> classification_scores(["a", "b"], [[0.5, 0.5], [0.1, 0.9]], ["a", "b"])["error"]
    0.0
    """
    names, y, rows = np.asarray(classes), np.asarray(y), np.clip(probabilities, 0.0, 1.0)  # 1 + 2e-16 is rounding
    equal = y[:, None] == names
    column = np.where(equal.any(axis=1), equal.argmax(axis=1), len(names))  # the last column: classes never seen
    scores = {"cross_entropy": cross_entropy(column, np.pad(rows, ((0, 0), (0, 1))), floor=1e-15)}
    if len(names) == 2 and np.array_equal(np.unique(column), (0, 1)):
        scores["auc"] = auc(column, rows)
    return {**scores, "error": float(np.mean(rows.argmax(axis=1) != column))}


@dataclass(frozen=True)
class Reliability:
    """Predicted probability, observed frequency and number of predictions of every bin that has predictions."""

    predicted: Array
    observed: Array
    count: Array

    @property
    def error(self) -> float:
        """Expected calibration error: the mean of |observed - predicted| over all predictions."""
        return float(np.sum(self.count * np.abs(self.observed - self.predicted)) / self.count.sum())


def reliability(labels: ArrayLike, probabilities: ArrayLike, bins: int = 10) -> Reliability:
    """Compare predicted probabilities with observed frequencies, in equal bins of [0, 1].

    Parameters
    ----------
    labels : array_like (N,)
        1 where the event happened, else 0.
    probabilities : array_like (N,)
        Predicted probabilities of the event.
    bins : int, default 10

    Returns
    -------
    Reliability
        Bins without predictions are left out.

    Examples
    --------
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


def _checked(labels: ArrayLike, probabilities: ArrayLike) -> tuple[Array, Array]:
    """Probabilities (N, classes) and labels as column numbers."""
    rows, truth = np.asarray(probabilities, dtype=float), np.asarray(labels)
    if rows.ndim == 1:
        rows = np.stack([1.0 - rows, rows], axis=1)
    if rows.ndim != 2 or truth.shape != rows.shape[:1] or truth.size == 0:
        raise InvalidInput(
            f"labels have shape {truth.shape}, probabilities {np.shape(probabilities)}: one row per label."
        )
    if not (np.isin(truth, np.arange(rows.shape[1])).all() and np.all((rows >= 0) & (rows <= 1))):
        raise InvalidInput(
            f"labels must be column numbers 0 to {rows.shape[1] - 1}, and probabilities within 0 and 1; labels "
            f"here are {np.unique(truth)[:5]}. Encode classes with numpy.unique(..., return_inverse=True)."
        )
    return rows, truth.astype(int)
