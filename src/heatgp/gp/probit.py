"""Two classes: p(y | f) = Phi(y f), y = -1 or 1, where a share of the labels may have been drawn at random."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

from ..covariance import Array
from .label_noise import in_label_noise, with_label_noise
from .likelihood import Likelihood
from .parameters import LogNormal

LABEL_NOISE = (1e-4, 0.5)
"""The interval in which the share of random labels is searched for."""
WEAK_PRIORS = {"amplitude": LogNormal(median=2.0, spread=9.0), "label_noise": LogNormal(median=0.002, spread=2.0)}
"""Weak priors of classes: where the prior variance of f is 0.01 it is a constant, where it is 10,000 labels have no
noise; of the share of random labels from 1 in 25,000 to 1 in 10."""
STARTS = ({"label_noise": 0.005}, {"label_noise": 0.15, "amplitude": 100.0})
"""Labels that f explains, with a short time and a small variance, or random labels beside a large f of a long time."""
TIME_EDGE = 1.0
"""How many standard deviations from the middle of its weak prior the bounds of a time of classes are."""


@dataclass(frozen=True)
class Probit(Likelihood):
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

    bounds: ClassVar = {"label_noise": LABEL_NOISE}
    weak_priors: ClassVar = WEAK_PRIORS
    time_edge: ClassVar = TIME_EDGE
    starts: ClassVar = STARTS
    limits: ClassVar = frozenset({"label_noise"})  # none are random, or so many that labels say little

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


WITHOUT_NOISE = Probit()
"""Labels none of which were drawn at random."""


def hazard(z: Array) -> Array:
    """N(z) / Phi(z), the derivative of log Phi; without under- or overflow."""
    return np.sqrt(2 / np.pi) / erfcx(-z / np.sqrt(2))
