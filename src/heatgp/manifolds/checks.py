"""Checks of user input: parameters of manifolds, functions, boxes, and points."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import EXTREME, MOST, as_array, check_count, generator, is_integer
from ..array import Array, namespace
from ..cost import check_memory
from ..errors import InputWarning, InvalidInput, OffManifold, warn

if TYPE_CHECKING:
    from .contract import Manifold

FAR_OFF = 0.1
"""Defects from which on a message asks for the data to be checked."""
TOLERANCE = 1e-6
"""How far a point may violate its constraints: data written with seven digits pass, wrong data do not."""
SINGLE_TOLERANCE = 1e-4
"""The same for points in single precision."""


def require(condition: bool, message: str) -> None:
    """Raise InvalidInput with the message unless the condition holds."""
    if not condition:
        raise InvalidInput(message)


def require_integer(owner: str, name: str, value: Any, least: int) -> None:
    """Raise InvalidInput unless the parameter `name` of `owner` is an integer of at least `least`."""
    require(
        is_integer(value) and bool(least <= value < MOST),
        f"{owner} needs an integer {name} >= {least}; got {name} = {value!r}.",
    )


def require_positive_integers(manifold: Manifold) -> None:
    """Raise InvalidInput unless all fields of the manifold, a dataclass, are integers of at least 1."""
    for name, value in vars(manifold).items():
        require_integer(type(manifold).__name__, name, value, 1)


def require_shape(what: str, function: Callable, x: np.ndarray, shapes: list[tuple[int, ...]], needed: str) -> None:
    """Raise InvalidInput unless a user's function maps points x to an array of one of the shapes."""
    shape = np.shape(function(x))
    message = f"{what} maps points of shape {x.shape} to shape {shape}; needed is {shapes[0]}, {needed} for each point."
    require(shape in shapes, f"{message} Write it over the last axes of x.")


def check_sequence(owner: str, name: str, value: Any, default: tuple) -> tuple:
    """The items of a list, tuple or array, the default where it is None; InvalidInput for anything else."""
    valid = value is None or isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim > 0)
    require(valid, f"{owner} needs a tuple {name}; got {value!r}.")
    return default if value is None else tuple(value)


def check_bounds(owner: str, bounds: object, n: int) -> tuple[tuple[float, float], ...]:
    """Bounds as n pairs of finite numbers, low < high."""
    try:
        pairs = as_array(bounds, "bounds")
    except InvalidInput:  # the message below shows the value
        pairs = np.empty(0)
    if (
        pairs.dtype.kind not in "iuf"
        or pairs.shape != (n, 2)
        or not np.isfinite(pairs).all()
        or not (pairs[:, 0] < pairs[:, 1]).all()
    ):
        raise InvalidInput(f"{owner} needs bounds of {n} pairs (low, high), finite, low < high; got {bounds!r}.")
    return tuple((float(low), float(high)) for low, high in pairs.tolist())


def check_points(manifold: Manifold, x: Array, name: str = "X", tolerance: float = TOLERANCE) -> Array:
    """x as a floating array of points of the manifold, or an error that names the first wrong point.

    Parameters
    ----------
    manifold : Manifold
    x : array or nested list of shape (..., *manifold.shape)
        Arrays of other libraries pass through with their type; lists and integers become NumPy doubles.
    name : str, default "X"
        What messages call x.
    tolerance : float, default 1e-6
        The largest defect allowed; at least 1e-4 for single precision.

    Returns
    -------
    Array
        x, complex where the manifold is.

    Raises
    ------
    InvalidInput
        If x is not numeric or has another shape.
    OffManifold
        If a point is not finite or not on the manifold.
    """
    kind = f"a numeric array of points of {manifold!r}"
    x = as_floats(x, name, kind)
    if not hasattr(x.dtype, "kind") or x.dtype.kind not in "fc":
        raise InvalidInput(f"{name} must be {kind}; its dtype is {x.dtype}.")
    if x.ndim < len(manifold.shape) or x.shape[x.ndim - len(manifold.shape) :] != manifold.shape:
        raise InvalidInput(
            f"{name} has shape {tuple(x.shape)}; points of {manifold!r} have shape {manifold.shape}, "
            f"so {name} must have shape (..., {', '.join(map(str, manifold.shape))})."
        )
    if x.dtype.kind == "c" and not manifold.is_complex:
        raise InvalidInput(
            f"{name} is complex, but the points of {manifold!r} are real. Pass {name}.real if the imaginary part is 0."
        )
    xp = namespace(x)
    if manifold.is_complex and x.dtype.kind == "f":
        x = x + 0j
    axes = tuple(range(x.ndim - len(manifold.shape), x.ndim))
    finite = np.asarray(xp.all(xp.isfinite(x), axis=axes))
    if not finite.all():
        where = _first(name, ~finite)
        raise OffManifold(f"{where} is not finite (NaN or infinity). Remove or impute it before the fit.")
    if np.isinf(tolerance):
        return x
    large = np.asarray(xp.max(xp.abs(x), axis=axes), dtype=float) if math.prod(x.shape) else np.zeros(1)
    if (large > EXTREME).any():
        raise InvalidInput(
            f"{_first(name, large > EXTREME)} has an entry of size {large.max():.1e} > {EXTREME:g}: its square leaves "
            "floating point. Change the unit."
        )
    single = x.dtype.itemsize // (2 if x.dtype.kind == "c" else 1) < 8
    limit = max(tolerance, SINGLE_TOLERANCE) if single else tolerance
    defect = np.asarray(manifold.defect(x))
    if (defect > limit).any():
        value = defect.flat[np.argmax(defect > limit)]
        far = " So far off is no rounding: check the data, the units and the order of the columns first."
        raise OffManifold(
            f"{_first(name, defect > limit)} is not on {manifold!r}: {manifold.violation} = {value:.1e} > {limit:.0e}. "
            f"{manifold.remedy}{far if value > FAR_OFF else ''}"
        )
    warn_of_degrees(manifold, x, name)
    return x


