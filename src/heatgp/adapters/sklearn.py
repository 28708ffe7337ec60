"""Heat kernels as kernels of scikit-learn, for its Gaussian processes and its sums and products of kernels.

    C() * HeatKernel(Sphere(2)) + WhiteKernel()
    C() * HeatKernel(Sphere(2), columns=slice(0, 3)) * Columns(RBF(), 3) + WhiteKernel()

A row of X is a flattened point, complex ones as real parts followed by imaginary parts; `columns` says where it is in a
row that has more.
"""

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel

from ..arguments import as_array, shown
from ..covariance import Array, Normalized, TimeFunction
from ..errors import InvalidInput
from ..estimators.kernels import check_model_smoothness, chosen_kernel
from ..estimators.time_bounds import WEIGHTS
from ..heat import kernel as heat
from ..heat.matern import check_smoothness, with_smoothness
from ..heat.methods import Method
from ..manifolds import Homogeneous, Manifold, Product, Scaled
from ..manifolds.composed.product import flat_size
from ..manifolds.rows import as_points

TIMES = (1e-5, 1e5)
"""Where scikit-learn searches for a time by default: the interval that its own kernels have for theirs."""


class HeatKernel(Kernel):
    """The heat kernel of a manifold, or its Matern kernel, over its values on the diagonal: k(x, x) = 1.

    Parameters
    ----------
    manifold : Manifold
    time : positive number, default None
        Where learning starts. The square root of the time is the length over which functions vary. On a product a tuple
        is a time for each factor, and a number one time for all. None is 1.0, or the nearest number that the kernel
        knows, for as many times as `GPRegressor` learns. They are learned unless `time_bounds` is "fixed".
    time_bounds : pair of positive numbers, a list of them for several times, or "fixed"; default None
        Where the time is searched for. None is from 1e-5 to 1e5, as far as the kernel knows these times.
    columns : slice, int, list of int or array of bool, default None
        The columns of X that hold the point; None is all of them.
    smoothness : number, default inf
        That of a Matern kernel, as in `matern_kernel`; inf is the heat kernel.
    kernel : str, Method, HeatKernel of the library, or a list of these for a product; default "auto"
        How the kernel is made, as in `GPRegressor`.

    Raises
    ------
    InvalidInput : when the kernel is used, for wrong arguments and for tables with other columns.
    OffManifold : for rows that are no points of the manifold.

    Notes
    -----
    As in all kernels of scikit-learn `theta` is the logarithm of the time. While a model learns, what depends on the
    points is computed once, and kept until the kernel is asked for values without derivatives.

    Examples
    --------
    >>> from heatgp import Sphere
    >>> from sklearn.gaussian_process import GaussianProcessRegressor
    >>> from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel
    >>> rng = np.random.default_rng(0)
    >>> X = Sphere(2).random(rng, 50)
    >>> y = X[:, 0] * X[:, 2] + 0.02 * rng.standard_normal(50)
    >>> kernel = ConstantKernel() * HeatKernel(Sphere(2)) + WhiteKernel()
    >>> kernel
    1**2 * HeatKernel(Sphere(2)) + WhiteKernel(noise_level=1)
    >>> GaussianProcessRegressor(kernel).fit(X, y).predict([[0.6, 0.0, 0.8]]).round(2)
    array([0.49])
    """

    def __init__(
        self,
        manifold: Manifold,
        time: float | Sequence[float] | None = None,
        time_bounds: Any = None,
        *,
        columns: Any = None,
        smoothness: float = math.inf,
        kernel: str | Method | heat.HeatKernel | Sequence[Any] = "auto",
    ) -> None:
        self.manifold = manifold
        self.time = time
        self.time_bounds = time_bounds
        self.columns = columns
        self.smoothness = smoothness
        self.kernel = kernel
        self._made: tuple[Any, ...] = ()
        self._kept: tuple[Any, ...] = ()

    def __repr__(self) -> str:
        words = [repr(self.manifold)]
        if self.time is not None:
            times = ", ".join(f"{time:.3g}" for time in np.atleast_1d(self.time))
            words.append(f"time=({times})" if np.ndim(self.time) else f"time={times}")
        words += [] if self.smoothness == math.inf else [f"smoothness={self.smoothness:g}"]
        words += [] if self.columns is None else [f"columns={self.columns!r}"]
        return f"HeatKernel({', '.join(words)})"

    def __sklearn_clone__(self) -> "HeatKernel":
        """A copy with the same kernel of the library, which never changes: nothing is simulated again."""
        copy = type(self)(**self.get_params())
        copy._made = self._made
        return copy

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_kept": ()}

    @property
    def theta(self) -> Array:
        """The logarithms of the times that are learned."""
        if self.time is not None:
            return super().theta
        return np.empty(0) if self.hyperparameter_time.fixed else np.log(np.atleast_1d(self._checked_time()))

    @theta.setter
    def theta(self, theta: Array) -> None:
        Kernel.theta.fset(self, theta)

    def _checked_time(self) -> Any:
        """The time, or all numbers that the kernel takes where there are several."""
        kernel = self._heat_kernel
        if self.time is not None:
            return kernel.check_time(self.time)
        start = float(np.clip(1.0, *kernel.times))
        return kernel.check_time(start if kernel.parameters == 1 else (start,) * kernel.parameters)

    @property
    def hyperparameter_time(self) -> Hyperparameter:
        kernel, bounds = self._heat_kernel, self.time_bounds
        self._checked_time()  # its logarithm is asked for next
        if not (isinstance(bounds, str) and bounds == "fixed"):
            bounds = self._intervals(kernel)
        return Hyperparameter("time", "numeric", bounds, kernel.parameters)

    def _intervals(self, kernel: heat.HeatKernel) -> Array:
        """The bounds of all numbers that the kernel takes, (parameters, 2), or InvalidInput."""
        number, weights = kernel.parameters, kernel.weight_parameters
        if self.time_bounds is None:
            return np.array([np.clip(TIMES, *kernel.times)] * (number - weights) + [WEIGHTS] * weights)
        try:
            intervals = np.broadcast_to(np.asarray(self.time_bounds, dtype=float), (number, 2))
        except (TypeError, ValueError):
            intervals = np.full((1, 2), np.nan)
        low, high = intervals.T
        if not ((low > 0) & (low < high) & (high < np.inf)).all():
            several = f", or {number} such pairs" if number > 1 else ""
            raise InvalidInput(
                f"time_bounds = {shown(self.time_bounds)} must be 'fixed', or two positive numbers, the smaller first, "
                f"such as (0.01, 100){several}."
            )
        for time in intervals[: number - weights].ravel():
            if not kernel.times[0] <= time <= kernel.times[1]:
                raise InvalidInput(
                    f"time_bounds = {shown(self.time_bounds)} go beyond the times of {kernel!r}, {kernel.times[0]:.3g} "
                    f"to {kernel.times[1]:.3g}. Leave them out, or keep within these. {kernel.advice}"
                )
        return intervals

    @property
    def _heat_kernel(self) -> heat.HeatKernel:
        """The kernel that the arguments ask for, which may take a simulation; made again where one was changed."""
        number = None if self.time is None else np.size(self.time)
        arguments = self.manifold, self.kernel, self.smoothness, number
        if self._made and all(map(_is_same, self._made, arguments)):
            return self._made[-1]
        if not isinstance(self.manifold, Manifold):
            raise InvalidInput(f"manifold = {shown(self.manifold)} must be a manifold, such as Sphere(2).")
        check_model_smoothness(self.smoothness, self.kernel)
        made = with_smoothness(chosen_kernel(self.manifold, self.kernel, self.time), check_smoothness(self.smoothness))
        self._made = *arguments, made.as_positive_definite()
        return self._made[-1]

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """k(x, y) of every x with every y, and the derivative of k(X, X) in the logarithm of the time.

        Parameters
        ----------
        X : array (N, columns).
        Y : array (M, columns), default None: X.
        eval_gradient : bool, default False
            Whether to return the derivative too. Only without Y.

        Returns
        -------
        K : array (N, M).
        gradient : array (N, N, number of times that are not fixed), where it is asked for.
        """
        if eval_gradient and Y is not None:
            raise InvalidInput("the derivative is that of k(X, X): eval_gradient=True goes without Y.")
        kernel = self._heat_kernel
        time = self._checked_time()
        if Y is None:
            found = self._pairs(X, kernel, keep=eval_gradient).at(time)
            if not eval_gradient:
                return found.value
            if self.hyperparameter_time.fixed:
                return found.value, np.empty((*found.value.shape, 0))
            slopes = found.slopes  # before the value: some kernels compute both at once
            return found.value, np.moveaxis(slopes, 0, -1)
        x, y = self._points(X, "X"), self._points(Y, "Y")
        rows = max(1, heat.CHUNK // max(1, len(y)))
        starts = range(0, max(1, len(x)), rows)
        return np.concatenate([Normalized(kernel).pairs(x[i : i + rows], y).at(time).value for i in starts])

    def _pairs(self, X: Any, kernel: heat.HeatKernel, keep: bool) -> TimeFunction:
        """The kernel of X with itself as a function of time; kept for the next call where that asks for the same X."""
        rows = chosen_columns(X, self.columns)
        if self._kept and self._kept[0] is kernel and np.array_equal(self._kept[1], rows):
            pairs = self._kept[-1]
        else:
            pairs = Normalized(kernel).pairs(self._points(X, "X"))
        self._kept = (kernel, rows, pairs) if keep else ()
        return pairs

    def _points(self, X: Any, name: str) -> Array:
        """The points in the rows of X."""
        rows, size = chosen_columns(X, self.columns), flat_size(self.manifold)
        if rows.ndim == 2 and rows.shape[1] not in (size, math.prod(self.manifold.shape)):
            which = "" if self.columns is None else f", of which columns={self.columns!r} are {rows.shape[1]}"
            raise InvalidInput(
                f"{name} has {np.shape(X)[1]} columns{which}; a point of {self.manifold!r} is a row of {size} numbers. "
                f"Say where it is, such as columns=slice(0, {size})."
            )
        return as_points(self.manifold, rows, name)

    def diag(self, X: Any) -> Array:
        """k(x, x) of every x, which is 1."""
        return np.ones(len(self._points(X, "X")))

    def is_stationary(self) -> bool:
        """Whether isometries, under which k is invariant, carry every point to every other, as translations do."""
        return _is_homogeneous(self.manifold)


class Columns(Kernel):
    """A kernel of scikit-learn on some columns of X, beside a `HeatKernel` on others.

    Parameters
    ----------
    kernel : Kernel of scikit-learn
    columns : slice, int, list of int or array of bool

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> Columns(RBF(), 3)(np.array([[1.0, 0, 0, 5], [0, 1.0, 0, 5]]))
    array([[1., 1.],
           [1., 1.]])
    """

    def __init__(self, kernel: Kernel, columns: Any) -> None:
        if not isinstance(kernel, Kernel):
            raise InvalidInput(f"kernel = {shown(kernel)} must be a kernel of scikit-learn, such as RBF().")
        self.kernel = kernel
        self.columns = columns

    def __repr__(self) -> str:
        return f"Columns({self.kernel!r}, {self.columns!r})"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        own = super().get_params()
        return own | {f"kernel__{name}": value for name, value in self.kernel.get_params().items() if deep}

    @property
    def theta(self) -> Array:
        return self.kernel.theta

    @theta.setter
    def theta(self, theta: Array) -> None:
        self.kernel.theta = theta

    @property
    def hyperparameters(self) -> list[Hyperparameter]:
        return [each._replace(name=f"kernel__{each.name}") for each in self.kernel.hyperparameters]

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        others = None if Y is None else chosen_columns(Y, self.columns)
        return self.kernel(chosen_columns(X, self.columns), others, eval_gradient)

    def diag(self, X: Any) -> Array:
        return self.kernel.diag(chosen_columns(X, self.columns))

    def is_stationary(self) -> bool:
        return self.kernel.is_stationary()


def chosen_columns(X: Any, columns: Any) -> Array:
    """A copy of these columns of a table, or InvalidInput where it has none of them; of all where columns is None."""
    X = np.array(as_array(X, "X", "a table of numbers"))
    if columns is None:
        return X
    if X.ndim != 2:
        raise InvalidInput(
            f"X has shape {X.shape}; columns = {columns!r} are those of a table, one row for each point."
        )
    try:
        chosen = np.atleast_1d(np.arange(X.shape[1])[columns])
    except IndexError as error:
        if any(isinstance(column, str) for column in np.ravel(columns).tolist()):
            raise InvalidInput(
                f"columns = {columns!r} must be positions, not names: scikit-learn removes the names. Give numbers, "
                "such as slice(0, 3)."
            ) from None
        raise InvalidInput(f"columns = {columns!r} of a table that has {X.shape[1]}: {error}.") from None
    if not chosen.size:
        raise InvalidInput(f"columns = {columns!r} of a table that has {X.shape[1]}: there are none of them.")
    return X[:, chosen]


def _is_same(one: Any, other: Any) -> bool:
    """Whether two arguments are one object, or the same number."""
    return one is other or (isinstance(one, Real) and one == other)


def _is_homogeneous(manifold: Manifold) -> bool:
    if isinstance(manifold, Product):
        return all(map(_is_homogeneous, manifold.factors))
    return _is_homogeneous(manifold.base) if isinstance(manifold, Scaled) else isinstance(manifold, Homogeneous)
