"""Matrices to the subspaces that their columns span, and subspaces to projectors."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import is_integer
from ..array import adjoint
from ..errors import InvalidInput
from ..manifolds import Grassmann
from .checks import RANK, check, numbers, reject


def matrix_to_subspace(A: ArrayLike, k: int | None = None) -> np.ndarray:
    """The subspace that the columns of a matrix span.

    Parameters
    ----------
    A : array_like (..., n, columns)
        Rows are features, columns are directions or samples. Centre samples first if their mean is not of interest.
    k : int, optional
        Dimension of the subspace: it is spanned by the k leading left singular vectors, and fits the columns best in
        least squares. By default the number of columns.

    Returns
    -------
    ndarray (..., n, k)
        A point of Grassmann(n, k), complex where A is.

    Raises
    ------
    InvalidInput
        If k is out of range, the rank is below k, or two singular values tie so that the subspace is not unique.

    Examples
    --------
    >>> matrix_to_subspace([[2.0, 1], [0, 3], [0, 0]]).shape
    (3, 2)
    """
    A = numbers(A, "A")
    if A.ndim < 2:
        raise InvalidInput(f"A has shape {A.shape}; it must have shape (..., n, columns).")
    n, columns = A.shape[-2:]
    k = columns if k is None else k
    if not is_integer(k) or not 1 <= k <= min(columns, n - 1):
        raise InvalidInput(
            f"A has {n} rows and {columns} columns; the subspace must have dimension 1 <= k <= {min(columns, n - 1)}, "
            f"got k = {k!r}. If samples are the rows, pass the transpose."
        )
    u, s, _ = np.linalg.svd(A, full_matrices=False)
    least, largest = s[..., k - 1], s[..., 0]
    low = f"has rank below {k}: singular value {k} is {{value:.1e}}, under {RANK:.0e} of the largest. Lower k."
    reject(least <= RANK * largest, least, "A", low)
    if k < s.shape[-1]:
        gap = (least - s[..., k]) / largest
        tie = (
            f"has singular values {k} and {k + 1} closer than {RANK:.0e} of the largest: no unique subspace. Change k."
        )
        reject(gap <= RANK, gap, "A", tie)
    return u[..., :k]


def subspace_to_projector(x: ArrayLike) -> np.ndarray:
    """The orthogonal projector onto a subspace, the same for every basis of it.

    Parameters
    ----------
    x : array_like (..., n, k)
        Points of Grassmann(n, k), real or complex.

    Returns
    -------
    ndarray (..., n, n)
        x x*; `matrix_to_subspace(_, k)` is the inverse.

    Raises
    ------
    OffManifold
        If the columns are not orthonormal.

    Examples
    --------
    >>> subspace_to_projector([[1.0], [0.0]]).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    x = numbers(x, "x")
    if x.ndim < 2:
        raise InvalidInput(f"x has shape {x.shape}; it must have shape (..., n, k).")
    field: Literal["real", "complex"] = "complex" if x.dtype.kind == "c" else "real"
    x = check(Grassmann(x.shape[-2], x.shape[-1], field), x, "x")
    return x @ adjoint(x)
