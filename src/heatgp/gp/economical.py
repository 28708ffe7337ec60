"""Dense covariances that a few points carry, factored in these points: what a search for parameters needs of one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..covariance import Array
from .linalg import Dense, LowRank
from .pivoted import NEGLIGIBLE, Root

LEAST = 300
"""Data below which a dense factorisation is as fast."""
SHARE = 4
"""The rank is at most one part in so many of the number of data."""
EVIDENCE = 1e-8
"""What the rest of the covariance may change a log evidence by."""


@dataclass(frozen=True)
class Economical(LowRank):
    """K = F F', as `LowRank`, but for slopes, which are those of K."""

    @classmethod
    def root(cls, form: Any, K: Array, share: float = NEGLIGIBLE) -> Root | None:
        """The points that carry K, but for a share of its largest variance; None where they are too many."""
        return Root.of(K, len(K) // SHARE, share) if form is Dense and len(K) >= LEAST else None

    @cached_property
    def _inverse(self) -> Array:
        """R."""
        white = self._whitened * self.precision
        R = -(white.T @ white)
        R.flat[:: len(R) + 1] += self.precision
        return R

    def slope(self, change: Array, u: Array, v: Array) -> float:
        return float(np.vdot(u, change @ v) - 0.5 * np.vdot(self._inverse, change))


def factored(form: Any, values: Array, precision: Array) -> Any:
    """The factor of a form, in few points where these carry a dense covariance."""
    if form is Dense and len(values) >= LEAST:
        share = 2.0 * EVIDENCE / (float(np.max(precision)) * len(values) * float(np.diagonal(values).max()))
        root = Economical.root(form, values, share)
        if root is not None:
            return Economical.of(root.F, precision)
    return form.of(values, precision)
