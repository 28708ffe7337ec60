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
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import EXTREME, as_array, check_count, check_flag, check_number, shown
from ..array import norm
from ..covariance import scaled_vectors
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
        require(callable(argument), f"{name} must be a function; got {shown(argument)}.")
    check_count("steps", steps, 0)
    for name, least in (("tolerance", tolerance), ("value_tolerance", value_tolerance)):
        require(check_number(name, least) >= 0, f"{name} must be 0 or positive; got {least}.")
    require(isinstance(manifold, Manifold), f"descend needs a manifold, such as Sphere(2); got {shown(manifold)}.")
    x = np.array(check_points(manifold, starts, "starts"))
    shape = ", ".join(map(str, manifold.shape))
    require(x.ndim == 1 + len(manifold.shape), f"starts have shape {x.shape}; needed is (n, {shape}).")
    box = _checked_box(manifold, bounds)
    descents = _Descents(manifold, function, box, np.clip(x, *box), tolerance)
    number = 0
    while number < steps and not (descents.ended.all() or check_flag("the value that stop returns", stop())):
        descents.step(value_tolerance)
        number += 1
    return Descent(descents.x, descents.values, descents.norms, number)


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
    """The least and the largest coordinates, (2, *shape), infinite where there are no bounds; or InvalidInput."""
    unbounded = np.stack([np.full(manifold.shape, -np.inf), np.full(manifold.shape, np.inf)])
    box = unbounded if bounds is None else as_array(bounds, "bounds")
    if box.dtype.kind not in "iuf" or box.shape != unbounded.shape or not (box[0] <= box[1]).all():
        raise InvalidInput(
            f"bounds must be real numbers of shape {unbounded.shape}, the least and the largest value of each "
            f"coordinate, the first not above the second; got shape {box.shape}."
        )
    finite = np.isfinite(box).any(axis=0).ravel()
    curved = np.flatnonzero(finite & ~euclidean_coordinates(manifold)[: finite.size])
    if len(curved):
        raise InvalidInput(
            f"bounds has a finite value for coordinate {curved[0]} of {manifold!r}, which is not Euclidean there. "
            "Give -inf and inf there, or a Domain of the manifold."
        )
    return box


