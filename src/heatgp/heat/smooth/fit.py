"""The smooth estimate: one log-density for all times, fitted to simulated paths around the short-time expansion.

The paths enter through the means of the features t^j y^k (see `density`), the sufficient statistics of an exponential
family; every time feeds one fit. Two laws of nature join them: mass one at each time, and the size that curvature
gives the coefficients (that of t² is (|Rm|² - |Ric|²)/720 at theta = 0), a normal prior that shrinks what the paths
do not tell. The errors are those of the posterior, with paths, not positions, as the independent units. On small
spaces the laws say more than 10^5 paths, which then only have to agree; in ten dimensions and more the paths tell.

Reference: Ye, Niu, Cheung, Dai, Liu (2024) for the simulation; Efron and Tibshirani (1996), Ann. Statist. 24,
2431-2461, for densities of this form; Liang and Zeger (1986), Biometrika 73, 13-22, for the errors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...errors import AccuracyWarning, InvalidInput, Unsupported, warn
from ...manifolds.contract import Manifold, Symmetric
from ...paths.samples import Samples
from ..special.spherical import NODES, chamber_nodes
from .density import Features, SmoothProfile
from .expansion import Expansion

MASS_TOLERANCE = 1e-4
"""How well the form of the density can have mass one, apart from paths that pass the cut locus."""
DESIGN = (6, 1 / 4, 64)
"""Times at which paths are read, the first of them as a share of the last, and steps to the last."""
FEW_PATHS = 100
"""Below this the covariance of the features says little."""
DISAGREEMENT = 5.0
"""Standard errors between paths and fit that are no chance."""
LARGEST_LOG = 650.0
"""Logarithm of the largest density; that of the largest number is 709."""
ROUNDING = 1e-12
"""Of the features, whose sizes are far above it."""


def default_design(manifold: Symmetric, time: float) -> tuple[np.ndarray, float]:
    """Times and step of a simulation that serves the smooth estimate up to the given time.

    Late positions tell most; none is needed beyond the horizon of the expansion.
    """
    last = min(time, Expansion(manifold).horizon)
    number, first, steps = DESIGN
    return np.geomspace(first, 1, number) * last, last / steps


def smooth_profile(samples: Samples) -> SmoothProfile:
    """The smooth estimate of the heat kernel of a symmetric space of rank one to three.

    Positions later than the horizon of the expansion are not used; the estimate itself holds for all times.

    >>> from heatgp import Sphere
    >>> from heatgp.paths.samples import orbit_samples
    >>> times, step = default_design(Sphere(2), 0.3)
    >>> profile = smooth_profile(orbit_samples(Sphere(2), times, paths=1000, step=step, rng=0))
    >>> (4 * np.pi * profile.at(50.0)(np.zeros(1))).round(6)  # the uniform law in the end
    np.float64(1.0)
    """
    manifold = smoothable(samples.manifold)
    if samples.paths < FEW_PATHS:
        warn(
            f"{samples.paths} paths on {manifold!r} are too few for errors that can be trusted; "
            f"simulate {FEW_PATHS} or more.",
            AccuracyWarning,
        )
    expansion, features = Expansion(manifold), Features(manifold)
    late = expansion.horizon * 1.05  # effective times are a little later than those of the design
    times = samples.effective_times[samples.effective_times <= late]
    if not times.size:
        raise InvalidInput(
            f"the smooth estimate on {manifold!r} uses paths up to time {late:.3g}; the first of the samples is "
            f"{samples.times[0]:.3g}. Simulate at the times of default_design."
        )
    paths = np.sum([features(theta, t) for theta, t in zip(samples.theta, times)], axis=0)
    stages = [Stage.at(expansion, features, t) for t in times]
    shifted = [Stage.at(expansion, features, t * (1 + step_bias(samples))) for t in times]
    coefficients, covariance = posterior(paths, stages, shifted)
    fitted, moved = (sum(stage.moments(coefficients)[1] for stage in group) for group in (stages, shifted))
    spread = paths.std(axis=0) / math.sqrt(samples.paths) + np.abs(moved - fitted) + ROUNDING
    gap = np.max(np.abs(paths.mean(axis=0) - fitted) / spread, initial=0)
    if gap > DISAGREEMENT:
        warn(
            f"the paths on {manifold!r} are {gap:.1f} standard errors from what its curvature and mass one allow. "
            f"Make the step, {samples.step:g}, smaller; or its roots are not those of its walk.",
            AccuracyWarning,
        )
    return SmoothProfile(manifold, coefficients, covariance)


def smoothable(manifold: Manifold) -> Symmetric:
    """The manifold, if it is one for the smooth estimate, or an error that names another method."""
    if not isinstance(manifold, Symmetric):
        raise Unsupported(
            f"{manifold!r} is not a symmetric space: the smooth estimate has no expansion to start from. "
            "Use method='auto', the best there is."
        )
    if not manifold.roots.is_compact:
        raise Unsupported(
            f"{manifold!r} has infinite volume: the smooth estimate has no spherical functions to go on with at long "
            "times. Use method='auto', the best there is."
        )
    if manifold.rank not in NODES:
        raise Unsupported(
            f"{manifold!r} has rank {manifold.rank}; the smooth estimate is for ranks one to three. "
            "Use method='auto', the best there is."
        )
    first, _ = default_design(manifold, math.inf)
    if manifold.dim / 2 * -math.log(2 * math.pi * first[0]) > LARGEST_LOG:
        raise Unsupported(
            f"{manifold!r} has {manifold.dim} dimensions: the smooth estimate starts from densities at time "
            f"{first[0]:.2g}, which are larger than the largest number. Use method='auto', the best there is."
        )
    return manifold


def step_bias(samples: Samples) -> float:
    """By how much the walk may still run fast: its Ricci curvature times step/6, or the next order of that."""
    manifold = samples.manifold
    corrected = manifold.einstein_constant is not None  # by effective_times
    fast = manifold.scalar_curvature / manifold.dim * samples.step
    return fast / 6 * (fast if corrected else 1.0)


@dataclass(frozen=True)
class Stage:
    """What the fit needs of one time: the expansion's probabilities and the features on the nodes of the chamber."""

    probability: np.ndarray
    features: np.ndarray
    tolerance: float
    """How far from one the mass may be."""

    @classmethod
    def at(cls, expansion: Expansion, features: Features, time: float) -> Stage:
        theta, volume = chamber_nodes(expansion.manifold, expansion.reach(time))
        probability = np.exp(expansion.log_density(theta, time)[0]) * volume
        return cls(probability, features(theta, time), MASS_TOLERANCE + expansion.unseen(time))

    def moments(self, coefficients: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Mass, and mean and covariance of the features."""
        weight = self.probability * np.exp(self.features @ coefficients)
        mass = float(weight.sum())
        mean = weight @ self.features / mass
        centred = self.features - mean
        return mass, mean, (centred.T * weight) @ centred / mass


def posterior(paths: np.ndarray, stages: list[Stage], shifted: list[Stage]) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of the coefficients, whose prior is standard normal, by Newton's method.

    A row of `paths` holds the features of one path, summed over its times. Its positions are dependent: the
    likelihood of independent ones is tempered so that it has the information of the sums. The covariance is the
    sandwich with paths as units, and what it would do to the mean if the positions were those of `shifted`.
    """
    number, size = paths.shape
    observed = paths.mean(axis=0)
    spread = np.cov(paths.T).reshape(size, size)
    independent = sum(np.trace(stage.moments(np.zeros(size))[2]) for stage in stages)
    weight = number * min(1.0, independent / max(np.trace(spread), 1e-300))
    c = np.zeros(size)
    for _ in range(20):
        gradient, given, information = weight * observed - c, np.eye(size), np.zeros((size, size))
        for stage in stages:
            mass, mean, covariance = stage.moments(c)
            gradient -= weight * mean + (mass - 1) * mass * mean / stage.tolerance**2
            given += np.outer(mean, mean) * (mass / stage.tolerance) ** 2
            information += weight * covariance
        inverse = np.linalg.inv(given + information)
        change = inverse @ gradient
        c = c + change
        if np.abs(change).max(initial=0) < 1e-8:
            break
    shift = sum((a.moments(c)[1] - b.moments(c)[1] for a, b in zip(stages, shifted)), np.zeros(size))
    bias = weight * inverse @ shift
    return c, inverse @ (given + weight**2 / number * spread) @ inverse + np.outer(bias, bias)
