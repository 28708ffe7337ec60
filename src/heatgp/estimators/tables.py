"""Tables as scikit-learn passes them: names and number of columns, kinds of arrays, targets in a column."""

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_array, validate_data

from ..arguments import as_array, refuse_masked, shown
from ..array import is_jax
from ..errors import InvalidInput, WrongType, warn
from ..manifolds import Euclidean, Manifold
from ..manifolds.composed.product import flat_size


def checked_table(estimator: Any, X: Any, *, fitting: bool) -> Any:
    """X as an array; in `fit` the estimator learns the names of its columns, afterwards they must be the same.

    Points themselves are checked by their manifold.
    """
    refuse_masked(X, "X")
    if issparse(X):
        raise InvalidInput("X is sparse, and sparse data are not supported: points are dense. Give X.toarray().")
    if type(X).__module__.startswith("polars.lazyframe"):
        raise InvalidInput("X is a LazyFrame of polars, whose numbers are not there yet. Give X.collect().")
    try:
        validate_data(estimator, X, reset=fitting, skip_check_array=True, ensure_2d=False)  # names alone
    except (TypeError, ValueError) as error:
        known, given = (
            list(map(str, names)) for names in (getattr(estimator, "feature_names_in_", []), column_names(X))
        )
        columns = (
            f"\nThe model was fitted to the columns {shown(known)}; X has {shown(given)}." if known and given else ""
        )
        raise InvalidInput(f"{error}{columns}") from None
    try:
        if isinstance(X, np.ndarray) and X.dtype == object:
            X = check_array(X, ensure_all_finite=False, ensure_2d=False, allow_nd=True, ensure_min_samples=0)
    except OverflowError as error:
        raise InvalidInput(f"X holds a number that is too large: {error}.") from None
    except TypeError as error:
        raise WrongType(f"X holds something that is no number: {error}") from None
    except ValueError as error:
        raise InvalidInput(f"X is not a table of numbers as expected: {error}") from None
    return as_array(X, "X", "a table of numbers")


def column_names(X: Any) -> tuple[str, ...]:
    """The names of the columns of a table that has them."""
    return tuple(map(str, getattr(X, "columns", ())))


def chosen_manifold(manifold: Any, X: np.ndarray) -> Manifold:
    """The manifold of the points X; "euclidean" has as many dimensions as X has columns."""
    if isinstance(manifold, str) and manifold == "euclidean":
        _check_rows(X)
        if X.dtype.kind == "c":
            raise InvalidInput("Complex data not supported: give real and imaginary parts as columns of their own.")
        if not X.shape[1]:
            raise InvalidInput(f"X has 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
        return Euclidean(X.shape[1])
    if not isinstance(manifold, Manifold):
        raise InvalidInput(
            f"manifold = {manifold!r} must be a manifold, such as Sphere(2), or 'euclidean' where points are vectors."
        )
    return manifold


def check_columns(estimator: Any, manifold: Manifold, X: np.ndarray) -> None:
    """Raise InvalidInput where points are vectors and rows of X have another length."""
    if len(manifold.shape) != 1:
        return
    _check_rows(X, manifold.converter(X.shape))
    if X.shape[1] not in (*manifold.shape, flat_size(manifold)):
        raise InvalidInput(
            f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} "
            f"features as input: points of {manifold!r}.{manifold.converter(X.shape)}"
        )


def _check_rows(X: np.ndarray, converter: str = "") -> None:
    """Raise InvalidInput unless X is a table; `converter` says what may be done with the array instead."""
    if X.ndim != 2:
        reshape = " Reshape your data: X.reshape(-1, 1) if it has one column, X.reshape(1, -1) if it is one point."
        raise InvalidInput(f"Expected 2D array, a row for each point; X has shape {X.shape}.{converter or reshape}")


def checked_targets(estimator: Any, y: Any) -> np.ndarray:
    """y as an array, one of Dask or JAX as it is; one column (N, 1) counts as (N,), with scikit-learn's warning."""
    if y is None:
        name = type(estimator).__name__
        raise InvalidInput(f"{name} requires y to be passed, but the target y is None. Call fit(X, y).")
    refuse_masked(y, "y")
    try:
        array = y if isinstance(y, np.ndarray) or is_dask(y) or is_jax(y) else np.asarray(y)
    except ValueError as error:
        raise InvalidInput(f"y is no array: {error}. Give one target for each point.") from None
    if array.ndim == 2 and array.shape[1] == 1:
        warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples,), "
            "for example using ravel().",
            DataConversionWarning,
        )
        return array[:, 0]
    return array


def is_dask(x: Any) -> bool:
    """Whether x is an array or a table of Dask, without an import of it."""
    return type(x).__module__.startswith(("dask.array", "dask.dataframe", "dask_expr"))


def rows(table: Any, kept: Any) -> Any:
    """Some rows of an array or a table, in memory; None of None."""
    if table is None:
        return None
    if is_jax(table):
        return np.asarray(table[kept] if isinstance(kept, slice) else table.take(kept, axis=0))  # one program, not ten
    return table.iloc[kept] if hasattr(table, "iloc") else np.asarray(table)[kept]
