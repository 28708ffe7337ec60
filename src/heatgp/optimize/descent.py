"""Minima of smooth functions on a manifold: limited memory BFGS along geodesics, from many starts at once.

Each iteration computes a direction from the latest steps and changes of the gradient, follows the geodesic in this
direction until the function has decreased enough, and moves the kept vectors to the tangent space at the new point, by
projection. All starts do this side by side: the function is asked for its values at many points in one call.

Reference: Nocedal and Wright (2006), Numerical Optimization, Algorithms 3.1 and 7.4; Absil, Mahony and Sepulchre
(2008), Optimization Algorithms on Matrix Manifolds, sections 4.1 and 8.1; for the box Bertsekas (1982), SIAM J. Control
Optim. 20, 221-246.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arguments import EXTREME, as_array, check_count, check_flag, check_number, shown
from ..errors import InvalidInput
from ..manifolds import Euclidean, Manifold, Product
from ..manifolds.checks import TOLERANCE, check_points, require, unchecked
from ..manifolds.composed.product import flat_size
from ..manifolds.gradients import to_tangent_space

Function = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""From points (n, *shape) to values (n,) and gradients (n, *shape), tangent vectors; each row on its own."""

KEPT = 10
"""Steps that a direction is computed from."""
SUFFICIENT = 1e-4
"""The part of the decrease which the gradient promises that a step must bring."""
TRIALS = 30
"""Steps that are tried before a direction is given up."""
SHORTER = (0.1, 0.5)
"""The parts of a step that may be tried next."""
GROWTH = 4.0
"""How many times longer than the last one a step may be, if it is longer than one."""
TINY = 1e-300
"""Lengths that count as zero."""
DOWNWARD = 1e-8
"""The least cosine of the angle of a direction and minus the gradient, and of a step and the change of the gradient."""
ROUNDING = 1e-15
"""Relative increases of the function that count as rounding."""
TANGENT = 1e-3
"""The largest part of a gradient that may be normal to the manifold: more is not rounding, not in single precision."""


@dataclass(frozen=True)
class Descent:
    """Where `descend` ended.

    Parameters
    ----------
    x : array (n, *shape), the best point from each start.
    values : array (n,), the function there.
    gradient_norms : array (n,), the lengths of the gradients there; in a box, of their parts along it.
    iterations : int, how many steps the longest descent took.
    """

    x: np.ndarray
    values: np.ndarray
    gradient_norms: np.ndarray
    iterations: int


def descend(
    manifold: Manifold,
    function: Function,
    starts: np.ndarray,
    *,
    steps: int = 100,
    tolerance: float = 1e-6,
    value_tolerance: float = 0.0,
    bounds: Any = None,
    stop: Callable[[], bool] = lambda: False,
) -> Descent:
    """Local minima of a function on a manifold, one from each start.

    Parameters
    ----------
    manifold : Manifold
    function : from points (n, *shape) to values (n,) and gradients (n, *shape), tangent vectors. `manifold.gradient`
        makes them from partial derivatives. Points with a value that is not finite are never accepted, and a descent
        does not move from a start with such a value.
    starts : array (n, *shape) of points.
    steps : int, default 100, the most steps.
    tolerance : float, default 1e-6
        A descent ends where the gradient is no longer than this.
    value_tolerance : float, default 0.0
        It also ends after a step that changes the function by less than this, relative to its value where that is
        larger than one.
    bounds : array (2, *shape), default None
        The least and the largest value of each coordinate, possibly infinite. Finite ones are for coordinates of
        Euclidean factors only.
    stop : function of no arguments, default never
        Asked after each step; all descents end where it returns True.

    Returns
    -------
    Descent

    Raises
    ------
    InvalidInput : if the starts have another shape, or the bounds do, or a tolerance is no number; if the function does
        not return values and gradients of these shapes, or, at the starts, no finite value, a gradient that is not
        finite, or one that is not tangent.
    OffManifold : if a start is not on the manifold.

    Examples
    --------
    The highest point of a sphere, from two starts:

    >>> from heatgp import Sphere
    >>> def minus_height(x):
    ...     slope = np.array([0.0, 0.0, -1.0])
    ...     return x @ slope, slope - (x @ slope)[:, None] * x
    >>> descend(Sphere(2), minus_height, np.array([[1.0, 0, 0], [0, 0.6, -0.8]])).x.round(6) + 0.0
    array([[0., 0., 1.],
           [0., 0., 1.]])
    """
    for name, argument in (("function", function), ("stop", stop)):
        if not callable(argument):
            raise InvalidInput(f"{name} must be a function; got {shown(argument)}.")
    check_count("steps", steps, 0)
    for name, least in (("tolerance", tolerance), ("value_tolerance", value_tolerance)):
        if check_number(name, least) < 0:
            raise InvalidInput(f"{name} must be 0 or positive; got {least}.")
    require(isinstance(manifold, Manifold), f"descend needs a manifold, such as Sphere(2); got {shown(manifold)}.")
    x = np.array(check_points(manifold, starts, "starts"))
    if x.ndim != 1 + len(manifold.shape):
        raise InvalidInput(f"starts have shape {x.shape}; needed is (n, {', '.join(map(str, manifold.shape))}).")
    box = None if bounds is None else _checked_box(manifold, bounds)
    x = x if box is None else np.clip(x, *box)
    function = _checked_function(manifold, function)
    state = _State(manifold, box, x, *function(x))
    _check_start(manifold, x, state.values, state.gradients, tolerance)
    for number in range(steps):
        moving = state.moving(tolerance)
        if not moving.any() or check_flag("the value that stop returns", stop()):
            return state.descent(number)
        state.step(function, moving, value_tolerance)
    return state.descent(steps)


