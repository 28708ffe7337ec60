"""Data as users give them: columns and rows, kinds of arrays, and the basis of their mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_array, validate_data

from ..arguments import as_array, as_labels, is_number, refuse_masked, shown
from ..array import is_jax, namespace
from ..covariance import Array
from ..errors import InvalidInput, OfRow, Unsupported, WrongType, warn
from ..gp.prior import Mean, Trend, basis_values, constant_basis, independent_columns
from ..manifolds import Euclidean, Manifold, Product
from ..manifolds.composed.product import flat_size
from ..manifolds.rows import as_points, projected_points

CHECKED = 100
"""Points at which a mean is compared over all arrays that stand for a point."""


class Rows(NamedTuple):
    """Data as users give them, all rows or some; None stands for what is not given."""

    X: Any
    y: Any
    weights: Any = None  # sample_weight
    variances: Any = None  # of known noise
    covariates: Any = None

    def some(self, which: Any) -> Rows:
        """A slice of the rows, or those of these numbers."""
        return Rows(*(each if each is None or is_number(each) else rows(each, which) for each in self))


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
        if isinstance(X, np.ndarray) and X.dtype == object:
            X = check_array(X, ensure_all_finite=False, ensure_2d=False, allow_nd=True, ensure_min_samples=0)
    except (OverflowError, TypeError, ValueError) as error:
        kind = WrongType if isinstance(error, TypeError) else InvalidInput
        known, given = [str(name) for name in getattr(estimator, "feature_names_in_", [])], list(column_names(X))
        names = f"\nThe model was fitted to the columns {shown(known)}; X has {shown(given)}."
        raise kind(f"X is not a table as expected: {error}{names if known and given else ''}") from None
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


def on_manifold(manifold: Manifold, X: Any, project: bool, name: str = "X") -> tuple[Array, float]:
    """Points of the manifold, and how far they were moved onto it at most, where `project` asks for it."""
    return projected_points(manifold, X, name) if project else (as_points(manifold, X, name), 0.0)


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
        raise InvalidInput(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None. Call fit(X, y)."
        )
    array = y if is_dask(y) or is_jax(y) else as_labels(y, "y", "an array of one target for each point")
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


def in_parts(X: Any) -> bool:
    """Whether points are read in parts: those of a memory-mapped file, of a Dask array, and of a JAX array."""
    return is_dask(X) or ((isinstance(X, np.memmap) or is_jax(X)) and X.ndim > 0)


def in_memory(x: Any) -> Any:
    """x, where it is of Dask or JAX its values."""
    return np.asarray(x) if is_jax(x) or is_dask(x) else x


def check_size(X: Any, most: int) -> None:
    """Unsupported where a Dask array has more points than a dense model takes."""
    if is_dask(X) and not len(X) <= most:  # also where the number is not known
        raise Unsupported(
            f"X is a Dask array of {len(X):,} points, and this model would be dense, of data in memory. Give arrays "
            "such as X.compute(), or a model that can be sparse: see `inference` of GPRegressor."
        )


def table(X: Any, y: Any, weights: Any = None, variances: Any = None, covariates: Any = None) -> Rows:
    """Data as users give them; all are in blocks of the same rows where X is a Dask array, else none is of Dask.

    None but X is of JAX unless X is.
    """
    given = {"y": y, "sample_weight": weights, "noise": variances, "covariates": covariates}
    if is_dask(variances):
        raise Unsupported("noise is a Dask array. Give sample_weight = 1 / variances to `fit`, and noise=1.0.")
    if is_dask(X):
        data = Rows(*dask().aligned(X, given))
        check_lengths(data)
        return data
    return Rows(
        X, *(each if is_jax(X) and is_jax(each) else plain(in_memory(each), name) for name, each in given.items())
    )


def check_lengths(data: Rows) -> None:
    """InvalidInput unless there is a row for each point."""
    count = data.X.shape[0] if data.X.shape else 0
    if not count:
        raise InvalidInput(f"X has shape {data.X.shape}: no point. Give at least one.")
    for name, each in zip(("y", "sample_weight", "noise", "covariates"), data[1:]):
        if each is not None and not is_number(each) and each.shape[:1] != (count,):
            raise InvalidInput(f"{name} has shape {each.shape} and X {count:,} points: one row for each is needed.")


def plain(each: Any, name: str) -> Any:
    """A table with names as it is, anything else as an array; one number and None stay."""
    known = each is None or is_number(each) or hasattr(each, "columns")
    return each if known else as_labels(each, name, "numbers")


def dask() -> Any:
    """The adapter, which imports Dask; it is there where an argument is of Dask."""
    from ..adapters import dask

    return dask


def device() -> Any:
    """Models on the device of JAX arrays; it imports JAX, which is there where an argument is of JAX."""
    from ..gp import device_posterior

    return device_posterior


@dataclass(frozen=True)
class LinearBasis:
    """One, and those coordinates of a manifold's embedding that are no combination of others at the data."""

    manifold: Manifold
    columns: tuple[int, ...]  # of one and all coordinates

    @classmethod
    def of(cls, manifold: Manifold, points: Array) -> LinearBasis:
        H = _coordinates(manifold, points)
        H = np.where(np.abs(H).max(axis=0) > 1e-12 * np.abs(H).max(), H, 0.0)  # zero but for rounding
        return cls(manifold, tuple(independent_columns(H).tolist()))

    def __call__(self, points: Array) -> Array:
        return _coordinates(self.manifold, points)[:, self.columns]

    @property
    def names(self) -> list[str]:
        return ["constant" if k == 0 else f"coordinate {k - 1}" for k in self.columns]


