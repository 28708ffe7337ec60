"""What can go wrong, said with the value, the limit and the remedy."""

from __future__ import annotations

import sys
import warnings


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


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line of the user's own code that called the library."""
    library, level, caller, frame = __name__.partition(".")[0], 1, 1, sys._getframe(0)
    while frame.f_back is not None:
        level += 1
        if frame.f_globals.get("__name__", "").partition(".")[0] == library:
            caller = level  # the outermost frame of the library so far was called from here
        frame = frame.f_back
    warnings.warn(message, category, stacklevel=caller)


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