class _Descents:
    """All descents: their points, and the steps and changes of the gradient that their directions are made of.

    Parameters
    ----------
    manifold, function, tolerance : as in `descend`.
    box : array (2, *shape), the least and the largest coordinates.
    x : array (n, *shape), the starts.
    """

    def __init__(
        self, manifold: Manifold, function: Function, box: np.ndarray, x: np.ndarray, tolerance: float
    ) -> None:
        self.manifold, self.function, self.box, self.tolerance = manifold, function, box, tolerance
        self.x, (self.values, self.gradients) = x, self._checked_call(x)
        self._check_start()
        self.ended = ~np.isfinite(self.values)
        self.reach = np.ones(len(x))  # the longest next step: 1, or GROWTH times the last one
        self.pairs = np.empty((2, 0, *x.shape))  # steps and changes of the gradient
        self.weights = np.empty((0, len(x)))  # 1 / <step, change>; 0 where a pair is not used
        self._find_slopes()

    def _find_slopes(self) -> None:
        """The gradients along the box: coordinates at a bound are held where the gradient moves them across it."""
        low, high = self.box
        self.held = ((self.x <= low) & (self.gradients > 0)) | ((self.x >= high) & (self.gradients < 0))
        self.slopes = np.where(self.held, 0.0, self.gradients)
        self.norms = self._length(self.slopes)
        self.ended |= ~(self.norms > self.tolerance)

    def _check_start(self) -> None:
        """Raise InvalidInput where no descent can begin, or a gradient is not finite or not tangent."""
        rows = np.flatnonzero(np.isfinite(self.values))
        if len(self.x) and not len(rows):
            raise InvalidInput(
                f"function has no finite value at any of the {len(self.x)} start(s); at starts[0] it is "
                f"{self.values[0]}. Give other starts."
            )
        x, gradients, axes = self.x[rows], self.gradients[rows], self.x.ndim - 1
        bad = ~np.isfinite(gradients).all(axis=tuple(range(1, x.ndim)))
        if bad.any():
            raise InvalidInput(f"The gradient at starts[{rows[np.argmax(bad)]}] is not finite, though the value is.")
        size, off = norm(gradients, axes), norm(gradients - to_tangent_space(self.manifold, x, gradients), axes)
        bad = (off > TANGENT * size) & (size > self.tolerance)
        if bad.any():
            number = int(np.argmax(bad))
            raise InvalidInput(
                f"The gradient at starts[{rows[number]}] is not tangent to {self.manifold!r}: its normal part is "
                f"{off[number] / size[number]:.1e} of it > {TANGENT:g}. manifold.gradient(x, slope) makes tangent "
                "vectors of partial derivatives."
            )

    def step(self, value_tolerance: float) -> None:
        """One step of all descents that have not ended."""
        way = self._direction()
        downward = self._inner(self.slopes, way) < -DOWNWARD * self.norms * self._length(way)
        fresh = ~(downward & (self.weights > 0).any(axis=0))
        self.weights[:, fresh] = 0.0
        way[fresh] = -self.slopes[fresh]
        way = scaled_vectors(np.minimum(1.0, self.reach / np.maximum(self._length(way), TINY)), way)
        x, values, gradients = self.x.copy(), self.values.copy(), self.gradients.copy()
        moved = self._line_search(way)
        stuck = ~(self.ended | moved)
        self.weights[:, stuck] = 0.0
        self.ended |= stuck & fresh  # not even the gradient leads down
        before, after = values[moved], self.values[moved]
        size = np.maximum(1.0, np.maximum(np.abs(before), np.abs(after)))
        self.ended[moved] |= before - after < value_tolerance * size
        length = np.sqrt(np.maximum(self.manifold.metric(x, way, way), 0.0))  # where the step began
        self.reach = np.clip(GROWTH * length, 1.0, self.manifold.farthest / 2)
        self._find_slopes()

        latest = np.stack([way, gradients])[:, None]
        self.pairs = to_tangent_space(self.manifold, self.x, np.concatenate([self.pairs, latest], axis=1))[:, -KEPT:]
        self.pairs[1, -1] = self.gradients - self.pairs[1, -1]
        way, change = self.pairs[:, -1]
        product = self._inner(way, change)
        used = moved & (product > DOWNWARD * self._length(way) * self._length(change))
        weight = np.where(used, 1 / np.where(used, product, 1.0), 0.0)
        self.weights = np.concatenate([self.weights, weight[None]])[-KEPT:]

    def _line_search(self, way: np.ndarray) -> np.ndarray:
        """Go to points that are low enough, shorten the ways to them, and return for which descents there are any.

        A step that is too long is shortened to the minimum of the parabola through what is known, within limits.
        """
        bounded, moved = np.isfinite(self.box).any(axis=0), np.zeros(len(self.x), dtype=bool)
        for _ in range(TRIALS):
            rows = np.flatnonzero(~(self.ended | moved))
            if not len(rows):
                break
            ends, values, gradients = self._tried(self.x[rows], way[rows])
            ways = np.where(bounded, ends - self.x[rows], way[rows])
            promise = self.manifold.metric(self.x[rows], self.slopes[rows], ways)
            change = values - self.values[rows]
            low = change <= SUFFICIENT * promise + ROUNDING * np.abs(self.values[rows])
            here, there, change, promise = rows[low], rows[~low], change[~low], promise[~low]
            self.x[here], self.values[here], self.gradients[here] = ends[low], values[low], gradients[low]
            way[here], moved[here] = ways[low], True
            best = -promise / np.maximum(2 * (change - promise), TINY)
            shorter = np.where(np.isfinite(change), np.clip(best, *SHORTER), min(SHORTER))
            way[there] = scaled_vectors(shorter, way[there])
        return moved

    def _direction(self) -> np.ndarray:
        """Nocedal and Wright (2006), Algorithm 7.4, with those of the pairs that each descent uses."""
        pairs = list(zip(*np.where(self.held, 0.0, self.pairs), self.weights))
        q, parts, scale = self.slopes, [], np.ones(len(self.x))
        for s, y, weight in reversed(pairs):
            parts.append(weight * self._inner(s, q))
            q = q - scaled_vectors(parts[-1], y)
        for _, y, weight in pairs:  # that of the latest pair which is used
            square = self._inner(y, y)
            used = (weight > 0) & (square > 0)  # in a box nothing may be left of a change
            scale = np.where(used, 1 / np.where(used, weight * square, 1.0), scale)
        r = scaled_vectors(scale, q)
        for (s, y, weight), part in zip(pairs, reversed(parts)):
            r = r + scaled_vectors(part - weight * self._inner(y, r), s)
        return -np.where(self.held, 0.0, r)

    def _tried(self, x: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The ends of geodesics, in the box, the values there, nan where one cannot be used, and the gradients."""
        with np.errstate(all="ignore"):  # of steps that are too long
            ends = np.clip(self.manifold.polish(unchecked(self.manifold.exp)(x, v)), *self.box)
            size = np.abs(ends).reshape(len(x), -1).max(axis=1)
            possible = (self.manifold.defect(ends) <= TOLERANCE) & (size < EXTREME)
        values, gradients = np.full(len(x), np.nan), np.zeros_like(x)
        if possible.any():
            values[possible], gradients[possible] = self._checked_call(ends[possible])
        finite = np.isfinite(values) & np.isfinite(gradients).reshape(len(x), -1).all(axis=1)
        return ends, np.where(finite, values, np.nan), gradients

    def _checked_call(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The function, or InvalidInput for results that are not values and gradients of the shapes needed."""
        M, found = self.manifold, self.function(x)
        shape = ", ".join(map(str, M.shape))
        needed = f"needed are two arrays, values (n,) and gradients (n, {shape}), for n points"
        several = isinstance(found, (tuple, list))
        if not several or len(found) != 2:
            got = f"{len(found)} results" if several else f"one result, {shown(found)}"
            raise InvalidInput(f"function returned {got}; {needed}.")
        values, gradients = as_array(found[0], "the array of values"), as_array(found[1], "the array of gradients")
        if values.shape != x.shape[:1] or gradients.shape != x.shape:
            raise InvalidInput(
                f"function returned values of shape {values.shape} and gradients of shape {gradients.shape} for points "
                f"of shape {x.shape}; {needed}."
            )
        if values.dtype.kind == "c" or (gradients.dtype.kind == "c" and not M.is_complex):
            raise InvalidInput(
                f"function returned values of dtype {values.dtype} and gradients of dtype {gradients.dtype}; values "
                f"are real, and so are gradients on {M!r}."
            )
        return values.astype(float), gradients.astype(x.dtype)

    def _inner(self, u: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.asarray(self.manifold.metric(self.x, u, v))

    def _length(self, v: np.ndarray) -> np.ndarray:
        return np.sqrt(np.maximum(self._inner(v, v), 0.0))
