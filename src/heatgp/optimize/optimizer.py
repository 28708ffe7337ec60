"""Bayesian optimisation on a manifold: points are asked for, and their values are given.

Two Gaussian processes take turns. One sees all data and has the heat kernel of the manifold: its expected improvement
is large where nobody has looked and where values are low. The other one sees the data near the best point, in normal
coordinates there, and looks for the minimum within a trust region, so that the digits of a minimum are found, too.

Reference: Jones, Schonlau and Welch (1998), Journal of Global Optimization 13, 455-492; Eriksson, Pearce, Gardner,
Turner and Poloczek (2019), Scalable Global Optimization via Local Bayesian Optimization.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..archive import FileFormat
from ..arguments import EXTREME, as_array, check_count, check_number, generator
from ..array import Array
from ..errors import InvalidInput
from ..estimators import GPRegressor
from ..estimators.kernels import check_model_smoothness, chosen_kernel
from ..manifolds import Manifold
from ..manifolds.checks import require
from ..manifolds.fingerprint import fingerprint
from ..manifolds.rows import as_points
from .models import Data, fitted
from .proposals import explore, refine
from .space import Space

SEARCH = FileFormat("a file of an Optimizer", 2, "Give another file, or remove it.", "state")
GIVEN, RANDOM, EXPLORED, REFINED = "given", "random", "explored", "refined"
"""How a point was chosen."""
INITIAL = 5
"""Random points before the first model."""
FIRST_REFINED = 15
"""Evaluations before the first local one: a region about a point that is best of a few is in the wrong place."""
RELEARN = 1.2
"""The parameters of the model of all data are learned again when there are so many times as many data."""
GROWS = 2
"""Improvements in a row after which the radius of the trust region doubles."""
SMALLEST = 1e-7
"""The least radius, over the size of the space: there the minimum is known to the rounding of its values."""
LOWEST, IMPROVEMENT = 10, 1e-3
"""An improvement is at least the second number times the spread of so many of the lowest values."""
SAME = 1e-10
"""Distances, over the size of the space, of points that are the same but for rounding."""
SAME_IN_SINGLE = 1e-6
"""The same for a point that was asked for and comes back in single precision."""
BEYOND = 1e-9
"""How far beyond a bound a point may be, over half the width of the bounds: rounding."""


class Optimizer:
    """The search for the minimum of a function on a manifold, by asking for points and telling their values.

    `minimize` does both. An `Optimizer` is for experiments in a laboratory, and for evaluations that run elsewhere.

    Parameters
    ----------
    manifold : Manifold
    bounds : list of pairs (low, high), one for each coordinate of a Euclidean factor, default None. Such coordinates
        must have bounds, and no others can have them.
    noise : number, default 0. The variance of the noise of the values. None learns it. With noise, `x` is the point
        with the lowest mean of the model, not the one with the lowest value.
    kernel, smoothness : as in `GPRegressor`, of the model of all data. By default the heat kernel, exact if there is
        one; a smoothness makes it a Matern kernel.
    initial : int, default 5. Random points to start with. Points that are given before count.
    rng : seed or numpy Generator, default 0.

    Attributes
    ----------
    X, y : arrays (n, *shape) and (n,), all evaluations in the order of `tell`; nan for those that failed.
    x, fun : the best point and its value; with noise, the mean of the model there.
    pending : array (p, *shape) of points that were asked for and have no value yet.
    x0 : array (n, *shape) of the points that `minimize` begins with; none by default.

    Raises
    ------
    InvalidInput : if an argument is not possible.

    Examples
    --------
    >>> import heatgp as hg
    >>> sphere = hg.Sphere(2)
    >>> optimizer = hg.Optimizer(sphere)
    >>> for _ in range(20):
    ...     x = optimizer.ask()
    ...     optimizer.tell(x, x[2] + x[0] ** 2)
    >>> optimizer.x.round(1) + 0.0, round(optimizer.fun, 2)
    (array([ 0.,  0., -1.]), -1.0)
    """

    def __init__(
        self,
        manifold: Manifold,
        *,
        bounds: Any = None,
        noise: float | None = 0.0,
        kernel: Any = "auto",
        smoothness: Any = math.inf,
        initial: int = INITIAL,
        rng: Any = 0,
    ) -> None:
        known = isinstance(manifold, Manifold)
        require(known, f"manifold must be a manifold, such as Sphere(2); got {manifold!r}.")
        if noise is not None and not check_number("noise", noise) >= 0:
            raise InvalidInput(f"noise = {noise} is a variance and must be 0 or positive. None learns it.")
        check_model_smoothness(smoothness, kernel)
        self._space = Space(manifold, bounds)
        self.manifold, self.noise, self.smoothness = manifold, noise, smoothness
        self.initial = check_count("initial", initial)
        self._seed = [int(word) for word in generator(rng).integers(2**32, size=4)]
        self.kernel = chosen_kernel(manifold, kernel, None)  # made once; what has none is refused here
        self._kernel = {"kernel": self.kernel, "smoothness": smoothness}  # of models of all data
        number = complex if manifold.is_complex else float
        self._X, self._pending, self.x0 = (np.empty((0, *manifold.shape), dtype=number) for _ in range(3))
        self._y, self._chosen = np.empty(0), list[str]()
        self._asked = 0
        self._radius, self._improved, self._failed = self._space.size / 4, 0, 0  # the trust region
        self._learned: tuple[int, dict[str, Any]] = (0, {})  # from how many data, and the parameters of their model
        self._smoothed: Array | None = None  # the means of a model at all points; None where some came later

    def __repr__(self) -> str:
        return f"<Optimizer of {self.manifold!r}: {len(self._y)} evaluations, {len(self._pending)} pending>"

    X = property(lambda self: self._X.copy())
    y = property(lambda self: self._y.copy())
    pending = property(lambda self: self._pending.copy())

    @property
    def x(self) -> Array:
        return self._X[self._best()].copy()

    @property
    def fun(self) -> float:
        return float(self._means[self._best()])

    def ask(self, count: int | None = None) -> Array:
        """The next point to evaluate, or several.

        Points that were asked for and have no value yet count: points of a batch are apart from each other.

        Parameters
        ----------
        count : int, default None. How many points.

        Returns
        -------
        array of the shape of a point; with `count`, (count, *shape).

        Raises
        ------
        InvalidInput : if `count` is not a positive integer.
        """
        if count is not None:
            return np.stack([self.ask() for _ in range(check_count("count", count))])
        rng = np.random.default_rng([*self._seed, self._asked])
        inner, chosen = self._proposal(rng)
        known = self._space.inner(np.concatenate([self._X[np.isfinite(self._y)], self._pending]))
        if len(known) and self._space.distances(known, inner).min() <= SAME * self._space.size:
            inner, chosen = self._space.random(rng, 1)[0], RANDOM  # its value is known, or will be
        x = self._space.outer(inner)
        self._asked += 1
        self._pending = np.concatenate([self._pending, x[None]])
        self._chosen.append(chosen)
        return x

    def tell(self, x: Any, y: Any) -> None:
        """The value of the function at a point, or the values at several; nan or infinite where the evaluation failed.

        Parameters
        ----------
        x : array of the shape of a point, or (n, *shape). Points need not have been asked for.
        y : number, or array (n,). Numbers beyond 1e100 count as nan.

        Raises
        ------
        InvalidInput : if x and y do not belong together.
        OffManifold : if a point is not on the manifold.
        """
        values = as_array(y, "y", "the value of the function, or nan")
        if values.dtype.kind not in "iufb":
            raise InvalidInput(f"y must be real numbers; its dtype is {values.dtype}.")
        points = self.points(x)
        values = values.ravel() if len(points) == values.size == 1 else values
        if values.shape != (len(points),):
            raise InvalidInput(f"x has {len(points)} point(s) and y the shape {values.shape}. Give one value for each.")
        for point, value in zip(points, values.astype(float)):
            self._tell(point, float(value))

    def points(self, x: Any, name: str = "x") -> Array:
        """Points in the form that the search works with.

        Parameters
        ----------
        x : array of the shape of a point, or (n, *shape).
        name : str, default "x", the name of x in messages.

        Returns
        -------
        array (n, *shape)

        Raises
        ------
        InvalidInput : if there is another shape, or a point beyond the bounds.
        OffManifold : if a point is not on the manifold.
        """
        points = as_array(x, name, f"points of {self.manifold!r}")
        one = points.shape == self.manifold.shape
        points = as_points(self.manifold, points[None] if one else points, name)
        inner = self._space.inner(points)
        beyond = (np.abs(inner - self._space.clipped(inner)) > BEYOND).any(axis=tuple(range(1, inner.ndim)))
        if beyond.any():
            raise InvalidInput(f"{name}[{np.argmax(beyond)}] is beyond the bounds. Widen the bounds, or leave it out.")
        return points

    def model(self) -> GPRegressor:
        """A Gaussian process regression of all values: what is known of the function, in the units of the user.

        Returns
        -------
        GPRegressor, fitted.

        Raises
        ------
        InvalidInput : if fewer than two evaluations have a value.
        """
        number = np.isfinite(self._y).sum()
        require(number > 1, f"{number} evaluation(s) with a value: a model needs two. Tell more values.")
        return self._fitted(self._X)

    def save(self, path: Any) -> None:
        """Write all that the search knows to a file; `load` of another Optimizer of the same function goes on from it.

        The file is written whole or not at all.

        Parameters
        ----------
        path : str or Path
        """
        state = {
            **self._problem,
            "seed": self._seed,
            "asked": self._asked,
            "chosen": self._chosen,
            "region": {"radius": self._radius, "improved": self._improved, "failed": self._failed},
            "learned": self._learned,
        }
        SEARCH.write(path, state, {"X": self._X, "y": self._y, "pending": self._pending, "x0": self.x0})

    def load(self, path: Any) -> None:
        """Go on from what `save` wrote, as if the search had not been interrupted.

        Parameters
        ----------
        path : str or Path

        Raises
        ------
        InvalidInput : if there is no such file, if it is damaged or was edited, or if its search had another manifold,
            kernel or smoothness, other bounds, or another noise.
        """
        state, content = SEARCH.read(path)
        for name, own in self._problem.items():
            difference = {
                "manifold": f"on {state[name]}, not on {own}. Give another file.",
                "bounds": "with other bounds. Give these, or another file.",
            }.get(name, f"with {name} = {state[name]}, not {own}. Give the same {name}, or another file.")
            require(state[name] == own, f"{path} is of a search {difference}")
        self._X, self._y, self._pending, self.x0 = (content[name] for name in ("X", "y", "pending", "x0"))
        self._seed, self._asked, self._chosen = (state[name] for name in ("seed", "asked", "chosen"))
        region = state["region"]
        self._radius, self._improved, self._failed = region["radius"], region["improved"], region["failed"]
        count, learned = state["learned"]
        self._learned = count, {k: tuple(v) if isinstance(v, list) else v for k, v in learned.items()}
        self._smoothed = None

    @property
    def _problem(self) -> dict[str, Any]:
        """What two searches must share to go on from each other's files."""
        return {
            "manifold": fingerprint(self.manifold) or repr(self.manifold),
            "bounds": [self._space.low.tolist(), self._space.high.tolist()],
            "noise": None if self.noise is None else float(self.noise),
            "kernel": repr(self.kernel),
            "smoothness": str(self.smoothness),
        }

    def _proposal(self, rng: np.random.Generator) -> tuple[Array, str]:
        """The next point of the search, in its units, and how it was chosen."""
        space, number = self._space, len(self._y) + len(self._pending)
        if number < self.initial or np.isfinite(self._y).sum() < 2:
            return space.random(rng, 1)[0], RANDOM
        data = Data(space.inner(self._X), self._values, space.inner(self._pending), self.noise)
        if number >= FIRST_REFINED and number % 2:
            return refine(space, data, rng, data.X[self._best()], self._radius), REFINED
        count, parameters = self._learned
        known = int(np.isfinite(self._y).sum())
        if known >= RELEARN * count:
            count, parameters = known, {}
        x, parameters = explore(space, data, rng, self._kernel, parameters)
        self._learned = count, parameters
        return x, EXPLORED

    @property
    def _values(self) -> Array:
        """The values for models, nan where evaluations failed: zero where squares would be zero."""
        return np.where(np.abs(self._y) < 1 / EXTREME, 0.0, self._y)

    def _fitted(self, points: Array) -> GPRegressor:
        """A model of all values at the points, which are in the units of the user or of the search."""
        some = np.isfinite(self._y)
        return fitted(self.manifold, points[some], self._values[some], noise=self.noise or None, **self._kernel)

    @property
    def _means(self) -> Array:
        """The values without their noise, as far as a model knows."""
        if self.noise == 0 or np.isfinite(self._y).sum() < 2:
            return self._y
        if self._smoothed is None:
            points = self._space.inner(self._X)
            self._smoothed = self._fitted(points).predict(points)
        return self._smoothed

    def _best(self) -> int:
        """The number of the best evaluation."""
        known = np.isfinite(self._y)
        require(bool(known.any()), f"{len(known)} evaluation(s), none with a value: there is no best point yet.")
        return int(np.argmin(np.where(known, self._means, np.inf)))

    def _tell(self, x: Array, y: float) -> None:
        """One evaluation: the region learns from it."""
        y, chosen, space = y if abs(y) <= EXTREME else math.nan, GIVEN, self._space
        if len(self._pending):
            away = space.distances(space.inner(self._pending), space.inner(x))
            number = int(np.argmin(away))
            if away[number] <= SAME_IN_SINGLE * space.size:
                x, chosen = self._pending[number], self._chosen.pop(number)
                self._pending = np.delete(self._pending, number, axis=0)
        finite = self._y[np.isfinite(self._y)]
        if len(finite):
            best = float(finite.min())
            if chosen == REFINED:
                spread = float(np.ptp(np.sort(finite)[:LOWEST]))
                self._resize(y < best - IMPROVEMENT * spread)
            elif y < best:  # the region is about this point now, and reaches the last one
                last = space.inner(self._X[np.nanargmin(self._y)])
                distance = float(space.distances(space.inner(x[None]), last)[0])
                self._radius, self._improved, self._failed = max(self._radius, min(distance, space.size / 4)), 0, 0
        self._X = np.concatenate([self._X, x[None]])
        self._y = np.append(self._y, y)
        self._smoothed = None

    def _resize(self, improvement: bool) -> None:
        """The trust region after one more evaluation in it: Eriksson et al. (2019), section 2."""
        size, patience = self._space.size, self.manifold.dim // 2 + 1
        self._improved, self._failed = (self._improved + 1, 0) if improvement else (0, self._failed + 1)
        if self._improved == GROWS:
            self._radius, self._improved = min(2 * self._radius, size / 2), 0
        elif self._failed == patience:
            self._radius, self._failed = self._radius / 2, 0
            if self._radius <= SMALLEST * size:  # begin anew
                self._radius = size / 4
