"""Points and targets of comparisons and baselines: one finite number or one label for each point."""

from numbers import Number
from typing import Any

import numpy as np

from ..arguments import as_array, as_labels, refuse_missing
from ..errors import InvalidInput
from ..manifolds import Manifold
from ..manifolds.checks import check_points
from ..manifolds.rows import shaped

LARGEST = 1e140
"""Targets up to this have squares, and sums of squares, that floating point numbers can hold."""


def points_of(manifold: Manifold, X: Any) -> np.ndarray:
    """Points (N, *manifold.shape), checked and as they are: raw coordinates keep their digits."""
    return np.asarray(check_points(manifold, shaped(manifold, X, "X")))


def check_targets(y: Any, number: int) -> np.ndarray:
    """The targets as an array (N,), one finite number or one label for each point."""
    values = as_labels(y, "y", "numbers or labels")
    values = as_array(values, "y") if values.dtype.kind in "iufc" else values
    if values.shape != (number,):
        raise InvalidInput(f"y has shape {values.shape}; X has {number} points, so y must have shape ({number},).")
    if values.dtype.kind == "O" and values.size:  # numbers or text alike, as arrays of their own kind
        alike = next((kind for kind in (str, Number) if all(isinstance(v, kind) for v in values)), None)
        values = np.array(values.tolist()) if alike else values
    refuse_missing(values, "y")
    if values.dtype.kind not in "biufUSO":
        raise InvalidInput(f"y has dtype {values.dtype}; it must be one number or label per point.")
    return values


def label_counts(labels: np.ndarray, name: str) -> np.ndarray:
    """How often each of the different labels occurs."""
    try:
        return np.unique(labels, return_counts=True)[1]
    except TypeError as error:
        raise InvalidInput(f"the labels in {name} cannot be sorted ({error}). Give all of one type.") from None


def real_targets(y: Any, number: int) -> np.ndarray:
    """The targets of a regression, (N,)."""
    values = as_array(check_targets(y, number), "y", "numbers for a regression").astype(float)
    if (np.abs(values) > LARGEST).any():
        raise InvalidInput(f"y has the size {np.abs(values).max():.1e}, whose square is beyond floating point numbers.")
    return values


def class_targets(y: Any, number: int) -> np.ndarray:
    """The labels of a classification, (N,), of two classes or more."""
    labels = check_targets(y, number)
    if len(label_counts(labels, "y")) < 2:
        raise InvalidInput(f"y has one class only, {labels[:1].tolist()}; a classifier needs two or more.")
    return labels