def points_to_project(manifold: Manifold, x: object) -> np.ndarray:
    """x as an array in double precision, finite and of the shape of points, however far from the manifold."""
    points = np.asarray(check_points(manifold, x, "x", tolerance=np.inf))
    return points.astype(complex if manifold.is_complex else float)


def refuse(manifold: Manifold, bad: np.ndarray, reason: str) -> None:
    """Raise OffManifold, with the first bad place of x and the reason why it has no nearest point, if there is one."""
    if bad.any():
        raise OffManifold(f"{_first('x', bad)} has no nearest point on {manifold!r}: {reason}. Check or remove it.")


def as_floats(x: Any, name: str, kind: str = "numbers") -> Array:
    """x as a floating array: those of other libraries pass, all else becomes a NumPy array, integers become doubles."""
    if isinstance(x, (np.ndarray, type)) or not hasattr(x, "__array_namespace__"):
        x = as_array(x, name, kind)
        return x.astype(float) if x.dtype.kind in "iu" else x
    return x


def warn_of_degrees(manifold: Manifold, x: Array, name: str) -> None:
    """Warn where a coordinate that is an angle is more than one turn away from zero."""
    if manifold.periodic is None or not isinstance(x, np.ndarray):
        return
    angles = np.array([period == 2 * math.pi for period in manifold.periodic])
    beyond = angles & (np.abs(x) > 2 * math.pi * (1 + 1e-9))
    if beyond.any():
        warn(
            f"{_first(name, beyond)} = {x.flat[np.argmax(beyond)]:g} is beyond 2 pi, and angles of {manifold!r} are in "
            f"radians. Pass numpy.radians({name}) if they are in degrees, numpy.remainder({name}, 2 * numpy.pi) if "
            "they are not.",
            InputWarning,
        )


def checked_random(random: Callable) -> Callable:
    """A manifold's `random` that takes seeds too, and refuses numbers of points that are none or do not fit."""

    @wraps(random)
    def checked(self: Manifold, rng: Any, n: int, *more: Any, **named: Any) -> Array:
        count = check_count("n", n, 0)
        size = 8.0 * math.prod(self.shape) * (2 if self.is_complex else 1)
        check_memory(count * size, f"{n} points of {self!r}", "Ask for less.")
        return random(self, generator(rng), count, *more, **named)

    return checked


def checked_pair(function: Callable) -> Callable:
    """A manifold's function of two arrays of points or tangent vectors that takes lists too, and names wrong shapes."""

    second = list(inspect.signature(function).parameters)[2]

    @wraps(function)
    def checked(self: Manifold, x: Any, *more: Any, **named: Any) -> Array:
        if second in named:
            more = (named.pop(second), *more)
        if not more:
            return function(self, x, **named)  # the error of a missing argument
        y, *more_than_two = more
        called = f"{type(self).__name__}.{function.__name__}"
        x, y = _part(self, x, f"the first argument of {called}"), _part(self, y, f"the second argument of {called}")
        try:
            np.broadcast_shapes(x.shape, y.shape)
        except ValueError:
            raise InvalidInput(
                f"{called} got shapes {tuple(x.shape)} and {tuple(y.shape)}, whose batch axes do not broadcast. All "
                "pairs are x[:, None] and y[None]."
            ) from None
        try:
            return function(self, x, y, *more_than_two, **named)
        except np.linalg.LinAlgError:
            raise InvalidInput(
                f"{called} has no answer: an argument is not finite, too large, or no point of {self!r}."
            ) from None

    return checked


def _part(manifold: Manifold, x: Any, name: str) -> Array:
    """x as a floating array of the shape of points, complex only where points are."""
    x = as_floats(x, name)
    axes = len(manifold.shape)
    if x.ndim < axes or tuple(x.shape[x.ndim - axes :]) != tuple(manifold.shape):
        raise InvalidInput(f"{name} has shape {tuple(x.shape)}; points of {manifold!r} have shape {manifold.shape}.")
    if isinstance(x, np.ndarray) and (x.dtype.kind == "b" or (x.dtype.kind == "c" and not manifold.is_complex)):
        raise InvalidInput(f"{name} has dtype {x.dtype}; the points of {manifold!r} are real numbers.")
    return x


CHECKED = {"random": checked_random, "exp": checked_pair, "log": checked_pair, "distance": checked_pair}
"""The members of a manifold that users call by hand, and how their arguments are checked."""


def _first(name: str, bad: np.ndarray) -> str:
    """`name[3]`, the place of the first True; plain `name` for a single point."""
    index = ", ".join(str(int(i)) for i in np.unravel_index(np.argmax(bad), bad.shape))
    return f"{name}[{index}]" if index else name
