"""What can go wrong, said with the value, the limit and the remedy."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import RLock
from typing import Any, NamedTuple


class HeatGPError(Exception):
    """Base of every error that the library raises on purpose."""


class InvalidInput(HeatGPError, ValueError):
    """An argument is outside what the function accepts."""


class WrongType(InvalidInput, TypeError):
    """An argument holds something of a type that no rule turns into a number."""


class OffManifold(InvalidInput):
    """A point violates the constraints of its manifold."""


class Unsupported(HeatGPError, NotImplementedError):
    """The manifold has no such operation, or nobody knows a formula for it."""


class NotConverged(HeatGPError, RuntimeError):
    """An iteration stopped before it reached its tolerance."""


class NotPositiveDefinite(HeatGPError, ValueError):
    """A covariance matrix has an eigenvalue that rounding cannot explain."""


class OfRow(NamedTuple):
    """A message that names a row of the data, for errors and warnings.

    Examples
    --------
    >>> error = InvalidInput(OfRow("y[", 3, "] = inf is not finite."))
    >>> str(error)
    'y[3] = inf is not finite.'
    """

    before: str
    row: int
    after: str

    def __str__(self) -> str:
        return f"{self.before}{self.row}{self.after}"


def renumbered(message: Any, rows: Any) -> Any:
    """The message with the number of its row in all data, of which some `rows` were given; others as they are.

    `rows` are the numbers of these rows, or that of the first where they follow each other.
    """
    if not isinstance(message, OfRow):
        return message
    row = rows + message.row if isinstance(rows, int) else int(rows[message.row])
    return message._replace(row=row)


class Caught(NamedTuple):
    """A warning that `caught_warnings` kept."""

    message: str | OfRow
    category: type[Warning]


class _Catch(NamedTuple):
    """The categories of warnings that are kept, and those that were."""

    category: type[Warning]
    kept: list[Caught]


_CATCHES: ContextVar[tuple[_Catch, ...]] = ContextVar("catches", default=())
_FILTERS = RLock()


def warn(message: str | OfRow, category: type[Warning]) -> None:
    """Warn at the line of the user's own code that called the library, or inside `caught_warnings` keep the warning."""
    for catch in reversed(_CATCHES.get()):
        if issubclass(category, catch.category):
            catch.kept.append(Caught(message, category))
            return
    library, level, caller, frame = __name__.partition(".")[0], 1, 1, sys._getframe(0)
    while frame.f_back is not None:
        level += 1
        if frame.f_globals.get("__name__", "").partition(".")[0] == library:
            caller = level  # the outermost frame of the library so far was called from here
        frame = frame.f_back
    warnings.warn(str(message), category, stacklevel=caller)


@contextmanager
def caught_warnings(category: type[Warning] = Warning) -> Iterator[list[Caught]]:
    """Keep the library's own warnings of a category in a list; the caller decides which to give.

    The filters of `warnings` belong to the whole process and are not touched: other threads keep their warnings.

    Examples
    --------
    >>> with caught_warnings() as caught:
    ...     warn("the bound is reached", BoundWarning)
    >>> caught[0].message
    'the bound is reached'
    """
    catch = _Catch(category, [])
    token = _CATCHES.set((*_CATCHES.get(), catch))
    try:
        yield catch.kept
    finally:
        _CATCHES.reset(token)


def warn_again(caught: list[Caught]) -> None:
    """Give warnings that `caught_warnings` kept."""
    for warning in caught:
        warn(*warning)


@contextmanager
def without_warnings_of_others(*categories: type[Warning], message: str = "") -> Iterator[None]:
    """Ignore warnings of other libraries, which can be silenced by the filters of the process alone.

    One thread at a time is inside, so that each restores the filters that it found.
    """
    with _FILTERS, warnings.catch_warnings():
        for category in categories:
            warnings.filterwarnings("ignore", message, category)
        yield


class HeatGPWarning(UserWarning):
    """Base of every warning that the library gives on purpose."""


class InputWarning(HeatGPWarning):
    """An argument is possible, but looks like a mistake."""


class BoundWarning(HeatGPWarning):
    """A fitted parameter sits on a bound of its search interval."""


class SmallSampleWarning(HeatGPWarning):
    """Parameters were learned from so few data that intervals are too narrow."""


class CostWarning(HeatGPWarning):
    """A dense fit of many data takes long."""


class AccuracyWarning(HeatGPWarning):
    """The result stands, but with a larger error than asked for or expected."""
