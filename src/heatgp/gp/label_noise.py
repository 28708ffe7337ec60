"""Labels of which a share was drawn at random: p = (1 - noise) p0 + noise / classes."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..covariance import Array
from .likelihood import Likelihood
from .parameters import LogNormal

LABEL_NOISE = (1e-4, 0.5)
"""The interval in which the share of random labels is searched for."""
TIME_EDGE = 1.0
"""How many standard deviations from the middle of its weak prior the bounds of a time of classes are."""


@dataclass(frozen=True)
class LabelLikelihood(Likelihood):
    """What likelihoods of labels share, of which each has the field `label_noise`.

    Where the prior variance of f is 0.01 it is a constant, where it is 10,000 labels have no noise; the weak prior of
    the share of random labels is from 1 in 25,000 to 1 in 10. The search starts with labels that f explains, with a
    short time and a small variance, and with random labels beside a large f of a long time.
    """

    bounds: ClassVar = {"label_noise": LABEL_NOISE}
    weak_priors: ClassVar = {
        "amplitude": LogNormal(median=2.0, spread=9.0),
        "label_noise": LogNormal(median=0.002, spread=2.0),
    }
    time_edge: ClassVar = TIME_EDGE
    starts: ClassVar = ({"label_noise": 0.005}, {"label_noise": 0.15, "amplitude": 100.0})
    limits: ClassVar = frozenset({"label_noise"})  # none are random, or so many that labels say little


def with_label_noise(
    log_z: Array, first: Array, curvature: Array, noise: float, classes: int
) -> tuple[Array, Array, Array]:
    """`Likelihood.tilted` with label noise, from the same without.

    With w the probability that the label was not drawn at random, given what it is, the first derivative of log Z is
    w times that without noise, and w' = w (1 - w) first.
    """
    if noise == 0:
        return log_z, first, curvature
    with_noise = np.logaddexp(np.log1p(-noise) + log_z, np.log(noise / classes))
    w = np.exp(np.log1p(-noise) + log_z - with_noise)
    return with_noise, w * first, w * curvature - w * (1 - w) * first**2


def in_label_noise(log_z: Array, noise: float, classes: int) -> Array:
    """d log Z / d log noise, from log Z without noise."""
    z = np.exp(log_z)
    return noise * (1 / classes - z) / ((1 - noise) * z + noise / classes)
