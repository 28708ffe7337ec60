"""The prior covariance of the data as a function of the kernel's time."""

from __future__ import annotations

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

    @classmethod
    def of(cls, kernel: Kernel, X: Any, time: Any, pairs: Pairs = None) -> Prior:
        """Features where the kernel has fewer of them (their number is the same at all times) than there are points."""
        one = kernel.features(X[:1])
        if one is not None and one.at(time).value.shape[1] < len(X):
            features = kernel.features(X)
            assert features is not None
            return cls(features, LowRank)
        return cls(kernel.pairs(X) if pairs is None else pairs, Dense)

    def at(self, time: Any) -> Evaluation:
        """The values and their derivatives at one time."""
        return self.function.at(time)

    def height(self, at: Evaluation) -> float:
        """The mean prior variance of the data."""
        variances = self.form.variances(at).value
        height = float(np.mean(variances))
        if not 0 < height < np.inf:
            raise NotPositiveDefinite(
                f"the mean prior variance of {len(variances)} points is {height:.2e} and must be positive and finite. "
                "Check the kernel's values."
            )
        return height

    def height_slopes(self, at: Evaluation) -> Array:
        """The derivatives of log height in the log times: (parameters,)."""
        return self.form.variances(at).slopes.mean(axis=1) / self.height(at)

    def factor(self, at: Evaluation, precision: Array | float, amplitude: float = 1.0) -> Any:
        """The prior times an amplitude, with observations of these precisions, factored."""
        return self.form.of(at.value if amplitude == 1.0 else amplitude**self.form.power * at.value, precision)
