"""The covariance of groups of data, of one size, that are taken to be independent of each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...covariance import Array
from ..factors import not_positive_definite


@dataclass(frozen=True)
class Blocks:
    """A form of a covariance as in `factors`: its values are the blocks on the diagonal, (b, n, n)."""

    precision: Array  # s, (b n,)
    inverse: Array  # R, (b, n, n)
    log_det: float

    power = 1.0

    @classmethod
    def of(cls, K: Array, precision: Array | float) -> Blocks:
        blocks, size = K.shape[:2]
        s = np.broadcast_to(precision, blocks * size)
        root = np.sqrt(s).reshape(blocks, size)
        B = root[:, :, None] * K * root[:, None, :]
        B[:, range(size), range(size)] += 1.0
        try:
            lower = np.linalg.cholesky(B)
        except np.linalg.LinAlgError:
            raise not_positive_definite(blocks * size, float(np.linalg.eigvalsh(B).min())) from None
        log_det = 2.0 * float(np.log(cls.variances(lower)).sum())
        return cls(s, root[:, :, None] * np.linalg.inv(B) * root[:, None, :], log_det)

    @staticmethod
    def variances(K: Array, slope: Array | None = None) -> Array:
        """The diagonal of K, or its derivative for a slope of K, (b, n)."""
        return np.diagonal(K if slope is None else slope, axis1=-2, axis2=-1)

    def solve(self, v: Array) -> Array:
        """R v."""
        return self._times(self.inverse, v)

    def inverse_diagonal(self) -> Array:
        """The diagonal of R."""
        return self.variances(self.inverse).ravel()

    def slope(self, dK: Array, u: Array, v: Array) -> float:
        """u' dK v - tr(R dK) / 2, summed over columns."""
        return float(np.vdot(u, self._times(dK, v)) - 0.5 * np.vdot(self.inverse, dK))

    @staticmethod
    def _times(blocks: Array, v: Array) -> Array:
        return (blocks @ v.reshape(*blocks.shape[:2], -1)).reshape(v.shape)
