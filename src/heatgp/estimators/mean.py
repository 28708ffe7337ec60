"""The mean of a regression: from the arguments `mean`, `covariates` and `coefficient_scale` to basis functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import is_number, shown
from ..array import namespace
from ..covariance import Array
from ..errors import InvalidInput, Unsupported
from ..gp.targets import Mean, basis_values, constant_basis, independent_columns
from ..manifolds import Manifold
from .tables import column_names

CHECKED = 100
"""Points at which a mean is compared over all arrays that stand for a point."""


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
            about = 'mean = "linear"' if isinstance(mean, LinearBasis) else "the function given as mean"
            raise InvalidInput(
                f"{about} is not a function of the point: X[{i}] and {shown(others[i].tolist())} are one point for "
                f"{kernel!r}, and column {k} of the basis changes by {off[i, k]:.3g}. Give mean='constant', or a "
                "function with equal values there, such as products or absolute values of coordinates, or sines and "
                "cosines of angles where these are equal."
            )


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
        cls, mean: Any, manifold: Manifold | None, points: Array, covariates: Any = None, flat: bool = True
    ) -> MeanModel:
        """The checked arguments of a fit; `manifold` is None where the kernel is precomputed.

        With `flat` priors of the coefficients, a covariate that is a combination of others is an error.
        """
        names: list[str] = []
        if isinstance(mean, str) and mean == "constant":
            mean, names = constant_basis, ["constant"]
        elif isinstance(mean, str) and mean == "linear":
            if manifold is None:
                raise Unsupported('mean = "linear" needs points, and a precomputed kernel has none. Use covariates.')
            mean = LinearBasis.of(manifold, points)
            names = mean.names
        elif callable(mean):
            if manifold is None:
                raise Unsupported("a function as mean needs points, and a precomputed kernel has none. Use covariates.")
            names = [f"basis {k}" for k in range(_first_values(mean, points).shape[1])]
        elif isinstance(mean, (np.ndarray, list, tuple)):
            raise InvalidInput(
                "mean is an array. Give its columns as `covariates` of fit and predict, and mean='zero'."
            )
        elif covariates is not None and is_number(mean):
            raise InvalidInput(f"mean = {mean} beside covariates: subtract it from y, and use mean='zero'.")
        if covariates is None:
            return cls(mean, names, None)
        Z = _covariates(covariates, len(points))
        columns = column_names(covariates)
        labels = columns or range(Z.shape[1])
        model = cls(mean, [*names, *(f"covariate {label}" for label in labels)], Z.shape[1], columns)
        H = model.values(points, Z)
        kept = set(independent_columns(H).tolist()) if flat else set(range(H.shape[1]))
        for k in sorted(set(range(H.shape[1])) - kept):
            names = model.names[:k] if k <= 6 else [*model.names[:3], "...", f"{k} in all"]
            before = ", ".join(names) or "it is zero"
            raise InvalidInput(
                f"{model.names[k]!r} is a combination of the columns of the mean before it ({before}), so that its "
                "coefficient has no one value. Leave it out, or give a `coefficient_scale`."
            )
        return model

    def values(self, points: Array, covariates: Any) -> Array:
        """The basis functions at points, with their covariates."""
        if covariates is None and self.covariates is not None:
            raise InvalidInput(
                f"the model was fitted with {self.covariates} covariates. Give `covariates` at the points."
            )
        if covariates is not None and self.covariates is None:
            raise InvalidInput("the model was fitted without covariates. Leave `covariates` None.")
        own = basis_values(self.mean(points), len(points)) if callable(self.mean) else np.empty((len(points), 0))
        if covariates is None:
            return own
        columns = column_names(covariates)
        if columns and self.columns and columns != self.columns:
            raise InvalidInput(
                f"covariates have the columns {shown(list(columns))}; the model was fitted with "
                f"{shown(list(self.columns))}."
            )
        Z = _covariates(covariates, len(points))
        if Z.shape[1] != self.covariates:
            raise InvalidInput(f"covariates have {Z.shape[1]} columns; the model was fitted with {self.covariates}.")
        return np.hstack([own, Z])

    def core(self, points: Array, covariates: Any) -> Mean:
        """The mean as the functional core takes it."""
        return self.mean if self.covariates is None else self.values(points, covariates)

    def scales(self, coefficient_scale: Any) -> Any:
        """The prior standard deviations of the coefficients; one number is not for the constant, which stays flat."""
        if coefficient_scale is not None and not set(self.names) - (
            {"constant"} if is_number(coefficient_scale) else set()
        ):
            raise InvalidInput(
                f"coefficient_scale = {shown(coefficient_scale)} has no effect: the mean has no coefficients"
                + (" but the constant, which stays flat. " if self.names else ". ")
                + "Leave it None, or give mean='linear', a function as mean, or covariates."
            )
        if is_number(coefficient_scale):
            return np.array([np.inf if name == "constant" else float(coefficient_scale) for name in self.names])
        return coefficient_scale


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


def _covariates(covariates: Any, number: int) -> Array:
    """Checked covariates, (N, q)."""
    try:
        return basis_values(covariates, number)
    except InvalidInput as error:
        raise InvalidInput(str(error).replace("the basis of the mean", "`covariates`")) from None
