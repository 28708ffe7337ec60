"""Checks of user input: parameters of manifolds, functions, boxes, and points."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import EXTREME, MOST, as_array, check_count, generator, is_integer
from ..array import Array, is_traced, namespace
from ..cost import check_memory
from ..errors import InputWarning, InvalidInput, OffManifold, OfRow, warn

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
    """Raise InvalidInput unless a user's function maps points x to real numbers in an array of one of the shapes."""
    values = function(x)
    shape = np.shape(values)
    message = f"{what} maps points of shape {x.shape} to shape {shape}; needed is {shapes[0]}, {needed} for each point."
    require(shape in shapes, f"{message} Write it over the last axes of x.")
    kind = np.asarray(values).dtype
    require(kind.kind in "biufO", f"{what} returns values of dtype {kind}; needed are real numbers.")


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


def check_points(
    manifold: Manifold, x: Array, name: str = "X", tolerance: float = TOLERANCE, *, degrees: bool = True
) -> Array:
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
    degrees : bool, default True
        Whether to warn of angles that may be in degrees.

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
    check_shape(manifold, tuple(x.shape), name)
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
        text = " is not finite (NaN or infinity). Remove or impute it before the fit."
        raise OffManifold(_of_first(name, ~finite, text))
    if np.isinf(tolerance):
        return x
    large = np.asarray(xp.max(xp.abs(x), axis=axes), dtype=float) if math.prod(x.shape) else np.zeros(1)
    if (large > EXTREME).any():
        text = f" has an entry of size {large.max():.1e} > {EXTREME:g}: its square leaves floating point. "
        raise InvalidInput(_of_first(name, large > EXTREME, f"{text}Change the unit."))
    single = x.dtype.itemsize // (2 if x.dtype.kind == "c" else 1) < 8
    limit = max(tolerance, SINGLE_TOLERANCE) if single else tolerance
    defect = np.asarray(manifold.defect(x))
    if (defect > limit).any():
        value = defect.flat[np.argmax(defect > limit)]
        far = " So far off is no rounding: check the data, the units and the order of the columns first."
        text = (
            f" is not on {manifold!r}: {manifold.violation} = {value:.1e} > {limit:.0e}. {manifold.remedy}"
            f"{far if value > FAR_OFF else ''}{manifold.converter(x.shape)}"
        )
        raise OffManifold(_of_first(name, defect > limit, text))
    if degrees:
        warn_of_degrees(manifold, x, name)
    return x


def check_shape(manifold: Manifold, shape: tuple[int, ...], name: str) -> None:
    """Raise InvalidInput unless arrays of this shape hold points."""
    if shape[max(len(shape) - len(manifold.shape), 0) :] != manifold.shape:
        raise InvalidInput(
            f"{name} has shape {shape}; points of {manifold!r} have shape {manifold.shape}, "
            f"so {name} must have shape (..., {', '.join(map(str, manifold.shape))}).{manifold.converter(shape)}"
        )


def points_to_project(manifold: Manifold, x: object) -> np.ndarray:
    """x as an array in double precision, finite and of the shape of points, however far from the manifold."""
    points = np.asarray(check_points(manifold, x, "x", tolerance=np.inf))
    return points.astype(complex if manifold.is_complex else float)


def refuse(manifold: Manifold, bad: np.ndarray, reason: str) -> None:
    """Raise OffManifold, with the first bad place of x and the reason why it has no nearest point, if there is one."""
    if bad.any():
        raise OffManifold(_of_first("x", bad, f" has no nearest point on {manifold!r}: {reason}. Check or remove it."))


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
        text = (
            f" = {x.flat[np.argmax(beyond)]:g} is beyond 2 pi, and angles of {manifold!r} are in radians. Pass "
            f"numpy.radians({name}) if they are in degrees, numpy.remainder({name}, 2 * numpy.pi) if they are not."
        )
        warn(_of_first(name, beyond, text), InputWarning)


_trusted: ContextVar[bool] = ContextVar("_trusted", default=False)
"""Whether arguments come from code that has checked its own; of this thread."""


def checked_random(random: Callable) -> Callable:
    """A manifold's `random` that takes seeds too, and refuses numbers of points that are none or do not fit."""

    @wraps(random)
    def checked(self: Manifold, rng: Any, n: int, *more: Any, **named: Any) -> Array:
        count = check_count("n", n, 0)
        size = 8.0 * math.prod(self.shape) * (2 if self.is_complex else 1)
        check_memory(count * size, f"{n} points of {self!r}", "Ask for less.")
        return _bound(random, self)(generator(rng), count, *more, **named)

    checked.unchecked = random  # type: ignore[attr-defined]
    return checked


def checked_function(name: str, check: Callable, function: Any) -> Callable:
    """A manifold's function of two arrays whose arguments are checked first; lists are accepted too.

    Parameters
    ----------
    name : str, of the function, for messages: that of a static method or a lambda may be another.
    check : function of the manifold, both arrays and the name of the call, to both arrays as they are passed on.
    function : what a class defines under the name: a method, a static method or any callable object.
    """
    try:
        second = list(inspect.signature(_bound(function, 0)).parameters)[1]
    except (ValueError, IndexError):  # built-in functions have no signature
        second = "y"

    @wraps(function)
    def checked(self: Manifold, x: Any, *more: Any, **named: Any) -> Array:
        if second in named:
            more = (named.pop(second), *more)
        if not more or _trusted.get():
            return _bound(function, self)(x, *more, **named)  # without more: the error of a missing argument
        y, *more_than_two = more
        called = f"{type(self).__name__}.{name}"
        x, y = _part(self, x, f"the first argument of {called}"), _part(self, y, f"the second argument of {called}")
        try:
            np.broadcast_shapes(x.shape, y.shape)
        except ValueError:
            raise InvalidInput(
                f"{called} got shapes {tuple(x.shape)} and {tuple(y.shape)}, whose batch axes do not broadcast. All "
                "pairs are x[:, None] and y[None]."
            ) from None
        token = _trusted.set(True)
        try:
            if not (is_traced(x) or is_traced(y)):
                check(self, x, y, called)
            return _bound(function, self)(x, y, *more_than_two, **named)
        except np.linalg.LinAlgError:
            raise InvalidInput(
                f"{called} has no answer: an argument is not finite, too large, or no point of {self!r}."
            ) from None
        finally:
            _trusted.reset(token)

    checked.unchecked = function  # type: ignore[attr-defined]
    return checked