def trend_of(manifold: Manifold, points: Array) -> tuple[Any, list[str]]:
    """A constant and all coordinates, whose coefficients share one prior variance, and their names.

    Coordinates of a factor of a product have one unit, so that the trend is as symmetric as the embedding. Factors of
    which all points have one value are left out.
    """
    H = _coordinates(manifold, points)[:, 1:]
    groups = np.zeros(H.shape[1], int)
    if isinstance(manifold, Product):
        parts = zip(manifold.factors, manifold.split(points[:1]))
        groups = np.repeat(range(len(manifold.factors)), [factor.embed(part).size for factor, part in parts])
    varies = np.ptp(H, axis=0) > 1e-12 * np.abs(H).max(initial=0.0)
    kept = np.flatnonzero(np.isin(groups, groups[varies]))
    if not len(kept):
        return constant_basis, ["constant"]
    basis = LinearBasis(manifold, tuple((kept + 1).tolist()))
    return Trend.of(basis, points, groups[kept]), ["constant", *basis.names]


def check_function_of_points(mean: Any, kernel: Any, points: Array) -> None:
    """Raise InvalidInput where a mean has several values at one point: at several arrays that stand for the point.

    Parameters
    ----------
    mean : a function of points, or any other mean, which has nothing to check.
    kernel : HeatKernel, which knows the arrays that stand for one point.
    points : array of points; the first `CHECKED` are compared.
    """
    if not callable(mean) or mean is constant_basis:
        return
    points = np.asarray(points[:CHECKED])
    here = basis_values(mean(points), len(points))
    # columns may have units of their own; the second term is rounding
    allowed = 1e-6 * np.abs(here).max(axis=0) + 1e-14 * max(1.0, np.abs(here).max(), np.abs(points).max())
    for others in kernel.same_points(points):
        off = np.abs(basis_values(mean(others), len(points)) - here)
        if (off > allowed).any():
            i, k = np.unravel_index(np.argmax(off / allowed), off.shape)
            linear = isinstance(mean, (LinearBasis, Trend))
            about = 'mean = "linear"' if linear else "the function given as mean"
            text = (
                f"] and {shown(others[i].tolist())} are one point for {kernel!r}, and column {k} of the basis changes "
                f"by {off[i, k]:.3g}. Give mean='constant', or a function with equal values there, such as products or "
                "absolute values of coordinates, or sines and cosines of angles where these are equal."
            )
            raise InvalidInput(OfRow(f"{about} is not a function of the point: X[", int(i), text))


def _coordinates(manifold: Manifold, points: Array) -> Array:
    xp = namespace(points)  # also that of JAX
    return xp.concat([xp.ones((len(points), 1)), manifold.embed(points).reshape(len(points), -1)], axis=1)