def euclidean_coordinates(manifold: Manifold) -> np.ndarray:
    """Which coordinates of a flattened point are those of Euclidean factors, and so may have bounds: an array of bool.

    Examples
    --------
    >>> from heatgp import Euclidean, Product, Sphere
    >>> euclidean_coordinates(Product(Sphere(1), Euclidean(2)))
    array([False, False,  True,  True])
    """
    if isinstance(manifold, Product):
        return np.concatenate([euclidean_coordinates(factor) for factor in manifold.factors])
    return np.full(flat_size(manifold), isinstance(manifold, Euclidean))


def _checked_box(manifold: Manifold, bounds: Any) -> np.ndarray:
    """The least and the largest coordinates, (2, *shape), or InvalidInput."""
    box = as_array(bounds, "bounds")
    if box.dtype.kind not in "iuf" or box.shape != (2, *manifold.shape) or not (box[0] <= box[1]).all():
        raise InvalidInput(
            f"bounds must be real numbers of shape (2, {', '.join(map(str, manifold.shape))}), the least and the "
            f"largest value of each coordinate, the first not above the second; got shape {box.shape}."
        )
    finite = np.isfinite(box).any(axis=0).ravel()
    curved = np.flatnonzero(finite & ~euclidean_coordinates(manifold)[: finite.size])
    if len(curved):
        raise InvalidInput(
            f"bounds has a finite value for coordinate {curved[0]} of {manifold!r}, which is not Euclidean there. "
            "Give -inf and inf there, or a Domain of the manifold."
        )
    return box


