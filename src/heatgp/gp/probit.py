"""Two classes: p(y | f) = Phi(y f), y = -1 or 1, where a share of the labels may have been drawn at random."""

from dataclasses import dataclass

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

from ..covariance import Array
from .label_noise import LabelLikelihood, in_label_noise, with_label_noise


@dataclass(frozen=True)
class Probit(LabelLikelihood):
    """p(y | f) = (1 - label_noise) Phi(y f) + label_noise / 2.

    Parameters
    ----------
    label_noise : number from 0 to 1, default 0, the share of labels that were drawn at random; None to learn it.

    Examples
    --------
    >>> Probit(label_noise=0.1).probability(np.array([0.0, 100.0]), np.array([1.0, 1.0]))
    array([0.5 , 0.95])
    """

    label_noise: float | None = 0.0

    def tilted(self, y: Array, mean: Array, variance: Array) -> tuple[Array, Array, Array]:
        """Reference: Rasmussen & Williams (2006), eq. 3.58: with h the hazard, -(log Z)'' = h (z + h) / (1 + v)."""
        scale = np.sqrt(1.0 + variance)
        z = y * mean / scale
        h = hazard(z)
        return with_label_noise(log_ndtr(z), y * h / scale, h * (z + h) / scale**2, self._noise, 2)

    def in_parameters(self, y: Array, mean: Array, variance: Array, names: list[str]) -> Array:
        log_z = log_ndtr(y * mean / np.sqrt(1.0 + variance))
        return np.array([in_label_noise(log_z, self._noise, 2).sum() for _ in names])

    def probability(self, mean: Array, variance: Array) -> Array:
        """The probability of y = 1, averaged over f ~ N(mean, variance).

        Reference: Rasmussen & Williams (2006), eq. 3.77.
        """
        return (1 - self._noise) * ndtr(mean / np.sqrt(1.0 + variance)) + self._noise / 2

    @property
    def _noise(self) -> float:
        assert self.label_noise is not None  # inference is done at known parameters
        return self.label_noise


def hazard(z: Array) -> Array:
    """N(z) / Phi(z), the derivative of log Phi; without under- or overflow."""
    return np.sqrt(2 / np.pi) / erfcx(-z / np.sqrt(2))
