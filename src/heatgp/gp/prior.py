"""The prior: the covariance of the data as a function of time, and the basis of the mean of y with the noise of y.

y = H c + f + noise. The columns of H are basis functions at the points. Their coefficients c have a Gaussian prior, by
default so wide that it is flat, and are integrated out.

Reference: Rasmussen & Williams (2006), section 2.7; Harville (1974) for the flat prior.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from ..arguments import as_array, is_number, shown
from ..covariance import Array, Evaluation, Kernel, TimeFunction
from ..errors import InvalidInput, NotPositiveDefinite, OfRow
from .factors import Dense, LowRank
from .parameters import checked_scales

Pairs = TimeFunction | None
"""`kernel.pairs(X)` of the data where the caller has it already, else None; its `form`, if any, is not `Dense`."""
NO_WEIGHT = "sample_weight is zero for all observations, which leaves none. Give some a positive one."


@dataclass(frozen=True)
class Prior:
    """The covariance of the data at amplitude 1, in one of the forms of `factors`.

    Whatever depends on the points alone has been computed before.
    """

    function: TimeFunction
    form: Any  # Dense, LowRank or Diagonal: what the values of the function are
    dense: bool = False  # whether features were not asked for

    @classmethod
    def of(cls, kernel: Kernel, X: Any, time: Any, pairs: Pairs = None, dense: bool = False) -> Prior:
        """Features where the kernel has fewer of them (their number is the same at all times) than there are points.

        With `dense` the matrix, in any case.
        """
        one = None if dense else kernel.features(X[:1])
        if one is not None and one.at(time).value.shape[1] < len(X):
            features = kernel.features(X)
            assert features is not None
            return cls(features, LowRank)
        pairs = kernel.pairs(X) if pairs is None else pairs
        return cls(pairs, getattr(pairs, "form", Dense), dense)

    def at(self, time: Any, free: Sequence[int] = ()) -> tuple[Array, list[Array]]:
        """The values at one time, and their derivatives in those log times whose numbers are `free`.

        Arrays are returned, not the evaluation, which would keep all arrays that it was computed from.
        """
        found = self.function.at(time)
        slopes = [found.slopes[k] for k in free]  # asked before the values: some kernels compute both
        return found.value, slopes

    def mean_variance(self, values: Array) -> float:
        """The mean prior variance of the data."""
        found = float(np.mean(self.form.variances(values)))
        if not 0 < found < np.inf:
            raise NotPositiveDefinite(
                f"the mean prior variance of {len(values)} points is {found:.2e} and must be positive and finite. "
                "Check the kernel's values."
            )
        return found

    def mean_variance_slopes(self, values: Array, slopes: Sequence[Array]) -> Array:
        """The derivatives of its log, one for each slope."""
        return np.array([np.mean(self.form.variances(values, slope)) for slope in slopes]) / self.mean_variance(values)


def remembered(function: TimeFunction) -> TimeFunction:
    """The same values, computed once for each time."""
    kept: dict[Any, Array] = {}

    def at(time: Any) -> Evaluation:
        if time not in kept:
            kept[time] = function.at(time).value
        return Evaluation(lambda: kept[time])

    return TimeFunction(at)


Mean = str | float | Array | Callable[[Any], Any]
"""The prior mean of f: "constant", "zero", a number, basis functions of points, or their values (N, q) at the data."""

COLLINEAR = 1e-8
"""Relative size of the part of a column that others do not explain, below which it is a combination of them."""


@dataclass(frozen=True)
class Targets:
    """y less what its mean is known to be, the basis of the rest of its mean, and the relative sizes of the noise.

    The columns of the basis with a flat prior are orthonormal. So the evidence does not depend on the units of the
    basis functions: it is the density of the N - q coordinates of y that are orthogonal to the basis.
    """

    y: Array  # (N,), or (N, p) for p outputs
    basis: Array  # (N, q)
    precision: Array  # (q,), one over the prior variance of each coefficient; 0 where it is flat
    noise: Array  # (N,), the variance of each noise over the parameter `noise`
    start: Array  # (q,), or (q, p): coefficients of the basis that were subtracted from y, or are in the offset
    known: float = 0.0  # a mean that was subtracted from y, or is in the offset
    repeats: int = 0  # how many more observations than rows there are: those of the last row, which have one square
    log_volume: float = 0.0  # log |det| of the linear map that was applied to the rows: densities have it as a factor
    offset: Any = 0.0  # what is added to f where an observation is made: a number, or one for each observation
    of_f: int = 0  # how many of the last coefficients have a prior variance in units of that of f: those of a `Trend`

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, rows: Array) -> Targets:
        """Some of the data; the basis is made orthonormal again, and loses what these data say nothing of."""
        flat, basis = self.precision == 0, self.basis[rows]
        vectors, sizes, _ = linalg.svd(basis[:, flat], full_matrices=False)
        kept = vectors[:, sizes > COLLINEAR * sizes.max(initial=0.0)]
        precision = np.concatenate([np.zeros(kept.shape[1]), self.precision[~flat]])
        return replace(
            self,
            y=self.y[rows],
            basis=np.hstack([kept, basis[:, ~flat]]),
            precision=precision,
            noise=self.noise[rows],
            offset=self.offset[rows] if np.ndim(self.offset) else self.offset,
        )

    @property
    def freedom(self) -> int:
        """The degrees of freedom that the flat part of the basis leaves."""
        return self.count - int(np.sum(self.precision == 0))

    @property
    def count(self) -> int:
        """How many observations the rows stand for."""
        return len(self.y) + self.repeats

    @property
    def is_flat(self) -> bool:
        """Whether all coefficients have a flat prior: the best amplitude is then known in closed form."""
        return not self.precision.any()

    @property
    def typical_noise(self) -> float:
        """The geometric mean of the relative sizes of the noise; 1 where all are 0."""
        positive = self.noise[self.noise > 0]
        return float(np.exp(np.log(positive).mean())) if positive.size else 1.0

    @property
    def mean_square(self) -> Array:
        """The mean square of y about its mean, () or (p,).

        Of targets that do not vary it is 1e-12 of their size squared, near rounding, or of 1 where all are 0.
        """
        size = np.square(self.start).sum(axis=0) / len(self)
        found = np.maximum(np.square(self.y).sum(axis=0) / max(self.freedom, 1), 1e-24 * size)
        return np.where(found > 0, found, 1e-24)

    def check_freedom(self, amplitude: float | None) -> None:
        """Raise InvalidInput where the variance is to be learned, from nothing: no `amplitude` is given."""
        if self.freedom >= 1 or amplitude is not None:
            return
        rows = "rows of targets" if self.y.ndim == 2 else "targets"
        raise InvalidInput(
            f"N = {len(self)} target is its own mean and 1 sample says nothing of variances. Give amplitude, or a mean."
            if len(self) == 1
            else f"the mean has as many coefficients as there are {rows}, {len(self)}: nothing is left to learn "
            "variances from. Give amplitude, or fewer basis functions."
        )

    @property
    def varies(self) -> Array:
        """Whether y varies about its mean, () or (p,)."""
        return np.square(self.y).sum(axis=0) > 0.5 * self.mean_square * self.freedom

    def mapped(self, transform: Array, noise: float, log_volume: float) -> Targets:
        """The data after a linear map whose noise has one variance for all."""
        rows = np.full(len(transform), noise)
        return replace(
            self,
            y=transform @ self.y,
            basis=transform @ self.basis,
            noise=rows,
            log_volume=self.log_volume + log_volume,
        )


@dataclass(frozen=True)
class MeanBasis:
    """How basis functions h become the columns of `Targets`, h T, at any points."""

    transform: Array  # T, (q, q)
    function: Callable[[Any], Array] | None = None  # of points, (M, q); None where they are more than that
    values: Array | None = None  # (M, q), at the points that will be asked for

    def at(self, Xnew: Any) -> Array:
        """The columns of `Targets` at new points, (M, q)."""
        number, columns = len(Xnew), len(self.transform)
        if not columns:
            return np.empty((number, 0))
        if self.values is not None:
            values = basis_values(self.values, number)
        elif self.function is not None:
            values = basis_values(self.function(Xnew), number)
        else:
            raise InvalidInput(
                f"the mean has {columns} basis functions that are not known at new points. Give their values: "
                "posterior.with_basis(values)."
            )
        if values.shape[1] != columns:
            raise InvalidInput(f"the mean has {columns} basis functions; at new points there are {values.shape[1]}.")
        return values @ self.transform


NO_BASIS = MeanBasis(np.empty((0, 0)))


@dataclass(frozen=True, eq=False)
class Trend:
    """The basis of a trend whose coefficients share one prior variance, as in ridge regression, and a constant.

    The coefficients have the prior variance of f, in coordinates of which the mean square over the data, in all, is
    one. So the trend and f have the same prior variance, averaged over the data, however many functions there are.
    """

    function: Callable[[Any], Array]  # of points, (M, q)
    center: Array  # (q,), the means of its values at the data
    scale: Array  # (q,)

    @classmethod
    def of(cls, function: Callable[[Any], Array], points: Any, groups: Array) -> Trend:
        """That of these data; `groups` (q,) are numbers: functions of one group have one unit, and stay as they are.

        Each group has the same share of the prior variance.
        """
        values = function(points)
        center = values.mean(axis=0)
        squares = np.square(values - center).mean(axis=0)
        names = np.unique(groups)
        sizes = {name: np.sqrt(squares[groups == name].sum() * len(names)) for name in names}
        return cls(function, center, np.array([sizes[name] for name in groups]))

    def __call__(self, points: Any) -> Array:
        return np.hstack([np.ones((len(points), 1)), (self.function(points) - self.center) / self.scale])


def constant_basis(X: Any) -> Array:
    """The one basis function of a constant mean."""
    return np.ones((len(X), 1))


def basis_values(values: Any, number: int, name: str = "the basis of the mean") -> Array:
    """Checked values of basis functions at so many points, (N, q); one function may have the shape (N,)."""
    H = as_array(values, name)
    H = H[:, None] if H.ndim == 1 else H
    if H.dtype.kind not in "fiub" or H.ndim != 2 or len(H) != number:
        raise InvalidInput(
            f"{name} has shape {H.shape}, dtype {H.dtype}; needed are real numbers, ({number}, q), a row "
            "for each point."
        )
    for i, j in np.argwhere(~np.isfinite(H)).tolist():
        raise InvalidInput(OfRow(f"{name} holds {H[i, j]} in column {j}, at point ", i, ". Give finite numbers."))
    return H.astype(float)


def targets(
    X: Any,
    y: ArrayLike,
    mean: Mean = "constant",
    noise_scale: ArrayLike | None = None,
    coefficient_scale: ArrayLike | None = None,
) -> tuple[Targets, MeanBasis]:
    """Checked data of N >= 1 points with normal noise.

    Parameters
    ----------
    X, mean, coefficient_scale : as in `observations`. A number is the mean itself.
    y : array (N,), or (N, p) for p outputs, of real numbers.
    noise_scale : array (N,), default None: ones. The variance of each noise over the parameter `noise`.

    Returns
    -------
    Targets, MeanBasis. Of y is subtracted what its mean is known to be, and what the flat basis explains.

    Raises
    ------
    InvalidInput : if a value is not possible, or basis functions are collinear.
    """
    data, basis = observations(X, _checked(len(X), y), mean, coefficient_scale)
    scales = data.noise if noise_scale is None else one_each(noise_scale, len(X), "noise_scale")
    known = data.known
    flat, start, rest = data.precision == 0, data.start.copy(), data.y - known
    for _ in range(2):  # the second time for the rounding of the first
        moved = data.basis[:, flat].T @ rest
        start[flat] += moved
        rest = rest - data.basis[:, flat] @ moved
    rounding = 1e-14 * np.linalg.norm(data.y - known, axis=0)
    rest = np.where(np.linalg.norm(rest, axis=0) > rounding, rest, 0.0)  # the basis explains all of y
    return replace(data, y=rest, noise=scales, start=start), basis


def observations(
    X: Any,
    y: Array,
    mean: Mean = "constant",
    coefficient_scale: ArrayLike | None = None,
    offset: Any = 0.0,
    likelihood: Any = None,
) -> tuple[Targets, MeanBasis]:
    """Observations as they are, and the basis of the mean of f.

    Parameters
    ----------
    X : array of N points, the first axis.
    y : array, N observations.
    mean : "constant", "zero", a function of points that returns basis functions (N, q), a Trend, or an array of values
        of basis functions at X. A number has no basis.
    coefficient_scale : number or array (q,), default None: flat priors. The prior standard deviations of the
        coefficients of the basis functions; inf is flat.
    offset : number or array (N,), default 0. What is added to f where each observation is made.
    likelihood : Likelihood, default None. The mean of f where it says that inference starts, and a mean that
        is known, are then part of the offset.

    Returns
    -------
    Targets, MeanBasis.

    Raises
    ------
    InvalidInput : if a value is not possible, or basis functions are collinear.
    """
    number = len(X)
    function = constant_basis if isinstance(mean, str) and mean == "constant" else mean if callable(mean) else None
    if isinstance(mean, np.ndarray):
        H = basis_values(mean, number)
    elif function is not None:
        H = basis_values(function(X), number)
    elif (isinstance(mean, str) and mean == "zero") or (is_number(mean) and abs(_level(mean)) < 1e140):
        H = np.empty((number, 0))
    elif is_number(mean):
        raise InvalidInput(f"mean = {mean} has a square beyond floating point. Change the unit of y.")
    else:
        raise InvalidInput(
            f'mean = {shown(mean)} is not known. Use "zero", "constant", "linear", a finite number or a function of '
            "points."
        )
    precision, of_f = _precisions(H.shape[1], coefficient_scale), 0
    if isinstance(mean, Trend):
        of_f = H.shape[1] - 1
        precision[1:] = 1.0
    flat = np.flatnonzero(precision == 0)
    columns, transform = H.copy(), np.eye(H.shape[1])
    columns[:, flat], transform[np.ix_(flat, flat)] = _orthonormal(H[:, flat])
    start = np.zeros((H.shape[1], *np.shape(y)[1:]))
    known = _level(mean)
    if likelihood is not None:
        start[flat] = likelihood.start(y, columns[:, flat], offset + known)
        offset = offset + known + columns @ start
    data = Targets(np.asarray(y), columns, precision, np.ones(number), start, known, offset=offset, of_f=of_f)
    return data, MeanBasis(transform, function)


def _level(mean: Any) -> float:
    """The mean where it is a number; else 0."""
    return float(mean) if is_number(mean) else 0.0


def noise_scale(number: int, variances: Any = None, weights: Any = None) -> tuple[Array | None, Array | None]:
    """Which observations are kept (None: all), and the variances of their noise over the parameter `noise`.

    Parameters
    ----------
    number : int, how many observations there are.
    variances : array (N,) of known variances of at least 0, default None.
    weights : array (N,) of at least 0, default None: ones. The variance of weight w is divided by w; an observation of
        weight 0 is left out.

    Examples
    --------
    >>> noise_scale(3, weights=[1.0, 0.0, 4.0])
    (array([ True, False,  True]), array([1.  , 0.25]))
    """
    if variances is None and weights is None:
        return None, None
    scale = np.ones(number) if variances is None else one_each(variances, number, "noise")
    if weights is None:
        return None, scale
    weights = np.full(number, weights, dtype=float) if is_number(weights) else weights
    weights = one_each(weights, number, "sample_weight")
    kept = weights > 0
    if not kept.any():
        raise InvalidInput(NO_WEIGHT)
    return None if kept.all() else kept, scale[kept] / weights[kept]


def one_each(values: Any, number: int, name: str) -> Array:
    """Finite numbers of at least 0, one for each observation, as floats."""
    array = as_array(values, name)
    if array.shape != (number,) or array.dtype.kind not in "fiub":
        raise InvalidInput(
            f"{name} must be {number} real numbers, one for each observation; got shape {array.shape}, dtype "
            f"{array.dtype}."
        )
    for where in np.flatnonzero(~(np.isfinite(array) & (array >= 0))).tolist():
        raise InvalidInput(OfRow(f"{name}[", where, f"] = {array[where]} must be finite and 0 or positive."))
    return array.astype(float)


def typical_noise(scale: Array | None) -> float:
    """The noise over the parameter `noise` of data that are as informative as these: one over their mean weight."""
    if scale is None:
        return 1.0
    with np.errstate(divide="ignore"):
        return float(1.0 / np.mean(1.0 / scale))


def independent_columns(H: Array) -> Array:
    """The numbers of the columns of H that are no combination of those before them."""
    kept: list[int] = []
    span = np.empty((len(H), 0))
    for k, column in enumerate(H.T):
        rest = column - span @ (span.T @ column)
        rest = rest - span @ (span.T @ rest)  # twice is enough
        if np.linalg.norm(rest) > COLLINEAR * np.linalg.norm(column):
            kept.append(k)
            span = np.column_stack([span, rest / np.linalg.norm(rest)])
    return np.array(kept, dtype=int)


def _orthonormal(H: Array) -> tuple[Array, Array]:
    """Q with orthonormal columns and T with H T = Q, or InvalidInput where columns are collinear."""
    number, columns = H.shape
    if columns > number:
        raise InvalidInput(
            f"the mean has {columns} coefficients and there are {number} points, which cannot determine them. Give "
            "fewer basis functions, more points, or Priors(coefficients=)."
        )
    kept = independent_columns(H)
    for k in sorted(set(range(columns)) - set(kept.tolist())):
        raise InvalidInput(
            f"column {k} of the basis of the mean is a combination of the columns before it (0 if it is zero), so that "
            "its coefficient has no one value. Leave it out, or give Priors(coefficients=)."
        )
    sizes = np.linalg.norm(H, axis=0)
    if columns == 1:  # without rounding of its own: a constant stays one
        return H / sizes, 1.0 / sizes[:, None]
    Q, R = linalg.qr(H / sizes, mode="economic")
    return Q, linalg.solve_triangular(R, np.eye(columns)) / sizes[:, None]


def _checked(number: int, y: ArrayLike) -> Array:
    """Targets as floats."""
    y = as_array(y, "y", f"{number} real numbers, one for each point; labels are for GPClassifier")
    if y.dtype.kind not in "fiub" or y.ndim not in (1, 2) or len(y) != number or not y.size:
        raise InvalidInput(
            f"y must be {number} real numbers, one for each of N >= 1 points; got shape {y.shape}, dtype {y.dtype}. "
            f"Labels are for GPClassifier; of several outputs give a table with {number} rows."
        )
    return with_squares(finite(y))


def finite(y: Array) -> Array:
    """Observations as floats, or InvalidInput where one is not finite."""
    y = y.astype(float)
    for row, *column in np.argwhere(~np.isfinite(y)).tolist():
        others = "".join(f", {k}" for k in column)
        text = f"{others}] = {y[(row, *column)]} is not finite. Remove such observations."
        raise InvalidInput(OfRow("y[", row, text))
    return y


def with_squares(y: Array) -> Array:
    """Observations, or InvalidInput where their squares are beyond floating point."""
    largest = float(np.abs(y).max(initial=0.0))
    if largest and not 1e-140 < largest < 1e140:
        raise InvalidInput(f"y has the size {largest:.1e}, whose square is beyond floating point. Change its unit.")
    return y


def _precisions(columns: int, scale: ArrayLike | None) -> Array:
    """One over the prior variances of the coefficients; 0 where the prior is flat."""
    if scale is None:
        return np.zeros(columns)
    return np.broadcast_to(1.0 / checked_scales(scale, columns) ** 2, (columns,)).copy()
