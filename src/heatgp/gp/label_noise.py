"""Labels of which a share was drawn at random: p = (1 - noise) p0 + noise / classes."""

import numpy as np

from ..covariance import Array


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
