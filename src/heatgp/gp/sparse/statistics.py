"""What is kept of the data of a sparse regression: inner products, which add up over data."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from scipy import linalg

from ...covariance import Array
from .inducing import SAFE


@dataclass(frozen=True)
class Statistics:
    """Inner products of the columns [features, basis of the mean, targets] over all data; statistics of parts add up.

    Rows are divided by the root of the relative noise of the observation.
    """

    count: int
    gram: Array  # (m + q + 1, m + q + 1)
    basis: Array  # (q, q), of the basis alone, without that division
    weight: float  # the sum of one over the relative noise
    log_noise: float  # the sum of its logarithm

    @classmethod
    def of(cls, features: Array, basis: Array, y: Array, noise: Array | None = None) -> Statistics:
        """Of some data: their features (N, m), basis (N, q), targets (N,) and relative noise (N,), default ones."""
        columns, inner = np.column_stack([features, basis, y]), basis.T @ basis
        if noise is None:
            return cls(len(y), columns.T @ columns, inner, float(len(y)), 0.0)
        columns /= np.sqrt(noise)[:, None]
        return cls(len(y), columns.T @ columns, inner, float(np.sum(1.0 / noise)), float(np.log(noise).sum()))

    def __add__(self, other: Statistics) -> Statistics:
        return Statistics(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))

    def compressed(self, features: int) -> tuple[Array, Array, float]:
        """As few rows as possible with the same inner products, but for those of the last column with itself.

        Returns
        -------
        Rows of the features, (r, m), rows of all other columns, (r, q + 1), and the sum of squares of the last column
        that they leave.
        """
        first, rest = _rows(self.gram[:features, :features], self.gram[:features, features:])
        inner = self.gram[features:, features:] - rest.T @ rest
        second, last = _rows(inner[:-1, :-1], inner[:-1, -1:])
        others = np.block([[rest], [np.hstack([second, last])]])
        rows = np.vstack([first, np.zeros((len(second), features))])
        return rows, others, max(float(inner[-1, -1] - np.square(last).sum()), 0.0)


def _rows(gram: Array, cross: Array) -> tuple[Array, Array]:
    """R, C with R' R = gram and R' C = cross: without the directions that are rounding."""
    eigenvalues, vectors = linalg.eigh(gram, check_finite=False)
    kept = eigenvalues > SAFE * eigenvalues.max(initial=0.0)
    size, vectors = np.sqrt(eigenvalues[kept]), vectors[:, kept]
    return size[:, None] * vectors.T, (vectors.T @ cross) / size[:, None]
