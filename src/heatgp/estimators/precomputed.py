"""Gram matrices in the place of points: kernel="precomputed", as in scikit-learn's support vector machines.

A model is fitted to k(X, X), N x N, and predicts from k(new, X), one row a new point. Variances also need the prior's
own at the new points: `prior` is k(new, new), its diagonal alone where no covariance is asked for. A kernel with one
value on the diagonal of k(X, X) is taken to have it everywhere, so that `prior` may be left out there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import InvalidInput
from ..gp.kernel import Precomputed


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


def with_rows(posterior: Any, X: Any, prior: Any = None) -> tuple[Any, np.ndarray]:
    """The posterior on a kernel that also knows the new points of rows k(new, X), and their numbers."""
    known = len(posterior.latent.X)
    gram = posterior.latent.kernel.gram
    rows = _finite(X, "X")
    if rows.ndim != 2 or rows.shape[1] != known:
        raise InvalidInput(
            f"kernel='precomputed' predicts from k(new, X), {known} columns, one a training point; X has shape "
            f"{rows.shape}."
        )
    table = np.concatenate((gram, rows))
    diagonal = None
    if prior is None:
        diagonal = np.full(len(table), gram[0, 0]) if _is_constant(np.diagonal(gram)) else None
    else:
        variances = _prior(prior, len(rows))
        if variances.ndim == 2:
            table = np.concatenate((table, np.concatenate((rows.T, variances))), axis=1)
        else:
            diagonal = np.concatenate((np.diagonal(gram), variances))
    latent = replace(posterior.latent, kernel=Precomputed(table, diagonal))
    return replace(posterior, latent=latent), known + np.arange(len(rows))


def _prior(prior: Any, number: int) -> np.ndarray:
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


def _finite(values: Any, name: str) -> np.ndarray:
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise InvalidInput(f"{name} must be a real Gram matrix; its dtype is {array.dtype}.")
    if not np.isfinite(array).all():
        where = np.argwhere(~np.isfinite(array))[0].tolist()
        raise InvalidInput(f"{name}{where} = {array[tuple(where)]} is not finite. The kernel's values must be.")
    return array.astype(float)


def _is_constant(values: np.ndarray) -> bool:
    return bool(np.ptp(values) <= 1e-9 * values.max())
