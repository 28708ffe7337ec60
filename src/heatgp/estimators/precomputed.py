"""Gram matrices in the place of points: kernel="precomputed", as in scikit-learn's support vector machines.

A model is fitted to k(X, X), N x N, and predicts from k(new, X), one row for each new point. Variances also need the
prior variances of the new points: `prior` is k(new, new), or its diagonal where no covariance is asked for. Where all
numbers on the diagonal of k(X, X) are equal, new points are taken to have the same, and `prior` may be left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..covariance import Array
from ..errors import InvalidInput
from ..gp.kernels import Precomputed


def gram_kernel(X: Any) -> Precomputed:
    """The kernel of a Gram matrix k(X, X); its points are the numbers 0 to N - 1."""
    gram = _finite(X, "X")
    if gram.ndim != 2 or gram.shape[0] != gram.shape[1]:
        raise InvalidInput(f"kernel='precomputed' is fitted to a square Gram matrix k(X, X); X has shape {gram.shape}.")
    diagonal = np.diagonal(gram)
    if gram.size and not diagonal.min() >= 0:
        raise InvalidInput(
            f"X[{diagonal.argmin()}, {diagonal.argmin()}] = {diagonal.min():.3g}, a variance, is negative: X is no "
            "Gram matrix k(X, X)."
        )
    return Precomputed(gram)


def with_rows(posteriors: Sequence[Any], X: Any, prior: Any = None) -> tuple[list[Any], Array]:
    """The posteriors with the new points of rows k(new, X) added to their kernel, and the numbers of these points."""
    gram, known = posteriors[0].kernel.gram, len(posteriors[0].X)
    rows = _finite(X, "X")
    if rows.ndim != 2 or rows.shape[1] != known:
        raise InvalidInput(
            f"kernel='precomputed' predicts from k(new, X), {known} columns, one for each training point; X has shape "
            f"{rows.shape}."
        )
    table, diagonal, own = np.concatenate((gram, rows)), None, np.diagonal(gram)
    if prior is None:
        if np.ptp(own) <= 1e-9 * own.max():
            diagonal = np.full(len(table), gram[0, 0])
    elif (variances := _prior(prior, len(rows))).ndim == 1:
        diagonal = np.concatenate((own, variances))
    else:
        table = np.block([[gram, rows.T], [rows, variances]])
    kernel = Precomputed(table, diagonal)
    return [replace(p, kernel=kernel) for p in posteriors], known + np.arange(len(rows))


def _prior(prior: Any, number: int) -> Array:
    """Checked values of k(new, new), or of its diagonal."""
    values = _finite(prior, "prior")
    if values.shape not in ((number,), (number, number)):
        raise InvalidInput(
            f"prior has shape {values.shape}; needed is k(new, new) of {number} new points, ({number}, {number}), or "
            f"its diagonal, ({number},)."
        )
    variances = np.diagonal(values) if values.ndim == 2 else values
    if number and not variances.min() >= 0:
        raise InvalidInput(f"prior holds the variance {variances.min():.3g} < 0 of new point {variances.argmin()}.")
    return values


def _finite(values: Any, name: str) -> Array:
    """Finite real numbers as floats."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise InvalidInput(f"{name} must be a real Gram matrix; its dtype is {array.dtype}.")
    for where in np.argwhere(~np.isfinite(array)).tolist():
        raise InvalidInput(f"{name}{where} = {array[tuple(where)]} is not finite. The kernel's values must be.")
    return array.astype(float)
