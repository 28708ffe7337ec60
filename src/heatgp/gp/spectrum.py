"""The prior covariance of the data in coordinates in which it is diagonal and their noise is the same for all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from ..covariance import Array
from .linalg import JITTER, LowRank
from .targets import Targets


@dataclass(frozen=True)
class Spectrum:
    """D K D = U diag(eigenvalues) U', D = diag(scale): new coordinates are U' D y.

    D makes the noise the same for all data where it is not; it leaves the mean prior variance what it is.
    """

    eigenvalues: Array
    vectors: Array  # U, (N, N)
    scale: Array  # (N,)
    noise: float  # the variance of the noise in these coordinates over the parameter `noise`

    @classmethod
    def of(cls, form: Any, values: Array, height: float, noise: Array) -> Spectrum:
        """From the values of a prior at a time, their height and the relative variances of the noise of the data."""
        K = values @ values.T if form is LowRank else values
        noise = np.maximum(noise, JITTER * noise.max())
        scale = 1.0 / np.sqrt(noise) if noise.any() else np.ones(len(K))
        scale = scale * np.sqrt(height / np.mean(scale**2 * np.diagonal(K)))
        eigenvalues, vectors = linalg.eigh(K * np.outer(scale, scale), driver="evd", check_finite=False)
        return cls(eigenvalues, vectors, scale, float(np.mean(noise * scale**2)))

    def rotated(self, data: Targets) -> Targets:
        """The data in these coordinates."""
        return data.mapped(self.vectors.T * self.scale, self.noise, float(np.log(self.scale).sum()))
