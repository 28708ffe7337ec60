"""The covariance of compressed data, in the form that regression takes.

N data are replaced by r rows with the same inner products, and one more row for all directions that neither features
nor the mean explain: its value is the root of the sum of squares there, and it stands for N - r of them. The variance
that the features leave unexplained is taken off the evidence, divided by the noise, which makes it a lower bound.

Reference: Titsias (2009), eq. 9.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...covariance import Array
from ..factors import Dense


@dataclass(frozen=True)
class Explained:
    """Values of `Compressed`, or their derivatives."""

    rows: Array  # (r, r), the covariance of the rows
    left: float  # the mean prior variance of the data that the features leave unexplained

    __array_ufunc__ = None  # a number of NumPy times this is `__rmul__`, not an array of objects

    def __rmul__(self, factor: float) -> Explained:
        return Explained(factor * self.rows, factor * self.left)


@dataclass(frozen=True)
class Compressed:
    """A form of a covariance as in `factors`: that of the rows of compressed data of prior variance 1.

    The last row has no part in f.
    """

    weight: float  # the sum over data of one over their relative noise
    repeats: int  # how many more observations than one the last row stands for
    power: float = 1.0

    def of(self, values: Explained, precision: Array | float) -> CompressedFactor:
        dense = Dense.of(values.rows, precision)
        return CompressedFactor(values.rows, dense.precision, dense.lower, self.weight, values.left, self.repeats)

    @staticmethod
    def variances(values: Explained, slope: Explained | None = None) -> Array:
        """Those of the data, not of the rows."""
        return np.ones(1) if slope is None else np.zeros(1)


@dataclass(frozen=True)
class CompressedFactor(Dense):
    """Dense, with what is left of the prior variances and with the repeats of the last row."""

    weight: float
    left: float
    repeats: int

    @property
    def lost(self) -> float:
        """The sum over data of the prior variance that is not explained, over the noise."""
        return float(self.precision[-1]) * self.weight * self.left

    @property
    def log_det(self) -> float:
        return super().log_det - self.repeats * float(np.log(self.precision[-1])) + self.lost

    def inverse_diagonal(self) -> Array:
        found = super().inverse_diagonal()
        found[-1] += self.precision[-1] * (self.repeats - self.lost)
        return found

    def slope(self, change: Any, u: Array, v: Array) -> float:
        return super().slope(change.rows, u, v) - 0.5 * float(self.precision[-1]) * self.weight * change.left
