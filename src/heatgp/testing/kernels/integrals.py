"""Integrals over a manifold, by random points that are where the integrand is."""

import math

import numpy as np
from scipy.special import gammainc, gammaincinv

from ...manifolds import Homogeneous, Manifold, Product, Scaled
from ..sample import Sample
from .sample import peak_time, volume_of

BLOCKS = 32
"""Independent parts of the random points: their spread is the standard error of an integral."""
SPREAD = 4.0
"""Uniform points serve from the time on at which the kernel's peak is this many times the uniform density."""


def focused(manifold: Manifold) -> bool:
    """Whether `weighted_points` finds a kernel at every time, however concentrated that is."""
    match manifold:
        case Product():
            return all(focused(factor) for factor in manifold.factors)
        case Scaled():
            return focused(manifold.base)
    return _is_radial(manifold)


def weighted_points(
    manifold: Manifold, centre: np.ndarray, time: float, rng: np.random.Generator, number: int
) -> tuple[np.ndarray, np.ndarray]:
    """Random points (BLOCKS, number, *shape) and weights, with which the mean of f over a block is its integral.

    Where all points at one distance are alike, the points are those of a Gaussian step from the centre; elsewhere, and
    after a time that spreads the kernel over the manifold, they are uniform.
    """
    match manifold:
        case Product():
            parts = [
                weighted_points(factor, part, time, rng, number)
                for factor, part in zip(manifold.factors, manifold.split(centre))
            ]
            return manifold.join(*(points for points, _ in parts)), np.prod([weight for _, weight in parts], axis=0)
        case Scaled():
            points, weight = weighted_points(manifold.base, centre, time / manifold.scale**2, rng, number)
            return points, weight * manifold.scale**manifold.dim
    volume = volume_of(manifold)
    if (
        isinstance(manifold, Homogeneous)
        and _is_radial(manifold)
        and (volume == math.inf or time < peak_time(manifold, SPREAD))
    ):
        return _gaussian_points(manifold, centre, time, rng, number)
    points = np.asarray(manifold.random(rng, BLOCKS * number)).reshape(BLOCKS, number, *manifold.shape)
    return points, np.full((BLOCKS, number), volume)


def _is_radial(manifold: Manifold) -> bool:
    """Whether the orbit coordinate is one, and is a multiple of the distance."""
    return isinstance(manifold, Homogeneous) and len(manifold.chamber) == 1 and manifold.chamber[0][0] == 0


def _gaussian_points(
    manifold: Homogeneous, centre: np.ndarray, time: float, rng: np.random.Generator, number: int
) -> tuple[np.ndarray, np.ndarray]:
    """A random direction and the length of a Gaussian vector, not beyond the cut locus.

    The length has the law of sqrt(time) chi; one of each of `number` equal parts of that law is drawn, so that radial
    functions are integrated almost exactly. A point at orbit coordinate theta has the density f(theta) / omega(theta).
    """
    m, sample = manifold.dim, Sample(manifold, rng, 0.0)
    v = sample.tangents(centre, BLOCKS * number)
    v = v / np.asarray(sample.speed(centre, v)).reshape(-1, *(1,) * len(manifold.shape))
    theta_of_unit = float(np.asarray(manifold.orbit(centre, sample.exp(centre, 0.01 * v[0])))[0]) / 0.01
    farthest = manifold.chamber[0][1] / theta_of_unit
    whole = float(gammainc(m / 2, farthest**2 / (2 * time)))
    share = (
        rng.permuted(np.tile(np.arange(number), (BLOCKS, 1)), axis=1) + rng.uniform(size=(BLOCKS, number))
    ) / number
    length = np.sqrt(2 * time * gammaincinv(m / 2, whole * share))
    points = sample.exp(centre, length.reshape(-1, *(1,) * len(manifold.shape)) * v)
    log_omega = np.asarray(manifold.log_strip(length[..., None] * theta_of_unit)) + math.log(theta_of_unit)
    log_density = (m - 1) * np.log(length) - length**2 / (2 * time) - math.log(whole)
    log_density -= (m / 2 - 1) * math.log(2) + math.lgamma(m / 2) + m / 2 * math.log(time)
    return np.asarray(points).reshape(BLOCKS, number, *manifold.shape), np.exp(log_omega - log_density)


def mean_and_error(blocks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean over the first axis, and its standard error."""
    return blocks.mean(axis=0), blocks.std(axis=0, ddof=1) / math.sqrt(len(blocks))