def _checked_function(manifold: Manifold, function: Function) -> Function:
    """The function, with an error for results that are not values and gradients of the shapes needed."""
    shape = ", ".join(map(str, manifold.shape))
    needed = f"needed are two arrays, values (n,) and gradients (n, {shape}), for n points"

    def checked(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = function(x)
        if not isinstance(found, (tuple, list)) or len(found) != 2:
            got = f"{len(found)} results" if isinstance(found, (tuple, list)) else f"one result, {shown(found)}"
            raise InvalidInput(f"function returned {got}; {needed}.")
        values, gradients = as_array(found[0], "the array of values"), as_array(found[1], "the array of gradients")
        if values.shape != x.shape[:1] or gradients.shape != x.shape:
            raise InvalidInput(
                f"function returned values of shape {values.shape} and gradients of shape {gradients.shape} for points "
                f"of shape {x.shape}; {needed}."
            )
        if values.dtype.kind == "c" or (gradients.dtype.kind == "c" and not manifold.is_complex):
            raise InvalidInput(
                f"function returned values of dtype {values.dtype} and gradients of dtype {gradients.dtype}; values "
                f"are real, and so are gradients on {manifold!r}."
            )
        return values, gradients

    return checked


def _check_start(
    manifold: Manifold, x: np.ndarray, values: np.ndarray, gradients: np.ndarray, tolerance: float
) -> None:
    """Raise InvalidInput where no descent can begin, or a gradient is not finite or not tangent."""
    finite = np.isfinite(values)
    if len(x) and not finite.any():
        raise InvalidInput(
            f"function has no finite value at any of the {len(x)} start(s); at starts[0] it is {values[0]}. Give other "
            "starts."
        )
    x, gradients, rows = x[finite], gradients[finite], np.flatnonzero(finite)
    axes = tuple(range(1, x.ndim))
    bad = ~np.isfinite(gradients).all(axis=axes)
    if bad.any():
        raise InvalidInput(f"The gradient at starts[{rows[np.argmax(bad)]}] is not finite, though the value is.")
    normal = gradients - to_tangent_space(manifold, x, gradients[None])[0]
    size, off = (np.sqrt((np.abs(v) ** 2).sum(axis=axes)) for v in (gradients, normal))
    bad = (off > TANGENT * size) & (size > tolerance)
    if bad.any():
        number = int(np.argmax(bad))
        raise InvalidInput(
            f"The gradient at starts[{rows[number]}] is not tangent to {manifold!r}: its normal part is "
            f"{off[number] / size[number]:.1e} of it > {TANGENT:g}. manifold.gradient(x, slope) makes tangent vectors "
            "of partial derivatives."
        )


def _shorter(change: np.ndarray, promise: np.ndarray) -> np.ndarray:
    """The part of a step to try next: to the minimum of the parabola through what is known, within limits."""
    low, high = SHORTER
    best = -promise / np.maximum(2 * (change - promise), TINY)
    return np.where(np.isfinite(change), np.clip(best, low, high), low)


@dataclass
class _State:
    """All descents: their points, and the steps and changes of the gradient that their directions are made of."""

    manifold: Manifold
    box: np.ndarray | None
    x: np.ndarray
    values: np.ndarray
    gradients: np.ndarray
    ended: np.ndarray = field(init=False)
    reach: np.ndarray = field(init=False)
    """The longest next step: 1, or GROWTH times the last one."""
    moves: list[np.ndarray] = field(default_factory=list)
    changes: list[np.ndarray] = field(default_factory=list)
    weights: list[np.ndarray] = field(default_factory=list)
    """1 / <move, change>, (n,); 0 where a pair is not used."""

    def __post_init__(self) -> None:
        self.values, self.gradients = np.array(self.values, dtype=float), np.array(self.gradients)
        self.ended = ~np.isfinite(self.values)
        self.reach = np.ones(len(self.x))

    def descent(self, iterations: int) -> Descent:
        return Descent(self.x, self.values, self._length(self.x, self._free(self.gradients)), iterations)

    def moving(self, tolerance: float) -> np.ndarray:
        """Which descents have not ended."""
        return ~self.ended & (self._length(self.x, self._free(self.gradients)) > tolerance)

    def step(self, function: Function, moving: np.ndarray, value_tolerance: float) -> None:
        """One step of all descents that have not ended."""
        gradient = self._free(self.gradients)
        way = self._direction(gradient)
        size = self._length(self.x, gradient)
        fresh = ~(self._inner(gradient, way) < -DOWNWARD * size * self._length(self.x, way)) | self._no_history()
        self._forget(fresh)
        way[fresh] = -gradient[fresh]
        way = self._times(way, np.minimum(1.0, self.reach / np.maximum(self._length(self.x, way), TINY)))

        x, values, gradients = self.x.copy(), self.values.copy(), self.gradients.copy()
        searching = moving.copy()
        for _ in range(TRIALS):
            rows = np.flatnonzero(searching)
            if not len(rows):
                break
            ends = self._along(self.x[rows], way[rows])
            found, slopes = self._evaluated(function, ends)
            moved = self._in_box(way[rows], ends - self.x[rows])
            promise = self.manifold.metric(self.x[rows], gradient[rows], moved)
            change = found - self.values[rows]
            good = change <= SUFFICIENT * promise + ROUNDING * np.abs(self.values[rows])
            here, there = rows[good], rows[~good]
            x[here], values[here], gradients[here], way[here] = ends[good], found[good], slopes[good], moved[good]
            searching[here] = False
            way[there] = self._times(way[there], _shorter(change[~good], promise[~good]))
        self.reach = np.minimum(np.maximum(1.0, GROWTH * self._length(self.x, way)), self.manifold.farthest / 2)
        self.ended |= searching & fresh  # not even the gradient leads down
        self._forget(searching)
        moved, size = moving & ~searching, np.maximum(1.0, np.maximum(np.abs(values), np.abs(self.values)))
        decrease = np.where(moved, self.values, 0.0) - np.where(moved, values, 0.0)  # others may be infinite
        self.ended |= moved & (decrease < value_tolerance * np.where(moved, size, 1.0))
        self._moved(x, values, gradients, way, moved)

    def _moved(
        self, x: np.ndarray, values: np.ndarray, gradients: np.ndarray, way: np.ndarray, which: np.ndarray
    ) -> None:
        """Go to new points, and keep the step and the change of the gradient, as tangent vectors there."""
        vectors = np.stack([*self.moves, *self.changes, way, self.gradients])
        *kept, way, before = to_tangent_space(self.manifold, x, vectors)
        self.moves, self.changes = kept[: len(self.moves)], kept[len(self.moves) :]
        self.x, self.values, self.gradients = x, values, gradients
        change = gradients - before
        product = self._inner(way, change)
        used = which & (product > DOWNWARD * self._length(x, way) * self._length(x, change))
        self.moves = [*self.moves, way][-KEPT:]
        self.changes = [*self.changes, change][-KEPT:]
        self.weights = [*self.weights, np.where(used, 1 / np.where(used, product, 1.0), 0.0)][-KEPT:]

    def _direction(self, gradient: np.ndarray) -> np.ndarray:
        """Nocedal and Wright (2006), Algorithm 7.4, with those of the pairs that each descent uses."""
        pairs = [(self._free(s), self._free(y), weight) for s, y, weight in zip(self.moves, self.changes, self.weights)]
        q, parts, scale = gradient, [], np.ones(len(self.x))
        for s, y, weight in reversed(pairs):
            part = weight * self._inner(s, q)
            q = q - self._times(y, part)
            parts.append(part)
        for _, y, weight in pairs:  # that of the latest pair which is used
            square = self._inner(y, y)
            used = (weight > 0) & (square > 0)  # in a box nothing may be left of a change
            scale = np.where(used, 1 / np.where(used, weight * square, 1.0), scale)
        r = self._times(q, scale)
        for (s, y, weight), part in zip(pairs, reversed(parts)):
            r = r + self._times(s, part - weight * self._inner(y, r))
        return -self._free(r)

    def _no_history(self) -> np.ndarray:
        return ~np.any([weight > 0 for weight in self.weights], axis=0) if self.weights else np.ones(len(self.x), bool)

    def _forget(self, which: np.ndarray) -> None:
        self.weights = [np.where(which, 0.0, weight) for weight in self.weights]

    def _along(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The ends of geodesics, in the box, without rounding errors of many steps."""
        with np.errstate(all="ignore"):  # of steps that are too long
            ends = np.asarray(self.manifold.polish(unchecked(self.manifold.exp)(x, v)))
        return ends if self.box is None else np.clip(ends, *self.box)

    def _evaluated(self, function: Function, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The function and its gradients; nan where x has left the manifold or one of them is not finite."""
        with np.errstate(all="ignore"):
            possible = (self.manifold.defect(x) <= TOLERANCE) & (np.abs(x).reshape(len(x), -1).max(axis=1) < EXTREME)
        values, gradients = np.full(len(x), np.nan), np.zeros_like(x)
        if possible.any():
            values[possible], gradients[possible] = function(x[possible])
        values[~(np.isfinite(values) & np.isfinite(gradients).reshape(len(x), -1).all(axis=1))] = np.nan
        return values, gradients

    def _in_box(self, v: np.ndarray, difference: np.ndarray) -> np.ndarray:
        """The vector v of a step, in coordinates with bounds the difference of its ends."""
        return v if self.box is None else np.where(np.isfinite(self.box).any(axis=0), difference, v)

    def _free(self, v: np.ndarray) -> np.ndarray:
        """v without the coordinates that are at a bound and that the gradient moves across it."""
        if self.box is None:
            return v
        low, high = self.box
        held = ((self.x <= low) & (self.gradients > 0)) | ((self.x >= high) & (self.gradients < 0))
        return np.where(held, 0.0, v)

    def _inner(self, u: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.asarray(self.manifold.metric(self.x, u, v))

    def _length(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.sqrt(np.maximum(self.manifold.metric(x, v, v), 0.0))

    def _times(self, v: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """Tangent vectors (n, *shape) times numbers (n,)."""
        return factor[(..., *(None,) * len(self.manifold.shape))] * v
