"""The prior covariance of the data as a function of the kernel's time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..covariance import Array, Evaluation, Kernel, TimeFunction
from ..errors import NotPositiveDefinite
from .linalg import Dense, LowRank

Pairs = TimeFunction | None
"""`kernel.pairs(X)` of the data where the caller has it already, else None."""


@dataclass(frozen=True)
class Prior:
    """The covariance of the data at amplitude 1, in one of the forms of `linalg`.

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
        return cls(kernel.pairs(X) if pairs is None else pairs, Dense, dense)

    def at(self, time: Any, free: Sequence[int] = ()) -> tuple[Array, list[Array]]:
        """The values at one time, and their derivatives in those log times whose numbers are `free`.

        Arrays are returned, not the evaluation, which would keep all arrays that it was computed from.
        """
        found = self.function.at(time)
        slopes = [found.slopes[k] for k in free]  # asked before the values: some kernels compute both
        return found.value, slopes

    def height(self, values: Array) -> float:
        """The mean prior variance of the data."""
        height = float(np.mean(self.form.variances(values)))
        if not 0 < height < np.inf:
            raise NotPositiveDefinite(
                f"the mean prior variance of {len(values)} points is {height:.2e} and must be positive and finite. "
                "Check the kernel's values."
            )
        return height

    def height_slopes(self, values: Array, slopes: Sequence[Array]) -> Array:
        """The derivatives of log height, one for each slope."""
        return np.array([np.mean(self.form.variances(values, slope)) for slope in slopes]) / self.height(values)


def remembered(function: TimeFunction) -> TimeFunction:
    """The same values, computed once for each time."""
    kept: dict[Any, Array] = {}

    def at(time: Any) -> Evaluation:
        if time not in kept:
            kept[time] = function.at(time).value
        return Evaluation(lambda: kept[time])

    return TimeFunction(at)