def unchecked(method: Callable) -> Callable:
    """A bound method of a manifold without checks of arguments, its own and those of calls inside it: for inner loops.

    Examples
    --------
    >>> from heatgp import Sphere
    >>> unchecked(Sphere(1).exp)(np.array([1.0, 0.0]), np.array([0.0, np.pi])).round(12)
    array([-1.,  0.])
    """
    function = getattr(getattr(method, "__func__", None), "unchecked", None)
    if function is None:
        return method
    bound = _bound(function, method.__self__)  # type: ignore[attr-defined]

    def call(*arguments: Any) -> Any:
        token = _trusted.set(True)
        try:
            return bound(*arguments)
        finally:
            _trusted.reset(token)

    return call


def _bound(function: Any, instance: Any) -> Callable:
    """An attribute of a class as its instances have it: static methods and callable objects do not get the instance."""
    return function.__get__(instance, type(instance)) if hasattr(function, "__get__") else function


def _part(manifold: Manifold, x: Any, name: str) -> Array:
    """x as a floating array of the shape of points, complex only where points are."""
    x = as_floats(x, name)
    axes = len(manifold.shape)
    if x.ndim < axes or tuple(x.shape[x.ndim - axes :]) != tuple(manifold.shape):
        raise InvalidInput(
            f"{name} has shape {tuple(x.shape)}; points of {manifold!r} have shape {manifold.shape}."
            f"{manifold.converter(tuple(x.shape))}"
        )
    if isinstance(x, np.ndarray) and (x.dtype.kind == "b" or (x.dtype.kind == "c" and not manifold.is_complex)):
        raise InvalidInput(f"{name} has dtype {x.dtype}; the points of {manifold!r} are real numbers.")
    return x


def _check_two_points(manifold: Manifold, x: Array, y: Array, called: str) -> None:
    check_points(manifold, np.asarray(x), f"the first argument of {called}", degrees=False)
    check_points(manifold, np.asarray(y), f"the second argument of {called}", degrees=False)


def _check_first_point(manifold: Manifold, x: Array, v: Array, called: str) -> None:
    check_points(manifold, np.asarray(x), f"the first argument of {called}", degrees=False)


def _check_point_and_tangent(manifold: Manifold, x: Array, v: Array, called: str) -> None:
    x, v = np.asarray(x), np.asarray(v)
    check_points(manifold, x, f"the first argument of {called}", degrees=False)
    name, axes = f"the second argument of {called}", tuple(range(-len(manifold.shape), 0))
    finite = np.isfinite(v).all(axis=axes)
    if not finite.all():
        raise InvalidInput(_of_first(name, ~finite, " is not finite (NaN or infinity)."))
    if not v.size:
        return
    large = np.abs(v).max(axis=axes).astype(float)
    if (large > EXTREME).any():
        text = f" has an entry of size {large.max():.1e} > {EXTREME:g}: its square leaves floating point. "
        raise InvalidInput(_of_first(name, large > EXTREME, f"{text}Pass a shorter vector."))
    off, size = (np.abs(part).max(axis=axes) for part in (v - np.asarray(manifold.to_tangent(x, v)), v))
    rounding = 100 * max(np.finfo(part.dtype).eps for part in (x, v)) * np.abs(x).max(axis=axes, initial=0.0)
    limit = 10 * max(_tolerance(part) for part in (x, v))
    bad = off > limit * size + rounding
    if bad.any():
        part = float((off / np.where(size > 0, size, 1.0))[bad].flat[0])
        text = (
            f" is not a tangent vector of {manifold!r}: its normal part is {part:.1e} > {limit:.0e} of its size. Use "
            "M.to_tangent(x, v), its tangential part."
        )
        raise OffManifold(_of_first(name, bad, text))


def _tolerance(x: np.ndarray) -> float:
    """How far points of this precision may be off their manifold."""
    return TOLERANCE if np.finfo(x.dtype).eps < 1e-10 else SINGLE_TOLERANCE


CHECKED: dict[str, Callable[[Any], Callable]] = {
    "random": checked_random,
    "exp": partial(checked_function, "exp", _check_point_and_tangent),
    "log": partial(checked_function, "log", _check_two_points),
    "distance": partial(checked_function, "distance", _check_two_points),
    "to_tangent": partial(checked_function, "to_tangent", _check_first_point),
    "gradient": partial(checked_function, "gradient", _check_first_point),
}
"""The members of a manifold that users call by hand, and how their arguments are checked."""


def _of_first(name: str, bad: np.ndarray, text: str) -> str | OfRow:
    """A message of the first True, `name[3]` and the text; of a single point plain `name` and the text."""
    row, *others = (*map(int, np.unravel_index(np.argmax(bad), bad.shape)), None)
    if row is None:
        return f"{name}{text}"
    return OfRow(f"{name}[", row, "".join(f", {i}" for i in others[:-1]) + f"]{text}")
