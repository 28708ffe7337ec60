"""Targets of comparisons and baselines: one finite number or one label for each point."""

from numbers import Number
from typing import Any

import numpy as np

from ..arguments import as_array, as_labels, refuse_missing
from ..errors import InvalidInput


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
    return as_array(check_targets(y, number), "y", "numbers for a regression").astype(float)


def class_targets(y: Any, number: int) -> np.ndarray:
    """The labels of a classification, (N,), of two classes or more."""
    labels = check_targets(y, number)
    if len(label_counts(labels, "y")) < 2:
        raise InvalidInput(f"y has one class only, {labels[:1].tolist()}; a classifier needs two or more.")
    return labels
