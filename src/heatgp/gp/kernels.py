"""Kernels from a Gram matrix.

Gram matrices take the place of points where kernel="precomputed", as in scikit-learn's support vector machines: a model
is fitted to k(X, X), N x N, and predicts from k(new, X), one row for each new point. Variances also need the prior
variances of the new points: `prior` is k(new, new), or its diagonal where no covariance is asked for. Where all numbers
on the diagonal of k(X, X) are equal, new points are taken to have the same, and `prior` may be left out.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import as_array
from ..covariance import Array, Kernel, Normalized, TimeFunction, constant
from ..errors import InvalidInput

__all__ = ["Normalized", "Precomputed", "constant", "gram_kernel", "with_rows"]


@dataclass(frozen=True)
class Precomputed(Kernel):
    """A kernel given by its values; its points are row numbers, and it has no time.

    Parameters
    ----------
    gram : array (P, Q), k(x_i, x_j) for all P points and the first Q of them. A square matrix holds everything. With
        P > Q the mean at the last P - Q points can be predicted from the first Q.
    diagonal : array (P,), k(x_i, x_i), default None. With it, variances can be predicted from (P, Q) too.

    Raises
    ------
    InvalidInput : if `gram` has not this shape, is not symmetric or holds nan.

    Examples
    --------
    >>> kernel = Precomputed(np.array([[1.0, 0.5], [0.5, 1.0]]))
    >>> kernel.pairs(np.array([0]), np.array([1])).at(()).value
    array([[0.5]])
    """

    gram: Array
    diagonal: Array | None = None

    def __post_init__(self) -> None:
        gram = np.asarray(self.gram)
        if gram.ndim != 2 or gram.shape[0] < gram.shape[1]:
            raise InvalidInput(
                f"gram has shape {gram.shape}; needed is (P, Q), P >= Q: one row for each point, one column for each "
                "training point, the training points first."
            )
        square = gram[: gram.shape[1]]
        asymmetry, limit = np.abs(square - square.T).max(initial=0.0), 1e-8 * np.abs(square).max(initial=0.0)
        if not asymmetry <= limit:
            raise InvalidInput(
                f"gram is not symmetric: |K - K'| = {asymmetry:.1e} > {limit:.1e}. Symmetrise with (K + K') / 2, and "
                "check for nan."
            )

    @property
    def parameters(self) -> int:
        return 0

    def pairs(self, X: ArrayLike, Y: ArrayLike | None = None) -> TimeFunction:
        return constant(self.gram[np.ix_(*self._numbers(X, Y))])

    def paired(self, X: ArrayLike, Y: ArrayLike | None = None) -> TimeFunction:
        if Y is None and self.diagonal is not None:
            return constant(np.asarray(self.diagonal)[np.asarray(X)])
        return constant(self.gram[self._numbers(X, Y)])

    def _numbers(self, X: ArrayLike, Y: ArrayLike | None) -> tuple[Array, Array]:
        """The rows and columns of the Gram matrix that are asked for, or InvalidInput."""
        rows, columns, known = np.asarray(X), np.asarray(X if Y is None else Y), self.gram.shape[1]
        if columns.max(initial=0) >= known:
            raise InvalidInput(
                f"the Gram matrix has {known} columns and says nothing of k(x, x_{columns.max()}). Give k(new, new) "
                "too (`prior` of an estimator), or, for variances alone, its diagonal."
            )
        return rows, columns


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


def with_rows(kernel: Precomputed, X: Any, prior: Any = None) -> Precomputed:
    """The kernel of a square Gram matrix with new points, from their rows k(new, X)."""
    gram, known = kernel.gram, len(kernel.gram)
    rows = _finite(X, "X")
    if rows.ndim != 2 or rows.shape[1] != known:
        raise InvalidInput(
            f"kernel='precomputed' predicts from k(new, X), {known} columns, one for each training point; X has shape "
            f"{rows.shape}."
        )
    covariance, diagonal, own = np.concatenate((gram, rows)), None, np.diagonal(gram)
    if prior is None:
        if np.ptp(own) <= 1e-9 * own.max():
            diagonal = np.full(len(covariance), gram[0, 0])
    elif (variances := _prior(prior, len(rows))).ndim == 1:
        diagonal = np.concatenate((own, variances))
    else:
        covariance = np.block([[gram, rows.T], [rows, variances]])
    return Precomputed(covariance, diagonal)


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
    array = as_array(values, name, "a real Gram matrix")
    if array.dtype.kind not in "fiub":
        raise InvalidInput(f"{name} must be a real Gram matrix; its dtype is {array.dtype}.")
    for where in np.argwhere(~np.isfinite(array)).tolist():
        raise InvalidInput(f"{name}{where} = {array[tuple(where)]} is not finite. The kernel's values must be.")
    return array.astype(float)