@dataclass(frozen=True)
class MeanModel:
    """The basis functions of the mean, and covariates beside them.

    Attributes
    ----------
    mean : what the functional core takes: "zero", a number, or a function of points.
    names : list of str, of the coefficients.
    covariates : int or None, the number of columns of covariates; None where there are none.
    columns : tuple of str, the names of these columns, where they came as a table with names.
    """

    mean: Any
    names: list[str]
    covariates: int | None
    columns: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        mean: Any,
        manifold: Manifold | None,
        points: Array,
        covariates: Any = None,
        flat: bool = True,
        of_labels: bool = False,
    ) -> MeanModel:
        """The checked arguments of a fit; `manifold` is None where the kernel is precomputed.

        With `flat` priors of the coefficients, a covariate that is a combination of others is an error. The linear
        trend of labels has coefficients with one prior variance, see `Trend`.
        """
        names: list[str] = []
        instead = 'Use mean="constant".' if of_labels else "Use covariates."
        if isinstance(mean, str) and mean == "constant":
            mean, names = constant_basis, ["constant"]
        elif isinstance(mean, str) and mean == "linear":
            if manifold is None:
                raise Unsupported(f'mean = "linear" needs points, and a precomputed kernel has none. {instead}')
            if of_labels:
                mean, names = trend_of(manifold, points)
            else:
                mean = LinearBasis.of(manifold, points)
                names = mean.names
        elif callable(mean):
            if manifold is None:
                raise Unsupported(f"a function as mean needs points, and a precomputed kernel has none. {instead}")
            names = [f"basis {k}" for k in range(_first_values(mean, points).shape[1])]
        elif isinstance(mean, (np.ndarray, list, tuple)):
            raise InvalidInput(
                "mean is an array. Give its columns as `covariates` of fit and predict, and mean='zero'."
            )
        elif covariates is not None and is_number(mean):
            raise InvalidInput(
                f"mean = {mean} beside covariates: subtract it from y, or multiply the exposure of counts by "
                f"exp({mean}), and use mean='zero'."
            )
        if covariates is None:
            return cls(mean, names, None)
        Z = basis_values(covariates, len(points), "`covariates`")
        columns = column_names(covariates)
        names += [f"covariate {label}" for label in columns or range(Z.shape[1])]
        model = cls(mean, names, Z.shape[1], columns)
        if flat and len(kept := independent_columns(model.values(points, Z))) < len(names):
            k = next(k for k in range(len(names)) if k not in kept)
            before = names[:k] if k <= 6 else [*names[:3], "...", f"{k} in all"]
            raise InvalidInput(
                f"{names[k]!r} is a combination of the columns of the mean before it "
                f"({', '.join(before) or 'it is zero'}), so that its coefficient has no one value. Leave it out, or "
                "give Priors(coefficients=)."
            )
        return model

    def values(self, points: Array, covariates: Any) -> Array:
        """The basis functions at points, with their covariates."""
        own = basis_values(self.mean(points), len(points)) if callable(self.mean) else np.empty((len(points), 0))
        if covariates is None and self.covariates is None:
            return own
        if covariates is None:
            raise InvalidInput(
                f"the model was fitted with {self.covariates} covariates. Give `covariates` at the points."
            )
        if self.covariates is None:
            raise InvalidInput("the model was fitted without covariates. Leave `covariates` None.")
        given: Any = column_names(covariates)
        Z, known = basis_values(covariates, len(points), "`covariates`"), self.columns
        if given and known and given != known:
            raise InvalidInput(
                f"covariates have the columns {shown(list(given))}; the model was fitted with {shown(list(known))}."
            )
        if Z.shape[1] != self.covariates:
            raise InvalidInput(f"covariates have {Z.shape[1]} columns; the model was fitted with {self.covariates}.")
        return np.hstack([own, Z])

    @property
    def known(self) -> float:
        """The mean, where it is a number."""
        return float(self.mean) if is_number(self.mean) else 0.0

    def core(self, points: Array, covariates: Any) -> Mean:
        """The mean as the functional core takes it."""
        return self.mean if self.covariates is None else self.values(points, covariates)

    def scales(self, coefficient_scale: Any) -> Any:
        """The prior standard deviations of the coefficients; one number is not for the constant, which stays flat."""
        if coefficient_scale is None:
            return None
        one = is_number(coefficient_scale)
        has_scale = [not (one and name == "constant") for name in self.names]
        if not any(has_scale):
            constant = " but the constant, which stays flat" if self.names else ""
            raise InvalidInput(
                f"priors.coefficients = {shown(coefficient_scale)} has no effect: the mean has no coefficients"
                f"{constant}. Leave it None, or give mean='linear', a function as mean, or covariates."
            )
        return np.where(has_scale, float(coefficient_scale), np.inf) if one else coefficient_scale


def _first_values(mean: Any, points: Array) -> Array:
    """Checked values of a user's function, which may raise anything."""
    try:
        values = mean(points)
    except Exception as error:
        raise InvalidInput(
            f"the function given as mean raised {type(error).__name__}: {error}. It is called with an array of points, "
            f"here of shape {np.shape(points)}, and returns (N,) or (N, q) numbers."
        ) from error
    return basis_values(values, len(points))
