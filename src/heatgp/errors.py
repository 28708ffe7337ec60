"""What can go wrong, said with the value, the limit and the remedy."""

from __future__ import annotations


class HeatGPError(Exception):
    """Base of every error that the library raises on purpose."""


class InvalidInput(HeatGPError, ValueError):
    """An argument is outside what the function accepts."""


class OffManifold(InvalidInput):
    """A point violates the constraints of its manifold."""


class Unsupported(HeatGPError, NotImplementedError):
    """The manifold has no such operation, or nobody knows a formula for it."""


class NotConverged(HeatGPError, RuntimeError):
    """An iteration stopped before it reached its tolerance."""


class NotPositiveDefinite(HeatGPError, ValueError):
    """A covariance matrix has an eigenvalue that rounding cannot explain."""


class HeatGPWarning(UserWarning):
    """Base of every warning that the library gives on purpose."""


class BoundWarning(HeatGPWarning):
    """A fitted parameter sits on a bound of its search interval."""


class AccuracyWarning(HeatGPWarning):
    """The result stands, but with a larger error than asked for or expected."""
